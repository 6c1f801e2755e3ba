"""One question to a LangChain agent with skills, reported step by step from the messages of the run."""

from __future__ import annotations

from typing import Any

from skillbelt.cli.steps import Recorder
from skillbelt.errors import MissingExtraError
from skillbelt.router import SkillRouter

try:
    from langchain.agents import create_agent
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

    from skillbelt.langchain import SkillsMiddleware
except ImportError as error:
    raise MissingExtraError("--framework langchain", extra="langchain") from error

__all__ = ["run", "run_agent"]

_ROUNDS = 25


def run(router: SkillRouter, question: str, *, base: str, model: BaseChatModel, recorder: Recorder) -> None:
    """Ask the agent and report to the recorder.

    Args:
        router: The skills.
        question: What the user wants.
        base: The agent's own system prompt.
        model: A chat model that calls tools.
        recorder: Takes the steps.
    """
    agent: Any = create_agent(model, tools=[], system_prompt=base, middleware=[SkillsMiddleware(router)])
    run_agent(agent.with_config(recursion_limit=2 * _ROUNDS), question, recorder)


def run_agent(agent: Any, question: str, recorder: Recorder) -> None:
    """Ask an agent that was built already and report to the recorder.

    Args:
        agent: As ``create_agent`` makes it.
        question: What the user wants.
        recorder: Takes the steps.
    """
    updates = agent.stream(
        {"messages": [{"role": "user", "content": question}]},
        config={"callbacks": [_Requests(recorder)]},
        stream_mode="updates",
    )
    answer = ""
    for update in updates:
        for change in update.values():
            for message in (change or {}).get("messages", []):
                _report(message, recorder)
                answer = message.text if isinstance(message, AIMessage) else answer
    recorder.answered(answer)


def _report(message: BaseMessage, recorder: Recorder) -> None:
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            recorder.called(call["id"] or "", call["name"], call["args"])
    elif isinstance(message, ToolMessage):
        recorder.returned(message.tool_call_id, message.text, failed=message.status == "error")


class _Requests(BaseCallbackHandler):
    """Sees each request as the chat model is given it, after every middleware."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Report the system prompt; its parts are shown one after another."""
        for message in messages[0]:
            if isinstance(message, SystemMessage):
                parts = [str(block.get("text", "")) for block in message.content_blocks]
                self._recorder.requested("".join(parts))
