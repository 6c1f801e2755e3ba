"""The documentation says what the code says: codes, names, layers and decisions."""

import re
import tomllib
from pathlib import Path

import pytest

import skillbelt
import skillbelt.agent_skills
from skillbelt.agent_skills import AgentSkillToolDescriptor
from skillbelt.parsing import LENIENT, NAMESPACED, STRICT

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CELLS = re.compile(r"^\| `([a-z0-9-]+)` \| (\S+) \| (\S+) \| (\S+) \| (.+) \| (.+) \|$", re.MULTILINE)


def rows():
    """The table of diagnostics: code to its severities and texts."""
    return [match.groups() for match in CELLS.finditer((DOCS / "reference" / "diagnostics.md").read_text())]


def test_every_code_is_in_the_table_of_diagnostics_and_no_other():
    listed = [row[0] for row in rows()]
    assert len(listed) == len(set(listed))
    assert set(listed) == STRICT.severities.keys() == LENIENT.severities.keys() == NAMESPACED.severities.keys()


def test_the_table_of_diagnostics_gives_the_severity_of_each_profile():
    for code, lenient, strict, namespaced, cause, remedy in rows():
        told = {LENIENT.title: lenient, STRICT.title: strict, NAMESPACED.title: namespaced}
        ours = {profile.title: profile.severity(code) or "–" for profile in (LENIENT, STRICT, NAMESPACED)}  # noqa: RUF001
        assert told == ours, code
        assert cause.endswith(".") and remedy.endswith("."), code


def test_every_public_name_is_in_the_reference():
    pages = [path.read_text() for path in (DOCS / "reference").glob("*.md")]
    documented = {name for page in pages for name in re.findall(r"^::: [\w.]*?(\w+)$", page, re.MULTILINE)}
    documented |= set(skillbelt.errors.__all__)  # its page shows the whole module
    assert set(skillbelt.__all__) - documented == set()


def test_the_picture_of_the_layers_is_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["name"] == "layers"]
    picture = "```text\n" + "\n".join(layers) + "\n```"
    assert picture in (DOCS / "explanation" / "architecture.md").read_text()


@pytest.mark.row("S1-59")
def test_the_reference_of_the_loader_has_its_four_parts_and_names_what_the_code_has():
    text = (DOCS / "reference" / "agent_skills.md").read_text()
    parts = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert list(parts) == ["Folder layout", "Parsing rules", "Disclosure", "Tool mapping", "API"]
    for folder in ("SKILL.md", "scripts", "references", "assets"):
        assert folder in parts["Folder layout"]
    for field in ("name", "description", "version", "compatibility", "metadata", "allowed-tools", "steps"):
        assert f"`{field}`" in parts["Parsing rules"], field
    for method in ("from_folder", "activate", "deactivate", "discover", "list_resources"):
        assert f"{method}(" in parts["Disclosure"], method
    for field in AgentSkillToolDescriptor.model_fields:
        assert f"`{field}`" in parts["Tool mapping"], field
    for name in skillbelt.agent_skills.__all__:
        assert f"::: skillbelt.agent_skills.{name}\n" in parts["API"] + "\n", name


@pytest.mark.parametrize("page", sorted((DOCS / "adr").glob("0*.md")), ids=lambda path: path.stem)
def test_a_decision_has_its_four_parts_and_stands_in_the_index(page):
    text = page.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Status", "Context", "Decision", "Consequences"]
    assert text.startswith(f"# {page.stem[:4]} ")
    assert f"({page.name})" in (DOCS / "adr" / "index.md").read_text()
