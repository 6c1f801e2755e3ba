"""Waiting for files to come to rest: what somebody is writing right now is not served half.

A file that was written within the last ``settle`` seconds may not be whole yet, and nobody can see whether it is. A
call waits until it has rested. When somebody keeps writing, the answer is what was there before; when there is none,
that is said. No lock is held while waiting (threat model, row 19; ADR 0020).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from skillbelt.errors import ResourceError, SkillError
from skillbelt.sources.paths import shown

__all__ = ["CLOCK", "PATIENCE", "Look", "Rest"]

CLOCK = 0.1
"""Seconds after which a file that is written again has another time: clocks of file systems tick coarsely."""

_T = TypeVar("_T")

PATIENCE = 8
"""How many times ``settle`` a call waits when there is nothing from before to answer with, and a doubtful answer has
to rest when there is."""
_TICK = 0.005
"""Seconds by which the clock of a file system may lag behind ours."""


class Look(NamedTuple, Generic[_T]):
    """What one look gave.

    Attributes:
        answer: What is there, or why there is nothing to use.
        written: When what was looked at last changed (seconds since the epoch).
        doubtful: Whether a writer that was held up in the middle would explain it: it is empty, no skill any
            more, or lacks a file it had.
    """

    answer: _T | SkillError
    written: float
    doubtful: bool = False


class Rest:
    """Looks again until what is seen has rested; may be shared by threads.

    Args:
        settle: Seconds without a change after which something is whole; 0 takes everything as it is.
    """

    def __init__(self, settle: float) -> None:
        self.settle = settle
        self._busy: dict[str, float] = {}  # what was being written although we waited, and until when we know

    def left(self, written: float, times: int = 1) -> float:
        """Return for how many seconds something written at a time is not yet at rest, 0 when it is.

        A time in the future is that of another clock, and tells nothing.
        """
        if not self.settle or not written:
            return 0.0
        left = times * self.settle - (time.time() - written)
        return left if 0 < left <= (times + 1) * self.settle else 0.0

    def wait(self, left: float) -> None:
        """Sleep for the seconds that :meth:`left` gave."""
        time.sleep(left + _TICK)

    def see(self, what: str, look: Callable[[], Look[_T]], last: Callable[[], _T | None]) -> _T:
        """Return what a look gives once it has rested.

        Args:
            what: Tells it from other things, and names it in a message.
            look: Reads it; an exception that may pass is an answer too.
            last: Returns what it was when it last rested, ``None`` if that is not known.

        Raises:
            SkillError: The answer of the last look was this exception.
            ResourceError: Somebody keeps writing, and nothing from before is known.
        """
        seen = look()
        left = self.left(seen.written)
        if not left:
            return self._given(seen, last)
        if self._busy.get(what, 0.0) > time.monotonic() and (known := last()) is not None:
            return known
        end = time.monotonic() + PATIENCE * self.settle
        while True:
            self.wait(left)
            seen = look()
            left = self.left(seen.written)
            if not left:
                self._busy.pop(what, None)
                return self._given(seen, last)
            known = last()
            if known is not None:
                self._busy[what] = time.monotonic() + self.settle
                return known
            if time.monotonic() > end:
                raise ResourceError(f"{shown(what)} is being written right now; ask again when that is done.")

    def _given(self, seen: Look[_T], last: Callable[[], _T | None]) -> _T:
        """Return an answer at rest; a doubtful one has to rest for longer before it replaces a good one."""
        if seen.doubtful and self.left(seen.written, PATIENCE) and (known := last()) is not None:
            return known
        if isinstance(seen.answer, SkillError):
            raise seen.answer
        return seen.answer
