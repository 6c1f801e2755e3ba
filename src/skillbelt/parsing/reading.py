"""From bytes to fields: the order in which a SKILL.md is read, and what each step has to say.

Size, byte order mark, encoding, fences, control characters, YAML with its repairs, fields. Nothing here raises for
what a file holds; each step reports, and the first that leaves nothing to go on with ends the reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillbelt.limits import Limits
from skillbelt.models import JsonValue
from skillbelt.parsing import fences, nodes
from skillbelt.parsing.fields import Fields, read_fields
from skillbelt.parsing.nodes import YamlProblem
from skillbelt.parsing.repair import repair, salvage
from skillbelt.parsing.report import Report
from skillbelt.text import estimate_tokens

__all__ = ["SKILL_FILE", "Document", "read_document"]

SKILL_FILE = "SKILL.md"

_LINES = 500
_TOKENS = 5000
"""What the specification recommends that instructions stay below."""


@dataclass(frozen=True, slots=True)
class Document:
    """What was read.

    Attributes:
        fields: ``None`` when there is no name or no description to use.
        root: The YAML mapping, ``None`` when there is none.
        body: What follows the closing fence, as it stands; ``""`` when only the frontmatter was read.
        body_offset: Byte at which the body starts; ``None`` when the file is not UTF-8, so that no byte of it does.
    """

    fields: Fields | None = None
    root: nodes.Mapping | None = None
    body: str = ""
    body_offset: int | None = 0

    def raw(self) -> dict[str, JsonValue]:
        """Return the frontmatter as typed JSON, untrimmed (SPEC-132)."""
        return {key: nodes.typed(node) for key, node in self.root.pairs.items()} if self.root else {}

    def written_name(self) -> str | None:
        """Return the ``name`` field as it stands, if it is text."""
        node = self.root.pairs.get("name") if self.root else None
        return node.text if isinstance(node, nodes.Scalar) else None


def read_document(
    data: bytes,
    report: Report,
    *,
    directory: str | None,
    filename: str,
    limits: Limits,
    whole: bool,
    halves: fences.Halves | None = None,
    composed: nodes.Node | None = None,
) -> Document:
    """Read a SKILL.md, or with ``whole=False`` its first bytes up to the closing fence.

    Args:
        data: The bytes.
        report: Receives every finding and knows the profile.
        directory: Name of the file's folder, where it is known.
        filename: Its name.
        limits: Bounds on size.
        whole: Whether ``data`` is the whole file.
        halves: Where its fences are, when the caller knows.
        composed: What the frontmatter holds, when the caller had it composed.
    """
    if filename != SKILL_FILE:
        report.add("filename-case", f"The file is called {filename!r}.", hint=f"Rename it to {SKILL_FILE}.")
    if len(data) > limits.skill_bytes:
        _too_large(report, f"SKILL.md is larger than {limits.skill_bytes} bytes", "skill_bytes")
        return Document()
    given = data
    if fences.is_utf16(data):
        report.add("encoding-utf16", "The file is UTF-16.", hint="Save it as UTF-8.")
        data, halves = fences.to_utf8(data).removeprefix(b"\xef\xbb\xbf"), None
    halves = halves or fences.split(data)
    if halves.bom:
        report.add("encoding-bom", "The file starts with a byte order mark.", hint="Save it as UTF-8 without BOM.")
    if not _check_halves(halves, len(data), report, limits):
        return Document()
    first_line = halves.line + 1
    block = _decode(data[halves.start : halves.end], report, first_line=first_line)
    body = _decode(data[halves.body :], report, first_line=0) if whole else ""
    _check_control(block, body, report, first_line)
    root, salvaged = (composed, False) if isinstance(composed, nodes.Mapping) else _compose(block, report, first_line)
    if root is None:
        return Document()
    report.line_of = lambda at: first_line + root.line(at)
    fields = read_fields(root, report, directory=directory, salvaged=salvaged)
    if whole and not body.strip():
        report.add("body-empty", "There are no instructions after the frontmatter.", hint="Write the body.")
    elif whole:
        _check_length(body, report)
    exact = data is given and len(body.encode("utf-8")) == len(data) - halves.body if whole else True
    return Document(fields, root, body, halves.body if exact else None)


def _check_length(body: str, report: Report) -> None:
    """Say when a body is longer than the specification recommends (S2-49)."""
    lines, tokens = body.count("\n") + (not body.endswith("\n")), estimate_tokens(body)
    if lines > _LINES or tokens > _TOKENS:
        report.add(
            "body-long",
            f"The instructions have {lines} lines, about {tokens} tokens; up to {_LINES} lines and {_TOKENS} tokens "
            "are recommended.",
            hint="Move detail into files of references/, which are read only when they are needed.",
        )


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
    except YamlProblem as problem:
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
    except YamlProblem as problem:
        if problem.code != "yaml-invalid":
            return problem.code, None
        root = None
    if isinstance(root, nodes.Mapping):
        return "yaml-repaired", root
    saved = salvage(block)
    return ("yaml-salvaged", saved) if saved is not None else ("yaml-invalid", None)
