"""The ways to fence a script in on this machine, best first, each as orders for the supervisor.

A rung says what it needs and what it stops; whether it holds here is not taken from its word but from a test of it,
see :mod:`~skillbelt.scripts.selftest`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any, Literal

from skillbelt.errors import ScriptError
from skillbelt.scripts.host import Place
from skillbelt.scripts.landlock import NEEDED, landlock_orders, landlock_version
from skillbelt.scripts.seccomp import seccomp_filter

__all__ = ["RUNGS", "Fence", "Rung", "RungName", "candidates", "fence"]

RungName = Literal["bubblewrap", "landlock"]
RUNGS: tuple[RungName, ...] = ("bubblewrap", "landlock")

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Where interpreters and their libraries are: nothing in them belongs to anybody."""

_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
_NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_INSIDE = "/skillbelt"
"""Where skill and working folder are in bubblewrap: the paths of the host are not a script's business."""

_TEMPORARY = "/tmp"  # noqa: S108 - inside the sandbox
_UIDS = 0x70000000
"""First of the users that only one run has: far above any that a person or a service gets."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way.

    Attributes:
        name: What it is built on.
        exact_disk: Whether the working folder is a file system of a fixed size, made for the run.
        userns: Whether that takes a user namespace, as it does without root.
        own_uid: Whether each run gets a user of its own, as it can where the host is root.
    """

    name: RungName
    exact_disk: bool
    userns: bool
    own_uid: bool

    def __str__(self) -> str:
        more = [
            *(["a user for each run"] if self.own_uid else []),
            "an exact disk limit" if self.exact_disk else "a watched disk limit",
        ]
        return f"{self.name}, seccomp, {', '.join(more)}"


@dataclass(frozen=True, slots=True)
class Fence:
    """What a rung makes of one run.

    Attributes:
        place: Where the script finds things.
        wrap: What stands before its command.
        orders: For the supervisor.
    """

    place: Place
    wrap: tuple[str, ...] = ()
    orders: dict[str, Any] = field(default_factory=dict)


def candidates(wanted: Sequence[RungName]) -> tuple[list[Rung], list[str]]:
    """Return the ways worth a test on this machine, best first, and what is missing for the others.

    Args:
        wanted: Which rungs may be used at all.
    """
    missing: list[str] = []
    found: list[Rung] = []
    if not sys.platform.startswith("linux"):
        return [], ["sandboxes need Linux"]
    root = os.geteuid() == 0
    for name in wanted:
        lacking = _lacking(name)
        if lacking is not None:
            missing.append(f"{name}: {lacking}")
            continue
        found += [Rung(name, exact, exact and not root, root) for exact in (True, False)]
    return found, missing


def _lacking(name: RungName) -> str | None:
    try:
        seccomp_filter()
    except ScriptError as error:
        return str(error)
    if name == "bubblewrap":
        return None if bwrap() else "bwrap is not installed (Debian: apt-get install bubblewrap)"
    version = landlock_version()
    if version < NEEDED:
        return f"the kernel has Landlock {version or 'not at all'}; version {NEEDED} is needed (Linux 6.12)"
    return None


def bwrap() -> str | None:
    """Return where bubblewrap is."""
    return which("bwrap", path=os.pathsep.join(dict.fromkeys([*_PATH, *os.get_exec_path()])))


def own_uid(number: int) -> int:
    """Return a user that no other run has at the same time.

    Args:
        number: Unique among the living, such as a process id.

    Raises:
        ScriptError: The host's user namespace has no room for such users.
    """
    uid = _UIDS + number
    with open("/proc/self/uid_map") as file:  # noqa: PTH123 - not a file on a disk
        ranges = [tuple(map(int, line.split())) for line in file]
    if any(first <= uid < first + count for first, _, count in ranges):
        return uid
    first, _, count = max(ranges, key=lambda one: one[2])
    if count < 4096:
        raise ScriptError("There is no user left for a run: the host's own user namespace is too small.")
    return first + count - 1 - number % (count // 2)  # from the far end, where nobody is


def fence(rung: Rung, *, skill: Path, work: Path, roots: Iterable[str], network: bool, uid: int | None) -> Fence:
    """Return the orders of a rung for one run.

    Args:
        rung: The way.
        skill: Folder of the materialised skill.
        work: The box that the script may write to.
        roots: Folders of the interpreter.
        network: Whether it may reach the network.
        uid: The run's own user.
    """
    shown = [*_FILES, *(_NETWORK_FILES if network else ())]
    orders: dict[str, Any] = {
        "uid": uid,
        "tmpfs": rung.exact_disk,
        "userns": rung.userns,
        "drop": True,
        "filter": seccomp_filter(network=network),
    }
    roots = [root for root in dict.fromkeys(roots) if not root.startswith(("/usr/", "/bin/", "/sbin/", "/lib"))]
    if uid is not None and rung.exact_disk:
        orders["expose"] = [str(skill), str(work), *roots]
    if rung.name == "bubblewrap":
        return _bubblewrap(orders, skill, work, roots, shown, network=network)
    metadata = rung.exact_disk  # then every mount but the box is read-only, and modes can only be changed in there
    orders["read_only"] = rung.exact_disk
    orders["filter"] = seccomp_filter(network=network, metadata=metadata)
    box = str(work)
    orders["landlock"] = landlock_orders(
        read=[*_SYSTEM, *shown, *roots, str(skill)],
        write=[f"{box}/{name}" for name in ("work", "tmp")],
        devices=_DEVICES,
        network=network,
    )
    return Fence(Place(str(skill), f"{box}/work", f"{box}/tmp", _path(roots)), (), orders)  # noqa: S108


def _bubblewrap(
    orders: dict[str, Any], skill: Path, work: Path, roots: list[str], shown: list[str], *, network: bool
) -> Fence:
    program = bwrap()
    if program is None:
        raise ScriptError("bwrap is gone since the sandbox was made; install bubblewrap again.")
    words = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--share-net"] if network else []
    for path in _SYSTEM:
        if os.path.islink(path):  # noqa: PTH114
            words += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        elif os.path.isdir(path):  # noqa: PTH112
            words += ["--ro-bind", path, path]
    for path in shown:
        words += ["--ro-bind-try", path, path]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--bind", f"{work}/shm", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    words += ["--bind", f"{work}/tmp", _TEMPORARY]  # noqa: S108
    for path in roots:  # after /tmp, for an interpreter may be there
        words += ["--ro-bind", path, path]
    words += ["--bind", f"{work}/work", f"{_INSIDE}/work", "--ro-bind", str(skill), f"{_INSIDE}/skill"]
    words += ["--remount-ro", "/", "--chdir", f"{_INSIDE}/work", "--seccomp", "%FILTER%", "--"]
    orders["filter_by_fd"] = True
    return Fence(Place(f"{_INSIDE}/skill", f"{_INSIDE}/work", _TEMPORARY, _path(roots)), tuple(words), orders)


def _path(roots: Iterable[str]) -> str:
    own = [os.path.join(root, "bin") for root in roots if os.path.isdir(os.path.join(root, "bin"))]  # noqa: PTH112, PTH118
    return os.pathsep.join(dict.fromkeys([*own, *_PATH]))
