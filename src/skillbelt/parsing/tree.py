"""The small tree that frontmatter becomes: scalars as they are written, lists, mappings."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Flat", "Mapping", "Node", "Scalar", "Sequence"]


@dataclass(slots=True)
class Scalar:
    """A scalar as it is written; ``quoted`` when it has quotes, is a block, or carries an explicit tag.

    Places are offsets, not lines: YAML breaks lines at U+0085, U+2028 and U+2029 too, where no editor does.
    """

    text: str
    at: int = 0
    quoted: bool = False
    end: int = 0


@dataclass(slots=True)
class Sequence:
    """A list of nodes."""

    items: list[Node] = field(default_factory=list)
    at: int = 0


@dataclass(slots=True)
class Mapping:
    """Pairs by the source text of their key; of a repeated key the last pair is kept.

    ``places`` are the offsets of the keys. Of a root only: ``repeated`` are the keys given twice anywhere below it,
    ``source`` is the text that all offsets speak of.
    """

    pairs: dict[str, Node] = field(default_factory=dict)
    at: int = 0
    places: dict[str, int] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    source: str = ""
    breaks: list[int] | None = None

    def line(self, at: int) -> int:
        """Return the 0-based line of an offset; of a root only."""
        if self.breaks is None:  # one file may have thousands of findings
            self.breaks = [i for i, char in enumerate(self.source) if char == "\n"]
        return bisect_left(self.breaks, at)


Node = Scalar | Sequence | Mapping
Flat = tuple[str, bool] | dict[str, Any]
"""A text with whether it is quoted, or one more level of them by key: less than the tree, and faster to make."""
