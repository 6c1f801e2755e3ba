"""The lower waist as protocols: what anything that holds skills must be able to answer.

Two narrow protocols (S3-01): whoever needs levels 1 and 2 asks for :class:`SkillSource`, whoever serves bundled files
for :class:`ResourceSource`. A source holds no conversation state and executes nothing (S3-02).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary

__all__ = ["Bundle", "Bundled", "Problems", "ResourceSource", "SkillSource", "Troubled", "Versioned", "Versions"]

Problems = Mapping[str, tuple[Diagnostic, ...]]
"""Names that exist and cannot be used, by :func:`~skillbelt.parsing.name_key`, with everything wrong about each."""

Versions = Mapping[str, str]
"""For each usable name, by its key, a string that differs when its SKILL.md was written anew."""


class Bundle(NamedTuple):
    """A skill and the list of its files as of one moment.

    Attributes:
        skill: The skill.
        resources: Its bundled files, sorted by path.
        generation: Another string when anything in the skill's folder was changed.
        current: Whether it is what there is now; not so while somebody is writing the skill.
    """

    skill: Skill
    resources: tuple[ResourceInfo, ...]
    generation: str
    current: bool = True


@runtime_checkable
class SkillSource(Protocol):
    """Levels 1 and 2: which skills there are, and their instructions."""

    def list(self) -> Sequence[SkillSummary]:
        """Return every usable skill, sorted by name, reading no body.

        Raises:
            SourceError: The place cannot be read; never an empty answer instead (S3-21).
        """
        ...

    def load(self, name: str) -> Skill:
        """Return one skill, read afresh.

        Args:
            name: A name of :meth:`list`.

        Raises:
            SkillNotFoundError: There is none of that name.
            InvalidSkillError: It exists and cannot be used.
        """
        ...


@runtime_checkable
class ResourceSource(SkillSource, Protocol):
    """Level 3 as well: the files of a skill, confined to it and bounded."""

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 of one skill, read afresh from its bounded frontmatter (S3-33).

        Args:
            name: A name of :meth:`list`.
        """
        ...

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        """Return the bundled files of a usable skill, sorted by path.

        Args:
            name: A name of :meth:`list`.
        """
        ...

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return at most ``max_bytes`` bytes of one bundled file.

        Args:
            name: A name of :meth:`list`.
            path: Relative to the skill's folder, with ``/``.
            offset: First byte.
            max_bytes: Most bytes to return.

        Raises:
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: The skill has no such file.
            ResourceTypeError: It is not a regular file.
        """
        ...

    def diagnostics(self) -> Sequence[Diagnostic]:
        """Return everything worth saying about what the last calls found."""
        ...


@runtime_checkable
class Troubled(Protocol):
    """A source that can say which names it holds but cannot use, without being asked name by name."""

    def problems(self) -> Problems:
        """Return the unusable names of the last scan."""
        ...


@runtime_checkable
class Versioned(Protocol):
    """A source that can tell, without reading bodies, whether a skill was changed."""

    def versions(self) -> Versions:
        """Return the versions of the last scan."""
        ...


@runtime_checkable
class Bundled(Protocol):
    """A source that reads a skill and the list of its files as one, so that no edit comes between them."""

    def bundle(self, name: str) -> Bundle:
        """Return a skill with its files, as of one moment.

        Args:
            name: A name of :meth:`SkillSource.list`.
        """
        ...
