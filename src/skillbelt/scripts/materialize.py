"""The whole skill as a folder on disk, whatever source it came from: made once, shared by all runs of those bytes.

A folder is found by the digest of its files, made under another name and moved into place whole, and looked through
before every use: what a run of a runner without a sandbox, a cleaner of temporary files or a full disk changed is made
anew. Scripts find it read-only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillbelt.errors import ScriptError
from skillbelt.limits import MIB
from skillbelt.scripts.content import SkillFiles
from skillbelt.scripts.folders import default_root, new_folder, private_root, remove_tree, retire, shared, write_files

__all__ = ["SkillCache"]

_TRIES = 5
_MADE = ".new-"


class SkillCache:
    """Folders of materialised skills, at most so many bytes of them; may be shared by threads and processes.

    Args:
        root: Where; made private when it is not there.
        max_bytes: Least recently used folders are removed above this.

    Raises:
        ScriptError: The folder cannot be made, or belongs to someone else.
    """

    def __init__(self, root: str | Path | None = None, *, max_bytes: int = 512 * MIB) -> None:
        self.root = private_root(default_root() if root is None else Path(os.path.abspath(root)))
        self._skills = self.root / "skills"
        self._bound = max_bytes

    @contextmanager
    def folder(self, skill_files: SkillFiles) -> Iterator[Path]:
        """Give the folder that holds exactly these files; nobody removes it meanwhile.

        Args:
            skill_files: The skill's files.

        Raises:
            ScriptError: It cannot be written.
        """
        path = self._skills / skill_files.digest
        for _ in range(_TRIES):
            with shared(path) as there:
                if there and _holds(path, skill_files):
                    with suppress(OSError):
                        os.utime(path)
                    yield path / "skill"
                    return
            if there and not retire(path):
                # Damaged, and another run uses it now: that run goes on with what it has, this one makes its own.
                path = self._skills / f"{skill_files.digest}-{os.getpid()}"
                continue
            self._make(path, skill_files)
        raise ScriptError("The folder of the skill is changed faster than it can be written; look who writes there.")

    def _make(self, path: Path, skill_files: SkillFiles) -> None:
        folder = new_folder(self._skills, _MADE)
        try:
            inside = folder.path / "skill"
            inside.mkdir(mode=0o755)
            write_files(inside, skill_files.files, mode=0o444)
            _seal(inside, skill_files)
            folder.path.chmod(0o755)
            with suppress(OSError):  # another process was faster, and its folder holds the same bytes
                folder.path.rename(path)
        finally:
            if folder.path.exists():
                remove_tree(folder.path)
            folder.release()
        self._prune(path)

    def _prune(self, keep: Path) -> None:
        """Remove least recently used folders above the bound, and what was left half made by processes that died."""
        found = []
        with suppress(OSError), os.scandir(self._skills) as entries:
            for entry in entries:
                with suppress(OSError):
                    found.append((entry.stat(follow_symlinks=False).st_mtime, Path(entry.path)))
        total = 0
        for _, path in sorted(found, reverse=True):
            if path.name.startswith("."):
                _remove_unused(path)
                continue
            total += _size(path)
            if total > self._bound and path != keep:
                retire(path)


def _remove_unused(path: Path) -> None:
    from skillbelt.scripts.folders import _sweep

    with suppress(OSError):
        _sweep(path, path.lstat())


def _seal(folder: Path, skill_files: SkillFiles) -> None:
    for path in skill_files.executable & skill_files.files.keys():
        folder.joinpath(*path.split("/")).chmod(0o555)
    for root, _, _ in os.walk(folder, topdown=False):
        Path(root).chmod(0o555)


def _holds(path: Path, skill_files: SkillFiles) -> bool:
    """Whether a folder holds these files, byte for byte, and nothing else."""
    inside = path / "skill"
    seen = 0
    try:
        for root, folders, files in os.walk(inside, onerror=_raise):
            if any(Path(root, name).is_symlink() for name in folders):
                return False
            for name in files:
                file = Path(root, name)
                wanted = skill_files.files.get(file.relative_to(inside).as_posix())
                if wanted is None or not _is(file, wanted):
                    return False
                seen += 1
    except OSError:
        return False
    return seen == len(skill_files.files)


def _is(file: Path, wanted: bytes) -> bool:
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb", buffering=0) as opened:  # noqa: PTH123 - a descriptor
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size != len(wanted) or info.st_mode & 0o222:
            return False
        return opened.readall() == wanted


def _raise(error: OSError) -> None:
    raise error


def _size(path: Path) -> int:
    total = 0
    for root, _, files in os.walk(path):
        for name in files:
            with suppress(OSError):
                total += os.lstat(Path(root, name)).st_size
    return total
