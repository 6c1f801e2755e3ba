"""The same files in every kind of place that skills can come from: one builder a kind, behind one call.

``Places.make("zip", layout)`` gives a source that holds a :class:`Layout`. What a kind of place cannot hold, and what
it refuses when it is given it, is data: ``LACKS`` and ``REFUSES``.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import os
import socket
import ssl
import stat
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from http_server import Site
from skillbelt import LENIENT, DirectorySource, MappingSource, parse_skill
from skillbelt.sources import HttpLimits, fsspec_source, http_source, package_source, tar_source, zip_source
from skillbelt.sources.base import ResourceSource

KINDS = (
    "directory",
    "package",
    "mapping",
    "zip",
    "tar",
    "zipped package",
    "memory",
    "s3",
    "http 0.2.0",
    "http 0.1.0",
)
FILES_ONLY = "there are only files"
LACKS: dict[str, dict[str, str]] = {
    # What a kind of place has no way to hold: the cases that need it do not apply.
    "links": {
        "mapping": FILES_ONLY,
        "memory": FILES_ONLY,
        "s3": FILES_ONLY,
        "http 0.1.0": "a server sends what a link leads to, or nothing; the client sees no links",
    },
    "specials": {
        "mapping": FILES_ONLY,
        "zipped package": "what packs a zip for the import system packs no pipes and devices",
        "memory": FILES_ONLY,
        "s3": FILES_ONLY,
        "http 0.1.0": "a server sends no pipes",
    },
    "sockets": {
        "zip": "a packer reads files; there is no entry for a socket",
        "tar": "a tar archive has no entry for a socket",
        "http 0.2.0": "as in a zip archive",
    },
    "holes": {
        kind: "10 GiB without a hole; 2 MiB of zeros stand for it"
        for kind in KINDS
        if kind not in ("directory", "package")
    },
    "odd names": {
        "zipped package": "zipfile reads a name that is no UTF-8 as one of another code page",
        "memory": "a path is text",
        "s3": "a key is UTF-8",
        "http 0.2.0": "an index is JSON, and an archive inside has no folder",
        "http 0.1.0": "an index is JSON",
    },
}
REFUSES: dict[str, dict[str, str]] = {
    # What a kind of place is refused for as a whole, and the code that says so.
    "links": {"zip": "archive-link", "tar": "archive-link", "http 0.2.0": "archive-link"},
    "specials": {"zip": "archive-special", "tar": "archive-special", "http 0.2.0": "archive-special"},
    "odd names": {"zip": "archive-path", "tar": "archive-path"},
}
PUBLISHED = ("http 0.2.0", "http 0.1.0")
"""Places where an index says which skills there are."""

Index = Callable[["Layout"], dict[str, tuple[str, str]]]
"""What a publisher writes of the skills of a layout: name and description by folder."""

_BOOM = b"raise RuntimeError('this package was imported')\n"
_SMALL = 1 << 20
"""Larger files are not compressed: of a file of zeros an archive would be refused as a bomb."""


@dataclass(frozen=True)
class Layout:
    """What lies in a folder of skills.

    Attributes:
        files: Content by path; a path that is no UTF-8 is as ``os.fsdecode`` gives it.
        links: Where each symbolic link leads.
        specials: ``"fifo"``, ``"socket"`` or a pair of device numbers, by path.
        holes: The size of files that are one hole, by path.
        folders: Folders that hold nothing.
        beside: Files outside of the folder, by their path from the folder above it; only a disk has an outside.
    """

    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    specials: Mapping[str, Any] = field(default_factory=dict)
    holes: Mapping[str, int] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    beside: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def needs(self) -> list[str]:
        """What a place must be able to hold, beyond files."""
        needs = {"links": self.links, "specials": self.specials, "holes": self.holes}
        found = [need for need, held in needs.items() if held]
        if "socket" in self.specials.values():
            found.append("sockets")
        if any(not _is_utf8(path) for path in self.files):
            found.append("odd names")
        return found

    def lacking(self, kind: str) -> str | None:
        """Why a kind of place cannot hold this, ``None`` when it can."""
        return next((LACKS[need][kind] for need in self.needs if kind in LACKS.get(need, {})), None)

    def refused(self, kind: str) -> str | None:
        """The code with which a kind of place refuses this as a whole."""
        return next((REFUSES[need][kind] for need in self.needs if kind in REFUSES.get(need, {})), None)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- packing ----------------------------------------------------------------------------------------------------------


def write(root: Path, layout: Layout) -> Path:
    """Make a folder on disk."""
    made = [*layout.files, *layout.links, *layout.specials, *layout.holes]
    for folder in sorted({"", *layout.folders, *(path.rpartition("/")[0] for path in made)}):
        Path(f"{root}/{folder}").mkdir(parents=True, exist_ok=True)
    for path, data in layout.files.items():
        Path(f"{root}/{path}").write_bytes(data)
    for path, data in layout.beside.items():
        (root.parent / path).parent.mkdir(parents=True, exist_ok=True)
        (root.parent / path).write_bytes(data)
    for path, target in layout.links.items():
        (root / path).symlink_to(target)
    for path, size in layout.holes.items():
        with (root / path).open("wb") as file:
            file.truncate(size)
    for path, kind in layout.specials.items():
        if kind == "fifo":
            os.mkfifo(root / path)
        elif kind == "socket":
            _bind(root / path)
        else:
            os.mknod(root / path, 0o666 | stat.S_IFCHR, os.makedev(*kind))
    return root


def _bind(path: Path) -> None:
    """Make a socket; its address may not be long, so it is bound by a way around."""
    fd = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{fd}/{path.name}")
    finally:
        os.close(fd)


def zipped(layout: Layout) -> bytes:
    """Make a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are given twice
        for path, data in layout.files.items():
            info = _entry(path, stat.S_IFREG | 0o644)
            info.compress_type = zipfile.ZIP_DEFLATED if len(data) < _SMALL else zipfile.ZIP_STORED
            archive.writestr(info, data)
        for path, target in layout.links.items():
            archive.writestr(_entry(path, stat.S_IFLNK | 0o777), target)
        for path, kind in layout.specials.items():
            archive.writestr(_entry(path, (stat.S_IFIFO if kind == "fifo" else stat.S_IFCHR) | 0o666), b"")
        for path in layout.folders:
            archive.writestr(_entry(f"{path}/", stat.S_IFDIR | 0o755), b"")
    packed = file.getvalue()
    for path in layout.files:  # zipfile writes no name but text: the bytes are put in place of it
        if not _is_utf8(path):
            packed = packed.replace(_stand_in(path).encode(), os.fsencode(path))
    return packed


def _entry(path: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x", (2024, 1, 1, 0, 0, 0))
    info.filename = path if _is_utf8(path) else _stand_in(path)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def _stand_in(path: str) -> str:
    return os.fsencode(path).decode("ascii", "replace").replace("\ufffd", "\x7f")


def tarred(layout: Layout) -> bytes:
    """Make a .tar.gz archive."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, data in layout.files.items():
            _add(archive, path, tarfile.REGTYPE, data)
        for path, target in layout.links.items():
            _add(archive, path, tarfile.SYMTYPE, linkname=target)
        for path, kind in layout.specials.items():
            _add(archive, path, tarfile.FIFOTYPE if kind == "fifo" else tarfile.CHRTYPE)
        for path in layout.folders:
            _add(archive, path, tarfile.DIRTYPE)
    large = any(len(data) >= _SMALL for data in layout.files.values())
    return gzip.compress(plain.getvalue(), 0 if large else 6)


def _add(archive: tarfile.TarFile, path: str, kind: bytes, data: bytes = b"", **more: Any) -> None:
    info = tarfile.TarInfo(path)
    info.type, info.size = kind, len(data)
    for name, value in more.items():
        setattr(info, name, value)
    archive.addfile(info, io.BytesIO(data))


# --- publishing -------------------------------------------------------------------------------------------------------


def skill_folders(layout: Layout) -> dict[str, str]:
    """The folders that hold a SKILL.md, with its file name; of nested ones the outermost."""
    found: dict[str, str] = {}
    for path in sorted([*layout.files, *layout.links, *layout.specials, *layout.folders]):
        parts = path.split("/")
        at = next((n for n, part in enumerate(parts) if part.casefold() == "skill.md" and n), None)
        if at is not None and not any(part.startswith(".") or part == "node_modules" for part in parts[:at]):
            folder = "/".join(parts[:at])
            if not any(folder.startswith(f"{outer}/") for outer in found):
                found.setdefault(folder, parts[at])
    return found


def _below(held: Mapping[str, Any], folder: str) -> dict[str, Any]:
    return {path.removeprefix(f"{folder}/"): what for path, what in held.items() if path.startswith(f"{folder}/")}


def inside(layout: Layout, folder: str) -> Layout:
    """The layout of one skill."""
    folders = tuple(path.removeprefix(f"{folder}/") for path in layout.folders if path.startswith(f"{folder}/"))
    return Layout(
        _below(layout.files, folder), _below(layout.links, folder), _below(layout.specials, folder), folders=folders
    )


def told(layout: Layout, folder: str) -> tuple[str, str] | None:
    """Name and description of a skill, ``None`` of one that nobody can use."""
    data = layout.files.get(f"{folder}/{skill_folders(layout).get(folder)}")
    skill = None if data is None else parse_skill(data, profile=LENIENT, directory=folder.rpartition("/")[2]).skill
    return None if skill is None else (skill.name, skill.description)


def described(layout: Layout) -> dict[str, tuple[str, str]]:
    """An index that has a name and a description for every skill, also where its SKILL.md has none."""
    return {
        folder: told(layout, folder) or (folder.rpartition("/")[2], f"The skill of the folder {folder}.")
        for folder in skill_folders(layout)
    }


def as_found(layout: Layout) -> dict[str, tuple[str, str]]:
    """An index that has every folder, and a description only of the skills that can be used."""
    folders = {path.partition("/")[0] for path in layout.files if "/" in path}
    visible = sorted(folder for folder in folders if not folder.startswith((".", "__")) and folder != "node_modules")
    return {folder: told(layout, folder) or (folder, "") for folder in visible}


def publish_archives(site: Site, prefix: str, layout: Layout, index: Mapping[str, tuple[str, str]]) -> None:
    """Publish skills as an index of v0.2.0 has them, one archive a skill."""
    skills = []
    for folder, (name, description) in index.items():
        data, url = zipped(inside(layout, folder)), f"{quote(folder)}.zip"
        site.put(f"{prefix}/.well-known/agent-skills/{url}", data, Content_Type="application/zip")
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        skills.append({"name": name, "type": "archive", "description": description, "url": url, "digest": digest})
    site.publish(f"{prefix}/.well-known/agent-skills/index.json", skills)


def publish_files(site: Site, prefix: str, layout: Layout, index: Mapping[str, tuple[str, str]]) -> None:
    """Publish skills as an index of v0.1.0 has them: the files of each in the folder of its name."""
    skills = []
    for folder, (_, description) in index.items():
        name, files = folder.rpartition("/")[2], inside(layout, folder).files
        for path, data in files.items():
            site.put(f"{prefix}/.well-known/skills/{quote(name)}/{quote(path)}", data)
        skills.append({"name": name, "description": description, "files": sorted(files)})
    site.publish(f"{prefix}/.well-known/skills/index.json", skills, schema=None)


PUBLISHERS: dict[str, tuple[str, Callable[..., None]]] = {
    "http 0.2.0": ("agent-skills", publish_archives),
    "http 0.1.0": ("skills", publish_files),
}


# --- places -----------------------------------------------------------------------------------------------------------


@dataclass
class Places:
    """Makes sources while the ``with`` block lasts; servers start when they are first needed."""

    base: Path
    numbers: Iterator[int] = field(default_factory=count)
    prefixes: dict[int, str] = field(default_factory=dict)

    def __enter__(self) -> Places:
        self._stack = ExitStack()
        self._started: dict[str, Any] = {}
        self._keep: list[ResourceSource] = []
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def make(self, kind: str, layout: Layout, **options: Any) -> ResourceSource:
        """Return a source of some kind that holds a layout."""
        source, prefix = getattr(self, f"_{kind.replace(' ', '_').replace('.', '')}")(layout, **options)
        self.prefixes[id(source)] = prefix
        self._keep.append(source)  # so that no other one gets its id
        return source

    def relative(self, source: ResourceSource, location: str | None) -> str | None:
        """Return a location as it is in the layout; one that is not of the source, as it is."""
        prefix = self.prefixes[id(source)]
        if location is None or location in (prefix, prefix.rstrip("/")):
            return None
        if not location.startswith(prefix):
            return location
        path = location.removeprefix(prefix)
        if prefix.startswith("http"):
            path = unquote(path)
            path = f"{path.removesuffix('.zip')}/SKILL.md" if path.endswith(".zip") else path
        return path

    # --- on disk ----------------------------------------------------------------------------------------------------

    def _directory(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        root = write(self.base / f"place-{next(self.numbers)}" / "skills", layout)
        return DirectorySource(root, settle=0, **options), f"{root}/"

    def _package(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        name = f"every_package_{next(self.numbers)}"
        site = self.base / f"site-{name}"
        root = write(site / name / "skills", layout)
        (site / name / "__init__.py").write_bytes(_BOOM)
        with importable(site):
            return package_source(f"{name}.skills", **options), f"{root}/"

    def _zipped_package(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        name = f"every_package_{next(self.numbers)}"
        top = f"{name}/skills/"
        inner = Layout(
            {f"{name}/__init__.py": _BOOM, **{top + path: data for path, data in layout.files.items()}},
            {top + path: target for path, target in layout.links.items()},
            folders=(top.rstrip("/"), *(top + path for path in layout.folders)),
        )
        path = self.base / f"{name}.zip"
        path.write_bytes(zipped(inner))
        with importable(path):
            return package_source(f"{name}.skills", **options), ""

    # --- in memory --------------------------------------------------------------------------------------------------

    def _mapping(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        files = {**layout.files, **{f"{folder}/.keep": b"" for folder in layout.folders}}
        return MappingSource(files, any_names=True, **options), ""

    def _zip(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        return zip_source(zipped(layout), **options), ""

    def _tar(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        return tar_source(tarred(layout), **options), ""

    # --- file systems -----------------------------------------------------------------------------------------------

    def _memory(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        import fsspec

        store = fsspec.filesystem("memory")
        root = f"every-{next(self.numbers)}"
        store.makedirs(f"/{root}")
        for folder in layout.folders:
            store.makedirs(f"/{root}/{folder}", exist_ok=True)
        for path, data in layout.files.items():
            store.pipe_file(f"/{root}/{path}", data)
        self._once("memory", lambda: self._stack.callback(_forget, store))
        return fsspec_source(f"memory://{root}", **options), f"memory://{root}/"

    def _s3(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        system, storage = self._once("s3", self._bucket)
        root = f"every-source/{next(self.numbers)}"
        for folder in layout.folders:
            system.pipe_file(f"{root}/{folder}/.keep", b"")
        for path, data in layout.files.items():
            system.pipe_file(f"{root}/{path}", data)
        return fsspec_source(f"s3://{root}", **storage, **options), f"s3://{root}/"

    def _bucket(self) -> tuple[Any, dict[str, Any]]:
        import fsspec
        import pytest

        from s3_server import S3Server

        patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        server = self.bucket = self._stack.enter_context(S3Server())
        system = fsspec.filesystem("s3", **server.options)
        with suppress(FileExistsError):  # all servers of a process share what they hold
            system.mkdir("every-source")
        # One client for all sources: making one takes longer than a case.
        return system, {**server.options, "skip_instance_cache": False}

    # --- the web ----------------------------------------------------------------------------------------------------

    def _http_020(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        return self._published("http 0.2.0", layout, **options)

    def _http_010(self, layout: Layout, **options: Any) -> tuple[ResourceSource, str]:
        return self._published("http 0.1.0", layout, **options)

    def _published(
        self, kind: str, layout: Layout, *, fresh: float = 600, index: Index = described, **options: Any
    ) -> tuple[ResourceSource, str]:
        folder, publish = PUBLISHERS[kind]
        prefix = f"/every-{next(self.numbers)}"
        publish(self.site, prefix, layout, index(layout))
        # One context for all sources: to read the authorities anew takes longer than a case, and nothing here is TLS.
        trust = self._once("trust", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        bounds = HttpLimits(deadline=60, fresh=fresh, archive_bytes=64 << 20)
        source = http_source(
            self.site.url + prefix, allow_private=True, ssl_context=trust, http_limits=bounds, **options
        )
        return source, f"{self.site.url}{prefix}/.well-known/{folder}/"

    def publish_anew(self, kind: str, source: ResourceSource, layout: Layout, index: Index) -> None:
        """Publish something else at the address of a source."""
        folder, publish = PUBLISHERS[kind]
        prefix = self.prefixes[id(source)].removeprefix(self.site.url).removesuffix(f"/.well-known/{folder}/")
        publish(self.site, prefix, layout, index(layout))

    @property
    def site(self) -> Site:
        """The web server."""
        return self._once("site", lambda: self._stack.enter_context(Site()))

    def _once(self, what: str, start: Callable[[], Any]) -> Any:
        if what not in self._started:
            self._started[what] = start()
        return self._started[what]


def _forget(store: Any) -> None:
    store.store.clear()
    store.pseudo_dirs[:] = [""]


@contextmanager
def importable(place: Path) -> Iterator[None]:
    """Have a folder or a zip on the path of the import system."""
    sys.path.insert(0, str(place))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(place))
        sys.path_importer_cache.pop(str(place), None)
