"""ToolSpecs as LlamaIndex tools.

Each is a :class:`~llama_index.core.tools.FunctionTool` with a sync and an async path that needs no workflow: it works
in ``FunctionAgent``, ``ReActAgent``, ``CodeActAgent`` and ``AgentWorkflow``, in ``predict_and_call``, in a tool
retriever and alone. It remembers nothing; tools that keep a conversation's skills in use are those of
:class:`~skillbelt.llama_index.skills.Skills`.
"""

# No `from __future__ import annotations` here: LlamaIndex looks at raw annotations to find a Context parameter.

import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import PurePosixPath
from typing import Any

from skillbelt import tools as core
from skillbelt.errors import MissingExtraError
from skillbelt.router import SkillRouter

try:
    from llama_index.core.base.llms.types import DocumentBlock, ImageBlock, TextBlock
    from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
    from llama_index.core.tools.tool_spec.base import BaseToolSpec
except ImportError as error:
    raise MissingExtraError("skillbelt.llama_index", extra="llama-index") from error

__all__ = ["SkillFunctionTool", "SkillToolSpec", "skill_tools"]


def skill_tools(router: SkillRouter, *, listing: bool = False, media: bool = False) -> list[FunctionTool]:
    r"""Return the skill tools of a router; ``[]`` when it has no skills.

    Args:
        router: The skills.
        listing: Add ``list_skills``, for agents whose prompt has no catalog.
        media: Return pictures and PDF documents as content blocks, for LLM integrations that send them on.

    Example:
        >>> from skillbelt import MappingSource, SkillRouter
        >>> skills = {"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"}
        >>> [tool.metadata.name for tool in skill_tools(SkillRouter(MappingSource(skills)))]
        ['load_skill', 'read_skill_resource']
    """
    return [SkillFunctionTool(spec) for spec in core.skill_tools(router, listing=listing, media=media)]


class SkillFunctionTool(FunctionTool):
    """One spec as a LlamaIndex tool, e.g. one of :func:`skillbelt.tool_per_skill`.

    A failure the model can mend is an output with ``is_error``, also when the tool is called alone; every other
    exception raises. LlamaIndex only advertises the schema of the arguments, so they are validated here.

    Args:
        spec: The tool.
    """

    def __init__(self, spec: core.ToolSpec) -> None:
        self.spec = spec
        metadata = ToolMetadata(name=spec.name, description=spec.description, fn_schema=spec.args)
        super().__init__(fn=_function(spec), metadata=metadata)

    def call(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool; arguments may be positional, in the order of the schema."""
        return self._run(self._arguments(args, kwargs))

    async def acall(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool in a thread, so that the event loop never waits for a disk."""
        return await self._arun(self._arguments(args, kwargs))

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if not args:
            return {**self.partial_params, **kwargs}
        names = [*self.spec.args.model_fields, *(f"positional argument {i + 1}" for i in range(len(args)))]
        return {**self.partial_params, **dict(zip(names, args, strict=False)), **kwargs}

    def _run(self, arguments: Mapping[str, Any], spec: core.ToolSpec | None = None) -> ToolOutput:
        try:
            result = (spec or self.spec).call(**arguments)
        except core.TOLD as error:
            return output(self.spec.name, arguments, core.failure_text(error), is_error=True)
        blocks = content(result) if result.media else None
        return output(self.spec.name, arguments, result.text, result.artifact, blocks=blocks)

    async def _arun(self, arguments: Mapping[str, Any], spec: core.ToolSpec | None = None) -> ToolOutput:
        if (spec or self.spec).read_only:
            return await asyncio.to_thread(self._run, arguments, spec)
        from skillbelt.running import in_thread  # a task that is cancelled ends the script it started

        return await in_thread(self._run, arguments, spec)


def output(
    tool: str,
    arguments: Mapping[str, Any],
    text: str,
    facts: Mapping[str, Any] | None = None,
    *,
    blocks: list[Any] | None = None,
    is_error: bool = False,
) -> ToolOutput:
    """Return what a call gives, as LlamaIndex has it.

    Args:
        tool: The tool.
        arguments: What it was called with.
        text: For the model.
        facts: For the host.
        blocks: For the model, in place of the text.
        is_error: Whether it is a failure.
    """
    return ToolOutput(
        blocks=blocks or [TextBlock(text=text)],
        tool_name=tool,
        raw_input={"kwargs": dict(arguments)},
        raw_output=text if facts is None else facts,
        is_error=is_error,
    )


def content(result: core.ToolResult) -> list[Any]:
    """Return a result with pictures or documents as LlamaIndex's content blocks.

    Args:
        result: What a tool gave.
    """
    blocks: list[Any] = [TextBlock(text=result.text)]
    for medium in result.media:
        data = b64encode(medium.data)  # raw bytes that happen to be base64 would be taken for it
        if medium.is_image:
            blocks.append(ImageBlock(image=data, image_mimetype=medium.media_type))
        else:
            title = PurePosixPath(str(result.artifact.get("path", "document"))).name
            blocks.append(DocumentBlock(data=data, title=title, document_mimetype=medium.media_type))
    return blocks


def _function(spec: core.ToolSpec) -> Callable[..., str]:
    """Return a tool as a plain function with a name, a signature and a docstring: what a ``CodeActAgent`` shows."""
    parameters = [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if field.is_required() else field.get_default(call_default_factory=True),
            annotation=field.annotation,
        )
        for name, field in spec.args.model_fields.items()
    ]
    signature = Signature(parameters, return_annotation=str)

    def function(*args: Any, **kwargs: Any) -> str:
        return spec.call(**signature.bind(*args, **kwargs).arguments).text

    lines = [f"    {name}: {field.description}" for name, field in spec.args.model_fields.items() if field.description]
    function.__name__ = function.__qualname__ = spec.name
    function.__doc__ = "\n".join([spec.description, "", "Args:", *lines]) if lines else spec.description
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


class SkillToolSpec(BaseToolSpec):
    """The skill tools as a LlamaIndex tool spec.

    Args:
        router: The skills.

    Example:
        ``FunctionAgent(tools=SkillToolSpec(router).to_tool_list(), system_prompt=router.prompt("You are …"))``
    """

    spec_functions = [("load_skill", "aload_skill"), ("read_skill_resource", "aread_skill_resource")]  # noqa: RUF012

    def __init__(self, router: SkillRouter) -> None:
        super().__init__()
        self.router = router

    def to_tool_list(
        self, spec_functions: Sequence[Any] | None = None, func_to_metadata_mapping: Mapping[str, Any] | None = None
    ) -> list[FunctionTool]:
        """Return the tools for the skills there are now.

        Args:
            spec_functions: Names to keep; ``None`` keeps all.
            func_to_metadata_mapping: Not used: names, descriptions and schemas belong to the skills.
        """
        names = None if spec_functions is None else {f if isinstance(f, str) else f[0] for f in spec_functions}
        return [tool for tool in skill_tools(self.router) if names is None or tool.metadata.name in names]

    def load_skill(self, name: str, arguments: str | None = None) -> str:
        """Load the instructions of a skill.

        Args:
            name: The skill.
            arguments: What the user gave with it.
        """
        return self._call("load_skill", name=name, arguments=arguments)

    async def aload_skill(self, name: str, arguments: str | None = None) -> str:
        """Load the instructions of a skill.

        Args:
            name: The skill.
            arguments: What the user gave with it.
        """
        return await asyncio.to_thread(self.load_skill, name, arguments)

    def read_skill_resource(self, name: str, path: str, offset: int = 0) -> str:
        """Read a file of a skill.

        Args:
            name: The skill.
            path: Relative to its folder.
            offset: First byte.
        """
        return self._call("read_skill_resource", name=name, path=path, offset=offset)

    async def aread_skill_resource(self, name: str, path: str, offset: int = 0) -> str:
        """Read a file of a skill.

        Args:
            name: The skill.
            path: Relative to its folder.
            offset: First byte.
        """
        return await asyncio.to_thread(self.read_skill_resource, name, path, offset)

    def _call(self, tool: str, **arguments: Any) -> str:
        for spec in core.skill_tools(self.router):
            if spec.name == tool:
                return SkillFunctionTool(spec).call(**arguments).content
        return "There are no skills."
