"""``skillbelt run``: agents of an agents.yaml in both frameworks, with packages of a registry on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents_kit import FRAMEWORKS, Hub, clerk, hub, text_of
from openai_server import OpenAIServer
from skillbelt import AgentLimitError
from skillbelt.agents import AgentConfig
from skillbelt.cli import llama_index_run
from skillbelt.cli.app import app

__all__ = ["clerk", "hub"]  # fixtures

QUESTION = "Is this IBAN number valid?"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the keys and the cache of the machine out of the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "SKILLBELT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def skillbelt(*args: str) -> Any:
    return CliRunner().invoke(app, ["run", *args], prog_name="skillbelt")


def record(*args: str) -> Any:
    """Run for JSON and return it; it must be alone on standard output."""
    result = skillbelt(*args, "--json")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return json.loads(result.stdout)


def refused(result: Any, code: int) -> list[str]:
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    lines = result.stderr.splitlines()
    assert all(line.startswith("error: ") for line in lines)
    return [line.removeprefix("error: ") for line in lines]


def write(text: str) -> str:
    Path("agents.yaml").write_text(text)
    return "agents.yaml"


# --- running ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("clerk")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_agent_is_run_and_each_of_its_steps_is_shown(hub: Hub, framework: str) -> None:
    result = skillbelt("agents.yaml", "clerk", QUESTION, "--framework", framework)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "Agent      clerk",
        f"Question   {QUESTION}",
        f"Framework  {framework}",
        "Model      offline rule-based model, no LLM; pass --model provider:name for a real one",
    ]
    assert lines[4].startswith("Catalog    4 skills, about ")
    assert lines[5:9] == [
        "Skill      mail from local:./skills/mail",
        "Skill      pdf v1.2.0 from registry:acme/pdf@v1.x",
        "Skill      csv v2.0.0 from hub:acme/csv",
        f"Skill      iban from ID:{hub.iban}",
    ]
    assert "1. load_skill(name='iban')" in lines
    assert lines[lines.index("Answer") + 1 :][:2] == ["[offline rule-based model, no LLM]", "Skill used: iban"]
    assert "1. Modulo 97." in lines


@pytest.mark.usefixtures("clerk")
def test_both_frameworks_take_the_same_steps_and_give_the_same_answer() -> None:
    one, other = (record("agents.yaml", "clerk", QUESTION, "--framework", framework) for framework in FRAMEWORKS)
    assert [one.pop("framework"), other.pop("framework")] == FRAMEWORKS
    assert one == other
    assert one["skills_loaded"] == ["iban"]
    assert [skill["name"] for skill in one["skills"]] == ["mail", "pdf", "csv", "iban"]
    assert list(one) == [
        "agent",
        "question",
        "model",
        "offline",
        "skills",
        "catalog",
        "system_prompt",
        "steps",
        "skills_loaded",
        "files_read",
        "answer",
    ]
    assert one["system_prompt"].startswith("You are a clerk.")


@pytest.mark.usefixtures("clerk")
def test_the_second_run_asks_the_registry_for_nothing(hub: Hub) -> None:
    hub.url.forget()
    first = record("agents.yaml", "clerk", QUESTION)
    assert hub.url.requests
    hub.url.forget()
    assert record("agents.yaml", "clerk", QUESTION) == first
    assert hub.url.requests == []


def test_an_agent_without_skills_from_elsewhere_keeps_no_cache() -> None:
    write("agents: {plain: {}}")
    result = skillbelt("agents.yaml", "plain", "Hello")
    assert "Catalog    no skills" in result.stdout.splitlines()
    assert not Path("cache").exists()


@pytest.mark.usefixtures("clerk")
def test_verbose_prints_the_system_prompt() -> None:
    result = skillbelt("agents.yaml", "clerk", QUESTION, "-v")
    assert "\nSystem prompt sent to the model\nYou are a clerk.\n" in result.stdout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_model_is_that_of_the_file_or_the_one_that_was_typed(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("agents: {plain: {provider: openai, model: gpt-4o-mini}}")
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        found = record("agents.yaml", "plain", "Hello", "--framework", framework)
        assert (found["model"], found["offline"]) == ("openai:gpt-4o-mini", False)
        assert record("agents.yaml", "plain", "Hello", "--framework", framework, "--model", "offline")["offline"]
        assert len(server.requests) == 1
        other = record("agents.yaml", "plain", "Hello", "--framework", framework, "--model", "openai:gpt-4o")
        assert other["model"] == "openai:gpt-4o"
        assert server.requests[-1]["model"] == "gpt-4o"
        monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-and-wrong")
        (said,) = refused(skillbelt("agents.yaml", "plain", "Hello", "--framework", framework), 1)
    assert "openai:gpt-4o-mini: there is no valid key" in said
    assert "very-secret" not in said


def lookup(order: str) -> str:
    """Look up an order."""
    return order


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_tools_are_imported_only_when_that_is_allowed(framework: str) -> None:
    write('agents:\n  plain:\n    tools: ["test_cli_run:lookup"]\n')
    (said,) = refused(skillbelt("agents.yaml", "plain", "Hello", "--framework", framework), 2)
    assert said.startswith("agents.yaml:3:13: agents.plain.tools[0]: 'test_cli_run:lookup' would be imported")
    assert record("agents.yaml", "plain", "Hello", "--framework", framework, "--allow-imports")["answer"]


@pytest.mark.usefixtures("clerk")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_limit_that_is_reached_is_one_sentence(hub: Hub, framework: str) -> None:
    write(text_of(hub, "limits: {model_calls: 1}"))
    said = refused(skillbelt("agents.yaml", "clerk", QUESTION, "--framework", framework), 1)
    assert said == ["The run was ended after 1 call of the model; limits.model_calls allows no more."]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_provider_without_a_key_is_one_sentence(framework: str) -> None:
    write("agents: {plain: {provider: openai, model: gpt-4o-mini}}")
    (said,) = refused(skillbelt("agents.yaml", "plain", "Hi", "--framework", framework), 1)
    assert "openai:gpt-4o-mini: there is no valid key" in said


def test_a_limit_that_a_framework_wrapped_is_the_same_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrapped(*_: Any) -> None:
        raise RuntimeError("Error in step") from AgentLimitError("The run was ended.", limit="deadline", allowed=1)

    monkeypatch.setattr(llama_index_run, "run_agent", wrapped)
    write("agents: {plain: {}}")
    assert refused(skillbelt("agents.yaml", "plain", "Hi", "--framework", "llama-index"), 1) == ["The run was ended."]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "Say which agent is to run. Available agents: clerk, other."),
        (["clerkk", "Hello"], "There is no agent 'clerkk' in agents.yaml. Did you mean 'clerk'?"),
        (["clerk"], 'The question is empty; ask something, such as: skillbelt run agents.yaml clerk "Hello".'),
        (["clerk", "  "], 'The question is empty; ask something, such as: skillbelt run agents.yaml clerk "Hello".'),
        (["clerk", "x", "--framework", "crew"], "There is no framework 'crew' here; choose langchain or llama-index."),
        (["clerk", "x", "--model", "gpt"], "'gpt' is not a model; give provider:name, such as openai:gpt-4o-mini."),
    ],
)
def test_a_wrong_call_is_one_sentence(args: list[str], said: str) -> None:
    write("agents: {clerk: {}, other: {}}")
    assert refused(skillbelt("agents.yaml", *args), 2) == [said]


def test_every_problem_of_a_file_is_a_line_of_its_own() -> None:
    write("agents:\n  clerk:\n    skils: []\n    skills: [oops]\n")
    for args in (["clerk", "Hello"], ["--list"], ["--check"]):
        first, second = refused(skillbelt("agents.yaml", *args), 2)
        assert first == "agents.yaml:3:5: agents.clerk.skils: There is no such field here. Did you mean 'skills'?"
        assert second.startswith("agents.yaml:4:14: agents.clerk.skills[0]: 'oops' is no reference to a skill")
    assert refused(skillbelt("nowhere.yaml", "--list"), 2) == [
        "nowhere.yaml: There is no such file; check the spelling."
    ]


@pytest.mark.usefixtures("clerk")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_missing_package_is_said_with_its_line_before_anything_runs(hub: Hub, framework: str) -> None:
    write(text_of(hub).replace("acme/csv", "acme/csw"))
    result = skillbelt("agents.yaml", "clerk", QUESTION, "--framework", framework)
    (said,) = refused(result, 1)
    assert said.partition("agents.yaml")[2].startswith(":9:9: agents.clerk.skills[2]: ")
    assert "csw" in said
    assert result.stdout == ""


@pytest.mark.usefixtures("clerk")
def test_every_reference_that_fails_is_a_line_and_the_network_is_no_package(hub: Hub) -> None:
    Path("skills/bad").mkdir()
    Path("skills/bad/SKILL.md").write_text("---\nname: worse\nmetadata: x\n---\n")
    write(text_of(hub).replace("skills/mail", "skills/bad").replace("acme/pdf", "acme/pfd"))
    one, other = (line.partition("agents.yaml")[2] for line in refused(skillbelt("agents.yaml", "clerk", "Hi"), 1))
    assert one.startswith(":7:9: agents.clerk.skills[0]: ")
    assert other.startswith(":8:9: agents.clerk.skills[1]: ")
    write(text_of(hub).replace("hub:acme/csv", "no.such.host.invalid:acme/csv"))
    (said,) = refused(skillbelt("agents.yaml", "clerk", "Hi"), 2)
    assert "no.such.host.invalid:acme/csv" in said


# --- looking without running ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("clerk")
def test_the_agents_of_a_file_are_listed_without_asking_anybody(hub: Hub) -> None:
    text = text_of(hub, "description: Checks numbers.", "provider: openai", "model: gpt-4o-mini", "tools: [a]")
    write(text + "  plain: {skills: [local:nowhere]}\n")
    hub.url.forget()
    lines = skillbelt("agents.yaml", "--list").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["clerk", "openai:gpt-4o-mini", "4", "skills", "Checks", "numbers."],
        ["plain", "offline", "1", "skill"],
    ]
    clerk_, plain = record("agents.yaml", "--list")["agents"]
    assert clerk_ == {
        "name": "clerk",
        "type": "llm",
        "description": "Checks numbers.",
        "provider": "openai",
        "model": "gpt-4o-mini",
        "skills": ["local:./skills/mail", "registry:acme/pdf@v1.x", "hub:acme/csv", f"ID:{hub.iban}"],
        "tools": ["a"],
        "limits": {
            "model_calls": 25,
            "deadline": None,
            "catalog_tokens": None,
            "output_bytes": None,
            "resource_bytes": None,
        },
    }
    assert plain["skills"] == ["local:nowhere"]
    assert hub.url.requests == []


@pytest.mark.usefixtures("clerk")
def test_checking_resolves_every_reference_of_every_agent_and_runs_none(hub: Hub) -> None:
    result = skillbelt("agents.yaml", "--check")
    assert (result.exit_code, result.stderr) == (0, "")
    known = "mail from local:./skills/mail; pdf v1.2.0 from registry:acme/pdf@v1.x; csv v2.0.0 from hub:acme/csv"
    assert result.stdout == f"clerk: fine; {known}; iban from ID:{hub.iban}.\n"
    write(
        text_of(hub, 'tools: ["no_such_module:tool", fromhost]')
        + "  broken: {skills: [local:nowhere, hub:acme/csw]}\n  plain: {}\n"
    )
    result = skillbelt("agents.yaml", "--check")
    missing, csw = (line.partition("agents.yaml")[2] for line in refused(result, 1))
    assert missing.startswith(":12:21: agents.broken.skills[0]: ")
    assert csw.startswith(":12:36: agents.broken.skills[1]: ")
    assert result.stdout.splitlines()[1] == "plain: fine; no skills."
    assert skillbelt("agents.yaml", "clerk", "--check").exit_code == 0
    (said,) = refused(skillbelt("agents.yaml", "clerk", "--check", "--allow-imports"), 1)
    assert said.endswith(
        ":11:13: agents.clerk.tools[0]: 'no_such_module:tool' cannot be imported (No module named 'no_such_module')."
    )


@pytest.mark.usefixtures("clerk")
def test_a_check_for_machines_has_every_agent_with_its_skills_and_problems(clerk: AgentConfig, hub: Hub) -> None:
    write(text_of(hub) + "  broken: {skills: [local:nowhere]}\n")
    result = skillbelt("agents.yaml", "--check", "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    found = json.loads(result.stdout)
    assert found["valid"] is False
    fine, broken = found["agents"]
    assert [skill["reference"] for skill in fine["skills"]] == [reference.text for reference in clerk.skills]
    assert fine["problems"] == []
    assert (broken["agent"], broken["skills"], len(broken["problems"])) == ("broken", [], 1)


def test_a_description_cannot_steer_the_terminal() -> None:
    write('agents: {plain: {description: "\\e[31mred"}}')
    result = skillbelt("agents.yaml", "--list")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
