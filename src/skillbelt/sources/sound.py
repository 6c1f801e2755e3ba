"""Any source as one the rest can rely on: a full set of methods, and answers that are what they claim to be.

A user's source may serve levels 1 and 2 only (S3-01), answer with nothing, or with another skill than was asked for
(S3-44, S3-55). What a :class:`~skillbelt.sources.tree_source.TreeSource` gives is ours and passes untouched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from skillbelt.errors import InvalidSkillError, ResourceNotFoundError, SkillNotFoundError, SourceError, did_you_mean
from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.parsing import name_key
from skillbelt.sources.base import Bundle, Problems, ResourceSource, SkillSource, Troubled, Versioned, Versions
from skillbelt.sources.paths import asked, shown
from skillbelt.sources.tree_source import TreeSource

__all__ = ["bundle_of", "problems_of", "sound", "versions_of"]

_T = TypeVar("_T")
_Named = TypeVar("_Named", SkillSummary, Skill)


def sound(source: Any, what: str) -> ResourceSource:
    """Return ``source`` if it is sound by construction, else a wrapper that makes it so.

    Args:
        source: A :class:`~skillbelt.sources.base.SkillSource` or more.
        what: Who needs it, for the message.

    Raises:
        SourceError: It is ``None``, or not a source.
    """
    if isinstance(source, TreeSource | _Checked):
        return source
    if not isinstance(source, SkillSource):
        given = "None" if source is None else type(source).__name__
        raise SourceError(f"{what} needs a source of skills, not {given}; use DirectorySource('skills') for a folder.")
    return _Checked(source)


def bundle_of(source: ResourceSource, name: str) -> Bundle:
    """Return a skill with its files; from a source that cannot read both as one, one after the other.

    Args:
        source: Any source.
        name: The skill.
    """
    together: Callable[[str], Bundle] | None = getattr(source, "bundle", None)
    if together is not None:
        return together(name)
    skill = source.load(name)
    return _bundle(skill, tuple(source.resources(skill.name)))


def _bundle(skill: Skill, infos: tuple[ResourceInfo, ...]) -> Bundle:
    told = [skill.digest, *((info.path, info.size, info.executable) for info in infos)]
    return Bundle(skill, infos, hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32])


def problems_of(source: object) -> Problems:
    """Return the names a source holds and cannot use; ``{}`` when it cannot tell without being asked by name.

    Args:
        source: Any source.
    """
    return source.problems() if isinstance(source, Troubled) else {}


def versions_of(source: object) -> Versions:
    """Return a version of each usable skill of a source; ``{}`` when it cannot tell.

    Args:
        source: Any source.
    """
    return source.versions() if isinstance(source, Versioned) else {}


@dataclass(frozen=True)
class _Checked:
    source: Any

    def __repr__(self) -> str:
        return repr(self.source)

    def list(self) -> Sequence[SkillSummary]:
        return tuple(_whole(summary) for summary in self.source.list())

    def lookup(self, name: str) -> SkillSummary:
        if hasattr(self.source, "lookup"):
            return _answers(_whole(self.source.lookup(name)), name)
        summaries = self.list()
        for summary in summaries:
            if name_key(summary.name) == name_key(name):
                return summary
        known = [summary.name for summary in summaries]
        raise SkillNotFoundError(f"There is no skill {asked(name)}. {did_you_mean(name, known)}")

    def load(self, name: str) -> Skill:
        return _answers(_is(Skill, self.source.load(name)), name)

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        if not hasattr(self.source, "resources"):
            return ()
        infos = self.source.resources(name)
        if infos is None:
            raise InvalidSkillError(f"A source gave None instead of the files of the skill {asked(name)}.")
        return tuple(_is(ResourceInfo, info) for info in infos)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        if not hasattr(self.source, "read"):
            raise ResourceNotFoundError(f"The source of the skill {asked(name)} serves no files.")
        return _is(Resource, self.source.read(name, path, offset=offset, max_bytes=max_bytes))

    def bundle(self, name: str) -> Bundle:
        if not hasattr(self.source, "bundle"):
            skill = self.load(name)
            return _bundle(skill, tuple(self.resources(skill.name)))
        bundle = _is(Bundle, self.source.bundle(name))
        _answers(_is(Skill, bundle.skill), name)
        return bundle

    def diagnostics(self) -> Sequence[Diagnostic]:
        return tuple(self.source.diagnostics()) if hasattr(self.source, "diagnostics") else ()

    def problems(self) -> Problems:
        return problems_of(self.source)

    def versions(self) -> Versions:
        return versions_of(self.source)


def _is(kind: type[_T], answer: Any) -> _T:
    """Return what a source gave, if it is of the kind it promised."""
    if not isinstance(answer, kind):
        raise InvalidSkillError(f"A source gave {type(answer).__name__} instead of a {kind.__name__}.")
    return answer


def _answers(answer: _Named, name: str) -> _Named:
    """Return what a source gave, if it is the skill it was asked for; a shadowed one has its place after ``@``."""
    if name_key(answer.name) not in (name_key(name), name_key(name.rpartition("@")[0])):
        raise InvalidSkillError(f"A source gave the skill {shown(answer.name)} when asked for {shown(name)}.")
    return answer


def _whole(summary: Any) -> SkillSummary:
    """Return what a source calls a summary, if it is one."""
    known = _is(SkillSummary, summary)
    if not known.name.strip() or not known.description.strip():
        raise InvalidSkillError("A source gave a SkillSummary without a name or without a description.")
    return known
