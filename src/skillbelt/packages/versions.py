"""Versions: concrete ones, which never change, and aliases, which mean the highest that matches (S2-11).

A concrete version is a semantic version with a ``v``: ``v1.2.3``, ``v2.0.0-rc.1``. An alias is ``latest``, ``v1``,
``v1.x`` or ``v1.2.x``. The ``v`` may be left out where people type; it is never left out where versions are stored.
A pre-release is chosen only when it is asked for exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from skillbelt.sources.paths import shown

__all__ = ["EXPECTED_VERSION", "LATEST", "is_alias", "is_concrete", "normalize_version", "select", "sort_versions"]

LATEST = "latest"
"""The alias a reference without a version means (S2-05)."""

EXPECTED_VERSION = "'latest', 'v1', 'v1.x', 'v1.2.x', or a concrete version such as 'v1.2.3'"
"""What a message tells the reader to write."""

_NUMBER = r"(0|[1-9][0-9]{0,17})"
_CONCRETE = re.compile(rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?", re.ASCII)
_ALIAS = re.compile(rf"v?{_NUMBER}(?:\.{_NUMBER})?(\.x)?", re.ASCII)
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class _Version:
    """A concrete version taken apart; ``key`` sorts as semantic versions do."""

    release: tuple[int, int, int]
    pre: tuple[str, ...]

    @property
    def key(self) -> tuple[object, ...]:
        # A release is above its pre-releases; numbers are below words, and a longer list above its own beginning.
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.pre)
        return (self.release, not self.pre, parts)


def _concrete(text: str) -> _Version | None:
    match = _CONCRETE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    pre = tuple(match[4].split(".")) if match[4] else ()
    if any(len(part) > 1 and part.isdigit() and part[0] == "0" for part in pre):
        return None  # a number of a pre-release has no leading zeros: 'rc.01' and 'rc.1' would be two names of one
    return _Version((int(match[1]), int(match[2]), int(match[3])), pre)


def _alias(text: str) -> tuple[int, ...] | None:
    """Return the numbers an alias fixes, ``None`` when it is none."""
    if text == LATEST:
        return ()
    match = _ALIAS.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or (match[2] is not None and not match[3]):  # 'v1.2' could mean either; it means nothing
        return None
    return (int(match[1]),) if match[2] is None else (int(match[1]), int(match[2]))


def is_concrete(version: str) -> bool:
    """Whether a version is one that never changes, such as ``v1.2.3`` or ``v2.0.0-rc.1``.

    Args:
        version: What was typed or stored.

    Example:
        >>> is_concrete("v1.2.3"), is_concrete("v1.x")
        (True, False)
    """
    return isinstance(version, str) and _concrete(version) is not None


def is_alias(version: str) -> bool:
    """Whether a version means «the highest that matches»: ``latest``, ``v1``, ``v1.x``, ``v1.2.x``.

    Args:
        version: What was typed or stored.

    Example:
        >>> is_alias("latest"), is_alias("v1.2.x"), is_alias("v1.2.3")
        (True, True, False)
    """
    return isinstance(version, str) and _alias(version) is not None


def normalize_version(version: str) -> str:
    """Return a version in the one form that is stored and sent: with its ``v``.

    Args:
        version: A concrete version or an alias.

    Raises:
        ValueError: It is neither; the message says what was expected.

    Example:
        >>> normalize_version("1.2.3"), normalize_version("latest")
        ('v1.2.3', 'latest')
    """
    if not (is_concrete(version) or is_alias(version)):
        raise ValueError(f"{shown(str(version))} is no version; write {EXPECTED_VERSION}.")
    return version if version == LATEST or version.startswith("v") else f"v{version}"


def select(wanted: str, available: Iterable[str]) -> str | None:
    """Return the version that is meant, out of those there are.

    Args:
        wanted: A concrete version or an alias.
        available: Versions of one package, in any order; what is no concrete version is passed over.

    Returns:
        The highest match, as it stands in ``available``; ``None`` when there is none. A pre-release matches only
        itself.

    Example:
        >>> select("v1.x", ["v1.2.0", "v1.10.0", "v2.0.0", "v1.11.0-rc.1"])
        'v1.10.0'
    """
    known = [(version, text) for text in available if (version := _concrete(text)) is not None]
    exact = _concrete(wanted)
    if exact is not None:
        return next((text for version, text in known if version == exact), None)
    fixed = _alias(wanted)
    if fixed is None:
        return None
    matching = [(v.release, text) for v, text in known if not v.pre and v.release[: len(fixed)] == fixed]
    return max(matching)[1] if matching else None


def sort_versions(versions: Iterable[str]) -> tuple[str, ...]:
    """Return the concrete versions among some texts, highest first.

    Args:
        versions: In any order; what is no concrete version is left out.

    Example:
        >>> sort_versions(["v1.9.0", "v1.10.0", "v1.10.0-rc.2", "main"])
        ('v1.10.0', 'v1.10.0-rc.2', 'v1.9.0')
    """
    known = [(version.key, text) for text in versions if (version := _concrete(text)) is not None]
    return tuple(text for _, text in sorted(known, reverse=True))
