"""Directories and mappings as sources: discovery, confinement, bounds, freshness, and how little they touch."""

import errno
import os
import socket
import stat
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from skillbelt import (
    LENIENT,
    NAMESPACED,
    STRICT,
    ContentTooLargeError,
    DirectorySource,
    InvalidSkillError,
    LimitError,
    Limits,
    MappingSource,
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceSource,
    ResourceTypeError,
    SkillError,
    SkillFileNotFoundError,
    SkillNotFoundError,
    SkillSource,
    SourceError,
    TreeSource,
    validate_skill,
)
from skillbelt.sources.base import Troubled, Versioned
from skillbelt.sources.directory import DirectoryTree
from skillbelt.sources.mapping import MappingTree
from skillbelt.sources.paths import shown
from skillbelt.sources.tree import Chunk, Entry


def text_of(name, *, description=None, body="Begin.\n"):
    return f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n---\n{body}"


def build(root, files):
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(content, encoding="utf-8")
    return root


FILES = {
    "mail/SKILL.md": text_of("mail"),
    "mail/references/rules.md": "Rules\n",
    "mail/scripts/sort.py": "print()\n",
    "mail/assets/logo.bin": b"\x00\x01",
    "mail/notes.txt": "loose",
    "pdf/SKILL.md": text_of("pdf"),
    "group/deep/zip/SKILL.md": text_of("zip"),
    "loose.txt": "not a skill",
}


@pytest.fixture(params=["directory", "mapping"])
def make(request, tmp_path):
    """Make a source of files, on disk or in memory."""

    def made(files, **options):
        if request.param == "mapping":
            return MappingSource(files, **options)
        return DirectorySource(build(tmp_path / "root", files), **options)

    return made


@pytest.fixture
def root(tmp_path):
    return build(tmp_path / "skills", FILES)


def codes(source):
    return [d.code for d in source.diagnostics()]


def said(source, root):
    return [(d.code, os.path.relpath(d.path, root)) for d in source.diagnostics()]


def names(source):
    return [summary.name for summary in source.list()]


class Watched:
    """A tree that notes what it is asked, and may be told to refuse everything."""

    def __init__(self, tree):
        self._tree = tree
        self.asked = []
        self.refuse = False

    def __getattr__(self, name):
        return getattr(self._tree, name)

    def _note(self, *what):
        if self.refuse:
            raise AssertionError(f"the tree was asked {what}")
        self.asked.append(what)

    def entries(self, folder, path=""):
        self._note("entries", folder, path)
        return self._tree.entries(folder, path)

    def kind(self, folder, path=""):
        self._note("kind", folder, path)
        return self._tree.kind(folder, path)

    def read(self, folder, path, *, offset=0, size):
        self._note("read", folder, path, size)
        return self._tree.read(folder, path, offset=offset, size=size)

    def reads(self):
        return [(folder, path) for what, folder, path, *_ in self.asked if what == "read"]


# --- what every source answers -------------------------------------------------------------------------------------


@pytest.mark.row("S3-01")
def test_a_source_satisfies_both_protocols(make):
    source = make(FILES)
    for protocol in (SkillSource, ResourceSource, Troubled, Versioned):
        assert isinstance(source, protocol)


@pytest.mark.row("S3-19", "S1-09", "S3-58")
def test_list_gives_every_skill_sorted_by_name(make):
    source = make(FILES)
    assert [(s.name, s.description) for s in source.list()] == [
        ("mail", "Does mail."),
        ("pdf", "Does pdf."),
        ("zip", "Does zip."),
    ]
    assert source.diagnostics() == ()
    assert source.problems() == {}


@pytest.mark.row("S3-33")
def test_lookup_is_what_list_says_of_one(make):
    source = make(FILES)
    for summary in source.list():
        assert source.lookup(summary.name) == summary


@pytest.mark.row("S1-21")
def test_load_gives_the_body_and_the_digest(make):
    skill = make(FILES).load("mail")
    assert (skill.name, skill.instructions) == ("mail", "Begin.\n")
    assert len(skill.digest) == 64


@pytest.mark.row("S1-10", "S1-11", "S1-12", "S1-22", "S1-29")
def test_resources_are_all_files_sorted_with_kind_and_size(make):
    infos = make(FILES).resources("mail")
    assert [(r.path, r.kind, r.size, r.executable) for r in infos] == [
        ("assets/logo.bin", "asset", 2, False),
        ("notes.txt", "other", 5, False),
        ("references/rules.md", "reference", 6, False),
        ("scripts/sort.py", "script", 8, False),
    ]


@pytest.mark.row("S1-13")
def test_a_skill_of_one_file_has_no_resources(make):
    assert make(FILES).resources("pdf") == ()


def test_a_file_called_like_a_folder_of_the_format_is_only_a_file(make):
    infos = make({"a/SKILL.md": text_of("a"), "a/scripts": "x"}).resources("a")
    assert [(r.path, r.kind) for r in infos] == [("scripts", "other")]


@pytest.mark.row("S1-39")
def test_a_folder_below_scripts_is_no_script_but_what_is_in_it_is(make):
    infos = make({"a/SKILL.md": text_of("a"), "a/scripts/lib/x.py": "", "a/scripts/y.py": ""}).resources("a")
    assert [r.path for r in infos] == ["scripts/lib/x.py", "scripts/y.py"]


def test_read_gives_the_bytes(make):
    resource = make(FILES).read("mail", "references/rules.md")
    assert (resource.data, resource.total, resource.truncated, resource.offset) == (b"Rules\n", 6, False, 0)
    assert resource.info.kind == "reference"


def test_read_gives_the_skill_file_itself(make):
    assert make(FILES).read("mail", "SKILL.md").data == FILES["mail/SKILL.md"].encode()


@pytest.mark.row("S3-42")
@pytest.mark.parametrize(
    ("options", "data", "truncated"),
    [
        ({"max_bytes": 5}, b"# Ref", True),
        ({"max_bytes": 11}, b"# Reference", False),
        ({"max_bytes": 12}, b"# Reference", False),
        ({"offset": 2, "max_bytes": 3}, b"Ref", True),
        ({"offset": 2, "max_bytes": 9}, b"Reference", False),
        ({"offset": 11}, b"", False),
        ({"offset": 500}, b"", False),
        ({"offset": 10, "max_bytes": 1}, b"e", False),
        ({"max_bytes": 1 << 40}, b"# Reference", False),
    ],
)
def test_read_is_bounded_and_says_whether_more_follows(make, options, data, truncated):
    resource = make({"a/SKILL.md": text_of("a"), "a/r.md": "# Reference"}).read("a", "r.md", **options)
    assert (resource.data, resource.truncated, resource.total) == (data, truncated, 11)
    assert resource.offset == options.get("offset", 0)


def test_a_read_never_gives_more_than_the_limit_of_the_source(make):
    source = make({"a/SKILL.md": text_of("a"), "a/r.md": "x" * 100}, limits=Limits(resource_bytes=10))
    resource = source.read("a", "r.md", max_bytes=50)
    assert (len(resource.data), resource.truncated, resource.total) == (10, True, 100)


def test_pages_of_a_file_join_to_the_file(make):
    data = os.urandom(10_000)
    source = make({"a/SKILL.md": text_of("a"), "a/r.bin": data})
    pages, more = b"", True
    while more:
        page = source.read("a", "r.bin", offset=len(pages), max_bytes=999)
        pages, more = pages + page.data, page.truncated
    assert pages == data


@pytest.mark.row("S3-43")
@pytest.mark.parametrize("bad", [0, -1, 2**41, 1.5, "10", True, None])
def test_a_bound_that_is_no_usable_number_is_refused(make, bad):
    with pytest.raises(LimitError, match="max_bytes"):
        make(FILES).read("mail", "notes.txt", max_bytes=bad)


@pytest.mark.parametrize("bad", [-1, 1.5, "0", True, None])
def test_an_offset_that_is_no_usable_number_is_refused(make, bad):
    with pytest.raises(LimitError, match="offset"):
        make(FILES).read("mail", "notes.txt", offset=bad)


@pytest.mark.parametrize("asked", ["mail", "MAIL", " Mail ", "\uff4d\uff41\uff49\uff4c"])
def test_a_name_is_found_in_any_case_and_unicode_form(make, asked):
    source = make(FILES)
    assert source.load(asked).name == source.lookup(asked).name == "mail"
    assert len(source.resources(asked)) == 4
    assert source.read(asked, "notes.txt").data == b"loose"


CALLS = {
    "lookup": lambda s, name: s.lookup(name),
    "load": lambda s, name: s.load(name),
    "resources": lambda s, name: s.resources(name),
    "read": lambda s, name: s.read(name, "notes.txt"),
}


@pytest.mark.row("S3-29")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_missing_skill_is_not_found_with_close_matches(make, call):
    with pytest.raises(SkillNotFoundError, match="Did you mean 'mail'") as caught:
        call(make(FILES), "mial")
    assert isinstance(caught.value, FileNotFoundError)
    assert not isinstance(caught.value, InvalidSkillError)


@pytest.mark.row("S3-30", "S3-35", "S3-17")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_broken_skill_says_why_by_its_folder_and_by_its_written_name(make, call):
    source = make({**FILES, "bad/SKILL.md": "---\nname: worse\ndescription:\n---\n", "bad/notes.txt": "x"})
    assert names(source) == ["mail", "pdf", "zip"]
    for name in ("bad", "worse", "BAD"):
        with pytest.raises(InvalidSkillError, match="description is missing") as caught:
            call(source, name)
        assert {d.code for d in caught.value.diagnostics} >= {"description-missing"}
    assert source.problems().keys() == {"bad", "worse"}


@pytest.mark.row("S3-20")
@pytest.mark.parametrize("profile", [LENIENT, STRICT], ids=lambda p: p.title)
def test_one_broken_skill_never_hides_another(make, profile):
    source = make(
        {
            **FILES,
            "a/SKILL.md": "no frontmatter",
            "b/SKILL.md": b"\xff\xfe\x00",
            "c/SKILL.md": "",
            "n/SKILL.md": "---\n" + "x: y\n" * 100_000,
            "z/SKILL.md": "---\n- list\n---\n",
        },
        profile=profile,
    )
    assert names(source) == ["mail", "pdf", "zip"]
    errors = [d for d in source.diagnostics() if d.severity == "error"]
    assert len({d.path for d in errors}) == 5
    assert source.problems().keys() == {"a", "b", "c", "n", "z"}


@pytest.mark.row("S3-20", "S3-08")
def test_a_strict_source_leaves_out_what_a_lenient_one_warns_of(make):
    files = {**FILES, "other/SKILL.md": text_of("Name_X")}
    assert names(make(files, profile=STRICT)) == ["mail", "pdf", "zip"]
    source = make(files)
    assert names(source) == ["Name_X", "mail", "pdf", "zip"]
    assert set(codes(source)) == {"name-uppercase", "name-charset", "name-dir-mismatch"}


@pytest.mark.row("S3-31", "C22")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_folder_without_skill_file_owns_its_name(make, call):
    source = make({**FILES, "empty/references/a.md": "x"})
    assert names(source) == ["mail", "pdf", "zip"]
    assert source.diagnostics() == ()
    with pytest.raises(InvalidSkillError, match=r"no SKILL\.md") as caught:
        call(source, "Empty")
    assert not isinstance(caught.value, SkillNotFoundError)
    assert "empty" in source.problems()


def test_a_group_of_skills_owns_no_name(make):
    source = make(FILES)
    with pytest.raises(SkillNotFoundError):
        source.load("group")
    with pytest.raises(SkillNotFoundError):
        source.load("deep")
    assert source.problems() == {}


def test_a_group_of_broken_skills_is_a_group_too(make):
    source = make({"group/bad/SKILL.md": "x"})
    assert source.problems().keys() == {"bad"}


def test_of_two_skills_of_one_name_the_first_folder_wins_and_the_other_is_reachable(make):
    source = make({"b/SKILL.md": text_of("same", body="B"), "a/SKILL.md": text_of("same", body="A"), "b/x.md": "of b"})
    assert names(source) == ["same"]
    assert source.load("same").instructions == "A"
    assert source.load("same@b").instructions == source.load("SAME@B").instructions == "B"
    assert source.lookup("same@b").name == "same"
    assert [r.path for r in source.resources("same@b")] == ["x.md"]
    assert source.read("same@b", "x.md").data == b"of b"
    with pytest.raises(ResourceNotFoundError):
        source.read("same", "x.md")
    (found,) = [d for d in source.diagnostics() if d.code == "duplicate-name"]
    assert "'same@b'" in found.hint
    with pytest.raises(SkillNotFoundError):
        source.load("same@c")


def test_a_skill_in_the_folder_of_its_name_wins_over_one_that_only_says_so(make):
    files = {"aaa/SKILL.md": text_of("mail", body="impostor"), "aab/SKILL.md": text_of("mail", body="another")}
    source = make({**files, "group/mail/SKILL.md": text_of("mail", body="real"), "zzz/SKILL.md": text_of("mail")})
    assert source.load("mail").instructions == "real"
    assert source.load("mail@aaa").instructions == "impostor"
    assert source.load("mail@aab").instructions == "another"
    shadowed = [d.path for d in source.diagnostics() if d.code == "duplicate-name"]
    assert [Path(path).parent.name for path in shadowed] == ["aab", "aaa", "zzz"]
    namespaced = make({"aa/SKILL.md": text_of("ops/b"), "b/SKILL.md": text_of("ops/b", body="B")}, profile=NAMESPACED)
    assert namespaced.load("ops/b").instructions == "B"


@pytest.mark.parametrize("asked", ["/etc/passwd", "//host/share/x", "file:/etc/passwd", "file:///etc/passwd", "C:/x"])
def test_a_path_of_the_host_is_not_given_back(make, asked):
    for call in (lambda s: s.read("mail", asked), lambda s: s.load(asked)):
        with pytest.raises(SkillError) as caught:
            call(make(FILES))
        assert "etc" not in str(caught.value)
        assert "host" not in str(caught.value)


def test_what_was_said_of_a_shadowed_skills_files_does_not_replace_what_was_said_of_the_winners(make):
    nested = {"a/x/SKILL.md": "x", "b/y/SKILL.md": "y"}
    source = make({"a/SKILL.md": text_of("same"), "b/SKILL.md": text_of("same"), **nested})
    source.resources("same")
    source.resources("same@b")
    assert len([d for d in source.diagnostics() if d.code == "nested-skill"]) == 2


def test_a_name_used_well_by_one_folder_and_badly_by_another_is_usable(make):
    source = make({"a/SKILL.md": "---\nname: mail\ndescription:\n---\n", "mail/SKILL.md": text_of("mail")})
    assert source.load("mail").instructions == "Begin.\n"
    assert source.problems().keys() == {"a"}


def test_another_spelling_of_the_file_name_is_found_and_said(make):
    source = make({"a/skill.md": text_of("a"), "a/x.md": "", "b/Skill.MD": text_of("b")})
    assert names(source) == ["a", "b"]
    assert codes(source) == ["filename-case"] * 2
    assert [r.path for r in source.resources("a")] == ["x.md"]
    assert names(make({"a/skill.md": text_of("a")}, profile=STRICT)) == []


@pytest.mark.row("S3-05", "C13")
def test_the_exact_file_name_wins_over_other_spellings(make):
    source = make({"a/SKILL.md": text_of("a", body="right"), "a/skill.md": text_of("a", body="wrong")})
    assert source.load("a").instructions == "right"
    assert source.diagnostics()[-1:] == source.diagnostics()[1:]


def test_a_root_that_is_itself_a_skill_is_that_one_skill(tmp_path):
    build(tmp_path / "mail", {"SKILL.md": text_of("mail"), "pdf/SKILL.md": text_of("pdf"), "x.md": "x"})
    source = DirectorySource(tmp_path / "mail", profile=STRICT)
    assert names(source) == ["mail"]
    assert [r.path for r in source.resources("mail")] == ["pdf/SKILL.md", "x.md"]
    assert codes(source) == ["nested-skill"]


def test_a_mapping_with_a_skill_at_its_root_needs_a_name_in_it():
    assert names(MappingSource({"SKILL.md": text_of("mail")})) == ["mail"]
    source = MappingSource({"SKILL.md": "---\ndescription: x\n---\n"})
    assert (names(source), codes(source)) == ([], ["name-missing"])


@pytest.mark.parametrize("folder", [".git", ".hidden", "node_modules", "__pycache__", "__MACOSX"])
def test_hidden_and_dependency_folders_are_not_searched_nor_their_files_listed(make, folder):
    source = make({**FILES, f"{folder}/a/SKILL.md": text_of("a"), f"pdf/{folder}/x.md": "x", "pdf/.env": "x"})
    assert names(source) == ["mail", "pdf", "zip"]
    assert source.resources("pdf") == ()
    with pytest.raises(SkillNotFoundError):
        source.load(folder)
    for path in (f"{folder}/x.md", ".env"):
        with pytest.raises(ResourceNotFoundError, match="hidden"):
            source.read("pdf", path)


def test_the_root_itself_may_be_hidden(tmp_path):
    assert names(DirectorySource(build(tmp_path / ".claude" / "skills", FILES))) == ["mail", "pdf", "zip"]


def test_a_namespaced_folder_serves_namespaced_names(make):
    source = make({"x/SKILL.md": text_of("ops/deploy"), "x/a.md": "a"}, profile=NAMESPACED)
    assert names(source) == ["ops/deploy"]
    assert source.load("ops/deploy").short_name == "deploy"
    assert source.read("ops/deploy", "a.md").data == b"a"
    assert source.diagnostics() == ()


def test_versions_differ_exactly_for_what_was_written_anew(tmp_path):
    root = build(tmp_path, FILES)
    source = DirectorySource(root)
    before = dict(source.versions())
    assert before.keys() == {"mail", "pdf", "zip"}
    (root / "pdf" / "SKILL.md").write_text(text_of("pdf", body="other and longer"))
    source.list()
    after = source.versions()
    assert {key for key in after if after[key] != before[key]} == {"pdf"}


def test_problems_versions_and_diagnostics_scan_when_nothing_was_listed_yet(make):
    assert make({"a/SKILL.md": "x"}).problems().keys() == {"a"}
    assert make(FILES).versions().keys() == {"mail", "pdf", "zip"}
    assert [d.code for d in make({"a/SKILL.md": "x"}).diagnostics()] == ["frontmatter-missing"]


def test_a_source_prints_where_it_is(make):
    assert "Source('" in repr(make({}))


def test_summaries_say_where_a_skill_is(root):
    summary = DirectorySource(root).lookup("mail")
    assert (summary.location, summary.source) == (str(root / "mail" / "SKILL.md"), str(root))
    skill = DirectorySource(root).load("mail")
    assert (skill.location, skill.source) == (summary.location, summary.source)
    assert MappingSource(FILES, label="ours").lookup("mail").source == "ours"
    assert MappingSource(FILES).lookup("mail").location == "mail/SKILL.md"


# --- paths ---------------------------------------------------------------------------------------------------------

BAD_PATHS = [
    "", ".", "..", "/", "/etc/passwd", "a/", "/a", "a//b", "./a", "a/./b", "a/../b", "../pdf/SKILL.md", "a\\b", "..\\a",
    "a\x00b", "C:\\x", "C:/x", "file:/x", "x" * 4097, "a/" * 64 + "a", "\ud800", "\udcff.md", None, 7, b"a",
]  # fmt: skip


@pytest.mark.row("S3-34")
@pytest.mark.parametrize("path", BAD_PATHS, ids=range(len(BAD_PATHS)))
def test_a_path_that_is_not_plain_is_refused_before_anything_is_asked(path):
    tree = Watched(MappingTree(FILES))
    tree.refuse = True
    with pytest.raises(ResourcePathError) as caught:
        TreeSource(tree).read("mail", path)
    assert len(str(caught.value)) <= 1024
    assert str(caught.value).isprintable()


@pytest.mark.row("S3-27")
@pytest.mark.parametrize("name", ["", "  ", "\n", None, 7, b"mail"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_name_that_is_no_text_is_refused_before_anything_is_asked(name, call):
    tree = Watched(MappingTree(FILES))
    tree.refuse = True
    with pytest.raises(SkillNotFoundError, match="must not be empty"):
        call(TreeSource(tree), name)


@pytest.mark.parametrize(
    "name", ["../skills/mail", "mail/..", "./mail", "/", "mail/SKILL.md", "mail\x00", "loose.txt", ".", "..", "\ud800"]
)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_name_is_looked_up_and_never_joined_into_a_path(root, name, call):
    with pytest.raises(SkillNotFoundError) as caught:
        call(DirectorySource(root), name)
    assert str(root) not in str(caught.value)


@pytest.mark.row("S3-40")
@pytest.mark.parametrize(
    "path", ["nope.md", "references/nope.md", "notes.txt/x", "SKILL.md/x", "é", "a:b", "~", "%2e%2e", "a:b/c"]
)
def test_a_missing_file_of_a_skill_is_not_found_but_the_skill_is(make, path):
    with pytest.raises(ResourceNotFoundError) as caught:
        make(FILES).read("mail", path)
    assert isinstance(caught.value, FileNotFoundError)
    assert not isinstance(caught.value, SkillNotFoundError)


@pytest.mark.row("S3-36")
def test_a_folder_is_no_file(make):
    with pytest.raises(ResourceTypeError, match="folder"):
        make(FILES).read("mail", "references")


@pytest.mark.parametrize("path", ["n" * 300, "é" * 200])
def test_a_name_no_file_can_have_is_an_error_of_ours(root, path):
    with pytest.raises(ResourceError):
        DirectorySource(root).read("mail", path)


@pytest.mark.parametrize(
    "text",
    ["plain", "it's", "\x1b[2J", "\U000e0041" * 120, "'" * 500, "\\" * 500, "é" * 119, "n" * 121, "", "\n" * 120],
)
def test_a_shown_text_is_short_and_printable(text):
    assert len(shown(text)) <= 122
    assert shown(text).isprintable()
    assert shown(text)[0] == shown(text)[-1]


@pytest.mark.parametrize(
    "odd", ["references/a..b.md", "references/..data.md", "references/...md", "na\u00efve file.md", "50%25.md"]
)
def test_an_odd_name_is_only_a_name(make, odd):
    assert make({"a/SKILL.md": text_of("a"), f"a/{odd}": "fine"}).read("a", odd).data == b"fine"


# --- mappings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "/a", "a/../b", "a\\b", "a//b", "a/\ud800", "\udcff.md"])
def test_a_mapping_key_that_is_no_path_is_refused(key):
    with pytest.raises(SourceError, match="key that is no path"):
        MappingSource({key: "x"})


@pytest.mark.parametrize("keys", [("a", "a/b"), ("a/b", "a")])
def test_a_mapping_may_not_use_a_path_as_file_and_folder(keys):
    with pytest.raises(SourceError, match="both as a file and as a folder"):
        MappingSource(dict.fromkeys(keys, "x"))


def test_a_mapping_is_copied_and_takes_text_bytes_and_buffers():
    files = {"a/SKILL.md": text_of("a"), "a/b.bin": bytearray(b"\xff"), "a/c.md": "é", "a/d.md": "\ud800"}
    source = MappingSource(files)
    files.clear()
    assert source.read("a", "b.bin").data == b"\xff"
    assert source.read("a", "c.md").data == "é".encode()
    with pytest.raises(ResourceTypeError):
        source.read("a", "d.md").text()


def test_a_mapping_tree_answers_for_what_is_not_there():
    tree = MappingTree(FILES)
    for call in (lambda: tree.entries("nope"), lambda: tree.kind("nope"), lambda: tree.read("mail", "nope", size=1)):
        with pytest.raises(ResourceNotFoundError):
            call()
    assert tree.kind("mail", "notes.txt") == Entry("notes.txt", "file")
    assert (tree.where(""), tree.name, tree.on_disk) == (None, None, False)


# --- directories: the root -----------------------------------------------------------------------------------------


@pytest.mark.row("S3-22", "C8")
def test_a_missing_root_is_empty_and_says_so(tmp_path):
    source = DirectorySource(tmp_path / "later")
    assert source.list() == ()
    assert said(source, tmp_path) == [("folder-missing", "later")]
    assert source.diagnostics()[0].severity == "warning"
    with pytest.raises(SkillNotFoundError, match="There are no skills"):
        source.load("mail")
    build(tmp_path / "later", FILES)
    assert names(source) == ["mail", "pdf", "zip"]


@pytest.mark.row("C8")
def test_a_missing_root_raises_at_once_where_that_is_asked_for(tmp_path):
    with pytest.raises(SourceError, match="was not found"):
        DirectorySource(tmp_path / "later", strict_root=True)
    (tmp_path / "now").mkdir()
    assert DirectorySource(tmp_path / "now", strict_root=True).list() == ()


@pytest.mark.row("S1-36", "S3-21")
@pytest.mark.parametrize("strict", [True, False])
def test_a_file_instead_of_a_folder_is_not_a_directory(tmp_path, strict):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="not a directory") as caught:
        DirectorySource(tmp_path / "file", strict_root=strict).list()
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "n" * 300])
def test_a_root_that_is_no_path_is_an_error_of_ours(name):
    with pytest.raises(SourceError):
        DirectorySource(f"/tmp/{name}").list()


def test_a_root_below_a_file_or_a_loop_is_an_error_or_empty_but_never_a_crash(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SourceError):
        DirectorySource(tmp_path / "file" / "below").list()
    with pytest.raises(SourceError):
        DirectorySource(tmp_path / "loop").list()


def test_a_root_that_is_a_link_is_read(tmp_path, root):
    (tmp_path / "link").symlink_to(root)
    source = DirectorySource(tmp_path / "link")
    assert names(source) == ["mail", "pdf", "zip"]
    assert source.lookup("mail").location == str(tmp_path / "link" / "mail" / "SKILL.md")


def test_a_home_relative_root_and_a_relative_one_are_understood(tmp_path, root, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for given in ("~/skills", "skills", Path("skills"), "./skills/"):
        assert DirectorySource(given).lookup("mail").location == str(root / "mail" / "SKILL.md")


@pytest.mark.parametrize("bad", [None, "", 7, b"skills"])
def test_a_root_or_a_path_that_is_none_is_refused_by_its_name(bad):
    with pytest.raises(SourceError, match="root must name"):
        DirectorySource(bad)
    with pytest.raises(SourceError, match="path must name"):
        validate_skill(bad)
    with pytest.raises(SourceError, match="files must be a mapping"):
        MappingSource(bad)


def test_nothing_is_read_at_construction(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("read at construction")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    DirectorySource(tmp_path)


@pytest.mark.parametrize("options", [{"symlinks": "maybe"}, {"symlinks": "follow", "trusted": False}])
def test_a_link_policy_that_is_none_or_needs_trust_is_refused(tmp_path, options):
    with pytest.raises(SourceError, match="symlinks"):
        DirectorySource(tmp_path, **options)


def test_the_order_of_creation_does_not_matter(tmp_path):
    found = []
    for number, paths in enumerate((list(FILES), list(reversed(FILES)))):
        root = build(tmp_path / str(number), {path: FILES[path] for path in paths})
        for name in ("x", "y"):
            build(root, {f"{name if number else 'y' if name == 'x' else 'x'}/SKILL.md": text_of("same")})
        source = DirectorySource(root)
        listed = [(s.name, os.path.relpath(s.location, root)) for s in source.list()]
        found.append((listed, said(source, root), [r.path for r in source.resources("mail")]))
    assert found[0] == found[1]


# --- directories: now ----------------------------------------------------------------------------------------------


@pytest.mark.row("S3-32", "S1-54")
def test_an_edit_on_disk_is_visible_at_the_next_call(root):
    source = DirectorySource(root)
    assert source.load("mail").instructions == "Begin.\n"
    build(root, {"mail/SKILL.md": text_of("mail", description="New.", body="Changed."), "mail/new.md": "n"})
    assert source.lookup("mail").description == "New."
    assert source.load("mail").instructions == "Changed."
    assert "new.md" in [r.path for r in source.resources("mail")]
    assert source.read("mail", "new.md").data == b"n"
    build(root, {"late/SKILL.md": text_of("late")})
    assert source.load("late").name == "late"
    assert "late" in names(source)


@pytest.mark.row("S3-32")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_skill_that_was_broken_since_it_was_listed_says_so(root, call):
    source = DirectorySource(root)
    source.list()
    (root / "mail" / "SKILL.md").write_text("broken")
    with pytest.raises(InvalidSkillError, match="frontmatter"):
        call(source, "mail")
    (root / "mail" / "SKILL.md").write_text(text_of("mail"))
    call(source, "mail")


@pytest.mark.row("S3-41")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_skill_that_vanished_since_it_was_listed_is_missing(root, call):
    source = DirectorySource(root)
    source.list()
    (root / "pdf").rename(root.parent / "away")
    with pytest.raises(SkillNotFoundError):
        call(source, "pdf")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_skill_that_was_renamed_or_moved_since_it_was_listed_is_found_where_it_is(root, call):
    source = DirectorySource(root)
    source.list()
    (root / "mail").rename(root / "post")
    call(source, "mail")
    (root / "post" / "SKILL.md").write_text(text_of("post"))
    with pytest.raises(SkillNotFoundError):
        call(source, "mail")
    call(source, "post")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_skill_file_that_was_replaced_by_a_folder_since_it_was_listed_says_so(root, call):
    source = DirectorySource(root)
    source.list()
    (root / "mail" / "SKILL.md").unlink()
    (root / "mail" / "SKILL.md").mkdir()
    with pytest.raises(InvalidSkillError, match="folder, not a file"):
        call(source, "mail")


def test_notes_on_files_are_dropped_when_their_skill_is_gone(root):
    build(root, {"mail/x/SKILL.md": "x"})
    source = DirectorySource(root)
    source.resources("mail")
    assert codes(source) == ["nested-skill"]
    (root / "mail" / "SKILL.md").unlink()
    source.list()
    assert "nested-skill" not in codes(source)


# --- directories: limits -------------------------------------------------------------------------------------------


@pytest.mark.row("S3-03", "S3-04")
def test_defaults_are_public_and_a_bad_limit_is_refused_at_construction():
    assert (Limits().entries, Limits.minimal().entries) == (2000, 512)
    assert (Limits().frontmatter_bytes, Limits().skill_bytes, Limits().resource_bytes) == (1 << 16, 1 << 20, 1 << 20)
    assert Limits(entries=None, depth=None) == Limits()
    for bad in (0, -1, 2**41, 1.0, "9", True):
        with pytest.raises(LimitError, match="depth"):
            Limits(depth=bad)
    with pytest.raises(LimitError, match="larger than skill_bytes"):
        Limits(frontmatter_bytes=11, skill_bytes=10)


MANY = {f"s{i:02}/SKILL.md": text_of(f"s{i:02}") for i in range(10)}


@pytest.mark.row("S3-23")
@pytest.mark.parametrize(
    ("limits", "kept", "code"),
    [
        (Limits(entries=10), 10, None),
        (Limits(entries=9), 9, "scan-limit"),
        (Limits(entries=1), 1, "scan-limit"),
        (Limits(directories=11), 10, None),
        (Limits(directories=10), 9, "scan-limit"),
        (Limits(directories=1), 0, "scan-limit"),
    ],
)
def test_past_a_limit_of_a_scan_a_lenient_source_keeps_what_it_has_and_a_strict_one_raises(make, limits, kept, code):
    source = make(MANY, limits=limits)
    assert names(source) == [f"s{i:02}" for i in range(kept)]
    assert codes(source) == ([code] if code else [])
    strict = make(MANY, limits=limits, profile=STRICT)
    if code:
        for call in (strict.list, strict.diagnostics, lambda: strict.load("s00")):
            with pytest.raises(LimitError, match=r"Raise Limits\.(entries|directories)"):
                call()
    else:
        assert len(strict.list()) == 10


@pytest.mark.row("S3-23")
def test_entries_that_are_no_skills_count_as_well(make):
    source = make({**MANY, **{f"a{i}.txt": "" for i in range(10)}}, limits=Limits(entries=15))
    assert len(source.list()) == 5
    assert codes(source) == ["scan-limit"]


def test_what_lies_past_a_limit_is_not_called_a_folder_without_skill_file(make):
    source = make(MANY, limits=Limits(entries=5))
    with pytest.raises(SkillNotFoundError):
        source.load("s09")
    nested = make({f"g{i}/a/b/c/SKILL.md": text_of(f"g{i}") for i in range(5)}, limits=Limits(directories=6))
    assert "g1" not in nested.problems()


@pytest.mark.parametrize(("depth", "found"), [(1, ["a"]), (2, ["a", "b"]), (3, ["a", "b", "c"]), (6, ["a", "b", "c"])])
def test_folders_are_searched_as_deep_as_the_limit(make, depth, found):
    files = {"a/SKILL.md": text_of("a"), "x/b/SKILL.md": text_of("b"), "x/y/c/SKILL.md": text_of("c")}
    source = make(files, limits=Limits(depth=depth))
    assert names(source) == found
    assert set(codes(source)) == (set() if len(found) == 3 else {"depth-limit"})
    if len(found) < 3:
        with pytest.raises(LimitError, match=r"Limits\.depth"):
            make(files, limits=Limits(depth=depth), profile=STRICT).list()


def test_a_link_leads_no_deeper_than_the_limit(tmp_path):
    build(tmp_path, {"x/y/deep/SKILL.md": text_of("deep")})
    (tmp_path / "x" / "link").symlink_to("y/deep")
    source = DirectorySource(tmp_path, limits=Limits(depth=1))
    assert names(source) == []
    assert [c for c, _ in said(source, tmp_path)] == ["depth-limit", "depth-limit"]
    assert names(DirectorySource(tmp_path, limits=Limits(depth=2))) == ["deep"]


def test_past_the_limit_of_resources_a_lenient_source_lists_the_first_and_says_so(make):
    files = {"a/SKILL.md": text_of("a"), **{f"a/f{i}": "" for i in range(5)}}
    source = make(files, limits=Limits(resources=3))
    assert [r.path for r in source.resources("a")] == ["f0", "f1", "f2"]
    assert codes(source) == ["scan-limit"]
    assert len(make(files, limits=Limits(resources=5)).resources("a")) == 5
    with pytest.raises(LimitError, match=r"Limits\.resources"):
        make(files, limits=Limits(resources=3), profile=STRICT).resources("a")


def test_files_deeper_than_the_limit_are_said_and_not_listed(make):
    files = {"a/SKILL.md": text_of("a"), "a/x.md": "", "a/b/y.md": "", "a/b/c/z.md": ""}
    source = make(files, limits=Limits(depth=1))
    assert [r.path for r in source.resources("a")] == ["b/y.md", "x.md"]
    assert codes(source) == ["depth-limit"]
    assert source.read("a", "b/c/z.md").data == b""
    with pytest.raises(LimitError, match=r"Limits\.depth"):
        make(files, limits=Limits(depth=1), profile=STRICT).resources("a")


@pytest.mark.row("S3-28")
def test_a_skill_too_large_to_load_is_still_listed(make):
    data = text_of("mail", body="x" * 1000)
    source = make({"mail/SKILL.md": data}, limits=Limits(skill_bytes=len(data) - 1, frontmatter_bytes=100))
    assert names(source) == ["mail"]
    assert source.lookup("mail").name == "mail"
    with pytest.raises(ContentTooLargeError):
        source.load("mail")
    exact = make({"mail/SKILL.md": data}, limits=Limits(skill_bytes=len(data), frontmatter_bytes=100))
    assert len(exact.load("mail").instructions) == 1000


@pytest.mark.row("S3-20", "S3-25", "S3-26")
@pytest.mark.parametrize("pad", [10, 4000, 4090, 5000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_frontmatter_budget_is_exact_for_a_listing_too(make, pad, end):
    head = f"---\nname: mail\ndescription: x\nlicense: {'l' * pad}\n---\n".replace("\n", end).encode()
    for tail in (b"", b"B" * 10_000):
        assert names(make({"mail/SKILL.md": head + tail}, limits=Limits(frontmatter_bytes=len(head)))) == ["mail"]
        small = make({"mail/SKILL.md": head + tail}, limits=Limits(frontmatter_bytes=len(head) - 1))
        assert (names(small), codes(small)) == ([], ["file-too-large"])
        with pytest.raises(ContentTooLargeError):
            small.lookup("mail")


@pytest.mark.parametrize("at", range(4085, 4100))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_closing_fence_anywhere_around_the_first_read_is_found(at, end):
    start = f"---{end}name: mail{end}description: x{end}license: "
    data = start + "l" * (at - len(start) - len(end)) + f"{end}---{end}Body"
    assert data.index(f"{end}---{end}Body") + len(end) == at
    tree = Watched(MappingTree({"mail/SKILL.md": data}))
    source = TreeSource(tree)
    assert source.lookup("mail").description == "x"
    assert source.load("mail").instructions == "Body"


def test_a_fence_that_only_begins_within_the_first_read_is_no_fence():
    data = "---\nname: mail\ndescription: x\nlicense: |\n" + " " * 4050
    data += "x" * (4096 - len(data) - 4) + "\n---y\n---\nBody"
    assert data.index("\n---y") == 4092
    source = MappingSource({"mail/SKILL.md": data})
    assert (names(source), codes(source)) == (["mail"], ["yaml-salvaged"])


@pytest.mark.parametrize("size", [100, 5000, 70_000])
def test_utf16_is_listed_whatever_its_size(make, size):
    data = f"---\nname: mail\ndescription: x\n---\n{'B' * size}".encode("utf-16")
    source = make({"mail/SKILL.md": data})
    assert source.lookup("mail").description == "x"
    assert source.load("mail").instructions == "B" * size
    assert names(make({"mail/SKILL.md": data}, limits=Limits(skill_bytes=150, frontmatter_bytes=100))) == (
        ["mail"] if len(data) <= 150 else []
    )


@pytest.mark.parametrize(
    "data", ["-", "--", "---", "--- ", "", "<!--", "<!-- x -->", "\n" * 9000, "x" * 9000, "---x" * 3000]
)
def test_a_file_that_is_only_a_beginning_is_reported(make, data):
    source = make({"mail/SKILL.md": data})
    assert names(source) == []
    assert codes(source)[0] in ("frontmatter-missing", "frontmatter-unclosed")


def test_long_leading_comments_are_read_past_the_first_read(make):
    comment = "<!-- " + "x" * 6000 + " -->\n"
    source = make({"mail/SKILL.md": comment + text_of("mail")})
    assert names(source) == ["mail"]
    assert codes(source) == ["frontmatter-leading-content"]


# --- directories: links --------------------------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path):
    """Skills with links of every kind; everything foreign says CANARY."""
    root = build(
        tmp_path / "skills",
        {
            "a/SKILL.md": text_of("a"),
            "a/references/ok.md": "ok",
            "b/SKILL.md": text_of("b", body="CANARY"),
            "b/secret.md": "CANARY",
            "loose.md": "CANARY",
        },
    )
    build(tmp_path / "out", {"SKILL.md": text_of("out", body="CANARY"), "secret.md": "CANARY"})
    links = root / "a" / "references"
    for name, target in {
        "in.md": "ok.md",
        "chain.md": "in.md",
        "up.md": "../SKILL.md",
        "self": ".",
        "back": "..",
        "abs-in.md": str(root / "a" / "references" / "ok.md"),
        "out.md": "../../../out/secret.md",
        "abs.md": str(tmp_path / "out" / "secret.md"),
        "sibling.md": "../../b/secret.md",
        "loose.md": "../../loose.md",
        "away": str(tmp_path / "out"),
        "skills": "../..",
        "loop.md": "loop.md",
        "ping.md": "pong.md",
        "pong.md": "ping.md",
        "gone.md": "nowhere.md",
        "slash.md": "ok.md/",
        "zero": "/dev/zero",
        "proc": "/proc/self/environ",
    }.items():
        (links / name).symlink_to(target)
    return root


INSIDE = ["in.md", "chain.md", "up.md", "self/ok.md", "self/self/self/in.md", "back/references/ok.md"]
OUTSIDE = [
    "out.md", "abs.md", "abs-in.md", "sibling.md", "loose.md", "away/secret.md", "skills/b/secret.md",
    "skills/a/SKILL.md", "zero", "proc",
]  # fmt: skip
NOWHERE = ["loop.md", "ping.md", "gone.md", "slash.md", "self/nope.md", "gone.md/x"]


@pytest.mark.row("S3-39")
@pytest.mark.parametrize("path", INSIDE)
def test_a_link_that_stays_in_its_skill_is_followed(linked, path):
    data = DirectorySource(linked).read("a", f"references/{path}").data
    assert data == (text_of("a").encode() if path == "up.md" else b"ok")


@pytest.mark.row("S3-38", "S3-39")
@pytest.mark.parametrize("path", OUTSIDE)
def test_a_link_that_leaves_its_skill_is_refused(linked, path):
    with pytest.raises(ResourcePathError, match="link") as caught:
        DirectorySource(linked).read("a", f"references/{path}")
    assert str(linked) not in str(caught.value)


@pytest.mark.parametrize("path", NOWHERE)
def test_a_link_that_leads_nowhere_is_an_error_and_never_a_hang(linked, path):
    with pytest.raises(ResourceError):
        DirectorySource(linked).read("a", f"references/{path}")


@pytest.mark.parametrize("path", ["self", "back", "self/self"])
def test_a_link_to_a_folder_is_no_file(linked, path):
    with pytest.raises(ResourceTypeError):
        DirectorySource(linked).read("a", f"references/{path}")


def test_links_that_leave_the_skill_are_not_listed_and_said(linked):
    source = DirectorySource(linked)
    listed = [r.path for r in source.resources("a")]
    assert listed == ["references/chain.md", "references/in.md", "references/ok.md", "references/up.md"]
    escapes = [d.message.split("'")[1] for d in source.diagnostics() if d.code == "symlink-escape"]
    assert escapes == sorted(
        f"references/{name}"
        for name in [
            "abs-in.md",
            "abs.md",
            "away",
            "loop.md",
            "loose.md",
            "out.md",
            "ping.md",
            "pong.md",
            "proc",
            "sibling.md",
            "skills",
            "zero",
        ]
    )
    assert codes(source).count("symlink-loop") == 2


@pytest.mark.parametrize("path", [*INSIDE, *OUTSIDE, *NOWHERE])
def test_no_link_at_all_is_followed_where_links_are_refused(linked, path):
    source = DirectorySource(linked, symlinks="refuse")
    with pytest.raises((ResourcePathError, ResourceNotFoundError)):
        source.read("a", f"references/{path}")
    assert [r.path for r in source.resources("a")] == ["references/ok.md"]


def test_links_lead_anywhere_for_a_trusted_root_that_follows_them(linked):
    source = DirectorySource(linked, symlinks="follow")
    for path in ("out.md", "abs.md", "sibling.md", "away/secret.md"):
        assert source.read("a", f"references/{path}").data == b"CANARY"
    for path in ("loop.md", "gone.md", "zero"):
        with pytest.raises(ResourceError):
            source.read("a", f"references/{path}")


@pytest.mark.parametrize(
    ("policy", "found", "reported"),
    [
        ("inside", ["a", "b"], {("symlink-escape", "abs"), ("symlink-escape", "out"), ("symlink-escape", "abs-b"),
                                ("symlink-loop", "again"), ("folder-unreadable", "gone"), ("symlink-escape", "loop")}),
        ("refuse", ["a", "b"], {("symlink-escape", n)
                               for n in ("abs", "abs-b", "again", "gone", "loop", "out", "x.md")}),
        ("follow", ["a", "b", "out"], {("symlink-loop", "again"), ("symlink-loop", "abs-b"), ("symlink-loop", "out"),
                                       ("folder-unreadable", "gone"), ("symlink-escape", "loop"),
                                       ("name-dir-mismatch", "abs/SKILL.md")}),
    ],
)  # fmt: skip
def test_a_skill_folder_that_is_a_link_is_judged_by_the_policy(tmp_path, policy, found, reported):
    root = build(tmp_path / "skills", {"a/SKILL.md": text_of("a"), "b/SKILL.md": text_of("b")})
    build(tmp_path / "out", {"SKILL.md": text_of("out")})
    for name, target in {
        "again": "a",
        "out": "../out",
        "abs": str(tmp_path / "out"),
        "abs-b": str(root / "b"),
        "gone": "nowhere",
        "loop": "loop",
        "x.md": "a/SKILL.md",
    }.items():
        (root / name).symlink_to(target)
    source = DirectorySource(root, symlinks=policy)
    assert names(source) == found
    assert set(said(source, root)) == reported
    assert all(d.hint for d in source.diagnostics())


def test_a_skill_folder_linked_from_deeper_in_the_root_is_served_once_and_confined(tmp_path):
    root = build(tmp_path, {".store/v1/SKILL.md": text_of("tool"), ".store/v1/x.md": "x", ".store/v2.md": "CANARY"})
    (root / "tool").symlink_to(".store/v1")
    (root / ".store" / "v1" / "up.md").symlink_to("../v2.md")
    source = DirectorySource(root, profile=STRICT)
    assert names(source) == ["tool"]
    assert source.read("tool", "x.md").data == b"x"
    with pytest.raises(ResourcePathError):
        source.read("tool", "up.md")


def test_a_folder_is_known_by_its_own_name_and_not_by_that_of_a_link(tmp_path):
    build(tmp_path, {"zebra/SKILL.md": text_of("zebra")})
    (tmp_path / "aaa").symlink_to("zebra")
    source = DirectorySource(tmp_path, profile=STRICT)
    assert source.lookup("zebra").location == str(tmp_path / "zebra" / "SKILL.md")
    assert said(source, tmp_path) == [("symlink-loop", "aaa")]


@pytest.mark.parametrize(
    ("target", "message"),
    [("../../out/SKILL.md", "link"), ("../b/SKILL.md", "link"), ("SKILL.md", "link"), ("/dev/zero", "link")],
)
def test_a_skill_file_that_is_a_link_out_of_its_folder_is_broken(tmp_path, target, message):
    root = build(tmp_path / "skills", {"b/SKILL.md": text_of("b", body="CANARY")})
    build(tmp_path / "out", {"SKILL.md": text_of("out", body="CANARY")})
    (root / "bad").mkdir()
    (root / "bad" / "SKILL.md").symlink_to(target)
    source = DirectorySource(root)
    assert names(source) == ["b"]
    assert ("skill-file-type", "bad/SKILL.md") in said(source, root)
    with pytest.raises(InvalidSkillError, match=message):
        source.load("bad")


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md"])
def test_a_skill_file_that_is_a_dangling_link_is_broken_and_says_so(tmp_path, name):
    build(tmp_path, {"good/SKILL.md": text_of("good")})
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / name).symlink_to("nowhere")
    source = DirectorySource(tmp_path)
    assert names(source) == ["good"]
    assert said(source, tmp_path) == [("skill-file-type", f"bad/{name}")]
    with pytest.raises(InvalidSkillError, match="leads nowhere"):
        source.load("bad")


def test_a_good_spelling_beside_a_dangling_link_is_used(tmp_path):
    build(tmp_path, {"a/skill.md": text_of("a")})
    (tmp_path / "a" / "SKILL.md").symlink_to("nowhere")
    assert names(DirectorySource(tmp_path)) == ["a"]


def test_a_skill_file_that_is_a_link_inside_its_folder_is_read(tmp_path):
    build(tmp_path, {"a/docs/main.md": text_of("a")})
    (tmp_path / "a" / "SKILL.md").symlink_to("docs/main.md")
    source = DirectorySource(tmp_path, profile=STRICT)
    assert names(source) == ["a"]
    assert [r.path for r in source.resources("a")] == ["docs/main.md"]


def test_a_chain_of_more_links_than_the_system_follows_is_refused(tmp_path):
    build(tmp_path, {"a/SKILL.md": text_of("a"), "a/l0": "end"})
    for i in range(1, 60):
        (tmp_path / "a" / f"l{i}").symlink_to(f"l{i - 1}")
    source = DirectorySource(tmp_path)
    assert source.read("a", "l40").data == b"end"
    with pytest.raises(ResourcePathError):
        source.read("a", "l41")


# --- directories: other nodes --------------------------------------------------------------------------------------


def _fifo(path):
    os.mkfifo(path)


def _socket(path):
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path.name)
    finally:
        os.chdir(here)


def _device(path):
    if os.geteuid():
        pytest.skip("making a device needs root")
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def _folder(path):
    path.mkdir()


NODES = {"fifo": _fifo, "socket": _socket, "device": _device, "folder": _folder}


@pytest.mark.row("S3-36", "S3-37")
@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_only_a_regular_file_is_a_resource(tmp_path, node):
    build(tmp_path, {"a/SKILL.md": text_of("a"), "a/x.md": "x"})
    node(tmp_path / "a" / "odd")
    source = DirectorySource(tmp_path)
    with pytest.raises(ResourceTypeError):
        source.read("a", "odd")
    assert [r.path for r in source.resources("a")] == ["x.md"]


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_only_a_regular_file_is_a_skill_file(tmp_path, node):
    build(tmp_path, {"good/SKILL.md": text_of("good")})
    (tmp_path / "bad").mkdir()
    node(tmp_path / "bad" / "SKILL.md")
    source = DirectorySource(tmp_path)
    assert names(source) == ["good"]
    assert said(source, tmp_path) == [("skill-file-type", "bad/SKILL.md")]
    with pytest.raises(InvalidSkillError):
        source.load("bad")


@pytest.mark.parametrize("node", [_fifo, _socket, _device], ids=["fifo", "socket", "device"])
def test_a_node_beside_the_skills_is_nothing(tmp_path, node):
    build(tmp_path, {"good/SKILL.md": text_of("good")})
    node(tmp_path / "odd")
    assert names(DirectorySource(tmp_path, profile=STRICT)) == ["good"]


@pytest.mark.parametrize("node", [_fifo, _socket, _device], ids=["fifo", "socket", "device"])
def test_a_link_to_a_node_is_no_resource_either(tmp_path, node):
    build(tmp_path, {"a/SKILL.md": text_of("a")})
    node(tmp_path / "a" / "odd")
    (tmp_path / "a" / "link").symlink_to("odd")
    assert DirectorySource(tmp_path).resources("a") == ()


def test_executable_bits_are_told(tmp_path):
    build(tmp_path, {"a/SKILL.md": text_of("a"), "a/scripts/run.sh": "", "a/scripts/no.sh": ""})
    (tmp_path / "a" / "scripts" / "run.sh").chmod(0o744)
    assert [(r.path, r.executable) for r in DirectorySource(tmp_path).resources("a")] == [
        ("scripts/no.sh", False),
        ("scripts/run.sh", True),
    ]
    assert DirectorySource(tmp_path).read("a", "scripts/run.sh").info.executable


def test_a_file_larger_than_memory_is_paged(tmp_path):
    build(tmp_path, {"a/SKILL.md": text_of("a")})
    with (tmp_path / "a" / "huge").open("wb") as file:
        file.truncate(10 << 30)
    source = DirectorySource(tmp_path)
    page = source.read("a", "huge", offset=(10 << 30) - 3, max_bytes=1 << 40)
    assert (page.data, page.total, page.truncated) == (b"\0\0\0", 10 << 30, False)
    assert len(source.read("a", "huge", max_bytes=1 << 40).data) == Limits().resource_bytes
    wide = DirectorySource(tmp_path, limits=Limits(resource_bytes=(1 << 20) + 5))
    assert len(wide.read("a", "huge", max_bytes=1 << 40).data) == (1 << 20) + 5


def test_a_sparse_skill_file_of_ten_gibibytes_is_refused(tmp_path):
    build(tmp_path, {"a/SKILL.md": "", "b/SKILL.md": text_of("b")})
    with (tmp_path / "a" / "SKILL.md").open("wb") as file:
        file.truncate(10 << 30)
    with (tmp_path / "b" / "SKILL.md").open("ab") as file:
        file.truncate(10 << 30)
    source = DirectorySource(tmp_path)
    assert names(source) == ["b"]
    with pytest.raises(ContentTooLargeError):
        source.load("b")


# --- directories: names that are not UTF-8 -------------------------------------------------------------------------


@pytest.fixture
def latin(tmp_path):
    return build(
        tmp_path,
        {"caf\udce9/SKILL.md": text_of("cafe"), "caf\udce9/r\udce9f.md": "x", "caf\udce9/ok.md": "ok"},
    )


def test_a_folder_name_that_is_not_utf8_serves_its_skill(latin):
    source = DirectorySource(latin)
    assert names(source) == ["cafe"]
    assert source.load("cafe").instructions == "Begin.\n"
    assert source.read("cafe", "ok.md").data == b"ok"
    for value in (*source.list(), *source.diagnostics(), source.load("cafe")):
        value.model_dump_json().encode()


def test_a_folder_name_that_is_not_utf8_names_a_skill_without_name(latin):
    (latin / os.fsdecode(b"caf\xe9") / "SKILL.md").write_text("---\ndescription: x\n---\n")
    source = DirectorySource(latin)
    assert names(source) == ["caf-"]
    for value in (*source.list(), *source.diagnostics()):
        value.model_dump_json().encode()


def test_a_file_name_that_is_not_utf8_is_said_and_not_served(latin):
    source = DirectorySource(latin)
    assert [r.path for r in source.resources("cafe")] == ["ok.md"]
    assert "resource-name" in codes(source)
    for path in ("r\udce9f.md", "r\ufffdf.md", "r\xe9f.md"):
        with pytest.raises(ResourceError):
            source.read("cafe", path)


def test_a_root_that_is_not_utf8_is_read(latin):
    source = DirectorySource(os.fsdecode(os.fsencode(latin) + b"/caf\xe9"))
    assert names(source) == ["cafe"]
    for value in (*source.list(), *source.diagnostics()):
        value.model_dump_json().encode()
    assert "\udce9" not in repr(source)


def test_odd_file_names_are_listed_as_they_are(tmp_path):
    build(tmp_path, {"a/SKILL.md": text_of("a")})
    for name in ("two words.md", "new\nline.md", "日本語.md", "-rf", "a:b", "\u202e.md"):
        (tmp_path / "a" / name).write_text("x")
    source = DirectorySource(tmp_path)
    listed = [r.path for r in source.resources("a")]
    assert len(listed) == 6
    for path in listed:
        assert source.read("a", path).data == b"x"


# --- how little is touched -----------------------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch):
    """Note what is opened by name and how many bytes are read."""
    seen = {"open": [], "bytes": 0}
    real_open, real_pread = os.open, os.pread

    def counting_open(path, flags, *args, **options):
        seen["open"].append(path)
        return real_open(path, flags, *args, **options)

    def counting_pread(fd, size, offset):
        data = real_pread(fd, size, offset)
        seen["bytes"] += len(data)
        return data

    monkeypatch.setattr(os, "open", counting_open)
    monkeypatch.setattr(os, "pread", counting_pread)
    monkeypatch.setattr(os, "read", None)
    return seen


@pytest.mark.row("S3-24", "S1-20")
def test_a_listing_opens_each_skill_file_once_and_reads_at_most_four_kibibytes(tmp_path, opened):
    build(tmp_path, {f"s{i}/SKILL.md": text_of(f"s{i}", body="x" * 100_000) for i in range(20)})
    build(tmp_path, {f"s{i}/references/{j}.md": "x" for i in range(20) for j in range(5)})
    source = DirectorySource(tmp_path)
    assert len(source.list()) == 20
    assert opened["open"].count("SKILL.md") == 20
    assert opened["bytes"] <= 20 * 4096
    assert "references" not in opened["open"]


def test_a_listing_reads_no_more_of_a_short_file_than_there_is(tmp_path, opened):
    build(tmp_path, {"a/SKILL.md": text_of("a")})
    DirectorySource(tmp_path).list()
    assert opened["bytes"] == len(text_of("a"))


@pytest.mark.row("S3-24")
def test_a_lookup_reads_the_frontmatter_only(tmp_path, opened):
    build(tmp_path, {"a/SKILL.md": text_of("a", body="x" * 500_000)})
    source = DirectorySource(tmp_path)
    source.list()
    opened["open"].clear()
    opened["bytes"] = 0
    source.lookup("a")
    assert opened["open"].count("SKILL.md") == 1
    assert opened["bytes"] <= 4096


@pytest.mark.row("S3-45")
def test_one_read_opens_the_skill_file_once_and_the_resource_once(root, opened):
    source = DirectorySource(root)
    source.list()
    opened["open"].clear()
    source.read("mail", "references/rules.md")
    assert opened["open"].count("SKILL.md") == 1
    assert opened["open"].count("rules.md") == 1
    assert len(opened["open"]) == 7  # root, mail, SKILL.md; root, mail, references, rules.md


def test_activation_reads_no_resource():
    tree = Watched(MappingTree(FILES))
    source = TreeSource(tree)
    source.list()
    source.load("mail")
    assert {path for _, path in tree.reads()} == {"SKILL.md"}
    tree.asked.clear()
    source.resources("mail")
    assert all(what[3] == 0 for what in tree.asked if what[0] == "read" and what[2] != "SKILL.md")


def test_a_second_read_of_a_known_skill_searches_nothing():
    tree = Watched(MappingTree(FILES))
    source = TreeSource(tree)
    source.list()
    tree.asked.clear()
    source.read("mail", "notes.txt")
    assert [what[:3] for what in tree.asked] == [("read", "mail", "SKILL.md"), ("read", "mail", "notes.txt")]


def test_folders_on_different_file_systems_are_told_apart(tmp_path, monkeypatch):
    build(tmp_path, {"g/a/SKILL.md": text_of("a"), "h/b/SKILL.md": text_of("b")})
    real = os.fstat
    inodes = {}

    class Stat:
        def __init__(self, info):
            self._info = info
            self.st_dev = inodes.setdefault(info.st_ino, len(inodes))  # as if each folder were mounted

        def __getattr__(self, name):
            return getattr(self._info, name)

    class Same:
        def __init__(self, entry):
            self._entry = entry

        def __getattr__(self, name):
            return getattr(self._entry, name)

        def inode(self):
            return 2 if self._entry.name in ("a", "b") else self._entry.inode()

    class Scan:
        def __init__(self, found):
            self._found = found

        def __enter__(self):
            return map(Same, self._found.__enter__())

        def __exit__(self, *error):
            return self._found.__exit__(*error)

    scandir = os.scandir
    monkeypatch.setattr("skillbelt.sources.directory.os.fstat", lambda fd: Stat(real(fd)))
    monkeypatch.setattr("skillbelt.sources.directory.os.scandir", lambda fd: Scan(scandir(fd)))
    assert names(DirectorySource(tmp_path)) == ["a", "b"]


# --- failures of the system ----------------------------------------------------------------------------------------


def _failing(monkeypatch, function, number, when):
    real = getattr(os, function)

    def fail(*args, **options):
        if when(*args):
            raise OSError(number, os.strerror(number), "/host/path/of/it")
        return real(*args, **options)

    monkeypatch.setattr(f"skillbelt.sources.directory.os.{function}", fail)


@pytest.mark.row("S3-21")
@pytest.mark.parametrize("function", ["scandir", "fstat"])
@pytest.mark.parametrize("profile", [LENIENT, STRICT], ids=lambda p: p.title)
def test_a_failing_disk_raises_and_never_looks_like_an_empty_source(root, monkeypatch, function, profile):
    with monkeypatch.context() as patch:
        _failing(patch, function, errno.EIO, lambda *_: True)
        with pytest.raises(SourceError, match="cannot be read") as caught:
            DirectorySource(root, profile=profile).list()
    assert "/host/path" not in str(caught.value)


@pytest.mark.row("S3-21")
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE, errno.ESTALE])
def test_a_root_that_fails_to_open_raises(root, monkeypatch, number):
    _failing(monkeypatch, "open", number, lambda path, *_: str(path) == str(root))
    with pytest.raises(SourceError):
        DirectorySource(root).list()


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_skill_file_that_fails_to_open_raises_when_it_is_asked_for(root, monkeypatch, number, call):
    source = DirectorySource(root)
    source.list()
    _failing(monkeypatch, "open", number, lambda path, *_: path == "SKILL.md")
    with pytest.raises(SourceError, match="cannot be read"):
        call(source, "mail")


def test_a_read_that_fails_half_way_raises(root, monkeypatch):
    source = DirectorySource(root)
    source.list()
    _failing(monkeypatch, "pread", errno.EIO, lambda _fd, size, _offset: size == 5)
    with pytest.raises(SourceError, match=r"'notes\.txt' cannot be read"):
        source.read("mail", "notes.txt")


def _broken_folder(monkeypatch, folder, function="open"):
    _failing(monkeypatch, function, errno.EIO, lambda path, *_: path == folder)


def test_a_folder_that_fails_is_said_and_the_others_stay_listed(root, monkeypatch):
    _broken_folder(monkeypatch, "mail")
    source = DirectorySource(root)
    assert names(source) == ["pdf", "zip"]
    assert said(source, root) == [("folder-unreadable", "mail")]
    with pytest.raises(InvalidSkillError, match="cannot be read"):
        source.load("mail")
    with pytest.raises(SourceError):
        DirectorySource(root, profile=STRICT).list()


def test_a_skill_file_that_fails_is_an_error_and_the_others_stay_listed(tmp_path, monkeypatch):
    build(tmp_path, {"a/SKILL.md": text_of("a"), "b/skill.md": text_of("b"), "c/SKILL.md": text_of("c")})
    _broken_folder(monkeypatch, "skill.md")
    source = DirectorySource(tmp_path)
    assert names(source) == ["a", "c"]
    assert said(source, tmp_path) == [("skill-file-unreadable", "b/skill.md")]
    assert source.diagnostics()[0].severity == "error"
    with pytest.raises(InvalidSkillError, match="cannot be read"):
        source.load("b")
    with pytest.raises(SourceError):
        DirectorySource(tmp_path, profile=STRICT).list()


def test_a_group_whose_listing_fails_is_said(tmp_path, monkeypatch):
    build(tmp_path, {"a/SKILL.md": text_of("a"), "g/b/SKILL.md": text_of("b")})
    real, group = os.scandir, (tmp_path / "g").stat().st_ino
    monkeypatch.setattr(
        "skillbelt.sources.directory.os.scandir",
        lambda fd: real(fd) if os.fstat(fd).st_ino != group else (_ for _ in ()).throw(OSError(errno.EIO, "I/O error")),
    )
    source = DirectorySource(tmp_path)
    assert names(source) == ["a"]
    assert said(source, tmp_path) == [("folder-unreadable", "g")]
    with pytest.raises(InvalidSkillError, match="cannot be read"):
        source.load("g")


@pytest.mark.parametrize(("name", "left"), [("references", 3), ("link.md", 4)])
def test_a_bundled_file_or_folder_that_fails_is_said_and_the_others_are_listed(root, monkeypatch, name, left):
    (root / "mail" / "link.md").symlink_to("notes.txt")
    if name != "link.md":
        (root / "mail" / "link.md").unlink()
    _broken_folder(monkeypatch, name)
    source = DirectorySource(root)
    assert len(source.resources("mail")) == left
    assert codes(source) == ["resource-unreadable"]
    with pytest.raises(SourceError):
        DirectorySource(root, profile=STRICT).resources("mail")


def test_a_skill_folder_whose_listing_fails_raises(root, monkeypatch):
    source = DirectorySource(root)
    source.list()
    _failing(monkeypatch, "scandir", errno.EIO, lambda _fd: True)
    with pytest.raises(SourceError):
        source.resources("mail")


def test_an_unreadable_link_is_said_in_a_scan(tmp_path, monkeypatch):
    build(tmp_path, {"a/SKILL.md": text_of("a"), ".b/SKILL.md": text_of("b")})
    (tmp_path / "link").symlink_to(".b")
    _broken_folder(monkeypatch, ".b")
    source = DirectorySource(tmp_path)
    assert names(source) == ["a"]
    assert said(source, tmp_path) == [("folder-unreadable", "link")]


class Vanishing(MappingTree):
    """A tree in which things go away between two calls."""

    gone = ()

    def entries(self, folder, path=""):
        if ("entries", folder, path) in self.gone:
            raise ResourceNotFoundError("gone")
        return super().entries(folder, path)

    def read(self, folder, path, *, offset=0, size):
        if ("read", folder, path) in self.gone:
            raise ResourceNotFoundError("gone")
        return super().read(folder, path, offset=offset, size=size)


def test_what_vanishes_during_a_scan_or_a_listing_is_left_out():
    tree = Vanishing(FILES)
    tree.gone = {("entries", "group", ""), ("entries", "mail", "references"), ("read", "mail", "notes.txt")}
    source = TreeSource(tree)
    assert names(source) == ["mail", "pdf"]
    assert [r.path for r in source.resources("mail")] == ["assets/logo.bin", "scripts/sort.py"]
    assert source.diagnostics() == ()


def test_a_tree_that_shows_a_file_and_cannot_find_it_makes_a_broken_skill():
    tree = Vanishing(FILES)
    tree.gone = {("read", "mail", "SKILL.md")}
    source = TreeSource(tree)
    assert names(source) == ["pdf", "zip"]
    assert codes(source) == ["skill-file-type"]


class Mounted(MappingTree):
    """A tree in which one folder shows up under two names."""

    def entries(self, folder, path=""):
        return [
            Entry(e.name, e.kind, 99 if e.name in ("mail", "pdf") else e.identity)
            for e in super().entries(folder, path)
        ]


def test_a_folder_that_shows_up_twice_is_searched_once_and_that_is_said():
    source = TreeSource(Mounted(FILES))
    assert names(source) == ["mail", "zip"]
    assert [(d.code, d.path) for d in source.diagnostics()] == [("symlink-loop", "pdf")]


class Growing(MappingTree):
    """A tree that says a file is larger than what it gives."""

    def read(self, folder, path, *, offset=0, size):
        chunk = super().read(folder, path, offset=offset, size=size)
        return Chunk(chunk.data, chunk.total + 1_000_000)


def test_a_file_that_shrinks_while_it_is_read_is_read_as_far_as_it_goes():
    source = TreeSource(Growing({"a/SKILL.md": text_of("a"), "b/SKILL.md": "---\nname: b\n"}))
    assert names(source) == ["a"]
    assert codes(source) == ["frontmatter-unclosed"]


@pytest.mark.row("S3-46")
def test_no_descriptor_is_left_open_on_any_path(linked, monkeypatch):
    build(linked, {"bad/SKILL.md": "x", "none/x.md": "x", "dir/SKILL.md/x": "x"})
    _fifo(linked / "a" / "pipe")

    def count():
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - iterdir would use the scandir that is made to fail

    before = count()
    for policy in ("inside", "refuse", "follow"):
        for profile in (LENIENT, STRICT):
            source = DirectorySource(linked, symlinks=policy, profile=profile)
            source.list()
            source.resources("a")
            for path in [*INSIDE, *OUTSIDE, *NOWHERE]:
                for name in ("a", "bad", "none", "dir", "nope"):
                    try:
                        source.read(name, f"references/{path}")
                    except SkillError:
                        assert count() == before
            for path in ("SKILL.md", "pipe", "references", "../b", "x" * 300):
                for call in (source.read, lambda _name, path: validate_skill(linked / "a" / path)):
                    try:
                        call("a", path)
                    except SkillError:
                        assert count() == before
    for function in ("scandir", "fstat", "pread", "readlink"):
        with monkeypatch.context() as patch:
            _failing(patch, function, errno.EIO, lambda *_: True)
            for call in (lambda s: s.list(), lambda s: s.load("a"), lambda s: s.read("a", "references/in.md")):
                try:
                    call(DirectorySource(linked))
                except SkillError:
                    assert count() == before
    assert count() == before


def test_threads_may_share_a_source(root):
    source = DirectorySource(root)
    errors = []

    def work():
        try:
            for _ in range(30):
                assert names(source) == ["mail", "pdf", "zip"]
                assert source.load("mail").instructions == "Begin.\n"
                assert len(source.resources("mail")) == 4
                source.diagnostics()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# --- validate_skill ------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-10")
def test_validate_skill_takes_a_folder_or_its_file(root):
    for path in (root / "mail", root / "mail" / "SKILL.md", str(root / "mail") + "/"):
        assert validate_skill(path) == ()
    build(root, {"bad/SKILL.md": "---\nname: Bad\ndescription: x\nextra: 1\n---\nx", "low/skill.md": text_of("low")})
    found = validate_skill(root / "bad")
    assert [d.code for d in found] == ["name-uppercase", "name-dir-mismatch", "unknown-field"]
    assert {d.path for d in found} == {str(root / "bad" / "SKILL.md")}
    for path in (root / "low", root / "low" / "skill.md"):
        assert [d.code for d in validate_skill(path)] == ["filename-case"]
    assert [d.severity for d in validate_skill(root / "bad", profile=LENIENT)] == ["warning", "warning", "info"]


@pytest.mark.row("S1-14", "S1-15", "S1-30", "C22")
@pytest.mark.parametrize(
    "path", ["nope", "nope/SKILL.md", "mail/nope", "group", "mail/notes.txt", "a\x00b", "loose.txt/x"]
)
def test_validate_skill_says_what_is_missing(root, path):
    with pytest.raises(SkillFileNotFoundError, match=r"SKILL\.md") as caught:
        validate_skill(f"{root}/{path}")
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.row("S1-15")
def test_validate_skill_says_not_found_of_a_folder_that_is_not_there(root):
    with pytest.raises(SkillFileNotFoundError, match="not found"):
        validate_skill(root / "nope")


def test_validate_skill_reports_a_skill_file_that_is_no_file(root):
    for name, node in NODES.items():
        if name != "device" or not os.geteuid():
            (root / name).mkdir()
            node(root / name / "SKILL.md")
            assert [d.code for d in validate_skill(root / name)] == ["skill-file-type"]
    (root / "dangling").mkdir()
    (root / "dangling" / "SKILL.md").symlink_to("nowhere")
    assert [d.code for d in validate_skill(root / "dangling")] == ["skill-file-type"]
    (root / "escape").mkdir()
    (root / "escape" / "SKILL.md").symlink_to("../mail/SKILL.md")
    assert [d.code for d in validate_skill(root / "escape")] == ["skill-file-type"]


def test_validate_skill_turns_failures_of_the_system_into_ours(root):
    with pytest.raises(SourceError, match="cannot be read"):
        validate_skill(root / ("n" * 300))


def test_validate_skill_bounds_the_file(root):
    (root / "mail" / "SKILL.md").write_text(text_of("mail", body="x" * (1 << 20)))
    assert [d.code for d in validate_skill(root / "mail")] == ["file-too-large"]


# --- the tree of a directory ---------------------------------------------------------------------------------------


def test_a_directory_tree_describes_what_it_finds(root):
    tree = DirectoryTree(root)
    assert (tree.name, tree.on_disk, tree.label) == ("skills", True, str(root))
    assert tree.where("mail") == str(root / "mail")
    kinds = {e.name: e.kind for e in tree.entries("")}
    assert kinds == {"mail": "directory", "pdf": "directory", "group": "directory", "loose.txt": "file"}
    assert tree.kind("mail", "notes.txt").kind == "file"
    assert tree.kind("mail").identity == next(e.identity for e in tree.entries("") if e.name == "mail")
    _fifo(root / "pipe")
    assert tree.kind("", "pipe").kind == "other"


def test_a_file_has_the_version_of_its_bytes_and_the_time_it_was_written(root):
    tree, file = DirectoryTree(root), root / "mail" / "SKILL.md"
    first = tree.read("mail", "SKILL.md", size=1)
    assert first.written == file.stat().st_ctime
    seen = first.version
    assert tree.version("mail", "SKILL.md") == seen
    with tree.hold() as held:
        assert held.version("mail", "SKILL.md") == seen
    with tree.enter("mail") as held:
        assert held.version("", "SKILL.md") == seen
        assert held.version("", "") == tree.version("mail", "")
    file.write_text("other")
    assert tree.read("mail", "SKILL.md", size=1).version != seen
    (root / "mail" / "link.md").symlink_to("SKILL.md")
    for path in ("nope", "link.md"):
        assert tree.version("mail", path) is None
    assert tree.written("mail") == (root / "mail").stat().st_ctime
    assert tree.written("mail/no/such") == tree.written("mail")
    assert DirectoryTree(root / "gone").written("a") == 0.0


def test_the_root_of_the_file_system_has_no_name():
    assert DirectoryTree("/").name is None


def test_unchanged_files_are_not_opened_again_and_a_file_read_while_it_was_fresh_is(tmp_path, opened, monkeypatch):
    build(tmp_path, {f"s{i}/SKILL.md": text_of(f"s{i}") for i in range(5)})
    source = DirectorySource(tmp_path)
    source.list()
    source.list()
    assert opened["open"].count("SKILL.md") == 10  # written just now: nobody can tell yet whether they change
    later = time.time() + 1
    monkeypatch.setattr("skillbelt.sources.scan.time.time", lambda: later)
    source.list()
    assert opened["open"].count("SKILL.md") == 15
    (tmp_path / "s3" / "SKILL.md").write_text(text_of("s3", body="Other."))
    assert [len(source.list()) for _ in range(3)] == [5, 5, 5]
    assert opened["open"].count("SKILL.md") == 16


def test_a_page_of_a_large_file_costs_no_more_than_the_page(tmp_path):
    build(tmp_path, {"a/SKILL.md": text_of("a")})
    mib = 1 << 20
    size = 100 * mib
    with (tmp_path / "a" / "large.txt").open("wb") as file:
        file.truncate(size)
    source = DirectorySource(tmp_path)
    source.list()
    for offset in (0, size // 2, size - mib):
        tracemalloc.start()
        try:
            page = source.read("a", "large.txt", offset=offset, max_bytes=mib)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert (len(page.data), page.total) == (mib, size)
        assert peak <= 2 * mib
