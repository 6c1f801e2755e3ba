"""Files of a run, copied in and out, counted and removed: by descriptors, following no link."""

from __future__ import annotations

import posix

from skillbelt.scripts.supervisor.libc import FOLDER, NOFOLLOW


def copy_folder(source: int, target: int, room: list[int], depth: int = 0) -> None:
    """Copy the regular files of a folder into another one, as far as bytes and entries go; both by descriptor."""
    for entry in list(posix.scandir(source)):
        if room[1] <= 0:
            return
        room[1] -= 1
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth > 30:
                    continue
                posix.mkdir(entry.name, 0o700, dir_fd=target)
                below = posix.open(entry.name, FOLDER, dir_fd=source)
                into = posix.open(entry.name, FOLDER, dir_fd=target)
                try:
                    copy_folder(below, into, room, depth + 1)
                finally:
                    posix.close(below)
                    posix.close(into)
            elif entry.is_file(follow_symlinks=False):
                copy_file(entry.name, source, target, room)
        except OSError:
            continue


def copy_file(name: str, source: int, target: int, room: list[int]) -> None:
    """Copy one regular file, holes kept out of the count of what is written."""
    taken = posix.open(name, posix.O_RDONLY | posix.O_NONBLOCK | NOFOLLOW, dir_fd=source)
    try:
        info = posix.fstat(taken)
        if info.st_mode & 0o170000 != 0o100000 or info.st_size > room[0]:
            return
        given = posix.open(name, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | NOFOLLOW, 0o600, dir_fd=target)
        try:
            left = info.st_size
            while left > 0:
                data = posix.read(taken, min(left, 1 << 20))
                if not data:
                    break
                left -= len(data)
                room[0] -= len(data)
                while data:
                    data = data[posix.write(given, data) :]
        finally:
            posix.close(given)
    finally:
        posix.close(taken)


def usage(path: str, enough: int, entries: int) -> tuple[int, int]:
    """Return bytes and entries below a folder, counted no further than what is too much."""
    size = count = 0
    todo = [path]
    while todo:
        try:
            with posix.scandir(todo.pop()) as found:
                for entry in found:
                    count += 1
                    info = entry.stat(follow_symlinks=False)
                    size += info.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    if size > enough or count > entries:
                        return size, count
        except OSError:
            continue
    return size, count


def remove(parent: int, name: str) -> None:
    """Remove a folder of ours when nobody else is left to do it."""
    try:
        posix.unlink(name, dir_fd=parent)
    except OSError:
        pass  # a folder, or gone
    else:
        return
    try:
        posix.chmod(name, 0o700, dir_fd=parent)
        fd = posix.open(name, FOLDER, dir_fd=parent)
    except OSError:
        return
    try:
        for entry in list(posix.scandir(fd)):
            remove(fd, entry.name)
    except (OSError, RecursionError):
        pass
    finally:
        posix.close(fd)
    try:
        posix.rmdir(name, dir_fd=parent)
    except OSError:
        pass


def own_all(fd: int, uid: int) -> None:
    """Give files that were handed in to the run's own user."""
    for entry in list(posix.scandir(fd)):
        posix.chown(entry.name, uid, uid, dir_fd=fd, follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            below = posix.open(entry.name, FOLDER, dir_fd=fd)
            own_all(below, uid)
            posix.close(below)
