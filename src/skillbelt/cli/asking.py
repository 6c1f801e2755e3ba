"""``skillbelt ask``: a real agent loop over a folder of skills, shown step by step.

The same question can be put to either framework, with a model of a provider or with the built-in one, which follows
rules and is labelled so. This module builds the run and prints its steps; the loops are in the two runners.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import typer

from skillbelt import examples
from skillbelt.cli.console import block, line, print_diagnostics, print_json, write
from skillbelt.cli.folders import CommandError, left_out, open_router
from skillbelt.cli.listing import records
from skillbelt.cli.models import failure, langchain_model, llama_index_model, split_model
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
from skillbelt.errors import SkillError
from skillbelt.models import Catalog
from skillbelt.router import SkillRouter

__all__ = ["Framework", "ask"]

OFFLINE = "offline rule-based model, no LLM; pass --model provider:name for a real one"

_BASE = "You are a helpful assistant. Answer the user's question; say which skill and files the answer comes from."
_WIDEST = 60


class Framework(StrEnum):
    """The frameworks that skillbelt has an adapter for."""

    LANGCHAIN = "langchain"
    LLAMA_INDEX = "llama-index"


def ask(
    question: str, folders: Sequence[str], *, framework: str, model: str | None, as_json: bool, verbose: bool
) -> None:
    """Run an agent over some folders of skills and print what happens.

    Args:
        question: What the user wants.
        folders: As typed; none stands for the skills that ship with skillbelt.
        framework: As typed.
        model: ``provider:name``, or ``None`` for the built-in rules.
        as_json: Print one object at the end instead.
        verbose: Show the system prompt as well.

    Raises:
        CommandError: The question, a folder, the framework or the model cannot be used, or the run failed.
    """
    if not question.strip():
        raise CommandError('The question is empty; ask something, such as: skillbelt ask "Deploy to staging".')
    if framework not in list(Framework):
        raise CommandError(f"There is no framework {framework!r} here; choose {' or '.join(Framework)}.")
    if model is not None:
        split_model(model)
    recorder = Recorder(show=_ignore if as_json else _Printer(verbose=verbose))
    folders = list(folders) or [str(examples.path())]
    router = open_router(folders, on_event=recorder.on_event)
    catalog, diagnostics = router.catalog(), router.diagnostics()
    if not as_json:
        print_diagnostics(left_out(diagnostics), stderr=True)
    if not catalog.shown:
        where = ", ".join(map(repr, folders))
        raise CommandError(f"There is no skill for a model in {where}; look why with: skillbelt validate DIR", 1)
    if not as_json:
        _print_head(question, framework, model, catalog)
    _run(router, question, framework=Framework(framework), model=model, recorder=recorder)
    if as_json:
        record = {"question": question, "framework": framework, "model": model or "offline"}
        print_json(
            record | {"offline": model is None} | _record(catalog, recorder) | {"diagnostics": records(diagnostics)}
        )


def _run(router: SkillRouter, question: str, *, framework: Framework, model: str | None, recorder: Recorder) -> None:
    run, chosen = _prepare(framework, model)
    try:
        run(router, question, base=_BASE, model=chosen, recorder=recorder)
    except SkillError:
        raise
    except Exception as error:
        raise failure(error, model or "offline model") from error


def _prepare(framework: Framework, model: str | None) -> tuple[Any, Any]:
    """Return the runner and the model. Both frameworks are slow to import, so only the one asked for is."""
    try:
        if framework is Framework.LANGCHAIN:
            from skillbelt.cli import langchain_run
            from skillbelt.testing import OfflineChatModel

            return langchain_run.run, langchain_model(model) if model else OfflineChatModel()
        from skillbelt.cli import llama_index_run
        from skillbelt.testing import OfflineLLM

        return llama_index_run.run, llama_index_model(model) if model else OfflineLLM()
    except SkillError:
        raise
    except Exception as error:
        raise failure(error, model or "offline model") from error


# --- for people -------------------------------------------------------------------------------------------------------


def _print_head(question: str, framework: str, model: str | None, catalog: Catalog) -> None:
    count, hidden = len(catalog.shown), len(catalog.omitted)
    names = ", ".join(catalog.shown[:5]) + (", …" if count > 5 else "")
    cut = f" ({hidden} more do not fit)" if hidden else ""
    for label, value in {
        "Question": question,
        "Framework": framework,
        "Model": model or OFFLINE,
        "Catalog": f"{count} skill{'' if count == 1 else 's'}, about {catalog.tokens} tokens{cut}: {names}",
    }.items():
        write(f"{label:<11}{line(value)}")


class _Printer:
    """Prints each step at once, so that a slow model is seen to work."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._calls = 0
        self._numbers: dict[str, int] = {}

    def __call__(self, step: Step) -> None:
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


def _ignore(step: Step) -> None:
    """Show nothing: the steps are printed at the end."""


# --- for machines -----------------------------------------------------------------------------------------------------


def _record(catalog: Catalog, recorder: Recorder) -> dict[str, Any]:
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
