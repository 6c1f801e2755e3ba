"""What is wrong with a file of agents, as values with a place.

Nothing here knows what a right file looks like; :mod:`skillbelt.agents.checks` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillbelt.errors import AgentConfigError

__all__ = ["ConfigProblem", "Loc", "dotted", "refusal"]

Loc = tuple[str | int, ...]
"""Where a value stands in the file: keys, and numbers of list entries from 0."""


@dataclass(frozen=True, slots=True, order=True)
class ConfigProblem:
    """One thing that is wrong with a file of agents.

    Attributes:
        path: The file, as it was given.
        line: From 1; 0 when the file as a whole is meant.
        column: From 1, in characters; 0 when the file as a whole is meant.
        field: The value that is meant, such as ``agents.clerk.skills[1]``; ``""`` for the file as a whole.
        message: What was expected and what to do.

    Example:
        >>> print(ConfigProblem("agents.yaml", 3, 5, "agents.clerk.skils", "There is no such field."))
        agents.yaml:3:5: agents.clerk.skils: There is no such field.
    """

    path: str
    line: int
    column: int
    field: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return ": ".join(part for part in (where, self.field, self.message) if part)


def dotted(loc: Sequence[str | int]) -> str:
    """Return a place as people write it.

    Example:
        >>> dotted(("agents", "clerk", "skills", 1))
        'agents.clerk.skills[1]'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_plain(step)}" for step in loc).removeprefix(".")


def refusal(problems: Iterable[ConfigProblem]) -> AgentConfigError:
    """Return the exception for some problems, in the order of the file; its message is a line for each."""
    found = sorted(set(problems))
    return AgentConfigError("\n".join(map(str, found)), found)


def _plain(key: str) -> str:
    return key if key.isprintable() and 0 < len(key) <= 100 else repr(key[:100])
