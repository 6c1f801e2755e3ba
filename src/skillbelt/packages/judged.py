"""Packages that were judged already: the same bytes under the same bounds are not judged twice in one process.

Judging a document takes most of the time of an agent whose packages are all cached. What comes of it depends on the
bytes and the bounds only, so it is remembered under the SHA-256 of the bytes; they are read and hashed every time.
"""

from __future__ import annotations

from skillbelt.limits import MIB
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.reading import read_package
from skillbelt.packages.schema import SkillPackage
from skillbelt.sources.lru import Kept

__all__ = ["judged"]

_JUDGED: Kept[SkillPackage] = Kept(8 * MIB)


def judged(canonical: bytes, proof: str, limits: PackageLimits, reference: str | None) -> SkillPackage:
    """Return canonical bytes as a package, when they are a valid one.

    Args:
        canonical: The bytes.
        proof: Their integrity.
        limits: Bounds.
        reference: What led to them, for errors; those are not remembered.

    Raises:
        PackageValidationError: They break the schema.
    """
    key = f"{proof} {limits}"
    package = _JUDGED.get(key)
    if package is None:
        package = read_package(canonical, reference=reference, limits=limits)
        _JUDGED.put(key, package, 2 * len(canonical))
    return package
