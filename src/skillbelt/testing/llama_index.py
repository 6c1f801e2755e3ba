"""LLMs for LlamaIndex that need no network: one that follows rules, one that follows a script.

Both are function-calling LLMs as ``FunctionAgent`` and ``AgentWorkflow`` want them, from llama-index-core 0.13 on:
tool calls are put where 0.13 looks (``additional_kwargs``) and where later versions do (``ToolCallBlock``). Neither
decides anything here: the rules are :func:`skillbelt.testing.offline.decide`.
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
    from llama_index.core.base.llms import types
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        ChatResponseAsyncGen,
        ChatResponseGen,
        CompletionResponse,
        CompletionResponseAsyncGen,
        CompletionResponseGen,
        LLMMetadata,
        MessageRole,
        TextBlock,
    )
    from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.llm import ToolSelection
    from llama_index.core.tools.types import BaseTool
except ImportError as error:
    raise MissingExtraError("skillbelt.testing.llama_index", extra="llama-index") from error

__all__ = ["OfflineLLM", "ScriptedLLM", "Step"]

Step: TypeAlias = (
    ChatMessage
    | str
    | Sequence[tuple[str, dict[str, Any]]]
    | BaseException
    | type[BaseException]
    | Callable[[list[ChatMessage]], Any]
)
"""A message, its text, tool calls as ``(name, arguments)``, an error to raise, or a function that returns one."""

_TOOL_CALL_BLOCK: Any = getattr(types, "ToolCallBlock", None)  # not in 0.13


class _LocalLLM(FunctionCallingLLM):
    """The protocol; a subclass says only what the answer is."""

    @abstractmethod
    def _answer(self, messages: Sequence[ChatMessage], tools: list[dict[str, Any]], *, parallel: bool) -> ChatMessage:
        """Return the next message."""

    @property
    def metadata(self) -> LLMMetadata:
        """What agents ask before they call: a chat model that calls functions."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, model_name=self.class_name())

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Return the tool calls of a response.

        Args:
            response: What this model answered.
            error_on_no_tool_call: Whether none is an error.
            **kwargs: Ignored.

        Raises:
            ValueError: There is none and that was not allowed.
        """
        calls = _calls(response.message)
        if not calls and error_on_no_tool_call:
            raise ValueError(f"Expected at least one tool call, got: {response.message.content!r}")
        return [ToolSelection(tool_id=c.id, tool_name=c.name, tool_kwargs=dict(c.arguments)) for c in calls]

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if user_msg is not None:
            messages.append(ChatMessage(user_msg, role="user") if isinstance(user_msg, str) else user_msg)
        return {
            "messages": messages,
            "tools": [tool.metadata.to_openai_tool(skip_length_check=True) for tool in tools],
            "parallel_tool_calls": allow_parallel_tool_calls,
        }

    def _next(self, messages: Sequence[ChatMessage], options: dict[str, Any]) -> ChatMessage:
        parallel = options.get("parallel_tool_calls") is not False
        return self._answer(messages, list(options.get("tools") or []), parallel=parallel)

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Answer a conversation."""
        return ChatResponse(message=self._next(messages, kwargs))

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Answer a conversation."""
        return ChatResponse(message=self._next(messages, kwargs))

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Answer a conversation line by line."""
        yield from _partial(self._next(messages, kwargs))

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """Answer a conversation line by line."""
        message = self._next(messages, kwargs)

        async def stream() -> ChatResponseAsyncGen:
            for response in _partial(message):
                yield response

        return stream()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Answer a prompt as if the user had said it."""
        return CompletionResponse(text=self._said(prompt))

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Answer a prompt as if the user had said it."""
        return CompletionResponse(text=self._said(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Answer a prompt as if the user had said it."""
        text = self._said(prompt)
        yield CompletionResponse(text=text, delta=text)

    @llm_completion_callback()
    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        """Answer a prompt as if the user had said it."""
        text = self._said(prompt)

        async def stream() -> CompletionResponseAsyncGen:
            yield CompletionResponse(text=text, delta=text)

        return stream()

    def _said(self, prompt: str) -> str:
        return self._next([ChatMessage(prompt, role="user")], {}).content or ""


class OfflineLLM(_LocalLLM):
    """The rule-based model of :mod:`skillbelt.testing.offline` as a LlamaIndex LLM. It is no LLM.

    Example:
        >>> OfflineLLM().complete("Hello").text.splitlines()[0]
        '[offline rule-based model, no LLM]'
    """

    @classmethod
    def class_name(cls) -> str:
        """Name in payloads and traces."""
        return "skillbelt-offline-rules"

    def _answer(self, messages: Sequence[ChatMessage], tools: list[dict[str, Any]], *, parallel: bool) -> ChatMessage:
        reply = decide([_neutral(message) for message in messages], names_of(tools))
        return _message(reply if parallel else Reply(reply.text, reply.tool_calls[:1]))


class ScriptedLLM(_LocalLLM):
    """A LlamaIndex LLM that says what a test wrote down, and keeps what it was sent.

    Plain text steps in the ReAct form («Thought: … Action: …») drive a ``ReActAgent``.

    Args:
        steps: One :data:`Step` for each request.
        **kwargs: Fields of ``LLM``.

    Raises:
        AssertionError: It was asked more often than there are steps.

    Example:
        >>> llm = ScriptedLLM(["Hello!"])
        >>> llm.complete("Hi").text, llm.requests[0].messages[0].content
        ('Hello!', 'Hi')
    """

    _script: Script[ChatMessage] = PrivateAttr()

    def __init__(self, steps: Iterable[Step], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._script = Script(steps)

    @classmethod
    def class_name(cls) -> str:
        """Name in payloads and traces."""
        return "skillbelt-scripted"

    @property
    def requests(self) -> list[Request[ChatMessage]]:
        """Every request so far, oldest first."""
        return self._script.requests

    def _answer(self, messages: Sequence[ChatMessage], tools: list[dict[str, Any]], *, parallel: bool) -> ChatMessage:
        step = self._script.take(messages, tools)
        if isinstance(step, ChatMessage):
            return step.model_copy(deep=True)  # ReActAgent writes into the answer it gets
        if isinstance(step, str):
            return _message(Reply(step))
        return _message(Reply("", self._script.calls(step)))


_ROLES = {
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}


def _neutral(message: ChatMessage) -> Message:
    role: Any = _ROLES.get(message.role, "user")
    answers = message.additional_kwargs.get("tool_call_id") if role == "tool" else None
    return Message(role, message.content or "", _calls(message), tool_call_id=answers)


def _calls(message: ChatMessage) -> tuple[ToolCall, ...]:
    """Return the calls of a message: its blocks, else OpenAI-style entries, else none."""
    blocks = [b for b in message.blocks if _TOOL_CALL_BLOCK and isinstance(b, _TOOL_CALL_BLOCK)]
    if blocks:
        return tuple(ToolCall(b.tool_call_id or "", b.tool_name, _arguments(b.tool_kwargs)) for b in blocks)
    entries = message.additional_kwargs.get("tool_calls") or []
    plain = [entry if isinstance(entry, dict) else entry.model_dump() for entry in entries]
    return tuple(
        ToolCall(e.get("id") or "", e["function"]["name"], _arguments(e["function"]["arguments"])) for e in plain
    )


def _arguments(given: Any) -> dict[str, Any]:
    return dict(json.loads(given or "{}") if isinstance(given, str) else given)


def _message(reply: Reply) -> ChatMessage:
    blocks: list[Any] = [TextBlock(text=reply.text)] if reply.text or not reply.tool_calls else []
    extra: dict[str, Any] = {}
    if reply.tool_calls:
        extra["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in reply.tool_calls
        ]
        if _TOOL_CALL_BLOCK:
            blocks += [
                _TOOL_CALL_BLOCK(tool_call_id=c.id, tool_name=c.name, tool_kwargs=dict(c.arguments))
                for c in reply.tool_calls
            ]
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks, additional_kwargs=extra)


def _partial(message: ChatMessage) -> Iterator[ChatResponse]:
    """Yield the answer growing line by line; the last one is the whole message with its tool calls."""
    said, lines = "", pieces(message.content or "")
    for line in lines[:-1]:
        said += line
        yield ChatResponse(message=ChatMessage(said, role=MessageRole.ASSISTANT), delta=line)
    yield ChatResponse(message=message, delta=lines[-1] if lines else "")
