"""The start of a run: skills are read again if asked for, and those a caller or a user chose come into use.

What is chosen here comes as a message of its own, in the name of the user: no call is put into the model's mouth, so
models that sign their calls take it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from skillbelt.active import By, HeldSkill, Sight, after, fingerprint, hold, is_same, removal, takes_reload
from skillbelt.errors import InvalidSkillError, SkillNotFoundError
from skillbelt.langchain.kit import Kit
from skillbelt.langchain.state import ACTIVE, HELD, MARK, held_skills, text_of
from skillbelt.langchain.telling import Fact, fact
from skillbelt.mentions import Mention, mention
from skillbelt.parsing import name_key

__all__ = ["Opening"]


class Opening:
    """Works out what a run begins with.

    Args:
        state: Of the agent.
        preload: Skills that are in use from the first run of a conversation on.
        mentions: Whether ``/name`` at the start of a message counts.
        reload: Whether each run begins with a new look at the skills.
        per_user: Whether the skills differ by run.
        inherit: Whether a child takes over the skills its parent has in use.
        child: Whether this run was started by another one.
    """

    def __init__(
        self,
        state: Mapping[str, Any],
        *,
        preload: Sequence[str],
        mentions: bool,
        reload: bool,
        per_user: bool,
        inherit: bool,
        child: bool,
    ) -> None:
        self._active: Sequence[Mapping[str, Any]] = state.get(ACTIVE) or ()
        self._held = held_skills(state)
        self._messages: Sequence[BaseMessage] = state.get("messages") or ()
        self._first = not any(isinstance(message, AIMessage) for message in self._messages)
        self._preload = preload if self._first else ()
        self._mentions = mentions
        self._per_user = per_user
        self._reload = takes_reload(self._active)
        self.reload = reload or bool(self._reload)
        self._drop = child and not inherit and self._first and not self._held
        self.facts: list[Fact] = []

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do: most runs begin so, and touch no disk."""
        return not (self.reload or self._preload or self._held or self._wishes() or self._slashed())

    def open(self, kit: Kit, sight: Sight[BaseMessage]) -> dict[str, Any] | None:
        """Return what to write into the state.

        Args:
            kit: Of this run's router, made after the reload.
            sight: Finds texts in messages.

        Raises:
            SkillNotFoundError: A caller named a skill that there is not.
            InvalidSkillError: A caller named a skill that cannot be used.
        """
        kit.keeper.refresh(self._held, force=True)
        active: list[Mapping[str, Any]] = [*self._reload]
        held: dict[str, HeldSkill | None] = {}
        messages: list[BaseMessage] = []

        def choose(name: str, arguments: str | None, by: By) -> None:
            activation = kit.router.quiet().activate(name, arguments=arguments)
            skill, text = activation.skill, fingerprint(activation.text)
            kit.keeper.note(skill.name, arguments, activation)
            if name != skill.name:  # the record of the wish gives way to one under the skill's own name
                active.append(removal(name))
            known = self._held.get(skill.name)
            if skill.name in held:
                return
            if known is not None and is_same(known, skill.digest, text, arguments):
                if by == "user" and sight.find(self._messages, known)[1]:
                    messages.append(_message(kit.router.renderer.chosen_again(skill.name), skill.name))
                return
            key = f"skill-{uuid4()}"
            said = f"{kit.router.renderer.chosen(skill.name, by=by)}\n{activation.text}"
            public, record = hold(
                skill.name,
                skill.digest,
                text,
                key,
                tools=skill.frontmatter.allowed_tools,
                arguments=arguments,
                by=by,
            )
            active.append(public)
            held[skill.name] = after(record, known)
            messages.append(_message(said, skill.name, key))
            tokens = kit.layout.restore.count(activation.text)
            self.facts.append(fact("activated", skill=skill.name, digest=skill.digest, tokens=tokens, by=by))

        for record in self._wishes():
            name = str(record["name"])
            try:
                if self._drop and "digest" in record:
                    raise SkillNotFoundError(name)  # the parent's, and not ours to take over
                choose(name, None, "host")
            except (SkillNotFoundError, InvalidSkillError):
                if "digest" not in record:
                    raise
                active.append(removal(name))
        for name in self._preload:
            try:
                choose(name, None, "host")
            except SkillNotFoundError:
                if not self._per_user:  # not every user has to have every skill
                    raise
        for said in self._slashed():
            named = self._mention(kit, said)
            if named is not None:
                choose(named.name, named.arguments, "user")
        update = {"messages": messages, ACTIVE: active, HELD: held}
        return {key: value for key, value in update.items() if value} or None

    def _wishes(self) -> list[Mapping[str, Any]]:
        """Return the records of skills that somebody outside wants to be in use and that are not yet."""
        known = {name_key(name) for name, record in self._held.items() if not record.get("unloaded")}
        return [r for r in self._active if "name" in r and name_key(str(r["name"])) not in known]

    def _slashed(self) -> list[str]:
        """Return the new messages of the user that may name a skill."""
        found: list[str] = []
        if self._mentions:
            for message in reversed(self._messages):
                if not isinstance(message, HumanMessage):
                    break
                text = text_of(message)
                if MARK not in message.additional_kwargs and text.lstrip()[:1] == "/":
                    found.append(text)
        return found[::-1]

    def _mention(self, kit: Kit, text: str) -> Mention | None:
        def known(name: str) -> bool:
            own = kit.skill(name)
            return own is not None and any(s.name == own and s.user_invocable for s in kit.router.skills())

        named = mention(text, known)
        return named and Mention(kit.skill(named.name) or named.name, named.arguments)


def _message(text: str, skill: str, key: str | None = None) -> HumanMessage:
    return HumanMessage(text, id=key, additional_kwargs={MARK: {"skill": skill}})
