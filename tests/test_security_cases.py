"""The hostile cases: 45 layouts of files and 42 SKILL.md files, judged as ``data/security`` says."""

import base64
import importlib.util
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE = Path(__file__).parent
SECURITY = HERE / "data" / "security"
PATHS = json.loads((SECURITY / "path_cases.json").read_text(encoding="utf-8"))["cases"]
FRONTMATTER = json.loads((SECURITY / "frontmatter_cases.json").read_text(encoding="utf-8"))["cases"]
CANARIES = ("CANARY-OUTSIDE-7f3a", "CANARY-SIBLING-91bc", "CANARY-ROOTFILE-55de", "CANARY-ENV-c0de")
GOOD = "---\nname: {0}\ndescription: Good {0}.\n---\nBody of {0}.\n"

_spec = importlib.util.spec_from_file_location("build_layout", SECURITY / "build_layout.py")
build_layout = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build_layout)


def _id(case):
    return f"{case['id']}-{case['title'].replace(' ', '_')}"


@pytest.fixture(scope="module")
def judge():
    """A process that runs each case in a child of its own; its environment holds a secret."""
    env = {**os.environ, "SECRET_TOKEN": "CANARY-ENV-c0de"}
    with subprocess.Popen(
        [sys.executable, HERE / "security_judge.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as process:

        def ask(**request):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            reply = json.loads(process.stdout.readline())
            assert "crash" not in reply, reply
            assert reply["rss_mb"] <= 64
            return reply["answer"]

        yield ask
        process.stdin.close()


def _built(case, tmp_path):
    if os.geteuid() and any(node["type"] == "chardev" for node in case["layout"]):
        pytest.skip("making a device needs root")
    return build_layout.build(case, str(tmp_path / "base"))


def _calls(case, base):
    return [[c["op"], build_layout._x(c["skill"], base), build_layout.call_path(c, base)] for c in case["calls"]]


def _clean(text, base, sent=""):
    """Check what holds for every error: short, printable, and silent about the host (but for a path that was sent)."""
    assert len(text) <= 1024
    assert base not in (text.replace(sent, "") if sent else text)
    assert text.isprintable()


def _silent(answer, request):
    """Check that no canary is in an answer; what the caller itself sent does not count."""
    text = json.dumps(answer)
    for canary in CANARIES:
        assert canary not in text or canary in json.dumps(request)


@pytest.mark.row("S3-34", "S3-36", "S3-37", "S3-38", "S3-39")
@pytest.mark.parametrize("case", [c for c in PATHS if "race" not in c], ids=_id)
def test_a_path_case_is_answered_as_it_must_be(case, tmp_path, judge):
    base = _built(case, tmp_path)
    calls = _calls(case, base)
    env = {name: build_layout._x(value, base) for name, value in case.get("env", {}).items()}
    answers = judge(job="paths", base=base, calls=calls, env=env)
    assert len(answers) == 2 * len(calls)
    for number, answer in enumerate(answers):
        call = calls[number // 2]
        _silent(answer, call)
        if "error" in answer:
            assert answer["ours"], answer
            by_router = number % 2 == 1
            _clean(answer["text"], base, sent=call[1] if by_router else "")
            assert case["expect"] != "allow", answer
        elif "names" in answer:
            assert call[1] not in answer["names"]
        else:
            assert case["expect"] != "deny", answer
            if case.get("truncated_ok") and answer["truncated"]:
                assert len(answer["content"]) <= case["max_chars"]
            else:
                assert answer["content"] == case["content"]
                assert answer.get("text", case["content"]).count(case["content"].strip()) >= 1


@pytest.mark.row("S3-38")
@pytest.mark.parametrize("case", [c for c in PATHS if "race" in c], ids=_id)
def test_a_swap_between_check_and_open_never_shows_what_lies_outside(case, tmp_path, judge):
    base = _built(case, tmp_path)
    swap = [case["race"]["a"], case["race"]["b"]]
    counts = judge(job="race", base=base, calls=_calls(case, base), swap=swap, reads=3000)
    assert sum(counts.values()) >= 3000
    assert len(counts) >= 2, "nothing was swapped while it was read"
    for answer in counts:
        _silent(answer, "")
        assert answer == case["content"] or answer.startswith(("ResourcePathError: ", "ResourceNotFoundError: "))
        _clean(answer.strip(), base)


def _special(kind, folder):
    file = folder / "SKILL.md"
    if kind == "DIR":
        file.mkdir()
    elif kind == "FIFO":
        os.mkfifo(file)
    elif kind == "SPARSE":
        with file.open("wb") as sparse:
            sparse.truncate(10 << 30)
    elif kind == "NAME8":
        file.write_text(GOOD.format("bad"))
        folder.rename(folder.parent / os.fsdecode(b"ba\xe9d"))
    else:
        file.symlink_to({"DANGLE": "missing", "LOOP": "SKILL.md", "ZERO": "/dev/zero"}[kind])


def _shown_only(catalog, skills):
    """Check a catalog: well-formed, one element a skill, nothing outside, no character that acts or hides."""
    for char in catalog.replace("\n", ""):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"), hex(ord(char))
    root = ElementTree.fromstring(catalog)
    names = [element.attrib["name"] for element in root]
    assert (root.tag, names) == ("available_skills", [name for name, _ in skills])
    for element in root:
        assert (element.tag, list(element), (element.tail or "").strip()) == ("skill", [], "")
    assert (root.text or "").strip() == ""
    assert len(catalog.splitlines()) == len(skills) + 2
    for element in root:
        assert "CANARY" not in element.text or element.attrib["name"] == "bad"


@pytest.mark.row("S3-20", "S3-37")
@pytest.mark.parametrize("case", FRONTMATTER, ids=_id)
def test_a_hostile_skill_file_never_hides_its_neighbours_nor_leaves_its_entry(case, tmp_path, judge):
    root = tmp_path / "skills"
    for name in ("good-a", "bad", "good-z"):
        (root / name).mkdir(parents=True)
        if name != "bad":
            (root / name / "SKILL.md").write_text(GOOD.format(name))
    if "special" in case:
        _special(case["special"], root / "bad")
    else:
        (root / "bad" / "SKILL.md").write_bytes(base64.b64decode(case["data_b64"]))
    answer = judge(job="listing", root=str(root))
    good = [["good-a", "good-a/SKILL.md"], ["good-z", "good-z/SKILL.md"]]
    assert [pair for pair in answer["skills"] if pair[1].startswith("good")] == good
    assert answer["good"] == ["Body of good-a.\n", "Body of good-z.\n"]
    others = [pair for pair in answer["skills"] if pair not in good]
    said = [found for found in answer["diagnostics"] if found[2].startswith(f"{root}/ba")]
    assert said or others
    if case["expect"] == "refuse":
        assert others == []
        assert "error" in {severity for _, severity, _, _ in said}
        assert answer["bad"]["error"] == "InvalidSkillError" or answer["bad"]["error"] == "ContentTooLargeError"
    if "error" in answer["bad"]:
        assert answer["bad"]["ours"]
        _clean(answer["bad"]["text"], str(root))
    for _, _, _, text in answer["diagnostics"]:
        assert text.isprintable()
    _shown_only(answer["catalog"], answer["skills"])


def test_every_case_is_here():
    assert (len(PATHS), sum(len(case["calls"]) for case in PATHS)) == (45, 117)
    assert len(FRONTMATTER) == 42
