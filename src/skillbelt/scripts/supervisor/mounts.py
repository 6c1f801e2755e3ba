"""A view of the file system of its own: a place of a fixed size to write to, and nothing else that can be changed."""

from __future__ import annotations

import posix

from skillbelt.scripts.supervisor.libc import (
    AT_RECURSIVE,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MOUNT_ATTR_RDONLY,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_REC,
    MS_SLAVE,
    PATH,
    SYS_MOUNT_SETATTR,
    address,
    call,
    word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would cost each run as much as its copying
    from typing import Any


def own_mounts(orders: dict[str, Any]) -> None:
    """Leave the host's mounts behind and put a folder of a fixed size where the script may write."""
    uid, gid = posix.geteuid(), posix.getegid()
    if orders["userns"]:
        call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            fd = posix.open(f"/proc/self/{name}", posix.O_WRONLY)
            posix.write(fd, text.encode())
            posix.close(fd)
    else:
        call("unshare", CLONE_NEWNS)
    call("mount", b"none", b"/", 0, MS_REC | MS_SLAVE, 0)
    owner = orders["uid"] if orders["uid"] is not None else uid
    group = orders["uid"] if orders["uid"] is not None else gid
    bound = f"size={orders['disk']},nr_inodes={orders['entries'] + 16},mode=0711,uid={owner},gid={group}"
    call("mount", b"skillbelt", orders["box"].encode(), b"tmpfs", MS_NOSUID | MS_NODEV, bound.encode())


def expose(paths: list[str]) -> None:
    """Make paths reachable for a user who may not pass the folders above them, and nothing else in those folders."""
    blocked: dict[str, list[str]] = {}
    for path in paths:
        parts = path.strip("/").split("/")
        for end in range(1, len(parts)):
            above = "/" + "/".join(parts[:end])
            if posix.stat(above).st_mode & 0o001 == 0:
                blocked.setdefault(above, []).append(path)
                break
    for above, inside in blocked.items():
        held = [(path, posix.open(path, PATH)) for path in sorted(inside)]
        call("mount", b"skillbelt", above.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0755,size=1m")
        for path, fd in held:
            folder = posix.fstat(fd).st_mode & 0o170000 == 0o040000
            parts = path[len(above) :].strip("/").split("/")
            for end in range(1, len(parts) + 1):
                part = above + "/" + "/".join(parts[:end])
                try:
                    if end < len(parts) or folder:
                        posix.mkdir(part, 0o755)
                    else:
                        posix.close(posix.open(part, posix.O_CREAT | posix.O_WRONLY, 0o644))
                except FileExistsError:
                    pass
            call("mount", f"/proc/self/fd/{fd}".encode(), path.encode(), 0, MS_BIND | MS_REC, 0)
            posix.close(fd)


def read_only(orders: dict[str, Any]) -> None:
    """Make every mount read-only but the box: what Landlock does not judge, modes and times, cannot be changed."""
    attributes, where = address(word(MOUNT_ATTR_RDONLY, 8) + bytes(24))
    call("syscall", SYS_MOUNT_SETATTR, -100, b"/", AT_RECURSIVE, where, 32)
    writable, where = address(bytes(8) + word(MOUNT_ATTR_RDONLY, 8) + bytes(16))
    call("syscall", SYS_MOUNT_SETATTR, -100, orders["box"].encode(), 0, where, 32)
    del attributes, writable
