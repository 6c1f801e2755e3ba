"""The few lines of a Markdown text that answer a question best, by the words they share.

It cuts and never rephrases: an excerpt is lines of the text. It knows nothing of skills.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from skillbelt.search import keywords

__all__ = ["best_lines", "first_lines", "numbered_steps", "overlap"]

_WIDTH = 200
"""Characters shown of one line."""

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_STEP = re.compile(r"\s{0,3}\d{1,3}[.)]\s+\S")
_ROW = re.compile(r"\s*\|")
_ITEM = re.compile(r"\s*(?:[-*+>|]|\d{1,3}[.)])(?:\s|$)")
_TABLE_RULE = re.compile(r"[\s|:+=*_-]+$")


@dataclass(slots=True)
class _Section:
    heading: str = ""
    lines: list[str] = field(default_factory=list)


def overlap(terms: Collection[str], text: str) -> int:
    """Return how many of ``terms`` (stems, see :func:`skillbelt.search.keywords`) occur in ``text``."""
    return len(keywords(text).keys() & set(terms))


def numbered_steps(text: str, terms: Collection[str], *, limit: int) -> list[str]:
    """Return the numbered steps of the section that fits best; without a fitting one those of the first.

    Args:
        text: Markdown.
        terms: Stems of the question.
        limit: How many steps at most.
    """
    stepped = [s for s in _sections(text, prose=True) if any(_STEP.match(line) for line in s.lines)]
    if not stepped:
        return []
    best = max(stepped, key=lambda s: overlap(terms, "\n".join([s.heading, *s.lines])))
    return [_cut(line) for line in best.lines if _STEP.match(line)][:limit]


def best_lines(
    text: str, terms: Collection[str], *, limit: int, prose: bool = True, skip: Collection[str] = ()
) -> list[str]:
    """Return the lines that share most with the question, in the order of the text.

    A heading counts for the lines under it and is never shown itself.

    Args:
        text: Markdown or any plain text.
        terms: Stems of the question.
        limit: How many lines at most.
        prose: Whether it has headings and wrapped lines; code and data have neither.
        skip: Lines not to repeat.
    """
    scored: list[tuple[int, int, str]] = []
    for section in _sections(text, prose=prose):
        above = overlap(terms, section.heading)
        for line in section.lines:
            shown = _cut(line)
            score = 2 * overlap(terms, line) + above
            if score and shown not in skip:
                scored.append((score, len(scored), shown))
    best = sorted(scored, key=lambda entry: (-entry[0], entry[1]))[:limit]
    return [shown for _, _, shown in sorted(best, key=lambda entry: entry[1])]


def first_lines(text: str, *, limit: int, prose: bool = True) -> list[str]:
    """Return the first lines that are not headings: what to show when nothing fits better."""
    return [_cut(line) for section in _sections(text, prose=prose) for line in section.lines][:limit]


def _sections(text: str, *, prose: bool) -> Iterator[_Section]:
    """Yield headings with the lines under them that say something; a ``#`` in a code block is no heading."""
    section, fence, grows = _Section(), "", False
    if not prose:
        yield _Section("", [line for line in text.splitlines() if line.strip()])
        return
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence, grows = "" if fence else mark[1], False
        elif not fence and (heading := _HEADING.match(line)):
            yield section
            section, grows = _Section(heading[1]), False
        elif not line.strip() or _TABLE_RULE.match(line):
            grows = False
        elif grows and not _ITEM.match(line):
            section.lines[-1] += f" {line.strip()}"  # a paragraph or an item that was wrapped
        else:
            section.lines.append(line)
            grows = not fence and not _ROW.match(line)
    yield section


def _cut(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 2].rstrip() + " …"
