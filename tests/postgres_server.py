"""A real PostgreSQL for the length of a test: a cluster of its own in a scratch folder, on a port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def binary(name: str) -> str | None:
    """A program of PostgreSQL: on the PATH, or where Debian puts it."""
    found = shutil.which(name)
    return found or next((str(path) for path in Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), None)


def available() -> bool:
    """Whether a server can be started here."""
    return bool(binary("initdb") and binary("pg_ctl"))


def _as_nobody(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid():
        return command
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        _as_nobody([*command]),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(cwd)},
    )
    assert done.returncode == 0, f"{command[0]} failed: {done.stdout}{done.stderr}"


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Start a server below a folder and give the URL of its database."""
    folder.mkdir()
    if not os.geteuid():
        os.chown(folder, NOBODY, NOBODY)
        for parent in folder.parents:  # pytest's folders are for their owner only
            if parent.stat().st_uid == 0 and str(parent) not in ("/", "/tmp"):
                parent.chmod(parent.stat().st_mode | 0o011)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, log = folder / "data", folder / "log"
    _run(str(binary("initdb")), "-D", str(data), "-U", "test", "--auth=trust", "-E", "UTF8", "--no-sync", cwd=folder)
    options = f"-p {port} -h 127.0.0.1 -k {folder} -F"
    _run(str(binary("pg_ctl")), "-D", str(data), "-l", str(log), "-w", "-o", options, "start", cwd=folder)
    try:
        yield f"postgresql://test@127.0.0.1:{port}/postgres?sslmode=disable"
    finally:
        _run(str(binary("pg_ctl")), "-D", str(data), "-m", "immediate", "-w", "stop", cwd=folder)
