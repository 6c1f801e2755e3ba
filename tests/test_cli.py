"""The command line: list, show and validate; exit codes, streams, and text of other people on a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import skillbelt
from skillbelt import SkillError, examples
from skillbelt.cli import listing, main
from skillbelt.cli.app import app
from skillbelt.cli.console import block, line

SHIPPED = ["csv-quality-check", "deploy-to-staging", "incident-report"]
COMMAND = [sys.executable, "-m", "skillbelt"]


def run(*args: str, **options: Any) -> Any:
    """Run the command in this process; ``result.stdout`` and ``result.stderr`` are apart."""
    return CliRunner(env={"SKILLBELT_DEBUG": None}).invoke(app, list(args), prog_name="skillbelt", **options)


def write(folder: Path, text: str | bytes, name: str = "SKILL.md") -> Path:
    """Write a file and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def skill(root: Path, name: str, description: str = "Does one thing.", body: str = "Do it.\n") -> Path:
    """Write a valid skill and return its folder."""
    return write(root / name, f"---\nname: {name}\ndescription: {description}\n---\n{body}").parent


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a good skill, one that cannot be loaded, and one that hides behind the good one's name."""
    root = tmp_path / "some"
    skill(root, "good")
    write(root / "broken", "---\nname: [broken\n---\nBody.\n")
    write(root / "twin", "---\nname: good\ndescription: The other one.\n---\nBody.\n")
    return root


def refused(result: Any, code: int) -> str:
    """Return the one sentence of a refusal, after checking that it is one and that nothing else was said."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    return str(result.stderr)


# --- list ---------------------------------------------------------------------------------------------------------


def test_list_prints_one_aligned_line_a_skill_into_a_pipe() -> None:
    result = run("list", str(examples.path()))
    lines = result.stdout.splitlines()
    assert [row.split()[0] for row in lines] == SHIPPED
    assert len({len(row) - len(row[18:].lstrip()) for row in lines}) == 1
    assert result.stderr == "3 skills.\n"
    assert result.exit_code == 0


def test_list_as_json_is_alone_on_stdout_and_has_stable_keys() -> None:
    result = run("list", str(examples.path()), "--json")
    record = json.loads(result.stdout)
    assert [found["name"] for found in record["skills"]] == SHIPPED
    assert record["skills"][0].keys() >= {"name", "description", "location", "source", "namespace"}
    assert record["diagnostics"] == []
    assert Path(record["skills"][0]["location"]).is_file()
    assert result.stderr == ""


def test_list_says_on_stderr_what_is_left_out_and_why_and_exits_with_0(broken: Path) -> None:
    result = run("list", str(broken))
    assert result.stdout == "good  Does one thing.\n"
    said = result.stderr.splitlines()
    assert said[0].startswith(f"{broken}/broken/SKILL.md:")
    assert "error[yaml-invalid]" in said[0]
    assert "warning[duplicate-name]" in said[1]
    assert said[2] == "1 skill, 2 left out; 1 more remark, see them with: skillbelt validate --lenient DIR."
    assert result.exit_code == 0


def test_list_as_json_holds_diagnostics_as_objects_and_says_nothing_else(broken: Path) -> None:
    result = run("list", str(broken), "--json")
    found = json.loads(result.stdout)["diagnostics"]
    assert {"yaml-invalid", "duplicate-name"} <= {diagnostic["code"] for diagnostic in found}
    assert found[0].keys() == {"code", "severity", "message", "path", "line", "field", "hint"}
    assert result.stderr == ""


def test_list_of_several_folders_names_the_folder_of_each_and_the_first_wins(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    skill(one, "mail", "First.")
    skill(two, "mail", "Second.")
    skill(two, "pdf")
    result = run("list", str(one), str(two))
    assert [row.split() for row in result.stdout.splitlines()] == [
        ["mail", str(one), "First."],
        ["pdf", str(two), "Does", "one", "thing."],
    ]
    assert "shadowed" in result.stderr


def test_list_of_an_empty_folder_says_so(tmp_path: Path) -> None:
    result = run("list", str(tmp_path))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "0 skills.\n")


def test_list_marks_a_skill_that_its_author_keeps_from_models(tmp_path: Path) -> None:
    write(tmp_path / "mine", "---\nname: mine\ndescription: Mine.\ndisable-model-invocation: true\n---\nBody.\n")
    assert run("list", str(tmp_path)).stdout == "mine  Mine. (kept from the model by its author)\n"


# --- show ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["mail-sorter", "mail-sorter/SKILL.md", ". mail-sorter", ". Mail-Sorter"])
def test_show_takes_a_skill_folder_a_file_or_a_folder_and_a_name(skills_dir: Path, target: str) -> None:
    path, *name = target.split()
    result = run("show", str(skills_dir / path), *name)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:2] == ["mail-sorter", "Sorts mail by sender. Use when an inbox needs tidying."]
    assert any("references/rules.md" in row for row in lines)
    assert lines[-1] == "2. Move every message to the folder its rule names."
    assert result.stderr == ""


def test_show_prints_every_field_of_the_frontmatter(tmp_path: Path) -> None:
    write(
        tmp_path / "full",
        "---\nname: full\ndescription: Full.\nlicense: MIT\ncompatibility: Needs git.\nallowed-tools: Read Write\n"
        "metadata:\n  author: me\nversion: 1.10\n---\nBody.\n",
    )
    result = run("show", str(tmp_path / "full"))
    for row in ("license:       MIT", "allowed-tools: Read Write", "author:        me", "version:       1.10"):
        assert row in result.stdout.splitlines()
    assert "info[unknown-field]" in result.stderr


def test_show_as_json_has_the_instructions_the_files_and_the_diagnostics(skills_dir: Path) -> None:
    record = json.loads(run("show", str(skills_dir), "mail-sorter", "--json").stdout)
    assert record["name"] == "mail-sorter"
    assert record["instructions"].startswith("# Steps")
    assert [info["path"] for info in record["resources"]] == [
        "assets/folders.json",
        "notes.txt",
        "references/rules.md",
        "scripts/sort.py",
    ]
    assert record["location"] == str(skills_dir / "mail-sorter/SKILL.md")
    assert record["diagnostics"] == []
    assert len(record["digest"]) == 64


def test_show_prints_a_file_of_a_skill_as_it_stands(skills_dir: Path) -> None:
    result = run("show", str(skills_dir / "mail-sorter"), "--file", "references/rules.md")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Receipts go to Money.\n", "")
    record = json.loads(run("show", str(skills_dir), "mail-sorter", "--file", "scripts/sort.py", "--json").stdout)
    assert record["text"] == "print('sorted')\n"
    assert (record["path"], record["kind"], record["truncated"]) == ("scripts/sort.py", "script", False)


def test_show_marks_the_cut_of_a_long_file_on_stderr(skills_dir: Path) -> None:
    write(skills_dir / "mail-sorter", "x" * ((1 << 20) + 1), "long.txt")
    result = run("show", str(skills_dir / "mail-sorter"), "--file", "long.txt")
    assert len(result.stdout) == (1 << 20) + 1
    assert result.stderr == "[cut: 1048576 of 1048577 bytes shown]\n"


def test_show_asks_for_a_name_when_there_are_several(skills_dir: Path) -> None:
    said = refused(run("show", str(skills_dir)), 2)
    assert said.endswith("name one after it. Available skills: mail-sorter, pdf-forms.\n")


def test_show_of_a_folder_without_a_skill_says_so(tmp_path: Path) -> None:
    assert "holds no skill that can be loaded" in refused(run("show", str(tmp_path)), 1)


def test_an_unknown_skill_or_file_is_answered_with_close_matches(skills_dir: Path) -> None:
    assert "Did you mean 'mail-sorter'?" in refused(run("show", str(skills_dir), "mail-sort"), 1)
    unknown = run("show", str(skills_dir), "mail-sorter", "--file", "references/rule.md")
    assert "Did you mean 'references/rules.md'?" in refused(unknown, 1)


def test_a_binary_file_is_refused_in_one_sentence(skills_dir: Path) -> None:
    write(skills_dir / "mail-sorter", b"\x89PNG\r\n\x1a\n\x00\xff", "logo.png")
    assert "is binary" in refused(run("show", str(skills_dir), "mail-sorter", "--file", "logo.png"), 1)


@pytest.mark.parametrize("args", [["", "broken"], ["broken"], ["broken/SKILL.md"]])
def test_show_of_a_broken_skill_says_in_which_line_and_what_to_change(broken: Path, args: list[str]) -> None:
    result = run("show", str(broken / args[0]), *args[1:])
    assert result.exit_code == 1
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first == "error: The skill cannot be loaded; correct this:"
    assert second.startswith(f"{broken}/broken/SKILL.md:")
    assert "Quote values" in second


# --- validate -----------------------------------------------------------------------------------------------------


def test_the_shipped_skills_are_valid() -> None:
    result = run("validate", str(examples.path()))
    assert result.stdout == "3 skills checked: 3 valid, 0 not; 0 errors, 0 warnings.\n"
    assert (result.exit_code, result.stderr) == (0, "")


def test_validate_prints_every_diagnostic_with_file_and_line_and_exits_with_1(broken: Path) -> None:
    result = run("validate", str(broken))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{broken}/broken/SKILL.md:3: error[yaml-invalid] ")
    assert lines[1].startswith(f"{broken}/twin/SKILL.md:2: error[name-dir-mismatch] ")
    assert lines[2].startswith(f"{broken}/twin/SKILL.md: warning[duplicate-name] ")
    assert lines[3] == "3 skills checked: 1 valid, 2 not; 2 errors, 1 warning."
    assert result.stderr == "Judged by the specification; --lenient judges as loading does.\n"


def test_validate_takes_folders_skills_and_files_at_once_and_checks_each_once(broken: Path) -> None:
    result = run("validate", str(broken / "good"), str(broken / "good" / "SKILL.md"), str(broken), "--json")
    record = json.loads(result.stdout)
    assert [found["name"] for found in record["skills"]] == ["good", "broken", "twin"]
    assert [found["valid"] for found in record["skills"]] == [True, False, False]
    assert record["skills"][1]["diagnostics"][0]["code"] == "yaml-invalid"
    assert (record["valid"], record["checked"], record["profile"]) == (False, 3, "STRICT")
    assert (result.exit_code, result.stderr) == (1, "")


def test_lenient_judges_as_loading_does(tmp_path: Path) -> None:
    write(tmp_path / "Mail", "---\nname: Mail\ndescription: Sorts: mail.\n---\nBody.\n")
    assert run("validate", str(tmp_path)).exit_code == 1
    result = run("validate", str(tmp_path), "--lenient")
    assert result.exit_code == 0
    assert "warning[yaml-repaired]" in result.stdout
    assert "1 skill checked: 1 valid, 0 not; 0 errors, " in result.stdout


def test_validate_finds_skills_that_loading_would_not(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    skill(root, "good")
    (root / "link").symlink_to(skill(tmp_path / "elsewhere", "other"))
    result = run("validate", str(root))
    assert f"{root}/link: warning[symlink-escape]" in result.stdout
    assert json.loads(run("validate", str(root), "--json").stdout)["diagnostics"][0]["code"] == "symlink-escape"


def test_a_skill_that_vanishes_while_validating_hides_no_other(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = skillbelt.validate_skill

    def vanishing(path: str, **options: Any) -> Any:
        if "good" in path:
            shutil.rmtree(broken / "good")
        return real(path, **options)

    monkeypatch.setattr("skillbelt.cli.checking.validate_skill", vanishing)
    result = run("validate", str(broken))
    assert f"{broken}/good/SKILL.md: error[skill-file-missing]" in result.stdout
    assert "3 skills checked: 0 valid, 3 not" in result.stdout


def test_validate_of_nothing_says_so(tmp_path: Path) -> None:
    assert "there is no SKILL.md in it or below" in refused(run("validate", str(tmp_path)), 2)
    other = write(tmp_path, "text", "README.md")
    assert "is not a SKILL.md; give one, its folder" in refused(run("validate", str(other)), 2)


# --- wrong usage and environment ------------------------------------------------------------------------------------

COMMANDS = [["list"], ["show"], ["validate"], ["ask", "question", "--skills"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_folder_that_is_none_is_refused_in_one_sentence(command: list[str], tmp_path: Path) -> None:
    file = write(tmp_path, "text", "notes.txt")
    missing = tmp_path / "nope"
    assert f"'{missing}' was not found; check the spelling" in refused(run(*command, str(missing)), 2)
    assert f"'{file}' is" in refused(run(*command, str(file)), 2)
    assert "is empty; give the folder" in refused(run(*command, ""), 2)
    assert "cannot be read" in refused(run(*command, "a\0b"), 2)
    assert "cannot be read: File name too long" in refused(run(*command, "x" * 300), 2)


def test_a_skill_file_where_a_folder_is_wanted_gets_a_hint(skills_dir: Path) -> None:
    said = refused(run("list", str(skills_dir / "mail-sorter" / "SKILL.md")), 2)
    assert said.endswith("is a file, not a folder; give its folder.\n")


def test_empty_names_are_refused_in_one_sentence(skills_dir: Path) -> None:
    said = refused(run("show", str(skills_dir), " "), 2)
    assert said == "error: The name of a skill is empty. Available skills: mail-sorter, pdf-forms.\n"
    assert "path must not be empty" in refused(run("show", str(skills_dir), "mail-sorter", "--file", ""), 1)


@contextmanager
def nobody() -> Iterator[None]:
    """Act as a user who may not read everything: the suite may run as root, who may."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_folder_without_permission_is_refused_in_one_sentence(command: list[str], open_dir: Path) -> None:
    locked = skill(open_dir, "locked")
    locked.chmod(0)
    with nobody():
        result = run(*command, str(locked))
    locked.chmod(0o755)
    assert f"The folder '{locked}' cannot be read: permission denied; make it readable" in refused(result, 2)


def test_a_skill_file_without_permission_is_refused_in_one_sentence(open_dir: Path) -> None:
    file = skill(open_dir, "locked") / "SKILL.md"
    file.chmod(0)
    with nobody():
        by_file, by_folder = run("validate", str(file)), run("show", str(file.parent))
    assert f"'{file}' cannot be read: permission denied" in refused(by_file, 2)
    assert "cannot be read: Permission denied" in refused(by_folder, 2)


def test_a_skill_without_permission_among_others_is_reported(open_dir: Path) -> None:
    skill(open_dir, "good")
    (skill(open_dir, "locked") / "SKILL.md").chmod(0)
    with nobody():
        listed, checked = run("list", str(open_dir)), run("validate", str(open_dir))
    assert listed.stdout == "good  Does one thing.\n"
    for said in (listed.stderr, checked.stdout):
        assert f"{open_dir}/locked/SKILL.md: error[skill-file-unreadable]" in said
    assert (listed.exit_code, checked.exit_code) == (0, 1)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["list"], "error: Missing argument 'DIR...'. See: skillbelt list --help\n"),
        (["frob"], "error: No such command 'frob'. See: skillbelt --help\n"),
        (["list", ".", "--colour"], "error: No such option: --colour"),
        (
            ["ask", "x", "--framework", "crew"],
            "error: There is no framework 'crew' here; choose langchain or llama-index.",
        ),
        (["ask", "  "], "error: The question is empty; ask something, such as: skillbelt ask"),
        (["ask", "x", "--model", "gpt"], "error: 'gpt' is not a model; give provider:name, such as openai:"),
        (["ask", "x", "--model", "a.b:gpt"], "error: 'a.b:gpt' is not a model; give provider:name"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(args: list[str], said: str) -> None:
    assert refused(run(*args), 2).startswith(said)


def test_help_shows_an_example_for_each_command() -> None:
    for command in ("ask", "list", "show", "validate"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert f"\n    skillbelt {command} " in result.stdout
    assert run().stdout == run("--help").stdout == run("-h").stdout
    assert run().exit_code == 0


def test_without_the_extra_the_command_names_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "skillbelt.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as stopped:
        main(["list", "."])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error: The skillbelt command needs a package that is not installed. "
        'Install it with: pip install "skillbelt[cli]"\n'
    )


def test_another_missing_module_is_not_mistaken_for_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "skillbelt.cli.app")
    monkeypatch.setitem(sys.modules, "skillbelt.cli.console", None)
    with pytest.raises(ModuleNotFoundError):
        main(["list", "."])


def test_an_unexpected_error_is_one_sentence_and_a_traceback_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the \x1b[31mmoon\x1b[0m fell")

    monkeypatch.setattr(listing, "list_skills", fail)
    said = refused(run("list", "."), 1)
    assert said.startswith("error: An error that skillbelt did not expect: RuntimeError: the \ufffd[31mmoon")
    for result in (run("--debug", "list", "."), run("list", ".", env={"SKILLBELT_DEBUG": "1"})):
        assert result.exit_code == 1
        assert "Traceback (most recent call last)" in result.stderr
        assert "RuntimeError" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(28, "No space left on device"), 2, "error: The system refused to read or write: No space left"),
        (typer.Abort(), 130, ""),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
    ],
)
def test_what_the_system_raises_has_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(listing, "list_skills", fail)
    result = run("list", ".")
    assert result.exit_code == code
    assert result.stderr.startswith(said)
    assert "Traceback" not in result.stderr


def test_a_pipe_that_breaks_at_the_last_moment_is_not_complained_about(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(SystemExit) as stopped:
        main(["list", str(examples.path()), "--json"])
    assert stopped.value.code == 1


def test_another_program_can_use_the_command_without_being_ended_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert get_command(app).main(["--version"], standalone_mode=False) == 0
    with pytest.raises(SkillError):
        get_command(app).main(["list", "/no/such/folder"], standalone_mode=False)
    assert capsys.readouterr() == (f"skillbelt {skillbelt.__version__}\n", "")


# --- text of other people -------------------------------------------------------------------------------------------

EVIL = "\x1b[31mRed\x1b[0m [bold red]x[/] :boom: \x9b2J \u202egnp \u2028next\rover \U000e0041"


def test_no_text_of_a_skill_reaches_the_terminal_raw(tmp_path: Path) -> None:
    quoted = json.dumps(EVIL, ensure_ascii=True)
    write(tmp_path / "evil", f"---\nname: evil\ndescription: {quoted}\nlicense: {quoted}\n---\n{EVIL}\n")
    write(tmp_path / "evil", EVIL, "notes.txt")
    write(tmp_path / "e\x1b[31mvil", f"---\nname: {quoted}\n---\nBody.\n")
    for args in (
        ["list", str(tmp_path)],
        ["show", str(tmp_path), "evil"],
        ["show", str(tmp_path), "evil", "--file", "notes.txt"],
        ["show", str(tmp_path), EVIL],
        ["validate", str(tmp_path)],
        ["list", str(tmp_path), "--json"],
        ["show", str(tmp_path), "evil", "--json"],
        ["validate", str(tmp_path), "--json"],
        ["list", EVIL],
        [EVIL],
    ):
        result = run(*args)
        said = result.stdout + result.stderr
        assert not set(said) & set("\x1b\x9b\r\u202e\u2028\U000e0041"), args
        assert all(char.isprintable() or char in "\n\t" for char in said), args
    assert "[bold red]x[/] :boom:" in run("list", str(tmp_path)).stdout


def test_line_and_block_keep_what_people_write() -> None:
    assert line("Ärger & <b>\u200b\n  中文 👩\u200d🚀") == "Ärger & <b>\ufffd 中文 👩\u200d🚀"
    assert block("a\tb\r\n    c &amp; d\x1b]0;x\x07\n") == "a\tb\n    c &amp; d\ufffd]0;x\ufffd\n"


def test_text_that_the_streams_encoding_lacks_is_replaced(tmp_path: Path) -> None:
    skill(tmp_path, "uni", "Prüft 中文.")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([*COMMAND, "list", str(tmp_path)], capture_output=True, env=environment, check=True)
    assert done.stdout == b"uni  Pr?ft ??.\n"


# --- terminals and pipes ------------------------------------------------------------------------------------------


def on_terminal(args: Sequence[str], **environment: str) -> tuple[int, str]:
    """Run the command with both streams on a terminal; return its exit code and what it wrote."""
    ours, theirs = pty.openpty()
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    env = plain | {"TERM": "xterm-256color", "COLUMNS": "80"} | environment
    with subprocess.Popen([*COMMAND, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as child:
        os.close(theirs)
        written = b""
        while chunk := _read(ours):
            written += chunk
    os.close(ours)
    return child.returncode, written.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # on Linux, the end of a terminal
        return b""


def test_a_terminal_gets_a_table_and_colours(broken: Path) -> None:
    code, said = on_terminal(["list", str(broken)])
    assert code == 0
    assert "\x1b[" in said
    assert "Name" in said
    assert "━" in said or "─" in said


def test_force_color_gives_the_table_to_a_pipe(broken: Path) -> None:
    result = run("list", str(broken), env={"FORCE_COLOR": "1", "NO_COLOR": None})
    assert "Name" in result.stdout
    assert "\x1b[1mgood" in result.stdout


def test_no_color_switches_every_escape_code_off(broken: Path) -> None:
    _, said = on_terminal(["list", str(broken)], NO_COLOR="1")
    assert "Name" in said
    assert "\x1b[" not in said


def test_validate_shows_progress_on_a_terminal_only(tmp_path: Path) -> None:
    for number in range(20):
        skill(tmp_path, f"skill-{number}")
    code, said = on_terminal(["validate", str(tmp_path)])
    assert code == 0
    assert "Checking" in said
    assert "20 skills checked" in said
    piped = subprocess.run([*COMMAND, "validate", str(tmp_path)], capture_output=True, text=True, check=True)
    assert piped.stdout == "20 skills checked: 20 valid, 0 not; 0 errors, 0 warnings.\n"
    assert piped.stderr == ""


def test_the_installed_command_and_the_module_are_the_same() -> None:
    script = Path(sys.executable).with_name("skillbelt")
    for command in ([str(script)], COMMAND):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"skillbelt {skillbelt.__version__}\n", "")


def test_exit_codes_and_streams_of_a_process(tmp_path: Path, broken: Path) -> None:
    for args, code in ((["list", str(broken)], 0), (["validate", str(broken)], 1), (["list", f"{tmp_path}/no"], 2)):
        done = subprocess.run([*COMMAND, *args], capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert "\x1b" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_a_reader_that_had_enough_is_not_complained_about(tmp_path: Path) -> None:
    skill(tmp_path, "long", body="A line of it.\n" * 50_000)
    with subprocess.Popen([*COMMAND, "show", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "list", str(examples.path()), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == "error: The system refused to read or write: No space left on device; make room or choose another.\n"
    )


def test_the_package_imports_neither_typer_nor_rich_nor_a_framework() -> None:
    code = "import skillbelt.cli, sys; print({'typer', 'rich', 'langchain', 'llama_index'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
