"""Agents by configuration: ``agents.yaml`` with a list of references to skills, built in either framework.

::

    from skillbelt.agents import load_agents

    agents = load_agents("agents.yaml")
    clerk = agents["clerk"].to_langchain()

Loading checks the file and nothing else; building an agent resolves what it names. No framework is imported before.
"""

from __future__ import annotations

from skillbelt.agents.config import AgentConfig
from skillbelt.agents.loading import load_agents, parse_agents
from skillbelt.agents.one_tool import OneToolRenderer, one_tool
from skillbelt.agents.problems import ConfigProblem
from skillbelt.agents.schema import AgentLimits, ModelOptions, RegistrySettings, json_schema
from skillbelt.agents.skills import AgentSkills, LoadedSkill, loaded_skills, open_skills

__all__ = [
    "AgentConfig",
    "AgentLimits",
    "AgentSkills",
    "ConfigProblem",
    "LoadedSkill",
    "ModelOptions",
    "OneToolRenderer",
    "RegistrySettings",
    "json_schema",
    "load_agents",
    "loaded_skills",
    "one_tool",
    "open_skills",
    "parse_agents",
]
