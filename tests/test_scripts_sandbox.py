"""SandboxRunner: which fence it takes, that it never takes less, and the attacks of the shared table on each."""

import errno
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from scripts_net import net
from skillbelt import MappingSource, ScriptError, SkillRouter
from skillbelt.models import ScriptResult
from skillbelt.scripts import (
    Interpreters,
    LocalRunner,
    SandboxRunner,
    ScriptLimits,
    ScriptRequest,
    SkillFiles,
    Workspace,
    landlock,
    orders,
    rungs,
    sandbox,
    selftest,
)
from skillbelt.scripts.folders import remove_tree
from skillbelt.scripts.rungs import Rung, candidates, own_uid
from skillbelt.scripts.seccomp import seccomp_filter
from skillbelt.testing.runners.stage import Stage

TABLE = json.loads((Path(__file__).parent / "data/security/script_attacks.json").read_text())
LIMITS = ScriptLimits(timeout=10, memory=512 << 20, processes=32, file_size=100 << 20, disk=100 << 20)
HEAD = "---\nname: tool\ndescription: Does things.\n---\nRun it.\n"


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def runner(request, tmp_path_factory):
    try:
        return SandboxRunner(cache=tmp_path_factory.mktemp("cache"), limits=LIMITS, rungs=[request.param])
    except ScriptError as error:
        pytest.skip(f"NOT CHECKED: there is no {request.param} here: {error}")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return LocalRunner(cache=tmp_path_factory.mktemp("local"), limits=LIMITS)


def run(runner, code, *args, **options):
    files = SkillFiles.of({"SKILL.md": HEAD.encode(), "scripts/main.py": code.encode()})
    return runner.run(ScriptRequest("tool", "scripts/main.py", files, args, **options))


# --- the attacks of the shared table ----------------------------------------------------------------------------------


def attack(runner, case):
    """Run a case of the table and judge it as its file says."""
    with net(), Stage() as stage:
        places = {
            "RT": str(stage.root), "PORT": stage.port, "UDP": stage.udp.getsockname()[1], "VICTIM": stage.victim.pid,
            "TAG": stage.tag,
        }  # fmt: skip
        skills = stage.root / "skills" / "demo"
        (stage.root / "home/.ssh").mkdir(exist_ok=True, parents=True)
        here = str(stage.root / "outside")
        texts = {"SKILL.md": HEAD, "scripts/main.py": case["code"]}
        texts |= {f"scripts/{name}": text for name, text in case.get("files", {}).items()}
        # The table was made for one folder of its own; here each attack has a stage.
        made = {
            p: (t % places).replace("/tmp/sec/rt", here).replace("/host.sock", "/s").encode() for p, t in texts.items()
        }
        files = SkillFiles.of(made)
        runner.limits = ScriptLimits(
            **{**{f: getattr(LIMITS, f) for f in LIMITS.__slots__}, "timeout": case["timeout"]}
        )
        os.environ["HOST_KEY"] = "CANARYKEY-7c41"
        began = time.monotonic()
        try:
            result = runner.run(ScriptRequest("demo", "scripts/main.py", files))
        finally:
            del os.environ["HOST_KEY"]
            runner.limits = LIMITS
        took = time.monotonic() - began
        assert "PWNED" not in result.stdout, result.stdout[:500]
        assert not skills.exists()
        check = case["host"]
        if check == "forked":
            forked = re.search(r"FORKED (\d+)", result.stdout)
            assert result.reason == "processes" or int(forked[1]) <= LIMITS.processes
        if check == "flood":
            assert len(result.stdout) + len(result.stderr) < 2 * LIMITS.output + 500 and result.truncated
        if check == "timeout":
            assert result.timed_out
        if check == "listen" and (port := re.search(r"LISTENING (\d+)", result.stdout)):
            with closing(socket.socket()) as caller:
                assert caller.connect_ex(("127.0.0.1", int(port[1]))) != 0
        if check == "artefacts":
            assert [info.path for info in result.files] == []
        if check == "late":
            time.sleep(2)
        assert took < case["timeout"] + 3
        stage._untouched(case["id"])
        stage._nothing_left(case["id"])


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["id"])
def test_the_shared_table_is_stopped_by_every_sandbox(case, runner):
    attack(runner, case)


LOCAL = "A12 A13 A18 A19 A20 A22 A24 A25 A26 A27 A32 A38 A39 A40 A42".split()
"""What LocalRunner claims to stop; docs/explanation/sandbox.md lists the others."""


@pytest.mark.parametrize("case", [case for case in TABLE["cases"] if case["id"] in LOCAL], ids=lambda case: case["id"])
def test_local_runner_stops_what_it_claims(case, local):
    if case["id"] == "A18" and "process_limit" not in local.guarantees:
        pytest.skip("NOT CHECKED: the kernel counts no processes of root here")
    attack(local, case)


def test_the_docs_list_what_local_runner_does_not_stop():
    page = (Path(__file__).parents[1] / "docs/explanation/sandbox.md").read_text()
    for case in TABLE["cases"]:
        row = re.search(rf"^\| {case['id']} \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
        assert row, case["id"]
        assert row[1].strip() == ("stopped" if case["id"] in LOCAL else "**not stopped**"), case["id"]
        assert row[2].strip() == row[3].strip() == "stopped", case["id"]


# --- which fence ------------------------------------------------------------------------------------------------------


def test_the_best_rung_that_holds_is_taken_and_says_what_it_is(tmp_path):
    found, _ = candidates(rungs.RUNGS)
    if not found:
        pytest.skip("NOT CHECKED: there is no sandbox here")
    runner = SandboxRunner(cache=tmp_path)
    assert runner.rung == found[0]
    assert runner.name == f"sandbox ({found[0]})"


def test_a_rung_that_fails_its_test_is_not_used_and_the_next_one_is(tmp_path, monkeypatch):
    tried = []

    def test(run, *, cache):
        tried.append(cache)
        return "a script can connect to the host" if len(tried) == 1 else None

    two = [Rung("bubblewrap", True, False, False), Rung("landlock", True, False, False)]
    monkeypatch.setattr(sandbox, "candidates", lambda wanted: (two, []))
    monkeypatch.setattr(sandbox, "tried", test)
    assert SandboxRunner(cache=tmp_path).rung == two[1]
    assert len(tried) == 2


def test_without_a_rung_that_holds_there_is_no_runner_and_the_message_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(rungs, "bwrap", lambda: None)
    monkeypatch.setattr(rungs, "landlock_version", lambda: 4)
    with pytest.raises(ScriptError) as caught:
        SandboxRunner(cache=tmp_path)
    assert "bwrap is not installed" in str(caught.value) and "Landlock 4" in str(caught.value)
    monkeypatch.setattr(rungs, "landlock_version", lambda: 0)
    with pytest.raises(ScriptError, match="Landlock not at all"):
        SandboxRunner(cache=tmp_path, rungs=["landlock"])
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ScriptError, match="need Linux"):
        SandboxRunner(cache=tmp_path)
    assert landlock.landlock_version() == 0


@pytest.mark.parametrize("wanted", [[], ["docker"], ["landlock", "none"]])
def test_rungs_there_are_not_are_refused(wanted, tmp_path):
    with pytest.raises(ScriptError, match="rungs are bubblewrap, landlock"):
        SandboxRunner(cache=tmp_path, rungs=wanted)


def test_a_bubblewrap_that_went_away_is_an_error_and_never_a_run_without_it(tmp_path, monkeypatch):
    try:
        runner = SandboxRunner(cache=tmp_path, rungs=["bubblewrap"])
    except ScriptError as error:
        pytest.skip(f"NOT CHECKED: {error}")
    monkeypatch.setattr(rungs, "bwrap", lambda: None)
    with pytest.raises(ScriptError, match="bwrap is gone"):
        run(runner, "print('ran')")


def weaker(**changes):
    """What the probe would report through a fence with one hole."""
    sound = {
        "read a file of the host": "PermissionError", "connect to the host": "PermissionError",
        "start too many processes": "limit", "privileges": "1", "honest": "honest words",
    }  # fmt: skip
    return ScriptResult(exit_code=0, stdout=json.dumps(sound | changes), contents={"left.txt": b"honest"})


@pytest.mark.parametrize(
    ("result", "wrong"),
    [
        (weaker(), None),
        (weaker(**{"read a file of the host": "DONE"}), "a script can read a file of the host"),
        (weaker(**{"start too many processes": "DONE"}), "start too many processes"),
        (weaker(privileges="0"), "keeps privileges"),
        (weaker(privileges="1000001ffffffffff"), "keeps privileges"),
        (weaker(honest="other"), "cannot read its skill"),
        (weaker().model_copy(update={"contents": {}}), "leave a file"),
        (ScriptResult(exit_code=127, stderr="no such file"), "an honest script does not run in it: no such file"),
    ],
)
def test_the_selftest_takes_a_fence_for_sound_only_without_a_hole(result, wrong, tmp_path):
    found = selftest.tried(lambda request: result, cache=tmp_path)
    assert found is None if wrong is None else wrong in found


def test_the_selftest_believes_its_own_eyes_more_than_the_script(tmp_path):
    def connecting(request):
        with socket.create_connection(("127.0.0.1", int(request.args[2]))):
            return weaker()

    def sending(request):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(b"x", ("127.0.0.1", int(request.args[2])))
        return weaker()

    def writing(request):
        Path(request.args[1]).write_text("x")
        return weaker()

    def failing(request):
        raise ScriptError("It cannot be started.")

    assert selftest.tried(connecting, cache=tmp_path) == "a script can connect to the host"
    assert selftest.tried(sending, cache=tmp_path) == "a script can send a datagram to the host"
    assert selftest.tried(writing, cache=tmp_path) == "a script can write files of the host"
    assert selftest.tried(failing, cache=tmp_path) == "It cannot be started."
    assert selftest.tried(lambda request: run_unfenced(tmp_path, request), cache=tmp_path).startswith("a script can")


def run_unfenced(tmp_path, request):
    with net():
        return LocalRunner(cache=tmp_path / "local", limits=ScriptLimits(processes=100)).run(request)


def test_users_of_runs_differ_and_exist(monkeypatch, tmp_path):
    assert own_uid(1) != own_uid(2)
    assert own_uid(os.getpid() * 64) > 1 << 30
    real = open

    def mapped(lines):
        path = tmp_path / "map"
        path.write_text(lines)
        monkeypatch.setattr(
            "builtins.open", lambda name, *a, **k: real(path if name == "/proc/self/uid_map" else name, *a, **k)
        )

    mapped("0 100000 65536\n")
    assert 32768 <= own_uid(7) < 65536 and own_uid(7) != own_uid(8)
    mapped("0 1000 1\n")
    with pytest.raises(ScriptError, match="no user left"):
        own_uid(7)
    numbers = sandbox._Users()
    assert len({numbers.next() for _ in range(64)}) == 64


# --- what an honest script finds --------------------------------------------------------------------------------------


def test_nothing_of_the_host_is_seen_but_the_system_and_the_interpreter(runner, tmp_path):
    code = """
import os, sys
for path in sys.argv[1:]:
    try: print(path, os.listdir(path) if os.path.isdir(path) else open(path).read(10))
    except OSError as e: print(path, type(e).__name__)
print(os.getcwd(), os.environ["TMPDIR"])
"""
    (tmp_path / "x").write_text("host")
    result = run(runner, code, str(tmp_path), "/etc/hostname", "/home", "/var/log", os.path.expanduser("~/.ssh"))
    assert all(line.endswith("Error") for line in result.stdout.splitlines()[:-1]), result.stdout


def test_bubblewrap_hides_the_paths_of_the_host(tmp_path):
    try:
        sandboxed = SandboxRunner(cache=tmp_path, rungs=["bubblewrap"])
    except ScriptError as error:
        pytest.skip(f"NOT CHECKED: {error}")
    assert run(sandboxed, "import os; print(__file__, os.getcwd())").stdout == (
        "/skillbelt/skill/scripts/main.py /skillbelt/work\n"
    )


def test_multiprocessing_threads_and_temporary_files_work(runner):
    code = """
import tempfile, threading, multiprocessing, sqlite3, shutil, os, subprocess, socket
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
sqlite3.connect("db").execute("create table t (x)")
open("a", "w").write("1"); shutil.copy2("a", "b"); os.chmod("b", 0o700); os.utime("b")
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
print(subprocess.run(["/bin/sh", "-c", "echo shell"], capture_output=True, text=True).stdout.strip())
p = multiprocessing.get_context("fork").Process(target=print, args=("process",), kwargs={"flush": True})
p.start(); p.join()
import asyncio; asyncio.run(asyncio.sleep(0)); print("loop")
"""
    result = run(runner, code)
    assert result.stdout == "b'x'\nthread\nshell\nprocess\nloop\n", result.stderr


def test_the_working_folder_has_a_hard_end_and_the_host_gets_what_fits(runner):
    runner.limits = ScriptLimits(disk=8 << 20, file_size=64 << 20, artifacts=64 << 20)
    try:
        result = run(runner, "open('small', 'w').write('x')\nf = open('big', 'wb')\nwhile True: f.write(b'x' * 65536)")
    finally:
        runner.limits = LIMITS
    assert "No space left" in result.stderr or result.reason == "disk"
    assert sum(info.size for info in result.files) <= (8 << 20) + 65536
    assert result.contents["small"] == b"x"


def test_the_network_is_there_when_the_host_grants_it_and_only_then(tmp_path, request):
    code = "import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); print(s.recv(5))"
    for rung in rungs.RUNGS:
        try:
            granted = SandboxRunner(cache=tmp_path, rungs=[rung], network=["tool"], limits=LIMITS)
        except ScriptError:
            continue
        with closing(socket.create_server(("127.0.0.1", 0))) as server:
            thread = threading.Thread(target=lambda server=server: _greet(server))
            thread.start()
            result = run(granted, code, str(server.getsockname()[1]))
            if not result.ok:
                with socket.create_connection(server.getsockname()):
                    pass
            thread.join()
        assert result.stdout == "b'hello'\n", (rung, result.stderr)
        files = SkillFiles.of({"SKILL.md": b"", "scripts/main.py": code.encode()})
        refused = granted.run(ScriptRequest("other", "scripts/main.py", files, ("1",)))
        assert "PermissionError" in refused.stderr
        unix = run(granted, "import socket; socket.socket(socket.AF_UNIX)")
        assert "PermissionError" in unix.stderr  # the network is the internet, not the sockets of the host
        assert SandboxRunner(cache=tmp_path, rungs=[rung], network=True)._network is True


def _greet(server):
    connection, _ = server.accept()
    connection.sendall(b"hello")
    connection.close()


def test_a_workspace_goes_in_and_comes_out_of_a_sandbox_whole(runner, tmp_path):
    with Workspace({"deep/in.txt": b"in"}, cache=runner._cache.root) as workspace:
        code = "import os\nopen('deep/out.txt', 'w').write(open('deep/in.txt').read()); os.remove('deep/in.txt')"
        assert run(runner, code, workspace=workspace).ok
        assert [info.path for info in workspace.files()] == ["deep/out.txt"]
        code = "import os\nos.symlink('/etc/passwd', 'l'); os.mkfifo('p'); os.mkdir('e'); print(os.listdir('deep'))"
        assert run(runner, code, workspace=workspace).stdout == "['out.txt']\n"
        assert [info.path for info in workspace.files()] == ["deep/out.txt"]


def test_a_script_of_a_router_runs_in_a_sandbox_with_secrets(runner):
    from skillbelt.scripts import Secrets

    source = MappingSource({"tool/SKILL.md": HEAD, "tool/scripts/main.py": "import os; print(len(os.environ['KEY']))"})
    router = SkillRouter(source, runner=runner, secrets=Secrets({"tool": {"KEY": "0123456789"}}))
    assert router.run("tool", "scripts/main.py").stdout == "10\n"


def test_a_secret_is_in_no_command_line(runner):
    secret = "s3cr3t-on-no-command-line"
    seen = []

    def look():
        for _ in range(60):
            for name in (path.name for path in Path("/proc").iterdir()):
                if name.isdigit():
                    try:
                        seen.append(secret.encode() in Path(f"/proc/{name}/cmdline").read_bytes())
                    except OSError:
                        continue
            time.sleep(0.005)

    thread = threading.Thread(target=look)
    thread.start()
    result = run(runner, "import os, time; time.sleep(0.3); print(len(os.environ['KEY']))", secrets={"KEY": secret})
    thread.join()
    assert result.stdout == f"{len(secret)}\n" and not any(seen)


def test_an_interpreter_in_an_odd_place_comes_along(runner, tmp_path):
    place = tmp_path / "lang" / "bin"
    place.mkdir(parents=True)
    (place / "odd").write_text('#!/bin/sh\nshift 0\necho odd "$2"\n')
    (place / "odd").chmod(0o755)
    for folder in (tmp_path / "lang", place):
        folder.chmod(0o755)
    before = runner.interpreters
    runner.interpreters = Interpreters(commands={"lua": [str(place / "odd")]})
    try:
        files = SkillFiles.of({"SKILL.md": b"", "a.lua": b"x"})
        assert runner.run(ScriptRequest("t", "a.lua", files, ("arg",))).stdout == "odd arg\n"
    finally:
        runner.interpreters = before


# --- the filter -------------------------------------------------------------------------------------------------------


def judged(program, number, *arguments, arch=0xC000003E):
    """What a filter answers to a call: a small machine for its instructions."""
    data = struct.pack("=IIQ", number, arch, 0) + b"".join(struct.pack("=Q", a & (1 << 64) - 1) for a in arguments)
    data += bytes(64 - len(data))
    at = register = 0
    while True:
        operation, yes, no, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if operation == 0x20:
            (register,) = struct.unpack_from("=I", data, value)
        elif operation == 0x54:
            register &= value
        elif operation == 0x06:
            return value
        else:
            held = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}[operation]
            at += yes if held else no


ALLOW, KILL, REFUSED = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM


@pytest.mark.parametrize(
    ("number", "arguments", "answer"),
    [
        (0, (), ALLOW),  # read
        (101, (), REFUSED),  # ptrace
        (165, (), REFUSED),  # mount
        (41, (2, 1, 0), REFUSED),  # socket
        (53, (1, 1, 0), ALLOW),  # socketpair of streams
        (53, (1, 1 | 0o2000000, 0), ALLOW),
        (53, (1, 2, 0), REFUSED),  # of datagrams
        (53, (1, 5, 0), ALLOW),
        (53, (2, 1, 0), REFUSED),
        (44, (3, 1, 1, 0, 0, 0), ALLOW),  # sendto without an address
        (44, (3, 1, 1, 0, 0x7F00, 16), REFUSED),
        (44, (3, 1, 1, 0, 0x7F0000000000, 16), REFUSED),
        (56, (17,), ALLOW),  # clone for a fork
        (56, (0x10000000 | 17,), REFUSED),
        (56, (0x20000,), REFUSED),
        (435, (), 0x00050000 | errno.ENOSYS),  # clone3
        (16, (0, 0x5401), ALLOW),  # ioctl TCGETS
        (16, (0, 0x5412), REFUSED),  # TIOCSTI
        (16, (0, 0x5412 | 1 << 32), REFUSED),  # the kernel looks at half of it
        (302, (0, 7), ALLOW),  # prlimit64 of oneself
        (302, (1234, 7), REFUSED),
        (141, (0, 0, 5), ALLOW),
        (141, (0, 1234, 5), REFUSED),
        (0x40000000, (), KILL),  # x32
        (90, (), ALLOW),  # chmod
    ],
)
def test_the_filter_judges_calls_and_their_arguments(number, arguments, answer):
    assert judged(seccomp_filter(machine="x86_64"), number, *arguments) == answer


def test_other_architectures_are_ended_and_have_tables_of_their_own():
    program = seccomp_filter(machine="x86_64")
    assert judged(program, 20, arch=0x40000003) == KILL
    arm = seccomp_filter(machine="aarch64")
    assert judged(arm, 117, arch=0xC00000B7) == REFUSED
    assert judged(arm, 63, arch=0xC00000B7) == ALLOW
    assert judged(arm, 117) == KILL
    with pytest.raises(ScriptError, match="no table of system calls"):
        seccomp_filter(machine="riscv64")


def test_with_the_network_only_the_internet_is_let_through():
    program = seccomp_filter(machine="x86_64", network=True)
    assert [judged(program, 41, family, 1) for family in (1, 2, 10, 16, 17, 40)] == [
        REFUSED, ALLOW, ALLOW, ALLOW, REFUSED, REFUSED,
    ]  # fmt: skip
    assert judged(program, 42) == ALLOW


def test_changes_of_modes_can_be_answered_as_if_they_were_made():
    program = seccomp_filter(machine="x86_64", metadata=False)
    assert judged(program, 90) == judged(program, 280) == 0x00050000
    assert judged(program, 188) == 0x00050000 | errno.ENOTSUP


def test_a_filter_is_small_and_every_jump_of_it_ends():
    for machine in ("x86_64", "aarch64"):
        for options in ({}, {"network": True}, {"metadata": False}):
            program = seccomp_filter(machine=machine, **options)
            assert len(program) % 8 == 0 and len(program) // 8 < 600
            arch = 0xC000003E if machine == "x86_64" else 0xC00000B7
            for number in range(600):
                assert judged(program, number, 1, 2, 3, 4, 5, 6, arch=arch) in (
                    ALLOW, REFUSED, 0x00050000 | errno.ENOSYS, 0x00050000, 0x00050000 | errno.ENOTSUP,
                )  # fmt: skip


def test_the_filter_and_landlock_hold_where_no_mount_of_ones_own_can_be_made(tmp_path, request):
    """The weakest form there is: no tmpfs, a watched disk, modes answered as if they were changed."""
    _, missing = candidates(["landlock"])
    if missing:
        pytest.skip(f"NOT CHECKED: {missing}")
    weakest = Rung("landlock", False, False, os.geteuid() == 0)
    real = rungs.candidates
    try:
        sandbox.candidates = lambda wanted: ([weakest], [])
        runner = SandboxRunner(cache=_reachable(tmp_path, request), limits=LIMITS)
    except ScriptError as error:
        pytest.skip(f"NOT CHECKED: {error}")
    finally:
        sandbox.candidates = real
    assert runner.rung == weakest and "disk" not in runner.guarantees
    code = "import os, sys\nos.chmod(sys.argv[1], 0)\nos.utime(sys.argv[1], (1, 1))\nprint('as if')"
    victim = tmp_path / "victim"
    victim.write_text("x")
    before = victim.stat()
    assert run(runner, code, str(victim)).stdout == "as if\n"
    assert (victim.stat().st_mode, victim.stat().st_mtime) == (before.st_mode, before.st_mtime)
    runner.limits = ScriptLimits(disk=4 << 20, timeout=20)
    result = run(
        runner, "import time\nfor n in range(40): open(f'f{n}', 'wb').write(b'x' * (1 << 20)); time.sleep(0.02)"
    )
    assert result.reason == "disk"
    with Workspace({"in": b"1"}, cache=runner._cache.root) as workspace:
        assert run(runner, "open('out', 'w').write(open('in').read())", workspace=workspace).ok
        assert workspace.read("out") == b"1"


def _reachable(tmp_path, request):
    """A folder that another user can reach: without a mount of its own the run's user must get there on foot."""
    if os.geteuid() != 0:
        return tmp_path
    folder = Path(tempfile.mkdtemp(prefix="skillbelt-test-"))
    request.addfinalizer(lambda: remove_tree(folder))
    return folder


def test_the_program_that_watches_imports_nothing_that_a_skill_could_bring():
    own = "skillbelt.scripts.supervisor"
    sources = [path.read_text() for path in Path(sandbox.__file__).with_name("supervisor").glob("*.py")]
    names = {name for text in sources for name in re.findall(r"^(?:import|from) ([\w.]+)", text, re.MULTILINE)}
    outside = {name for name in names if not name.startswith(own)}
    assert outside == {"__future__", "marshal", "posix", "sys", "time", "_ctypes", "_signal", "resource", "select"}
    modules = [name for name, code in orders.supervisor() if code is not None]
    assert {name for name in names if name.startswith(own)} < set(modules)
    loaded = "import sys; print(sorted(m for m in sys.modules if not m.startswith(('encodings', '_frozen'))))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", loaded], capture_output=True, text=True, check=True)
    assert "'os'" not in done.stdout and "'site'" not in done.stdout
