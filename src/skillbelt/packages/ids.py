"""Package ids: the kind of a package and the SHA-1 of its canonical bytes, as one word.

The hash is a name, not a proof: whoever must trust content pins the sha256 of :func:`skillbelt.packages.integrity`
(conflict C18).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from skillbelt.errors import InvalidPackageIdError
from skillbelt.sources.paths import shown

__all__ = ["PackageId", "PackageType"]

_SHA1 = re.compile(r"[0-9a-f]{40}", re.ASCII)
_EXPECTED = "a package id is 'pkg_skl_' and the 40 lower-case hex digits of a SHA-1"


class PackageType(StrEnum):
    """Kinds of packages a registry may hold (S2-03); skillbelt reads skills."""

    ACTOR = "actor"
    GRAPH = "graph"
    STREAM = "stream"
    AGENT = "agent"
    TEMPLATE = "template"
    SKILL = "skill"
    MCP = "mcp"
    LSP = "lsp"

    @property
    def prefix(self) -> str | None:
        """The three letters of its ids, ``None`` for a kind whose letters are not known."""
        return _PREFIXES.get(self)


_PREFIXES = {PackageType.ACTOR: "act", PackageType.SKILL: "skl"}
_TYPES = {prefix: kind for kind, prefix in _PREFIXES.items()}


@dataclass(frozen=True, slots=True)
class PackageId:
    """The id of one immutable package (S2-01).

    Attributes:
        type: What it is; ids are known of actors and skills only.
        sha1: The 40 lower-case hex digits.

    Raises:
        InvalidPackageIdError: The type has no known prefix, or the hash is not one (S2-02).

    Example:
        >>> PackageId(PackageType.SKILL, "0" * 40)
        PackageId('pkg_skl_0000000000000000000000000000000000000000')
    """

    type: PackageType
    sha1: str

    def __post_init__(self) -> None:
        if not isinstance(self.type, PackageType) or self.type.prefix is None:
            raise InvalidPackageIdError(
                f"Ids of the package type {shown(str(self.type))} have no known prefix; known are 'actor' and 'skill'.",
                details={"type": str(self.type)},
            )
        if not isinstance(self.sha1, str) or not _SHA1.fullmatch(self.sha1):
            raise _invalid(str(self.sha1), _what_is_wrong(str(self.sha1)))

    @classmethod
    def parse(cls, text: str, *, expect: PackageType | None = None) -> PackageId:
        """Return the id a text spells.

        Args:
            text: As :class:`str` gives it: ``"pkg_skl_"`` and 40 hex digits.
            expect: The type it must have, e.g. :attr:`PackageType.SKILL` where only a skill will do.

        Raises:
            InvalidPackageIdError: It is no id, or one of another type; the message names what was given (S2-02, S2-03).

        Example:
            >>> str(PackageId.parse("pkg_skl_" + "a1" * 20))
            'pkg_skl_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1'
        """
        if not isinstance(text, str):
            raise _invalid(repr(text), "it is not text")
        head, _, rest = text.partition("_")
        prefix, _, sha1 = rest.partition("_")
        if head != "pkg" or prefix not in _TYPES:
            raise _invalid(text, "it does not start with 'pkg_skl_' or another known prefix")
        if not _SHA1.fullmatch(sha1):
            raise _invalid(text, _what_is_wrong(sha1))
        found = cls(_TYPES[prefix], sha1)
        return found if expect is None else found.require(expect)

    def require(self, expected: PackageType) -> PackageId:
        """Return this id if it is one of that type.

        Args:
            expected: The type that is needed.

        Raises:
            InvalidPackageIdError: It is the id of something else (S2-03).
        """
        if self.type is not expected:
            raise InvalidPackageIdError(
                f"{shown(str(self))} is the id of a package of type {self.type.value!r}; one of type "
                f"{expected.value!r} is needed here.",
                details={"value": str(self), "type": self.type.value, "expected": expected.value},
            )
        return self

    def __str__(self) -> str:
        return f"pkg_{self.type.prefix}_{self.sha1}"

    def __repr__(self) -> str:
        return f"PackageId({str(self)!r})"


def _what_is_wrong(sha1: str) -> str:
    if len(sha1) != 40:
        return f"its hash has {len(sha1)} characters, not 40"
    if _SHA1.fullmatch(sha1.lower()):
        return "its hash has upper-case letters"
    return "its hash has characters other than 0-9 and a-f"


def _invalid(value: str, why: str) -> InvalidPackageIdError:
    return InvalidPackageIdError(
        f"{shown(value)} is no package id: {why}; {_EXPECTED}.", details={"value": value[:200]}
    )
