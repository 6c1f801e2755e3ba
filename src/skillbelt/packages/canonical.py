"""The canonical bytes of a package document, and the two hashes over them.

Every string is brought to NFC, the lifecycle fields ``version`` and ``release_date`` are left out at the top level,
and the rest is written as RFC 8785 says: keys in the order of their UTF-16 code units, no white space (S2-12 to
S2-15). The SHA-1 of these bytes is the id (S2-16), their SHA-256 the proof (conflict C18).

No field of a skill refers to another package, so there is nothing to resolve before hashing (S2-17).
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Mapping

from skillbelt.errors import MissingExtraError, PackageValidationError
from skillbelt.models import JsonValue
from skillbelt.packages.ids import PackageId, PackageType
from skillbelt.packages.shapes import type_of

__all__ = ["LIFECYCLE_FIELDS", "canonicalize", "id_of", "integrity", "package_id"]

LIFECYCLE_FIELDS = frozenset({"version", "release_date"})
"""Top-level fields that say when a package was published, not what it is (S2-15)."""


def canonicalize(document: Mapping[str, JsonValue]) -> bytes:
    r"""Return the canonical bytes of a document: equal for documents that say the same.

    Args:
        document: Any JSON object; it need not be a valid package.

    Raises:
        PackageValidationError: It is no JSON: a value JSON does not have, half a character, a number that is not
            exact, two keys that are one in NFC.
        MissingExtraError: The package ``rfc8785`` is not installed.

    Example:
        >>> canonicalize({"name": "cafe\u0301", "version": "v1.0.0", "metadata": {"version": "3"}}).decode()
        '{"metadata":{"version":"3"},"name":"café"}'
    """
    try:
        import rfc8785
    except ImportError as error:
        raise MissingExtraError("Hashing packages", extra="registry") from error
    if not isinstance(document, Mapping):
        raise _not_canonical(f"it is a {type(document).__name__}, not an object")
    kept = {key: value for key, value in document.items() if key not in LIFECYCLE_FIELDS}
    try:
        return rfc8785.dumps(_composed(kept))
    except RecursionError:
        raise _not_canonical("it is nested too deeply") from None
    except ValueError as error:  # its own errors, and what str.encode says of half a character in a key
        reason = "it has half a character" if isinstance(error, UnicodeError) else str(error)
        raise _not_canonical(reason) from None


def package_id(document: Mapping[str, JsonValue]) -> PackageId:
    """Return the id of a skill's document: ``pkg_skl_`` and the SHA-1 of its canonical bytes (S2-16).

    Args:
        document: As for :func:`canonicalize`.

    Raises:
        PackageValidationError: As for :func:`canonicalize`.
    """
    return id_of(canonicalize(document))


def id_of(canonical: bytes) -> PackageId:
    """Return the id of canonical bytes, as a cache holds them.

    Args:
        canonical: What :func:`canonicalize` gave.
    """
    return PackageId(PackageType.SKILL, hashlib.sha1(canonical, usedforsecurity=False).hexdigest())


def integrity(document: Mapping[str, JsonValue] | bytes) -> str:
    """Return ``"sha256-"`` and the base64 of the SHA-256 of the canonical bytes: what to pin (conflict C18).

    Args:
        document: A document, or its canonical bytes.

    Raises:
        PackageValidationError: As for :func:`canonicalize`.

    Example:
        >>> integrity({}) == integrity(b"{}")
        True
    """
    canonical = document if isinstance(document, bytes) else canonicalize(document)
    return f"sha256-{base64.b64encode(hashlib.sha256(canonical).digest()).decode()}"


def _composed(value: object) -> JsonValue:
    """Return a JSON value with every string in NFC, as plain dicts and lists."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        composed: dict[str, JsonValue] = {}
        for key, below in value.items():
            if not isinstance(key, str):
                raise ValueError(f"a key is {type_of(key)}, not text")  # noqa: TRY004 - told like all that is no JSON
            composed[unicodedata.normalize("NFC", key)] = _composed(below)
        if len(composed) != len(value):
            raise ValueError("two of its keys are one in Unicode's normal form NFC")
        return composed
    if isinstance(value, list | tuple):
        return [_composed(item) for item in value]
    return value  # type: ignore[return-value]  # rfc8785 refuses what JSON does not have


def _not_canonical(why: str) -> PackageValidationError:
    return PackageValidationError(
        f"The document has no canonical form: {why}.",
        details={"violations": [{"path": "", "code": "not-json", "message": why}]},
    )
