"""Inline metadata of a Python script (PEP 723): which packages it says it needs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

__all__ = ["InlineMetadata", "inline_metadata"]

# The expression of the specification.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class InlineMetadata:
    """What a script says of itself.

    Attributes:
        dependencies: Requirements, as written.
        requires_python: Which Python it needs, as written.
        error: Why the block cannot be understood.
    """

    dependencies: tuple[str, ...] = ()
    requires_python: str | None = None
    error: str | None = None


def inline_metadata(data: bytes) -> InlineMetadata | None:
    r"""Return the inline metadata of a script, ``None`` when it has none.

    Args:
        data: Its bytes.

    Example:
        >>> inline_metadata(b'# /// script\n# dependencies = ["requests"]\n# ///\n').dependencies
        ('requests',)
    """
    if b"# /// script" not in data:
        return None
    text = data[:_LARGEST].decode("utf-8", "replace").replace("\r\n", "\n")
    blocks = [match for match in _BLOCK.finditer(text) if match["type"] == "script"]
    if not blocks:
        return None
    if len(blocks) > 1:
        return InlineMetadata(error="there are two blocks of inline metadata")
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in blocks[0]["content"].splitlines())
    try:
        table = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        return InlineMetadata(error=f"the inline metadata is no TOML: {error}")
    needs, python = table.get("dependencies", []), table.get("requires-python")
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        return InlineMetadata(error="dependencies is no list of strings")
    if python is not None and not isinstance(python, str):
        return InlineMetadata(error="requires-python is no string")
    return InlineMetadata(tuple(needs), python)
