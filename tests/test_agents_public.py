"""The public face of skillbelt.agents: documented, light to import, and no framework in sight."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import test_public_names
from skillbelt import agents

REFERENCE = Path(__file__).parents[1] / "docs/reference/agents.md"


@pytest.fixture(autouse=True)
def only_agents(monkeypatch):
    monkeypatch.setattr(test_public_names, "DOCUMENTED", ["skillbelt.agents"])


def test_every_public_name_is_there_sorted_and_in_the_reference():
    test_public_names.test_the_list_of_public_names_is_sorted_without_doubles_and_true("skillbelt.agents")
    text = REFERENCE.read_text(encoding="utf-8")
    documented = re.findall(r"^::: skillbelt\.agents\.(\w+)$", text, re.MULTILINE)
    assert sorted(documented) == sorted(agents.__all__)


def test_docstrings_say_what_parameters_are_and_what_is_raised():
    test_public_names.test_everything_public_has_a_docstring_that_begins_with_a_sentence()
    test_public_names.test_every_parameter_is_described_where_a_reader_looks_for_it()
    test_public_names.test_what_a_function_raises_itself_is_named_in_its_docstring()


def test_the_reference_lists_every_field_of_the_form():
    text = REFERENCE.read_text(encoding="utf-8")
    form = agents.json_schema()
    for model in ("AgentEntry", "AgentLimits", "ModelOptions", "RegistrySettings"):
        assert [field for field in form["$defs"][model]["properties"] if f"`{field}`" not in text] == []
    assert [field for field in form["properties"] if f"`{field}`" not in text] == []


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("parse_agents('agents: {a: {}}')", ["langchain_core", "llama_index", "httpx", "rfc8785", "filelock"]),
        ("parse_agents('agents: {a: {}}')['a'].to_langchain()", ["llama_index", "rfc8785", "filelock"]),
        ("parse_agents('agents: {a: {}}')['a'].to_llama_index()", ["langchain", "langchain_core", "rfc8785"]),
    ],
)  # fmt: skip
def test_what_is_not_used_need_not_be_installed(code, without):
    block = f"import sys; sys.modules.update(dict.fromkeys({without!r}))"
    program = f"{block}; from skillbelt.agents import parse_agents; {code}; print('fine')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
