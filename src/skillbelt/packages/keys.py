r"""File paths as keys of a document: one spelling for every name a file can have (ADR 0009).

A path that is UTF-8 text in Unicode's normal form NFC stands as it is, with ``%`` as ``%25``. In any other path each
byte that is not ASCII is ``%`` and two hex digits as well. So no normalisation can change a key, no two paths have one
key, and no path has two. In memory a name that is not UTF-8 is text as Python's ``os.fsdecode`` gives it.
"""

from __future__ import annotations

import re
import unicodedata

from skillbelt.errors import ResourcePathError
from skillbelt.sources.paths import split_path

__all__ = ["caseless", "check_path", "key_of", "path_of"]

_ESCAPE = re.compile(rb"%([0-9A-F]{2})")
_NAME = 255
"""Bytes of one part of a path; the usual file systems hold no more."""


def key_of(path: str) -> str:
    r"""Return the key under which a document holds a file.

    Args:
        path: Relative to the skill, with ``/``; bytes that are no UTF-8 as ``os.fsdecode`` gives them.

    Example:
        >>> key_of("references/guide.md"), key_of("100%.txt"), key_of("cafe\u0301.md"), key_of("\udcff.bin")
        ('references/guide.md', '100%25.txt', 'cafe%CC%81.md', '%FF.bin')
    """
    key = path.replace("%", "%25")
    if unicodedata.is_normalized("NFC", key) and _is_text(key):
        return key
    raw = path.encode("utf-8", "surrogateescape").replace(b"%", b"%25")
    return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)


def path_of(key: str) -> str:
    """Return the path a key spells.

    Args:
        key: A key of ``files``.

    Raises:
        ValueError: It is not the one spelling :func:`key_of` gives.

    Example:
        >>> path_of("100%25.txt")
        '100%.txt'
    """
    if not _is_text(key):
        raise ValueError("it has half a character")
    path = key
    if "%" in key:
        raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), key.encode())
        path = raw.decode("utf-8", "surrogateescape")
    if key_of(path) != key:
        raise ValueError(f"it must be spelled {key_of(path)[:200]!r}")
    return path


def check_path(path: str) -> None:
    """Raise unless a file of a skill may have this path: the gate of all sources, for names of any bytes.

    Args:
        path: As :func:`path_of` gives it.

    Raises:
        ResourcePathError: Absolute, ``..``, a backslash, NUL, an empty part, too long, too deep.
    """
    raw = path.encode("utf-8", "surrogateescape")
    # All that the gate looks for is ASCII, so a name that is no text is judged byte by byte.
    split_path(path if _is_text(path) else raw.decode("latin-1"))
    if any(len(part) > _NAME for part in raw.split(b"/")):
        raise ResourcePathError(f"A part of the path has more than {_NAME} bytes; no file system holds it.")


def caseless(path: str) -> str:
    """Return what a path is compared by on file systems that fold case or Unicode forms.

    Args:
        path: As :func:`path_of` gives it.

    Example:
        >>> caseless("README.md") == caseless("readme.MD")
        True
    """
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
