"""The format: bytes and a :class:`Profile` give a :class:`~skillbelt.models.Skill` and coded diagnostics.

This package alone knows fences and YAML. It is pure: it reads no file, runs nothing, and whatever the bytes hold, it
returns; the worst outcome is a :class:`ParsedSkill` without a skill. The order of reading is that of the format
document: size, byte order mark, encoding, fences, YAML, fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from skillbelt.errors import ContentTooLargeError, InvalidSkillError
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic, JsonValue, Skill, SkillSummary
from skillbelt.parsing import fences, nodes
from skillbelt.parsing.names import callable_name, name_key, usable_label
from skillbelt.parsing.plainest import plain_pairs, plainest
from skillbelt.parsing.profiles import LENIENT, NAMESPACED, STRICT, Profile
from skillbelt.parsing.reading import SKILL_FILE, read_document
from skillbelt.parsing.report import Report
from skillbelt.parsing.simple import flattened, simple

__all__ = [
    "LENIENT",
    "NAMESPACED",
    "SKILL_FILE",
    "STRICT",
    "ParsedSkill",
    "ParsedSummary",
    "Profile",
    "Report",
    "callable_name",
    "invalid_skill",
    "name_key",
    "parse_frontmatter",
    "parse_skill",
    "usable_label",
]

_REASONS = 700
"""How many characters of reasons an error message holds; it may be shown to a model."""


@dataclass(frozen=True, slots=True)
class ParsedSkill:
    """What parsing gave.

    Attributes:
        skill: The skill, ``None`` when an error keeps it from being used.
        diagnostics: Everything found: errors first, then by line, what has no line last.
        raw: The frontmatter as typed JSON, untrimmed, for comparison with other readers (SPEC-132).
    """

    skill: Skill | None
    diagnostics: tuple[Diagnostic, ...]
    raw: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)

    def unwrap(self) -> Skill:
        """Return the skill.

        Raises:
            InvalidSkillError: There is none; the message names the first errors, ``.diagnostics`` has all.
            ContentTooLargeError: There is none because it is too large.
        """
        if self.skill is None:
            raise invalid_skill("This SKILL.md", self.diagnostics)
        return self.skill


class ParsedSummary(NamedTuple):
    """What parsing a frontmatter alone gave.

    Attributes:
        summary: Level 1, ``None`` when an error keeps the skill from being used.
        diagnostics: As in :class:`ParsedSkill`, as far as the frontmatter tells.
        written_name: The ``name`` field as it stands, of a skill that cannot be used.
    """

    summary: SkillSummary | None
    diagnostics: tuple[Diagnostic, ...]
    written_name: str | None = None


def invalid_skill(what: str, diagnostics: tuple[Diagnostic, ...]) -> InvalidSkillError:
    """Return the exception for a skill that cannot be used.

    Args:
        what: Subject of the sentence, without a host path.
        diagnostics: All of them; the first errors are named in the message, which is bounded.
    """
    errors = [d for d in diagnostics if d.severity == "error"]
    reasons = [f"{f'line {d.line}: ' if d.line else ''}{d.message}" for d in errors] or ["no reason was given."]
    told, room = 1, _REASONS - len(reasons[0])
    while told < len(reasons) and len(reasons[told]) < room:
        room -= len(reasons[told]) + 1
        told += 1
    more = f" There are {len(reasons) - told} more errors." if told < len(reasons) else ""
    kind = ContentTooLargeError if any(d.code == "file-too-large" for d in errors) else InvalidSkillError
    return kind(f"{what} cannot be loaded: {' '.join(reasons[:told])}{more}", diagnostics)


def parse_skill(
    data: bytes | str,
    *,
    profile: Profile = LENIENT,
    directory: str | None = None,
    filename: str = SKILL_FILE,
    limits: Limits | None = None,
    path: str | None = None,
    source: str | None = None,
) -> ParsedSkill:
    r"""Parse a whole SKILL.md.

    Args:
        data: The file's bytes; text is taken as UTF-8.
        profile: How strictly; see :data:`STRICT`, :data:`LENIENT`, :data:`NAMESPACED`.
        directory: Name of its folder, for the name rules; ``None`` when there is none.
        filename: Its file name.
        limits: Bounds on size.
        path: What diagnostics and ``Skill.location`` say; absolute when it is on disk.
        source: Label of the place it came from.

    Returns:
        The skill and everything worth saying about it. Never raises for what the bytes hold.

    Example:
        >>> parsed = parse_skill("---\nname: mail\ndescription: Sorts mail: by sender.\n---\nBegin.\n")
        >>> parsed.skill.description, [d.code for d in parsed.diagnostics]
        ('Sorts mail: by sender.', ['yaml-repaired'])
    """
    if isinstance(data, str):
        data = data.encode("utf-8", errors="surrogatepass")  # half a character is then reported like any other
    report = Report(profile, path)
    document = read_document(
        data, report, directory=directory, filename=filename, limits=limits or Limits(), whole=True
    )
    fields = document.fields
    if fields is None or report.has("error"):
        return ParsedSkill(None, report.ordered(), document.raw())
    skill = Skill(
        frontmatter=fields.frontmatter(),
        instructions=document.body,
        namespace=fields.namespace,
        location=path,
        digest=hashlib.sha256(data).hexdigest(),
        source=source,
        body_offset=document.body_offset,
    )
    return ParsedSkill(skill, report.ordered(), document.raw())


def parse_frontmatter(
    head: bytes,
    *,
    profile: Profile = LENIENT,
    directory: str | None = None,
    filename: str = SKILL_FILE,
    limits: Limits | None = None,
    path: str | None = None,
    source: str | None = None,
    halves: fences.Halves | None = None,
) -> ParsedSummary:
    """Parse the first bytes of a SKILL.md, up to its closing fence, to level 1.

    Takes the arguments of :func:`parse_skill` and looks at nothing after the fence (S1-20, S3-24); ``halves`` are
    those of ``head`` when the caller split it already.
    """
    limits = limits or Limits()
    halves = halves or fences.split(head)
    composed: nodes.Node | None = None
    if halves.plain and filename == SKILL_FILE and profile.naming != "namespaced":
        told, composed = _plain(head, halves, directory, limits)
        if told is not None:
            return ParsedSummary(SkillSummary(name=told[0], description=told[1], source=source, location=path), ())
    report = Report(profile, path)
    document = read_document(
        head,
        report,
        directory=directory,
        filename=filename,
        limits=limits,
        whole=False,
        halves=halves,
        composed=composed,
    )
    if document.fields is None or report.has("error"):
        return ParsedSummary(None, report.ordered(), document.written_name())
    return ParsedSummary(document.fields.summary(source, path), report.ordered())


def _plain(
    head: bytes, halves: fences.Halves, directory: str | None, limits: Limits
) -> tuple[tuple[str, str] | None, nodes.Node | None]:
    """Return name and description of a head no profile has anything to say about; else what was composed of it."""
    if halves.body > limits.frontmatter_bytes or len(head) > limits.skill_bytes:
        return None, None
    try:
        block = head[halves.start : halves.end].decode()
    except UnicodeDecodeError:
        return None, None
    told = plainest(block, directory)
    if told is not None:
        return told, None
    composed = simple(block)
    pairs = nodes.flat(block) if composed is None else flattened(composed)
    return (None if pairs is None else plain_pairs(pairs, block, directory)), composed
