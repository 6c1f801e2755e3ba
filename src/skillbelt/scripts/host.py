"""What the runners that use this machine have in common: from a request to a plan, and from an ending to a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from skillbelt.errors import ScriptError, did_you_mean
from skillbelt.models import ScriptResult
from skillbelt.scripts.artifacts import collect
from skillbelt.scripts.cgroups import ProcessGroup
from skillbelt.scripts.environment import clean_environment
from skillbelt.scripts.folders import Folder, new_folder, sweep
from skillbelt.scripts.interpreters import Interpreters, Program
from skillbelt.scripts.limits import ScriptLimits
from skillbelt.scripts.marks import MARK
from skillbelt.scripts.materialize import SkillCache
from skillbelt.scripts.packages import prepared
from skillbelt.scripts.process import Ending, Plan, supervise
from skillbelt.scripts.protocol import Cancel, OutputHandler, ScriptRequest
from skillbelt.scripts.workspace import replace_files
from skillbelt.sources.paths import shown

__all__ = ["HostRunner", "Place"]

_LONGEST = 128 * 1024 - 1
"""Bytes of one argument that the kernel takes."""

_ARGUMENTS = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where the script will find things.

    Attributes:
        skill: The skill's folder.
        work: Its working folder.
        temporary: Where temporary files go.
        path: Where it finds programs.
    """

    skill: str
    work: str
    temporary: str
    path: str


class HostRunner:
    """Runs scripts as processes of this machine; what fences them in is left to those who inherit.

    Args:
        limits: Bounds of each run.
        interpreters: Which program runs which language.
        env: Variables for every script.
        pass_env: Names of the host's variables that every script may see.
        cache: Folder for materialised skills and runs.
    """

    def __init__(
        self,
        *,
        limits: ScriptLimits | None = None,
        interpreters: Interpreters | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Iterable[str] = (),
        cache: str | Path | None = None,
    ) -> None:
        self.limits = limits or ScriptLimits()
        self.interpreters = interpreters or Interpreters()
        self._env = dict(env or {})
        self._passed = tuple(pass_env)
        self._cache = SkillCache(cache)
        sweep(self._cache.root / "runs")

    def run(
        self, request: ScriptRequest, *, on_output: OutputHandler | None = None, cancel: Cancel | None = None
    ) -> ScriptResult:
        """Run a script; see :meth:`ScriptRunner.run <skillbelt.scripts.ScriptRunner.run>`.

        Args:
            request: What to run.
            on_output: Hears each line.
            cancel: Ends the run once it is set.

        Raises:
            ScriptError: It could not be started.
        """
        began = time.monotonic()
        program = self._program(request)
        _check(request, self.limits)
        with ExitStack() as stack:
            skill = stack.enter_context(self._cache.folder(request.skill_files))
            folder = new_folder(self._cache.root / "runs", "r-")
            stack.callback(folder.remove)
            keep = stack.enter_context(_inputs(request, folder, tmpfs=self._tmpfs(), boxes=self._boxes))
            place, wrap, fence = self._fence(request, program, skill, folder)
            group = stack.enter_context(self._group())
            plan = self._plan(request, program, place, wrap, fence, group)
            ending = supervise(plan, folder, stdin=request.stdin, on_output=on_output, cancel=cancel)
            files, contents = collect(keep(), self.limits)
            return _result(ending, files, contents, time.monotonic() - began)

    _boxes: tuple[str, ...] = ("tmp", "shm")
    """What a script may write to besides its working folder, when that is no file system of its own."""

    # --- for those who inherit ------------------------------------------------------------------------------------

    def _tmpfs(self) -> bool:
        return False

    def _fence(
        self, request: ScriptRequest, program: Program, skill: Path, folder: Folder
    ) -> tuple[Place, tuple[str, ...], dict[str, Any]]:
        """Return where things will be, what stands before the script's own command, and orders for the supervisor."""
        raise NotImplementedError

    def _processes(self) -> int | None:
        raise NotImplementedError

    def _group(self) -> AbstractContextManager[ProcessGroup | None]:
        return nullcontext()

    # --- inside ---------------------------------------------------------------------------------------------------

    def _program(self, request: ScriptRequest) -> Program:
        data = request.skill_files.files.get(request.path)
        if data is None:
            raise ScriptError(
                f"The skill has no file {shown(request.path)}. "
                + did_you_mean(request.path, request.skill_files.files, what="files")
            )
        program = self.interpreters.find(request.path, data)
        return prepared(program, request.path, data, self.interpreters, self._cache.root)

    def _plan(
        self,
        request: ScriptRequest,
        program: Program,
        place: Place,
        wrap: tuple[str, ...],
        fence: dict[str, Any],
        group: ProcessGroup | None,
    ) -> Plan:
        env = clean_environment(
            work=place.work,
            temporary=place.temporary,
            path=place.path,
            passed=self._passed,
            extra=self._env,
            secrets=request.secrets,
        )
        env[MARK] = token_hex(16)
        return Plan(
            argv=(*wrap, *program.argv, f"{place.skill}/{request.path}", *request.args),
            env=env,
            cwd="/" if wrap else place.work,
            limits=self.limits,
            processes=self._processes(),
            secrets=tuple(request.secrets.values()),
            fence=fence,
            group=group,
        )


class _inputs:  # noqa: N801 - used as a function
    """What is handed in is in the working folder, and a workspace gets back what is left there."""

    def __init__(self, request: ScriptRequest, folder: Folder, *, tmpfs: bool, boxes: tuple[str, ...]) -> None:
        self._request = request
        self._workspace = request.workspace
        self._tmpfs = tmpfs
        self._boxes = boxes
        self._box = folder.path / "box"
        self._work = folder.path / "work" if tmpfs else self._box / "work"
        self._out = folder.path / "out" if tmpfs else self._work

    def __enter__(self) -> Callable[[], Path]:
        self._box.mkdir(mode=0o711)
        if not self._tmpfs:
            for name in self._boxes:
                (self._box / name).mkdir(mode=0o700)
        if self._workspace is None:
            if not self._tmpfs or self._request.files:  # each folder costs the disk a moment, at its end above all
                self._work.mkdir(mode=0o700)
        else:
            self._workspace.lock.acquire()
            try:
                self._workspace.check()
                self._workspace.path.rename(self._work)
            except BaseException as error:
                self._workspace.lock.release()
                if isinstance(error, OSError) and not isinstance(error, ScriptError):
                    raise ScriptError("The workspace lies on another disk than the runner's folder.") from error
                raise
        try:
            replace_files(self._work, self._request.files)
        except BaseException:
            self.__exit__()
            raise
        return lambda: self._out

    def __exit__(self, *_: object) -> None:
        if self._workspace is None:
            return
        try:
            # Whatever the script did to the folder itself; of a run that did not end, what was there before.
            source = self._out if self._out.is_dir() and not self._out.is_symlink() else self._work
            if source.is_dir() and not source.is_symlink():
                source.chmod(0o700)
                source.rename(self._workspace.path)
            else:
                self._workspace.path.mkdir(mode=0o700)
        finally:
            self._workspace.lock.release()


def _check(request: ScriptRequest, limits: ScriptLimits) -> None:
    """Refuse what no process can be given, in words instead of an errno."""
    sizes = [len(argument.encode("utf-8", "surrogatepass")) for argument in request.args]
    if any("\x00" in argument for argument in request.args):
        raise ScriptError("An argument has a NUL character, which no program can be given; leave it out.")
    if max(sizes, default=0) > _LONGEST or sum(sizes) > _ARGUMENTS:
        raise ScriptError(
            f"The arguments are too long ({sum(sizes)} bytes); give long text through stdin or a file instead."
        )
    if request.stdin is not None and len(request.stdin) > limits.stdin:
        raise ScriptError(f"stdin has {len(request.stdin)} bytes; at most {limits.stdin} are taken.")
    if sum(map(len, request.files.values())) > limits.disk:
        raise ScriptError(f"The files that are handed in are larger than the {limits.disk} bytes of a working folder.")


def _result(ending: Ending, files: Any, contents: dict[str, bytes], duration: float) -> ScriptResult:
    return ScriptResult(
        exit_code=ending.exit_code,
        stdout=ending.stdout.text(),
        stderr=ending.stderr.text(),
        timed_out=ending.reason == "timeout",
        truncated=ending.stdout.truncated or ending.stderr.truncated,
        duration=duration,
        files=files,
        reason=ending.reason,
        contents=contents,
    )
