"""Rules for a whole document: its fields, its files, and that both say the same.

The rules for a skill's fields are those of :mod:`skillbelt.parsing`, asked twice: of SKILL.md, and of the fields that
repeat it. Nothing raises here; a document that breaks one rule is judged by all others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from types import MappingProxyType

from skillbelt.limits import Limits
from skillbelt.models import Diagnostic
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.projection import PROJECTED, project
from skillbelt.packages.tree_rules import read_files
from skillbelt.packages.versions import is_concrete
from skillbelt.packages.violations import Violation, pointer
from skillbelt.parsing import LENIENT, SKILL_FILE, ParsedSkill, Profile, parse_skill

__all__ = ["PACKING", "as_violation", "broken_rules", "lifecycle_violations", "packing_profile", "parse_packed"]

_MUST = (
    "name-missing",
    "name-type",
    "name-too-long",
    "name-uppercase",
    "name-charset",
    "name-hyphen",
    "name-unsafe",
    "name-namespace",
    "yaml-repaired",
    "yaml-salvaged",
    "filename-case",
)
_REQUIRED = ("name", "description", "instructions")
"""Fields that are said to be missing by the shape."""
_RULED = ("name", "description", "compatibility", "allowed-tools")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?", re.ASCII)
_HUGE = Limits(frontmatter_bytes=1 << 40, skill_bytes=1 << 40)


@cache
def packing_profile(profile: Profile) -> Profile:
    """Return a profile with the rules no package may break, whatever the profile says of them.

    A package is named by its skill, and the name becomes a folder again; its YAML is read by other programs, which
    repair nothing. So the name is a valid one of the open format, and the frontmatter is valid YAML.

    Args:
        profile: STRICT, LENIENT, or one made of them.
    """
    severities = dict(profile.severities) | dict.fromkeys(_MUST, "error")
    return replace(profile, naming="kebab", repair=False, steps=False, severities=MappingProxyType(severities))


PACKING: Profile = packing_profile(LENIENT)
"""What packing and unpacking ask of a skill unless they are told to ask for more."""


def broken_rules(document: Mapping[str, object], profile: Profile, limits: PackageLimits) -> list[Violation]:
    """Return every rule a document breaks, apart from those of its shape.

    Args:
        document: Anything with text as keys.
        profile: How strictly the skill is read.
        limits: Bounds.
    """
    found: list[Violation] = []
    _check_text(document, found)
    found.extend(lifecycle_violations(document))
    files = document.get("files")
    contents = read_files(files, limits, found) if isinstance(files, Mapping) else {}
    skill_file = contents.get(SKILL_FILE)
    if skill_file is not None:
        found.extend(_skill_violations(document, skill_file.data, profile, limits))
        return found
    if isinstance(files, Mapping) and SKILL_FILE not in files:
        message = f"there is no {SKILL_FILE}; a skill is a folder with one."
        found.append(Violation("/files", "skill-file-missing", message))
    found.extend(_field_violations(document, profile))
    return found


def parse_packed(data: bytes, profile: Profile, limits: PackageLimits, *, directory: str | None = None) -> ParsedSkill:
    """Parse the SKILL.md of a package.

    Args:
        data: Its bytes.
        profile: How strictly; see :func:`packing_profile`.
        limits: ``skill_bytes`` is its bound.
        directory: Name of the folder it is packed from; a package has none.
    """
    return parse_skill(data, profile=packing_profile(profile), directory=directory, limits=_bounds(limits))


def as_violation(diagnostic: Diagnostic) -> Violation:
    """Return an error of a SKILL.md as a violation of the document that holds it.

    Args:
        diagnostic: The error.
    """
    line = f"line {diagnostic.line}: " if diagnostic.line else ""
    return Violation(pointer("files", SKILL_FILE), diagnostic.code, f"{line}{diagnostic.message}")


def lifecycle_violations(document: Mapping[str, object]) -> list[Violation]:
    """Judge ``version`` and ``release_date``.

    Args:
        document: Anything with text as keys.
    """
    found: list[Violation] = []
    version, date = document.get("version"), document.get("release_date")
    if isinstance(version, str) and not (is_concrete(version) and version.startswith("v")):
        found.append(Violation("/version", "version", "it is no concrete version such as 'v1.2.3'."))
    if isinstance(date, str) and not _is_date(date):
        message = "it is no date such as '2026-01-31' or '2026-01-31T12:00:00Z'."
        found.append(Violation("/release_date", "release-date", message))
    return found


@cache
def _bounds(limits: PackageLimits) -> Limits:
    head = min(Limits().frontmatter_bytes, limits.skill_bytes)
    return Limits(skill_bytes=limits.skill_bytes, frontmatter_bytes=head)


def _skill_violations(
    document: Mapping[str, object], data: bytes, profile: Profile, limits: PackageLimits
) -> list[Violation]:
    """Judge SKILL.md, and whether the fields say what it says."""
    parsed = parse_packed(data, profile, limits)
    errors = [d for d in parsed.diagnostics if d.severity == "error"]
    # What an invalid SKILL.md says can be compared all the same.
    skill = parsed.skill or parse_skill(data, profile=LENIENT, limits=_bounds(limits)).skill
    mismatches = [] if skill is None else list(_mismatches(document, project(skill)))
    if skill is not None and not errors and not mismatches:
        return []  # then the fields are valid as SKILL.md is
    ruled = _field_violations(document, profile)
    said = {(violation.path, violation.code) for violation in ruled}
    mine = [as_violation(d) for d in errors if (pointer(d.field or ""), d.code) not in said]
    return [*ruled, *mine, *mismatches]


def _mismatches(document: Mapping[str, object], expected: Mapping[str, object]) -> Iterator[Violation]:
    for field in PROJECTED:
        if field in document and field not in expected:
            message = f"{SKILL_FILE} has no {field}; leave it out."
        elif field in document and document[field] != expected[field]:
            message = f"it differs from what {SKILL_FILE} says; {SKILL_FILE} is the truth."
        elif field in expected and field not in document and field not in _REQUIRED:
            message = f"it is missing, and {SKILL_FILE} has one."
        else:
            continue
        yield Violation(pointer(field), "projection-mismatch", message)


def _field_violations(document: Mapping[str, object], profile: Profile) -> list[Violation]:
    """Judge the fields of level 1 by the rules of the format, as if they stood in a SKILL.md."""
    lines = [f"{field}: {_quoted(value)}\n" for field in _RULED if isinstance(value := document.get(field), str)]
    text = f"---\n{''.join(lines)}---\nx\n"
    diagnostics = parse_skill(text, profile=packing_profile(profile), limits=_HUGE).diagnostics
    judged = [d for d in diagnostics if d.severity == "error" and d.field in _RULED]
    return [
        Violation(pointer(d.field), d.code, d.message)
        for d in judged
        if d.field is not None and isinstance(document.get(d.field, ""), str)
    ]


def _quoted(text: str) -> str:
    """Return text as a YAML scalar on one line, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)
    return f'"{escaped}"'


def _check_text(document: Mapping[str, object], found: list[Violation]) -> None:
    """Every string of a document is Unicode text in NFC; those of the files are judged with them."""
    for field in (*PROJECTED, "version", "release_date"):
        value = document.get(field)
        if isinstance(value, str):
            _check_string(value, found, field)
        elif isinstance(value, Mapping):
            for key, below in value.items():
                _check_string(key, found, field, key)
                if isinstance(below, str):
                    _check_string(below, found, field, key)
        elif value is None and field in document:
            found.append(Violation(pointer(field), f"{field}-type", "it is null; leave it out instead."))


def _check_string(text: str, found: list[Violation], *place: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        found.append(Violation(pointer(*place), "not-unicode", "it has half a character (a surrogate)."))
        return
    if not unicodedata.is_normalized("NFC", text):
        found.append(Violation(pointer(*place), "not-nfc", "it is not in Unicode's normal form NFC."))


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and datetime.fromisoformat(text) is not None
    except ValueError:
        return False
