"""The plainest frontmatter, read by lines: what nearly every SKILL.md has, several times faster than any YAML parser.

Reads ``key: value`` lines and one level of indented ones below a bare ``key:``, with values that are one line of
plain or simply quoted text. At the first thing that could mean something else in YAML it gives up, and the caller
asks the real parser. A property test holds it to the same answer as that parser.
"""

from __future__ import annotations

import re

from skillbelt.parsing.tree import Flat, Mapping, Scalar, Sequence

__all__ = ["flattened", "simple"]

# Line breaks, blanks and characters that YAML treats in ways of its own, or refuses.
_DOUBT = re.compile("[\t\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_SIGNS = (": >", ": |", ": [", ": {", "\n- ", "\n  - ")
"""What a block scalar, a flow collection and a list look like: seen at once, not after half of the lines."""
_PAIR = re.compile(r"( *)([A-Za-z][A-Za-z0-9_-]{0,60}):(?: +([^ ].*)?)?$")
_PLAIN_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789(/")


def simple(text: str) -> Mapping | None:
    """Return the mapping a block of YAML holds, ``None`` when it is not of the plainest kind."""
    if any(sign in text for sign in _SIGNS) or _DOUBT.search(text):
        return None
    root = Mapping(source=text)
    target, indent, bare = root, 0, ""  # where pairs go; of an inner mapping, its blanks; the last bare key
    position = 0
    for line in text.removesuffix("\n").split("\n"):
        pair = _PAIR.match(line)
        if pair is None:
            return None
        blanks, key, value = pair.groups()
        at = position + len(blanks)
        if blanks:
            if not bare or value is None or (target is not root and len(blanks) != indent):
                return None
            if target is root:
                target = root.pairs[bare] = Mapping(at=at)
                indent = len(blanks)
        else:
            target = root
            bare = "" if value else key
        if key in target.pairs:
            return None
        if not value:
            scalar = Scalar("", at + len(key) + 1, end=at + len(key) + 1)
        else:
            start = position + pair.start(3)
            first = value[0]
            if first in _PLAIN_START:
                value = value.rstrip(" ")
                if ": " in value or " #" in value or value[-1] == ":":
                    return None
                scalar = Scalar(value, start, end=start + len(value))
            elif first in "\"'":
                value = value.rstrip(" ")
                inner = value[1:-1]
                if len(value) < len("''") or value[-1] != first or first in inner or "\\" in inner:
                    return None
                scalar = Scalar(inner, start, True, start + len(value))
            else:
                return None
        target.pairs[key] = scalar
        target.places[key] = at
        position += len(line) + 1
    return root if root.pairs else None


def flattened(root: Mapping) -> dict[str, Flat]:
    """Return what :func:`simple` gave in pairs of a text and whether it is quoted.

    Args:
        root: A mapping of texts, or of one more level of them.
    """
    return {
        key: (node.text, node.quoted) if isinstance(node, Scalar) else flattened(node)
        for key, node in root.pairs.items()
        if not isinstance(node, Sequence)
    }
