"""LlamaIndex: what the model is sent, by agents, workflows and bare tools."""

from importlib import metadata

import pytest
from llama_index.core.agent import ReActChatFormatter
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from skillbelt import MappingSource, SkillRouter, tool_per_skill
from skillbelt.llama_index import SkillFunctionTool, SkillToolSpec, skill_tools
from skillbelt.testing import ScriptedLLM


def text_of(message):
    return message.content or ""


def by_role(request, role):
    return [m for m in request.messages if m.role.value == role]


LOAD = [("load_skill", {"name": "mail-sorter"})]
READ = [("read_skill_resource", {"name": "mail-sorter", "path": "references/rules.md"})]


async def test_an_agent_sends_the_catalog_the_tool_schemas_and_the_body(router):
    llm = ScriptedLLM(steps=[LOAD, READ, "done"])
    agent = FunctionAgent(tools=skill_tools(router), system_prompt=router.prompt("You are a clerk."), llm=llm)
    out = await agent.run("Tidy my inbox")
    assert str(out) == "done"

    first, second, third = llm.requests
    (system,) = by_role(first, "system")
    assert text_of(system) == router.prompt("You are a clerk.")
    assert router.catalog().text in text_of(system)
    by_name = {tool["function"]["name"]: tool["function"]["parameters"] for tool in first.tools}
    assert by_name["load_skill"]["properties"]["name"]["enum"] == ["mail-sorter", "pdf-forms"]
    assert by_name["read_skill_resource"]["required"] == ["name", "path"]
    (loaded,) = by_role(second, "tool")
    assert text_of(loaded) == router.activate("mail-sorter").text
    assert "Receipts go to Money." in text_of(by_role(third, "tool")[1])


REACT = [
    'Thought: I need a skill.\nAction: load_skill\nAction Input: {"name": "mail-sorter"}',
    "Thought: I can answer.\nAnswer: done",
]


async def test_a_react_agent_loads_a_skill_by_its_text_protocol(router):
    llm = ScriptedLLM(steps=REACT)
    formatter = ReActChatFormatter.from_defaults(context=router.prompt("You are a clerk."))
    agent = ReActAgent(tools=skill_tools(router), formatter=formatter, llm=llm)
    assert str(await agent.run("Tidy my inbox")) == "done"
    sent = "\n".join(text_of(m) for m in llm.requests[0].messages)
    assert router.prompt("You are a clerk.") in sent
    assert "> Tool Name: load_skill" in sent
    assert "1. Read `references/rules.md`." in "\n".join(text_of(m) for m in llm.requests[1].messages)


async def test_contract_a_react_agent_sends_its_system_prompt_since_0_14_16(router):
    llm = ScriptedLLM(steps=REACT)
    agent = ReActAgent(tools=skill_tools(router), system_prompt=router.prompt("You are a clerk."), llm=llm)
    await agent.run("Tidy my inbox")
    sent = "\n".join(text_of(m) for m in llm.requests[0].messages)
    version = tuple(int(part) for part in metadata.version("llama-index-core").split(".")[:3])
    assert (router.catalog().text in sent) == (version >= (0, 14, 16))


async def test_skills_survive_a_handoff_in_an_agent_workflow(router):
    first = ScriptedLLM(steps=[[("handoff", {"to_agent": "clerk", "reason": "mail"})]])
    second = ScriptedLLM(steps=[LOAD, "done"])
    front = FunctionAgent(name="front", description="Talks.", tools=[], llm=first, can_handoff_to=["clerk"])
    clerk = FunctionAgent(
        name="clerk",
        description="Sorts.",
        tools=SkillToolSpec(router).to_tool_list(),
        system_prompt=router.prompt("You are a clerk."),
        llm=second,
    )
    out = await AgentWorkflow(agents=[front, clerk], root_agent="front").run("Tidy my inbox")
    assert str(out) == "done"
    assert router.catalog().text in text_of(by_role(second.requests[0], "system")[0])
    assert text_of(by_role(second.requests[1], "tool")[-1]) == router.activate("mail-sorter").text


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("load_skill", {"name": "mail-sortr"}, "Did you mean 'mail-sorter'?"),
        ("load_skill", {"name": ""}, "must not be empty"),
        ("load_skill", {}, "It takes: name, arguments (optional)"),
        ("load_skill", {"name": "mail-sorter", "op": "x"}, "op: Extra inputs are not permitted"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "../pdf-forms/SKILL.md"}, "not a path inside"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "references"}, "is a folder"),
    ],
)
async def test_what_a_model_does_wrong_comes_back_as_a_message_that_says_what_to_do(router, name, args, told):
    llm = ScriptedLLM(steps=[[(name, args)], "done"])
    await FunctionAgent(tools=skill_tools(router), system_prompt=router.prompt(), llm=llm).run("hi")
    (message,) = by_role(llm.requests[1], "tool")
    assert told in text_of(message)
    assert "Traceback" not in text_of(message)


async def test_a_tool_works_alone_sync_and_async(router):
    load = skill_tools(router)[0]
    assert isinstance(load, FunctionTool)
    one, other = load.call(name="mail-sorter"), await load.acall(name="mail-sorter")
    assert one.content == other.content == router.activate("mail-sorter").text
    assert one.raw_output["skill"] == "mail-sorter" and not one.is_error
    assert load.call("mail-sorter").content == one.content
    wrong = load.call(name="mail-sortr")
    assert wrong.is_error and "Did you mean" in wrong.content


def test_too_many_positional_arguments_are_refused(router):
    out = skill_tools(router)[0].call("mail-sorter", None, "extra")
    assert out.is_error and "positional argument" in out.content


def test_an_error_of_the_disk_is_not_told_to_the_model_but_raises(router, monkeypatch):
    load = skill_tools(router)[0]
    router.skills()

    def broken(*_args, **_kwargs):
        raise OSError("disk on fire")

    monkeypatch.setattr("skillbelt.sources.directory.os.pread", broken)
    with pytest.raises(OSError, match="cannot be read"):
        load.call(name="mail-sorter")


@pytest.mark.row("S2-50")
def test_without_skills_prompt_and_tools_stay_as_they_were(empty_router):
    assert skill_tools(empty_router) == []
    assert SkillToolSpec(empty_router).to_tool_list() == []
    assert empty_router.prompt("You are a clerk.") == "You are a clerk."


async def test_the_tool_spec_can_be_called_by_code(router):
    spec = SkillToolSpec(router)
    assert spec.load_skill("mail-sorter") == await spec.aload_skill("mail-sorter")
    assert "Receipts" in spec.read_skill_resource("mail-sorter", "references/rules.md")
    assert "Receipts" in await spec.aread_skill_resource("mail-sorter", "references/rules.md")
    assert [t.metadata.name for t in spec.to_tool_list(["load_skill"])] == ["load_skill"]
    assert [t.metadata.name for t in spec.to_tool_list([("load_skill", "aload_skill")])] == ["load_skill"]


def test_the_tool_spec_without_skills_says_so(empty_router):
    assert SkillToolSpec(empty_router).load_skill("x") == "There are no skills."


def test_descriptions_fit_what_llama_index_takes():
    long = "Sorts mail. " * 200
    source = MappingSource({"mail/SKILL.md": f"---\nname: mail\ndescription: {long}\n---\nGo.\n"})
    router = SkillRouter(source)
    tools = [*skill_tools(router, listing=True), *(SkillFunctionTool(s) for s in tool_per_skill(router))]
    for tool in tools:
        assert tool.metadata.to_openai_tool()["function"]["name"] == tool.metadata.name


async def test_one_tool_per_skill_can_be_called_by_the_name_it_is_sent_under():
    source = MappingSource(
        {
            "a/SKILL.md": "---\nname: local/a\ndescription: One.\n---\nBody of a.\n",
            "b/SKILL.md": "---\nname: my.pack:x\ndescription: Two.\n---\nBody of x.\n",
        }
    )
    tools = [SkillFunctionTool(spec) for spec in tool_per_skill(SkillRouter(source))]
    llm = ScriptedLLM(steps=[[(tool.metadata.name, {}) for tool in tools], "done"])
    await FunctionAgent(tools=tools, llm=llm).run("hi")
    bodies = [text_of(m) for m in by_role(llm.requests[1], "tool")]
    assert "Body of a." in bodies[0] and "Body of x." in bodies[1]


async def test_tools_share_a_context_with_other_tools_of_the_agent(router):
    async def remember(ctx: Context, word: str) -> str:
        await ctx.store.set("word", word)
        return "ok"

    llm = ScriptedLLM(steps=[[("remember", {"word": "lamp"})], LOAD, "done"])
    agent = FunctionAgent(tools=[remember, *skill_tools(router)], system_prompt=router.prompt(), llm=llm)
    ctx = Context(agent)
    await agent.run("hi", ctx=ctx)
    assert await ctx.store.get("word") == "lamp"
