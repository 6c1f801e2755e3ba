"""The line reader for plain frontmatter gives what the YAML parser gives, or gives up."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skillbelt import LENIENT, NAMESPACED, STRICT, Limits
from skillbelt import parsing as parsing_module
from skillbelt.parsing import parse_frontmatter
from skillbelt.parsing.nodes import YamlProblem, compose_yaml
from skillbelt.parsing.simple import simple
from skillbelt.parsing.tree import Mapping, Scalar
from tests_support import corpus_blocks


def flat(node, source):
    """A tree as comparable values, with the lines that findings would name."""

    def line(at):
        return source.count("\n", 0, at)

    if isinstance(node, Scalar):
        return node.text, node.quoted, line(node.at), source[node.at : node.end] if node.end else ""
    if isinstance(node, Mapping):
        return {key: (line(node.places[key]), flat(value, source)) for key, value in node.pairs.items()}
    return [flat(item, source) for item in node.items]


def assert_same_or_given_up(text):
    fast = simple(text)
    if fast is None:
        return False
    slow = compose_yaml(text)
    assert flat(fast, text) == flat(slow, text)
    assert fast.repeated == slow.repeated == []
    assert fast.source == slow.source == text
    return True


WORDS = st.one_of(
    st.sampled_from(
        [
            *("name", "description", "metadata", "a-b", "x: y", "x:", ": x", " # c", "#c", "'q'", '"q"', "'it''s'"),
            *('"a\\n"', "- item", "-x", "[a]", "{a: b}", "|", ">-", "&a", "*a", "!t", "%d", "@x", "`x`", "?", "? x"),
            *("~", "null", "", "yes", "1.10", "007", "2026-01-02", "...", "---", "\t", " ", "  ", "a\tb", "é", "对"),
            *("\u0085", "\u2028", "\ufeff", "\x00", "=", "<<", "(x)", "/x", "a, b", "a [b] c", "a]", "}", "tail:"),
            *("a:b", "http://x.y/z#f"),
        ]
    ),
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12),
)
LINES = st.builds(
    lambda indent, key, sep, value, tail: f"{indent}{key}{sep}{value}{tail}",
    st.sampled_from(["", "", "", "  ", "  ", "    ", " ", "\t"]),
    st.one_of(st.sampled_from(["name", "description", "metadata", "license", "a"]), WORDS),
    st.sampled_from([": ", ": ", ": ", ":", ":  ", " : ", ""]),
    WORDS,
    st.sampled_from(["", "", "", " ", " # c"]),
)


@given(st.lists(LINES, max_size=6), st.booleans())
@settings(max_examples=1500, deadline=None)
@example(["metadata:", "  a: b", "", "name: x"], False)
@example(["name: x", "  continued"], True)
@example(["a: 'x' y"], False)
@example(["a: 'x' # c"], False)
@example(["a: b", "a: c"], False)
@example(["a:", "b: c", "  d: e"], False)
@example(["a:", "  b:", "    c: d"], False)
@example(["a: \u00a0x"], False)
def test_the_line_reader_agrees_with_the_yaml_parser_or_gives_up(lines, final):
    text = "\n".join(lines) + ("\n" if final else "")
    try:
        compose_yaml(text)
    except YamlProblem:
        assert simple(text) is None
        return
    assert_same_or_given_up(text)


@pytest.mark.corpus
def test_the_line_reader_agrees_on_all_real_skills_and_reads_most_of_them():
    blocks = corpus_blocks()
    read = sum(assert_same_or_given_up(block) for block in blocks)
    assert len(blocks) >= 281
    assert read > len(blocks) * 0.5


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ndescription: Some words, more (of them).\n",
        "name: a\nmetadata:\n  x: \"1.0\"\n  y: 'b'\nlicense: MIT",
        "a:\n",
    ],
)
def test_plain_frontmatter_is_read_without_a_yaml_parser(text):
    assert assert_same_or_given_up(text)


@pytest.mark.parametrize("text", ["", "\n", "# c\n", "a: >\n  b\n", "a: [b]\n", "- a\n", "a: b: c\n"])
def test_everything_else_is_left_to_the_yaml_parser(text):
    assert simple(text) is None


def test_no_line_break_of_yaml_slips_through():
    for char in "\x85\u2028\u2029\r\x0b\x0c":
        assert simple(f"a: b{char}c: d\n") is None
    assert re.search(r"a", simple("a: b\n").source)


# --- level 1 without a mapping, and without fields ------------------------------------------------------------------


def answers(head, monkeypatch, **arguments):
    """What each way of reading says: the one expression, plain mappings by lines and by YAML, everything in full."""
    found = [parse_frontmatter(head, **arguments)]
    with monkeypatch.context() as patch:
        patch.setattr(parsing_module, "plainest", lambda block, directory: None)
        found.append(parse_frontmatter(head, **arguments))
        patch.setattr(parsing_module, "simple", lambda text: None)
        found.append(parse_frontmatter(head, **arguments))
        patch.setattr(parsing_module, "plain_pairs", lambda pairs, block, directory: None)
        found.append(parse_frontmatter(head, **arguments))
        patch.setattr("skillbelt.parsing.nodes.simple", lambda text: None)
        found.append(parse_frontmatter(head, **arguments))
    return found


def assert_all_ways_agree(head, monkeypatch, directory):
    for profile in (LENIENT, STRICT, NAMESPACED):
        for limits in (Limits(), Limits(frontmatter_bytes=64, skill_bytes=64)):
            first, *others = answers(head, monkeypatch, profile=profile, directory=directory, limits=limits)
            for other in others:
                assert first == other, (profile.title, directory)


VALUES = st.one_of(
    WORDS,
    st.sampled_from(
        [
            *(">\n  a\n  b", "|-\n a: b\n c", ">-\n  a\n   b", "|+\n  a\n\n", ">\n  a #b", "|\n  - a\n  b:", ">\nx: y"),
            *("pdf", "a-b", "Pdf", "null", "On", "3d", "a" * 64, "a" * 65, "pdf ", "'pdf'", '"pdf"', "' pdf '", "''"),
            *("Sorts mail.", "'Sorts: mail'", '"a # b"', "a, b", "Read, Write", "Bash(git add:*)", "x" * 500),
            *("x" * 501, "y" * 1024, "y" * 1025, "' '", "é", "Ünder way", "a: b", "tail:", "\u00a0x", "yes", "1.0"),
        ]
    ),
)
FIELDS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("name", "description", "license", "compatibility", "allowed-tools", "metadata", "  a", "  b", "   c"),
                *("version", "user-invocable", "disable-model-invocation"),
            ]
        ),
        VALUES,
        st.sampled_from([": ", ": ", ": ", ":", ":  "]),
    ),
    max_size=5,
)


@given(VALUES, VALUES, FIELDS, st.sampled_from([None, "pdf", "a-b"]), st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]))
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("pdf", "Fills forms.", [("metadata", "", ":"), ("  a", "b", ": "), ("  a", "c", ": ")], None, "\n")
@example("pdf", "Fills forms.", [("license", "MIT", ": "), ("license", "MIT", ": ")], "pdf", "\n")
@example("pdf", "'Fills: forms'", [("license", "MIT", ": ")], "pdf", "\n")
@example("pdf", "'Fills: '", [], "pdf", "\n")
@example("' pdf '", "Fills.", [], "pdf", "\n")
@example("pdf", ">-\n  Fills\n  forms.", [("license", "MIT", ": ")], "pdf", "\n")
@example("pdf", "|\n  Fills: all\n  forms.", [], "pdf", "\n")
@example("pdf", ">\n  Fills:\n  forms.", [], "pdf", "\n")
@example("pdf", ">\n Fills\n   more\n forms.", [], "pdf", "\n")
@example("pdf", ">\n  Fills\n\n  forms.", [], "pdf", "\n")
@example("pdf", ">2\n  Fills\n  forms.", [], "pdf", "\n")
@example("pdf", ">+\n  Fills \n  forms.\n", [], "pdf", "\n")
@example("pdf", "|\n  license: MIT", [("license", "MIT", ": ")], "pdf", "\n")
@example("yes", "Fills.", [("allowed-tools", "Read, Write", ": ")], None, "\n")
@example("pdf", "x", [("metadata", "", ":"), ("license", "MIT", ": ")], None, "\n")
@example("pdf", "x", [("metadata", "", ":"), ("  a", "b", ": "), ("   c", "d", ": ")], None, "\n")
def test_every_way_of_reading_level_1_says_the_same(monkeypatch, name, description, fields, directory, end):
    lines = [f"name: {name}", f"description: {description}", *(f"{key}{colon}{value}" for key, value, colon in fields)]
    head = end.join(["---", *lines, "---", ""]).encode("utf-8", "replace")
    assert_all_ways_agree(head, monkeypatch, directory)


@pytest.mark.corpus
def test_every_way_of_reading_level_1_says_the_same_of_all_real_skills_and_most_need_no_yaml(monkeypatch):
    blocks = [block if block.endswith("\n") else f"{block}\n" for block in corpus_blocks()]
    for block in blocks:
        assert_all_ways_agree(f"---\n{block}---\n".encode(), monkeypatch, None)
    plain = sum(parsing_module.plainest(block, None) is not None for block in blocks)
    assert plain > len(blocks) * 0.7


def test_a_plain_head_is_read_without_yaml_fields_or_a_report(monkeypatch):
    def never(*_, **__):
        raise AssertionError("it was read in full")

    monkeypatch.setattr(parsing_module, "read_document", never)
    head = b"---\nname: pdf\ndescription: 'Fills: forms'\nlicense: MIT\nmetadata:\n  a: b\n---\n"
    summary = parse_frontmatter(head, directory="pdf", path="/x", source="s").summary
    assert (summary.name, summary.description, summary.location) == ("pdf", "Fills: forms", "/x")


def test_the_pure_python_yaml_parser_gives_the_same(monkeypatch):
    import yaml

    text = "name: pdf\ndescription: >-\n  Fills\n  forms.\nmetadata: {a: 'b', c: \"d\"}\n"
    fast = compose_yaml(text)
    monkeypatch.setattr("skillbelt.parsing.nodes._Loader", yaml.BaseLoader)
    assert compose_yaml(text) == fast
    with pytest.raises(YamlProblem, match=r"special characters|control characters"):
        compose_yaml("a: \x07")
    with pytest.raises(YamlProblem, match="half a character"):
        compose_yaml('a: "\\ud800"')
