"""Trees of bytes: the one thing a new place for skills has to be.

A :class:`Tree` answers three questions: what is in a folder, what kind of thing is at a path, what bytes does a file
hold. What those bytes mean is :mod:`skillbelt.sources.tree_source`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol, runtime_checkable

__all__ = ["Chunk", "Entry", "EntryKind", "Holdable", "Statted", "Tree"]

EntryKind = Literal["file", "directory", "link", "other"]


class Entry(NamedTuple):
    """One name in a folder; ``identity`` tells folders apart, whatever they are called."""

    name: str
    kind: EntryKind
    identity: int = 0


class Chunk(NamedTuple):
    """Bytes of a file.

    Attributes:
        data: The bytes read.
        total: Size of the whole file.
        executable: Whether it has an executable bit.
        version: Differs when the file was written anew; ``""`` where files never change.
        settled: Whether ``version`` can be relied on: a file written this very moment may be written again unseen.
    """

    data: bytes
    total: int
    executable: bool = False
    version: str = ""
    settled: bool = True


class Tree(Protocol):
    """A tree of bytes. Paths are relative, ``/``-separated and already through the lexical gate.

    ``folder`` is the folder of a skill and the border of a call: a link below it may not lead out of it. Errors are
    :class:`~skillbelt.errors.ResourceNotFoundError`, :class:`~skillbelt.errors.ResourcePathError` (a link leads
    out), :class:`~skillbelt.errors.ResourceTypeError` and :class:`~skillbelt.errors.SourceError`; their messages
    hold no host path.
    """

    @property
    def label(self) -> str:
        """What people call this place."""
        ...

    @property
    def name(self) -> str | None:
        """Name of the root folder, for a skill that lies at the root."""
        ...

    def where(self, path: str) -> str | None:
        """Return the absolute path of something when the tree is on disk, else its path in the tree."""
        ...

    @property
    def on_disk(self) -> bool:
        """Whether :meth:`where` gives paths of the host."""
        ...

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder, in any order."""
        ...

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to, links followed."""
        ...

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a regular file."""
        ...


@runtime_checkable
class Holdable(Protocol):
    """A tree that can keep its root open for the length of a scan."""

    def hold(self) -> AbstractContextManager[Tree]:
        """Give the same tree with its root open."""
        ...


@runtime_checkable
class Statted(Protocol):
    """A tree that can tell without reading whether a file changed."""

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file, ``None`` when it takes a read to tell."""
        ...
