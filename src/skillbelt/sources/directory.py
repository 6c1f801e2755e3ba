"""A folder on disk as a tree, read through directory descriptors.

No name is checked first and opened later: every part of a path is opened relative to the descriptor of the part
before it, without following links, and what is read is what was judged. Links are resolved here, part by part, and
may not leave their border (SPEC-126, S3-38, S3-39). Needs a platform that opens files relative to a descriptor.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from skillbelt.errors import (
    ResourceNotFoundError,
    ResourcePathError,
    ResourceTypeError,
    SkillError,
    SourceError,
)
from skillbelt.limits import Limits
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Chunk, Entry, EntryKind
from skillbelt.sources.tree_source import TreeSource

__all__ = ["DirectorySource", "DirectoryTree", "LinkPolicy"]

LinkPolicy = Literal["inside", "refuse", "follow"]

_DESCRIPTORS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_MAY_BE_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
_SETTLED = 100_000_000
_HOPS = 40
_BLOCK = 1 << 20
_BASE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
_FILE = _BASE | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not block the opener (S3-37)
_FOLDER = _BASE | getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


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
    ) -> None:
        if symlinks not in ("inside", "refuse", "follow"):
            raise SourceError(f"symlinks must be 'inside', 'refuse' or 'follow', not {symlinks!r}.")
        if symlinks == "follow" and not trusted:
            raise SourceError("symlinks='follow' is for a trusted root; pass trusted=True or symlinks='inside'.")
        self.trusted = trusted
        tree = DirectoryTree(root, symlinks=symlinks)
        if strict_root:
            tree.require()
        super().__init__(tree, profile=profile, limits=limits)
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

    @contextmanager
    def hold(self) -> Iterator[DirectoryTree]:
        """Give a tree that keeps the root open: one scan opens it once and sees one folder, whatever is renamed."""
        held = DirectoryTree(self._given, symlinks=self._links)
        held.root, held._fd = self.root, self._open_root()
        try:
            yield held
        finally:
            os.close(held._fd)

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        fd = self._open(folder, path, _FOLDER)
        try:
            device = os.fstat(fd).st_dev
            with os.scandir(fd) as found:
                return [Entry(entry.name, _entry_kind(entry), _identity(device, entry.inode())) for entry in found]
        except OSError as error:
            raise _failed(error, path or folder or self.label) from error
        finally:
            os.close(fd)

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to, links followed inside their border."""
        fd = self._open(folder, path, _FILE)
        try:
            info = os.fstat(fd)
        except OSError as error:
            raise _failed(error, path or folder or self.label) from error
        finally:
            os.close(fd)
        name, identity = (path or folder).rpartition("/")[2], _identity(info.st_dev, info.st_ino)
        if stat.S_ISDIR(info.st_mode):
            return Entry(name, "directory", identity)
        return Entry(name, "file" if stat.S_ISREG(info.st_mode) else "other", identity)

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a regular file."""
        fd = self._open(folder, path, _FILE)
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                what = "a folder, not a file; name a file in it" if stat.S_ISDIR(info.st_mode) else "not a regular file"
                raise ResourceTypeError(f"{shown(path)} is {what}.")
            data = _read(fd, offset, min(size, max(0, info.st_size - offset)))
        except OSError as error:
            raise _failed(error, path) from error
        finally:
            os.close(fd)
        return Chunk(data, info.st_size, bool(info.st_mode & 0o111), _version(info), _settled(info))

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file by one stat, ``None`` when it takes a read to tell."""
        root = self._open_root() if self._fd < 0 else self._fd
        try:
            info = os.stat(join(folder, path), dir_fd=root, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        finally:
            if root != self._fd:
                os.close(root)
        return _version(info) if stat.S_ISREG(info.st_mode) else None

    # --- opening ----------------------------------------------------------------------------------------------------

    def _open_root(self) -> int:
        if not _DESCRIPTORS:
            raise SourceError("Folders are read through directory descriptors, which this platform does not have.")
        try:
            return os.open(self.root, _FOLDER)
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
        fd = self._open_root() if self._fd < 0 else self._fd
        for part, wanted in ((folder, _FOLDER if path else flags), (path, flags)):
            if part:
                above = fd
                try:
                    fd = self._beneath(above, part, wanted)
                except OSError as error:
                    raise _translated(error, part) from None
                finally:
                    if above != self._fd:
                        os.close(above)
        return os.dup(fd) if fd == self._fd else fd

    def _beneath(self, base: int, path: str, flags: int) -> int:
        if self._links == "follow":
            return os.open(path, flags, dir_fd=base)
        if "/" not in path:
            try:  # nearly every path is one name and no link
                return os.open(path, flags | _NOFOLLOW, dir_fd=base)
            except OSError as error:
                if error.errno not in _MAY_BE_LINK:
                    raise
        return _open_beneath(base, path.split("/"), flags, links=self._links == "inside")


def _open_beneath(base: int, parts: list[str], flags: int, *, links: bool) -> int:
    """Open a path without ever leaving ``base``; the caller closes ``base`` and the result."""
    todo = parts[::-1]
    stack: list[int] = []
    hops = 0
    try:
        while todo:
            part = todo.pop()
            above = stack[-1] if stack else base
            if part in ("", "."):
                continue
            if part == "..":
                if not stack:
                    raise OSError(errno.EXDEV, "leaves its border")
                os.close(stack.pop())
                continue
            try:
                stack.append(os.open(part, (_FOLDER if todo else flags) | _NOFOLLOW, dir_fd=above))
            except OSError as error:
                if error.errno not in _MAY_BE_LINK:
                    raise
                target = _link_target(part, above)
                if target is None:
                    raise
                hops += 1
                if not links or hops > _HOPS:
                    raise OSError(errno.ELOOP, "is a link") from None
                if target.startswith("/"):
                    raise OSError(errno.EXDEV, "leaves its border") from None
                todo.extend(reversed(target.split("/")))
        return stack.pop() if stack else os.dup(base)
    finally:
        for fd in stack:
            os.close(fd)


def _link_target(part: str, above: int) -> str | None:
    with suppress(OSError):
        return os.readlink(part, dir_fd=above)
    return None


def _translated(error: OSError, path: str) -> Exception:
    """Return our error for one of the operating system's, without a host path."""
    if error.errno == errno.EXDEV:
        return ResourcePathError(f"{shown(path)} is a link that leaves the folder it belongs to.")
    if error.errno == errno.ELOOP:
        return ResourcePathError(f"{shown(path)} is, or passes through, a link that is not followed.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return ResourceNotFoundError(f"There is no file {shown(path)}.")
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return ResourcePathError(f"{shown(path)} is not a name a file can have.")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return ResourceTypeError(f"{shown(path)} is not a regular file.")
    return SourceError(f"{shown(path)} cannot be read: {error.strerror}.")


def _failed(error: OSError, path: str) -> Exception:
    """Return our error for a failure of an open descriptor: a broken disk, a share that went away."""
    if isinstance(error, SkillError):
        return error
    return SourceError(f"{shown(path)} cannot be read: {error.strerror}.")


def _settled(info: os.stat_result) -> bool:
    """Whether a file has rested: written within the clock's tick, it may be written again without its time changing."""
    return time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > _SETTLED


def _version(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}-{info.st_ctime_ns}-{info.st_size}-{info.st_ino}"


def _identity(device: int, inode: int) -> int:
    """Return what tells a folder from all others; inodes alone repeat across file systems."""
    return device << 64 | inode


def _read(fd: int, offset: int, size: int) -> bytes:
    """Read up to ``size`` bytes in blocks: a limit of a terabyte must not allocate one."""
    blocks: list[bytes] = []
    while size > 0:
        block = os.pread(fd, min(size, _BLOCK), offset)
        if not block:
            break
        blocks.append(block)
        offset += len(block)
        size -= len(block)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _entry_kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")
