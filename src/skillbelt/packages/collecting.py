"""The files of one skill, as they are packed: every one of them, or a list of what cannot be (S2-20).

Everything is read through a :class:`~skillbelt.sources.tree.Tree`, the same confined readers that serve skills; no
path is joined and opened here. A link that stays inside the skill is packed as what it leads to; one that leaves it,
a FIFO, a socket, a device, a name no package can hold are refused, all at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from skillbelt.errors import ResourceNotFoundError, ResourcePathError, ResourceTypeError, SourceError
from skillbelt.packages.content import FileContent
from skillbelt.packages.keys import check_path, key_of
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.tree_rules import clashes
from skillbelt.packages.violations import Violation, pointer
from skillbelt.sources.directory import DirectoryTree
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Entry, Statted, Tree

__all__ = ["LEFT_OUT", "Collected", "collect"]

LEFT_OUT = frozenset({".git", ".hg", ".svn", ".bzr", "node_modules", "__pycache__", "__MACOSX", ".DS_Store"})
"""Names that are no part of a skill, wherever they stand: version control, dependencies, caches, litter of systems."""


@dataclass(slots=True)
class Collected:
    """What was found in a skill's folder.

    Attributes:
        contents: Every file, by its path.
        left_out: Paths that were passed over by name.
        links: Paths of links that were packed as what they lead to.
        violations: Everything that cannot be packed.
    """

    contents: dict[str, FileContent] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


def collect(tree: Tree, folder: str, limits: PackageLimits, ignore: Collection[str]) -> Collected:
    """Read all files of a skill.

    Args:
        tree: Where it is.
        folder: Its folder there; links below it may not lead out.
        limits: Bounds; past one nothing more is read.
        ignore: Names to pass over, of files and folders.

    Raises:
        SourceError: Something cannot be read, or was changed meanwhile.
    """
    if isinstance(tree, DirectoryTree):
        with tree.enter(folder) as held:  # one folder from here on, whatever is renamed meanwhile
            return _Collector(held, "", limits, frozenset(ignore)).collect()
    return _Collector(tree, folder, limits, frozenset(ignore)).collect()


@dataclass(slots=True)
class _Collector:
    tree: Tree
    folder: str
    limits: PackageLimits
    ignore: frozenset[str]
    found: Collected = field(default_factory=Collected)
    versions: dict[str, str] = field(default_factory=dict)
    entries: int = 0
    bytes: int = 0
    full: bool = False

    def collect(self) -> Collected:
        """Collect the whole skill."""
        self.below("", (self.tree.kind(self.folder).identity,))
        self.check_unchanged()
        self.found.violations.extend(clashes(self.found.contents))
        return self.found

    def below(self, path: str, above: tuple[int, ...]) -> None:
        """Collect a folder; ``above`` are the identities of it and of those it lies in."""
        for entry in sorted(self.tree.entries(self.folder, path), key=lambda entry: entry.name):
            if self.full:
                return
            self._one(join(path, entry.name), entry, above)

    def _one(self, path: str, entry: Entry, above: tuple[int, ...]) -> None:
        if entry.name in self.ignore:
            self.found.left_out.append(path)
            return
        self.entries += 1
        if self.entries > 8 * self.limits.files:  # links to folders may show one folder many times
            self._stop("too-many-files", f"the skill has too many folders for {self.limits.files} files.")
            return
        try:
            check_path(path)
        except ResourcePathError as error:
            self._refuse(path, "path-unsafe", f"{error} Rename it.")
            return
        kind = entry.kind
        if kind == "link":
            target = self._target(path)
            if target is None:
                return
            kind, entry = target.kind, target
        if kind == "file":
            self._read(path)
        elif kind != "directory":
            self._refuse(path, "special-file", f"{shown(path)} is no regular file; a package holds files only.")
        elif entry.identity in above:
            self._refuse(path, "symlink-loop", f"{shown(path)} is a link to a folder it lies in; remove it.")
        else:
            self.below(path, (*above, entry.identity))

    def _target(self, path: str) -> Entry | None:
        """Return what a link leads to, ``None`` when that is refused."""
        try:
            target = self.tree.kind(self.folder, path)
        except ResourcePathError as error:
            self._refuse(path, "symlink-escape", f"{error} Replace it by a copy.")
        except ResourceNotFoundError:
            self._refuse(path, "symlink-broken", f"{shown(path)} is a link to nothing; remove it.")
        except ResourceTypeError as error:
            self._refuse(path, "special-file", str(error))
        else:
            self.found.links.append(path)
            return target
        return None

    def _read(self, path: str) -> None:
        if len(self.found.contents) >= self.limits.files:
            self._stop("too-many-files", f"the skill has more than {self.limits.files} files.")
            return
        room = self.limits.total_bytes - self.bytes
        try:
            chunk = self.tree.read(self.folder, path, size=room + 1)
        except ResourceTypeError as error:  # it was a file when the folder was read
            self._refuse(path, "special-file", str(error))
            return
        if chunk.total > room:
            self._stop("too-large", f"the files have more than {self.limits.total_bytes} bytes together.")
            return
        if len(chunk.data) != chunk.total:
            raise _changed(path)
        self.bytes += chunk.total
        self.versions[path] = chunk.version
        self.found.contents[path] = FileContent(chunk.data, chunk.executable)

    def check_unchanged(self) -> None:
        """Raise if a file was written while the others were read: a package is of one moment."""
        if not isinstance(self.tree, Statted):
            return
        for path, version in self.versions.items():
            if path not in self.found.links and self.tree.version(self.folder, path) != version:
                raise _changed(path)

    def _refuse(self, path: str, code: str, message: str) -> None:
        self.found.violations.append(Violation(pointer("files", key_of(path)), code, message))

    def _stop(self, code: str, message: str) -> None:
        self.full = True
        self.found.violations.append(Violation("/files", code, message))


def _changed(path: str) -> SourceError:
    return SourceError(
        f"{shown(path)} was changed while the skill was packed; pack it again when nothing writes to it."
    )
