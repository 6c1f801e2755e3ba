"""Attacks on other processes, on privileges, and attempts to outlive the run."""

from skillbelt.testing.runners.attacks.base import Attack

__all__ = ["ATTACKS"]

_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        time.sleep(1.5); open("%(late)s", "w").write("x"); time.sleep(30)
    os._exit(0)
print("daemon started")
"""

_STUBBORN = """
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setpgid(0, 0)
    if os.fork() == 0: os.environ.clear()
    while True:
        time.sleep(0.2)
        if os.path.exists("never"): break
time.sleep(60)
"""

_STOPPED = """
import os, signal
for _ in range(3):
    if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
"""

_EXEC = """
import os, sys
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        os.execve(sys.executable, ["innocent", "-c", "import time; time.sleep(40)"], {})
"""

_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_VM = """
class V(ctypes.Structure): _fields_ = [("b", ctypes.c_void_p), ("n", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8)
local, remote = V(ctypes.addressof(buffer), 8), V(0x400000, 8)
r = libc.process_vm_readv(%(victim)d, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
print("PWNED memory" if r >= 0 or ctypes.get_errno() == 14 else os.strerror(ctypes.get_errno()))
"""


def _call(what: str, expression: str) -> str:
    return f"{_LIBC}r = {expression}\nprint('PWNED {what}' if r >= 0 else os.strerror(ctypes.get_errno()))"


ATTACKS = (
    # outliving the run
    Attack("a_daemon", "tree_kill", _DAEMON, wait=2.0),
    Attack("a_child_that_holds_the_output", "tree_kill", "import subprocess\nsubprocess.Popen(['/bin/sleep', '25']); print('held')"),
    Attack("a_group_of_its_own", "tree_kill", "import os, time\nif os.fork() == 0: os.setpgid(0, 0); time.sleep(40)\n"),
    Attack("zombies", "tree_kill", "import os\nfor _ in range(20):\n  if os.fork() == 0: os._exit(0)\nprint('zombies')"),
    Attack("ignoring_every_signal", "tree_kill", _STUBBORN, timeout=1.5, ends=("timeout",)),
    Attack("stopping_itself", "tree_kill", _STOPPED, timeout=1.5, ends=("timeout",)),
    Attack("hiding_behind_another_name", "tree_kill", _EXEC),
    # other processes
    Attack("a_signal", "processes", "import os\nos.kill(%(victim)d, 10); print('PWNED signalled')"),
    Attack("killing_the_host", "processes", "import os\nos.kill(%(host)d, 0); print('PWNED the host')"),
    Attack("killing_everything", "processes", "import os\ntry: os.kill(-1, 10)\nexcept OSError: pass"),
    Attack("killing_its_parent", "processes", "import os\np = os.getppid()\nos.kill(p, 10) if p > 2 else None\nprint('PWNED' if p > 2 else '')"),
    Attack("tracing", "processes", _call("traced", "libc.ptrace(16, %(victim)d, 0, 0)")),
    Attack("seizing", "processes", _call("seized", "libc.ptrace(0x4206, %(victim)d, 0, 0)")),
    Attack("reading_memory", "processes", _LIBC + _VM),
    Attack("writing_memory_through_proc", "processes", "open('/proc/%(victim)d/mem', 'r+b').close(); print('PWNED memory')"),
    Attack("taking_a_descriptor", "processes", "import os\nfd = os.pidfd_open(%(victim)d)\n" + _call("descriptor", "libc.syscall(438, fd, 0, 0)")),
    Attack("limiting_another", "processes", "import resource\nresource.prlimit(%(victim)d, resource.RLIMIT_NOFILE, (9, 9))\nprint('PWNED limits')"),
    Attack("slowing_another", "processes", "import os\nos.setpriority(os.PRIO_PROCESS, %(victim)d, 19); print('PWNED priority')"),
    Attack("moving_another", "processes", "import os\nos.sched_setaffinity(%(victim)d, {0}); print('PWNED affinity')"),
    Attack("entering_a_namespace", "processes", "import os\nfd = os.open('/proc/%(victim)d/ns/net', os.O_RDONLY)\n" + _call("entered", "libc.setns(fd, 0)")),
    # privileges
    Attack("gaining_privileges", "processes", "import re\ns = open('/proc/self/status').read()\n"
           "print('PWNED' if re.search(r'NoNewPrivs:\\s+0', s) else 'on')\n"
           "print('PWNED caps' if int(re.search(r'CapEff:\\s+(\\w+)', s)[1], 16) else 'none')"),
    Attack("becoming_root", "processes", "import os\nprint('PWNED' if 0 in os.getresuid() + os.getresgid() else '')\nos.setuid(0); print('PWNED root')"),
    Attack("a_user_namespace", "processes", _call("unshared", "libc.unshare(0x10000000 | 0x20000)")),
    Attack("a_user_namespace_by_clone", "processes", _LIBC + "r = libc.syscall(%(clone)d, 0x10000000 | 17, 0, 0, 0, 0)\n"
           "if r == 0: os._exit(0)\nprint('PWNED cloned' if r > 0 else os.strerror(ctypes.get_errno()))"),
    Attack("a_user_namespace_by_clone3", "processes", _LIBC + "import struct\na = struct.pack('=11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)\n"
           "r = libc.syscall(435, a, len(a))\nif r == 0: os._exit(0)\nprint('PWNED cloned' if r > 0 else os.strerror(ctypes.get_errno()))"),
    Attack("mounting", "fs_write", "import os\nos.mkdir('m')\n" + _call("mounted", "libc.mount(b'none', b'm', b'tmpfs', 0, None)")),
    Attack("changing_root", "fs_read", "import os\nos.mkdir('r'); os.chroot('r'); print('PWNED root')"),
    Attack("typing_into_the_terminal", "processes", "import fcntl, os\n"
           "for fd in (0, 1, 2):\n  try: fcntl.ioctl(fd, 0x5412, b'x'); print('PWNED typed')\n  except OSError: pass"),
    Attack("loading_bpf", "processes", _call("bpf", "libc.syscall(%(bpf)d, 5, ctypes.create_string_buffer(128), 128)")),
    Attack("measuring_others", "processes", _LIBC + "a = ctypes.create_string_buffer(128); a[4] = 128\n"
           "r = libc.syscall(%(perf)d, a, -1, 0, -1, 0)\nprint('PWNED perf' if r >= 0 else os.strerror(ctypes.get_errno()))"),
    Attack("keys", "processes", _LIBC + "r = libc.syscall(%(add_key)d, b'user', b'evil', b'x', 1, -4)\n"
           "print('PWNED a key' if r >= 0 else os.strerror(ctypes.get_errno()))"),
    Attack("the_kernels_log", "processes", _call("log", "libc.klogctl(10, None, 0)")),
    Attack("handling_page_faults", "processes", _call("userfaultfd", "libc.syscall(%(userfaultfd)d, 1)")),
    Attack("a_foreign_architecture", "processes", _LIBC + """
import mmap, platform
if platform.machine() == "x86_64":
    m = mmap.mmap(-1, 4096, prot=7)
    m.write(bytes.fromhex("b814000000cd80c3"))  # getpid as a program of 32 bits asks for it
    f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
    print("PWNED" if f() > 0 else "refused", flush=True)
"""),
)  # fmt: skip
