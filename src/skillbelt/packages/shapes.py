"""What pydantic says of a document's shape, in the words of a reader: each of its errors is one violation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from pydantic import ValidationError

from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.violations import Violation, pointer
from skillbelt.sources.paths import shown

__all__ = ["bounded", "shape_violations", "type_of"]

_UNKNOWN = 100
"""How many unknown fields of one object are told one by one."""
_METADATA = 10_000
"""Entries of ``metadata``; a frontmatter has room for no more."""


_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_ENTRY = frozenset(("text", "base64", "executable"))
_WANTED = {
    "string_type": "text",
    "bool_type": "true",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_TYPES = {
    dict: "an object",
    list: "an array",
    tuple: "an array",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def type_of(value: object) -> str:
    """Return what JSON calls a value.

    Args:
        value: Anything.

    Example:
        >>> type_of({}), type_of(None)
        ('an object', 'null')
    """
    return _TYPES.get(type(value), type(value).__name__)


def bounded(data: object, limits: PackageLimits, fields: frozenset[str], found: list[Violation]) -> object:
    """Return a document as plain dicts, cut to what is worth judging: a million unknown fields are told as one.

    Args:
        data: What claims to be a document.
        limits: ``files`` is the bound for its files.
        fields: Names of the fields a package may have.
        found: Receives what was cut.
    """
    if not isinstance(data, Mapping):
        return data
    document = _cut(data, fields, (), found)
    metadata, files = document.get("metadata"), document.get("files")
    if isinstance(metadata, Mapping):
        if len(metadata) > _METADATA:
            found.append(Violation("/metadata", "too-large", f"it has more than {_METADATA} entries."))
        document["metadata"] = _first(metadata, _METADATA, ("metadata",), found)
    if isinstance(files, Mapping):
        if len(files) > limits.files:
            message = f"it has {len(files)} files; at most {limits.files} are allowed."
            found.append(Violation("/files", "too-many-files", message))
        document["files"] = {
            key: _cut(entry, _ENTRY, ("files", key), found) if isinstance(entry, Mapping) else entry
            for key, entry in _first(files, limits.files, ("files",), found).items()
        }
    return document


def _cut(
    data: Mapping[object, object], fields: frozenset[str], place: tuple[str, ...], found: list[Violation]
) -> dict[str, object]:
    """Return an object with all of its known fields and some of the others."""
    kept = {key: data[key] for key in fields if key in data}
    unknown = {key: value for key, value in data.items() if key not in kept}
    if len(unknown) > _UNKNOWN:
        message = f"{len(unknown) - _UNKNOWN} more fields are no fields of a package; remove them."
        found.append(Violation(pointer(*place), "unknown-field", message))
    return kept | _first(unknown, _UNKNOWN, place, found)


def _first(
    data: Mapping[object, object], count: int, place: tuple[str, ...], found: list[Violation]
) -> dict[str, object]:
    kept: dict[str, object] = {}
    for key, value in islice(data.items(), count):
        if isinstance(key, str):
            kept[key] = value
        else:
            found.append(Violation(pointer(*place), "type", f"a key is {type_of(key)}; it must be text."))
    return kept


def shape_violations(error: ValidationError) -> list[Violation]:
    """Return pydantic's errors about a document as violations.

    Args:
        error: What validating against the model gave.
    """
    return [_violation(found) for found in error.errors(include_url=False, include_context=True)]


def _violation(error: Any) -> Violation:
    # The third part of a place below ``files`` is the tag of the union, which no document has.
    parts = [part for at, part in enumerate(error["loc"]) if not (at == 2 and error["loc"][0] == "files")]
    field, kind = str(parts[0]) if parts else "", error["type"]
    place = pointer(*parts)
    if kind == "missing":
        code = f"{field}-missing" if field in _FIELDS[:2] else "missing"
        return Violation(place, code, "it is missing; it is required.")
    if kind == "extra_forbidden":
        return Violation(place, "unknown-field", f"{shown(str(parts[-1]))} is no field of a package; remove it.")
    if kind == "literal_error":
        return Violation(place, field, f"it must be {error['ctx']['expected']}.")
    if kind in _WANTED:
        message = f"it is {type_of(error['input'])}; it must be {_WANTED[kind]}."
        return Violation(place, _type_code(field, len(parts)), message)
    return Violation(place, "type", f"{error['msg']}.")


def _type_code(field: str, depth: int) -> str:
    if field == "metadata" and depth > 1:
        return "metadata-value-type"
    return f"{field}-type" if field in _FIELDS else "type"
