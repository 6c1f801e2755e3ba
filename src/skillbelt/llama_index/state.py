"""What a workflow's context holds of skills: plain JSON in ``ctx.store``, shared by all agents of a workflow.

``active_skills`` is for everybody to read: the skills in use with their digests. ``skills_held`` is what the tools and
agents here need to keep them in use. Both survive ``ctx.to_dict`` with any serializer. Nothing is kept beside them: two
conversations never meet, and another process goes on where this one stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, NotRequired, Protocol
from weakref import WeakKeyDictionary

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.workflow import Context

from skillbelt.active import HeldSkill, fingerprint, merge_active, merge_held

__all__ = ["ACTIVE", "GRANTS", "HELD", "MISSES", "SEEN", "Edit", "Held", "RunContext", "editing", "held_skills"]

ACTIVE = "active_skills"
"""The skills in use: name, digest, when. A host may write names there before a run; ``None`` asks for a reload."""

HELD = "skills_held"
BEFORE = "skills_before"
SEEN = "skills_seen"
MISSES = "skills_misses"
GRANTS = "skill_grants"
ORDER = "skills_order"

SCRATCHPAD = "scratchpad"
"""Where a ``FunctionAgent`` keeps the messages of the current run, unless it is told otherwise."""

REASONING = "current_reasoning"
"""Where a ``ReActAgent`` keeps the steps of the current run, unless it is told otherwise."""


LOOKING: ContextVar[bool] = ContextVar("skillbelt_looking", default=False)
"""Whether a tool reads the memory only to see what is in it, and not to ask the model."""

_MOST = 256
_locks: WeakKeyDictionary[Any, asyncio.Lock] = WeakKeyDictionary()
_turns: WeakKeyDictionary[Any, asyncio.Lock] = WeakKeyDictionary()
_begun: WeakKeyDictionary[Any, Counter[tuple[str, ...]]] = WeakKeyDictionary()
_questions: WeakKeyDictionary[Any, dict[str, asyncio.Lock]] = WeakKeyDictionary()


class Held(HeldSkill):
    """A held record, and whose it is.

    Attributes:
        agent: Name of the agent that loaded the skill; others see it only if it is among their skills.
    """

    agent: NotRequired[str]


class RunContext(Protocol):
    """A workflow's context, as far as it is needed here."""

    @property
    def store(self) -> Any:
        """The state that all steps share."""
        ...


async def held_skills(ctx: RunContext) -> Mapping[str, Held]:
    """Return the held records, in the order in which the skills were loaded.

    Args:
        ctx: Of the run.
    """
    held: Mapping[str, Held] | None = await ctx.store.get(HELD, default=None)
    return held or {}


async def before_message(ctx: RunContext, mark: str) -> Mapping[str, Held]:
    """Return the held records as they were before the message whose calls are running.

    Args:
        ctx: Of the run.
        mark: :func:`message_mark` of that message.
    """
    before: Mapping[str, Any] | None = await ctx.store.get(BEFORE, default=None)
    if before is not None and before["mark"] == mark:
        held: Mapping[str, Held] = before["held"]
        return held
    return await held_skills(ctx)


async def message_mark(ctx: RunContext, scratchpad: str = SCRATCHPAD) -> str:
    """Return what tells the message whose calls are running from all others of the conversation.

    Args:
        ctx: Of the run.
        scratchpad: Where the agent keeps its messages.
    """
    done = await ctx.store.get("current_tool_calls", default=None) or ()
    iteration = await ctx.store.get("num_iterations", default=0)
    messages: Sequence[ChatMessage] = await ctx.store.get(scratchpad, default=None) or ()
    last = messages[-1] if messages and messages[-1].role == MessageRole.ASSISTANT else None
    said = fingerprint(f"{last.blocks!r}{last.additional_kwargs!r}") if last is not None else ""
    return f"{iteration}:{len(done)}:{said}"


async def message_over(ctx: RunContext, scratchpad: str = SCRATCHPAD) -> None:
    """Let what the calls of the last message did hold from now on: the model is asked again.

    Args:
        ctx: Of the run.
        scratchpad: Where the agent keeps its messages.
    """
    before = await ctx.store.get(BEFORE, default=None)
    if before is not None and before["mark"] != await message_mark(ctx, scratchpad):
        await ctx.store.set(BEFORE, None)


class Edit:
    """The records of a conversation while they are being changed.

    Attributes:
        held: The held records.
        before: The held records as they were before a message, and its mark; ``None`` when it changed nothing.
    """

    def __init__(self, held: Mapping[str, Held], active: Any, before: Mapping[str, Any] | None) -> None:
        self.held = held
        self.active = public(active)
        self.before = before
        self.changed = False

    def join(
        self, active: Sequence[Mapping[str, Any]], held: Mapping[str, Held | None], *, mark: str | None = None
    ) -> None:
        """Join records into what there is.

        Args:
            active: Public records, see :func:`~skillbelt.active.merge_active`.
            held: Held records, see :func:`~skillbelt.active.merge_held`.
            mark: Of the message whose call writes; until the model is asked again, calls are judged without this.
        """
        if mark is not None and (self.before is None or self.before["mark"] != mark):
            self.before = {"mark": mark, "held": dict(self.held)}
        self.active = merge_active(self.active, active)
        self.held = merge_held(self.held, held)  # type: ignore[assignment]
        self.changed = True


@asynccontextmanager
async def editing(ctx: RunContext) -> AsyncIterator[Edit]:
    """Change the records of a conversation, one call at a time.

    ``ctx.store.edit_state()`` would do for that, but llama-index-workflows 2 copies the whole state for it: an agent
    would go on with a copy of the memory that the host passed in, and with a copy of every skill.

    Args:
        ctx: Of the run.
    """
    store = ctx.store
    async with _locks.setdefault(store, asyncio.Lock()):
        edit = Edit(
            await held_skills(ctx), await store.get(ACTIVE, default=None), await store.get(BEFORE, default=None)
        )
        yield edit
        if edit.changed:
            await store.set(BEFORE, edit.before)
            await store.set(HELD, edit.held)
            await store.set(ACTIVE, edit.active)


def in_turn(ctx: RunContext) -> asyncio.Lock:
    """Return the lock that lets loads of one message happen in the order of its calls.

    Args:
        ctx: Of the run.
    """
    return _turns.setdefault(ctx.store, asyncio.Lock())


def claim(ctx: RunContext, call: tuple[str, ...], most: int) -> bool:
    """Whether a call may begin, which equal calls of one message may as often as there are of them.

    A workflow that is resumed while it waits may call a tool twice for one call: once because it was waiting, once
    because the answer came. What counts is kept for this process only; another one begins anew.

    Args:
        ctx: Of the run.
        call: What tells the call.
        most: How many equal calls the message has.
    """
    begun = _begun.setdefault(ctx.store, Counter())
    begun[call] += 1
    while len(begun) > _MOST:
        del begun[next(iter(begun))]
    return begun[call] <= most


async def equal_calls(ctx: RunContext, tool: str, arguments: Mapping[str, Any], scratchpad: str = SCRATCHPAD) -> int:
    """Return how many equal calls the message has whose calls are running.

    Args:
        ctx: Of the run.
        tool: The tool.
        arguments: Its arguments.
        scratchpad: Where the agent keeps its messages.
    """
    messages: Sequence[ChatMessage] = await ctx.store.get(scratchpad, default=None) or ()
    calls = calls_of(messages[-1]) if messages else []
    return max(1, calls.count((tool, dict(arguments))))


def asking(ctx: RunContext, key: str) -> asyncio.Lock:
    """Return the lock that lets one question be asked once at a time: two waiters would wait for one answer.

    Args:
        ctx: Of the run.
        key: What the question is about.
    """
    return _questions.setdefault(ctx.store, {}).setdefault(key, asyncio.Lock())


async def grant(ctx: RunContext, key: str) -> None:
    """Remember that somebody approved something.

    Args:
        ctx: Of the run.
        key: What it was about.
    """
    async with _locks.setdefault(ctx.store, asyncio.Lock()):
        known = await ctx.store.get(GRANTS, default=None) or []
        if key not in known:
            await ctx.store.set(GRANTS, [*known, key])


async def attach_blocks(ctx: RunContext) -> None:
    """Tell the memory's blocks whose conversation they are in, where LlamaIndex does not.

    Args:
        ctx: Of the run.
    """
    if not hasattr(Context, "get_step_context"):
        memory = await ctx.store.get("memory", default=None)
        for block in getattr(memory, "memory_blocks", ()):
            if hasattr(block, "attach"):
                block.attach(ctx)


def public(records: Any) -> list[dict[str, Any]]:
    """Return the public list as records, whatever a host wrote there.

    Args:
        records: What stands in the store.
    """
    return [r for r in merge_active([], records) if "name" in r] if records is not None else []


# --- what has been said -----------------------------------------------------------------------------------------------


async def running(ctx: RunContext, scratchpad: str = SCRATCHPAD, reasoning: str = REASONING) -> list[ChatMessage]:
    """Return the messages of the current run, as they follow those of the memory.

    Args:
        ctx: Of the run.
        scratchpad: Where a ``FunctionAgent`` keeps its messages.
        reasoning: Where a ``ReActAgent`` keeps its steps.
    """
    messages: Sequence[ChatMessage] = await ctx.store.get(scratchpad, default=None) or ()
    steps = await ctx.store.get(reasoning, default=None) or ()
    observed = [step.get_content() for step in steps if hasattr(step, "observation")]
    return [*messages, *(ChatMessage(role=MessageRole.USER, content=text) for text in observed)]


def calls_of(message: ChatMessage) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of a message: its blocks, else entries as OpenAI has them.

    Args:
        message: Of the model.
    """
    found: list[Any] = [block for block in message.blocks if getattr(block, "block_type", "") == "tool_call"]
    blocks = [(block.tool_name, block.tool_kwargs) for block in found]  # core 0.13 has no class for them
    if not blocks:
        entries = message.additional_kwargs.get("tool_calls") or []
        plain = [entry if isinstance(entry, dict) else entry.model_dump() for entry in entries]
        blocks = [(e["function"]["name"], e["function"]["arguments"]) for e in plain if "function" in e]
    return [(name, _decoded(given)) for name, given in blocks]


def _decoded(given: Any) -> dict[str, Any]:
    if not isinstance(given, str):
        return dict(given)
    try:
        decoded = json.loads(given or "{}")
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


async def remembered(ctx: RunContext) -> list[ChatMessage]:
    """Return the messages of the memory.

    Args:
        ctx: Of the run.
    """
    memory = await ctx.store.get("memory", default=None)
    token = LOOKING.set(True)
    try:
        return [] if memory is None else list(await memory.aget())
    finally:
        LOOKING.reset(token)


async def note_seen(ctx: RunContext, owner: str, names: Iterable[str], restored: Iterable[str]) -> list[str]:
    """Note which skills' whole texts the model has before it now; return those that were not put back before.

    Args:
        ctx: Of the run.
        owner: The agent that asks the model; ``""`` for any.
        names: The skills.
        restored: Those of which a text was put back.
    """
    at = await ctx.store.get("num_iterations", default=0) + 1
    known = await ctx.store.get(SEEN, default=None) or {}
    back = sorted(restored)
    await ctx.store.set(SEEN, {"owner": owner, "at": at, "names": sorted(names), "restored": back})
    return [name for name in back if name not in known.get("restored", ())]


async def seen(ctx: RunContext, owner: str) -> list[str] | None:
    """Return what was noted when the message came whose calls are running; ``None`` when nothing was.

    Args:
        ctx: Of the run.
        owner: The agent.
    """
    noted = await ctx.store.get(SEEN, default=None)
    if noted is None or noted["at"] != await ctx.store.get("num_iterations", default=0):
        return None
    return list(noted["names"]) if noted["owner"] in (owner, "") else None
