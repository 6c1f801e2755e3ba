"""How much one run of a script may take, with names and defaults.

A model never chooses any of these: they belong to the runner, and the runner belongs to the host.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite

from skillbelt.errors import LimitError
from skillbelt.limits import KIB, MIB, check_bytes

__all__ = ["ScriptLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptLimits:
    """Bounds of one run.

    Attributes:
        timeout: Seconds of wall time.
        cpu: Seconds of processor time of each process, rounded up.
        memory: Bytes of one process, and of all processes of the run together.
        processes: Processes and threads of the run.
        open_files: Open files of each process.
        file_size: Bytes of one file that it writes.
        disk: Bytes of everything that it writes.
        entries: Files and folders that it makes.
        output: Bytes that are kept of each output stream.
        output_total: Bytes it may print in all before it is ended; what is not kept is read and dropped.
        stdin: Bytes of standard input.
        artifacts: Bytes of the files handed back.
        artifact_files: How many of them are handed back.

    Raises:
        LimitError: A value is not positive.

    Example:
        >>> ScriptLimits(timeout=5).output
        262144
    """

    timeout: float = 60.0
    cpu: float = 60.0
    memory: int = 1024 * MIB
    processes: int = 64
    open_files: int = 256
    file_size: int = 64 * MIB
    disk: int = 128 * MIB
    entries: int = 10_000
    output: int = 256 * KIB
    output_total: int = 64 * MIB
    stdin: int = 16 * MIB
    artifacts: int = 16 * MIB
    artifact_files: int = 256

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("timeout", "cpu"):
                if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
                    raise LimitError(f"{field.name} must be a number of seconds above 0, not {value!r}.")
            else:
                check_bytes(field.name, value)
