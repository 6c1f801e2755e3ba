"""parse_skill by unit: fences, encodings, YAML and its repair, every field, every profile, every bound."""

import hashlib
import json
from dataclasses import replace

import pytest
import yaml

from skillbelt import (
    LENIENT,
    NAMESPACED,
    STRICT,
    ContentTooLargeError,
    InvalidSkillError,
    Limits,
    Profile,
    SkillError,
    parse_skill,
)
from skillbelt.parsing import name_key, nodes, parse_frontmatter, usable_label

GOOD = "name: mail\ndescription: Sorts mail."
LOADERS = [pytest.param("CBaseLoader", id="libyaml"), pytest.param("BaseLoader", id="python")]


def parse(block=GOOD, *, body="Begin.\n", profile=LENIENT, directory="mail", **options):
    return parse_skill(f"---\n{block}\n---\n{body}", profile=profile, directory=directory, **options)


def codes(parsed, *severities):
    return [d.code for d in parsed.diagnostics if not severities or d.severity in severities]


def only(parsed, code):
    (found,) = [d for d in parsed.diagnostics if d.code == code]
    return found


def described(text, **options):
    """Parse a frontmatter whose description line is ``text``."""
    return parse(f"name: mail\ndescription: {text}", **options)


def fields(parsed):
    return parsed.unwrap().frontmatter


# --- the whole -----------------------------------------------------------------------------------------------------


@pytest.mark.row("S1-01")
def test_a_minimal_file_gives_name_description_and_body():
    skill = parse(profile=STRICT).unwrap()
    assert (skill.name, skill.description, skill.instructions) == ("mail", "Sorts mail.", "Begin.\n")
    assert (skill.namespace, skill.location, skill.source) == (None, None, None)


def test_a_clean_file_has_nothing_to_say():
    assert parse(profile=STRICT).diagnostics == ()


def test_text_is_taken_as_utf8_and_gives_what_its_bytes_give():
    text = "---\nname: mail\ndescription: Sortiert Größen — 邮件.\n---\n是。\n"
    assert parse_skill(text) == parse_skill(text.encode())


def test_the_digest_is_that_of_the_bytes_as_they_are():
    data = b"\xef\xbb\xbf---\r\nname: mail\r\ndescription: x\r\n---\r\nBody"
    assert parse_skill(data).unwrap().digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        "---\nname: a\ndescription: b\n---\nBody\n".encode("utf-16"),
        b"---\nname: a\ndescription: b\n---\nBody \xff\n",
    ],
)
def test_a_file_that_is_not_utf_8_has_no_byte_at_which_its_text_starts(data):
    assert parse_skill(data).unwrap().body_offset is None


def test_the_body_offset_is_the_byte_at_which_the_instructions_start():
    data = "\ufeff\n---\r\nname: mail\r\ndescription: é\r\n---\r\nBody é\n".encode()
    skill = parse_skill(data).unwrap()
    assert data[skill.body_offset :].decode() == skill.instructions == "Body é\n"


def test_path_and_source_are_passed_through():
    skill = parse(path="/skills/mail/SKILL.md", source="/skills", profile=STRICT).unwrap()
    assert (skill.location, skill.source) == ("/skills/mail/SKILL.md", "/skills")
    assert {d.path for d in parse("x", path="/a/SKILL.md").diagnostics} == {"/a/SKILL.md"}


def test_diagnostics_are_errors_first_then_by_line():
    parsed = parse("license: [a]\ndescription: x\nname: Mail\nzeta: 1\nalpha: 2", profile=STRICT, body="")
    severities = [d.severity for d in parsed.diagnostics]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    lines = [d.line for d in parsed.diagnostics if d.severity == "error"]
    assert lines == sorted(lines)


def test_level_one_alone_is_that_of_the_whole():
    data = b"---\nname: mail\ndescription: x\n---\nBody"
    assert parse_frontmatter(data).summary == parse_skill(data).unwrap().summary()
    broken = parse_frontmatter(b"---\nname: Mail\ndescription:\n---\nBody")
    assert (broken.summary, broken.written_name) == (None, "Mail")


def test_a_parsed_file_without_skill_says_every_error_when_unwrapped():
    with pytest.raises(InvalidSkillError, match=r"name is missing.*description is missing") as caught:
        parse("license: MIT", profile=STRICT).unwrap()
    assert {d.code for d in caught.value.diagnostics} == {"name-missing", "description-missing"}


def test_the_error_of_a_file_with_thousands_of_errors_stays_short():
    parsed = parse(GOOD + "".join(f"\nkey-{i}: 1" for i in range(3000)), profile=STRICT)
    with pytest.raises(InvalidSkillError, match=r"There are 29\d\d more errors\.$") as caught:
        parsed.unwrap()
    assert len(str(caught.value)) <= 1024
    assert len(caught.value.diagnostics) == 3000


@pytest.mark.parametrize(
    "block",
    [
        f"{GOOD}\n{'k' * 20_000}: 1",
        f"{GOOD}\nmetadata:\n  {'k' * 900}: [1]",
        f'{GOOD}\nmetadata:\n  ? "a\\nb\\e[2J\\u202Ec"\n  : [1]',
        f"{GOOD}\na: !{'t' * 20_000} x",
        f"{GOOD}\na: *{'t' * 20_000}",
        f"{GOOD}\na: &{'t' * 20_000} [*{'t' * 20_000}]",
        f"name: {'n' * 20_000}\ndescription: x",
        'name: "a\\e[2J\\u202E"\ndescription: x',
        f'{GOOD}\n? "{"k" * 900}"\n: 1\n? "{"k" * 900}"\n: 2',
    ],
    ids=range(9),
)
@pytest.mark.parametrize("profile", [STRICT, LENIENT, NAMESPACED], ids=lambda p: p.title)
def test_a_diagnostic_is_bounded_and_printable_whatever_the_file_holds(block, profile):
    parsed = parse(block, profile=profile)
    assert parsed.diagnostics
    for found in parsed.diagnostics:
        for text in (found.message, found.hint or "", found.field or ""):
            assert len(text) <= 300
            assert text.isprintable()


BROKEN = {
    "no frontmatter": "# Just markdown\n",
    "unclosed": "---\nname: a\n",
    "empty": "---\n---\n",
    "list": "---\n- a\n---\n",
    "invalid": "---\ndescription: [\n---\n",
    "unsafe": "---\na: !!python/name:os.system\n---\n",
    "deep": "---\na: " + "[" * 40 + "]" * 40 + "\n---\n",
    "dots": f"---\n{GOOD}\n...\nx",
    "comment before": f"<!-- x -->\n---\n{GOOD}\n---\nx",
    "bom": f"\ufeff---\n{GOOD}\n---\nx",
    "utf-16": f"---\n{GOOD}\n---\nx".encode("utf-16"),
    "invalid utf-8": f"---\n{GOOD}\n---\n".encode() + b"\xff",
    "control": f"---\n{GOOD}\n---\n\x01",
    "no body": f"---\n{GOOD}\n---\n",
    "repaired": "---\nname: mail\ndescription: a: b\n---\nx",
    "salvaged": "---\nname: mail\ndescription: a: b\nx\n---\nx",
    "fields": "---\nname: [a]\ndescription: {a: b}\nlicense: [a]\ncompatibility: [a]\nmetadata: x\n"
    "allowed-tools: [a]\n---\nx",
    "more fields": "---\nname: -A b/--\ndescription: ''\nlicense: ~\ncompatibility: ''\n"
    "metadata: {a: [b], c: ~, d: 1}\nallowed-tools: a,b\nx: 1\nx: 2\n---\nx",
    "long": f"---\nname: {'n' * 70}\ndescription: {'d' * 1100}\ncompatibility: {'c' * 600}\n---\nx",
    "hash": "---\nname: mail\ndescription: a #b\n---\nx",
    "no name at all": "---\ndescription: a\n---\nx",
    "no usable name": '---\nname: "\\u200b"\ndescription: a\n---\nx',
    "steps": "---\nname: a/b\ndescription: x\nsteps: [a, '', [b]]\n---\nx",
    "no steps": "---\nname: a/b\ndescription: x\nsteps: a\n---\nx",
}


@pytest.mark.row("S1-52")
@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_every_diagnostic_says_what_to_change(data):
    found = [d for p in (STRICT, LENIENT, NAMESPACED) for d in parse_skill(data, profile=p, filename="x").diagnostics]
    assert found
    assert [d.code for d in found if not d.hint] == []


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_skill_is_withheld_exactly_when_there_is_an_error(data):
    for profile in (STRICT, LENIENT, NAMESPACED):
        for directory in ("mail", None):
            parsed = parse_skill(data, profile=profile, directory=directory)
            assert (parsed.skill is None) == ("error" in {d.severity for d in parsed.diagnostics})


# --- fences --------------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-13")
@pytest.mark.parametrize(
    "data",
    [
        f" ---\n{GOOD}\n---\n",
        f"----\n{GOOD}\n---\n",
        f"x---\n{GOOD}\n---\n",
        f"--\n{GOOD}\n---\n",
        f"```\n---\n{GOOD}\n---\n",
    ],
)
def test_anything_but_an_exact_opening_fence_is_no_frontmatter(data):
    parsed = parse_skill(data)
    assert parsed.skill is None
    assert codes(parsed) == ["frontmatter-missing"]


@pytest.mark.row("S3-13", "S1-31")
@pytest.mark.parametrize("closing", [" ---", "----", "--- x", "--", "-- -", "\t---", ".."])
def test_anything_but_an_exact_closing_fence_does_not_close(closing):
    parsed = parse_skill(f"---\n{GOOD}\n{closing}\nBody\n", profile=STRICT)
    assert codes(parsed) == ["frontmatter-unclosed"]
    with pytest.raises(InvalidSkillError, match="frontmatter"):
        parsed.unwrap()


@pytest.mark.row("S3-13")
def test_the_first_closing_fence_closes_and_the_body_keeps_its_own():
    parsed = parse_skill(f"---\n{GOOD}\n---\na\n---\nb\n---\n", profile=STRICT)
    assert parsed.unwrap().instructions == "a\n---\nb\n---\n"


@pytest.mark.parametrize("blanks", [" ", "\t", " \t  "])
def test_blanks_after_a_fence_are_nothing_to_speak_of(blanks):
    parsed = parse_skill(f"---{blanks}\n{GOOD}\n---{blanks}\nBody\n", profile=STRICT)
    assert parsed.unwrap().instructions == "Body\n"
    assert parsed.diagnostics == ()


@pytest.mark.parametrize("data", [f"---\n{GOOD}\n---", f"---\r{GOOD}\r---  "])
def test_the_file_may_end_at_its_closing_fence(data):
    parsed = parse_skill(data.replace("\n", "\r") if "\r" in data else data, profile=STRICT, directory="mail")
    assert parsed.unwrap().instructions == ""
    assert codes(parsed) == ["body-empty"]


def test_three_dots_close_with_a_warning():
    data = f"---\n{GOOD}\n...\nBody\n"
    assert codes(parse_skill(data), "warning") == ["frontmatter-delimiter"]
    assert codes(parse_skill(data, profile=STRICT), "error") == ["frontmatter-delimiter"]
    assert parse_skill(data).unwrap().instructions == "Body\n"


@pytest.mark.row("S1-07", "S1-08")
@pytest.mark.parametrize("data", ["", "# Just markdown\n", "\n\n", "<!-- never closed\n---\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("profile", [STRICT, LENIENT, NAMESPACED], ids=lambda p: p.title)
def test_a_file_without_frontmatter_is_an_error_that_says_so(data, profile):
    with pytest.raises(InvalidSkillError, match="frontmatter"):
        parse_skill(data, profile=profile).unwrap()


@pytest.mark.row("S1-32")
@pytest.mark.parametrize("inner", ["", "\n", "# only a comment\n", "~\n", "null\n"])
def test_an_empty_frontmatter_is_an_error_that_says_so(inner):
    parsed = parse_skill(f"---\n{inner}---\nBody\n")
    assert codes(parsed, "error") == ["frontmatter-empty"]
    assert only(parsed, "frontmatter-empty").line == 1
    with pytest.raises(InvalidSkillError, match="frontmatter"):
        parsed.unwrap()


@pytest.mark.row("S1-34")
@pytest.mark.parametrize(
    ("inner", "kind"), [("- a\n- b", "list"), ("just words", "str"), ("42", "int"), ("[a]", "list")]
)
def test_a_frontmatter_that_is_no_mapping_is_an_error_that_says_what_it_is(inner, kind):
    parsed = parse_skill(f"\n---\n{inner}\n---\n")
    assert only(parsed, "frontmatter-not-mapping").line == 3
    with pytest.raises(InvalidSkillError, match=f"is a {kind}; it must be a mapping"):
        parsed.unwrap()


@pytest.mark.parametrize(
    "leading",
    ["\n", "\r\n", "\r", " \t\n\n", "<!-- x -->\n", "<!-- a\nb -->  \n\n<!-- c -->\n", "\x0c\n", "<!-- a -->\r\n\r\n"],
)
def test_blank_lines_and_whole_comments_may_lead_with_a_warning(leading):
    data = f"{leading}---\nname: mail\nDescription: x\ndescription: y\n---\nBody\n"
    parsed = parse_skill(data, directory="mail")
    assert parsed.unwrap().instructions == "Body\n"
    assert codes(parsed, "warning") == ["frontmatter-leading-content"]
    before = data[: data.index("Description")].replace("\r\n", "\n").replace("\r", "\n")
    assert only(parsed, "unknown-field").line == before.count("\n") + 1
    assert codes(parse_skill(data, profile=STRICT), "error") == ["frontmatter-leading-content", "unknown-field"]


@pytest.mark.parametrize("leading", ["<!-- x --> y\n", " <!-- x -->\n", "<!-- x\n", "text\n", "\u00a0\n"])
def test_anything_else_before_the_fence_is_no_frontmatter(leading):
    assert codes(parse_skill(f"{leading}---\n{GOOD}\n---\nBody\n")) == ["frontmatter-missing"]


# --- bytes and encodings -------------------------------------------------------------------------------------------


@pytest.mark.row("S3-14")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "BOM"])
def test_every_line_end_with_and_without_a_bom_gives_the_same_frontmatter(end, bom):
    text = f"{bom}---\nname: mail\ndescription: >-\n  two\n  lines\nmetadata:\n  a: b\n---\nOne.\n\nTwo.\n"
    parsed = parse_skill(text.replace("\n", end).encode(), profile=STRICT, directory="mail")
    assert (parsed.unwrap().description, dict(fields(parsed).metadata)) == ("two lines", {"a": "b"})
    assert codes(parsed) == (["encoding-bom"] if bom else [])


@pytest.mark.row("S1-03", "S1-28", "S3-15")
@pytest.mark.parametrize(
    "body",
    [
        "\n\n# Head\n\n```sh\necho  hi\n```\n\n  indented\t\n\n\n",
        "Step A\r\nStep B\rStep C\n",
        "no end",
        " \n\t",
        "NUL \x00 and \x1b and \u2028 and \x85\n",
        "\ufeffsecond BOM\n",
        "---\n---\n",
    ],
)
def test_the_body_is_kept_exactly(body):
    for end in ("\n", "\r\n"):
        head = f"---{end}name: mail{end}description: x{end}---{end}"
        skill = parse_skill((head + body).encode(), directory="mail").unwrap()
        assert skill.instructions == body
        assert json.loads(skill.model_dump_json())["instructions"] == body


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "BOM"])
def test_utf16_and_utf32_are_read_with_a_warning(encoding, bom):
    data = f"{bom}---\r\nname: mail\r\ndescription: 邮件 — 🎉\r\n---\r\nBody 🎉\r\n".encode(encoding)
    parsed = parse_skill(data, directory="mail")
    assert (parsed.unwrap().description, parsed.unwrap().instructions) == ("邮件 — 🎉", "Body 🎉\r\n")
    assert codes(parsed) == ["encoding-utf16"]
    assert codes(parse_skill(data, profile=STRICT), "error") == ["encoding-utf16"]


def test_utf16_that_does_not_decode_is_still_read_as_far_as_it_does():
    data = "\ufeff---\nname: mail\ndescription: x\n---\nBody".encode("utf-16-le") + b"\x00\xd8\x00"
    parsed = parse_skill(data, directory="mail")
    assert parsed.unwrap().instructions.startswith("Body\ufffd")


@pytest.mark.row("S3-16")
@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"---\nname: mail\ndescription: caf\xe9\n---\nBody\n", 3),
        (b"---\nname: mail\n\xe9: x\ndescription: x\n---\nBody\n", 3),
        (b"---\r\nname: mail\r\ndescription: x\r\nmetadata:\r\n  caf\xe9: x\r\n---\r\nBody\r\n", 5),
        (b"\n\n---\nname: ma\xffil\ndescription: x\n---\nBody\n", 4),
        (b"---\nname: mail\ndescription: x\n---\nBody \xff\n", None),
        (b"---\nname: mail\ndescription: \xff\n---\n\xff\n", 3),
    ],
)
def test_invalid_utf8_anywhere_is_an_error_strictly_and_a_replacement_otherwise(data, line):
    parsed = parse_skill(data, directory="mail")
    assert only(parsed, "encoding-invalid").line == line
    assert "\ufffd" in str(parsed.raw) + parsed.unwrap().instructions
    assert "encoding-invalid" in codes(parse_skill(data, profile=STRICT, directory="mail"), "error")


def test_half_a_character_in_text_is_said_like_an_invalid_byte():
    parsed = parse_skill("---\nname: mail\ndescription: a \ud800 b\n---\nBody\n", directory="mail")
    assert codes(parsed) == ["encoding-invalid"]
    assert "\ufffd" in parsed.unwrap().description
    assert "\ud800" not in parsed.unwrap().description


@pytest.mark.parametrize("loader", LOADERS)
def test_an_escape_for_half_a_character_is_invalid_with_both_scanners(monkeypatch, loader):
    monkeypatch.setattr(nodes, "_Loader", getattr(yaml, loader))
    block = 'name: mail\ndescription: "a \\ud800 b"'
    assert codes(parse(block, profile=STRICT), "error") == ["yaml-invalid"]
    assert fields(parse(block)).description == "a \\ud800 b"
    assert codes(parse(block)) == ["yaml-repaired"]


def test_an_escape_for_no_character_is_invalid_with_the_python_scanner_too(monkeypatch):
    monkeypatch.setattr(nodes, "_Loader", yaml.BaseLoader)
    assert codes(parse('name: mail\ndescription: "a \\U00110000"', profile=STRICT), "error") == ["yaml-invalid"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("---\nname: mail\n# \x07\ndescription: x\n---\nBody\n", 3),
        (f"---\n{GOOD}\n---\nBody \x00\n", None),
        (f"---\n{GOOD}\n---\nBody \x9b\n", None),
    ],
)
def test_a_control_character_is_named_with_its_line(data, line):
    found = only(parse_skill(data, directory="mail"), "control-chars")
    assert (found.severity, found.line) == ("warning", line)
    assert "U+00" in found.message
    assert "control-chars" in codes(parse_skill(data, profile=STRICT), "error")


@pytest.mark.parametrize("allowed", ["\t", "\x85", "\r\n", "\u2028"])
def test_tabs_and_line_ends_are_no_control_characters(allowed):
    assert codes(parse(body=f"a{allowed}b\n", profile=STRICT)) == []


@pytest.mark.row("C13")
@pytest.mark.parametrize("filename", ["skill.md", "Skill.md", "SKILL.MD"])
def test_another_spelling_of_the_file_name_is_said(filename):
    assert codes(parse(filename=filename)) == ["filename-case"]
    assert codes(parse(filename=filename, profile=STRICT), "error") == ["filename-case"]
    assert parse("name: a/b\ndescription: x", filename=filename, profile=NAMESPACED).skill is None


# --- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-25")
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("closing", ["---", "---  ", "..."])
def test_the_frontmatter_budget_counts_raw_bytes_exactly(bom, end, closing):
    head = f"{bom}---\nname: mail\ndescription: Größe\n{closing}\n".replace("\n", end).encode()
    data = head + b"Body" * 10
    exact = Limits(frontmatter_bytes=len(head))
    assert parse_skill(data, limits=exact).unwrap().instructions == "Body" * 10
    less = Limits(frontmatter_bytes=len(head) - 1)
    with pytest.raises(ContentTooLargeError, match=f"larger than {len(head) - 1} bytes"):
        parse_skill(data, limits=less).unwrap()


@pytest.mark.row("S3-26")
def test_a_closing_fence_cut_by_the_budget_is_too_large_and_no_end():
    head = b"---\nname: mail\ndescription: x\n"
    for tail, room in ((b"---", 2), (b"----\n---\n", 3), (b"---\n", 3)):
        limits = Limits(frontmatter_bytes=len(head) + room)
        assert codes(parse_skill(head + tail + b"Body", limits=limits)) == ["file-too-large"]


def test_a_frontmatter_that_never_closes_is_too_large_once_the_budget_is_passed():
    data = b"---\nname: mail\n" + b"x: y\n" * 50
    assert codes(parse_skill(data, limits=Limits(frontmatter_bytes=len(data)))) == ["frontmatter-unclosed"]
    assert codes(parse_skill(data, limits=Limits(frontmatter_bytes=len(data) - 1))) == ["file-too-large"]


@pytest.mark.row("S3-28")
def test_a_file_past_its_budget_is_too_large_by_one_byte():
    data = f"---\n{GOOD}\n---\nBody".encode()
    small = {"frontmatter_bytes": 10}
    assert codes(parse_skill(data, limits=Limits(skill_bytes=len(data) - 1, **small))) == ["file-too-large"]
    exact = Limits(skill_bytes=len(data), frontmatter_bytes=len(data))
    assert parse_skill(data, limits=exact).skill is not None


@pytest.mark.parametrize(
    "inner",
    [
        "a: " + "[" * 32 + "]" * 32,
        "a: [" + "x, " * 20_001 + "]",
        "a: &a [" + "x, " * 200 + "]\nb: [" + "*a, " * 120 + "]",
        "a: &a " + "x" * 6000 + "\nb: [" + "*a, " * 200 + "]",
        "a: &a [[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]\nb: &b [[[[[[[*a]]]]]]]\nc: [[[[[[[[[[[*b]]]]]]]]]]]",
    ],
    ids=["deep", "wide", "aliases", "text", "deep aliases"],
)
@pytest.mark.parametrize("profile", [STRICT, LENIENT, NAMESPACED], ids=lambda p: p.title)
def test_yaml_past_its_bounds_with_aliases_expanded_is_an_error(inner, profile):
    parsed = parse(f"name: a/b\ndescription: x\n{inner}", profile=profile, limits=Limits(frontmatter_bytes=500_000))
    assert codes(parsed, "error") == ["yaml-too-complex"]


def test_yaml_within_its_bounds_may_be_deep_and_use_anchors():
    parsed = parse(f"{GOOD}\na: &a {'[' * 30}x{']' * 30}\nb: *a")
    assert fields(parsed).extra["a"] == fields(parsed).extra["b"]


@pytest.mark.parametrize(
    "inner",
    [
        "a: !!python/object/apply:os.system [id]",
        "a: !custom x",
        "a: !!binary eA==",
        "a: &a [*a]",
        "a: &a {b: *a}",
    ],
)
def test_tags_and_endless_aliases_are_refused_even_where_yaml_is_repaired(inner):
    for block in (f"{GOOD}\n{inner}", f"name: mail\ndescription: broken: too\n{inner}"):
        parsed = parse(block)
        assert parsed.skill is None
        assert codes(parsed, "error") == ["yaml-unsafe"]


@pytest.mark.parametrize("inner", ["a: !!str 7", "a: ! 7", "a: !!map {b: c}", "a: !!seq [b]", "a: !!null ''"])
def test_core_tags_are_fine(inner):
    assert parse(f"{GOOD}\n{inner}").skill is not None


def test_a_frontmatter_of_thousands_of_lines_is_not_repaired_but_salvaged():
    parsed = parse("name: mail\ndescription: a: b\n" + "\n".join(f"k{i}: a: b" for i in range(2000)))
    assert codes(parsed) == ["yaml-salvaged"]
    assert fields(parsed).description == "a: b"


# --- YAML ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S1-33")
@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("block", "line", "column"),
    [
        ("name: mail\ndescription: a: b", 3, 15),
        ("\nname: mail\ndescription: 'x'\nlicense: a: b", 5, 11),
        ('name: "a\u2028b"\ndescription: a: b', 3, 15),
    ],
)
def test_invalid_yaml_is_an_error_with_line_and_column(monkeypatch, loader, block, line, column):
    monkeypatch.setattr(nodes, "_Loader", getattr(yaml, loader))
    parsed = parse(block, profile=STRICT)
    assert only(parsed, "yaml-invalid").line == line
    with pytest.raises(InvalidSkillError, match=f"line {line}: .*YAML.* at column {column}"):
        parsed.unwrap()


@pytest.mark.parametrize(
    ("inner", "what"),
    [
        ("? [a, b]\n: v", "a key is a list or a mapping"),
        ("a: *b", "names nothing"),
        ("--- x\na: b", "more than one YAML document"),
        ("%TAG ! tag:x,2000:\n--- \na: b", ""),
    ],
)
def test_yaml_that_is_no_frontmatter_is_invalid(inner, what):
    parsed = parse(f"{GOOD}\n{inner}", profile=STRICT)
    assert codes(parsed, "error") == ["yaml-invalid"]
    assert what in only(parsed, "yaml-invalid").message


def test_a_tag_directive_is_unsafe():
    parsed = parse_skill("---\n%TAG ! tag:yaml.org,2002:python/\n--- # x\nname: !name:os.system x\n---\n")
    assert codes(parsed, "error") == ["yaml-unsafe"]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"], ids=["LS", "PS", "NEL"])
def test_lines_are_counted_as_editors_do_not_as_yaml_does(monkeypatch, loader, end):
    monkeypatch.setattr(nodes, "_Loader", getattr(yaml, loader))
    block = f'name: mail\nlicense: "a{end} b{end} c"\ndescription: x{end}  y{end}  z #cut\nextra: 1'
    parsed = parse(block)
    assert only(parsed, "unknown-field").line == 5
    assert only(parsed, "yaml-comment-truncation").line == 4


def test_duplicate_keys_are_said_at_every_depth_and_the_last_counts():
    parsed = parse("name: mail\ndescription: a\ndescription: b\nmetadata:\n  k: 1st\n  k: 2nd\nx: [{y: 1, y: 2}]")
    assert [(d.field, d.line) for d in parsed.diagnostics if d.code == "yaml-duplicate-key"] == [
        ("description", 4),
        ("k", 7),
        ("y", 8),
    ]
    assert (fields(parsed).description, dict(fields(parsed).metadata)) == ("b", {"k": "2nd"})
    assert fields(parsed).extra["x"] == [{"y": "2"}]


@pytest.mark.row("S3-12", "C19")
@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1.10", "float"),
        ("007", "int"),
        ("no", "bool"),
        ("On", "bool"),
        ("2024-01-01", "timestamp"),
        ("1_000", "int"),
        ("0x1F", "int"),
        (".inf", "float"),
        ("12:30", "int"),
        ("9" * 5000, "int"),
        ("2001-12-14t21:59:43.10-99:99", "timestamp"),
    ],
)
def test_typed_scalars_stay_their_source_text_with_a_warning(monkeypatch, loader, text, kind):
    monkeypatch.setattr(nodes, "_Loader", getattr(yaml, loader))
    parsed = parse(f"{GOOD}\nlicense: {text}\nmetadata:\n  version: {text}\nextra: {text}", profile=LENIENT)
    assert (fields(parsed).license, fields(parsed).metadata["version"], fields(parsed).extra["extra"]) == (text,) * 3
    found = [d for d in parsed.diagnostics if d.code == "non-string-scalar"]
    assert [(d.severity, d.line, d.field) for d in found] == [
        ("warning", 4, "license"),
        ("warning", 6, "metadata.version"),
    ]
    assert all(f"YAML {kind}" in d.message for d in found)


@pytest.mark.parametrize("text", ["'1.10'", '"no"', "!!str 7", "|-\n  7", "v1.10", "=", "<<", "1.2.3"])
def test_what_is_quoted_or_is_no_type_of_yaml_needs_no_warning(text):
    assert codes(parse(f"{GOOD}\nlicense: {text}", profile=STRICT)) == []


def test_the_raw_view_is_typed_json_untrimmed():
    block = (
        "name: mail\ndescription: >\n  folded\n  text\nversion: 1.10\nflag: yes\ncount: 1_0\noctal: 010\nhexa: 0x1F\n"
        "binary: 0b11\nzero: 0\nnothing: ~\nempty:\nday: 2024-01-01\ntime: 12:30\nbig: .inf\nhuge: " + "9" * 5000 + "\n"
        "list: [1, '1', {a: on}]\nquoted: 'no'\nexp: 1.5e+3\n"
    )
    assert parse(block, profile=STRICT).raw == {
        "name": "mail",
        "description": "folded text\n",
        "version": 1.1,
        "flag": True,
        "count": 10,
        "octal": 8,
        "hexa": 31,
        "binary": 3,
        "zero": 0,
        "nothing": None,
        "empty": None,
        "day": "2024-01-01",
        "time": "12:30",
        "big": ".inf",
        "huge": "9" * 5000,
        "list": [1, "1", {"a": True}],
        "quoted": "no",
        "exp": 1500.0,
    }


def test_the_raw_view_is_there_for_a_skill_that_is_withheld():
    parsed = parse("name: Mail\ndescription: x", profile=STRICT)
    assert (parsed.skill, parsed.raw["name"]) == (None, "Mail")


# --- repair and salvage --------------------------------------------------------------------------------------------

REPAIRED = {
    "colon": ("Sorts mail: by sender.", "Sorts mail: by sender."),
    "two colons": ("a: b: c", "a: b: c"),
    "colon at the end": ("Use when:", "Use when:"),
    "quoted colon": ('Says "hi: there": done', 'Says "hi: there": done'),
    "apostrophe": ("It's: here", "It's: here"),
    "unmatched double quote": ('"Sorts: mail', "Sorts: mail"),
    "unmatched single quote": ("'Sorts: mail", "Sorts: mail"),
    "quotes that end early": ('"Sorts" mail', '"Sorts" mail'),
    "quotes round an apostrophe": ("'Use when it's needed: always'", "Use when it's needed: always"),
    "escaped apostrophe": ("'it\\'s: here'", "it's: here"),
    "bad escape": ('"C:\\path\\x"', "C:\\path\\x"),
    "at": ("@mail sorts: it", "@mail sorts: it"),
    "at alone": ("@mail", "@mail"),
    "backtick": ("`mail` sorts", "`mail` sorts"),
    "percent": ("%mail", "%mail"),
    "brackets": ("[a] [b]", "[a] [b]"),
    "braces": ("{a} {b}", "{a} {b}"),
    "tab": ("\tSorts: mail", "Sorts: mail"),
    "hash": ("a: b #c", "a: b #c"),
    "Chinese": ("触发词: 渔船: 帆船", "触发词: 渔船: 帆船"),
    "continuation": ("Sorts: mail\n  by sender: first\n\n  then date", "Sorts: mail by sender: first then date"),
    "anchor": ("&a b: c", "&a b: c"),
    "star": ("*.md files: all", "*.md files: all"),
}


@pytest.mark.parametrize(("text", "words"), REPAIRED.values(), ids=REPAIRED)
def test_broken_prose_is_repaired_with_its_words_kept(text, words):
    parsed = described(f"{text}\nlicense: MIT")
    assert (fields(parsed).description, fields(parsed).license) == (words, "MIT")
    assert codes(parsed) == ["yaml-repaired"]
    assert only(parsed, "yaml-repaired").severity == "warning"
    assert codes(described(text, profile=STRICT), "error") == ["yaml-invalid"]
    assert codes(described(text, profile=NAMESPACED), "error") == ["yaml-invalid"]


def test_good_lines_and_block_scalars_are_left_as_they_are():
    parsed = parse(
        "name: mail\nlicense: a: b\ndescription: |\n  Steps: do this: that\n  # no comment\n\n  - x: y: z\n"
        "compatibility: >-\n  one: two:\n  three\nmetadata:\n  quoted: 'it''s: fine'\n  list: [a, b]\n"
        "tags:\n  - a\n  - b"
    )
    assert codes(parsed, "warning") == ["yaml-repaired", "metadata-value-type"]
    got = fields(parsed)
    assert got.description == "Steps: do this: that\n# no comment\n\n- x: y: z"
    assert got.compatibility == "one: two: three"
    assert (got.metadata["quoted"], got.extra["tags"], got.license) == ("it's: fine", ["a", "b"], "a: b")


def test_nested_pairs_are_repaired_in_their_place():
    parsed = parse(f"{GOOD}\nmetadata:\n  note: a: b\n  deep:\n    more: c: d\n  good: e")
    assert dict(fields(parsed).metadata) == {"note": "a: b", "deep": '{"more":"c: d"}', "good": "e"}


def test_tabs_as_indentation_become_blanks():
    parsed = parse(f"{GOOD}\nmetadata:\n\ta: b\n\tc: d")
    assert dict(fields(parsed).metadata) == {"a": "b", "c": "d"}
    assert codes(parsed) == ["yaml-repaired"]


def test_control_characters_are_dropped_from_the_frontmatter_only():
    parsed = parse("name: ma\x00il\ndescription: a\x07b", body="c\x00d")
    assert (parsed.unwrap().name, parsed.unwrap().description, parsed.unwrap().instructions) == ("mail", "ab", "c\x00d")
    assert codes(parsed, "warning") == ["control-chars", "yaml-repaired"]


def test_lines_of_later_diagnostics_are_right_after_a_repair():
    parsed = parse("name: mail\nlicense: see: the\n  file\n\n  and: this\n\tone\ndescription: words #cut\nextra: 1")
    assert only(parsed, "yaml-repaired").line == 3
    assert only(parsed, "unknown-field").line == 9
    assert only(parsed, "yaml-comment-truncation").line == 8


def test_a_comment_is_looked_for_where_the_value_stands_not_where_it_stood():
    parsed = parse("name: mail\nlicense: see: the\n  file\ndescription: words\n# not a cut\nx: 1 #neither")
    assert "yaml-comment-truncation" not in codes(parsed)


@pytest.mark.parametrize(
    ("block", "name", "description"),
    [
        ("name: mail\ndescription: Sorts mail.\ntools: [never closed\nallowed-tools: Bash", "mail", "Sorts mail."),
        ("name: mail\ndescription: |\n  Two\n  lines\n}", "mail", "Two\nlines"),
        ("name: mail\ndescription: >-\n  Two\n  lines\n}", "mail", "Two lines"),
        ("description: 'Sorts'\nname: \"mail\"\n}", "mail", "Sorts"),
        ("description: first\n  and more\ndescription: second\n}", "folder", "first and more"),
        ("name: [x\ndescription: Sorts mail.\n}", "folder", "Sorts mail."),
        ("name:\ndescription: Sorts mail.\n}", "folder", "Sorts mail."),
    ],
)
def test_when_repair_fails_name_and_description_are_salvaged_and_nothing_else(block, name, description):
    parsed = parse(block, directory="folder")
    assert (parsed.unwrap().name, parsed.unwrap().description) == (name, description)
    assert "yaml-salvaged" in codes(parsed, "warning")
    assert fields(parsed).allowed_tools == ()
    assert (fields(parsed).license, dict(fields(parsed).extra)) == (None, {})


@pytest.mark.parametrize("block", ["description: [never closed\nlicense: x", "name: mail\n}", "description:\n}", "}"])
def test_without_a_description_to_salvage_the_yaml_stays_invalid(block):
    assert codes(parse(block), "error") == ["yaml-invalid"]


def test_a_salvaged_field_has_its_line():
    parsed = parse("}\nname: Mail\ndescription: Sorts.", directory="x")
    assert only(parsed, "name-uppercase").line == 3


def test_words_that_are_no_mapping_are_not_made_one_by_repair():
    parsed = parse("- a: b: c\n- d")
    assert parsed.skill is None
    assert codes(parsed, "error") == ["yaml-invalid"]


# --- name ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-06")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "name-missing"),
        ("~", "name-missing"),
        ("'  '", "name-missing"),
        ("n" * 65, "name-too-long"),
        ("UPPER", "name-uppercase"),
        ("a b", "name-charset"),
        ("a_b", "name-charset"),
        ("a--b", "name-hyphen"),
        ("-a", "name-hyphen"),
        ("a-", "name-hyphen"),
        ("nested/skill", "name-unsafe"),
        ("a\\b", "name-unsafe"),
        ('"a\\u200bb"', "name-unsafe"),
        ("'..'", "name-unsafe"),
        ("[a, b]", "name-type"),
        ("{a: b}", "name-type"),
        ("other", "name-dir-mismatch"),
    ],
)
def test_a_bad_name_is_an_error_strictly_and_a_warning_otherwise(name, code):
    block = f"name: {name}\ndescription: x"
    directory = "mail" if code == "name-dir-mismatch" else name.strip("'\"")
    assert code in codes(parse(block, profile=STRICT, directory=directory), "error")
    lenient = parse(block, directory="mail")
    assert code in codes(lenient, "warning")
    assert lenient.unwrap().name


@pytest.mark.row("S3-06")
@pytest.mark.parametrize("name", ["a", "n" * 64, "a-b-c", "pdf2", "2fa"])
def test_a_good_name_is_good(name):
    assert parse(f"name: {name}\ndescription: x", profile=STRICT, directory=name).diagnostics == ()


@pytest.mark.row("S3-06")
def test_blanks_round_a_name_do_not_count():
    assert parse("name: '  mail  '\ndescription: x", profile=STRICT).unwrap().name == "mail"


@pytest.mark.row("S3-07", "C12")
@pytest.mark.parametrize(
    ("written", "name"),
    [("cafe\u0301", "café"), ("\uff4d\uff41\uff49\uff4c", "mail"), ("письма", "письма"), ("邮件", "邮件")],
)
def test_names_are_judged_and_kept_in_nfkc(written, name):
    parsed = parse(f"name: {written}\ndescription: x", profile=STRICT, directory=name)
    assert parsed.unwrap().name == name
    assert parse(f"name: {written}\ndescription: x", profile=STRICT, directory=written).unwrap().name == name


@pytest.mark.row("C12")
def test_a_profile_may_insist_on_ascii_names():
    ascii_only = replace(STRICT, ascii_names=True)
    assert codes(parse("name: café\ndescription: x", profile=ascii_only, directory="café"), "error") == ["name-charset"]
    assert parse(profile=ascii_only).skill is not None


@pytest.mark.row("S3-08")
def test_a_name_must_be_that_of_its_folder_where_that_is_known():
    assert codes(parse(directory="post", profile=STRICT), "error") == ["name-dir-mismatch"]
    assert only(parse(directory="post"), "name-dir-mismatch").severity == "warning"
    assert parse(directory=None, profile=STRICT).diagnostics == ()


@pytest.mark.parametrize("name", ["", "[a]", '"a\\u202eb"', "'" + "n" * 300 + "'", '"\\u200b"', "|\n  a\n  b"])
def test_the_folder_names_a_skill_that_has_no_usable_name_of_its_own(name):
    assert parse(f"name: {name}\ndescription: x", directory="mail").unwrap().name == "mail"


@pytest.mark.row("S1-04")
@pytest.mark.parametrize(
    "block", ["description: x", "name:\ndescription: x", "name: [a]\ndescription: x", 'name: "\\u200b"\ndescription: x']
)
@pytest.mark.parametrize("directory", [None, "", " ", "\u200b"])
@pytest.mark.parametrize("profile", [STRICT, LENIENT, NAMESPACED], ids=lambda p: p.title)
def test_without_a_name_and_without_a_folder_there_is_an_error_that_mentions_name(block, directory, profile):
    if directory == "\u200b" and profile is LENIENT:
        assert parse(block, profile=profile, directory=directory).unwrap().name == "-"
        return
    with pytest.raises(InvalidSkillError, match="name"):
        parse(block, profile=profile, directory=directory).unwrap()


def test_a_folder_that_is_not_utf8_gives_a_name_and_texts_that_are():
    parsed = parse("description: x", directory="ma\udcffil")
    assert parsed.unwrap().name == "ma-il"
    mismatch = parse("name: mail\ndescription: x", directory="ma\udcffil")
    for value in (*parsed.diagnostics, *mismatch.diagnostics, parsed.unwrap()):
        value.model_dump_json().encode()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mail", "mail"),
        ("CAFE\u0301", "café"),
        ("\uff2d\uff21\uff29\uff2c", "mail"),
        (" mail ", "mail"),
        ("STRASSE", "straße"),
    ],
)
def test_names_compare_without_case_and_unicode_form(one, other):
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\u200bb", "\u202ea", "a" * 257, "\ue000", "a\x00"])
def test_what_reads_otherwise_than_it_compares_is_no_label(text):
    assert usable_label(text) is None


@pytest.mark.parametrize(
    ("text", "label"), [(" My Skill ", "My Skill"), ("a:b", "a:b"), ("\uff41", "a"), ("a" * 256, "a" * 256)]
)
def test_anything_visible_is_a_label(text, label):
    assert usable_label(text) == label


# --- NAMESPACED ----------------------------------------------------------------------------------------------------


@pytest.mark.row("S1-24", "S1-25", "S1-26", "C1")
@pytest.mark.parametrize(
    ("name", "namespace", "short"),
    [
        ("local/my-skill", "local", "my-skill"),
        ("devops/deploy-pipeline", "devops", "deploy-pipeline"),
        ("local/my_complex-skill_v2", "local", "my_complex-skill_v2"),
        ("A_1/B-2", "A_1", "B-2"),
    ],
)
def test_a_namespaced_name_has_two_parts(name, namespace, short):
    skill = parse(f"name: {name}\ndescription: x", profile=NAMESPACED, directory="any-folder").unwrap()
    assert (skill.name, skill.namespace, skill.short_name) == (name, namespace, short)


@pytest.mark.row("S1-06", "S1-27")
@pytest.mark.parametrize("name", ["invalid-name-no-slash", "local/bad name!", "a/b/c", "/a", "a/", "lo cal/a", "a/é"])
def test_a_name_without_a_valid_namespace_is_an_error_that_mentions_namespace(name):
    with pytest.raises(InvalidSkillError, match="namespace"):
        parse(f"name: {name}\ndescription: x", profile=NAMESPACED).unwrap()


@pytest.mark.row("S1-04", "S1-05")
@pytest.mark.parametrize("field", ["name", "description"])
@pytest.mark.parametrize("profile", [STRICT, NAMESPACED], ids=lambda p: p.title)
def test_a_missing_required_field_is_an_error_that_names_it(field, profile):
    block = "\n".join(line for line in ("name: a/b", "description: x") if not line.startswith(field))
    with pytest.raises(InvalidSkillError, match=f"{field} is missing") as caught:
        parse(block, profile=profile).unwrap()
    assert field in {d.field for d in caught.value.diagnostics}


NS = "name: ops/deploy\ndescription: Deploys.\n"


@pytest.mark.row("S1-02", "C3", "C4", "C5", "C6")
def test_every_optional_field_of_a_namespaced_skill_is_readable():
    parsed = parse(
        NS + 'version: "1.2.3"\ncompatibility:\n  python: ">=3.11"\n  os: linux\nmetadata:\n  author: Ann\n'
        "  tags: [a, b]\nallowed-tools:\n  - Read\n  - Bash(git:*)\nsteps:\n  - Build.",
        profile=NAMESPACED,
    )
    got = fields(parsed)
    assert got.extra["version"] == "1.2.3"
    assert got.compatibility == "python: >=3.11; os: linux"
    assert got.extra["compatibility"] == {"python": ">=3.11", "os": "linux"}
    assert dict(got.metadata) == {"author": "Ann", "tags": '["a","b"]'}
    assert got.extra["metadata"]["tags"] == ["a", "b"]
    assert got.allowed_tools == ("Read", "Bash(git:*)")
    assert codes(parsed, "error") == []
    assert codes(parsed, "warning") == ["metadata-value-type"]


@pytest.mark.row("S1-37", "C4")
@pytest.mark.parametrize("profile", [STRICT, LENIENT, NAMESPACED], ids=lambda p: p.title)
def test_a_compatibility_string_is_fine_everywhere(profile):
    block = f"name: {'a/mail' if profile is NAMESPACED else 'mail'}\ndescription: x\ncompatibility: just a string"
    assert fields(parse(block, profile=profile)).compatibility == "just a string"


@pytest.mark.row("S1-38", "C5")
@pytest.mark.parametrize("profile", [LENIENT, NAMESPACED], ids=lambda p: p.title)
@pytest.mark.parametrize(("value", "kind"), [("just a string", "str"), ("[a]", "list"), ("7", "int")])
def test_metadata_that_is_no_mapping_is_empty_with_one_diagnostic(profile, value, kind):
    parsed = parse(f"{NS}metadata: {value}", profile=profile)
    assert dict(fields(parsed).metadata) == {}
    assert f"metadata is a {kind}" in only(parsed, "metadata-type").message


@pytest.mark.row("S1-43", "S1-44")
@pytest.mark.parametrize("profile", [LENIENT, NAMESPACED], ids=lambda p: p.title)
def test_steps_are_kept_in_order(profile):
    assert fields(parse(f"{NS}steps:\n  - Build.\n  - 'Test: all'\n  - 7", profile=profile)).extra["steps"] == [
        "Build.",
        "Test: all",
        "7",
    ]


@pytest.mark.row("S1-45")
def test_without_steps_there_are_none():
    assert "steps" not in fields(parse(NS, profile=NAMESPACED)).extra


@pytest.mark.row("S1-46")
@pytest.mark.parametrize(("value", "kind"), [("do it", "str"), ("{a: b}", "mapping"), ("7", "int")])
def test_steps_that_are_no_list_are_an_error_that_says_what_was_found(value, kind):
    with pytest.raises(InvalidSkillError, match=rf"steps is a {kind}\b.*must be a list"):
        parse(f"{NS}steps: {value}", profile=NAMESPACED).unwrap()


@pytest.mark.row("S1-47")
@pytest.mark.parametrize("item", ["", "~", "'  '", "[x]", "{a: b}"])
def test_an_empty_step_is_an_error_with_its_position(item):
    parsed = parse(f"{NS}steps:\n  - Build.\n  - {item}\n  - Test.", profile=NAMESPACED)
    assert only(parsed, "steps-empty").line == 6
    with pytest.raises(InvalidSkillError, match="steps: step 2"):
        parsed.unwrap()


@pytest.mark.row("C6")
def test_steps_are_an_unknown_field_to_the_open_format():
    assert codes(parse(f"{GOOD}\nsteps: x", profile=STRICT), "error") == ["unknown-field"]
    assert codes(parse(f"{GOOD}\nsteps: x")) == ["unknown-field"]


def test_broken_yaml_is_an_error_to_a_namespaced_skill():
    assert codes(parse("name: a/b\ndescription: x: y", profile=NAMESPACED), "error") == ["yaml-invalid"]


# --- description ---------------------------------------------------------------------------------------------------


@pytest.mark.row("S1-05", "S3-17")
@pytest.mark.parametrize("text", ["", "~", "''", "'  '", "|\n  ", "[]", "{}", "[~]"])
@pytest.mark.parametrize("profile", [STRICT, LENIENT], ids=lambda p: p.title)
def test_a_blank_description_is_an_error_that_names_it(text, profile):
    parsed = described(text, profile=profile)
    assert "description-missing" in codes(parsed, "error")
    with pytest.raises(InvalidSkillError, match="description"):
        parsed.unwrap()


@pytest.mark.row("S3-09")
def test_a_description_has_at_most_1024_characters_not_bytes():
    assert described("é" * 1024, profile=STRICT).diagnostics == ()
    assert codes(described("é" * 1025, profile=STRICT), "error") == ["description-too-long"]
    lenient = described("é" * 5000)
    assert codes(lenient) == ["description-too-long"]
    assert len(lenient.unwrap().description) == 5000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a, b: c, [d]]", "a b: c d"),
        ("{use: mail, when: [now, ~]}", "use: mail; when: now"),
        ("\n  - one\n  - two", "one two"),
    ],
)
def test_a_description_of_another_type_is_read_as_words_with_a_warning(text, words):
    parsed = described(text)
    assert parsed.unwrap().description == words
    assert codes(parsed, "warning") == ["description-type"]
    assert codes(described(text, profile=STRICT), "error") == ["description-type"]


@pytest.mark.parametrize(
    ("text", "words"), [("'  a  '", "a"), ("|\n  a\n\n  b\n\n", "a\n\nb"), (">\n  a\n  b\n", "a b"), ("a\n  b", "a b")]
)
def test_a_description_is_stripped_and_keeps_its_inner_line_ends(text, words):
    assert described(text, profile=STRICT).unwrap().description == words


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(("text", "line"), [("Turn rows # into", 3), ("a\n  b  # c", 4), ("a\n  b\n  c #d", 5)])
def test_a_comment_that_cuts_a_description_is_said_and_nothing_is_rewritten(monkeypatch, loader, text, line):
    monkeypatch.setattr(nodes, "_Loader", getattr(yaml, loader))
    parsed = described(f"{text}\nlicense: MIT # fine")
    assert codes(parsed) == ["yaml-comment-truncation"]
    found = only(parsed, "yaml-comment-truncation")
    assert (found.severity, found.line, found.field) == ("warning", line, "description")
    assert "#" not in parsed.unwrap().description


@pytest.mark.parametrize("text", ["'a' # b", '"a # b"', "a#b", "|\n  a # b", "a\n# b"])
def test_a_hash_that_cuts_nothing_is_not_spoken_of(text):
    assert described(text, profile=STRICT).diagnostics == ()


# --- the optional fields -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["license", "compatibility", "metadata", "allowed-tools"])
@pytest.mark.parametrize("null", ["", "~", "null", "# comment"])
@pytest.mark.parametrize("profile", [STRICT, LENIENT], ids=lambda p: p.title)
def test_an_optional_field_without_value_counts_as_absent_with_a_warning(field, null, profile):
    parsed = parse(f"{GOOD}\n{field}: {null}", profile=profile)
    got = fields(parsed)
    assert (got.license, got.compatibility, dict(got.metadata), got.allowed_tools) == (None, None, {}, ())
    found = only(parsed, "empty-field")
    assert (codes(parsed), found.severity, found.field, found.line) == (["empty-field"], "warning", field, 4)


@pytest.mark.parametrize(
    ("text", "value"),
    [("MIT", "MIT"), ("'  MIT '", "MIT"), ("''", None), ("[MIT, ISC]", "MIT ISC"), ("{a: b}", "a: b")],
)
def test_a_license_is_text(text, value):
    parsed = parse(f"{GOOD}\nlicense: {text}")
    assert fields(parsed).license == value
    assert codes(parsed) == (["license-type"] if text[0] in "[{" else [])


@pytest.mark.row("S3-09")
@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("é" * 500, "é" * 500, None),
        ("é" * 501, "é" * 501, "compatibility-too-long"),
        ("''", None, "compatibility-empty"),
        ("[linux, mac]", "linux mac", "compatibility-type"),
        ("{python: '3.11'}", "python: 3.11", "compatibility-type"),
    ],
)
def test_compatibility_is_a_short_text(text, value, code):
    parsed = parse(f"{GOOD}\ncompatibility: {text}")
    assert fields(parsed).compatibility == value
    assert codes(parsed, "warning") == ([code] if code else [])
    assert codes(parse(f"{GOOD}\ncompatibility: {text}", profile=STRICT), "error") == ([code] if code else [])


@pytest.mark.row("S3-12", "C5")
def test_metadata_is_text_to_text_and_what_is_not_becomes_compact_json():
    parsed = parse(
        f'{GOOD}\nmetadata:\n  version: "1.0"\n  list: [a, 1, ~]\n  map: {{é: [b]}}\n  none: ~\n'
        '  "two words": x\n  multi: |\n'
        "    a\n    b\n  7: seven"
    )
    assert dict(fields(parsed).metadata) == {
        "version": "1.0",
        "list": '["a","1",null]',
        "map": '{"é":["b"]}',
        "two words": "x",
        "multi": "a\nb\n",
        "7": "seven",
    }
    assert fields(parsed).extra["metadata"]["map"] == {"é": ["b"]}
    assert [(d.code, d.field, d.line) for d in parsed.diagnostics] == [
        ("metadata-value-type", "metadata.list", 6),
        ("metadata-value-type", "metadata.map", 7),
        ("empty-field", "metadata.none", 8),
    ]


def test_metadata_of_thousands_of_lists_is_read_once_each():
    block = "metadata:\n" + "".join(f"  k{i}: [a]\n" for i in range(3000))
    calls = []
    original = nodes.plain

    def counting(node):
        calls.append(1)
        return original(node)

    from skillbelt.parsing import fields as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "plain", counting)
        assert len(fields(parse(f"{GOOD}\n{block}")).metadata) == 3000
    assert len(calls) <= 3001


@pytest.mark.row("S3-11", "S1-18", "C3")
@pytest.mark.parametrize(
    ("text", "tools", "code"),
    [
        ("Bash(git:*) Read", ("Bash(git:*)", "Read"), None),
        ("Read", ("Read",), None),
        ("'  Read   Write\t'", ("Read", "Write"), None),
        ("Bash(jq -r:*) Read", ("Bash(jq -r:*)", "Read"), None),
        ("Bash(a, b) Read", ("Bash(a, b)", "Read"), None),
        ("A(b (c d) e) F", ("A(b (c d) e)", "F"), None),
        ("A) B", ("A)", "B"), None),
        ("A(b c", ("A(b c",), None),
        ("''", (), None),
        (">-\n  Read\n  Grep", ("Read", "Grep"), None),
        ("Read, Grep", ("Read", "Grep"), "allowed-tools-comma"),
        ("Read,Grep,", ("Read", "Grep"), "allowed-tools-comma"),
        ("[Read, Grep]", ("Read", "Grep"), "allowed-tools-type"),
        ("\n  - Read\n  - Bash(jq -r:*)", ("Read", "Bash(jq -r:*)"), "allowed-tools-type"),
        ("[Read, ~, 7, '', [x], 'no']", ("Read", "no"), "allowed-tools-type"),
        ("{Read: yes}", (), "allowed-tools-type"),
        ("3", (), "non-string-scalar"),
    ],
)
def test_allowed_tools_are_split_outside_parentheses(text, tools, code):
    parsed = parse(f"{GOOD}\nallowed-tools: {text}")
    assert fields(parsed).allowed_tools == tools
    assert codes(parsed, "warning") == ([code] if code else [])
    assert codes(parse(f"{GOOD}\nallowed-tools: {text}", profile=STRICT), "error", "warning") == (
        [code] if code else []
    )


@pytest.mark.row("C3")
def test_a_list_of_allowed_tools_is_fine_to_a_namespaced_skill():
    parsed = parse(f"{NS}allowed-tools: [Read, Grep]", profile=NAMESPACED)
    assert (fields(parsed).allowed_tools, parsed.diagnostics) == (("Read", "Grep"), ())


@pytest.mark.parametrize("key", ["tools", "allowed_tools", "allowedTools", "Allowed-Tools"])
def test_a_look_alike_key_grants_nothing(key):
    parsed = parse(f"{GOOD}\n{key}: Bash")
    assert (fields(parsed).allowed_tools, fields(parsed).extra[key]) == ((), "Bash")


@pytest.mark.row("S3-18", "C6")
def test_unknown_fields_are_kept_in_their_structure():
    parsed = parse(
        f"{GOOD}\nversion: 1.10\ntags: [a, {{b: ~}}]\nhooks:\n  Stop:\n    - command: x\nempty:\n'': y\n{'k' * 200}: z"
    )
    assert dict(fields(parsed).extra) == {
        "version": "1.10",
        "tags": ["a", {"b": None}],
        "hooks": {"Stop": [{"command": "x"}]},
        "empty": None,
        "": "y",
        "k" * 200: "z",
    }
    assert codes(parsed) == ["unknown-field"] * 6
    assert {d.severity for d in parsed.diagnostics} == {"info"}


@pytest.mark.row("C6")
def test_unknown_fields_are_errors_strictly_unless_the_profile_allows_them():
    block = f"{GOOD}\nversion: 1\nauthor: Ann"
    assert [d.field for d in parse(block, profile=STRICT).diagnostics] == ["version", "author"]
    ours = replace(STRICT, allowed_fields=frozenset({"version", "author"}))
    assert parse(block, profile=ours).diagnostics == ()
    assert [
        d.field for d in parse(block, profile=replace(ours, allowed_fields=frozenset({"version"}))).diagnostics
    ] == ["author"]
    assert codes(parse(block, profile=Profile(allowed_fields=frozenset({"version"}))), "error") == ["unknown-field"]


@pytest.mark.row("C19")
def test_a_merge_key_is_only_a_key():
    assert fields(parse(f"{GOOD}\nbase: &b {{x: 1}}\n<<: *b")).extra == {"base": {"x": "1"}, "<<": {"x": "1"}}


@pytest.mark.parametrize(
    ("switch", "model", "user"),
    [
        ("disable-model-invocation: true", False, True),
        ("disable-model-invocation: 'yes'", False, True),
        ("disable-model-invocation: 1", False, True),
        ("disable-model-invocation: no", True, True),
        ("disable-model-invocation: perhaps", True, True),
        ("disable-model-invocation: [true]", True, True),
        ("user-invocable: off", True, False),
        ("user_invocable: False", True, False),
        ("user-invokable: 0", True, False),
    ],
)
def test_invocation_switches_are_honoured(switch, model, user):
    summary = parse(f"{GOOD}\n{switch}").unwrap().summary()
    assert (summary.model_invocable, summary.user_invocable) == (model, user)


@pytest.mark.row("S3-10")
def test_every_violation_is_reported_at_once():
    parsed = parse(
        "name: Bad_Name--\nname: Bad_Name--\ndescription: [a]\nlicense: [a]\ncompatibility: ''\nmetadata: x\n"
        "allowed-tools: a,b\nextra: 1",
        profile=STRICT,
        filename="skill.md",
        body="\x01",
    )
    assert sorted(codes(parsed, "error")) == [
        "allowed-tools-comma",
        "compatibility-empty",
        "control-chars",
        "description-type",
        "filename-case",
        "license-type",
        "metadata-type",
        "name-charset",
        "name-dir-mismatch",
        "name-hyphen",
        "name-uppercase",
        "unknown-field",
        "yaml-duplicate-key",
    ]


def test_an_error_of_the_package_is_what_unwrapping_raises():
    for data in BROKEN.values():
        parsed = parse_skill(data, profile=STRICT)
        if parsed.skill is None:
            with pytest.raises(SkillError):
                parsed.unwrap()
