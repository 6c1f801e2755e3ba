"""Published packages in a folder: one file for each content, one for each version, none of them ever changed.

::

    skillbelt-registry.json                    what this folder is
    packages/skl/a1/b2c3….json                 canonical bytes, under the hex digits of their id
    skill/<namespace>/<name>/<version>.json    one entry: id, integrity, description
    .staging/                                  files that are being written

A file is written aside, made durable, and linked to its name, which fails when the name is taken. So a version
appears whole or not at all, two servers on one folder cannot both create it, and a process may be killed at any
moment. Names are judged by the caller before they become paths.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from skillbelt.errors import IntegrityError, PackageConflictError, SourceError
from skillbelt.packages.ids import PackageId
from skillbelt.packages.server.entries import Entry

__all__ = ["MARKER", "DiskStore"]

MARKER = "skillbelt-registry.json"
_FORMAT = {"format": "skillbelt.registry-folder/1"}
_ABANDONED = 3600.0
"""Seconds after which a file in staging belongs to no running publication any more."""


class DiskStore:
    """Packages in a folder, which is made when it does not exist.

    Args:
        folder: Where they are.
        writable: Whether anything will be published; otherwise nothing is created or swept.

    Raises:
        SourceError: The folder cannot be used, or is the folder of something else.
    """

    def __init__(self, folder: str | os.PathLike[str], *, writable: bool = True) -> None:
        self._root = Path(os.path.abspath(os.path.expanduser(os.fspath(folder))))
        self._staging = self._root / ".staging"
        try:
            if writable:
                self._staging.mkdir(parents=True, exist_ok=True)
                self._sweep()
                self._place(self._root / MARKER, json.dumps(_FORMAT).encode())
            known = self._read_json(self._root / MARKER)
        except OSError as error:
            raise SourceError(
                f"The registry folder {str(folder)!r} cannot be used: {error.strerror or error}; choose another."
            ) from None
        except ValueError:
            known = {}
        if known is not None and known.get("format") != _FORMAT["format"]:
            raise SourceError(
                f"The registry folder {str(folder)!r} is of a format that this version does not know; "
                "serve it with the version of skillbelt that wrote it, or choose another folder."
            )

    # --- reading ------------------------------------------------------------------------------------------------------

    def content(self, package: PackageId) -> bytes | None:
        """Return checked canonical bytes; see :class:`~skillbelt.packages.server.entries.Store`.

        Args:
            package: Which.

        Raises:
            IntegrityError: The file was changed by somebody else.
        """
        data = self._read(self._content_path(package))
        if data is not None and hashlib.sha1(data, usedforsecurity=False).hexdigest() != package.sha1:
            raise IntegrityError(f"The stored content of {package} was damaged; publish it again.")
        return data

    def packages(self, namespace: str | None = None) -> Sequence[tuple[str, str]]:
        """Return namespace and name of every package, sorted.

        Args:
            namespace: Only this one.
        """
        top = self._root / "skill"
        spaces = _folders(top) if namespace is None else [namespace]
        return [(space, name) for space in sorted(spaces) for name in sorted(_folders(top / space))]

    def versions(self, namespace: str, name: str) -> Sequence[str]:
        """Return the versions of a package.

        Args:
            namespace: A valid namespace.
            name: A valid name.
        """
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._root / "skill" / namespace / name) as it:
            return [each.name.removesuffix(".json") for each in it if each.name.endswith(".json")]
        return []

    def entry(self, namespace: str, name: str, version: str) -> Entry | None:
        """Return one version.

        Args:
            namespace: A valid namespace.
            name: A valid name.
            version: A concrete version.

        Raises:
            IntegrityError: Its file cannot be understood.
        """
        try:
            record = self._read_json(self._entry_path(namespace, name, version))
            return None if record is None else Entry.read(record)
        except (ValueError, TypeError):
            raise IntegrityError(f"The stored entry of {namespace}/{name}@{version} was damaged.") from None

    # --- writing ------------------------------------------------------------------------------------------------------

    def publish(self, entry: Entry, canonical: bytes) -> bool:
        """Add a version, its content first: what an entry names is always there.

        Args:
            entry: What to add.
            canonical: Its content, which has the id that the entry says.

        Returns:
            Whether it was new.

        Raises:
            PackageConflictError: The version exists with other content.
        """
        known = self.entry(entry.namespace, entry.name, entry.version)
        if known is None:
            self._keep(PackageId.parse(entry.id), canonical)
            path = self._entry_path(entry.namespace, entry.name, entry.version)
            if self._place(path, json.dumps(entry.record(), ensure_ascii=False, indent=1).encode()):
                return True
            known = self.entry(entry.namespace, entry.name, entry.version)  # another server was faster
        if known is None or known.id != entry.id:
            raise PackageConflictError(
                f"{entry.namespace}/{entry.name}@{entry.version} is published with other content, and a version never "
                "changes; publish under a new version.",
                details={"published": known.id if known else None, "sent": entry.id},
            )
        return False

    def _keep(self, package: PackageId, canonical: bytes) -> None:
        """Write content unless it is there; content that was damaged is replaced."""
        path = self._content_path(package)
        if self._place(path, canonical):
            return
        try:
            self.content(package)
        except IntegrityError:
            self._written(canonical).replace(path)

    def _place(self, path: Path, data: bytes) -> bool:
        """Make a file with all of its bytes at once; return ``False`` when the name is taken."""
        if path.exists():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = self._written(data)
        try:
            os.link(staged, path)
        except FileExistsError:
            return False
        finally:
            staged.unlink()
        _sync_folder(path.parent)
        return True

    def _written(self, data: bytes) -> Path:
        """Return a new durable file in staging."""
        staged = self._staging / secrets.token_hex(16)
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            staged.unlink()
            raise
        return staged

    def _sweep(self) -> None:
        """Remove what killed processes left in staging."""
        with os.scandir(self._staging) as found:
            for each in found:
                with suppress(FileNotFoundError):
                    if time.time() - each.stat(follow_symlinks=False).st_mtime > _ABANDONED:
                        os.unlink(each.path)  # noqa: PTH108 - no Path is needed

    # --- files --------------------------------------------------------------------------------------------------------

    def _content_path(self, package: PackageId) -> Path:
        return self._root / "packages" / str(package.type.prefix) / package.sha1[:2] / f"{package.sha1[2:]}.json"

    def _entry_path(self, namespace: str, name: str, version: str) -> Path:
        return self._root / "skill" / namespace / name / f"{version}.json"

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _read_json(self, path: Path) -> dict[str, Any] | None:
        data = self._read(path)
        record = None if data is None else json.loads(data)
        if record is not None and not isinstance(record, dict):
            raise ValueError("no object")
        return record


def _folders(path: Path) -> Iterator[str]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as found:
        yield from (each.name for each in found if each.is_dir())


def _sync_folder(path: Path) -> None:
    """Make a new name durable, where the system can."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
