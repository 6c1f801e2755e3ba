"""Docstrings of the package as Markdown: Sphinx roles become links, a lone ``::`` goes away, examples are code.

Ids of requirements, which docstrings carry for maintainers, are left out.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Roles"]

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`(?P<tilde>~?)(?P<target>[\w.]+)`")
_LITERAL = re.compile(r"^[ \t]*::[ \t]*$\n?", re.MULTILINE)
_EXAMPLE = re.compile(r"^(?P<indent>[ \t]*)Example:[ \t]*$(?=\n(?:.*\n)*?(?P=indent)[ \t]+>>> )", re.MULTILINE)
_ID = r"(?:S\d-\d+|SPEC-\d+|conflicts? C\d+|C\d+|scenario C\d+)"
_ROWS = re.compile(rf"\s+\({_ID}(?:(?:, | and | to ){_ID})*\)")


class Roles(griffe.Extension):
    """Rewrites every docstring before mkdocstrings parses it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            text = _LITERAL.sub("", obj.docstring.value)
            text = _EXAMPLE.sub(r"\g<indent>Examples:", text)
            text = _ROWS.sub("", text)
            obj.docstring.value = _ROLE.sub(lambda role: _link(role, obj), text)


def _link(role: re.Match[str], obj: griffe.Object) -> str:
    """Return a link that is dropped without a word when its target is on no page."""
    target = role["target"]
    shown = target.rpartition(".")[2] if role["tilde"] else target
    if not target.startswith("skillbelt"):
        owner = obj if obj.is_class or obj.is_module else obj.parent
        try:
            target = owner.resolve(target) if owner is not None else target
        except griffe.NameResolutionError:
            return f"`{shown}`"
    return f'<autoref optional identifier="{target}"><code>{shown}</code></autoref>'
