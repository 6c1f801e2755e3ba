"""The C library without the package that makes it comfortable, and the numbers of what is asked of it."""

from __future__ import annotations

import _ctypes
import posix
import sys

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 38, 36
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 1, 2, 4, 4096, 16384, 1 << 19
AT_RECURSIVE, MOUNT_ATTR_RDONLY = 0x8000, 1
SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT, SYS_MOUNT_SETATTR = 444, 445, 446, 442
NOFOLLOW = posix.O_NOFOLLOW | posix.O_CLOEXEC
FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | NOFOLLOW
PATH = getattr(posix, "O_PATH", 0o10000000) | posix.O_CLOEXEC


class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A machine word."""

    _type_ = "l"


class Char(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A byte."""

    _type_ = "B"


class Function(_ctypes.CFuncPtr):
    """A function of the C library."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Long


LIBRARY = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]


def call(name: str, *words: object) -> int:
    """Call a function of the C library with words and byte strings; failures raise with the function's name."""
    function = Function(_ctypes.dlsym(LIBRARY, name))
    _ctypes.set_errno(0)
    found: int = function(*(Long(word) if isinstance(word, int) else word for word in words))
    if name != "syscall" and found & 0x80000000:
        found = -1  # an int, of which only the lower half means something
    if found < 0:
        number = _ctypes.get_errno()
        raise OSError(number, f"{name}: {posix.strerror(number)}")
    return found


def address(data: bytes) -> tuple[object, int]:
    """Return a copy of ``data`` that must be kept, and where it lies."""
    buffer = (Char * len(data))(*data)
    return buffer, _ctypes.addressof(buffer)


def word(value: int, size: int) -> bytes:
    """Return a number as the machine keeps it."""
    return value.to_bytes(size, sys.byteorder)
