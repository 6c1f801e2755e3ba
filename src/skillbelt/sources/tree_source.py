"""The one source that serves skills from any tree of bytes.

Everything about skills, which folders are skills, which names they have, what is wrong with them, stands here once,
for directories, archives, mappings and remote stores alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from skillbelt.errors import (
    InvalidSkillError,
    LimitError,
    ResourceError,
    ResourceNotFoundError,
    SkillNotFoundError,
    did_you_mean,
)
from skillbelt.limits import KIB, MIB, Limits, check_bytes
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.parsing import LENIENT, Profile, Report, callable_name, invalid_skill, name_key
from skillbelt.sources.base import Bundle, Problems, Versions
from skillbelt.sources.bundles import Bundler
from skillbelt.sources.files import list_files
from skillbelt.sources.heads import Reader, read_head
from skillbelt.sources.lru import Kept
from skillbelt.sources.paths import asked, join, kind_of, private, shown, split_path
from skillbelt.sources.rest import Look, Rest
from skillbelt.sources.scan import Found, Listing, scan
from skillbelt.sources.tree import Chunk, Statted, Tree, Unsettled

__all__ = ["TreeSource"]

_T = TypeVar("_T")

_KEPT = MIB
_LARGEST = 256 * KIB
"""Bytes of pages kept in all, and of the largest one, to answer with while somebody writes the file."""


class TreeSource:
    """Serves the skills of a :class:`~skillbelt.sources.tree.Tree`: a :class:`~skillbelt.sources.base.ResourceSource`.

    Every call reads afresh (S3-32), or sees by the file system's own marks that nothing changed. What the last scan
    found is kept only to know where a name lies and what is wrong with the others; it is replaced as a whole, so
    threads may share a source.

    Args:
        tree: Where the bytes are.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        settle: Seconds a file must have rested before it is served, where the tree knows when it was written.
    """

    def __init__(
        self, tree: Tree, *, profile: Profile = LENIENT, limits: Limits | None = None, settle: float = 0.0
    ) -> None:
        self.profile = profile
        self.limits = limits or Limits()
        self._tree = tree
        self._reader = Reader(tree, profile, self.limits)
        self._rest = Rest(settle)
        self._bundler = Bundler(self._reader, self._rest)
        self._pages: Kept[Chunk] = Kept(_KEPT)
        self._stat = tree.version if isinstance(tree, Statted) else None
        self._listing: Listing | None = None
        self._notes: dict[str, tuple[Diagnostic, ...]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._tree.label!r})"

    # --- levels 1 and 2 -------------------------------------------------------------------------------------------

    def list(self) -> tuple[SkillSummary, ...]:
        """Return every usable skill, sorted by name; see :meth:`diagnostics` for the others."""
        return tuple(found.summary for found in self._scan().found.values())

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 of one skill, read afresh.

        Args:
            name: As for :meth:`load`.
        """
        return self._fresh(name)[1]

    def load(self, name: str) -> Skill:
        """Return one skill, read afresh.

        Args:
            name: As :meth:`list` gives it, in any case and Unicode form; a shadowed skill is ``name@folder``.

        Raises:
            SkillNotFoundError: There is none of that name.
            InvalidSkillError: It exists and cannot be used; the message says why.
            ContentTooLargeError: It is larger than ``limits.skill_bytes``.
        """

        def skill(found: Found, _: bool) -> Skill:
            def look() -> Look[Skill]:
                seen = self._page(found.folder, found.file, 0, self.limits.skill_bytes + 1)
                if not isinstance(seen.answer, Chunk):
                    return Look(seen.answer, seen.written)
                parsed = self._reader.skill(found.folder, found.file, seen.answer.data)
                answer = parsed.skill or invalid_skill(f"Skill {asked(name)}", parsed.diagnostics)
                return Look(answer, seen.written, parsed.skill is None)

            return self._rest.see(join(found.folder, found.file), look, lambda: self._bundler.last(found.folder))

        return self._asked(name, skill, lambda skill: skill.name)

    def bundle(self, name: str) -> Bundle:
        """Return one skill with the list of its files, as of one moment.

        Args:
            name: As for :meth:`load`.

        Raises:
            SkillNotFoundError: There is none of that name.
            InvalidSkillError: It cannot be used.
            SourceError: As :meth:`resources`.
            LimitError: As :meth:`resources`.
        """

        def bundle(found: Found, _: bool) -> Bundle:
            made = self._bundler.bundle(found, name)
            self._note(found.folder, made.notes)
            return made.bundle

        return self._asked(name, bundle, lambda bundle: bundle.skill.name)

    # --- level 3 --------------------------------------------------------------------------------------------------

    def resources(self, name: str) -> tuple[ResourceInfo, ...]:
        """Return the bundled files of a usable skill, sorted by path: all of them, whatever their folder (SPEC-103).

        Left out are dot files, version control, dependency and cache folders, and links that leave the skill.

        Args:
            name: As for :meth:`load`.

        Raises:
            SkillNotFoundError: There is no such skill.
            InvalidSkillError: It cannot be used.
            SourceError: Its folder cannot be read; under STRICT also when anything in it cannot.
            LimitError: Under STRICT, it has more files, or deeper ones, than ``limits`` allow.
        """
        found = self._fresh(name)[0]
        report = Report(self.profile, self._tree.where(join(found.folder, found.file)))
        infos = list_files(self._tree, found.folder, found.file, self.limits, report).infos
        self._note(found.folder, tuple(report.found))
        return infos

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return at most ``max_bytes`` bytes of one bundled file of a usable skill.

        Args:
            name: The skill.
            path: As :meth:`resources` gives it; ``"SKILL.md"`` is the skill's own file.
            offset: First byte.
            max_bytes: Most bytes to return; never more than ``limits.resource_bytes``.

        Raises:
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: The skill has no such file.
            ResourceTypeError: It is not a regular file.
            LimitError: ``offset`` or ``max_bytes`` is not a usable number.
            SkillNotFoundError: There is no such skill.
            InvalidSkillError: The skill cannot be used, so nothing of it is served (S3-35).
        """
        parts = split_path(path)
        size = min(check_bytes("max_bytes", max_bytes), self.limits.resource_bytes)
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            raise LimitError(f"offset must be a whole number from 0 up, not {offset!r}.")
        folder = self._fresh(name)[0].folder
        if private(parts):
            raise ResourceNotFoundError(f"Skill {shown(name)} serves no hidden files; {shown(path)} is one.")
        key = f"{join(folder, path)}\n{offset}\n{size}"
        chunk = self._rest.see(
            join(folder, path), lambda: self._page(folder, path, offset, size), lambda: self._pages.get(key)
        )
        if self._rest.settle and chunk.written and len(chunk.data) <= _LARGEST:
            self._pages.put(key, chunk, len(chunk.data))
        info = ResourceInfo(path=path, kind=kind_of(path), size=chunk.total, executable=chunk.executable)
        return Resource(
            info=info,
            data=chunk.data,
            offset=offset,
            total=chunk.total,
            truncated=offset + len(chunk.data) < chunk.total,
        )

    def locate(self, name: str) -> tuple[Tree, str]:
        """Return the tree and the folder in it that a usable skill lies in, for readers of whole skills.

        Args:
            name: As for :meth:`load`.

        Raises:
            SkillNotFoundError: There is no such skill.
            InvalidSkillError: It cannot be used.
        """
        return self._tree, self._fresh(name)[0].folder

    # --- what is wrong --------------------------------------------------------------------------------------------

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what the last scan, and the listings of files since, found worth saying."""
        listing = self._listing or self._scan()
        with self._lock:
            notes = [d for folder in sorted(self._notes) for d in self._notes[folder]]
        return (*listing.diagnostics, *notes)

    def problems(self) -> Problems:
        """Return the names this source holds and cannot use, with everything wrong about each."""
        return (self._listing or self._scan()).broken

    def versions(self) -> Versions:
        """Return for each usable name a string that differs when its SKILL.md was written anew."""
        return {key: found.version for key, found in (self._listing or self._scan()).found.items()}

    def _note(self, folder: str, notes: tuple[Diagnostic, ...]) -> None:
        """Keep what the last listing of a skill's files found."""
        if notes or folder in self._notes:
            with self._lock:
                self._notes[folder] = notes

    # --- finding --------------------------------------------------------------------------------------------------

    def _scan(self) -> Listing:
        listing = scan(self._tree, self.profile, self.limits, self._listing, self._rest)
        with self._lock:
            self._listing = listing
            folders = {found.folder for known in (listing.found, listing.shadowed) for found in known.values()}
            self._notes = {folder: note for folder, note in self._notes.items() if folder in folders}
        return listing

    def _places(self, name: str) -> Iterator[tuple[Found, bool]]:
        """Yield where a name lies: as known, then, when that is no longer so, as a new scan finds it (``True``).

        A name is validated before anything is looked for (S3-27); one that a skill has needs no validation.
        """
        listing = self._listing
        known = listing.found.get(name_key(name)) if listing is not None and isinstance(name, str) else None
        if known is not None:
            yield known, False
        key = _key(name, self.profile)
        listing = self._scan()
        if key in listing.found:
            yield listing.found[key], True
        elif key in listing.shadowed:
            yield listing.shadowed[key], True
        elif key in listing.broken:
            raise invalid_skill(f"Skill {asked(name)}", listing.broken[key])

    def _asked(self, name: str, read: Callable[[Found, bool], _T], named: Callable[[_T], str]) -> _T:
        """Return what ``read`` gives for the place of a name, if what lies there still has it."""
        for found, scanned in self._places(name):
            try:
                answer = read(found, scanned)
            except ResourceNotFoundError:
                continue
            except ResourceError as error:
                raise self._unreadable(name, found, error) from error
            if name_key(named(answer)) == found.key:
                return answer
        raise self._missing(name)

    def _fresh(self, name: str) -> tuple[Found, SkillSummary]:
        """Return where a usable skill lies and its level 1, both as of now."""

        def summary(found: Found, scanned: bool) -> tuple[Found, SkillSummary]:
            if scanned or self._unchanged(found):
                return found, found.summary
            path = join(found.folder, found.file)
            return found, self._rest.see(path, lambda: self._head(found, name), lambda: found.summary)

        return self._asked(name, summary, lambda fresh: fresh[1].name)

    def _unchanged(self, found: Found) -> bool:
        """Whether a SKILL.md is as the last scan read it, by one stat."""
        listing = self._listing
        record = listing and listing.records.get(join(found.folder, found.file))
        if not record or not record.settled or self._stat is None:
            return False
        return self._stat(found.folder, found.file) == record.version

    def _head(self, found: Found, name: str) -> Look[SkillSummary]:
        try:
            head = read_head(self._tree, found.folder, found.file, self.limits)
        except ResourceNotFoundError as error:
            return Look(error, self._written(found.folder))
        parsed = self._reader.summary(found.folder, found.file, head)
        answer = parsed.summary or invalid_skill(f"Skill {asked(name)}", parsed.diagnostics)
        return Look(answer, head.chunk.written, parsed.summary is None)

    def _page(self, folder: str, path: str, offset: int, size: int) -> Look[Chunk]:
        try:
            chunk = self._tree.read(folder, path, offset=offset, size=size)
        except ResourceNotFoundError as error:
            return Look(error, self._written(join(folder, path.rpartition("/")[0])))
        return Look(chunk, chunk.written, chunk.total == 0)

    def _written(self, folder: str) -> float:
        return self._tree.written(folder) if isinstance(self._tree, Unsettled) else 0.0

    def _missing(self, name: str) -> SkillNotFoundError:
        listing = self._listing or self._scan()
        known = [found.summary.name for found in listing.found.values()]
        return SkillNotFoundError(f"There is no skill {asked(name)}. {did_you_mean(name, known)}")

    def _unreadable(self, name: str, found: Found, error: ResourceError) -> InvalidSkillError:
        report = Report(self.profile, self._tree.where(join(found.folder, found.file)))
        report.add("skill-file-type", str(error), hint=f"Make {found.file} a regular file inside the skill.")
        return invalid_skill(f"Skill {asked(name)}", tuple(report.found))


def _key(name: object, profile: Profile) -> str:
    """Validate a name before anything is read (S3-27) and return what it is compared by."""
    if not isinstance(name, str) or not name.strip():
        raise SkillNotFoundError("A skill name must not be empty; give one of the names in the catalog.")
    if not callable_name(name.partition("@")[0] or name, profile):
        raise SkillNotFoundError(f"{asked(name)} is not a name a skill can have; give one of the names in the catalog.")
    return name_key(name)
