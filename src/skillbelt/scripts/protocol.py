"""What runs a script: one call, from a request to a result.

A runner is anything with a name, a list of what it guarantees, and :meth:`ScriptRunner.run`. The two that ship are
:class:`~skillbelt.scripts.LocalRunner` and :class:`~skillbelt.scripts.SandboxRunner`; a container or a service of
your own is a third. A runner decides nothing about who may run what: that is :class:`~skillbelt.scripts.ScriptPolicy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, runtime_checkable

from skillbelt.models import ScriptResult
from skillbelt.scripts.content import SkillFiles
from skillbelt.scripts.workspace import Workspace

__all__ = ["Cancel", "Guarantee", "OutputHandler", "ScriptRequest", "ScriptRunner", "Stream"]

Stream = Literal["stdout", "stderr"]

Guarantee = Literal[
    "limits",
    "process_limit",
    "disk_watch",
    "tree_kill",
    "clean_env",
    "network",
    "fs_read",
    "fs_write",
    "processes",
    "disk",
]
"""What a runner can promise.

``limits``: time, memory and output end. ``process_limit``: there are never more processes than allowed.
``disk_watch``: a run that writes more in all than it may is ended soon after. ``tree_kill``: no process outlives the
run. ``clean_env``: only the allowed variables arrive. ``network``: nothing is reached. ``fs_read``: no file of the
host is read but the system's own.
``fs_write``: nothing of the host is changed. ``processes``: no process of the host is seen, stopped or looked into.
``disk``: the working folder cannot grow past its bound, not even for a moment.
"""

OutputHandler = Callable[[Stream, str], None]
"""Called with each line as it comes, without its line end, secrets already left out."""


@runtime_checkable
class Cancel(Protocol):
    """Says whether a run is to be ended; a :class:`threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to end it."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """One run, as a runner is asked for it.

    Attributes:
        skill: Name of the skill.
        path: The script, relative to the skill's folder; one of ``skill_files.files``.
        skill_files: Every file of the skill.
        args: Arguments, exactly as the script gets them.
        stdin: Bytes of standard input; ``None`` is an empty one.
        secrets: Variables that the host grants this skill. They are in no message, event or ``repr``.
        files: Files put into the working folder before the run, by path.
        workspace: A working folder kept over several runs; ``None`` is a fresh one for this run.
    """

    skill: str
    path: str
    skill_files: SkillFiles = field(repr=False)
    args: tuple[str, ...] = ()
    stdin: bytes | None = field(default=None, repr=False)
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    workspace: Workspace | None = None


@runtime_checkable
class ScriptRunner(Protocol):
    """Runs scripts of skills; may be shared by threads."""

    @property
    def name(self) -> str:
        """What people call it, for a person who is asked for approval."""
        ...

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What it promises, see :data:`Guarantee`; the checks of ``RunnerContract`` hold it to that."""
        ...

    def run(
        self, request: ScriptRequest, *, on_output: OutputHandler | None = None, cancel: Cancel | None = None
    ) -> ScriptResult:
        """Run a script to its end and return what came of it; a script that fails is a result, not an error.

        Args:
            request: What to run.
            on_output: Hears each line while the script runs.
            cancel: Asked several times a second; once it is set, the run ends and nothing of it is left.

        Raises:
            ScriptError: It could not be started, e.g. because there is no interpreter for it.
        """
        ...
