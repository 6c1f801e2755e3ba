"""Level 1 of a frontmatter about which nothing can be said: most real ones, at a fraction of the cost.

A listing wants two values of each SKILL.md. When a block starts with them, has known fields only, each once, each one
line of printable text that no YAML reader could take for anything else (a description may be a block of such lines),
and keeps every rule of the format, then no profile has a diagnostic for it, and the two values are all there is to
know. One regular expression says so, or gives up; then the block is read in full. A property test holds it to the
answer of that reading (ADR 0019).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillbelt.parsing.tree import Flat

__all__ = ["plain_pairs", "plainest"]

# Plain text that starts with a letter is text in YAML, but for a few words; quotes with no quote and no escape in
# them hold what they show. What ``: `` and `` #`` mean inside a value is settled by counting, below.
_WORDS = r"(?!(?i:yes|no|true|false|on|off|null)\n)"
_PLAIN = rf"{_WORDS}[A-Za-z](?:[^\n]*[^\n ])?"
_QUOTED = r"\"[^\"\\\n]*\"|'[^'\\\n]*'"
_TEXT = rf"(?:{_PLAIN}|{_QUOTED})"
_LINE = r"[^ \n](?:[^\n]*[^ \n])?"
_BLOCK = re.compile(
    rf"name: {_WORDS}(?P<name>(?=[a-z])[a-z0-9]+(?:-[a-z0-9]+)*)\n"
    rf"description: (?:{_WORDS}(?P<plain>[A-Za-z](?:[^\n]{{0,1022}}[^\n ])?)|\"(?P<double>[^\"\\\n]{{1,1024}})\""
    rf"|'(?P<single>[^'\\\n]{{1,1024}})'"
    rf"|(?P<style>[>|])[-+]?(?P<lines>\n(?P<width> +){_LINE}(?:\n(?P=width){_LINE})*))\n"
    rf"(?:(?:license: {_TEXT}|compatibility: {_WORDS}[A-Za-z](?:[^\n]{{0,498}}[^\n ])?"
    rf"|allowed-tools: {_WORDS}[A-Za-z](?:[^,\n]*[^,\n ])?"
    rf"|metadata:(?P<metadata>(?:\n(?P<indent> +)[A-Za-z][A-Za-z0-9_-]{{0,60}}: {_TEXT})"
    rf"(?:\n(?P=indent)[A-Za-z][A-Za-z0-9_-]{{0,60}}: {_TEXT})*))\n)*"
)
_KEYS = re.compile(r"^ +([A-Za-z0-9_-]+)", re.MULTILINE)
_REQUIRED = ("name", "description")
_OPTIONAL = ("\nlicense: ", "\ncompatibility: ", "\nallowed-tools: ", "\nmetadata:")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024
_LONGEST_COMPATIBILITY = 500
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KNOWN = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_NO_TEXT = frozenset({"yes", "no", "true", "false", "on", "off", "null"})
_LONGEST_WORD = max(map(len, _NO_TEXT))


def plainest(block: str, directory: str | None) -> tuple[str, str] | None:
    """Return the name and the description of a block.

    Args:
        block: The frontmatter without its fences, ending in a line feed.
        directory: Name of the skill's folder, where it is known.

    Returns:
        Both values; ``None`` when anything about the block is worth a closer look.
    """
    found = _BLOCK.fullmatch(block)
    if found is None or " #" in block or not block.replace("\n", "").isprintable():
        return None
    name, plain, double, single, style, below, width, metadata, _ = found.groups()
    if style is None:
        description = (plain or double or single or "").strip()
    else:  # lines of one width, none blank: folded they are joined with blanks, else as they stand
        description = below[1 + len(width) :].replace(f"\n{width}", " " if style == ">" else "\n")
    if (directory is not None and name != directory) or len(name) > _LONGEST_NAME:
        return None
    if not 0 < len(description) <= _LONGEST_DESCRIPTION:
        return None
    # Each line has one ``: `` of its own, all others stand in quotes; only ``metadata`` may end in a colon.
    lines = block.count("\n") - (0 if below is None else below.count("\n"))
    bare = 0 if metadata is None else 1
    quoted = 0 if plain else description.count(": ")
    if block.count(": ") != lines - bare + quoted or block.count(":\n") != bare:
        return None
    # One more line than the required ones cannot give anything twice.
    return None if lines > len(_REQUIRED) + 1 and _repeats(block, metadata) else (name, description)


def _repeats(block: str, metadata: str | None) -> bool:
    """Whether a field, or a key of ``metadata``, is given twice."""
    for field in _OPTIONAL:
        if block.count(field) > 1:
            return True
    keys = _KEYS.findall(metadata) if metadata is not None else ()
    return len(set(keys)) != len(keys)


def plain_pairs(pairs: Mapping[str, Flat], block: str, directory: str | None) -> tuple[str, str] | None:
    """Return the same of a block that a parser read, whatever it looks like as text.

    Args:
        pairs: What the block holds.
        block: The block.
        directory: Name of the skill's folder, where it is known.

    Returns:
        Name and description; ``None`` when anything about them is worth a closer look.
    """
    texts: dict[str, str] = {}
    for key, value in pairs.items():
        if key not in _KNOWN:
            return None
        if isinstance(value, tuple):
            if not _is_text(value):
                return None
            texts[key] = value[0]
        elif key != "metadata" or not all(map(_is_text, value.values())):
            return None
    name, description = texts.get("name", ""), texts.get("description", "").strip()
    if not _KEBAB.fullmatch(name) or len(name) > _LONGEST_NAME or (directory is not None and name != directory):
        return None
    if not description or len(description) > _LONGEST_DESCRIPTION or " #" in block:
        return None
    if "," in texts.get("allowed-tools", "") or "metadata" in texts:
        return None
    if "compatibility" in texts and not 0 < len(texts["compatibility"].strip()) <= _LONGEST_COMPATIBILITY:
        return None
    return name, description


def _is_text(value: tuple[str, bool]) -> bool:
    """Whether a value is text beyond doubt."""
    text, quoted = value
    return quoted or (text[:1].isalpha() and (len(text) > _LONGEST_WORD or text.lower() not in _NO_TEXT))
