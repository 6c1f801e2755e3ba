"""Profiles: how strictly a SKILL.md is read, as data.

The table of codes is the one of the format document: for each diagnostic code its severity when validating
(STRICT) and when loading (LENIENT). Outside this package only ``Profile.strict`` decides: raise, or report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from skillbelt.models import Severity

__all__ = ["LENIENT", "NAMESPACED", "STRICT", "Profile"]

_Column = Mapping[str, Severity | None]


def _codes(severity: Severity | None, *codes: str) -> dict[str, Severity | None]:
    return dict.fromkeys(codes, severity)


_UNUSABLE = (
    "frontmatter-missing",
    "frontmatter-unclosed",
    "frontmatter-empty",
    "frontmatter-not-mapping",
    "description-missing",
    "yaml-unsafe",
    "yaml-too-complex",
    "yaml-invalid",
    "file-too-large",
    "skill-file-missing",
    "skill-file-type",
    "skill-file-unreadable",
    "archive-damaged",
    "archive-differs",
    "archive-duplicate",
    "archive-encrypted",
    "archive-limit",
    "archive-link",
    "archive-method",
    "archive-no-skill",
    "archive-path",
    "archive-special",
    "digest-mismatch",
    "index-entry",
    "url-refused",
)
_TOLERABLE = (
    "frontmatter-leading-content",
    "frontmatter-delimiter",
    "encoding-utf16",
    "encoding-invalid",
    "control-chars",
    "filename-case",
    "yaml-duplicate-key",
    "name-missing",
    "name-type",
    "name-too-long",
    "name-uppercase",
    "name-charset",
    "name-hyphen",
    "name-dir-mismatch",
    "name-unsafe",
    "name-namespace",
    "description-type",
    "description-too-long",
    "compatibility-type",
    "compatibility-too-long",
    "compatibility-empty",
    "license-type",
    "metadata-type",
    "metadata-value-type",
    "allowed-tools-type",
    "allowed-tools-comma",
    "archive-layout",
    "index-mismatch",
)
_NOTED = (
    "yaml-repaired",
    "yaml-salvaged",
    "encoding-bom",
    "body-long",
    "non-string-scalar",
    "yaml-comment-truncation",
    "empty-field",
    "duplicate-name",
    "symlink-escape",
    "symlink-loop",
    "depth-limit",
    "scan-limit",
    "resource-name",
    "resource-unreadable",
    "folder-unreadable",
    "folder-missing",
    "project-untrusted",
    "index-schema",
    "index-type",
    "index-unverified",
)

_STRICT: _Column = MappingProxyType(
    _codes("error", *_UNUSABLE, *_TOLERABLE, "unknown-field", "steps-type", "steps-empty")
    | _codes("warning", *_NOTED)
    | _codes("info", "body-empty", "nested-skill")
)
_LENIENT: _Column = MappingProxyType(
    dict(_STRICT) | _codes("warning", *_TOLERABLE, "steps-type", "steps-empty") | _codes("info", "unknown-field")
)
# S1 accepts mappings and lists where the open format wants strings (conflicts C3, C4), and is strict about names.
_NAMESPACED: _Column = MappingProxyType(
    dict(_LENIENT)
    | _codes(
        "error",
        *(code for code in _TOLERABLE if code.startswith("name-")),
        "description-type",
        "description-too-long",
        "filename-case",
        "steps-type",
        "steps-empty",
    )
    | _codes(None, "allowed-tools-type", "allowed-tools-comma", "compatibility-type", "name-dir-mismatch")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How to read a SKILL.md. A profile made without arguments reads like STRICT.

    Attributes:
        title: Name for messages.
        naming: ``"kebab"``, kebab-case and equal to the folder; ``"label"``, any usable label, with the folder's
            name where there is none; ``"namespaced"``, ``namespace/short`` of ``[A-Za-z0-9_-]``.
        severities: Severity of each code; ``None`` says nothing.
        repair: Whether broken YAML is repaired or salvaged.
        steps: Whether the ``steps`` field is known and checked (S1-43 to S1-47).
        ascii_names: Allow ASCII letters only (conflict C12).
        allowed_fields: Unknown top-level fields that are fine.

    Example:
        >>> from dataclasses import replace
        >>> ours = replace(STRICT, allowed_fields=frozenset({"version"}))
    """

    title: str = "STRICT"
    naming: Literal["kebab", "label", "namespaced"] = "kebab"
    severities: _Column = field(default_factory=lambda: _STRICT, repr=False, hash=False)
    repair: bool = False
    steps: bool = False
    ascii_names: bool = False
    allowed_fields: frozenset[str] = frozenset()

    @property
    def strict(self) -> bool:
        """Whether passing a limit of discovery raises instead of being reported."""
        return self.severities["unknown-field"] == "error"

    def severity(self, code: str) -> Severity | None:
        """Return the severity of a code under this profile, ``None`` when it is not worth saying.

        Args:
            code: A diagnostic code, e.g. ``"name-charset"``.
        """
        return self.severities[code]


STRICT = Profile()
"""For validation, CI and packing: each violation of the specification is an error, all are reported."""

LENIENT = Profile(title="LENIENT", naming="label", severities=_LENIENT, repair=True)
"""For loading, the default: a skill loads whenever it has a usable description; the rest is reported."""

NAMESPACED = Profile(
    title="NAMESPACED",
    naming="namespaced",
    severities=_NAMESPACED,
    steps=True,
    allowed_fields=frozenset({"version"}),
)
"""For namespaced skill folders (S1): ``namespace/short-name``, steps, mappings and lists accepted."""
