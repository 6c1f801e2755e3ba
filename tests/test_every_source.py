"""Every kind of source against every table of cases, and against the contract: the same files, the same answers.

The reference is :class:`DirectorySource`, which ``test_spec_cases.py`` and ``test_security_cases.py`` judge. What a
place cannot hold does not apply to it, what it refuses as a whole must be refused; both are data of ``places.py``.
"""

import base64
import importlib.util
import json
import os
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from places import KINDS, PUBLISHED, Layout, Places, told
from skillbelt import (
    STRICT,
    InvalidSkillError,
    SkillError,
    SkillNotFoundError,
    SourceError,
    errors,
    merge,
)
from skillbelt import LENIENT
from skillbelt.parsing import callable_name

DATA = Path(__file__).parent / "data"
SPEC = DATA / "spec"
SPEC_CASES = json.loads((SPEC / "index.json").read_text(encoding="utf-8"))["cases"]
PATH_CASES = json.loads((DATA / "security" / "path_cases.json").read_text(encoding="utf-8"))["cases"]
FRONTMATTER_CASES = json.loads((DATA / "security" / "frontmatter_cases.json").read_text(encoding="utf-8"))["cases"]
MODES = {"strict": STRICT, "lenient": LENIENT}
CANARIES = ("CANARY-OUTSIDE-7f3a", "CANARY-ROOTFILE-55de", "CANARY-ENV-c0de")
ZEROS = 2 << 20

_spec = importlib.util.spec_from_file_location("build_layout", DATA / "security" / "build_layout.py")
build_layout = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build_layout)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    with Places(tmp_path_factory.mktemp("every")) as places:
        build_layout.build({}, str(places.base))  # what lies outside: links lead there
        yield places


def codes(diagnostics, severity=None):
    return {d.code for d in diagnostics if severity in (None, d.severity)}


def kind_of(error):
    """The public name of an error."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in errors.__all__)


# --- what is run ------------------------------------------------------------------------------------------------------

ON_S3 = {
    # Each request takes a while there, and the tree is that of memory://, all cases of which are run: so only those
    # whose names, bytes or listings go over the wire in a way of their own.
    "spec": "c01 c04 c05 c09 c26 c28 c30 c31 c34 c46 c47 c48 c49".split(),
    "paths": "P01 P03 P09 P10 P13 P14 P18 P20 P42 P43 P44 P45".split(),
    "frontmatter": "F01 F17 F21 F26 F41 F47 F65".split(),
}


def cases(table, all_cases, left_out, only=None):
    """Every case with every kind of place that can hold it."""
    return [
        pytest.param(kind, case, id=f"{kind}-{case['id']}")
        for kind in KINDS
        for case in all_cases
        if case.get("kind") in (None, only) and why_not(table, kind, case, left_out) is None
    ]


def why_not(table, kind, case, left_out):
    """Why a case is not run for a kind of place, ``None`` if it is."""
    if kind == "s3" and not case["id"].startswith(tuple(ON_S3[table])):
        return "it is run on memory://"
    return left_out(kind, case)


# --- the cases of the format ------------------------------------------------------------------------------------------


def spec_roots(case):
    """The layouts of a case, by the root each is."""
    if case["kind"] == "file":
        return {".": Layout({f"{case['dir']}/{case['file']}": (SPEC / case["path"]).read_bytes()})}
    top = SPEC / case["path"]
    files = {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}
    files |= {path: text.encode() for path, text in case.get("files_inline", {}).items()}
    links = dict(case["symlinks"])

    def below(held, root):
        return held if root == "." else {p.removeprefix(f"{root}/"): w for p, w in held.items() if p.startswith(root)}

    return {root: Layout(below(files, root), below(links, root)) for root in case["roots"]}


def spec_left_out(kind, case):
    for layout in spec_roots(case).values():
        if layout.lacking(kind):
            return layout.lacking(kind)
    if kind == "http 0.1.0" and case["id"].startswith("c46"):
        return "the older index names each file, and of them SKILL.md"
    if kind == "http 0.2.0" and case["id"].startswith("c50"):
        return "the links lie beside the skill, and what is published is the skill"
    return None


def spec_wanted(kind, case, mode):
    """The answer of the index of cases, and where a place must differ from it."""
    want, lenient = case[mode], case["lenient"]
    wrong = set(want["errors"])
    said = {*want["warnings"], *want["infos"]} - {"body-empty"}  # a listing reads no body
    outcome, name = want["outcome"], want.get("name")
    if kind == "http 0.2.0":
        # What is published as one artifact lies in no folder: there is nothing to compare its name with but the index.
        wrong, said = wrong - {"name-dir-mismatch"}, said - {"name-dir-mismatch"}
        outcome, name = ("ok", lenient["name"]) if lenient["outcome"] == "ok" and not wrong else (outcome, name)
    if kind == "http 0.1.0":
        # The folder of its address is the name it is asked for by.
        said |= {"index-unverified"}
        if outcome == "ok" and name != case["dir"]:
            name, said = case["dir"], said | {"index-mismatch"}
    if outcome == "error":
        return mode, outcome, wrong
    return mode, outcome, name, lenient["description"], lenient["body"].strip(), wrong, said


def spec_answer(kind, case, mode, source, asked):
    listed = [(summary.name, summary.description) for summary in source.list()]
    try:
        skill = source.load(listed[0][0] if listed else asked)
    except (InvalidSkillError, SkillNotFoundError) as error:
        assert not listed or kind in PUBLISHED
        # A name that no skill can have under a profile is not looked for (S3-27), whatever a folder is called.
        assert isinstance(error, InvalidSkillError) is (kind in PUBLISHED or callable_name(asked, MODES[mode]))
        return mode, "error", codes(source.diagnostics(), "error")
    assert listed == [(skill.name, skill.description)]
    body = skill.instructions.replace("\r\n", "\n").strip()
    found = source.diagnostics()
    name = unicodedata.normalize("NFKC", skill.name)
    return mode, "ok", name, skill.description, body, codes(found, "error"), codes(found) - codes(found, "error")


@pytest.mark.parametrize(("kind", "case"), cases("spec", SPEC_CASES, spec_left_out, only="file"))
def test_a_skill_of_the_format_is_the_same_wherever_it_lies(kind, case, places):
    layout = spec_roots(case)["."]
    for mode, profile in MODES.items():
        source = places.make(kind, layout, profile=profile)
        named = told(layout, case["dir"])
        asked = named[0] if named and kind == "http 0.2.0" else case["dir"]
        assert spec_answer(kind, case, mode, source, asked) == spec_wanted(kind, case, mode)


def tree_said(kind, case):
    """What is worth saying of a case tree in a kind of place: codes, and where, of places that are looked through."""
    wanted = {tuple(pair) for pair in case["expect"]["diagnostics"]}
    if kind == "zipped package":  # no link is followed there, so that none is seen to come back
        wanted = {("symlink-escape" if code == "symlink-loop" else code, path) for code, path in wanted}
    if kind == "http 0.1.0":
        wanted = {*wanted, ("index-unverified", None)}
    return wanted


@pytest.mark.parametrize(("kind", "case"), cases("spec", SPEC_CASES, spec_left_out, only="tree"))
def test_a_tree_of_the_format_is_the_same_wherever_it_lies(kind, case, places):
    layouts = spec_roots(case)
    sources = {root: places.make(kind, layout) for root, layout in layouts.items()}
    source = merge(*sources.values()) if len(sources) > 1 else next(iter(sources.values()))
    if (code := next(iter(layouts.values())).refused(kind)) is not None:
        with pytest.raises(SourceError):
            source.list()
        assert codes(source.diagnostics()) == {code}
        return

    def place(location, name=None):
        for root, made in sources.items():
            if name is None or name in [summary.name for summary in made.list()]:
                path = places.relative(made, location)
                if path != location or len(sources) == 1 or path in layouts[root].files:
                    return path if root == "." or path is None else f"{root}/{path}"
        raise AssertionError(location)

    wanted = case["expect"]["skills"]
    got = [(summary.name, place(summary.location, summary.name)) for summary in source.list()]
    assert got == [(skill["name"], skill["location"]) for skill in wanted]
    for skill in wanted:
        if "resources" in skill:
            assert [info.path for info in source.resources(skill["name"])] == skill["resources"]
    assert {(d.code, None if d.code == "index-unverified" else place(d.path)) for d in source.diagnostics()} == tree_said(kind, case)
