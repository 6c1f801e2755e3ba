"""Folders of our own on the host's disk: private, locked while in use, swept when their owner is gone.

Everything a run needs lies below one root: ``skills/<digest>`` for materialised skills, ``runs/<id>`` for what one run
may write. A lock on a folder's own descriptor says that it is in use; the kernel drops it when the last process that
holds it dies, however it dies, so a later run can tell what was left behind and remove it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from skillbelt.errors import ScriptError
from skillbelt.sources.paths import shown, split_path

__all__ = [
    "Folder",
    "default_root",
    "new_folder",
    "private_root",
    "remove_tree",
    "sweep",
    "write_files",
]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GONE = ".gone-"
_BEGUN = 2.0
"""Seconds that a folder without a lock is left alone: its maker has it open in a moment."""


class Folder:
    """A folder that this process holds: locked until :meth:`release`, or until every holder is dead.

    Attributes:
        path: Where it is.
        fd: A descriptor of it that holds the lock.
    """

    __slots__ = ("fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    def release(self) -> None:
        """Give up the lock and leave the folder where it is."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def remove(self) -> None:
        """Remove the folder with everything in it, then give up the lock."""
        remove_tree(self.path)
        self.release()


def default_root() -> Path:
    """Return where materialised skills and runs live unless a host says otherwise."""
    return Path(tempfile.gettempdir()) / f"skillbelt-scripts-{os.geteuid()}"


def private_root(root: Path) -> Path:
    """Make the root and its two halves if need be, and make sure that nobody else can write there.

    Args:
        root: The folder; made with mode 0700.

    Raises:
        ScriptError: It cannot be made, is a link, or belongs to someone else.
    """
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = root.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise ScriptError(
                "The folder for scripts is a link or belongs to someone else; give one of your own with cache=…."
            )
        if info.st_mode & 0o077:
            root.chmod(0o700)
        for half in ("skills", "runs"):
            (root / half).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        if isinstance(error, ScriptError):
            raise
        raise ScriptError(
            f"The folder for scripts cannot be made: {error.strerror}; give another with cache=…."
        ) from error
    return root


def new_folder(parent: Path, prefix: str = "") -> Folder:
    """Make a folder and hold it.

    Args:
        parent: Where.
        prefix: How its name begins.

    Raises:
        ScriptError: The disk is full, or the parent is gone.
    """
    path = parent / f"{prefix}{token_hex(8)}"
    try:
        path.mkdir(mode=0o700)
        fd = os.open(path, _FOLDER)
    except OSError as error:
        raise ScriptError(f"A folder for the script cannot be made: {error.strerror}.") from error
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return Folder(path, fd)


@contextmanager
def shared(path: Path) -> Iterator[bool]:
    """Hold an existing folder together with others; gives whether it is there and stays there.

    Args:
        path: The folder.
    """
    try:
        fd = os.open(path, _FOLDER)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        with suppress(OSError):
            # It may have been renamed away between the opening and the lock.
            yield os.path.samestat(os.fstat(fd), path.lstat())
            return
        yield False
    finally:
        os.close(fd)


def sweep(parent: Path) -> int:
    """Remove the folders in ``parent`` that no living process holds.

    Args:
        parent: A folder of folders made by :func:`new_folder`.

    Returns:
        How many were removed.
    """
    removed = 0
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            with suppress(OSError):
                removed += _sweep(Path(entry.path), entry.stat(follow_symlinks=False))
    return removed


def _sweep(path: Path, info: os.stat_result) -> bool:
    if not stat.S_ISDIR(info.st_mode) or time.time() - info.st_ctime < _BEGUN:
        return False
    fd = os.open(path, _FOLDER)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(path)
    finally:
        os.close(fd)
    return True


def retire(path: Path) -> bool:
    """Remove a folder that others may share, unless one of them holds it now.

    Args:
        path: The folder.
    """
    try:
        fd = os.open(path, _FOLDER)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        gone = path.with_name(f"{_GONE}{token_hex(8)}")
        path.rename(gone)
    except OSError:
        return False
    finally:
        os.close(fd)
    remove_tree(gone)
    return True


# --- files ------------------------------------------------------------------------------------------------------------


def write_files(root: Path, files: Mapping[str, bytes], *, mode: int) -> None:
    """Write files below a folder that nothing else writes to.

    Args:
        root: The folder.
        files: Bytes by relative path; each path goes through the lexical gate.
        mode: Mode of the files.

    Raises:
        ScriptError: A path is a folder and a file at once, or the disk is full.
        ResourcePathError: A path may not be used.
    """
    made: set[Path] = set()
    for path, data in files.items():
        target = root.joinpath(*split_path(path))
        try:
            if target.parent not in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                made.add(target.parent)
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with open(fd, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
        except OSError as error:
            raise ScriptError(f"{shown(path)} cannot be put where the script needs it: {error.strerror}.") from error


def remove_tree(path: Path) -> None:
    """Remove a folder with everything in it, read-only folders and odd names included, following no link.

    A script may have made folders deeper than a path can be long, so this walks by descriptors.
    """
    try:
        parent = os.open(path.parent, _FOLDER)
    except OSError:
        return
    try:
        _remove(parent, os.fsencode(path.name))
    finally:
        os.close(parent)


def _remove(parent: int, name: bytes) -> None:
    """Remove one entry of a folder."""
    with suppress(OSError):
        os.rmdir(name, dir_fd=parent)  # most folders of a run are empty in the end
        return
    with suppress(OSError):
        os.unlink(name, dir_fd=parent)
        return
    fd = _opened(parent, name)
    if fd is None:
        return
    try:
        _empty(fd)
    finally:
        os.close(fd)
    with suppress(OSError):
        os.rmdir(name, dir_fd=parent)


def _opened(parent: int, name: bytes) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        pass
    except OSError:
        return None
    try:
        os.chmod(name, 0o700, dir_fd=parent)
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError:
        return None


def _empty(top: int) -> None:
    """Remove what is in a folder: what its folders hold is moved up first, one level a time.

    So a tree of any depth takes neither a stack nor more than two descriptors.
    """
    while True:
        names, removed = _names(top), 0
        for name, folder in names:
            removed += _gone(top, name, folder)
        if not names:
            return
        if not removed:
            return  # somebody else's files: nothing more can be done, and nothing may loop for ever


def _gone(top: int, name: bytes, folder: bool) -> bool:
    try:
        if not folder:
            os.unlink(name, dir_fd=top)
            return True
        os.rmdir(name, dir_fd=top)
    except OSError:
        return folder and _flattened(top, name)
    return True


def _flattened(top: int, name: bytes) -> bool:
    """Move what is in a folder up to ``top`` and remove it; gives whether that came to anything."""
    fd = _opened(top, name)
    if fd is None:
        return False
    try:
        with suppress(OSError):
            os.fchmod(fd, 0o700)
        for below, folder in _names(fd):
            try:
                if folder:
                    with suppress(OSError):
                        os.chmod(below, 0o700, dir_fd=fd)  # a folder is moved only by who may write it
                    os.rename(below, f".{token_hex(8)}", src_dir_fd=fd, dst_dir_fd=top)
                else:
                    os.unlink(below, dir_fd=fd)
            except OSError:
                continue
    finally:
        os.close(fd)
    try:
        os.rmdir(name, dir_fd=top)
    except OSError:
        return False
    return True


def _names(fd: int) -> list[tuple[bytes, bool]]:
    try:
        with os.scandir(fd) as entries:
            return [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []
