"""Trees of bytes: the one thing a new place for skills has to be.

A :class:`Tree` answers three questions: what is in a folder, what kind of thing is at a path, what bytes does a file
hold. What those bytes mean is :mod:`skillbelt.sources.tree_source`. The other protocols are what a tree may add when
it can do better: keep a folder open, tell a change without a read, tell sizes with the names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol, runtime_checkable

__all__ = ["Chunk", "Enterable", "Entry", "EntryKind", "Holdable", "Measured", "Statted", "Tree", "Unsettled"]

EntryKind = Literal["file", "directory", "link", "other"]


class Entry(NamedTuple):
    """One name in a folder.

    Attributes:
        name: The name.
        kind: What it is; of a link, that it is one.
        identity: Tells folders apart, whatever they are called.
        size: Bytes of a file, where they were asked for.
        executable: Whether a file has an executable bit, where that was asked for.
        version: As in :class:`Chunk`, where it was asked for.
        written: As in :class:`Chunk`, where it was asked for.
    """

    name: str
    kind: EntryKind
    identity: int = 0
    size: int = 0
    executable: bool = False
    version: str = ""
    written: float = 0.0


class Chunk(NamedTuple):
    """Bytes of a file.

    Attributes:
        data: The bytes read.
        total: Size of the whole file.
        executable: Whether it has an executable bit.
        version: Differs when the file was written anew; ``""`` where files never change.
        written: When it was last written, in seconds since the epoch; 0 where files are replaced as a whole.
    """

    data: bytes
    total: int
    executable: bool = False
    version: str = ""
    written: float = 0.0


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
    """A tree that can be kept open for the length of a call."""

    def hold(self) -> AbstractContextManager[Tree]:
        """Give the same tree, kept open: what takes its place meanwhile is not seen."""
        ...


@runtime_checkable
class Enterable(Protocol):
    """A tree of which one folder can be kept open for the length of a call."""

    def enter(self, folder: str) -> AbstractContextManager[Tree]:
        """Give the tree below a folder, kept open: what is renamed or exchanged meanwhile is not seen."""
        ...


@runtime_checkable
class Statted(Protocol):
    """A tree that can tell without reading whether something changed."""

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file or folder, ``None`` when it is a link, or not there."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A tree that tells sizes, modes and versions together with the names, and later whether they still hold."""

    def measured(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what :meth:`Tree.entries` does, with every attribute of the entries."""
        ...

    def unchanged(self, folder: str, versions: Mapping[str, str]) -> bool:
        """Whether all these files and folders below a folder, by path, have the versions they had."""
        ...


@runtime_checkable
class Unsettled(Protocol):
    """A tree in which files are written in place, so that one may be seen half written."""

    def written(self, folder: str) -> float:
        """Return when the names in a folder, or in the nearest folder above that exists, last changed (seconds)."""
        ...
