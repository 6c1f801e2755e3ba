"""The offline and the scripted chat model in real LangChain agents."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

import toy_skills as toy
from skillbelt.testing import Message, OfflineChatModel, ScriptedChatModel, decide
from skillbelt.testing.offline import LABEL

QUESTION = "How do I tick a checkbox when I complete a PDF form?"
TOOLS = [toy.load_skill, toy.read_skill_resource]


def asked(question: str = QUESTION) -> dict:
    return {"messages": [HumanMessage(question)]}


def offline_agent(**kwargs):
    return create_agent(OfflineChatModel(), tools=TOOLS, system_prompt=toy.SYSTEM, **kwargs)


def called(messages) -> list[tuple[str, dict]]:
    return [(c["name"], c["args"]) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]


LOAD_AND_READ = [
    ("load_skill", {"name": "pdf-forms"}),
    ("read_skill_resource", {"name": "pdf-forms", "path": "references/checkboxes.md"}),
]


# --- the rules, in an agent ---


def test_an_agent_loads_the_skill_reads_the_file_and_answers():
    messages = offline_agent().invoke(asked())["messages"]
    assert called(messages) == LOAD_AND_READ
    assert messages[-1].text.startswith(LABEL)
    assert "| /Yes | a ticked checkbox |" in messages[-1].text


async def test_async_gives_the_same():
    messages = (await offline_agent().ainvoke(asked()))["messages"]
    assert called(messages) == LOAD_AND_READ
    assert messages[-1].text == offline_agent().invoke(asked())["messages"][-1].text


def test_streaming_gives_the_same_in_pieces():
    expected = offline_agent().invoke(asked())["messages"]
    chunks, updates = [], []
    for mode, event in offline_agent().stream(asked(), stream_mode=["messages", "updates"]):
        (chunks if mode == "messages" else updates).append(event)
    texts = [chunk.text for chunk, _ in chunks if isinstance(chunk, AIMessageChunk) and chunk.text]
    assert len(texts) > 5
    assert "".join(texts) == expected[-1].text
    streamed = [m for update in updates for node in update.values() for m in node["messages"]]
    assert called(streamed) == LOAD_AND_READ


async def test_async_streaming_works_too():
    texts = [
        chunk.text
        async for chunk, _ in offline_agent().astream(asked(), stream_mode="messages")
        if isinstance(chunk, AIMessageChunk)
    ]
    assert "".join(texts) == offline_agent().invoke(asked())["messages"][-1].text


def test_the_answer_is_the_one_of_the_rules():
    messages = offline_agent().invoke(asked())["messages"]
    neutral = [Message("system", toy.SYSTEM), Message("user", QUESTION)]
    while (reply := decide(neutral, toy.TOOLS)).tool_calls:
        neutral.append(Message("assistant", "", reply.tool_calls))
        neutral += [
            Message("tool", toy.TOOLS[call.name](**call.arguments), tool_call_id=call.id) for call in reply.tool_calls
        ]
    assert messages[-1].text == reply.text


def test_a_conversation_goes_on():
    first = offline_agent().invoke(asked())["messages"]
    then = offline_agent().invoke({"messages": [*first, HumanMessage("And radio buttons?")]})["messages"]
    assert called(then[len(first) :]) == []
    assert "Radio buttons of one group share one name." in then[-1].text


def test_two_files_are_asked_for_at_once_unless_parallel_calls_are_off():
    talk = [
        SystemMessage(toy.SYSTEM),
        HumanMessage("PDF form: how do checkboxes work, and where does the format come from?"),
        AIMessage("", tool_calls=[{"name": "load_skill", "args": {"name": "pdf-forms"}, "id": "call_1"}]),
        ToolMessage(toy.load_skill("pdf-forms"), tool_call_id="call_1"),
    ]
    assert len(OfflineChatModel().bind_tools(TOOLS).invoke(talk).tool_calls) == 2
    one = OfflineChatModel().bind_tools(TOOLS, parallel_tool_calls=False).invoke(talk)
    assert len(one.tool_calls) == 1


def test_a_system_message_of_blocks_is_read():
    blocks = [{"type": "text", "text": "You help."}, {"type": "text", "text": toy.catalog()}, "and more"]
    reply = OfflineChatModel().bind_tools(TOOLS).invoke([SystemMessage(blocks), HumanMessage(QUESTION)])
    assert reply.tool_calls[0]["args"] == {"name": "pdf-forms"}


def test_without_tools_it_answers_in_words():
    assert (
        "I have no load_skill tool" in OfflineChatModel().invoke([SystemMessage(toy.SYSTEM), ("user", QUESTION)]).text
    )
    assert OfflineChatModel()._llm_type == "skillbelt-offline-rules"


# --- the script ---


def test_a_script_is_followed_and_every_request_is_kept():
    model = ScriptedChatModel(
        [
            [("load_skill", {"name": "mail"}), ("load_skill", {"name": "pdf-forms"})],
            AIMessage("almost", tool_calls=[{"name": "load_skill", "args": {"name": "mail"}, "id": "own"}]),
            "done",
        ]
    )
    messages = create_agent(model, tools=TOOLS, system_prompt="S").invoke(asked("hi"))["messages"]
    assert messages[-1].text == "done"
    assert [m.tool_call_id for m in messages if isinstance(m, ToolMessage)] == ["call_1", "call_2", "own"]
    first, second, third = model.requests
    assert [m.text for m in first.messages] == ["S", "hi"]
    assert first.tool_names == third.tool_names == ["load_skill", "read_skill_resource"]
    assert first.tools[0]["function"]["parameters"]["required"] == ["name"]
    assert len(first.messages) < len(second.messages) < len(third.messages)


def test_a_step_may_be_a_function_of_the_messages():
    model = ScriptedChatModel([lambda messages: f"{len(messages)} so far", lambda messages: [("x", {})]])
    assert model.invoke([("user", "a"), ("user", "b")]).text == "2 so far"
    assert model.invoke("a").tool_calls[0]["name"] == "x"


@pytest.mark.parametrize("step", [TimeoutError("slow"), TimeoutError, lambda messages: TimeoutError("slow")])
def test_a_step_may_be_an_error(step):
    model = ScriptedChatModel([step])
    with pytest.raises(TimeoutError):
        create_agent(model, tools=TOOLS).invoke(asked("hi"))
    assert len(model.requests) == 1


def test_one_request_too_many_fails_and_says_which():
    model = ScriptedChatModel(steps=["only one"])
    model.invoke("a")
    with pytest.raises(AssertionError, match=r"1 step\(s\) and this is request 2; its last message is .*second"):
        model.invoke("second")
    with pytest.raises(AssertionError, match="last message is nothing"):
        model._generate([])


async def test_a_script_can_be_awaited_and_streamed():
    model = ScriptedChatModel(["one", "two\nlines", [("x", {"a": 1})], "four"])
    assert (await model.ainvoke("a")).text == "one"
    assert [c.text async for c in model.astream("b") if c.text] == ["two\n", "lines"]
    whole = None
    for chunk in model.stream("c"):
        whole = chunk if whole is None else whole + chunk
    assert [(c["name"], c["args"], c["id"]) for c in whole.tool_calls] == [("x", {"a": 1}, "call_1")]
    agent = create_agent(model, tools=TOOLS)
    assert [c.text for c, _ in agent.stream(asked("d"), stream_mode="messages") if c.text] == ["four"]


def test_a_message_used_twice_becomes_two_messages():
    call = AIMessage("", tool_calls=[{"name": "load_skill", "args": {"name": "mail"}, "id": "x"}])
    messages = create_agent(ScriptedChatModel([call, call, "done"]), tools=TOOLS).invoke(asked("hi"))["messages"]
    assert len(messages) == 6
    assert call.id is None


def test_everything_of_a_scripted_message_survives_streaming():
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    blocks = [{"type": "text", "text": "hm"}]
    broken = {"name": "x", "args": "not JSON", "id": "1", "error": None, "type": "invalid_tool_call"}
    message = AIMessage(blocks, usage_metadata=usage, response_metadata={"model": "m"}, invalid_tool_calls=[broken])
    whole = None
    for chunk in ScriptedChatModel([message]).stream("a"):
        whole = chunk if whole is None else whole + chunk
    assert (whole.text, whole.usage_metadata, whole.response_metadata["model"]) == ("hm", usage, "m")
    assert whole.invalid_tool_calls[0]["args"] == "not JSON"


def test_tools_of_every_kind_are_recorded_as_a_provider_would_see_them():
    @tool
    def decorated(x: int) -> int:
        """Add."""
        return x

    schema = {"type": "function", "function": {"name": "raw", "description": "R", "parameters": {}}}
    model = ScriptedChatModel(["ok"])
    model.bind_tools([decorated, toy.load_skill, schema, {"type": "web_search"}], tool_choice="any").invoke("a")
    assert model.requests[0].tool_names == ["decorated", "load_skill", "raw"]
    assert len(model.requests[0].tools) == 4
    assert model._llm_type == "skillbelt-scripted"
