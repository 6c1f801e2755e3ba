"""SkillsMiddleware: skills in a ``create_agent`` agent, with one line.

It adds the catalog to the system message of every model call, as one block of its own whose bytes do not change over
turns, so that the provider's prompt cache holds; and it contributes the skill tools.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from skillbelt.errors import MissingExtraError
from skillbelt.langchain.tools import skill_tools
from skillbelt.router import SkillRouter
from skillbelt.text import fill_slot

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import SystemMessage
except ImportError as error:
    raise MissingExtraError("SkillsMiddleware", extra="langchain") from error

__all__ = ["SkillsMiddleware"]

_SLOT = "{skills}"


class SkillsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent skills: the catalog in its system message, and the tools to load them.

    Without skills the request stays as it is and no tool is added (S2-50). After ``router.reload()`` the catalog is the
    new one and the tools serve it; the list of names that their schema advertises stays that of construction.

    Args:
        skills: A router, or a folder of skills.
        *more: Further folders; of a name in several, the first folder's skill wins.

    Example:
        ``create_agent(model, middleware=[SkillsMiddleware("skills")])``. The catalog stands at the end of the system
        prompt, or where that says ``{skills}``.
    """

    def __init__(self, skills: SkillRouter | str | os.PathLike[str], *more: str | os.PathLike[str]) -> None:
        super().__init__()
        self.router = skills if isinstance(skills, SkillRouter) else SkillRouter.from_directory(skills, *more)
        self.tools = [*skill_tools(self.router)]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the catalog in the system message."""
        return handler(self._with_catalog(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the catalog in the system message."""
        return await handler(self._with_catalog(request))

    def _with_catalog(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        block = self.router.prompt()
        given = request.system_message
        blocks: list[Any] = list(given.content_blocks) if given is not None else []
        slots = [_text(b) for b in blocks]
        if any(_SLOT in text for text in slots):
            blocks = [
                {**b, "text": fill_slot(text, block)} if text else b for b, text in zip(blocks, slots, strict=True)
            ]
        elif block:
            # Providers that take one text join the blocks: the section starts on a line of its own.
            blocks.append({"type": "text", "text": f"\n\n{block}" if blocks else block})
        else:
            return request
        return request.override(system_message=SystemMessage(content=blocks))


def _text(block: Any) -> str:
    return block.get("text", "") if isinstance(block, dict) and block.get("type") == "text" else ""
