"""Where a package stands in a registry: its type, namespace, name and version, judged before they are asked for."""

from __future__ import annotations

from urllib.parse import quote

from skillbelt.errors import InvalidPackageReferenceError
from skillbelt.packages.ids import PackageType
from skillbelt.packages.references import PackageReference
from skillbelt.packages.versions import is_concrete, normalize_version
from skillbelt.sources.paths import shown

__all__ = ["concrete_place", "place", "place_path"]


def place(kind: str, namespace: str, name: str, version: str, reference: str | None = None) -> str:
    """Return the version of a place that may be asked for, in the form that is sent.

    Args:
        kind: Type of package.
        namespace: Who publishes it.
        name: The package.
        version: A concrete version, or an alias.
        reference: What led to it, for errors.

    Raises:
        InvalidPackageReferenceError: The parts make no reference.
    """
    try:
        if kind not in list(PackageType):
            raise InvalidPackageReferenceError(f"{shown(str(kind))} is no type of package; skills are of type 'skill'.")
        PackageReference.parse(f"registry:{namespace}/{name}@{version}")
    except InvalidPackageReferenceError as error:
        raise InvalidPackageReferenceError(error.message, details=error.details, original_reference=reference) from None
    return normalize_version(version)


def concrete_place(kind: str, namespace: str, name: str, version: str) -> str:
    """Return the version of a place that something may be published at, in the form that is sent.

    Args:
        kind: Type of package.
        namespace: Where it is published.
        name: The package.
        version: For example ``"v1.2.3"``.

    Raises:
        InvalidPackageReferenceError: The parts make no reference, or the version is an alias.
    """
    wanted = place(kind, namespace, name, version)
    if not is_concrete(wanted):
        raise InvalidPackageReferenceError(
            f"A package is published under a concrete version such as 'v1.2.3', not {shown(version)}.",
            details={"version": version[:200]},
        )
    return wanted


def place_path(kind: str, namespace: str, name: str) -> str:
    """Return the path of a place, below the address of the endpoints.

    Args:
        kind: Type of package.
        namespace: Who publishes it.
        name: The package.
    """
    return "/".join(quote(str(part), safe="") for part in (kind, namespace, name))
