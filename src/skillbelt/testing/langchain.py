"""Chat models for LangChain that need no network: one that follows rules, one that follows a script.

Both speak the real tool-calling protocol (``bind_tools``, ``AIMessage.tool_calls``, streamed
``tool_call_chunks``), so an agent cannot tell them from a provider's model. Neither decides anything here: the rules
are :func:`skillbelt.testing.offline.decide`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from pydantic import PrivateAttr

from skillbelt.errors import MissingExtraError
from skillbelt.testing.conversation import Message, Reply, ToolCall
from skillbelt.testing.offline import decide
from skillbelt.testing.script import Request, Script, names_of, pieces

try:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.language_models import BaseChatModel, LanguageModelInput
    from langchain_core.messages import (
        AIMessage,
        AIMessageChunk,
        BaseMessage,
        SystemMessage,
        ToolCallChunk,
        ToolMessage,
    )
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtraError("skillbelt.testing.langchain", extra="langchain") from error

__all__ = ["OfflineChatModel", "ScriptedChatModel", "Step"]

Step: TypeAlias = (
    AIMessage
    | str
    | Sequence[tuple[str, dict[str, Any]]]
    | BaseException
    | type[BaseException]
    | Callable[[list[BaseMessage]], Any]
)
"""A message, its text, tool calls as ``(name, arguments)``, an error to raise, or a function that returns one."""


class _LocalChatModel(BaseChatModel):
    """The protocol; a subclass says only what the answer is."""

    @abstractmethod
    def _answer(self, messages: list[BaseMessage], tools: list[dict[str, Any]], *, parallel: bool) -> AIMessage:
        """Return the next message."""

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with ``tools`` in every request, converted as for a provider.

        Args:
            tools: Anything LangChain accepts as a tool.
            tool_choice: Accepted and not followed: there is no model to force.
            **kwargs: Passed on; ``parallel_tool_calls=False`` is honoured by the rules.
        """
        converted = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=converted, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from (ChatGenerationChunk(message=chunk) for chunk in _chunks(self._next(messages, kwargs)))

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        parallel = options.get("parallel_tool_calls") is not False
        return self._answer(messages, list(options.get("tools") or []), parallel=parallel)


class OfflineChatModel(_LocalChatModel):
    """The rule-based model of :mod:`skillbelt.testing.offline` as a LangChain chat model. It is no LLM.

    Example:
        >>> OfflineChatModel().invoke("Hello").text.splitlines()[0]
        '[offline rule-based model, no LLM]'
    """

    def _answer(self, messages: list[BaseMessage], tools: list[dict[str, Any]], *, parallel: bool) -> AIMessage:
        reply = decide([_neutral(message) for message in messages], names_of(tools))
        return _message(reply if parallel else Reply(reply.text, reply.tool_calls[:1]))

    @property
    def _llm_type(self) -> str:
        return "skillbelt-offline-rules"


class ScriptedChatModel(_LocalChatModel):
    """A LangChain chat model that says what a test wrote down, and keeps what it was sent.

    Args:
        steps: One :data:`Step` for each request.
        **kwargs: Fields of ``BaseChatModel``.

    Raises:
        AssertionError: It was asked more often than there are steps.

    Example:
        >>> model = ScriptedChatModel(["Hello!"])
        >>> model.invoke("Hi").text, model.requests[0].messages[0].text
        ('Hello!', 'Hi')
    """

    _script: Script[BaseMessage] = PrivateAttr()

    def __init__(self, steps: Iterable[Step], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._script = Script(steps)

    @property
    def requests(self) -> list[Request[BaseMessage]]:
        """Every request so far, oldest first."""
        return self._script.requests

    def _answer(self, messages: list[BaseMessage], tools: list[dict[str, Any]], *, parallel: bool) -> AIMessage:
        step = self._script.take(messages, tools)
        if isinstance(step, AIMessage):
            return step.model_copy()  # LangChain gives a message its id: a step used twice needs two
        if isinstance(step, str):
            return AIMessage(step)
        return _message(Reply("", self._script.calls(step)))

    @property
    def _llm_type(self) -> str:
        return "skillbelt-scripted"


def _neutral(message: BaseMessage) -> Message:
    text = _text(message)
    if isinstance(message, AIMessage):
        calls = (ToolCall(call["id"] or "", call["name"], call["args"]) for call in message.tool_calls)
        return Message("assistant", text, tuple(calls))
    if isinstance(message, ToolMessage):
        return Message("tool", text, tool_call_id=message.tool_call_id, tool_name=message.name)
    return Message("system" if isinstance(message, SystemMessage) else "user", text)


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    blocks = ({"type": "text", "text": b} if isinstance(b, str) else b for b in message.content)
    return "\n".join(str(block["text"]) for block in blocks if block.get("type") == "text")


def _message(reply: Reply) -> AIMessage:
    calls = [{"name": c.name, "args": dict(c.arguments), "id": c.id, "type": "tool_call"} for c in reply.tool_calls]
    return AIMessage(reply.text, tool_calls=calls)


def _chunks(message: AIMessage) -> Iterator[AIMessageChunk]:
    """Yield what adds up to ``message``; at least one chunk, or LangChain complains of an empty stream."""
    if isinstance(message.content, str):
        yield from (AIMessageChunk(content=piece) for piece in pieces(message.content))
    else:
        yield AIMessageChunk(content=message.content)
    calls = [(call["name"], json.dumps(call["args"]), call["id"]) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "", call["id"]) for call in message.invalid_tool_calls]
    for index, (name, args, call_id) in enumerate(calls):
        chunk = ToolCallChunk(name=name, args=args, id=call_id, index=index, type="tool_call_chunk")
        yield AIMessageChunk(content="", tool_call_chunks=[chunk])
    yield AIMessageChunk(
        content="",
        id=message.id,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
    )
