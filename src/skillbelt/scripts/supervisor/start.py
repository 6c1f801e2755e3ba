"""The script is started: limits, user, fence, and only then its program."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import posix
import resource

from skillbelt.scripts.supervisor.libc import (
    PATH,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    PR_SET_SECCOMP,
    SECCOMP_MODE_FILTER,
    SYS_LANDLOCK_ADD,
    SYS_LANDLOCK_CREATE,
    SYS_LANDLOCK_RESTRICT,
    address,
    call,
    word,
)
from skillbelt.scripts.supervisor.tree import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would cost each run as much as its copying
    from typing import Any


def landlock(orders: dict[str, Any]) -> int:
    """Return a ruleset that allows the paths of the orders and nothing else."""
    handled = orders["landlock"]
    attributes = word(handled["fs"], 8) + word(handled["net"], 8) + word(handled["scoped"], 8)
    ruleset = call("syscall", SYS_LANDLOCK_CREATE, attributes, len(attributes), 0)
    for path, rights in handled["paths"]:
        try:
            fd = posix.open(path, PATH)
        except FileNotFoundError:
            continue
        if posix.fstat(fd).st_mode & 0o170000 != 0o040000:
            rights &= handled["file"]
        call("syscall", SYS_LANDLOCK_ADD, ruleset, 1, word(rights, 8) + word(fd, 4), 0)
        posix.close(fd)
    return ruleset


def start(orders: dict[str, Any]) -> None:
    """Become the script; only a failure comes back, by exception."""
    ruleset = -1
    posix.setsid()
    if "landlock" in orders:
        ruleset = landlock(orders)
    for fd in orders["close"]:
        posix.close(fd)
    posix.chdir(orders["cwd"])
    posix.umask(0o077 if orders["uid"] is None else 0o022)
    for name, soft, hard in orders["rlimits"]:
        kind = getattr(resource, name)
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY and posix.geteuid() != 0:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))
    if orders["drop"]:
        for capability in range(64):
            try:
                call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
            except OSError:
                break
    if orders["uid"] is not None:
        posix.setgroups([])
        posix.setresgid(orders["uid"], orders["uid"], orders["uid"])
        posix.setresuid(orders["uid"], orders["uid"], orders["uid"])
    # After the change of user, which would take it away again. The supervisor may have died before this line.
    call("prctl", PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if posix.getppid() != orders["pid"]:
        posix._exit(127)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if ruleset >= 0:
        call("syscall", SYS_LANDLOCK_RESTRICT, ruleset, 0)
        posix.close(ruleset)
    if orders["filter_fd"] is not None:
        posix.set_inheritable(orders["filter_fd"], True)
    elif orders["filter"]:
        program, where = address(orders["filter"])
        head, at = address(word(len(orders["filter"]) // 8, 2) + bytes(6) + word(where, 8))
        call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at, 0, 0)
        del program, head
    for number in orders["defaults"]:
        _signal.signal(number, _signal.SIG_DFL)
    posix.execve(orders["argv"][0], orders["argv"], orders["env"])


def launch(orders: dict[str, Any]) -> int:
    """Start the script and return its process; whatever keeps it from starting is raised here."""
    report, failed = posix.pipe2(posix.O_CLOEXEC)
    orders["pid"] = posix.getpid()
    orders["filter_fd"] = None
    if orders["filter"] and orders["filter_by_fd"]:
        taken, given = posix.pipe2(posix.O_CLOEXEC)
        posix.write(given, orders["filter"])  # far less than a pipe holds
        posix.close(given)
        orders["filter_fd"] = taken
        orders["argv"] = [str(taken) if one == "%FILTER%" else one for one in orders["argv"]]
    pid = posix.fork()
    if pid == 0:
        try:
            posix.close(report)
            start(orders)
        except BaseException as error:  # the other process raises it
            posix.write(failed, f"{type(error).__name__}: {error}".encode()[:2000])
        posix._exit(127)
    posix.close(failed)
    if orders["filter_fd"] is not None:
        posix.close(orders["filter_fd"])
    # The script's streams are the script's: the host must see them end when the last process of it has ended.
    for fd in (0, 1, 2):
        posix.close(fd)
    told = b""
    while True:
        piece = posix.read(report, 4096)
        if not piece:
            break
        told += piece
    posix.close(report)
    if told:
        posix.waitpid(pid, 0)
        raise OSError(told.decode("utf-8", "replace"))
    return pid
