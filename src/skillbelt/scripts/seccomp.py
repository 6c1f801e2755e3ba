"""The system calls a script in a sandbox may not make, as a program for the kernel.

What is left out: sockets of every kind, looking into or steering other processes, mounts and namespaces, kernel
modules, keys, memory that no limit counts, and everything that has been a way out of sandboxes before. Calls of a
foreign architecture end the process. The filter is built here rather than by a library, which would be one more thing
to install for a program of two hundred instructions.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

from skillbelt.errors import ScriptError

__all__ = ["seccomp_filter"]

# Operations of classic BPF.
_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_X32 = 0x40000000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET = 1, 5
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

# Numbers on x86_64 and on aarch64; None where a call does not exist.
_TABLE: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "perf_event_open": (298, 241),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    # the kernel
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "lookup_dcookie": (212, 18),
    # keys, and memory that no limit of the run counts
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}

_SOCKETS: dict[str, tuple[int | None, int | None]] = {
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
}

# Judged by an argument.
_SOCKET, _SOCKETPAIR, _SENDTO = (41, 198), (53, 199), (44, 206)
_CLONE, _CLONE3, _IOCTL = (56, 220), (435, 435), (16, 29)
_OTHERS: dict[str, tuple[tuple[int | None, int | None], int]] = {
    # The argument that names another process, which must be 0: oneself.
    "prlimit64": ((302, 261), 0),
    "sched_setaffinity": ((203, 122), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setattr": ((314, 274), 0),
    "setpriority": ((141, 140), 1),
    "ioprio_set": ((251, 30), 1),
}
_METADATA: dict[str, tuple[int | None, int | None]] = {
    # Changes of modes, owners and times, which Landlock does not judge.
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
}
_ATTRIBUTES: dict[str, tuple[int | None, int | None]] = {
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


@dataclass(frozen=True, slots=True)
class _Word:
    """Half of an argument of a call, or its number: where the kernel keeps it."""

    at: int


_NUMBER, _ARCHITECTURE = _Word(0), _Word(4)


def _argument(index: int, *, high: bool = False) -> _Word:
    return _Word(16 + 8 * index + (4 if high else 0))


class _Program:
    """Instructions, one after another; a check that does not hold falls through to the next."""

    def __init__(self) -> None:
        self.code = bytearray()

    def add(self, operation: int, value: int, yes: int = 0, no: int = 0) -> None:
        self.code += struct.pack("=HBBI", operation, yes, no, value & 0xFFFFFFFF)

    def load(self, word: _Word) -> None:
        self.add(_LOAD, word.at)

    def give(self, answer: int) -> None:
        self.add(_RETURN, answer)

    def refuse(self, number: int | None, answer: int) -> None:
        """Refuse a call whatever its arguments are."""
        if number is not None:
            self.add(_EQUAL, number, 0, 1)
            self.give(answer)

    def judge(self, number: int | None, checks: _Program) -> None:
        """Judge a call by instructions that give an answer in every case."""
        if number is not None:
            self.add(_EQUAL, number, 0, len(checks.code) // 8)
            self.code += checks.code


def seccomp_filter(*, network: bool = False, metadata: bool = True, machine: str | None = None) -> bytes:
    """Return the filter.

    Args:
        network: Let sockets of the internet through.
        metadata: Let modes, owners and times of files be changed; where nothing else keeps them, such a change is
            answered as if it had been made.
        machine: Name of the architecture, by default this machine's.

    Raises:
        ScriptError: There is no table for the architecture.
    """
    name = machine or platform.machine()
    if name not in _ARCHITECTURES:
        raise ScriptError(f"There is no table of system calls for {name!r}; sandboxes run on x86_64 and aarch64.")
    column, architecture = _ARCHITECTURES[name]
    denied = _ERRNO | errno.EPERM
    program = _Program()
    program.load(_ARCHITECTURE)
    program.add(_EQUAL, architecture, 1, 0)
    program.give(_KILL)
    program.load(_NUMBER)
    if column == 0:
        program.add(_AT_LEAST, _X32, 0, 1)  # the other numbers of the same machine
        program.give(_KILL)
    for numbers in _TABLE.values():
        program.refuse(numbers[column], denied)
    program.refuse(_CLONE3[column], _ERRNO | errno.ENOSYS)  # its arguments lie in memory; the C library then asks clone
    program.judge(_CLONE[column], _unless_bits(_argument(0), _NEW_NAMESPACES, denied))
    program.judge(_IOCTL[column], _unless_equal(_argument(1), (_TIOCSTI, _TIOCLINUX), denied))
    for numbers, index in _OTHERS.values():
        program.judge(numbers[column], _only_zero(_argument(index), denied))
    program.judge(_SOCKETPAIR[column], _pairs(denied))
    if network:
        families = (_AF_INET, _AF_INET6, _AF_NETLINK)
        program.judge(_SOCKET[column], _only(_argument(0), families, denied))
    else:
        program.refuse(_SOCKET[column], denied)
        for numbers in _SOCKETS.values():
            program.refuse(numbers[column], denied)
        program.judge(_SENDTO[column], _no_pointer(4, denied))
    if not metadata:
        for numbers in _METADATA.values():
            program.refuse(numbers[column], _ERRNO)
        for numbers in _ATTRIBUTES.values():
            program.refuse(numbers[column], _ERRNO | errno.ENOTSUP)
    program.give(_ALLOW)
    return bytes(program.code)


def _unless_bits(word: _Word, bits: int, denied: int) -> _Program:
    checks = _Program()
    checks.load(word)
    checks.add(_ANY_BIT, bits, 0, 1)
    checks.give(denied)
    checks.give(_ALLOW)
    return checks


def _unless_equal(word: _Word, values: tuple[int, ...], denied: int) -> _Program:
    checks = _Program()
    checks.load(word)
    for value in values:
        checks.add(_EQUAL, value, 0, 1)
        checks.give(denied)
    checks.give(_ALLOW)
    return checks


def _only(word: _Word, values: tuple[int, ...], denied: int) -> _Program:
    checks = _Program()
    checks.load(word)
    for value in values:
        checks.add(_EQUAL, value, 0, 1)
        checks.give(_ALLOW)
    checks.give(denied)
    return checks


def _only_zero(word: _Word, denied: int) -> _Program:
    return _only(word, (0,), denied)


def _no_pointer(index: int, denied: int) -> _Program:
    """Only without an address: what was connected when it was made may be written to, nothing else."""
    checks = _Program()
    for high in (False, True):
        checks.load(_argument(index, high=high))
        checks.add(_EQUAL, 0, 1, 0)
        checks.give(denied)
    checks.give(_ALLOW)
    return checks


def _pairs(denied: int) -> _Program:
    """Only pairs that stay connected to each other: a datagram socket of a pair can be pointed elsewhere."""
    checks = _Program()
    checks.load(_argument(0))
    checks.add(_EQUAL, _AF_UNIX, 1, 0)
    checks.give(denied)
    checks.load(_argument(1))
    checks.add(_AND, 0xF)
    for kind in (_STREAM, _SEQPACKET):
        checks.add(_EQUAL, kind, 0, 1)
        checks.give(_ALLOW)
    checks.give(denied)
    return checks
