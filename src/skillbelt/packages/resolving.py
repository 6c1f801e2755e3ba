"""From a reference to a package: first to the one id it means, then to the content that has this id.

An id is for ever, so nothing is asked to resolve one, and content that is cached is never asked for again (S2-31). An
alias such as ``v1.x`` is looked up at its registry and remembered for the cache's ``alias_ttl`` (S2-32). Content is
hashed by whoever hands it over; what has another id than it should is thrown away and fetched once more, then given
up (S2-33). A folder on disk is packed as it is now, and needs no network (S2-07).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from skillbelt.errors import (
    IntegrityError,
    LimitError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryError,
    RegistryNetworkError,
    SkillNotFoundError,
    SourceError,
)
from skillbelt.events import PackageLoaded
from skillbelt.packages.cache import RegistryCache
from skillbelt.packages.canonical import integrity
from skillbelt.packages.ids import PackageId, PackageType
from skillbelt.packages.judged import judged
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.packing import PackedSkill, pack
from skillbelt.packages.reading import read_package
from skillbelt.packages.references import PackageReference
from skillbelt.packages.registries import Registries, Registry
from skillbelt.packages.rules import PACKING
from skillbelt.packages.schema import SkillPackage
from skillbelt.packages.verifying import check_name
from skillbelt.packages.versions import select
from skillbelt.sources.paths import shown

if TYPE_CHECKING:
    from skillbelt.packages.client import RegistryClient

__all__ = ["LoadedPackage", "PackageContentResolver", "ReferenceResolver", "ResolvedReference"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A reference and the one package it means.

    Attributes:
        reference: As it was typed (S2-09), taken apart.
        id: Of the package; of a folder on disk ``None``, for that is known when it is packed.
        version: The concrete version an alias led to; ``None`` for an id and a folder.
        host: The registry, as the cache tells it from others; ``None`` for an id and a folder.
        path: The folder, absolute, for a local reference.
    """

    reference: PackageReference
    id: PackageId | None = None
    version: str | None = None
    host: str | None = None
    path: str | None = None


class ReferenceResolver:
    """Finds out which package a reference means; may be shared by threads.

    Args:
        registries: Which registries there are: :class:`~skillbelt.packages.Registries`, one client or URL for the
            default one, or several by host.
        cache: Remembers aliases, and keeps the content that comes along; by default one in memory.
        base: Folder that ``local:`` paths are relative to.

    Example:
        >>> resolver = ReferenceResolver()
        >>> str(resolver.resolve("ID:pkg_skl_" + "a1" * 20).id)
        'pkg_skl_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1'
    """

    def __init__(
        self,
        registries: Registry = None,
        *,
        cache: RegistryCache | None = None,
        base: str | os.PathLike[str] = ".",
    ) -> None:
        self.registries = Registries.of(registries)
        self.cache = RegistryCache() if cache is None else cache
        self.base = os.path.abspath(base)

    def resolve(self, reference: str | PackageReference, *, offline: bool = False) -> ResolvedReference:
        """Return what a reference means now.

        Args:
            reference: As a person types it, or parsed.
            offline: Ask no registry: what is not cached is a failure.

        Raises:
            InvalidPackageReferenceError: It is none, or of the default registry and there is none.
            PackageNotFoundError: There is no such package, or no such folder.
            VersionNotFoundError: The package has no such version.
            IntegrityError: The registry sent, twice, content that is not what it says.
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        parsed = PackageReference.parse(reference)  # type: ignore[arg-type]  # takes a parsed one too
        if parsed.scheme == "id":
            return ResolvedReference(parsed, parsed.id)
        if parsed.scheme == "local":
            return ResolvedReference(parsed, path=self._folder(parsed))
        host = self.registries.identity(parsed)
        key = f"{host}/{PackageType.SKILL}/{parsed.namespace}/{parsed.name}@{parsed.version}"
        known = _known(self.cache.alias(key), str(parsed.version))
        if known is not None:
            return ResolvedReference(parsed, *known, host)
        if offline:
            raise _not_cached(parsed)
        (client,) = self.registries.clients_for(parsed)
        package = _twice(
            lambda: client.look_up(str(parsed.namespace), str(parsed.name), str(parsed.version), reference=parsed.text)
        )
        version = str(package.answer["version"])
        self.cache.put(package.id, package.canonical)
        self.cache.put_alias(key, json.dumps({"id": str(package.id), "version": version}))
        return ResolvedReference(parsed, package.id, version, host)

    def _folder(self, reference: PackageReference) -> str:
        path = Path(self.base, str(reference.path))
        if not path.is_dir():
            raise PackageNotFoundError(
                f"The reference {shown(reference.text)} leads to no folder; its path is relative to the folder of the "
                "program, or of the file that it stands in.",
                original_reference=reference.text,
            )
        return os.path.normpath(path)


@dataclass(frozen=True, slots=True)
class LoadedPackage:
    """A package as it was loaded: valid, hashed, and in memory.

    Attributes:
        resolved: What led to it; its ``id`` is known by now, also for a folder.
        package: The skill, by the package schema.
        packed: The same as a document, with its id and integrity.
    """

    resolved: ResolvedReference
    package: SkillPackage
    packed: PackedSkill

    def event(self) -> PackageLoaded:
        """Return what there is to tell of it (S2-09)."""
        return PackageLoaded(
            self.resolved.reference.text, self.package.name, str(self.packed.id), self.resolved.version
        )


class PackageContentResolver:
    """Gets the content of packages, from a cache or a registry or a folder; may be shared by threads.

    Args:
        resolver: Says what references mean; its registries and its cache are used here as well.
        limits: Bounds of a package.
    """

    def __init__(self, resolver: ReferenceResolver, *, limits: PackageLimits | None = None) -> None:
        self.resolver = resolver
        self._limits = limits or PackageLimits()
        self._silent: set[RegistryClient] = set()

    def content(self, reference: str | PackageReference | ResolvedReference) -> PackedSkill:
        """Return a skill as a package: hashed, and valid by the package schema.

        Args:
            reference: As typed, parsed, or resolved already.

        Raises:
            PackageNotFoundError: There is no such package.
            PackageValidationError: The document breaks the schema, or has another name than the reference (S2-23).
            IntegrityError: The content was not what its id says, twice (S2-33).
            RegistryError: As the registry, or the network, has it; see :mod:`skillbelt.errors`.
        """
        return self.load(reference).packed

    def load(self, reference: str | PackageReference | ResolvedReference, *, offline: bool = False) -> LoadedPackage:
        """Return a skill as a package, with what led to it.

        Args:
            reference: As for :meth:`content`.
            offline: Ask no registry: what is not cached is a failure.

        Raises:
            RegistryError: As for :meth:`content`.
        """
        resolved = (
            reference if isinstance(reference, ResolvedReference) else self.resolver.resolve(reference, offline=offline)
        )
        text = resolved.reference.text
        if resolved.path is not None or resolved.id is None:
            packed = self._packed(text, str(resolved.path))
            package = read_package(packed.document, reference=text, limits=self._limits, profile=PACKING)
            return LoadedPackage(replace(resolved, id=packed.id), package, packed)
        wanted = resolved.id

        def fetch() -> bytes:
            if offline:
                raise _not_cached(resolved.reference)
            return self._fetched(resolved.reference, wanted)

        canonical = _twice(lambda: self.resolver.cache.fill(wanted, fetch))
        proof = integrity(canonical)
        package = judged(canonical, proof, self._limits, text)
        if resolved.reference.name is not None:
            check_name(resolved.reference.name, package.name, what="The package of", reference=text)
        return LoadedPackage(resolved, package, PackedSkill(package.to_document(), wanted, proof))

    def _packed(self, text: str, path: str) -> PackedSkill:
        try:
            return pack(path, limits=self._limits)
        except SkillNotFoundError:
            raise PackageNotFoundError(
                f"The reference {shown(text)} leads to a folder without a SKILL.md; give the folder of a skill.",
                original_reference=text,
            ) from None
        except PackageValidationError as error:
            raise PackageValidationError(
                f"The reference {shown(text)} leads to a skill that cannot be used: {error.message}",
                details=error.details,
                original_reference=text,
            ) from None
        except (SourceError, LimitError) as error:
            raise RegistryError(
                f"The reference {shown(text)} leads to a folder that cannot be read: {error}", original_reference=text
            ) from error

    def _fetched(self, reference: PackageReference, wanted: PackageId) -> bytes:
        """Return the content of an id from the first registry that has it.

        One that lies, wants a key or cannot be asked must not stand in the way of another, and of several failures
        the one that says least is that there is no such package.
        """
        failure: RegistryError | None = None
        clients = self.resolver.registries.clients_for(reference)
        for client in sorted(clients, key=self._silent.__contains__):  # who let us wait is asked last
            try:
                return client.fetch(wanted, reference=reference.text).canonical
            except RegistryError as error:
                if error.details.get("reason") == "timeout":
                    self._silent.add(client)
                if failure is None or isinstance(failure, PackageNotFoundError):
                    failure = error
        assert failure is not None  # noqa: S101 - there is at least one client
        raise failure


def _twice(fetch: Callable[[], _T]) -> _T:
    """Do it once more if what came was not what it should be (S2-33)."""
    try:
        return fetch()
    except IntegrityError:
        return fetch()


def _not_cached(reference: PackageReference) -> RegistryNetworkError:
    return RegistryNetworkError(
        f"What the reference {shown(reference.text)} means is not cached, and no registry is asked now.",
        details={"reason": "offline"},
        original_reference=reference.text,
    )


def _known(value: str | None, wanted: str) -> tuple[PackageId, str] | None:
    """Return what an alias was remembered to mean, if that can be understood and fits."""
    try:
        found = json.loads(value or "")
        version = found["version"]
        return (PackageId.parse(found["id"]), version) if select(wanted, [version]) is not None else None
    except (ValueError, TypeError, KeyError):
        return None
