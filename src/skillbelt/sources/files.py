"""The files of one skill: all of them, whatever their folder, sorted and bounded (SPEC-103).

Left out are dot files, version control, dependency and cache folders, and links that leave the skill. What is left
out for any other reason is reported. Nothing is read but sizes, and where the tree can tell those, nothing is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillbelt.errors import LimitError, ResourceError, ResourcePathError, SourceError
from skillbelt.limits import Limits
from skillbelt.models import ResourceInfo
from skillbelt.parsing import Report
from skillbelt.sources.paths import hidden_name, join, kind_of, shown, split_path
from skillbelt.sources.tree import Entry, EntryKind, Measured, Tree

__all__ = ["Files", "list_files"]


class Files(NamedTuple):
    """What a listing found.

    Attributes:
        infos: The files, sorted by path.
        marks: The version of every file and folder that was looked at, by path; ``None`` when it takes a listing to
            see whether anything changed.
        written: When the youngest of them was last written (seconds since the epoch, 0 when that is not known).
    """

    infos: tuple[ResourceInfo, ...]
    marks: Mapping[str, str] | None
    written: float


def list_files(tree: Tree, folder: str, file: str, limits: Limits, report: Report) -> Files:
    """List the bundled files of a skill.

    Args:
        tree: Where the skill is.
        folder: Its folder.
        file: Its SKILL.md, which is not one of them.
        limits: ``resources`` and ``depth`` bound the listing.
        report: Receives what is worth saying.

    Raises:
        SourceError: The folder cannot be read; under STRICT also when anything in it cannot.
        LimitError: A limit was passed under STRICT.
    """
    files = _Files(tree, folder, file, limits, report, isinstance(tree, Measured))
    infos = files.list()
    return Files(infos, files.marks if files.measured and not files.linked else None, files.written)


@dataclass(slots=True)
class _Files:
    tree: Tree
    folder: str
    file: str
    limits: Limits
    report: Report
    measured: bool
    marks: dict[str, str] = field(default_factory=dict)
    written: float = 0.0
    linked: bool = False

    def list(self) -> tuple[ResourceInfo, ...]:
        infos: dict[str, ResourceInfo] = {}
        for path, entry in self._below("", 0):
            if path == self.file:
                continue
            if len(infos) >= self.limits.resources:
                self._limit(
                    "scan-limit",
                    f"The skill has more than {self.limits.resources} files; the others are not listed.",
                    "Raise Limits.resources, or ship fewer files.",
                )
                break
            info = self._info(path, entry)
            if info is not None:
                infos[path] = info
        nested = [path for path in infos if path.casefold().endswith("/skill.md")]
        if nested:
            self.report.add(
                "nested-skill",
                f"The skill holds {shown(nested[0])}; a SKILL.md inside a skill is one of its files, not a skill.",
                hint="Move it beside this skill if it is meant to be one.",
            )
        return tuple(infos.values())

    def _info(self, path: str, entry: Entry) -> ResourceInfo | None:
        if entry.version and entry.kind == "file":
            return ResourceInfo(path=path, kind=kind_of(path), size=entry.size, executable=entry.executable)
        try:
            chunk = self.tree.read(self.folder, path, size=0)
        except ResourceError:  # gone since the folder was read, or not a regular file: not a resource
            return None
        except SourceError as error:
            self._unreadable(path, error)
            return None
        return ResourceInfo(path=path, kind=kind_of(path), size=chunk.total, executable=chunk.executable)

    def _entries(self, path: str) -> Iterable[Entry]:
        tree = self.tree
        found = tree.measured(self.folder, path) if isinstance(tree, Measured) else tree.entries(self.folder, path)
        return sorted(found, key=lambda entry: entry.name)

    def _below(self, path: str, depth: int) -> Iterator[tuple[str, Entry]]:
        """Yield the files below a folder, sorted, without following links to folders."""
        try:
            entries = self._entries(path)
        except ResourceError:  # vanished or replaced while we looked: nothing to list there
            return
        except SourceError as error:
            if not path:
                raise
            self._unreadable(path, error)
            return
        for entry in entries:
            if hidden_name(entry.name) and not (entry.name.startswith("..") and entry.kind == "file"):
                continue
            below = join(path, entry.name)
            self.marks[below] = entry.version
            self.written = max(self.written, entry.written)
            self.linked = self.linked or entry.kind == "link"
            kind = self._link_kind(below) if entry.kind == "link" else entry.kind
            if kind in ("file", "directory") and not _servable(below):
                self.report.add(
                    "resource-name", f"{shown(below)} cannot be asked for by path; it is not listed.", hint="Rename it."
                )
            elif kind == "file":
                yield below, entry
            elif kind == "directory" and depth >= self.limits.depth:
                self._limit(
                    "depth-limit",
                    f"{shown(below)} lies deeper than {self.limits.depth} folders.",
                    "Raise Limits.depth, or move its files up.",
                )
            elif kind == "directory":
                yield from self._below(below, depth + 1)

    def _link_kind(self, path: str) -> EntryKind:
        """Return what a link among the files leads to; folders are not followed, so that no loop is possible."""
        try:
            kind = self.tree.kind(self.folder, path).kind
        except ResourcePathError as error:
            self.report.add("symlink-escape", str(error), hint="Replace the link by a copy.")
            return "other"
        except ResourceError:
            return "other"
        except SourceError as error:
            self._unreadable(path, error)
            return "other"
        if kind == "directory":
            self.report.add(
                "symlink-loop",
                f"{shown(path)} is a link to a folder; its files are not listed twice.",
                hint="Replace the link by a copy if it is needed.",
            )
            return "other"
        return kind

    def _unreadable(self, path: str, error: SourceError) -> None:
        if self.report.profile.strict:
            raise error
        self.report.add("resource-unreadable", f"{shown(path)} is not listed: {error}", hint="Make it readable.")

    def _limit(self, code: str, message: str, hint: str) -> None:
        if self.report.profile.strict:
            raise LimitError(f"{message} {hint}")
        self.report.add(code, message, hint=hint)


def _servable(path: str) -> bool:
    """Whether the lexical gate lets a path through: what is listed can be read."""
    try:
        split_path(path)
    except ResourcePathError:
        return False
    return True
