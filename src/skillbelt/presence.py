"""Whether a skill's text is in a list of messages.

It is only when the message that brought it still holds exactly that text. A message that merely looks like one proves
nothing, so no text can be forged that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from skillbelt.active import HeldSkill

__all__ = ["Reading", "Sight", "fingerprint", "present"]

M = TypeVar("M")

_KNOWN = 4096
_prints: dict[str, str] = {}
_MOST_PRINTS = 128


def fingerprint(text: str) -> str:
    """Return 128 bits of a text's sha256; texts seen lately are not hashed again.

    Args:
        text: What a model was given.
    """
    known = _prints.get(text)
    if known is None:
        known = sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
        if len(_prints) >= _MOST_PRINTS:
            _prints.clear()
        _prints[text] = known
    return known


class Reading(NamedTuple):
    """What a message says that matters here.

    Attributes:
        key: Id of the call it answers, or its own.
        text: Its text.
    """

    key: str
    text: str


class _Seen(NamedTuple):
    """Where something was, or up to where it was not."""

    place: int | None
    length: int
    first: object
    last: object


class Sight(Generic[M]):
    """Finds texts in a list of messages that grows at its end, looking at each message once.

    It remembers places and checks them before it relies on them: a list that was cut, or whose messages were replaced,
    is looked through anew.

    Args:
        read: Gives the key and the text of a message, ``None`` for messages that cannot hold a skill.
    """

    def __init__(self, read: Callable[[M], Reading | None]) -> None:
        self._read = read
        self._seen: dict[tuple[str, str], _Seen] = {}

    def find(self, messages: Sequence[M], held: HeldSkill) -> tuple[int | None, bool]:
        """Return where the message that brought a skill stands, and whether it still holds its whole text.

        Args:
            messages: The messages, oldest first.
            held: The skill's record.
        """
        return self.look(messages, held["key"], held["text"])

    def look(self, messages: Sequence[M], key: str, text: str) -> tuple[int | None, bool]:
        """Return where the message of a key stands, and whether it holds a text.

        Args:
            messages: The messages, oldest first.
            key: Id of a call or message.
            text: Fingerprint of the text.
        """
        want = (key, text)
        seen = self._seen.get(want)
        if seen is not None and seen.place is not None and seen.place < len(messages):
            found = self._read(messages[seen.place])
            if found is not None and found.key == want[0] and fingerprint(found.text) == want[1]:
                return seen.place, True
        start = 0
        if seen is not None and seen.place is None and 0 < seen.length <= len(messages):
            same = messages[0] is seen.first and messages[seen.length - 1] is seen.last
            start = seen.length if same else 0
        place: int | None = None
        for index in range(len(messages) - 1, start - 1, -1):
            found = self._read(messages[index])
            if found is None or found.key != want[0]:
                continue
            if fingerprint(found.text) == want[1]:
                self._remember(want, _Seen(index, 0, None, None))
                return index, True
            place = index if place is None else place
        # A message of this key without the text may be filled again, so it has to be looked at every time.
        if place is None and messages:
            self._remember(want, _Seen(None, len(messages), messages[0], messages[-1]))
        return place, False

    def _remember(self, want: tuple[str, str], seen: _Seen) -> None:
        if len(self._seen) >= _KNOWN:
            self._seen.clear()
        self._seen[want] = seen


def present(sight: Sight[M], messages: Sequence[M], held: Mapping[str, HeldSkill]) -> frozenset[str]:
    """Return the skills in use whose whole text is in these messages.

    Args:
        sight: Of this kind of messages.
        messages: The messages.
        held: The held records.
    """
    return frozenset(
        name for name, record in held.items() if not record.get("unloaded") and sight.find(messages, record)[1]
    )
