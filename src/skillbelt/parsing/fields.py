"""From a YAML mapping to a Frontmatter: every rule of the format, each violation with its code and its field.

Nothing raises here: each finding goes to a :class:`~skillbelt.parsing.report.Report`, which knows the severities.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from skillbelt.models import Frontmatter, JsonValue, SkillSummary
from skillbelt.parsing.allowed_tools import split_tools
from skillbelt.parsing.names import read_name
from skillbelt.parsing.nodes import Mapping, Node, Scalar, Sequence, is_null, plain, type_name
from skillbelt.parsing.report import Report
from skillbelt.switches import invocable

__all__ = ["Fields", "read_fields"]

_KNOWN = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_DESCRIPTION = 1024
_COMPATIBILITY = 500


@dataclass(frozen=True, slots=True)
class Fields:
    """What a frontmatter says, before it becomes a value: a listing needs two of the eight fields."""

    name: str
    namespace: str | None
    description: str
    license: str | None
    compatibility: str | None
    metadata: dict[str, str]
    allowed_tools: tuple[str, ...]
    extra: dict[str, JsonValue]

    def frontmatter(self) -> Frontmatter:
        """Return the fields as the value of levels 2 and 3."""
        return Frontmatter(
            name=self.name,
            description=self.description,
            license=self.license,
            compatibility=self.compatibility,
            metadata=self.metadata,
            allowed_tools=self.allowed_tools,
            extra=self.extra,
        )

    def summary(self, source: str | None, location: str | None) -> SkillSummary:
        """Return the fields as the value of level 1."""
        by_model, by_user = invocable(self.extra)
        return SkillSummary(
            name=f"{self.namespace}/{self.name}" if self.namespace else self.name,
            description=self.description,
            namespace=self.namespace,
            source=source,
            location=location,
            model_invocable=by_model,
            user_invocable=by_user,
        )


def read_fields(root: Mapping, report: Report, *, directory: str | None, salvaged: bool = False) -> Fields | None:
    """Read all fields of a frontmatter.

    Args:
        root: The YAML mapping.
        report: Receives every finding.
        directory: Name of the skill's folder, where it is known.
        salvaged: Whether only name and description are to be trusted.

    Returns:
        The fields; ``None`` when there is no name or no description to use.
    """
    reader = _Reader(root, report)
    reader.duplicates()
    named = read_name(root.pairs.get("name"), report, directory=directory, at=root.places.get("name"))
    description = reader.description()
    license_ = reader.license()
    compatibility = reader.compatibility()
    metadata = reader.metadata()
    tools = () if salvaged else reader.allowed_tools()
    extra = reader.extra()
    reader.implicit_types()
    if named.name is None or description is None:
        return None
    return Fields(named.name, named.namespace, description, license_, compatibility, metadata, tools, extra)


class _Reader:
    """One method per field; holds what they share."""

    def __init__(self, root: Mapping, report: Report) -> None:
        self._root = root
        self._report = report
        self._structures: dict[str, JsonValue] = {}

    def _add(self, code: str, name: str, message: str, hint: str | None = None, at: int | None = None) -> None:
        place = self._root.places.get(name) if at is None else at
        self._report.add(code, message, at=place, field=name, hint=hint)

    def _node(self, name: str) -> Node | None:
        """Return a field's node; a null optional field counts as absent and is said so."""
        node = self._root.pairs.get(name)
        if node is not None and is_null(node):
            self._add("empty-field", name, f"{name} has no value.", "Give it a value or remove the line.")
            return None
        return node

    def duplicates(self) -> None:
        for key, at in self._root.repeated:
            self._add(
                "yaml-duplicate-key",
                key,
                f"The key {key[:80]!r} is given twice; the last one counts.",
                "Keep one of them.",
                at,
            )

    def description(self) -> str | None:
        node = self._root.pairs.get("description")
        text = "" if node is None or is_null(node) else _prose(node).strip()
        if node is not None and not isinstance(node, Scalar):
            self._add(
                "description-type",
                "description",
                f"description is a {type_name(node)}; it must be text.",
                "Write it as one string, quoted if it has ': ' in it.",
            )
        if not text:
            self._add(
                "description-missing",
                "description",
                "description is missing or empty; it is required.",
                "Say what the skill does and when to use it.",
            )
            return None
        if len(text) > _DESCRIPTION:
            self._add(
                "description-too-long",
                "description",
                f"description has {len(text)} characters; at most {_DESCRIPTION} are allowed.",
                "Move detail into the body.",
            )
        if isinstance(node, Scalar):
            self._comment_cut(node)
        return text

    def _comment_cut(self, node: Scalar) -> None:
        """Warn when `` #`` ends an unquoted description: valid YAML, but the author loses text."""
        if node.quoted:
            return
        rest = self._root.source[node.end :].partition("\n")[0]
        if re.match(r"\s+#", rest):
            self._add(
                "yaml-comment-truncation",
                "description",
                f"description ends before {rest.strip()[:40]!r}: ' #' starts a YAML comment.",
                "Quote the description.",
                node.end,
            )

    def license(self) -> str | None:
        node = self._node("license")
        if node is None:
            return None
        if not isinstance(node, Scalar):
            self._add(
                "license-type",
                "license",
                f"license is a {type_name(node)}; it must be text.",
                "Write a short name such as MIT, or the name of a bundled licence file.",
            )
        return _prose(node).strip() or None

    def compatibility(self) -> str | None:
        node = self._node("compatibility")
        if node is None:
            return None
        if not isinstance(node, Scalar):
            self._structures["compatibility"] = plain(node)
            self._add(
                "compatibility-type",
                "compatibility",
                f"compatibility is a {type_name(node)}; it must be text.",
                "Write one sentence.",
            )
        text = _prose(node).strip()
        if not text:
            self._add(
                "compatibility-empty",
                "compatibility",
                "compatibility is empty; it must have 1 to 500 characters if given.",
                "Remove the line or fill it.",
            )
            return None
        if len(text) > _COMPATIBILITY:
            self._add(
                "compatibility-too-long",
                "compatibility",
                f"compatibility has {len(text)} characters; at most {_COMPATIBILITY} are allowed.",
                "Shorten it.",
            )
        return text

    def metadata(self) -> dict[str, str]:
        node = self._node("metadata")
        if node is None:
            return {}
        if not isinstance(node, Mapping):
            self._add(
                "metadata-type",
                "metadata",
                f"metadata is a {type_name(node)}; it must be a mapping of text to text.",
                "Write 'metadata:' and indented 'key: value' lines.",
            )
            return {}
        values: dict[str, str] = {}
        for key, value in node.pairs.items():
            if isinstance(value, Scalar):
                if is_null(value):
                    self._add(
                        "empty-field",
                        f"metadata.{key}",
                        f"metadata.{key} has no value.",
                        "Give it one.",
                        node.places[key],
                    )
                else:
                    values[key] = value.text
                continue
            values[key] = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
            self._add(
                "metadata-value-type",
                f"metadata.{key}",
                f"metadata.{key} is a {type_name(value)}; values must be text.",
                "Write it as one string.",
                node.places[key],
            )
        if any(not isinstance(value, Scalar) for value in node.pairs.values()):
            self._structures["metadata"] = plain(node)
        return values

    def allowed_tools(self) -> tuple[str, ...]:
        node = self._node("allowed-tools")
        if node is None:
            return ()
        if isinstance(node, Scalar):
            tokens, commas = split_tools(node.text) if type_name(node) == "str" else ((), False)
            if commas:
                self._add(
                    "allowed-tools-comma",
                    "allowed-tools",
                    "allowed-tools has commas; entries are separated by blanks.",
                    "Write: " + " ".join(tokens)[:200],
                )
            return tokens
        self._add(
            "allowed-tools-type",
            "allowed-tools",
            f"allowed-tools is a {type_name(node)}; it must be one string.",
            "Write the entries on one line, separated by blanks.",
        )
        items = node.items if isinstance(node, Sequence) else ()
        texts = (item.text.strip() for item in items if isinstance(item, Scalar) and type_name(item) == "str")
        return tuple(filter(None, texts))

    def extra(self) -> dict[str, JsonValue]:
        profile = self._report.profile
        kept: dict[str, JsonValue] = {}
        for key, node in self._root.pairs.items():
            if key in _KNOWN:
                continue
            kept[key] = plain(node)
            if key == "steps" and profile.steps:
                self._steps(node)
            elif key not in profile.allowed_fields:
                self._add(
                    "unknown-field",
                    key,
                    f"{key[:80]!r} is not a field of the specification.",
                    "Move it under 'metadata', or leave it out.",
                )
        return kept | self._structures

    def _steps(self, node: Node) -> None:
        if not isinstance(node, Sequence):
            self._add(
                "steps-type",
                "steps",
                f"steps is {'empty' if is_null(node) else f'a {type_name(node)}'}; it must be a list of texts.",
                "Write one '- text' line per step.",
            )
            return
        for position, item in enumerate(node.items, start=1):
            if not isinstance(item, Scalar) or is_null(item) or not item.text.strip():
                self._add(
                    "steps-empty",
                    "steps",
                    f"steps: step {position} is {'empty' if isinstance(item, Scalar) else 'not text'}.",
                    "Write what to do, or remove the step.",
                    item.at,
                )

    def implicit_types(self) -> None:
        """Warn about text that YAML takes for a number, a date or a boolean (``1.10``, ``no``, ``007``)."""
        for name in _KNOWN:
            node = self._root.pairs.get(name)
            if isinstance(node, Scalar):
                self._implicit(name, None, node)
            elif name == "metadata" and isinstance(node, Mapping):
                for key, value in node.pairs.items():
                    if isinstance(value, Scalar):
                        self._implicit(name, key, value)

    def _implicit(self, name: str, key: str | None, node: Scalar) -> None:
        kind = type_name(node)
        if kind in ("str", "null"):
            return
        told = "names no tool and is ignored" if name == "allowed-tools" else "is read as text"
        name = name if key is None else f"{name}.{key}"
        self._add(
            "non-string-scalar",
            name,
            f"{name} {told}: {node.text[:40]!r} is a YAML {kind}.",
            f'Quote it: "{node.text[:40]}".',
            node.at,
        )


def _prose(node: Node) -> str:
    """Return any node as text: lists joined with a blank, mappings as ``k: v``."""
    if isinstance(node, Scalar):
        return "" if is_null(node) else node.text
    if isinstance(node, Sequence):
        return " ".join(filter(None, (_prose(item) for item in node.items)))
    return "; ".join(f"{key}: {_prose(value)}" for key, value in node.pairs.items())
