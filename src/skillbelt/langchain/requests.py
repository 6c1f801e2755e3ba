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
        shaped = [m for m in messages if m.id not in self._ours] if self._ours else list(messages)
        lost: dict[str, HeldSkill] = {}
        whole: set[str] = set()
        self.restored = []
        for name, record in self._held.items():
            for key, text in record.get("past", ()):
                place, stands = self._sight.look(shaped, key, text)
                if stands and place is not None:
                    shaped[place] = _with(shaped[place], self._notes.older(name))
            index, there = self._sight.find(shaped, record)
            if record.get("unloaded"):
                if there and index is not None:
                    shaped[index] = _with(shaped[index], self._notes.unloaded(name))
            elif self._form == "off":
                if there:
                    whole.add(name)
            elif index is None:
                lost[name] = record
            elif there and not self._keeper.changed(name, record):
                whole.add(name)
            else:
                shaped[index] = self._refilled(shaped[index], name, record, whole)
        plan = self._keeper.back(lost)
        if plan:
            shaped = self._inserted(shaped, plan)
            self.restored.extend(plan.skills)
            whole.update(back.name for back in plan.skills if not back.cut and not back.changed and back.text)
        self.present = frozenset(whole)
        return shaped

    def _refilled(self, message: BaseMessage, name: str, record: HeldSkill, whole: set[str]) -> BaseMessage:
        """Return a message that brought a skill, with the skill's text in it again, or with the new one."""
        changed = self._keeper.changed(name, record)
        back = self._keeper.one(name, record, self._notes.changed(name) if changed else "")
        if not back.text:  # the skill is gone: what is still there stays, what was cleared stays so
            return message
        self.restored.append(back)
        if not back.cut and not changed:
            whole.add(name)
        return _with(message, back.whole if back.note else back.text)

    def _inserted(self, messages: list[BaseMessage], plan: Restored) -> list[BaseMessage]:
        place = _place(messages)
        form = self._form if place else "message"  # a conversation does not begin with a call of the model
        inserted = as_pair(plan) if form == "pair" else as_message(plan)
        self._ours = frozenset(str(message.id) for message in inserted)
        return [*messages[:place], *inserted, *messages[place:]]


def _with(message: BaseMessage, text: str) -> BaseMessage:
    return message if message.content == text else message.model_copy(update={"content": text})


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

    def override(self, **changes: Any) -> KeptRequest:  # type: ignore[override]
        """Return the request with changes, as its base does.

        Args:
            **changes: Fields and their new values.
        """
        request = super().override(**changes)
        shaper: Shaper = self.__dict__["_shaper"]
        request.__dict__["_shaper"] = shaper
        if "messages" in changes:
            request.__dict__["messages"] = shaper.shape(changes["messages"])
        return request  # type: ignore[return-value]

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
