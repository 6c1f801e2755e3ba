"""From a package to its skill: in memory (:func:`unpack`), or as a folder on disk (:func:`unpack_to`).

Both judge the whole document first. In memory nothing touches the disk (S2-42); on disk the folder appears whole or
not at all.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from skillbelt.errors import SourceError
from skillbelt.models import JsonValue
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.reading import read_package
from skillbelt.packages.schema import SkillPackage
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.mapping import MappingSource

__all__ = ["Package", "unpack", "unpack_to"]


class _HasDocument(Protocol):
    @property
    def document(self) -> Mapping[str, JsonValue]: ...


Package = bytes | str | Mapping[str, JsonValue] | SkillPackage | _HasDocument
"""What can be unpacked: JSON text, a document, a :class:`~skillbelt.packages.SkillPackage` or a packed skill."""


def unpack(
    document: Package, *, profile: Profile = LENIENT, limits: PackageLimits | None = None, label: str | None = None
) -> MappingSource:
    r"""Return a package as a source of one skill, in memory (S2-42).

    Args:
        document: The package.
        profile: How strictly it is read; pass :data:`~skillbelt.parsing.STRICT` for one from outside.
        limits: Bounds.
        label: What the source is called; the skill's name without one.

    Raises:
        PackageValidationError: It is not valid; ``details["violations"]`` lists every violation.

    Example:
        >>> text = "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"
        >>> source = unpack(
        ...     {
        ...         "format": "skillbelt.package/1",
        ...         "type": "skill",
        ...         "name": "mail",
        ...         "description": "Sorts mail.",
        ...         "instructions": "Begin.\n",
        ...         "files": {"SKILL.md": {"text": text}},
        ...     }
        ... )
        >>> source.load("mail").instructions
        'Begin.\n'
    """
    limits = limits or PackageLimits()
    package = _read(document, profile, limits)
    contents = package.contents()
    return MappingSource(
        {f"{package.name}/{path}": content.data for path, content in contents.items()},
        limits=limits.of_a_source(),
        label=label or package.name,
        executable=[f"{package.name}/{path}" for path, content in contents.items() if content.executable],
        any_names=True,
    )


def unpack_to(
    document: Package,
    folder: str | os.PathLike[str],
    *,
    profile: Profile = LENIENT,
    limits: PackageLimits | None = None,
) -> Path:
    """Write a package to disk, as the folder it was packed from, and return the folder.

    The files are written beside the target and moved there at once: another reader sees all of the skill or nothing. A
    process that is killed meanwhile leaves a hidden folder that ends in ``.partial``, and no target.

    Args:
        document: The package.
        folder: The skill's folder, which must not exist or be empty; the folder it lies in must exist. Name it as the
            skill is named, and it is a valid skill folder.
        profile: How strictly the package is read.
        limits: Bounds.

    Raises:
        PackageValidationError: The package is not valid; nothing was written.
        SourceError: The target is there and not empty, or cannot be written; nothing was left behind.
    """
    package = _read(document, profile, limits or PackageLimits())
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder) or "\x00" in os.fspath(folder):
        raise SourceError(f"{folder!r} is not a path; give the folder to write the skill to.")
    target = Path(os.path.abspath(os.path.expanduser(os.fspath(folder))))
    shown = repr(os.fspath(folder))
    try:
        taken = target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir())))
    except OSError as error:
        raise SourceError(f"{shown} cannot be looked into: {error.strerror}.") from error
    if taken:
        raise SourceError(f"{shown} exists and is not an empty folder; give one that does not exist.")
    staging = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.partial")
    try:
        staging.mkdir()
        try:
            for path, content in package.contents().items():
                _write(staging, path, content.data, 0o777 if content.executable else 0o666)
            staging.rename(target)  # takes the place of an empty folder, and of nothing else
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
    except OSError as error:
        raise SourceError(f"{shown} cannot be written: {error.strerror}. Nothing was left there.") from error
    return target


def _read(document: Package, profile: Profile, limits: PackageLimits) -> SkillPackage:
    if not isinstance(document, bytes | str | Mapping | SkillPackage):
        document = document.document
    return read_package(document, profile=profile, limits=limits)


def _write(folder: Path, path: str, data: bytes, mode: int) -> None:
    """Write one new file; the folder is ours and new, so nothing in it can be a link."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
        out.write(data)
