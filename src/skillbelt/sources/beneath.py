"""Opening and reading without ever leaving a folder, and what the operating system's refusals mean to a caller.

Every part of a path is opened relative to the descriptor of the part before it; a link is resolved here, part by
part, and may not lead above where the path began (SPEC-126, S3-38, S3-39). Messages hold no host path.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from skillbelt.errors import ResourceNotFoundError, ResourcePathError, ResourceTypeError, SkillError, SourceError
from skillbelt.sources.paths import shown

__all__ = ["FILE", "FOLDER", "MAY_BE_LINK", "NOFOLLOW", "failed", "open_beneath", "read_blocks", "translated"]

MAY_BE_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""What opening a link without following it answers."""

_HOPS = 40
_BLOCK = 1 << 20
_BASE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
FILE = _BASE | getattr(os, "O_NONBLOCK", 0)
"""How a file is opened: a FIFO must not block the opener (S3-37)."""
FOLDER = _BASE | getattr(os, "O_DIRECTORY", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def open_beneath(base: int, parts: list[str], flags: int, *, links: bool) -> int:
    """Open a path without ever leaving ``base``; the caller closes ``base`` and the result."""
    todo = parts[::-1]
    stack: list[int] = []
    hops = 0
    try:
        while todo:
            part = todo.pop()
            above = stack[-1] if stack else base
            if part in ("", "."):
                continue
            if part == "..":
                if not stack:
                    raise OSError(errno.EXDEV, "leaves its border")
                os.close(stack.pop())
                continue
            try:
                stack.append(os.open(part, (FOLDER if todo else flags) | NOFOLLOW, dir_fd=above))
            except OSError as error:
                if error.errno not in MAY_BE_LINK:
                    raise
                target = _link_target(part, above)
                if target is None:
                    raise
                hops += 1
                if not links or hops > _HOPS:
                    raise OSError(errno.ELOOP, "is a link") from None
                if target.startswith("/"):
                    raise OSError(errno.EXDEV, "leaves its border") from None
                todo.extend(reversed(target.split("/")))
        return stack.pop() if stack else os.dup(base)
    finally:
        for fd in stack:
            os.close(fd)


def _link_target(part: str, above: int) -> str | None:
    with suppress(OSError):
        return os.readlink(part, dir_fd=above)
    return None


def translated(error: OSError, path: str) -> Exception:
    """Return our error for one of the operating system's, without a host path."""
    if error.errno == errno.EXDEV:
        return ResourcePathError(f"{shown(path)} is a link that leaves the folder it belongs to.")
    if error.errno == errno.ELOOP:
        return ResourcePathError(f"{shown(path)} is, or passes through, a link that is not followed.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return ResourceNotFoundError(f"There is no file {shown(path)}.")
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return ResourcePathError(f"{shown(path)} is not a name a file can have.")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return ResourceTypeError(f"{shown(path)} is not a regular file.")
    return SourceError(f"{shown(path)} cannot be read: {error.strerror}.")


def failed(error: OSError, path: str) -> Exception:
    """Return our error for a failure of an open descriptor: a broken disk, a share that went away."""
    if isinstance(error, SkillError):
        return error
    return SourceError(f"{shown(path)} cannot be read: {error.strerror}.")


def read_blocks(fd: int, offset: int, size: int) -> bytes:
    """Read up to ``size`` bytes in blocks: a limit of a terabyte must not allocate one."""
    if 0 < size <= _BLOCK:
        data = os.pread(fd, size, offset)
        if len(data) in (0, size):  # nearly every read
            return data
    blocks: list[bytes] = []
    while size > 0:
        block = os.pread(fd, min(size, _BLOCK), offset)
        if not block:
            break
        blocks.append(block)
        offset += len(block)
        size -= len(block)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)
