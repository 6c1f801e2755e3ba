"""Runs the examples in README.md and docs/, each page in a folder of its own with the shipped skills as ``skills/``.

A ``python`` block is executed; the blocks of one page share their names. An ``output`` block is compared with what the
Python block before it printed, a ``console`` block with what its ``$ skillbelt`` commands print; ``...`` stands for
any text. Blocks of other languages are only shown.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import Any

import pytest

_PRINTED = "_printed"
_FOLDERS = "_folders"


def _enter(namespace: dict[str, Any]) -> None:
    from skillbelt import examples

    folder = Path(tempfile.mkdtemp())
    shutil.copytree(examples.path(), folder / "skills", ignore=shutil.ignore_patterns("__*"))
    namespace[_FOLDERS] = (Path.cwd(), folder)
    os.chdir(folder)


def _leave(namespace: dict[str, Any]) -> None:
    before, folder = namespace[_FOLDERS]
    os.chdir(before)
    shutil.rmtree(folder)


def _different(wanted: str, got: str) -> str | None:
    if OutputChecker().check_output(wanted.strip() + "\n", got.strip() + "\n", ELLIPSIS):
        return None
    return f"The page shows:\n{wanted}\nbut it gave:\n{got}"


def _run(command: str) -> str:
    words = shlex.split(command.removeprefix("$ "))
    if words[0] != "skillbelt":
        return f"Only skillbelt is run here, not {words[0]}."
    done = subprocess.run(  # noqa: S603 - the commands of our own pages
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout


# The lowest versions of the dependencies are tested without sybil, and without the pages.
if importlib.util.find_spec("sybil"):
    from sybil import Example, Sybil
    from sybil.evaluators.python import PythonEvaluator
    from sybil.parsers.markdown import CodeBlockParser, SkipParser

    _evaluate = PythonEvaluator()

    def _python(example: Example) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            _evaluate(example)
        example.namespace[_PRINTED] = printed.getvalue()

    def _output(example: Example) -> str | None:
        return _different(example.parsed, example.namespace[_PRINTED])

    def _console(example: Example) -> str | None:
        commands = [line for line in example.parsed.splitlines() if line.startswith("$ ")]
        return _different(example.parsed, "\n".join(f"{command}\n{_run(command)}".strip() for command in commands))

    pytest_collect_file = Sybil(
        parsers=[
            CodeBlockParser(language="python", evaluator=_python),
            CodeBlockParser(language="output", evaluator=_output),
            CodeBlockParser(language="console", evaluator=_console),
            SkipParser(),
        ],
        patterns=["README.md", "docs/*.md", "docs/*/*.md"],
        setup=_enter,
        teardown=_leave,
    ).pytest()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the examples of a page on one worker of pytest-xdist: they need each other, in order."""
    from xdist.scheduler import LoadScopeScheduling

    class Pages(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(".md") else nodeid

    return Pages(config, log) if config.getoption("dist") == "load" else None
