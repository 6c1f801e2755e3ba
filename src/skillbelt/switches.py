"""The switches that vendors put into a frontmatter: who may choose a skill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["invocable"]

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def invocable(extra: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether a model, and whether a user, may choose a skill with these extra fields."""
    return (
        not _flag(extra, "disable-model-invocation", default=False),
        _flag(extra, "user-invocable", "user_invocable", "user-invokable", default=True),
    )


def _flag(extra: Mapping[str, Any], *keys: str, default: bool) -> bool:
    """Read a vendor switch; anything that is not a YAML boolean leaves the default."""
    for key in keys:
        value = extra.get(key)
        if isinstance(value, str):
            if value.strip().lower() in _TRUE:
                return True
            if value.strip().lower() in _FALSE:
                return False
    return default
