"""Skills inside an installed Python package, and in anything else that walks and quacks like a folder.

A package is found, not imported: none of its code runs. When it lies in a real folder that folder is read with all
the confinement of :class:`~skillbelt.sources.directory.DirectorySource`; when it lies in a zip on ``sys.path``, or
comes from a loader of its own, it is read as the :class:`importlib.resources.abc.Traversable` it offers. Such an
object confines itself, or is trusted as given (S3-59); links that it owns up to are refused.
"""

from __future__ import annotations

import os
import pkgutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from importlib.machinery import ModuleSpec
from importlib.resources.abc import Traversable
from importlib.resources.readers import MultiplexedPath
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, cast

from skillbelt.errors import (
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceTypeError,
    SourceError,
    did_you_mean,
)
from skillbelt.limits import KIB, MIB, Limits
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.directory import DirectorySource
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Chunk, Entry, EntryKind
from skillbelt.sources.tree_source import TreeSource

__all__ = ["TraversableTree", "package_source", "tree_source"]

_SAMPLE = 4 * KIB
"""Bytes of a file that stand for its version, when there is nothing better to ask."""


def package_source(package: str, *, profile: Profile = LENIENT, limits: Limits | None = None) -> TreeSource:
    """Return the skills that lie in an installed package.

    Args:
        package: Dotted name of a package, or of a folder inside one: ``"pkg"``, ``"pkg.skills"``, ``"pkg.my-skills"``.
            Only the first part is looked up, by the import system but without importing it; the others are folders.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.

    Returns:
        A :class:`~skillbelt.sources.directory.DirectorySource` when the package lies in a real folder, else a source
        over what its loader offers (a package in a zip).

    Raises:
        SourceError: There is no such package, it is a single module, or it has no such folder.

    Example:
        >>> [skill.name for skill in package_source("skillbelt.examples").list()]
        ['csv-quality-check', 'deploy-to-staging', 'incident-report']
    """
    top, *parts = package.split(".") if isinstance(package, str) else [""]
    if not top or not all(part.strip() and not set(part) & set("/\\\x00") for part in (top, *parts)):
        raise SourceError(f"A package is named like 'pkg.skills', not {shown(str(package))}.")
    spec = _found(top)
    folders = [Path(place, *parts) for place in spec.submodule_search_locations or ()]
    real = [folder for folder in folders if folder.is_dir()]
    if len(real) == 1:
        return DirectorySource(real[0], profile=profile, limits=limits)
    # A namespace package may lie in several folders; its skills are those of all of them.
    root = MultiplexedPath(*real) if real else _offered(spec, parts)
    if root is None:
        raise SourceError(f"The package {shown(top)} has no folder {shown('.'.join(parts))}.{_folders_of(spec)}")
    return TreeSource(TraversableTree(root, label=package), profile=profile, limits=limits)


def tree_source(
    root: Traversable, *, profile: Profile = LENIENT, limits: Limits | None = None, label: str | None = None
) -> TreeSource:
    r"""Return the skills in any folder-like object: what ``importlib.resources`` gives, a ``zipfile.Path`` (S3-58).

    Args:
        root: A folder; a :class:`pathlib.Path` is read as a :class:`~skillbelt.sources.directory.DirectorySource`.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        label: What the source is called in summaries; by default the folder's name.

    Returns:
        A source. ``zipfile.Path`` does not judge its archive: for one you did not make, use
        :func:`~skillbelt.sources.archive.zip_source`.

    Raises:
        SourceError: ``root`` is no :class:`importlib.resources.abc.Traversable`.

    Example:
        >>> import io, zipfile
        >>> archive = zipfile.ZipFile(io.BytesIO(), "w")
        >>> archive.writestr("mail/SKILL.md", "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n")
        >>> [skill.name for skill in tree_source(zipfile.Path(archive)).list()]
        ['mail']
    """
    if type(root) is type(Path()):  # not a subclass: that may lead anywhere, to a bucket for one
        return DirectorySource(root, profile=profile, limits=limits)
    return TreeSource(TraversableTree(root, label=label), profile=profile, limits=limits)


# --- packages -------------------------------------------------------------------------------------------------------


def _found(top: str) -> ModuleSpec:
    try:
        spec = find_spec(top)  # of a name without dots: this imports nothing
    except (ImportError, ValueError, AttributeError):  # a finder that fails, or a module without a spec
        spec = None
    if spec is None:
        close = did_you_mean(top, sorted(m.name for m in pkgutil.iter_modules() if m.ispkg), what="packages")
        close = f" {close}" if close.startswith("Did") else ""
        raise SourceError(f"There is no package {shown(top)}; install it, or give the name that is imported.{close}")
    if spec.submodule_search_locations is None:
        raise SourceError(f"{shown(top)} is a single module, not a package; it can hold no skills.")
    return spec


def _offered(spec: ModuleSpec, parts: Sequence[str]) -> Traversable | None:
    """Return the folder as the package's loader offers it, or as it lies in a zip."""
    for root in _roots(spec):
        node = root
        for part in parts:
            node = node.joinpath(part)
        if node.is_dir():
            return node
    return None


def _roots(spec: ModuleSpec) -> Iterator[Traversable]:
    readers = getattr(spec.loader, "get_resource_reader", None)
    files = getattr(readers(spec.name) if readers else None, "files", None)
    if files:
        yield files()
        return
    # A namespace package in a zip has no loader before it is imported.
    for place in spec.submodule_search_locations or ():
        for above in Path(place).parents:
            if above.is_file() and zipfile.is_zipfile(above):
                yield cast("Traversable", zipfile.Path(above, f"{Path(place).relative_to(above).as_posix()}/"))


def _folders_of(spec: ModuleSpec) -> str:
    names = {
        child.name
        for root in (*(Path(place) for place in spec.submodule_search_locations or ()), *_roots(spec))
        if root.is_dir()
        for child in root.iterdir()
        if child.is_dir() and not child.name.startswith(("_", "."))
    }
    return f" {did_you_mean('', sorted(names), what='folders')}"


# --- any folder -----------------------------------------------------------------------------------------------------


class TraversableTree:
    """A folder-like object; implements :class:`~skillbelt.sources.tree.Tree`.

    Args:
        root: The folder.
        label: What it is called; by default its name.

    Raises:
        SourceError: ``root`` is no :class:`importlib.resources.abc.Traversable`.
    """

    on_disk = False

    def __init__(self, root: Traversable, *, label: str | None = None) -> None:
        # The root of a zip in memory has no name, and fails when the protocol's check asks for it.
        if not isinstance(root, zipfile.Path) and not isinstance(root, Traversable):
            raise SourceError(f"A folder of skills must be a Traversable, not {type(root).__name__}.")
        self._root = root
        try:
            name = str(root.name)
        except TypeError:  # as above
            name = ""
        self.label = label or name or "folder"
        # The root of a zip has the file's name, which is not the folder a skill's name is compared with.
        self.name = None if isinstance(root, zipfile.Path) and not _inner(root) else (name or None)

    def where(self, path: str) -> str | None:
        """Return the path in the tree."""
        return path or None

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        whole = join(folder, path)
        node = self._node(whole)
        with _translated(whole):
            if not node.is_dir():
                raise ResourceNotFoundError(f"There is no folder {shown(whole)}.")
            return [Entry(child.name, _kind(child)) for child in node.iterdir()]

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to."""
        whole = join(folder, path)
        node = self._node(whole, path)
        with _translated(path or whole):
            kind = _kind(node)
        if kind == "other":
            raise ResourceNotFoundError(f"There is no file {shown(path or folder)}.")
        return Entry(whole.rpartition("/")[2], kind)

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a file."""
        node = self._node(join(folder, path), path)
        with _translated(path):
            if node.is_dir():
                raise ResourceTypeError(f"{shown(path)} is a folder, not a file; name a file in it.")
            if not node.is_file():
                raise ResourceNotFoundError(f"There is no file {shown(path)}.")
            total, executable, version = _facts(node)
            if total is not None and (not size or offset >= total):
                return Chunk(b"", total, executable, version)
            with node.open("rb") as stream:
                if total is None:
                    total, version = _measured(stream)
                return Chunk(_taken(stream, offset, size), total, executable, version)

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file, ``None`` when it takes a read to tell, or there is no such file."""
        try:
            node = self._node(join(folder, path))
            with _translated(path):
                return _facts(node)[2] or None if node.is_file() else None
        except (ResourceError, SourceError):
            return None

    def _node(self, path: str, called: str = "") -> Traversable:
        """Return what lies at a path; ``called`` is how a caller knows it, relative to the skill."""
        node = self._root
        for part in path.split("/") if path else ():
            with _translated(called or path):
                node = node.joinpath(part)
                if _is_link(node):
                    raise ResourcePathError(
                        f"{shown(called or path)} is, or passes through, a link that is not followed."
                    )
        return node


def _is_link(node: Any) -> bool:
    if isinstance(node, zipfile.Path):
        # Asked of the entry: until 3.13 zipfile says that nothing is a link, and gives where one leads as its content.
        info = _entry(node)
        return info is not None and stat.S_ISLNK(info.external_attr >> 16)
    judge = getattr(node, "is_symlink", None)
    try:
        return bool(judge and judge())
    except KeyError:  # zipp, from which zipfile takes its paths, looks for an entry of folders that have none
        return False


def _kind(node: Traversable) -> EntryKind:
    if _is_link(node):
        return "link"
    if node.is_dir():
        return "directory"
    return "file" if node.is_file() else "other"


def _inner(node: zipfile.Path) -> str:
    return str(getattr(node, "at", ""))


def _entry(node: zipfile.Path) -> zipfile.ZipInfo | None:
    """Return the entry of a file in a zip; the root, and a folder that only its files imply, have none."""
    archive = cast("zipfile.ZipFile", getattr(node, "root"))  # noqa: B009 - not in the stubs
    return archive.NameToInfo.get(_inner(node))


def _facts(node: Any) -> tuple[int | None, bool, str]:
    """Return size, executable bit and version of a file, without opening it where that can be."""
    if isinstance(node, zipfile.Path) and (entry := _entry(node)) is not None:
        return entry.file_size, bool(entry.external_attr >> 16 & 0o111), f"{entry.CRC:08x}-{entry.file_size}"
    if isinstance(node, os.PathLike):
        info = Path(node).stat()
        return info.st_size, bool(info.st_mode & 0o111), f"{info.st_mtime_ns}-{info.st_size}-{info.st_ino}"
    return None, False, ""


def _measured(stream: IO[bytes]) -> tuple[int, str]:
    """Return the size of an open file, and a version made of that and of its first bytes."""
    digest = blake2b(stream.read(_SAMPLE), digest_size=16).hexdigest()
    total = stream.seek(0, os.SEEK_END)
    return total, f"{digest}-{total}"


def _taken(stream: IO[bytes], offset: int, size: int) -> bytes:
    stream.seek(offset)
    blocks: list[bytes] = []
    while size > 0:
        block = stream.read(min(size, MIB))
        if not block:
            break
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Say the failures of a folder-like object as ours; what it raises for a missing child is its own affair."""
    try:
        yield
    except ResourceNotFoundError:  # our own word
        raise
    except (FileNotFoundError, NotADirectoryError, LookupError):
        raise ResourceNotFoundError(f"There is no file {shown(path)}.") from None
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise SourceError(f"{shown(path)} cannot be read: {type(error).__name__}.") from error
