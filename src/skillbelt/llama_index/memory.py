"""SkillsMemoryBlock: the catalog and the skills in use as a block of LlamaIndex's ``Memory``, for any agent.

It is asked each time the memory is read, which is before each call of the model: it gives the catalog as a system
message and, when the text of a skill in use has left the memory, that text. It gives whole messages, not words for the
memory's template, so what a skill says is never read as part of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from skillbelt.errors import MissingExtraError
from skillbelt.kits import Kit
from skillbelt.restoring import Restored, Returned, lost
from skillbelt.router import SkillRouter

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.workflow import Context, WorkflowRuntimeError
    from pydantic import PrivateAttr

    from skillbelt.llama_index import state as kept
    from skillbelt.llama_index.calls import visible
    from skillbelt.llama_index.events import SkillRestored
    from skillbelt.llama_index.opening import Opening, listed, wants_reload
    from skillbelt.llama_index.requests import as_message
    from skillbelt.llama_index.skills import Skills, skills_of
    from skillbelt.llama_index.state import Held
    from skillbelt.llama_index.texts import standing
except ImportError as error:
    raise MissingExtraError("skillbelt.llama_index", extra="llama-index") from error

__all__ = ["SkillsMemoryBlock"]


class SkillsMemoryBlock(BaseMemoryBlock[list[ChatMessage]]):
    """A memory block with the catalog and the skills in use.

    The tools come from the same :class:`~skillbelt.llama_index.Skills`: ``FunctionAgent(tools=skills.tools([…]))``.

    Args:
        skills: :class:`~skillbelt.llama_index.Skills`, a router, or a folder of skills.
        catalog: Whether the catalog is in it; ``False`` when each agent has its own in its system prompt.
        ctx: The ``Context`` of the conversation. With llama-index-workflows 2 it is found without it; before that, a
            conversation that goes on in another process needs it.
        name: Name of the block.

    Example:
        ``Memory.from_defaults(session_id="ada", memory_blocks=[SkillsMemoryBlock(skills)])``
    """

    _skills: Skills = PrivateAttr()
    _catalog: bool = PrivateAttr(default=True)
    _ctx: Any = PrivateAttr(default=None)

    def __init__(
        self, skills: Skills | SkillRouter | str, *, catalog: bool = True, ctx: Any = None, name: str = "skills"
    ) -> None:
        # Priority 0: LlamaIndex never cuts it. What leaves the short memory is of no use to it.
        super().__init__(name=name, priority=0, accept_short_term_memory=False)
        self._skills = skills_of(skills)
        self._catalog = catalog
        self._ctx = ctx

    def attach(self, ctx: Any) -> None:
        """Tell the block whose conversation it is in; a tool of the same skills does so when it is called.

        Args:
            ctx: The run's ``Context``.
        """
        self._ctx = ctx

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SkillsMemoryBlock:
        return self  # LlamaIndex copies a state that is edited, the memory in it and all; skills are no state

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> list[ChatMessage]:
        if kept.LOOKING.get():
            return []
        ctx = _step_context() or self._ctx
        skills = self._skills
        if ctx is None and skills.router is None:
            return []
        if ctx is not None and await _is_first(ctx) and (skills.reload or await wants_reload(ctx)):
            await asyncio.to_thread((await skills.router_of(ctx)).reload)
        kit = await skills.kit_of(ctx)
        given = []
        if self._catalog and kit.section:
            given.append(ChatMessage(role=MessageRole.SYSTEM, content=kit.section))
            if ctx is not None and await _is_first(ctx):
                skills.teller.tell(ctx, listed(kit))
        if ctx is not None:
            given += await self._in_use(ctx, kit, messages or [])
        return given

    async def _in_use(self, ctx: Any, kit: Kit, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return what has to be put back, and note what the model has before it."""
        skills = self._skills
        await kept.message_over(ctx)
        there = [*messages, *await kept.running(ctx)]
        opening = Opening(skills, kit, "")
        said = await ctx.store.get("user_msg_str", default=None) if await _is_first(ctx) else None
        await opening.open(ctx, said, there)
        held = visible(await kept.held_skills(ctx), kit, "")
        if not held:
            return []
        if kit.keeper.stale(held):
            await asyncio.to_thread(kit.keeper.refresh, held)
        present = {name for name, record in held.items() if not record.get("unloaded") and standing(there, record)}
        events = [*opening.events]
        plan = self._plan(kit, held, present) if skills.form != "off" else None
        back = [one for one in plan.skills if one.text] if plan is not None else []
        whole = present | {one.name for one in back if not one.cut and not one.changed}
        fresh = await kept.note_seen(ctx, "", whole, [one.name for one in back])
        events += [
            SkillRestored(skill=one.name, digest=one.digest, tokens=one.tokens, changed=one.changed)
            for one in back
            if one.name in fresh and held[one.name].get("by") == "model"
        ]
        skills.teller.tell(ctx, events)
        return [as_message(plan)] if plan else []

    def _plan(self, kit: Kit, held: Mapping[str, Held], present: set[str]) -> Restored:
        """Return what has to be put back, each under the line that is true of it."""
        notes = kit.router.renderer
        old = {name for name in present if kit.keeper.changed(name, held[name])}
        present -= old
        plan = kit.keeper.back(lost(held, present))

        def noted(back: Returned) -> Returned:
            by = held[back.name].get("by", "model")
            if not back.text or (by == "model" and back.name not in old):
                return back
            return back._replace(note=notes.changed(back.name) if back.name in old else notes.chosen(back.name, by=by))

        return plan._replace(skills=tuple(map(noted, plan.skills)))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Nothing is kept here: the skills in use stand in the context."""


async def _is_first(ctx: Any) -> bool:
    return bool(await ctx.store.get("num_iterations", default=0) == 0)


def _step_context() -> Any:
    """Return the context of the step this is called from; ``None`` outside of one, or when LlamaIndex does not tell."""
    get = getattr(Context, "get_step_context", None)
    if get is None:
        return None
    try:
        return get()
    except WorkflowRuntimeError:
        return None
