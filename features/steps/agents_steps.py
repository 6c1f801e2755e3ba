"""Steps about agents: the same story through both frameworks, judged by what the model was sent."""

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field

from behave import given, then, when
from kit import attempt, source_of, watching
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult

from skillbelt import SkillRouter, langchain, llama_index
from skillbelt.testing import ScriptedChatModel, ScriptedLLM

CLERK = "You are a clerk."


@dataclass
class Sent:
    """One request a model received, without the words of its framework."""

    system: str | None
    tools: dict
    said: list  # the texts of all other messages
    results: list  # the texts of tool results
    raw: object = None


@dataclass
class Run:
    answer: str
    requests: list[Sent]
    failed: list[bool] = field(default_factory=list)  # for each tool call, whether it was told as an error

    @property
    def results(self):
        return self.requests[-1].results


def run_langchain(router, steps, *, prompt=CLERK):
    model = ScriptedChatModel(steps=steps)
    extra = {} if router is None else {"middleware": [langchain.SkillsMiddleware(router)]}
    agent = create_agent(model, system_prompt=prompt, **extra)
    out = agent.invoke({"messages": [HumanMessage("Please help.", id="question")]})
    requests = []
    for request in model.requests:
        system = [m.text for m in request.messages if isinstance(m, SystemMessage)]
        others = [m for m in request.messages if not isinstance(m, SystemMessage)]
        results = [m.text for m in others if isinstance(m, ToolMessage)]
        tools = {tool["function"]["name"]: tool["function"] for tool in request.tools}
        texts = [m.text for m in others]
        requests.append(Sent(system[0] if system else None, tools, texts, results, request))
    failed = [m.status == "error" for m in out["messages"] if isinstance(m, ToolMessage)]
    return Run(out["messages"][-1].text, requests, failed)


def run_llama_index(router, steps, *, prompt=CLERK):
    async def run():
        llm = ScriptedLLM(steps=steps)
        tools = [] if router is None else llama_index.skill_tools(router)
        agent = FunctionAgent(tools=tools, system_prompt=prompt if router is None else router.prompt(prompt), llm=llm)
        handler = agent.run("Please help.")
        outputs = [e.tool_output async for e in handler.stream_events() if isinstance(e, ToolCallResult)]
        return llm, outputs, str(await handler)

    llm, outputs, answer = asyncio.run(run())
    requests = []
    for request in llm.requests:
        system = [m.content for m in request.messages if m.role.value == "system"]
        others = [m for m in request.messages if m.role.value != "system"]
        results = [m.content for m in others if m.role.value == "tool"]
        tools = {tool["function"]["name"]: tool["function"] for tool in request.tools}
        texts = [m.content or "" for m in others]
        raw = ([m.model_dump() for m in request.messages], request.tools)
        requests.append(Sent(system[0] if system else None, tools, texts, results, raw))
    return Run(answer, requests, [output.is_error for output in outputs])


RUNNERS = {"langchain": run_langchain, "llama-index": run_llama_index}


def steps_of(table):
    """One request for each row: a tool call, or the final answer."""
    return [[(row["calls"], json.loads(row["with"]))] if row["calls"] != "answer" else row["with"] for row in table]


# --- running ----------------------------------------------------------------------------------------------------------


@when("a {framework:Framework} agent works with a model that")
def step_run(context, framework):
    context.run_ = RUNNERS[framework](context.router, steps_of(context.table))


@when("a {framework:Framework} agent works with a model that calls {name:w} with {arguments}")
def step_run_one(context, framework, name, arguments):
    context.run_ = RUNNERS[framework](context.router, [[(name, json.loads(arguments))], "done"])


@when("a {framework:Framework} agent without skillbelt is asked the same")
def step_run_plain(context, framework):
    context.plain = RUNNERS[framework](None, ["done"])


@when("agents of both frameworks work with a model that")
def step_run_both(context):
    context.both = [run(context.router, steps_of(context.table)) for run in RUNNERS.values()]


# --- what the model was sent ------------------------------------------------------------------------------------------


@then('the agent answers "{answer:Q}"')
def step_answer(context, answer):
    assert context.run_.answer == answer, context.run_.answer


@then("every request begins with the agent's own prompt and the whole catalog, the same bytes each time")
def step_system(context):
    systems = {sent.system for sent in context.run_.requests}
    assert len(systems) == 1, systems
    (system,) = systems
    assert system.startswith(CLERK), system
    assert context.router.catalog().text in system, system
    for summary in context.router.skills():
        assert summary.name in system, system
        assert summary.description in system, system


@then('request {number:d} holds "{text:Q}"')
def step_request_holds(context, number, text):
    sent = context.run_.requests[number - 1]
    assert any(text in said for said in sent.said), sent.said


@then('nothing before request {number:d} holds "{text:Q}"')
def step_request_lacks(context, number, text):
    for sent in context.run_.requests[: number - 1]:
        assert text not in (sent.system or ""), sent.system
        assert not any(text in said for said in sent.said), sent.said


@then("the tools are, with the names of the skills to choose from")
def step_tools(context):
    names = [summary.name for summary in context.router.skills()]
    tools = context.run_.requests[0].tools
    assert list(tools) == [row["tool"] for row in context.table], list(tools)
    for row in context.table:
        parameters = tools[row["tool"]]["parameters"]
        assert parameters["properties"]["name"]["enum"] == names, parameters
        assert parameters["required"] == row["required"].split(), parameters


@then('result {number:d} is the text of activating "{name:Q}"')
def step_result_is_activation(context, number, name):
    assert context.run_.results[number - 1] == context.router.activate(name).text, context.run_.results


@then('result {number:d} holds "{text:Q}"')
def step_result_holds(context, number, text):
    assert text in context.run_.results[number - 1], context.run_.results


@then('result {number:d} does not hold "{text:Q}"')
def step_result_lacks(context, number, text):
    assert text not in context.run_.results[number - 1], context.run_.results


@then('the model is told of an error that says "{text:Q}"')
def step_told(context, text):
    assert context.run_.failed == [True], context.run_
    (result,) = context.run_.results
    assert text in result, result
    assert "Traceback" not in result, result
    assert str(context.folder) not in result, result


@then("no result was an error")
def step_no_error(context):
    assert set(context.run_.failed) == {False}, context.run_


@then("both models were sent the same bytes")
def step_same(context):
    ours, theirs = context.both
    assert ours.answer == theirs.answer, (ours.answer, theirs.answer)
    skills = context.router.prompt()
    for sent in (*ours.requests, *theirs.requests):
        assert sent.system.removeprefix(CLERK).strip() == skills, sent.system
    assert ours.results == theirs.results, (ours.results, theirs.results)
    assert len(ours.results) == len(ours.requests) - 1, ours.results
    assert list(ours.requests[0].tools) == list(theirs.requests[0].tools)
    for name, tool in ours.requests[0].tools.items():
        assert tool["description"] == theirs.requests[0].tools[name]["description"]


@then("its requests are those of an agent without skillbelt")
def step_same_as_plain(context):
    assert [sent.raw for sent in context.run_.requests] == [sent.raw for sent in context.plain.requests]
    assert context.run_.requests[0].system == CLERK
    assert context.run_.requests[0].tools == {}


# --- tools alone ------------------------------------------------------------------------------------------------------


def tool_call(framework, router, name):
    """A tool of a framework as a function and as a coroutine function."""
    if framework == "langchain":
        (tool,) = [tool for tool in langchain.skill_tools(router) if tool.name == name]
        return tool.invoke, tool.ainvoke
    (tool,) = [tool for tool in llama_index.skill_tools(router) if tool.metadata.name == name]
    return (lambda given: tool.call(**given)), (lambda given: tool.acall(**given))


@when("the {framework:Framework} tool {name:w} is called with {arguments}")
def step_tool(context, framework, name, arguments):
    sync, _ = tool_call(framework, context.router, name)
    attempt(context, sync, json.loads(arguments))


@given('the catalog of "{folder:Q}" is known to a router')
def step_known_router(context, folder):
    context.router = SkillRouter.from_directory(context.folder / folder)
    assert len(context.router) > 0


class Slow:
    """A source on a disk that takes its time, and fails in the end."""

    def __init__(self, source):
        self._source = source
        self.started = threading.Event()
        self.go_on = threading.Event()

    def list(self):
        return self._source.list()

    def lookup(self, name):
        return self._source.lookup(name)

    def load(self, name):
        self.started.set()
        self.go_on.wait(10)
        raise OSError("the disk fell off the table")

    def resources(self, name):
        return self._source.resources(name)

    def read(self, name, path, *, offset=0, max_bytes=1):
        return self._source.read(name, path, offset=offset, max_bytes=max_bytes)

    def diagnostics(self):
        return ()


@given('a router over "{folder:Q}" on a disk that takes its time and then fails')
def step_slow(context, folder):
    context.slow = Slow(source_of(context, folder))
    context.router = SkillRouter(context.slow)


@when('a {framework:Framework} task that loads "{name:Q}" is cancelled {when_}')
def step_cancel(context, framework, name, when_):
    slow = context.slow
    _, coroutine = tool_call(framework, context.router, "load_skill")

    async def cancel():
        task = asyncio.create_task(coroutine({"name": name}))
        if when_ == "while it waits for the disk":
            assert await asyncio.to_thread(slow.started.wait, 10)
        with watching() as context.seen:
            task.cancel("the user pressed stop")
            start = time.monotonic()
            try:
                context.outcome = await task
            except asyncio.CancelledError as error:
                context.outcome = error
            context.seconds = time.monotonic() - start
        slow.go_on.set()

    asyncio.run(cancel())


@then("the task is cancelled at once, with its cause, and gives no answer")
def step_cancelled(context):
    assert isinstance(context.outcome, asyncio.CancelledError), context.outcome
    assert context.outcome.args == ("the user pressed stop",), context.outcome.args
    assert context.seconds < 1, context.seconds


@then("nothing was asked of the disk")
def step_nothing_asked(context):
    assert not context.slow.started.is_set()
    assert context.seen.nothing, context.seen.events
