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
    "PackageLoaded",
    "ResourceRead",
    "ScriptOutput",
    "ScriptRan",
    "SkillActivated",
    "SkillFailed",
    "SkillRestored",
    "SkillShadowed",
    "SkillSkipped",
    "SkillUnloaded",
    "SkillsListed",
    "SkillsReloaded",
    "SkillsSearched",
    "ToolRefused",
    "ToolsUnbound",
]


@dataclass(frozen=True, slots=True)
class PackageLoaded:
    """A reference was resolved and its package loaded (S2-09).

    Attributes:
        reference: As it was typed.
        name: The skill.
        id: Of the package.
        version: The version it led to; ``None`` for an id and a folder.
    """

    reference: str
    name: str
    id: str
    version: str | None


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
class ScriptOutput:
    """A running script printed a line.

    Attributes:
        name: The skill.
        path: The script.
        stream: ``"stdout"`` or ``"stderr"``.
        line: The line without its end, secrets left out; untrusted text.
    """

    name: str
    path: str
    stream: str
    line: str


@dataclass(frozen=True, slots=True)
class ScriptRan:
    """A script ended.

    Attributes:
        name: The skill.
        path: The script.
        digest: sha256 over all files of the skill.
        runner: What ran it.
        exit_code: As :class:`~skillbelt.models.ScriptResult` has it.
        reason: Why it ended.
        duration: Seconds it took.
    """

    name: str
    path: str
    digest: str
    runner: str
    exit_code: int
    reason: str
    duration: float


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


@dataclass(frozen=True, slots=True)
class SkillRestored:
    """A skill in use was put back into a conversation that had lost its text.

    Attributes:
        name: The skill.
        digest: sha256 of its SKILL.md as it is now.
        tokens: Size of the text that was put back, estimated.
        changed: Whether it is another text than the one that was lost.
    """

    name: str
    digest: str
    tokens: int
    changed: bool = False


@dataclass(frozen=True, slots=True)
class SkillUnloaded:
    """A skill was put out of use.

    Attributes:
        name: The skill.
    """

    name: str


@dataclass(frozen=True, slots=True)
class ToolRefused:
    """A tool call was not run, or would not have been if the fence were enforced.

    Attributes:
        tool: The tool.
        skills: The skills in use that do not allow it, or that would have to be in use.
        reason: What the model was told, or would have been.
        enforced: ``False`` when the fence only advises: the tool ran.
    """

    tool: str
    skills: tuple[str, ...]
    reason: str
    enforced: bool = True


@dataclass(frozen=True, slots=True)
class ToolsUnbound:
    """A skill names tools that the agent does not have.

    Attributes:
        name: The skill.
        tools: Those tools, as its author calls them.
    """

    name: str
    tools: tuple[str, ...]


Event = (
    PackageLoaded
    | SkillsListed
    | SkillSkipped
    | SkillShadowed
    | SkillActivated
    | ResourceRead
    | ScriptOutput
    | ScriptRan
    | SkillsSearched
    | SkillFailed
    | SkillsReloaded
    | SkillRestored
    | SkillUnloaded
    | ToolRefused
    | ToolsUnbound
)
EventHandler = Callable[[Event], None]
