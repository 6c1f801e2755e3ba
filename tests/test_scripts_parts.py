"""The parts that runs are made of: output, interpreters, environment, folders on disk, packages, bounds."""

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillbelt import LimitError, MappingSource, ResourcePathError, ScriptError, SkillRouter
from skillbelt.models import Resource, ResourceInfo
from skillbelt.scripts import (
    Interpreters,
    LocalRunner,
    ScriptLimits,
    ScriptRequest,
    Secrets,
    SkillFiles,
    Workspace,
    cgroups,
    content,
    folders,
    marks,
    packages,
    process,
)
from skillbelt.scripts.artifacts import collect
from skillbelt.scripts.environment import clean_environment
from skillbelt.scripts.inline_metadata import inline_metadata
from skillbelt.scripts.interpreters import language_of, roots_of, shebang
from skillbelt.scripts.materialize import SkillCache
from skillbelt.scripts.output import Capture, Redactor

# --- output -----------------------------------------------------------------------------------------------------------


def captured(pieces, bound=100, secrets=(), hear=None):
    capture = Capture(bound, Redactor(secrets), hear)
    for piece in pieces:
        capture.feed(piece)
    capture.close()
    return capture


def test_short_output_is_kept_as_it_is():
    assert captured([b"one\n", b"two"]).text() == "one\ntwo"
    assert not captured([b"x" * 100]).truncated


@pytest.mark.parametrize("size", [1, 3, 7, 64, 1000])
def test_both_ends_of_long_output_are_kept_whatever_pieces_it_comes_in(size):
    data = bytes(range(97, 123)) * 400
    capture = captured([data[at : at + size] for at in range(0, len(data), size)])
    head, _, rest = capture.text().partition(
        "\n[output cut: 100 of 10400 bytes are shown, the beginning and the end]\n"
    )
    assert capture.truncated and head.encode() == data[:50] and rest.encode() == data[-50:]


def test_a_bound_of_one_byte_works():
    assert captured([b"abc"], bound=1).text().startswith("a\n[output cut: 1 of 3")


def test_memory_does_not_grow_with_the_output():
    capture = Capture(1000, Redactor([]))
    for _ in range(2000):
        capture.feed(b"x" * 10_000)
    assert len(capture._head) + len(capture._tail) < 20_000
    assert capture.total == 20_000_000


def test_a_cut_never_leaves_half_a_character():
    text = captured(["é".encode() * 500], bound=101).text()
    assert "\ufffd" not in text and text.startswith("é") and text.endswith("é")


def test_bytes_that_are_no_text_become_marks():
    assert captured([b"a\xff\xfeb"]).text() == "a\ufffd\ufffdb"


def test_lines_are_heard_whole_without_their_ends_up_to_the_bound():
    heard = []
    captured([b"a\r\nb", b"c\n\n", b"no end"], hear=heard.append)
    assert heard == ["a", "bc", "", "no end"]
    heard.clear()
    captured([b"x" * 9000 + b"\ny\n"], bound=20_000, hear=heard.append)
    assert [len(line) for line in heard] == [4000, 4000, 1000, 1]
    heard.clear()
    captured([b"line\n"] * 1000, bound=50, hear=heard.append)
    assert 10 <= len(heard) <= 12


@given(st.text(min_size=4, max_size=12), st.lists(st.integers(1, 9), max_size=30), st.text(max_size=20))
def test_a_secret_never_comes_through_whatever_pieces_it_comes_in(secret, cuts, around):
    data = f"{around}{secret}{around}".encode("utf-8", "surrogatepass")
    try:
        secret.encode()
    except UnicodeEncodeError:
        return
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(data[at : at + cut])
        at += cut
    redactor = Redactor([secret])
    through = b"".join(redactor.feed(piece) for piece in [*pieces, data[at:]]) + redactor.flush()
    assert secret.encode() not in through.replace(b"[secret]", b"\x00")


def test_secrets_in_addresses_and_messages_are_taken_out_and_tiny_ones_are_left():
    redactor = Redactor(["p@ss/word", "abc"])
    assert redactor.feed(b"https://u:p%40ss%2Fword@host abc ") + redactor.flush() == b"https://u:[secret]@host abc "
    assert redactor.text("p@ss/word!") == "[secret]!"
    assert Redactor([]).text("x") == "x"


# --- interpreters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "data", "language"),
    [
        ("a.py", b"", "python"),
        ("a.PY", b"", "python"),
        ("a.sh", b"", "sh"),
        ("a", b"#!/bin/sh\n", "sh"),
        ("a.py", b"#!/usr/bin/env bash\n", "bash"),
        ("a", b"#!/usr/bin/python3.12 -u\n", "python"),
        ("a", b"#!/usr/bin/env python3\r\n", "python"),
        ("a", b"\xef\xbb\xbf#!/usr/bin/env node\n", "node"),
        ("a", b"#!/usr/bin/env -S FOO=1 -i perl -w\n", "perl"),
        ("a", b"#! /usr/bin/env -S uv run --script\n", "python"),
        ("a", b"#!/usr/bin/Rscript --vanilla\n", "r"),
        ("a", b"#!/bin/dash\n", "sh"),
        ("a.txt", b"text", None),
        ("a", b"", None),
        ("a.py", b"#!\n", "python"),
        ("a.py", b"#!   \nprint()", "python"),
    ],
)
def test_the_first_line_says_what_a_script_is_and_else_its_suffix(path, data, language):
    assert language_of(path, data) == language


def test_python_is_the_hosts_own_and_the_host_can_choose_others(tmp_path):
    found = Interpreters().find("a.py", b"")
    assert found.argv == (sys.executable,)
    chosen = Interpreters(commands={"python": ["python-x", "-u"], "node": "deno"}, path=str(tmp_path))
    for name in ("python-x", "deno"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert chosen.find("a.py", b"").argv == (str(tmp_path / "python-x"), "-u")
    assert chosen.find("a.js", b"").argv == (str(tmp_path / "deno"),)
    with pytest.raises(ScriptError, match="needs ruby, which is not installed"):
        chosen.find("a.rb", b"")


def test_a_shell_script_takes_bash_and_else_sh(tmp_path):
    (tmp_path / "sh").write_text("")
    (tmp_path / "sh").chmod(0o755)
    assert Interpreters(path=str(tmp_path)).find("a.sh", b"").argv == (str(tmp_path / "sh"),)
    with pytest.raises(ScriptError, match="bash"):
        Interpreters(path=str(tmp_path)).find("a", b"#!/bin/bash")


def test_without_an_interpreter_of_its_own_the_host_has_no_python(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ScriptError, match="needs python"):
        Interpreters().find("a.py", b"")


def test_the_folders_of_an_interpreter_are_its_prefixes_and_never_a_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    real = tmp_path / "versions" / "3.99" / "bin"
    real.mkdir(parents=True)
    (real / "python3").write_text("")
    venv = tmp_path / "venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(real / "python3")
    assert roots_of(str(venv / "python")) == (str(tmp_path / "venv"), str(tmp_path / "versions" / "3.99"))
    own = tmp_path / "home" / "bin"
    own.mkdir(parents=True)
    (own / "tool").write_text("")
    assert roots_of(str(own / "tool")) == (str(own / "tool"),)
    assert roots_of("/usr/bin/env") == ()


def test_a_first_line_names_a_program():
    assert shebang(b"#!/usr/bin/env FOO=1") is None
    assert shebang(b"nothing") is None


def test_other_languages_run_when_they_are_installed(tmp_path):
    texts = {
        "a.pl": "print join('|', @ARGV), \"\\n\";",
        "b.js": "console.log(process.argv.slice(2).join('|'))",
        "c.awk": 'BEGIN { print ARGV[1] "|" ARGV[2] }',
    }
    ran = 0
    for name, text in texts.items():
        runner = LocalRunner(cache=tmp_path)
        files = SkillFiles.of({"SKILL.md": b"", name: text.encode()})
        try:
            result = runner.run(ScriptRequest("t", name, files, ("a b", "$x")))
        except ScriptError as error:
            assert "not installed" in str(error)  # noqa: PT017 - or it runs
            continue
        assert result.stdout == "a b|$x\n", (name, result)
        ran += 1
    assert ran >= 1


# --- packages of a script ---------------------------------------------------------------------------------------------

NEEDS = '# /// script\n# requires-python = ">={}"\n# dependencies = ["{}"]\n# ///\nprint("ran")\n'


@pytest.mark.parametrize(
    ("text", "dependencies", "error"),
    [
        ("print()", None, None),
        ("# /// script\n# dependencies = ['a>1', 'b']\n# ///\n", ("a>1", "b"), None),
        ("#!/usr/bin/env python\r\n# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", ("a",), None),
        ("# /// script\n# ///\n", None, None),
        ("# /// script\n#\n# ///\n", (), None),
        ("# /// script\n# x = \n# ///\n", (), "no TOML"),
        (
            "# /// script\n# dependencies = ['a']\n# ///\n\n# /// script\n# dependencies = ['b']\n# ///\n",
            (),
            "two blocks",
        ),
        ("# /// script\n# dependencies = [1]\n# ///\n", (), "no list of strings"),
        ("# /// script\n# requires-python = 3\n# ///\n", (), "no string"),
    ],
)
def test_inline_metadata_is_read_as_the_specification_says(text, dependencies, error):
    found = inline_metadata(text.encode())
    if dependencies is None:
        assert found is None
    else:
        assert found.dependencies == dependencies
        assert error is None if found.error is None else error in found.error


def run_needs(tmp_path, package, python="3.8", **options):
    runner = LocalRunner(cache=tmp_path / "cache", interpreters=Interpreters(**options))
    files = SkillFiles.of({"SKILL.md": b"", "a.py": NEEDS.format(python, package).encode()})
    return runner.run(ScriptRequest("t", "a.py", files))


@pytest.mark.parametrize(
    "package", ["pydantic", "PyYAML>=5", "pydantic ; python_version >= '3'", "gone; python_version < '3'"]
)
def test_a_script_runs_when_the_host_has_what_it_needs(package, tmp_path):
    assert run_needs(tmp_path, package, path="/nowhere").stdout == "ran\n"


@pytest.mark.parametrize(
    "package", ["nowhere-to-be-found", "pydantic>=99", "@@", "pydantic @ https://example.com/x.whl"]
)
def test_a_script_that_needs_more_is_refused_and_the_message_says_what(package, tmp_path):
    with pytest.raises(ScriptError, match="installs are not allowed"):
        run_needs(tmp_path, package, path="/nowhere")
    with pytest.raises(ScriptError, match="uv, which could fetch them, is not installed"):
        run_needs(tmp_path, package, path="/nowhere", install=True)


def test_another_python_than_the_hosts_is_refused(tmp_path):
    with pytest.raises(ScriptError, match=r"needs Python '>=3\.99'"):
        run_needs(tmp_path, "pydantic", python="3.99", path="/nowhere")
    assert not packages._python_fits("nonsense")


def test_without_packaging_the_name_of_a_package_is_all_that_is_judged(monkeypatch):
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    monkeypatch.setitem(sys.modules, "packaging.specifiers", None)
    assert packages._met("pydantic>=99") and not packages._met("nowhere-to-be-found") and not packages._met("@@")
    assert packages._python_fits(">=99")


def test_inline_metadata_nobody_can_read_is_an_error(tmp_path):
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"# /// script\n# dependencies = 1\n# ///\n"})
    with pytest.raises(ScriptError, match="no list of strings"):
        LocalRunner(cache=tmp_path).run(ScriptRequest("t", "a.py", files))


@pytest.mark.skipif(shutil.which("uv") is None, reason="NOT CHECKED: uv is not installed")
def test_with_uv_the_packages_of_a_script_are_fetched_only_when_the_host_allows_it(tmp_path, monkeypatch):
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    with pytest.raises(ScriptError, match="installs are not allowed on this host"):
        run_needs(tmp_path, "six==1.16.0")
    assert run_needs(tmp_path, "six==1.16.0", install=True).stdout == "ran\n"
    assert run_needs(tmp_path, "six==1.16.0").stdout == "ran\n"  # offline, from what uv has kept
    with pytest.raises(ScriptError, match="could not be fetched"):
        run_needs(tmp_path, "nowhere-to-be-found-7c41", install=True)


def fake_uv(folder, text):
    """A uv that does as a test says; the real one is used where it is installed."""
    (folder / "uv").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "uv").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1", "not there"),
        ('test "$1" = sync || echo /no/such/python', "not there"),
        (f'test "$1" = sync || echo {sys.executable}', None),
    ],
)
def test_what_uv_answers_decides(text, said, tmp_path):
    path = fake_uv(tmp_path, f'echo "$@" >> {tmp_path}/calls\n{text}')
    if said is None:
        assert run_needs(tmp_path, "nowhere-to-be-found", path=path).stdout == "ran\n"
    else:
        with pytest.raises(ScriptError, match=said):
            run_needs(tmp_path, "nowhere-to-be-found", path=path, install=True)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert all("--no-build" in call for call in calls if call.startswith("sync"))
    assert "--offline" in calls[0]


def test_a_uv_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "_PATIENCE", 0.2)
    with pytest.raises(ScriptError, match="not there"):
        run_needs(tmp_path, "nowhere-to-be-found", path=fake_uv(tmp_path, "exec sleep 30"))


# --- environment ------------------------------------------------------------------------------------------------------


def test_only_the_allowed_variables_of_the_host_arrive(monkeypatch, tmp_path):
    monkeypatch.setenv("HOST_KEY", "secret")
    monkeypatch.setenv("PASSED", "yes")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    runner = LocalRunner(cache=tmp_path, pass_env=["PASSED", "NOT_SET"], env={"EXTRA": "1"})
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"import os, json; print(json.dumps(dict(os.environ)))"})
    import json

    got = json.loads(runner.run(ScriptRequest("t", "a.py", files)).stdout)
    assert "HOST_KEY" not in got and "NOT_SET" not in got
    assert (got["PASSED"], got["EXTRA"], got["TZ"], got["PYTHONUTF8"]) == ("yes", "1", "Europe/Berlin", "1")
    assert got["HOME"] != os.environ["HOME"]


@pytest.mark.parametrize("bad", [{"A B": "x"}, {"": "x"}, {"A=": "x"}, {"A": "x\x00"}])
def test_what_cannot_be_a_variable_is_refused(bad):
    with pytest.raises(ScriptError, match="cannot be a variable"):
        clean_environment(work="/", temporary="/", path="", passed=(), extra=bad, secrets={})


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "PATH", "BASH_ENV", "NODE_OPTIONS", "a b", "HOME"])
def test_secrets_cannot_steer_an_interpreter(name):
    with pytest.raises(ScriptError, match="cannot be granted"):
        Secrets({"tool": {name: "x"}})


def test_secrets_are_the_skills_own_can_be_bound_to_its_files_and_show_no_value(monkeypatch):
    secrets = Secrets({"a": {"KEY": "value-of-a"}}).grant("b", {"KEY": "value-of-b", "MORE": "x"}, digest="d1")
    assert secrets.of("a", "any") == {"KEY": "value-of-a"}
    assert secrets.of("b", "d1")["KEY"] == "value-of-b"
    assert secrets.of("b", "d2") == secrets.of("c", "d1") == {}
    assert repr(secrets) == "Secrets(a: KEY; b: KEY MORE)" and list(secrets) == ["a", "b"]
    monkeypatch.setenv("SET", "1")
    assert Secrets.from_environment(a=["SET"]).of("a", "") == {"SET": "1"}
    with pytest.raises(ScriptError, match="not set"):
        Secrets.from_environment(a=["NEVER_SET_ANYWHERE"])


def test_a_request_shows_neither_secrets_nor_content():
    shown = repr(
        ScriptRequest("t", "a.py", SkillFiles.of({"a.py": b"CONTENT"}), secrets={"K": "VALUE"}, stdin=b"INPUT")
    )
    assert "VALUE" not in shown and "CONTENT" not in shown and "INPUT" not in shown


# --- the skill on disk ------------------------------------------------------------------------------------------------

FILES = SkillFiles.of({"SKILL.md": b"s", "scripts/a.py": b"a", "deep/er/b": b"b"}, frozenset({"scripts/a.py"}))


def modes(folder):
    return {p.relative_to(folder).as_posix(): stat.S_IMODE(p.stat().st_mode) for p in sorted(folder.rglob("*"))}


def test_a_skill_is_written_once_read_only_and_found_by_its_digest(tmp_path):
    cache = SkillCache(tmp_path)
    with cache.folder(FILES) as first, cache.folder(FILES) as second:
        assert first == second == tmp_path / "skills" / FILES.digest / "skill"
        assert modes(first) == {
            "SKILL.md": 0o444, "deep": 0o555, "deep/er": 0o555, "deep/er/b": 0o444, "scripts": 0o555,
            "scripts/a.py": 0o555,
        }  # fmt: skip
        inode = first.stat().st_ino
    with SkillCache(tmp_path).folder(FILES) as again:
        assert again.stat().st_ino == inode
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def tamper_content(folder):
    (folder / "SKILL.md").chmod(0o644)
    (folder / "SKILL.md").write_bytes(b"x")
    (folder / "SKILL.md").chmod(0o444)


def tamper_more(folder):
    folder.chmod(0o755)
    (folder / "more").write_bytes(b"")


def tamper_less(folder):
    (folder / "scripts").chmod(0o755)
    (folder / "scripts" / "a.py").unlink()


def tamper_link(folder):
    tamper_less(folder)
    (folder / "scripts" / "a.py").symlink_to("/etc/hostname")


def tamper_folder_link(folder):
    folder.chmod(0o755)
    (folder / "deep").chmod(0o755)
    shutil.rmtree(folder / "deep")
    (folder / "deep").symlink_to("/etc")


def tamper_pipe(folder):
    tamper_less(folder)
    os.mkfifo(folder / "scripts" / "a.py")


def tamper_mode(folder):
    (folder / "SKILL.md").chmod(0o666)


def tamper_all(folder):
    shutil.rmtree(folder.parent, ignore_errors=True)


@pytest.mark.parametrize("tamper", [
    tamper_content, tamper_more, tamper_less, tamper_link, tamper_folder_link, tamper_pipe, tamper_mode, tamper_all,
])  # fmt: skip
def test_a_folder_that_was_touched_is_made_anew(tamper, tmp_path):
    cache = SkillCache(tmp_path)
    with cache.folder(FILES) as folder:
        pass
    tamper(folder)
    with cache.folder(FILES) as again:
        assert {p.relative_to(again).as_posix(): p.read_bytes() for p in again.rglob("*") if p.is_file()} == dict(
            FILES.files
        )
    assert not [p for p in (tmp_path / "skills").iterdir() if p.name.startswith(".")]


def test_a_touched_folder_in_use_is_left_to_who_uses_it(tmp_path):
    cache = SkillCache(tmp_path)
    with cache.folder(FILES) as used:
        tamper_more(used)
        with cache.folder(FILES) as own:
            assert own != used and not (own / "more").exists()
        assert (used / "more").exists()


def test_the_cache_is_bounded_and_spares_what_is_in_use(tmp_path):
    cache = SkillCache(tmp_path, max_bytes=2500)
    many = [SkillFiles.of({"SKILL.md": bytes([65 + n]) * 1000}) for n in range(6)]
    with cache.folder(many[0]) as used:
        os.utime(used.parent, (1, 1))
        for files in many[1:]:
            with cache.folder(files):
                pass
        assert used.exists()
    left = {p.name for p in (tmp_path / "skills").iterdir()}
    assert many[0].digest in left and many[-1].digest in left and len(left) <= 3


def test_what_a_dead_process_left_half_made_is_removed_and_what_is_being_made_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_BEGUN", 0.0)
    cache = SkillCache(tmp_path)
    old = tmp_path / "skills" / ".new-old"
    old.mkdir()
    (old / "x").write_text("")
    held = folders.new_folder(tmp_path / "skills", ".new-")
    with cache.folder(FILES):
        pass
    assert not old.exists() and held.path.exists()
    held.remove()
    (tmp_path / "runs" / "r-old").mkdir()
    (tmp_path / "runs" / "file").write_text("")
    run = folders.new_folder(tmp_path / "runs", "r-")
    assert folders.sweep(tmp_path / "runs") == 1
    assert run.path.exists() and (tmp_path / "runs" / "file").exists()
    run.remove()
    assert folders.sweep(tmp_path / "nowhere") == 0


def test_threads_and_processes_make_one_folder(tmp_path):
    files = [SkillFiles.of({"SKILL.md": b"x", **{f"f{n}": os.urandom(100) for n in range(20)}}) for _ in range(4)]
    wrong = []

    def use():
        cache = SkillCache(tmp_path)
        for _ in range(3):
            for one in files:
                with cache.folder(one) as folder:
                    if {p.name: p.read_bytes() for p in folder.iterdir()} != dict(one.files):
                        wrong.append(folder)

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(list((tmp_path / "skills").iterdir())) == 4


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../b", "a//b", "", "a\x00b"])
def test_a_source_cannot_name_a_file_outside(path, tmp_path):
    with pytest.raises(ResourcePathError), SkillCache(tmp_path).folder(SkillFiles.of({"SKILL.md": b"", path: b"x"})):
        pass
    assert [p.name for p in (tmp_path / "skills").iterdir()] == []


def test_a_file_that_is_a_folder_too_is_refused(tmp_path):
    with (
        pytest.raises(ScriptError, match="cannot be put"),
        SkillCache(tmp_path).folder(SkillFiles.of({"a": b"", "a/b": b""})),
    ):
        pass


def test_the_root_must_be_ones_own(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(ScriptError, match="link or belongs"):
        SkillCache(tmp_path / "link")
    (tmp_path / "file").write_text("")
    with pytest.raises(ScriptError, match="cannot be made"):
        SkillCache(tmp_path / "file")
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    SkillCache(tmp_path / "open")
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700
    if os.geteuid() == 0:
        (tmp_path / "other").mkdir()
        os.chown(tmp_path / "other", 12345, 12345)
        with pytest.raises(ScriptError, match="someone else"):
            SkillCache(tmp_path / "other")


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(ScriptError, match="cannot be made"):
        folders.new_folder(tmp_path / "nowhere")


def test_a_folder_that_keeps_changing_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("skillbelt.scripts.materialize._holds", lambda path, files: False)
    with pytest.raises(ScriptError, match="faster than"), SkillCache(tmp_path).folder(FILES):
        pass


def test_odd_trees_are_removed_whole(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    here = Path.cwd()
    os.chdir(top)
    try:
        for _ in range(300):
            Path("d").mkdir()
            os.chdir("d")
    finally:
        os.chdir(here)
    (top / "shut").mkdir()
    (top / "shut" / "in").mkdir()
    (top / "shut" / "in" / "x").write_text("")
    (top / "shut" / "in").chmod(0)
    (top / "shut").chmod(0o500)
    os.mkfifo(top / "pipe")
    (top / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("")
    folders.remove_tree(top)
    assert not top.exists() and (tmp_path / "kept" / "file").exists()
    folders.remove_tree(tmp_path / "never" / "there")
    folders.remove_tree(tmp_path / "nothing")


# --- content of a skill -----------------------------------------------------------------------------------------------


class Pages:
    """A source that serves pages of a file."""

    def __init__(self, totals, empty=False):
        self.totals = iter(totals)
        self.empty = empty

    def read(self, name, path, *, offset=0, max_bytes=1):
        if path == "SKILL.md":
            from skillbelt.errors import ResourceNotFoundError

            raise ResourceNotFoundError("Not served.")
        total = next(self.totals)
        data = b"" if self.empty else b"x"
        info = ResourceInfo(path=path, kind="other", size=total)
        return Resource(info=info, data=data, offset=offset, total=total, truncated=offset + 1 < total)


def test_files_are_read_page_by_page_and_must_not_change_meanwhile():
    info = [ResourceInfo(path="a", kind="other", size=3)]
    assert content.read_files(Pages([3, 3, 3]), "t", info).files == {"a": b"xxx"}
    with pytest.raises(ScriptError, match="changed while"):
        content.read_files(Pages([3, 4, 3]), "t", info)
    with pytest.raises(ScriptError, match="changed while"):
        content.read_files(Pages([3, 3, 3], empty=True), "t", info)
    with pytest.raises(ScriptError, match="larger than"):
        content.read_files(Pages([9] * 9), "t", info, max_bytes=4)


def test_the_digest_is_of_every_path_and_byte():
    one = SkillFiles.of({"a": b"1", "b": b"2"})
    assert one.size == 2 and one.digest == SkillFiles.of({"b": b"2", "a": b"1"}).digest
    others = [
        {"a": b"12", "b": b""},
        {"a": b"1", "c": b"2"},
        {"a": b"1"},
        {"ab": b"1", "": b"2"},
        {"a": b"2", "b": b"1"},
    ]
    assert len({one.digest, *(SkillFiles.of(other).digest for other in others)}) == 6


def test_a_skill_that_changes_while_it_is_read_is_said_to(tmp_path, monkeypatch):
    source = MappingSource({"t/SKILL.md": "---\nname: t\ndescription: T.\n---\n", "t/a.py": "print()"})
    router = SkillRouter(source, runner=LocalRunner(cache=tmp_path))
    from skillbelt import running

    real = running.read_files

    def changing(*args, **options):
        nonlocal count
        count += 1
        return real(*args, **options)

    count = 0
    monkeypatch.setattr(running, "read_files", changing)
    bundle = type(router._reach).bundle
    numbers = iter(range(100))
    monkeypatch.setattr(
        type(router._reach), "bundle", lambda self, name: bundle(self, name)._replace(generation=str(next(numbers)))
    )
    with pytest.raises(ScriptError, match="changes faster"):
        router.run("t", "a.py")
    assert count == 3


# --- artifacts, bounds, processes -------------------------------------------------------------------------------------


def test_only_regular_files_are_artifacts(tmp_path):
    work = tmp_path / "work"
    (work / "b" / "c").mkdir(parents=True)
    (work / "b" / "c" / "deep.txt").write_text("deep")
    (work / "a.txt").write_text("a")
    (work / ".hidden").write_text("h")
    (work / "link").symlink_to("/etc/hostname")
    (work / "folder").symlink_to("/etc")
    os.mkfifo(work / "pipe")
    Path(os.fsdecode(bytes(work) + b"/\xff")).write_text("odd")
    infos, data = collect(work, ScriptLimits())
    assert [info.path for info in infos] == [".hidden", "a.txt", "b/c/deep.txt"]
    assert data["b/c/deep.txt"] == b"deep"
    assert collect(tmp_path / "nowhere", ScriptLimits()) == ((), {})
    assert len(collect(work, ScriptLimits(entries=1))[0]) <= 1
    assert collect(work, ScriptLimits(), only="link") == ((), {})


@pytest.mark.parametrize(
    "wrong", [{"timeout": 0}, {"timeout": float("inf")}, {"cpu": True}, {"memory": 0}, {"output": 1.5}]
)
def test_bounds_are_positive(wrong):
    with pytest.raises(LimitError):
        ScriptLimits(**wrong)


def test_processor_time_that_is_used_up_is_a_timeout(tmp_path):
    runner = LocalRunner(cache=tmp_path, limits=ScriptLimits(cpu=1, timeout=30))
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"while True: pass"})
    result = runner.run(ScriptRequest("t", "a.py", files))
    assert result.reason == "timeout" and result.duration < 20


def test_a_supervisor_that_cannot_start_is_an_error_that_leaves_nothing(tmp_path, monkeypatch):
    runner = LocalRunner(cache=tmp_path)
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"print()"})
    before = list(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    other = LocalRunner(cache=tmp_path, interpreters=Interpreters(commands={"python": ["sh"]}))
    with pytest.raises(ScriptError, match="supervisor of scripts cannot be started"):
        other.run(ScriptRequest("t", "a.py", files))
    monkeypatch.undo()
    gone = LocalRunner(cache=tmp_path, interpreters=Interpreters(commands={"python": [__file__]}))
    monkeypatch.setattr(Interpreters, "_resolved", lambda self, argv: ("/no/such/program",))
    with pytest.raises(ScriptError, match=r"cannot be started: .*No such file"):
        gone.run(ScriptRequest("t", "a.py", files))
    monkeypatch.undo()
    monkeypatch.setattr(process, "BOOT", "import sys; sys.exit(3)")
    with pytest.raises(ScriptError, match="supervisor of the script was killed"):
        runner.run(ScriptRequest("t", "a.py", files))
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_supervisor_that_does_not_answer_is_ended_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "BOOT", "import time; time.sleep(60)")
    monkeypatch.setattr(process, "_GRACE", 0.3)
    monkeypatch.setattr(process, "_PATIENCE", 0.5)
    runner = LocalRunner(cache=tmp_path, limits=ScriptLimits(timeout=0.5))
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"print()"})
    result = runner.run(ScriptRequest("t", "a.py", files))
    assert result.reason == "timeout" and result.exit_code == -9


def test_no_descriptors_left_is_said(tmp_path, monkeypatch):
    runner = LocalRunner(cache=tmp_path)
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"print()"})

    def full():
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(process.os, "pipe", full)
    with pytest.raises(ScriptError, match="too many open files"):
        runner.run(ScriptRequest("t", "a.py", files))


def test_processes_that_carry_the_mark_of_a_run_are_found_and_killed():
    mark = "test-mark-7c41"
    child = subprocess.Popen(["/bin/sleep", "60"], env={marks.MARK: mark})
    assert marks.sweep_processes("") == 0
    assert marks.sweep_processes(mark) >= 1
    assert child.wait() == -9
    assert marks.sweep_processes(mark) == 0


def test_groups_of_dead_processes_are_swept_and_idle_ones_used_again(tmp_path, monkeypatch):
    for name in ("skillbelt-999999999-aa", f"skillbelt-{os.getpid()}-bb", "skillbelt-nonsense", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(cgroups, "own_groups", lambda: [tmp_path])
    cgroups.sweep_groups()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [f"skillbelt-{os.getpid()}-bb", "skillbelt-nonsense", "other"]
    )
    groups = cgroups.Groups(7)
    with groups.group() as one, groups.group() as two:
        assert one.path != two.path
        assert (one.path / "pids.max").read_text() == "7"
    with groups.group() as again:
        assert again.path in (one.path, two.path)
        shutil.rmtree(one.path)
        shutil.rmtree(two.path)
    with groups.group() as new:
        assert new.path.exists() and new.path not in (one.path, two.path)
        (new.path / "pids.max").unlink()
    del groups
    assert not new.path.exists()


def test_without_control_groups_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroups, "own_groups", lambda: [tmp_path / "nowhere", tmp_path / "file"])
    (tmp_path / "file").write_text("")
    assert cgroups.process_group(3) is None
    monkeypatch.setattr(cgroups, "_PREFIX", "")
    monkeypatch.setattr(cgroups, "own_groups", lambda: [tmp_path])
    monkeypatch.setattr(Path, "write_text", _refuse)
    assert cgroups.process_group(3) is None


def _refuse(*_args, **_options):
    raise PermissionError(13, "Permission denied")


def test_a_workspace_on_another_disk_is_an_error(tmp_path, monkeypatch):
    runner = LocalRunner(cache=tmp_path)
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"print()"})
    with Workspace(cache=tmp_path) as workspace:
        real = Path.rename

        def rename(path, target):
            return _refuse() if path == workspace.path else real(path, target)

        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(ScriptError, match="another disk"):
            runner.run(ScriptRequest("t", "a.py", files, workspace=workspace))
        monkeypatch.undo()
        assert runner.run(ScriptRequest("t", "a.py", files, workspace=workspace)).ok


def test_a_user_has_at_least_the_processes_of_this_suite():
    from skillbelt.scripts.local import count_processes

    before = count_processes()
    child = subprocess.Popen(["/bin/sleep", "60"])
    try:
        assert before >= 1
        assert count_processes() >= 2
    finally:
        child.kill()
        child.wait()


def test_a_user_is_counted_by_the_kernel_and_root_in_a_group_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr("skillbelt.scripts.local.os.geteuid", lambda: 1500)
    runner = LocalRunner.__new__(LocalRunner)
    runner.limits = ScriptLimits(processes=7)
    assert "process_limit" in runner.guarantees
    assert runner._processes() >= 7
    monkeypatch.setattr("skillbelt.scripts.local.os.geteuid", lambda: 0)
    monkeypatch.setattr(cgroups, "own_groups", list)
    root = LocalRunner.__new__(LocalRunner)
    root.limits = ScriptLimits(processes=7)
    assert root._processes() is None
    assert "process_limit" not in root.guarantees and "tree_kill" in root.guarantees


def test_without_files_in_memory_orders_go_through_a_temporary_one(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"print('ran')"})
    assert LocalRunner(cache=tmp_path).run(ScriptRequest("t", "a.py", files)).stdout == "ran\n"


def test_a_key_that_interrupts_ends_the_run_and_leaves_nothing(tmp_path):
    runner = LocalRunner(cache=tmp_path)
    code = b"import time\nprint('begun', flush=True)\ntime.sleep(60)"
    files = SkillFiles.of({"SKILL.md": b"", "a.py": code})

    def interrupt(stream, line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(ScriptRequest("t", "a.py", files), on_output=interrupt)
    assert list((tmp_path / "runs").iterdir()) == []
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_supervisor_that_takes_no_orders_is_killed_with_what_it_started(tmp_path, monkeypatch):
    boot = "import subprocess, time\nsubprocess.Popen(['/bin/sleep', '60'], env={'SKILLBELT_RUN': 'x'})\ntime.sleep(60)"
    monkeypatch.setattr(process, "BOOT", boot)
    monkeypatch.setattr(process, "_PATIENCE", 0.3)
    swept = []
    monkeypatch.setattr(process, "sweep_processes", swept.append)
    cancel = threading.Event()
    cancel.set()
    files = SkillFiles.of({"SKILL.md": b"", "a.py": b"print()"})
    result = LocalRunner(cache=tmp_path).run(ScriptRequest("t", "a.py", files), cancel=cancel)
    assert result.reason == "cancelled" and swept
    assert marks.sweep_processes("x") >= 1
