"""The package schema: what a document of a skill holds, as a model and as a JSON Schema (S2-21, ADR 0009).

SKILL.md stands in ``files`` byte for byte and is the truth. The fields of level 1 and ``instructions`` repeat what it
says, so that a registry can list and search packages without parsing Markdown; a document in which they disagree is
refused. Reading a document from outside is :func:`skillbelt.packages.read_package`, which names every violation.
"""

from __future__ import annotations

import base64
import inspect
import json
import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from skillbelt.models import JsonValue
from skillbelt.packages.content import FileContent
from skillbelt.packages.keys import path_of
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.rules import broken_rules
from skillbelt.packages.shapes import bounded, shape_violations
from skillbelt.packages.violations import Violation
from skillbelt.parsing import STRICT

__all__ = ["FORMAT", "BinaryFile", "SkillPackage", "TextFile", "json_schema"]

FORMAT = "skillbelt.package/1"
"""The version of the document format; another one is refused, not guessed at."""

_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def _text(**schema: Any) -> WithJsonSchema:
    """Say in the JSON Schema what the rules check; under a looser profile they let some of it pass."""
    return WithJsonSchema({"type": "string", **schema})


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class TextFile(_Part):
    """A file whose bytes are the UTF-8 of a text in Unicode's normal form NFC.

    Attributes:
        text: The whole file, byte order mark and line ends included; ``""`` for an empty one.
        executable: Whether it has the executable bit; the document says ``true`` or nothing.
    """

    text: str
    executable: Annotated[bool, WithJsonSchema({"const": True})] = False


class BinaryFile(_Part):
    """A file of any other bytes.

    Attributes:
        base64: The whole file, in the alphabet of RFC 4648 section 4, padded, without white space.
        executable: Whether it has the executable bit; the document says ``true`` or nothing.
    """

    base64: Annotated[str, _text(contentEncoding="base64", pattern="^[A-Za-z0-9+/]+={0,2}$")]
    executable: Annotated[bool, WithJsonSchema({"const": True})] = False


def _kind_of_file(value: Any) -> str:
    if isinstance(value, BinaryFile):
        return "base64"
    return "base64" if isinstance(value, dict) and "base64" in value and "text" not in value else "text"


_File = Annotated[Annotated[TextFile, Tag("text")] | Annotated[BinaryFile, Tag("base64")], Discriminator(_kind_of_file)]
_NAME = "^[^\\x00-/:-`{-\\x7f]+(-[^\\x00-/:-`{-\\x7f]+)*$"
"""What a regular expression can say of the rules for names: of ASCII only a-z, 0-9 and single inner hyphens."""
_PATH = "^(?![\\s\\S]*(^|/)\\.{0,2}(/|(?![\\s\\S])))([^\\\\\\x00%]|%25|%[89A-F][0-9A-F])+(?![\\s\\S])"
"""What it can say of those for keys: relative, no empty part, ``.``, ``..``, backslash or NUL."""


class SkillPackage(BaseModel):
    """One skill as one document. Validating names every violation, of the shape and of the rules alike.

    A ``context`` of ``{"profile": …, "limits": …}`` sets how strictly the skill is read, STRICT without one, and the
    bounds. Strings are Unicode text in the normal form NFC throughout.

    Attributes:
        format: ``"skillbelt.package/1"``.
        type: ``"skill"``.
        name: The skill's name: 1 to 64 lower-case letters and digits, joined by single hyphens.
        description: What it does and when to use it: 1 to 1024 characters.
        license: Name of the licence, or of a bundled licence file.
        compatibility: Environment requirements: 1 to 500 characters.
        metadata: Text to text.
        allowed_tools: Patterns, one blank between two; ``allowed-tools`` in the document. A hint, never a permission.
        version: A concrete version such as ``"v1.2.3"``; no part of the content, so it does not change the id.
        release_date: When it was published, a date or a time with its zone; no part of the content either.
        instructions: The body of SKILL.md, after its frontmatter.
        files: Every file, SKILL.md included, by the key of its path: ``%`` is ``%25``, and where a path is no UTF-8
            or not NFC its bytes outside ASCII are ``%`` and two hex digits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())

    format: Annotated[Literal["skillbelt.package/1"], WithJsonSchema({"type": "string", "const": FORMAT})]
    type: Annotated[Literal["skill"], WithJsonSchema({"type": "string", "const": "skill"})]
    name: Annotated[str, _text(minLength=1, maxLength=64, pattern=_NAME)]
    description: Annotated[str, _text(minLength=1, maxLength=1024, pattern="\\S")]
    license: Annotated[str, _text(minLength=1)] | None = None
    compatibility: Annotated[str, _text(minLength=1, maxLength=500)] | None = None
    metadata: Annotated[Mapping[str, str], Field(min_length=1)] | None = None
    allowed_tools: Annotated[str, _text(minLength=1)] | None = Field(default=None, alias="allowed-tools")
    version: Annotated[str, _text(pattern="^v[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$")] | None = None
    release_date: Annotated[str, _text(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$")] | None = None
    instructions: str
    files: Mapping[str, _File] = Field(
        json_schema_extra={"required": ["SKILL.md"], "propertyNames": {"pattern": _PATH, "maxLength": 12288}}
    )

    @model_validator(mode="wrap")
    @classmethod
    def _whole(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, cls):
            return data
        context = info.context or {}
        limits = context.get("limits") or PackageLimits()
        found: list[Violation] = []
        document = bounded(data, limits, _FIELDS, found)
        package = None
        try:
            package = handler(document)
        except ValidationError as error:
            found.extend(shape_violations(error))
        if isinstance(document, dict):
            shaped = {(violation.path, violation.code) for violation in found}
            broken = broken_rules(document, context.get("profile") or STRICT, limits)
            found.extend(v for v in dict.fromkeys(broken) if (v.path, v.code) not in shaped)
        if found or package is None:
            raise PydanticCustomError(
                "package", "the package breaks {count} rules", {"count": len(found), "violations": found}
            )
        return package

    def contents(self) -> dict[str, FileContent]:
        """Return every file by its path; a name that is no UTF-8 is text as ``os.fsdecode`` gives it."""
        return {
            path_of(key): FileContent(
                file.text.encode() if isinstance(file, TextFile) else base64.b64decode(file.base64), file.executable
            )
            for key, file in self.files.items()
        }

    def to_document(self) -> dict[str, JsonValue]:
        """Return the document this model was read from, as plain JSON values."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


_FIELDS = frozenset(field.alias or name for name, field in SkillPackage.model_fields.items())


class _Absent(GenerateJsonSchema):
    """Says of an optional field that it may be left out, and nothing of ``null`` and defaults: they are not in JSON."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def json_schema() -> dict[str, JsonValue]:
    """Return the JSON Schema (2020-12) of a package; ``docs/reference/package-schema.json`` is this.

    It says all that a JSON Schema can. That every string is in NFC, that no two paths are one on some file system and
    that the fields repeat SKILL.md is checked by :func:`skillbelt.packages.read_package`.

    Example:
        >>> json_schema()["title"]
        'SkillPackage'
    """
    schema = SkillPackage.model_json_schema(by_alias=True, schema_generator=_Absent)
    parts: dict[str, type[BaseModel]] = {"TextFile": TextFile, "BinaryFile": BinaryFile}
    for name, model in parts.items():
        _describe(schema["$defs"][name], model)
    _describe(schema, SkillPackage)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Give each field the words the model's docstring has for it."""
    head, _, attributes = inspect.cleandoc(model.__doc__ or "").partition("Attributes:\n")
    schema["description"] = _words(head.partition("\n\n")[0])
    for name, text in _ATTRIBUTE.findall(attributes):
        place = schema["properties"][model.model_fields[name].alias or name]
        place.pop("title", None)
        place["description"] = _words(text)


def _words(text: str) -> str:
    return " ".join(text.split()).replace('``"', '"').replace('"``', '"').replace("``", "'")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
