"""What a registry knows of one published version, and what any store of packages can be asked.

A version is an entry: small, listed without touching the content, and never changed once it exists. The content lies
apart under its id, so that two versions with the same files share it. How either is kept is each store's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from skillbelt.packages.ids import PackageId

__all__ = ["Entry", "Store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One version of one package in a namespace.

    Attributes:
        id: The id of its content.
        integrity: ``sha256-…`` over the same bytes.
        type: Kind of package, such as ``skill``.
        namespace: Who publishes it.
        name: What the package calls itself.
        version: A concrete version.
        description: For listings.
        size: Bytes of the content.
        release_date: As the document says, when it does.
    """

    id: str
    integrity: str
    type: str
    namespace: str
    name: str
    version: str
    description: str
    size: int
    release_date: str | None = None

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Entry:
        """Return the entry that a JSON object describes.

        Args:
            record: As :meth:`record` gives it; keys of later versions are ignored.

        Raises:
            TypeError: It is not a description of an entry.
        """
        return cls(**{each.name: record[each.name] for each in fields(cls) if each.name in record})

    def record(self) -> dict[str, Any]:
        """Return the entry as a JSON object, without what is not known."""
        return {key: value for key, value in asdict(self).items() if value is not None}


class Store(Protocol):
    """Where a registry keeps packages; asked by many threads, and on disk by many processes."""

    def content(self, package: PackageId) -> bytes | None:
        """Return the canonical bytes of a package, checked against its id; ``None`` when there is none.

        Args:
            package: Which.

        Raises:
            IntegrityError: What is kept under the id is something else.
        """
        ...

    def packages(self, namespace: str | None = None) -> Sequence[tuple[str, str]]:
        """Return namespace and name of every package, sorted.

        Args:
            namespace: Only this one.
        """
        ...

    def versions(self, namespace: str, name: str) -> Sequence[str]:
        """Return the versions of a package, in no particular order; none when there is no such package.

        Args:
            namespace: A valid namespace.
            name: A valid name.
        """
        ...

    def entry(self, namespace: str, name: str, version: str) -> Entry | None:
        """Return one version.

        Args:
            namespace: A valid namespace.
            name: A valid name.
            version: A concrete version.

        Raises:
            IntegrityError: It is there and cannot be read.
        """
        ...

    def publish(self, entry: Entry, canonical: bytes) -> bool:
        """Add a version.

        Args:
            entry: What to add.
            canonical: Its content.

        Returns:
            Whether it was new; ``False`` when the same content was published under that version before.

        Raises:
            PackageConflictError: The version exists with other content.
            AccessDeniedError: Nothing can be published here.
        """
        ...
