"""LangChain's own suites for tools, unit and integration, on every tool there is."""

import os
from typing import Any, ClassVar

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from skillbelt import MappingSource, SkillRouter, TokenBudget, tool_per_skill
from skillbelt.langchain import skill_tools
from skillbelt.langchain.tools import structured_tool
from skillbelt.scripts import LocalRunner

FILES: dict[str, str | bytes] = {
    "mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail, letters and parcels of every kind.\n---\nBegin.\n",
    "mail/notes.md": "Notes.\n",
    "mail/logo.png": b"\x89PNG\r\n\x1a\n rest",
    "mail/scripts/sort.py": "print('sorted')\n",
    **{f"s{n}/SKILL.md": f"---\nname: s{n}\ndescription: {'Many words. ' * 20}\n---\nGo.\n" for n in range(20)},
}


def router() -> SkillRouter:
    """Skills with files, scripts, and a catalog that does not show everything."""
    return SkillRouter(MappingSource(FILES), budget=TokenBudget(200), runner=LocalRunner())


TOOLS: dict[str, BaseTool] = {tool.name: tool for tool in skill_tools(router(), listing=True, unload=True)}
TOOLS["mail"] = next(structured_tool(spec) for spec in tool_per_skill(router()) if spec.name == "mail")
TOOLS["media"] = next(tool for tool in skill_tools(router(), media=True) if tool.name == "read_skill_resource")

EXAMPLES: dict[str, dict[str, Any]] = {
    "load_skill": {"name": "mail"},
    "read_skill_resource": {"name": "mail", "path": "notes.md"},
    "search_skills": {"query": "letters"},
    "list_skills": {},
    "run_skill_script": {"name": "mail", "path": "scripts/sort.py"},
    "unload_skill": {"name": "mail"},
    "mail": {"arguments": "all of it"},
    "media": {"name": "mail", "path": "logo.png"},
}


def test_every_tool_has_its_suites():
    assert TOOLS.keys() == EXAMPLES.keys()


class _Ours:
    which: ClassVar[str]

    @property
    def tool_constructor(self) -> BaseTool:
        return TOOLS[self.which]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return EXAMPLES[self.which]


def _suites(which: str) -> dict[str, type]:
    name = which.title().replace("_", "")
    units = type(f"Test{name}Unit", (_Ours, ToolsUnitTests), {"which": which, "__module__": __name__})
    whole = type(f"Test{name}Integration", (_Ours, ToolsIntegrationTests), {"which": which, "__module__": __name__})
    return {units.__name__: units, whole.__name__: whole}


for _which in EXAMPLES:
    globals().update(_suites(_which))


@pytest.mark.parametrize("which", EXAMPLES)
async def test_every_tool_gives_content_and_an_artifact_in_both_ways(which):
    call = {"name": which, "args": EXAMPLES[which], "id": "1", "type": "tool_call"}
    tool = TOOLS[which]
    messages = [tool.invoke(call), await tool.ainvoke(call)]
    assert messages[0].content == messages[1].content
    assert [m.status for m in messages] == ["success"] * 2
    assert all(isinstance(m.artifact, dict) and m.artifact for m in messages)
    assert os.sep not in tool.name
