"""Zip archives, read so strictly that no two tools can see different files in one.

The central directory and the local headers must agree, and together they must cover the file without a gap or an
overlap: nothing before the first entry, between entries or after the end record. So stacked archives, hidden
entries, self-extractors and a second end record in a comment have no place to be (security.md, section 7).
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct, unpack
from typing import TYPE_CHECKING

from skillbelt.limits import KIB
from skillbelt.sources.archive.content import RAW, SPACING, Content, Deflated, Inflation, Member, Point, Stored, Sum
from skillbelt.sources.archive.gate import ArchiveLimits, ArchiveRefusedError, Index, member_path, refuse
from skillbelt.sources.paths import shown

if TYPE_CHECKING:
    from skillbelt.sources.archive.files import Opened

__all__ = ["read_zip"]

_LOCAL = Struct("<4s5H3L2H")
_CENTRAL = Struct("<4s6H3L5H2L")
_END = Struct("<4s4H2LH")
_LOCATOR = Struct("<4sLQL")
_END_64 = Struct("<4sQ2H2L4Q")

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_DESCRIPTOR, _UTF8 = 0x8, 0x800
_FLAGS = 0x6 | _DESCRIPTOR | _UTF8
"""What may be set: the level hints, sizes after the data, UTF-8 names."""

_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
_ZIP_64, _UNICODE_PATH = 0x1, 0x7075
_COMMENT = 0xFFFF


@dataclass(frozen=True, slots=True)
class _Entry:
    """One record of the central directory."""

    raw: bytes
    path: str
    folder: bool
    executable: bool
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


def read_zip(file: Opened, limits: ArchiveLimits) -> Index:
    """Judge a zip archive and return what is in it.

    Args:
        file: The archive.
        limits: Its bounds; those on declared sizes are checked before anything is inflated.

    Raises:
        SourceError: The archive is refused.
    """
    limits.check_file(file.size)
    start, size, count = _find_directory(file)
    limits.check_entries(count)
    if size > 64 * KIB + count * (_CENTRAL.size + KIB):
        raise _differs("its central directory is larger than its entries")
    entries = _central(file.at(start, size), count)
    index = Index()
    for entry in entries:
        if entry.folder:
            index.add_folder(entry.path)
        else:
            index.add_file(entry.path)
    limits.check_total(sum(entry.size for entry in entries))
    for entry in entries:
        limits.check_ratio(entry.size, entry.packed)
    for entry, data in _local(file, entries, start):
        member = _judged(file, entry, data)
        if not entry.folder:
            index.files[entry.path] = member
    return index


# --- the end record -------------------------------------------------------------------------------------------------


def _find_directory(file: Opened) -> tuple[int, int, int]:
    """Return start, size and count of entries of the central directory."""
    tail = file.at(max(0, file.size - _END.size - _COMMENT), _END.size + _COMMENT)
    base = file.size - len(tail)
    found = [at for at in _occurrences(tail, b"PK\x05\x06") if _reaches_end(tail, at)]
    if not found:
        if b"PK\x05\x06" in tail:
            raise _differs("there is data after its end record")
        raise refuse("archive-damaged", "it is not a whole zip archive; its end record is missing.")
    if len(found) > 1:
        raise _differs("it has more than one end record")
    _, disk, first, here, count, size, start, _ = _END.unpack_from(tail, found[0])
    end = base + found[0]
    located = file.at(end - _LOCATOR.size, _LOCATOR.size) if end >= _LOCATOR.size else b""
    if located[:4] == b"PK\x06\x07":
        end, (disk, first, here, count, size, start) = _wide_end(file, end, (disk, first, here, count, size, start))
    if disk or first or here != count:
        raise refuse("archive-differs", "it is one part of a split archive.")
    if start + size != end:
        raise _differs("its central directory is not where its end record says")
    return start, size, count


def _occurrences(data: bytes, what: bytes) -> Sequence[int]:
    places = []
    at = data.find(what)
    while at >= 0:
        places.append(at)
        at = data.find(what, at + 1)
    return places


def _reaches_end(tail: bytes, at: int) -> bool:
    if at + _END.size > len(tail):
        return False
    return at + _END.size + int(_END.unpack_from(tail, at)[7]) == len(tail)


def _wide_end(file: Opened, end: int, narrow: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return where the zip64 end record starts and what it says; it may not contradict the short one."""
    _, _, at, _ = _LOCATOR.unpack(file.at(end - _LOCATOR.size, _LOCATOR.size))
    record = file.at(at, _END_64.size) if at + _END_64.size <= end else b""
    if record[:4] != b"PK\x06\x06" or len(record) < _END_64.size:
        raise _differs("its zip64 end record is not where it should be")
    _, length, _, _, *wide = _END_64.unpack(record)
    if at + 12 + length + _LOCATOR.size != end:
        raise _differs("its zip64 end record is not where it should be")
    full = (_FULL_16, _FULL_16, _FULL_16, _FULL_16, _FULL_32, _FULL_32)
    if any(short not in (long, most) for short, long, most in zip(narrow, wide, full, strict=True)):
        raise _differs("its two end records say different things")
    return at, tuple(wide)


# --- the central directory ------------------------------------------------------------------------------------------


def _central(data: bytes, count: int) -> Sequence[_Entry]:
    entries = []
    at = 0
    for _ in range(count):
        if len(data) - at < _CENTRAL.size or data[at : at + 4] != b"PK\x01\x02":
            raise _differs("its central directory has fewer entries than it says")
        fields = _CENTRAL.unpack_from(data, at)
        name, extra, comment = fields[10:13]
        at += _CENTRAL.size
        entries.append(_entry(fields, data[at : at + name], data[at + name : at + name + extra]))
        at += name + extra + comment
    if at != len(data):
        raise _differs("its central directory has more than its entries")
    return entries


def _entry(fields: tuple[int, ...], raw: bytes, extra: bytes) -> _Entry:
    made, _, flags, method, _, _, crc, packed, size = fields[1:10]
    disk, _, attributes, offset = fields[13:]
    path, folder = member_path(raw)
    wide = _extra(extra, raw)
    sizes = [size, packed, offset]
    if _FULL_32 in sizes:
        wanted = [i for i, value in enumerate(sizes) if value == _FULL_32]
        if len(wide) < 8 * len(wanted):
            raise _differs(f"the zip64 sizes of {shown(path)} are missing")
        for i, value in zip(wanted, unpack(f"<{len(wanted)}Q", wide[: 8 * len(wanted)]), strict=True):
            sizes[i] = value
    size, packed, offset = sizes
    _check_kind(path, flags, method, disk)
    mode = attributes >> 16
    _check_mode(path, mode, folder)
    if folder and size:
        raise _differs(f"the folder {shown(path)} has content")
    if method == _STORED and size != packed:
        raise _differs(f"the two sizes of {shown(path)} differ, and it is not compressed")
    unix = made >> 8 in (3, 19)  # the systems whose entries have modes: Unix and macOS
    return _Entry(raw, path, folder, unix and bool(mode & 0o111), flags, method, crc, packed, size, offset)


def _check_kind(path: str, flags: int, method: int, disk: int) -> None:
    if flags & _ENCRYPTED:
        raise refuse("archive-encrypted", f"{shown(path)} is encrypted.", hint="Make the archive without a password.")
    if method not in (_STORED, _DEFLATED) or flags & ~_FLAGS:
        raise refuse(
            "archive-method",
            f"{shown(path)} is packed by a method ({method}) that not every tool reads.",
            hint="Make the archive with «deflate», the usual method.",
        )
    if disk:
        raise refuse("archive-differs", "it is one part of a split archive.")


def _check_mode(path: str, mode: int, folder: bool) -> None:
    """Refuse links and devices whatever system made the entry, for a tool may look at the mode alone."""
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        raise refuse("archive-link", f"{shown(path)} is a link.", hint="Replace it by what it leads to.")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refuse("archive-special", f"{shown(path)} is a device, a pipe or a socket.")
    if kind == stat.S_IFDIR and not folder:
        raise _differs(f"{shown(path)} is a folder by its mode and a file by its name")


def _extra(data: bytes, raw: bytes) -> bytes:
    """Return the zip64 field; the others mean nothing to us, but a second name may not differ from the first."""
    wide: bytes | None = None
    at = 0
    while at < len(data):
        if len(data) - at < 4:
            raise _differs("an entry's extra field is cut")
        kind, length = unpack("<2H", data[at : at + 4])
        value = data[at + 4 : at + 4 + length]
        if len(value) < length:
            raise _differs("an entry's extra field is cut")
        at += 4 + length
        if kind == _ZIP_64:
            if wide is not None:
                raise _differs("an entry has two zip64 fields")
            wide = value
        if kind == _UNICODE_PATH and value[5:] != raw:
            raise _differs("an entry has two names")
    return wide or b""


# --- the local headers ----------------------------------------------------------------------------------------------


def _local(file: Opened, entries: Sequence[_Entry], end: int) -> Sequence[tuple[_Entry, int]]:
    """Return each entry with where its data starts, once the local records fill the file up to ``end``."""
    placed = []
    at = 0
    ordered = sorted(entries, key=lambda entry: entry.offset)
    for entry, following in zip(ordered, [*(e.offset for e in ordered[1:]), end], strict=False):  # none, or as many
        if entry.offset != at:
            raise _differs("it has data before or between its entries, or entries that overlap")
        header = file.at(at, _LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise _differs(f"{shown(entry.path)} is not where the central directory says")
        fields = _LOCAL.unpack(header)
        name, extra = fields[9:]
        rest = file.at(at + _LOCAL.size, name + extra)
        _compare(entry, fields, rest[:name], rest[name:])
        data = at + _LOCAL.size + name + extra
        at = data + entry.packed
        if at > following:
            raise _differs("it has entries that overlap")
        at += _descriptor(file, entry, at, following - at)
        placed.append((entry, data))
    if at != end:
        raise _differs("it has data between its entries and its central directory")
    return placed


def _compare(entry: _Entry, fields: tuple[int, ...], raw: bytes, extra: bytes) -> None:
    _, _, flags, method, _, _, crc, packed, size, _, _ = fields
    wide = _extra(extra, entry.raw)
    if _FULL_32 in (size, packed) and len(wide) >= 16:
        size, packed = unpack("<2Q", wide[:16])
    own: tuple[int, ...] = (crc, packed, size)
    wanted = (entry.crc, entry.packed, entry.size)
    if raw != entry.raw or flags != entry.flags or method != entry.method:
        raise _differs(f"{shown(entry.path)} has another name or method in its own header")
    if flags & _DESCRIPTOR:  # the sizes follow after the data; until then they may be zero
        own = tuple(value or known for value, known in zip(own, wanted, strict=True))
    if own != wanted:
        raise _differs(f"{shown(entry.path)} has other sizes in its own header")


def _descriptor(file: Opened, entry: _Entry, at: int, gap: int) -> int:
    """Return the length of the record after an entry's data, judged by the room there is for it."""
    if not entry.flags & _DESCRIPTOR:
        return 0
    data = file.at(at, gap) if gap in (12, 16, 20, 24) else b""
    if gap in (16, 24):
        if data[:4] != b"PK\x07\x08":
            raise _differs(f"the sizes after {shown(entry.path)} are not where they should be")
        data = data[4:]
    if not data or unpack("<3L" if len(data) == 12 else "<L2Q", data) != (entry.crc, entry.packed, entry.size):
        raise _differs(f"the sizes after {shown(entry.path)} are not those of its entry")
    return gap


# --- the content ----------------------------------------------------------------------------------------------------


def _judged(file: Opened, entry: _Entry, start: int) -> Member:
    """Run once through an entry's bytes and return where they are, if they are what was declared."""
    end = start + entry.packed
    seen = Sum()
    content: Content
    if entry.method == _STORED:
        content = Stored(start)
        for at in range(start, end, 64 * KIB):
            seen.add(file.at(at, min(64 * KIB, end - at)))
    else:
        points = [Point(0, start)]
        run = Inflation(file, points[0], end, RAW)
        for block in run:
            seen.add(block)
            if seen.size > entry.size:
                raise refuse("archive-limit", f"{shown(entry.path)} inflates to more than it declares.")
            if seen.size - points[-1].out >= SPACING and not run.done:
                points.append(run.point())
        if run.at != end:
            raise _differs(f"{shown(entry.path)} has data after its compressed data")
        content = Deflated(tuple(points), end)
    if (seen.size, seen.crc) != (entry.size, entry.crc):
        raise refuse("archive-damaged", f"{shown(entry.path)} is not what its checksum says.")
    return Member(seen.size, entry.executable, seen.version, content)


def _differs(what: str) -> ArchiveRefusedError:
    return refuse("archive-differs", f"{what}; tools would read it differently.")
