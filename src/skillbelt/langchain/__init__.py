"""Skills for LangChain: tools, a toolkit, and middleware for ``create_agent``.

::

    from langchain.agents import create_agent
    from skillbelt.langchain import SkillsMiddleware

    agent = create_agent("openai:gpt-5", middleware=[SkillsMiddleware("skills")])

Tools need langchain-core only; the middleware, which needs langchain, is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skillbelt.langchain.tools import SkillToolkit, skill_tools

if TYPE_CHECKING:
    from skillbelt.langchain.approval import SkillApproval
    from skillbelt.langchain.backend import BackendSource
    from skillbelt.langchain.middleware import SkillsMiddleware
    from skillbelt.langchain.prompts import prompt_template_text

__all__ = [
    "BackendSource",
    "SkillApproval",
    "SkillToolkit",
    "SkillsMiddleware",
    "prompt_template_text",
    "skill_tools",
]

_HOMES = {
    "BackendSource": "backend",
    "SkillApproval": "approval",
    "SkillsMiddleware": "middleware",
    "prompt_template_text": "prompts",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
