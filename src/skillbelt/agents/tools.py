"""From the names of tools in a file to the tools: what the host passes, and what it lets the file import.

A file of agents is data: a name in it runs no code unless the host says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from skillbelt.agents.checks import IMPORTED
from skillbelt.agents.config import AgentConfig
from skillbelt.agents.problems import ConfigProblem, refusal
from skillbelt.errors import did_you_mean

__all__ = ["check_names", "find_tools"]


def find_tools(config: AgentConfig, tools: Mapping[str, Any] | None, *, allow_imports: bool) -> list[Any]:
    """Return the tools of an agent, in its order.

    Args:
        config: The agent.
        tools: What the host passes.
        allow_imports: Whether ``module:attribute`` is imported.

    Raises:
        AgentConfigError: Some are not there; every one is named with its line.
    """
    found: list[Any] = []
    problems: list[ConfigProblem] = []
    given = tools or {}
    for number, name in enumerate(config.tools):
        message = None
        if name in given:
            found.append(given[name])
        elif (match := IMPORTED.fullmatch(name)) is None:
            hint = did_you_mean(name, given, what="tools") if given else "Pass it: tools={name: tool}."
            message = f"The host passes no tool {name!r}. {hint}"
        elif not allow_imports:
            message = f"{name!r} would be imported, which runs code; the host must pass allow_imports=True for that."
        else:
            try:
                found.append(_imported(match["module"], match["attribute"]))
            except (ImportError, AttributeError) as error:
                message = f"{name!r} cannot be imported ({error})."
        if message:
            problems.append(config.problem(("tools", number), message))
    if problems:
        raise refusal(problems)
    return found


def _imported(module: str, attribute: str) -> Any:
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def check_names(config: AgentConfig, own: Sequence[str], skills: Sequence[str]) -> None:
    """Refuse two tools of one name: both frameworks would take one of them in silence.

    Args:
        config: The agent.
        own: Names of the tools of its ``tools:``, as the model sees them, in order.
        skills: Names of the tools its skills bring.

    Raises:
        AgentConfigError: A name is taken already.
    """
    taken = dict.fromkeys(skills, "the skills bring a tool of that name")
    problems = []
    for number, name in enumerate(own):
        if name in taken:
            message = f"The model would see two tools called {name!r}: {taken[name]}; rename this one."
            problems.append(config.problem(("tools", number), message))
        taken.setdefault(name, "another one of the agent is called so")
    if problems:
        raise refusal(problems)
