"""Broken YAML that people write every day, mended or salvaged (LENIENT only, and only after a YAML error).

Nearly all broken frontmatter is prose with a colon in it. Repair quotes the values that do not parse alone and leaves
every good line as it is; salvage gives up on all but name and description. Both are reported by the caller. The
result passes through the same bounds as any other YAML.
"""

from __future__ import annotations

import re

from skillbelt.parsing.nodes import Mapping, Node, Scalar, YamlProblem, compose

__all__ = ["repair", "salvage"]

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_PAIR = re.compile(r"^(?P<indent> *)(?P<key>[^\s:#'\"\[{&*!|>%@`-][^:]*|-?[^\s:#]+):(?:[ ]+(?P<value>.*))?$")
_BLOCK = re.compile(r"^[|>][-+0-9]{0,2}\s*(?:#.*)?$")
_FIELD = re.compile(r"^(name|description):[ \t]*(.*)$")
_MAX_LINES = 1000
"""Each line may be parsed on its own; the longest real frontmatter has 171."""
_BRACKETS = {"[": "]", "{": "}"}


def repair(text: str) -> Node | None:
    """Return the root of ``text`` once its unparseable values are quoted.

    Raises:
        YamlProblem: It is still not YAML.
    """
    lines = _clean(text).split("\n")
    if len(lines) > _MAX_LINES:
        raise YamlProblem("yaml-invalid", f"more than {_MAX_LINES} lines are not repaired")
    out: list[str] = []
    i = 0
    while i < len(lines):
        pair = _PAIR.match(lines[i])
        if pair is None or not (pair["value"] or "").strip():
            out.append(lines[i])
            i += 1
            continue
        value = pair["value"].strip()
        stop = _extent(lines, i, len(pair["indent"]), value)
        chunk = lines[i:stop]
        if _BLOCK.match(value) or _parses(chunk) or not _closes(value):
            out.extend(chunk)
        else:
            prose = " ".join([value, *(line.strip() for line in chunk[1:] if line.strip())])
            out.append(f"{pair['indent']}{pair['key']}: {_quote(prose)}")
            out.extend([""] * (len(chunk) - 1))  # so that what follows keeps its line
        i = stop
    return compose("\n".join(out))


def salvage(text: str) -> Mapping | None:
    """Return ``name`` and ``description`` read by lines, ``None`` when there is no description to read."""
    source = _clean(text)
    lines = source.split("\n")
    found = Mapping(source=source)
    after = 0
    for i, line in enumerate(lines):
        at, after = after, after + len(line) + 1
        field = _FIELD.match(line)
        if field is None or field[1] in found.pairs:
            continue
        value = field[2].strip()
        rest = [part.strip() for part in lines[i + 1 : _extent(lines, i, 0, value)]]
        if _BLOCK.match(value):
            words = ("\n" if value[0] == "|" else " ").join(rest).strip()
        elif _closes(value):
            words = _unquote(" ".join([value, *(part for part in rest if part)]).strip())
        else:
            continue
        if words:
            found.pairs[field[1]] = Scalar(words, at, quoted=True)
            found.places[field[1]] = at
    return found if "description" in found.pairs else None


def _clean(text: str) -> str:
    """Drop control characters; make tabs after a key and in indentation blanks."""
    text = _CONTROL.sub("", text)
    text = re.sub(r"(?m)^([^\s:]+:)\t+", r"\1 ", text)
    return re.sub(r"(?m)^[ \t]+", lambda m: m[0].replace("\t", "  "), text)


def _extent(lines: list[str], start: int, indent: int, value: str) -> int:
    """Return the index after the last line that continues ``value``, which starts at ``start``."""
    closers = ("]", "}", "},", "],") if value[:1] in _BRACKETS else ()
    stop = start + 1
    for i in range(start + 1, len(lines)):
        line = lines[i]
        if not line.strip():
            continue
        if len(line) - len(line.lstrip(" ")) <= indent and line.strip() not in closers:
            break
        stop = i + 1
    return stop


def _parses(chunk: list[str]) -> bool:
    """Whether some lines are one pair as they stand; what is valid but refused is left for the refusal."""
    indent = len(chunk[0]) - len(chunk[0].lstrip(" "))
    try:
        root = compose("\n".join(line[indent:] if line[:indent].isspace() else line for line in chunk))
    except YamlProblem as problem:
        return problem.code != "yaml-invalid"
    return isinstance(root, Mapping) and len(root.pairs) == 1


def _closes(value: str) -> bool:
    """Whether a value that opens a bracket closes it again; where the text ends cannot be known otherwise."""
    opened = value[:1]
    return opened not in _BRACKETS or value.count(_BRACKETS[opened]) >= value.count(opened)


def _quote(prose: str) -> str:
    return "'" + _unquote(prose).replace("'", "''") + "'"


def _unquote(prose: str) -> str:
    r"""Drop one pair of quotes round the whole, also round an apostrophe, or one never closed; undo ``\'``."""
    mark = prose[:1]
    if mark in ("'", '"'):
        inner = prose[1:].replace(f"\\{mark}", "")
        if inner.endswith(mark) and mark not in inner[:-1]:
            prose = prose[1:-1]
        elif inner.count(mark) % 2 == 0:
            prose = prose[1:-1] if inner.endswith(mark) else prose[1:]
    return prose.replace("\\'", "'")
