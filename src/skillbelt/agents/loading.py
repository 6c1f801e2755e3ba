"""From agents.yaml to its agents: read, check everything, fill in the defaults.

No package is read, no registry is asked, no tool is looked up: a file is checked without a network, and what it names
is resolved when an agent is built.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pydantic import BaseModel

from skillbelt.agents.checks import checked
from skillbelt.agents.config import AgentConfig, Origin
from skillbelt.agents.document import Document, open_document, read_document
from skillbelt.agents.problems import Loc
from skillbelt.agents.schema import OFFLINE, AgentEntry, AgentLimits, AgentsFile, ModelOptions, Settings
from skillbelt.packages.references import PackageReference

__all__ = ["load_agents", "parse_agents"]

_Values = TypeVar("_Values", bound=BaseModel)


def load_agents(path: str | os.PathLike[str]) -> Mapping[str, AgentConfig]:
    """Return the agents of a file, by name and in its order.

    Args:
        path: A YAML file. ``local:`` references in it are relative to its folder.

    Raises:
        AgentConfigError: It cannot be read, or something in it is wrong: every problem at once, each with file, line,
            column, field and what was expected.

    Example:
        ``load_agents("agents.yaml")["clerk"].to_langchain()``
    """
    return _agents(open_document(path))


def parse_agents(data: bytes | str, *, path: str | os.PathLike[str] = "agents.yaml") -> Mapping[str, AgentConfig]:
    r"""Return the agents of a file that was read already.

    Args:
        data: Its content.
        path: What it is called in messages; ``local:`` references are relative to its folder.

    Raises:
        AgentConfigError: As for :func:`load_agents`.

    Example:
        >>> parse_agents("agents:\n  clerk:\n    skills: [local:./skills/mail]\n")["clerk"].skills[0].path
        './skills/mail'
    """
    return _agents(read_document(data, os.fspath(path)))


def _agents(document: Document) -> Mapping[str, AgentConfig]:
    file = checked(document)
    folder = Path(os.path.abspath(document.path)).parent
    return MappingProxyType({name: _agent(name, entry, file, document, folder) for name, entry in file.agents.items()})


def _agent(name: str, entry: AgentEntry, file: AgentsFile, document: Document, folder: Path) -> AgentConfig:
    defaults = file.defaults or Settings()
    provider = entry.provider or defaults.provider or OFFLINE
    # A model of the defaults belongs to the provider of the defaults.
    inherited = defaults.model if provider == defaults.provider else None
    skills = defaults.skills if entry.skills is None else entry.skills
    tools = defaults.tools if entry.tools is None else entry.tools
    own: Loc = ("agents", name)
    owners: dict[str, Loc] = {
        field: own if getattr(entry, field) is not None else ("defaults",)
        for field in Settings.model_fields
        if getattr(entry, field) is not None or getattr(defaults, field) is not None
    }
    owners["registries"] = ()
    return AgentConfig(
        name=name,
        type=entry.type,
        description=entry.description,
        provider=provider,
        model=None if provider == OFFLINE else entry.model or inherited,
        system_prompt=defaults.system_prompt if entry.system_prompt is None else entry.system_prompt,
        skills=tuple(map(PackageReference.parse, skills or ())),
        tools=tuple(tools or ()),
        allowed_tools=entry.allowed_tools or defaults.allowed_tools or "advisory",
        limits=_filled(AgentLimits(), defaults.limits, entry.limits),
        options=_filled(ModelOptions(), defaults.options, entry.options),
        registries=MappingProxyType({key.lower(): value for key, value in (file.registries or {}).items()}),
        folder=folder,
        origin=Origin(document, MappingProxyType(owners)),
    )


def _filled(base: _Values, *more: _Values | None) -> _Values:
    """Return values over values: what a later one says wins, field by field."""
    said = {key: value for each in more if each is not None for key, value in each if value is not None}
    return base.model_copy(update=said)
