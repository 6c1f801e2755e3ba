"""Which skills a conversation has in use: plain JSON, so that any checkpoint can hold it and any process resume it.

Two records a skill. The public one, an :class:`ActiveSkill`, says that a skill is in use: name, digest, when. The held
one, a :class:`HeldSkill`, is the host's own: which call brought the text, the fingerprint of that text, which tools the
skill allows. Frameworks keep both in their state and join updates with :func:`merge_active` and :func:`merge_held`.

Whether a skill's text is still in a list of messages is judged in :mod:`skillbelt.presence`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypedDict

from skillbelt.errors import SkillError
from skillbelt.presence import Reading, Sight, fingerprint, present

__all__ = [
    "ActiveSkill",
    "By",
    "HeldSkill",
    "Reading",
    "Sight",
    "after",
    "changed_since",
    "fingerprint",
    "hold",
    "in_use",
    "is_same",
    "merge_active",
    "merge_held",
    "now",
    "present",
    "removal",
    "same_load",
    "takes_reload",
]

By = Literal["model", "user", "host"]
"""Who chose a skill: the model with a call, the user with ``/name``, or the application."""

_RELOAD = {"reload": True}
_PAST = 20


class ActiveSkill(TypedDict):
    """A skill in use, as everybody may see it.

    Attributes:
        name: The skill.
        digest: sha256 of the SKILL.md that was loaded.
        when: When it was, in UTC (ISO 8601).
    """

    name: str
    digest: str
    when: str


class HeldSkill(TypedDict):
    """What the host needs to keep a skill in use; never taken from outside.

    Attributes:
        digest: sha256 of the SKILL.md that was loaded.
        text: :func:`fingerprint` of the text the model was given.
        key: Id of the tool call, or of the message, that brought the text.
        tools: The skill's allowed-tools, as its author wrote them; missing when it says nothing.
        arguments: What it was loaded with.
        by: Who chose it.
        unloaded: Whether it was put out of use; its text is then taken out of requests.
        past: Texts of it that no longer count: the keys and fingerprints of earlier loads.
    """

    digest: str
    text: str
    key: str
    tools: NotRequired[list[str]]
    arguments: NotRequired[str]
    by: NotRequired[By]
    unloaded: NotRequired[bool]
    past: NotRequired[list[list[str]]]


def now() -> str:
    """Return the time as :class:`ActiveSkill` holds it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def hold(
    name: str,
    digest: str,
    text: str,
    key: str,
    *,
    tools: Sequence[str] = (),
    arguments: str | None = None,
    by: By = "model",
) -> tuple[ActiveSkill, HeldSkill]:
    """Return both records of a skill that was just handed out.

    Args:
        name: The skill.
        digest: sha256 of its SKILL.md.
        text: :func:`fingerprint` of what the model was given, whole.
        key: Id of the call or message that holds it.
        tools: The skill's allowed-tools.
        arguments: What it was loaded with.
        by: Who chose it.
    """
    held = HeldSkill(digest=digest, text=text, key=key, by=by)
    if tools:
        held["tools"] = list(tools)
    if arguments is not None:
        held["arguments"] = arguments
    return ActiveSkill(name=name, digest=digest, when=now()), held


def after(held: HeldSkill, before: HeldSkill | None) -> HeldSkill:
    """Return the record of a skill that was loaded again: texts that it replaces are not to be followed any more.

    Args:
        held: The new record.
        before: The one it replaces.
    """
    if before is None:
        return held
    past = [*before.get("past", [])]
    same = before.get("arguments") == held.get("arguments")
    if before.get("unloaded") or (same and before["text"] != held["text"]):
        past.append([before["key"], before["text"]])
    return {**held, "past": past[-_PAST:]} if past else held


def is_same(held: HeldSkill, digest: str, text: str, arguments: str | None) -> bool:
    """Whether a skill in use was loaded just so before: there is nothing new to tell of it.

    Args:
        held: Its record.
        digest: sha256 of its SKILL.md now.
        text: Fingerprint of its text now; a tool may say more around it than a message of ours does.
        arguments: What it is loaded with now.
    """
    if held.get("unloaded") or held["digest"] != digest or held.get("arguments") != arguments:
        return False
    return held["text"] == text or held.get("by") != "model"


def changed_since(held: HeldSkill | None, digest: object) -> bool:
    """Whether a skill in use is another one now than the one that was loaded.

    Args:
        held: Its record; a skill that is not in use has no text that a change could make wrong.
        digest: sha256 of its SKILL.md as it is now, where that is known.
    """
    return held is not None and not held.get("unloaded") and isinstance(digest, str) and digest != held["digest"]


def removal(name: str) -> dict[str, Any]:
    """Return the update of the public list that takes a skill out of it.

    Args:
        name: The skill.
    """
    return {"name": name, "removed": True}


def merge_active(old: Sequence[Any] | None, new: Sequence[Any] | None) -> list[dict[str, Any]]:
    """Join an update into the public list: one record a skill, in the order they came, the later one wins.

    Args:
        old: Records so far.
        new: Records, or bare names (a wish to have a skill in use). ``None`` asks for the skills to be read again, an
            empty list changes nothing: the skills are loaded and none is in use.

    Raises:
        SkillError: Something in it is neither a name nor a record with one.
    """
    if new is None:
        return [*(old or []), dict(_RELOAD)]
    merged = {_key(record): dict(record) for record in old or []}
    for item in [new] if isinstance(new, str) else new:
        record = {"name": item} if isinstance(item, str) else item
        if not isinstance(record, Mapping) or not ("reload" in record or isinstance(record.get("name"), str)):
            raise SkillError(
                f"active_skills takes names of skills, or records with a name, not {type(item).__name__}. "
                'Write ["pdf-forms"].'
            )
        if record.get("removed") or record.get("reload") is False:
            merged.pop(_key(record), None)
        else:
            merged[_key(record)] = dict(record)
    return list(merged.values())


def merge_held(old: Mapping[str, HeldSkill] | None, new: Mapping[str, HeldSkill | None] | None) -> dict[str, HeldSkill]:
    """Join an update into the held records; a skill that is loaded again moves to the end.

    Args:
        old: Records so far, by name.
        new: Records to set; ``None`` for a name forgets it.
    """
    merged = dict(old or {})
    for name, record in (new or {}).items():
        merged.pop(name, None)
        if record is not None:
            merged[name] = record
    return merged


def takes_reload(active: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the update that answers a wish to read the skills again; empty when nobody has it.

    Args:
        active: The public list.
    """
    return [{"reload": False}] if any(record.get("reload") for record in active or ()) else []


def in_use(held: Mapping[str, HeldSkill] | None) -> list[str]:
    """Return the names of the skills in use, in the order they came.

    Args:
        held: The held records.
    """
    return [name for name, record in (held or {}).items() if not record.get("unloaded")]


def _key(record: Mapping[str, Any]) -> str:
    return "" if "reload" in record else str(record["name"])


def same_load(calls: Iterable[tuple[str, Mapping[str, Any]]], key: str, failed: Callable[[str], bool]) -> bool:
    """Whether an earlier call of the same message asks for the same skill in the same way.

    Args:
        calls: Id and arguments of each load of the message, in order.
        key: Id of the call in question.
        failed: Whether a call was answered with an error before it ran.
    """
    listed = list(calls)
    mine = next((arguments for id_, arguments in listed if id_ == key), None)
    for id_, arguments in listed:
        if id_ == key:
            return False
        if arguments == mine and not failed(id_):
            return True
    return False
