"""``skillbelt ask``: a real agent loop over a folder of skills, shown step by step.

The same question can be put to either framework, with a model of a provider or with the built-in one, which follows
rules and is labelled so. This module builds the run and prints its steps; the loops are in the two runners.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from skillbelt import examples
from skillbelt.cli.console import print_diagnostics, print_json
from skillbelt.cli.folders import CommandError, left_out, open_router
from skillbelt.cli.listing import records
from skillbelt.cli.models import failure, langchain_model, llama_index_model, split_model
from skillbelt.cli.showing import OFFLINE, Printer, catalog_line, ignore, print_head, run_record
from skillbelt.cli.steps import Recorder
from skillbelt.errors import SkillError
from skillbelt.router import SkillRouter

__all__ = ["Framework", "ask", "settle_framework"]

_BASE = "You are a helpful assistant. Answer the user's question; say which skill and files the answer comes from."


class Framework(StrEnum):
    """The frameworks that skillbelt has an adapter for."""

    LANGCHAIN = "langchain"
    LLAMA_INDEX = "llama-index"


def settle_framework(framework: str) -> Framework:
    """Return the framework that was typed.

    Raises:
        CommandError: There is none of that name.
    """
    if framework not in list(Framework):
        raise CommandError(f"There is no framework {framework!r} here; choose {' or '.join(Framework)}.")
    return Framework(framework)


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
    chosen = settle_framework(framework)
    if model is not None:
        split_model(model)
    recorder = Recorder(show=ignore if as_json else Printer(verbose=verbose))
    folders = list(folders) or [str(examples.path())]
    router = open_router(folders, on_event=recorder.on_event)
    catalog, diagnostics = router.catalog(), router.diagnostics()
    if not as_json:
        print_diagnostics(left_out(diagnostics), stderr=True)
    if not catalog.shown:
        where = ", ".join(map(repr, folders))
        raise CommandError(f"There is no skill for a model in {where}; look why with: skillbelt validate DIR", 1)
    if not as_json:
        facts = {"Question": question, "Framework": framework, "Model": model or OFFLINE}
        print_head([*facts.items(), ("Catalog", catalog_line(catalog))])
    _run(router, question, framework=chosen, model=model, recorder=recorder)
    if as_json:
        record = {"question": question, "framework": framework, "model": model or "offline"}
        print_json(
            record | {"offline": model is None} | run_record(catalog, recorder) | {"diagnostics": records(diagnostics)}
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
