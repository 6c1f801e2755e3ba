"""AgentConfig: one agent of a file, as a value that can be built in either framework.

A value only: making one reads no package, asks no registry and imports no framework. All of that happens when
:meth:`AgentConfig.to_langchain` or :meth:`AgentConfig.to_llama_index` is called (S2-39).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from skillbelt.agents.document import Document
from skillbelt.agents.problems import ConfigProblem, Loc, dotted
from skillbelt.agents.schema import OFFLINE, AgentLimits, ModelOptions, RegistrySettings
from skillbelt.packages.references import PackageReference

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.llms.llm import LLM

    from skillbelt.agents.skills import AgentSkills

__all__ = ["DEFAULT_MODEL_CALLS", "AgentConfig", "Origin"]

DEFAULT_MODEL_CALLS = 25
"""Calls of the model in one run, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an agent was written down.

    Attributes:
        document: The file.
        owners: For each field, the mapping that says it: the agent's own or that of the defaults.
    """

    document: Document
    owners: Mapping[str, Loc]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """One agent, as :func:`~skillbelt.agents.load_agents` returns it.

    Attributes:
        name: Its name in the file.
        type: ``"llm"``.
        description: What it is for, for workflows that hand over to it.
        provider: Whose model; ``"offline"`` is the rule-based one of :mod:`skillbelt.testing`.
        model: The model's name; ``None`` for ``"offline"``.
        system_prompt: Its own prompt.
        skills: References to its skills, in order.
        tools: Names of its other tools.
        allowed_tools: Whether the allowed-tools of skills in use are a hint or a fence.
        limits: Its bounds, those of the defaults filled in.
        options: What the provider's model is made with.
        registries: The registries of the file.
        folder: What ``local:`` references are relative to.
        origin: Where it was written down.

    Example:
        >>> AgentConfig(name="clerk", skills=(PackageReference.parse("local:./skills/mail"),)).provider
        'offline'
    """

    name: str
    type: str = "llm"
    description: str | None = None
    provider: str = OFFLINE
    model: str | None = None
    system_prompt: str | None = None
    skills: tuple[PackageReference, ...] = ()
    tools: tuple[str, ...] = ()
    allowed_tools: Literal["advisory", "enforce"] = "advisory"
    limits: AgentLimits = field(default_factory=AgentLimits)
    options: ModelOptions = field(default_factory=ModelOptions)
    registries: Mapping[str, RegistrySettings] = field(default_factory=lambda: MappingProxyType({}))
    folder: Path = field(default_factory=Path)
    origin: Origin | None = field(default=None, repr=False, compare=False)

    @property
    def model_calls(self) -> int:
        """Calls of the model in one run."""
        return self.limits.model_calls or DEFAULT_MODEL_CALLS

    def problem(self, loc: Loc, message: str) -> ConfigProblem:
        """Return a problem of one of this agent's values, with its line.

        Args:
            loc: The value, seen from the agent: ``("skills", 1)``.
            message: What is wrong and what to do.
        """
        if self.origin is None:
            return ConfigProblem("", 0, 0, dotted(("agents", self.name, *loc)), message)
        owner = self.origin.owners.get(str(loc[0]), ("agents", self.name))
        return self.origin.document.problem((*owner, *loc), message)

    def open_skills(self, **options: Any) -> AgentSkills:
        """Resolve the references and return the skills, ready for an agent.

        Args:
            **options: As for :func:`skillbelt.agents.open_skills`.

        Raises:
            RegistryError: A reference leads nowhere or to something unusable; the message has its line (S2-39).
        """
        from skillbelt.agents.skills import open_skills

        return open_skills(self, **options)

    def to_langchain(
        self,
        *,
        model: BaseChatModel | str | None = None,
        tools: Mapping[str, Any] | None = None,
        allow_imports: bool = False,
        skills: AgentSkills | None = None,
        **options: Any,
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Return the agent as ``langchain.agents.create_agent`` makes it.

        Args:
            model: Used instead of the configured one: a chat model, or ``"provider:name"``.
            tools: The tools that the file may name: name to tool or function.
            allow_imports: Let the file name tools to import, as ``module:attribute``. Importing runs code.
            skills: What :meth:`open_skills` returned; by default it is called now.
            **options: For ``create_agent``: ``checkpointer``, ``middleware``, ``context_schema``, …

        Raises:
            RegistryError: As for :meth:`open_skills`.
            AgentConfigError: A tool or the provider is not there; every problem has its line.
        """
        from skillbelt.agents.langchain import build

        return build(self, model=model, tools=tools, allow_imports=allow_imports, skills=skills, options=options)

    def to_llama_index(
        self,
        *,
        model: LLM | str | None = None,
        tools: Mapping[str, Any] | None = None,
        allow_imports: bool = False,
        skills: AgentSkills | None = None,
        **options: Any,
    ) -> FunctionAgent:
        """Return the agent as a LlamaIndex ``FunctionAgent``, for itself or for an ``AgentWorkflow``.

        Args:
            model: Used instead of the configured one: an LLM, or ``"provider:name"``.
            tools: The tools that the file may name: name to tool or function.
            allow_imports: Let the file name tools to import, as ``module:attribute``. Importing runs code.
            skills: What :meth:`open_skills` returned; by default it is called now.
            **options: For ``FunctionAgent``: ``can_handoff_to``, ``initial_state``, …

        Raises:
            RegistryError: As for :meth:`open_skills`.
            AgentConfigError: A tool or the provider is not there; every problem has its line.
        """
        from skillbelt.agents.llama_index import build

        return build(self, model=model, tools=tools, allow_imports=allow_imports, skills=skills, options=options)
