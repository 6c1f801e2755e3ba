"""What a document repeats of its SKILL.md: level 1 and the instructions, in Unicode's normal form."""

from __future__ import annotations

import re
import unicodedata

from skillbelt.models import JsonValue, Skill

__all__ = ["PROJECTED", "project"]

PROJECTED = ("name", "description", "license", "compatibility", "metadata", "allowed-tools", "instructions")
"""Fields of a document that say what SKILL.md says, in the order they stand in."""

_HALVES = re.compile("[\ud800-\udfff]")


def project(skill: Skill) -> dict[str, JsonValue]:
    """Return the fields a document must have for this SKILL.md; what the skill does not say is not there.

    Args:
        skill: The parsed SKILL.md.
    """
    matter = skill.frontmatter
    fields: dict[str, JsonValue] = {
        "name": _plain(skill.name),
        "description": _plain(matter.description),
        "license": None if matter.license is None else _plain(matter.license),
        "compatibility": None if matter.compatibility is None else _plain(matter.compatibility),
        "metadata": {_plain(key): _plain(value) for key, value in matter.metadata.items()} or None,
        "allowed-tools": _plain(" ".join(matter.allowed_tools)) or None,
        "instructions": _plain(skill.instructions),
    }
    return {field: value for field, value in fields.items() if value is not None}


def _plain(text: str) -> str:
    """Return text as JSON can carry it: YAML can spell half a character, UTF-8 cannot."""
    return unicodedata.normalize("NFC", _HALVES.sub("\ufffd", text))
