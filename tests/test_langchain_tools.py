"""LangChain tools alone, with nothing but langchain-core installed."""

import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from skillbelt import MappingSource, SkillRouter
from skillbelt import tools as core
from skillbelt.langchain import SkillToolkit, skill_tools
from skillbelt.testing import ScriptedChatModel


def test_an_error_of_the_disk_is_not_told_to_the_model_but_raises(router, skills_dir, monkeypatch):
    tools = {tool.name: tool for tool in skill_tools(router)}

    def broken(*_args, **_kwargs):
        raise OSError("disk on fire")

    monkeypatch.setattr("skillbelt.sources.directory.os.pread", broken)
    with pytest.raises(OSError, match="cannot be read"):
        tools["load_skill"].invoke({"name": "mail-sorter"})


def test_tools_work_in_a_bind_tools_loop(router):
    tools = {tool.name: tool for tool in skill_tools(router)}
    call = {"name": "load_skill", "args": {"name": "pdf-forms"}, "id": "c1", "type": "tool_call"}
    model = ScriptedChatModel(steps=[AIMessage(content="", tool_calls=[call]), "done"])
    bound = model.bind_tools(list(tools.values()))
    messages = [SystemMessage(router.prompt("You are a clerk.")), HumanMessage("fill a form")]
    answer = bound.invoke(messages)
    messages += [answer, tools[answer.tool_calls[0]["name"]].invoke(answer.tool_calls[0])]
    assert bound.invoke(messages).content == "done"
    (sent,) = [m for m in model.requests[1].messages if isinstance(m, ToolMessage)]
    assert sent.content == router.activate("pdf-forms").text


async def test_a_tool_works_alone_sync_and_async(router):
    load = skill_tools(router)[0]
    assert load.invoke({"name": "mail-sorter"}) == await load.ainvoke({"name": "mail-sorter"})
    assert "Did you mean" in load.invoke({"name": "mail-sortr"})
    assert "Did you mean" in await load.ainvoke({"name": "mail-sortr"})


def test_tools_are_structured_tools_of_a_toolkit_with_safe_names(router):
    tools = SkillToolkit(router).get_tools()
    assert [tool.name for tool in tools] == ["load_skill", "read_skill_resource"]
    assert all(isinstance(tool, BaseTool) and isinstance(tool, StructuredTool) for tool in tools)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name) and len(tool.description) <= 1024 for tool in tools)


@pytest.mark.row("S3-60")
def test_a_host_without_a_catalog_in_its_prompt_can_ask_for_list_skills(router):
    listing = skill_tools(router, listing=True)[-1]
    assert listing.name == "list_skills"
    assert listing.invoke({}) == router.catalog().text


def test_a_large_catalog_advertises_names_as_plain_text():
    files = {f"s{i:03}/SKILL.md": f"---\nname: s{i:03}\ndescription: Number {i}.\n---\nGo.\n" for i in range(65)}
    tool = skill_tools(SkillRouter(MappingSource(files)))[0]
    assert "enum" not in tool.args_schema.model_json_schema()["properties"]["name"]


def test_the_core_specs_drive_the_tools_and_nothing_is_added(router):
    for spec, tool in zip(core.skill_tools(router), skill_tools(router), strict=True):
        assert (tool.name, tool.description) == (spec.name, spec.description)
        assert tool.args_schema.model_json_schema() == spec.args.model_json_schema()
