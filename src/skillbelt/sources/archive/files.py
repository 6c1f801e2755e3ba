"""The bytes of an archive: a path, an open binary file or bytes, read at any offset.

Nothing here knows a format. A path is opened for each call and closed after it, so no descriptor is held between
calls and a replaced file is simply the new one; a file object stays the caller's and is read under a lock.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, BinaryIO, Protocol

from skillbelt.errors import SourceError
from skillbelt.sources.paths import shown

__all__ = ["ArchiveFile", "Opened", "Stamp", "Storage", "settled", "storage", "written"]

ArchiveFile = str | os.PathLike[str] | bytes | BinaryIO
"""What an archive can be read from."""

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not block the opener
_BLOCK = 1 << 20

Stamp = tuple[int, ...]
"""Size and, of a file on disk, the times of modification and of change, its inode and its device."""

_SETTLED = 100_000_000
"""Nanoseconds after which a file's time tells: two writes within one tick of a coarse clock have one time."""


def settled(stamp: Stamp) -> bool:
    """Whether a later change of the file would show in its stamp."""
    # By the time of change alone, which no writer can set: a time of modification may lie years ahead.
    return len(stamp) == 1 or abs(time.time_ns() - stamp[2]) > _SETTLED


class Opened(Protocol):
    """An archive's bytes during one call."""

    @property
    def size(self) -> int:
        """How many bytes there were when it was opened."""
        ...

    def at(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes from ``offset`` on, fewer only at the end of the file."""
        ...

    def stamp(self) -> Stamp:
        """Return numbers that differ when the file was written anew."""
        ...


class Storage(Protocol):
    """A place an archive's bytes are in."""

    @property
    def label(self) -> str:
        """What people call it."""
        ...

    @property
    def where(self) -> str | None:
        """The absolute path, when it has one."""
        ...

    def opened(self) -> AbstractContextManager[Opened]:
        """Open it for one call."""
        ...


def written(before: Stamp, after: Stamp) -> bool:
    """Whether an open file was written to in between; the time of change is that of a rename or a deletion as well."""
    return before[:2] != after[:2]


def storage(file: ArchiveFile) -> Storage:
    """Return where to read an archive from.

    Args:
        file: A path, ``bytes``, or a seekable binary file object that stays open while it is used.

    Raises:
        SourceError: It is none of these.

    Example:
        >>> storage(b"PK").label
        'archive'
    """
    if isinstance(file, (bytes, bytearray, memoryview)):
        return _Memory(bytes(file))
    if isinstance(file, (str, os.PathLike)):
        path = os.fspath(file)
        if isinstance(path, str) and path and "\x00" not in path:
            return _Path(path)
    elif callable(getattr(file, "read", None)) and callable(getattr(file, "seek", None)):
        return _Handle(file)
    raise SourceError("An archive is read from a path, bytes or a seekable binary file object; give one of these.")


class _Memory:
    """An archive in memory."""

    label = "archive"
    where = None

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def opened(self) -> AbstractContextManager[Opened]:
        return nullcontext(self)

    def at(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]

    def stamp(self) -> Stamp:
        return (self.size,)


class _Path:
    """An archive on disk."""

    def __init__(self, path: str) -> None:
        self.label = _printable(path)
        # The path is settled here: a process that changes its folder later must not be served another archive.
        self._path = os.path.abspath(os.path.expanduser(path))
        self.where = _printable(self._path)

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        try:
            fd = os.open(self._path, _FLAGS)
        except FileNotFoundError:
            raise SourceError(f"The archive {shown(self.label)} was not found.") from None
        except OSError as error:
            raise SourceError(f"The archive {shown(self.label)} cannot be read: {error.strerror}.") from None
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise SourceError(f"{shown(self.label)} is not a regular file; give an archive.")
            yield _Descriptor(fd, info.st_size, self.label)
        finally:
            os.close(fd)


class _Descriptor:
    """An archive on disk while it is open."""

    def __init__(self, fd: int, size: int, label: str) -> None:
        self.size = size
        self._fd = fd
        self._label = label

    def at(self, offset: int, size: int) -> bytes:
        blocks: list[bytes] = []
        try:
            while size > 0:
                block = os.pread(self._fd, min(size, _BLOCK), offset)
                if not block:
                    break
                blocks.append(block)
                offset += len(block)
                size -= len(block)
        except OSError as error:
            raise SourceError(f"The archive {shown(self._label)} cannot be read: {error.strerror}.") from None
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def stamp(self) -> Stamp:
        info = os.fstat(self._fd)
        # The time of change catches a writer that puts the old time of modification back.
        return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev)


class _Handle:
    """An archive in a file object, which has one position for all threads."""

    where = None

    def __init__(self, file: Any) -> None:
        name = getattr(file, "name", None)
        self.label = _printable(name) if isinstance(name, str) and name else "archive"
        self._file = file
        self._lock = threading.Lock()

    def opened(self) -> AbstractContextManager[Opened]:
        return nullcontext(_View(self, self.stamp()[0]))

    def at(self, offset: int, size: int) -> bytes:
        blocks: list[bytes] = []
        with self._lock, self._translated():
            self._file.seek(offset)
            while size > 0:
                block = self._file.read(min(size, _BLOCK))
                if not block:
                    break
                if not isinstance(block, bytes):
                    raise TypeError("it was opened as text")
                blocks.append(block)
                size -= len(block)
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def stamp(self) -> Stamp:
        with self._lock, self._translated():
            size = int(self._file.seek(0, os.SEEK_END))
            try:
                info = os.fstat(self._file.fileno())
            except (OSError, AttributeError):  # in memory, or behind something: the size is all there is
                return (size,)
            return (size, info.st_mtime_ns, info.st_ctime_ns)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Say a file object's failure as ours: closed, opened as text, not seekable."""
        try:
            yield
        except (OSError, ValueError, TypeError) as error:
            raise SourceError(f"The archive {shown(self.label)} cannot be read: {error}.") from error


class _View:
    """A file object during one call."""

    def __init__(self, handle: _Handle, size: int) -> None:
        self.size = size
        self.at = handle.at
        self.stamp = handle.stamp


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")
