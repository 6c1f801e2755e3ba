"""A mark that every process of a run carries, by which those that outlived their supervisor are found."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

__all__ = ["MARK", "sweep_processes"]

MARK = "SKILLBELT_RUN"
"""A variable in every process of a run, by which those that outlived their supervisor are found."""


def sweep_processes(mark: str) -> int:
    """Kill every process that carries a run's mark; gives how many there were.

    Args:
        mark: Value of the variable.
    """
    wanted = f"{MARK}={mark}".encode()
    killed = 0
    for _ in range(50):
        found = [pid for pid in _processes() if mark and wanted in _environment(pid).split(b"\0")]
        if not found:
            break
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.005)
    return killed


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names only
    except OSError:
        return []


def _environment(pid: int) -> bytes:
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - read as it is
        return file.read(1 << 20)
    return b""
