"""Tar archives packed with gzip, read as a stream and kept as an index.

The plain format of POSIX and GNU tar with long names, and nothing that tools disagree on: no links of either kind, no
devices, no sparse files, nothing after the end. Plain files and folders are all a skill is made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillbelt.limits import KIB, MIB
from skillbelt.sources.archive.content import GZIP, Blocks, Deflated, Inflation, Member, Point, Stretch, Sum
from skillbelt.sources.archive.gate import ArchiveLimits, ArchiveRefusedError, Index, member_path, refuse
from skillbelt.sources.paths import shown

if TYPE_CHECKING:
    from skillbelt.sources.archive.files import Opened

__all__ = ["read_tar"]

_RECORD = 512
_EXTENSION = 64 * KIB
"""Bytes of a long name or of a pax header; a real one has some hundred."""
_PADDING = MIB
"""Bytes of zeros after the end; tar fills up to a multiple of its blocking factor."""

_FILE, _FOLDER = b"0\x00", b"5"
_PAX, _GLOBAL, _LONG_NAME = b"x", b"g", b"L"
_LINKS = b"12K"
_SPECIAL = b"346"


def read_tar(file: Opened, limits: ArchiveLimits) -> Index:
    """Judge a ``.tar.gz`` archive and return what is in it.

    Args:
        file: The archive.
        limits: Its bounds; a declared size past them is refused before its bytes are inflated.

    Raises:
        SourceError: The archive is refused.
    """
    limits.check_file(file.size)
    if file.at(0, 2) != b"\x1f\x8b":
        raise refuse("archive-damaged", "it is not a .tar.gz archive.")
    stream = _Stream(file, limits)
    index = Index()
    found: dict[str, tuple[int, _Header, Sum]] = {}
    total = 0
    for header in _headers(stream, limits, file.size):
        _check_kind(header)
        path, slash = member_path(header.name)
        if header.kind in _FILE and (slash or not path):
            raise _differs(f"{shown(path)} is a file by its kind and a folder by its name")
        total += header.size
        limits.check_total(total)
        if header.kind in _FOLDER:
            index.add_folder(path)
            continue
        index.add_file(path)
        seen = Sum()
        start = stream.position
        for block in stream.blocks(header.size):
            seen.add(block)
        stream.take(-header.size % _RECORD)
        found[path] = (start, header, seen)
    blocks = Blocks(Deflated(tuple(stream.points), file.size, GZIP))
    for path, (start, header, seen) in found.items():
        index.files[path] = Member(seen.size, header.executable, seen.version, Stretch(blocks, start))
    return index


def _check_kind(header: _Header) -> None:
    named = shown(header.name.decode("utf-8", "replace"))
    if header.kind in _LINKS:
        raise refuse("archive-link", f"{named} is a link.", hint="Replace it by what it leads to (tar -h).")
    if header.kind in _SPECIAL:
        raise refuse("archive-special", f"{named} is a device or a pipe.")
    if header.kind not in _FILE + _FOLDER:
        raise refuse("archive-method", f"{named} is of a kind that not every tool reads.")
    if header.kind in _FOLDER and header.size:
        raise _differs(f"the folder {named} has content")


# --- the stream -----------------------------------------------------------------------------------------------------


class _Stream:
    """The inflated bytes in order, bounded by the ratio, with the points they can be taken up from."""

    def __init__(self, file: Opened, limits: ArchiveLimits) -> None:
        self.position = 0
        self.points = [Point(0, 0)]
        self._limits = limits
        self._run = Inflation(file, self.points[0], file.size, GZIP)
        self._inflated = iter(self._run)
        self._block = b""
        self._used = 0

    def _fill(self) -> bool:
        """Have a block that is not used up; ``False`` at the end."""
        while self._used == len(self._block):
            block = next(self._inflated, None)
            if block is None:
                return False
            self._block, self._used = block, 0
            self._limits.check_ratio(self._run.out, self._run.at)
            if self._run.out - self.points[-1].out >= Blocks.SPACING and not self._run.done:
                self.points.append(self._run.point())
        return True

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the next ``size`` bytes, in pieces."""
        while size > 0:
            if not self._fill():
                raise refuse("archive-damaged", "it ends too early.")
            piece = self._block[self._used : self._used + size]
            self._used += len(piece)
            self.position += len(piece)
            size -= len(piece)
            yield piece

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        return b"".join(self.blocks(size))

    def finish(self, size: int) -> None:
        """Refuse anything but zeros up to the end, and anything in the file after it."""
        padding = 0
        while self._fill():
            rest = self._block[self._used :]
            padding += len(rest)
            if padding > _PADDING or rest.strip(b"\x00"):
                raise _differs("there is data after its end")
            self._used = len(self._block)
        if self._run.at != size:
            raise _differs("there is data after its end")


# --- the headers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Header:
    """One header, with the long name that went before it."""

    name: bytes
    kind: bytes
    size: int
    executable: bool = False


def _headers(stream: _Stream, limits: ArchiveLimits, size: int) -> Iterator[_Header]:
    """Yield the headers of files and folders; the caller takes the content in between."""
    names: dict[bytes, bytes] = {}
    count = 0
    while True:
        record = stream.take(_RECORD)
        if not record.strip(b"\x00"):
            break
        count += 1
        limits.check_entries(count)
        header = _header(record)
        if header.kind in _PAX + _GLOBAL + _LONG_NAME:
            _extend(names, header, _extension(stream, header))
            continue
        if len(set(names.values())) > 1:
            raise _differs("an entry has two long names")
        yield replace(header, name=names.popitem()[1]) if names else header
        names.clear()
    if names:
        raise _differs("a long name stands before its end")
    stream.finish(size)


def _header(record: bytes) -> _Header:
    # The sum is over the record with its own field blank; it is what tells a header from anything else.
    if _number(record[148:156]) != sum(record[:148]) + 8 * 32 + sum(record[156:]):
        raise refuse("archive-damaged", "a header of it is not what its checksum says.")
    name = _text(record[:100])
    # In GNU's own format the field after the names holds times, so only POSIX's magic makes it a prefix.
    if record[257:263] == b"ustar\x00":
        prefix = _text(record[345:500])
        name = prefix + b"/" + name if prefix else name
    return _Header(name, record[156:157], _number(record[124:136]), bool(_number(record[100:108]) & 0o111))


def _text(data: bytes) -> bytes:
    name, _, rest = data.partition(b"\x00")
    if rest.strip(b"\x00"):
        raise _differs("a name of it goes on after its end")
    return name


def _number(data: bytes) -> int:
    if data[:1] == b"\x80":  # GNU: a number too large for octal digits, as it is
        return int.from_bytes(data[1:], "big")
    digits = data.partition(b"\x00")[0].strip(b" ")
    if digits.strip(b"01234567"):
        raise refuse("archive-damaged", "a header of it has a number that is none.")
    return int(digits or b"0", 8)


def _extension(stream: _Stream, header: _Header) -> bytes:
    if header.size > _EXTENSION:
        raise refuse("archive-limit", f"an extension header has more than {_EXTENSION} bytes.")
    data = stream.take(header.size)
    stream.take(-header.size % _RECORD)
    return data


def _extend(names: dict[bytes, bytes], header: _Header, data: bytes) -> None:
    """Note the name an extension gives to the next entry; the rest of what it says does not change the bytes."""
    if header.kind in names:
        raise _differs("an entry has two extension headers of a kind")
    if header.kind == _LONG_NAME:
        names[_LONG_NAME] = _text(data)
        return
    for key, value in _records(data):
        if key.startswith(b"GNU.sparse"):
            raise refuse("archive-special", "a file of it is sparse.", hint="Make it without «--sparse».")
        if key == b"linkpath":
            raise refuse("archive-link", "it holds a link.", hint="Replace it by what it leads to (tar -h).")
        if key == b"size" or (key == b"path" and header.kind == _GLOBAL):
            raise _differs(f"an extension header says {shown(key.decode('ascii'))}, which not every tool heeds")
        if key == b"path":
            if _PAX in names:
                raise _differs("an entry has two long names")
            names[_PAX] = value


def _records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the records of a pax header: «length key=value», the length counting all of itself."""
    while data:
        digits = data[:8].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record, data = data[:length], data[length:]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if len(record) < length or not record.endswith(b"\n") or not equals:
            raise refuse("archive-damaged", "an extension header of it is damaged.")
        yield key, value


def _differs(what: str) -> ArchiveRefusedError:
    return refuse("archive-differs", f"{what}; tools would read it differently.")
