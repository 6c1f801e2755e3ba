"""A bound on processes that holds for root as well: a control group, where this host may make one.

The kernel's per-user bound never applies to root, so without a group a script that forks without end under a host
that is root can only be chased. With one, the kernel counts.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

__all__ = ["Groups", "ProcessGroup", "own_groups", "process_group", "sweep_groups"]

_PREFIX = "skillbelt-"
_MOUNTS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")


class ProcessGroup:
    """A control group with at most so many processes.

    Attributes:
        path: Its folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, pid: int) -> None:
        """Put a process into the group; what it starts from now on is in it too.

        Args:
            pid: The process.
        """
        (self.path / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Remove the group; it is empty when its run is over."""
        with suppress(OSError):
            self.path.rmdir()


class Groups:
    """Groups for the runs of one runner; one that is idle is used again, for removing one takes the kernel a while.

    Args:
        most: How many processes and threads each may hold.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: list[ProcessGroup] = []
        self._end = weakref.finalize(self, _remove, self._idle)

    @contextmanager
    def group(self) -> Iterator[ProcessGroup | None]:
        """Give a group to one run, ``None`` when this host may not make one."""
        try:
            group: ProcessGroup | None = self._idle.pop()
        except IndexError:
            group = None
        if group is None or not group.path.exists():
            group = process_group(self._most)
        try:
            yield group
        finally:
            if group is not None:
                self._idle.append(group)


def _remove(groups: list[ProcessGroup]) -> None:
    for group in groups:
        group.remove()


def process_group(most: int) -> ProcessGroup | None:
    """Return a new group, ``None`` when this host may not make one.

    Args:
        most: How many processes and threads it may hold.
    """
    for parent in own_groups():
        path = parent / f"{_PREFIX}{os.getpid()}-{token_hex(6)}"  # the process that will remove it
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            (path / "pids.max").write_text(str(most))
            return ProcessGroup(path)
        except OSError:
            with suppress(OSError):
                path.rmdir()
    return None


def sweep_groups() -> None:
    """Remove the groups that their process, dead by now, did not remove itself."""
    for parent in own_groups():
        for path in sorted(parent.glob(f"{_PREFIX}*-*")):
            owner = path.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and not Path("/proc", owner).exists():
                ProcessGroup(path).remove()


def own_groups() -> list[Path]:
    """Return the folders of the groups that this process is in and that may count processes."""
    found = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if "pids" in controllers.split(","):
                found.append(Path(_MOUNTS[0], path.lstrip("/")))
            elif number == "0" and not controllers:
                found.append(Path(_MOUNTS[1], path.lstrip("/")))
    return [path for path in found if (path / "cgroup.procs").exists()]
