"""The plainest frontmatter, read by lines: what nearly every SKILL.md has, several times faster than any YAML parser.

Reads ``key: value`` lines and one level of indented ones below a bare ``key:``, with values that are one line of
plain or simply quoted text. At the first thing that could mean something else in YAML it gives up, and the caller
asks the real parser. A property test holds it to the same answer as that parser.
"""

from __future__ import annotations

import re

from skillbelt.parsing.tree import Mapping, Scalar

__all__ = ["simple"]

# Line breaks, blanks and characters that YAML treats in ways of its own, or refuses.
_DOUBT = re.compile("[\t\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_PAIR = re.compile(r"( *)([A-Za-z][A-Za-z0-9_-]{0,60}):(?: +(.*))?$")
_FIRST = frozenset("(/")


def simple(text: str) -> Mapping | None:
    """Return the mapping a block of YAML holds, ``None`` when it is not of the plainest kind."""
    if _DOUBT.search(text):
        return None
    root = Mapping(source=text)
    inner: Mapping | None = None  # the mapping below the last bare key
    indent = 0
    bare = ""
    position = 0
    for line in text.removesuffix("\n").split("\n"):
        pair = _PAIR.match(line)
        if pair is None:
            return None
        blanks, key, value = pair.groups()
        at = position + len(blanks)
        if blanks:
            if not bare or value is None or (inner is not None and len(blanks) != indent):
                return None
            if inner is None:
                inner = root.pairs[bare] = Mapping(at=at)
                indent = len(blanks)
            target = inner
        else:
            target, inner, bare = root, None, "" if value else key
        node = _value(value, at + len(key) + 1, line, position)
        if node is None or key in target.pairs:
            return None
        target.pairs[key] = node
        target.places[key] = at
        position += len(line) + 1
    return root if root.pairs else None


def _value(value: str | None, colon: int, line: str, position: int) -> Scalar | None:
    """Return the scalar of a line, ``None`` when it takes a parser to tell."""
    value = value and value.rstrip(" ")
    if not value:
        return Scalar("", colon, end=colon)
    at = position + line.index(value, colon - position)
    first = value[0]
    if first in "\"'":
        inner = value[1:-1]
        if len(value) < 2 or value[-1] != first or first in inner or "\\" in inner:
            return None
        return Scalar(inner, at, quoted=True, end=at + len(value))
    if not (first.isalnum() or first in _FIRST) or ": " in value or " #" in value or value[-1] == ":":
        return None
    return Scalar(value, at, end=at + len(value))
