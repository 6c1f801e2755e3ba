"""Bounded YAML: text to a small tree of source-text scalars.

Built from parser events, so that depth, node count, expanded aliases and tags are judged before anything is built;
no Python object is ever constructed from a tag and no exception but :class:`YamlProblem` leaves this module. libyaml
is used when PyYAML was built with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from skillbelt.models import JsonValue
from skillbelt.parsing.simple import simple
from skillbelt.parsing.tree import Flat, Mapping, Node, Scalar, Sequence

__all__ = [
    "Flat",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "YamlProblem",
    "compose",
    "compose_yaml",
    "flat",
    "is_null",
    "plain",
    "type_name",
    "typed",
]

_MAX_NODES = 20_000
_MAX_DEPTH = 32
_MAX_TEXT = 1024 * 1024
_CORE = "tag:yaml.org,2002:"
_CORE_TAGS = frozenset(_CORE + t for t in ("str", "int", "float", "bool", "null", "map", "seq")) | {"!"}
_FRAME = (DocumentEndEvent, StreamStartEvent, StreamEndEvent)
_FLAT = 100
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_SURROGATE = re.compile("[\ud800-\udfff]")

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_RESOLVERS: dict[Any, list[tuple[str, Any]]] = yaml.SafeLoader.yaml_implicit_resolvers


class YamlProblem(Exception):  # noqa: N818 - not an error of the package: it never leaves skillbelt.parsing
    """Why a block of YAML is not used.

    Attributes:
        code: ``"yaml-invalid"``, ``"yaml-unsafe"`` or ``"yaml-too-complex"``.
        at: Where in the block, in characters from its start, where that is known.
    """

    def __init__(self, code: str, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.at = at


def compose(text: str) -> Node | None:
    """Parse one YAML document, the plainest kind by lines, every other by :func:`compose_yaml`.

    Args:
        text: The block, without its fences.

    Returns:
        Its root, ``None`` when it holds nothing but blanks and comments.

    Raises:
        YamlProblem: Not YAML, or not YAML we are willing to read.
    """
    return simple(text) or compose_yaml(text)


def compose_yaml(text: str) -> Node | None:
    """Parse one YAML document with a YAML parser; takes and gives what :func:`compose` does."""
    try:
        loader = _Loader(text)
        try:
            root = _Composer(iter(loader.get_event, None)).document()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        if mark is None:
            raise YamlProblem("yaml-invalid", what) from None
        column = mark.index - text.rfind("\n", 0, mark.index)
        raise YamlProblem("yaml-invalid", f"{what} at column {column}", mark.index) from None
    except (ValueError, RecursionError) as error:
        raise YamlProblem("yaml-invalid", str(error) or type(error).__name__) from None
    if isinstance(root, Mapping):
        root.source = text
    return root


def flat(text: str) -> dict[str, Flat] | None:
    """Read one YAML document that is a mapping of text to text, or to one more such mapping, and nothing else.

    Args:
        text: The block, without its fences.

    Returns:
        By key, in pairs of a text and whether it is quoted; ``None`` for any other document, and for broken ones.
    """
    try:
        loader = _Loader(text)
        try:
            get = loader.get_event
            if type(get()) is not StreamStartEvent:
                return None
            start = get()
            if type(start) is not DocumentStartEvent or start.tags or type(opening := get()) is not MappingStartEvent:
                return None
            pairs = _flat_pairs(get, opening, inner=True)
            whole = type(get()) is DocumentEndEvent and type(get()) is StreamEndEvent
            return pairs if whole else None
        finally:
            loader.dispose()
    except (yaml.YAMLError, YamlProblem, ValueError, RecursionError):
        return None


def _flat_pairs(get: Any, opening: Any, *, inner: bool) -> dict[str, Flat] | None:
    if opening.tag is not None or opening.anchor is not None:
        return None
    pairs: dict[str, Flat] = {}
    while type(key := get()) is ScalarEvent:
        value = get()
        if key.tag is not None or key.anchor is not None or key.value in pairs or len(pairs) > _FLAT:
            return None
        if type(value) is ScalarEvent:
            if value.tag is not None or value.anchor is not None:
                return None
            style = value.style
            if style == '"':
                _require_whole(value.value, 0)
            pairs[key.value] = value.value, bool(style)
        elif inner and type(value) is MappingStartEvent:
            below = _flat_pairs(get, value, inner=False)
            if below is None:
                return None
            pairs[key.value] = below
        else:
            return None
    return pairs if type(key) is MappingEndEvent else None


class _Composer:
    """Builds nodes from events and counts, with aliases expanded, as it goes."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, tuple[Node, int, int, int] | None] = {}
        self._repeated: list[tuple[str, int]] = []
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
                    raise YamlProblem("yaml-invalid", "more than one YAML document", event.start_mark.index)
                if event.tags:
                    raise YamlProblem("yaml-unsafe", "a %TAG directive is not allowed", event.start_mark.index)
            elif kind not in _FRAME:
                root, _ = self._node(event, 1)
        if isinstance(root, Mapping):
            root.repeated = sorted(self._repeated, key=lambda key: key[1])
        return None if isinstance(root, Scalar) and is_null(root) else root

    def _node(self, event: Any, depth: int) -> tuple[Node, int]:
        """Return the node that starts with ``event`` and how many levels it is deep."""
        kind, at = type(event), event.start_mark.index
        if kind is ScalarEvent and event.tag is None and event.anchor is None:  # nearly every node
            text = event.value
            self._nodes += 1
            self._text += len(text)
            if self._nodes > _MAX_NODES or self._text > _MAX_TEXT or depth > _MAX_DEPTH:
                self._count(0, 0, depth, at)
            style = event.style
            if style == '"':
                _require_whole(text, at)
            return Scalar(text, at, bool(style), event.end_mark.index), 1
        if kind is AliasEvent:
            return self._alias(event.anchor, depth, at)
        nodes, text = self._nodes, self._text
        self._count(1, 0, depth, at)
        tag = event.tag
        if tag is not None and tag not in _CORE_TAGS:
            raise YamlProblem("yaml-unsafe", f"the tag {tag.removeprefix(_CORE)[:80]!r} is not allowed", at)
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        height = 1
        node: Node
        if kind is ScalarEvent:
            self._count(0, len(event.value), depth, at)
            _require_whole(event.value, at)
            node = Scalar(event.value, at, bool(event.style) or tag is not None, event.end_mark.index)
        elif kind is SequenceStartEvent:
            node, height = self._sequence(at, depth)
        else:
            node, height = self._mapping(at, depth)
        if anchor is not None:
            self._anchors[anchor] = (node, self._nodes - nodes, self._text - text, height)
        return node, height

    def _sequence(self, at: int, depth: int) -> tuple[Sequence, int]:
        node = Sequence(at=at)
        height = 1
        while type(event := next(self._events)) is not SequenceEndEvent:
            item, below = self._node(event, depth + 1)
            node.items.append(item)
            height = max(height, below + 1)
        return node, height

    def _mapping(self, at: int, depth: int) -> tuple[Mapping, int]:
        node = Mapping(at=at)
        pairs, places = node.pairs, node.places
        height = 1
        events = self._events
        while type(event := next(events)) is not MappingEndEvent:
            start = event.start_mark.index
            key, _ = self._node(event, depth + 1)
            if not isinstance(key, Scalar):
                raise YamlProblem("yaml-invalid", "a key is a list or a mapping; keys are plain text", key.at)
            value, below = self._node(next(events), depth + 1)
            if key.text in pairs:
                self._repeated.append((key.text, start))
            pairs[key.text] = value
            places[key.text] = start
            if below >= height:
                height = below + 1
        return node, height

    def _alias(self, anchor: str, depth: int, at: int) -> tuple[Node, int]:
        if anchor not in self._anchors:
            raise YamlProblem("yaml-invalid", f"the alias {anchor[:80]!r} names nothing", at)
        known = self._anchors[anchor]
        if known is None:
            raise YamlProblem("yaml-unsafe", f"the alias {anchor[:80]!r} contains itself", at)
        node, nodes, text, height = known
        self._count(nodes, text, depth + height - 1, at)
        return node, height

    def _count(self, nodes: int, text: int, depth: int, at: int) -> None:
        self._nodes += nodes
        self._text += text
        if self._nodes > _MAX_NODES or self._text > _MAX_TEXT or depth > _MAX_DEPTH:
            raise YamlProblem(
                "yaml-too-complex",
                f"more than {_MAX_NODES} values, {_MAX_TEXT} characters or {_MAX_DEPTH} levels with aliases expanded",
                at,
            )


def _require_whole(text: str, at: int) -> None:
    if _SURROGATE.search(text):  # libyaml refuses such an escape, the Python scanner does not
        raise YamlProblem("yaml-invalid", "an escape stands for half a character", at)


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
    """Return a node as the JSON of a YAML 1.1 reader, untrimmed; what JSON cannot hold, and base 60, stays text."""
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
