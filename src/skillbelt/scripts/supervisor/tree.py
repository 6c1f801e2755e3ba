"""The processes of a run: who they are, and how the last of them is ended."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import posix
import time

SIGKILL = 9
QUIET = 10.0  # seconds after which what cannot be killed is reported instead of waited for


def slurp(path: str) -> bytes:
    """Return the beginning of a small file, ``b""`` when it cannot be read."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return posix.read(fd, 1 << 16)
    except OSError:
        return b""
    finally:
        posix.close(fd)


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    try:
        threads = posix.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(one) for thread in threads for one in slurp(f"/proc/{pid}/task/{thread}/children").split()]


def parent(pid: int) -> int:
    """Return the parent of a process, 0 when there is no such process."""
    found = slurp(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(found[1]) if len(found) > 1 else 0


def descendants() -> list[int]:
    """Return every process below this one, parents first."""
    if CHILDREN:
        found = children(posix.getpid())
        for pid in found:
            found += children(pid)
        return found
    above: dict[int, list[int]] = {}
    for name in posix.listdir("/proc"):
        if name.isdigit():
            above.setdefault(parent(int(name)), []).append(int(name))
    found = above.get(posix.getpid(), [])[:]
    for pid in found:
        found += above.get(pid, [])
    return found


CHILDREN = bool(posix.access(f"/proc/{posix.getpid()}/task/{posix.getpid()}/children", posix.R_OK))


def kill(pid: int, mine: set[int]) -> None:
    """Kill one process of the tree, and never one that took its number meanwhile."""
    try:
        above = parent(pid)
        if above == posix.getpid():
            posix.kill(pid, SIGKILL)  # a child that is not reaped keeps its number
            return
        fd = posix.pidfd_open(pid)
        try:
            if parent(pid) in mine:
                _signal.pidfd_send_signal(fd, SIGKILL)
        finally:
            posix.close(fd)
    except OSError:
        pass


def reap(main: int, ended: list[int]) -> bool:
    """Collect every child that has ended; gives whether there are others."""
    while True:
        try:
            pid, status = posix.waitpid(-1, posix.WNOHANG)
        except ChildProcessError:
            return False
        except InterruptedError:
            continue
        if pid == 0:
            return True
        if pid == main:
            ended.append(status)


def end_all(main: int, ended: list[int], uid: int | None) -> int:
    """Kill everything below this process until nothing is left; gives how many would not die."""
    deadline = time.monotonic() + QUIET
    pause = 0.001
    while reap(main, ended):
        if uid is not None:
            kill_user(uid)
        found = descendants()
        mine = {posix.getpid(), *found}
        for pid in found:
            kill(pid, mine)
        if time.monotonic() > deadline:
            return len(found)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    if uid is not None:
        kill_user(uid)
    return 0


def kill_user(uid: int) -> None:
    """Kill every process of a user that only this run has: the kernel does it in one go, faster than any fork."""
    pid = posix.fork()
    if pid == 0:
        try:
            posix.setgroups([])
            posix.setresgid(uid, uid, uid)
            posix.setresuid(uid, uid, uid)
            posix.kill(-1, SIGKILL)
        except OSError:
            pass
        posix._exit(0)
    posix.waitpid(pid, 0)
