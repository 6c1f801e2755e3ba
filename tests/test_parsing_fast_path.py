"""The line reader for plain frontmatter gives what the YAML parser gives, or gives up."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
