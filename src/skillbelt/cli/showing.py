"""How a run looks: its steps as lines while they happen, or all of it as one JSON object at the end.

``ask`` and ``run`` show the same. What a step is, is settled in :mod:`skillbelt.cli.steps`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

from skillbelt.cli.console import block, line, write
from skillbelt.cli.steps import (
    Answered,
    FileRead,
    Recorder,
    Refused,
    RequestSent,
    SkillLoaded,
    SkillsFound,
    Step,
    ToolCalled,
    ToolReturned,
    as_record,
)
from skillbelt.models import Catalog

__all__ = ["OFFLINE", "Printer", "catalog_line", "ignore", "print_head", "run_record"]

OFFLINE = "offline rule-based model, no LLM; pass --model provider:name for a real one"

_WIDEST = 60


# --- for people -------------------------------------------------------------------------------------------------------


def print_head(facts: Iterable[tuple[str, str]]) -> None:
    """Print what a run is about, a line a fact."""
    for label, value in facts:
        write(f"{label:<11}{line(value)}")


def catalog_line(catalog: Catalog) -> str:
    """Return a catalog in one line: how many skills, how large, which."""
    if not catalog.text:
        return "no skills"
    count, hidden = len(catalog.shown), len(catalog.omitted)
    names = ", ".join(catalog.shown[:5]) + (", …" if count > 5 else "")
    cut = f" ({hidden} more do not fit)" if hidden else ""
    return f"{count} skill{'' if count == 1 else 's'}, about {catalog.tokens} tokens{cut}: {names}"


class Printer:
    """Prints each step at once, so that a slow model is seen to work.

    Args:
        verbose: Print the system prompt as well.
    """

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._calls = 0
        self._numbers: dict[str, int] = {}

    def __call__(self, step: Step) -> None:  # noqa: D102 - what a printer does
        match step:
            case RequestSent() if self._verbose:
                _section("System prompt sent to the model", step.system_prompt)
            case ToolCalled():
                self._calls += 1
                self._numbers[step.id] = self._calls
                if self._calls == 1:
                    write()
                arguments = ", ".join(f"{key}={_short(value)}" for key, value in step.arguments.items())
                write(f"{self._calls}. {line(step.tool)}({line(arguments)})", "bold")
            case Answered():
                _section("Answer", step.text)
            case RequestSent():
                pass
            case _:
                # Calls of one message may come back in any order: each result says to which it belongs.
                number = self._numbers.get(step.id, 0)
                style = "red" if isinstance(step, Refused) else "green"
                write(f"   {number}: {line(_told(step))}", style)


def _told(step: SkillLoaded | FileRead | SkillsFound | Refused | ToolReturned) -> str:
    match step:
        case SkillLoaded():
            cut = ", cut" if step.truncated else ""
            return f"skill {step.name} loaded, {step.characters} characters{cut}"
        case FileRead():
            return f"file {step.path} of {step.name} read, {step.size} of {step.total} bytes"
        case SkillsFound():
            return f"search found {', '.join(step.names) or 'nothing'}"
        case Refused():
            return f"refused: {step.reason}"
        case ToolReturned():
            return f"{step.tool} answered, {step.characters} characters"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _section(title: str, text: str) -> None:
    write()
    write(title, "bold")
    typer.echo(block(text))


def ignore(step: Step) -> None:
    """Show nothing: the steps are printed at the end."""


# --- for machines -----------------------------------------------------------------------------------------------------


def run_record(catalog: Catalog, recorder: Recorder) -> dict[str, Any]:
    """Return the whole of a run for machines."""
    steps = recorder.steps
    read = [(s.name, s.path) for s in steps if isinstance(s, FileRead)]
    return {
        "catalog": {
            "count": len(catalog.shown),
            "tokens": catalog.tokens,
            "shown": list(catalog.shown),
            "omitted": list(catalog.omitted),
        },
        "system_prompt": next((s.system_prompt for s in steps if isinstance(s, RequestSent)), ""),
        "steps": [as_record(step) for step in steps if not isinstance(step, RequestSent | Answered)],
        "skills_loaded": list(dict.fromkeys(s.name for s in steps if isinstance(s, SkillLoaded))),
        "files_read": [{"skill": skill, "path": path} for skill, path in dict.fromkeys(read)],
        "answer": next((s.text for s in reversed(steps) if isinstance(s, Answered)), ""),
    }
