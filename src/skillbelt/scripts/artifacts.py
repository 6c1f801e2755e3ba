"""The files a run leaves behind, taken without trusting any of them.

Only regular files count: links, FIFOs and devices that a script may leave are not followed, not opened and not
handed on. Every read is bounded, and so is their number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from skillbelt.errors import SkillError
from skillbelt.limits import MIB
from skillbelt.models import ResourceInfo
from skillbelt.scripts.limits import ScriptLimits
from skillbelt.sources.directory import DirectoryTree
from skillbelt.sources.paths import join, kind_of, split_path

__all__ = ["collect"]

_DEPTH = 32


def collect(
    folder: Path, limits: ScriptLimits, *, contents: bool = True, only: str | None = None
) -> tuple[tuple[ResourceInfo, ...], dict[str, bytes]]:
    """Return what is in a working folder: a listing, and the bytes as far as the bound goes.

    Args:
        folder: The working folder.
        limits: ``artifacts`` and ``artifact_files`` bound it.
        contents: Whether to read the bytes as well.
        only: Look at this path alone.
    """
    infos: list[ResourceInfo] = []
    data: dict[str, bytes] = {}
    room = limits.artifacts
    try:
        with DirectoryTree(folder, symlinks="refuse").hold() as tree:
            for path in _files(tree, limits) if only is None else [only]:
                try:
                    split_path(path)
                    total = tree.read("", path, size=0).total
                    if contents and total <= room:
                        data[path] = _read(tree, path, total)
                        room -= len(data[path])
                except SkillError:
                    continue  # a link, a FIFO, a name nobody can ask for
                infos.append(ResourceInfo(path=path, kind=kind_of(path), size=total))
    except SkillError:
        return (), {}
    return tuple(infos), data


def _read(tree: DirectoryTree, path: str, total: int) -> bytes:
    parts = [tree.read("", path, offset=at, size=MIB).data for at in range(0, total, MIB)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _files(tree: DirectoryTree, limits: ScriptLimits) -> Iterator[str]:
    """Yield paths of regular files, sorted, at most so many of them and of what lies around them."""
    found = seen = 0
    todo = [("", 0)]
    while todo:
        path, depth = todo.pop()
        try:
            entries = sorted(tree.entries("", path), key=lambda entry: os.fsencode(entry.name), reverse=True)
        except SkillError:
            continue
        below = []
        for entry in entries:
            seen += 1
            if seen > limits.entries:
                return
            if entry.kind == "directory" and depth < _DEPTH:
                below.append((join(path, entry.name), depth + 1))
            elif entry.kind == "file":
                below.append((join(path, entry.name), -1))
        files = [one for one, level in reversed(below) if level < 0]
        for one in files:
            yield one
            found += 1
            if found >= limits.artifact_files:
                return
        todo += [(one, level) for one, level in below if level >= 0]
