"""Skills that come into use without a call of the model: those a host or a user chose, before the model is asked.

What is chosen comes as a message in the name of the user: no call is put into the model's mouth. The agents here put it
into the memory; for a memory block it is put back with each request, like a text that was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from skillbelt.active import By, after, fingerprint, hold, now, removal
from skillbelt.errors import InvalidSkillError, SkillNotFoundError
from skillbelt.kits import Kit
from skillbelt.llama_index import state as kept
from skillbelt.llama_index.events import SkillActivated, SkillsListed, SkillStreamEvent
from skillbelt.llama_index.skills import Skills
from skillbelt.llama_index.state import Held
from skillbelt.llama_index.texts import key_of, standing
from skillbelt.mentions import Mention, mention
from skillbelt.parsing import name_key

__all__ = ["Opening", "listed", "wants_reload"]

_MISSING = object()


class Opening:
    """Works out what a call of the model begins with.

    Args:
        skills: The host's choices.
        kit: Of this run's router.
        owner: The agent.

    Attributes:
        messages: What was chosen, for the memory.
        events: What there is to tell.
    """

    def __init__(self, skills: Skills, kit: Kit, owner: str) -> None:
        self.messages: list[ChatMessage] = []
        self.events: list[SkillStreamEvent] = []
        self._skills = skills
        self._kit = kit
        self._owner = owner
        self._held: Mapping[str, Held] = {}
        self._active: list[Mapping[str, Any]] = []
        self._new: dict[str, Held | None] = {}

    async def open(self, ctx: Any, said: str | None, there: Sequence[ChatMessage]) -> None:
        """Take up what a host or a user chose, and write it into the context.

        Args:
            ctx: Of the run.
            said: What the user said, at the start of a run; else ``None``.
            there: The messages that the model is about to get.

        Raises:
            SkillNotFoundError: A host named a skill that there is not.
            InvalidSkillError: A host named a skill that cannot be used.
        """
        self._held = await kept.held_skills(ctx)
        public = kept.public(await ctx.store.get(kept.ACTIVE, default=None))
        wishes = [record for record in public if self._is_new(str(record["name"]))]
        if len(await ctx.store.get("agents", default=None) or ()) > 1:  # others of the workflow may have it
            wishes = [record for record in wishes if str(record["name"]) in self._kit.router]
        preload = [name for name in self._skills.preload if name not in self._held]
        named = self._mention(said) if said and self._skills.mentions else None
        if wishes or preload or named is not None:
            await asyncio.to_thread(self._choose_all, wishes, preload, named, there)
            async with kept.editing(ctx) as edit:
                edit.join(self._active, self._new)

    def _is_new(self, name: str) -> bool:
        key = name_key(name)
        return not any(name_key(own) == key and not record.get("unloaded") for own, record in self._held.items())

    def _mention(self, said: str) -> Mention | None:
        kit = self._kit
        if said.lstrip()[:1] != "/":
            return None
        by_user = {summary.name for summary in kit.router.skills() if summary.user_invocable}
        named = mention(said, lambda name: kit.skill(name) in by_user)
        return named and Mention(kit.skill(named.name) or named.name, named.arguments)

    def _choose_all(
        self,
        wishes: Sequence[Mapping[str, Any]],
        preload: Sequence[str],
        named: Mention | None,
        there: Sequence[ChatMessage],
    ) -> None:
        for record in wishes:
            name = str(record["name"])
            try:
                self._choose(name, None, "host", there)
            except (SkillNotFoundError, InvalidSkillError):
                if "digest" not in record:
                    raise
                self._active.append(removal(name))
        for name in preload:
            try:
                self._choose(name, None, "host", there)
            except SkillNotFoundError:
                if self._skills.router_for is None:  # else not every user has to have every skill
                    raise
        if named is not None:
            self._choose(named.name, named.arguments, "user", there)

    def _choose(self, name: str, arguments: str | None, by: By, there: Sequence[ChatMessage]) -> None:
        notes = self._kit.router.renderer
        activation = self._kit.router.quiet().activate(name, arguments=arguments)
        skill, text = activation.skill, fingerprint(activation.text)
        self._kit.keeper.note(skill.name, arguments, activation)
        if name != skill.name:  # the record of the wish gives way to one under the skill's own name
            self._active.append(removal(name))
        if skill.name in self._new:
            return
        known = self._held.get(skill.name)
        if known is not None and known["text"] == text and not known.get("unloaded"):
            if by == "user" and standing(there, known):
                self.messages.append(ChatMessage(role=MessageRole.USER, content=notes.chosen_again(skill.name)))
            return
        tools = skill.frontmatter.allowed_tools
        active, held = hold(
            skill.name, skill.digest, text, key_of(activation.text), tools=tools, arguments=arguments, by=by
        )
        self._active.append(active)
        self._new[skill.name] = {**after(held, known), "agent": self._owner}
        said = f"{notes.chosen(skill.name, by=by)}\n{activation.text}"
        self.messages.append(ChatMessage(role=MessageRole.USER, content=said))
        tokens = self._kit.layout.restore.count(activation.text)
        self.events.append(SkillActivated(skill=skill.name, digest=skill.digest, tokens=tokens, by=by))


def listed(kit: Kit) -> list[SkillStreamEvent]:
    """Return what there is to tell of a catalog.

    Args:
        kit: Of this run's router.
    """
    catalog = kit.catalog
    if not catalog.text:
        return []
    return [SkillsListed(skills=len(catalog.shown), omitted=len(catalog.omitted), tokens=catalog.tokens)]


async def wants_reload(ctx: Any) -> bool:
    """Whether a host asked for the skills to be read again, by ``active_skills = None``; it is answered with this.

    Args:
        ctx: Of the run.
    """
    wish = await ctx.store.get(kept.ACTIVE, default=_MISSING)
    if wish is not None and not (isinstance(wish, list) and any(r == {"reload": True} for r in wish)):
        return False
    held = await kept.held_skills(ctx)
    records = [
        {"name": name, "digest": record["digest"], "when": now()}
        for name, record in held.items()
        if not record.get("unloaded")
    ]
    await ctx.store.set(kept.ACTIVE, records)
    return True
