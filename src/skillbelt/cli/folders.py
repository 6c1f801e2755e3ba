"""From what was typed to skills: checks of folders and names, each answered by one sentence that says what to do.

The library reads a folder that does not exist as an empty one, because a host may create it later (conflict C8). On a
command line the same thing is a typing error, so it is refused here. Reading stays the library's business.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from skillbelt.errors import SkillError, did_you_mean
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic
from skillbelt.parsing import SKILL_FILE
from skillbelt.router import SkillRouter

__all__ = [
    "LIMITS",
    "CommandError",
    "check_folder",
    "is_file",
    "is_skill_file",
    "left_out",
    "open_router",
    "settle_name",
]

LIMITS = Limits(entries=100_000, directories=100_000, depth=16)
"""Wider than the library's own: whoever types a folder wants all of it, and there is no option to raise them."""

_LOSSES = frozenset({"duplicate-name", "scan-limit", "depth-limit", "folder-unreadable", "symlink-escape"})


class CommandError(SkillError):
    """A command cannot go on.

    Args:
        message: One sentence that says what to do.
        code: Exit code: 1 for a skill or a model, 2 for usage and environment.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def check_folder(path: str) -> str:
    """Return ``path`` if it is a folder that can be read.

    Raises:
        CommandError: It is not, with exit code 2.
    """
    if not path.strip():
        raise CommandError("The name of a folder is empty; give the folder that holds the skills.")
    try:
        with os.scandir(os.path.expanduser(path)):
            return path
    except FileNotFoundError:
        raise CommandError(
            f"The folder {path!r} was not found; check the spelling, or create it and put skill folders into it."
        ) from None
    except NotADirectoryError:
        hint = "its folder" if is_skill_file(path) else "the folder that holds the skills"
        raise CommandError(f"{path!r} is a file, not a folder; give {hint}.") from None
    except PermissionError:
        raise CommandError(
            f"The folder {path!r} cannot be read: permission denied; make it readable or choose another."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"The folder {path!r} cannot be read: {reason}; give another.") from None


def is_file(path: str) -> bool:
    """Whether there is such a file; one that may not be looked at is none."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where permission is missing


def is_skill_file(path: str) -> bool:
    """Whether a path is spelled like a SKILL.md."""
    return Path(path).name.casefold() == SKILL_FILE.casefold()


def open_router(paths: Sequence[str], **options: Any) -> SkillRouter:
    """Return a router over folders that exist; the first wins a name held by several.

    Args:
        paths: As typed.
        **options: For :class:`~skillbelt.SkillRouter`.

    Raises:
        CommandError: One of them is no folder that can be read.
    """
    return SkillRouter.from_directory(*map(check_folder, paths), limits=LIMITS, **options)


def left_out(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics that explain why something is not in a listing."""
    return tuple(d for d in diagnostics if d.severity == "error" or d.code in _LOSSES)


def settle_name(router: SkillRouter, folder: str, name: str | None) -> str:
    """Return the name of the skill that was meant: the one given, else the only one there is.

    Args:
        router: Over ``folder``.
        folder: As typed, for the message.
        name: As typed.

    Raises:
        CommandError: The name is empty or missing (exit code 2), or the folder holds no skill (1).
    """
    names = [summary.name for summary in router.skills()]
    if name is not None:
        if not name.strip():
            raise CommandError(f"The name of a skill is empty. {did_you_mean('', names)}")
        return name
    if not names:
        raise CommandError(f"{folder!r} holds no skill that can be loaded; see why with: skillbelt validate DIR", 1)
    if len(names) > 1 or left_out(router.diagnostics()):
        raise CommandError(f"{folder!r} holds more than one skill; name one after it. {did_you_mean('', names)}")
    return names[0]
