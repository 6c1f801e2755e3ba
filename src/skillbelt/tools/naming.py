"""Names of tools that every provider takes."""

from __future__ import annotations

import hashlib
import re

__all__ = ["hashed", "tool_name"]

_NAME = 64


def tool_name(name: str) -> str:
    """Return a skill's name as a tool name that every provider takes (S1-57, scenario C05).

    ``/`` becomes ``_S_`` and ``:`` becomes ``_C_``; whatever cannot be turned back from that gets a hash.

    Args:
        name: A skill's name.

    Example:
        >>> tool_name("local/my-skill"), tool_name("pdf")
        ('local_S_my-skill', 'pdf')
    """
    safe = name.replace("/", "_S_").replace(":", "_C_")
    back = safe.replace("_S_", "/").replace("_C_", ":")
    return safe if back == name and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", safe) else hashed(name)


def hashed(name: str) -> str:
    """Return a name that cannot be turned back, for a skill whose own will not do.

    Args:
        name: A skill's name.
    """
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    slug = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[: _NAME - 9]
    return f"{slug or 'skill'}-{digest}"
