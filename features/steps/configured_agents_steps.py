"""Steps about agents of an agents.yaml: packages from a registry on loopback, both frameworks, captured requests."""

import asyncio
import json
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from behave import given, then, when
from files_steps import put, put_skill
from kit import attempt, got
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from llama_index.core.agent.workflow import FunctionAgent

from skillbelt.agents import OneToolRenderer, load_agents, loaded_skills, one_tool
from skillbelt.events import PackageLoaded
from skillbelt.langchain.tools import structured_tool
from skillbelt.llama_index import SkillFunctionTool
from skillbelt.packages import pack
from skillbelt.packages.client import RegistryClient
from skillbelt.testing import ScriptedChatModel, ScriptedLLM

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from registry_loopback import running_registry

CLERK = "You are a clerk."
KEY = "publish-key"


# --- a registry and a file --------------------------------------------------------------------------------------------


@given("a registry with the skills")
def step_registry(context):
    registry = running_registry(context.folder / "registry", publish_key=KEY)
    context.hub = registry.__enter__()
    context.add_cleanup(registry.__exit__, None, None, None)
    client = RegistryClient(context.hub, api_key=KEY, allow_private=True)
    context.ids = {}
    for row in context.table:
        place, _, version = row["reference"].partition("@")
        namespace, _, name = place.partition("/")
        folder = f"published/{version}/{name}"
        put_skill(context, folder, name, row["description"], f"{row['body']}\n")
        for path in row["files"].split():
            put(context, f"{folder}/{path}", f"This is {path}.\n")
        packed = pack(context.folder / folder)
        client.publish(packed.document, namespace=namespace, version=version)
        context.ids[place] = str(packed.id)
    context.hub.forget()


def write_agents(context, name, *lines):
    registries = f"registries:\n  hub: {{url: '{context.hub}', allow_private: true}}\nagents:\n  {name}:\n"
    put(
        context,
        "agents.yaml",
        registries + f"    system_prompt: {CLERK}\n" + "".join(f"    {line}\n" for line in lines),
    )


@given('an agents.yaml whose agent "{name:w}" has the skills')
def step_agents(context, name):
    def known(match):
        return context.hub.host if match[1] == "host" else context.ids[match[1]]

    context.typed = [re.sub(r"\{([\w/]+)\}", known, row["reference"]) for row in context.table]
    write_agents(context, name, "skills:", *(f"  - {reference}" for reference in context.typed))


@given('an agents.yaml whose agent "{name:w}" has no skills')
def step_agents_without(context, name):
    write_agents(context, name, "type: llm")


@when("the agents.yaml is loaded")
def step_load(context):
    attempt(context, load_agents, context.folder / "agents.yaml")


# --- both frameworks --------------------------------------------------------------------------------------------------


@dataclass
class Talk:
    """What a model was sent and what came of it."""

    framework: str
    model: object
    agent: object = None
    events: list = field(default_factory=list)

    def ask(self):
        if self.framework == "langchain":
            return self.agent.invoke({"messages": [HumanMessage("Please help.", id="question")]})["messages"][-1].text

        async def run():
            return str(await self.agent.run("Please help."))

        return asyncio.run(run())

    def messages(self, number):
        """The messages of a request as pairs of who and what."""
        sent = self.model.requests[number].messages
        if self.framework == "langchain":
            return [(message.type, message.text) for message in sent]
        return [(message.role.value, message.content or "") for message in sent]

    def system(self, number):
        return "\n".join(text for who, text in self.messages(number) if who == "system")

    def text(self, number):
        return "\n".join(text for _, text in self.messages(number))

    def results(self):
        return [text for who, text in self.messages(-1) if who == "tool"]

    def raw(self):
        """Every byte of every request."""
        return json.dumps(
            [
                [[message.model_dump(exclude={"id"}) for message in request.messages], request.tools]
                for request in self.model.requests
            ]
        )


def model_of(framework, steps):
    return ScriptedChatModel(steps) if framework == "langchain" else ScriptedLLM(steps)


def build(context, framework, name, steps):
    """Build the agent as its framework has it, with a model that says what was written down."""
    talk = context.talk = Talk(framework, model_of(framework, steps))
    config = load_agents(context.folder / "agents.yaml")[name]
    skills = config.open_skills(on_event=talk.events.append)
    make = config.to_langchain if framework == "langchain" else config.to_llama_index
    talk.agent = make(model=talk.model, skills=skills)
    return talk


def steps_of(table):
    return [*([(row["calls"], json.loads(row["with"]))] for row in table), "done"]


@when('the {framework:Framework} agent "{name:w}" is built')
def step_build(context, framework, name):
    attempt(context, build, context, framework, name, [])


@when('the {framework:Framework} agent "{name:w}" works with a model that loads "{skill:Q}"')
def step_loads(context, framework, name, skill):
    build(context, framework, name, [[("load_skill", {"name": skill})], "done"]).ask()


@when('the {framework:Framework} agent "{name:w}" works with a model that answers at once')
def step_answers(context, framework, name):
    build(context, framework, name, ["done"]).ask()


@when('the built agent works with a model that loads "{skill:Q}"')
def step_built_loads(context, skill):
    built_works(context, [[("load_skill", {"name": skill})], "done"])


@when("the built agent works with a model that")
def step_built_works(context):
    built_works(context, steps_of(context.table))


def built_works(context, steps):
    """Let an agent that was built before say something: its model has a script, and takes what is added to it."""
    talk = got(context)
    context.hub.forget()
    talk.model._script._steps.extend(steps)
    talk.ask()


@when('the {framework:Framework} agent "{name:w}" works, watched, with a model that')
def step_watched(context, framework, name):
    talk = build(context, framework, name, steps_of(context.table))
    with processes() as context.started:
        talk.ask()


@when('the {framework:Framework} agent "{name:w}" is built by the one-tool recipe and works with a model that')
def step_one_tool(context, framework, name):
    talk = context.talk = Talk(framework, model_of(framework, steps_of(context.table)))
    config = load_agents(context.folder / "agents.yaml")[name]
    router = config.open_skills(renderer=OneToolRenderer()).router
    prompt = router.prompt(config.system_prompt)
    if framework == "langchain":
        tools = [structured_tool(spec) for spec in one_tool(router)]
        talk.agent = create_agent(talk.model, tools=tools, system_prompt=prompt)
    else:
        tools = [SkillFunctionTool(spec) for spec in one_tool(router)]
        talk.agent = FunctionAgent(tools=tools, system_prompt=prompt, llm=talk.model)
    talk.ask()


@when("a {framework:Framework} agent that skillbelt did not make works with the same model")
def step_plain(context, framework):
    plain = context.plain = Talk(framework, model_of(framework, ["done"]))
    if framework == "langchain":
        plain.agent = create_agent(plain.model, system_prompt=CLERK)
    else:
        plain.agent = FunctionAgent(system_prompt=CLERK, llm=plain.model)
    plain.ask()


# --- what the model was sent ------------------------------------------------------------------------------------------


def entry(skill, description):
    return f'<skill name="{skill}">{description}</skill>'


@then('its first request names "{skill:Q}" with "{description:Q}"')
def step_names(context, skill, description):
    assert entry(skill, description) in context.talk.system(0), context.talk.system(0)


@then('each request begins with "{prompt:Q}" and names, the same bytes each time')
def step_each(context, prompt):
    systems = {context.talk.system(number) for number in range(len(context.talk.model.requests))}
    assert len(systems) == 1, systems
    (system,) = systems
    assert system.startswith(prompt), system
    for row in context.table:
        assert entry(row["skill"], row["description"]) in system, system


@then('its {which:w} request holds "{text:Q}"')
def step_holds(context, which, text):
    assert text in context.talk.text({"first": 0, "last": -1}[which]), context.talk.text(-1)


@then('its {which:w} request does not hold "{text:Q}"')
def step_lacks(context, which, text):
    assert text not in context.talk.text({"first": 0, "last": -1}[which]), context.talk.text(-1)


@then('its tools are "{names:Q}"')
def step_tools(context, names):
    assert ", ".join(context.talk.model.requests[0].tool_names) == names, context.talk.model.requests[0].tool_names


@then('the tool "{name:Q}" takes "{required:Q}" and perhaps "{optional:Q}"')
def step_takes(context, name, required, optional):
    (tool,) = [tool["function"] for tool in context.talk.model.requests[0].tools if tool["function"]["name"] == name]
    assert list(tool["parameters"]["properties"]) == [required, optional], tool
    assert tool["parameters"]["required"] == [required], tool


@then('result {number:d} of the agent holds "{text:Q}"')
def step_result(context, number, text):
    assert text in context.talk.results()[number - 1], context.talk.results()


@then("result {number:d} of the agent is")
def step_result_is(context, number):
    assert context.talk.results()[number - 1] == context.text, context.talk.results()


@then("both sent the same bytes")
def step_same_bytes(context):
    assert context.talk.raw() == context.plain.raw()
    assert context.talk.messages(0)[0] == ("system", CLERK), context.talk.messages(0)


# --- what was asked, and what is known --------------------------------------------------------------------------------


@then('the registry was asked for "{one:Q}" and "{other:Q}"')
def step_asked(context, one, other):
    got(context)
    asked = [request.partition("?")[0] for request in context.hub.requests if "well-known" not in request]
    assert asked == [f"GET /skill/{one}", f"GET /skill/{other}"], asked


@then("the registry was asked for nothing")
def step_not_asked(context):
    assert context.hub.requests == [], context.hub.requests


@then("the message mentions the reference as it was typed")
def step_as_typed(context):
    assert context.error.original_reference == context.typed[-1], context.error.original_reference
    assert context.typed[-1] in str(context.error), str(context.error)


@then("no model was asked")
def step_no_model(context):
    assert context.talk.model.requests == []


@then("its metadata lists, each with the id and the integrity of its package")
def step_metadata(context):
    skills = loaded_skills(got(context).agent)
    assert [(s.name, s.reference, s.version or "") for s in skills] == [
        (row["name"], reference, row["version"]) for row, reference in zip(context.table, context.typed, strict=True)
    ], skills
    folders = {"mail-sorter": "skills/mail-sorter", "pdf": "published/v1.2.0/pdf", "iban": "published/v0.1.0/iban"}
    for skill in skills:
        packed = pack(context.folder / folders[skill.name])
        assert (skill.id, skill.integrity) == (str(packed.id), packed.integrity), skill


@then("an event told of each of them")
def step_events(context):
    told = [event.reference for event in context.talk.events if isinstance(event, PackageLoaded)]
    assert told == context.typed, told


# --- processes --------------------------------------------------------------------------------------------------------

_started = None


def _hook(event, args):
    if _started is not None and event in ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system"):
        _started.append(event)


sys.addaudithook(_hook)


@contextmanager
def processes():
    """Record whatever would start a process."""
    global _started
    _started = seen = []
    try:
        yield seen
    finally:
        _started = None


@then("no process was started")
def step_no_process(context):
    assert context.started == [], context.started
