"""merge, namespaced, filtered: who wins, what is withheld, what is passed through, and sources that misbehave."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from skillbelt import (
    STRICT,
    CollisionError,
    DirectorySource,
    InvalidSkillError,
    LimitError,
    Limits,
    MappingSource,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceSource,
    Skill,
    SkillNotFoundError,
    SkillSummary,
    SourceError,
    TreeSource,
    filtered,
    merge,
    namespaced,
)
from skillbelt.compose import problems_of, versions_of
from skillbelt.models import Frontmatter, Resource, ResourceInfo
from skillbelt.sources.base import Troubled, Versioned
from skillbelt.sources.mapping import MappingTree


def text_of(name, body="Begin.\n"):
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}"


def source_of(label, *names, **files):
    """Make a source of skills whose body is the label, with more files given as ``name__file=text``."""
    made = {f"{name}/SKILL.md": text_of(name, f"of {label}") for name in names}
    made |= {key.replace("__", "/"): value for key, value in files.items()}
    return MappingSource(made, label=label)


def names(source):
    return [summary.name for summary in source.list()]


BROKEN = "---\nname: pdf\ndescription:\n---\n"


class Untouchable:
    """A source that may not be asked anything."""

    def _refuse(self, *args, **kwargs):
        raise AssertionError(f"the source was asked: {args} {kwargs}")

    list = load = lookup = resources = read = diagnostics = _refuse


@dataclass
class Fake:
    """A source that answers what it is given, as they come from outside: neither problems nor versions."""

    summaries: Any = ()
    skill: Any = None
    resource: Any = None
    asked: list = field(default_factory=list)

    def list(self):
        return self.summaries

    def lookup(self, name):
        self.asked.append(("lookup", name))
        for summary in self.summaries:
            if getattr(summary, "name", name) == name:
                return summary
        raise SkillNotFoundError("no")

    def load(self, name):
        self.asked.append(("load", name))
        return self.skill

    def resources(self, name):
        return ()

    def read(self, name, path, *, offset=0, max_bytes=1):
        return self.resource

    def diagnostics(self):
        return ()


def summary_of(name, description="x", source=None):
    return SkillSummary(name=name, description=description, source=source)


def skill_of(name):
    return Skill(frontmatter=Frontmatter(name=name, description="x"), instructions="")


CALLS = {
    "lookup": lambda s, name: s.lookup(name),
    "load": lambda s, name: s.load(name),
    "resources": lambda s, name: s.resources(name),
    "read": lambda s, name: s.read(name, "x.md"),
}
EACH_CALL = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


# --- merge ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-49", "C9", "S1-55")
def test_of_one_name_in_several_sources_the_first_wins_and_the_union_is_sorted():
    source = merge(source_of("project", "zip", "pdf"), source_of("user", "pdf", "mail"))
    assert names(source) == ["mail", "pdf", "zip"]
    assert source.load("pdf").instructions == "of project"
    assert source.lookup("pdf").source == "project"
    assert source.load("mail").instructions == "of user"


@pytest.mark.row("C9", "S1-53")
def test_the_reversed_order_replaces():
    one, two = source_of("one", "pdf"), source_of("two", "pdf")
    assert merge(two, one).load("pdf").instructions == "of two"


@pytest.mark.row("C9")
def test_shadowing_is_said_and_the_shadowed_skill_is_reachable():
    source = merge(source_of("project", "pdf"), source_of("user", "pdf", pdf__a="of user"))
    (found,) = source.diagnostics()
    assert (found.code, found.severity, found.path) == ("duplicate-name", "warning", "pdf/SKILL.md")
    assert "'pdf@user'" in found.hint
    assert "pdf/SKILL.md" in found.message
    assert source.load("pdf@user").instructions == source.load("PDF@User").instructions == "of user"
    assert source.lookup("pdf@user").source == "user"
    assert source.read("pdf@user", "a").data == b"of user"
    assert [r.path for r in source.resources("pdf@user")] == ["a"]
    assert source.load("pdf@project").instructions == "of project"


@EACH_CALL
@pytest.mark.parametrize("name", ["pdf@nowhere", "@user", "pdf@", "@", "nope@user"])
def test_a_skill_of_a_source_that_is_not_there_is_missing(call, name):
    with pytest.raises(SkillNotFoundError):
        call(merge(source_of("project", "pdf"), source_of("user", "pdf")), name)


def test_the_label_of_a_source_may_hold_an_at_sign(tmp_path):
    for root in ("one", "a@b"):
        (tmp_path / root / "pdf").mkdir(parents=True)
        (tmp_path / root / "pdf" / "SKILL.md").write_text(text_of("pdf", root))
    source = merge(DirectorySource(tmp_path / "one"), DirectorySource(tmp_path / "a@b"))
    assert source.load(f"pdf@{tmp_path}/a@b").instructions == "a@b"


def test_a_name_with_an_at_sign_of_its_own_is_found_first():
    source = merge(source_of("one", "a@b", "a"), source_of("b", "a"))
    assert source.load("a@b").instructions == "of one"


@pytest.mark.row("C9", "S1-53")
def test_a_collision_may_be_an_error_for_the_listing_but_never_for_the_report():
    source = merge(source_of("project", "pdf"), source_of("user", "pdf"), on_collision="error")
    with pytest.raises(CollisionError, match="'pdf': project and user"):
        source.list()
    assert [d.code for d in source.diagnostics()] == ["duplicate-name"]
    assert source.problems() == {}
    assert source.load("pdf").instructions == "of project"
    assert names(merge(source_of("a", "x"), source_of("b", "y"), on_collision="error")) == ["x", "y"]


@pytest.mark.parametrize("options", [{"on_collision": "last"}, {"broken": "ignore"}, {"on_collision": None}])
def test_an_option_that_is_none_is_refused(options):
    with pytest.raises(SourceError, match=r"merge\(\) takes"):
        merge(**options)


@EACH_CALL
@pytest.mark.row("S3-50")
def test_a_file_the_winner_lacks_is_never_taken_from_a_lower_copy(call):
    source = merge(source_of("one", "pdf"), source_of("two", "pdf", **{"pdf__x.md": "lower"}))
    with pytest.raises(ResourceNotFoundError):
        source.read("pdf", "x.md")
    assert source.resources("pdf") == ()
    assert CALLS["read"](source, "pdf@two").data == b"lower"
    if call is not CALLS["read"]:
        call(source, "pdf")


BLOCKERS = {
    "broken by its folder": {"pdf/SKILL.md": "---\nname: other\ndescription:\n---\n"},
    "broken by its name": {"elsewhere/SKILL.md": BROKEN},
    "without SKILL.md": {"pdf/x.md": "bare"},
    "unclosed": {"pdf/SKILL.md": "---\n"},
}


@EACH_CALL
@pytest.mark.row("S3-51", "S3-52", "S3-53", "C10")
@pytest.mark.parametrize("files", BLOCKERS.values(), ids=BLOCKERS)
def test_a_broken_winner_blocks_the_lower_copy(call, files):
    lower = source_of("lower", "pdf", "mail", **{"pdf__x.md": "lower"})
    source = merge(MappingSource(files, label="upper"), lower)
    with pytest.raises(InvalidSkillError):
        call(source, "pdf")
    assert names(source) == ["mail"]
    assert "pdf" in source.problems()
    (found,) = [d for d in source.diagnostics() if d.code == "duplicate-name"]
    assert "broken one" in found.message
    assert source.load("pdf@lower").instructions == "of lower"
    assert source.versions().keys() <= {"mail"}


@pytest.mark.row("S3-51", "C10")
@pytest.mark.parametrize("files", BLOCKERS.values(), ids=BLOCKERS)
def test_a_broken_winner_may_make_the_listing_raise_but_never_the_report(files):
    upper = MappingSource(files, label="upper")
    source = merge(upper, source_of("lower", "pdf"), broken="raise")
    with pytest.raises(InvalidSkillError, match="'pdf' is broken in the source that wins") as caught:
        source.list()
    assert caught.value.diagnostics
    assert [d.code for d in source.diagnostics() if d.code == "duplicate-name"] == ["duplicate-name"]
    assert "pdf" in source.problems()
    assert names(merge(upper, source_of("lower", "mail"), broken="raise")) == ["mail"]
    assert names(merge(source_of("first", "pdf"), upper, broken="raise")) == ["pdf"]


def test_a_broken_lower_copy_does_not_matter():
    source = merge(source_of("upper", "pdf"), MappingSource({"pdf/SKILL.md": BROKEN}))
    assert names(source) == ["pdf"]
    assert source.problems() == {}
    assert source.load("pdf").instructions == "of upper"


def test_of_two_broken_copies_the_upper_one_answers():
    source = merge(MappingSource({"pdf/SKILL.md": BROKEN}), MappingSource({"pdf/SKILL.md": "x"}))
    assert {d.code for d in source.problems()["pdf"]} >= {"description-missing"}
    with pytest.raises(InvalidSkillError, match="description"):
        source.load("pdf")


@EACH_CALL
@pytest.mark.row("S3-54")
def test_a_merge_of_nothing_is_empty(call):
    for source in (merge(), merge(None, None), merge(merge(), None)):
        assert source.list() == ()
        assert (source.diagnostics(), source.problems(), source.versions()) == ((), {}, {})
        with pytest.raises(SkillNotFoundError, match="There are no skills"):
            call(source, "pdf")


@pytest.mark.row("S3-54")
def test_none_is_dropped_and_merges_nest():
    inner = merge(None, source_of("b", "pdf", "mail"), merge(source_of("c", "zip", "mail")))
    source = merge(source_of("a", "pdf"), inner, None)
    assert names(source) == ["mail", "pdf", "zip"]
    assert source.load("pdf").instructions == "of a"
    assert source.load("mail").instructions == "of b"
    assert source.load("mail@c").instructions == "of c"
    assert sorted(d.message.split("'")[1] for d in source.diagnostics()) == ["mail", "pdf"]


def test_a_merge_satisfies_the_protocols():
    for protocol in (ResourceSource, Troubled, Versioned):
        assert isinstance(merge(), protocol)


@EACH_CALL
@pytest.mark.row("S3-29")
def test_a_name_nobody_holds_is_missing_with_close_matches_of_all(call):
    source = merge(source_of("one", "pdf-forms"), source_of("two", "mail"))
    with pytest.raises(SkillNotFoundError, match="Did you mean 'mail'"):
        call(source, "mial")


@EACH_CALL
@pytest.mark.row("S3-57")
@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_a_name_is_validated_before_any_source_is_asked(call, name):
    with pytest.raises(SkillNotFoundError, match="must not be empty"):
        call(merge(Untouchable()), name)


@pytest.mark.row("S3-57")
@pytest.mark.parametrize(
    ("path", "options", "error"),
    [
        ("../x", {}, ResourcePathError),
        ("", {}, ResourcePathError),
        ("a\\b", {}, ResourcePathError),
        (None, {}, ResourcePathError),
        ("x", {"max_bytes": 0}, LimitError),
        ("x", {"max_bytes": "1"}, LimitError),
    ],
)
def test_a_path_and_a_bound_are_validated_before_any_source_is_asked(path, options, error):
    with pytest.raises(error):
        merge(Untouchable()).read("pdf", path, **options)


def test_offsets_and_bounds_reach_the_source():
    page = merge(source_of("one", "pdf", **{"pdf__x.md": "0123456789"})).read("pdf", "x.md", offset=3, max_bytes=4)
    assert (page.data, page.truncated) == (b"3456", True)


GOOD = summary_of("pdf")


@pytest.mark.row("S3-55")
@pytest.mark.parametrize(
    "bad",
    [None, "pdf", {"name": "pdf"}, summary_of(""), summary_of("  "), summary_of("pdf", ""), summary_of("pdf", " \n")],
    ids=range(7),
)
def test_a_summary_that_is_none_is_caught(bad):
    source = merge(Fake([bad]))
    with pytest.raises(InvalidSkillError, match="A source gave"):
        source.list()
    with pytest.raises(InvalidSkillError, match="A source gave"):
        source.diagnostics()


@pytest.mark.row("S3-55")
@pytest.mark.parametrize("bad", [None, "pdf", {"name": "pdf"}, summary_of("pdf", "")], ids=range(4))
def test_an_answer_that_is_no_summary_is_caught(bad):
    with pytest.raises(InvalidSkillError, match="A source gave"):
        merge(Fake([bad])).lookup("pdf")


@pytest.mark.row("S3-55", "S3-44")
@pytest.mark.parametrize("bad", [None, "text", GOOD, skill_of("other"), skill_of("pdf-2")], ids=range(5))
def test_a_skill_that_is_none_or_another_is_caught(bad):
    with pytest.raises(InvalidSkillError, match="A source gave"):
        merge(Fake([GOOD], skill=bad)).load("pdf")


@pytest.mark.row("S3-55")
def test_a_summary_of_another_skill_is_caught():
    class Confused(Fake):
        def lookup(self, name):
            return summary_of("other")

    with pytest.raises(InvalidSkillError, match="'other' when asked for 'pdf'"):
        merge(Confused()).lookup("pdf")


@pytest.mark.row("S3-44", "S3-55")
@pytest.mark.parametrize("bad", [None, b"bytes", "text"])
def test_a_file_that_is_none_is_caught(bad):
    with pytest.raises(InvalidSkillError, match="instead of a Resource"):
        merge(Fake([GOOD], resource=bad)).read("pdf", "x.md")


def test_a_good_answer_of_a_foreign_source_is_passed_on():
    resource = Resource(info=ResourceInfo(path="x.md", kind="other", size=1), data=b"x", total=1)
    source = merge(Fake([GOOD], skill=skill_of("pdf"), resource=resource))
    assert source.lookup("PDF".lower()) == GOOD
    assert source.load("pdf").name == "pdf"
    assert source.read("pdf", "x.md") is resource
    assert (source.problems(), source.versions()) == ({}, {})


def test_an_error_of_the_place_is_not_taken_for_a_missing_skill():
    class Down(Fake):
        def list(self):
            raise SourceError("down")

        lookup = load = resources = read = lambda self, *_args, **_options: self.list()

    source = merge(Down(), source_of("up", "pdf"))
    for call in (*CALLS.values(), lambda s, _: s.list()):
        with pytest.raises(SourceError, match="down"):
            call(source, "pdf")


class Counting(MappingTree):
    """A tree that counts what is read of which file."""

    def __init__(self, files, **options):
        super().__init__(files, **options)
        self.reads = []

    def read(self, folder, path, *, offset=0, size):
        chunk = super().read(folder, path, offset=offset, size=size)
        self.reads.append((f"{folder}/{path}", len(chunk.data)))
        return chunk


def counted(label, *names_, size=100_000):
    files = {f"{name}/SKILL.md": text_of(name, "x" * size) for name in names_}
    tree = Counting({**files, **{f"{name}/x.md": "x" for name in names_}}, label=label)
    return tree, TreeSource(tree)


@pytest.mark.row("S3-45")
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
@pytest.mark.parametrize("call", ["load", "read", "lookup"])
def test_one_call_opens_the_skill_file_once_however_deep_merges_nest(depth, call):
    tree, source = counted("one", "pdf")
    for _ in range(depth):
        source = merge(None, source, MappingSource({}))
    source.list()
    tree.reads.clear()
    CALLS[call](source, "pdf")
    opened = [path for path, _ in tree.reads]
    assert opened == ["pdf/SKILL.md", "pdf/x.md"][: 2 if call == "read" else 1]


@pytest.mark.row("S3-56")
def test_listing_a_merge_reads_the_frontmatter_of_each_once():
    (one, first), (two, second) = counted("one", "pdf", "mail"), counted("two", "pdf", "zip")
    source = merge(first, second)
    source.list()
    source.problems(), source.versions(), source.diagnostics()
    for tree, skills in ((one, {"pdf", "mail"}), (two, {"pdf", "zip"})):
        held = [(path, size) for path, size in tree.reads]
        assert sorted(path for path, _ in held) == sorted(f"{name}/SKILL.md" for name in skills)
        assert all(size <= 4096 for _, size in held)


def test_problems_versions_and_diagnostics_of_a_merge_need_no_listing_before():
    sources = source_of("a", "pdf"), source_of("b", "pdf"), MappingSource({"bad/SKILL.md": "x"})
    assert [d.code for d in merge(*sources).diagnostics()] == ["frontmatter-missing", "duplicate-name"]
    assert merge(*sources).problems().keys() == {"bad"}
    assert merge(*sources).versions().keys() == {"pdf"}


def test_versions_of_a_merge_are_those_of_the_winners(tmp_path):
    for root in ("one", "two"):
        for name in ("pdf", root):
            (tmp_path / root / name).mkdir(parents=True)
            (tmp_path / root / name / "SKILL.md").write_text(text_of(name, root * 10))
    one, two = DirectorySource(tmp_path / "one"), DirectorySource(tmp_path / "two")
    source = merge(one, two)
    source.list()
    assert source.versions() == {**two.versions(), **one.versions()}
    assert one.versions()["pdf"] != two.versions()["pdf"]
    assert merge(Fake([GOOD]), two).versions().keys() == {"two"}


def test_an_edit_below_a_merge_is_visible_at_the_next_call(tmp_path):
    root = tmp_path / "one" / "pdf"
    root.mkdir(parents=True)
    source = merge(DirectorySource(tmp_path / "one"), source_of("lower", "pdf"))
    (root / "SKILL.md").write_text(text_of("pdf", "new"))
    assert source.load("pdf").instructions == "new"
    (root / "SKILL.md").unlink()
    with pytest.raises(InvalidSkillError):
        source.load("pdf")
    root.rmdir()
    assert source.load("pdf").instructions == "of lower"
    assert source.list()[0].source == "lower"


# --- namespaced ----------------------------------------------------------------------------------------------------


@pytest.mark.row("C1")
def test_a_namespace_is_put_before_every_name():
    source = namespaced("acme", source_of("one", "pdf", "mail", **{"pdf__x.md": "x"}))
    assert [(s.name, s.namespace) for s in source.list()] == [("acme/mail", "acme"), ("acme/pdf", "acme")]
    skill = source.load("acme/pdf")
    assert (skill.name, skill.short_name, skill.namespace) == ("acme/pdf", "pdf", "acme")
    assert skill.summary() == source.lookup("acme/pdf")
    assert source.lookup("ACME/PDF").name == "acme/pdf"
    assert [r.path for r in source.resources("acme/pdf")] == ["x.md"]
    assert source.read("acme/pdf", "x.md", offset=0, max_bytes=5).data == b"x"


@EACH_CALL
@pytest.mark.parametrize(
    "name", ["pdf", "other/pdf", "acme", "acme/", "/pdf", "", None, 7, "acme/nope", "acme/acme/pdf"]
)
def test_a_name_without_the_namespace_is_missing_and_the_message_knows_only_full_names(call, name):
    with pytest.raises(SkillNotFoundError) as caught:
        call(namespaced("acme", source_of("one", "pdf-forms", "pdf")), name)
    said = str(caught.value).partition(". ")[2]
    assert "acme/pdf" in said
    assert "'pdf" not in said


@pytest.mark.parametrize("bad", ["", "a/b", "a b", "é", "a.b", "a:b"])
def test_a_namespace_of_other_characters_is_refused(bad):
    with pytest.raises(SourceError, match="namespace"):
        namespaced(bad, source_of("one", "pdf"))


@pytest.mark.row("S3-44")
@pytest.mark.parametrize("make", [lambda: namespaced("acme", None), lambda: filtered(None, bool)])
def test_no_source_at_all_is_an_error_that_says_where(make):
    with pytest.raises(SourceError, match=r"(namespaced|filtered)\(\) needs a source"):
        make()


def test_problems_versions_and_diagnostics_are_namespaced_or_passed_on(tmp_path):
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf" / "SKILL.md").write_text(text_of("pdf"))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_text("x")
    inner = DirectorySource(tmp_path)
    source = namespaced("Acme", inner)
    assert source.versions() == {"acme/pdf": inner.versions()["pdf"]}
    assert source.problems() == {"acme/bad": inner.problems()["bad"]}
    assert source.diagnostics() == inner.diagnostics()
    with pytest.raises(InvalidSkillError):
        source.load("acme/bad")


def test_the_same_skills_under_two_namespaces_do_not_collide():
    one = source_of("one", "pdf")
    source = merge(namespaced("a", one), namespaced("b", one), on_collision="error")
    assert names(source) == ["a/pdf", "b/pdf"]
    assert source.load("b/pdf").namespace == "b"


def test_a_broken_namespaced_winner_blocks_its_full_name_only():
    upper = namespaced("acme", MappingSource({"pdf/SKILL.md": BROKEN}))
    source = merge(upper, source_of("plain", "pdf"), namespaced("acme", source_of("lower", "pdf", "mail")))
    assert names(source) == ["acme/mail", "pdf"]
    with pytest.raises(InvalidSkillError):
        source.load("acme/pdf")


# --- filtered ------------------------------------------------------------------------------------------------------


def public(summary):
    return not summary.name.startswith("secret")


@EACH_CALL
def test_what_a_filter_takes_away_cannot_be_reached_and_is_not_named(call):
    inner = source_of("one", "secret-plan", "pdf", **{"secret-plan__x.md": "x", "pdf__x.md": "y"})
    source = filtered(inner, public)
    assert names(source) == ["pdf"]
    call(source, "pdf")
    for asked in ("secret-plan", "SECRET-PLAN", "secret-pla", "secret-plan@one"):
        with pytest.raises(SkillNotFoundError) as caught:
            call(source, asked)
        assert "secret-plan" not in str(caught.value).partition(". ")[2]


def test_a_filter_is_judged_afresh_at_every_call():
    allowed = {"pdf"}
    source = filtered(source_of("one", "pdf", "mail"), lambda s: s.name in allowed)
    assert names(source) == ["pdf"]
    allowed.add("mail")
    allowed.remove("pdf")
    assert names(source) == ["mail"]
    with pytest.raises(SkillNotFoundError):
        source.load("pdf")
    assert source.load("mail").name == "mail"


def test_a_filter_sees_the_whole_summary():
    text = "---\nname: a\ndescription: x\ndisable-model-invocation: true\n---\n"
    inner = MappingSource({"a/SKILL.md": text, "b/SKILL.md": text_of("b")})
    assert names(filtered(inner, lambda s: s.model_invocable)) == ["b"]


def test_a_skill_that_changed_out_of_the_filter_between_two_calls_is_missing(tmp_path):
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "SKILL.md"
    file.write_text(text_of("a"))
    source = filtered(DirectorySource(tmp_path), lambda s: s.description == "Does a.")
    assert names(source) == ["a"]
    file.write_text(text_of("a").replace("Does a.", "Does b."))
    for call in (source.load, source.lookup, source.resources):
        with pytest.raises(SkillNotFoundError):
            call("a")


def test_a_filter_passes_problems_versions_and_diagnostics_on():
    inner = MappingSource({"bad/SKILL.md": "x", "pdf/SKILL.md": text_of("pdf")})
    source = filtered(inner, public)
    assert source.problems() == inner.problems()
    assert source.versions() == inner.versions()
    assert source.diagnostics() == inner.diagnostics()
    with pytest.raises(InvalidSkillError):
        source.load("bad")


def test_a_filtered_source_lets_a_lower_one_serve_what_it_took_away():
    source = merge(filtered(source_of("upper", "secret-plan"), public), source_of("lower", "secret-plan"))
    assert source.load("secret-plan").instructions == "of lower"
    assert source.list()[0].source == "lower"


def test_wrappers_over_a_source_that_cannot_tell_have_no_problems_and_no_versions():
    fake = Fake([GOOD], skill=skill_of("pdf"))
    assert (problems_of(fake), versions_of(fake)) == ({}, {})
    for source in (filtered(fake, public), namespaced("a", fake)):
        assert (source.problems(), source.versions()) == ({}, {})
    assert filtered(fake, public).load("pdf").name == "pdf"
    assert namespaced("a", fake).load("a/pdf").name == "a/pdf"
    assert namespaced("a", fake).resources("a/pdf") == ()


class Narrow:
    """A source of levels 1 and 2 only."""

    def list(self):
        return [summary_of("pdf-forms"), summary_of("mail")]

    def load(self, name):
        return skill_of(name)


@pytest.mark.row("S3-01")
@pytest.mark.parametrize(
    ("wrap", "prefix"),
    [(merge, ""), (lambda s: filtered(s, public), ""), (lambda s: namespaced("acme", s), "acme/")],
    ids=["merge", "filtered", "namespaced"],
)
def test_a_source_of_names_and_instructions_alone_is_enough(wrap, prefix):
    source = wrap(Narrow())
    assert source.load(f"{prefix}mail").name == f"{prefix}mail"
    assert source.lookup(f"{prefix}MAIL").name == f"{prefix}mail"
    assert (source.resources(f"{prefix}mail"), source.diagnostics(), source.problems()) == ((), (), {})
    with pytest.raises(ResourceNotFoundError, match="serves no files"):
        source.read(f"{prefix}mail", "x.md")
    with pytest.raises(SkillNotFoundError, match=f"Did you mean '{prefix}mail'"):
        source.lookup(f"{prefix}mial")


@pytest.mark.row("S3-44")
def test_a_source_that_gives_nothing_for_its_files_is_caught():
    class Empty(Fake):
        def resources(self, name):
            return None

    with pytest.raises(InvalidSkillError, match="None instead of the files"):
        merge(Empty([GOOD])).resources("pdf")


@pytest.mark.row("S3-44")
@pytest.mark.parametrize("given", [7, "skills", object(), {}])
@pytest.mark.parametrize("wrap", [merge, lambda s: namespaced("a", s), lambda s: filtered(s, bool)], ids=range(3))
def test_what_is_no_source_is_refused_at_once(wrap, given):
    with pytest.raises(SourceError, match="needs a source of skills, not"):
        wrap(given)


def test_a_wrapped_source_prints_as_what_it_wraps():
    assert "Fake(" in repr(merge(Fake()))


def test_limits_and_profiles_are_those_of_the_sources_below():
    strict = MappingSource({"Bad_Name/SKILL.md": text_of("Bad_Name")}, profile=STRICT)
    small = MappingSource({f"s{i}/SKILL.md": text_of(f"s{i}") for i in range(5)}, limits=Limits(entries=2))
    source = merge(strict, small)
    assert names(source) == ["s0", "s1"]
    assert {d.code for d in source.diagnostics()} == {"name-uppercase", "name-charset", "scan-limit"}
