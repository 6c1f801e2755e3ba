"""The published JSON Schema: it is the model's, and real packages keep to it."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from packages_kit import document, skill_text, write
from skillbelt import STRICT, examples
from skillbelt.errors import PackageValidationError
from skillbelt.packages import json_schema, pack, read_package

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "docs/reference/package-schema.json"
"""Written by ``python -m skillbelt.packages.schema > docs/reference/package-schema.json``."""


@pytest.fixture(scope="module")
def published():
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.row("S2-21")
def test_the_published_schema_is_the_one_of_the_model():
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == json_schema()


def test_the_published_schema_is_written_by_one_command():
    done = subprocess.run([sys.executable, "-m", "skillbelt.packages.schema"], capture_output=True, check=True)
    assert json.loads(done.stdout) == json.loads(PUBLISHED.read_bytes())


@pytest.mark.row("S2-21")
def test_every_field_is_described_and_the_limits_of_the_specification_stand_in_it(published):
    fields = published.schema["properties"]
    assert set(fields) == {
        "format", "type", "name", "description", "license", "compatibility", "metadata", "allowed-tools", "version",
        "release_date", "instructions", "files",
    }  # fmt: skip
    assert all(field["description"].endswith(".") for field in fields.values())
    assert published.schema["required"] == ["format", "type", "name", "description", "instructions", "files"]
    assert (fields["name"]["minLength"], fields["name"]["maxLength"]) == (1, 64)
    assert (fields["description"]["minLength"], fields["description"]["maxLength"]) == (1, 1024)
    assert (fields["compatibility"]["minLength"], fields["compatibility"]["maxLength"]) == (1, 500)


@pytest.mark.row("S2-21")
def test_the_packages_of_the_shipped_skills_keep_to_it(published):
    for folder in sorted(examples.path().iterdir()):
        if (folder / "SKILL.md").exists():
            packed = pack(folder, version="v1.0.0", release_date="2026-01-31", profile=STRICT)
            published.validate(packed.document)


def test_a_package_with_every_kind_of_file_keeps_to_it(published, tmp_path):
    more = "license: MIT\ncompatibility: x\nmetadata:\n  a: b\nallowed-tools: Read Bash(git *)\n"
    files = {
        "SKILL.md": skill_text("тест-1", more=more),
        b"\xff": b"\xff",
        "e\u0301": "",
        ".x": "",
        ".\n": "",
        "%": "x",
    }
    write(tmp_path / "тест-1", files)
    (tmp_path / "тест-1/%").chmod(0o755)
    published.validate(pack(tmp_path / "тест-1", profile=STRICT).document)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "x"},
        {"type": "mcp"},
        {"name": "Mail"},
        {"name": "-mail"},
        {"name": "a--b"},
        {"name": "a_b"},
        {"name": "a/b"},
        {"name": ""},
        {"name": "m" * 65},
        {"description": " "},
        {"description": "x" * 1025},
        {"compatibility": "x" * 501},
        {"metadata": {}},
        {"metadata": {"a": 1}},
        {"license": 1},
        {"version": "1"},
        {"release_date": "now"},
        {"extra": 1},
        {"instructions": None},
        {"files": {"SKILL.md": None}},
        {"files": {"/a": {"text": ""}}},
        {"files": {"../a": {"text": ""}}},
        {"files": {"a/..": {"text": ""}}},
        {"files": {"a//b": {"text": ""}}},
        {"files": {"a/": {"text": ""}}},
        {"files": {"": {"text": ""}}},
        {"files": {"a\\b": {"text": ""}}},
        {"files": {"a\x00": {"text": ""}}},
        {"files": {"a%": {"text": ""}}},
        {"files": {"a%2F": {"text": ""}}},
        {"files": {"a": {}}},
        {"files": {"a": {"text": "", "base64": ""}}},
        {"files": {"a": {"base64": "!"}}},
        {"files": {"a": {"text": "", "executable": False}}},
        {"files": {"a": "text"}},
    ],
)
def test_what_the_schema_refuses_is_refused_by_reading_too(published, changes):
    given = document(**changes)
    assert not published.is_valid(given)
    with pytest.raises(PackageValidationError):
        read_package(given)
    assert published.is_valid(document())


def codes_of_violations():
    """Every code that stands in the source of those modules that judge documents and folders."""
    places = {"Violation": 1, "_refuse": 1, "_stop": 0}
    for module in ("canonical", "collecting", "packing", "reading", "rules", "shapes", "tree_rules", "verifying"):
        path = ROOT / f"src/skillbelt/packages/{module}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in places:
                at = places[ast.unparse(node.func).rpartition(".")[2]]
                if len(node.args) > at and isinstance(node.args[at], ast.Constant):
                    yield node.args[at].value


def test_every_code_of_a_violation_is_explained():
    page = (ROOT / "docs/reference/packages.md").read_text(encoding="utf-8")
    section = page.partition("### Codes of violations")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([a-z0-9-]+)`", section))
    found = set(codes_of_violations())
    assert len(found) > 20
    assert found - explained == set()
