"""The program that stands between the host and a script: run by ``python -I -S``, compiled by the host, not imported.

It is given its orders, starts the script, and stays until nothing of it is left: it is the
sub-reaper of everything the script starts, so that no process gets away by leaving its group, its session or its
parent. It ends the run when it took too long or too much, when the host says so, and when the host is gone.

It is written for its own start-up time, which every run pays: builtin modules only, no ``os``, no ``ctypes`` package.
Its folder is not on ``sys.path`` and its working folder is ``/``: nothing a skill brings can be imported here.
"""

from __future__ import annotations

import marshal
import posix
import sys
import time

import _ctypes
import _signal
import resource
import select

SIGKILL = 9
TICK = 0.05
QUIET = 10.0  # seconds after which what cannot be killed is reported instead of waited for

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 38, 36
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 1, 2, 4, 4096, 16384, 1 << 19
AT_RECURSIVE, MOUNT_ATTR_RDONLY = 0x8000, 1
SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT, SYS_MOUNT_SETATTR = 444, 445, 446, 442
NOFOLLOW = posix.O_NOFOLLOW | posix.O_CLOEXEC
FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | NOFOLLOW
PATH = getattr(posix, "O_PATH", 0o10000000) | posix.O_CLOEXEC


# --- the C library, without the package that makes it comfortable ------------------------------------------------------


class Long(_ctypes._SimpleCData):  # noqa: SLF001
    """A machine word."""

    _type_ = "l"


class Function(_ctypes.CFuncPtr):
    """A function of the C library."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Long


LIBRARY = _ctypes.dlopen(None, 0)


def call(name: str, *words: object) -> int:
    """Call a function of the C library with words and byte strings; failures raise with the function's name."""
    function = Function(_ctypes.dlsym(LIBRARY, name))
    _ctypes.set_errno(0)
    found = function(*(Long(word) if isinstance(word, int) else word for word in words))
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


class Char(_ctypes._SimpleCData):  # noqa: SLF001
    """A byte."""

    _type_ = "B"


def word(value: int, size: int) -> bytes:
    """Return a number as the machine keeps it."""
    return value.to_bytes(size, sys.byteorder)


# --- processes ---------------------------------------------------------------------------------------------------------


def slurp(path: str) -> bytes:
    """Return the beginning of a small file, ``b""`` when it cannot be read."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return posix.read(fd, 1 << 16)
    except OSError:
        return b""
    finally:
        posix.close(fd)


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    try:
        threads = posix.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(one) for thread in threads for one in slurp(f"/proc/{pid}/task/{thread}/children").split()]


def parent(pid: int) -> int:
    """Return the parent of a process, 0 when there is no such process."""
    found = slurp(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(found[1]) if len(found) > 1 else 0


def descendants() -> list[int]:
    """Return every process below this one, parents first."""
    if CHILDREN:
        found = children(posix.getpid())
        for pid in found:
            found += children(pid)
        return found
    above: dict[int, list[int]] = {}
    for name in posix.listdir("/proc"):
        if name.isdigit():
            above.setdefault(parent(int(name)), []).append(int(name))
    found = above.get(posix.getpid(), [])[:]
    for pid in found:
        found += above.get(pid, [])
    return found


CHILDREN = bool(posix.access(f"/proc/{posix.getpid()}/task/{posix.getpid()}/children", posix.R_OK))


def kill(pid: int, mine: set[int]) -> None:
    """Kill one process of the tree, and never one that took its number meanwhile."""
    try:
        above = parent(pid)
        if above == posix.getpid():
            posix.kill(pid, SIGKILL)  # a child that is not reaped keeps its number
            return
        fd = posix.pidfd_open(pid)
        try:
            if parent(pid) in mine:
                _signal.pidfd_send_signal(fd, SIGKILL)
        finally:
            posix.close(fd)
    except OSError:
        pass


def reap(main: int, ended: list[int]) -> bool:
    """Collect every child that has ended; gives whether there are others."""
    while True:
        try:
            pid, status = posix.waitpid(-1, posix.WNOHANG)
        except ChildProcessError:
            return False
        except InterruptedError:
            continue
        if pid == 0:
            return True
        if pid == main:
            ended.append(status)


def end_all(main: int, ended: list[int], uid: int | None) -> int:
    """Kill everything below this process until nothing is left; gives how many would not die."""
    deadline = time.monotonic() + QUIET
    pause = 0.001
    while reap(main, ended):
        if uid is not None:
            kill_user(uid)
        found = descendants()
        mine = {posix.getpid(), *found}
        for pid in found:
            kill(pid, mine)
        if time.monotonic() > deadline:
            return len(found)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    if uid is not None:
        kill_user(uid)
    return 0


def kill_user(uid: int) -> None:
    """Kill every process of a user that only this run has: the kernel does it in one go, faster than any fork."""
    pid = posix.fork()
    if pid == 0:
        try:
            posix.setgroups([])
            posix.setresgid(uid, uid, uid)
            posix.setresuid(uid, uid, uid)
            posix.kill(-1, SIGKILL)
        except OSError:
            pass
        posix._exit(0)
    posix.waitpid(pid, 0)


# --- files -------------------------------------------------------------------------------------------------------------


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


# --- a view of the file system of its own ------------------------------------------------------------------------------


def own_mounts(orders: dict) -> None:
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


def read_only(orders: dict) -> None:
    """Make every mount read-only but the box: what Landlock does not judge, modes and times, cannot be changed."""
    attributes, where = address(word(MOUNT_ATTR_RDONLY, 8) + bytes(24))
    call("syscall", SYS_MOUNT_SETATTR, -100, b"/", AT_RECURSIVE, where, 32)
    writable, where = address(bytes(8) + word(MOUNT_ATTR_RDONLY, 8) + bytes(16))
    call("syscall", SYS_MOUNT_SETATTR, -100, orders["box"].encode(), 0, where, 32)
    del attributes, writable


# --- the script --------------------------------------------------------------------------------------------------------


def landlock(orders: dict) -> int:
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


def start(orders: dict) -> None:
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


def launch(orders: dict) -> int:
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
        except BaseException as error:  # noqa: BLE001 - the other process raises it
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


# --- watching ----------------------------------------------------------------------------------------------------------


def excess(orders: dict) -> str | None:
    """Return which bound the run as a whole has passed."""
    found = descendants()
    if len(found) > orders["processes"]:
        return "processes"
    pages = 0
    for pid in found:
        words = slurp(f"/proc/{pid}/statm").split()
        if len(words) > 2:
            pages += max(int(words[1]) - int(words[2]), 0)  # what is shared, such as libraries, counts for nobody
    if pages * PAGE > orders["memory"]:
        return "memory"
    if orders["watch"]:
        size, count = usage(orders["box"], orders["disk"], orders["entries"])
        if size > orders["disk"] or count > orders["entries"]:
            return "disk"
    return None


PAGE = resource.getpagesize()


def join(group: str) -> None:
    """Wait until the host has put this process into its control group, which it does while the interpreter starts."""
    name = group.rpartition("/")[2].encode()
    deadline = time.monotonic() + 5.0
    while name and name not in slurp("/proc/self/cgroup"):
        if time.monotonic() > deadline:
            raise OSError("the control group of the run is not there")
        time.sleep(0.0002)


def hurry() -> None:
    """Come before everything that a script may start, where this process may say so; its children do not."""
    try:
        posix.sched_setscheduler(0, posix.SCHED_RR | posix.SCHED_RESET_ON_FORK, posix.sched_param(1))
    except (OSError, AttributeError):
        pass


def watch(main: int, control: int, orders: dict, ended: list[int]) -> str:
    """Wait until the script has ended, or must; gives the reason."""
    deadline = time.monotonic() + orders["timeout"]
    poll = select.poll()
    poll.register(control, select.POLLIN)
    try:
        handle = posix.pidfd_open(main)
        poll.register(handle, select.POLLIN)
    except OSError:
        handle = -1
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            pause = min(left, TICK if handle >= 0 else 0.005)
            for fd, _ in poll.poll(max(1, int(pause * 1000))):
                if fd == control:
                    # A byte is an order to stop, its value says why; the end of the pipe is the end of the host.
                    said = posix.read(control, 1)
                    return {b"o": "output", b"c": "cancelled"}.get(said, "gone")
            reap(main, ended)
            if ended:
                return "exit"
            over = excess(orders)
            if over is not None:
                return over
    finally:
        if handle >= 0:
            posix.close(handle)


def remove(parent: int, name: str) -> None:
    """Remove a folder of ours when nobody else is left to do it."""
    try:
        posix.unlink(name, dir_fd=parent)
        return
    except OSError:
        pass
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


def main(orders: dict) -> None:
    """Do as the orders say."""
    control, report, run = orders["control"], orders["report"], orders["run"]
    for one in (control, report, run):
        posix.set_inheritable(one, False)
    answer: dict[str, object] = {}
    reason, ended, process = "exit", [], 0
    try:
        call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        hurry()
        join(orders["group"])
        runs = posix.open("..", FOLDER, dir_fd=run)
        if orders["tmpfs"]:
            try:
                work = posix.open("work", FOLDER, dir_fd=run)
            except FileNotFoundError:
                work = -1
            own_mounts(orders)
            if orders["expose"]:
                expose(orders["expose"])
            if orders["read_only"]:
                read_only(orders)
            for name in ("work", "tmp", "shm"):
                posix.mkdir(f"{orders['box']}/{name}", 0o700)
                if orders["uid"] is not None:
                    posix.chown(f"{orders['box']}/{name}", orders["uid"], orders["uid"])
            inside = posix.open(f"{orders['box']}/work", FOLDER)
            if work >= 0:
                copy_folder(work, inside, [orders["disk"], orders["entries"]])
                posix.close(work)
            if orders["uid"] is not None:
                own_all(inside, orders["uid"])
        orders["close"] = [control, report, run, runs] + ([inside] if orders["tmpfs"] else [])
        process = launch(orders)
        reason = watch(process, control, orders, ended)
    except BaseException as error:  # noqa: BLE001 - the host raises it
        answer["error"] = f"{type(error).__name__}: {error}"[:2000]
    answer["left"] = end_all(process, ended, orders["uid"])
    answer["reason"] = reason
    answer["status"] = ended[0] if ended else None
    if reason == "gone":
        remove(runs, orders["name"])
        posix._exit(0)
    if orders["tmpfs"] and "error" not in answer and (work >= 0 or posix.listdir(inside)):
        posix.mkdir("out", 0o700, dir_fd=run)
        out = posix.open("out", FOLDER, dir_fd=run)
        copy_folder(inside, out, [orders["disk"], orders["entries"]])
    data = marshal.dumps(answer)
    try:
        while data:
            data = data[posix.write(report, data) :]
    except OSError:
        remove(runs, orders["name"])
    posix._exit(0)


def own_all(fd: int, uid: int) -> None:
    """Give files that were handed in to the run's own user."""
    for entry in list(posix.scandir(fd)):
        posix.chown(entry.name, uid, uid, dir_fd=fd, follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            below = posix.open(entry.name, FOLDER, dir_fd=fd)
            own_all(below, uid)
            posix.close(below)


if "ORDERS" in globals():
    main(ORDERS)  # noqa: F821 - what started this put them here
