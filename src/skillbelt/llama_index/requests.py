"""Requests that keep skills alive: however short the memory is, the texts of skills in use are in each of them, once.

LlamaIndex's memories forget the oldest messages, and a context that is used again may come without its memory. So each
request is looked at before it is sent: what is lost is put back, what no longer counts is taken out. The messages of
the memory are never changed, only copies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms import types
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from skillbelt.active import HeldSkill, fingerprint
from skillbelt.kits import Kit
from skillbelt.llama_index.texts import Place, places, without
from skillbelt.restoring import Restored, Returned

__all__ = ["Shaped", "as_message", "as_pair", "shape"]

_TOOL_CALL_BLOCK: Any = getattr(types, "ToolCallBlock", None)  # not in 0.13


class Shaped:
    """A request as the model gets it.

    Attributes:
        messages: Those of the memory, with what was put back among them.
        current: Those of the current run that are other ones now, by index.
        present: Skills whose whole text is in the request.
        restored: What was put into it.
    """

    def __init__(self, messages: Sequence[ChatMessage]) -> None:
        self.messages = list(messages)
        self.current: dict[int, ChatMessage] = {}
        self.present: set[str] = set()
        self.restored: list[Returned] = []


def shape(
    messages: Sequence[ChatMessage],
    current: Sequence[ChatMessage],
    held: Mapping[str, HeldSkill],
    kit: Kit,
    form: str,
) -> Shaped:
    """Return a request with every text of a skill in use in it once, within bounds.

    Args:
        messages: As the memory has them, system messages included.
        current: Those of the current run, which follow.
        held: The skills in use.
        kit: Of this run's router.
        form: ``"message"``, ``"pair"`` or ``"off"``.
    """
    shaped = Shaped(messages)
    everything = [*messages, *current]
    notes = kit.router.renderer
    lost: dict[str, HeldSkill] = {}
    old: set[str] = set()
    out: list[tuple[Place, str]] = []
    for name, record in held.items():
        found = places(everything, record["key"], record["text"])
        for key, text in record.get("past", ()):
            if (key, text) != (record["key"], record["text"]):
                out += [(place, notes.older(name)) for place in places(everything, key, text)]
        if record.get("unloaded"):
            out += [(place, notes.unloaded(name)) for place in found]
        elif not found:
            lost[name] = record
        elif form != "off" and kit.keeper.changed(name, record):
            out += [(place, notes.older(name)) for place in found]
            lost[name] = record
            old.add(name)
        else:
            out += [(place, notes.older(name)) for place in found[1:]]
            shaped.present.add(name)
    _take_out(shaped, everything, len(messages), out)
    plan = kit.keeper.back(lost) if form != "off" else None
    if plan:
        news = tuple(b._replace(note=notes.changed(b.name)) if b.name in old else b for b in plan.skills)
        plan = plan._replace(skills=news)
        shaped.messages = _inserted(shaped.messages, plan, form)
        shaped.restored = [*plan.skills]
        shaped.present |= {back.name for back in plan.skills if not back.cut and not back.changed and back.text}
    return shaped


def _take_out(shaped: Shaped, everything: list[ChatMessage], border: int, out: list[tuple[Place, str]]) -> None:
    # From the end, so that places before it stay what they are.
    for place, note in sorted(out, key=lambda one: (one[0].at, one[0].start), reverse=True):
        everything[place.at] = without(everything[place.at], place, note)
        if place.at < border:
            shaped.messages[place.at] = everything[place.at]
        else:
            shaped.current[place.at - border] = everything[place.at]


def _inserted(messages: list[ChatMessage], plan: Restored, form: str) -> list[ChatMessage]:
    place, user = 0, False
    for index, message in enumerate(messages):
        if message.role == MessageRole.USER:
            place, user = index + 1, True
        elif user:
            break
        else:
            place = index + 1
    # A conversation does not begin with a call of the model.
    inserted = as_pair(plan) if form == "pair" and user else [as_message(plan)]
    return [*messages[:place], *inserted, *messages[place:]]


def as_message(plan: Restored) -> ChatMessage:
    """Return texts as one message in the name of the user.

    Args:
        plan: What to put back.
    """
    text = "\n\n".join([*(back.whole for back in plan.skills), *([plan.note] if plan.note else [])])
    return ChatMessage(role=MessageRole.USER, content=text)


def as_pair(plan: Restored) -> list[ChatMessage]:
    """Return texts as one message of the model that calls ``load_skill``, and the results.

    Args:
        plan: What to put back.
    """
    calls: list[tuple[str, dict[str, Any]]] = []
    results: list[ChatMessage] = []
    for back in plan.skills:
        id_ = f"skill_{fingerprint(f'{back.name} {back.arguments} {back.digest}')[:24]}"
        calls.append((id_, {"name": back.name} | ({} if back.arguments is None else {"arguments": back.arguments})))
        extra = {"tool_call_id": id_}
        results.append(ChatMessage(role=MessageRole.TOOL, content=back.whole, additional_kwargs=extra))
    if plan.note:
        results.append(ChatMessage(role=MessageRole.USER, content=plan.note))
    return [_calling(calls), *results] if calls else results


def _calling(calls: Sequence[tuple[str, dict[str, Any]]]) -> ChatMessage:
    blocks: list[Any] = []
    if _TOOL_CALL_BLOCK is not None:
        blocks = [_TOOL_CALL_BLOCK(tool_call_id=id_, tool_name="load_skill", tool_kwargs=given) for id_, given in calls]
    plain = [
        {"id": id_, "type": "function", "function": {"name": "load_skill", "arguments": json.dumps(given)}}
        for id_, given in calls
    ]
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks, additional_kwargs={"tool_calls": plain})
