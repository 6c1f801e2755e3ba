"""Sources made of sources: one after another, under a namespace, only some of them.

Small wrappers around one protocol instead of options on a big class. A wrapper never reads more than what it wraps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from skillbelt.errors import CollisionError, InvalidSkillError, SkillNotFoundError, SourceError, did_you_mean
from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.parsing import name_key
from skillbelt.sources.base import Problems, ResourceSource, Troubled, Versioned, Versions
from skillbelt.sources.paths import shown

__all__ = ["filtered", "merge", "namespaced", "problems_of", "versions_of"]

_T = TypeVar("_T")


def merge(
    *sources: ResourceSource | None,
    on_collision: Literal["first", "error"] = "first",
    broken: Literal["hide", "raise"] = "hide",
) -> ResourceSource:
    """Join sources; of a name held by several, the first source's skill is the one (S3-49, conflict C9).

    The winner owns its whole folder: a file it lacks is never taken from a lower copy (S3-50), and a broken winner is
    not replaced by one (S3-51): its name is withheld and asking for it says why. A shadowed skill can be asked for as
    ``name@source``.

    Args:
        *sources: Highest precedence first; ``None`` is dropped.
        on_collision: ``"error"`` raises when two sources hold one name.
        broken: ``"raise"`` makes :meth:`list` raise when a broken skill blocks a lower copy (conflict C10).

    Returns:
        A source. Of no sources, an empty one.

    Raises:
        CollisionError: From :meth:`list`, with ``on_collision="error"``.
        InvalidSkillError: From :meth:`list`, with ``broken="raise"``.
    """
    return _Merged(tuple(s for s in sources if s is not None), on_collision, broken)


def namespaced(namespace: str, source: ResourceSource) -> ResourceSource:
    """Give every skill of a source a namespace: ``pdf`` becomes ``acme/pdf`` (conflict C1).

    Args:
        namespace: Letters, digits, ``_`` and ``-``.
        source: Its skills have no namespace of their own.

    Raises:
        SourceError: The namespace has other characters.
    """
    if not namespace or not all(c.isascii() and (c.isalnum() or c in "_-") for c in namespace):
        raise SourceError(f"A namespace has letters, digits, '_' and '-' only, not {shown(namespace)}.")
    return _Namespaced(_required(source, "namespaced"), namespace)


def filtered(source: ResourceSource, keep: Callable[[SkillSummary], bool]) -> ResourceSource:
    """Keep the skills for which ``keep(summary)`` is true; the others cannot be loaded or read either.

    Args:
        source: What to choose from.
        keep: Judged afresh at every call, also by :meth:`load`, :meth:`resources` and :meth:`read`.
    """
    return _Filtered(_required(source, "filtered"), keep)


def problems_of(source: ResourceSource) -> Problems:
    """Return the names a source holds and cannot use; ``{}`` when it cannot tell without being asked by name."""
    return source.problems() if isinstance(source, Troubled) else {}


def versions_of(source: ResourceSource) -> Versions:
    """Return a version of each usable skill of a source; ``{}`` when it cannot tell."""
    return source.versions() if isinstance(source, Versioned) else {}


def _required(source: Any, what: str) -> ResourceSource:
    if source is None:
        raise SourceError(f"{what}() needs a source, not None.")
    return source  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Wrapper:
    """Delegates everything; a behaviour overrides the methods it changes."""

    source: ResourceSource

    def list(self) -> Sequence[SkillSummary]:
        return self.source.list()

    def lookup(self, name: str) -> SkillSummary:
        return self.source.lookup(name)

    def load(self, name: str) -> Skill:
        return self.source.load(name)

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        return self.source.resources(name)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        return self.source.read(name, path, offset=offset, max_bytes=max_bytes)

    def diagnostics(self) -> Sequence[Diagnostic]:
        return self.source.diagnostics()

    def problems(self) -> Problems:
        return problems_of(self.source)

    def versions(self) -> Versions:
        return versions_of(self.source)


@dataclass(frozen=True)
class _Filtered(_Wrapper):
    keep: Callable[[SkillSummary], bool]

    def list(self) -> Sequence[SkillSummary]:
        return tuple(summary for summary in self.source.list() if self.keep(summary))

    def lookup(self, name: str) -> SkillSummary:
        summary = self._asked(self.source.lookup, name)
        if not self.keep(summary):
            raise self._missing(name)
        return summary

    def load(self, name: str) -> Skill:
        skill = self._asked(self.source.load, name)
        if not self.keep(skill.summary()):
            raise self._missing(name)
        return skill

    def _asked(self, method: Callable[[str], _T], name: str) -> _T:
        try:
            return method(name)
        except SkillNotFoundError:
            # The wrapped source's message may suggest names that are filtered out.
            raise self._missing(name) from None

    def _missing(self, name: str) -> SkillNotFoundError:
        known = [summary.name for summary in self.list()]
        return SkillNotFoundError(f"There is no skill {shown(str(name))}. {did_you_mean(str(name), known)}")

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        self.lookup(name)
        return self.source.resources(name)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        self.lookup(name)
        return self.source.read(name, path, offset=offset, max_bytes=max_bytes)


@dataclass(frozen=True)
class _Namespaced(_Wrapper):
    namespace: str

    def _inner(self, name: str) -> str:
        prefix, slash, short = name.partition("/") if isinstance(name, str) else ("", "", "")
        if not slash or name_key(prefix) != name_key(self.namespace):
            raise SkillNotFoundError(f"There is no skill {shown(str(name))} in the namespace {self.namespace!r}.")
        return short

    def _summary(self, summary: SkillSummary) -> SkillSummary:
        return summary.model_copy(update={"name": f"{self.namespace}/{summary.name}", "namespace": self.namespace})

    def list(self) -> Sequence[SkillSummary]:
        return tuple(sorted((self._summary(s) for s in self.source.list()), key=lambda s: s.name))

    def lookup(self, name: str) -> SkillSummary:
        return self._summary(self.source.lookup(self._inner(name)))

    def load(self, name: str) -> Skill:
        return self.source.load(self._inner(name)).model_copy(update={"namespace": self.namespace})

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        return self.source.resources(self._inner(name))

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        return self.source.read(self._inner(name), path, offset=offset, max_bytes=max_bytes)

    def problems(self) -> Problems:
        return {f"{name_key(self.namespace)}/{key}": found for key, found in problems_of(self.source).items()}

    def versions(self) -> Versions:
        return {f"{name_key(self.namespace)}/{key}": found for key, found in versions_of(self.source).items()}


_Shadowed = tuple[SkillSummary, SkillSummary | None]
"""A skill that gave way, and the winner; ``None`` is a broken one."""


@dataclass(frozen=True)
class _Merged:
    sources: tuple[ResourceSource, ...]
    on_collision: Literal["first", "error"]
    broken: Literal["hide", "raise"]

    def list(self) -> Sequence[SkillSummary]:
        """Return the union, sorted by name."""
        return tuple(sorted(self._union()[0].values(), key=lambda summary: summary.name))

    def _union(self) -> tuple[dict[str, SkillSummary], Sequence[_Shadowed]]:
        """Return the winners by key, and the skills they shadow."""
        winners: dict[str, SkillSummary] = {}
        shadowed: deque[_Shadowed] = deque()  # inside this class, list is a method
        blocked: dict[str, tuple[Diagnostic, ...]] = {}
        for source in self.sources:
            for summary in source.list():
                key = name_key(_checked(summary).name)
                if key in blocked:
                    if self.broken == "raise":
                        raise InvalidSkillError(
                            f"Skill {shown(summary.name)} is broken in the source that wins; mend or remove it there.",
                            blocked[key],
                        )
                    shadowed.append((summary, None))
                elif key in winners:
                    if self.on_collision == "error":
                        raise CollisionError(
                            f"Two sources hold the skill {shown(summary.name)}: {winners[key].source} and "
                            f"{summary.source}; rename one, or merge with on_collision='first'."
                        )
                    shadowed.append((summary, winners[key]))
                else:
                    winners[key] = summary
            for key, found in problems_of(source).items():
                if key not in winners:
                    blocked.setdefault(key, found)
        return winners, tuple(shadowed)

    def _owner(self, name: str) -> tuple[ResourceSource, str]:
        """Return the first source that holds a name, broken or not, and the name to ask it for (S3-51 to S3-53)."""
        if not isinstance(name, str) or not name.strip():
            raise SkillNotFoundError("A skill name must not be empty; give one of the names in the catalog.")
        for source in self.sources:
            try:
                source.lookup(name)
            except SkillNotFoundError:
                continue
            return source, name
        short, at, label = name.rpartition("@")
        if at:
            for source in self.sources:
                if any(s.source == label and name_key(s.name) == name_key(short) for s in source.list()):
                    return source, short
        known = [summary.name for summary in self.list()]
        raise SkillNotFoundError(f"There is no skill {shown(name)}. {did_you_mean(name, known)}")

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 from the winner."""
        source, own = self._owner(name)
        return _checked(source.lookup(own))

    def load(self, name: str) -> Skill:
        """Return the winner's skill."""
        source, own = self._owner(name)
        skill: Any = source.load(own)
        if not isinstance(skill, Skill):
            raise InvalidSkillError(f"A source gave {type(skill).__name__} instead of the skill {shown(name)}.")
        if name_key(skill.name) not in (name_key(own), name_key(own.rpartition("@")[0])):
            raise InvalidSkillError(f"A source gave the skill {shown(skill.name)} when asked for {shown(name)}.")
        return skill

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        """Return the files of the winner."""
        source, own = self._owner(name)
        return source.resources(own)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return a file of the winner, never of a lower copy."""
        source, own = self._owner(name)
        return source.read(own, path, offset=offset, max_bytes=max_bytes)

    def diagnostics(self) -> Sequence[Diagnostic]:
        """Return those of all sources, and one for each shadowed skill."""
        found = [d for source in self.sources for d in source.diagnostics()]
        return (*found, *(_shadow(loser, winner) for loser, winner in self._union()[1]))

    def problems(self) -> Problems:
        """Return the broken names that no higher source holds a usable skill for."""
        winners, _ = self._union()
        found: dict[str, tuple[Diagnostic, ...]] = {}
        for source in self.sources:
            for key, diagnostics in problems_of(source).items():
                if key not in winners:
                    found.setdefault(key, diagnostics)
        return found

    def versions(self) -> Versions:
        """Return those of the winners."""
        return {key: v for source in reversed(self.sources) for key, v in versions_of(source).items()}


def _checked(summary: Any) -> SkillSummary:
    """Return what a source calls a summary, if it is one (S3-55)."""
    if not isinstance(summary, SkillSummary) or not summary.name.strip() or not summary.description.strip():
        raise InvalidSkillError(
            f"A source gave {type(summary).__name__} without a name and a description as a summary."
        )
    return summary


def _shadow(loser: SkillSummary, winner: SkillSummary | None) -> Diagnostic:
    by = f"the one of {winner.location or winner.source}" if winner else "a broken one in a source before it"
    return Diagnostic(
        code="duplicate-name",
        severity="warning",
        message=f"The skill {shown(loser.name)} is shadowed by {by}.",
        path=loser.location or loser.source,
        hint=f"Rename one of them, or ask for {shown(f'{loser.name}@{loser.source}')}.",
    )
