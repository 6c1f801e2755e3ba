"""Skills in any place fsspec can reach, such as S3, GCS, Azure or memory, as a tree.

What a call costs: one listing for each folder it looks at and one ranged read for each SKILL.md; nothing is asked for
one by one (no HEAD), and no file is fetched whole for its frontmatter. On S3, listing n skills is 2n + 1 requests, and
n + 1 when none has changed since. Listings live as long as the call that made them, so an edit is seen at the next
call (S3-32). Links are not followed. Folders on this machine are better served by
:class:`~skillbelt.sources.directory.DirectorySource`, which opens what it judged, and archives by
:func:`~skillbelt.sources.archive.zip_source`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from skillbelt.errors import (
    MissingExtraError,
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceTypeError,
    SkillError,
    SourceError,
)
from skillbelt.limits import Limits
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.listings import FolderListing, Info, is_the_file, read_listing, tagged, version_of
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Chunk, Entry
from skillbelt.sources.tree_source import TreeSource
from skillbelt.sources.urls import Redactor, public_url

__all__ = ["FsspecSource", "FsspecTree", "fsspec_source"]

_BLOCK = 64 * 1024
"""Read-ahead of file systems that know no ranged read but only files; their own default is megabytes."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def fsspec_source(
    url: str, *, profile: Profile = LENIENT, limits: Limits | None = None, **storage_options: Any
) -> TreeSource:
    r"""Return the skills below a URL of any fsspec file system.

    Args:
        url: The folder that holds the skills, e.g. ``"s3://bucket/skills"``.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        **storage_options: What the file system wants: keys, endpoint, timeouts. Never shown in messages.

    Returns:
        A source like :class:`~skillbelt.sources.directory.DirectorySource`; a folder that does not exist is empty
        and reported.

    Raises:
        MissingExtraError: fsspec, or the package of this kind of URL, is not installed.
        SourceError: fsspec knows no such kind of URL, or does not take these options.

    Example:
        >>> import fsspec
        >>> files = fsspec.filesystem("memory")
        >>> files.pipe_file("/skills/mail/SKILL.md", b"---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n")
        >>> [skill.name for skill in fsspec_source("memory://skills").list()]
        ['mail']
    """
    return FsspecSource(FsspecTree(url, storage_options), profile=profile, limits=limits)


@dataclass(slots=True)
class _Call:
    """The listings of the call a thread is in; none are kept outside of one."""

    depth: int = 0
    listings: dict[str, FolderListing] = field(default_factory=dict)


class FsspecTree:
    """A folder of an fsspec file system; implements :class:`~skillbelt.sources.tree.Tree`.

    Args:
        url: As for :func:`fsspec_source`.
        storage_options: As for :func:`fsspec_source`.
    """

    on_disk = False

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None = None) -> None:
        if not isinstance(url, str) or not url:
            raise SourceError(f"fsspec_source needs a URL such as 's3://bucket/skills', not {type(url).__name__}.")
        self.label = public_url(url)
        self._say = Redactor(storage_options).line
        self._local = threading.local()
        with self._opening(url):
            self._fs, root = _file_system(url, dict(storage_options or {}))
        self._root = root.rstrip("/")
        self._prefix = f"{self._root}/" if self._root or root.startswith("/") else ""

    def __repr__(self) -> str:
        return f"FsspecTree({self.label!r})"

    @property
    def name(self) -> str | None:
        """Name of the root folder."""
        return self._root.rpartition("/")[2] or None

    def where(self, path: str) -> str | None:
        """Return the URL of something, without credentials; in a chained URL its path."""
        if "::" in self.label:
            return path or None
        return f"{self.label.rstrip('/')}/{path}" if path else self.label

    # --- the tree ---------------------------------------------------------------------------------------------------

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        found = self._folder(join(folder, path))
        return [
            *(Entry(name, "directory") for name in found.folders),
            *(Entry(name, "file") for name in found.files),
            *(Entry(name, kind) for name, kind in found.others.items()),
        ]

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to; the root is listed to know."""
        whole = join(folder, path)
        if not whole:
            self._folder("")
            return Entry("", "directory")
        parent, _, name = whole.rpartition("/")
        found = self._folder(parent)
        if name in found.folders:
            return Entry(name, "directory")
        self._info(found, name, path or folder)
        return Entry(name, "file")

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a file, by a ranged read; ``size=0`` asks for no bytes at all."""
        whole = join(folder, path)
        parent, _, name = whole.rpartition("/")
        try:
            info = self._info(self._folder(parent), name, path)
        except ResourceNotFoundError:
            raise ResourceNotFoundError(f"There is no file {shown(path)}.") from None
        told = info.get("size")
        total = told if isinstance(told, int) else None
        # Where no size is told, one byte more than wanted says whether there is more.
        end = offset + size + 1 if total is None else min(offset + size, total)
        data = self._bytes(self._prefix + whole, path, offset, end) if size and end > offset else b""
        if total is None:
            total = offset + len(data)
        data = data[:size]
        return Chunk(data, max(total, offset + len(data)) if data else total, version=version_of(info))

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file without reading it, ``None`` when it takes a read to tell, and of a folder."""
        if not path:
            return None  # a store knows no versions of folders: nothing is listed to learn that
        parent, _, name = join(folder, path).rpartition("/")
        try:
            info = self._info(self._folder(parent), name, path)
        except (ResourceError, SourceError):
            return None
        return version_of(info) if tagged(info) else None

    def _bytes(self, whole: str, path: str, start: int, end: int) -> bytes:
        with self._translated(path):
            if self._reads_ranges():
                # Also the safe way in memory://, whose open files of one path are one object, shared by threads.
                data = self._fs.cat_file(whole, start=start, end=end)
            else:
                # The default cat_file opens with the block size of the file system, often 5 MiB.
                with self._fs.open(whole, "rb", block_size=_BLOCK) as file:
                    file.seek(start)
                    data = file.read(end - start)
        if not isinstance(data, bytes):
            raise SourceError(f"{shown(path)} cannot be read: {self.label!r} gave {type(data).__name__}, not bytes.")
        if len(data) > end - start:  # the range was ignored
            data = data[start:end]
        return data

    def _reads_ranges(self) -> bool:
        """Whether the file system brings a ranged read of its own."""
        from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

        return self._fs.async_impl or type(self._fs).cat_file is not AbstractFileSystem.cat_file

    def _info(self, found: FolderListing, name: str, path: str) -> Info:
        """Return what is known of a file."""
        if name in found.files:
            return found.files[name]
        if name in found.folders:
            raise ResourceTypeError(f"{shown(path)} is a folder, not a file; name a file in it.")
        if found.others.get(name) == "link":
            raise ResourcePathError(f"{shown(path)} is, or passes through, a link that is not followed.")
        if name in found.others:
            raise ResourceTypeError(f"{shown(path)} is not a regular file.")
        raise ResourceNotFoundError(f"There is no file {shown(path)}.")

    # --- listings ---------------------------------------------------------------------------------------------------

    @contextmanager
    def call(self) -> Iterator[None]:
        """Keep the listings made inside: what one call sees is asked for once. Calls nest; threads do not share."""
        call = self._call
        call.depth += 1
        try:
            yield
        finally:
            call.depth -= 1
            if not call.depth:
                call.listings.clear()

    @property
    def _call(self) -> _Call:
        call: _Call | None = getattr(self._local, "call", None)
        if call is None:
            call = self._local.call = _Call()
        return call

    def _folder(self, path: str) -> FolderListing:
        call = self._call
        found = call.listings.get(path)
        if found is None:
            if path and self._has_links and self.kind("", path).kind != "directory":
                # Where there are links, a listing would go through one without a word: kind() refuses it.
                raise self._no_folder(path)
            found = self._listed(path)
            if call.depth:
                call.listings[path] = found
        return found

    @property
    def _has_links(self) -> bool:
        return bool({"file", "local", "sftp", "ssh", "smb"} & set(_protocols(self._fs)))

    def _listed(self, path: str) -> FolderListing:
        whole = (self._prefix + path).rstrip("/")
        with self._translated(path, folder=True):
            self._fs.invalidate_cache(whole)
            listed = self._fs.ls(whole or self._prefix, detail=True, refresh=True)
        if is_the_file(listed, whole):
            raise self._no_folder(path)
        return read_listing(listed, whole)

    def _no_folder(self, path: str) -> SkillError:
        if path:
            return ResourceNotFoundError(f"There is no folder {shown(path)}.")
        return SourceError(f"{self.label!r} is not a directory; give the folder that holds the skills.")

    # --- errors -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _translated(self, path: str, *, folder: bool = False) -> Iterator[None]:
        what = shown(path or self.label)
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            raise ResourceNotFoundError(f"There is no {'folder' if folder else 'file'} {what}.") from None
        except PermissionError as error:
            raise SourceError(
                f"{what} cannot be read: access was denied ({self._say(error)}). Check the credentials in "
                "storage_options."
            ) from None
        except Exception as error:
            # Whatever a file system raises, the caller sees one kind of error; its text may repeat a secret.
            raise SourceError(f"{what} cannot be read: {self._say(error)}.") from None

    @contextmanager
    def _opening(self, url: str) -> Iterator[None]:
        try:
            yield
        except SkillError:
            raise
        except ImportError as error:
            cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
            package = (cause.name or url.partition(":")[0]).partition(".")[0]
            raise MissingExtraError(f"fsspec_source({self.label!r})", package=package) from None
        except Exception as error:
            raise SourceError(
                f"fsspec cannot open {self.label!r}: {self._say(error)}. Give a URL such as "
                "'s3://bucket/skills' and the options of its file system."
            ) from None


def _per_call(method: Callable[Concatenate[Any, _P], _T]) -> Callable[Concatenate[Any, _P], _T]:
    def called(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._tree.call():
            return method(self, *args, **kwargs)

    update_wrapper(called, method)
    return called


class FsspecSource(TreeSource):
    """Serves a :class:`FsspecTree`, each folder listed once in a call."""

    _tree: FsspecTree

    list = _per_call(TreeSource.list)
    lookup = _per_call(TreeSource.lookup)
    load = _per_call(TreeSource.load)
    bundle = _per_call(TreeSource.bundle)
    resources = _per_call(TreeSource.resources)
    read = _per_call(TreeSource.read)
    locate = _per_call(TreeSource.locate)
    diagnostics = _per_call(TreeSource.diagnostics)
    problems = _per_call(TreeSource.problems)
    versions = _per_call(TreeSource.versions)


def _file_system(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("fsspec_source", extra="remote") from None
    # Not the shared instance of these options: its listings are kept, and others may keep theirs in it.
    fs, root = url_to_fs(url, **{"use_listings_cache": False, "skip_instance_cache": True, **options})
    return fs, str(root)


def _protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
