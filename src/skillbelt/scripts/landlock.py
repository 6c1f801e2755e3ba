"""What Landlock, the kernel's own fence for a process that fences itself, is told to let through.

Landlock needs no privilege and no package. It judges opening, making and removing files, TCP, abstract sockets and
signals; it does not judge modes, times and the existence of files, UDP or sockets in the file system, which is why it
never stands alone here (see :mod:`~skillbelt.scripts.seccomp`).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["NEEDED", "landlock_orders", "landlock_version"]

NEEDED = 6
"""The first version that keeps a process from sending signals to others (Linux 6.12)."""

_CREATE_RULESET = 444

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ALL = (1 << 16) - 1
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPED = 0b11

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WORK = _ALL & ~(_MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _IOCTL_DEV)
_DEVICE = _READ_FILE | _WRITE_FILE
_OF_A_FILE = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has, 0 when it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    library = ctypes.CDLL(None, use_errno=True)
    return max(0, int(library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def landlock_orders(
    *, read: Iterable[str], write: Iterable[str], devices: Iterable[str], network: bool
) -> dict[str, Any]:
    """Return what the supervisor needs to make a ruleset.

    Args:
        read: Files and folders that may be read and run.
        write: Folders in which everything may be done, but no devices or sockets made.
        devices: Devices that may be read and written.
        network: Let TCP through.
    """
    paths = [(os.fspath(path), rights) for paths, rights in _rights(read, write, devices) for path in paths]
    return {
        "fs": _ALL,
        "net": 0 if network else _BIND_TCP | _CONNECT_TCP,
        "scoped": _SCOPED,
        "file": _OF_A_FILE,
        "paths": paths,
    }


def _rights(read: Iterable[str], write: Iterable[str], devices: Iterable[str]) -> tuple[tuple[Iterable[str], int], ...]:
    return (read, _READ), (write, _WORK), (devices, _DEVICE)
