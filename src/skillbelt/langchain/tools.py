"""ToolSpecs as LangChain tools.

Each is a :class:`~langchain_core.tools.StructuredTool` (a ``BaseTool``) with a sync and an async path that gives
content and an artifact, and needs no runtime: it works in ``create_agent``, in a bare ``ToolNode``, after
``bind_tools`` and alone. Failures a model can mend become error messages; the others raise.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import ConfigDict, ValidationError

from skillbelt import tools as core
from skillbelt.errors import MissingExtraError
from skillbelt.router import SkillRouter

try:
    from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
except ImportError as error:
    raise MissingExtraError("skillbelt.langchain", extra="langchain") from error

__all__ = ["SkillToolkit", "skill_tools", "structured_tool"]


def skill_tools(router: SkillRouter, *, listing: bool = False) -> list[StructuredTool]:
    r"""Return the skill tools of a router; ``[]`` when it has no skills.

    Args:
        router: The skills.
        listing: Add ``list_skills``, for agents whose prompt has no catalog.

    Example:
        >>> from skillbelt import MappingSource, SkillRouter
        >>> skills = {"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"}
        >>> [tool.name for tool in skill_tools(SkillRouter(MappingSource(skills)))]
        ['load_skill', 'read_skill_resource']
    """
    return [structured_tool(spec) for spec in core.skill_tools(router, listing=listing)]


def structured_tool(spec: core.ToolSpec) -> StructuredTool:
    """Return one spec as a LangChain tool, e.g. one of :func:`skillbelt.tool_per_skill`."""

    def call(**arguments: Any) -> tuple[str, dict[str, Any]]:
        try:
            return spec.call(**arguments)
        except core.TOLD as error:
            raise ToolException(core.failure_text(error)) from error

    async def acall(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return await asyncio.to_thread(call, **arguments)

    def refuse(error: Any) -> str:
        # LangChain validates before it calls; its own words would be "Tool input validation error".
        return core.failure_text(spec.argument_error(error)) if isinstance(error, ValidationError) else str(error)

    return StructuredTool(
        name=spec.name,
        description=spec.description,
        args_schema=spec.args,
        func=call,
        coroutine=acall,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=refuse,
        metadata=dict(spec.metadata) or None,
    )


class SkillToolkit(BaseToolkit):
    """The skill tools as a LangChain toolkit.

    Args:
        router: The skills.

    Example:
        ``create_agent(model, tools=SkillToolkit(router).get_tools(), system_prompt=router.prompt("You are …"))``
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    router: SkillRouter

    def __init__(self, router: SkillRouter) -> None:
        super().__init__(router=router)

    def get_tools(self) -> list[BaseTool]:
        """Return the tools for the skills there are now."""
        return [*skill_tools(self.router)]
