"""A folder on disk as a tree, read through directory descriptors.

No name is checked first and opened later: every part of a path is opened relative to the descriptor of the part
before it, without following links, and what is read is what was judged. Links are resolved here, part by part, and
may not leave their border (SPEC-126, S3-38, S3-39). Needs a platform that opens files relative to a descriptor.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from skillbelt.errors import ResourceNotFoundError, ResourceTypeError, SourceError
from skillbelt.limits import Limits
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.beneath import (
    FILE,
    FOLDER,
    MAY_BE_LINK,
    NOFOLLOW,
    failed,
    open_beneath,
    read_blocks,
    translated,
)
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Chunk, Entry, EntryKind
from skillbelt.sources.tree_source import TreeSource

__all__ = ["DirectorySource", "DirectoryTree", "LinkPolicy"]

LinkPolicy = Literal["inside", "refuse", "follow"]
_Made = Callable[[os.DirEntry[str], int, int], Entry | None]
"""Makes an entry of what a scan gives, the device it is on, and the descriptor of its folder."""

SETTLE = 0.25
"""Seconds a file must have rested before it is served; a truncating writer was seen to stall for 155 ms (ADR 0020)."""

_DESCRIPTORS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_EFFECTIVE = os.access in os.supports_effective_ids
_AGAIN = 3


class DirectorySource(TreeSource):
    """The skills in a folder on disk, confined to it and bounded.

    The folder may itself be a skill, hold skills, or hold folders of skills, as deep as ``limits.depth``. A folder
    that does not exist yet is empty (S3-22, conflict C8).

    Args:
        root: The folder; read at each call, not at construction.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        trusted: Whether the developer vouches for the content.
        symlinks: ``"inside"``, links may not leave their skill, nor a linked skill folder the root; ``"refuse"``, no
            links at all; ``"follow"``, links lead anywhere, for a trusted root only.
        strict_root: Raise at construction when ``root`` is not a folder.
        settle: Seconds a file must have rested before it is served, so that nothing half written is; 0 serves it as
            it is. A call waits for that, or answers as the file was before when somebody keeps writing.

    Raises:
        SourceError: ``strict_root`` and no folder, or ``"follow"`` for a root that is not trusted.

    Example:
        >>> DirectorySource("/no/such/folder").list()
        ()
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        profile: Profile = LENIENT,
        limits: Limits | None = None,
        trusted: bool = True,
        symlinks: LinkPolicy = "inside",
        strict_root: bool = False,
        settle: float | None = None,
    ) -> None:
        if symlinks not in ("inside", "refuse", "follow"):
            raise SourceError(f"symlinks must be 'inside', 'refuse' or 'follow', not {symlinks!r}.")
        if symlinks == "follow" and not trusted:
            raise SourceError("symlinks='follow' is for a trusted root; pass trusted=True or symlinks='inside'.")
        self.trusted = trusted
        tree = DirectoryTree(root, symlinks=symlinks)
        if strict_root:
            tree.require()
        super().__init__(tree, profile=profile, limits=limits, settle=SETTLE if settle is None else settle)
        self.root = Path(root)


class DirectoryTree:
    """A folder on disk; implements :class:`~skillbelt.sources.tree.Tree`."""

    on_disk = True

    def __init__(self, root: str | os.PathLike[str], *, symlinks: LinkPolicy = "inside") -> None:
        if not isinstance(root, str | os.PathLike) or not os.fspath(root):
            raise SourceError(f"root must name the folder that holds the skills, not {root!r}.")
        self.label = _printable(os.fspath(root))
        self._given = os.fspath(root)
        # Settled now: what a relative path means must not change with the process's folder.
        self.root = os.path.abspath(os.path.expanduser(self._given))
        self._links = symlinks
        self._fd = -1

    @property
    def name(self) -> str | None:
        """Name of the root folder."""
        return os.path.basename(self.root) or None  # noqa: PTH119

    def where(self, path: str) -> str | None:
        """Return the absolute path, printable whatever bytes it has."""
        whole = f"{self.root.rstrip('/')}/{path}" if path else self.root
        return whole if whole.isascii() else _printable(whole)

    def require(self) -> None:
        """Raise :class:`~skillbelt.errors.SourceError` unless the root is a folder that can be read."""
        try:
            os.close(self._open_root())
        except ResourceNotFoundError as error:
            raise SourceError(str(error)) from None

    def hold(self) -> DirectoryTree:
        """Give the same tree with its root kept open until it is left as a context manager."""
        return self.enter("")

    def enter(self, folder: str) -> DirectoryTree:
        """Give the tree below a folder, kept open until it is left as a context manager."""
        held = object.__new__(DirectoryTree)
        held.label, held._given, held._links = self.label, self._given, self._links
        held.root = join(self.root, folder)
        held._fd = self._open(folder, "", FOLDER)
        return held

    def __enter__(self) -> DirectoryTree:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._fd)

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        return self._entries(folder, path, _entry)

    def measured(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder, with sizes, modes and versions, opening none of it."""
        return self._entries(folder, path, _measured)

    def _entries(
        self, folder: str, path: str, entry: Callable[[os.DirEntry[str], int, int], Entry | None]
    ) -> list[Entry]:
        fd = self._open(folder, path, FOLDER)
        try:
            device = os.fstat(fd).st_dev
            with os.scandir(fd) as found:
                return [made for each in found if (made := entry(each, device, fd)) is not None]
        except OSError as error:
            raise failed(error, path or folder or self.label) from error
        finally:
            os.close(fd)

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to, links followed inside their border."""
        fd = self._open(folder, path, FILE)
        try:
            info = os.fstat(fd)
        except OSError as error:
            raise failed(error, path or folder or self.label) from error
        finally:
            os.close(fd)
        name, identity = (path or folder).rpartition("/")[2], _identity(info.st_dev, info.st_ino)
        if stat.S_ISDIR(info.st_mode):
            return Entry(name, "directory", identity)
        return Entry(name, "file" if stat.S_ISREG(info.st_mode) else "other", identity)

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a regular file, read again when it changed meanwhile."""
        fd = self._open(folder, path, FILE)
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                what = "a folder, not a file; name a file in it" if stat.S_ISDIR(info.st_mode) else "not a regular file"
                raise ResourceTypeError(f"{shown(path)} is {what}.")
            for _ in range(_AGAIN):
                before = info
                data = read_blocks(fd, offset, min(size, max(0, before.st_size - offset)))
                info = os.fstat(fd)
                if info.st_ctime_ns == before.st_ctime_ns and info.st_size == before.st_size:
                    break
        except OSError as error:
            raise failed(error, path) from error
        finally:
            os.close(fd)
        return Chunk(data, info.st_size, bool(info.st_mode & 0o111), _version(info), info.st_ctime)

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file or folder by one stat, ``None`` when it is a link or not there."""
        whole = join(folder, path)
        try:
            if self._fd >= 0:
                info = os.stat(whole, dir_fd=self._fd, follow_symlinks=False) if whole else os.fstat(self._fd)
            else:
                info = os.stat(join(self.root, whole), follow_symlinks=False)
        except (OSError, ValueError):
            return None
        return None if stat.S_ISLNK(info.st_mode) else _version(info)

    def unchanged(self, folder: str, versions: Mapping[str, str]) -> bool:
        """Whether all these have the versions they had, by one stat for each."""
        base = join(self.root, folder)
        try:
            for path, version in versions.items():
                info = os.stat(f"{base}/{path}" if path else base, follow_symlinks=False)
                if _version(info) != version:
                    return False
        except OSError:
            return False
        return True

    def written(self, folder: str) -> float:
        """Return when the names in a folder, or in the nearest one above that exists, last changed."""
        while True:
            try:
                return os.stat(join(self.root, folder)).st_ctime
            except (OSError, ValueError):
                if not folder:
                    return 0.0
                folder = folder.rpartition("/")[0]

    # --- opening ----------------------------------------------------------------------------------------------------

    def _open_root(self) -> int:
        if not _DESCRIPTORS:
            raise SourceError("Folders are read through directory descriptors, which this platform does not have.")
        try:
            return os.open(self.root, FOLDER)
        except FileNotFoundError:
            raise ResourceNotFoundError(f"The skills folder {self.label!r} was not found.") from None
        except NotADirectoryError:
            raise SourceError(f"{self.label!r} is not a directory; give the folder that holds the skills.") from None
        except OSError as error:
            raise SourceError(f"The skills folder {self.label!r} cannot be read: {error.strerror}.") from error
        except ValueError:  # a NUL, or half a character
            raise SourceError(f"{self.label!r} is not a path; give the folder that holds the skills.") from None

    def _open(self, folder: str, path: str, flags: int) -> int:
        """Open ``path`` below ``folder`` below the root; each is a border for the links below it."""
        root = self._fd
        if root >= 0 and folder and path and self._links != "follow" and "/" not in folder and "/" not in path:
            # Nearly every file that a scan opens: two names, and neither is a link. All else is settled below.
            try:
                above = os.open(folder, FOLDER | NOFOLLOW, dir_fd=root)
                try:
                    return os.open(path, flags | NOFOLLOW, dir_fd=above)
                finally:
                    os.close(above)
            except OSError:
                pass
        fd = self._open_root() if self._fd < 0 else self._fd
        for part, wanted in ((folder, FOLDER if path else flags), (path, flags)):
            if part:
                above = fd
                try:
                    fd = self._beneath(above, part, wanted)
                except OSError as error:
                    raise translated(error, part) from None
                finally:
                    if above != self._fd:
                        os.close(above)
        return os.dup(fd) if fd == self._fd else fd

    def _beneath(self, base: int, path: str, flags: int) -> int:
        if self._links == "follow":
            return os.open(path, flags, dir_fd=base)
        if "/" not in path:
            try:  # nearly every path is one name and no link
                return os.open(path, flags | NOFOLLOW, dir_fd=base)
            except OSError as error:
                if error.errno not in MAY_BE_LINK:
                    raise
        return open_beneath(base, path.split("/"), flags, links=self._links == "inside")


def _version(info: os.stat_result) -> str:
    # Whatever is done to a file changes its ctime, which nobody can set.
    return f"{info.st_ctime_ns}-{info.st_size}-{info.st_ino}"


def _identity(device: int, inode: int) -> int:
    """Return what tells a folder from all others; inodes alone repeat across file systems."""
    return device << 64 | inode


def _entry(entry: os.DirEntry[str], device: int, _: int) -> Entry:
    kind = "directory" if entry.is_dir(follow_symlinks=False) else _entry_kind(entry)
    return Entry(entry.name, kind, device << 64 | entry.inode())


def _measured(entry: os.DirEntry[str], device: int, fd: int) -> Entry | None:
    kind = _entry_kind(entry)
    try:
        info = entry.stat(follow_symlinks=False)
        readable = kind == "link" or os.access(entry.name, os.R_OK, dir_fd=fd, effective_ids=_EFFECTIVE)
    except FileNotFoundError:  # gone since its name was read
        return None
    identity, executable = _identity(device, info.st_ino), bool(info.st_mode & 0o111)
    version = _version(info) if readable else ""  # opening it will say why not
    return Entry(entry.name, kind, identity, info.st_size, executable, version, info.st_ctime)


def _entry_kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    if entry.is_symlink():
        return "link"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")
