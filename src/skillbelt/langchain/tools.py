"""ToolSpecs as LangChain tools.

Each is a :class:`~langchain_core.tools.StructuredTool` (a ``BaseTool``) with a sync and an async path that gives
content and an artifact, and needs no runtime: it works in ``create_agent``, in a bare ``ToolNode``, after
``bind_tools`` and alone. Failures a model can mend become error messages; the others raise.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from inspect import Parameter, Signature
from typing import Any

from pydantic import ConfigDict, ValidationError

from skillbelt import tools as core
from skillbelt.active import fingerprint
from skillbelt.errors import MissingExtraError
from skillbelt.router import SkillRouter

try:
    from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
except ImportError as error:
    raise MissingExtraError("skillbelt.langchain", extra="langchain") from error

__all__ = ["SkillToolkit", "skill_tools", "structured_tool"]

_SIGNATURE = Signature([Parameter("arguments", Parameter.VAR_KEYWORD)])


def skill_tools(
    router: SkillRouter, *, listing: bool = False, media: bool = False, unload: bool = False
) -> list[StructuredTool]:
    r"""Return the skill tools of a router; ``[]`` when it has no skills.

    Args:
        router: The skills.
        listing: Add ``list_skills``, for agents whose prompt has no catalog.
        media: Return pictures and PDF documents as content blocks, for models that take them as results of tools.
        unload: Add ``unload_skill``; it means something only to the middleware.

    Example:
        >>> from skillbelt import MappingSource, SkillRouter
        >>> skills = {"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"}
        >>> [tool.name for tool in skill_tools(SkillRouter(MappingSource(skills)))]
        ['load_skill', 'read_skill_resource']
    """
    return [structured_tool(spec) for spec in core.skill_tools(router, listing=listing, media=media, unload=unload)]


def structured_tool(spec: core.ToolSpec) -> StructuredTool:
    """Return one spec as a LangChain tool, e.g. one of :func:`skillbelt.tool_per_skill`.

    Args:
        spec: The tool, free of any framework.
    """

    def call(**arguments):  # type: ignore[no-untyped-def]  # noqa: ANN003, ANN202
        try:
            result = spec.call(**arguments)
        except core.TOLD as error:
            raise ToolException(core.failure_text(error)) from error
        artifact = result.artifact
        if "digest" in artifact:
            # By this the middleware knows the whole text again, whoever moves or cuts it on the way.
            artifact = {**artifact, "text": fingerprint(result.text)}
        return (content(result) if result.media else result.text), artifact

    async def acall(**arguments):  # type: ignore[no-untyped-def]  # noqa: ANN003, ANN202
        if spec.read_only:
            return await asyncio.to_thread(call, **arguments)
        from skillbelt.running import in_thread  # a task that is cancelled ends the script it started

        return await in_thread(call, **arguments)

    # LangChain looks at both at every call. Without annotations and with a signature at hand, that costs next to
    # nothing; with them it is half of what the tool itself takes.
    call.__signature__ = acall.__signature__ = _SIGNATURE  # type: ignore[attr-defined]

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


def content(result: core.ToolResult) -> list[dict[str, Any]]:
    """Return a result with pictures or documents as LangChain's standard content blocks.

    Args:
        result: What a tool gave.
    """
    blocks: list[dict[str, Any]] = [{"type": "text", "text": result.text}]
    for medium in result.media:
        data = b64encode(medium.data).decode()
        blocks.append({"type": "image" if medium.is_image else "file", "base64": data, "mime_type": medium.media_type})
    return blocks


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
