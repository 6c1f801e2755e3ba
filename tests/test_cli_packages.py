"""The commands about packages: pack, unpack, and registry serve, browse, show, publish."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from registry_loopback import Url, running_registry
from skillbelt import examples
from skillbelt.cli.app import app
from skillbelt.packages import json_schema, pack, read_package

KEY = "publisher-key"
ENV = "SKILLBELT_REGISTRY_KEY"
COMMAND = [sys.executable, "-m", "skillbelt"]
EXAMPLE = examples.path() / "deploy-to-staging"


def run(*args: str, key: str | None = None, **options: Any) -> Any:
    """Run the command in this process; ``result.stdout`` and ``result.stderr`` are apart."""
    runner = CliRunner(env={"SKILLBELT_DEBUG": None, ENV: key})
    return runner.invoke(app, list(args), prog_name="skillbelt", **options)


def refused(result: Any, code: int) -> str:
    """Return the one sentence of a refusal, after checking that it is one and that nothing else was said."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: ")
    return str(result.stderr)


def said(result: Any) -> str:
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A skill with files of every kind."""
    folder = tmp_path / "mail"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(
        "---\nname: mail\ndescription: Sortsé mail.\nlicense: MIT\n---\r\nBegin.".encode()
    )
    (folder / "scripts" / "sort.sh").write_text("#!/bin/sh\n")
    (folder / "scripts" / "sort.sh").chmod(0o755)
    (folder / "empty").touch()
    (folder / "latin-1.txt").write_bytes(b"caf\xe9")
    return folder


def tree(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def url(tmp_path: Path) -> Iterator[Url]:
    with running_registry(tmp_path / "packages", publish_key=KEY) as found:
        yield found


# --- pack and unpack --------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-18")
def test_what_is_packed_and_unpacked_is_what_it_was(skill: Path, tmp_path: Path) -> None:
    file = tmp_path / "mail.json"
    packed = pack(skill)
    told = said(run("pack", str(skill), "-o", str(file)))
    assert told.startswith("mail\nSortsé mail.\n\n")
    assert f"id:            {packed.id}\n" in told
    assert f"integrity:     {packed.integrity}\n" in told
    assert "license:       MIT\n" in told
    assert re.search(
        r"^files \(4\):\n +\d+  SKILL.md\n +0  empty\n +4  latin-1.txt\n +10  scripts/sort.sh  \(exec", told, re.M
    )
    unpacked = said(run("unpack", str(file), str(tmp_path / "deep" / "skills")))
    assert unpacked.partition("written:")[0] == told.partition("written:")[0]
    assert tree(tmp_path / "deep" / "skills" / "mail") == tree(skill)


def test_the_document_is_the_same_text_each_time_and_holds_what_was_packed(skill: Path, tmp_path: Path) -> None:
    texts = []
    for name in ("one.json", "two.json"):
        said(run("pack", str(skill / "SKILL.md"), "-o", str(tmp_path / name), "--version", "v1.2.3"))
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert "Sortsé" in texts[0]
    assert texts[0].endswith("}\n")
    document = json.loads(texts[0])
    assert document == {**pack(skill).document, "version": "v1.2.3"}
    assert set(document) <= set(json_schema()["properties"])  # type: ignore[arg-type]
    assert said(run("pack", str(skill), "-o", "-", "--version", "v1.2.3")) == texts[0]
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]


def test_packing_for_machines_gives_the_facts_and_without_a_file_the_document(skill: Path, tmp_path: Path) -> None:
    packed = pack(skill)
    told = json.loads(said(run("pack", str(skill), "--json")))
    assert told["document"] == packed.document
    assert (told["id"], told["integrity"], told["name"]) == (str(packed.id), packed.integrity, "mail")
    assert told["files"][-1] == {"path": "scripts/sort.sh", "size": 10, "executable": True}
    file = tmp_path / "mail.json"
    told = json.loads(said(run("pack", str(skill), "--json", "-o", str(file))))
    assert told["written"] == str(file)
    assert "document" not in told
    told = json.loads(said(run("unpack", str(file), str(tmp_path / "skills"), "--json")))
    assert told["written"] == str(tmp_path / "skills" / "mail")
    assert told["id"] == str(packed.id)


def test_what_was_passed_over_is_said(skill: Path) -> None:
    (skill / ".git").mkdir()
    (skill / ".git" / "config").touch()
    (skill / "link.txt").symlink_to("latin-1.txt")
    (skill / "SKILL.md").write_text("---\nname: mail\ndescription: Sorts.\nextra: 1\n---\nBegin.\n")
    result = run("pack", str(skill))
    said(result)
    assert "Left out: .git" in result.stderr
    assert "Links packed as what they lead to: link.txt" in result.stderr
    assert "[unknown-field]" in result.stderr


def test_a_document_may_come_through_a_pipe(skill: Path, tmp_path: Path) -> None:
    text = said(run("pack", str(skill), "-o", "-"))
    said(run("unpack", "-", str(tmp_path / "skills"), input=text))
    assert tree(tmp_path / "skills" / "mail") == tree(skill)


def test_a_skill_that_cannot_be_packed_says_everything_that_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: bad\n---\n")
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/etc/passwd")
    result = run("pack", str(folder), "-o", str(tmp_path / "bad.json"))
    assert result.exit_code == 1
    first, *lines = result.stderr.splitlines()
    assert first == "error: It cannot be a package; correct this:"
    assert len(lines) == 3
    assert any(line.startswith("/files/pipe: ") for line in lines), lines
    assert any(line.startswith("/files/link: ") for line in lines), lines
    assert not (tmp_path / "bad.json").exists()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "it is no JSON"),
        (b"[]", "the document: "),
        (b'{"format": "skillbelt.package/2"}', "cannot be a package; correct this"),
        (b"\xff", "it is not UTF-8"),
    ],
)
def test_a_document_that_is_no_package_is_not_unpacked(tmp_path: Path, document: bytes, words: str) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(document)
    result = run("unpack", str(file), str(tmp_path / "skills"))
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "skills").exists()


@pytest.mark.parametrize("name", ["../evil", "..", "/tmp/evil", "a/b"])
def test_a_name_that_is_a_path_leads_nowhere(skill: Path, tmp_path: Path, name: str) -> None:
    document = json.loads(said(run("pack", str(skill), "-o", "-")))
    text = document["files"]["SKILL.md"]["text"].replace("name: mail", f"name: {name}")
    document |= {"name": name, "files": {"SKILL.md": {"text": text}}}
    before = sorted(tmp_path.rglob("*"))
    result = run("unpack", "-", str(tmp_path / "skills"), input=json.dumps(document))
    assert result.exit_code == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_in_the_way_is_left_alone(skill: Path, tmp_path: Path) -> None:
    file = tmp_path / "mail.json"
    said(run("pack", str(skill), "-o", str(file)))
    assert "name of a folder is empty" in refused(run("unpack", str(file), " "), 2)
    assert "exists and is not an empty folder" in refused(run("unpack", str(file), str(tmp_path)), 2)
    (tmp_path / "taken").touch()
    assert "refused to read or write" in refused(run("unpack", str(file), str(tmp_path / "taken")), 2)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["pack", ""], "name of a folder is empty"),
        (["pack", "/no/such/skill"], "/no/such/skill"),
        (["pack", str(examples.path())], "has no SKILL.md"),
        (["pack", str(EXAMPLE), "-o", "/no/such/folder/file"], "cannot be written"),
        (["pack", str(EXAMPLE), "-o", "-", "--json"], "give one of them"),
        (["unpack", "/no/such/file", "x"], "was not found"),
        (["unpack", "/", "x"], "is a folder"),
        (["unpack", "\x00", "x"], "cannot be read"),
        (["registry", "publish", "http://127.0.0.1:1", str(EXAMPLE), "--namespace", "a", "--version", "v1.0.0"], ENV),
        (["registry", "browse", " "], "URL of the registry is empty"),
        (["registry", "browse", "http://127.0.0.1:1", "--key-env", "NOT_SET"], "'NOT_SET' is not set"),
        (["registry", "browse", "http://127.0.0.1:1"], "cannot be fetched"),
        (["registry", "browse", "ftp://127.0.0.1"], "only https"),
        (["registry", "browse", "//["], "is not a web address"),
        (["registry", "browse", "http://["], "is not a URL"),
        (["registry", "browse", "10.0.0.1"], "pass --allow-private"),
        (["registry", "browse", "http://example.com"], "pass --allow-http"),
        (["registry", "show", "http://127.0.0.1:1", "x", "-o", "-", "--json"], "give one of them"),
        (["registry", "show", "http://127.0.0.1:1", "local:./x"], "not in this registry"),
        (["registry", "show", "http://127.0.0.1:1", "hub.example.com:acme/pdf"], "not in this registry"),
        (["registry", "show", "http://127.0.0.1:1", "pdf"], "no 'namespace/name'"),
        (["registry", "show", "http://127.0.0.1:1", "pkg_skl_a1b2"], "no package id"),
        (["registry", "serve", ""], "name of a folder is empty"),
        (["registry", "serve", "/no/such/folder"], "was not found"),
        (["registry", "serve", str(examples.path()), "--publish-key-env", "NOT_SET"], "'NOT_SET' is not set"),
        (["registry", "serve", str(examples.path()), "--host", "no.such.host.invalid"], "Nothing can be served"),
        (["registry", "serve", str(examples.path()), "--namespace", "a/b"], "cannot be a namespace"),
        (["registry", "serve", str(examples.path()), "--port", "70000"], "--port"),
        (["registry", "frobnicate"], "No such command"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(args: list[str], words: str) -> None:
    assert words in refused(run(*args), 2)


@pytest.mark.parametrize("command", [[], ["serve"], ["browse"], ["show"], ["publish"]])
def test_every_command_explains_itself(command: list[str]) -> None:
    told = said(run("registry", *command, *(["--help"] if command else [])))
    assert "Example" in told
    assert "skillbelt registry" in told
    assert re.search("-h, --help", told)


# --- a registry -------------------------------------------------------------------------------------------------------


def test_publish_browse_show_and_unpack_give_back_the_skill(url: Url, tmp_path: Path, skill: Path) -> None:
    packed = pack(skill)
    result = run("registry", "publish", url, str(skill), "--namespace", "acme", "--version", "1.0.0", key=KEY)
    assert said(result).splitlines() == [
        "Published acme/mail@v1.0.0",
        f"id:            {packed.id}",
        f"integrity:     {packed.integrity}",
    ]
    result = run("registry", "browse", url.host)  # without a scheme
    assert said(result) == "acme/mail  v1.0.0  Sortsé mail.\n"
    assert result.stderr == "1 package.\n"
    assert run("registry", "browse", url, "--namespace", "other").stderr == "0 packages.\n"
    file = tmp_path / "mail.json"
    told = said(run("registry", "show", url, "acme/mail", "-o", str(file)))
    assert f"id:            {packed.id}\n" in told
    assert "versions:      v1.0.0\n" in told
    assert "scripts/sort.sh  (executable)" in told
    said(run("unpack", str(file), str(tmp_path / "skills")))
    assert tree(tmp_path / "skills" / "mail") == tree(skill)
    said(
        run("unpack", "-", str(tmp_path / "more"), input=said(run("registry", "show", url, str(packed.id), "-o", "-")))
    )
    assert tree(tmp_path / "more" / "mail") == tree(skill)


def test_everything_is_said_for_machines_too(url: Url, tmp_path: Path, skill: Path) -> None:
    file = tmp_path / "mail.json"
    said(run("pack", str(skill), "-o", str(file)))
    place = ["--namespace", "acme", "--version", "v1.0.0", "--json"]
    published = json.loads(said(run("registry", "publish", url, str(file), *place, key=KEY)))
    packed = pack(skill)
    facts = {
        "id": str(packed.id),
        "integrity": packed.integrity,
        "namespace": "acme",
        "name": "mail",
        "version": "v1.0.0",
    }
    assert published == {"registry": url, "type": "skill", **facts}
    listed = json.loads(said(run("registry", "browse", url, "--namespace", "acme", "--json")))
    assert listed["registry"] == url
    assert listed["packages"][0].items() >= facts.items()
    assert json.loads(said(run("registry", "browse", url, "--namespace", "other", "--json")))["packages"] == []
    for wanted in ("acme/mail@v1.x", "registry:acme/mail", f"ID:{packed.id}", str(packed.id)):
        shown = json.loads(said(run("registry", "show", url, wanted, "--json")))
        assert (shown["id"], shown["integrity"], shown["name"]) == (str(packed.id), packed.integrity, "mail")
        assert [each["path"] for each in shown["files"]] == ["SKILL.md", "empty", "latin-1.txt", "scripts/sort.sh"]


def test_a_document_is_published_from_a_pipe(url: Url, skill: Path) -> None:
    text = said(run("pack", str(skill), "-o", "-"))
    place = ["--namespace", "acme", "--version", "v1.0.0"]
    assert "Published" in said(run("registry", "publish", url, "-", *place, key=KEY, input=text))


def test_what_a_registry_refuses_is_said_with_what_to_do(url: Url, skill: Path) -> None:
    place = ["--namespace", "acme", "--version", "v1.0.0"]
    assert f"{ENV} is not one it knows" in refused(run("registry", "publish", url, str(skill), *place, key="wrong"), 2)
    said(run("registry", "publish", url, str(skill), *place, key=KEY))
    (skill / "empty").write_text("no more")
    assert "a version never changes" in refused(run("registry", "publish", url, str(skill), *place, key=KEY), 1)
    assert "Did you mean 'mail'?" in refused(run("registry", "show", url, "acme/mial"), 1)
    assert "no version v2" in refused(run("registry", "show", url, "acme/mail@v2"), 1)
    assert "no package" in refused(run("registry", "show", url, "pkg_skl_" + "0" * 40), 1)
    assert "concrete version" in refused(
        run("registry", "publish", url, str(skill), *place[:2], "--version", "v1", key=KEY), 2
    )


def test_a_skill_that_a_registry_would_not_take_lists_every_reason(url: Url, skill: Path) -> None:
    (skill / "SKILL.md").write_text("---\nname: mail\ndescription: Sorts.\nextra: 1\nmore: 2\n---\nBegin.\n")
    result = run("registry", "publish", url, str(skill), "--namespace", "acme", "--version", "v1.0.0", key=KEY)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: It cannot be a package; correct this:\n")
    assert result.stderr.count("unknown-field") == 2


def test_a_registry_that_is_read_with_a_key_says_which_variable_it_comes_from(tmp_path: Path) -> None:
    with running_registry(examples.path(), read_key="reader") as url:
        for command in (["browse", url], ["show", url, "skills/deploy-to-staging"]):
            assert f"{ENV} is not set" in refused(run("registry", *command), 2)
            said(run("registry", *command, key="reader"))
        os.environ["OTHER_KEY"] = "reader"
        try:
            said(run("registry", "browse", url, "--key-env", "OTHER_KEY"))
        finally:
            del os.environ["OTHER_KEY"]


def test_a_key_that_is_typed_is_not_shown(url: Url, skill: Path) -> None:
    """On a terminal that asks for it; the key is on no command line."""
    command = [*COMMAND, "registry", "publish", url, str(skill), "--namespace", "acme", "--version", "v1.0.0"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=os.environ | {"NO_COLOR": "1"},
        start_new_session=True,  # or the prompt would be on the terminal of whoever runs this
    )
    end = time.monotonic() + 60
    while termios.tcgetattr(leader)[3] & termios.ECHO:  # what is typed before that is shown, and thrown away
        assert time.monotonic() < end and process.poll() is None, "nobody asks for the key"
        time.sleep(0.01)
    os.write(leader, f"{KEY}\n".encode())
    os.close(follower)
    seen = b""
    with suppress(OSError):  # the other end was closed
        while block := os.read(leader, 1000):
            seen += block
    os.close(leader)
    assert process.wait(60) == 0, seen
    assert b"API key" in seen
    assert b"Published acme/mail@v1.0.0" in seen
    assert KEY.encode() not in seen


# --- serving ----------------------------------------------------------------------------------------------------------


@contextmanager
def served(*args: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``skillbelt registry serve`` and give its process and its URL; it is killed at the end if it still runs."""
    process = subprocess.Popen(
        [*COMMAND, "registry", "serve", *args, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | env,
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"http://\S+", first)
        assert found, (first, process.stderr and process.stderr.read())
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def test_a_folder_of_skills_is_served_until_a_key_interrupts(tmp_path: Path) -> None:
    with served(str(examples.path()), "--namespace", "examples", "--name", "Ours") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{url}/.well-known/cleverthis-packages").json()["name"] == "Ours"
        names = [each["name"] for each in httpx.get(f"{url}/browse").json()["packages"]]
        assert names == ["csv-quality-check", "deploy-to-staging", "incident-report"]
        with httpx.Client(base_url=url) as kept_open:
            kept_open.get("/browse")
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
        assert rest == ""
        assert errors.splitlines() == [
            "3 packages; anybody may read, nobody may publish. End it with Ctrl-C.",
            "Stopped.",
        ]
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/browse")


def test_serving_in_this_process_ends_with_the_same_signal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def interrupt() -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:  # an answer shows that the server is there to hear the signal
            with suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/browse")
                break
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    result = run("registry", "serve", str(examples.path()), "--port", str(port))
    assert said(result) == f"Serving {str(examples.path())!r} at http://127.0.0.1:{port}\n"
    assert result.stderr.endswith("Stopped.\n")


def test_a_folder_that_does_not_exist_is_made_for_who_has_a_key(tmp_path: Path, skill: Path) -> None:
    folder = tmp_path / "new" / "packages"
    keys = {"PUBLISH": f"{KEY} second-key", "READ": "reader"}
    with served(str(folder), "--publish-key-env", "PUBLISH", "--read-key-env", "READ", **keys) as (process, url):
        for number, key in enumerate((KEY, "second-key")):
            place = ["--namespace", "acme", "--version", f"v1.0.{number}"]
            said(run("registry", "publish", url, str(skill), *place, key=key))
        assert httpx.get(f"{url}/browse").status_code == 401
        assert "v1.0.1" in said(run("registry", "browse", url, key="reader"))
        process.terminate()
        _, errors = process.communicate(timeout=30)
        assert errors.startswith("0 packages; reading needs a key, publishing needs a key.")
        assert KEY not in errors
    assert (folder / "skill/acme/mail/v1.0.1.json").exists()


def test_skills_that_are_not_served_are_named_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_text("---\nname: bad\ndescription: D.\n---\n")
    (tmp_path / "bad" / "link").symlink_to("/etc/passwd")
    with served(str(tmp_path), "--host", "::1") as (process, url):
        assert url.startswith("http://[::1]:")
        assert httpx.get(f"{url}/browse").json()["packages"] == []
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "The skill 'bad' is not served" in errors


def test_an_address_that_others_can_reach_comes_with_a_warning(tmp_path: Path) -> None:
    with served(str(examples.path()), "--host", "0.0.0.0") as (process, url):
        assert url.startswith("http://0.0.0.0:")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "without TLS" in errors


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "choose another --port" in refused(run("registry", "serve", str(examples.path()), "--port", port), 2)


def test_without_uvicorn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    told = refused(run("registry", "serve", str(examples.path())), 2)
    assert told.endswith('pip install "skillbelt[serve]"\n')


def test_standard_output_in_any_encoding_takes_a_document(skill: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "pack", str(skill), "-o", "-"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=True,
        timeout=60,
    )
    assert read_package(done.stdout).to_document() == pack(skill).document
