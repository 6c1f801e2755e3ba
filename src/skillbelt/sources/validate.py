"""One skill on disk, checked against the specification: everything that is wrong with it at once."""

from __future__ import annotations

import os
from pathlib import Path

from skillbelt.errors import ResourceError, SkillFileNotFoundError, SourceError
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic
from skillbelt.parsing import SKILL_FILE, STRICT, Profile, Report, parse_skill
from skillbelt.sources.directory import DirectoryTree

__all__ = ["validate_skill"]


def validate_skill(path: str | os.PathLike[str], *, profile: Profile = STRICT) -> tuple[Diagnostic, ...]:
    """Check one skill on disk and report everything at once (S3-10).

    Args:
        path: A skill folder, or its SKILL.md.
        profile: The rules; STRICT is the specification.

    Returns:
        All diagnostics; ``()`` means valid.

    Raises:
        SkillFileNotFoundError: There is no such folder, or no SKILL.md in it.
        SourceError: It cannot be read.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise SourceError(f"path must name a skill folder or its {SKILL_FILE}, not {path!r}.")
    given = os.fspath(path)
    whole = Path(os.path.abspath(given))
    try:
        folder, file = (whole, None) if whole.is_dir() else (whole.parent, whole.name)
        exists = whole.exists()
    except OSError as error:
        raise SourceError(f"{given!r} cannot be read: {error.strerror}.") from error
    if not exists:
        raise SkillFileNotFoundError(f"{given!r} was not found; give a skill folder or its {SKILL_FILE}.")
    if file is not None and file.casefold() != SKILL_FILE.casefold():
        raise SkillFileNotFoundError(f"{given!r} is not a {SKILL_FILE}; give a skill folder or its {SKILL_FILE}.")
    tree = DirectoryTree(folder)
    limits = Limits()
    names = [file] if file else sorted(e.name for e in tree.entries("") if e.name.casefold() == SKILL_FILE.casefold())
    if not names:
        raise SkillFileNotFoundError(f"{given!r} has no {SKILL_FILE}.")
    where = tree.where(names[0])
    try:
        chunk = tree.read("", names[0], size=limits.skill_bytes + 1)
    except ResourceError as error:
        report = Report(profile, where)
        report.add("skill-file-type", str(error), hint=f"Make {names[0]} a regular file inside the skill.")
        return tuple(report.found)
    return parse_skill(
        chunk.data, profile=profile, directory=tree.name, filename=names[0], limits=limits, path=where
    ).diagnostics
