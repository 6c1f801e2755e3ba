"""Bounded YAML: text to a small tree of source-text scalars.

Built from parser events, so that depth, node count, expanded aliases and tags are judged before anything is built;
no Python object is ever constructed from a tag and no exception but :class:`YamlProblem` leaves this module. libyaml
is used when PyYAML was built with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from skillbelt.models import JsonValue

__all__ = ["Mapping", "Node", "Scalar", "Sequence", "YamlProblem", "compose", "is_null", "plain", "type_name", "typed"]

_MAX_NODES = 20_000
_MAX_DEPTH = 32
_MAX_TEXT = 1024 * 1024
_CORE = "tag:yaml.org,2002:"
_CORE_TAGS = frozenset(_CORE + t for t in ("str", "int", "float", "bool", "null", "map", "seq")) | {"!"}
_FRAME = (DocumentEndEvent, StreamStartEvent, StreamEndEvent)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_RESOLVERS: dict[Any, list[tuple[str, Any]]] = yaml.SafeLoader.yaml_implicit_resolvers


class YamlProblem(Exception):  # noqa: N818 - not an error of the package: it never leaves skillbelt.parsing
    """Why a block of YAML is not used.

    Attributes:
        code: ``"yaml-invalid"``, ``"yaml-unsafe"`` or ``"yaml-too-complex"``.
        line: 0-based line in the block, where there is one.
    """

    def __init__(self, code: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


@dataclass(slots=True)
class Scalar:
    """A scalar as it is written; ``quoted`` when it has quotes, is a block, or carries an explicit tag."""

    text: str
    line: int = 0
    quoted: bool = False
    end: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Sequence:
    """A list of nodes."""

    items: list[Node] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Mapping:
    """Pairs by the source text of their key; of a repeated key the last pair is kept, and it is noted."""

    pairs: dict[str, Node] = field(default_factory=dict)
    line: int = 0
    lines: dict[str, int] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)


Node = Scalar | Sequence | Mapping


def compose(text: str) -> Node | None:
    """Parse one YAML document.

    Args:
        text: The block, without its fences.

    Returns:
        Its root, ``None`` when it holds nothing but blanks and comments.

    Raises:
        YamlProblem: Not YAML, or not YAML we are willing to read.
    """
    try:
        return _Composer(_events(text)).document()
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        column = f" at column {mark.column + 1}" if mark is not None else ""
        raise YamlProblem("yaml-invalid", f"{what}{column}", mark.line if mark is not None else None) from None
    except (ValueError, RecursionError) as error:
        raise YamlProblem("yaml-invalid", str(error) or type(error).__name__) from None


def _events(text: str) -> Iterator[Any]:
    loader = _Loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


class _Composer:
    """Builds nodes from events and counts, with aliases expanded, as it goes."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, tuple[Node, int, int, int] | None] = {}
        self._nodes = 0
        self._text = 0

    def document(self) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in self._events:
            kind = type(event)
            if kind is DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise YamlProblem("yaml-invalid", "more than one YAML document", event.start_mark.line)
                if event.tags:
                    raise YamlProblem("yaml-unsafe", "a %TAG directive is not allowed", event.start_mark.line)
            elif kind not in _FRAME:
                root, _ = self._node(event, 1)
        return None if isinstance(root, Scalar) and is_null(root) else root

    def _node(self, event: Any, depth: int) -> tuple[Node, int]:
        """Return the node that starts with ``event`` and how many levels it is deep."""
        kind, line = type(event), event.start_mark.line
        if kind is AliasEvent:
            return self._alias(event.anchor, depth, line)
        nodes, text = self._nodes, self._text
        self._count(1, 0, depth, line)
        tag = event.tag
        if tag is not None and tag not in _CORE_TAGS:
            raise YamlProblem("yaml-unsafe", f"the tag {tag.removeprefix(_CORE)!r} is not allowed", line)
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        height = 1
        node: Node
        if kind is ScalarEvent:
            self._count(0, len(event.value), depth, line)
            mark = event.end_mark
            node = Scalar(event.value, line, bool(event.style) or tag is not None, (mark.line, mark.column))
        elif kind is SequenceStartEvent:
            node, height = self._sequence(line, depth)
        else:
            node, height = self._mapping(line, depth)
        if anchor is not None:
            self._anchors[anchor] = (node, self._nodes - nodes, self._text - text, height)
        return node, height

    def _next(self) -> Any:
        return next(self._events)

    def _sequence(self, line: int, depth: int) -> tuple[Sequence, int]:
        node = Sequence(line=line)
        height = 1
        while type(event := self._next()) is not SequenceEndEvent:
            item, below = self._node(event, depth + 1)
            node.items.append(item)
            height = max(height, below + 1)
        return node, height

    def _mapping(self, line: int, depth: int) -> tuple[Mapping, int]:
        node = Mapping(line=line)
        height = 1
        while type(event := self._next()) is not MappingEndEvent:
            key, _ = self._node(event, depth + 1)
            if not isinstance(key, Scalar):
                raise YamlProblem("yaml-invalid", "a key is a list or a mapping; keys are plain text", key.line)
            value, below = self._node(self._next(), depth + 1)
            if key.text in node.pairs:
                node.repeated.append((key.text, event.start_mark.line))
            node.pairs[key.text] = value
            node.lines[key.text] = event.start_mark.line
            height = max(height, below + 1)
        return node, height

    def _alias(self, anchor: str, depth: int, line: int) -> tuple[Node, int]:
        if anchor not in self._anchors:
            raise YamlProblem("yaml-invalid", f"the alias {anchor!r} names nothing", line)
        known = self._anchors[anchor]
        if known is None:
            raise YamlProblem("yaml-unsafe", f"the alias {anchor!r} contains itself", line)
        node, nodes, text, height = known
        self._count(nodes, text, depth + height - 1, line)
        return node, height

    def _count(self, nodes: int, text: int, depth: int, line: int) -> None:
        self._nodes += nodes
        self._text += text
        if self._nodes > _MAX_NODES or self._text > _MAX_TEXT or depth > _MAX_DEPTH:
            raise YamlProblem(
                "yaml-too-complex",
                f"more than {_MAX_NODES} values, {_MAX_TEXT} characters or {_MAX_DEPTH} levels with aliases expanded",
                line,
            )


def is_null(node: Node) -> bool:
    """Whether a node is an unquoted null, which counts as absent."""
    return isinstance(node, Scalar) and not node.quoted and node.text in _NULLS


def type_name(node: Node) -> str:
    """Return what YAML takes a node for: ``"str"``, ``"int"``, ``"bool"``, …, ``"list"`` or ``"mapping"``."""
    if isinstance(node, Sequence):
        return "list"
    if isinstance(node, Mapping):
        return "mapping"
    if node.quoted or not node.text:
        return "str"
    for tag, pattern in _RESOLVERS.get(node.text[0], ()):
        if pattern.match(node.text):
            name = tag.removeprefix(_CORE)
            return "str" if name in ("merge", "value") else name
    return "str"


def plain(node: Node) -> JsonValue:
    """Return a node with every scalar as its source text; null is ``None``."""
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    if isinstance(node, Mapping):
        return {key: plain(value) for key, value in node.pairs.items()}
    return None if is_null(node) else node.text


_BOOLS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def typed(node: Node) -> JsonValue:
    """Return a node as the JSON a YAML 1.1 reader would give, untrimmed; what JSON cannot hold stays text."""
    if isinstance(node, Sequence):
        return [typed(item) for item in node.items]
    if isinstance(node, Mapping):
        return {key: typed(value) for key, value in node.pairs.items()}
    if is_null(node):
        return None
    name, text = type_name(node), node.text.replace("_", "")
    try:
        if name == "bool":
            return _BOOLS[text.lower()]
        if name == "int":
            return int(text, 8) if text.lstrip("+-").startswith("0") and text.lstrip("+-0").isdigit() else int(text, 0)
        if name == "float":
            number = float(text)
            return number if number - number == 0 else node.text
    except ValueError:
        pass
    return node.text
