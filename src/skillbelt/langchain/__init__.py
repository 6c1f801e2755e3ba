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
    from skillbelt.langchain.middleware import SkillsMiddleware

__all__ = ["SkillToolkit", "SkillsMiddleware", "skill_tools"]


def __getattr__(name: str) -> Any:
    if name == "SkillsMiddleware":
        return import_module("skillbelt.langchain.middleware").SkillsMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
