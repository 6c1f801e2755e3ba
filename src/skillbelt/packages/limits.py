"""The bounds of a package: how much one document may hold, packed or unpacked."""

from __future__ import annotations

from dataclasses import dataclass, fields

from skillbelt.limits import MIB, Limits, check_bytes

__all__ = ["PackageLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLimits:
    """How much a package may hold. Past a bound it is refused, both when it is made and when it is read.

    Of 4,406 real skills two have more than 512 files, the largest 1,103 files and 15 MB.

    Attributes:
        files: Files of the skill, its SKILL.md included.
        total_bytes: Bytes of all files together, decoded.
        skill_bytes: Bytes of the SKILL.md.
        document_bytes: Bytes of the JSON text; binary files take a third more there than on disk.

    Raises:
        LimitError: A value is not a positive whole number.

    Example:
        >>> PackageLimits(files=512).files
        512
    """

    files: int = 2000
    total_bytes: int = 16 * MIB
    skill_bytes: int = MIB
    document_bytes: int = 32 * MIB

    def __post_init__(self) -> None:
        for bound in fields(self):
            check_bytes(bound.name, getattr(self, bound.name))

    def of_a_source(self) -> Limits:
        """Return the limits under which a source shows everything that such a package may hold."""
        return Limits(skill_bytes=self.skill_bytes, resources=self.files, depth=64)
