"""The rows of a cache's database, and what a transaction does with them.

Each function is given a connection on which a transaction is open, and knows nothing of files, locks and failures:
those are the business of :mod:`skillbelt.packages.cache_database`.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Iterable

__all__ = ["SCHEMA", "DamagedError", "evict", "hashed", "newest", "prepare", "proof", "shrink", "touch"]

SCHEMA = 1
"""Version of the tables. It is part of the file's name: two versions of skillbelt do not meet in one file."""

_TABLES = (
    # Content last: what precedes it can be read without it.
    "CREATE TABLE content (id TEXT PRIMARY KEY, size INTEGER NOT NULL, used INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE INDEX content_used ON content (used, size)",
    "CREATE TABLE alias (key BLOB PRIMARY KEY, value BLOB NOT NULL, learned REAL NOT NULL, proof BLOB NOT NULL)",
)
_PAGE = 8192


class DamagedError(Exception):
    """The file is not one of ours."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, and know those of an old one."""
    # A cache that a power failure damaged is set aside; waiting for the disk at every write would cost more.
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA trusted_schema = OFF")
    if not _version(connection):
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("BEGIN IMMEDIATE")
        if not _version(connection):  # nobody was faster
            for table in _TABLES:
                connection.execute(table)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    if _version(connection) != SCHEMA:
        raise DamagedError


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def newest(connection: sqlite3.Connection) -> int:
    """Return the number of the last use."""
    return int(connection.execute("SELECT coalesce(max(used), 0) FROM content").fetchone()[0])


def touch(connection: sqlite3.Connection, packages: Iterable[str]) -> None:
    """Say that packages were used, in this order, after all others."""
    for used, package in enumerate(packages, newest(connection) + 1):
        connection.execute("UPDATE content SET used = ? WHERE id = ?", (used, package))


def evict(connection: sqlite3.Connection, most: int) -> int:
    """Drop what was not used for longest until all content fits; return how many."""
    over = connection.execute("SELECT coalesce(sum(size), 0) FROM content").fetchone()[0] - most
    if over <= 0:
        return 0
    dropped = []
    for row, size in connection.execute("SELECT rowid, size FROM content ORDER BY used"):
        if over <= 0:
            break
        dropped.append((row,))
        over -= size
    connection.executemany("DELETE FROM content WHERE rowid = ?", dropped)
    return len(dropped)


def shrink(connection: sqlite3.Connection) -> None:
    """Give room back when most of the file is empty: it was cleared, or its limit lowered."""
    pages, free = (connection.execute(f"PRAGMA {what}_count").fetchone()[0] for what in ("page", "freelist"))
    if free >= pages // 2:
        connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page and stop


def hashed(key: str) -> bytes:
    """Return what stands for the key of an alias, which may be any text."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def proof(name: bytes, value: bytes, learned: float) -> bytes:
    """Return what shows damage of an alias, whose value no id vouches for."""
    return hashlib.sha256(name + struct.pack("<d", learned) + value).digest()[:16]
