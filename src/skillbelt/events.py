"""What happened, as values handed to one callback.

A router calls ``on_event(event)`` after the fact; unset, it costs nothing. Events carry names, sizes and reasons,
never the text of a skill and never a secret. An exception of the callback is the caller's and is not caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skillbelt.models import Diagnostic, ReloadDiff

__all__ = [
    "Event",
    "EventHandler",
    "ResourceRead",
    "SkillActivated",
    "SkillFailed",
    "SkillShadowed",
    "SkillSkipped",
    "SkillsListed",
    "SkillsReloaded",
    "SkillsSearched",
]


@dataclass(frozen=True, slots=True)
class SkillsListed:
    """A source was listed.

    Attributes:
        names: The usable skills, in order.
    """

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillSkipped:
    """A skill was left out of the listing (conflict C7).

    Attributes:
        path: Its file or folder.
        diagnostic: The error that keeps it out.
    """

    path: str | None
    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True)
class SkillShadowed:
    """A skill gave way to another of its name (conflict C9).

    Attributes:
        path: Its file.
        diagnostic: Says by which.
    """

    path: str | None
    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True)
class SkillActivated:
    """A skill's instructions were handed out.

    Attributes:
        name: The skill.
        digest: sha256 of its SKILL.md.
        characters: Length of the text handed out.
        truncated: Whether it was cut.
    """

    name: str
    digest: str
    characters: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class ResourceRead:
    """Bytes of a bundled file were handed out.

    Attributes:
        name: The skill.
        path: The file.
        offset: First byte.
        size: Bytes handed out.
        total: Bytes of the file.
    """

    name: str
    path: str
    offset: int
    size: int
    total: int


@dataclass(frozen=True, slots=True)
class SkillsSearched:
    """The catalog was searched.

    Attributes:
        query: The words.
        names: What was found, best first.
    """

    query: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillFailed:
    """A request for a skill or a file of it was refused.

    Attributes:
        name: What was asked for.
        path: The file, when one was asked for.
        error: Why.
        diagnostics: All that is wrong with a broken skill.
    """

    name: str
    path: str | None
    error: Exception
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillsReloaded:
    """The router looked again.

    Attributes:
        diff: What changed.
    """

    diff: ReloadDiff


Event = (
    SkillsListed
    | SkillSkipped
    | SkillShadowed
    | SkillActivated
    | ResourceRead
    | SkillsSearched
    | SkillFailed
    | SkillsReloaded
)
EventHandler = Callable[[Event], None]
