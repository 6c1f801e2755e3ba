"""A conversation as the offline model reads it: plain messages, and what skillbelt's texts in them say.

A model knows only what it is sent, so everything here is read from messages and nothing is remembered between
two calls. It does not choose anything; that is :mod:`skillbelt.testing.offline`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Literal

from skillbelt.models import SkillSummary

__all__ = ["Conversation", "Message", "OpenSkill", "Outcome", "Reply", "ToolCall"]

LOAD, READ, SEARCH, LIST = "load_skill", "read_skill_resource", "search_skills", "list_skills"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool called.

    Attributes:
        id: Ties the answer to the call.
        name: The tool.
        arguments: By parameter.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of any framework, reduced to what both have.

    Attributes:
        role: Who speaks.
        text: The text parts, joined.
        tool_calls: Of an assistant message.
        tool_call_id: Of a tool message: the call it answers.
        tool_name: Of a tool message, where the framework says it; else it is found by the id.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says: text, or calls to make first.

    Attributes:
        text: For the user.
        tool_calls: To be made before it goes on.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenSkill:
    """A skill whose instructions are in the conversation."""

    name: str
    body: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call made for the current question, and the text it came back with (empty when none did)."""

    call: ToolCall
    text: str

    @property
    def failed(self) -> bool:
        """Whether a skill or file was asked for and something else was answered."""
        wanted = {LOAD: _CONTENT, READ: _RESOURCE}.get(self.call.name)
        return wanted is not None and not wanted.search(self.text)

    @property
    def opened(self) -> str | None:
        """The name of the skill whose instructions the text holds."""
        match = _CONTENT.search(self.text)
        return _attributes(match[1]).get("name") if match else None

    @property
    def listed(self) -> tuple[str, ...]:
        """The names of the skills that a search or a listing found, best first."""
        return tuple(unescape(name) for block in _CATALOG.findall(self.text) for name, _ in _ENTRY.findall(block))

    @property
    def suggestion(self) -> str | None:
        """The name an error text proposes instead."""
        match = _SUGGESTION.search(self.text) if self.failed else None
        return match["name"] if match else None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything the messages say that matters for the next step.

    Attributes:
        question: The last thing the user said, ``""`` when nobody asked.
        catalog: The skills that were named, in order.
        complete: Whether the catalog shows every skill there is.
        skills: Skills whose instructions are visible, the latest last.
        files: Text of the bundled files that are visible, by skill and path.
        outcomes: The calls made since the question.
        rounds: How many assistant messages they took.
        next_id: The first number no call has had.
    """

    question: str
    catalog: tuple[SkillSummary, ...]
    complete: bool
    skills: Mapping[str, OpenSkill]
    files: Mapping[tuple[str, str], str]
    outcomes: tuple[Outcome, ...]
    rounds: int
    next_id: int

    @classmethod
    def read(cls, messages: Sequence[Message]) -> Conversation:
        """Read a conversation, oldest message first."""
        catalog: dict[str, SkillSummary] = {}
        complete: bool | None = None
        skills: dict[str, OpenSkill] = {}
        files: dict[tuple[str, str], str] = {}
        calls: dict[str, ToolCall] = {}
        results: dict[str, str] = {}
        turn: list[ToolCall] = []
        question, rounds, highest = "", 0, 0

        for message in messages:
            if message.role == "assistant":
                calls.update((call.id, call) for call in message.tool_calls)
                turn.extend(message.tool_calls)
                rounds += bool(message.tool_calls)
                highest = max([highest, *(_number(call.id) for call in message.tool_calls)])
                continue
            for skill in _skills(message.text):
                skills.pop(skill.name, None)
                skills[skill.name] = skill
            rest = _CONTENT.sub("", message.text)
            for key, text in _files(rest):
                files[key] = f"{files[key]}\n{text}" if key in files else text
            rest = _RESOURCE.sub("", rest)
            if message.role == "tool":
                call = calls.get(message.tool_call_id or "")
                results[message.tool_call_id or ""] = message.text
                highest = max(highest, _number(message.tool_call_id or ""))
                if (message.tool_name or (call.name if call else "")) not in (SEARCH, LIST):
                    continue
            elif said := (_CATALOG.sub("", rest).strip() if message.role == "user" else ""):
                question, rounds, turn = said, 0, []
            for block in _CATALOG.findall(rest):
                for name, description in _ENTRY.findall(block):
                    known = SkillSummary(name=unescape(name), description=unescape(description).strip())
                    catalog.setdefault(known.name, known)
                if message.role != "tool":
                    complete = "<truncated" not in block and complete is not False
        return cls(
            question=question,
            catalog=tuple(catalog.values()),
            complete=bool(complete),
            skills=skills,
            files=files,
            outcomes=tuple(Outcome(call, results.get(call.id, "")) for call in turn),
            rounds=rounds,
            next_id=highest + 1,
        )

    def called(self, tool: str) -> tuple[Outcome, ...]:
        """Return the outcomes of one tool for the current question, in order."""
        return tuple(outcome for outcome in self.outcomes if outcome.call.name == tool)


_CATALOG = re.compile(r"<available_skills>(.*?)(?:</available_skills>|\Z)", re.DOTALL)
_ENTRY = re.compile(r'<skill name="([^"]*)"[^>]*?(?:/>|>(.*?)</skill>)', re.DOTALL)
_CONTENT = re.compile(r"<skill_content ([^>]*)>\n?(.*?)(?:\n?</skill_content>|\Z)", re.DOTALL)
_RESOURCE = re.compile(r"<skill_resource ([^>]*)>\n?(.*?)(?:\n?</skill_resource>|\Z)", re.DOTALL)
_LISTING = re.compile(r"\n?<skill_resources>(.*?)</skill_resources>\s*", re.DOTALL)
_FILE = re.compile(r"<file[^>]*>(.*?)</file>")
_DIRECTORY = re.compile(
    r"\n(?:Skill directory|The skill is not on disk): [^\n]*(?:\nRelative paths [^\n]*)?"
    r"(?:\nTools it was written for: [^\n]*)?\s*\Z"
)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_SUGGESTION = re.compile(r"[Dd]id you mean (?P<quote>['\"])(?P<name>.+?)(?P=quote)")
_NUMBERED = re.compile(r"call_(\d{1,9})")


def _number(call_id: str) -> int:
    match = _NUMBERED.fullmatch(call_id)
    return int(match[1]) if match else 0


def _attributes(text: str) -> dict[str, str]:
    return {key: unescape(value) for key, value in _ATTRIBUTE.findall(text)}


def _skills(text: str) -> list[OpenSkill]:
    found = []
    for head, inside in _CONTENT.findall(text):
        listings = list(_LISTING.finditer(inside))
        files: tuple[str, ...] = ()
        body = inside
        if listings:  # the last one is the tool's own: it follows the body
            files = tuple(unescape(path.strip()) for path in _FILE.findall(listings[-1][1]))
            body = inside[: listings[-1].start()]
        found.append(OpenSkill(_attributes(head).get("name", ""), _DIRECTORY.sub("", body).strip(), files))
    return found


def _files(text: str) -> list[tuple[tuple[str, str], str]]:
    found = []
    for head, inside in _RESOURCE.findall(text):
        attributes = _attributes(head)
        found.append(((attributes.get("name", ""), attributes.get("path", "")), inside))
    return found
