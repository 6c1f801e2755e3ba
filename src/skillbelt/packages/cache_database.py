"""The store of a cache: one SQLite database, in memory or in a folder.

SQLite does what is hard about it: a process that is killed while it writes leaves a journal that the next one rolls
back, and any number of processes may read and write. What is added here is what a cache needs on top: a file that is
damaged is set aside and another begun; whatever else fails is :class:`UnavailableError`; no connection crosses a fork.

Reads rarely write. Which packages were used is remembered in memory and written with the next package, or about once
a second. Order of use is a number that grows, not a time, so no clock can spoil it.

What an entry means, and whether it is right, is not known here.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from skillbelt.packages.cache_files import Files
from skillbelt.packages.cache_rows import SCHEMA, DamagedError, evict, hashed, newest, prepare, proof, shrink, touch
from skillbelt.packages.forks import survive_forks

__all__ = ["Database", "UnavailableError"]

_T = TypeVar("_T")

_BUSY = 10.0
"""Seconds to wait for another process that writes."""

_TOUCHED = 1.0
_ALIASES = 10_000
_ALIAS_BYTES = 65536

_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_FORMAT,
    }
)
"""Codes that say that the file is not what we wrote; a missing table is ``SQLITE_ERROR``."""


class UnavailableError(Exception):
    """There is no database to be had now: no room, no permission, no lock."""


class Database:
    """Rows by key.

    Args:
        folder: Where its file is; ``None`` for memory.

    Attributes:
        damages: Files set aside and aliases dropped because they were damaged.
    """

    def __init__(self, folder: Path | None) -> None:
        self._connection: sqlite3.Connection | None = None
        self._files = None if folder is None else Files(folder, f"packages-v{SCHEMA}")
        self._generation = 0
        self._lock = threading.Lock()
        self._touched: dict[str, None] = {}
        self._written = 0.0
        self.damages = 0
        survive_forks(self)

    # --- content ------------------------------------------------------------------------------------------------------

    def read(self, package: str) -> bytes | None:
        """Return what is kept under an id.

        Args:
            package: The id.

        Raises:
            UnavailableError: It cannot be read.
        """

        def run(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute("SELECT data FROM content WHERE id = ?", (package,)).fetchone()
            if row is None:
                return None
            self._touched.pop(package, None)
            self._touched[package] = None  # now the last
            if time.monotonic() - self._written > _TOUCHED:
                self._write_touched(connection)
            data: bytes = row[0]
            return data

        return self._run(run)

    def write(self, package: str, data: bytes, most: int) -> int:
        """Keep bytes under an id, and drop what was not used for longest until all fits.

        Args:
            package: The id.
            data: Its content.
            most: Bytes that all content may have.

        Returns:
            How many others were dropped.

        Raises:
            UnavailableError: It cannot be written.
        """

        def run(connection: sqlite3.Connection) -> int:
            same = connection.execute("SELECT 1 FROM content WHERE id = ? AND data = ?", (package, data)).fetchone()
            if same:
                touch(connection, [package])
                return 0
            connection.execute(
                "INSERT OR REPLACE INTO content (id, size, used, data) VALUES (?, ?, ?, ?)",
                (package, len(data), newest(connection) + 1, data),
            )
            return evict(connection, most)

        dropped = self._run(run, writes=True)
        if dropped:
            with suppress(UnavailableError):
                self._run(shrink)
        return dropped

    def drop(self, package: str) -> None:
        """Forget what is kept under an id.

        Args:
            package: The id.

        Raises:
            UnavailableError: It cannot be written.
        """
        self._run(lambda connection: connection.execute("DELETE FROM content WHERE id = ?", (package,)), writes=True)

    # --- aliases ------------------------------------------------------------------------------------------------------

    def alias(self, key: str) -> tuple[str, float] | None:
        """Return the value of an alias, and when it was put.

        Args:
            key: Its key.

        Raises:
            UnavailableError: It cannot be read.
        """
        name = hashed(key)
        row = self._run(
            lambda connection: connection.execute(
                "SELECT value, learned, proof FROM alias WHERE key = ?", (name,)
            ).fetchone()
        )
        if row is None:
            return None
        value, learned, stored = row
        if isinstance(value, bytes) and isinstance(learned, float) and stored == proof(name, value, learned):
            return value.decode("utf-8", "surrogatepass"), learned
        self.damages += 1
        self._run(lambda connection: connection.execute("DELETE FROM alias WHERE key = ?", (name,)), writes=True)
        return None

    def put_alias(self, key: str, value: str, now: float) -> None:
        """Keep the value of an alias.

        Args:
            key: Its key.
            value: What it stands for.
            now: The time.

        Raises:
            UnavailableError: It cannot be written, or is far too long.
        """
        name, data = hashed(key), value.encode("utf-8", "surrogatepass")
        if len(data) > _ALIAS_BYTES:
            raise UnavailableError
        row = (name, data, float(now), proof(name, data, float(now)))

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO alias (key, value, learned, proof) VALUES (?, ?, ?, ?)", row)
            if connection.execute("SELECT count(*) FROM alias").fetchone()[0] > _ALIASES:
                connection.execute(
                    "DELETE FROM alias WHERE rowid IN (SELECT rowid FROM alias ORDER BY rowid LIMIT ?)",
                    (_ALIASES // 10,),
                )

        self._run(run, writes=True)

    # --- the whole ----------------------------------------------------------------------------------------------------

    def size(self) -> tuple[int, int]:
        """Return how many contents there are, and their bytes.

        Raises:
            UnavailableError: It cannot be read.
        """
        query = "SELECT count(*), coalesce(sum(size), 0) FROM content"
        entries, size = self._run(lambda connection: connection.execute(query).fetchone())
        return int(entries), int(size)

    def clear(self) -> None:
        """Forget everything, and give the room back.

        Raises:
            UnavailableError: It cannot be written.
        """

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM content")
            connection.execute("DELETE FROM alias")

        try:
            self._run(run, writes=True)
            self._run(shrink)
        except UnavailableError:
            # Even deleting needs room, for a journal: on a full disk only another file helps.
            with self._lock:
                self._disconnect()
                if self._files is None or not self._files.replace(self._generation, keep=False):
                    raise

    def close(self) -> None:
        """Let go of the file; the next operation opens it again."""
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._write_touched(self._connection)
            self._disconnect()

    def __del__(self) -> None:
        self._disconnect()

    # --- forks --------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait until no thread is in the database, and close it: SQLite's locks do not survive a fork."""
        self._lock.acquire()
        if self._files is not None:
            self._disconnect()

    def after_fork(self) -> None:
        """Let the threads go on."""
        self._lock.release()

    # --- connection ---------------------------------------------------------------------------------------------------

    def _run(self, operation: Callable[[sqlite3.Connection], _T], *, writes: bool = False) -> _T:
        """Return what an operation gives; as one transaction when it writes; once more when the file was damaged."""
        with self._lock:
            for last in (False, True):
                try:
                    return self._once(operation, writes=writes)
                except (sqlite3.Error, OSError, DamagedError) as error:
                    if self._files is None:
                        raise UnavailableError from error  # what is in memory is not given up for it
                    self._disconnect()
                    damaged = _is_damage(error)
                    if last or not (damaged or _is_moved(error)):
                        raise UnavailableError from error
                    if damaged:
                        self.damages += self._files.replace(self._generation)
            raise AssertionError  # pragma: no cover - the loop ends by itself

    def _once(self, operation: Callable[[sqlite3.Connection], _T], *, writes: bool) -> _T:
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        if not writes:
            return operation(connection)
        connection.execute("BEGIN IMMEDIATE")  # a lock that is only later made one for writing can deadlock
        try:
            touch(connection, self._touched)
            result = operation(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        self._touched.clear()
        self._written = time.monotonic()
        return result

    def _write_touched(self, connection: sqlite3.Connection) -> None:
        """Write what was used since the last time, unless somebody else is writing: it can wait."""
        touched, self._touched = self._touched, {}
        self._written = time.monotonic()
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
            touch(connection, touched)
            connection.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(_BUSY * 1000)}")

    def _connect(self) -> sqlite3.Connection:
        if self._files is None:
            place = ":memory:"
        else:
            self._generation, path = self._files.current()
            place = f"{path.as_uri()}?mode=rw"  # never made by SQLite: a file that was just set aside must stay away
        connection = sqlite3.connect(
            place, timeout=_BUSY, isolation_level=None, check_same_thread=False, uri=self._files is not None
        )
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _is_damage(error: Exception) -> bool:
    if isinstance(error, DamagedError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED


def _is_moved(error: Exception) -> bool:
    """Whether the file was removed, or set aside, under its name."""
    code = getattr(error, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_READONLY_DBMOVED or (code is not None and code & 0xFF == sqlite3.SQLITE_CANTOPEN)
