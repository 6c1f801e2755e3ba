"""The usual places: the skills of a project and those of the user, in the folders that agents have agreed on.

Composition only: each place is a :class:`~skillbelt.sources.directory.DirectorySource`, and
:func:`~skillbelt.compose.merge` decides what wins. A project's folders come with the repository, from whoever wrote
it, so they are left out until the developer vouches for them, and nothing in them can change that (SPEC-067).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillbelt.compose import merge
from skillbelt.errors import SourceError
from skillbelt.limits import MIB, Limits
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.parsing import LENIENT, Profile, Report
from skillbelt.sources import DirectorySource, ResourceSource
from skillbelt.sources.base import Problems, Versions
from skillbelt.sources.paths import shown
from skillbelt.sources.sound import problems_of, versions_of

__all__ = ["SKILL_FOLDERS", "default_sources"]

SKILL_FOLDERS = (".skillbelt/skills", ".agents/skills", ".claude/skills")
"""Where in a scope skills lie, the most particular first (SPEC-054, SPEC-055)."""


def default_sources(
    project: str | os.PathLike[str] = ".",
    *,
    trust_project: bool = False,
    home: str | os.PathLike[str] | None = None,
    profile: Profile = LENIENT,
    limits: Limits | None = None,
) -> ResourceSource:
    """Return the skills of a project and of the user, a project's first (S1-55, SPEC-052 to SPEC-055, SPEC-063).

    The project scope is the project folder and the folders above it up to the root of its git repository, the nearest
    first; without a repository it is the project folder alone. In each, and in the home folder for the user scope,
    :data:`SKILL_FOLDERS` are looked at in order. The first source that has a name owns it; the others are shadowed,
    with a diagnostic.

    Args:
        project: Any folder of the project.
        trust_project: Whether the project's own skills may be used. If not they are left out, with a
            ``project-untrusted`` diagnostic for each folder there is.
        home: The user's home folder; by default the one the operating system names.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read, for each folder.

    Returns:
        A source. It looks afresh at each call, so that a folder made later is seen; a missing one is nothing to
        report. Summaries say where a skill is from: ``project:.agents/skills``, ``user:.agents/skills``.

    Raises:
        SourceError: ``project`` or ``home`` is no path. From the source's methods: a folder cannot be read.

    Example:
        >>> default_sources("/no/such/project", home="/no/such/home").list()
        ()
    """
    start = _absolute(project)
    user = _home(home)
    places: list[_Place] = []
    for folder in _up_to_git_root(start):
        if _real(folder) == _real(user):  # a home folder under git is still the user's own scope
            break
        above = os.path.relpath(folder, start)
        prefix = "" if above == os.curdir else f"{Path(above).as_posix()}/"
        places += [_Place(folder / name, f"project:{prefix}{name}", trust_project) for name in SKILL_FOLDERS]
    if user is not None:
        places += [_Place(user / name, f"user:{name}", trusted=True) for name in SKILL_FOLDERS]
    sources = tuple(
        (place, _Labelled(DirectorySource(place.folder, profile=profile, limits=limits), place.label))
        for place in places
        if place.trusted
    )
    return _Scopes(sources, tuple(place.folder for place in places if not place.trusted), profile)


@dataclass(frozen=True, slots=True)
class _Place:
    folder: Path
    label: str
    trusted: bool


def _absolute(path: str | os.PathLike[str], what: str = "project") -> Path:
    given = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(given, str) or "\x00" in given:
        raise SourceError(f"{what} must be the path of a folder, not {shown(str(path))}.")
    return Path(os.path.abspath(os.path.expanduser(given)))


def _home(home: str | os.PathLike[str] | None) -> Path | None:
    if home is not None:
        return _absolute(home, "home")
    try:
        return Path.home()
    except RuntimeError:  # a user without a home folder has no user scope
        return None


def _real(path: Path | None) -> str | None:
    return os.path.realpath(path) if path is not None else None


def _up_to_git_root(start: Path) -> Sequence[Path]:
    """Return a folder and those above it up to the root of its repository; alone when it is in none."""
    for count, folder in enumerate((start, *start.parents), start=1):
        if (folder / ".git").exists():  # a folder, or a file in a worktree and a submodule
            return (start, *start.parents)[:count]
    return (start,)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """A folder's source under the name of its scope."""

    source: DirectorySource
    label: str

    def list(self) -> Sequence[SkillSummary]:
        return tuple(self._summary(summary) for summary in self.source.list())

    def lookup(self, name: str) -> SkillSummary:
        return self._summary(self.source.lookup(name))

    def load(self, name: str) -> Skill:
        return self.source.load(name).model_copy(update={"source": self.label})

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        return self.source.resources(name)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        return self.source.read(name, path, offset=offset, max_bytes=max_bytes)

    def diagnostics(self) -> Sequence[Diagnostic]:
        return self.source.diagnostics()

    def problems(self) -> Problems:
        return self.source.problems()

    def versions(self) -> Versions:
        return self.source.versions()

    def _summary(self, summary: SkillSummary) -> SkillSummary:
        return summary.model_copy(update={"source": self.label})


@dataclass(eq=False)
class _Scopes:
    """The places there are at each call, merged, and a word on those left out."""

    sources: tuple[tuple[_Place, _Labelled], ...]
    left_out: tuple[Path, ...]
    profile: Profile
    _last: tuple[tuple[ResourceSource, ...], ResourceSource] | None = field(default=None, init=False, repr=False)

    def _merged(self) -> ResourceSource:
        """Return the sources there are as one; the same one while they are the same, for it knows its last scan."""
        present = tuple(self._present())
        last = self._last
        if last is None or last[0] != present:
            last = self._last = (present, merge(*present))
        return last[1]

    def _present(self) -> Iterator[ResourceSource]:
        """Yield the sources of the folders there are, each once: ``.claude/skills`` is often a link to another."""
        seen: set[tuple[int, int]] = set()
        for place, source in self.sources:
            try:
                info = place.folder.stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:  # it is there and cannot be looked at: the source says so
                yield source
                continue
            if (info.st_dev, info.st_ino) not in seen:
                seen.add((info.st_dev, info.st_ino))
                yield source

    def list(self) -> Sequence[SkillSummary]:
        """Return every usable skill of the trusted scopes, sorted by name."""
        return self._merged().list()

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 of one skill, from the first scope that has it."""
        return self._merged().lookup(name)

    def load(self, name: str) -> Skill:
        """Return one skill, from the first scope that has it."""
        return self._merged().load(name)

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        """Return the files of one skill."""
        return self._merged().resources(name)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return a file of one skill."""
        return self._merged().read(name, path, offset=offset, max_bytes=max_bytes)

    def trust(self, name: str) -> str:
        """Return whose skill it is: ``"project"`` or ``"user"``."""
        return str(self.lookup(name).source).partition(":")[0]

    def diagnostics(self) -> Sequence[Diagnostic]:
        """Return those of the scopes, and one for each project folder left out."""
        found = [*self._merged().diagnostics()]
        for folder in self.left_out:
            if os.path.lexists(folder):
                report = Report(self.profile, str(folder))
                report.add(
                    "project-untrusted",
                    "The project's own skills are left out: they come with its files, from whoever wrote those.",
                    hint="Look at them, then call default_sources(..., trust_project=True).",
                )
                found += report.found
        return tuple(found)

    def problems(self) -> Problems:
        """Return the names the scopes hold and cannot use."""
        return problems_of(self._merged())

    def versions(self) -> Versions:
        """Return the versions of the usable names."""
        return versions_of(self._merged())
