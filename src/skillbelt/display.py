"""HTML for notebooks. Everything shown is escaped: the text of a skill is not to be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skillbelt.models import Diagnostic, SkillSummary
from skillbelt.text import attribute, inline

__all__ = ["skills_html"]

_CELL = 'style="text-align:left;vertical-align:top"'


def skills_html(summaries: Sequence[SkillSummary], diagnostics: Sequence[Diagnostic] = ()) -> str:
    """Return a table of skills and, below it, what is wrong with others.

    Args:
        summaries: The skills.
        diagnostics: Errors and warnings are shown; infos are counted.
    """
    count = f"{len(summaries)} skill{'' if len(summaries) == 1 else 's'}"
    parts = [f"<p><b>{count}</b></p>", _table(("name", "description"), ((s.name, s.description) for s in summaries))]
    loud = [d for d in diagnostics if d.severity != "info"]
    if loud:
        rows = ((d.severity, d.code, d.message, d.path or "") for d in loud)
        parts.append(f"<details><summary>{len(loud)} diagnostics</summary>")
        parts.append(_table(("severity", "code", "message", "path"), rows) + "</details>")
    return "\n".join(parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th {_CELL}>{attribute(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td {_CELL}>{inline(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
