"""What tests of agents share: scripted models, a look at what they were sent, and the stories of public bug reports."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.tools import tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from skillbelt import MappingSource, SkillRouter
from skillbelt.langchain import SkillsMiddleware
from skillbelt.testing import Request, ScriptedChatModel

SCENARIOS = Path(__file__).parent / "data" / "scenarios"
_spec = importlib.util.spec_from_file_location("materialise", SCENARIOS / "materialise.py")
materialise: Any = importlib.util.module_from_spec(_spec)  # type: ignore[arg-type]
_spec.loader.exec_module(materialise)  # type: ignore[union-attr]


def scenario(name: str, folder: Path) -> Path:
    """Build the files of a scenario below a folder and return the folder of its skills."""
    materialise.main(SCENARIOS / f"{name}.json", folder / name)
    return folder / name / "skills"


def skill(name: str, body: str = "Do the work.", more: str = "") -> str:
    """A SKILL.md."""
    return f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n{body}\n"


def router_of(*names: str, **bodies: str) -> SkillRouter:
    """A router over skills in memory."""
    texts = {name: skill(name) for name in names} | {name: skill(name, body) for name, body in bodies.items()}
    return SkillRouter(MappingSource({f"{name}/SKILL.md": text for name, text in texts.items()}))


def load(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """A call of load_skill, as a step of a script."""
    return ("load_skill", {"name": name, **more})


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@tool
def write_note(text: str) -> str:
    """Write a note."""
    NOTES.append(text)
    return "written"


NOTES: list[str] = []


class Trimming(AgentMiddleware[Any, Any, Any]):
    """Keeps the last messages: of the request only, or of the state."""

    def __init__(self, last: int, *, state: bool) -> None:
        super().__init__()
        self.last = last
        self.state = state

    def _kept(self, messages: list[Any]) -> list[Any]:
        return trim_messages(
            messages, max_tokens=self.last, token_counter=len, strategy="last", start_on="human", include_system=True
        )

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if not self.state:
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *self._kept(state["messages"])]}

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request if self.state else request.override(messages=self._kept(request.messages)))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request if self.state else request.override(messages=self._kept(request.messages)))


class Story:
    """An agent with a scripted model; each :meth:`say` is a turn of the user."""

    _ids = itertools.count()

    def __init__(self, steps: list[Any], middleware: list[Any], *, tools: Any = (), **options: Any) -> None:
        self.model = options.pop("model", None) or ScriptedChatModel(steps)
        options.setdefault("system_prompt", "You are a clerk.")
        self.agent = create_agent(self.model, tools=[*tools], middleware=middleware, **options)
        self.config = {"configurable": {"thread_id": f"t{next(self._ids)}"}}
        self.out: dict[str, Any] = {}

    def say(self, text: str, **state: Any) -> dict[str, Any]:
        """Say something and return what the agent gives."""
        self.out = self.agent.invoke({"messages": [HumanMessage(text)], **state}, self.config)
        return self.out

    async def asay(self, text: str, **state: Any) -> dict[str, Any]:
        """Say something to the async agent."""
        self.out = await self.agent.ainvoke({"messages": [HumanMessage(text)], **state}, self.config)
        return self.out

    @property
    def requests(self) -> list[Request[BaseMessage]]:
        """What the model was sent."""
        return self.model.requests

    @property
    def last(self) -> Request[BaseMessage]:
        """The last request."""
        return self.model.requests[-1]

    @property
    def active(self) -> list[str]:
        """Names of the skills in use."""
        return [record["name"] for record in self.out.get("active_skills", [])]


def simple(steps: list[Any], router: SkillRouter, **options: Any) -> Story:
    """A story with nothing but skills; options of the middleware and of the agent may be mixed."""
    of_agent = {key: options.pop(key) for key in ("tools", "checkpointer", "system_prompt") if key in options}
    return Story(steps, [SkillsMiddleware(router, **options)], **of_agent)


def text_of(message: BaseMessage) -> str:
    """The text of a message, blocks joined."""
    if isinstance(message.content, str):
        return message.content
    return "".join(part if isinstance(part, str) else part.get("text", "") for part in message.content)


def texts(request: Request[BaseMessage]) -> list[str]:
    """The texts of a request's messages."""
    return [text_of(message) for message in request.messages]


def times(request: Request[BaseMessage], words: str) -> int:
    """How often some words stand in a request."""
    return sum(text.count(words) for text in texts(request))


def place(request: Request[BaseMessage], words: str) -> int:
    """Index of the first message with some words."""
    return next(index for index, text in enumerate(texts(request)) if words in text)


def system_text(request: Request[BaseMessage]) -> str:
    """The system message's text, or nothing."""
    return "".join(text_of(m) for m in request.messages if isinstance(m, SystemMessage))


def results(request: Request[BaseMessage]) -> list[ToolMessage]:
    """The results of tools in a request."""
    return [message for message in request.messages if isinstance(message, ToolMessage)]


def orphans(request: Request[BaseMessage]) -> list[str]:
    """Calls without an answer right after them, and answers without a call right before them."""
    wrong: list[str] = []
    waiting: set[str] = set()
    for message in request.messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                wrong.append(f"answer {message.tool_call_id}")
            waiting.discard(message.tool_call_id)
            continue
        wrong += [f"call {id_}" for id_ in sorted(waiting)]
        waiting = {str(call["id"]) for call in message.tool_calls} if isinstance(message, AIMessage) else set()
    return [*wrong, *(f"call {id_}" for id_ in sorted(waiting))]
