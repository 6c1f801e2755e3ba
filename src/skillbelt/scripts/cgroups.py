"""A bound on processes that holds for root as well: a control group, where this host may make one.

The kernel's per-user bound never applies to root, so without a group a script that forks without end under a host
that is root can only be chased. With one, the kernel counts.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from secrets import token_hex

__all__ = ["ProcessGroup", "process_group"]

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


def process_group(most: int) -> ProcessGroup | None:
    """Return a new group, ``None`` when this host may not make one.

    Args:
        most: How many processes and threads it may hold.
    """
    for parent in own_groups():
        path = parent / f"{_PREFIX}{token_hex(6)}"
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            (path / "pids.max").write_text(str(most))
        except OSError:
            ProcessGroup(path).remove()
            continue
        return ProcessGroup(path)
    return None


def sweep_groups() -> None:
    """Remove the empty groups of runs that nobody ended; one that is in use cannot be removed."""
    for parent in own_groups():
        with suppress(OSError):
            for path in parent.glob(f"{_PREFIX}*"):
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
