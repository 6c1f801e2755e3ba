"""Models and checks for tests, examples and CI that need no network and no key. Part of the product.

``OfflineChatModel`` (LangChain) and ``OfflineLLM`` (LlamaIndex) follow rules; ``ScriptedChatModel`` and
``ScriptedLLM`` say what a test wrote down and keep what they were sent. ``SourceContract`` checks a source of skills
that someone wrote, ``RunnerContract`` a runner of scripts. Importing this package imports no framework: each name is
looked up when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillbelt.testing.contract import SourceContract
    from skillbelt.testing.langchain import OfflineChatModel, ScriptedChatModel
    from skillbelt.testing.llama_index import OfflineLLM, ScriptedLLM
    from skillbelt.testing.offline import Message, Reply, ToolCall, decide
    from skillbelt.testing.runners import RunnerContract
    from skillbelt.testing.script import Request

__all__ = [
    "Message",
    "OfflineChatModel",
    "OfflineLLM",
    "Reply",
    "Request",
    "RunnerContract",
    "ScriptedChatModel",
    "ScriptedLLM",
    "SourceContract",
    "ToolCall",
    "decide",
]

_HOMES = {
    "Message": "offline",
    "OfflineChatModel": "langchain",
    "OfflineLLM": "llama_index",
    "Reply": "offline",
    "Request": "script",
    "RunnerContract": "runners",
    "ScriptedChatModel": "langchain",
    "ScriptedLLM": "llama_index",
    "SourceContract": "contract",
    "ToolCall": "offline",
    "decide": "offline",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
