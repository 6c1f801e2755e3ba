"""A file of agents as YAML with places: read with bounds, composed with bounds, nothing judged but its shape.

The composer is that of SKILL.md files: aliases are counted as if they were written out, no tag makes an object, and
keys, depth and size have bounds. Whether the values are right is the business of :mod:`skillbelt.agents.checks`.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import NamedTuple

from skillbelt.agents.problems import ConfigProblem, Loc, dotted, refusal
from skillbelt.limits import KIB
from skillbelt.models import JsonValue
from skillbelt.parsing.nodes import Mapping, Node, Scalar, Sequence, YamlProblem, compose, is_null, type_name, typed

__all__ = ["MAX_BYTES", "Document", "Place", "open_document", "read_document"]

MAX_BYTES = 256 * KIB
"""Bytes of a file of agents; a larger one is refused before it is parsed."""

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not block the opener
_SHOWN = 60


class Place(NamedTuple):
    """A place in a file, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file whose root is a mapping.

    Attributes:
        path: As it was given, for messages.
        text: Its text.
        root: Its nodes.
    """

    path: str
    text: str
    root: Mapping

    def value(self) -> JsonValue:
        """Return the whole as JSON has it, numbers and truth values read as YAML 1.1 does."""
        return typed(self.root)

    def node(self, loc: Loc) -> Node | None:
        """Return what stands at a place, ``None`` when nothing does."""
        node: Node = self.root
        for step in loc:
            if isinstance(node, Mapping) and step in node.pairs:
                node = node.pairs[str(step)]
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def place(self, loc: Loc, *, key: bool = False) -> Place:
        """Return where a value stands; of a mapping its key, and of a missing value the mapping it is missing from.

        Args:
            loc: The value.
            key: Point to the key, not to the value.
        """
        node: Node = self.root
        at = node.at
        for step in loc:
            if isinstance(node, Mapping) and step in node.pairs:
                name = str(step)
                at, node = node.places[name], node.pairs[name]
                if not key and not isinstance(node, Mapping) and not _absent(node):
                    at = node.at
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
                at = node.at
            else:
                break
        return self.place_of(at)

    def place_of(self, at: int) -> Place:
        """Return the place of an offset."""
        return _place(self.text, at)

    def problem(self, loc: Loc, message: str, *, key: bool = False) -> ConfigProblem:
        """Return a problem of a value.

        Args:
            loc: The value.
            message: What was expected.
            key: Point to its key.
        """
        line, column = self.place(loc, key=key)
        return ConfigProblem(self.path, line, column, dotted(loc), message)

    def found(self, loc: Loc) -> str:
        """Return what stands at a place in words, for the end of «expected …, not …»."""
        node = self.node(loc)
        if node is None or is_null(node):
            return "nothing"
        match type_name(node):
            case "list" | "mapping" as kind:
                return f"a {kind}"
            case "str":
                return f"the text {_shown(node)!r}"
            case "bool":
                return f"the truth value {_shown(node)}"
            case "int" | "float":
                return f"the number {_shown(node)}"
            case kind:
                return f"the {kind} {_shown(node)}"


def open_document(path: str | os.PathLike[str]) -> Document:
    """Read a file.

    Raises:
        AgentConfigError: There is none, it cannot be read, or :func:`read_document` refuses it.
    """
    name = os.fspath(path)
    try:
        data = _bytes(name)
    except FileNotFoundError:
        raise _whole(name, "There is no such file; check the spelling.") from None
    except (OSError, ValueError) as error:
        raise _whole(name, f"The file cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if data is None:
        raise _whole(name, "This is not a file but a folder or a device; give the YAML file.")
    return read_document(data, name)


def read_document(data: bytes | str, path: str) -> Document:
    """Compose a file that was read.

    Args:
        data: Its content.
        path: What it is called in messages.

    Raises:
        AgentConfigError: Too large, not UTF-8, not YAML, YAML that is refused, or not a mapping.
    """
    if len(data) > MAX_BYTES:
        raise _whole(path, f"The file is larger than {MAX_BYTES // KIB} KiB; split it into several.")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace").removeprefix("\ufeff")
        place = _place(before, len(before))
        raise refusal([ConfigProblem(path, *place, "", "The file is not UTF-8 text; save it as UTF-8.")]) from None
    try:
        root = compose(text)
    except YamlProblem as problem:
        place = _place(text, problem.at or 0)
        raise refusal([ConfigProblem(path, *place, "", _sentence(problem))]) from None
    if not isinstance(root, Mapping):
        what = "is empty" if root is None else f"holds {_a(type_name(root))}"
        raise _whole(path, f"The file {what}; it must be a mapping with 'agents:' in it.")
    return Document(path, text, root)


def _bytes(name: str) -> bytes | None:
    """Return the start of a file, at most one byte more than it may have; ``None`` when it is no regular file."""
    descriptor = os.open(name, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = b""
        while len(data) <= MAX_BYTES and (piece := os.read(descriptor, MAX_BYTES + 1 - len(data))):
            data += piece
        return data
    finally:
        os.close(descriptor)


def _sentence(problem: YamlProblem) -> str:
    lead = "This cannot be read as YAML" if problem.code == "yaml-invalid" else "This YAML is refused"
    return f"{lead}: {problem}."


def _place(text: str, at: int) -> Place:
    return Place(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _whole(path: str, message: str) -> Exception:
    return refusal([ConfigProblem(path, 0, 0, "", message)])


def _absent(node: Node) -> bool:
    """Whether nothing is written after a key; then the key is the place."""
    return isinstance(node, Scalar) and not node.text and not node.quoted


def _shown(node: Node) -> str:
    text = node.text if isinstance(node, Scalar) else ""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _a(kind: str) -> str:
    return {"str": "text", "list": "a list", "int": "a number", "float": "a number"}.get(kind, f"a {kind}")
