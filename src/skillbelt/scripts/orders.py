"""What a supervisor is given: its own code, compiled, and the limits of the script it starts."""

from __future__ import annotations

import os
import resource
import tempfile
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import IO

from skillbelt.scripts.limits import ScriptLimits

__all__ = ["BOOT", "nameless", "rlimits", "supervisor"]

_SUPERVISOR = "skillbelt.scripts.supervisor"
BOOT = """
import marshal, posix, sys
fd, data = int(sys.argv[1]), []
while not data or data[-1]: data.append(posix.read(fd, 1 << 20))
posix.close(fd)
modules, orders = marshal.loads(b"".join(data))
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    if code is not None: exec(code, module.__dict__)
module.main(orders)
"""
"""Compiling the supervisor would take each run longer than starting an interpreter: it comes compiled."""


@lru_cache(maxsize=1)
def supervisor() -> tuple[tuple[str, CodeType | None], ...]:
    """Return the modules of the supervisor, compiled, each after those it needs; packages are empty."""
    packages = ("skillbelt", "skillbelt.scripts", _SUPERVISOR)
    folder = Path(__file__).with_name("supervisor")
    modules = []
    for name in ("libc", "tree", "files", "mounts", "start", "watching", "main"):
        path = folder / f"{name}.py"
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True, optimize=2)
        modules.append((f"{_SUPERVISOR}.{name}", code))
    return (*((name, None) for name in packages), *modules)


def nameless() -> IO[bytes]:
    """Return a file without a name, in memory where there are such files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("skillbelt"), "w+b", buffering=0)  # noqa: PTH123 - the caller closes it
    return tempfile.TemporaryFile(buffering=0)


def rlimits(limits: ScriptLimits, processes: int | None) -> list[tuple[str, int, int]]:
    """Return the limits of each process of a run, by name, soft and hard.

    Args:
        limits: The bounds of the run.
        processes: How many processes the user may have; ``None`` where the kernel does not count.
    """
    cpu = max(1, -int(-limits.cpu // 1))
    found = [
        ("RLIMIT_CPU", cpu, cpu + 1),
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_FSIZE", limits.file_size, limits.file_size),
        ("RLIMIT_NOFILE", limits.open_files, limits.open_files),
        ("RLIMIT_DATA", limits.memory, limits.memory),
        # Address space that is only reserved is no memory; what is shared with nobody but its children is.
        ("RLIMIT_AS", 4 * limits.memory, 4 * limits.memory),
        ("RLIMIT_MEMLOCK", 0, 0),
    ]
    if processes is not None:
        found.append(("RLIMIT_NPROC", processes, processes))
    return [one for one in found if hasattr(resource, one[0])]
