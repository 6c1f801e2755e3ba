"""The prompt of a ReActAgent, with a system text that is another one in each run.

LlamaIndex fixes the text when the agent is built, and versions differ in what they do with it. Here it is handed over
for one step at a time, so one agent serves many users at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from llama_index.core.agent.react.formatter import ReActChatFormatter
from llama_index.core.agent.react.prompts import CONTEXT_REACT_CHAT_SYSTEM_HEADER, REACT_CHAT_SYSTEM_HEADER
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import BaseTool
from pydantic import PrivateAttr

__all__ = ["SkillReActFormatter", "system_text"]

_TEXT: ContextVar[str | None] = ContextVar("skillbelt_system_text", default=None)
_SLOT = "{context}"


@contextmanager
def system_text(text: str) -> Iterator[None]:
    """Let agents of this task speak under a system text.

    Args:
        text: The text.
    """
    token = _TEXT.set(text)
    try:
        yield
    finally:
        _TEXT.reset(token)


class SkillReActFormatter(ReActChatFormatter):
    """A formatter that says the system text of the step; elsewhere it is the one it was made of."""

    _own_header: str = PrivateAttr("")
    _own_context: str = PrivateAttr("")

    @classmethod
    def around(cls, formatter: ReActChatFormatter | None) -> SkillReActFormatter:
        """Return a formatter that does what another one does.

        Args:
            formatter: The host's; ``None`` for LlamaIndex's own.
        """
        known = formatter or ReActChatFormatter.from_defaults()
        made = cls(system_header=known.system_header, context="", observation_role=known.observation_role)
        made._own_header, made._own_context = known.system_header, known.context
        return made

    def format(
        self,
        tools: Sequence[BaseTool],
        chat_history: list[ChatMessage],
        current_reasoning: list[Any] | None = None,
    ) -> list[ChatMessage]:
        """Return the request: the header with the tools and the system text, then the messages."""
        context = _TEXT.get()
        if context is None:
            return super().format(tools, chat_history, current_reasoning)
        if self._own_context and self._own_context not in context:
            context = f"{context}\n\n{self._own_context}" if context else self._own_context
        # LlamaIndex changes the header to one of its own when there is a prompt; a prompt update changes it too.
        changed = self.system_header not in (self._own_header, CONTEXT_REACT_CHAT_SYSTEM_HEADER)
        header = self.system_header if changed else self._own_header
        plain = header in (REACT_CHAT_SYSTEM_HEADER, CONTEXT_REACT_CHAT_SYSTEM_HEADER)
        if plain:
            header = CONTEXT_REACT_CHAT_SYSTEM_HEADER if context else REACT_CHAT_SYSTEM_HEADER
        slot = _SLOT in header
        formatter = ReActChatFormatter(
            system_header=header if context or not slot else header.replace(_SLOT, ""),
            context=context if slot else "",
            observation_role=self.observation_role,
        )
        messages = formatter.format(tools, chat_history, current_reasoning)
        if context and not slot:  # the host's header has no place for it
            messages[0] = ChatMessage(role=messages[0].role, content=f"{messages[0].content}\n\n{context}")
        return messages
