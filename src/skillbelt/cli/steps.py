"""What happens in an agent's run, as values, the same for both frameworks.

A runner reports what the messages of the run say: the request, each tool call, each result, the answer. The router
tells by events what a tool call did. :class:`Recorder` joins the two; how a step looks is not settled here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from skillbelt.events import Event, ResourceRead, SkillActivated, SkillFailed, SkillsSearched
from skillbelt.parsing import name_key

__all__ = [
    "Answered",
    "FileRead",
    "Recorder",
    "Refused",
    "RequestSent",
    "SkillLoaded",
    "SkillsFound",
    "Step",
    "ToolCalled",
    "ToolReturned",
    "as_record",
]


@dataclass(frozen=True, slots=True)
class RequestSent:
    """The first request of the run, as the model was sent it."""

    system_prompt: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model asked for a tool."""

    id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SkillLoaded:
    """A call loaded a skill."""

    id: str
    name: str
    characters: int
    truncated: bool
    digest: str


@dataclass(frozen=True, slots=True)
class FileRead:
    """A call read a file, or a page of it."""

    id: str
    name: str
    path: str
    offset: int
    size: int
    total: int


@dataclass(frozen=True, slots=True)
class SkillsFound:
    """A call searched the skills."""

    id: str
    query: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A call was answered with an error, which the model was told."""

    id: str
    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A call did something else, e.g. a skill was already loaded."""

    id: str
    tool: str
    characters: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's last message."""

    text: str


Outcome = SkillLoaded | FileRead | SkillsFound | Refused | ToolReturned
Step = RequestSent | ToolCalled | Outcome | Answered


def as_record(step: Step) -> dict[str, Any]:
    """Return a step as a JSON object: its kind, such as ``"skill_loaded"``, and its facts."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(step).__name__).lower()
    return {"type": kind, **asdict(step)}


@dataclass(slots=True)
class Recorder:
    """Keeps the steps of one run and shows each as it happens.

    Attributes:
        show: Called with each step.
        steps: All so far.
    """

    show: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    _calls: dict[str, ToolCalled] = field(default_factory=dict)
    _events: list[Event] = field(default_factory=list)

    def on_event(self, event: Event) -> None:
        """Take an event of the router; it waits for the result of the call that caused it."""
        self._events.append(event)

    def requested(self, system_prompt: str) -> None:
        """Take a request; only the first is a step, the others begin with the same prompt."""
        if not any(isinstance(step, RequestSent) for step in self.steps):
            self._add(RequestSent(system_prompt))

    def called(self, call_id: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Take a tool call."""
        self._calls[call_id] = ToolCalled(call_id, tool, dict(arguments))
        self._add(self._calls[call_id])

    def returned(self, call_id: str, text: str, *, failed: bool) -> None:
        """Take the result of a tool call, as the model is told it."""
        call = self._calls.get(call_id) or ToolCalled(call_id, "", {})
        event = self._event_of(call)
        match event:
            case _ if failed or isinstance(event, SkillFailed):
                self._add(Refused(call_id, call.tool, text))
            case SkillActivated():
                self._add(SkillLoaded(call_id, event.name, event.characters, event.truncated, event.digest))
            case ResourceRead():
                self._add(FileRead(call_id, event.name, event.path, event.offset, event.size, event.total))
            case SkillsSearched():
                self._add(SkillsFound(call_id, event.query, event.names))
            case _:
                self._add(ToolReturned(call_id, call.tool, len(text)))

    def answered(self, text: str) -> None:
        """Take the model's answer."""
        self._add(Answered(text))

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        self.show(step)

    def _event_of(self, call: ToolCalled) -> Event | None:
        """Return the event a call caused. Calls of one message run side by side, so order alone does not tell."""
        for event in self._events:
            if _caused(call, event):
                self._events.remove(event)
                return event
        return None


def _caused(call: ToolCalled, event: Event) -> bool:
    name, path = str(call.arguments.get("name", "")), str(call.arguments.get("path", ""))
    match event:
        case SkillActivated():
            return call.tool == "load_skill" and name_key(name.partition("@")[0]) == name_key(event.name)
        case ResourceRead():
            same = path.replace("\\", "/").removeprefix("./") == event.path
            return call.tool == "read_skill_resource" and same
        case SkillFailed():
            return (event.name, event.path or "") == (name, path)
        case SkillsSearched():
            return call.tool == "search_skills" and event.query == call.arguments.get("query")
        case _:
            return False
