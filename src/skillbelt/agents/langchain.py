"""An agent of a file as ``langchain.agents.create_agent`` makes it, with its limits and its skills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from skillbelt.agents.config import AgentConfig
from skillbelt.agents.models import chosen, langchain_model
from skillbelt.agents.skills import METADATA, AgentSkills
from skillbelt.agents.tools import check_names, find_tools
from skillbelt.errors import MissingExtraError
from skillbelt.text import fill_slot

try:
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool
    from langchain_core.tools import tool as as_tool
    from langgraph.graph.state import CompiledStateGraph

    from skillbelt.agents.langchain_limits import RunLimits
    from skillbelt.langchain import SkillsMiddleware
except ImportError as error:
    raise MissingExtraError("AgentConfig.to_langchain", extra="langchain") from error

__all__ = ["build"]


def build(
    config: AgentConfig,
    *,
    model: BaseChatModel | str | None,
    tools: Mapping[str, BaseTool | Callable[..., Any]] | None,
    allow_imports: bool,
    skills: AgentSkills | None,
    options: dict[str, Any],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the agent; see :meth:`~skillbelt.agents.AgentConfig.to_langchain`."""
    own = [
        found if isinstance(found, BaseTool) else as_tool(found)
        for found in find_tools(config, tools, allow_imports=allow_imports)
    ]
    chat = chosen(config, model, langchain_model)
    skills = config.open_skills() if skills is None else skills
    added = [] if skills.router is None else [SkillsMiddleware(skills.router, allowed_tools=config.allowed_tools)]
    check_names(config, [tool.name for tool in own], [tool.name for each in added for tool in each.tools])
    prompt = config.system_prompt
    if prompt is not None and skills.router is None:
        prompt = fill_slot(prompt, "")
    # The limits wait for everything; the skills stand last, so that they see what other middlewares took away.
    middleware = [RunLimits(config.model_calls, config.limits.deadline), *options.pop("middleware", ()), *added]
    agent = create_agent(
        chat, tools=[*own, *options.pop("tools", ())], system_prompt=prompt, middleware=middleware, **options
    )
    if not skills.loaded:
        return agent
    return agent.with_config(metadata={METADATA: [asdict(skill) for skill in skills.loaded]})
