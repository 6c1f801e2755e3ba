"""Skills for LlamaIndex: function tools and a tool spec for ``FunctionAgent``, ``ReActAgent`` and ``AgentWorkflow``.

::

    from llama_index.core.agent.workflow import FunctionAgent
    from skillbelt import SkillRouter
    from skillbelt.llama_index import skill_tools

    router = SkillRouter.from_directory("skills")
    agent = FunctionAgent(tools=skill_tools(router), system_prompt=router.prompt("You are …"), llm=llm)

The catalog goes into the system prompt: LlamaIndex refuses tool descriptions of more than 1024 characters.
"""

# No `from __future__ import annotations` here: LlamaIndex looks at raw annotations to find a Context parameter.

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from skillbelt import tools as core
from skillbelt.errors import MissingExtraError
from skillbelt.router import SkillRouter

try:
    from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
    from llama_index.core.tools.tool_spec.base import BaseToolSpec
except ImportError as error:
    raise MissingExtraError("skillbelt.llama_index", extra="llama-index") from error

__all__ = ["SkillFunctionTool", "SkillToolSpec", "skill_tools"]


def skill_tools(router: SkillRouter, *, listing: bool = False) -> list[FunctionTool]:
    r"""Return the skill tools of a router; ``[]`` when it has no skills.

    Args:
        router: The skills.
        listing: Add ``list_skills``, for agents whose prompt has no catalog.

    Example:
        >>> from skillbelt import MappingSource, SkillRouter
        >>> skills = {"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"}
        >>> [tool.metadata.name for tool in skill_tools(SkillRouter(MappingSource(skills)))]
        ['load_skill', 'read_skill_resource']
    """
    return [SkillFunctionTool(spec) for spec in core.skill_tools(router, listing=listing)]


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
        super().__init__(fn=spec.call, metadata=metadata)

    def call(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool; arguments may be positional, in the order of the schema."""
        names = [*self.spec.args.model_fields, *(f"positional argument {i + 1}" for i in range(len(args)))]
        arguments = {**self.partial_params, **dict(zip(names, args, strict=False)), **kwargs}
        try:
            text, artifact, _ = self.spec.call(**arguments)
        except core.TOLD as error:
            return self._output(arguments, core.failure_text(error), None, is_error=True)
        return self._output(arguments, text, artifact, is_error=False)

    async def acall(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool in a thread, so that the event loop never waits for a disk."""
        return await asyncio.to_thread(self.call, *args, **kwargs)

    def _output(
        self, arguments: Mapping[str, Any], text: str, artifact: dict[str, Any] | None, *, is_error: bool
    ) -> ToolOutput:
        return ToolOutput(
            content=text,
            tool_name=self.spec.name,
            raw_input={"kwargs": dict(arguments)},
            raw_output=text if artifact is None else artifact,
            is_error=is_error,
        )


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
