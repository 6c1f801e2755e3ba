"""The script is watched until it has ended, or must."""

from __future__ import annotations

import posix
import resource
import select
import time

from skillbelt.scripts.supervisor.files import usage
from skillbelt.scripts.supervisor.tree import descendants, reap, slurp

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would cost each run as much as its copying
    from typing import Any

TICK = 0.05
PAGE = resource.getpagesize()


def excess(orders: dict[str, Any]) -> str | None:
    """Return which bound the run as a whole has passed."""
    found = descendants()
    if len(found) > orders["processes"]:
        return "processes"
    pages = 0
    for pid in found:
        words = slurp(f"/proc/{pid}/statm").split()
        if len(words) > 2:
            pages += max(int(words[1]) - int(words[2]), 0)  # what is shared, such as libraries, counts for nobody
    if pages * PAGE > orders["memory"]:
        return "memory"
    if orders["watch"]:
        size, count = usage(orders["box"], orders["disk"], orders["entries"])
        if size > orders["disk"] or count > orders["entries"]:
            return "disk"
    return None


def join(group: str) -> None:
    """Wait until the host has put this process into its control group, which it does while the interpreter starts."""
    name = group.rpartition("/")[2].encode()
    deadline = time.monotonic() + 5.0
    while name and name not in slurp("/proc/self/cgroup"):
        if time.monotonic() > deadline:
            raise OSError("the control group of the run is not there")
        time.sleep(0.0002)


def hurry() -> None:
    """Come before everything that a script may start, where this process may say so; its children do not."""
    try:
        posix.sched_setscheduler(0, posix.SCHED_RR | posix.SCHED_RESET_ON_FORK, posix.sched_param(1))
    except (OSError, AttributeError):
        pass


def watch(main: int, control: int, orders: dict[str, Any], ended: list[int]) -> str:
    """Wait until the script has ended, or must; gives the reason."""
    deadline = time.monotonic() + orders["timeout"]
    poll = select.poll()
    poll.register(control, select.POLLIN)
    try:
        handle = posix.pidfd_open(main)
        poll.register(handle, select.POLLIN)
    except OSError:
        handle = -1
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            pause = min(left, TICK if handle >= 0 else 0.005)
            for fd, _ in poll.poll(max(1, int(pause * 1000))):
                if fd == control:
                    # A byte is an order to stop, its value says why; the end of the pipe is the end of the host.
                    said = posix.read(control, 1)
                    return {b"o": "output", b"c": "cancelled"}.get(said, "gone")
            reap(main, ended)
            if ended:
                return "exit"
            over = excess(orders)
            if over is not None:
                return over
    finally:
        if handle >= 0:
            posix.close(handle)
