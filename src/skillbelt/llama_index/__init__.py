"""Skills for LlamaIndex: function tools, agents that keep skills alive, a memory block, a tool retriever.

::

    from llama_index.core.agent.workflow import FunctionAgent
    from skillbelt import SkillRouter
    from skillbelt.llama_index import skill_tools

    router = SkillRouter.from_directory("skills")
    agent = FunctionAgent(tools=skill_tools(router), system_prompt=router.prompt("You are …"), llm=llm)

or, with skills that stay in use however short the memory is::

    from skillbelt.llama_index import SkillFunctionAgent

    agent = SkillFunctionAgent(skills="skills", system_prompt="You are …", llm=llm)

The catalog goes into the system prompt: LlamaIndex refuses tool descriptions of more than 1024 characters. Each name is
imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skillbelt.llama_index.tools import SkillFunctionTool, SkillToolSpec, skill_tools

if TYPE_CHECKING:
    from skillbelt.llama_index.agents import SkillFunctionAgent, SkillReActAgent
    from skillbelt.llama_index.approval import SkillApproval, SkillApprovalRequired
    from skillbelt.llama_index.memory import SkillsMemoryBlock
    from skillbelt.llama_index.retrieval import SkillToolRetriever
    from skillbelt.llama_index.skills import Skills

__all__ = [
    "SkillApproval",
    "SkillApprovalRequired",
    "SkillFunctionAgent",
    "SkillFunctionTool",
    "SkillReActAgent",
    "SkillToolRetriever",
    "SkillToolSpec",
    "Skills",
    "SkillsMemoryBlock",
    "skill_tools",
]

_HOMES = {
    "SkillApproval": "approval",
    "SkillApprovalRequired": "approval",
    "SkillFunctionAgent": "agents",
    "SkillReActAgent": "agents",
    "SkillToolRetriever": "retrieval",
    "Skills": "skills",
    "SkillsMemoryBlock": "memory",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
