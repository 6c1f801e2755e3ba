"""A working folder that lives as long as a conversation: what one run leaves there, the next one finds.

Without one, each run gets a fresh folder that is gone when the run is.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from skillbelt.errors import ScriptError
from skillbelt.models import ResourceInfo
from skillbelt.scripts.artifacts import collect
from skillbelt.scripts.folders import Folder, default_root, new_folder, private_root, sweep, write_files
from skillbelt.scripts.limits import ScriptLimits

__all__ = ["Workspace"]


class Workspace:
    """A working folder for several runs, one at a time; removed on :meth:`close`, or when nothing refers to it.

    Args:
        files: Files to start with, by path.
        cache: Folder below which it is made; by default that of the runners.

    Raises:
        ScriptError: It cannot be made.

    Example:
        >>> with Workspace({"in.csv": b"a,b"}) as workspace:
        ...     [info.path for info in workspace.files()]
        ['in.csv']
    """

    def __init__(self, files: Mapping[str, bytes] | None = None, *, cache: str | Path | None = None) -> None:
        runs = private_root(default_root() if cache is None else Path(cache)) / "runs"
        sweep(runs)
        self._folder = new_folder(runs, "w-")
        self._closed = weakref.finalize(self, Folder.remove, self._folder)
        self.path = self._folder.path / "work"
        self.path.mkdir(mode=0o700)
        self.lock = threading.Lock()
        if files:
            self.put(files)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Hand files in; one that is there already is replaced.

        Args:
            files: Bytes by path.

        Raises:
            ScriptError: The workspace is closed, or a file cannot be written.
        """
        self.check()
        replace_files(self.path, files)

    def files(self, limits: ScriptLimits | None = None) -> tuple[ResourceInfo, ...]:
        """Return the regular files that are there, sorted by path.

        Args:
            limits: Bounds of the listing.
        """
        return collect(self.path, limits or ScriptLimits(), contents=False)[0]

    def read(self, path: str) -> bytes:
        """Return one file.

        Args:
            path: As :meth:`files` gives it.

        Raises:
            ScriptError: There is no such file.
        """
        self.check()
        found = collect(self.path, ScriptLimits(artifacts=1 << 40, artifact_files=1 << 20), only=path)[1]
        if path not in found:
            raise ScriptError(f"The working folder has no file {path[:100]!r}.")
        return found[path]

    def check(self) -> None:
        """Raise unless the folder is still there.

        Raises:
            ScriptError: It is closed.
        """
        if not self._closed.alive:
            raise ScriptError("This workspace is closed; make a new one.")

    def close(self) -> None:
        """Remove the folder; a second call does nothing."""
        self._closed()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Workspace {'open' if self._closed.alive else 'closed'}>"


def replace_files(root: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a working folder; what a script left at such a path gives way.

    Raises:
        ScriptError: A file cannot be written.
    """
    from skillbelt.scripts.folders import remove_tree
    from skillbelt.sources.paths import split_path

    for path in files:
        where = root
        parts = split_path(path)
        for part in parts[:-1]:
            where /= part
            if where.is_symlink() or (where.exists() and not where.is_dir()):
                remove_tree(where)
        remove_tree(where / parts[-1])
    write_files(root, files, mode=0o600)
