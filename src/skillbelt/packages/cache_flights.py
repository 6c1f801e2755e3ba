"""One download of a package at a time: over the threads of a process, and over the processes on a folder.

A lock can only save work here. Whoever cannot have it in time, or at all, goes on without it and downloads as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from skillbelt.errors import MissingExtraError
from skillbelt.packages.forks import survive_forks

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["Flights", "file_lock", "held"]

_FILES = 64
"""Lock files in a folder: a fixed number, for a file each would have to be removed again, and that races."""

_POLL = 0.02


@dataclass(slots=True)
class _Flight:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class Flights:
    """Downloads that are under way.

    Args:
        folder: Where lock files are; ``None`` when no other process is concerned.
        patience: Seconds to wait for a lock.
    """

    def __init__(self, folder: Path | None, patience: float) -> None:
        self._folder = folder
        self._patience = patience
        self._running: dict[str, _Flight] = {}
        self._guard = threading.Lock()
        survive_forks(self)

    @contextmanager
    def of(self, sha1: str) -> Iterator[None]:
        """Keep others from downloading a package while the ``with`` block lasts.

        Args:
            sha1: Of which.
        """
        end = time.monotonic() + self._patience
        with self._guard:
            flight = self._running.setdefault(sha1, _Flight())
            flight.users += 1
        mine = flight.lock.acquire(timeout=self._patience)
        try:
            if self._folder is None:
                yield
            else:
                path = self._folder / f"{int(sha1[:8], 16) % _FILES:02}.lock"
                with held(file_lock(path), max(0.0, end - time.monotonic())):
                    yield
        finally:
            if mine:
                flight.lock.release()
            with self._guard:
                flight.users -= 1
                if not flight.users:
                    self._running.pop(sha1, None)

    def after_fork_in_child(self) -> None:
        """Forget the downloads of the parent's threads."""
        self._guard = threading.Lock()
        self._running = {}


def file_lock(path: Path) -> BaseFileLock:
    """Return a lock that processes share.

    Args:
        path: Its file.

    Raises:
        MissingExtraError: The package ``filelock`` is not installed.
    """
    try:
        from filelock import FileLock
    except ImportError as error:
        raise MissingExtraError("A cache in a folder", extra="registry") from error
    return FileLock(path, mode=0o600)


@contextmanager
def held(lock: BaseFileLock, timeout: float) -> Iterator[bool]:
    """Hold a lock while the ``with`` block lasts, if it can be had.

    Args:
        lock: Which.
        timeout: Seconds to wait for it.

    Returns:
        Whether it was had; what cannot be locked is not.
    """
    had = False
    # Somebody holds it; no permission, no room, no lock table; a file system without locks.
    with suppress(TimeoutError, OSError, NotImplementedError):
        Path(lock.lock_file).parent.mkdir(mode=0o700, exist_ok=True)
        lock.acquire(timeout=timeout, poll_interval=_POLL)
        had = True
    try:
        yield had
    finally:
        if had:
            with suppress(OSError):
                lock.release()
