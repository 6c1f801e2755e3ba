"""From bytes to the two halves of a SKILL.md: where the frontmatter is, where the body starts.

Works on bytes so that a reader can stop at the closing fence without decoding what follows, and so that line ends
and byte budgets are counted as they are on disk (S3-24 to S3-26). Knows nothing of YAML.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

__all__ = ["Halves", "control_characters", "is_utf16", "line_breaks", "split", "to_utf8"]

_BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(rb"---[ \t]*(?:\r\n?|\n|\Z)")
_CLOSING = re.compile(rb"(?<=[\r\n])(---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_BREAK = re.compile(rb"\r\n?|\n")
_INK = re.compile(rb"[^ \t\r\n\x0b\x0c]")
_WIDE = {
    b"\x00-\x00-": "utf-16-be",
    b"-\x00-\x00": "utf-16-le",
    b"\x00\x00\x00-": "utf-32-be",
    b"-\x00\x00\x00": "utf-32-le",
}
"""How a fence starts in an encoding whose byte order mark is missing."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")


class Halves(NamedTuple):
    """What :func:`split` found.

    Attributes:
        state: ``"found"``; ``"missing"`` (no opening fence), ``"unclosed"`` (no closing fence), or ``"more"`` (the
            bytes given do not decide it).
        start: Offset of the first byte after the opening fence's line.
        end: Offset of the closing fence.
        body: Offset of the first byte after the closing fence's line.
        line: 1-based line of the opening fence.
        bom: Whether the file starts with a UTF-8 byte order mark.
        leading: Whether blank lines or comments stand before the opening fence.
        dots: Whether the closing fence is ``...``.
        plain: Whether both fences are bare ``---`` lines, the first one the first line, and every line ends in a
            line feed.
    """

    state: Literal["found", "missing", "unclosed", "more"]
    start: int = 0
    end: int = 0
    body: int = 0
    line: int = 1
    bom: bool = False
    leading: bool = False
    dots: bool = False
    plain: bool = False


def split(data: bytes, *, final: bool = True) -> Halves:
    """Find the fences: exactly ``---`` plus blanks, at column 0, alone on their line (SPEC-069, S3-13).

    Args:
        data: The file, or its first bytes.
        final: Whether ``data`` reaches to the end of the file.

    Returns:
        The offsets, or why there are none.
    """
    end = data.find(b"\n---", 3) + 1
    if end and data.startswith(b"---\n") and data.startswith(b"\n", end + 3) and _undisturbed(data, end):
        return Halves("found", 4, end, end + 4, plain=True)  # nearly every file
    bom = data.startswith(_BOM)
    position = len(_BOM) if bom else 0
    line = 1
    if not _OPENING.match(data, position):
        skipped = _skip_leading(data, position, final=final)
        if skipped is None:
            return Halves("more", bom=bom)
        line += line_breaks(data[position:skipped])
        position = skipped
    opening = _OPENING.match(data, position)
    if opening is None:
        rest = data[position:]
        undecided = not final and any(mark.startswith(rest) for mark in (b"---", b"<!--", _BOM[: 0 if position else 3]))
        return Halves("more" if undecided else "missing", bom=bom)
    closing = _closing(data, opening.end())
    if closing is None or (not final and closing.end() == len(data)):
        return Halves("unclosed" if final else "more", start=opening.end(), line=line, bom=bom)
    return Halves(
        "found",
        start=opening.end(),
        end=closing.start(),
        body=closing.end(),
        line=line,
        bom=bom,
        leading=line > 1,
        dots=closing[1] == b"...",
    )


def _undisturbed(data: bytes, end: int) -> bool:
    """Whether no other line end and no other closing fence stands before ``end``."""
    return data.find(b"\r", 0, end) < 0 and data.find(b"\n...", 3, end) < 0


def _closing(data: bytes, start: int) -> re.Match[bytes] | None:
    """Find the closing fence; nearly always the first ``---`` after a line feed, which a plain search finds."""
    at = data.find(b"\n---", start - 1) + 1
    if at and data.find(b"\r", start, at) < 0 and data.find(b"\n...", start - 1, at) < 0:
        closing = _CLOSING.match(data, at)
        if closing is not None:
            return closing
    return _CLOSING.search(data, start)


def _skip_leading(data: bytes, position: int, *, final: bool) -> int | None:
    """Return where blank lines and whole-line HTML comments end, ``None`` when more bytes are needed."""
    while ink := _INK.search(data, position):
        start = max(data.rfind(b"\n", position, ink.start()), data.rfind(b"\r", position, ink.start())) + 1 or position
        if start != ink.start() or not data.startswith(b"<!--", start):
            return start
        end = data.find(b"-->", start)
        if end < 0:
            return start if final else None
        rest = _INK.search(data, end + 3, _line_end(data, end + 3))
        if rest:
            return start
        position = _line_end(data, end + 3)
    return len(data) if final else None


def _line_end(data: bytes, position: int) -> int:
    """Return the offset after the line that ``position`` is in."""
    end = _BREAK.search(data, position)
    return end.end() if end else len(data)


def line_breaks(data: bytes) -> int:
    r"""Return how many lines end in ``data``: at ``\n``, ``\r\n`` or ``\r``."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def is_utf16(data: bytes) -> bool:
    """Whether the bytes are UTF-16 (or UTF-32), with or without a byte order mark."""
    return data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:4] in _WIDE or data[:4] == b"\x00\x00\xfe\xff"


def to_utf8(data: bytes) -> bytes:
    """Return UTF-16 or UTF-32 bytes as UTF-8; what does not decode becomes U+FFFD."""
    if data[:4] in (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"):
        encoding = "utf-32"
    elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    else:
        encoding = _WIDE[data[:4]]
    return data.decode(encoding, errors="replace").encode("utf-8", errors="replace")


def control_characters(text: str) -> re.Match[str] | None:
    """Return the first control character other than tab and line ends."""
    return _CONTROL.search(text)
