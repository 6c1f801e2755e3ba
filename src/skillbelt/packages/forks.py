"""What must not go on in a forked child as if nothing had happened: locks of threads that are gone, open databases.

An object says so with :func:`survive_forks` and has some of the three methods that :func:`os.register_at_fork` knows.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

__all__ = ["survive_forks"]

_OBJECTS: WeakSet[Any] = WeakSet()
_GUARD = threading.Lock()
"""Held over a fork, so that no other thread adds an object meanwhile, or dies holding it."""
_FORKING = threading.local()


def survive_forks(thing: Any) -> None:
    """Call ``before_fork``, ``after_fork`` and ``after_fork_in_child`` of an object, as far as it has them.

    The first two are called in the parent, the third and then the second in the child. It is not kept alive by this.

    Args:
        thing: The object.
    """
    with _GUARD:
        _OBJECTS.add(thing)


def _call(name: str) -> None:
    for thing in _FORKING.objects:
        method = getattr(thing, name, None)
        if method is not None:
            method()


def _before() -> None:
    _GUARD.acquire()
    _FORKING.objects = list(_OBJECTS)
    _call("before_fork")


def _after_in_parent() -> None:
    _call("after_fork")
    _FORKING.objects = []
    _GUARD.release()


def _after_in_child() -> None:
    _call("after_fork_in_child")
    _after_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
