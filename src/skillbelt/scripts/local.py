"""LocalRunner: a script as a process of this machine, held to its limits and cleaned up after. Not a sandbox.

What it stops is accidents: a script that never ends, that prints without end, that leaves processes behind, that
needs no more of the environment than it is given. A script that means harm reads and writes whatever its user may.
Use it for skills you wrote; for those of others there is :class:`~skillbelt.scripts.SandboxRunner`.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from skillbelt.scripts.cgroups import Groups, ProcessGroup, sweep_groups
from skillbelt.scripts.folders import Folder
from skillbelt.scripts.host import HostRunner, Place
from skillbelt.scripts.interpreters import Program
from skillbelt.scripts.protocol import Guarantee, ScriptRequest

__all__ = ["LocalRunner"]


_OWN = 2
"""Processes of the supervisor itself."""

_CLAIMED: frozenset[Guarantee] = frozenset({"limits", "disk_watch", "tree_kill", "clean_env"})


class LocalRunner(HostRunner):
    r"""Runs scripts with the rights of the host's own user: this is **not a sandbox**.

    Args:
        limits: Bounds of each run.
        interpreters: Which program runs which language; Python is the host's own by default.
        env: Variables for every script.
        pass_env: Names of the host's variables that every script may see; without it none but language and time zone.
        cache: Folder for materialised skills and working folders; by default a private one among temporary files.

    Raises:
        ScriptError: The folder cannot be made.

    Example:
        >>> from skillbelt import MappingSource, SkillRouter
        >>> skill = {
        ...     "hi/SKILL.md": "---\nname: hi\ndescription: Greets.\n---\nRun scripts/hi.py NAME.\n",
        ...     "hi/scripts/hi.py": "import sys\nprint('Hello', *sys.argv[1:])\n",
        ... }
        >>> router = SkillRouter(MappingSource(skill), runner=LocalRunner())
        >>> router.run("hi", "scripts/hi.py", ["Ada Lovelace", "$(whoami)"]).stdout
        'Hello Ada Lovelace $(whoami)\n'
    """

    name = "local (not a sandbox)"
    _boxes = ()

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What it promises; ``process_limit`` not where the host is root and may make no control group."""
        counted: frozenset[Guarantee] = frozenset({"process_limit"})
        return _CLAIMED | (counted if self._counted else frozenset())

    def _fence(
        self, request: ScriptRequest, program: Program, skill: Path, folder: Folder
    ) -> tuple[Place, tuple[str, ...], dict[str, Any]]:
        del request, program
        box = folder.path / "box"
        return Place(str(skill), str(box / "work"), str(box), self.interpreters.search_path()), (), {}

    def _processes(self) -> int | None:
        """Return a bound above what the user runs already: the kernel counts all processes of a user together."""
        return None if os.geteuid() == 0 else self.limits.processes + count_processes()

    def _group(self) -> AbstractContextManager[ProcessGroup | None]:
        return self._groups.group() if os.geteuid() == 0 and self._counted else nullcontext()

    @cached_property
    def _groups(self) -> Groups:
        return Groups(self.limits.processes + _OWN)

    @cached_property
    def _counted(self) -> bool:
        """Whether the kernel counts the processes of a run: of a user always, of root in a group."""
        if os.geteuid() != 0:
            return True
        sweep_groups()
        with self._groups.group() as group:
            return group is not None


def count_processes() -> int:
    """Return how many processes and threads the user of this process has."""
    user = os.geteuid()
    total = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - names only
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == user:
                    total += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
            except OSError:
                continue
    return total
