"""Where texts of skills stand among messages.

LlamaIndex gives a tool no id of its call and a message none of its own, so a text is known by itself: its length, its
first line, and the digest of the whole. A message that merely looks like one has no such digest, so nothing can be
forged that counts; and it counts only where a text of a skill can come to stand: as the whole of a tool's result, as
the whole of an observation, or after the line that we write before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from skillbelt.active import HeldSkill, fingerprint

__all__ = ["Place", "key_of", "places", "said", "standing", "without"]

_OBSERVED = "Observation: "
_LINE = 80


class Place(NamedTuple):
    """Where a text stands.

    Attributes:
        at: Index of the message.
        start: Where it begins in it.
        end: Where it ends.
    """

    at: int
    start: int
    end: int


def key_of(text: str) -> str:
    """Return what a text is looked for by, before its digest is taken.

    Args:
        text: As the model was given it.
    """
    return f"{len(text)} {text.partition(chr(10))[0][:_LINE]}"


def said(message: ChatMessage) -> str:
    """Return the text of a message.

    Args:
        message: Any message.
    """
    return message.content or ""


def places(messages: Sequence[ChatMessage], key: str, text: str) -> list[Place]:
    """Return where a text stands, the latest place first.

    Args:
        messages: The messages.
        key: :func:`key_of` the text.
        text: Its fingerprint.
    """
    length, _, head = key.partition(" ")
    size = int(length)
    found: list[Place] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        content = said(message)
        if len(content) < size or message.role == MessageRole.SYSTEM:
            continue
        start = content.rfind(head)
        while start >= 0:
            if _may_stand(message.role, content, start, size) and fingerprint(content[start : start + size]) == text:
                found.append(Place(index, start, start + size))
            start = content.rfind(head, 0, start + len(head) - 1) if start else -1
    return found


def standing(messages: Sequence[ChatMessage], record: HeldSkill) -> bool:
    """Whether the text of a skill in use is among messages.

    Args:
        messages: The messages.
        record: Its held record.
    """
    return bool(places(messages, record["key"], record["text"]))


def without(message: ChatMessage, place: Place, note: str) -> ChatMessage:
    """Return a copy of a message with a note in place of a text.

    Args:
        message: The message.
        place: Where the text stands in it.
        note: What to put there.
    """
    content = said(message)
    rest = [block for block in message.blocks if not isinstance(block, TextBlock)]
    text = TextBlock(text=content[: place.start] + note + content[place.end :])
    return message.model_copy(update={"blocks": [text, *rest]})


def _may_stand(role: MessageRole, content: str, start: int, size: int) -> bool:
    observed = content.startswith(_OBSERVED)
    if role == MessageRole.ASSISTANT:  # a ReActAgent remembers a run as one message
        return content[max(0, start - len(_OBSERVED)) : start] == _OBSERVED
    if observed:
        return start == len(_OBSERVED) and start + size == len(content)
    if role == MessageRole.USER:
        return start > 0 and content[start - 1] == "\n"
    return start == 0 and size == len(content)
