"""What attacks are let loose on: files, sockets and a process of the host, and a look at them afterwards."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import secrets
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from skillbelt.models import ScriptResult
from skillbelt.testing.runners.attacks.base import Attack
from skillbelt.testing.runners.hooks import holds, script

__all__ = ["Stage"]

CANARY = "CANARY-7c41: nobody but the host may read this.\n"
_SYSTEM_CALLS = {
    "x86_64": {"clone": 56, "bpf": 321, "perf": 298, "add_key": 248, "userfaultfd": 323},
    "aarch64": {"clone": 220, "bpf": 280, "perf": 241, "add_key": 217, "userfaultfd": 282},
}


class Stage:
    """A host in small: make it, run one attack, and ask what came of it."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Stage:
        try:
            self._set_up()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._stack.close()

    def _set_up(self) -> None:
        enter = self._stack.enter_context
        # Everybody may come in: what keeps an attack out must be the runner, not a mode of a folder.
        self.root = Path(enter(tempfile.TemporaryDirectory(prefix="stage-")))
        self.tag = f"skillbelt-attack-{secrets.token_hex(8)}"
        self.secret = self.root / "outside" / "secret"
        for path, text in {
            "outside/secret": CANARY,
            "home/.ssh/id_rsa": CANARY,
            "home/.bashrc": "honest\n",
            "skills/other/SKILL.md": CANARY,
        }.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        for root, _, files in os.walk(self.root):
            Path(root).chmod(0o777)
            for name in files:
                Path(root, name).chmod(0o666)
        self._before = self._files()
        self.tcp = enter(closing(socket.create_server(("127.0.0.1", 0))))
        self.port = self.tcp.getsockname()[1]
        self.udp = enter(
            closing(socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET, socket.SOCK_DGRAM))
        )
        if self.udp.family == socket.AF_INET6:
            self.udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.udp.bind(("", 0))
        self.unix = enter(closing(socket.socket(socket.AF_UNIX)))
        self.abstract = enter(closing(socket.socket(socket.AF_UNIX)))
        self.datagrams = enter(closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)))
        self.unix.bind(str(self.root / "s"))
        self.abstract.bind(f"\0{self.tag}")
        self.datagrams.bind(str(self.root / "d"))
        for one in (self.root / "s", self.root / "d"):
            one.chmod(0o777)
        for listening in (self.tcp, self.unix, self.abstract):
            listening.listen()
        for one_socket in (self.tcp, self.udp, self.unix, self.abstract, self.datagrams):
            one_socket.setblocking(False)
        environment = {"VICTIM": CANARY.strip(), "PATH": "/usr/bin:/bin"}
        self.victim = subprocess.Popen(["/bin/sleep", "300"], env=environment, cwd=self.root / "outside")
        self._stack.callback(self._end_victim)
        # What a runner loses comes to this process instead of vanishing into the system's first one.
        _adopt(orphans=True)
        self._stack.callback(_adopt, orphans=False)
        self._processes = _descendants(os.getpid())

    def _end_victim(self) -> None:
        self.victim.kill()
        self.victim.wait()

    def places(self) -> dict[str, Any]:
        """Return what attacks are told of the stage."""
        calls = _SYSTEM_CALLS.get(platform.machine(), dict.fromkeys(_SYSTEM_CALLS["x86_64"], 9999))
        return {
            "tcp": self.port,
            "udp": self.udp.getsockname()[1],
            "unix": self.root / "s",
            "datagrams": self.root / "d",
            "abstract": self.tag,
            "home": self.root / "home",
            "outside": self.root / "outside",
            "secret": self.secret,
            "other": self.root / "skills" / "other",
            "victim": self.victim.pid,
            "host": os.getpid(),
            "tag": self.tag,
            "shadow": self.root / "outside" / "shadow",
            "late": self.root / "outside" / "late",
            "disk": os.makedev(254, 0) if not os.path.exists("/dev/vda") else os.stat("/dev/vda").st_rdev,  # noqa: PTH110
            "dropped": int(os.geteuid() != 0),
            **calls,
        }

    def request(self, attack: Attack) -> dict[str, Any]:
        """Return an attack as the files of a skill and what is handed in with it."""
        places = self.places()

        def fill(text: str) -> str:
            return re.sub(r"%\((\w+)\)[sd]", lambda match: str(places[match[1]]), text)

        files = {path: fill(text) for path, text in attack.files.items()}
        given = {path: fill(data.decode()).encode() for path, data in attack.given.items()}
        return {"files": script(fill(attack.code), **files), "given": given}

    # --- afterwards -----------------------------------------------------------------------------------------------

    def judge(self, attack: Attack, result: ScriptResult, took: float) -> None:
        """Fail when an attack got anything, whatever it says.

        Args:
            attack: What was run.
            result: What came of it.
            took: Seconds it took.
        """
        said = f"{result.stdout}\n{result.stderr}"
        what = f"The attack {attack.name!r}"
        holds("PWNED" not in result.stdout, f"{what} succeeded: {said[:500]!r}.")
        holds(not attack.ends or result.reason in attack.ends, f"{what} ended with {result.reason!r}: {said[:300]!r}.")
        holds(took < attack.timeout + 8, f"{what} took {took:.1f} seconds; it was given {attack.timeout}.")
        held = b"".join(result.contents.values()) + repr(result).encode()
        holds(b"CANARY" not in held, f"{what} carried a secret out.")
        if port := re.search(r"LISTENING (\d+)", said):
            with closing(socket.socket()) as caller:
                holds(caller.connect_ex(("127.0.0.1", int(port[1]))) != 0, f"{what} can be reached.")
        self._untouched(what)
        self._nothing_left(what)
        if attack.wait:
            time.sleep(attack.wait)
            self._untouched(f"{what}, afterwards,")

    def _untouched(self, what: str) -> None:
        holds(self.victim.poll() is None, f"{what} killed a process of the host.")
        heard = [name for name in ("tcp", "unix", "abstract") if _accepts(getattr(self, name))]
        heard += [name for name in ("udp", "datagrams") if _receives(getattr(self, name))]
        holds(not heard, f"{what} reached the host by {heard}.")
        holds(self._files() == self._before, f"{what} changed files of the host.")
        for folder in ("/tmp", "/dev/shm"):  # noqa: S108
            holds(not os.path.exists(f"{folder}/{self.tag}"), f"{what} wrote into {folder} of the host.")  # noqa: PTH110

    def _nothing_left(self, what: str) -> None:
        deadline = time.monotonic() + 3
        while True:
            left = {pid for pid in _descendants(os.getpid()) - self._processes if not _adopted_and_dead(pid)}
            if not left:
                break
            holds(time.monotonic() < deadline, f"{what} left processes: {sorted(left)}.")
            time.sleep(0.05)

    def _files(self) -> dict[str, tuple[Any, ...]]:
        found = {}
        for root, folders, files in os.walk(self.root):
            for name in (*folders, *files):
                path = os.path.join(root, name)  # noqa: PTH118
                info = os.lstat(path)
                content = Path(path).read_bytes() if name in files and os.path.isfile(path) else b""  # noqa: PTH113
                attributes = os.listxattr(path) if hasattr(os, "listxattr") else []
                if name not in ("s", "d"):
                    found[path] = (info.st_mode, info.st_size, int(info.st_mtime), content, tuple(attributes))
        return found


def _adopt(*, orphans: bool) -> None:
    """Make orphans below this process its children, or the system's again; nothing where that cannot be asked for."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(36, int(orphans), 0, 0, 0)


def _adopted_and_dead(pid: int) -> bool:
    """Whether a process is dead and waits for this one, its parent since its own died; then it is buried."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        words = file.read().rpartition(b")")[2].split()
        if words[0] == b"Z" and int(words[1]) == os.getpid():
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            return True
    return False


def _accepts(listening: socket.socket) -> bool:
    with suppress(BlockingIOError):
        listening.accept()[0].close()
        return True
    return False


def _receives(taking: socket.socket) -> bool:
    with suppress(BlockingIOError):
        taking.recv(1)
        return True
    return False


def _descendants(pid: int) -> set[int]:
    """Return the processes below one, also those that left its group; where there is no /proc, none are seen."""
    above: dict[int, set[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit():
                with suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    above.setdefault(int(file.read().rpartition(b")")[2].split()[1]), set()).add(int(name))
    found: set[int] = set()
    todo = [pid]
    while todo:
        below = above.get(todo.pop(), set()) - found
        found |= below
        todo += below
    return found
