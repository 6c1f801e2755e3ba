"""SkillFunctionAgent and SkillReActAgent: LlamaIndex's agents with skills that stay in use.

They do what ``FunctionAgent`` and ``ReActAgent`` do, alone and in an ``AgentWorkflow``. Before each call of the model
they set the exact system text, choose the tools of this run, and see to it that the texts of the skills in use are
there. Every tool of the host stands behind the fence.
"""

# No `from __future__ import annotations` here: LlamaIndex looks at raw annotations of its agents.

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from skillbelt.errors import MissingExtraError, SkillError
from skillbelt.kits import Kit
from skillbelt.text import fill_slot

try:
    from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ReActAgent, ToolCallResult
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemory
    from llama_index.core.tools import AsyncBaseTool, BaseTool
    from pydantic import Field, PrivateAttr

    from skillbelt.llama_index import state as kept
    from skillbelt.llama_index.calls import Desk, visible
    from skillbelt.llama_index.dispatch import FencedRetriever, SkillCallTool, guarded
    from skillbelt.llama_index.events import SkillRestored, SkillStreamEvent, ToolRefused
    from skillbelt.llama_index.opening import Opening, listed, wants_reload
    from skillbelt.llama_index.react import SkillReActFormatter, system_text
    from skillbelt.llama_index.requests import Shaped, shape
    from skillbelt.llama_index.skills import OURS, Skills, skills_of
    from skillbelt.llama_index.texts import said
    from skillbelt.llama_index.tools import SkillFunctionTool
except ImportError as error:
    raise MissingExtraError("skillbelt.llama_index", extra="llama-index") from error

__all__ = ["SkillFunctionAgent", "SkillReActAgent"]


class _Stepping:
    """What both agents do around a step; mixed in before the agent of LlamaIndex."""

    _takes_blocks: ClassVar[bool] = True

    # --- built once -------------------------------------------------------------------------------------------------

    def _prepared(self, skills: Any, options: dict[str, Any], *, name: str) -> tuple[Skills, Desk, str]:
        """Put the tools behind the fence; return what the agent is kept with."""
        known = skills_of(skills)
        template = options.get("system_prompt") or ""
        options["system_prompt"] = fill_slot(template, "") or None
        tools: list[BaseTool] = []
        desk = known.desk(
            options.get("name", name),
            scratchpad=options.get("scratchpad_key", kept.SCRATCHPAD),
            reasoning=options.get("reasoning_key", kept.REASONING),
            media=known.media and self._takes_blocks,
            bound=lambda: [tool.metadata.get_name() for tool in tools],
        )
        tools += [*known.fenced(options.get("tools") or (), desk), *known.dispatchers(desk)]
        names = [tool.metadata.get_name() for tool in tools]
        if double := sorted({one for one in names if names.count(one) > 1}):
            raise SkillError(f"Two tools are called {double[0]!r}; LlamaIndex would take the last. Rename one.")
        options["tools"] = [*tools]
        if options.get("tool_retriever") is not None:
            options["tool_retriever"] = FencedRetriever(options["tool_retriever"], lambda t: guarded(t, known, desk))
        return known, desk, template

    # --- each step --------------------------------------------------------------------------------------------------

    async def _step(
        self: Any, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        skills: Skills = self.skills
        first = await ctx.store.get("num_iterations", default=0) == 0
        if first and (skills.reload or await wants_reload(ctx)):
            await asyncio.to_thread((await skills.router_of(ctx)).reload)
        kit = await skills.kit_of(ctx)
        self._fence_new_tools()
        await kept.message_over(ctx, self._desk.scratchpad)
        messages = self._with_system(llm_input, kit)
        events: list[SkillStreamEvent] = listed(kit) if first else []
        current = await kept.running(ctx, self._desk.scratchpad, self._desk.reasoning)
        opening = Opening(skills, kit, self.name)
        said_now = await ctx.store.get("user_msg_str", default=None) if first else None
        await opening.open(ctx, said_now, [*messages, *current])
        if opening.messages:
            await memory.aput_messages(opening.messages)
            messages += opening.messages
        events += opening.events
        held = visible(await kept.held_skills(ctx), kit, self.name)
        if held:
            if first or kit.keeper.stale(held):
                await asyncio.to_thread(kit.keeper.refresh, held, force=first)
            shaped = shape(messages, current, held, kit, self._form(skills))
            messages = shaped.messages
            await self._rewrite(ctx, shaped.current)
            events += await _noted(ctx, self.name, shaped)
        skills.teller.tell(ctx, events)
        output: AgentOutput = await self._asked(ctx, messages, self._offered(tools, kit, held), memory)
        if len(output.tool_calls) > 1:
            await ctx.store.set(kept.ORDER, [call.tool_id for call in output.tool_calls])
        return output

    def _with_system(self: Any, llm_input: Sequence[ChatMessage], kit: Kit) -> list[ChatMessage]:
        """Return the messages with the system text of this run first; a memory block's catalog is not said twice."""
        shown = self.system_prompt or ""
        template = self._template if shown == fill_slot(self._template, "") else shown
        messages = list(llm_input)
        if shown and messages and messages[0].role == MessageRole.SYSTEM and said(messages[0]) == shown:
            messages = messages[1:]
        if kit.section:
            messages = [m for m in messages if not (m.role == MessageRole.SYSTEM and said(m) == kit.section)]
        text = kit.prompt(template)
        return [ChatMessage(role=MessageRole.SYSTEM, content=text), *messages] if text else messages

    def _offered(self: Any, tools: Sequence[AsyncBaseTool], kit: Kit, held: Mapping[str, Any]) -> list[AsyncBaseTool]:
        """Return what the model is offered: the skill tools of this run, and what the skills in use allow."""
        rules = self.skills.rules
        offered: list[AsyncBaseTool] = []
        for tool in tools:
            name = tool.metadata.get_name()
            if isinstance(tool, SkillCallTool) and name in OURS:
                spec = kit.specs.get(name)
                if spec is not None and rules.offers(name, held, kit.specs):
                    offered.append(SkillFunctionTool(spec))
            elif name == "handoff" or rules.offers(name, held, ()):
                offered.append(tool)
        return offered

    def _fence_new_tools(self: Any) -> None:
        """Put tools behind the fence that a host added to the agent since it was built."""
        tools = self.tools
        for index, tool in enumerate(tools):
            fenced = guarded(tool, self.skills, self._desk)
            if fenced is not tool:
                tools[index] = fenced

    def _form(self, skills: Skills) -> str:
        return skills.form

    async def _answered(self: Any, ctx: Any, results: list[ToolCallResult]) -> list[ToolCallResult]:
        """Return the results in the order of the calls; where a skill was called as a tool, it says what to do."""
        kit = None
        own = {tool.metadata.name for tool in self.tools}
        for result in results:
            if result.tool_output.is_error and result.tool_name not in own:
                kit = kit or await self.skills.kit_of(ctx)
                skill = kit.skill(result.tool_name)
                if skill is not None:
                    text = kit.router.renderer.no_tool(result.tool_name, skill)
                    result.tool_output.content = text
                    self.skills.teller.tell(ctx, [ToolRefused(tool=result.tool_name, skills=[skill], reason=text)])
        order = {id_: place for place, id_ in enumerate(await ctx.store.get(kept.ORDER, default=None) or ())}
        return sorted(results, key=lambda result: order.get(result.tool_id, -1))  # LlamaIndex has them as they came in


class SkillFunctionAgent(_Stepping, FunctionAgent):
    """A ``FunctionAgent`` with skills, for LLMs that call functions.

    Without skills the request stays as it is (S2-50).

    Args:
        skills: :class:`~skillbelt.llama_index.Skills`, a router, or a folder of skills.
        **options: As for ``FunctionAgent``; ``system_prompt`` may say ``{skills}``.

    Raises:
        SkillError: Two tools have one name.

    Example:
        ``SkillFunctionAgent(skills="skills", tools=[…], system_prompt="You are …", llm=llm)``
    """

    skills: Skills = Field(description="The skills of the agent.", exclude=True)
    _desk: Desk = PrivateAttr()
    _template: str = PrivateAttr("")

    def __init__(self, skills: Skills | Any, **options: Any) -> None:
        known, desk, template = self._prepared(skills, options, name="Agent")
        super().__init__(skills=known, **options)
        self._desk, self._template = desk, template

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Ask the model, with the skills of this run."""
        return await self._step(ctx, llm_input, tools, memory)

    async def _asked(
        self, ctx: Any, messages: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        return await super().take_step(ctx, messages, tools, memory)

    async def handle_tool_call_results(self, ctx: Any, results: list[ToolCallResult], memory: BaseMemory) -> None:
        """Put the results before the model."""
        await super().handle_tool_call_results(ctx, await self._answered(ctx, results), memory)

    async def _rewrite(self, ctx: Any, changed: Mapping[int, ChatMessage]) -> None:
        if changed:
            messages = await ctx.store.get(self.scratchpad_key, default=[])
            await ctx.store.set(self.scratchpad_key, [changed.get(i, m) for i, m in enumerate(messages)])


class SkillReActAgent(_Stepping, ReActAgent):
    """A ``ReActAgent`` with skills, for LLMs without function calling.

    Its system text is exact on every version of LlamaIndex, whichever formatter it has. What is put back comes as a
    message of the user, and pictures are left out: this agent knows text only.

    Args:
        skills: :class:`~skillbelt.llama_index.Skills`, a router, or a folder of skills.
        **options: As for ``ReActAgent``; ``system_prompt`` may say ``{skills}``.

    Raises:
        SkillError: Two tools have one name.

    Example:
        ``SkillReActAgent(skills="skills", tools=[…], system_prompt="You are …", llm=llm)``
    """

    _takes_blocks: ClassVar[bool] = False

    skills: Skills = Field(description="The skills of the agent.", exclude=True)
    _desk: Desk = PrivateAttr()
    _template: str = PrivateAttr("")

    def __init__(self, skills: Skills | Any, **options: Any) -> None:
        known, desk, template = self._prepared(skills, options, name="Agent")
        options["formatter"] = SkillReActFormatter.around(options.get("formatter"))
        super().__init__(skills=known, **options)
        self._desk, self._template = desk, template

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Ask the model, with the skills of this run."""
        return await self._step(ctx, llm_input, tools, memory)

    async def _asked(
        self, ctx: Any, messages: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        system = messages[0].role == MessageRole.SYSTEM
        with system_text(said(messages[0]) if system else ""):
            return await super().take_step(ctx, messages, tools, memory)

    async def handle_tool_call_results(self, ctx: Any, results: list[ToolCallResult], memory: BaseMemory) -> None:
        """Put the results before the model."""
        await super().handle_tool_call_results(ctx, await self._answered(ctx, results), memory)

    def _form(self, skills: Skills) -> str:
        return "off" if skills.form == "off" else "message"

    async def _rewrite(self, ctx: Any, changed: Mapping[int, ChatMessage]) -> None:
        if changed:
            steps = await ctx.store.get(self.reasoning_key, default=[])
            observed = [index for index, one in enumerate(steps) if hasattr(one, "observation")]
            new = {observed[i]: said(m).removeprefix("Observation: ") for i, m in changed.items()}
            await ctx.store.set(
                self.reasoning_key,
                [s.model_copy(update={"observation": new[i]}) if i in new else s for i, s in enumerate(steps)],
            )


async def _noted(ctx: Any, owner: str, shaped: Shaped) -> list[SkillStreamEvent]:
    by_name = {back.name: back for back in shaped.restored if back.text}
    fresh = await kept.note_seen(ctx, owner, shaped.present, by_name)
    return [
        SkillRestored(skill=name, digest=back.digest, tokens=back.tokens, changed=back.changed)
        for name in fresh
        if (back := by_name[name])
    ]
