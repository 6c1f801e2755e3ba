"""Values kept in memory within a bound of bytes, the least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["Kept"]

_V = TypeVar("_V")


class Kept(Generic[_V]):
    """Values by key, the least recently used dropped first; may be shared by threads.

    Args:
        bound: Most bytes kept in all.

    Example:
        >>> kept = Kept(10)
        >>> kept.put("a", "first", 6), kept.put("b", "second", 6)
        (None, None)
        >>> kept.get("a"), kept.get("b")
        (None, 'second')
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._size = 0
        self._values: OrderedDict[str, tuple[_V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> _V | None:
        """Return a value, ``None`` when it is not kept (any more)."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: str, value: _V, size: int) -> None:
        """Keep a value of ``size`` bytes, unless it is larger than the bound."""
        with self._lock:
            self._drop(key)
            if size > self._bound:
                return
            self._values[key] = (value, size)
            self._size += size
            while self._size > self._bound:
                self._drop(next(iter(self._values)))

    def drop(self, key: str) -> None:
        """Forget a value."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: str) -> None:
        if key in self._values:
            self._size -= self._values.pop(key)[1]
