"""The format: bytes and a :class:`Profile` give a :class:`~skillbelt.models.Skill` and coded diagnostics.

This package alone knows fences and YAML. It is pure: it reads no file, runs nothing, and whatever the bytes hold, it
returns; the worst outcome is a :class:`ParsedSkill` without a skill. The order of reading is that of the format
document: size, byte order mark, encoding, fences, YAML, fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillbelt.errors import ContentTooLargeError, InvalidSkillError
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic, JsonValue, Skill
from skillbelt.parsing import fences, nodes
from skillbelt.parsing.fields import read_fields
from skillbelt.parsing.names import name_key, usable_label
from skillbelt.parsing.profiles import LENIENT, NAMESPACED, STRICT, Profile
from skillbelt.parsing.repair import repair, salvage
from skillbelt.parsing.report import Report

__all__ = [
    "LENIENT",
    "NAMESPACED",
    "SKILL_FILE",
    "STRICT",
    "ParsedSkill",
    "Profile",
    "Report",
    "invalid_skill",
    "name_key",
    "parse_frontmatter",
    "parse_skill",
    "usable_label",
]

SKILL_FILE = "SKILL.md"

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
    return _parse(
        data,
        Report(profile, path),
        directory=directory,
        filename=filename,
        limits=limits or Limits(),
        source=source,
        whole=True,
    )


def parse_frontmatter(
    head: bytes,
    *,
    profile: Profile = LENIENT,
    directory: str | None = None,
    filename: str = SKILL_FILE,
    limits: Limits | None = None,
    path: str | None = None,
    source: str | None = None,
) -> ParsedSkill:
    """Parse the first bytes of a SKILL.md, up to its closing fence; the skill has no instructions and no digest.

    Takes the arguments of :func:`parse_skill` and looks at nothing after the fence (S1-20, S3-24).
    """
    return _parse(
        head,
        Report(profile, path),
        directory=directory,
        filename=filename,
        limits=limits or Limits(),
        source=source,
        whole=False,
    )


def _parse(
    data: bytes,
    report: Report,
    *,
    directory: str | None,
    filename: str,
    limits: Limits,
    source: str | None,
    whole: bool,
) -> ParsedSkill:
    if filename != SKILL_FILE:
        report.add("filename-case", f"The file is called {filename!r}.", hint=f"Rename it to {SKILL_FILE}.")
    if len(data) > limits.skill_bytes:
        _too_large(report, f"SKILL.md is larger than {limits.skill_bytes} bytes", "skill_bytes")
        return _finish(report, None)
    original = data
    if fences.is_utf16(data):
        report.add("encoding-utf16", "The file is UTF-16.", hint="Save it as UTF-8.")
        data = fences.to_utf8(data).removeprefix(b"\xef\xbb\xbf")
    halves = fences.split(data)
    if halves.bom:
        report.add("encoding-bom", "The file starts with a byte order mark.", hint="Save it as UTF-8 without BOM.")
    if not _check_halves(halves, len(data), report, limits):
        return _finish(report, None)
    block = _decode(data[halves.start : halves.end], report, first_line=halves.line + 1)
    body = _decode(data[halves.body :], report, first_line=0) if whole else ""
    _check_control(block, body, report, halves.line + 1)
    root, salvaged = _compose(block, report, halves.line + 1)
    if root is None:
        return _finish(report, None)
    read = read_fields(root, report, directory=directory, first_line=halves.line + 1, salvaged=salvaged)
    if whole and not body.strip():
        report.add("body-empty", "There are no instructions after the frontmatter.", hint="Write the body.")
    if read is None or report.has("error"):
        return _finish(report, None, root)
    frontmatter, namespace = read
    skill = Skill(
        frontmatter=frontmatter,
        instructions=body,
        namespace=namespace,
        location=report.path,
        digest=hashlib.sha256(original).hexdigest() if whole else "",
        source=source,
        body_offset=halves.body,
    )
    return _finish(report, skill, root if whole else None)


def _finish(report: Report, skill: Skill | None, root: nodes.Mapping | None = None) -> ParsedSkill:
    found = sorted(report.found, key=lambda d: (d.severity != "error", d.line is None, d.line or 0))
    raw = {key: nodes.typed(node) for key, node in root.pairs.items()} if root is not None else {}
    return ParsedSkill(skill, tuple(found), raw)


def _check_halves(halves: fences.Halves, size: int, report: Report, limits: Limits) -> bool:
    """Report what is wrong with the fences; return whether there is a frontmatter to read."""
    if halves.state == "missing":
        report.add(
            "frontmatter-missing",
            "There is no frontmatter: the file does not start with a '---' line.",
            line=1,
            hint="Start it with '---', 'name: …', 'description: …', '---'.",
        )
        return False
    end = halves.body if halves.state == "found" else size
    if end > limits.frontmatter_bytes:
        _too_large(report, f"The frontmatter is larger than {limits.frontmatter_bytes} bytes", "frontmatter_bytes")
        return False
    if halves.state != "found":
        report.add(
            "frontmatter-unclosed",
            "The frontmatter is never closed by a '---' line.",
            line=halves.line,
            hint="Add a line '---' after the last field.",
        )
        return False
    if halves.leading:
        report.add(
            "frontmatter-leading-content",
            "Blank lines or comments stand before the frontmatter.",
            line=1,
            hint="Make '---' the first line.",
        )
    if halves.dots:
        report.add("frontmatter-delimiter", "The frontmatter is closed by '...'.", hint="Close it with '---'.")
    return True


def _too_large(report: Report, message: str, limit: str) -> None:
    report.add("file-too-large", f"{message}.", hint=f"Shorten it, or raise Limits.{limit}.")


def _decode(data: bytes, report: Report, *, first_line: int) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + fences.line_breaks(data[: error.start]) if first_line else None
        if not any(d.code == "encoding-invalid" for d in report.found):
            report.add(
                "encoding-invalid",
                "The file is not valid UTF-8; the bytes that are not became U+FFFD.",
                line=line,
                hint="Save it as UTF-8.",
            )
        text = data.decode("utf-8", errors="replace")
    # Line ends of the frontmatter are not content; those of the body stay as they are (S3-15).
    return text.replace("\r\n", "\n").replace("\r", "\n") if first_line else text


def _check_control(block: str, body: str, report: Report, first_line: int) -> None:
    where = fences.control_characters(block)
    line = first_line + block[: where.start()].count("\n") if where else None
    where = where or fences.control_characters(body)
    if where:
        report.add(
            "control-chars",
            f"The file holds the control character U+{ord(where[0]):04X}.",
            line=line,
            hint="Remove it.",
        )


def _compose(block: str, report: Report, first_line: int) -> tuple[nodes.Mapping | None, bool]:
    """Return the block's mapping and whether it was salvaged; repairs when the profile allows it."""
    salvaged = False
    try:
        root = nodes.compose(block)
    except nodes.YamlProblem as problem:
        line = first_line + block.count("\n", 0, problem.at) if problem.at is not None else None
        root = None
        code = "yaml-invalid"
        if problem.code != "yaml-invalid":
            code = problem.code
        elif report.profile.repair:
            code, root = _mend(block)
        salvaged = code == "yaml-salvaged"
        report.add(code, f"{_MESSAGES[code]}: {problem}.", line=line, hint=_HINTS[code])
        if root is None:
            return None, False
    if root is None:
        report.add(
            "frontmatter-empty",
            "The frontmatter is empty.",
            line=first_line - 1,
            hint="Give it at least 'name' and 'description'.",
        )
        return None, False
    if not isinstance(root, nodes.Mapping):
        report.add(
            "frontmatter-not-mapping",
            f"The frontmatter is a {nodes.type_name(root)}; it must be a mapping.",
            line=first_line,
            hint="Write 'key: value' lines.",
        )
        return None, False
    return root, salvaged


_MESSAGES = {
    "yaml-invalid": "The frontmatter is not valid YAML",
    "yaml-unsafe": "The frontmatter is YAML that is not allowed",
    "yaml-too-complex": "The frontmatter is YAML that is too complex",
    "yaml-repaired": "The frontmatter was not valid YAML and was repaired",
    "yaml-salvaged": "The frontmatter is not valid YAML; only name and description were kept",
}
_HINTS = {
    "yaml-invalid": "Quote values that hold ': ', '#' or brackets.",
    "yaml-unsafe": "Remove tags and aliases that contain themselves.",
    "yaml-too-complex": "Make it smaller.",
    "yaml-repaired": "Quote the values that hold ': ', '#' or brackets.",
    "yaml-salvaged": "Correct the YAML; permission fields were ignored.",
}


def _mend(block: str) -> tuple[str, nodes.Node | None]:
    try:
        root = repair(block)
    except nodes.YamlProblem as problem:
        if problem.code != "yaml-invalid":
            return problem.code, None
        root = None
    if isinstance(root, nodes.Mapping):
        return "yaml-repaired", root
    saved = salvage(block)
    return ("yaml-salvaged", saved) if saved is not None else ("yaml-invalid", None)
