"""A folder of skills as a registry that nobody can publish to: packed when the server starts, held in memory.

Skills in a folder change; versions do not. So what is served is what was there at the start, under the version that
each skill states, until the server is started again. A skill that cannot be packed, or that breaks the specification,
which clients would refuse, is left out with its reason.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from skillbelt.errors import AccessDeniedError, SkillError
from skillbelt.models import Diagnostic, JsonValue
from skillbelt.packages.canonical import canonicalize
from skillbelt.packages.ids import PackageId
from skillbelt.packages.packing import PackedSkill, pack
from skillbelt.packages.server.entries import Entry
from skillbelt.packages.versions import is_concrete, normalize_version
from skillbelt.parsing import STRICT
from skillbelt.sources import DirectorySource

__all__ = ["UNVERSIONED", "PlainStore", "entry_of"]

UNVERSIONED = "v0.0.0"
"""The version of a skill that states none."""


class PlainStore:
    """The skills of a folder, read-only.

    Args:
        folder: Holds skill folders.
        namespace: Where they are published.

    Attributes:
        diagnostics: Why skills are missing, or not as their authors wrote them.

    Raises:
        SourceError: The folder cannot be read.
    """

    def __init__(self, folder: str | os.PathLike[str], namespace: str) -> None:
        source = DirectorySource(folder)
        self._namespace = namespace
        self._contents: dict[str, bytes] = {}
        self._entries: dict[str, Entry] = {}
        lost: list[Diagnostic] = []
        for summary in source.list():
            try:
                packed = pack(str(summary.location), profile=STRICT)
            except SkillError as error:
                lost.append(_left_out(summary.name, summary.location, error))
                continue
            entry, canonical = entry_of(packed, namespace, _stated(packed.document))
            self._contents[entry.id] = canonical
            self._entries[entry.name] = entry
        self.diagnostics: tuple[Diagnostic, ...] = (*source.diagnostics(), *lost)

    def content(self, package: PackageId) -> bytes | None:
        """Return canonical bytes.

        Args:
            package: Which.
        """
        return self._contents.get(str(package))

    def packages(self, namespace: str | None = None) -> Sequence[tuple[str, str]]:
        """Return namespace and name of every package, sorted.

        Args:
            namespace: Only this one.
        """
        return [(self._namespace, name) for name in sorted(self._entries)] if self._here(namespace) else []

    def versions(self, namespace: str, name: str) -> Sequence[str]:
        """Return the one version of a skill.

        Args:
            namespace: A valid namespace.
            name: A valid name.
        """
        return [self._entries[name].version] if self._here(namespace) and name in self._entries else []

    def entry(self, namespace: str, name: str, version: str) -> Entry | None:
        """Return a version.

        Args:
            namespace: A valid namespace.
            name: A valid name.
            version: A concrete version.
        """
        return self._entries[name] if version in self.versions(namespace, name) else None

    def publish(self, entry: Entry, canonical: bytes) -> bool:
        """Refuse.

        Args:
            entry: What somebody wants to add.
            canonical: Its content.

        Raises:
            AccessDeniedError: Always.
        """
        raise AccessDeniedError(
            f"This registry serves a folder of skills and takes no publications, such as {entry.name} of "
            f"{len(canonical)} bytes; put the skill into the folder, or publish to a registry of your own."
        )

    def _here(self, namespace: str | None) -> bool:
        return namespace in (None, self._namespace)


def entry_of(packed: PackedSkill, namespace: str, version: str) -> tuple[Entry, bytes]:
    """Return the entry of a packed skill under a version, and its canonical bytes.

    Args:
        packed: The skill.
        namespace: Where it is published.
        version: A concrete version.
    """
    canonical = canonicalize(packed.document)
    released = packed.document.get("release_date")
    entry = Entry(
        id=str(packed.id),
        integrity=packed.integrity,
        type=packed.id.type.value,
        namespace=namespace,
        name=str(packed.document["name"]),
        version=version,
        description=str(packed.document["description"]),
        size=len(canonical),
        release_date=released if isinstance(released, str) else None,
    )
    return entry, canonical


def _stated(document: Mapping[str, JsonValue]) -> str:
    """Return the version a skill states in its frontmatter, when it is one."""
    metadata = document.get("metadata")
    version = metadata.get("version") if isinstance(metadata, Mapping) else None
    return normalize_version(version) if isinstance(version, str) and is_concrete(version) else UNVERSIONED


def _left_out(name: str, location: str | None, error: SkillError) -> Diagnostic:
    return Diagnostic(
        code="skill-file-unreadable",
        severity="error",
        message=f"The skill {name!r} is not served: {error}",
        path=location,
        hint="Correct it and start the server again.",
    )
