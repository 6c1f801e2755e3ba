"""The head of a SKILL.md: its bytes up to the closing fence, read in one go, and what they say."""

from __future__ import annotations

from typing import NamedTuple

from skillbelt.limits import KIB, Limits
from skillbelt.parsing import ParsedSkill, ParsedSummary, Profile, fences, parse_frontmatter, parse_skill
from skillbelt.sources.tree import Chunk, Tree

__all__ = ["Head", "Reader", "Record", "read_head"]

_FIRST_READ = 4 * KIB
"""Nearly every frontmatter fits: the 99th percentile of real ones has 36 lines."""


class Head(NamedTuple):
    """The first bytes of a SKILL.md, up to its closing fence, and the version of the file they are from."""

    data: bytes
    halves: fences.Halves
    chunk: Chunk


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
        halves = fences.split(data, final=final)
        if halves.state == "found":
            return Head(data[: halves.body], halves, chunk)
        if not final and size <= limits.skill_bytes and fences.is_utf16(data):
            size = limits.skill_bytes + 1
        elif halves.state != "more" or final or size > limits.frontmatter_bytes:
            return Head(data, halves, chunk)
        else:
            size = limits.frontmatter_bytes + 1


class Reader(NamedTuple):
    """How the files of a tree are parsed: everything that is the same for all of them."""

    tree: Tree
    profile: Profile
    limits: Limits

    def summary(self, folder: str, file: str, head: Head) -> ParsedSummary:
        """Parse level 1."""
        return parse_frontmatter(
            head.data,
            profile=self.profile,
            directory=folder.rpartition("/")[2] if folder else self.tree.name,
            filename=file,
            limits=self.limits,
            path=self.tree.where(f"{folder}/{file}" if folder else file),
            source=self.tree.label,
            halves=head.halves,
        )

    def skill(self, folder: str, file: str, data: bytes) -> ParsedSkill:
        """Parse level 2."""
        return parse_skill(
            data,
            profile=self.profile,
            directory=folder.rpartition("/")[2] if folder else self.tree.name,
            filename=file,
            limits=self.limits,
            path=self.tree.where(f"{folder}/{file}" if folder else file),
            source=self.tree.label,
        )
