"""Sources made of sources: one after another, under a namespace, only some of them.

Small wrappers around one protocol instead of options on a big class. A wrapper never reads more than what it wraps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from skillbelt.errors import CollisionError, InvalidSkillError, SkillNotFoundError, SourceError, did_you_mean
from skillbelt.limits import MIB, check_bytes
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.parsing import name_key
from skillbelt.sources.base import Bundle, Problems, ResourceSource, SkillSource, Versions
from skillbelt.sources.paths import asked, shown, split_path
from skillbelt.sources.sound import bundle_of, problems_of, sound, versions_of

__all__ = ["filtered", "holder", "merge", "namespaced"]

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
        SourceError: An option has another value.
        CollisionError: From :meth:`list`, with ``on_collision="error"``.
        InvalidSkillError: From :meth:`list`, with ``broken="raise"``.
    """
    if on_collision not in ("first", "error") or broken not in ("hide", "raise"):
        raise SourceError("merge() takes on_collision='first' or 'error', and broken='hide' or 'raise'.")
    return _Merged(tuple(sound(source, "merge()") for source in sources if source is not None), on_collision, broken)


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
    return _Namespaced(sound(source, "namespaced()"), namespace)


def filtered(source: ResourceSource, keep: Callable[[SkillSummary], bool]) -> ResourceSource:
    """Keep the skills for which ``keep(summary)`` is true; the others cannot be loaded or read either.

    Args:
        source: What to choose from.
        keep: Judged afresh at every call, also by :meth:`load`, :meth:`resources` and :meth:`read`.
    """
    return _Filtered(sound(source, "filtered()"), keep)


def holder(source: ResourceSource, name: str) -> SkillSource:
    """Return the source that holds a skill, without the wrappers around it: the one to ask where it comes from.

    Args:
        source: Any source.
        name: A skill of it.

    Raises:
        SkillNotFoundError: None holds it.
    """
    if isinstance(source, _Merged):
        return source._ask(name, holder)
    if isinstance(source, _Namespaced):
        return holder(source.source, source._inner(name))
    inner = getattr(source, "source", None)
    if isinstance(inner, SkillSource) and not hasattr(source, "trust"):
        if isinstance(inner, ResourceSource):
            return holder(inner, name)
        source.lookup(name)
        return inner  # levels 1 and 2 only: it has no files, but somebody it comes from
    source.lookup(name)
    return source


@dataclass(frozen=True)
class _Wrapper:
    """What is passed on as it is; a behaviour answers by name in its own way."""

    source: ResourceSource

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

    def bundle(self, name: str) -> Bundle:
        bundle = self._asked(lambda own: bundle_of(self.source, own), name)
        if not self.keep(bundle.skill.summary()):
            raise self._missing(name)
        return bundle

    def _asked(self, method: Callable[[str], _T], name: str) -> _T:
        try:
            return method(name)
        except SkillNotFoundError:
            # The wrapped source's message may suggest names that are filtered out.
            raise self._missing(name) from None

    def _missing(self, name: str) -> SkillNotFoundError:
        known = [summary.name for summary in self.list()]
        return SkillNotFoundError(f"There is no skill {asked(str(name))}. {did_you_mean(str(name), known)}")

    def versions(self) -> Versions:
        kept = {name_key(summary.name) for summary in self.list()}
        return {key: version for key, version in versions_of(self.source).items() if key in kept}

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
            raise self._missing(name)
        return short

    def _missing(self, name: str) -> SkillNotFoundError:
        known = [summary.name for summary in self.list()]
        return SkillNotFoundError(f"There is no skill {asked(str(name))}. {did_you_mean(str(name), known)}")

    def _asked(self, name: str, question: Callable[[str], _T]) -> _T:
        try:
            return question(self._inner(name))
        except SkillNotFoundError:
            # The wrapped source's message knows and suggests names without the namespace.
            raise self._missing(name) from None

    def _summary(self, summary: SkillSummary) -> SkillSummary:
        return summary.model_copy(update={"name": f"{self.namespace}/{summary.name}", "namespace": self.namespace})

    def list(self) -> Sequence[SkillSummary]:
        return tuple(sorted((self._summary(s) for s in self.source.list()), key=lambda s: s.name))

    def lookup(self, name: str) -> SkillSummary:
        return self._summary(self._asked(name, self.source.lookup))

    def load(self, name: str) -> Skill:
        return self._asked(name, self.source.load).model_copy(update={"namespace": self.namespace})

    def bundle(self, name: str) -> Bundle:
        bundle = self._asked(name, lambda own: bundle_of(self.source, own))
        return bundle._replace(skill=bundle.skill.model_copy(update={"namespace": self.namespace}))

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        return self._asked(name, self.source.resources)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        return self._asked(name, lambda own: self.source.read(own, path, offset=offset, max_bytes=max_bytes))

    def problems(self) -> Problems:
        return {f"{name_key(self.namespace)}/{key}": found for key, found in problems_of(self.source).items()}

    def versions(self) -> Versions:
        return {f"{name_key(self.namespace)}/{key}": found for key, found in versions_of(self.source).items()}


class _Union(NamedTuple):
    """What a merge holds: winners by key with their sources, skills that gave way (to ``None``: a broken one)."""

    winners: dict[str, tuple[SkillSummary, ResourceSource]]
    shadowed: Sequence[tuple[SkillSummary, SkillSummary | None]]
    blocked: Problems


@dataclass(eq=False)
class _Merged:
    sources: tuple[ResourceSource, ...]
    on_collision: Literal["first", "error"]
    broken: Literal["hide", "raise"]
    _last: _Union | None = field(default=None, init=False, repr=False)  # replaced as a whole, as a scan is

    def list(self) -> Sequence[SkillSummary]:
        """Return the union, sorted by name."""
        union = self._union()
        for loser, winner in union.shadowed:
            if winner is None and self.broken == "raise":
                raise InvalidSkillError(
                    f"Skill {shown(loser.name)} is broken in the source that wins; mend or remove it there.",
                    union.blocked[name_key(loser.name)],
                )
            if winner is not None and self.on_collision == "error":
                raise CollisionError(
                    f"Two sources hold the skill {shown(loser.name)}: {winner.source} and {loser.source}; "
                    "rename one, or merge with on_collision='first'."
                )
        return tuple(sorted((summary for summary, _ in union.winners.values()), key=lambda summary: summary.name))

    def _union(self) -> _Union:
        winners: dict[str, tuple[SkillSummary, ResourceSource]] = {}
        shadowed: deque[tuple[SkillSummary, SkillSummary | None]] = deque()  # inside this class, list is a method
        blocked: dict[str, tuple[Diagnostic, ...]] = {}
        for source in self.sources:
            for summary in source.list():
                key = name_key(summary.name)
                if key in blocked:
                    shadowed.append((summary, None))
                elif key in winners:
                    shadowed.append((summary, winners[key][0]))
                else:
                    winners[key] = summary, source
            for key, found in problems_of(source).items():
                if key not in winners:
                    blocked.setdefault(key, found)
        self._last = _Union(winners, tuple(shadowed), blocked)
        return self._last

    def _ask(self, name: str, question: Callable[[ResourceSource, str], _T]) -> _T:
        """Return the answer of the first source that holds a name, broken or not (S3-51 to S3-53).

        The question itself finds the owner, so that one read opens a SKILL.md once, however deep merges nest (S3-45).
        """
        if not isinstance(name, str) or not name.strip():
            raise SkillNotFoundError("A skill name must not be empty; give one of the names in the catalog.")
        for source in self.sources:
            with suppress(SkillNotFoundError):
                return question(source, name)
        if "@" in name:
            for source in self.sources:
                for summary in source.list():
                    if name_key(f"{summary.name}@{summary.source}") == name_key(name):
                        return question(source, summary.name)
        known = [summary.name for summary, _ in self._union().winners.values()]
        raise SkillNotFoundError(f"There is no skill {asked(name)}. {did_you_mean(name, sorted(known))}")

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 from the winner."""
        return self._ask(name, lambda source, own: source.lookup(own))

    def load(self, name: str) -> Skill:
        """Return the winner's skill."""
        return self._ask(name, lambda source, own: source.load(own))

    def bundle(self, name: str) -> Bundle:
        """Return the winner's skill and files."""
        return self._ask(name, bundle_of)

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        """Return the files of the winner."""
        return self._ask(name, lambda source, own: source.resources(own))

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return a file of the winner, never of a lower copy."""
        split_path(path)  # before any source is asked (S3-57)
        check_bytes("max_bytes", max_bytes)
        return self._ask(name, lambda source, own: source.read(own, path, offset=offset, max_bytes=max_bytes))

    def diagnostics(self) -> Sequence[Diagnostic]:
        """Return those of all sources, and one for each shadowed skill."""
        union = self._last or self._union()
        found = [d for source in self.sources for d in source.diagnostics()]
        return (*found, *(_shadow(loser, winner) for loser, winner in union.shadowed))

    def problems(self) -> Problems:
        """Return the broken names that no higher source holds a usable skill for."""
        return (self._last or self._union()).blocked

    def versions(self) -> Versions:
        """Return those of the winners."""
        winners = (self._last or self._union()).winners
        known = {id(source): versions_of(source) for source in self.sources}
        return {key: known[id(source)][key] for key, (_, source) in winners.items() if key in known[id(source)]}


def _shadow(loser: SkillSummary, winner: SkillSummary | None) -> Diagnostic:
    by = f"the one of {winner.location or winner.source}" if winner else "a broken one in a source before it"
    return Diagnostic(
        code="duplicate-name",
        severity="warning",
        message=f"The skill {shown(loser.name)} is shadowed by {by}.",
        path=loser.location or loser.source,
        hint=f"Rename one of them, or ask for {shown(f'{loser.name}@{loser.source}')}.",
    )
