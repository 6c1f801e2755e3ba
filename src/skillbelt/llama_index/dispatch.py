"""The tools of an agent with skills, as LlamaIndex calls them: with the context of the run.

A workflow calls a tool that wants a context with it. That is where state is read and written and where the fence
stands, so it holds in every agent and workflow, and whoever calls: a tool that was not offered can be called all the
same.
"""

# No `from __future__ import annotations` here: LlamaIndex looks at raw annotations to find a Context parameter.

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from llama_index.core.objects import ObjectRetriever
from llama_index.core.schema import QueryType
from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, ToolMetadata, ToolOutput, adapt_to_async_tool
from pydantic import BaseModel, ConfigDict

from skillbelt.kits import Kit
from skillbelt.llama_index.calls import Call, Desk
from skillbelt.llama_index.events import Teller
from skillbelt.llama_index.state import attach_blocks
from skillbelt.llama_index.tools import SkillFunctionTool, output
from skillbelt.tools import ToolResult, ToolSpec

__all__ = ["FencedRetriever", "FencedTool", "SkillCallTool", "guarded"]

_CONTEXT = "skillbelt_context"
"""The keyword by which a workflow hands over its context; no tool of a model has a parameter of this name."""


class Keeping(Protocol):
    """What a tool needs to know of the skills it belongs to."""

    teller: Teller

    def kit_of(self, ctx: Any) -> Coroutine[Any, Any, Kit]:
        """Return the kit of a run."""
        ...


class _Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


def _unbound(**_: Any) -> ToolResult:
    raise NotImplementedError  # a call goes to the tool of its run


class SkillCallTool(SkillFunctionTool):
    """A skill tool that knows its conversation: what is loaded through it is in use.

    Called alone, without a workflow, it does what :class:`~skillbelt.llama_index.SkillFunctionTool` does.

    Args:
        name: The tool.
        skills: Gives the kit of a run.
        desk: What calls are judged by.
        spec: The tool as it is outside of a run; a router for each run has none.
        own: Whether it is the tool of a single skill.
    """

    def __init__(
        self, name: str, skills: Keeping, desk: Desk, spec: ToolSpec | None = None, *, own: bool = False
    ) -> None:
        self._alone = spec is not None
        super().__init__(spec or ToolSpec(name, "Belongs to the skills of a run.", _Anything, _unbound))
        self.requires_context, self.ctx_param_name = True, _CONTEXT
        self._skills = skills
        self._desk = desk
        self._own = self.spec if own else None

    def call(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool outside of a workflow."""
        kwargs.pop(_CONTEXT, None)
        return super().call(*args, **kwargs) if self._alone else self._nowhere(kwargs)

    async def acall(self, /, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool, with the context of a workflow if there is one."""
        ctx = kwargs.pop(_CONTEXT, None)
        arguments = self._arguments(args, kwargs)
        if ctx is None:
            return await self._arun(arguments) if self._alone else self._nowhere(arguments)
        await attach_blocks(ctx)
        call = Call(self._desk, await self._skills.kit_of(ctx), ctx, self.spec.name, arguments)
        given = await call.run(self._arun, self._own)
        self._skills.teller.tell(ctx, call.events)
        return given

    def _nowhere(self, arguments: Mapping[str, Any]) -> ToolOutput:
        text = f"{self.spec.name} belongs to the skills of a run and was called outside of one."
        return output(self.spec.name, arguments, text, is_error=True)


class FencedTool(FunctionTool):
    """A tool of the host that runs only if the skills in use allow it.

    Args:
        tool: The tool.
        skills: Gives the kit of a run.
        desk: What calls are judged by.

    Attributes:
        inner: The tool.
    """

    def __init__(self, tool: AsyncBaseTool, skills: Keeping, desk: Desk) -> None:
        self.inner = tool
        super().__init__(fn=tool.real_fn if isinstance(tool, FunctionTool) else tool.call, metadata=tool.metadata)
        self.requires_context, self.ctx_param_name = True, _CONTEXT
        self._skills = skills
        self._desk = desk

    @property
    def metadata(self) -> ToolMetadata:
        """What the tool says of itself."""
        return self.inner.metadata

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool outside of a workflow."""
        kwargs.pop(_CONTEXT, None)
        return self.inner.call(*args, **kwargs)

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool if it may be called."""
        ctx = kwargs.pop(_CONTEXT, None)
        if ctx is not None:
            call = Call(self._desk, await self._skills.kit_of(ctx), ctx, self.metadata.get_name(), kwargs)
            refusal = await call.judge()
            self._skills.teller.tell(ctx, call.events)
            if refusal is not None:
                return refusal
            inner = self.inner
            if isinstance(inner, FunctionTool) and inner.requires_context and inner.ctx_param_name is not None:
                kwargs[inner.ctx_param_name] = ctx
        return await self.inner.acall(*args, **kwargs)


class FencedRetriever(ObjectRetriever[Any]):
    """A retriever of tools whose tools run only if the skills in use allow it.

    Args:
        retriever: Finds the tools.
        guard: Makes a fenced tool of a tool.
    """

    def __init__(self, retriever: ObjectRetriever[Any], guard: Callable[[Any], FunctionTool]) -> None:
        self._inner = retriever
        self._guard = guard

    def retrieve(self, str_or_query_bundle: QueryType) -> list[Any]:
        """Find tools."""
        return [self._guard(tool) for tool in self._inner.retrieve(str_or_query_bundle)]

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[Any]:
        """Find tools."""
        return [self._guard(tool) for tool in await self._inner.aretrieve(str_or_query_bundle)]


def guarded(tool: BaseTool | Callable[..., Any], skills: Keeping, desk: Desk) -> FunctionTool:
    """Return a tool behind the fence; one of ours, or one that is fenced already, as it is.

    Args:
        tool: A tool of the host.
        skills: Gives the kit of a run.
        desk: What calls are judged by.
    """
    if isinstance(tool, SkillCallTool | FencedTool):
        return tool
    made = tool if isinstance(tool, BaseTool) else FunctionTool.from_defaults(tool)
    return FencedTool(adapt_to_async_tool(made), skills, desk)
