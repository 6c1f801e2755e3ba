"""A real PostgreSQL for the length of a test: a cluster of its own in a scratch folder, on a port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
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
def postgres() -> Iterator[str]:
    """Start a server in a folder of its own and give the URL of its database."""
    with tempfile.TemporaryDirectory(prefix="skillbelt-postgres-") as name:  # pytest's folders are for their owner only
        folder = Path(name)
        if not os.geteuid():
            os.chown(folder, NOBODY, NOBODY)
        with _started(folder) as url:
            yield url


@contextmanager
def _started(folder: Path) -> Iterator[str]:
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
