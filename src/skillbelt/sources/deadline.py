"""How much one call over HTTP may take, and the point in time when it is over."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

from skillbelt.errors import LimitError
from skillbelt.limits import KIB, MIB

__all__ = ["Deadline", "HttpLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """How much a source on the web may take of time, bytes and requests.

    Attributes:
        deadline: Seconds for one call of a source, with resolving, redirects, retries and reading.
        index_bytes: Bytes of an index of skills, decoded.
        archive_bytes: Bytes of one archive, or of one bundled file.
        cache_bytes: Bytes of content kept in memory.
        header_bytes: Bytes of a response's headers.
        redirects: Redirects followed for one request.
        retries: Further tries after a failed connection, 429 or 5xx.
        fresh: Seconds a response without caching headers is used before it is asked for again.

    Raises:
        LimitError: A value is negative, or no number.

    Example:
        >>> HttpLimits(deadline=5).redirects
        5
    """

    deadline: float = 15.0
    index_bytes: int = MIB
    archive_bytes: int = 16 * MIB
    cache_bytes: int = 32 * MIB
    header_bytes: int = 64 * KIB
    redirects: int = 5
    retries: int = 2
    fresh: float = 30.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value: Any = getattr(self, each.name)
            kinds = (int, float) if isinstance(each.default, float) else int
            if not isinstance(value, kinds) or isinstance(value, bool) or not 0 <= value < 1 << 40:
                raise LimitError(f"{each.name} must be a number from 0 up, not {value!r}.")
        if not self.deadline:
            raise LimitError("deadline must be more than 0 seconds.")


class Deadline:
    """A point in time after which a call is over.

    Args:
        seconds: How far away it is.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())
