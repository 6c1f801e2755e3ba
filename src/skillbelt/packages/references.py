"""References: how a person, or an agents.yaml, names a skill that is to be had (S2-04 to S2-10).

::

    hub.example.com:acme/pdf@v1.x     a registry, a namespace, a name, and a version (without one: latest)
    registry:acme/pdf@v1.2.3          the same of the default registry
    ID:pkg_skl_<40 hex digits>        one package, whatever it is called and wherever it is
    local:./skills/pdf                a folder on disk

A reference is only read here; what it leads to is found by :mod:`skillbelt.packages.resolving`.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from skillbelt.errors import InvalidPackageIdError, InvalidPackageReferenceError
from skillbelt.packages.ids import PackageId, PackageType
from skillbelt.packages.versions import EXPECTED_VERSION, LATEST, normalize_version
from skillbelt.parsing import STRICT, callable_name
from skillbelt.sources.paths import shown

__all__ = ["PackageReference", "Scheme"]

Scheme = Literal["host", "id", "local", "registry"]

_EXPECTED = (
    "a reference is 'host:namespace/name@version', 'registry:namespace/name@version', 'ID:pkg_skl_<40 hex digits>' "
    "or 'local:./folder'"
)
_LONGEST = 4096
_RESERVED = ("ID", "local", "registry")
_NAMESPACE = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)", re.ASCII)


class _InvalidIdReferenceError(InvalidPackageIdError, InvalidPackageReferenceError):
    """A reference that is none because its id is none: whoever waits for either gets it."""


@dataclass(frozen=True, slots=True)
class PackageReference:
    """One reference, taken apart.

    Attributes:
        text: As it was typed; errors and events show it (S2-09).
        scheme: ``"host"``, ``"id"``, ``"local"`` or ``"registry"`` (the default host).
        host: Lower case, with a port where one was given; ``None`` unless the scheme is ``"host"``.
        namespace: Who publishes it, for ``"host"`` and ``"registry"``.
        name: The skill's name, for the same.
        version: An alias or a concrete version, with its ``v``; ``"latest"`` when none was given (S2-05).
        id: For ``"id"``.
        path: For ``"local"``: the folder as it was typed.
    """

    text: str
    scheme: Scheme
    host: str | None = None
    namespace: str | None = None
    name: str | None = None
    version: str | None = None
    id: PackageId | None = None
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> PackageReference:
        """Return what a text refers to; nothing is looked up.

        Args:
            text: One of the four shapes.

        Raises:
            InvalidPackageReferenceError: It is of no such shape; the message says what was expected (S2-10).
            InvalidPackageIdError: It is ``ID:`` and something that is not the id of a skill (S2-02, S2-03); also an
                :class:`~skillbelt.errors.InvalidPackageReferenceError`.

        Example:
            >>> reference = PackageReference.parse("hub.example.com:acme/pdf@v1.x")
            >>> reference.host, reference.namespace, reference.name, reference.version
            ('hub.example.com', 'acme', 'pdf', 'v1.x')
        """
        if isinstance(text, PackageReference):
            return text
        if not isinstance(text, str):
            raise InvalidPackageReferenceError(f"A reference is text, not {type(text).__name__}; {_EXPECTED}.")
        if len(text) > _LONGEST or not text.isprintable() or text != text.strip():
            raise _invalid(text, "it is too long, or has blanks around it or characters that do not show")
        head, colon, rest = text.partition(":")
        if not colon:
            raise _invalid(text, "it has no ':'")
        if head == "ID":
            return cls(text, "id", id=_id(text, rest))
        if head == "local":
            if not rest.strip():
                raise _invalid(text, "it names no folder")
            return cls(text, "local", path=rest)
        if head == "registry":
            namespace, name, version = _package(text, rest)
            return cls(text, "registry", namespace=namespace, name=name, version=version)
        for scheme in _RESERVED:
            if head.lower() == scheme.lower():
                raise _invalid(text, f"the scheme is written {scheme!r}, not {head!r}")
        if rest.startswith("//"):
            raise _invalid(text, "it is a URL, and a host is written without its scheme")
        place, _, package = _split_host(text)
        host = _host(text, place)
        namespace, name, version = _package(text, package)
        return cls(text, "host", host=host, namespace=namespace, name=name, version=version)

    def __str__(self) -> str:
        return self.text


def _split_host(text: str) -> tuple[str, str, str]:
    """Split at the last ``:`` before the first ``/``: a host may have a port, or be an IPv6 address."""
    before, slash, after = text.partition("/")
    place, colon, namespace = before.rpartition(":")
    return place, colon, f"{namespace}{slash}{after}"


def _id(text: str, rest: str) -> PackageId:
    try:
        return PackageId.parse(rest, expect=PackageType.SKILL)
    except InvalidPackageIdError as error:
        raise _InvalidIdReferenceError(
            f"The reference {shown(text)} cannot be used: {error.message}",
            details=error.details,
            original_reference=text,
        ) from None


def _host(text: str, host: str) -> str:
    match = _HOST.fullmatch(host)
    if match is None or not _is_host(match["name"]):
        raise _invalid(text, f"{shown(host)} is no host")
    if match["port"] is not None and not 0 < int(match["port"]) < 1 << 16:
        raise _invalid(text, f"{match['port']} is no port")
    return host.lower()


def _is_host(name: str) -> bool:
    if name.startswith("["):
        try:
            ipaddress.IPv6Address(name[1:-1])
        except ValueError:
            return False
        return True
    if re.fullmatch(r"[0-9.]+", name):
        try:
            ipaddress.IPv4Address(name)
        except ValueError:
            return False
        return True
    return len(name) <= 253 and all(_LABEL.fullmatch(label) for label in name.split("."))


def _package(text: str, rest: str) -> tuple[str, str, str]:
    path, at, version = rest.partition("@")
    namespace, slash, typed = path.partition("/")
    name = unicodedata.normalize("NFKC", typed)  # as the name of a skill is read
    if not slash:
        raise _invalid(text, f"{shown(path)} is no 'namespace/name'")
    if not _NAMESPACE.fullmatch(namespace):
        raise _invalid(
            text, f"the namespace {shown(namespace)} must have 1 to 64 letters, digits, '_' and '-', nothing else"
        )
    if not name or name != name.strip() or not callable_name(name, STRICT):
        raise _invalid(
            text, f"{shown(typed)} is no name of a skill: lower-case letters and digits joined by single hyphens"
        )
    if not at:
        return namespace, name, LATEST
    try:
        return namespace, name, normalize_version(version)
    except ValueError:
        raise _invalid(text, f"{shown(version)} is no version; write {EXPECTED_VERSION}") from None


def _invalid(text: str, why: str) -> InvalidPackageReferenceError:
    return InvalidPackageReferenceError(
        f"{shown(text)} is no reference to a skill: {why}; {_EXPECTED}.",
        details={"value": text[:200], "reason": why},
        original_reference=text,
    )
