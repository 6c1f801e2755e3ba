"""A sandbox is tried before it is trusted: a script inside it attempts what must not be possible.

What the script reports is checked against what really happened on this side. A rung that lets one thing through, or
that lets an honest script fail, is not used.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from skillbelt.errors import ScriptError
from skillbelt.models import ScriptResult
from skillbelt.scripts.content import SkillFiles
from skillbelt.scripts.protocol import ScriptRequest

__all__ = ["tried"]

_PROBE = """
import json, os, pathlib, socket, sys
secret, outside, port, path, host = sys.argv[1:6]
found = {}
def attempt(name, what):
    try:
        what()
    except BaseException as error:
        found[name] = type(error).__name__
    else:
        found[name] = "DONE"
def leave():
    import ctypes
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != 0:
        raise PermissionError
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(b"x", ("127.0.0.1", int(port)))
def call():
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(path)
attempt("read a file of the host", lambda: open(secret).read())
attempt("write a file of the host", lambda: open(outside, "w").write("x"))
attempt("write into the skill", lambda: open(__file__, "a").write("x"))
attempt("send a signal to the host", lambda: os.kill(int(host), 0))
attempt("connect to the host", lambda: socket.create_connection(("127.0.0.1", int(port)), 1).close())
attempt("send a datagram", send)
attempt("connect to a socket file", call)
attempt("make a user namespace", leave)
status = {}
try:
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
except OSError:
    pass
found["privileges"] = status.get("NoNewPrivs", "1").strip() + status.get("CapEff", "0").strip().lstrip("0")
forks, pids = 0, []
try:
    for _ in range(80):
        pid = os.fork()
        if pid == 0:
            import time
            time.sleep(5)
            os._exit(0)
        pids.append(pid)
except OSError:
    found["start too many processes"] = "limit"
else:
    found["start too many processes"] = "DONE"
for pid in pids:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
pathlib.Path("left.txt").write_text("honest")
found["honest"] = pathlib.Path(__file__).parents[1].joinpath("SKILL.md").read_text()
print(json.dumps(found))
"""

_HONEST = "honest words"


def tried(run: Callable[[ScriptRequest], ScriptResult], *, cache: Path) -> str | None:
    """Return what is wrong with a sandbox, ``None`` when it holds.

    Args:
        run: Runs a script in it.
        cache: A private folder of the host, for files that must stay out of reach.
    """
    files = SkillFiles.of({"SKILL.md": _HONEST.encode(), "scripts/probe.py": _PROBE.encode()})
    with tempfile.TemporaryDirectory(dir=cache, prefix="probe-") as name, closing(socket.socket()) as tcp:
        folder = Path(name)
        (folder / "secret").write_text("secret of the host")
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        tcp.setblocking(False)
        with (
            closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as udp,
            closing(socket.socket(socket.AF_UNIX)) as unix,
        ):
            port = tcp.getsockname()[1]
            udp.bind(("127.0.0.1", port))
            udp.setblocking(False)
            _bind(unix, folder)
            unix.listen()
            args = (f"{folder}/secret", f"{folder}/outside", str(port), f"{folder}/s", str(os.getpid()))
            try:
                result = run(ScriptRequest("probe", "scripts/probe.py", files, args))
            except ScriptError as error:
                return str(error)
            return _judged(result) or _heard(tcp, udp) or _touched(folder)


def _bind(unix: socket.socket, folder: Path) -> None:
    """Bind a socket file, also where its path is longer than such a path may be."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        unix.bind(f"/proc/self/fd/{fd}/s")
    finally:
        os.close(fd)


def _judged(result: ScriptResult) -> str | None:
    try:
        found: dict[str, Any] = json.loads(result.stdout)
    except ValueError:
        return f"an honest script does not run in it: {(result.stderr or result.stdout).strip()[-300:]}"
    for name, what in found.items():
        if what == "DONE":
            return f"a script can {name}"
    if found.get("privileges") not in ("1", "10"):
        return "a script keeps privileges, or can gain some"
    if found.get("honest") != _HONEST or result.contents.get("left.txt") != b"honest":
        return "an honest script cannot read its skill or leave a file"
    return None


def _heard(tcp: socket.socket, udp: socket.socket) -> str | None:
    with suppress(BlockingIOError):
        tcp.accept()[0].close()
        return "a script can connect to the host"
    with suppress(BlockingIOError):
        udp.recv(1)
        return "a script can send a datagram to the host"
    return None


def _touched(folder: Path) -> str | None:
    if (folder / "outside").exists() or (folder / "secret").read_text() != "secret of the host":
        return "a script can write files of the host"
    return None
