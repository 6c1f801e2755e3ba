"""Skills in use whose text a conversation has lost, and the text to put back.

A summary, an editing of old tool results or a short memory removes messages, and with them the instructions a model
was following. A :class:`Keeper` knows the current text of each skill in use, reads it again when it may have changed,
and says what has to be put back, within bounds: so many tokens a skill, so many in all, the latest first. Where it is
put is the adapter's affair; whether something is missing is judged by :class:`~skillbelt.active.Sight`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from skillbelt.active import HeldSkill, fingerprint
from skillbelt.errors import InvalidSkillError, LimitError, SkillNotFoundError, SourceError
from skillbelt.limits import KIB, check_bytes
from skillbelt.models import Activation
from skillbelt.router import SkillRouter
from skillbelt.text import estimate_tokens

__all__ = ["Current", "Keeper", "Restore", "Restored", "Returned", "lost"]

Form = Literal["auto", "pair", "message", "off"]

_ROOM = 1024
_TRIES = 6


@dataclass(frozen=True, slots=True)
class Restore:
    """Whether and how much is put back.

    Attributes:
        form: ``"pair"`` puts skills back as a call of ``load_skill`` and its result, ``"message"`` as a message of the
            user, for models that sign their calls; ``"auto"`` is a pair unless the model is known to think aloud;
            ``"off"`` puts nothing back, and the next ``load_skill`` returns the whole text again.
        skill_tokens: Most tokens of one skill.
        total_tokens: Most tokens of all that is put back; what does not fit is named.
        count: Counts the tokens of a text.
        fresh: Seconds after which a skill in use is read again to see whether it changed; each run begins with a look.

    Raises:
        LimitError: A number is not usable.
    """

    form: Form = "auto"
    skill_tokens: int = 5_000
    total_tokens: int = 25_000
    count: Callable[[str], int] = estimate_tokens
    fresh: float = 10.0

    def __post_init__(self) -> None:
        check_bytes("skill_tokens", self.skill_tokens)
        check_bytes("total_tokens", self.total_tokens)
        if self.form not in ("auto", "pair", "message", "off"):
            raise LimitError(f'restore is "auto", "pair", "message" or "off", not {self.form!r}.')
        if self.skill_tokens < _ROOM // 4:
            raise LimitError(f"skill_tokens must be at least {_ROOM // 4}, so that a marked cut fits.")

    @property
    def on(self) -> bool:
        """Whether anything is put back."""
        return self.form != "off"


class Current(NamedTuple):
    """A skill in use as it is now.

    Attributes:
        activation: Its text and files; ``None`` when it cannot be read any more.
        read: When it was read, by the keeper's clock.
    """

    activation: Activation | None
    read: float


class Returned(NamedTuple):
    """One text to put back.

    Attributes:
        name: The skill.
        text: Its text, cut if need be; ``""`` when it cannot be read any more.
        note: The line that belongs before it.
        digest: sha256 of its SKILL.md as it is now.
        tokens: Size of the text.
        changed: Whether it is another text than the one that was lost.
        arguments: What it was loaded with.
        cut: Whether the text is not whole.
    """

    name: str
    text: str
    note: str
    digest: str
    tokens: int
    changed: bool
    arguments: str | None
    cut: bool

    @property
    def whole(self) -> str:
        """The note and the text."""
        return f"{self.note}\n{self.text}" if self.text else self.note


class Restored(NamedTuple):
    """All that has to be put back.

    Attributes:
        skills: The texts, in the order in which the skills were loaded.
        left_out: Names of those that did not fit.
        note: The line that names these, ``""`` without any.
    """

    skills: tuple[Returned, ...]
    left_out: tuple[str, ...]
    note: str

    def __bool__(self) -> bool:
        return bool(self.skills or self.left_out)


_NOTHING = Restored((), (), "")


class Keeper:
    """The current texts of one router's skills in use. Threads may share it.

    It reads with the router's rights and tells its listener nothing: what is put back was handed out before.

    Args:
        router: Whose skills are in use.
        restore: How much is put back.
        clock: Tells how old a reading is.
    """

    def __init__(self, router: SkillRouter, restore: Restore, clock: Callable[[], float] = time.monotonic) -> None:
        self.restore = restore
        self._router = router.quiet()
        self._clock = clock
        self._current: dict[tuple[str, str | None], Current] = {}
        self._texts: dict[tuple[str, str, str | None, int], tuple[str, int, bool]] = {}
        self._plans: dict[object, Restored] = {}

    def stale(self, held: Mapping[str, HeldSkill]) -> bool:
        """Whether a skill in use has to be read before anything can be said of it.

        Args:
            held: The held records.
        """
        least = self._clock() - self.restore.fresh
        known = self._current
        for name, record in held.items():
            if not record.get("unloaded"):
                current = known.get((name, record.get("arguments")))
                if current is None or current.read < least:
                    return True
        return False

    def refresh(self, held: Mapping[str, HeldSkill], *, force: bool = False) -> None:
        """Read the skills in use whose reading is old.

        Args:
            held: The held records.
            force: Read all of them.
        """
        least = self._clock() - self.restore.fresh
        for name, record in held.items():
            key = (name, record.get("arguments"))
            current = self._current.get(key)
            if not record.get("unloaded") and (force or current is None or current.read < least):
                self._remember(key, self._read(*key))

    def note(self, name: str, arguments: str | None, activation: Activation) -> None:
        """Take over a text that was read just now for another reason.

        Args:
            name: The skill.
            arguments: What it was loaded with.
            activation: What was read.
        """
        self._remember((name, arguments), activation)

    def current(self, name: str, record: HeldSkill) -> Activation | None:
        """Return a skill in use as it was last read; ``None`` when it is gone.

        Args:
            name: The skill.
            record: Its held record.
        """
        known = self._current.get((name, record.get("arguments")))
        if known is None:
            self.refresh({name: record})
            known = self._current[name, record.get("arguments")]
        return known.activation

    def changed(self, name: str, record: HeldSkill) -> bool:
        """Whether a skill's SKILL.md is another one than when it was loaded.

        Args:
            name: The skill.
            record: Its held record.
        """
        activation = self.current(name, record)
        return activation is not None and activation.skill.digest != record["digest"]

    def back(self, lost: Mapping[str, HeldSkill]) -> Restored:
        """Return what has to be put back for skills whose text is gone: the latest first come into the budget.

        Args:
            lost: Held records of skills in use, in the order in which they were loaded.
        """
        if not lost:
            return _NOTHING
        key = tuple((name, record["digest"], record.get("arguments"), self._version(name, record))
                    for name, record in lost.items())  # fmt: skip
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(lost)
            if len(self._plans) >= 64:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def one(self, name: str, record: HeldSkill, note: str) -> Returned:
        """Return the text of one skill within the bound of a single one.

        Args:
            name: The skill.
            record: Its held record.
            note: The line before it.
        """
        activation = self.current(name, record)
        arguments = record.get("arguments")
        if activation is None:
            return Returned(name, "", self._router.renderer.gone(name), "", 0, True, arguments, cut=False)
        text, tokens, cut = self._fitted(activation, arguments, self.restore.skill_tokens)
        digest = activation.skill.digest
        return Returned(name, text, note, digest, tokens, digest != record["digest"], arguments, cut)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _version(self, name: str, record: HeldSkill) -> str:
        activation = self.current(name, record)
        return activation.skill.digest if activation else ""

    def _plan(self, lost: Mapping[str, HeldSkill]) -> Restored:
        renderer = self._router.renderer
        room = self.restore.total_tokens
        kept: list[Returned] = []
        left_out: list[str] = []
        for name, record in reversed(list(lost.items())):
            back = self.one(name, record, renderer.in_use(name, changed=self.changed(name, record)))
            if back.tokens > room:
                left_out.append(name)
                continue
            room -= back.tokens
            kept.append(back)
        left_out.reverse()
        return Restored(tuple(reversed(kept)), tuple(left_out), renderer.left_out(left_out) if left_out else "")

    def _read(self, name: str, arguments: str | None) -> Activation | None:
        try:
            return self._router.activate(name, arguments=arguments)
        except (SkillNotFoundError, InvalidSkillError):
            return None  # gone or broken: the conversation goes on, and is told so
        except SourceError:
            known = self._current.get((name, arguments))
            if known is None:
                raise
            return known.activation

    def _remember(self, key: tuple[str, str | None], activation: Activation | None) -> None:
        if len(self._current) > 512:
            self._current.clear()
        self._current[key] = Current(activation, self._clock())

    def _fitted(self, activation: Activation, arguments: str | None, tokens: int) -> tuple[str, int, bool]:
        """Return a skill's text in at most so many tokens, its size, and whether it was cut for that."""
        key = (activation.skill.name, fingerprint(activation.text), arguments, tokens)
        known = self._texts.get(key)
        if known is None:
            known = self._fit(activation, arguments, tokens)
            if len(self._texts) >= 256:
                self._texts.clear()
            self._texts[key] = known
        return known

    def _fit(self, activation: Activation, arguments: str | None, tokens: int) -> tuple[str, int, bool]:
        count = self.restore.count
        size = count(activation.text)
        if size <= tokens:
            return activation.text, size, activation.truncated
        most = max(KIB, min(len(activation.text.encode("utf-8", "replace")) - 1, tokens * 4))
        text = activation.text
        for _ in range(_TRIES):
            text = self._cut(activation, arguments, most)
            size = count(text)
            if size <= tokens or most == KIB:
                break
            most = max(KIB, most * tokens // size - KIB // 8)
        return text, size, True

    def _cut(self, activation: Activation, arguments: str | None, most: int) -> str:
        renderer = self._router.quiet(max_output=most).renderer
        on_disk = os.path.isabs(activation.skill.location or "")  # noqa: PTH117 - as the router judges it
        try:
            return renderer.content(activation.skill, activation.resources, arguments=arguments, on_disk=on_disk)[0]
        except LimitError:
            return renderer.content(activation.skill, activation.resources, on_disk=on_disk)[0]


def lost(held: Mapping[str, HeldSkill], there: Iterable[str]) -> dict[str, HeldSkill]:
    """Return the skills in use whose text is not among those that are there.

    Args:
        held: The held records.
        there: Names of the skills whose text is present.
    """
    known = set(there)
    return {name: record for name, record in held.items() if name not in known and not record.get("unloaded")}
