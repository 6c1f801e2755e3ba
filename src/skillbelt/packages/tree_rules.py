"""Rules for the files of a document: their keys, their entries, their sizes.

Everything is judged before anything is written anywhere, and a document that breaks one rule is judged by all others.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from skillbelt.errors import ResourcePathError
from skillbelt.packages.content import FileContent, decode_base64, exact_text
from skillbelt.packages.keys import caseless, check_path, key_of, path_of
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.violations import Violation, pointer
from skillbelt.sources.paths import shown

__all__ = ["clashes", "read_files"]


def read_files(files: Mapping[str, object], limits: PackageLimits, found: list[Violation]) -> dict[str, FileContent]:
    """Return the files of a document by path, as far as they can be read.

    Args:
        files: The ``files`` of a document; keys are text, entries may be anything.
        limits: Bounds; past one nothing more is decoded.
        found: Receives every violation.
    """
    contents: dict[str, FileContent] = {}
    paths: list[str] = []
    room = limits.total_bytes
    for key, entry in files.items():
        path = _path(key, found)
        if path is not None:
            paths.append(path)
        if not isinstance(entry, Mapping) or room < 0:
            continue
        content = _content(key, entry, room, found)
        room -= 0 if content is None else len(content.data)
        if room < 0:
            found.append(
                Violation("/files", "too-large", f"the files have more than {limits.total_bytes} bytes together.")
            )
        elif path is not None and content is not None:
            contents[path] = content
    found.extend(clashes(paths))
    return contents


def _path(key: str, found: list[Violation]) -> str | None:
    try:
        path = path_of(key)
        check_path(path)
    except ResourcePathError as error:
        found.append(Violation(pointer("files", key), "path-unsafe", str(error)))
        return None
    except ValueError as error:
        found.append(Violation(pointer("files", key), "path-spelling", f"{shown(key)} spells no path: {error}."))
        return None
    return path


def _content(key: str, entry: Mapping[object, object], room: int, found: list[Violation]) -> FileContent | None:
    executable = entry.get("executable", None)
    if executable is False or ("executable" in entry and executable is None):
        found.append(Violation(pointer("files", key, "executable"), "executable", "write true, or leave it out."))
    text, encoded = entry.get("text"), entry.get("base64")
    if isinstance(text, str) and "base64" not in entry:
        return _text(key, text, executable is True, found)
    if not isinstance(encoded, str) or "text" in entry:
        return None  # the shape is wrong, and that is said elsewhere
    if len(encoded) // 4 * 3 - 2 > room:
        return FileContent(bytes(room + 1))  # too large already, and never decoded
    try:
        data = decode_base64(encoded)
    except ValueError as error:
        found.append(Violation(pointer("files", key, "base64"), "base64", f"{error}."))
        return None
    if exact_text(data) is not None:
        found.append(
            Violation(pointer("files", key, "base64"), "encoding", "these bytes are text in NFC; write them as text.")
        )
    return FileContent(data, executable is True)


def _text(key: str, text: str, executable: bool, found: list[Violation]) -> FileContent | None:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        found.append(Violation(pointer("files", key, "text"), "not-unicode", "it has half a character (a surrogate)."))
        return None
    if not unicodedata.is_normalized("NFC", text):
        message = "it is not in Unicode's normal form NFC; write its bytes as base64."
        found.append(Violation(pointer("files", key, "text"), "not-nfc", message))
    return FileContent(data, executable)


def clashes(paths: Iterable[str]) -> Iterator[Violation]:
    """Yield a violation for each path that some file system could not keep beside the others.

    Args:
        paths: Of files, through the gate.
    """
    folders: dict[str, str] = {}
    files: dict[str, str] = {}
    told: set[str] = set()
    for path in sorted(paths):
        place = pointer("files", key_of(path))
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            folded = caseless(folder)
            if folded in files and folder not in told:
                told.add(folder)
                yield Violation(place, "path-file-and-folder", f"{shown(files[folded])} is a file and a folder.")
            elif folders.setdefault(folded, folder) != folder and folder not in told:
                told.add(folder)
                yield Violation(place, "path-clash", _one_name(folders[folded], folder))
        folded = caseless(path)
        if folded in folders:
            yield Violation(place, "path-file-and-folder", f"{shown(path)} is a file and a folder.")
        elif files.setdefault(folded, path) != path:
            yield Violation(place, "path-clash", _one_name(files[folded], path))


def _one_name(one: str, other: str) -> str:
    return f"{shown(one)} and {shown(other)} are one name on some file systems; rename one."
