"""Laws of parsing, for any input: it never raises, it never loses text, and its profiles agree where they must."""

import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from skillbelt import LENIENT, NAMESPACED, STRICT, MappingSource, parse_skill
from skillbelt.parsing import fences, name_key, parse_frontmatter, usable_label
from skillbelt.parsing.nodes import Mapping, YamlProblem
from skillbelt.parsing.repair import repair, salvage

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

PROFILES = (STRICT, LENIENT, NAMESPACED)
VALID = (
    b"---\nname: mail\ndescription: Sorts mail.\nlicense: MIT\ncompatibility: linux\nmetadata:\n  version: '1.0'\n"
    b"  tags: [a, b]\nallowed-tools: Read Bash(git:*)\nsteps:\n  - one\n---\n# Steps\n\n1. Begin.\n"
)

# Line ends and what a fence, a key and a scalar are made of come often; anything else comes too.
PIECES = [
    "---", "...", "\n", "\r\n", "\r", " ", "  ", "\t", "name", "description", "metadata", "allowed-tools", "steps", ":",
    ": ", "- ", "#", " #", "'", '"', "[", "]", "{", "}", ",", "|", ">", ">-", "&a", "*a", "!", "!!str", "!!int", "%",
    "@", "`", "?", "\\", "\\x", "\\ud800", "~", "null", "yes", "1", "1.10", "007", "2024-01-01", "<<", "=", "word", "é",
    "邮", "\ufeff", "\x00", "\x07", "\x85", "\u2028", "\u200b", "\u202e", "\U000e0041", "<!--", "-->", "(", ")", "/",
    "x" * 40,
]  # fmt: skip
yamlish = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)
lines = st.lists(
    st.sampled_from(
        ["name: ", "description: ", "metadata: ", "allowed-tools: ", "license: ", "steps: ", "  a: ", "  - ", ""]
    ).flatmap(lambda key: st.lists(st.sampled_from(PIECES), max_size=5).map(lambda parts: key + "".join(parts))),
    max_size=8,
).map("\n".join)
frontmatter = yamlish | lines | lines.map(lambda text: f"name: mail\ndescription: Sorts mail.\n{text}")
bodies = st.text(max_size=60) | yamlish


@st.composite
def mutated(draw):
    """A valid file with some of its bytes removed, replaced, doubled or filled in."""
    data = bytearray(VALID)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        change = draw(st.sampled_from(["cut", "put", "set", "copy"]))
        if change == "cut":
            del data[at : at + draw(st.integers(1, 8))]
        elif change == "put":
            data[at:at] = draw(st.binary(min_size=1, max_size=4) | st.sampled_from(PIECES).map(str.encode))
        elif change == "set" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        else:
            data[at:at] = data[draw(st.integers(0, len(data))) :][:30]
    return bytes(data)


files = st.builds(
    lambda before, block, body: f"{before}---\n{block}\n---\n{body}".encode(),
    st.sampled_from(["", "", "", "\ufeff", "\n", "<!-- x -->\n"]),
    frontmatter,
    bodies,
)
anything = st.binary(max_size=200) | mutated() | files | files.map(lambda data: data.decode().encode("utf-16"))
profiles = st.sampled_from(PROFILES)
directories = st.sampled_from(["mail", None, "", "\udcff", "Mail\u200b"])


def _whole(parsed):
    """Check what holds for every answer and return its skill."""
    errors = [d for d in parsed.diagnostics if d.severity == "error"]
    assert (parsed.skill is None) == bool(errors)
    for found in parsed.diagnostics:
        assert found.message.isprintable()
        assert found.hint
        assert len(found.message) <= 300
        assert found.line is None or found.line >= 1
    assert parsed.diagnostics[: len(errors)] == tuple(errors)
    json.dumps(parsed.raw, ensure_ascii=False).encode()
    if parsed.skill is not None:
        parsed.skill.model_dump_json().encode()
        assert parsed.skill.description.strip() == parsed.skill.description != ""
        assert usable_label(parsed.skill.short_name) == parsed.skill.short_name
    return parsed.skill


@many
@given(anything, profiles, directories)
def test_whatever_the_bytes_are_parsing_returns_and_its_answer_is_sound(data, profile, directory):
    _whole(parse_skill(data, profile=profile, directory=directory))


@few
@given(st.text(max_size=200), profiles)
@example("---\nname: a\ndescription: \ud800\n---\n\udfff", LENIENT)
def test_whatever_the_text_is_parsing_returns_and_its_answer_is_sound(text, profile):
    _whole(parse_skill(text, profile=profile))


@few
@given(anything, profiles)
def test_a_line_that_is_named_is_a_line_of_the_file(data, profile):
    total = max(1, len(fences.to_utf8(data).splitlines()) if fences.is_utf16(data) else fences.line_breaks(data) + 1)
    for found in parse_skill(data, profile=profile).diagnostics:
        assert found.line is None or found.line <= total + 1


@many
@given(anything, directories)
def test_lenient_loads_whatever_strict_loads_and_reads_it_the_same(data, directory):
    strict = parse_skill(data, profile=STRICT, directory=directory)
    lenient = parse_skill(data, profile=LENIENT, directory=directory)
    if strict.skill is not None:
        assert lenient.skill == strict.skill
        assert lenient.raw == strict.raw


@many
@given(anything)
def test_a_profile_changes_severities_and_what_is_repaired_but_not_what_is_found(data):
    strict, lenient = (parse_skill(data, profile=p, directory="mail") for p in (STRICT, LENIENT))
    of_strict, of_lenient = ({d.code for d in parsed.diagnostics} for parsed in (strict, lenient))
    if "yaml-invalid" in of_strict:  # what a repair finds is its own matter, but it is said
        assert {code for code in of_lenient if code.startswith("yaml-")}
    else:
        assert of_strict == of_lenient


@many
@given(bodies, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]), profiles)
def test_the_body_comes_back_exactly(body, end, bom, profile):
    assume(not (end == "\r" and body.startswith("\n")))  # then the two are one line end
    name = "a/mail" if profile is NAMESPACED else "mail"
    head = f"{bom}---{end}name: {name}{end}description: x{end}---{end}"
    data = (head + body).encode("utf-8", "surrogatepass")
    skill = parse_skill(data, profile=profile, directory="mail").skill
    if skill is None:  # only a control character in it is an error, and that strictly
        assert profile is STRICT
        assert fences.control_characters(body)
    else:
        assert skill.instructions == body.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        assert data[skill.body_offset :] == body.encode("utf-8", "surrogatepass")


@many
@given(anything, st.sampled_from([LENIENT, NAMESPACED]), directories)
def test_level_one_of_the_head_is_level_one_of_the_whole(data, profile, directory):
    whole = parse_skill(data, profile=profile, directory=directory, path="p", source="s")
    halves = fences.split(data)
    head = data[: halves.body] if halves.state == "found" and not fences.is_utf16(data) else data
    first = parse_frontmatter(head, profile=profile, directory=directory, path="p", source="s")
    assert first.summary == (whole.skill.summary() if whole.skill else None)
    of_the_body = {"body-empty", "control-chars", "encoding-invalid"}
    assert {d for d in first.diagnostics if d.code not in of_the_body} == {
        d for d in whole.diagnostics if d.code not in of_the_body
    }


@few
@given(files | mutated(), st.integers(0, 9000))
def test_a_source_lists_what_it_loads(data, padding):
    source = MappingSource({"mail/SKILL.md": data + b"x" * padding})
    for summary in source.list():
        assert source.lookup(summary.name) == summary
        assert source.load(summary.name).summary() == summary
    if not source.list():
        assert parse_skill(data + b"x" * padding, directory="mail").skill is None


@many
@given(yamlish | files.map(lambda data: data.decode()) | st.text(max_size=50), st.data())
def test_what_the_first_bytes_decide_the_rest_does_not_change(text, data):
    whole = text.encode("utf-8", "surrogatepass")
    cut = data.draw(st.integers(0, len(whole)))
    first, final = fences.split(whole[:cut], final=False), fences.split(whole)
    if first.state == "found":
        assert first == final
    elif first.state == "missing":
        assert final.state == "missing"
    assert first.state != "unclosed"


WORDS = st.text("abcé邮 '\"[]{}()&*!|>%@`,-?~=<.;/$_+^1", min_size=1, max_size=25)


@many
@given(st.sampled_from("aé邮1("), WORDS, WORDS)
def test_prose_with_a_colon_in_it_is_repaired_to_the_same_words(first, one, two):
    prose = f"{first}{one}: {two}".strip()
    parsed = parse_skill(f"---\nname: mail\ndescription: {prose}\nlicense: MIT\n---\nBody", directory="mail")
    assert [d.code for d in parsed.diagnostics] == ["yaml-repaired"]
    assert parsed.skill.description == prose
    assert parsed.skill.frontmatter.license == "MIT"


@many
@given(st.text("ab'\"\\:#[]{}é ", min_size=1, max_size=30))
def test_quoted_text_of_any_kind_is_read_as_yaml_reads_it(text):
    for style in ("'", '"'):
        line = yaml.safe_dump({"description": f"x{text}x"}, default_style=style, allow_unicode=True, width=10**6)
        parsed = parse_skill(f"---\nname: mail\n{line}---\nBody", profile=STRICT, directory="mail")
        assert (parsed.skill.description, parsed.diagnostics) == (f"x{text}x", ())


@few
@given(frontmatter)
def test_repair_keeps_the_number_of_lines_and_gives_yaml(block):
    with suppress(YamlProblem):
        root = repair(block)
        if isinstance(root, Mapping):
            assert root.source.count("\n") == block.count("\n")


@few
@given(lines)
def test_salvage_gives_name_and_description_only(block):
    found = salvage(block)
    if found is not None:
        assert "description" in found.pairs.keys() <= {"name", "description"}
        assert all(node.text for node in found.pairs.values())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé-", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@many
@given(st.dictionaries(st.text("abcé-", min_size=1, max_size=6), json_values, max_size=4), st.booleans())
def test_the_raw_view_is_what_any_yaml_reader_gives(extra, flow):
    value = {**extra, "name": "mail", "description": "x"}
    block = yaml.safe_dump(value, allow_unicode=True, default_flow_style=flow, sort_keys=False)
    assume(yaml.safe_load(block) == value)
    assume(not any(line.startswith(("---", "...")) for line in block.splitlines()))
    assert parse_skill(f"---\n{block}---\n", directory="mail").raw == value


@many
@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.text(max_size=20), max_size=4))
def test_metadata_of_text_comes_back_as_it_was(metadata):
    block = yaml.safe_dump({"name": "mail", "description": "x", "metadata": metadata}, allow_unicode=True)
    assume(yaml.safe_load(block)["metadata"] == metadata)
    parsed = parse_skill(f"---\n{block}---\nBody", profile=STRICT, directory="mail")
    if parsed.skill is not None:
        assert dict(parsed.skill.frontmatter.metadata) == metadata


@few
@given(st.text(max_size=12))
def test_a_label_is_its_own_label_and_a_name_matches_itself_in_either_case(text):
    label = usable_label(text)
    if label is not None:
        assert usable_label(label) == label
        assert name_key(label) == name_key(text)
        assert name_key(label.upper().lower()) == name_key(label.upper())


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.title)
def test_the_file_that_is_mutated_is_valid(profile):
    parsed = parse_skill(
        VALID.replace(b"name: mail", b"name: a/mail") if profile is NAMESPACED else VALID, profile=profile
    )
    found = {d.code for d in parsed.diagnostics if d.severity == "error"}
    assert found == ({"metadata-value-type", "unknown-field"} if profile is STRICT else set())
