"""The ``skillbelt`` command: ask an agent, list, show and validate skills.

A host of the library like any other: it uses public names only and holds no rule about skills. Importing this package
imports neither typer nor rich; they come with the extra ``cli`` and are needed only once :func:`main` runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from skillbelt.errors import MissingExtraError

__all__ = ["main"]

_EXTRA = frozenset({"rich", "typer"})


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit: 0 fine, 1 something is wrong with a skill or a model, 2 wrong usage or environment.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Raises:
        SystemExit: Always, with the exit code.
    """
    try:
        from skillbelt.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        sys.stderr.write(f"error: {MissingExtraError('The skillbelt command', extra='cli')}\n")
        raise SystemExit(2) from None
    app(args=None if argv is None else list(argv), prog_name="skillbelt")
