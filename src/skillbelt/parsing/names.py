"""The rules for a skill's name under each profile (SPEC-006 to SPEC-010, S1-06, S1-24 to S1-27, conflict C1)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillbelt.parsing.nodes import Node, Scalar, is_null, type_name
from skillbelt.text import has_hidden

if TYPE_CHECKING:
    from skillbelt.parsing.profiles import Profile
    from skillbelt.parsing.report import Report

__all__ = ["Named", "callable_name", "name_key", "read_name", "usable_label"]

_LENGTH = 64
_LABEL_LENGTH = 256
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NAMESPACED = re.compile(r"^([A-Za-z0-9_-]+)/([A-Za-z0-9_-]+)$")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Named:
    """A name and its namespace; ``name`` is ``None`` when there is nothing to call the skill by."""

    name: str | None
    namespace: str | None = None


def name_key(name: str) -> str:
    r"""Return what names are compared by: NFKC, then casefolded.

    Example:
        >>> name_key("Caf\u0065\u0301") == name_key("café")
        True
    """
    if name.isascii():
        return name.strip().lower()
    return unicodedata.normalize("NFKC", name).strip().casefold()


def usable_label(text: str) -> str | None:
    """Return ``text`` as a name can be shown and called by, ``None`` when it cannot.

    Hidden, control and bidirectional characters make a label that reads otherwise than it compares.
    """
    label = unicodedata.normalize("NFKC", text).strip()
    if not label or len(label) > _LABEL_LENGTH or _hides(label):
        return None
    return label


def callable_name(name: str, profile: Profile) -> bool:
    """Whether a skill read under ``profile`` can have this name: what cannot is not looked for (S3-27).

    Args:
        name: What was asked for.
        profile: The rules.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    if profile.naming == "namespaced":
        return _NAMESPACED.match(name) is not None
    if profile.naming == "kebab":
        return not _violations(name, None, ascii_only=profile.ascii_names)
    return usable_label(name) is not None


def read_name(node: Node | None, report: Report, *, directory: str | None, at: int | None) -> Named:
    """Judge the ``name`` field.

    Args:
        node: Its value; ``None`` when the field is missing.
        report: Receives every finding and knows the profile.
        directory: Name of the skill's folder, where it is known.
        at: Offset of the field in the frontmatter.

    Returns:
        The name to use, taken from the folder under LENIENT when the field has none. Without one there either, that
        is an error under every profile: a skill that cannot be called is not loaded, and not in silence.
    """
    if (
        isinstance(node, Scalar)
        and (directory is None or node.text == directory)
        and len(node.text) <= _LENGTH
        and _KEBAB.fullmatch(node.text)
        and report.profile.naming != "namespaced"
        and not is_null(node)
    ):
        return Named(node.text)  # nearly every name
    folder = _folder_name(directory)
    if not isinstance(node, Scalar) or is_null(node) or not node.text.strip():
        if node is None or isinstance(node, Scalar):
            report.add(
                "name-missing",
                "name is missing or empty; it is required.",
                at=at,
                field="name",
                hint=f"Add 'name: {folder or 'my-skill'}'.",
                fatal=folder is None,
            )
        else:
            report.add(
                "name-type",
                f"name is a {type_name(node)}; it must be text.",
                at=at,
                field="name",
                hint="Write one word.",
                fatal=folder is None,
            )
        return Named(folder)
    name = unicodedata.normalize("NFKC", node.text).strip()
    if report.profile.naming == "namespaced":
        return _namespaced(name, report, at)
    for code, message, hint in _violations(name, directory, ascii_only=report.profile.ascii_names):
        report.add(code, message, at=at, field="name", hint=hint)
    label = usable_label(name) or folder
    if label is None:
        report.add(
            "name-unsafe",
            f"name {name[:80]!r} cannot be shown or called by, and there is no folder to take a name from.",
            at=at,
            field="name",
            hint="Give it a name of at most 64 visible characters.",
            fatal=True,
        )
    return Named(label)


def _namespaced(name: str, report: Report, at: int | None) -> Named:
    match = _NAMESPACED.match(name)
    if match is None:
        report.add(
            "name-namespace",
            f"name {name[:80]!r} has no valid namespace; it must be 'namespace/short-name' "
            "of letters, digits, '_' and '-'.",
            at=at,
            field="name",
            hint="Write for example 'local/my-skill'.",
        )
        return Named(None)
    return Named(match[2], match[1])


def _violations(name: str, directory: str | None, *, ascii_only: bool) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    shown = repr(name[:80])
    kebab = "Use lower-case letters, digits and single hyphens."
    if len(name) > _LENGTH:
        found.append(
            ("name-too-long", f"name has {len(name)} characters; at most {_LENGTH} are allowed.", "Shorten it.")
        )
    if name != name.lower():
        found.append(("name-uppercase", f"name {shown} has upper-case letters.", f"Write {name.lower()[:80]!r}."))
    if any(not (c.isalnum() or c == "-") or (ascii_only and not c.isascii()) for c in name):
        found.append(("name-charset", f"name {shown} has characters other than letters, digits and hyphens.", kebab))
    if name.startswith("-") or name.endswith("-") or "--" in name:
        found.append(("name-hyphen", f"name {shown} starts or ends with a hyphen or has two in a row.", kebab))
    if any(c in "/\\" for c in name) or _hides(name) or name in (".", ".."):
        found.append(
            ("name-unsafe", f"name {shown} has a slash or hidden characters; it is never used as a path.", kebab)
        )
    if directory is not None and name != unicodedata.normalize("NFKC", directory):
        found.append(
            (
                "name-dir-mismatch",
                f"name {shown} differs from its folder {_shown(directory)!r}.",
                "Rename one of them.",
            )
        )
    return found


def _folder_name(directory: str | None) -> str | None:
    """Return a folder's name as a label; what cannot be shown becomes a hyphen."""
    if directory is None:
        return None
    cleaned = "".join("-" if unicodedata.category(c) in _HIDDEN else c for c in directory)
    return usable_label(cleaned[:_LABEL_LENGTH])


def _hides(name: str) -> bool:
    return has_hidden(name) or any(unicodedata.category(c) in _HIDDEN for c in name)


def _shown(directory: str) -> str:
    return directory.encode("utf-8", "replace").decode("utf-8")[:80]
