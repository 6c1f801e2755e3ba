"""Agents built from agents.yaml: what their models are sent, what they were built with, and what fails the building."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.tools import FunctionTool

from agents_kit import (
    CLERK,
    FRAMEWORKS,
    Hub,
    agents_of,
    ask,
    beside,
    build,
    clerk,
    hub,
    run,
    run_plain,
    scripted,
    sent,
    text_of,
    told,
)
from registry_loopback import running_registry
from skillbelt import AgentConfigError, MappingSource, Renderer, SkillRouter
from skillbelt.agents import AgentConfig, AgentSkills, LoadedSkill, loaded_skills, parse_agents
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
from skillbelt.testing import ScriptedLLM

__all__ = ["clerk", "hub"]  # fixtures

# --- skills by reference ----------------------------------------------------------------------------------------------


@pytest.mark.row("S2-38")
@pytest.mark.row("S2-40")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_skills_of_all_schemes_at_once_are_in_the_prompt_and_are_loaded_when_the_model_asks(
    clerk: AgentConfig, framework: str
) -> None:
    steps: list[Any] = [[("load_skill", {"name": name})] for name in ("mail", "pdf", "csv", "iban")]
    steps.append([("read_skill_resource", {"name": "csv", "path": "references/rules.md"})])
    done = run(framework, clerk, [*steps, "done"])
    assert done.answer == "done"
    first, last = done.requests[0], done.requests[-1]
    assert first.system is not None
    assert first.system.startswith(CLERK)
    for line in (
        '<skill name="csv">Checks CSV tables.</skill>',
        '<skill name="iban">Checks IBAN numbers.</skill>',
        '<skill name="mail">Sorts mail by sender.</skill>',
        '<skill name="pdf">Fills PDF forms &amp; merges pages.</skill>',
    ):
        assert line in first.system
    assert {request.system for request in done.requests} == {first.system}
    bodies = ["1. Open the inbox.", "1. Fill it.", "Read references/rules.md.", "1. Modulo 97."]
    assert not any(body in first.system for body in bodies)
    assert first.results == []
    for result, body in zip(last.results, bodies, strict=False):
        assert body in result
    assert "Commas only." in last.results[4]
    assert first.tools["load_skill"]["parameters"]["properties"]["name"]["enum"] == ["csv", "iban", "mail", "pdf"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_host_of_a_registry_can_be_written_out_and_a_package_named_twice(
    clerk: AgentConfig, hub: Hub, framework: str
) -> None:
    text = text_of(hub).replace("local:./skills/mail", f"{hub.url.host}:acme/csv@v2.0.0")
    agent = build(framework, beside(clerk, text))
    assert [(skill.name, skill.version) for skill in loaded_skills(agent)] == [
        ("csv", "v2.0.0"),
        ("pdf", "v1.2.0"),
        ("csv", "v2.0.0"),
        ("iban", None),
    ]


@pytest.mark.row("S2-39")
@pytest.mark.row("S2-42")
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
    shutil.rmtree(clerk.folder / "skills")
    hub.url.forget()
    steps = [[("load_skill", {"name": "mail"})], [("load_skill", {"name": "pdf"})], "done"]
    done = run(framework, clerk, steps, skills=skills)
    assert "1. Open the inbox." in done.requests[-1].results[0]
    assert "1. Fill it." in done.requests[-1].results[1]
    assert hub.url.requests == []
    assert loaded_skills(done.agent) == skills.loaded


LOST = [
    ("acme/pdf@v1.x", "acme/pfd", PackageNotFoundError, "8:9: agents.clerk.skills[1]: "),
    ("acme/csv", "acme/csv@v9.9.9", VersionNotFoundError, "9:9: agents.clerk.skills[2]: "),
    ("skills/mail", "skills/male", PackageNotFoundError, "7:9: agents.clerk.skills[0]: "),
    ("./skills/mail", "./skills", PackageNotFoundError, "7:9: agents.clerk.skills[0]: "),
    ("./skills/mail", "./skills/bad", PackageValidationError, "7:9: agents.clerk.skills[0]: "),
    ("ID:", "ID:pkg_skl_" + "0" * 40 + " # ", PackageNotFoundError, "10:9: agents.clerk.skills[3]: "),
    ("hub:acme", "no.such.host.invalid:acme", RegistryNetworkError, "9:9: agents.clerk.skills[2]: "),
]


@pytest.mark.row("S2-09")
@pytest.mark.row("S2-39")
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("old", "new", "error", "where"), LOST, ids=[new for _, new, _, _ in LOST])
def test_a_package_that_cannot_be_had_fails_the_building_with_reference_and_line(
    clerk: AgentConfig, hub: Hub, framework: str, old: str, new: str, error: type[Exception], where: str
) -> None:
    (clerk.folder / "skills/bad").mkdir()
    (clerk.folder / "skills/bad/SKILL.md").write_text("---\nname: bad\n---\nNo description.\n")
    text = text_of(hub).replace(old, new)
    model = scripted(framework, [])
    with pytest.raises(error) as caught:
        build(framework, beside(clerk, text), model=model)
    assert told(caught).startswith(f"agents.yaml:{where}")
    assert "\n" not in str(caught.value)
    reference = str(caught.value.original_reference)
    assert reference in text
    assert reference in str(caught.value)
    assert model.requests == []


@pytest.mark.row("S2-39")
def test_every_reference_that_fails_is_named_with_its_line(clerk: AgentConfig, hub: Hub) -> None:
    text = text_of(hub).replace("acme/pdf@v1.x", "acme/pfd").replace("skills/mail", "skills/male")
    with pytest.raises(PackageNotFoundError) as caught:
        beside(clerk, text).to_langchain()
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
    ask("langchain", chain, "Fill in this PDF form", config={"callbacks": [seen]})
    assert [skill["name"] for skill in seen.metadata["skills"]] == ["mail", "pdf", "csv", "iban"]
    assert [e.name for e in events if isinstance(e, SkillActivated)] == ["pdf"]


def test_what_has_no_skills_has_none_loaded() -> None:
    assert loaded_skills(AgentConfig(name="a").to_langchain()) == ()
    assert loaded_skills(AgentConfig(name="a").to_llama_index()) == ()
    assert loaded_skills(object()) == ()


@pytest.mark.row("S2-44")
@pytest.mark.row("S2-45")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_scripts_are_text_no_tool_runs_one_and_the_model_is_told(clerk: AgentConfig, framework: str) -> None:
    steps = [
        [("load_skill", {"name": "csv"})],
        [("read_skill_resource", {"name": "csv", "path": "scripts/run.py"})],
        [("run_skill_script", {"name": "csv", "path": "scripts/run.py"})],
        "done",
    ]
    done = run(framework, clerk, steps)
    assert list(done.requests[0].tools) == ["load_skill", "read_skill_resource"]
    assert "nothing here runs them" in str(done.requests[0].system)
    assert "sandbox" not in str(done.requests[0].system)
    _, script, refused = done.requests[-1].results
    assert "raise SystemExit(1)" in script
    assert "run_skill_script" in refused
    assert "not" in refused


@pytest.mark.row("S2-31")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_warm_cache_builds_an_agent_without_a_request(
    clerk: AgentConfig, hub: Hub, framework: str, tmp_path: Path
) -> None:
    cold = clerk.open_skills(cache=RegistryCache(tmp_path / "cache"))
    hub.url.forget()
    warm = clerk.open_skills(cache=RegistryCache(tmp_path / "cache"))
    assert hub.url.requests == []
    assert warm.loaded == cold.loaded
    assert loaded_skills(build(framework, clerk, skills=warm)) == cold.loaded


def test_two_packages_of_one_name_are_refused_unless_the_host_lets_the_first_win(clerk: AgentConfig, hub: Hub) -> None:
    config = beside(clerk, text_of(hub).replace("local:./skills/mail", "registry:acme/pdf@v1.0.0"))
    with pytest.raises(AgentConfigError) as caught:
        config.open_skills()
    assert told(caught) == (
        "agents.yaml:8:9: agents.clerk.skills[1]: This leads to a skill 'pdf', as registry:acme/pdf@v1.0.0 does; "
        "an agent has one skill of a name."
    )
    router = config.open_skills(on_collision="first").router
    assert router is not None
    assert "# Old PDF" in router.activate("pdf").text


# --- no skills --------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-50")
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("prompt", [CLERK, None])
def test_without_skills_the_agent_sends_what_one_without_skillbelt_sends(framework: str, prompt: str | None) -> None:
    def add(one: int, two: int) -> int:
        """Add two numbers."""
        return one + two

    def plain(model: Any) -> Any:
        if framework == "langchain":
            return create_agent(model, tools=[add], system_prompt=prompt)
        return FunctionAgent(tools=[add], system_prompt=prompt, llm=model)

    steps = [[("add", {"one": 1, "two": 2})], "three"]
    config = AgentConfig(name="clerk", system_prompt=prompt, tools=("add",))
    ours = run(framework, config, steps, tools={"add": add})
    theirs = run_plain(framework, steps, plain)
    assert [json.dumps(one.raw) for one in ours.requests] == [json.dumps(one.raw) for one in theirs.requests]
    assert ours.requests[0].system == prompt
    if framework == "langchain":
        assert ours.agent.config.get("metadata") == theirs.agent.config.get("metadata")


@pytest.mark.row("S2-50")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_place_for_skills_in_a_prompt_is_filled_with_them_or_with_nothing(
    clerk: AgentConfig, hub: Hub, framework: str
) -> None:
    config = beside(clerk, text_of(hub).replace(CLERK, "'Before. {skills} After.'"))
    system = str(run(framework, config, ["done"]).requests[0].system)
    assert system.startswith("Before. ## Skills")
    assert system.endswith("</available_skills> After.")
    bare = AgentConfig(name="clerk", system_prompt="Before. {skills}After.")
    assert run(framework, bare, ["done"]).requests[0].system == "Before. After."


def test_an_agent_without_a_prompt_is_sent_the_skills_alone(clerk: AgentConfig, hub: Hub) -> None:
    config = beside(clerk, text_of(hub).replace(f"system_prompt: {CLERK}", ""))
    chain, llama = (run(framework, config, ["done"]).requests[0].system for framework in FRAMEWORKS)
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
    made: Any = FunctionTool.from_defaults(lookup, name="find")
    if framework == "langchain":
        made = langchain_tool("find")(lookup)
    done = run(
        framework,
        with_tools("orders", "lookup"),
        [[("find", {"order": "A1"})], [("lookup", {"order": "B2"})], "done"],
        tools={"lookup": lookup, "orders": made, "unused": lookup},
    )
    assert list(done.requests[0].tools) == ["find", "lookup"]
    assert done.requests[-1].results == ["A1 is on its way.", "B2 is on its way."]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_tools_that_are_not_there_are_all_named_with_their_lines(framework: str) -> None:
    config = with_tools("lokup", "zebra", "no_such_module:tool", "json:nothing", "os:getcwd")
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config, tools={"lookup": lookup}, allow_imports=True)
    where = "agents.yaml:3:{}: agents.clerk.tools[{}]: "
    assert str(caught.value).splitlines() == [
        where.format(13, 0) + "The host passes no tool 'lokup'. Did you mean 'lookup'?",
        where.format(22, 1) + "The host passes no tool 'zebra'. Available tools: lookup.",
        where.format(31, 2) + "'no_such_module:tool' cannot be imported (No module named 'no_such_module').",
        where.format(54, 3) + "'json:nothing' cannot be imported (module 'json' has no attribute 'nothing').",
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
    done = run(framework, config, [[("lookup", {"order": "A1"})], "done"], allow_imports=True)
    assert done.requests[-1].results == ["A1 is on its way."]
    # What the host passes under such a name is taken without an import.
    done = run(framework, with_tools("no_such_module:x"), ["done"], tools={"no_such_module:x": lookup})
    assert list(done.requests[0].tools) == ["lookup"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_tools_of_one_name_are_refused(clerk: AgentConfig, hub: Hub, framework: str) -> None:
    def load_skill(name: str) -> str:
        """Load something else."""
        return name

    config = beside(clerk, text_of(hub, "tools: [one, two, mine]"))
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config, tools={"one": lookup, "two": lookup, "mine": load_skill})
    assert told(caught).splitlines() == [
        "agents.yaml:11:18: agents.clerk.tools[1]: The model would see two tools called 'lookup': "
        "another one of the agent is called so; rename this one.",
        "agents.yaml:11:23: agents.clerk.tools[2]: The model would see two tools called 'load_skill': "
        "the skills bring a tool of that name; rename this one.",
    ]


# --- registries -------------------------------------------------------------------------------------------------------


def test_the_key_of_a_registry_comes_from_the_environment(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_registry(hub.folder / "packages", read_key="read-key") as url:
        registries = f"{{hub: {{url: '{url}', allow_private: true, api_key_env: HUB_KEY}}}}"
        config = agents_of(registries, "hub:acme/csv")
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
    assert str(refused.value) == (
        f"agents.yaml:1:{registries.index('HUB_KEY') + 13}: registries.hub.api_key_env: The environment variable "
        "HUB_KEY is not set; set it to the key of this registry."
    )


def test_only_registries_that_a_reference_leads_to_are_set_up(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTHER_KEY", raising=False)
    registries = f"{{hub: {{url: '{hub.url}', allow_private: true, default: true}}, other: {{api_key_env: OTHER_KEY}}}}"
    assert [skill.name for skill in agents_of(registries, "hub:acme/csv").open_skills().loaded] == ["csv"]
    assert [skill.name for skill in agents_of(registries, "registry:acme/csv").open_skills().loaded] == ["csv"]
    for reference in ("other:acme/csv", f"ID:{hub.iban}"):
        with pytest.raises(AgentConfigError, match="OTHER_KEY is not set"):
            agents_of(registries, reference).open_skills()


def test_a_registry_on_a_private_address_must_be_allowed(hub: Hub) -> None:
    private = f"{{hub: {{url: '{hub.url.replace('http:', 'https:')}'}}}}"
    with pytest.raises(RegistryNetworkError, match=r"^agents\.yaml:1:25: registries\.hub\.url: .*allow_private"):
        agents_of(private, "hub:acme/csv").open_skills()
    plain = "{hub: {url: 'http://skills.example.com', allow_private: true}}"
    with pytest.raises(RegistryNetworkError, match=r"^agents\.yaml:1:25: registries\.hub\.url: "):
        agents_of(plain, "hub:acme/csv").open_skills()


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


def test_an_id_that_is_cached_needs_no_registry(hub: Hub, tmp_path: Path) -> None:
    cache = RegistryCache(tmp_path / "cache")
    known = agents_of(f"{{hub: {{url: '{hub.url}', allow_private: true}}}}", f"ID:{hub.iban}")
    assert agents_of("", f"ID:{hub.iban}").skills == known.skills
    known.open_skills(cache=cache)
    assert [skill.name for skill in agents_of("", f"ID:{hub.iban}").open_skills(cache=cache).loaded] == ["iban"]


def test_the_host_may_pass_registries_of_its_own(hub: Hub) -> None:
    config = agents_of("", "registry:acme/csv", f"ID:{hub.iban}")
    client = RegistryClient(hub.url, allow_private=True)
    assert [skill.name for skill in config.open_skills(registries=client).loaded] == ["csv", "iban"]


# --- with other parts -------------------------------------------------------------------------------------------------


def test_options_of_create_agent_reach_it_and_skills_are_added_after_every_other_middleware(clerk: AgentConfig) -> None:
    seen: list[Any] = []

    class Watch(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append(request)
            return handler(request)

    saver = InMemorySaver()
    model = scripted("langchain", ["done"])
    agent = clerk.to_langchain(model=model, middleware=[Watch()], checkpointer=saver, name="clerk")
    ask("langchain", agent, config={"configurable": {"thread_id": "1"}})
    assert agent.name == "clerk"
    assert saver.get({"configurable": {"thread_id": "1"}}) is not None
    assert seen[0].system_message.text == CLERK
    assert "Sorts mail by sender." in str(sent("langchain", model.requests[0]).system)


def test_two_agents_of_a_file_work_in_one_workflow(clerk: AgentConfig, hub: Hub) -> None:
    text = text_of(hub, "description: Checks numbers.") + "  front: {description: Talks to people.}\n"
    agents = parse_agents(text, path=clerk.folder / "agents.yaml")
    handoff = ScriptedLLM([[("handoff", {"to_agent": "clerk", "reason": "a number"})]])
    front = agents["front"].to_llama_index(model=handoff, can_handoff_to=["clerk"])
    llm = ScriptedLLM([[("load_skill", {"name": "iban"})], "done"])
    back = agents["clerk"].to_llama_index(model=llm)
    assert (back.name, back.description, front.description) == ("clerk", "Checks numbers.", "Talks to people.")

    async def work() -> str:
        return str(await AgentWorkflow(agents=[front, back], root_agent="front").run("Check my IBAN"))

    assert asyncio.run(work()) == "done"
    assert "1. Modulo 97." in sent("llama-index", llm.requests[-1]).results[-1]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_skills_that_the_host_made_itself_can_be_given_to_an_agent(framework: str) -> None:
    source = MappingSource({"own/SKILL.md": "---\nname: own\ndescription: Is the host's own.\n---\nBegin.\n"})
    skills = AgentSkills(SkillRouter(source), (LoadedSkill("own", "made here", "", None, ""),))
    done = run(framework, AgentConfig(name="a"), ["done"], skills=skills)
    assert "Is the host's own." in str(done.requests[0].system)
    assert loaded_skills(done.agent)[0].reference == "made here"


def test_an_agent_that_was_written_in_python_has_no_lines_but_the_same_failures(tmp_path: Path) -> None:
    config = AgentConfig(name="clerk", skills=(PackageReference.parse("local:./nowhere"),), folder=tmp_path)
    with pytest.raises(PackageNotFoundError, match=r"^agents\.clerk\.skills\[0\]: The reference 'local:./nowhere'"):
        config.to_langchain()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_wording_and_other_options_of_the_router_are_the_hosts(clerk: AgentConfig, framework: str) -> None:
    class Short(Renderer):
        def prompt(self, catalog: Any, **_: Any) -> str:
            return f"You have: {', '.join(catalog.shown)}."

    skills = clerk.open_skills(renderer=Short(), pinned=["mail"])
    system = run(framework, clerk, ["done"], skills=skills).requests[0].system
    assert system == f"{CLERK}\n\nYou have: csv, iban, mail, pdf."
