"""What a scripted model was told to say, and what it was sent: the part both frameworks share.

A script does not judge. It hands out its steps in order, keeps every request, and fails loudly when a request comes
that nobody wrote a step for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from skillbelt.testing.conversation import ToolCall

__all__ = ["Request", "Script", "names_of", "pieces"]

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Request(Generic[M]):
    """One request a scripted model received.

    Attributes:
        messages: As the framework sent them, in its own type.
        tools: Their OpenAI-style descriptions, as a provider would be sent them.
    """

    messages: list[M]
    tools: list[dict[str, Any]] = field(default_factory=list)

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools, in order."""
        return names_of(self.tools)


class Script(Generic[M]):
    """Steps still to take, and the requests so far.

    Args:
        steps: What to answer, one entry a request: whatever the model makes a message of, an exception to raise,
            or a function of the messages that returns one of these.
    """

    def __init__(self, steps: Iterable[Any]) -> None:
        self._steps = deque(steps)
        self._total = len(self._steps)
        self._calls = 0
        self.requests: list[Request[M]] = []

    def take(self, messages: Sequence[M], tools: Sequence[dict[str, Any]]) -> Any:
        """Record a request and return its step; an exception step is raised.

        Raises:
            AssertionError: There was no step left: the agent asked once more than the test expected.
        """
        self.requests.append(Request(list(messages), list(tools)))
        try:
            step = self._steps.popleft()
        except IndexError:
            last = repr(messages[-1])[:300] if messages else "nothing"
            raise AssertionError(
                f"The script has {self._total} step(s) and this is request {len(self.requests)}; "
                f"its last message is {last}."
            ) from None
        if callable(step) and not isinstance(step, type):
            step = step(list(messages))
        if isinstance(step, BaseException) or (isinstance(step, type) and issubclass(step, BaseException)):
            raise step
        return step

    def calls(self, step: Iterable[tuple[str, dict[str, Any]]]) -> tuple[ToolCall, ...]:
        """Turn ``(tool name, arguments)`` pairs into calls with ids of their own."""
        made = []
        for name, arguments in step:
            self._calls += 1
            made.append(ToolCall(f"call_{self._calls}", name, dict(arguments)))
        return tuple(made)


def names_of(tools: Iterable[dict[str, Any]]) -> list[str]:
    """Return the names in OpenAI-style tool descriptions; built-in tools of providers have none."""
    return [str(tool["function"]["name"]) for tool in tools if "function" in tool]


def pieces(text: str) -> list[str]:
    """Cut a text into what is streamed: its lines."""
    return text.splitlines(keepends=True)
