"""One run seen from the host: the supervisor is started, the streams are read, the end is waited for.

The host trusts nothing but its own clock: output is read with a bound, and a supervisor that does not answer in time
is ended together with everything that carries the run's mark.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from skillbelt.errors import ScriptError
from skillbelt.models import ScriptEnd
from skillbelt.scripts.cgroups import ProcessGroup
from skillbelt.scripts.folders import Folder
from skillbelt.scripts.limits import ScriptLimits
from skillbelt.scripts.marks import MARK, sweep_processes
from skillbelt.scripts.orders import BOOT, nameless, rlimits, supervisor
from skillbelt.scripts.output import Capture, Redactor
from skillbelt.scripts.protocol import Cancel, OutputHandler

__all__ = ["Ending", "Plan", "supervise"]

_TICK = 0.02
_GRACE = 2.0
_PATIENCE = 15.0
"""Seconds for a supervisor to end what it was told to end, which it does in milliseconds."""

_PIECE = 1 << 16
_DEFAULTS = (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a script is to be run: everything the supervisor is told.

    Attributes:
        argv: The program and its arguments; what comes first is a path.
        env: The whole environment.
        cwd: Where it starts, as it will see it.
        limits: Its bounds.
        processes: The same for processes, as the kernel is to count them; ``None`` when it cannot.
        secrets: Values that may not come out.
        fence: What a sandbox adds: ``uid``, ``tmpfs``, ``userns``, ``expose``, ``read_only``, ``landlock``,
            ``filter``, ``filter_by_fd``.
        group: A control group for the supervisor and all below it.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    limits: ScriptLimits
    processes: int | None
    secrets: tuple[str, ...] = field(repr=False)
    fence: Mapping[str, Any] = field(default_factory=dict)
    group: ProcessGroup | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    exit_code: int
    reason: ScriptEnd
    stdout: Capture
    stderr: Capture
    left: int


def supervise(
    plan: Plan,
    folder: Folder,
    *,
    stdin: bytes | None = None,
    on_output: OutputHandler | None = None,
    cancel: Cancel | None = None,
) -> Ending:
    """Run a program under a supervisor and return how it ended.

    Args:
        plan: What to run.
        folder: The run's folder, with ``work`` in it; the supervisor holds it as long as it lives.
        stdin: Bytes of standard input; ``None`` is an empty one.
        on_output: Hears each line.
        cancel: Asked several times a second.

    Raises:
        ScriptError: It could not be started.
    """
    redactor = [Redactor(plan.secrets), Redactor(plan.secrets)]
    out = Capture(
        plan.limits.output, redactor[0], None if on_output is None else lambda line: on_output("stdout", line)
    )
    err = Capture(
        plan.limits.output, redactor[1], None if on_output is None else lambda line: on_output("stderr", line)
    )
    run = _Run(plan, folder, out, err, stdin, cancel)
    try:
        run.start()
        run.pump()
    finally:
        run.close()
    out.close()
    err.close()
    return run.ending(redactor[0])


class _Run:
    """The state of one run: descriptors, deadlines, what was read."""

    def __init__(
        self, plan: Plan, folder: Folder, out: Capture, err: Capture, stdin: bytes | None, cancel: Cancel | None
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._captures: dict[int, Capture] = {}
        self._out, self._err = out, err
        self._stdin = memoryview(stdin or b"")
        self._cancel = cancel
        self._fds: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._answer = bytearray()
        self._asked: ScriptEnd | None = None
        self._total = 0
        self._deadline = 0.0

    # --- start ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the supervisor; afterwards only this process holds the host's ends."""
        try:
            stdin, self._fds["stdin"] = os.pipe() if self._stdin else (os.open(os.devnull, os.O_RDONLY), -1)
            self._fds["out"], stdout = os.pipe()
            self._fds["err"], stderr = os.pipe()
            control, self._fds["control"] = os.pipe()
            self._fds["answer"], report = os.pipe()
        except OSError as error:
            raise ScriptError(f"There are too many open files to run a script: {error.strerror}.") from error
        theirs = (stdin, stdout, stderr, control, report)
        try:
            with nameless() as file:
                file.write(marshal.dumps((supervisor(), self._orders(control, report))))
                file.seek(0)
                self._process = subprocess.Popen(  # noqa: S603 - our own program, by its path
                    [sys.executable, "-I", "-S", "-c", BOOT, str(file.fileno())],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env={},
                    cwd="/",
                    pass_fds=(file.fileno(), control, report, self._folder.fd),
                    start_new_session=True,
                )
            if self._plan.group is not None:
                self._plan.group.add(self._process.pid)
        except OSError as error:
            raise ScriptError(f"The supervisor of scripts cannot be started: {error.strerror}.") from error
        finally:
            for fd in theirs:
                os.close(fd)
        for name, capture in (("out", self._out), ("err", self._err)):
            self._captures[self._fds[name]] = capture
        for fd in self._fds.values():
            if fd >= 0:
                os.set_blocking(fd, False)
        self._deadline = time.monotonic() + self._plan.limits.timeout + _GRACE

    def _orders(self, control: int, report: int) -> dict[str, Any]:
        limits, plan = self._plan.limits, self._plan
        fence = {
            "uid": None,
            "tmpfs": False,
            "userns": False,
            "expose": [],
            "read_only": False,
            "filter": b"",
            "filter_by_fd": False,
            "drop": False,
            "group": str(plan.group.path) if plan.group is not None else "",
            **plan.fence,
        }
        return {
            "control": control,
            "report": report,
            "run": self._folder.fd,
            "name": self._folder.path.name,
            "box": str(self._folder.path / "box"),
            "argv": list(plan.argv),
            "env": dict(plan.env),
            "cwd": plan.cwd,
            "timeout": limits.timeout,
            "processes": limits.processes,
            "memory": limits.memory,
            "disk": limits.disk,
            "entries": limits.entries,
            "watch": not fence["tmpfs"],
            "rlimits": rlimits(limits, plan.processes),
            "defaults": [int(number) for number in _DEFAULTS],
            **fence,
        }

    # --- while it runs --------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Read until everything has ended."""
        poll = select.poll()
        for name in ("out", "err", "answer"):
            poll.register(self._fds[name], select.POLLIN)
        open_ = {self._fds["out"], self._fds["err"], self._fds["answer"]}
        if self._fds["stdin"] >= 0:
            poll.register(self._fds["stdin"], select.POLLOUT)
        while open_:
            left = self._deadline - time.monotonic()
            if left <= 0 and not self._overdue():
                return
            pause = min(max(left, 0.0), _TICK if self._cancel is not None else 0.5)
            for fd, _ in poll.poll(int(pause * 1000) + 1):
                if fd == self._fds["stdin"]:
                    if not self._feed(fd):
                        poll.unregister(fd)
                elif not self._read(fd):
                    poll.unregister(fd)
                    open_.discard(fd)
            if self._fds["answer"] not in open_:
                # It has ended, and nothing of the script should live; if it was killed, something may hold the streams.
                self._drain(open_)
                return
            if self._cancel is not None and self._asked is None and self._cancel.is_set():
                self._ask("cancelled")

    def _drain(self, fds: Iterable[int]) -> None:
        """Take what is there already."""
        for fd in fds:
            before = -1
            while before != self._total and self._total <= self._plan.limits.output_total:
                before = self._total
                self._read(fd)

    def _overdue(self) -> bool:
        """End a supervisor that does not answer in time; gives whether there is hope that it still does."""
        if self._asked is None:
            self._ask("timeout")
            self._deadline = time.monotonic() + _GRACE
            return True
        return False

    def _ask(self, why: ScriptEnd) -> None:
        """Tell the supervisor to end the run."""
        self._asked = why
        # It kills first and looks for what is left until nothing is.
        self._deadline = time.monotonic() + _PATIENCE
        with suppress(OSError):
            os.write(self._fds["control"], why[:1].encode())

    def _feed(self, fd: int) -> bool:
        try:
            self._stdin = self._stdin[os.write(fd, self._stdin[:_PIECE]) :]
        except BlockingIOError:
            return True
        except OSError:  # it does not want to read any more
            self._stdin = self._stdin[:0]
        if not self._stdin:
            os.close(fd)
            self._fds["stdin"] = -1
            return False
        return True

    def _read(self, fd: int) -> bool:
        try:
            data = os.read(fd, _PIECE)
        except BlockingIOError:
            return True
        if not data:
            return False
        if fd in self._captures:
            self._total += len(data)
            self._captures[fd].feed(data)
            if self._total > self._plan.limits.output_total and self._asked is None:
                self._ask("output")
        else:
            self._answer += data
        return True

    # --- end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave nothing behind, however the run ended: also when a key was pressed while it was read."""
        process = self._process
        try:
            if process is not None:
                self._settle(process)
        finally:
            for fd in self._fds.values():
                if fd >= 0:
                    with suppress(OSError):
                        os.close(fd)
            self._fds = {}

    def _settle(self, process: subprocess.Popen[bytes]) -> None:
        if not self._answer:
            with suppress(OSError):
                os.write(self._fds["control"], b"c")
        try:
            process.wait(timeout=_PATIENCE)
        except BaseException as error:
            process.kill()
            process.wait()
            sweep_processes(self._plan.env.get(MARK, ""))
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
        if not self._answer:
            with suppress(OSError):
                self._answer += os.read(self._fds["answer"], _PIECE)
        if not self._answer:  # it did not live to say that nothing is left
            sweep_processes(self._plan.env.get(MARK, ""))

    def ending(self, redactor: Redactor) -> Ending:
        """Return what the supervisor said."""
        try:
            answer: dict[str, Any] = marshal.loads(bytes(self._answer))  # noqa: S302 - from our own supervisor
        except (ValueError, EOFError, TypeError):
            if self._asked is not None:
                return Ending(-int(signal.SIGKILL), self._asked, self._out, self._err, 0)
            raise ScriptError("The supervisor of the script was killed, and the script with it; try again.") from None
        if answer.get("error"):
            raise ScriptError(f"The script cannot be started: {redactor.text(str(answer['error']))}")
        status = answer["status"]
        code = -int(signal.SIGKILL) if status is None else os.waitstatus_to_exitcode(status)
        reason: ScriptEnd = "cancelled" if answer["reason"] == "gone" else answer["reason"]
        if reason == "exit" and code == -int(signal.SIGXCPU):
            reason = "timeout"
        if reason != "exit" and self._asked is not None:
            reason = self._asked
        return Ending(code, reason, self._out, self._err, answer["left"])
