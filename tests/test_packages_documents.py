"""Reading a document from outside: every violation is named, at its place, with its code."""

import base64
import json
import sys

import pytest
from pydantic import ValidationError

from packages_kit import TEXT, codes, document, skill_text
from skillbelt import LENIENT, STRICT
from skillbelt.errors import PackageValidationError, RegistryError
from skillbelt.packages import (
    FileContent,
    PackageLimits,
    PackedSkill,
    SkillPackage,
    Violation,
    package_id,
    read_package,
    unpack,
    unpack_to,
)


def violations(data, **options):
    """Every violation of a document, as path and code."""
    with pytest.raises(PackageValidationError) as caught:
        read_package(data, **options)
    found = caught.value.details["violations"]
    assert all(set(one) == {"path", "code", "message"} and one["message"].endswith(".") for one in found), found
    assert len(caught.value.message) < 1500 and caught.value.message.isprintable()
    json.dumps(caught.value.details).encode()  # can be sent, and logged
    assert len({tuple(one.items()) for one in found}) == len(found), found
    return codes(caught.value)


# --- valid ------------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-21")
def test_a_document_with_every_field_is_read_and_given_back():
    text = skill_text(
        more='license: MIT\ncompatibility: Needs git\nmetadata:\n  author: me\n  "ключ": "1.10"\n'
        "allowed-tools: Read  Bash(git add *)\n"
    )
    given = document(
        license="MIT",
        compatibility="Needs git",
        metadata={"author": "me", "ключ": "1.10"},
        allowed_tools="Read Bash(git add *)",
        version="v1.2.3",
        release_date="2026-01-31T12:00:00Z",
        files={
            "SKILL.md": {"text": text},
            "scripts/run.sh": {"text": "#!/bin/sh\n", "executable": True},
            "assets/a.bin": {"base64": "/w=="},
            "empty": {"text": ""},
        },
    )
    package = read_package(given)
    assert (package.name, package.description, package.license) == ("mail", "Sorts mail.", "MIT")
    assert (package.compatibility, package.metadata) == ("Needs git", {"author": "me", "ключ": "1.10"})
    assert (package.allowed_tools, package.version) == ("Read Bash(git add *)", "v1.2.3")
    assert package.to_document() == given
    assert package.contents() == {
        "SKILL.md": FileContent(text.encode()),
        "scripts/run.sh": FileContent(b"#!/bin/sh\n", executable=True),
        "assets/a.bin": FileContent(b"\xff"),
        "empty": FileContent(b""),
    }
    for form in (json.dumps(given), json.dumps(given).encode(), bytearray(json.dumps(given), "ascii"), package):
        assert read_package(form) == package
    with pytest.raises(ValidationError):
        package.name = "x"


def test_the_model_alone_judges_as_reading_does():
    assert SkillPackage.model_validate(document()) == read_package(document())
    assert SkillPackage.model_validate_json(json.dumps(document())) == read_package(document())
    package = read_package(document())
    assert SkillPackage.model_validate(package) is package
    with pytest.raises(ValidationError, match="the package breaks 2 rules") as caught:
        SkillPackage.model_validate(document(name="post", type="mcp"))
    found = caught.value.errors()[0]["ctx"]["violations"]
    assert found[0] == Violation("/type", "type", "it must be 'skill'.")
    assert [v.code for v in found] == ["type", "projection-mismatch"]


# --- the JSON text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not-json"),
        ("{", "not-json"),
        ("{}x", "not-json"),
        ("{'a': 1}", "not-json"),
        ('\ufeff{"a": 1}', "not-json"),
        (b"\xff\xfe{\x00}\x00", "not-unicode"),
        (b'{"a": "\xff"}', "not-unicode"),
        ("[" * 100_000, "too-deep"),
        ('{"a":' * 100_000, "too-deep"),
    ],
)
def test_what_is_no_json_is_refused_as_one_violation(text, code):
    assert violations(text) == [("", code)]


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(constant):
    text = json.dumps(document()).replace('"Sorts mail."', constant, 1)
    assert ("", "not-json") in violations(text)


def test_a_number_of_a_million_digits_costs_nothing():
    text = json.dumps(document()).replace('"Sorts mail."', "9" * 1_000_000, 1)
    assert violations(text) == [("/description", "description-type"), ("/description", "projection-mismatch")]


def test_keys_that_stand_twice_are_refused_wherever_they_are():
    text = json.dumps(document(files={"a": {"text": "1"}}))
    text = text.replace('"name": "mail"', '"name": "evil", "name": "mail"')
    text = text.replace('"a": {"text": "1"}', '"a": {"text": "0"}, "a": {"text": "0", "text": "1"}')
    assert violations(text) == [
        ("/files/a/text", "duplicate-key"),
        ("/files/a", "duplicate-key"),
        ("/name", "duplicate-key"),
    ]


def test_a_key_that_stands_twice_in_what_is_no_package_is_told_too():
    assert violations('[{"a": 1, "a": 2}]') == [("/a", "duplicate-key"), ("", "type")]
    assert violations('{"x": {"y": {"z": {"a": 1, "a": 2}}}}')[0] == ("/a", "duplicate-key")


def test_thousands_of_keys_that_stand_twice_are_counted():
    text = json.dumps(document())[:-1] + ', "x": 1' * 5000 + "}"
    found = violations(text)
    assert found == [("/x", "duplicate-key"), ("", "duplicate-key"), ("/x", "unknown-field")]


@pytest.mark.parametrize("where", ["name", "instructions", "files"])
def test_half_characters_are_refused_in_escapes_too(where):
    changes = {"files": {"a\udc80": {"text": "b\ud800"}}} if where == "files" else {where: "x\ud800y"}
    found = violations(json.dumps(document(**changes)))
    if where == "files":
        assert found == [("/files/a\\udc80", "path-spelling"), ("/files/a\\udc80/text", "not-unicode")]
    else:
        assert (f"/{where}", "not-unicode") in found


def test_a_text_that_is_too_large_is_not_parsed():
    limits = PackageLimits(document_bytes=100)
    for form in (json.dumps(document()), json.dumps(document()).encode()):
        assert violations(form, limits=limits) == [("", "too-large")]
    assert violations("x" * 101, limits=limits) == [("", "too-large")]


# --- the shape --------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-22")
@pytest.mark.parametrize("value", [[], None, 7, True, [{"format": "skillbelt.package/1"}]])
def test_a_document_that_is_no_object_is_refused(value):
    assert violations(json.dumps(value)) == [("", "type")]


@pytest.mark.row("S2-21", "S2-22")
def test_an_empty_object_misses_every_required_field():
    assert violations({}) == [
        ("/format", "missing"),
        ("/type", "missing"),
        ("/name", "name-missing"),
        ("/description", "description-missing"),
        ("/instructions", "missing"),
        ("/files", "missing"),
    ]


@pytest.mark.row("S2-22")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"format": "skillbelt.package/2"}, [("/format", "format")]),
        ({"format": 1}, [("/format", "format")]),
        ({"type": "actor"}, [("/type", "type")]),
        ({"name": 7}, [("/name", "name-type"), ("/name", "projection-mismatch")]),
        ({"description": ["x"]}, [("/description", "description-type"), ("/description", "projection-mismatch")]),
        ({"license": {}}, [("/license", "license-type"), ("/license", "projection-mismatch")]),
        (
            {"compatibility": True},
            [("/compatibility", "compatibility-type"), ("/compatibility", "projection-mismatch")],
        ),
        ({"metadata": "x"}, [("/metadata", "metadata-type"), ("/metadata", "projection-mismatch")]),
        ({"metadata": {}}, [("/metadata", "type"), ("/metadata", "projection-mismatch")]),
        ({"metadata": {"a": 1}}, [("/metadata/a", "metadata-value-type"), ("/metadata", "projection-mismatch")]),
        ({"metadata": {1: "a", "b": "c"}}, [("/metadata", "type"), ("/metadata", "projection-mismatch")]),
        (
            {"allowed_tools": ["Read"]},
            [("/allowed-tools", "allowed-tools-type"), ("/allowed-tools", "projection-mismatch")],
        ),
        ({"instructions": 1}, [("/instructions", "type"), ("/instructions", "projection-mismatch")]),
        ({"version": 1}, [("/version", "type")]),
        ({"release_date": 1}, [("/release_date", "type")]),
        ({"steps": []}, [("/steps", "unknown-field")]),
        ({3: []}, [("", "type")]),
        ({"id": "pkg_skl_x", "a/b~c": 1}, [("/id", "unknown-field"), ("/a~1b~0c", "unknown-field")]),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(changes, expected):
    allowed = {"allowed-tools": changes.pop("allowed_tools")} if "allowed_tools" in changes else {}
    assert violations(document() | changes | allowed) == expected


@pytest.mark.parametrize("field", ["license", "compatibility", "metadata", "allowed-tools", "version", "release_date"])
def test_a_field_that_is_null_is_not_absent(field):
    assert (f"/{field}", f"{field}-type") in violations(document() | {field: None})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("text", [("", "type")]),
        (None, [("", "type")]),
        ([], [("", "type")]),
        ({}, [("/text", "missing")]),
        ({"text": 1}, [("/text", "type")]),
        ({"base64": 1}, [("/base64", "type")]),
        ({"text": "a", "base64": "YQ=="}, [("/base64", "unknown-field")]),
        ({"text": "a", "mode": 7}, [("/mode", "unknown-field")]),
        ({"text": "a", "executable": False}, [("/executable", "executable")]),
        ({"text": "a", "executable": None}, [("/executable", "type"), ("/executable", "executable")]),
        ({"text": "a", "executable": 1}, [("/executable", "type")]),
        ({"text": "a", 7: 1}, [("", "type")]),
        ({"text": "e\u0301"}, [("/text", "not-nfc")]),
        ({"base64": "YQ=="}, [("/base64", "encoding")]),
        ({"base64": ""}, [("/base64", "encoding")]),
        ({"base64": "w6k="}, [("/base64", "encoding")]),
        ({"base64": "/w"}, [("/base64", "base64")]),
        ({"base64": "/x=="}, [("/base64", "base64")]),
        ({"base64": "/w==\n"}, [("/base64", "base64")]),
        ({"base64": "/w== "}, [("/base64", "base64")]),
        ({"base64": "_w=="}, [("/base64", "base64")]),
        ({"base64": "/w==/w=="}, [("/base64", "base64")]),
        ({"base64": "é"}, [("/base64", "base64")]),
        ({"base64": "*"}, [("/base64", "base64")]),
    ],
)
def test_a_file_has_one_spelling(entry, expected):
    where = "/files/a"
    given = document()
    given["files"]["a"] = entry
    assert violations(given) == [(where + path, code) for path, code in expected]


def test_a_million_unknown_fields_are_told_as_a_hundred_and_the_rest():
    given = document() | {f"x{at}": at for at in range(200_000)}
    found = violations(given)
    assert len(found) == 101 and found[0] == ("", "unknown-field")
    with pytest.raises(PackageValidationError) as caught:
        read_package(given)
    assert caught.value.details["violations"][0]["message"].startswith("199900 more fields")
    given = document(files={"a": {"text": "a"} | {f"x{at}": at for at in range(1000)}})
    assert len(violations(given)) == 101
    given = document(metadata={f"x{at}": at for at in range(20_000)})
    assert len(violations(given)) == 10_002 and violations(given)[0] == ("/metadata", "too-large")


# --- the paths --------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-22")
@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("", "path-unsafe"),
        ("/etc/passwd", "path-unsafe"),
        ("../other/SKILL.md", "path-unsafe"),
        ("a/../../b", "path-unsafe"),
        ("a/./b", "path-unsafe"),
        ("a//b", "path-unsafe"),
        ("a/", "path-unsafe"),
        (".", "path-unsafe"),
        ("..", "path-unsafe"),
        ("a\\b", "path-unsafe"),
        ("..\\b", "path-unsafe"),
        ("C:/b", "path-unsafe"),
        ("a\x00b", "path-unsafe"),
        ("x" * 256, "path-unsafe"),
        ("é" * 128, "path-unsafe"),
        ("a/" * 64 + "a", "path-unsafe"),
        ("a/" * 4096 + "a", "path-unsafe"),
        ("%FF" * 256, "path-unsafe"),
        ("%FF/../a", "path-unsafe"),
        ("%FF\\a", "path-unsafe"),
        ("cafe\u0301", "path-spelling"),
        ("100%", "path-spelling"),
        ("a%zz", "path-spelling"),
        ("%2e%2e/a", "path-spelling"),
        ("%2E%2E/a", "path-spelling"),
        ("a%2Fb", "path-spelling"),
        ("a%00b", "path-spelling"),
        ("a%5Cb", "path-spelling"),
        ("%C3%A9", "path-spelling"),
        ("%ff", "path-spelling"),
        ("é%FF", "path-spelling"),
        ("%ED%A0%80x%20", "path-spelling"),
    ],
)
def test_a_key_that_spells_no_path_inside_the_skill_is_refused(key, code):
    found = violations(document(files={key: {"text": ""}}))
    assert [c for _, c in found] == [code]


@pytest.mark.row("S2-22")
@pytest.mark.parametrize(
    ("keys", "code"),
    [
        (["a.md", "A.md"], "path-clash"),
        (["skill.md"], "path-clash"),
        (["ß", "ss"], "path-clash"),
        (["é", "e%CC%81"], "path-clash"),
        (["\u00c5.md", "%E2%84%AB.md"], "path-clash"),
        (["Docs/a", "docs/b"], "path-clash"),
        (["a", "a/b"], "path-file-and-folder"),
        (["A", "a/b"], "path-file-and-folder"),
        (["A/b", "a"], "path-file-and-folder"),
        (["SKILL.md/a"], "path-file-and-folder"),
    ],
)
def test_paths_that_some_file_system_cannot_keep_apart_are_refused(keys, code):
    assert [c for _, c in violations(document(files={key: {"text": ""} for key in keys}))] == [code]


def test_a_folder_that_clashes_is_told_once():
    keys = ["Docs/a", *(f"docs/{n}" for n in range(50))]
    assert [c for _, c in violations(document(files={key: {"text": ""} for key in keys}))] == ["path-clash"]


# --- the limits -------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-22")
def test_more_files_or_bytes_than_allowed_are_refused():
    many = document(files={f"f{at}": {"text": ""} for at in range(5000)})
    assert violations(many) == [("/files", "too-many-files")]
    assert violations(document(files={"a": {"text": ""}}), limits=PackageLimits(files=1)) == [
        ("/files", "too-many-files")
    ]
    small = PackageLimits(total_bytes=len(TEXT) + 10)
    read_package(document(files={"a": {"text": "x" * 10}}), limits=small)
    for entry in ({"text": "x" * 11}, {"text": "é" * 6}, {"base64": "/" * 16}):
        assert violations(document(files={"a": entry}), limits=small) == [("/files", "too-large")]


def test_a_large_file_is_refused_before_it_is_decoded(monkeypatch):
    from skillbelt.packages import tree_rules

    monkeypatch.setattr(tree_rules, "decode_base64", lambda text: pytest.fail("decoded"))
    given = document(files={"a": {"base64": "/" * 4000}})
    assert violations(given, limits=PackageLimits(total_bytes=1000)) == [("/files", "too-large")]


def test_a_skill_md_over_its_limit_is_refused():
    assert ("/files/SKILL.md", "file-too-large") in violations(document(), limits=PackageLimits(skill_bytes=10))


# --- SKILL.md and what repeats it -------------------------------------------------------------------------------------


@pytest.mark.row("S2-22")
def test_without_skill_md_there_is_no_skill():
    expected = [("/files", "skill-file-missing")]
    assert violations(document(files={"SKILL.md": None})) == expected
    assert violations(document(files={"SKILL.md": None, "skill.md": {"text": TEXT}})) == expected


@pytest.mark.row("S2-22")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": "post"}, ["/name"]),
        ({"description": "Sorts post."}, ["/description"]),
        ({"instructions": "Begin."}, ["/instructions"]),
        ({"license": "MIT"}, ["/license"]),
        ({"compatibility": "x"}, ["/compatibility"]),
        ({"metadata": {"a": "b"}}, ["/metadata"]),
        ({"allowed_tools": "Read"}, ["/allowed-tools"]),
        (
            {"name": "post", "description": "x", "license": "MIT", "instructions": ""},
            ["/name", "/description", "/license", "/instructions"],
        ),
    ],
)
def test_a_field_that_says_something_else_than_skill_md_is_refused(changes, expected):
    assert violations(document(**changes)) == [(path, "projection-mismatch") for path in expected]


def test_a_field_that_only_skill_md_has_is_missed():
    text = skill_text(more="license: MIT\ncompatibility: x\nmetadata:\n  a: b\nallowed-tools: Read\n")
    found = violations(document(files={"SKILL.md": {"text": text}}))
    fields = ["license", "compatibility", "metadata", "allowed-tools"]
    assert found == [(f"/{field}", "projection-mismatch") for field in fields]


NAMES = [
    ("Mail", ["name-uppercase"]),
    ("mail_sorter", ["name-charset"]),
    ("-mail", ["name-hyphen"]),
    ("mail-", ["name-hyphen"]),
    ("mail--sorter", ["name-hyphen"]),
    ("m" * 65, ["name-too-long"]),
    ("acme/mail", ["name-charset", "name-unsafe"]),
    ("..", ["name-charset", "name-unsafe"]),
    ("ЧАЙ", ["name-uppercase"]),
    ("-Mail_Sorter-" + "x" * 60, ["name-too-long", "name-uppercase", "name-charset", "name-hyphen"]),
]


@pytest.mark.row("S2-21", "S2-22", "S2-48")
@pytest.mark.parametrize("profile", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize(("name", "expected"), NAMES)
def test_every_rule_for_names_holds_under_every_profile(name, expected, profile):
    given = document(name=name, files={"SKILL.md": {"text": skill_text(name)}})
    assert violations(given, profile=profile) == [("/name", code) for code in expected]


@pytest.mark.row("S2-21", "S2-22", "S2-48")
@pytest.mark.parametrize(
    ("field", "value", "yaml", "expected"),
    [
        ("description", " ", '" "', ["description-missing"]),
        ("description", "x" * 1025, None, ["description-too-long"]),
        ("description", "é" * 1025, None, ["description-too-long"]),
        ("compatibility", "x" * 501, None, ["compatibility-too-long"]),
        ("allowed-tools", "Read, Write", None, ["allowed-tools-comma"]),
    ],
)
def test_every_other_rule_of_the_specification_holds_when_reading(field, value, yaml, expected):
    more = "" if field == "description" else f"{field}: {yaml or value}\n"
    description = (yaml or value) if field == "description" else "Sorts mail."
    given = document(files={"SKILL.md": {"text": skill_text(description=description, more=more)}}) | {field: value}
    found = [code for path, code in violations(given) if path == f"/{field}"]
    assert found[0] == expected[0]


@pytest.mark.row("S2-21")
def test_values_at_their_limits_are_valid():
    name, description, compatibility = "m" * 64, "é" * 1024, "x" * 500
    text = skill_text(name, description, f"compatibility: {compatibility}\n")
    given = document(
        name=name, description=description, compatibility=compatibility, files={"SKILL.md": {"text": text}}
    )
    assert read_package(given).description == description


@pytest.mark.row("S2-22")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Begin.\n", [("/files/SKILL.md", "frontmatter-missing")]),
        ("---\nname: mail\n", [("/files/SKILL.md", "frontmatter-unclosed")]),
        ("---\nname: mail\n---\nBegin.\n", [("/files/SKILL.md", "description-missing")]),
        (skill_text(more="steps: [a]\n"), [("/files/SKILL.md", "unknown-field")]),
        (skill_text(more="metadata:\n  a: [b]\n"), [("/files/SKILL.md", "metadata-value-type")]),
        (skill_text(description="Sorts: mail"), [("/files/SKILL.md", "yaml-invalid")]),
        (skill_text("Mail"), [("/files/SKILL.md", "name-uppercase"), ("/name", "projection-mismatch")]),
    ],
)
def test_a_skill_md_that_is_not_valid_is_named_with_its_own_codes(text, expected):
    found = violations(document(files={"SKILL.md": {"text": text}}))
    assert found[: len(expected)] == expected


def test_what_loads_is_read_under_the_lenient_profile():
    text = skill_text(description="x" * 2000, more="version: 1.10\n")
    given = document(description="x" * 2000, files={"SKILL.md": {"text": text}})
    assert violations(given) == [("/description", "description-too-long"), ("/files/SKILL.md", "unknown-field")]
    assert read_package(given, profile=LENIENT).description == "x" * 2000


@pytest.mark.row("S2-13", "S2-22")
def test_strings_that_are_not_in_nfc_are_refused_everywhere():
    text = skill_text(description="cafe\u0301", more="metadata:\n  e\u0301: e\u0301\n", body="e\u0301\n")
    composed = document(
        description="café",
        metadata={"é": "é"},
        instructions="é\n",
        files={"SKILL.md": {"base64": base64.b64encode(text.encode()).decode()}},
    )
    assert read_package(composed).metadata == {"é": "é"}
    decomposed = composed | {
        "description": "cafe\u0301",
        "metadata": {"e\u0301": "e\u0301"},
        "instructions": "e\u0301\n",
    }
    found = [path for path, code in violations(decomposed) if code == "not-nfc"]
    assert found == ["/description", "/metadata/e\u0301", "/instructions"]
    assert package_id(composed) == package_id(decomposed)


@pytest.mark.parametrize(
    ("field", "value", "good"),
    [
        ("version", "v1.2.3", True),
        ("version", "v1.2.3-rc.1", True),
        ("version", "1.2.3", False),
        ("version", "v1", False),
        ("version", "latest", False),
        ("release_date", "2026-01-31", True),
        ("release_date", "2026-01-31T12:00:00+02:00", True),
        ("release_date", "2026-01-31T12:00:00.123456Z", True),
        ("release_date", "2026-02-30", False),
        ("release_date", "2026-01-31T12:00:00", False),
        ("release_date", "2026-01-31T25:00:00Z", False),
        ("release_date", "20260131", False),
        ("release_date", "yesterday", False),
    ],
)
def test_version_and_release_date_have_one_form(field, value, good):
    given = document(**{field: value})
    if good:
        assert getattr(read_package(given), field) == value
    else:
        assert violations(given) == [(f"/{field}", field.replace("_", "-"))]


# --- all at once ------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-22", "S2-30")
def test_everything_is_named_at_once_with_the_reference():
    given = document(
        format="x",
        name="-Mail",
        extra=1,
        version="1",
        instructions="e\u0301",
        files={
            "SKILL.md": {"text": skill_text("Post", more="steps: 1\n")},
            "../a": {"text": ""},
            "b": {"base64": "!"},
            "c": {"text": "e\u0301"},
            "C": {"text": ""},
            "d": 7,
        },
    )
    with pytest.raises(PackageValidationError) as caught:
        read_package(given, reference="hub.example.com:acme/mail@v1")
    error = caught.value
    assert set(codes(error)) == {
        ("/format", "format"),
        ("/extra", "unknown-field"),
        ("/files/d", "type"),
        ("/instructions", "not-nfc"),
        ("/version", "version"),
        ("/name", "name-uppercase"),
        ("/name", "name-hyphen"),
        ("/files/..~1a", "path-unsafe"),
        ("/files/b/base64", "base64"),
        ("/files/c/text", "not-nfc"),
        ("/files/c", "path-clash"),
        ("/files/SKILL.md", "unknown-field"),
        ("/name", "projection-mismatch"),
        ("/instructions", "projection-mismatch"),
    }
    assert isinstance(error, RegistryError) and isinstance(error, ValueError)
    assert error.original_reference == "hub.example.com:acme/mail@v1"
    assert error.message.startswith("The package 'hub.example.com:acme/mail@v1' is not valid: /format: it must be")
    assert "There are " in error.message and " more." in error.message


def test_hostile_text_does_not_reach_the_message_or_a_terminal():
    key = "\x1b[2J\u202e" + "k" * 3000 + "/.."
    with pytest.raises(PackageValidationError) as caught:
        read_package(document(**{"\x1b[31m" * 300: 1}, files={key: {"text": ""}}))
    assert caught.value.message.isprintable() and len(caught.value.message) < 1500


@pytest.mark.parametrize("function", [unpack, lambda given: unpack_to(given, "/nowhere/at/all")])
def test_nothing_is_unpacked_of_a_document_that_is_not_valid(function):
    for given in (document(name="post"), json.dumps(document(files={"../x": {"text": ""}})), {}, "nonsense"):
        with pytest.raises(PackageValidationError):
            function(given)


def test_a_packed_skill_of_any_json_is_computed_and_not_judged():
    assert PackedSkill.of({"a": 1}).id == package_id({"a": 1})
    with pytest.raises(PackageValidationError):
        unpack(PackedSkill.of({"a": 1}))


def test_a_value_nested_without_end_is_refused():
    deep = {}
    for _ in range(sys.getrecursionlimit() * 3):
        deep = {"a": deep}
    assert violations(document(extra=deep)) == [("/extra", "unknown-field")]
    assert violations(document(files={"a": deep})) == [("/files/a/text", "missing"), ("/files/a/a", "unknown-field")]
    assert violations(document(metadata={"a": deep})) == [
        ("/metadata/a", "metadata-value-type"),
        ("/metadata", "projection-mismatch"),
    ]
