"""Attacks that want more than their share: time, memory, processes, output, disk."""

from skillbelt.testing.runners.attacks.base import Attack

__all__ = ["ATTACKS"]

_FORKS = """
import os, time
n = 0
for i in range(400):
    try:
        if os.fork() == 0: time.sleep(20); os._exit(0)
        n += 1
    except OSError: break
time.sleep(0.5)
print("PWNED forked" if n > 60 else n, flush=True)
"""

_BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""

_THREADS = """
import threading, time
n = 0
try:
    for _ in range(300):
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start(); n += 1
except RuntimeError: pass
print("PWNED threads" if n > 60 else n, flush=True)
import os; os._exit(0)
"""

_MEMORY = """
held = []
for _ in range(40): held.append(bytearray(64 << 20))
print("PWNED 2.5 GiB")
"""

_SHARED = """
import mmap
held = []
for _ in range(40):
    m = mmap.mmap(-1, 64 << 20)
    for at in range(0, 64 << 20, 4096): m[at] = 1
    held.append(m)
print("PWNED 2.5 GiB")
"""

_TOGETHER = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        for at in range(0, len(held), 4096): held[at] = 1
        time.sleep(20)
time.sleep(10)
print("PWNED 1.2 GiB")
"""

_NAMELESS = """
import os
fds = []
for _ in range(60):
    fd = os.memfd_create("m"); fds.append(fd)
    os.write(fd, b"x" * (15 << 20))
print("PWNED memory without a name")
"""

_SYSV = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
r = libc.shmget(0, 1 << 30, 0o1600)
if r >= 0: libc.shmctl(r, 0, None)
print("PWNED shared memory" if r >= 0 else os.strerror(ctypes.get_errno()))
"""

_OUTPUT = "import os\nb = b'A' * 65536\nfor _ in range(16384): os.write(%s, b)\nprint('done')"

_FILES = """
import os
n = 0
try:
    for i in range(30000):
        open(f"f{i}", "w").close(); n += 1
except OSError: pass
import time; time.sleep(0.3)
print("PWNED files" if n > 25000 else n)
"""

_MANY = """
n = 0
try:
    for i in range(30):
        with open(f"{where}f{i}", "wb") as f:
            for _ in range(12): f.write(b"x" * (1 << 20)); n += 1
except OSError: pass
import time; time.sleep(0.3)
print("PWNED", n, "MiB") if n > {most} else print(n)
"""

ATTACKS = (
    Attack("looping", "limits", "while True: pass", timeout=1.5, ends=("timeout",)),
    Attack("ignoring_the_end", "limits", "import signal, time\nsignal.signal(15, signal.SIG_IGN); time.sleep(60)", timeout=1.5, ends=("timeout",)),
    Attack("forking", "process_limit", _FORKS),
    Attack("a_fork_bomb", "process_limit", _BOMB, timeout=3.0, ends=("timeout", "processes")),
    Attack("a_fork_bomb_of_a_shell", "process_limit", "import os\nos.execv('/bin/sh', ['sh', '-c', 'b() { b | b & }; b; sleep 20'])", timeout=3.0),
    Attack("threads", "process_limit", _THREADS),
    Attack("memory", "limits", _MEMORY, timeout=8.0),
    Attack("memory_that_is_shared", "limits", _SHARED, timeout=8.0),
    Attack("memory_of_many", "limits", _TOGETHER, timeout=8.0),
    Attack("memory_without_a_name", "disk", _NAMELESS, timeout=8.0),
    Attack("memory_of_system_v", "disk", _SYSV),
    Attack("output_without_end", "limits", _OUTPUT % 1, timeout=8.0, ends=("output", "timeout")),
    Attack("errors_without_end", "limits", _OUTPUT % 2, timeout=8.0, ends=("output", "timeout")),
    Attack("a_big_file", "limits", "f = open('fill', 'wb')\nfor _ in range(300): f.write(b'x' * (1 << 20))\nf.flush(); print('PWNED 300 MB')", timeout=8.0),
    Attack("many_files", "disk_watch", _FILES, timeout=8.0),
    Attack("many_big_files", "disk_watch", _MANY.replace("{where}", "").replace("{most}", "300"), timeout=8.0),
    Attack("many_big_files_at_once", "disk", _MANY.replace("{where}", "").replace("{most}", "34"), timeout=8.0),
    Attack("temporary_files", "disk", "import os\nos.chdir(os.environ['TMPDIR'])\n" + _MANY.replace("{where}", "").replace("{most}", "34"), timeout=8.0),
    Attack("shared_memory", "disk", "import os\nos.chdir('/dev/shm')\n" + _MANY.replace("{where}", "").replace("{most}", "34"), timeout=8.0),
    Attack("the_root_of_the_sandbox", "disk", "import os\nfor d in ('/', '/dev', '/etc', '/run', '/var/tmp', '/skillbelt'):\n"
           "  try: os.chdir(d); open('evil', 'w').write('x'); print('PWNED', d)\n  except OSError: pass"),
    Attack("raising_its_own_limits", "limits", "import resource\n"
           "for kind in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):\n"
           "  try:\n    before = resource.getrlimit(kind); resource.setrlimit(kind, (before[1] + 1, before[1] + 1)); print('PWNED' if %(dropped)d else '')\n"
           "  except (OSError, ValueError): pass"),
    Attack("dying_with_a_core", "limits", "import ctypes\nctypes.string_at(0)"),
    Attack("more_open_files", "limits", "f = []\ntry:\n  for _ in range(2000): f.append(open('/dev/null'))\nexcept OSError: pass\nprint('PWNED files' if len(f) > 1000 else len(f))"),
)  # fmt: skip
