"""Reading a document from outside: JSON text or values to a package, or one error that names every violation.

A document is untrusted. It is bounded before it is parsed, parsed as JSON and nothing more (no NaN, no repeated keys,
no half characters), and nothing of it reaches a file system before all of it was judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from skillbelt.models import JsonValue
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.schema import SkillPackage
from skillbelt.packages.violations import Violation, pointer, refused
from skillbelt.parsing import STRICT, Profile
from skillbelt.sources.paths import shown

__all__ = ["read_package"]

_TOLD = 100
"""How many repeated keys are told one by one."""
_EXACT = 15
"""Digits of a number worth reading; no field of a package is one."""


def read_package(
    data: bytes | str | Mapping[str, JsonValue] | SkillPackage,
    *,
    reference: str | None = None,
    limits: PackageLimits | None = None,
    profile: Profile = STRICT,
) -> SkillPackage:
    """Return a document as a package, when it is a valid one.

    Args:
        data: JSON text, its bytes, or the parsed object.
        reference: What led to it, as it was typed; the error shows it.
        limits: Bounds.
        profile: How strictly the skill is read; STRICT is the specification.

    Raises:
        PackageValidationError: It breaks the schema; ``details["violations"]`` lists every violation as ``path`` (a
            JSON Pointer), ``code`` and ``message`` (S2-22).

    Example:
        >>> read_package('{"format": "skillbelt.package/1", "type": "actor"}')
        Traceback (most recent call last):
            ...
        skillbelt.errors.PackageValidationError: The package is not valid: /type: it must be 'skill'. ...
    """
    if isinstance(data, SkillPackage):
        return data
    limits = limits or PackageLimits()
    found: list[Violation] = []
    document: object = data
    if isinstance(data, bytes | bytearray | str):
        document = _parse(data, limits, reference, found)
    try:
        package = SkillPackage.model_validate(document, context={"profile": profile, "limits": limits})
    except ValidationError as error:
        found.extend(error.errors(include_url=False)[0]["ctx"]["violations"])
    if found:
        raise refused(found, reference=reference)
    return package


@dataclass(slots=True)
class _Oddities:
    """What a JSON text holds that a value cannot show."""

    repeated: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            seen: set[str] = set()
            again = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
            self.repeated.append((value, again))
        return value

    def constant(self, text: str) -> None:
        self.constants.append(text)


def _parse(
    data: bytes | bytearray | str, limits: PackageLimits, reference: str | None, found: list[Violation]
) -> object:
    """Return the value of a JSON text; what is wrong with the text alone is one violation, and the end."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    oddities = _Oddities()
    if len(raw) > limits.document_bytes:
        message = f"it has {len(raw)} bytes; at most {limits.document_bytes} are allowed."
        raise refused([Violation("", "too-large", message)], reference=reference)
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=oddities.pairs, parse_constant=oddities.constant, parse_int=_integer)
    except RecursionError:
        raise refused([Violation("", "too-deep", "it is nested too deeply.")], reference=reference) from None
    except UnicodeDecodeError:
        raise refused([Violation("", "not-unicode", "it is not UTF-8.")], reference=reference) from None
    except ValueError as error:
        raise refused([Violation("", "not-json", f"it is no JSON: {error}.")], reference=reference) from None
    found.extend(Violation("", "not-json", f"{constant} is no JSON.") for constant in sorted(set(oddities.constants)))
    found.extend(_repeated(value, oddities))
    return value


def _integer(text: str) -> int:
    """Read a number; one of a million digits would take minutes, and no field of a package is a number."""
    return int(text) if len(text) <= _EXACT else 0


def _repeated(value: object, oddities: _Oddities) -> Iterator[Violation]:
    """Yield a violation for each key that stands twice: readers differ in which of the two they take."""
    if not oddities.repeated:
        return
    places: dict[int, tuple[str, ...]] = {}
    if isinstance(value, dict):
        places[id(value)] = ()
        for key, below in value.items():
            places[id(below)] = (key,)
            places |= {id(lower): (key, name) for name, lower in below.items()} if isinstance(below, dict) else {}
    keys = [(*places.get(id(holder), ()), key) for holder, again in oddities.repeated for key in again]
    for place in dict.fromkeys(keys[:_TOLD]):
        yield Violation(pointer(*place), "duplicate-key", f"the key {shown(place[-1])} stands there more than once.")
    if len(keys) > _TOLD:
        yield Violation("", "duplicate-key", f"{len(keys) - _TOLD} more keys stand more than once.")
