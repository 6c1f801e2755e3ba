"""agents.yaml: what a file may say, and what is said of a wrong one: every problem, each with its line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillbelt import AgentConfigError
from skillbelt.agents import AgentConfig, AgentLimits, ConfigProblem, json_schema, load_agents, parse_agents
from skillbelt.agents.document import MAX_BYTES
from skillbelt.agents.schema import FORMAT, OFFLINE, TYPES, AgentsFile
from skillbelt.packages import PackageReference

ID = "ID:pkg_skl_" + "a1" * 20

WHOLE = f"""\
format: skillbelt.agents/1
registries:
  acme:
    url: https://skills.example.com/api
    api_key_env: ACME_KEY
    allow_private: true
    default: true
  hub.example.com: {{}}
defaults:
  provider: openai
  model: gpt-4o-mini
  limits: {{model_calls: 10, deadline: 60}}
  options: {{temperature: 0, max_tokens: 500}}
  skills: [local:./skills/mail]
agents:
  clerk:
    type: llm
    description: Answers mail.
    system_prompt: |
      You are a clerk.
      {{skills}}
    skills:
      - local:./skills/mail
      - registry:acme/pdf@v1.x
      - acme:acme/csv@v1.2.3
      - {ID}
    tools: [lookup, "shop.tools:cancel"]
    allowed_tools: enforce
    limits: {{deadline: 5.5, catalog_tokens: 400, output_bytes: 4096, resource_bytes: 1000}}
    options: {{temperature: 1}}
  plain:
    provider: offline
    skills: []
"""


def problems(text: str | bytes) -> list[str]:
    """What is said of a file, a line for each problem, without its name."""
    with pytest.raises(AgentConfigError) as caught:
        parse_agents(text)
    found = [str(problem) for problem in caught.value.problems]
    assert str(caught.value) == "\n".join(found)
    assert all(line.startswith("agents.yaml:") for line in found)
    return [line.removeprefix("agents.yaml:") for line in found]


# --- what a file may say ----------------------------------------------------------------------------------------------


@pytest.mark.row("S2-38")
def test_a_file_gives_its_agents_in_its_order_with_everything_it_says() -> None:
    agents = parse_agents(WHOLE, path="/etc/app/agents.yaml")
    assert list(agents) == ["clerk", "plain"]
    clerk = agents["clerk"]
    assert (clerk.name, clerk.type, clerk.description) == ("clerk", "llm", "Answers mail.")
    assert clerk.system_prompt == "You are a clerk.\n{skills}\n"
    assert [reference.scheme for reference in clerk.skills] == ["local", "registry", "host", "id"]
    assert [str(reference) for reference in clerk.skills] == [
        "local:./skills/mail",
        "registry:acme/pdf@v1.x",
        "acme:acme/csv@v1.2.3",
        ID,
    ]
    assert clerk.tools == ("lookup", "shop.tools:cancel")
    assert clerk.allowed_tools == "enforce"
    assert clerk.folder == Path("/etc/app")
    assert clerk.registries["acme"].model_dump() == {
        "url": "https://skills.example.com/api",
        "api_key_env": "ACME_KEY",
        "allow_private": True,
        "default": True,
    }
    assert clerk.registries["hub.example.com"].url is None


def test_an_agent_has_what_the_defaults_say_unless_it_says_otherwise() -> None:
    clerk, plain = parse_agents(WHOLE).values()
    assert (clerk.provider, clerk.model) == ("openai", "gpt-4o-mini")
    assert clerk.limits == AgentLimits(
        model_calls=10, deadline=5.5, catalog_tokens=400, output_bytes=4096, resource_bytes=1000
    )
    assert clerk.options.model_dump(exclude_none=True) == {"temperature": 1.0, "max_tokens": 500}
    assert (plain.provider, plain.model) == (OFFLINE, None)
    assert plain.skills == ()
    assert plain.limits == AgentLimits(model_calls=10, deadline=60)
    assert plain.system_prompt is None
    assert plain.allowed_tools == "advisory"


def test_an_agent_may_say_nothing_at_all() -> None:
    agent = parse_agents("agents: {clerk: {}}")["clerk"]
    assert agent == AgentConfig(name="clerk", folder=Path.cwd())
    assert (agent.provider, agent.model_calls, agent.limits.deadline, agent.skills) == (OFFLINE, 25, None, ())


def test_the_model_of_the_defaults_belongs_to_their_provider() -> None:
    agents = parse_agents(
        "defaults: {provider: openai, model: one}\n"
        "agents: {a: {}, b: {provider: openai}, c: {model: two}, d: {provider: offline},"
        " e: {provider: anthropic, model: three}}"
    )
    assert [(agent.provider, agent.model) for agent in agents.values()] == [
        ("openai", "one"),
        ("openai", "one"),
        ("openai", "two"),
        ("offline", None),
        ("anthropic", "three"),
    ]


def test_a_value_can_be_left_empty_and_counts_as_absent() -> None:
    agent = parse_agents("registries:\ndefaults:\nagents:\n  clerk:\n    type: llm\n    skills:\n    limits:\n")[
        "clerk"
    ]
    assert (agent.skills, agent.limits) == ((), AgentLimits())


def test_an_anchor_can_be_used_for_what_two_agents_share() -> None:
    text = "agents:\n  a:\n    limits: &bounds {model_calls: 3}\n  b:\n    limits: *bounds\n"
    assert {agent.limits.model_calls for agent in parse_agents(text).values()} == {3}


def test_agents_and_what_they_hold_cannot_be_changed() -> None:
    agents = parse_agents(WHOLE)
    with pytest.raises(TypeError):
        agents["other"] = agents["clerk"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        agents["clerk"].name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        agents["clerk"].registries["x"] = agents["clerk"].registries["acme"]  # type: ignore[index]


def test_a_file_is_read_from_disk_and_its_folder_is_the_one_references_start_from(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_bytes(b"\xef\xbb\xbfagents: {clerk: {skills: ['local:./mail']}}\r\n")
    agent = load_agents(tmp_path / "agents.yaml")["clerk"]
    assert agent.folder == tmp_path
    assert agent.skills == (PackageReference.parse("local:./mail"),)


def test_loading_asks_nobody_and_looks_at_no_skill(tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text(WHOLE)
    code = f"""
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append((event, args)))
from skillbelt.agents import load_agents
load_agents({str(path)!r})
events = {{event for event, _ in seen}}
assert not events & {{"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.exec"}}, events
assert not any("skills/mail" in str(args) for event, args in seen if event in ("open", "os.scandir", "os.listdir"))
print([name for name in ("langchain", "langchain_core", "llama_index", "httpx", "filelock") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


# --- what is wrong ----------------------------------------------------------------------------------------------------

CASES = Path(__file__).parent / "data/agents_wrong.txt"
"""Wrong files, each below the line that says what is wrong; ``…`` stands for the rest of a line."""


def wrong() -> list[tuple[str, str]]:
    cases = CASES.read_text(encoding="utf-8").split("=== ")[1:]
    return [(text.replace("<TAB>", "\t"), said) for said, _, text in (case.partition("\n") for case in cases)]


@pytest.mark.parametrize(("text", "said"), wrong(), ids=[said.partition(": ")[2][:50] for _, said in wrong()])
def test_what_is_wrong_is_said_with_line_column_field_and_what_was_expected(text: str, said: str) -> None:
    (found,) = problems(text)
    start, more, _ = said.partition("…")
    assert found.startswith(start) if more else found == said


def test_there_are_cases_for_every_part_of_a_file() -> None:
    fields = {said.split(": ")[1].replace("[0]", "") for _, said in wrong()}
    assert len(wrong()) > 70
    for part in ("format", "registries.acme.url", "defaults.skills", "agents.clerk.skills", "agents.clerk.tools"):
        assert part in fields


def test_a_list_has_a_bound() -> None:
    many = ", ".join(f"x:y/z{n}" for n in range(1001))
    assert problems(f"agents: {{a: {{skills: [{many}]}}}}") == ["1:22: agents.a.skills: Expected at most 1000 entries."]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "agents.yaml: The file is empty; it must be a mapping with 'agents:' in it."),
        (b"# nothing\n", "agents.yaml: The file is empty; it must be a mapping with 'agents:' in it."),
        (b"words", "agents.yaml: The file holds text; it must be a mapping with 'agents:' in it."),
        (b"[a]", "agents.yaml: The file holds a list; it must be a mapping with 'agents:' in it."),
        (b"5", "agents.yaml: The file holds a number; it must be a mapping with 'agents:' in it."),
        (b"agents:\n  a: {}\n  # caf\xe9\n", "agents.yaml:3:8: The file is not UTF-8 text; save it as UTF-8."),
        (b" " * (MAX_BYTES + 1), "agents.yaml: The file is larger than 256 KiB; split it into several."),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_as_a_whole(data: bytes, said: str) -> None:
    with pytest.raises(AgentConfigError) as caught:
        parse_agents(data)
    assert str(caught.value) == said


def test_every_problem_of_a_file_is_said_at_once_in_its_order() -> None:
    text = """\
format: 2
registries:
  acme: {url: skills}
defaults:
  skills: [one]
agents:
  a:
    skils: []
    skills: [two, local:ok]
    limits: {deadline: soon}
  b:
    type: tool
    fields: of its own
  c:
    tools: ["a b:c"]
"""
    found = problems(text)
    assert [line.split(": ")[:2] for line in found] == [
        ["1:9", "format"],
        ["3:15", "registries.acme.url"],
        ["5:12", "defaults.skills[0]"],
        ["8:5", "agents.a.skils"],
        ["9:14", "agents.a.skills[0]"],
        ["10:24", "agents.a.limits.deadline"],
        ["12:11", "agents.b.type"],
        ["15:13", "agents.c.tools[0]"],
    ]


def test_a_problem_is_a_value_that_a_program_can_use() -> None:
    with pytest.raises(AgentConfigError) as caught:
        parse_agents("agents:\n  clerk: {skils: []}\n", path="conf/team.yaml")
    assert caught.value.problems == (
        ConfigProblem(
            "conf/team.yaml", 2, 11, "agents.clerk.skils", "There is no such field here. Did you mean 'skills'?"
        ),
    )
    assert isinstance(caught.value, ValueError)


def test_a_place_counts_characters_and_lines_as_editors_do() -> None:
    text = "# größer 🦊\r\nagents:\r\n  clerk: {description: '🦊', skils: []}\r\n"
    assert problems(text)[0].startswith("3:29: agents.clerk.skils: ")
    assert text.splitlines()[2][28:33] == "skils"


def test_keys_of_strangers_cannot_make_a_message_long_or_odd() -> None:
    (found,) = problems('agents: {a: {"x\\u001b[31m": 1}}')
    assert "\x1b" not in found
    assert "agents.a.'x\\x1b[31m'" in found
    (found,) = problems("agents: {a: {" + "k" * 5000 + ": 1}}")
    assert len(found) < 400


def test_aliases_that_grow_are_refused_before_anything_is_built() -> None:
    lines = ["x0: &x0 [a, a, a, a, a, a, a, a, a]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 9)]
    (found,) = problems("\n".join([*lines, "agents: {a: {}}"]))
    assert "This YAML is refused: more than 20000 values" in found


@pytest.mark.parametrize("name", ["missing.yaml", "folder", "pipe", "locked.yaml", "bad\0name"])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "locked.yaml").write_text("agents: {a: {}}")
    (tmp_path / "locked.yaml").chmod(0)
    said = {
        "missing.yaml": "There is no such file; check the spelling.",
        "folder": "This is not a file but a folder or a device; give the YAML file.",
        "pipe": "This is not a file but a folder or a device; give the YAML file.",
        "locked.yaml": "The file cannot be read: Permission denied.",
        "bad\0name": "The file cannot be read: embedded null byte.",
    }[name]
    if name == "locked.yaml" and os.geteuid() == 0:
        os.seteuid(65534)
    try:
        path = f"{tmp_path}/{name}"
        with pytest.raises(AgentConfigError) as caught:
            load_agents(path)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
    assert str(caught.value) == f"{path}: {said}"


def test_a_file_that_never_ends_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(AgentConfigError, match="larger than 256 KiB"):
        load_agents(path)


def read(data: str | bytes) -> AgentConfigError | None:
    try:
        parse_agents(data)
    except AgentConfigError as error:
        return error
    return None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_whatever_a_file_holds_it_is_read_or_refused_with_problems(data: str | bytes) -> None:
    assert read(data) is None or read(data).problems


KEYS = [*AgentsFile.model_fields, "a", "type", "skills", "limits", "model", "provider", "tools", "url"]
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*AgentsFile.model_fields]), VALUES, max_size=4))
def test_whatever_values_a_file_has_it_is_read_or_refused_with_places_inside_it(value: dict[str, object]) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    lines = text.split("\n")
    for problem in getattr(read(text), "problems", ()):
        assert problem.line == 0 or problem.column <= len(lines[problem.line - 1]) + 1


# --- the schema for editors -------------------------------------------------------------------------------------------

SCHEMA = Path(__file__).parents[1] / "docs/reference/agents-schema.json"


def test_the_published_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json_schema(), (
        'write it anew: python -c "import json; from skillbelt.agents import json_schema as s; '
        'print(json.dumps(s(), indent=2))" > docs/reference/agents-schema.json'
    )


BEYOND = ("<<", "a host", "module:attribute", "a name of an agent", "not the number .inf")
"""What a JSON Schema of this form does not refuse, or what is another value to another YAML reader."""


def test_the_schema_takes_what_the_loader_takes_and_refuses_what_a_form_can_refuse() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(yaml.safe_load(WHOLE))
    for text, said in wrong():
        of_form = any(words in said for words in ("no such field", "Expected", "no such type", "is missing"))
        beyond = (
            "<<",
            "A catalog",
            "Without TLS",
            "a host",
            "module:attribute",
            "a name of an agent",
            "not the number .inf",
            "anchors",
        )
        if of_form and not any(words in said for words in beyond):
            assert not validator.is_valid(yaml.safe_load(text)), said


def test_the_words_of_the_form_are_those_of_the_schema() -> None:
    text = SCHEMA.read_text(encoding="utf-8")
    assert FORMAT in text
    assert all(f'"{kind}"' in text for kind in TYPES)
