"""Requests that keep skills alive: whatever a middleware does to the messages, the texts of skills in use are in them.

Summaries, edits of old tool results and trimming take messages away, some before our turn and some after it. So the
request we hand on is one that looks at its messages again each time somebody replaces them: wherever our middleware
stands in the list, what reaches the model was looked at last by us.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from skillbelt.active import HeldSkill, Sight, fingerprint
from skillbelt.langchain.state import MARK
from skillbelt.restoring import Keeper, Restored, Returned
from skillbelt.router import SkillRouter

__all__ = ["KeptRequest", "Shaper", "answered_in_error", "as_message", "as_pair", "kept", "marks"]

_PREFIX = "skillbelt-"
_PLANS = 32


class Shaper:
    """Puts the texts of skills in use into lists of messages, and remembers what the last list held.

    Args:
        router: The skills of this run.
        keeper: Their current texts.
        sight: Finds texts in messages.
        held: The skills in use.
        form: ``"pair"``, ``"message"`` or ``"off"``.

    Attributes:
        present: Skills whose whole text is in the last list.
        restored: What was put into it.
    """

    def __init__(
        self, router: SkillRouter, keeper: Keeper, sight: Sight[BaseMessage], held: Mapping[str, HeldSkill], form: str
    ) -> None:
        self._notes = router.renderer
        self._keeper = keeper
        self._sight = sight
        self._held = held
        self._form = form
        self._ours: frozenset[str] = frozenset()
        self.present: frozenset[str] = frozenset()
        self.restored: list[Returned] = []

    def shape(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages with every text of a skill in use in them once, within bounds.

        Args:
            messages: As the agent or another middleware has them.
        """
        given = [m for m in messages if m.id not in self._ours] if self._ours else messages
        shaped = _Edited(given)
        lost: dict[str, HeldSkill] = {}
        whole: set[str] = set()
        self.restored = []
        for name, record in self._held.items():
            for key, text in record.get("past", ()):
                place, stands = self._sight.look(shaped.now, key, text)
                if stands and place is not None:
                    shaped.put(place, self._notes.older(name))
            index, there = self._sight.find(shaped.now, record)
            if record.get("unloaded"):
                if there and index is not None:
                    shaped.put(index, self._notes.unloaded(name))
            elif self._form == "off":
                if there:
                    whole.add(name)
            elif index is None:
                lost[name] = record
            elif there and not self._keeper.changed(name, record):
                whole.add(name)
            else:
                self._refill(shaped, index, name, record, whole)
        plan = self._keeper.back(lost) if lost else None
        if plan:
            self._insert(shaped, plan)
            self.restored.extend(plan.skills)
            whole.update(back.name for back in plan.skills if not back.cut and not back.changed and back.text)
        self.present = frozenset(whole)
        return shaped.now

    def _refill(self, shaped: _Edited, index: int, name: str, record: HeldSkill, whole: set[str]) -> None:
        """Put a skill's text, or its new one, into the message that brought it."""
        changed = self._keeper.changed(name, record)
        back = self._keeper.one(name, record, self._notes.changed(name) if changed else "")
        if not back.text:  # the skill is gone: what is still there stays, what was cleared stays so
            return
        self.restored.append(back)
        if not back.cut and not changed:
            whole.add(name)
        shaped.put(index, back.whole if back.note else back.text)

    def _insert(self, shaped: _Edited, plan: Restored) -> None:
        place = _place(shaped.now)
        form = self._form if place else "message"  # a conversation does not begin with a call of the model
        inserted, self._ours = _made(form, plan)
        shaped.insert(place, inserted)


class _Edited:
    """A list of messages that is copied when it is first changed."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.now: list[BaseMessage] = messages if isinstance(messages, list) else list(messages)
        self._given = messages

    def _own(self) -> list[BaseMessage]:
        if self.now is self._given:
            self.now = list(self._given)
        return self.now

    def put(self, index: int, text: str) -> None:
        """Give a message another text."""
        message = self.now[index]
        if message.content != text:
            self._own()[index] = message.model_copy(update={"content": text})

    def insert(self, index: int, messages: list[BaseMessage]) -> None:
        """Put messages in."""
        self._own()[index:index] = messages


_kept: dict[tuple[str, Restored], tuple[list[BaseMessage], frozenset[str]]] = {}


def _made(form: str, plan: Restored) -> tuple[list[BaseMessage], frozenset[str]]:
    """Return the messages of a plan and their ids, made once for each plan; copies, for they go to others."""
    made = _kept.get((form, plan))
    if made is None:
        messages = as_pair(plan) if form == "pair" else as_message(plan)
        made = messages, frozenset(str(message.id) for message in messages)
        if len(_kept) >= _PLANS:
            _kept.clear()
        _kept[form, plan] = made
    return [message.model_copy() for message in made[0]], made[1]


def _place(messages: Sequence[BaseMessage]) -> int:
    """Return where texts are put back: after the summary, else after the first message of the user."""
    first = 0
    for index, message in enumerate(messages):
        if isinstance(message, HumanMessage):
            if message.additional_kwargs.get("lc_source") == "summarization":
                return index + 1
            if not first:
                first = index + 1
        elif isinstance(message, AIMessage) and first:
            break
    return first


def as_pair(plan: Restored) -> list[BaseMessage]:
    """Return texts as one message of the model that calls ``load_skill``, and the results.

    Args:
        plan: What to put back.
    """
    calls: list[dict[str, Any]] = []
    results: list[BaseMessage] = []
    for back in plan.skills:
        id_ = f"skill_{fingerprint(f'{back.name} {back.arguments} {back.digest}')[:24]}"
        arguments = {"name": back.name} if back.arguments is None else {"name": back.name, "arguments": back.arguments}
        calls.append({"name": "load_skill", "args": arguments, "id": id_, "type": "tool_call"})
        results.append(ToolMessage(back.whole, tool_call_id=id_, name="load_skill", id=f"{_PREFIX}{id_}"))
    if plan.note:
        results.append(HumanMessage(plan.note, id=f"{_PREFIX}{fingerprint(plan.note)}"))
    call = [AIMessage("", tool_calls=calls, id=f"{_PREFIX}{calls[0]['id']}-call")] if calls else []
    return [*call, *results]


def as_message(plan: Restored) -> list[BaseMessage]:
    """Return texts as one message in the name of the user.

    Args:
        plan: What to put back.
    """
    text = "\n\n".join([*(back.whole for back in plan.skills), *([plan.note] if plan.note else [])])
    return [HumanMessage(text, id=f"{_PREFIX}{fingerprint(text)}")]


class KeptRequest(ModelRequest[Any]):
    """A request that lets a :class:`Shaper` look at every list of messages it is given."""

    def override(self, **changes: Any) -> ModelRequest[Any]:
        """Return the request with changes, as its base does.

        Args:
            **changes: Fields and their new values.
        """
        request = super().override(**changes)
        shaper: Shaper = self.__dict__["_shaper"]
        request.__dict__["_shaper"] = shaper
        if "messages" in changes:
            request.__dict__["messages"] = shaper.shape(changes["messages"])
        return request

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "messages" and "_shaper" in self.__dict__:
            self.__dict__["messages"] = self.__dict__["_shaper"].shape(value)


def kept(request: ModelRequest[Any], shaper: Shaper, **changes: Any) -> KeptRequest:
    """Return a request as one that keeps skills alive.

    Args:
        request: The agent's.
        shaper: Puts texts back.
        **changes: Fields to change.
    """
    made = object.__new__(KeptRequest)
    made.__dict__.update(request.__dict__, **changes)
    made.__dict__["messages"] = shaper.shape(made.messages)
    made.__dict__["_shaper"] = shaper
    return made


def answered_in_error(messages: Sequence[BaseMessage], key: str) -> bool:
    """Whether a call has an answer already, and it is an error.

    Args:
        messages: The messages.
        key: Id of the call.
    """
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.tool_call_id == key:
            return message.status == "error"
        if isinstance(message, AIMessage):
            return False
    return False


def marks(message: BaseMessage) -> dict[str, Any]:
    """Return what was noted on a message of the model when it was made.

    Args:
        message: The message.
    """
    noted = message.response_metadata.get(MARK) if isinstance(message, AIMessage) else None
    return noted if isinstance(noted, dict) else {}
