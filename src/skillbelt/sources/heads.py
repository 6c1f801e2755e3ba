"""The head of a SKILL.md: its bytes up to the closing fence, read in one go, and what they say."""

from __future__ import annotations

from typing import Any, NamedTuple

from skillbelt.limits import KIB, Limits
from skillbelt.parsing import ParsedSummary, Profile, fences, parse_frontmatter
from skillbelt.sources.paths import join
from skillbelt.sources.tree import Tree

__all__ = ["Head", "Record", "parse_arguments", "read_head"]

_FIRST_READ = 4 * KIB
"""Nearly every frontmatter fits: the 99th percentile of real ones has 36 lines."""


class Head(NamedTuple):
    """The first bytes of a SKILL.md, up to its closing fence, and the version of the file they are from."""

    data: bytes
    version: str
    halves: fences.Halves | None = None
    settled: bool = True
    total: int = 0

    def parse(self, **arguments: Any) -> ParsedSummary:
        """Parse level 1 with the arguments of :func:`skillbelt.parsing.parse_skill`."""
        return parse_frontmatter(self.data, halves=self.halves, **arguments)


class Record(NamedTuple):
    """What a scan read from one SKILL.md; good for as long as the file has this version, if that was settled."""

    version: str
    parsed: ParsedSummary
    settled: bool = True


def read_head(tree: Tree, folder: str, file: str, limits: Limits) -> Head:
    """Read a SKILL.md up to its closing fence, within ``limits.frontmatter_bytes`` (S3-24 to S3-26)."""
    size = min(_FIRST_READ, limits.frontmatter_bytes + 1)
    while True:
        chunk = tree.read(folder, file, size=size)
        data = chunk.data
        final = len(data) >= chunk.total or len(data) < size
        if fences.is_utf16(data) and not final and size <= limits.skill_bytes:
            size = limits.skill_bytes + 1
            continue
        halves = fences.split(data, final=final)
        if halves.state == "found":
            return Head(data[: halves.body], chunk.version, halves, chunk.settled, chunk.total)
        if halves.state != "more" or final or size > limits.frontmatter_bytes:
            return Head(data, chunk.version, settled=chunk.settled, total=chunk.total)
        size = limits.frontmatter_bytes + 1


def parse_arguments(tree: Tree, folder: str, file: str, profile: Profile, limits: Limits) -> dict[str, Any]:
    """Return the arguments of :func:`skillbelt.parsing.parse_skill` for a file of a tree."""
    return {
        "profile": profile,
        "directory": folder.rpartition("/")[2] if folder else tree.name,
        "filename": file,
        "limits": limits,
        "path": tree.where(join(folder, file)),
        "source": tree.label,
    }
