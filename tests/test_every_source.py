"""Every kind of source against every table of cases, and against the contract: the same files, the same answers.

The reference is :class:`DirectorySource`, which ``test_spec_cases.py`` and ``test_security_cases.py`` judge. What a
place cannot hold does not apply to it, what it refuses as a whole must be refused; both are data of ``places.py``.
"""

import base64
import hashlib
import importlib.util
import json
import os
import shutil
import time
import tracemalloc
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs

import pytest

from places import KINDS, PUBLISHED, Layout, Places, as_found, skill_folders, told, write, zipped
from skillbelt import (
    LENIENT,
    STRICT,
    ContentTooLargeError,
    DirectorySource,
    InvalidSkillError,
    LimitError,
    Limits,
    MappingSource,
    ResourcePathError,
    SkillError,
    SkillRouter,
    SourceError,
    TokenBudget,
    errors,
    filtered,
    merge,
    namespaced,
)
from skillbelt.parsing import callable_name
from skillbelt.sources import kept, tree_source
from skillbelt.testing import SourceContract
from skillbelt.testing.contract.base import CALLS, FILES, joined, polite, skill_file
from skillbelt.testing.contract.files import _LOSSLESS as LOSSLESS
from skillbelt.text import estimate_tokens

DATA = Path(__file__).parent / "data"
SPEC = DATA / "spec"
SPEC_CASES = json.loads((SPEC / "index.json").read_text(encoding="utf-8"))["cases"]
PATH_CASES = json.loads((DATA / "security" / "path_cases.json").read_text(encoding="utf-8"))["cases"]
FRONTMATTER_CASES = json.loads((DATA / "security" / "frontmatter_cases.json").read_text(encoding="utf-8"))["cases"]
MODES = {"strict": STRICT, "lenient": LENIENT}
CANARIES = ("CANARY-OUTSIDE-7f3a", "CANARY-ROOTFILE-55de", "CANARY-ENV-c0de")
ZEROS = 2 << 20
LARGE = 4 << 20
"""What stands for 10 GiB of nothing, and for the 40 MiB of P39: more than any bound of one read."""

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

RUN = {
    # How many of the 50 cases of the format, the 45 of paths and the 42 of SKILL.md files. The others do not apply, for
    # the reasons in LACKS (places.py) and below; the two races (P40, P41) are run by test_security_cases.py alone.
    "directory": (50, 43, 42),
    "package": (50, 43, 42),
    "mapping": (49, 29, 38),
    "zip": (50, 42, 42),
    "tar": (50, 42, 42),
    "zipped package": (50, 41, 40),
    "memory": (49, 29, 37),
    "s3": (9, 8, 5),
    "http 0.2.0": (49, 41, 40),
    "http 0.1.0": (48, 29, 36),
}
ON_S3 = {
    # Each request takes a while there, and the tree is that of memory://, all cases of which are run: so only those
    # whose names, bytes or listings go over the wire in a way of their own.
    "spec": "c05 c26 c30 c31 c34 c46 c47 c48 c49".split(),
    "paths": "P03 P09 P13 P14 P42 P43 P44 P45".split(),
    "frontmatter": "F17 F21 F26 F47 F65".split(),
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


def spec_wanted(kind, case, mode, asked):
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
        # A name that no skill can have under a profile is not looked for (S3-27), whatever a folder is called.
        looked_for = kind in PUBLISHED or callable_name(asked, MODES[mode])
        return mode, outcome, wrong, "InvalidSkillError" if looked_for else "SkillNotFoundError"
    return mode, outcome, name, lenient["description"], lenient["body"].strip(), wrong, said


def spec_answer(kind, mode, source, asked):
    """What a place answers: what is listed is what is loaded, and what cannot be loaded is not listed."""
    listed = [(summary.name, summary.description) for summary in source.list()]
    try:
        skill = source.load(listed[0][0] if listed else asked)
    except SkillError as error:
        outcome = "error" if kind in PUBLISHED or not listed else "listed all the same"
        return mode, outcome, codes(source.diagnostics(), "error"), kind_of(error)
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
        assert spec_answer(kind, mode, source, asked) == spec_wanted(kind, case, mode, asked)


def below_root(case, kind, path):
    """A path of a case as it is below its root; in the older index each skill has a folder at the top."""
    root, _, rest = path.partition("/")
    path = rest if root in case["roots"] else path
    return "/".join(path.split("/")[-2:]) if kind == "http 0.1.0" else path


def tree_wanted(kind, case):
    """The answer of the index of cases for a tree, and where a place must differ from it."""
    layouts = spec_roots(case)
    skills = []
    for skill in case["expect"]["skills"]:
        root = next(root for root in case["roots"] if root == "." or skill["location"].startswith(f"{root}/"))
        path = skill["location"] if root == "." else skill["location"].removeprefix(f"{root}/")
        _, description = told(layouts[root], path.rpartition("/")[0])
        skills.append((skill["name"], description, below_root(case, kind, skill["location"]), skill.get("resources")))
    said = {(code, below_root(case, kind, path)) for code, path in case["expect"]["diagnostics"]}
    if kind == "zipped package":  # no link is followed there, so that none is seen to come back
        said = {("symlink-escape" if code == "symlink-loop" else code, path) for code, path in said}
    if kind == "http 0.1.0":
        said.add(("index-unverified", "index.json"))
    return skills, said


@pytest.mark.parametrize(("kind", "case"), cases("spec", SPEC_CASES, spec_left_out, only="tree"))
def test_a_tree_of_the_format_is_the_same_wherever_it_lies(kind, case, places):
    layouts = spec_roots(case).values()
    sources = [places.make(kind, layout) for layout in layouts]
    source = merge(*sources) if len(sources) > 1 else sources[0]
    if (code := next(layout.refused(kind) for layout in layouts)) is not None:
        with pytest.raises(SourceError):
            source.list()
        assert codes(source.diagnostics()) == {code}
        return

    def relative(location):
        return next((path for made in sources if (path := places.relative(made, location)) != location), location)

    skills, said = tree_wanted(kind, case)
    got = []
    for summary, (_, _, _, resources) in zip(source.list(), skills, strict=True):
        listed = resources and [info.path for info in source.resources(summary.name)]
        got.append((summary.name, summary.description, relative(summary.location), listed))
    assert got == skills
    assert {(d.code, relative(d.path)) for d in source.diagnostics()} == said


# --- hostile paths ----------------------------------------------------------------------------------------------------


@cache
def path_layout(case_id, base):
    """The layout of a case: what is below its folder of skills, and beside it."""
    case = next(case for case in PATH_CASES if case["id"] == case_id)
    files, links, specials, holes, beside = {}, {}, {}, {}, {}
    skip = case.get("without", [])
    for node in (node for node in [*build_layout.COMMON, *case["layout"]] if node["path"] not in skip):
        top, _, path = node["path"].partition("/")
        kind = node["type"]
        if kind == "file":
            data = base64.b64decode(node["data_b64"]) if "data_b64" in node else node["text"].encode()
            (files if top == "skills" else beside)[node["path"] if top == "outside" else path] = data
        elif kind == "symlink":
            links[path] = build_layout._x(node["target"], base)
        elif kind == "big":
            files[path] = b"x" * LARGE
        elif kind == "sparse":
            holes[path] = node["size"]
        else:
            specials[path] = (node["major"], node["minor"]) if kind == "chardev" else kind
    return Layout(files, links, specials, holes, beside=beside)


def held(kind, layout):
    """A layout as a place can hold it: 2 MiB of zeros stand for 10 GiB of nothing."""
    if not layout.holes or kind in ("directory", "package"):
        return layout
    return replace(layout, files={**layout.files, **dict.fromkeys(layout.holes, bytes(ZEROS))}, holes={})


def path_left_out(kind, case):
    if "race" in case:
        return "names are swapped under a reader on a disk; test_security_cases.py does it"
    layout = held(kind, path_layout(case["id"], "/nowhere"))
    if kind in PUBLISHED and case["id"] == "P28":
        return "the folder that is a link is not published"
    return layout.lacking(kind)


def clean(error, base="", sent=""):
    """Check what holds for every error: short, printable, silent about the host; what was sent may be in it."""
    text = str(error)
    polite(text, "an error")
    assert not base or base not in text.replace(sent or " ", "")
    assert not any(canary in text for canary in CANARIES)


def brief(data):
    """Bytes that a failing test can print."""
    return data if len(data) < 600 else hashlib.sha256(data).hexdigest()


def path_answers(source, case, base):
    """What each call gives: bytes with their bounds, a body, names, or the public name of an error."""
    answers = []
    for call in case["calls"]:
        skill, path = build_layout._x(call["skill"], base), build_layout.call_path(call, base)
        try:
            if call["op"] == "list":
                answers.append([summary.name for summary in source.list()])
            elif call["op"] == "load":
                answers.append(source.load(skill).instructions)
            else:
                resource = source.read(skill, path)
                answers.append((brief(resource.data), resource.total, resource.truncated))
        except SkillError as error:
            answers.append(kind_of(error))
            clean(error, base, sent=skill)
    return answers


@pytest.fixture(scope="module")
def made(places):
    """Makes the source of a kind for a case once; most cases of paths have one layout."""
    sources = {}

    def source(kind, layout, *key):
        key = (kind, bool(layout.holes), *map(repr, key))
        if key not in sources:
            sources[key] = places.make(kind, layout)
        return sources[key]

    return source


def path_wanted(kind, case, layout, answers):
    """The answers of the reference, and where a place must differ from them."""
    wanted = []
    for call, answer in zip(case["calls"], answers, strict=True):
        path = f"{call['skill']}/{call.get('path')}"
        if kind in PUBLISHED and call["op"] == "list":
            wanted.append(sorted(skill_folders(layout)))  # what is in the index is listed before it is fetched
        elif layout.refused(kind):
            # An archive with such a thing in it is refused, all of it; where skills are published, all of that skill.
            wanted.append("InvalidSkillError" if kind in PUBLISHED else "SourceError")
        elif kind == "zipped package" and any(
            "/" in link and f"{path}/".startswith(f"{link}/") for link in layout.links
        ):
            wanted.append("ResourcePathError")  # links are not followed there, wherever they lead
        else:
            wanted.append(answer)
    return wanted


@pytest.mark.parametrize(("kind", "case"), cases("paths", PATH_CASES, path_left_out))
def test_a_path_is_answered_the_same_wherever_the_skill_lies(kind, case, places, made):
    if os.geteuid() and any(node["type"] == "chardev" for node in case["layout"]):
        pytest.skip("making a device needs root")
    base = str(places.base)
    layout = held(kind, path_layout(case["id"], base))
    key = (case["layout"], case.get("without"))
    reference = path_answers(made("directory", layout, *key), case, base)
    answers = path_answers(made(kind, layout, *key), case, base)
    assert answers == path_wanted(kind, case, layout, reference)
    if case["expect"] == "deny" and case["id"] != "P38":  # zeros are denied to a model: they are no text
        assert all(answer in errors.__all__ for answer in answers if not isinstance(answer, list))
    if case["expect"] == "allow":
        assert {answer[0] for answer in answers} == {case["content"].encode()}


# --- hostile SKILL.md files -------------------------------------------------------------------------------------------

GOOD = "---\nname: {0}\ndescription: Good {0}.\n---\nBody of {0}.\n"
SPECIALS = {
    "DIR": {"folders": ("bad/SKILL.md",)},
    "FIFO": {"specials": {"bad/SKILL.md": "fifo"}},
    "DANGLE": {"links": {"bad/SKILL.md": "missing"}},
    "LOOP": {"links": {"bad/SKILL.md": "SKILL.md"}},
    "ZERO": {"links": {"bad/SKILL.md": "/dev/zero"}},
    "SPARSE": {"holes": {"bad/SKILL.md": 10 << 30}},
}


TWICE = {"zip": "archive-duplicate", "tar": "archive-duplicate"}
"""Two folders at the top of an archive that claim one name: it is refused (F10)."""


def frontmatter_layout(case):
    """A hostile skill between two good ones."""
    files = {f"{name}/SKILL.md": GOOD.format(name).encode() for name in ("good-a", "good-z")}
    if case.get("special") == "NAME8":
        return Layout({**files, os.fsdecode(b"ba\xe9d/SKILL.md"): GOOD.format("bad").encode()})
    if "special" in case:
        return Layout(files, **SPECIALS[case["special"]])
    return Layout({**files, "bad/SKILL.md": base64.b64decode(case["data_b64"])})


def frontmatter_left_out(kind, case):
    if kind in PUBLISHED and case["id"] == "F10":
        return "a skill that has the name of another: an index says itself which skills there are"
    return held(kind, frontmatter_layout(case)).lacking(kind)


def told_of(places, source, diagnostic, *, message):
    """A diagnostic as it is the same wherever the skill lies."""
    path = places.relative(source, diagnostic.path)
    return (diagnostic.code, diagnostic.severity, path, diagnostic.line, message and diagnostic.message)


def asked_for(source, name):
    """What loading a skill gives: its body, or the error with its codes."""
    try:
        return source.load(name).instructions
    except SkillError as error:
        clean(error)
        return kind_of(error), codes(getattr(error, "diagnostics", ()))


def assert_refused(source, code):
    """Nothing is served of an archive with such a thing in it, and it says why."""
    for call in (source.list, lambda: source.load("good-a"), lambda: source.read("bad", "SKILL.md")):
        with pytest.raises(SourceError):
            call()
    assert codes(source.diagnostics()) == {code}


def assert_published(kind, layout, source, reference, asked):
    """What holds where an index says which skills there are: all are listed, and each is what it is on a disk."""
    (folder,) = skill_folders(layout).keys() - {"good-a", "good-z"}
    named = told(layout, folder)
    name = named[0] if named and kind == "http 0.2.0" else folder
    assert {"good-a", "good-z", name} == {summary.name for summary in source.list()} | set(source.problems())
    gave, wanted = asked_for(source, name), asked_for(reference, asked)
    no_folder = {"name-dir-mismatch"} if kind == "http 0.2.0" else set()
    if isinstance(wanted, str):
        assert gave == wanted
        said = codes(d for d in reference.diagnostics() if d.path.endswith(f"/{folder}/SKILL.md"))
        assert codes(source.diagnostics()) - {"index-mismatch", "index-unverified"} == said - no_folder
    elif layout.folders:  # a folder called SKILL.md: an archive without a skill, an index without the file
        assert gave == ("InvalidSkillError", {"archive-no-skill" if kind == "http 0.2.0" else "index-entry"})
    elif layout.refused(kind):
        assert gave == ("InvalidSkillError", {layout.refused(kind)})
    elif kind == "http 0.1.0" and len(layout.files["bad/SKILL.md"]) >= ZEROS:  # not fetched, so not looked into
        assert gave == ("ContentTooLargeError", {"file-too-large"})
    else:
        assert gave == (wanted[0], wanted[1] - no_folder)


@pytest.mark.parametrize(("kind", "case"), cases("frontmatter", FRONTMATTER_CASES, frontmatter_left_out))
def test_a_hostile_skill_file_is_the_same_wherever_it_lies(kind, case, places, made):
    layout = held(kind, frontmatter_layout(case))
    reference, source = made("directory", layout, case["id"]), places.make(kind, layout)
    listed = [(s.name, s.description, places.relative(reference, s.location)) for s in reference.list()]
    asked = next((name for name, _, path in listed if not path.startswith("good-")), "bad")
    if kind in PUBLISHED:
        assert_published(kind, layout, source, reference, asked)
    elif code := layout.refused(kind) or (case["id"] == "F10" and TWICE.get(kind)):
        assert_refused(source, code)
        return
    else:
        assert [(s.name, s.description, places.relative(source, s.location)) for s in source.list()] == listed
        assert asked_for(source, asked) == asked_for(reference, asked)
        # How a link is refused is told in other words where none is followed.
        same = {"message": not layout.links}
        assert [told_of(places, source, d, **same) for d in source.diagnostics()] == [
            told_of(places, reference, d, **same) for d in reference.diagnostics()
        ]
    assert [source.load(f"good-{x}").instructions for x in "az"] == ["Body of good-a.\n", "Body of good-z.\n"]


def test_every_case_is_run_wherever_it_applies():
    tables = (
        ("spec", SPEC_CASES, spec_left_out),
        ("paths", PATH_CASES, path_left_out),
        ("frontmatter", FRONTMATTER_CASES, frontmatter_left_out),
    )
    assert [len(all_cases) for _, all_cases, _ in tables] == [50, 45, 42]
    run = {
        kind: tuple(
            sum(why_not(table, kind, case, left_out) is None for case in all_cases)
            for table, all_cases, left_out in tables
        )
        for kind in KINDS
    }
    assert run == RUN


# --- what the tables do not ask ---------------------------------------------------------------------------------------

NOTES = Layout(
    {
        "mail/SKILL.md": skill_file("mail"),
        "mail/references/rules.md": b"Receipts go to Money.\n",
        "mail/references/more.md": b"More.\n",
        "pdf/SKILL.md": skill_file("pdf"),
    }
)


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_read_as_of_the_activation_wherever_the_skill_lies(kind, places):
    router = SkillRouter(places.make(kind, NOTES))
    active = router.activate("mail")
    for path in ("references/rules.md", "references/more.md", "references/rules.md"):
        resource = router.read("mail", path, generation=active.generation)
        assert resource.data == NOTES.files[f"mail/{path}"]
    assert router.activate("mail").generation == active.generation


def test_of_a_published_skill_another_text_or_other_files_are_another_generation(places):
    for kind in PUBLISHED:
        source = places.make(kind, NOTES, fresh=0)
        before = source.bundle("mail")
        assert [info.path for info in before.resources] == ["references/more.md", "references/rules.md"]
        for path in ("mail/SKILL.md", "mail/new.md"):
            edited = Layout({**NOTES.files, path: skill_file("mail", body="Another text.\n")})
            places.publish_anew(kind, source, edited, as_found)
            assert source.bundle("mail").generation != before.generation
        places.publish_anew(kind, source, NOTES, as_found)
        assert source.bundle("mail") == before


@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_path_is_judged_before_anything_is_fetched(kind, places):
    source = places.make(kind, NOTES)
    places.site.forget()
    for path, error in (("../pdf/SKILL.md", ResourcePathError), ("", ResourcePathError)):
        for name in ("mail", "none"):
            with pytest.raises(error):
                source.read(name, path)
    with pytest.raises(LimitError):
        source.read("mail", "references/rules.md", max_bytes=0)
    assert places.site.paths == []


def test_an_index_may_say_as_much_of_a_skill_as_a_frontmatter_may_hold(places):
    def index(text):
        return lambda _: {"mail": ("mail", text), "pdf": ("pdf", "Fills forms.")}

    bounds = Limits(frontmatter_bytes=100)
    for text, listed in (("é\x07" * 32, ["mail", "pdf"]), ("x" * 97, ["pdf"])):
        source = places.make("http 0.2.0", NOTES, index=index(text), limits=bounds)
        assert [summary.name for summary in source.list()] == listed
        assert ("index-entry" in codes(source.diagnostics())) is ("mail" not in listed)


def test_a_zip_of_another_library_is_read_as_one_of_the_import_system(places, tmp_path):
    zipp = pytest.importorskip("zipp")  # its folders may have no entry
    path = tmp_path / "skills.zip"
    path.write_bytes(zipped(NOTES))
    source = tree_source(zipp.Path(path))
    assert [summary.name for summary in source.list()] == ["mail", "pdf"]
    reference = places.make("zipped package", NOTES)
    assert source.resources("mail") == reference.resources("mail")
    assert source.read("mail", "references/more.md") == reference.read("mail", "references/more.md")


def test_a_bundle_in_a_bucket_takes_one_listing_a_folder_and_one_read(places):
    source = places.make("s3", NOTES)
    source.list()
    places.bucket.forget()
    source.bundle("mail")
    asked = [
        parse_qs(query)["prefix"][0] if "list-type" in query else path for _, path, query, _ in places.bucket.requests
    ]
    assert [path.partition("/mail")[2] for path in asked] == ["/", "/SKILL.md", "/references/"]


# --- the contract -----------------------------------------------------------------------------------------------------


class Placed(SourceContract):
    """The contract on one kind of place."""

    kind: ClassVar[str]
    options: ClassVar[dict] = {}

    @pytest.fixture(autouse=True)
    def _places(self, places):
        self.places = places

    def make(self, files, **options):
        return self.places.make(self.kind, Layout(files), **self.options, **options)

    def make_linked(self, files, links):
        return self.places.make(self.kind, Layout(files, links))


class TestPackage(Placed):
    kind = "package"

    def change(self, source, files):
        shutil.rmtree(source.root)
        write(source.root, Layout(files))


class TestZippedPackage(Placed):
    """What is importable from a zip stays as it was when it was opened, as its modules do."""

    kind = "zipped package"
    writable = False


class Clock:
    """Goes ahead when it is told to."""

    ahead = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead


class Publishing(Placed):
    """A site whose index has, of folders that hold no usable skill, the name alone."""

    kind = "http 0.2.0"
    holds_links = False  # an archive with one is refused, above
    options: ClassVar = {"index": as_found}

    @pytest.fixture(autouse=True)
    def _clock(self, monkeypatch):
        self.clock = Clock()
        monkeypatch.setattr(kept, "time", self.clock)

    def change(self, source, files):
        """Publish something else, and let what was fetched before grow old."""
        self.places.publish_anew(self.kind, source, Layout(files), as_found)
        self.clock.ahead += 10_000


class TestPublishedArchives(Publishing):
    """An index of v0.2.0."""

    def test_the_budget_of_a_frontmatter_is_exact(self):
        """An index is listed as it is; the frontmatter is read with the skill."""
        data = skill_file("mail", description="x" * 300)
        size = data.index(b"---\nBegin") + len(b"---\n")
        files = {"mail/SKILL.md": data}
        fits, not_quite = (self.make(files, limits=Limits(frontmatter_bytes=n)) for n in (size, size - 2))
        name = self.name("mail")
        assert [s.name for s in fits.list()] == [s.name for s in not_quite.list()] == [name]
        assert fits.load(name).name == name
        for ask in CALLS.values():
            with pytest.raises(ContentTooLargeError):
                ask(not_quite, name)

    def test_a_strict_source_leaves_out_what_a_lenient_one_warns_of(self):
        """What is published has no folder, so that it is asked for by its name in the index."""
        files = FILES | {"mail-sorter/SKILL.md": skill_file("Mail Sorter")}
        lenient, strict = self.make(files), self.make(files, profile=STRICT)
        odd = self.name("Mail Sorter")
        assert [s.name for s in lenient.list()] == sorted([odd, self.name("mail"), self.name("pdf")])
        assert [s.name for s in strict.list()] == [self.name("mail"), self.name("pdf")]
        assert "name-charset" in codes(lenient.diagnostics(), "warning")
        assert "name-charset" in codes(strict.diagnostics(), "error")
        with pytest.raises(InvalidSkillError):
            strict.load(odd)


class TestPublishedFiles(TestPublishedArchives):
    """An index of v0.1.0: a skill goes by the name of the folder in its address."""

    kind = "http 0.1.0"

    def test_every_file_is_listed_with_its_size_and_kind(self):
        """The index tells no sizes: they are known of files that were read."""
        source = self.make(FILES)
        for info in source.resources("mail"):
            assert info.size == 0
            size = source.read("mail", info.path).total
            assert size == len(FILES[f"mail/{info.path}"])
            assert {i.path: i for i in source.resources("mail")}[info.path] == info.model_copy(update={"size": size})
        kinds = [info.kind for info in source.resources("mail")]
        assert kinds == ["asset", "other", "other", "reference", "other", "script"]

    def test_files_are_lossless(self):
        """As above: only the sizes are not told before."""
        source = self.make(FILES | {f"mail/assets/{path}": data for path, data in LOSSLESS.items()})
        for path, data in LOSSLESS.items():
            assert joined(source, "mail", f"assets/{path}") == data
            assert {i.path: i.size for i in source.resources("mail")}[f"assets/{path}"] == len(data)

    def test_of_two_skills_of_one_name_one_is_whole_and_the_other_reported(self):
        raise self.left_out("no two folders have one name.")

    def test_a_strict_source_leaves_out_what_a_lenient_one_warns_of(self):
        files = FILES | {"mail-sorter/SKILL.md": skill_file("Mail Sorter")}
        lenient, strict = self.make(files), self.make(files, profile=STRICT)
        assert lenient.load("mail-sorter").instructions == "Begin.\n"
        assert {"name-charset", "index-mismatch"} <= codes(lenient.diagnostics(), "warning")
        with pytest.raises(InvalidSkillError) as caught:
            strict.load("mail-sorter")
        assert "name-charset" in codes(caught.value.diagnostics, "error")


class TestWrapped(Publishing):
    """All wrappers at once; each skill lies on a site, a source that is none of our trees, or in a package."""

    EXTRA: ClassVar = {"zz-left-out/SKILL.md": skill_file("zz-left-out")}

    def name(self, folder):
        return f"acme/{folder}"

    def halves(self, files):
        here = {path: data for path, data in files.items() if path.startswith(("mail", "one", "two"))}
        return {path: data for path, data in (files | self.EXTRA).items() if path not in here}, here

    def make(self, files, **options):
        site, package = self.halves(files)
        self.site = super().make(site, **options)
        self.package = self.places.make("package", Layout(package), **options)
        kept = filtered(namespaced("acme", self.site), lambda summary: summary.name != "acme/zz-left-out")
        return merge(namespaced("acme", self.package), kept)

    def change(self, source, files):
        site, package = self.halves(files)
        super().change(self.site, site)
        TestPackage.change(self, self.package, package)


# --- 10,000 skills ----------------------------------------------------------------------------------------------------

MANY = 10_000
RAISED = Limits(entries=2 * MANY, directories=2 * MANY)
MIB = 1 << 20


@pytest.fixture(scope="module")
def many():
    """So many skills that their bodies have 78 MiB."""
    head = "---\nname: skill-{0:05}\ndescription: Does the work of number {0}. Use when {0} is asked for.\n---\n"
    body = b"words " * 1366
    return Layout({f"skill-{n:05}/SKILL.md": head.format(n).encode() + body for n in range(MANY)})


@pytest.fixture(scope="module", params=["directory", "mapping"])
def of_many(request, many, places):
    """Makes a source of one place that holds them, with some bounds."""
    if request.param == "mapping":
        return request.param, lambda **options: MappingSource(many.files, **options)
    root = write(places.base / "many", many)
    return request.param, lambda **options: DirectorySource(root, settle=0, **options)


def test_ten_thousand_skills_are_listed_in_bounded_memory_and_a_catalog_of_them_keeps_its_budget(of_many):
    kind, source_with = of_many
    source = source_with(limits=RAISED)
    tracemalloc.start()
    try:
        listed = source.list()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    print(f"{kind}: listing {len(listed)} skills takes {peak / MIB:.1f} MiB at most")  # noqa: T201 - shown by -s
    assert peak <= 32 * MIB  # less than half of the bodies: none is kept
    assert [summary.name for summary in listed] == [f"skill-{n:05}" for n in range(MANY)]
    assert source.diagnostics() == ()
    catalog = SkillRouter(source, budget=TokenBudget(4000), pinned=["skill-07000"]).catalog()
    assert catalog.tokens == estimate_tokens(catalog.text) <= 4000
    assert catalog.truncated and "skill-07000" in catalog.shown
    assert sorted([*catalog.shown, *catalog.omitted]) == [summary.name for summary in listed]
    assert f"{len(catalog.omitted)} more skills are not listed" in catalog.text


def test_past_the_default_limits_there_is_a_word_and_what_was_found_is_kept(of_many):
    _, source_with = of_many
    source = source_with()
    listed = source.list()
    assert [summary.name for summary in listed] == [f"skill-{n:05}" for n in range(Limits().directories - 1)]
    (said,) = source.diagnostics()
    assert (said.code, said.severity) == ("scan-limit", "warning")
    assert source.load(listed[-1].name).instructions.startswith("words words")
    with pytest.raises(LimitError, match=r"Raise Limits\.directories"):
        source_with(profile=STRICT).list()
