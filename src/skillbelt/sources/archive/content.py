"""The bytes of an archive's files: stored, deflated, or a stretch of one deflated stream.

Nothing is inflated to disk, and nothing whole into memory: a stream is run through once when the archive is judged,
and points from which it can be taken up again are kept, so that a page of a large file costs a page. A declared size
is never believed, only compared.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

from skillbelt.limits import KIB, MIB
from skillbelt.sources.archive.gate import refuse

if TYPE_CHECKING:
    from skillbelt.sources.archive.files import Opened

__all__ = [
    "GZIP",
    "RAW",
    "Content",
    "Deflated",
    "Inflation",
    "Member",
    "Point",
    "Stored",
    "Stretch",
    "Sum",
    "version_of",
]

RAW = -15
GZIP = 31
"""How zlib is told which wrapping a stream has."""

INPUT = 16 * KIB
OUTPUT = 64 * KIB
"""Bytes fed and taken at a time: the most that is inflated past a bound before it is noticed."""

_BLOCK = 256 * KIB
_KEPT = 8
"""A shared stream is inflated in such blocks, and so many are kept: neighbours are read one after another."""


class Content(Protocol):
    """Where the bytes of one file are."""

    def read(self, file: Opened, offset: int, size: int) -> bytes:
        """Return bytes of the file, which must lie within it."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A judged file of an archive.

    Attributes:
        size: Bytes, counted.
        executable: Whether a mode bit says so; set-id and write bits are not kept.
        version: A digest of its bytes.
        content: Where they are.
    """

    size: int
    executable: bool
    version: str
    content: Content

    def read(self, file: Opened, offset: int, size: int) -> bytes:
        """Return at most ``size`` bytes from ``offset`` on."""
        offset = min(offset, self.size)
        size = min(size, self.size - offset)
        return self.content.read(file, offset, size) if size else b""


class Sum:
    """Size, CRC and digest of bytes that pass."""

    def __init__(self) -> None:
        self.size = 0
        self.crc = 0
        self._digest = blake2b(digest_size=16)

    def add(self, block: bytes) -> None:
        """Count a block."""
        self.size += len(block)
        self.crc = zlib.crc32(block, self.crc)
        self._digest.update(block)

    @property
    def version(self) -> str:
        """The digest of what passed."""
        return self._digest.hexdigest()


def version_of(data: bytes) -> str:
    """Return the :attr:`Sum.version` of some bytes."""
    return blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a deflated stream from which it can be taken up.

    Attributes:
        out: Bytes inflated up to here.
        at: Where in the archive the rest starts.
        machine: The state of the inflater, never run itself; ``None`` at the start.
    """

    out: int
    at: int
    machine: Any = field(default=None, repr=False)


class Inflation:
    """One run through a deflated stream.

    Args:
        file: The archive.
        point: Where to begin.
        end: Where in the archive the stream must not reach past.
        wrapping: :data:`RAW` or :data:`GZIP`.
    """

    def __init__(self, file: Opened, point: Point, end: int, wrapping: int) -> None:
        self.out = point.out
        self.at = point.at
        self._file = file
        self._end = end
        self._machine: Any = point.machine.copy() if point.machine else zlib.decompressobj(wrapping)

    def __iter__(self) -> Iterator[bytes]:
        tail = b""
        machine = self._machine
        while not machine.eof:
            fed = tail or self._file.at(self.at, min(INPUT, self._end - self.at))
            try:
                block: bytes = machine.decompress(fed, OUTPUT)
            except zlib.error:
                raise refuse("archive-damaged", "its compressed data is damaged.") from None
            tail = machine.unconsumed_tail
            self.at += len(fed) - len(tail) - len(machine.unused_data)
            if not fed and not block:
                raise refuse("archive-damaged", "its compressed data ends too early.")
            self.out += len(block)
            yield block

    def point(self) -> Point:
        """Return the place reached."""
        return Point(self.out, self.at, self._machine.copy())

    @property
    def done(self) -> bool:
        """Whether the stream has ended."""
        return bool(self._machine.eof)


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that lies in the archive as it is."""

    start: int

    def read(self, file: Opened, offset: int, size: int) -> bytes:
        """Return bytes of the file."""
        return file.at(self.start + offset, size)


@dataclass(frozen=True, slots=True)
class Deflated:
    """A deflated stream with the points it can be taken up from, in order; the first is its start."""

    points: tuple[Point, ...]
    end: int
    wrapping: int = RAW

    def read(self, file: Opened, offset: int, size: int) -> bytes:
        """Inflate from the nearest point; what lies before ``offset`` is dropped block by block."""
        point = next(p for p in reversed(self.points) if p.out <= offset)
        run = Inflation(file, point, self.end, self.wrapping)
        blocks: list[bytes] = []
        for block in run:
            skipped = max(0, offset - (run.out - len(block)))
            taken = block[skipped : skipped + size]
            blocks.append(taken)
            size -= len(taken)
            if size <= 0:
                break
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)


class Blocks:
    """A stream that many files lie in, with the blocks last used; threads share it."""

    SPACING = _BLOCK

    def __init__(self, stream: Deflated) -> None:
        self._stream = stream
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, file: Opened, offset: int, size: int) -> bytes:
        """Return bytes of the stream."""
        first, last = offset // _BLOCK, (offset + size - 1) // _BLOCK
        data = b"".join(self._block(file, number) for number in range(first, last + 1))
        return data[offset - first * _BLOCK :][:size]

    def _block(self, file: Opened, number: int) -> bytes:
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        block = self._stream.read(file, number * _BLOCK, _BLOCK)
        with self._lock:
            self._kept[number] = block
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return block


@dataclass(frozen=True, slots=True)
class Stretch:
    """A file that lies in a shared stream."""

    blocks: Blocks
    start: int

    def read(self, file: Opened, offset: int, size: int) -> bytes:
        """Return bytes of the file."""
        return self.blocks.read(file, self.start + offset, size)


SPACING = MIB
"""Bytes between the points of a file with a stream of its own; a point takes about 40 KiB."""
