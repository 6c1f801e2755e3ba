"""``skillbelt run``: an agent of an agents.yaml, shown step by step as ``ask`` shows one; or the file checked.

What a file may say and how an agent is built is settled in :mod:`skillbelt.agents`. This module chooses the agent,
keeps what registries sent in the user's cache, and prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import typer

from skillbelt.agents import AgentConfig, AgentSkills, LoadedSkill, load_agents, open_skills
from skillbelt.agents.schema import OFFLINE as RULES
from skillbelt.agents.tools import find_tools
from skillbelt.cli.asking import Framework, settle_framework
from skillbelt.cli.console import error as say_error
from skillbelt.cli.console import line, print_json, table, write
from skillbelt.cli.folders import CommandError
from skillbelt.cli.models import failure, split_model
from skillbelt.cli.showing import OFFLINE, Printer, catalog_line, ignore, print_head, run_record
from skillbelt.cli.steps import Recorder
from skillbelt.errors import (
    AccessDeniedError,
    AgentConfigError,
    AuthenticationRequiredError,
    RegistryError,
    RegistryNetworkError,
    SkillError,
    did_you_mean,
)
from skillbelt.events import EventHandler
from skillbelt.models import Catalog

__all__ = ["check", "list_agents", "run"]

_ENVIRONMENT = (RegistryNetworkError, AuthenticationRequiredError, AccessDeniedError)
"""Failures that are about the network and its keys, and no package: exit code 2."""


def run(
    path: str,
    name: str | None,
    question: str | None,
    *,
    framework: str,
    model: str | None,
    allow_imports: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Ask an agent of a file and print what happens.

    Args:
        path: The file.
        name: The agent.
        question: What the user wants.
        framework: As typed.
        model: ``provider:name``, or ``offline``, instead of the one of the file.
        allow_imports: Import the tools that the file names as ``module:attribute``.
        as_json: Print one object at the end instead.
        verbose: Show the system prompt as well.

    Raises:
        CommandError: The question, the agent, the framework or the model cannot be used, or the run failed.
    """
    chosen = settle_framework(framework)
    if model is not None and model != RULES:
        split_model(model)
    config = _agent(path, name)
    if question is None or not question.strip():
        raise CommandError(
            f'The question is empty; ask something, such as: skillbelt run {path} {config.name} "Hello".'
        )
    label = model or (f"{config.provider}:{config.model}" if config.model else config.provider)
    recorder = Recorder(show=ignore if as_json else Printer(verbose=verbose))
    try:
        skills = _opened(config, recorder.on_event)
    except RegistryError as error:  # a line for each reference that failed
        for problem in str(error).splitlines():
            say_error(problem)
        raise typer.Exit(2 if isinstance(error, _ENVIRONMENT) else 1) from error
    agent, ask = _built(config, chosen, skills, model=model, label=label, allow_imports=allow_imports)
    catalog = Catalog(text="") if skills.router is None else skills.router.catalog()
    if not as_json:
        facts = {"Agent": config.name, "Question": question, "Framework": framework}
        facts |= {"Model": OFFLINE if label == RULES else label, "Catalog": catalog_line(catalog)}
        print_head([*facts.items(), *(("Skill", _described(skill)) for skill in skills.loaded)])
    try:
        ask(agent, question, recorder)
    except SkillError:
        raise
    except Exception as error:
        # Old versions of LlamaIndex wrap what a step raises.
        raise (error.__cause__ if isinstance(error.__cause__, SkillError) else failure(error, label)) from error
    if as_json:
        head = {"agent": config.name, "question": question, "framework": framework, "model": label}
        more = {"offline": label == RULES, "skills": [asdict(skill) for skill in skills.loaded]}
        print_json(head | more | run_record(catalog, recorder))


def list_agents(path: str, *, as_json: bool) -> None:
    """Print the agents of a file; nothing is resolved.

    Args:
        path: The file.
        as_json: Print one object instead of a table.
    """
    agents = load_agents(path).values()
    if as_json:
        print_json({"agents": [_record(config) for config in agents]})
        return
    rows = [(config.name, _model(config), _count(config.skills), config.description or "") for config in agents]
    table(("Agent", "Model", "Skills", "Description"), rows)


def check(path: str, name: str | None, *, allow_imports: bool, as_json: bool) -> bool:
    """Check a file and everything its agents name; run nothing and ask no model.

    Tools that only a host can pass are not looked for.

    Args:
        path: The file.
        name: Check this agent only.
        allow_imports: Also import the tools that are to be imported.
        as_json: Print one object instead of lines.

    Returns:
        Whether all is well.
    """
    configs = list(load_agents(path).values()) if name is None else [_agent(path, name)]
    records = []
    for config in configs:
        skills, problems = _checked(config, allow_imports=allow_imports)
        records.append({"agent": config.name, "skills": [asdict(skill) for skill in skills], "problems": problems})
        if as_json:
            continue
        for problem in problems:
            say_error(problem)
        if not problems:
            known = "; ".join(map(_described, skills)) or "no skills"
            write(line(f"{config.name}: fine; {known}."))
    fine = all(not record["problems"] for record in records)
    if as_json:
        print_json({"valid": fine, "agents": records})
    return fine


# --- parts ------------------------------------------------------------------------------------------------------------


def _agent(path: str, name: str | None) -> AgentConfig:
    agents = load_agents(path)
    if name is None:
        raise CommandError(f"Say which agent is to run. {did_you_mean('', agents, what='agents')}")
    if name not in agents:
        raise CommandError(f"There is no agent {name!r} in {path}. {did_you_mean(name, agents, what='agents')}")
    return agents[name]


def _opened(config: AgentConfig, on_event: EventHandler | None = None) -> AgentSkills:
    """Resolve the references, with the cache of this user when a registry may be asked."""
    if all(reference.scheme == "local" for reference in config.skills):
        return open_skills(config, on_event=on_event)
    from skillbelt.packages.cache import RegistryCache, default_cache_folder

    return open_skills(config, cache=RegistryCache(default_cache_folder()), on_event=on_event)


def _built(
    config: AgentConfig,
    framework: Framework,
    skills: AgentSkills,
    *,
    model: str | None,
    label: str,
    allow_imports: bool,
) -> tuple[Any, Callable[[Any, str, Recorder], None]]:
    """Return the agent and what asks it. Both frameworks are slow to import, so only the one asked for is."""
    make: Any
    ask: Any
    try:
        if framework is Framework.LANGCHAIN:
            from skillbelt.cli import langchain_run

            make, ask = config.to_langchain, langchain_run.run_agent
        else:
            from skillbelt.cli import llama_index_run

            make, ask = config.to_llama_index, llama_index_run.run_agent
        agent = make(model=model, skills=skills, allow_imports=allow_imports)
    except SkillError:
        raise
    except Exception as error:
        raise failure(error, label) from error
    return agent, ask


def _checked(config: AgentConfig, *, allow_imports: bool) -> tuple[tuple[LoadedSkill, ...], list[str]]:
    """Return what the references of an agent lead to, and what is wrong."""
    problems: list[str] = []
    skills: tuple[LoadedSkill, ...] = ()
    try:
        skills = _opened(config).loaded
    except (AgentConfigError, RegistryError) as error:
        problems += str(error).splitlines()
    if allow_imports:
        try:
            find_tools(config, {name: None for name in config.tools if ":" not in name}, allow_imports=True)
        except AgentConfigError as error:
            problems += str(error).splitlines()
    return skills, problems


# --- words ------------------------------------------------------------------------------------------------------------


def _described(skill: LoadedSkill) -> str:
    version = f" {skill.version}" if skill.version else ""
    return f"{skill.name}{version} from {skill.reference}"


def _count(references: Sequence[object]) -> str:
    return f"{len(references)} skill{'' if len(references) == 1 else 's'}"


def _model(config: AgentConfig) -> str:
    return f"{config.provider}:{config.model}" if config.model else config.provider


def _record(config: AgentConfig) -> dict[str, Any]:
    return {
        "name": config.name,
        "type": config.type,
        "description": config.description,
        "provider": config.provider,
        "model": config.model,
        "skills": [reference.text for reference in config.skills],
        "tools": list(config.tools),
        "limits": config.limits.model_dump() | {"model_calls": config.model_calls},
    }
