"""All files of one skill as they are at one moment, with one digest over them.

What runs is exactly what was read, and what was read has a name that cannot lie: the sha256 over every path and every
byte. Grants are bound to it and materialised folders are found by it. Works for skills of any source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from skillbelt.errors import ResourceError, ScriptError
from skillbelt.limits import MIB
from skillbelt.models import ResourceInfo
from skillbelt.sources.base import ResourceSource
from skillbelt.sources.paths import shown

__all__ = ["SkillFiles", "read_files"]

SKILL_FILE = "SKILL.md"


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """The files of a skill.

    Attributes:
        files: Bytes by path, ``SKILL.md`` included, sorted by path.
        executable: Paths that had an executable bit; nothing here needs one.
        digest: sha256 (hex) over all paths and bytes.

    Example:
        >>> SkillFiles.of({"SKILL.md": b"", "a.py": b"1"}) == SkillFiles.of({"a.py": b"1", "SKILL.md": b""})
        True
    """

    files: Mapping[str, bytes] = field(repr=False)
    digest: str
    executable: frozenset[str] = frozenset()

    @classmethod
    def of(cls, files: Mapping[str, bytes], executable: frozenset[str] = frozenset()) -> SkillFiles:
        """Return these files with their digest.

        Args:
            files: Bytes by relative path.
            executable: Paths that had an executable bit.
        """
        ordered = {path: bytes(files[path]) for path in sorted(files)}
        return cls(MappingProxyType(ordered), digest_of(ordered), executable)

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(map(len, self.files.values()))


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the digest of files: length before content, so that no two sets of files look alike."""
    digest = hashlib.sha256(b"skillbelt-files/1\n")
    for path in sorted(files):
        name = path.encode("utf-8", "surrogatepass")
        digest.update(b"%d:%s=%d:" % (len(name), name, len(files[path])))
        digest.update(files[path])
    return digest.hexdigest()


def read_files(
    source: ResourceSource, name: str, resources: Iterable[ResourceInfo], *, max_bytes: int = 64 * MIB
) -> SkillFiles:
    """Read every file of a skill.

    Args:
        source: Any source.
        name: A usable skill of it.
        resources: Its files, as the source lists them.
        max_bytes: Most bytes of all files together.

    Returns:
        The files; what a listing leaves out (dot files, links that lead out) is left out here as well.

    Raises:
        ScriptError: The files are larger than the bound, or change while they are read.
        SkillNotFoundError: There is no such skill.
    """
    files: dict[str, bytes] = {}
    executable = set()
    room = max_bytes
    for info in (ResourceInfo(path=SKILL_FILE, kind="other", size=0), *resources):
        try:
            files[info.path] = _whole(source, name, info.path, room)
        except ResourceError:
            if info.path != SKILL_FILE:  # a source need not serve the SKILL.md as a file
                raise
        room -= len(files.get(info.path, b""))
        if info.executable:
            executable.add(info.path)
    return SkillFiles.of(files, frozenset(executable))


def _whole(source: ResourceSource, name: str, path: str, room: int) -> bytes:
    """Return a whole file, page by page: each source has its own bound for one read."""
    pages: list[bytes] = []
    size = 0
    total: int | None = None
    while True:
        resource = source.read(name, path, offset=size, max_bytes=MIB)
        total = resource.total if total is None else total
        if resource.total != total or (resource.truncated and not resource.data):
            raise ScriptError(f"{shown(path)} of the skill {shown(name)} changed while it was read; try again.")
        pages.append(resource.data)
        size += len(resource.data)
        if size > room:
            raise ScriptError(
                f"The files of the skill {shown(name)} are larger than the {room} bytes that are left for scripts; "
                "ship fewer or smaller ones."
            )
        if not resource.truncated:
            return pages[0] if len(pages) == 1 else b"".join(pages)
