"""SandboxRunner: a script behind a fence that was tried before it was trusted.

It sees its skill, its interpreter, the system's libraries and a working folder, and no network. Which fence it is, is
settled when the runner is made: the best one that holds on this machine. If none does, there is no runner; it never
steps down to less by itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from skillbelt.errors import ScriptError
from skillbelt.limits import MIB
from skillbelt.scripts.folders import Folder
from skillbelt.scripts.host import HostRunner, Place
from skillbelt.scripts.interpreters import Interpreters, Program
from skillbelt.scripts.limits import ScriptLimits
from skillbelt.scripts.local import count_processes
from skillbelt.scripts.protocol import Guarantee, ScriptRequest
from skillbelt.scripts.rungs import RUNGS, Rung, RungName, candidates, fence, own_uid
from skillbelt.scripts.selftest import tried

__all__ = ["SandboxRunner"]

_FENCED: frozenset[Guarantee] = frozenset(
    {"limits", "process_limit", "disk_watch", "tree_kill", "clean_env", "network", "fs_read", "fs_write", "processes"}
)


class SandboxRunner(HostRunner):
    """Runs scripts in a sandbox of this machine, made of what the machine has.

    Args:
        limits: Bounds of each run.
        interpreters: Which program runs which language; Python is the host's own by default.
        env: Variables for every script.
        pass_env: Names of the host's variables that every script may see.
        network: Which skills may reach the network, by name; ``True`` is all of them.
        cache: Folder for materialised skills and working folders; by default a private one among temporary files.
        rungs: Which fences may be used, best first.

    Raises:
        ScriptError: None of them holds here; the message says what is missing.

    Attributes:
        rung: The fence that was chosen.
    """

    def __init__(
        self,
        *,
        limits: ScriptLimits | None = None,
        interpreters: Interpreters | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Iterable[str] = (),
        network: bool | Collection[str] = False,
        cache: str | Path | None = None,
        rungs: Iterable[RungName] = RUNGS,
    ) -> None:
        wanted = tuple(rungs)
        unknown = [name for name in wanted if name not in RUNGS]
        if unknown or not wanted:
            raise ScriptError(f"rungs are {', '.join(RUNGS)}, not {', '.join(map(repr, unknown)) or 'none at all'}.")
        super().__init__(limits=limits, interpreters=interpreters, env=env, pass_env=pass_env, cache=cache)
        self._network = network
        self._users = _Users()
        self.rung = self._choose(wanted)

    @property
    def name(self) -> str:
        """The fence, in words."""
        return f"sandbox ({self.rung})"

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What it promises; ``disk`` only where the working folder is a file system of a fixed size."""
        return _FENCED | ({"disk"} if self.rung.exact_disk else frozenset())

    def _choose(self, wanted: tuple[RungName, ...]) -> Rung:
        """Return the first rung that holds; what the host's own limits allow must not decide that."""
        found, missing = candidates(wanted)
        mine = self.limits, self.interpreters, self._network, self._env
        self.limits, self.interpreters, self._network, self._env = _PROBE_LIMITS, Interpreters(), False, {}
        try:
            for rung in found:
                self.rung = rung
                wrong = tried(self.run, cache=self._cache.root)
                if wrong is None:
                    return rung
                missing.append(f"{rung}: {wrong}")
        finally:
            self.limits, self.interpreters, self._network, self._env = mine
        raise ScriptError(
            "There is no sandbox on this machine, so no script is run. What is missing: "
            + "; ".join(missing)
            + ". Install bubblewrap, use a kernel with Landlock, or give a runner of your own, such as a container."
        )

    def _tmpfs(self) -> bool:
        return self.rung.exact_disk

    def _processes(self) -> int | None:
        if self.rung.own_uid or self.rung.userns:
            return self.limits.processes  # counted for this run alone
        return self.limits.processes + count_processes()

    def _fence(
        self, request: ScriptRequest, program: Program, skill: Path, folder: Folder
    ) -> tuple[Place, tuple[str, ...], dict[str, Any]]:
        box = folder.path / "box"
        uid = own_uid(self._users.next()) if self.rung.own_uid else None
        if uid is not None and not self.rung.exact_disk:
            _hand_over(folder.path, box, uid)
        network = self._network if isinstance(self._network, bool) else request.skill in self._network
        made = fence(self.rung, skill=skill, work=box, roots=program.roots, network=network, uid=uid)
        return made.place, made.wrap, made.orders


_PROBE_LIMITS = replace(ScriptLimits(), timeout=20.0, processes=32, disk=32 * MIB, memory=512 * MIB)


class _Users:
    """Numbers that no other run of this machine has now: this process's, and one more for each run of it."""

    def __init__(self) -> None:
        self._count = count()
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            # Process ids end below 2**22; 64 runs of one process at a time have numbers of their own.
            return os.getpid() * 64 + next(self._count) % 64


def _hand_over(folder: Path, box: Path, uid: int) -> None:
    """Give the box to the run's own user, who must be able to reach it."""
    folder.chmod(0o711)
    folder.parent.chmod(0o711)
    folder.parent.parent.chmod(0o711)
    (folder.parent.parent / "skills").chmod(0o711)
    for root, folders, files in os.walk(box):
        for name in (*folders, *files):
            os.chown(os.path.join(root, name), uid, uid, follow_symlinks=False)  # noqa: PTH118
