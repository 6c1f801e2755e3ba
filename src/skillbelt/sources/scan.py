"""Discovery: which folders of a tree are skills, under which names, and what is wrong with the rest.

Each SKILL.md is opened once and read up to its closing fence; a folder is listed only when it has none. Real folders
come before links, everything in sorted order, so the answer does not depend on the file system (SPEC-058 to SPEC-064).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillbelt.errors import (
    LimitError,
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    SourceError,
)
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic, SkillSummary
from skillbelt.parsing import SKILL_FILE, ParsedSummary, Profile, Report, name_key
from skillbelt.sources.heads import Reader, Record, read_head
from skillbelt.sources.paths import hidden_name, join, shown
from skillbelt.sources.rest import CLOCK, Rest
from skillbelt.sources.tree import Entry, Holdable, Statted, Tree

__all__ = ["Found", "Listing", "scan"]

_WAITS = 4
"""How often one scan waits for files to come to rest: usually once is enough for all of them."""


class Found(NamedTuple):
    """A usable skill and where its file lies."""

    key: str
    folder: str
    file: str
    summary: SkillSummary
    version: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """One scan: usable skills by key in order of their names, shadowed ones by ``name@folder``, the broken ones.

    ``records`` are what was read, by path, so that the next scan need not read unchanged files again.
    """

    found: Mapping[str, Found]
    shadowed: Mapping[str, Found]
    broken: Mapping[str, tuple[Diagnostic, ...]]
    diagnostics: tuple[Diagnostic, ...]
    records: Mapping[str, Record] = field(default_factory=dict)


def scan(
    tree: Tree, profile: Profile, limits: Limits, known: Listing | None = None, rest: Rest | None = None
) -> Listing:
    """Look through a whole tree.

    Args:
        tree: Where to look.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        known: The scan before: of files that have the same version still, its answers are taken.
        rest: Says for how long files must have rested; one that never does is listed as it was before, or as it is.

    Raises:
        SourceError: The root cannot be read; under STRICT also when any folder below cannot.
        LimitError: A limit of discovery was passed under STRICT.
    """
    records = known.records if known is not None else {}
    rest = rest or Rest(0)
    if not isinstance(tree, Holdable):
        return _Scan(tree, profile, limits, records, rest).run()
    try:
        with tree.hold() as held:
            return _Scan(held, profile, limits, records, rest).run()
    except ResourceNotFoundError:  # only the root itself: everything below is reported, not raised
        return _Scan(tree, profile, limits, records, rest).run()


@dataclass(slots=True)
class _Scan:
    tree: Tree
    profile: Profile
    limits: Limits
    known: Mapping[str, Record]
    rest: Rest
    reader: Reader = field(init=False)
    young: float = field(init=False)
    waits: int = _WAITS
    stat: Callable[[str, str], str | None] | None = None
    records: dict[str, Record] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    found: dict[str, Found] = field(default_factory=dict)
    shadowed: dict[str, Found] = field(default_factory=dict)
    broken: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)
    links: list[tuple[str, int]] = field(default_factory=list)
    visited: set[int] = field(default_factory=set)
    tops: set[str] = field(default_factory=set)
    bare: list[str] = field(default_factory=list)
    directories: int = 0
    entries: int = 0
    full: bool = False

    def __post_init__(self) -> None:
        self.reader = Reader(self.tree, self.profile, self.limits)
        self.young = time.time() - max(CLOCK, self.rest.settle)

    def run(self) -> Listing:
        try:
            root = self.tree.kind("")
        except ResourceNotFoundError:
            self._say("folder-missing", "The skills folder does not exist (yet).", "", "Create it, or name another.")
            return self._listing()
        self.visited.add(root.identity)
        self.stat = self.tree.version if isinstance(self.tree, Statted) else None
        self._folder("", 0)
        # Links last, so that a folder is known by its own name and not by that of a link to it.
        while self.links and not self.full:
            path, depth = self.links.pop(0)
            self._link(path, depth)
        return self._listing()

    def _listing(self) -> Listing:
        for folder in self.bare:
            # A folder without SKILL.md owns its name: a broken skill, not a missing one (S3-31). One that holds
            # skills is a group and owns none. Nothing is said of it until it is asked for (S3-20).
            if folder not in self.tops:
                self._owned(folder, "skill-file-missing", f"The folder has no {SKILL_FILE}.", f"Add a {SKILL_FILE}.")
        order = sorted(self.found.values(), key=lambda found: (found.summary.name, found.key))
        # A name that one folder uses well and another badly is usable: the good one answers for it.
        broken = {key: found for key, found in self.broken.items() if key not in self.found}
        return Listing({f.key: f for f in order}, self.shadowed, broken, tuple(self.diagnostics), self.records)

    def _say(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        report = Report(self.profile, self.tree.where(path))
        report.add(code, message, hint=hint)
        self.diagnostics.extend(report.found)

    # --- folders ----------------------------------------------------------------------------------------------------

    def _folder(self, path: str, depth: int) -> None:
        """Take a folder as a skill, or look into the folders below it."""
        if self.full or not self._count_directory(path):
            return
        try:
            # A folder below the root is nearly always a skill, the root hardly ever: only there is the listing first.
            if path and self._skill(path, SKILL_FILE):
                return
            entries = sorted(self.tree.entries(path), key=lambda entry: entry.name)
        except ResourceError:  # vanished or replaced since its parent was read: there is nothing to lose
            return
        except SourceError as error:
            if not path or self.profile.strict:
                raise
            self._say("folder-unreadable", str(error), path, "Make it readable.")
            self._owned(path, "skill-file-unreadable", str(error), "Make it readable.")
            return
        named = [e.name for e in entries if e.name == SKILL_FILE]
        named += [e.name for e in entries if e.kind != "directory" and e.name.casefold() == SKILL_FILE.casefold()]
        if any(self._skill(path, name) for name in named):
            return
        if named:
            self._unusable(path, named[0], "skill-file-type", f"{named[0]} is a link that leads nowhere.")
            return
        self._below(path, depth, entries)
        if depth == 1 and not self.full:
            self.bare.append(path)

    def _below(self, path: str, depth: int, entries: list[Entry]) -> None:
        for entry in entries:
            self.entries += 1
            if self.entries > self.limits.entries:
                self._full(f"More than {self.limits.entries} entries; the rest was not searched.", path, "entries")
                return
            kind, name = entry.kind, entry.name
            if kind not in ("directory", "link") or hidden_name(name):
                continue
            below = f"{path}/{name}" if path else name
            if kind == "link":
                self.links.append((below, depth + 1))
            elif depth >= self.limits.depth:
                self._limit("depth-limit", f"Folders deeper than {self.limits.depth} are not searched.", below, "depth")
            elif entry.identity == 0 or entry.identity not in self.visited:
                self.visited.add(entry.identity)
                self._folder(below, depth + 1)
            else:  # mounted twice
                hint = "Nothing is lost; unmount one of them to silence this."
                self._say("symlink-loop", "The folder was already searched under another name.", below, hint)

    def _link(self, path: str, depth: int) -> None:
        try:
            target = self.tree.kind(path)
        except ResourcePathError as error:
            self._say("symlink-escape", str(error), path, "Move the skill into the root, or trust it as a root.")
            return
        except (ResourceError, SourceError) as error:
            self._say("folder-unreadable", f"The link leads nowhere: {error}", path, "Remove or mend the link.")
            return
        if target.kind != "directory":
            return
        if target.identity in self.visited:
            hint = "Nothing is lost; remove the link to silence this."
            self._say("symlink-loop", "The link leads to a folder that was already searched.", path, hint)
            return
        if depth > self.limits.depth:
            self._limit("depth-limit", f"Folders deeper than {self.limits.depth} are not searched.", path, "depth")
            return
        self.visited.add(target.identity)
        self._folder(path, depth)

    # --- skills -----------------------------------------------------------------------------------------------------

    def _skill(self, folder: str, file: str) -> bool:
        """Read one SKILL.md; return whether there is one, usable or not."""
        try:
            record = self._record(folder, file)
        except ResourceNotFoundError:
            return False
        except ResourceError as error:
            self._unusable(folder, file, "skill-file-type", str(error))
            return True
        except SourceError as error:
            if not folder or self.profile.strict or not self._readable(folder):
                raise
            self._unusable(folder, file, "skill-file-unreadable", str(error))
            return True
        self.tops.add(folder.partition("/")[0])
        parsed, summary = record.parsed, record.parsed.summary
        self.diagnostics.extend(parsed.diagnostics)
        if summary is None:
            self._broken(folder, parsed.written_name, parsed.diagnostics)
            return True
        found = Found(name_key(summary.name), folder, file, summary, record.version)
        holder = self.found.get(found.key)
        if holder is None or (self._rightful(found) and not self._rightful(holder)):
            self.found[found.key] = found
        if holder is not None:
            winner = self.found[found.key]
            self._shadow(found if winner is holder else holder, winner)
        return True

    def _rightful(self, found: Found) -> bool:
        """Whether a skill lies in the folder of its name: one that only says so cannot take its place."""
        folder = found.folder.rpartition("/")[2] if found.folder else self.tree.name
        return folder is not None and name_key(folder) == found.key.rpartition("/")[2]

    def _record(self, folder: str, file: str) -> Record:
        """Return what a SKILL.md says: as known when it is unchanged, else read and parsed."""
        path = f"{folder}/{file}" if folder else file
        record = self.known.get(path)
        if record is None or not record.settled or not self.stat or self.stat(folder, file) != record.version:
            record = self._read(folder, file, path, record)
        self.records[path] = record
        return record

    def _read(self, folder: str, file: str, path: str, known: Record | None) -> Record:
        """Read and parse a SKILL.md that has come to rest; of one that does not, keep what is known."""
        head = read_head(self.tree, folder, file, self.limits)
        young = head.chunk.written > self.young
        if young:
            while (left := self.rest.left(head.chunk.written)) and self.waits:
                self.waits -= 1
                self.rest.wait(left)
                head = read_head(self.tree, folder, file, self.limits)
            if left and known is not None:
                return known._replace(settled=False)
        parsed = self.reader.summary(folder, file, head)
        if head.chunk.total > self.limits.skill_bytes and parsed.summary is not None:
            parsed = self._too_large(path, parsed)
        return Record(head.chunk.version, parsed, not young or time.time() - head.chunk.written > CLOCK)

    def _too_large(self, path: str, parsed: ParsedSummary) -> ParsedSummary:
        """Say of a skill that is listed, as S3-28 wants, that it cannot be loaded."""
        report = Report(self.profile, self.tree.where(path))
        message = f"SKILL.md is larger than {self.limits.skill_bytes} bytes: the skill is listed and cannot be loaded."
        report.add("file-too-large", message, hint="Shorten it, or raise Limits.skill_bytes.")
        return ParsedSummary(parsed.summary, (*report.found, *parsed.diagnostics))

    def _readable(self, folder: str) -> bool:
        try:
            return self.tree.kind(folder).kind == "directory"
        except (ResourceError, SourceError):
            return False

    def _unusable(self, folder: str, file: str, code: str, message: str) -> None:
        """Remember a skill whose file cannot be read."""
        self.tops.add(folder.partition("/")[0])
        report = Report(self.profile, self.tree.where(join(folder, file)))
        report.add(code, message, hint=f"Make {file} a readable regular file inside the skill.")
        self.diagnostics.extend(report.found)
        self._broken(folder, None, tuple(report.found))

    def _owned(self, folder: str, code: str, message: str, hint: str) -> None:
        """Remember a folder that may be a skill under its name, without counting it as one."""
        report = Report(self.profile, self.tree.where(folder))
        report.add(code, message, hint=hint)
        self.broken.setdefault(name_key(folder.rpartition("/")[2]), tuple(report.found))

    def _broken(self, folder: str, written: str | None, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Remember a skill that cannot be used under the names it may be asked for by."""
        for name in (folder.rpartition("/")[2] if folder else self.tree.name, written):
            if name and name.strip():
                self.broken.setdefault(name_key(name), diagnostics)

    def _shadow(self, loser: Found, holder: Found) -> None:
        alias = f"{loser.summary.name}@{loser.folder}"
        self.shadowed[name_key(alias)] = loser
        self._say(
            "duplicate-name",
            f"The name {shown(loser.summary.name)} is already taken by {shown(join(holder.folder, holder.file))}; "
            "this skill is shadowed.",
            join(loser.folder, loser.file),
            f"Rename one of them, or ask for {shown(alias)}.",
        )

    # --- limits -----------------------------------------------------------------------------------------------------

    def _count_directory(self, path: str) -> bool:
        self.directories += 1
        if self.directories > self.limits.directories:
            return self._full(
                f"More than {self.limits.directories} folders; the rest was not searched.", path, "directories"
            )
        return True

    def _full(self, message: str, path: str, limit: str) -> bool:
        if not self.full:
            self.full = True
            self._limit("scan-limit", message, path, limit)
        return False

    def _limit(self, code: str, message: str, path: str, limit: str) -> None:
        if self.profile.strict:
            raise LimitError(f"{message} Raise Limits.{limit}.")
        self._say(code, message, path, f"Raise Limits.{limit}.")
