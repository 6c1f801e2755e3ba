"""What an fsspec file system says of a folder: its dialects of type, link and version, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skillbelt.errors import ResourcePathError
from skillbelt.sources.paths import split_path
from skillbelt.sources.tree import EntryKind

__all__ = ["FolderListing", "Info", "is_the_file", "read_listing", "tagged", "version_of"]

Info = Mapping[str, Any]

_TAGS = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "sha256", "CRC", "generation", "VersionId", "version_id")
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created", "date_time", "timeModified")
"""What file systems call the fields that change when a file is written anew. Tags tell contents apart, times only with
luck."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """One listing by name. An object store may use a name for a file and a folder at once."""

    files: Mapping[str, Info]
    folders: Mapping[str, Info]
    others: Mapping[str, EntryKind]


def read_listing(listed: Iterable[Info], folder: str) -> FolderListing:
    """Sort what is in a folder.

    Args:
        listed: What ``ls(folder, detail=True)`` gave.
        folder: Its path in the file system.
    """
    files: dict[str, Info] = {}
    folders: dict[str, Info] = {}
    others: dict[str, EntryKind] = {}
    for info in listed:
        full = str(info["name"]).strip("/")
        name = full.rpartition("/")[2]
        # Object stores list the marker of a folder in the folder itself, and take any key for a name.
        if full == folder.strip("/") or not _nameable(name):
            continue
        if info.get("islink") or info.get("type") == "link":
            others[name] = "link"
        elif info.get("type") == "directory":
            folders[name] = info
        elif info.get("type") == "file":
            files[name] = info
        else:
            others[name] = "other"
    return FolderListing(files, folders, others)


def is_the_file(listed: Iterable[Info], folder: str) -> bool:
    """Whether a listing says that the folder is a file: it then has the file itself, alone."""
    infos = list(listed)
    if len(infos) != 1 or infos[0].get("type") != "file":
        return False
    name = str(infos[0]["name"])
    return name.strip("/") == folder.strip("/") and not name.endswith("/")


def version_of(info: Info) -> str:
    """Return what changes when a file is written anew, as far as the file system says."""
    stamps = [f"{key}={info[key]}" for key in (*_TAGS, *_TIMES) if info.get(key) is not None]
    return ";".join([*stamps, f"size={info.get('size')}"])


def tagged(info: Info) -> bool:
    """Whether the version of a file stands for its content."""
    return any(info.get(tag) is not None for tag in _TAGS)


def _nameable(name: str) -> bool:
    """Whether a name can be asked for; ``..`` and such with a backslash cannot."""
    try:
        return len(split_path(name)) == 1
    except ResourcePathError:
        return False
