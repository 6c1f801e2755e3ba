"""What reaches a terminal or a pipe: streams, colours, and untrusted text made harmless.

Names, descriptions, bodies and messages come from files of other people: nothing of them may steer a terminal or be
read as markup. Everything printed passes :func:`line` or :func:`block` here, and rich is given ``Text``, never
markup. What is said, and in which order, is the business of the commands.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from skillbelt.models import Diagnostic
from skillbelt.text import inline

__all__ = ["block", "error", "line", "note", "print_diagnostics", "print_json", "progress", "stdout", "table", "write"]

_WORD = re.compile(r"[^ \n\t]+")
_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def line(text: str) -> str:
    """Return ``text`` as one line without characters that a terminal acts on; those become U+FFFD."""
    return unescape(inline(text))  # inline() also escapes for a model's markup, which nobody wants to read here


def block(text: str) -> str:
    """Return ``text`` without characters that a terminal acts on; spaces, tabs and line ends stay."""
    return _WORD.sub(lambda match: line(match[0]), text)


# --- streams ----------------------------------------------------------------------------------------------------------


def stdout() -> Console:
    """Return a console on standard output as it is now; plain text when that is no terminal."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    # NO_COLOR switches all escape codes off, not only colours: bold text in a log helps nobody.
    system = None if os.environ.get("NO_COLOR") else "auto"
    return Console(stderr=stderr, color_system=system, markup=False, highlight=False, emoji=False)  # type: ignore[arg-type]


def write(text: str = "", style: str = "") -> None:
    """Print ``text``, already made harmless, on standard output without wrapping it."""
    stdout().print(Text(text, style), soft_wrap=True)


def note(text: str) -> None:
    """Print a remark on standard error; standard output stays what the command was asked for."""
    _console(stderr=True).print(Text(line(text), "dim"), soft_wrap=True)


def error(text: str) -> None:
    """Print what went wrong on standard error, as one line."""
    _console(stderr=True).print(Text.assemble(("error: ", "bold red"), line(text)), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value for machines: ASCII, so that neither the terminal nor the locale can spoil it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def progress() -> Progress:
    """Return a progress bar on standard error that vanishes when done; silent when that is no terminal."""
    console = _console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


# --- tables and diagnostics -------------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows on standard output: a table on a terminal, aligned text with one line a row in a pipe.

    Args:
        header: Titles of the columns; the pipe does without.
        rows: Cells, made harmless here.
    """
    cells = [[line(cell) for cell in row] for row in rows]
    console = stdout()
    if not console.is_terminal:
        widths = [max((cell_len(row[i]) for row in cells), default=0) for i in range(len(header) - 1)]
        for row in cells:
            padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)]
            write("  ".join([*padded, row[-1]]).rstrip())
        return
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, title in enumerate(header):
        grid.add_column(title, style="bold" if i == 0 else "", overflow="fold")
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    console.print(grid)


def print_diagnostics(diagnostics: Iterable[Diagnostic], *, stderr: bool) -> None:
    """Print each diagnostic on a line of its own: file and line, severity and code, message, what to change."""
    console = _console(stderr=stderr)
    for found in diagnostics:
        where = f"{_near(found.path or 'SKILL.md')}{f':{found.line}' if found.line else ''}: "
        kind = (f"{found.severity}[{found.code}] ", _STYLES[found.severity])
        said = line(f"{found.message} {found.hint or ''}")
        console.print(Text.assemble(line(where) + " ", kind, said), soft_wrap=True)


def _near(path: str) -> str:
    """Return a path as seen from here when it lies below here, which is shorter and can be clicked."""
    here = f"{Path.cwd()}{os.sep}"
    return path.removeprefix(here) if path.startswith(here) else path
