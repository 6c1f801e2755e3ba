"""What a registry answers, read from its JSON: checked for shape here, for truth in the client.

A registry is not trusted: whatever it sends is JSON of the expected shape or a :class:`ValueError` that says in one
line what it is instead. Fields that a later version of the format adds are passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NoReturn, TypedDict, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from skillbelt.models import JsonValue
from skillbelt.packages.ids import PackageId
from skillbelt.sources.paths import shown

__all__ = [
    "FORMAT",
    "MOST",
    "PackageAnswer",
    "PackageInfo",
    "Page",
    "RegistryInfo",
    "Said",
    "VerifiedPackage",
    "read_answer",
    "read_info",
    "read_page",
    "read_published",
    "read_said",
    "read_versions",
]

FORMAT = "skillbelt.registry/1"
"""The one format of registries there is so far (ADR 0012)."""

MOST = 100_000
"""Parts of an answer that are worth parsing: strings, lists, objects and their members."""

_PARTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?|[\[{,]', re.DOTALL)
"""A string, though it may have no end, or the beginning of another part; possessive, so it never goes back."""

_SHOWN_ERRORS = 3
_SAID = 300

_Word = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class _Told(BaseModel):
    """A frozen value that ignores what it does not know: a registry may be newer than its client."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class PackageInfo(_Told):
    """What a registry says of one version of a package, without its content (S2-26).

    Attributes:
        type: Kind of package, such as ``"skill"``.
        namespace: Who publishes it.
        name: What it is called there.
        version: A concrete version; in a listing the highest one.
        id: The id of its content.
        integrity: ``sha256-…`` over the same bytes, when the registry says it.
        description: When the registry says it.
        size: Bytes of the content, when the registry says it.
    """

    type: _Word
    namespace: _Word
    name: _Word
    version: _Word
    id: _Word
    integrity: _Word | None = None
    description: str | None = None
    size: int | None = None


class RegistryInfo(_Told):
    """What a registry says of itself at ``/.well-known/cleverthis-packages`` (S2-27).

    Attributes:
        format: ``"skillbelt.registry/1"``, or ``None`` when it says none.
        name: What it calls itself.
        api: Where its other endpoints are; absolute.
        types: Kinds of packages it holds.
        authentication: Whether reading needs a key: ``"none"`` or ``"bearer"``.
        publishing: Whether it takes publications: ``"none"`` or ``"bearer"``.
        limits: Its own bounds, such as ``package_bytes``.
    """

    format: str | None = None
    name: str = ""
    api: str = ""
    types: tuple[str, ...] = ("skill",)
    authentication: Literal["none", "bearer"] = "none"
    publishing: Literal["none", "bearer"] = "none"
    limits: Mapping[str, int] = Field(default_factory=dict)


class PackageAnswer(TypedDict):
    """The answer of both package endpoints, as it came; asked for by id it has no namespace and no version."""

    id: str
    integrity: str | None
    type: str
    namespace: str | None
    name: str | None
    version: str | None
    document: dict[str, JsonValue]


class _Envelope(_Told):
    id: _Word
    integrity: _Word | None = None
    type: _Word = "skill"
    namespace: _Word | None = None
    name: _Word | None = None
    version: _Word | None = None
    document: dict[str, object]


@dataclass(frozen=True, slots=True)
class VerifiedPackage:
    """A package whose content has been hashed and is what its answer says.

    Attributes:
        answer: As it came.
        integrity: The proof of the content.
        canonical: The bytes that were hashed, as a cache keeps them.
    """

    answer: PackageAnswer
    integrity: str
    canonical: bytes

    @property
    def id(self) -> PackageId:
        """The id of the content.

        Raises:
            InvalidPackageIdError: It is a package of a kind whose ids are not known.
        """
        return PackageId.parse(self.answer["id"])


class Page(_Told):
    """One page of a listing.

    Attributes:
        packages: In the order of the registry.
        next_page_token: What to ask the next page with; ``None`` at the end.
    """

    packages: tuple[PackageInfo, ...]
    next_page_token: str | None = None


class _Versions(_Told):
    versions: tuple[_Word, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What a registry said with a failure, if it said anything that can be read.

    Attributes:
        code: Its word for programs.
        message: Its sentence for people, one bounded line.
        details: Its facts.
    """

    code: str = ""
    message: str = ""
    details: Mapping[str, JsonValue] = field(default_factory=dict)


_M = TypeVar("_M", bound=_Told)


def read_answer(body: bytes, *, most: int = MOST) -> PackageAnswer:
    """Return the answer of a package endpoint.

    Args:
        body: JSON.
        most: Strings, lists, objects and their members it may hold.

    Raises:
        ValueError: It is something else.
    """
    found = _json_object(body, most)
    envelope = _validated(_Envelope, found)
    return cast("PackageAnswer", {**envelope.model_dump(exclude={"document"}), "document": found["document"]})


def read_page(body: bytes) -> Page:
    """Return one page of a listing.

    Args:
        body: JSON.

    Raises:
        ValueError: It is something else.
    """
    return _validated(Page, _json_object(body))


def read_published(body: bytes) -> PackageInfo:
    """Return what a registry says of a package that was published.

    Args:
        body: JSON.

    Raises:
        ValueError: It is something else.
    """
    return _validated(PackageInfo, _json_object(body))


def read_versions(body: bytes) -> tuple[str, ...]:
    """Return the versions a registry lists.

    Args:
        body: JSON.

    Raises:
        ValueError: It is something else.
    """
    return _validated(_Versions, _json_object(body)).versions


def read_info(body: bytes) -> RegistryInfo:
    """Return what a registry says of itself.

    Args:
        body: JSON.

    Raises:
        ValueError: It is something else, or of a format of skillbelt that this version does not know.
    """
    info = _validated(RegistryInfo, _json_object(body))
    if info.format is not None and info.format != FORMAT:
        raise ValueError(f"it is of the format {shown(info.format)}; this version of skillbelt knows {FORMAT!r}")
    return info


def read_said(body: bytes) -> Said:
    """Return what a failure says; nothing when it is a page for browsers, or anything else.

    Args:
        body: What came with a status of failure.
    """
    try:
        error = _json_object(body).get("error")
    except ValueError:
        return Said()
    if not isinstance(error, Mapping):
        return Said()
    code, message, details = error.get("code"), error.get("message"), error.get("details")
    return Said(
        code if isinstance(code, str) else "",
        _line(message) if isinstance(message, str) else "",
        details if isinstance(details, Mapping) else {},
    )


def _line(text: str) -> str:
    """Return a stranger's sentence as one line that does nothing to a terminal."""
    line = " ".join(text[: _SAID * 2].split())[:_SAID]
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


def _json_object(body: bytes, most: int = MOST) -> dict[str, JsonValue]:
    # Counted before it is parsed: 32 MiB of empty lists would become 700 MB, and take half a minute to hash.
    if any(number >= most for number, _ in enumerate(_PARTS.finditer(body))):
        raise ValueError(f"it holds more than {most} values")
    try:
        found: object = json.loads(body, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        reason = str(error) if isinstance(error, _NoNumberError) else f"it begins with {shown(_start(body))}"
        raise ValueError(f"it is not JSON: {reason}") from None
    if not isinstance(found, dict):
        raise ValueError(f"it is a JSON {type(found).__name__}, not an object")  # noqa: TRY004 - its value
    return found


class _NoNumberError(ValueError):
    pass


def _no_number(text: str) -> NoReturn:
    raise _NoNumberError(f"{text} is no number in it")


def _start(body: bytes) -> str:
    return body[:40].decode("utf-8", "replace")


def _validated(model: type[_M], value: Mapping[str, JsonValue]) -> _M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_SHOWN_ERRORS]]
        raise ValueError(f"it is not of the expected form ({'; '.join(wrong)})") from None
