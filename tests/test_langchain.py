"""LangChain: what the model is sent, by agents, tool nodes and bare tools."""

import json
import re

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from skillbelt import MappingSource, SkillRouter, tool_per_skill
from skillbelt.langchain import SkillsMiddleware, skill_tools
from skillbelt.langchain.tools import structured_tool
from skillbelt.testing import ScriptedChatModel


def call(tool, id_="c1", /, **args):
    return {"name": tool, "args": args, "id": id_, "type": "tool_call"}


def ai(*calls):
    return AIMessage(content="", tool_calls=list(calls))


def system_text(request):
    (system,) = [m for m in request.messages if isinstance(m, SystemMessage)]
    return system.text if isinstance(system.text, str) else system.text()


def tool_messages(request):
    return [m for m in request.messages if isinstance(m, ToolMessage)]


STORY = [
    lambda: ai(call("load_skill", name="mail-sorter")),
    lambda: ai(call("read_skill_resource", "c2", name="mail-sorter", path="references/rules.md")),
    lambda: "done",
]


def story():
    return ScriptedChatModel(steps=[step() for step in STORY])


def test_an_agent_sends_the_catalog_the_tool_schemas_and_the_body(router):
    model = story()
    agent = create_agent(model, system_prompt="You are a clerk.", middleware=[SkillsMiddleware(router)])
    out = agent.invoke({"messages": [HumanMessage("Tidy my inbox")]})
    assert out["messages"][-1].content == "done"

    first, second, third = model.requests
    assert system_text(first).startswith("You are a clerk.")
    assert router.catalog().text in system_text(first)
    by_name = {tool["function"]["name"]: tool["function"]["parameters"] for tool in first.tools}
    assert by_name["load_skill"]["properties"]["name"]["enum"] == ["mail-sorter", "pdf-forms"]
    assert by_name["read_skill_resource"]["required"] == ["name", "path"]

    (loaded,) = tool_messages(second)
    assert loaded.content == router.activate("mail-sorter").text
    assert "1. Read `references/rules.md`." in loaded.content
    assert loaded.artifact["skill"] == "mail-sorter"
    assert "Receipts go to Money." in tool_messages(third)[1].content


def test_the_system_message_keeps_its_bytes_over_turns_and_activations(router):
    model = story()
    agent = create_agent(model, system_prompt="You are a clerk.", middleware=[SkillsMiddleware(router)])
    agent.invoke({"messages": [HumanMessage("Tidy my inbox")]})
    assert len({json.dumps(r.messages[0].content) for r in model.requests}) == 1
    assert len({json.dumps(r.tools) for r in model.requests}) == 1


async def test_ainvoke_sends_the_same_requests_as_invoke(router):
    sync, asynchronous = story(), story()
    question = {"messages": [HumanMessage("Tidy my inbox", id="q")]}
    create_agent(sync, middleware=[SkillsMiddleware(router)]).invoke(question)
    await create_agent(asynchronous, middleware=[SkillsMiddleware(router)]).ainvoke(question)
    for one, other in zip(sync.requests, asynchronous.requests, strict=True):
        assert [m.content for m in one.messages] == [m.content for m in other.messages]
        assert one.tools == other.tools


def test_the_skills_slot_of_a_system_prompt_is_filled_in_place(router):
    model = ScriptedChatModel(steps=["done"])
    agent = create_agent(model, system_prompt="Before. {skills} After.", middleware=[SkillsMiddleware(router)])
    agent.invoke({"messages": [HumanMessage("hi")]})
    text = system_text(model.requests[0])
    assert "{skills}" not in text
    assert text.index("Before.") < text.index("<available_skills>") < text.index("After.")


def test_an_agent_without_a_prompt_of_its_own_gets_the_catalog_as_its_system_message(router):
    model = ScriptedChatModel(steps=["done"])
    create_agent(model, middleware=[SkillsMiddleware(router)]).invoke({"messages": [HumanMessage("hi")]})
    assert system_text(model.requests[0]) == router.prompt()


@pytest.mark.row("S2-50")
def test_without_skills_prompt_and_tools_stay_as_they_were(empty_router):
    plain, with_skills = ScriptedChatModel(steps=["done"]), ScriptedChatModel(steps=["done"])
    question = {"messages": [HumanMessage("hi", id="q")]}
    create_agent(plain, system_prompt="You are a clerk.").invoke(question)
    create_agent(with_skills, system_prompt="You are a clerk.", middleware=[SkillsMiddleware(empty_router)]).invoke(
        question
    )
    assert plain.requests[0] == with_skills.requests[0]
    assert skill_tools(empty_router) == []


def test_middleware_takes_folders_as_well_as_a_router(skills_dir, tmp_path):
    other = tmp_path / "more"
    (other / "extra").mkdir(parents=True)
    (other / "extra" / "SKILL.md").write_text("---\nname: extra\ndescription: More.\n---\nGo.\n")
    assert [s.name for s in SkillsMiddleware(skills_dir, other).router] == ["extra", "mail-sorter", "pdf-forms"]
    assert [s.name for s in SkillsMiddleware(str(skills_dir)).router] == ["mail-sorter", "pdf-forms"]


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("load_skill", {"name": "mail-sortr"}, "Did you mean 'mail-sorter'?"),
        ("load_skill", {"name": ""}, "must not be empty"),
        ("load_skill", {}, "It takes: name, arguments (optional)"),
        ("load_skill", {"name": "mail-sorter", "op": "x"}, "op: Extra inputs are not permitted"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "references/rule.md"}, "references/rules.md"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "../pdf-forms/SKILL.md"}, "not a path inside"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "references"}, "is a folder"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "notes.txt", "offset": -1}, "offset"),
    ],
)
def test_what_a_model_does_wrong_comes_back_as_a_message_that_says_what_to_do(router, name, args, told):
    model = ScriptedChatModel(steps=[ai(call(name, **args)), "done"])
    create_agent(model, middleware=[SkillsMiddleware(router)]).invoke({"messages": [HumanMessage("hi")]})
    (message,) = tool_messages(model.requests[1])
    assert message.status == "error"
    assert told in message.content
    assert "Traceback" not in message.content


def test_two_calls_in_one_message_are_both_answered(router):
    both = ai(call("load_skill", name="mail-sorter"), call("load_skill", "c2", name="pdf-forms"))
    model = ScriptedChatModel(steps=[both, "done"])
    create_agent(model, middleware=[SkillsMiddleware(router)]).invoke({"messages": [HumanMessage("hi")]})
    answers = {m.tool_call_id: m.content for m in tool_messages(model.requests[1])}
    assert answers == {"c1": router.activate("mail-sorter").text, "c2": router.activate("pdf-forms").text}


def test_tools_work_in_a_bare_tool_node_and_a_state_graph(router):
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(skill_tools(router)))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    out = graph.compile().invoke({"messages": [ai(call("load_skill", name="mail-sorter"))]})
    assert out["messages"][-1].content == router.activate("mail-sorter").text
    assert out["messages"][-1].artifact["digest"] == router.activate("mail-sorter").skill.digest


def test_one_tool_per_skill_can_be_called_by_the_name_it_is_sent_under():
    source = MappingSource(
        {
            "a/SKILL.md": "---\nname: local/a\ndescription: One.\n---\nBody of a.\n",
            "b/SKILL.md": "---\nname: my.pack:x\ndescription: Two.\n---\nBody of x.\n",
        }
    )
    tools = [structured_tool(spec) for spec in tool_per_skill(SkillRouter(source))]
    names = [tool.name for tool in tools]
    model = ScriptedChatModel(steps=[ai(*(call(n, str(i)) for i, n in enumerate(names))), "done"])
    create_agent(model, tools=tools).invoke({"messages": [HumanMessage("hi")]})
    assert names[0] == "local_S_a"
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    first, second = tool_messages(model.requests[1])
    assert "Body of a." in first.content and "Body of x." in second.content


def test_braces_in_descriptions_and_bodies_arrive_unchanged(router):
    model = ScriptedChatModel(steps=[ai(call("load_skill", name="pdf-forms")), "done"])
    create_agent(model, middleware=[SkillsMiddleware(router)]).invoke({"messages": [HumanMessage("hi")]})
    assert "Use {width} and {{height}} as they are." in tool_messages(model.requests[1])[0].content
