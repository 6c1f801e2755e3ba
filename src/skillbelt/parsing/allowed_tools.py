"""The ``allowed-tools`` string: patterns such as ``Bash(git add *)``, apart at blanks outside parentheses."""

from __future__ import annotations

import unicodedata

__all__ = ["split_tools"]


def split_tools(text: str) -> tuple[tuple[str, ...], bool]:
    """Split on blanks and commas outside parentheses; also return whether a comma separated anything."""
    tokens: list[str] = []
    current: list[str] = []
    depth = 0
    commas = False
    for char in unicodedata.normalize("NFC", text) + " ":
        depth = max(0, depth + (char == "(") - (char == ")"))
        if depth == 0 and (char.isspace() or char == ","):
            commas = commas or char == ","
            if current:
                tokens.append("".join(current))
                current.clear()
        else:
            current.append(char)
    if current:
        tokens.append("".join(current).strip())
    return tuple(tokens), commas
