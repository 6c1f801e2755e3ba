"""What an unprivileged user may not read: it is said, it never empties a catalog, and it never hides a lower copy.

The suite may run as root, to whom everything is readable. So the probes run in a process of their own that gives up
its rights after it has imported what it needs (the interpreter itself may lie where nobody else may look).
"""

import json
import os
import subprocess
import sys
import textwrap

import pytest

NOBODY = 65534

SERVANT = """
import json, os, shutil, sys, tempfile
from skillbelt import *

merge(DirectorySource("/nowhere"), MappingSource({"a/SKILL.md": "x"})).diagnostics()  # imports what is imported late
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

def attempt(call):
    try:
        return call()
    except SkillError as error:
        return {"error": type(error).__name__, "text": str(error)}

def names(source):
    return [s.name for s in source.list()]

def said(source):
    return [[d.code, d.severity, os.path.relpath(d.path, root)] for d in source.diagnostics()]

for line in sys.stdin:
    root, code = json.loads(line)
    scope = {**globals()}
    exec(code, scope)
    print(json.dumps(scope["answer"]), flush=True)
"""


@pytest.fixture(scope="module")
def servant():
    with subprocess.Popen(
        [sys.executable, "-c", SERVANT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def probe(servant, root):
    """Run code as nobody; it leaves its answer in ``answer``."""

    def ask(code):
        servant.stdin.write(json.dumps([str(root), textwrap.dedent(code)]) + "\n")
        servant.stdin.flush()
        line = servant.stdout.readline()
        assert line, "the probe ended with a traceback, above"
        return json.loads(line)

    return ask


@pytest.fixture
def root(tmp_path):
    """Three skills that everyone may read, in a folder everyone can get to."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o755)
    root = tmp_path / "skills"
    for name in ("good-a", "odd", "good-z"):
        folder = root / name
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\n---\nBody\n")
        (folder / "references" / "a.md").write_text("a")
        (folder / "b.md").write_text("b")
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield root
    tmp_path.chmod(0o755)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755)


def test_the_probes_run_without_rights(root, probe):
    (root / "odd" / "b.md").chmod(0o000)
    assert probe("answer = [os.geteuid(), os.access(root + '/odd/b.md', os.R_OK)]") == [
        NOBODY if os.geteuid() == 0 else os.geteuid(),
        False,
    ]


def test_a_user_without_rights_reads_what_everyone_may(probe):
    assert probe("answer = names(DirectorySource(root))") == ["good-a", "good-z", "odd"]


@pytest.mark.row("S3-21")
@pytest.mark.parametrize("profile", ["LENIENT", "STRICT"])
@pytest.mark.parametrize("mode", [0o000, 0o311])
def test_a_root_that_may_not_be_read_raises_and_never_looks_empty(root, probe, profile, mode):
    root.chmod(mode)
    answer = probe(
        f"""
        source = DirectorySource(root, profile={profile})
        calls = (source.list, source.diagnostics, lambda: source.load("odd"), lambda: source.read("odd", "b.md"))
        answer = [attempt(call) for call in calls]
        """
    )
    assert [got["error"] for got in answer] == ["SourceError"] * 4
    assert all("Permission denied" in got["text"] for got in answer)


@pytest.mark.row("S3-21")
def test_a_root_behind_a_closed_door_raises_at_construction_where_that_is_asked_for(root, probe):
    root.parent.chmod(0o600)
    answer = probe("answer = attempt(lambda: names(DirectorySource(root, strict_root=True)))")
    assert answer["error"] == "SourceError"


CLOSED = {
    "folder": ("odd", ["folder-unreadable", "warning", "odd"]),
    "file": ("odd/SKILL.md", ["skill-file-unreadable", "error", "odd/SKILL.md"]),
}


@pytest.mark.parametrize(("closed", "found"), CLOSED.values(), ids=CLOSED)
def test_a_closed_skill_is_said_and_the_others_stay_listed(root, probe, closed, found):
    (root / closed).chmod(0o000)
    answer = probe(
        """
        source = DirectorySource(root)
        calls = (lambda: source.load("odd"), lambda: source.read("odd", "b.md"))
        answer = [names(source), said(source), *map(attempt, calls)]
        """
    )
    assert answer[0] == ["good-a", "good-z"]
    assert answer[1] == [found]
    for got in answer[2:]:
        assert got["error"] == "InvalidSkillError"
        assert "Permission denied" in got["text"]
        assert str(root) not in got["text"]


@pytest.mark.row("S3-21")
@pytest.mark.parametrize("closed", ["odd", "odd/SKILL.md"])
def test_a_closed_skill_makes_a_strict_listing_raise(root, probe, closed):
    (root / closed).chmod(0o000)
    answer = probe("answer = attempt(lambda: names(DirectorySource(root, profile=STRICT)))")
    assert answer["error"] == "SourceError"


@pytest.mark.row("S3-51", "S3-53")
@pytest.mark.parametrize("closed", ["odd", "odd/SKILL.md"])
def test_a_closed_winner_is_not_replaced_by_a_lower_copy(root, probe, closed):
    (root / closed).chmod(0o000)
    answer = probe(
        r"""
        lower = MappingSource({"odd/SKILL.md": "---\nname: odd\ndescription: x\n---\nlower"}, label="lower")
        source = merge(DirectorySource(root), lower)
        answer = [names(source), attempt(lambda: source.load("odd"))]
        """
    )
    assert answer[0] == ["good-a", "good-z"]
    assert answer[1]["error"] == "InvalidSkillError"


def test_a_skill_that_was_closed_since_it_was_listed_raises(probe):
    answer = probe(
        """
        with tempfile.TemporaryDirectory() as own:  # nobody may close what root owns
            shutil.copytree(root, own + "/skills")
            source = DirectorySource(own + "/skills")
            answer = [names(source)]
            os.chmod(own + "/skills/odd/SKILL.md", 0)
            answer += [attempt(lambda: source.load("odd")), attempt(lambda: source.lookup("odd"))]
            os.chmod(own + "/skills/odd", 0)
            answer += [attempt(lambda: source.load("odd")), names(source)]
            os.chmod(own + "/skills/odd", 0o755)
        """
    )
    assert answer[0] == ["good-a", "good-z", "odd"]
    assert [got["error"] for got in answer[1:4]] == ["SourceError"] * 3
    assert answer[4] == ["good-a", "good-z"]


@pytest.mark.parametrize(
    ("closed", "listed"), [("b.md", ["references/a.md"]), ("references", ["b.md"]), ("references/a.md", ["b.md"])]
)
def test_a_closed_file_or_folder_of_a_skill_is_said_and_the_others_are_listed(root, probe, closed, listed):
    (root / "odd" / closed).chmod(0o000)
    answer = probe(
        f"""
        source = DirectorySource(root)
        answer = [
            [r.path for r in source.resources("odd")],
            said(source),
            attempt(lambda: source.read("odd", {closed!r})),
            attempt(lambda: DirectorySource(root, profile=STRICT).resources("odd")),
            source.load("odd").instructions,
        ]
        """
    )
    assert answer[0] == listed
    assert answer[1] == [["resource-unreadable", "warning", "odd/SKILL.md"]]
    assert answer[2]["error"] == answer[3]["error"] == "SourceError"
    assert answer[4] == "Body\n"


def test_a_link_to_a_closed_folder_is_said(root, probe):
    hidden = root / ".store"
    (root / "odd").rename(hidden)
    hidden.chmod(0o000)
    (root / "odd").symlink_to(".store")
    answer = probe("source = DirectorySource(root); answer = [names(source), said(source)]")
    assert answer == [["good-a", "good-z"], [["folder-unreadable", "warning", "odd"]]]


@pytest.mark.parametrize("closed", ["odd", "odd/SKILL.md"])
def test_validate_skill_says_that_it_may_not_read(root, probe, closed):
    (root / closed).chmod(0o000)
    answer = probe("answer = [attempt(lambda: validate_skill(root + p)) for p in ('/odd', '/odd/SKILL.md')]")
    assert [got["error"] for got in answer] == ["SourceError"] * 2
