"""SkillApproval: a person looks before a script of a skill runs, or before a skill is loaded.

The tool writes a :class:`SkillApprovalRequired` (an ``InputRequiredEvent``) to the stream and waits for a
``HumanResponseEvent`` with its key. A workflow that waits can be saved with ``ctx.to_dict`` and go on elsewhere. What
was approved is remembered by the digest of what it was about: when a byte of that changes, somebody is asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableSet, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from uuid import uuid4

from llama_index.core.workflow import Event, HumanResponseEvent, InputRequiredEvent

from skillbelt.conduct import LOAD, RUN
from skillbelt.consent import Consent, Remember, consent
from skillbelt.llama_index.state import GRANTS, asking, claim, grant
from skillbelt.router import SkillRouter
from skillbelt.text import inline, shorten

__all__ = ["SkillApproval", "SkillApprovalRequired", "ask"]

_YES = frozenset({"yes", "y", "approve", "approved", "ok", "true"})
_REASON = 500


class SkillApprovalRequired(InputRequiredEvent):
    """Somebody is asked; answer with :meth:`answer`, or with a ``HumanResponseEvent`` that has the same ``key``.

    Attributes:
        prefix: What would happen, in full.
        key: Digest over what the question is about.
        tool: ``load_skill`` or ``run_skill_script``.
        skill: The skill.
        arguments: As the model gave them.
    """

    prefix: str
    key: str
    tool: str
    skill: str
    arguments: dict[str, Any]

    def answer(self, response: str | bool, reason: str = "") -> HumanResponseEvent:
        """Return the event to send back with ``handler.ctx.send_event``.

        Args:
            response: ``"yes"`` or ``True`` lets it happen, everything else does not.
            reason: What the model is told when it does not.
        """
        said = ("yes" if response else "no") if isinstance(response, bool) else response
        return HumanResponseEvent(response=said, key=self.key, reason=reason)


class _Never(Event):
    """Nobody sends it."""


@dataclass(frozen=True)
class SkillApproval:
    """What is asked for.

    Attributes:
        scripts: Whether running a script is.
        loading: Whether loading a skill is.
        allow: Names, or patterns such as ``"pdf-*"``, of skills that need no approval.
        remember: What a yes is good for: this very ``"call"``, the ``"script"`` with any arguments, or ``"never"``.
        grants: Digests of what was approved before, shared by conversations; a set the host keeps.
        timeout: Seconds to wait; then the call is refused. ``None`` waits without end.
    """

    scripts: bool = True
    loading: bool = False
    allow: Sequence[str] = ()
    remember: Remember = "call"
    grants: MutableSet[str] | None = None
    timeout: float | None = None

    def asks(self, tool: str) -> bool:
        """Whether calls of a tool are asked for.

        Args:
            tool: The tool.
        """
        return (tool == RUN and self.scripts) or (tool == LOAD and self.loading)


async def ask(
    approval: SkillApproval,
    ctx: Any,
    router: SkillRouter,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    mark: str,
    equal: int,
) -> tuple[str, str] | None:
    """Ask about a call if need be; return the skill and the refusal, or ``None`` when it may go on.

    Args:
        approval: What is asked for.
        ctx: Of the run.
        router: The skills.
        tool: The tool.
        arguments: As the model gave them.
        mark: Of the message the call stands in.
        equal: How many equal calls it has.
    """
    asked = await _asked(approval, router, tool, arguments)
    if asked is None or any(fnmatchcase(asked.skill, pattern) for pattern in approval.allow):
        return None
    async with asking(ctx, asked.key):
        refusal = await _answered(approval, ctx, router, tool, arguments, asked)
    if not claim(ctx, (mark, asked.key), equal):
        # This very call is under way already: let LlamaIndex forget this second attempt at it.
        await ctx.wait_for_event(_Never, waiter_id=f"skillbelt-{uuid4()}", timeout=None)
    return refusal


async def _answered(
    approval: SkillApproval, ctx: Any, router: SkillRouter, tool: str, arguments: Mapping[str, Any], asked: Consent
) -> tuple[str, str] | None:
    granted = await ctx.store.get(GRANTS, default=None) or ()
    if asked.key in granted or asked.key in (approval.grants or ()):
        return None
    question = SkillApprovalRequired(
        prefix=asked.description, key=asked.key, tool=tool, skill=asked.skill, arguments=dict(arguments)
    )
    try:
        # While nobody has answered this may raise, and LlamaIndex calls the tool anew once somebody has: nothing was
        # done before this line.
        answer = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_event=question,
            requirements={"key": asked.key},
            timeout=approval.timeout,
        )
    except TimeoutError:
        return asked.skill, router.renderer.unanswered(tool, asked.skill)
    if str(answer.get("response", "")).strip().casefold() not in _YES:
        reason = inline(shorten(str(answer.get("reason", "") or ""), _REASON))
        return asked.skill, router.renderer.declined(tool, asked.skill, reason)
    now = await _asked(approval, router, tool, arguments)
    if now is None or now.key != asked.key:
        return asked.skill, router.renderer.changed_meanwhile(asked.skill)
    await _remember(approval, ctx, asked.key)
    return None


async def _asked(
    approval: SkillApproval, router: SkillRouter, tool: str, arguments: Mapping[str, Any]
) -> Consent | None:
    return await asyncio.to_thread(consent, router, tool, arguments, remember=approval.remember)


async def _remember(approval: SkillApproval, ctx: Any, key: str) -> None:
    if approval.remember == "never":
        return
    await grant(ctx, key)
    if approval.grants is not None:
        approval.grants.add(key)
