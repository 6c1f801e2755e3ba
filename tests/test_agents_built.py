"""Agents built from agents.yaml: what their models are sent, what they were built with, and where their limits are.

Packages come from the real registry on loopback; only the model is a fake, so that each request can be looked at.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from openai_server import OpenAIServer
from registry_loopback import Url, running_registry
from skillbelt import (
    AgentConfigError,
    AgentLimitError,
    MappingSource,
    MissingExtraError,
    Renderer,
    SkillError,
    SkillRouter,
)
from skillbelt.agents import AgentConfig, AgentLimits, AgentSkills, LoadedSkill, load_agents, loaded_skills, parse_agents
from skillbelt.agents.models import langchain_model, llama_index_model
from skillbelt.errors import (
    AuthenticationRequiredError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryNetworkError,
    VersionNotFoundError,
)
from skillbelt.events import PackageLoaded, SkillActivated
from skillbelt.packages import PackageReference, pack
from skillbelt.packages.cache import RegistryCache
from skillbelt.packages.client import RegistryClient
from skillbelt.testing import OfflineChatModel, OfflineLLM, ScriptedChatModel, ScriptedLLM

FRAMEWORKS = ["langchain", "llama-index"]
CLERK = "You are a clerk."
KEY = "publish-key"


# --- a registry, a file and two frameworks ----------------------------------------------------------------------------


class Hub(NamedTuple):
    """A registry with four packages, one of them only known by its id."""

    url: Url
    iban: str
    folder: Path


def write_skill(root: Path, name: str, description: str, body: str, **files: str) -> Path:
    for path, text in {"SKILL.md": f"---\nname: {name}\ndescription: {description}\n---\n{body}\n", **files}.items():
        (root / name / path).parent.mkdir(parents=True, exist_ok=True)
        (root / name / path).write_text(text)
    return root / name


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub")
    with running_registry(folder / "packages", publish_key=KEY) as url:
        client = RegistryClient(url, api_key=KEY, allow_private=True)

        def publish(version: str, name: str, description: str, body: str, **files: str) -> str:
            packed = pack(write_skill(folder / version, name, description, body, **files))
            client.publish(packed.document, namespace="acme", version=version)
            return str(packed.id)

        publish("v1.0.0", "pdf", "Fills PDF forms.", "# Old PDF")
        publish("v1.2.0", "pdf", "Fills PDF forms & merges pages.", "# PDF 1.2\n\n1. Fill it.")
        publish(
            "v2.0.0",
            "csv",
            "Checks CSV tables.",
            "# CSV\n\nRead references/rules.md.",
            **{"references/rules.md": "Commas only.\n" * 100, "scripts/run.py": "raise SystemExit(1)\n"},
        )
        iban = publish("v0.1.0", "iban", "Checks IBAN numbers.", "# IBAN\n\n1. Modulo 97.")
        yield Hub(url, iban, folder)


def text_of(hub: Hub, *more: str) -> str:
    return "\n".join(
        [
            "registries:",
            f"  hub: {{url: '{hub.url}', allow_private: true}}",
            "agents:",
            "  clerk:",
            f"    system_prompt: {CLERK}",
            "    skills:",
            "      - local:./skills/mail",
            "      - registry:acme/pdf@v1.x",
            "      - hub:acme/csv",
            f"      - ID:{hub.iban}",
            *(f"    {line}" for line in more),
        ]
    )


@pytest.fixture
def clerk(hub: Hub, tmp_path: Path) -> AgentConfig:
    """An agent with skills by all schemes at once."""
    write_skill(tmp_path / "skills", "mail", "Sorts mail by sender.", "# Mail\n\n1. Open the inbox.")
    (tmp_path / "agents.yaml").write_text(text_of(hub))
    return load_agents(tmp_path / "agents.yaml")["clerk"]


class Sent(NamedTuple):
    """One request a model received, without the words of its framework."""

    system: str | None
    tools: dict[str, Any]
    results: list[str]
    raw: Any


class Run(NamedTuple):
    answer: str
    requests: list[Sent]
    agent: Any


def run_langchain(config: AgentConfig | None, steps: list[Any], *, agent: Any = None, **options: Any) -> Run:
    model = ScriptedChatModel(steps)
    built = agent(model) if agent else config.to_langchain(model=model, **options)
    out = built.invoke({"messages": [HumanMessage("Please help.", id="q")]})
    return Run(out["messages"][-1].text, [_langchain_sent(request) for request in model.requests], built)


def _langchain_sent(request: Any) -> Sent:
    system = [m.text for m in request.messages if isinstance(m, SystemMessage)]
    results = [m.text for m in request.messages if isinstance(m, ToolMessage)]
    tools = {tool["function"]["name"]: tool["function"] for tool in request.tools}
    return Sent(system[0] if system else None, tools, results, request)


def run_llama_index(config: AgentConfig | None, steps: list[Any], *, agent: Any = None, **options: Any) -> Run:
    async def run() -> tuple[Any, Any, str]:
        llm = ScriptedLLM(steps)
        built = agent(llm) if agent else config.to_llama_index(model=llm, **options)
        return llm, built, str(await built.run("Please help."))

    llm, built, answer = asyncio.run(run())
    return Run(answer, [_llama_sent(request) for request in llm.requests], built)


def _llama_sent(request: Any) -> Sent:
    system = [m.content for m in request.messages if m.role.value == "system"]
    results = [m.content for m in request.messages if m.role.value == "tool"]
    tools = {tool["function"]["name"]: tool["function"] for tool in request.tools}
    return Sent(system[0] if system else None, tools, results, ([m.model_dump() for m in request.messages], request.tools))


RUN = {"langchain": run_langchain, "llama-index": run_llama_index}


def build(framework: str, config: AgentConfig, **options: Any) -> Any:
    return config.to_langchain(**options) if framework == "langchain" else config.to_llama_index(**options)


def told(error: pytest.ExceptionInfo[Any]) -> str:
    """A message without the folder of the file."""
    return "\n".join(line[line.find("agents.yaml") :] for line in str(error.value).splitlines())


# --- skills by reference ----------------------------------------------------------------------------------------------


@pytest.mark.row("S2-38")
@pytest.mark.row("S2-40")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_skills_of_all_schemes_at_once_are_in_the_prompt_and_are_loaded_when_the_model_asks(
    clerk: AgentConfig, framework: str
) -> None:
    steps = [[("load_skill", {"name": name})] for name in ("mail", "pdf", "csv", "iban")]
    steps.append([("read_skill_resource", {"name": "csv", "path": "references/rules.md"})])
    run = RUN[framework](clerk, [*steps, "done"])
    assert run.answer == "done"
    first, last = run.requests[0], run.requests[-1]
    assert first.system is not None
    assert first.system.startswith(CLERK)
    for line in (
        '<skill name="csv">Checks CSV tables.</skill>',
        '<skill name="iban">Checks IBAN numbers.</skill>',
        '<skill name="mail">Sorts mail by sender.</skill>',
        '<skill name="pdf">Fills PDF forms &amp; merges pages.</skill>',
    ):
        assert line in first.system
    assert {request.system for request in run.requests} == {first.system}
    bodies = ["1. Open the inbox.", "1. Fill it.", "Read references/rules.md.", "1. Modulo 97."]
    assert not any(body in first.system for body in bodies)
    assert first.results == []
    for result, body in zip(last.results, bodies, strict=False):
        assert body in result
    assert "Commas only." in last.results[4]
    assert first.tools["load_skill"]["parameters"]["properties"]["name"]["enum"] == ["csv", "iban", "mail", "pdf"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_host_of_a_registry_can_be_written_out(hub: Hub, tmp_path: Path, framework: str) -> None:
    text = text_of(hub).replace("hub:acme/csv", f"{hub.url.host}:acme/csv@v2.0.0").replace("local:./skills/mail", "hub:acme/csv")
    config = parse_agents(text, path=tmp_path / "agents.yaml")["clerk"]
    assert [(skill.name, skill.version) for skill in loaded_skills(build(framework, config))] == [
        ("csv", "v2.0.0"),
        ("pdf", "v1.2.0"),
        ("csv", "v2.0.0"),
        ("iban", None),
    ]


@pytest.mark.row("S2-39")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_everything_is_resolved_when_the_agent_is_built_and_nothing_later(
    clerk: AgentConfig, hub: Hub, framework: str
) -> None:
    hub.url.forget()
    skills = clerk.open_skills()
    assert [request.partition("?")[0] for request in hub.url.requests if "well-known" not in request] == [
        "GET /skill/acme/pdf",
        "GET /skill/acme/csv",
        f"GET /packages/{hub.iban}",
    ]
    agent = build(framework, clerk, skills=skills)
    shutil.rmtree(clerk.folder / "skills")
    hub.url.forget()
    run = RUN[framework](
        None,
        [[("load_skill", {"name": "mail"})], [("load_skill", {"name": "pdf"})], "done"],
        agent=lambda model: build(framework, clerk, skills=skills, model=model),
    )
    assert "1. Open the inbox." in run.requests[-1].results[0]
    assert "1. Fill it." in run.requests[-1].results[1]
    assert hub.url.requests == []
    assert loaded_skills(agent) == skills.loaded


@pytest.mark.row("S2-39")
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("old", "new", "error", "said"),
    [
        ("acme/pdf@v1.x", "acme/pfd", PackageNotFoundError, "agents.yaml:8:9: agents.clerk.skills[1]: "),
        ("acme/csv", "acme/csv@v9.9.9", VersionNotFoundError, "agents.yaml:9:9: agents.clerk.skills[2]: "),
        ("skills/mail", "skills/male", PackageNotFoundError, "agents.yaml:7:9: agents.clerk.skills[0]: The reference 'local:./skills/male' leads to no folder"),
        ("./skills/mail", "./skills", PackageNotFoundError, "agents.yaml:7:9: agents.clerk.skills[0]: The reference 'local:./skills' leads to a folder without a SKILL.md"),
        ("./skills/mail", "./skills/bad", PackageValidationError, "agents.yaml:7:9: agents.clerk.skills[0]: The reference 'local:./skills/bad' leads to a skill that cannot be used"),
        ("ID:pkg_skl_", "ID:pkg_skl_" + "0" * 40 + " # ", PackageNotFoundError, "agents.yaml:10:9: agents.clerk.skills[3]: "),
        ("hub:acme/csv", "no.such.host.invalid:acme/csv", RegistryNetworkError, "agents.yaml:9:9: agents.clerk.skills[2]: "),
    ],
)  # fmt: skip
def test_a_package_that_cannot_be_had_fails_the_building_with_reference_and_line(
    clerk: AgentConfig, hub: Hub, framework: str, old: str, new: str, error: type[Exception], said: str
) -> None:
    text = text_of(hub).replace(old, new)
    (clerk.folder / "skills/bad").mkdir()
    (clerk.folder / "skills/bad/SKILL.md").write_text("---\nname: bad\n---\nNo description.\n")
    config = parse_agents(text, path=clerk.folder / "agents.yaml")["clerk"]
    model = ScriptedChatModel([]) if framework == "langchain" else ScriptedLLM([])
    with pytest.raises(error) as caught:
        build(framework, config, model=model)
    assert told(caught).startswith(said)
    assert "\n" not in str(caught.value)
    reference = str(caught.value.original_reference)
    assert reference in text
    assert reference in str(caught.value)
    assert model.requests == []


@pytest.mark.row("S2-39")
def test_every_reference_that_fails_is_named_with_its_line(clerk: AgentConfig, hub: Hub) -> None:
    text = text_of(hub).replace("acme/pdf@v1.x", "acme/pfd").replace("skills/mail", "skills/male")
    config = parse_agents(text, path=clerk.folder / "agents.yaml")["clerk"]
    with pytest.raises(PackageNotFoundError) as caught:
        config.to_langchain()
    first, second = told(caught).splitlines()
    assert first.startswith("agents.yaml:7:9: agents.clerk.skills[0]: ")
    assert second.startswith("agents.yaml:8:9: agents.clerk.skills[1]: ")
    assert caught.value.original_reference == "local:./skills/male"
    assert str(caught.value) == caught.value.message


@pytest.mark.row("S2-41")
def test_the_skills_of_an_agent_are_seen_in_its_metadata_and_in_events(clerk: AgentConfig, hub: Hub) -> None:
    events: list[Any] = []
    skills = clerk.open_skills(on_event=events.append)
    names = [(skill.name, skill.reference, skill.version) for skill in skills.loaded]
    assert names == [
        ("mail", "local:./skills/mail", None),
        ("pdf", "registry:acme/pdf@v1.x", "v1.2.0"),
        ("csv", "hub:acme/csv", "v2.0.0"),
        ("iban", f"ID:{hub.iban}", None),
    ]
    packed = pack(clerk.folder / "skills/mail")
    assert (skills.loaded[0].id, skills.loaded[0].integrity) == (str(packed.id), packed.integrity)
    assert skills.loaded[3].id == hub.iban
    assert [(e.name, e.reference, e.id) for e in events if isinstance(e, PackageLoaded)] == [
        (skill.name, skill.reference, skill.id) for skill in skills.loaded
    ]
    chain, llama = clerk.to_langchain(skills=skills), clerk.to_llama_index(skills=skills)
    assert loaded_skills(chain) == loaded_skills(llama) == llama.loaded_skills == skills.loaded
    assert json.loads(json.dumps(chain.config["metadata"]["skills"]))[1]["reference"] == "registry:acme/pdf@v1.x"

    class Seen(BaseCallbackHandler):
        def on_chain_start(self, *args: Any, metadata: Any = None, **kwargs: Any) -> None:
            self.metadata = metadata

    seen = Seen()
    chain.invoke({"messages": [HumanMessage("Fill in this PDF form")]}, {"callbacks": [seen]})
    assert [skill["name"] for skill in seen.metadata["skills"]] == ["mail", "pdf", "csv", "iban"]
    assert [e.name for e in events if isinstance(e, SkillActivated)] == ["pdf"]


def test_what_has_no_skills_has_none_loaded() -> None:
    assert loaded_skills(AgentConfig(name="a").to_langchain()) == ()
    assert loaded_skills(AgentConfig(name="a").to_llama_index()) == ()
    assert loaded_skills(object()) == ()


@pytest.mark.row("S2-44")
@pytest.mark.row("S2-45")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_scripts_are_text_there_is_no_tool_that_runs_one_and_the_model_is_told(clerk: AgentConfig, framework: str) -> None:
    steps = [
        [("load_skill", {"name": "csv"})],
        [("read_skill_resource", {"name": "csv", "path": "scripts/run.py"})],
        [("run_skill_script", {"name": "csv", "path": "scripts/run.py"})],
        "done",
    ]
    run = RUN[framework](clerk, steps)
    assert list(run.requests[0].tools) == ["load_skill", "read_skill_resource"]
    assert "nothing here runs them" in str(run.requests[0].system)
    _, script, refused = run.requests[-1].results
    assert "raise SystemExit(1)" in script
    assert "run_skill_script" in refused
    assert "not" in refused
    assert "sandbox" not in str(run.requests[0].system)


@pytest.mark.row("S2-31")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_warm_cache_builds_an_agent_without_a_request(clerk: AgentConfig, hub: Hub, framework: str, tmp_path: Path) -> None:
    cold = clerk.open_skills(cache=RegistryCache(tmp_path / "cache"))
    hub.url.forget()
    warm = clerk.open_skills(cache=RegistryCache(tmp_path / "cache"))
    assert hub.url.requests == []
    assert warm.loaded == cold.loaded
    assert loaded_skills(build(framework, clerk, skills=warm)) == cold.loaded


# --- names ------------------------------------------------------------------------------------------------------------


def test_two_packages_of_one_name_are_refused_unless_the_host_lets_the_first_win(clerk: AgentConfig, hub: Hub) -> None:
    text = text_of(hub).replace("local:./skills/mail", "registry:acme/pdf@v1.0.0")
    config = parse_agents(text, path=clerk.folder / "agents.yaml")["clerk"]
    with pytest.raises(AgentConfigError) as caught:
        config.open_skills()
    assert told(caught) == (
        "agents.yaml:8:9: agents.clerk.skills[1]: This leads to a skill 'pdf', as registry:acme/pdf@v1.0.0 does; "
        "an agent has one skill of a name."
    )
    router = config.open_skills(on_collision="first").router
    assert "# Old PDF" in router.activate("pdf").text


# --- no skills --------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-50")
@pytest.mark.parametrize("prompt", [CLERK, None])
def test_without_skills_the_agent_sends_what_one_without_skillbelt_sends(prompt: str | None) -> None:
    def add(one: int, two: int) -> int:
        """Add two numbers."""
        return one + two

    config = AgentConfig(name="clerk", system_prompt=prompt, tools=("add",))
    steps = [[("add", {"one": 1, "two": 2})], "three"]
    ours = run_langchain(config, steps, tools={"add": add})
    plain = run_langchain(None, steps, agent=lambda model: create_agent(model, tools=[add], system_prompt=prompt))
    for mine, theirs in zip(ours.requests, plain.requests, strict=True):
        assert [m.model_dump(exclude={"id"}) for m in mine.raw.messages] == [
            m.model_dump(exclude={"id"}) for m in theirs.raw.messages
        ]
        assert json.dumps(mine.raw.tools) == json.dumps(theirs.raw.tools)
    assert ours.agent.config.get("metadata") == plain.agent.config.get("metadata")
    ours = run_llama_index(config, steps, tools={"add": add})
    plain = run_llama_index(None, steps, agent=lambda llm: FunctionAgent(tools=[add], system_prompt=prompt, llm=llm))
    assert [sent.raw for sent in ours.requests] == [sent.raw for sent in plain.requests]
    assert ours.requests[0].system == prompt


@pytest.mark.row("S2-50")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_place_for_skills_in_a_prompt_is_filled_with_them_or_with_nothing(clerk: AgentConfig, hub: Hub, framework: str) -> None:
    text = text_of(hub).replace(CLERK, "'Before. {skills} After.'")
    config = parse_agents(text, path=clerk.folder / "agents.yaml")["clerk"]
    system = str(RUN[framework](config, ["done"]).requests[0].system)
    assert system.startswith("Before. ## Skills")
    assert system.endswith("</available_skills> After.")
    bare = AgentConfig(name="clerk", system_prompt="Before. {skills}After.")
    assert RUN[framework](bare, ["done"]).requests[0].system == "Before. After."


def test_an_agent_without_a_prompt_is_sent_the_skills_alone(clerk: AgentConfig, hub: Hub) -> None:
    config = parse_agents(text_of(hub).replace(f"system_prompt: {CLERK}", ""), path=clerk.folder / "agents.yaml")["clerk"]
    chain, llama = (RUN[framework](config, ["done"]).requests[0].system for framework in FRAMEWORKS)
    assert chain == llama
    assert str(chain).startswith("## Skills")


# --- tools ------------------------------------------------------------------------------------------------------------


def lookup(order: str) -> str:
    """Look up an order."""
    return f"{order} is on its way."


def with_tools(*names: str) -> AgentConfig:
    return parse_agents(f"agents:\n  clerk:\n    tools: {json.dumps(names)}\n")["clerk"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_tools_are_those_the_host_passes_by_name_functions_or_tools_of_the_framework(framework: str) -> None:
    made = langchain_tool("find")(lookup) if framework == "langchain" else FunctionTool.from_defaults(lookup, name="find")
    run = RUN[framework](
        with_tools("orders", "lookup"),
        [[("find", {"order": "A1"})], [("lookup", {"order": "B2"})], "done"],
        tools={"lookup": lookup, "orders": made, "unused": lookup},
    )
    assert list(run.requests[0].tools) == ["find", "lookup"]
    assert run.requests[-1].results == ["A1 is on its way.", "B2 is on its way."]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_tools_that_are_not_there_are_all_named_with_their_lines(framework: str) -> None:
    config = with_tools("lokup", "zebra", "no_such_module:tool", "json:nothing", "os:getcwd")
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config, tools={"lookup": lookup}, allow_imports=True)
    assert str(caught.value).splitlines() == [
        "agents.yaml:3:13: agents.clerk.tools[0]: The host passes no tool 'lokup'. Did you mean 'lookup'?",
        "agents.yaml:3:22: agents.clerk.tools[1]: The host passes no tool 'zebra'. Available tools: lookup.",
        "agents.yaml:3:31: agents.clerk.tools[2]: 'no_such_module:tool' cannot be imported (No module named 'no_such_module').",
        "agents.yaml:3:54: agents.clerk.tools[3]: 'json:nothing' cannot be imported (module 'json' has no attribute 'nothing').",
    ]
    with pytest.raises(AgentConfigError, match=r"no tool 'lookup'. Pass it: tools=\{name: tool\}."):
        build(framework, with_tools("lookup"))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_file_can_have_code_imported_only_if_the_host_says_so(framework: str) -> None:
    config = with_tools("test_agents_built:lookup")
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config)
    assert str(caught.value) == (
        "agents.yaml:3:13: agents.clerk.tools[0]: 'test_agents_built:lookup' would be imported, which runs code; "
        "the host must pass allow_imports=True for that."
    )
    run = RUN[framework](config, [[("lookup", {"order": "A1"})], "done"], allow_imports=True)
    assert run.requests[-1].results == ["A1 is on its way."]
    # What the host passes under that name is taken without an import.
    run = RUN[framework](with_tools("no_such_module:x"), ["done"], tools={"no_such_module:x": lookup})
    assert list(run.requests[0].tools) == ["lookup"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_tools_of_one_name_are_refused(clerk: AgentConfig, hub: Hub, framework: str) -> None:
    def load_skill(name: str) -> str:
        """Load something else."""
        return name

    text = text_of(hub, "tools: [one, two, mine]")
    config = parse_agents(text, path=clerk.folder / "agents.yaml")["clerk"]
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config, tools={"one": lookup, "two": lookup, "mine": load_skill})
    assert told(caught).splitlines() == [
        "agents.yaml:11:18: agents.clerk.tools[1]: The model would see two tools called 'lookup': "
        "another one of the agent is called so; rename this one.",
        "agents.yaml:11:23: agents.clerk.tools[2]: The model would see two tools called 'load_skill': "
        "the skills bring a tool of that name; rename this one.",
    ]


# --- limits -----------------------------------------------------------------------------------------------------------


def limited(**limits: Any) -> AgentConfig:
    return AgentConfig(name="clerk", tools=("lookup",), limits=AgentLimits(**limits))


CALL = [("lookup", {"order": "A1"})]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_may_call_the_model_as_often_as_its_limit_says_and_no_more(framework: str) -> None:
    config = limited(model_calls=3)
    assert RUN[framework](config, [CALL, CALL, "done"], tools={"lookup": lookup}).answer == "done"
    model = ScriptedChatModel([CALL] * 9) if framework == "langchain" else ScriptedLLM([CALL] * 9)
    agent = build(framework, config, model=model, tools={"lookup": lookup})
    with pytest.raises(AgentLimitError) as caught:
        ask(framework, agent)
    assert (caught.value.limit, caught.value.allowed) == ("model_calls", 3)
    assert str(caught.value) == "The run was ended after 3 calls of the model; limits.model_calls allows no more."
    assert len(model.requests) == 3


def ask(framework: str, agent: Any, **options: Any) -> str:
    if framework == "langchain":
        return str(agent.invoke({"messages": [HumanMessage("Please help.")]}, **options)["messages"][-1].text)

    async def run() -> str:
        return str(await agent.run("Please help.", **options))

    return asyncio.run(run())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_twenty_five_calls_are_allowed_when_nothing_is_said(framework: str) -> None:
    config = AgentConfig(name="clerk", tools=("lookup",))
    assert RUN[framework](config, [*[CALL] * 24, "done"], tools={"lookup": lookup}).answer == "done"
    with pytest.raises(AgentLimitError, match="after 25 calls"):
        RUN[framework](config, [CALL] * 30, tools={"lookup": lookup})


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_calls_of_each_run_are_counted_anew(framework: str) -> None:
    steps = [CALL, "one", CALL, "two"]
    model = ScriptedChatModel(steps) if framework == "langchain" else ScriptedLLM(steps)
    config = limited(model_calls=2, deadline=30)
    if framework == "langchain":
        agent = config.to_langchain(model=model, tools={"lookup": lookup}, checkpointer=InMemorySaver())
        thread = {"config": {"configurable": {"thread_id": "1"}}}
        assert [ask(framework, agent, **thread) for _ in range(2)] == ["one", "two"]
        return

    async def run() -> list[str]:
        agent = config.to_llama_index(model=model, tools={"lookup": lookup})
        context = Context(agent)
        return [str(await agent.run("Please help.", ctx=context)) for _ in range(2)]

    assert asyncio.run(run()) == ["one", "two"]


async def test_the_calls_of_an_asynchronous_run_are_counted_too() -> None:
    model = ScriptedChatModel([CALL] * 9)
    agent = limited(model_calls=2).to_langchain(model=model, tools={"lookup": lookup})
    with pytest.raises(AgentLimitError, match="after 2 calls"):
        await agent.ainvoke({"messages": [HumanMessage("Please help.")]})
    assert len(model.requests) == 2


def test_whoever_runs_a_llama_index_agent_may_ask_for_fewer_iterations() -> None:
    agent = limited(model_calls=5).to_llama_index(model=ScriptedLLM([CALL] * 9), tools={"lookup": lookup})
    with pytest.raises(Exception, match="Max iterations of 2"):
        ask("llama-index", agent, max_iterations=2)


class Gate:
    """Something slow: it waits until the test lets it go on."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def answer(self, _: Any) -> str:
        assert self.open.wait(30)
        return "too late"

    def slow(self, order: str) -> str:
        """Look up an order, slowly."""
        assert self.open.wait(30)
        return order


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def test_a_model_that_is_late_ends_a_langchain_run_at_its_deadline(gate: Gate) -> None:
    agent = limited(deadline=0.2).to_langchain(model=ScriptedChatModel([gate.answer]), tools={"lookup": lookup})
    with pytest.raises(AgentLimitError) as caught:
        ask("langchain", agent)
    assert (caught.value.limit, caught.value.allowed) == ("deadline", 0.2)
    assert str(caught.value) == "The run was ended after 0.2 seconds; limits.deadline allows no more."


def test_a_tool_that_is_late_ends_a_langchain_run_at_its_deadline(gate: Gate) -> None:
    model = ScriptedChatModel([[("slow", {"order": "A1"})], "done"])
    agent = limited(deadline=0.3).to_langchain(model=model, tools={"lookup": gate.slow})
    with pytest.raises(AgentLimitError, match=r"after 0\.3 seconds"):
        ask("langchain", agent)
    assert len(model.requests) == 1


async def test_a_late_model_or_tool_ends_an_asynchronous_langchain_run_too(gate: Gate) -> None:
    question = {"messages": [HumanMessage("Please help.")]}
    agent = limited(deadline=0.2).to_langchain(model=ScriptedChatModel([gate.answer]), tools={"lookup": lookup})
    with pytest.raises(AgentLimitError):
        await agent.ainvoke(question)

    async def slow(order: str) -> str:
        """Look up an order, slowly."""
        await asyncio.sleep(30)
        return order

    model = ScriptedChatModel([[("slow", {"order": "A1"})], "done"])
    agent = limited(deadline=0.3).to_langchain(model=model, tools={"lookup": slow})
    with pytest.raises(AgentLimitError):
        await agent.ainvoke(question)
    assert len(model.requests) == 1


def test_time_that_passes_between_two_calls_counts(gate: Gate) -> None:
    class Dawdle(AgentMiddleware):
        def after_model(self, state: Any, runtime: Any) -> None:
            assert not gate.open.wait(0.3)

    model = ScriptedChatModel([CALL, "done"])
    agent = limited(deadline=0.2).to_langchain(model=model, tools={"lookup": lookup}, middleware=[Dawdle()])
    with pytest.raises(AgentLimitError):
        ask("langchain", agent)
    assert len(model.requests) == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_in_time_and_its_failures_are_as_without_a_deadline(framework: str) -> None:
    def broken(order: str) -> str:
        """Look up an order."""
        raise TimeoutError("the database does not answer")

    config = limited(deadline=60)
    assert RUN[framework](config, [CALL, "done"], tools={"lookup": lookup}).answer == "done"
    with pytest.raises(Exception, match="no model") as caught:
        RUN[framework](config, [TimeoutError("no model")], tools={"lookup": lookup})
    assert not isinstance(caught.value, SkillError)
    if framework == "langchain":
        with pytest.raises(TimeoutError, match="does not answer"):
            run_langchain(config, [[("broken", {"order": "A1"})], "done"], tools={"lookup": broken})
        model = ScriptedChatModel([TimeoutError("no model")])
        agent = config.to_langchain(model=model, tools={"lookup": lookup})
        with pytest.raises(TimeoutError, match="no model"):
            asyncio.run(agent.ainvoke({"messages": [HumanMessage("Please help.")]}))


class SlowLLM(ScriptedLLM):
    """Answers after a time that no test waits for."""

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(30)
        return await super().astream_chat(messages, **kwargs)


def test_a_late_model_or_tool_ends_a_llama_index_run_at_its_deadline() -> None:
    agent = limited(deadline=0.2).to_llama_index(model=SlowLLM(["done"]), tools={"lookup": lookup})
    with pytest.raises(AgentLimitError) as caught:
        ask("llama-index", agent)
    assert (caught.value.limit, caught.value.allowed) == ("deadline", 0.2)

    async def slow(order: str) -> str:
        """Look up an order, slowly."""
        await asyncio.sleep(30)
        return order

    model = ScriptedLLM([[("slow", {"order": "A1"})], "done"])
    agent = limited(deadline=0.3).to_llama_index(model=model, tools={"lookup": slow})
    with pytest.raises(AgentLimitError):
        ask("llama-index", agent)
    assert len(model.requests) == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_catalog_fits_its_tokens_and_can_be_searched_when_it_is_cut(clerk: AgentConfig, hub: Hub, framework: str) -> None:
    config = parse_agents(text_of(hub, "limits: {catalog_tokens: 60}"), path=clerk.folder / "agents.yaml")["clerk"]
    run = RUN[framework](config, [[("search_skills", {"query": "IBAN"})], "done"])
    system = str(run.requests[0].system)
    catalog = config.open_skills().router.catalog()
    assert catalog.tokens <= 60
    assert catalog.truncated
    assert catalog.text in system
    assert "search_skills" in run.requests[0].tools
    assert "Checks IBAN numbers." in run.requests[1].results[0]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_skill_may_put_into_a_message_is_bounded(clerk: AgentConfig, hub: Hub, framework: str) -> None:
    page = [[("read_skill_resource", {"name": "csv", "path": "references/rules.md"})], "done"]
    for limits, size in (("output_bytes: 1024", 1024), ("resource_bytes: 100", 400)):
        config = parse_agents(text_of(hub, f"limits: {{{limits}}}"), path=clerk.folder / "agents.yaml")["clerk"]
        (result,) = RUN[framework](config, page).requests[-1].results
        assert len(result.encode()) <= size
        assert "of 1300 bytes shown" in result
    (result,) = RUN[framework](clerk, page).requests[-1].results
    assert "bytes shown" not in result
    router = config.open_skills().router
    assert len(router.read("csv", "references/rules.md").data) == 100


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    for name in ("OPENAI_API_BASE", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        yield server


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_model_is_the_one_of_the_file_with_its_options(clerk: AgentConfig, hub: Hub, provider: OpenAIServer, framework: str) -> None:
    lines = ("provider: openai", "model: gpt-4o-mini", "options: {temperature: 0.25, top_p: 0.5, max_tokens: 321, seed: 7, timeout: 9, max_retries: 0}")
    config = parse_agents(text_of(hub, *lines), path=clerk.folder / "agents.yaml")["clerk"]
    answer = ask(framework, build(framework, config), **({"user_msg": "IBAN"} if framework == "llama-index" else {}))
    assert answer.startswith("[offline rule-based model")  # whose rules answer at the other end of the wire
    request = provider.requests[0]
    assert (request["model"], request["temperature"], request["top_p"], request["seed"]) == ("gpt-4o-mini", 0.25, 0.5, 7)
    assert request.get("max_tokens", request.get("max_completion_tokens")) == 321
    assert "Checks IBAN numbers." in json.dumps(request["messages"][0])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_host_may_take_another_model_by_name_or_as_an_object(provider: OpenAIServer, framework: str) -> None:
    config = parse_agents("agents: {clerk: {provider: openai, model: other, options: {seed: 3}}}")["clerk"]
    ask(framework, build(framework, config, model="openai:gpt-4o-mini"))
    assert (provider.requests[0]["model"], provider.requests[0]["seed"]) == ("gpt-4o-mini", 3)
    assert ask(framework, build(framework, config, model="offline")).startswith("[offline rule-based model")
    assert RUN[framework](config, ["scripted"]).answer == "scripted"
    with pytest.raises(AgentConfigError, match="'gpt' is not a model; give provider:name, such as openai:gpt-4o-mini."):
        build(framework, config, model="gpt")


def test_the_offline_model_is_the_one_when_nothing_is_said() -> None:
    assert isinstance(langchain_model("offline"), OfflineChatModel)
    assert isinstance(llama_index_model("offline"), OfflineLLM)
    for framework in FRAMEWORKS:
        assert ask(framework, build(framework, AgentConfig(name="a"))).startswith("[offline rule-based model, no LLM]")


@pytest.mark.parametrize(
    ("framework", "provider_", "said"),
    [
        ("langchain", "mistralai", "LangChain needs a package for 'mistralai' models; install it with: pip install langchain-mistralai"),
        ("llama-index", "mistralai", "LlamaIndex needs a package for 'mistralai' models; install it with: pip install llama-index-llms-mistralai"),
        ("langchain", "nonsense", "LangChain does not know this provider. "),
    ],
)  # fmt: skip
def test_a_provider_that_is_not_there_is_named_with_its_line(framework: str, provider_: str, said: str) -> None:
    config = parse_agents(f"agents:\n  clerk:\n    provider: {provider_}\n    model: x\n")["clerk"]
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config)
    assert str(caught.value).startswith(f"agents.yaml:3:15: agents.clerk.provider: {said}")


def test_an_option_that_a_class_of_llama_index_does_not_take_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("llama_index.llms.somewhere")
    module.Somewhere = type("Somewhere", (OfflineLLM,), {"__module__": module.__name__})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    config = parse_agents("agents:\n  clerk:\n    provider: somewhere\n    model: x\n    options: {max_tokens: 3}\n")
    with pytest.raises(AgentConfigError) as caught:
        config["clerk"].to_llama_index()
    assert str(caught.value) == (
        "agents.yaml:3:15: agents.clerk.provider: The class Somewhere of LlamaIndex takes no option 'max_tokens'; "
        "leave it out."
    )


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [("to_langchain", "langchain.agents", "langchain"), ("to_llama_index", "llama_index.core.agent.workflow", "llama-index")],
)
def test_a_missing_framework_names_its_extra(monkeypatch: pytest.MonkeyPatch, method: str, module: str, extra: str) -> None:
    ours = f"skillbelt.agents.{extra.replace('-', '_')}"
    monkeypatch.delitem(sys.modules, ours, raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "skillbelt\[{extra}\]"'):
        getattr(AgentConfig(name="a"), method)()
    monkeypatch.delitem(sys.modules, ours, raising=False)


# --- registries -------------------------------------------------------------------------------------------------------


def agents_of(registries: str, *references: str) -> AgentConfig:
    skills = "".join(f"      - {reference}\n" for reference in references)
    return parse_agents(f"registries: {registries}\nagents:\n  clerk:\n    skills:\n{skills}")["clerk"]


def test_the_key_of_a_registry_comes_from_the_environment(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_registry(hub.folder / "packages", read_key="read-key") as url:
        config = agents_of(f"{{hub: {{url: '{url}', allow_private: true, api_key_env: HUB_KEY}}}}", "hub:acme/csv")
        monkeypatch.setenv("HUB_KEY", "read-key")
        assert [skill.name for skill in config.open_skills().loaded] == ["csv"]
        monkeypatch.setenv("HUB_KEY", "wrong-key")
        with pytest.raises(AuthenticationRequiredError) as caught:
            config.open_skills()
        assert str(caught.value).startswith("agents.yaml:5:9: agents.clerk.skills[0]: ")
        assert "wrong-key" not in str(caught.value)
        monkeypatch.delenv("HUB_KEY")
        with pytest.raises(AgentConfigError) as refused:
            config.open_skills()
        assert str(refused.value).endswith(
            "registries.hub.api_key_env: The environment variable HUB_KEY is not set; set it to the key of this registry."
        )
        assert str(refused.value).startswith("agents.yaml:1:")


def test_only_registries_that_a_reference_leads_to_are_set_up(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTHER_KEY", raising=False)
    registries = f"{{hub: {{url: '{hub.url}', allow_private: true, default: true}}, other: {{api_key_env: OTHER_KEY}}}}"
    assert [skill.name for skill in agents_of(registries, "hub:acme/csv").open_skills().loaded] == ["csv"]
    assert [skill.name for skill in agents_of(registries, "registry:acme/csv").open_skills().loaded] == ["csv"]
    with pytest.raises(AgentConfigError, match="OTHER_KEY is not set"):
        agents_of(registries, "other:acme/csv").open_skills()
    with pytest.raises(AgentConfigError, match="OTHER_KEY is not set"):
        agents_of(registries, f"ID:{hub.iban}").open_skills()


def test_a_registry_on_a_private_address_must_be_allowed(hub: Hub) -> None:
    url = hub.url.replace("http:", "https:")
    with pytest.raises(RegistryNetworkError) as caught:
        agents_of(f"{{hub: {{url: '{url}'}}}}", "hub:acme/csv").open_skills()
    assert str(caught.value).startswith("agents.yaml:1:25: registries.hub.url: ")
    assert "allow_private" in str(caught.value)
    with pytest.raises(RegistryNetworkError, match=r"^agents\.yaml:1:25: registries\.hub\.url: "):
        agents_of("{hub: {url: 'http://skills.example.com', allow_private: true}}", "hub:acme/csv").open_skills()


def test_a_reference_without_a_registry_to_ask_is_refused_with_its_line(hub: Hub) -> None:
    two = f"{{a: {{url: '{hub.url}', allow_private: true}}, b: {{}}}}"
    with pytest.raises(AgentConfigError) as caught:
        agents_of(two, "registry:acme/csv").open_skills()
    assert str(caught.value) == (
        "agents.yaml:5:9: agents.clerk.skills[0]: This means the default registry, and the file has none; "
        "give one 'default: true' in registries."
    )
    with pytest.raises(AgentConfigError) as caught:
        agents_of("", f"ID:{hub.iban}").open_skills()
    assert str(caught.value) == (
        "agents.yaml:5:9: agents.clerk.skills[0]: This names no registry, and the file has none to look in; "
        "add one to registries."
    )


def test_the_host_may_pass_registries_of_its_own(hub: Hub) -> None:
    config = agents_of("", "registry:acme/csv", f"ID:{hub.iban}")
    client = RegistryClient(hub.url, allow_private=True)
    assert [skill.name for skill in config.open_skills(registries=client).loaded] == ["csv", "iban"]


# --- with other parts -------------------------------------------------------------------------------------------------


def test_options_of_create_agent_reach_it_and_the_limits_stand_before_other_middlewares(clerk: AgentConfig) -> None:
    seen: list[Any] = []

    class Watch(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append(request)
            return handler(request)

    saver = InMemorySaver()
    model = ScriptedChatModel(["done"])
    agent = clerk.to_langchain(model=model, middleware=[Watch()], tools={"x": lookup}, checkpointer=saver, name="clerk")
    ask("langchain", agent, config={"configurable": {"thread_id": "1"}})
    assert agent.name == "clerk"
    assert saver.get({"configurable": {"thread_id": "1"}}) is not None
    assert seen[0].system_message.text == CLERK  # the skills are added after everybody else had a look


def test_two_agents_of_a_file_work_in_one_workflow(clerk: AgentConfig, hub: Hub) -> None:
    text = text_of(hub, "description: Checks numbers.") + "\n  front: {description: Talks to people.}\n"
    agents = parse_agents(text, path=clerk.folder / "agents.yaml")
    front = agents["front"].to_llama_index(
        model=ScriptedLLM([[("handoff", {"to_agent": "clerk", "reason": "a number"})]]), can_handoff_to=["clerk"]
    )
    llm = ScriptedLLM([[("load_skill", {"name": "iban"})], "done"])
    back = agents["clerk"].to_llama_index(model=llm)
    assert (back.name, back.description, front.description) == ("clerk", "Checks numbers.", "Talks to people.")

    async def run() -> str:
        return str(await AgentWorkflow(agents=[front, back], root_agent="front").run("Check my IBAN"))

    assert asyncio.run(run()) == "done"
    assert "1. Modulo 97." in _llama_sent(llm.requests[-1]).results[-1]


def test_skills_that_the_host_made_itself_can_be_given_to_an_agent() -> None:
    source = MappingSource({"own/SKILL.md": "---\nname: own\ndescription: Is the host's own.\n---\nBegin.\n"})
    skills = AgentSkills(SkillRouter(source), (LoadedSkill("own", "made here", "", None, ""),))
    for framework in FRAMEWORKS:
        run = RUN[framework](AgentConfig(name="a"), ["done"], skills=skills)
        assert "Is the host's own." in str(run.requests[0].system)
        assert loaded_skills(run.agent)[0].reference == "made here"


def test_an_agent_that_was_written_in_python_has_no_lines_but_the_same_failures(tmp_path: Path) -> None:
    config = AgentConfig(name="clerk", skills=(PackageReference.parse("local:./nowhere"),), folder=tmp_path)
    with pytest.raises(PackageNotFoundError, match=r"^agents\.clerk\.skills\[0\]: The reference 'local:./nowhere'"):
        config.to_langchain()


def test_wording_and_other_options_of_the_router_are_the_hosts(clerk: AgentConfig) -> None:
    class Short(Renderer):
        def prompt(self, catalog: Any, **_: Any) -> str:
            return f"You have: {', '.join(catalog.shown)}."

    skills = clerk.open_skills(renderer=Short(), pinned=["mail"])
    for framework in FRAMEWORKS:
        system = RUN[framework](clerk, ["done"], skills=skills).requests[0].system
        assert system == f"{CLERK}\n\nYou have: csv, iban, mail, pdf."
