"""An agent of a file as a LlamaIndex ``FunctionAgent`` whose limits hold."""

# No `from __future__ import annotations` here: LlamaIndex looks at raw annotations of steps.

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from skillbelt.agents.bounds import too_late, too_many
from skillbelt.agents.config import DEFAULT_MODEL_CALLS, AgentConfig
from skillbelt.agents.models import chosen, llama_index_model
from skillbelt.agents.problems import refusal
from skillbelt.agents.skills import AgentSkills, LoadedSkill
from skillbelt.agents.tools import check_names, find_tools
from skillbelt.errors import MissingExtraError
from skillbelt.text import fill_slot

try:
    from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCall, ToolCallResult
    from llama_index.core.llms import ChatMessage
    from llama_index.core.llms.llm import LLM
    from llama_index.core.memory import BaseMemory
    from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool
    from llama_index.core.workflow import Context, step

    from skillbelt.llama_index import skill_tools
except ImportError as error:
    raise MissingExtraError("AgentConfig.to_llama_index", extra="llama-index") from error

__all__ = ["ConfiguredFunctionAgent", "build"]

_T = TypeVar("_T")
_PROCESS = uuid.uuid4().hex
"""Clocks of another process mean nothing here: a run that was carried over begins its deadline anew."""


class ConfiguredFunctionAgent(FunctionAgent):
    """A ``FunctionAgent`` with the limits of its configuration, and the list of its skills.

    A run that calls the model too often or takes too long ends with an ``AgentLimitError``. In an ``AgentWorkflow``
    the calls of the other agents count too, and tools are not interrupted; give the workflow its own ``timeout``.

    Attributes:
        loaded_skills: The skills that were resolved when the agent was built (S2-41).
        model_calls: Calls of the model in one run.
        deadline: Seconds for one run, from its first call of the model on; ``None`` for no bound.
    """

    loaded_skills: tuple[LoadedSkill, ...] = ()
    model_calls: int = DEFAULT_MODEL_CALLS
    deadline: float | None = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the agent; takes what ``FunctionAgent.run`` takes."""
        if not kwargs.get("max_iterations"):
            # LlamaIndex refuses an answer given in the last iteration, so that it must allow one more.
            kwargs["max_iterations"] = self.model_calls + 1
        return super().run(*args, **kwargs)

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Call the model, if the limits allow it."""
        iteration = await ctx.store.get("num_iterations", default=0)
        if iteration >= self.model_calls:
            raise too_many(self.model_calls)
        if self.deadline is not None:
            await self._begin(ctx, iteration)
        return await self._within(ctx, super().take_step(ctx, llm_input, tools, memory))

    @step
    async def call_tool(self, ctx: Context, ev: ToolCall) -> ToolCallResult:
        """Call a tool for as long as there is time."""
        return await self._within(ctx, super().call_tool(ctx, ev))

    @property
    def _key(self) -> str:
        return f"skillbelt_clock_{self.name}"

    async def _begin(self, ctx: Context, iteration: int) -> None:
        """Start the clock in the first step of a run; a context may have seen runs before."""
        clock = await ctx.store.get(self._key, default=None)
        if clock is None or clock["process"] != _PROCESS or iteration <= clock["iteration"]:
            clock = {"process": _PROCESS, "start": time.monotonic()}
        await ctx.store.set(self._key, {**clock, "iteration": iteration})

    async def _within(self, ctx: Context, work: Coroutine[Any, Any, _T]) -> _T:
        if self.deadline is None:
            return await work
        clock = await ctx.store.get(self._key, default=None)
        start = clock["start"] if clock and clock["process"] == _PROCESS else time.monotonic()
        timer = asyncio.timeout(max(0.0, start + self.deadline - time.monotonic()))
        try:
            async with timer:
                return await work
        except TimeoutError:
            if timer.expired():
                raise too_late(self.deadline) from None
            raise


def build(
    config: AgentConfig,
    *,
    model: LLM | str | None,
    tools: Mapping[str, BaseTool | Callable[..., Any]] | None,
    allow_imports: bool,
    skills: AgentSkills | None,
    options: dict[str, Any],
) -> ConfiguredFunctionAgent:
    """Build the agent; see :meth:`~skillbelt.agents.AgentConfig.to_llama_index`."""
    if config.allowed_tools == "enforce":
        # Better no agent than a fence that is none.
        message = "Only agents of LangChain can enforce allowed-tools; write 'advisory' for LlamaIndex."
        raise refusal([config.problem(("allowed_tools",), message)])
    own = [
        tool if isinstance(tool, BaseTool) else FunctionTool.from_defaults(tool)
        for tool in find_tools(config, tools, allow_imports=allow_imports)
    ]
    llm = chosen(config, model, llama_index_model)
    skills = config.open_skills() if skills is None else skills
    added = [] if skills.router is None else skill_tools(skills.router)
    check_names(config, [tool.metadata.get_name() for tool in own], [tool.metadata.get_name() for tool in added])
    prompt = config.system_prompt or ""
    prompt = fill_slot(prompt, "") if skills.router is None else skills.router.prompt(prompt)
    if config.description:
        options.setdefault("description", config.description)
    options.setdefault("name", config.name)
    return ConfiguredFunctionAgent(
        tools=[*own, *added, *options.pop("tools", ())],
        system_prompt=prompt or None,
        llm=llm,
        loaded_skills=skills.loaded,
        model_calls=config.model_calls,
        deadline=config.limits.deadline,
        **options,
    )
