"""Skills in a deepagents backend: its files as a tree, whatever they lie in.

A backend lists a folder and gives whole files, so a listing reads each SKILL.md whole. Works with every backend of
deepagents that keeps files: on disk, in a store, composed; one that lives in the state of a run is read inside that
run only. deepagents is not imported: what has ``ls`` and ``download_files`` will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Protocol

from skillbelt.errors import ResourceNotFoundError, ResourcePathError, ResourceTypeError, SourceError
from skillbelt.limits import MIB, Limits
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Chunk, Entry
from skillbelt.sources.tree_source import TreeSource

__all__ = ["BackendSource", "BackendTree"]

_MOST = 64 * MIB


class Backend(Protocol):
    """What is needed of a backend."""

    def ls(self, path: str) -> Any:
        """Return what is in a folder."""
        ...

    def download_files(self, paths: list[str]) -> list[Any]:
        """Return whole files."""
        ...


class BackendSource(TreeSource):
    """The skills below a folder of a deepagents backend.

    Args:
        backend: Such as ``FilesystemBackend``, ``StoreBackend`` or ``CompositeBackend``.
        root: The folder that holds the skills, as the backend names it.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.

    Raises:
        SourceError: It is no backend, or the folder is not absolute.

    Example:
        ``SkillsMiddleware(SkillRouter(BackendSource(backend, "/skills")))``
    """

    def __init__(
        self, backend: Backend, root: str = "/skills", *, profile: Profile = LENIENT, limits: Limits | None = None
    ) -> None:
        super().__init__(BackendTree(backend, root), profile=profile, limits=limits)


class BackendTree:
    """A folder of a backend; implements :class:`~skillbelt.sources.tree.Tree`.

    Args:
        backend: As for :class:`BackendSource`.
        root: As for :class:`BackendSource`.
    """

    on_disk = False

    def __init__(self, backend: Backend, root: str) -> None:
        if not callable(getattr(backend, "ls", None)) or not callable(getattr(backend, "download_files", None)):
            raise SourceError(f"BackendSource needs a deepagents backend, not {type(backend).__name__}.")
        if not root.startswith("/"):
            raise SourceError(f"root is the folder of the backend that holds the skills, e.g. '/skills', not {root!r}.")
        self._backend = backend
        self._root = root.rstrip("/")
        self.label = self._root or "/"

    @property
    def name(self) -> str | None:
        """Name of the root folder."""
        return self._root.rpartition("/")[2] or None

    def where(self, path: str) -> str | None:
        """Return the path in the backend."""
        return f"{self._root}/{path}" if path else self.label

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        whole = join(folder, path)
        listed = self._asked(self._backend.ls, self.where(whole), whole)
        error = getattr(listed, "error", None)
        if error:
            raise _folder_error(str(error), whole or self.label)
        found = getattr(listed, "entries", listed) or ()
        return [_entry(info) for info in found]

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to; the folder around it is listed to know."""
        whole = join(folder, path)
        if not whole:
            self.entries("")
            return Entry("", "directory")
        parent, _, name = whole.rpartition("/")
        for entry in self.entries(parent):
            if entry.name == name:
                return entry
        raise ResourceNotFoundError(f"There is no file {shown(path or folder)}.")

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a file, which the backend gives whole."""
        whole = join(folder, path)
        (got,) = self._asked(self._backend.download_files, [self.where(whole)], path)
        data, error = got.content, got.error
        if error or data is None:
            if error == "file_not_found" and self.kind(folder, path).kind == "directory":
                error = "is_directory"  # stores know files only; whether there is a folder takes a listing
            raise _file_error(str(error), path)
        if len(data) > _MOST:
            raise ResourceTypeError(f"{shown(path)} is too large to be read ({len(data)} bytes).")
        return Chunk(data[offset : offset + size], len(data), version=sha256(data).hexdigest()[:16])

    def _asked(self, ask: Any, argument: Any, what: str) -> Any:
        try:
            return ask(argument)
        except Exception as error:
            # Whatever a backend raises, the caller sees one kind of error.
            raise SourceError(
                f"{shown(what or self.label)} cannot be read: {type(error).__name__}: {error}."
            ) from error


def _entry(info: Any) -> Entry:
    path = str(info["path"])
    name = path.rstrip("/").rpartition("/")[2]
    return Entry(name, "directory" if info.get("is_dir") or path.endswith("/") else "file")


def _folder_error(error: str, what: str) -> Exception:
    if "not_found" in error or "not found" in error:
        return ResourceNotFoundError(f"There is no folder {shown(what)}.")
    if "not_a_directory" in error:
        return SourceError(f"{shown(what)} is not a directory; give the folder that holds the skills.")
    return SourceError(f"{shown(what)} cannot be listed: {error}.")


def _file_error(error: str, path: str) -> Exception:
    if error == "file_not_found":
        return ResourceNotFoundError(f"There is no file {shown(path)}.")
    if error == "is_directory":
        return ResourceTypeError(f"{shown(path)} is a folder, not a file; name a file in it.")
    if error == "invalid_path":
        return ResourcePathError(f"{shown(path)} is, or passes through, a link that is not followed.")
    return SourceError(f"{shown(path)} cannot be read: {error}.")
