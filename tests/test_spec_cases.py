"""The 50 cases of the format: every outcome, field and diagnostic code, strict and lenient."""

import json
import shutil
import unicodedata
from pathlib import Path

import pytest

from skillbelt import LENIENT, STRICT, DirectorySource, Limits, merge, parse_skill, validate_skill

SPEC = Path(__file__).parent / "data" / "spec"
CASES = json.loads((SPEC / "index.json").read_text(encoding="utf-8"))["cases"]
FILES = [case for case in CASES if case["kind"] == "file"]
TREES = [case for case in CASES if case["kind"] == "tree"]
MODES = {"strict": STRICT, "lenient": LENIENT}


def _id(case):
    return case["id"]


def _nfkc(text):
    return unicodedata.normalize("NFKC", text)


def _lines(text):
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _codes(diagnostics, severity):
    return {d.code for d in diagnostics if d.severity == severity}


def _parsed(case, mode):
    data = (SPEC / case["path"]).read_bytes()
    return parse_skill(data, profile=MODES[mode], directory=case["dir"], filename=case["file"])


def test_all_fifty_cases_are_here():
    assert (len(FILES), len(TREES)) == (46, 4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", FILES, ids=_id)
def test_a_case_file_gives_exactly_the_outcome_and_the_codes_of_the_index(case, mode):
    want, got = case[mode], _parsed(case, mode)
    assert ("ok" if got.skill else "error") == want["outcome"]
    assert _codes(got.diagnostics, "error") == set(want["errors"])
    if got.skill:
        assert _codes(got.diagnostics, "warning") == set(want["warnings"])
        assert _codes(got.diagnostics, "info") == set(want["infos"])


@pytest.mark.parametrize(
    ("case", "mode"),
    [pytest.param(c, m, id=f"{c['id']}-{m}") for c in FILES for m in MODES if c[m]["outcome"] == "ok"],
)
def test_a_case_file_that_loads_has_exactly_the_fields_of_the_index(case, mode):
    want, skill = case[mode], _parsed(case, mode).unwrap()
    frontmatter = skill.frontmatter
    assert _nfkc(skill.name) == _nfkc(want["name"])
    assert frontmatter.description == want["description"]
    assert _lines(skill.instructions) == _lines(want["body"])
    for field in ("license", "compatibility"):
        assert getattr(frontmatter, field) == want.get(field)
    assert dict(frontmatter.metadata) == (want.get("metadata") or {})
    assert list(frontmatter.allowed_tools) == list(want.get("allowed_tools") or [])
    if "extra" in want:
        assert frontmatter.extra.keys() == set(want["extra"])


@pytest.mark.row("S3-10")
@pytest.mark.parametrize("case", FILES, ids=_id)
def test_validate_skill_says_of_a_case_on_disk_what_parsing_says(case, tmp_path):
    folder = tmp_path / case["dir"]
    folder.mkdir()
    shutil.copy(SPEC / case["path"], folder / case["file"])
    found = validate_skill(folder)
    assert _codes(found, "error") == set(case["strict"]["errors"])
    assert {d.path for d in found} <= {str(folder / case["file"])}


@pytest.mark.row("S3-19", "S3-49")
@pytest.mark.parametrize("case", TREES, ids=_id)
def test_a_case_tree_is_discovered_as_the_index_says(case, tmp_path):
    root = tmp_path / "x"
    if (SPEC / case["path"]).exists():
        shutil.copytree(SPEC / case["path"], root)
    for path, text in case.get("files_inline", {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    for link, target in case["symlinks"]:
        (root / link).symlink_to(target)
    limits = Limits(depth=case.get("options", {}).get("max_depth", 6))
    sources = [DirectorySource(root / name, limits=limits) for name in case["roots"]]
    source = merge(*sources) if len(sources) > 1 else sources[0]

    def relative(path):
        return Path(path).relative_to(root).as_posix()

    wanted = case["expect"]["skills"]
    assert [(s.name, relative(s.location)) for s in source.list()] == [(s["name"], s["location"]) for s in wanted]
    for skill in wanted:
        if "resources" in skill:
            assert [r.path for r in source.resources(skill["name"])] == skill["resources"]
    said = {(d.code, relative(d.path)) for d in source.diagnostics()}
    assert said == {tuple(pair) for pair in case["expect"]["diagnostics"]}
