"""The files of a cache's database: one that is used, and at most one that was damaged.

A damaged file is never replaced under its name, for another process may have it open, and SQLite finds journals by
name: the next file has the next number, and the one with the highest number is the one that is used.

::

    packages-v1.0.sqlite.damaged     set aside, for who wants to look at it
    packages-v1.1.sqlite             used
    locks/                           of downloads, and of this
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from skillbelt.packages.cache_flights import file_lock, held

__all__ = ["Files"]

_WAIT = 10.0


class Files:
    """The files in a folder.

    Args:
        folder: Which.
        stem: What their names begin with.

    Raises:
        MissingExtraError: The package ``filelock`` is not installed.
    """

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        self._name = re.compile(rf"{re.escape(stem)}\.(\d{{1,9}})\.sqlite")
        self._lock = file_lock(folder / "locks" / "set-aside.lock")

    def current(self) -> tuple[int, Path]:
        """Return the number and the path of the file that is used, which is made when there is none.

        Raises:
            OSError: It cannot be made.
        """
        numbers = self._numbers()
        number = max(numbers, default=0)
        if not numbers:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make(number)
        return number, self._path(number)

    def replace(self, number: int, *, keep: bool = True) -> bool:
        """Put a file aside and begin another, unless another process has done so.

        Args:
            number: Of the file.
            keep: Whether it was damaged, and somebody may want to look at it.

        Returns:
            Whether it was done here.
        """
        with held(self._lock, _WAIT) as had:
            if not had or max(self._numbers(), default=-1) != number:
                return False
            with suppress(OSError):  # read-only: it stays as it is, and is of no use
                self._make(number + 1)  # first, so that there is always one
                for each in self._folder.glob(f"{self._stem}.*.damaged"):
                    each.unlink()
                old = self._path(number)
                if keep:
                    old.rename(old.with_name(f"{old.name}.damaged"))
                else:
                    old.unlink()
                old.with_name(f"{old.name}-journal").unlink(missing_ok=True)
                return True
            return False

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._stem}.{number}.sqlite"

    def _make(self, number: int) -> None:
        with suppress(FileExistsError):
            os.close(os.open(self._path(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def _numbers(self) -> list[int]:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._folder) as found:
            return [int(match[1]) for each in found if (match := self._name.fullmatch(each.name))]
        return []
