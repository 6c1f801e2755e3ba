"""The bounds of every read, with names and defaults.

An unbounded reader lets one malformed skill exhaust the host before any skill runs, so each bound is a named,
overridable default (S3-03, S3-04). What happens past a bound is the reader's business, not this module's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from skillbelt.errors import LimitError

__all__ = ["KIB", "MIB", "Limits", "check_bytes"]

KIB = 1024
MIB = 1024 * KIB

_CEILING = 1 << 40
"""No bound of bytes or entries is meant to be larger than this; past it a number is a mistake (S3-04)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a source reads at most. ``None`` for a field means its default.

    Past a limit of discovery LENIENT reports ``scan-limit`` or ``depth-limit`` and keeps what it has, STRICT raises
    :class:`~skillbelt.errors.LimitError`.

    Attributes:
        entries: Directory entries looked at in one scan, invalid ones included.
        frontmatter_bytes: Bytes of a SKILL.md up to and including its closing fence, with BOM and line ends.
        skill_bytes: Bytes of a SKILL.md.
        resource_bytes: Bytes of one read of a bundled file.
        resources: Bundled files listed per skill.
        depth: Folders between the root and a skill, and between a skill and its files.
        directories: Folders opened in one scan.

    Raises:
        LimitError: A value is not a positive whole number, or the frontmatter may be larger than the file.

    Example:
        >>> Limits(entries=20_000).entries
        20000
        >>> Limits.minimal().entries
        512
    """

    entries: int = 2000
    frontmatter_bytes: int = 64 * KIB
    skill_bytes: int = MIB
    resource_bytes: int = MIB
    resources: int = 512
    depth: int = 6
    directories: int = 2000

    def __post_init__(self) -> None:
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if value is None:
                object.__setattr__(self, field.name, field.default)
            else:
                _check(field.name, value)
        if self.frontmatter_bytes > self.skill_bytes:
            raise LimitError(
                f"frontmatter_bytes ({self.frontmatter_bytes}) is larger than skill_bytes ({self.skill_bytes}); "
                "a part cannot be larger than the whole."
            )

    @classmethod
    def minimal(cls) -> Limits:
        """Return the defaults of the minimal repository (S3-03): as above, with 512 entries."""
        return cls(entries=512)


def check_bytes(name: str, value: Any) -> int:
    """Return ``value`` if it can be a number of bytes to read.

    Args:
        name: Parameter name for the message.
        value: What was passed.

    Raises:
        LimitError: Not a whole number from 1 to 2**40 (S3-43).
    """
    return _check(name, value)


def _check(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _CEILING:
        raise LimitError(f"{name} must be a whole number from 1 to {_CEILING}, not {value!r}.")
    return value
