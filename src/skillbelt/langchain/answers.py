"""Results of tools on their way into the state: found in whatever they come in, and cleaned of what is not theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from skillbelt.langchain.state import ACTIVE, HELD

__all__ = ["Answer", "is_failing", "missed", "without_ours"]


@dataclass(frozen=True)
class Answer:
    """The answer to one call, in whatever it came.

    Attributes:
        result: What the tool, or a middleware behind us, gave.
        message: The tool message in it.
    """

    result: ToolMessage | Command[Any]
    message: ToolMessage

    @classmethod
    def of(cls, result: ToolMessage | Command[Any], key: str) -> Answer | None:
        """Find the answer to a call; ``None`` when there is none.

        Args:
            result: What came back.
            key: Id of the call.
        """
        if isinstance(result, ToolMessage):
            return cls(result, result)
        messages = result.update.get("messages") if isinstance(result.update, dict) else None
        for message in messages or ():
            if isinstance(message, ToolMessage) and message.tool_call_id == key:
                return cls(result, message)
        return None

    def saying(self, text: str) -> ToolMessage | Command[Any]:
        """Return the answer with another text.

        Args:
            text: What the model is told.
        """
        said = self.message.model_copy(update={"content": text})
        if isinstance(self.result, ToolMessage):
            return said
        return self._command({}, said)

    def writing(self, update: Mapping[str, Any]) -> Command[Any]:
        """Return the answer with an update of the state.

        Args:
            update: Keys and values.
        """
        if isinstance(self.result, ToolMessage):
            return Command(update={"messages": [self.message], **update})
        return self._command(update, self.message)

    def _command(self, update: Mapping[str, Any], message: ToolMessage) -> Command[Any]:
        command = self.result
        if not isinstance(command, Command) or not isinstance(command.update, dict):  # as of() found it
            raise TypeError(type(command).__name__)
        messages = [message if other is self.message else other for other in command.update["messages"]]
        whole = {**command.update, "messages": messages, **update}
        return Command(graph=command.graph, update=whole, resume=command.resume, goto=command.goto)


def without_ours(result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    """Take our own keys out of what another tool wants to write: a child's skills, or a forged record.

    Args:
        result: What the tool gave.
    """
    if not isinstance(result, Command):
        return result
    update: Any = result.update
    pairs = list(update.items()) if isinstance(update, dict) else update
    if not isinstance(pairs, list | tuple) or not any(_is_ours(pair) for pair in pairs):
        return result
    left = [pair for pair in pairs if not _is_ours(pair)]
    left_over: Any = dict(left) if isinstance(update, dict) else left
    return Command(graph=result.graph, update=left_over, resume=result.resume, goto=result.goto)


def _is_ours(pair: Any) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and pair[0] in (ACTIVE, HELD)


def is_failing(result: ToolMessage | Command[Any]) -> bool:
    """Whether a result is, or may hold, an error.

    Args:
        result: What a tool gave.
    """
    return not isinstance(result, ToolMessage) or result.status == "error"


def missed(messages: Sequence[BaseMessage], tool: str) -> int:
    """Return how many calls of a tool in a row ended in an error, since the user spoke last.

    Args:
        messages: The messages before the call.
        tool: The tool.
    """
    count = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, ToolMessage) and message.name == tool:
            if message.status != "error":
                break
            count += 1
    return count
