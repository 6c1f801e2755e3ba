"""Packages that were fetched, kept in memory or in a folder: content for as long as there is room, aliases for a time.

Content is addressed by what it is and hashed again on every read, so whatever happens to the disk, nobody is given
anything else; what is wrong is dropped and counted. An alias (``acme/pdf@latest`` is that id, for now) can go stale,
so it has a lifetime (S2-32). The least recently used content makes room for new (S2-34).

A cache never fails its caller: on a full disk, in a read-only folder, behind a lock that is not let go, it is only of
no use, and says so in its :meth:`~RegistryCache.statistics`. It fetches nothing by itself. How it is kept on disk is
the business of :mod:`skillbelt.packages.cache_database`; decisions are in ADR 0013.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from skillbelt.errors import IntegrityError, LimitError, SourceError
from skillbelt.limits import MIB, check_bytes
from skillbelt.packages.cache_database import Database, UnavailableError
from skillbelt.packages.cache_flights import Flights
from skillbelt.packages.cache_folder import private_folder
from skillbelt.packages.forks import survive_forks
from skillbelt.packages.ids import PackageId

__all__ = ["CacheStatistics", "RegistryCache", "default_cache_folder"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatistics:
    """What a cache did, and what it holds (S2-35).

    The counts are those of one :class:`RegistryCache` object; what is held is that of the folder, whoever put it there.

    Attributes:
        hits: Lookups of content and aliases that were answered.
        misses: Lookups that were not: absent, stale or corrupt.
        evictions: Packages dropped to make room.
        corrupt: Packages, aliases and whole files that were not what they should be, and were dropped or set aside.
        unstored: What could not be kept, for want of room, permission or a lock.
        entries: Packages held.
        bytes: Bytes of their content.
    """

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    corrupt: int = 0
    unstored: int = 0
    entries: int = 0
    bytes: int = 0


class RegistryCache:
    """Fetched packages; may be shared by threads and processes, and survives a fork (S2-36).

    Args:
        folder: Where to keep them, made private when it is made; ``None`` keeps them in memory. See
            :func:`default_cache_folder` for the usual place.
        max_bytes: Bytes of content kept in all (S2-34). What is larger by itself is not kept.
        alias_ttl: Seconds for which an alias is used (S2-32).
        clock: Tells the time for ``alias_ttl``. When it goes backwards, aliases from the future are stale.
        patience: Seconds a :meth:`fill` waits for somebody else's download of the same package before it makes its own.

    Raises:
        LimitError: A number is not usable.
        SourceError: The folder is a file, or everybody may write to it.
        MissingExtraError: A folder is given and the package ``filelock`` is not installed.

    Example:
        >>> from skillbelt.packages.canonical import id_of
        >>> cache = RegistryCache()
        >>> cache.fill(id_of(b"{}"), lambda: b"{}")
        b'{}'
        >>> cache.get(id_of(b"{}")), cache.statistics().hits
        (b'{}', 1)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        max_bytes: int = 256 * MIB,
        alias_ttl: float = 300.0,
        clock: Callable[[], float] = time.time,
        patience: float = 20.0,
    ) -> None:
        self._max_bytes = check_bytes("max_bytes", max_bytes)
        self._alias_ttl = _seconds("alias_ttl", alias_ttl)
        self._clock = clock
        path = None if folder is None else private_folder(folder)
        self.folder: Path | None = path
        self._flights = Flights(None if path is None else path / "locks", _seconds("patience", patience))
        self._database = Database(path)
        self._counts = dict.fromkeys(("hits", "misses", "evictions", "corrupt", "unstored"), 0)
        self._counting = threading.Lock()
        survive_forks(self)

    # --- content ------------------------------------------------------------------------------------------------------

    def get(self, package: PackageId) -> bytes | None:
        """Return the canonical bytes of a package, ``None`` when they are not kept (any more).

        Args:
            package: Which.
        """
        return self._counted(self._look(package))

    def put(self, package: PackageId, canonical: bytes) -> None:
        """Keep a package.

        Args:
            package: Which.
            canonical: Its canonical bytes.

        Raises:
            IntegrityError: The bytes are those of another package; nothing was kept.
        """
        _verify(package, canonical)
        self._store(package, canonical)

    def fill(self, package: PackageId, fetch: Callable[[], bytes]) -> bytes:
        """Return a package, fetching it when it is not kept: once, however many threads and processes want it.

        Those who come while it is fetched wait, and take what came of it; when nothing came, each makes its own
        attempt, one after the other, so that everybody gets the error of a request of their own.

        Args:
            package: Which.
            fetch: Gets its canonical bytes from where it is. What it raises passes through.

        Raises:
            IntegrityError: What was fetched is another package; nothing was kept, and fetching again is up to the
                caller (S2-33).
        """
        found = self._look(package)
        if found is None:
            with self._flights.of(package.sha1):
                found = self._look(package)  # who was here before us may have put it there
                if found is None:
                    self._count("misses")
                    canonical = fetch()
                    _verify(package, canonical)
                    self._store(package, canonical)
                    return canonical
        self._count("hits")
        return found

    # --- aliases ------------------------------------------------------------------------------------------------------

    def alias(self, key: str) -> str | None:
        """Return what an alias stands for, ``None`` when that is not known or was learned too long ago.

        Args:
            key: As it was put.
        """
        found = self._did(lambda: self._database.alias(key))
        if found is None:
            return self._counted(None)
        value, learned = found
        # An age below 0 means that the clock was set back: how old it is, nobody knows.
        return self._counted(value if 0 <= self._clock() - learned < self._alias_ttl else None)

    def put_alias(self, key: str, value: str) -> None:
        """Keep what an alias stands for, from now on.

        Args:
            key: Names the alias, with the registry it is of.
            value: Any text.
        """
        self._did(lambda: self._database.put_alias(key, value, self._clock()), stores=True)

    # --- the whole ----------------------------------------------------------------------------------------------------

    def statistics(self) -> CacheStatistics:
        """Return what was done so far and what is held now."""
        entries, size = self._did(self._database.size) or (0, 0)
        with self._counting:
            counts = {**self._counts, "corrupt": self._counts["corrupt"] + self._database.damages}
            return CacheStatistics(**counts, entries=entries, bytes=size)

    def clear(self) -> None:
        """Forget all content and all aliases, as far as the folder can be written to; the counts stay."""
        self._did(self._database.clear)

    def close(self) -> None:
        """Let go of the file. A cache that is used after it opens the file again; one in memory is emptied."""
        self._database.close()

    def __enter__(self) -> RegistryCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RegistryCache({'' if self.folder is None else repr(str(self.folder))})"

    # --- parts --------------------------------------------------------------------------------------------------------

    def _look(self, package: PackageId) -> bytes | None:
        """Return what is kept under an id if it is that; what is not is dropped."""
        data = self._did(lambda: self._database.read(str(package)))
        if data is None or _is(package, data):
            return data
        self._count("corrupt")
        self._did(lambda: self._database.drop(str(package)))
        return None

    def _store(self, package: PackageId, canonical: bytes) -> None:
        if len(canonical) > self._max_bytes:
            self._count("unstored")
            return
        evicted = self._did(lambda: self._database.write(str(package), canonical, self._max_bytes), stores=True)
        self._count("evictions", evicted or 0)

    def _did(self, operation: Callable[[], _T], *, stores: bool = False) -> _T | None:
        """Return what an operation on the database gives; ``None`` when there is no database to be had."""
        try:
            return operation()
        except UnavailableError:
            self._count("unstored", int(stores))
            return None

    def _counted(self, found: _T | None) -> _T | None:
        self._count("misses" if found is None else "hits")
        return found

    def _count(self, what: str, number: int = 1) -> None:
        with self._counting:
            self._counts[what] += number

    def after_fork_in_child(self) -> None:
        """Forget a lock that another thread of the parent may have held."""
        self._counting = threading.Lock()


def default_cache_folder() -> Path:
    """Return where the packages of this user are kept: ``skillbelt/packages`` in ``$XDG_CACHE_HOME``, or ``~/.cache``.

    The folder is made, for its owner only, when a :class:`RegistryCache` is given it. It may be removed at any time.

    Raises:
        SourceError: The user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        raise SourceError("There is no home folder to keep packages in; set XDG_CACHE_HOME.") from None
    return root / "skillbelt" / "packages"


def _is(package: PackageId, canonical: object) -> bool:
    # A name, not a proof: who must trust content pins its sha256 (conflict C18).
    return isinstance(canonical, bytes) and hashlib.sha1(canonical, usedforsecurity=False).hexdigest() == package.sha1


def _verify(package: PackageId, canonical: bytes) -> None:
    if not _is(package, canonical):
        raise IntegrityError(
            f"The content is not that of {package}; nothing was kept. Fetch it again, or ask who runs the registry.",
            details={"id": str(package)},
        )


def _seconds(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise LimitError(f"{name} must be a number of seconds from 0 up, not {value!r}.")
    return float(value)
