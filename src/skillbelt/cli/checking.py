"""``skillbelt validate``: every skill below what was typed, everything that is wrong with each, and a verdict.

Skills are found by the same scan that loads them, so what would not be found when loading is not silently skipped
here: links that lead out, folders that cannot be read and names taken twice are reported as well.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillbelt.cli.console import note, print_diagnostics, print_json, progress, write
from skillbelt.cli.folders import LIMITS, CommandError, check_folder, is_file, is_skill_file
from skillbelt.cli.listing import records
from skillbelt.errors import SkillFileNotFoundError, SourceError
from skillbelt.models import Diagnostic
from skillbelt.parsing import LENIENT, SKILL_FILE, STRICT, Profile
from skillbelt.sources import DirectorySource, validate_skill

__all__ = ["validate"]


@dataclass(slots=True)
class _Findings:
    """SKILL.md files to check by their absolute path, with the diagnostics of each, and what concerns no single one."""

    skills: dict[str, list[Diagnostic]] = field(default_factory=dict)
    around: list[Diagnostic] = field(default_factory=list)

    def everything(self) -> list[Diagnostic]:
        return [*(d for found in self.skills.values() for d in found), *self.around]


def validate(paths: Sequence[str], *, lenient: bool, as_json: bool) -> bool:
    """Check skills and print what was found.

    Args:
        paths: Skill folders, SKILL.md files and folders of skills, as typed.
        lenient: Judge as loading does, instead of by the letter of the specification.
        as_json: Print for machines.

    Returns:
        Whether no error was found.

    Raises:
        CommandError: A path holds nothing to check.
    """
    findings = _Findings()
    with progress() as bar:
        bar.add_task("Searching", total=None)
        for path in paths:
            _collect(path, findings)
        profile = LENIENT if lenient else STRICT
        for location in bar.track(findings.skills, description="Checking"):
            findings.skills[location][:0] = _check(location, profile)
    valid = not any(d.severity == "error" for d in findings.everything())
    if as_json:
        print_json(_record(findings, profile, valid=valid))
        return valid
    print_diagnostics(findings.everything(), stderr=False)
    _say_verdict(findings, valid=valid)
    if not valid and not lenient:
        note("Judged by the specification; --lenient judges as loading does.")
    return valid


def _check(location: str, profile: Profile) -> Sequence[Diagnostic]:
    """Check one SKILL.md; one that cannot be read must not hide the others."""
    try:
        return validate_skill(location, profile=profile)
    except (SkillFileNotFoundError, SourceError) as error:
        code = "skill-file-unreadable" if isinstance(error, SourceError) else "skill-file-missing"
        hint = "Make it readable, under a name in UTF-8."
        return [Diagnostic(code=code, severity="error", message=str(error), path=location, hint=hint)]


def _collect(path: str, findings: _Findings) -> None:
    """Add every SKILL.md at or below ``path``."""
    if is_file(path):
        if not is_skill_file(path):
            raise CommandError(f"{path!r} is not a {SKILL_FILE}; give one, its folder, or a folder of skills.")
        if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise CommandError(f"{path!r} cannot be read: permission denied; make it readable or give another.")
        findings.skills.setdefault(os.path.abspath(path), [])
        return
    source = DirectorySource(check_folder(path), limits=LIMITS)
    locations = {summary.location for summary in source.list()}
    diagnostics = source.diagnostics()
    # Broken and shadowed skills are not listed: what is said of them says where they are.
    locations.update(d.path for d in diagnostics if d.path and is_skill_file(d.path))
    for location in sorted(filter(None, locations)):
        findings.skills.setdefault(location, [])
    for diagnostic in diagnostics:
        if diagnostic.code == "duplicate-name":
            findings.skills[str(diagnostic.path)].append(diagnostic)
        elif diagnostic.path not in findings.skills:
            findings.around.append(diagnostic)
    if not locations and not diagnostics:
        raise CommandError(f"{path!r} holds no skill: there is no {SKILL_FILE} in it or below; give another folder.")


def _count(diagnostics: Sequence[Diagnostic], severity: str) -> int:
    return sum(d.severity == severity for d in diagnostics)


def _say_verdict(findings: _Findings, *, valid: bool) -> None:
    total = len(findings.skills)
    bad = sum(_count(found, "error") > 0 for found in findings.skills.values())
    errors, warnings = (_count(findings.everything(), severity) for severity in ("error", "warning"))
    counted = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}"
    write(f"{_many(total, 'skill')} checked: {total - bad} valid, {bad} not; {counted}.", "green" if valid else "red")


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _record(findings: _Findings, profile: Profile, *, valid: bool) -> dict[str, Any]:
    skills = [
        {
            "name": Path(location).parent.name,
            "location": location,
            "valid": _count(found, "error") == 0,
            "errors": _count(found, "error"),
            "warnings": _count(found, "warning"),
            "diagnostics": records(found),
        }
        for location, found in findings.skills.items()
    ]
    return {
        "valid": valid,
        "profile": profile.title,
        "checked": len(skills),
        "skills": skills,
        "diagnostics": records(findings.around),
    }
