"""What is told of skills while a workflow runs: stream events, the instrumentation dispatcher, a callback of the host.

Every event is told once to all three. ``handler.stream_events()`` gives it as one of the classes here, LlamaIndex's
dispatcher as a :class:`SkillEvent`, a callback as a plain dict. Texts of skills are never in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.workflow import Event
from llama_index_instrumentation import get_dispatcher
from pydantic import Field

__all__ = [
    "ResourceRead",
    "ScriptRan",
    "SkillActivated",
    "SkillEvent",
    "SkillFailed",
    "SkillRepeated",
    "SkillRestored",
    "SkillStreamEvent",
    "SkillUnloaded",
    "SkillsListed",
    "SkillsSearched",
    "Teller",
    "ToolRefused",
    "ToolsUnbound",
]

Fact = dict[str, Any]
_dispatcher = get_dispatcher(__name__)


class SkillStreamEvent(Event):
    """Something that happened to a skill; the base of all events here.

    Attributes:
        kind: What happened, in one word.
    """

    kind: ClassVar[str] = ""

    def fact(self) -> Fact:
        """Return the event as a plain dict; what is unknown is left out."""
        facts = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            "type": "skill",
            "event": self.kind,
            **{key: value for key, value in facts.items() if value is not None},
        }


class SkillsListed(SkillStreamEvent):
    """A run began with these skills in its prompt.

    Attributes:
        skills: How many the catalog shows.
        omitted: How many it leaves out.
        tokens: Its size.
    """

    kind = "listed"
    skills: int
    omitted: int
    tokens: int


class SkillActivated(SkillStreamEvent):
    """A skill came into use.

    Attributes:
        skill: The skill.
        digest: sha256 of its SKILL.md.
        tokens: Size of its text.
        by: Who chose it: ``"model"``, ``"user"`` or ``"host"``.
    """

    kind = "activated"
    skill: str
    digest: str
    tokens: int
    by: str


class SkillRepeated(SkillStreamEvent):
    """A skill was asked for again while its text is there; the model got a short note.

    Attributes:
        skill: The skill.
        digest: sha256 of its SKILL.md.
    """

    kind = "repeated"
    skill: str
    digest: str


class ResourceRead(SkillStreamEvent):
    """A file of a skill was read.

    Attributes:
        skill: The skill.
        path: The file.
        size: Its bytes.
    """

    kind = "read"
    skill: str
    path: str
    size: int


class SkillsSearched(SkillStreamEvent):
    """The skills were searched.

    Attributes:
        query: The words.
        skills: What was found, best first.
    """

    kind = "searched"
    query: str
    skills: list[str]


class ScriptRan(SkillStreamEvent):
    """A script of a skill ended.

    Attributes:
        skill: The skill.
        path: The script.
        exit_code: How it ended.
    """

    kind = "ran"
    skill: str
    path: str
    exit_code: int


class ToolRefused(SkillStreamEvent):
    """A tool call was not run, or would not have been if the fence were enforced.

    Attributes:
        tool: The tool.
        skills: The skills that do not allow it, or that would have to be in use.
        reason: What the model was told, or would have been.
        enforced: ``False`` when the fence only advises: the tool ran.
    """

    kind = "refused"
    tool: str
    skills: list[str]
    reason: str
    enforced: bool = True


class SkillRestored(SkillStreamEvent):
    """A skill in use was put back into a conversation that had lost its text.

    Attributes:
        skill: The skill.
        digest: sha256 of its SKILL.md as it is now.
        tokens: Size of the text that was put back.
        changed: Whether it is another text than the one that was lost.
    """

    kind = "restored"
    skill: str
    digest: str
    tokens: int
    changed: bool = False


class SkillUnloaded(SkillStreamEvent):
    """A skill was put out of use.

    Attributes:
        skill: The skill.
    """

    kind = "unloaded"
    skill: str


class ToolsUnbound(SkillStreamEvent):
    """A skill names tools that the agent does not have.

    Attributes:
        skill: The skill.
        tools: Those tools, as its author calls them.
    """

    kind = "unbound"
    skill: str
    tools: list[str]


class SkillFailed(SkillStreamEvent):
    """A call of a skill tool came back with an error that the model was told.

    Attributes:
        tool: The tool.
        skill: The skill that was asked for, when one was.
        reason: What the model was told.
    """

    kind = "failed"
    tool: str
    skill: str | None = None
    reason: str


class SkillEvent(BaseEvent):
    """An event of skills as LlamaIndex's instrumentation has it.

    Attributes:
        kind: What happened, in one word.
        facts: Names, sizes and reasons, see :meth:`SkillStreamEvent.fact`.
    """

    kind: str
    facts: Fact = Field(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        """Name in traces."""
        return "SkillEvent"


class Streaming(Protocol):
    """What a stream is written to."""

    def write_event_to_stream(self, ev: Any) -> None:
        """Write an event."""
        ...


class Teller:
    """Tells all listeners.

    Args:
        on_event: The host's callback, called with each event as a dict.
    """

    def __init__(self, on_event: Callable[[Fact], None] | None = None) -> None:
        self._on_event = on_event

    def tell(self, ctx: Streaming | None, events: Iterable[SkillStreamEvent]) -> None:
        """Tell some events.

        Args:
            ctx: Of the run; ``None`` outside of one.
            events: In order.
        """
        for event in events:
            if ctx is not None:
                ctx.write_event_to_stream(event)
            facts = event.fact()
            _dispatcher.event(SkillEvent(kind=event.kind, facts=facts))
            if self._on_event is not None:
                self._on_event(facts)
