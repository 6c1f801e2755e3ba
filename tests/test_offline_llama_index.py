"""The offline and the scripted LLM in real LlamaIndex agents."""

from __future__ import annotations

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms import types
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool

import skillbelt.testing
import toy_skills as toy
from skillbelt.testing import OfflineLLM, ScriptedLLM
from skillbelt.testing import llama_index as module
from skillbelt.testing.offline import LABEL

QUESTION = "How do I tick a checkbox when I complete a PDF form?"
TOOLS = [FunctionTool.from_defaults(toy.load_skill), FunctionTool.from_defaults(toy.read_skill_resource)]
TALK = [ChatMessage(toy.SYSTEM, role="system"), ChatMessage(QUESTION)]


@pytest.fixture(params=["blocks", "kwargs only"])
def style(request, monkeypatch):
    """With ToolCallBlock, and as in llama-index-core 0.13, which has none."""
    if request.param == "kwargs only":
        monkeypatch.setattr(module, "_TOOL_CALL_BLOCK", None)
    elif not hasattr(types, "ToolCallBlock"):
        pytest.skip("this llama-index-core has no ToolCallBlock")
    return request.param


def agent(llm, **kwargs) -> FunctionAgent:
    return FunctionAgent(llm=llm, tools=TOOLS, system_prompt=toy.SYSTEM, **kwargs)


def calls_in(messages) -> list[tuple[str, dict]]:
    return [(call.name, dict(call.arguments)) for message in messages for call in module._calls(message)]


# --- the rules, in an agent ---


async def test_an_agent_loads_the_skill_reads_the_file_and_answers(style):
    handler = agent(OfflineLLM()).run(QUESTION)
    tools, deltas = [], []
    async for event in handler.stream_events():
        if type(event).__name__ == "ToolCall":
            tools.append((event.tool_name, event.tool_kwargs))
        elif type(event).__name__ == "AgentStream":
            deltas.append(event.delta)
    answer = str(await handler)
    assert tools == [
        ("load_skill", {"name": "pdf-forms"}),
        ("read_skill_resource", {"name": "pdf-forms", "path": "references/checkboxes.md"}),
    ]
    assert answer.startswith(LABEL)
    assert "| /Yes | a ticked checkbox |" in answer
    assert "".join(deltas) == answer
    assert len(deltas) > 5


async def test_both_frameworks_get_the_same_answer():
    agents = pytest.importorskip("langchain.agents")
    model = skillbelt.testing.OfflineChatModel()
    lang = agents.create_agent(model, tools=[toy.load_skill, toy.read_skill_resource], system_prompt=toy.SYSTEM)
    for question in (QUESTION, "Reply to an e-mail", "Deploy to staging", "Write a haiku"):
        expected = lang.invoke({"messages": [("user", question)]})["messages"][-1].text
        assert str(await agent(OfflineLLM()).run(question)) == expected


async def test_a_workflow_of_agents_runs(style):
    workflow = AgentWorkflow(agents=[agent(OfflineLLM(), name="clerk", description="Knows forms.")])
    assert "a ticked checkbox" in str(await workflow.run(QUESTION))


async def test_a_conversation_goes_on(style):
    memory = ChatMemoryBuffer.from_defaults()
    await agent(OfflineLLM()).run(QUESTION, memory=memory)
    before = len(calls_in(memory.get_all()))
    answer = str(await agent(OfflineLLM()).run("And radio buttons?", memory=memory))
    assert len(calls_in(memory.get_all())) == before == 2
    assert "Radio buttons of one group share one name." in answer


async def test_a_react_agent_gets_an_answer_in_words():
    assert LABEL in str(await ReActAgent(llm=OfflineLLM(), tools=TOOLS, system_prompt="S").run(QUESTION))


def test_predict_and_call_calls_one_tool(style):
    said = OfflineLLM().predict_and_call(TOOLS, chat_history=TALK)
    assert "<skill_content" in str(said)


def test_parallel_calls_are_made_only_where_they_are_allowed(style):
    question = ChatMessage("PDF form: how do checkboxes work, and where does the format come from?")
    llm = OfflineLLM()
    first = llm.chat_with_tools(TOOLS, chat_history=[TALK[0], question])
    opened = ChatMessage(toy.load_skill("pdf-forms"), role="tool", additional_kwargs={"tool_call_id": "call_1"})
    talk = [TALK[0], question, first.message, opened]
    both = llm.chat_with_tools(TOOLS, chat_history=talk, allow_parallel_tool_calls=True)
    assert [c.tool_kwargs["path"] for c in llm.get_tool_calls_from_response(both)] == [
        "references/checkboxes.md",
        "references/history.md",
    ]
    assert len(llm.get_tool_calls_from_response(llm.chat_with_tools(TOOLS, chat_history=talk))) == 1


def test_no_tool_call_is_an_error_where_one_is_expected():
    llm = OfflineLLM()
    response = llm.chat([ChatMessage("hi")])
    assert llm.get_tool_calls_from_response(response, error_on_no_tool_call=False) == []
    with pytest.raises(ValueError, match="at least one tool call"):
        llm.get_tool_calls_from_response(response)


@pytest.mark.parametrize("arguments", ['{"name": "mail"}', {"name": "mail"}])
def test_calls_of_other_llms_are_read_too(arguments):
    entry = {"id": "1", "type": "function", "function": {"name": "load_skill", "arguments": arguments}}

    class Entry:
        def model_dump(self):
            return entry

    for given in (entry, Entry()):
        message = ChatMessage("", role="assistant", additional_kwargs={"tool_calls": [given]})
        assert calls_in([message]) == [("load_skill", {"name": "mail"})]


async def test_completion_answers_as_if_the_user_had_said_it():
    llm = OfflineLLM()
    text = llm.complete("hi").text
    assert text.startswith(LABEL)
    assert (await llm.acomplete("hi")).text == text
    assert [r.delta for r in llm.stream_complete("hi")] == [text]
    assert [r.delta async for r in await llm.astream_complete("hi")] == [text]


async def test_sync_async_and_streams_agree(style):
    llm = OfflineLLM()
    for kwargs in ({"chat_history": TALK}, {"user_msg": "hi"}, {"user_msg": ChatMessage("hi")}):
        responses: list[ChatResponse] = [llm.chat_with_tools(TOOLS, **kwargs)]
        responses.append(await llm.achat_with_tools(TOOLS, **kwargs))
        responses.append(list(llm.stream_chat_with_tools(TOOLS, **kwargs))[-1])
        responses.append([r async for r in await llm.astream_chat_with_tools(TOOLS, **kwargs)][-1])
        assert all(r.message == responses[0].message for r in responses)


def test_what_it_is_can_be_seen_from_outside():
    assert OfflineLLM().metadata.is_function_calling_model
    assert OfflineLLM().metadata.model_name == OfflineLLM.class_name() == "skillbelt-offline-rules"
    assert ScriptedLLM([]).metadata.model_name == "skillbelt-scripted"


# --- the script ---


async def test_a_script_is_followed_and_every_request_is_kept(style):
    llm = ScriptedLLM(
        [
            [("load_skill", {"name": "mail"}), ("load_skill", {"name": "pdf-forms"})],
            ChatMessage("done", role="assistant"),
        ]
    )
    assert str(await agent(llm).run("hi")) == "done"
    first, second = llm.requests
    assert [m.content for m in first.messages] == [toy.SYSTEM, "hi"]
    assert first.tool_names == ["load_skill", "read_skill_resource"]
    assert first.tools[0]["function"]["parameters"]["required"] == ["name"]
    answers = [m.additional_kwargs["tool_call_id"] for m in second.messages if m.role == "tool"]
    assert answers == ["call_1", "call_2"]


async def test_a_script_drives_a_react_agent():
    llm = ScriptedLLM(
        [
            'Thought: I need it.\nAction: load_skill\nAction Input: {"name": "mail"}',
            "Thought: I can answer.\nAnswer: Be brief.",
        ]
    )
    assert str(await ReActAgent(llm=llm, tools=TOOLS).run("hi")) == "Be brief."
    assert "Greet by name." in str(llm.requests[1].messages)
    assert llm.requests[0].tools == []


async def test_an_agent_writes_into_its_answer_and_not_into_the_script():
    step = ChatMessage("Thought: ok.\nAnswer: yes", role="assistant")
    assert str(await ReActAgent(llm=ScriptedLLM([step]), tools=TOOLS).run("hi")) == "yes"
    assert step.content == "Thought: ok.\nAnswer: yes"


async def test_a_step_may_be_a_function_of_the_messages(style):
    llm = ScriptedLLM([lambda messages: [("load_skill", {"name": messages[-1].content})], "done"])
    await agent(llm).run("mail")
    assert "Greet by name." in llm.requests[1].messages[-1].content


@pytest.mark.parametrize("step", [TimeoutError("slow"), TimeoutError, lambda messages: TimeoutError("slow")])
def test_a_step_may_be_an_error(step):
    with pytest.raises(TimeoutError):
        ScriptedLLM([step]).chat([ChatMessage("hi")])


async def test_an_error_reaches_whoever_runs_the_agent():
    with pytest.raises(Exception, match="slow"):
        await agent(ScriptedLLM([TimeoutError("slow")])).run("hi")


async def test_one_request_too_many_fails_and_says_which():
    llm = ScriptedLLM([[("load_skill", {"name": "mail"})]])
    with pytest.raises(Exception, match=r"1 step\(s\) and this is request 2; its last message is .*Greet by name"):
        await agent(llm).run("hi")
