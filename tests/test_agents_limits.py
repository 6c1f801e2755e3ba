"""The limits and the models of configured agents: each named bound holds in both frameworks."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.workflow import Context

from agents_kit import FRAMEWORKS, Hub, ask, beside, build, clerk, hub, run, scripted, text_of, told, write_skill
from openai_server import OpenAIServer
from skillbelt import AgentConfigError, AgentLimitError, MissingExtraError, SkillError
from skillbelt.agents import AgentConfig, AgentLimits, parse_agents
from skillbelt.agents.models import langchain_model, llama_index_model
from skillbelt.testing import OfflineChatModel, OfflineLLM, ScriptedChatModel, ScriptedLLM

__all__ = ["clerk", "hub"]  # fixtures

QUESTION = {"messages": [HumanMessage("Please help.")]}


def lookup(order: str) -> str:
    """Look up an order."""
    return f"{order} is on its way."


CALL = [("lookup", {"order": "A1"})]
TOOLS = {"lookup": lookup}


def limited(**limits: Any) -> AgentConfig:
    return AgentConfig(name="clerk", tools=("lookup",), limits=AgentLimits(**limits))


# --- calls of the model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_may_call_the_model_as_often_as_its_limit_says_and_no_more(framework: str) -> None:
    config = limited(model_calls=3)
    assert run(framework, config, [CALL, CALL, "done"], tools=TOOLS).answer == "done"
    model = scripted(framework, [CALL] * 9)
    with pytest.raises(AgentLimitError) as caught:
        ask(framework, build(framework, config, model=model, tools=TOOLS))
    assert (caught.value.limit, caught.value.allowed) == ("model_calls", 3)
    assert str(caught.value) == "The run was ended after 3 calls of the model; limits.model_calls allows no more."
    assert len(model.requests) == 3


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_twenty_five_calls_are_allowed_when_nothing_is_said(framework: str) -> None:
    config = AgentConfig(name="clerk", tools=("lookup",))
    assert run(framework, config, [*[CALL] * 24, "done"], tools=TOOLS).answer == "done"
    with pytest.raises(AgentLimitError, match="after 25 calls"):
        run(framework, config, [CALL] * 30, tools=TOOLS)


def test_the_calls_of_each_run_of_a_langchain_thread_are_counted_anew() -> None:
    model = ScriptedChatModel([CALL, "one", CALL, "two"])
    agent = limited(model_calls=2, deadline=30).to_langchain(model=model, tools=TOOLS, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    assert [ask("langchain", agent, config=thread) for _ in range(2)] == ["one", "two"]
    state = agent.get_state(thread).values
    assert [key for key in state if key.startswith("skillbelt")] == []  # a clock means nothing to another process


@pytest.mark.filterwarnings("ignore:Skipping serialization")
def test_the_calls_of_each_run_of_a_llama_index_context_are_counted_anew() -> None:
    async def twice() -> list[str]:
        model = ScriptedLLM([CALL, "one", CALL, "two", CALL, "three"])
        agent = limited(model_calls=2, deadline=30).to_llama_index(model=model, tools=TOOLS)
        context = Context(agent)
        answers = [str(await agent.run("Please help.", ctx=context)) for _ in range(2)]
        kept = context.to_dict()
        assert kept["state"]
        return [*answers, str(await agent.run("Please help.", ctx=Context.from_dict(agent, kept)))]

    assert asyncio.run(twice()) == ["one", "two", "three"]


async def test_the_calls_of_an_asynchronous_run_are_counted_too() -> None:
    model = ScriptedChatModel([CALL] * 9)
    agent = limited(model_calls=2).to_langchain(model=model, tools=TOOLS)
    with pytest.raises(AgentLimitError, match="after 2 calls"):
        await agent.ainvoke(QUESTION)
    assert len(model.requests) == 2


def test_whoever_runs_a_llama_index_agent_may_ask_for_fewer_iterations() -> None:
    agent = limited(model_calls=5).to_llama_index(model=ScriptedLLM([CALL] * 9), tools=TOOLS)
    with pytest.raises(Exception, match="Max iterations of 2"):
        ask("llama-index", agent, max_iterations=2)


def test_a_workflow_of_llama_index_ends_when_an_agent_of_it_has_no_calls_left() -> None:
    model = ScriptedLLM([CALL] * 9)
    agent = limited(model_calls=2, deadline=30).to_llama_index(model=model, tools=TOOLS)

    async def work() -> None:
        await AgentWorkflow(agents=[agent]).run("Please help.")

    with pytest.raises(AgentLimitError, match="after 2 calls"):
        asyncio.run(work())
    assert len(model.requests) == 2


# --- the deadline -----------------------------------------------------------------------------------------------------


class Gate:
    """Something slow: it waits until the test is over."""

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


async def sleepy(order: str) -> str:
    """Look up an order, slowly."""
    await asyncio.sleep(30)
    return order


def test_a_model_that_is_late_ends_a_langchain_run_at_its_deadline(gate: Gate) -> None:
    agent = limited(deadline=0.2).to_langchain(model=ScriptedChatModel([gate.answer]), tools=TOOLS)
    with pytest.raises(AgentLimitError) as caught:
        ask("langchain", agent)
    assert (caught.value.limit, caught.value.allowed) == ("deadline", 0.2)
    assert str(caught.value) == "The run was ended after 0.2 seconds; limits.deadline allows no more."


def test_a_tool_that_is_late_ends_a_langchain_run_at_its_deadline(gate: Gate) -> None:
    model = ScriptedChatModel([[("slow", {"order": "A1"})], "done"])
    agent = limited(deadline=0.5).to_langchain(model=model, tools={"lookup": gate.slow})
    with pytest.raises(AgentLimitError, match=r"after 0\.5 seconds"):
        ask("langchain", agent)
    assert len(model.requests) == 1


async def test_a_late_model_or_tool_ends_an_asynchronous_langchain_run_too(gate: Gate) -> None:
    agent = limited(deadline=0.2).to_langchain(model=ScriptedChatModel([gate.answer]), tools=TOOLS)
    with pytest.raises(AgentLimitError):
        await agent.ainvoke(QUESTION)
    model = ScriptedChatModel([[("sleepy", {"order": "A1"})], "done"])
    agent = limited(deadline=0.5).to_langchain(model=model, tools={"lookup": sleepy})
    with pytest.raises(AgentLimitError):
        await agent.ainvoke(QUESTION)
    assert len(model.requests) == 1


def test_time_that_passes_between_two_calls_counts(gate: Gate) -> None:
    class Dawdle(AgentMiddleware):
        def after_model(self, state: Any, runtime: Any) -> None:
            assert not gate.open.wait(0.6)

    model = ScriptedChatModel([CALL, "done"])
    agent = limited(deadline=0.5).to_langchain(model=model, tools=TOOLS, middleware=[Dawdle()])
    with pytest.raises(AgentLimitError):
        ask("langchain", agent)
    assert len(model.requests) == 1


class SlowLLM(ScriptedLLM):
    """Answers after a time that no test waits for."""

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(30)
        return await super().astream_chat(messages, **kwargs)


def test_a_late_model_or_tool_ends_a_llama_index_run_at_its_deadline() -> None:
    agent = limited(deadline=0.2).to_llama_index(model=SlowLLM(["done"]), tools=TOOLS)
    with pytest.raises(AgentLimitError) as caught:
        ask("llama-index", agent)
    assert (caught.value.limit, caught.value.allowed) == ("deadline", 0.2)
    model = ScriptedLLM([[("sleepy", {"order": "A1"})], "done"])
    agent = limited(deadline=0.5).to_llama_index(model=model, tools={"lookup": sleepy})
    with pytest.raises(AgentLimitError):
        ask("llama-index", agent)
    assert len(model.requests) == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_in_time_and_its_failures_are_as_without_a_deadline(framework: str) -> None:
    config = limited(deadline=60)
    assert run(framework, config, [CALL, "done"], tools=TOOLS).answer == "done"
    with pytest.raises(TimeoutError, match="no model") as caught:
        run(framework, config, [TimeoutError("no model")], tools=TOOLS)
    assert not isinstance(caught.value, SkillError)


async def test_a_timeout_that_is_not_ours_stays_what_it_is() -> None:
    def broken(order: str) -> str:
        """Look up an order."""
        raise TimeoutError("the database does not answer")

    config = limited(deadline=60)
    agent = config.to_langchain(model=ScriptedChatModel([[("broken", {"order": "A1"})]]), tools={"lookup": broken})
    with pytest.raises(TimeoutError, match="database"):
        agent.invoke(QUESTION)
    agent = config.to_langchain(model=ScriptedChatModel([TimeoutError("no model")]), tools=TOOLS)
    with pytest.raises(TimeoutError, match="no model"):
        await agent.ainvoke(QUESTION)


# --- what a model is sent ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_catalog_fits_its_tokens_and_can_be_searched_when_it_is_cut(
    clerk: AgentConfig, hub: Hub, framework: str
) -> None:
    config = beside(clerk, text_of(hub, "limits: {catalog_tokens: 60}"))
    done = run(framework, config, [[("search_skills", {"query": "IBAN"})], "done"])
    catalog = config.open_skills().router.catalog()
    assert catalog.tokens <= 60
    assert catalog.truncated
    assert catalog.text in str(done.requests[0].system)
    assert "search_skills" in done.requests[0].tools
    assert "Checks IBAN numbers." in done.requests[1].results[0]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("limit", "size"), [("output_bytes: 1024", 1024), ("resource_bytes: 100", 400)])
def test_what_a_skill_may_put_into_a_message_is_bounded(
    clerk: AgentConfig, hub: Hub, framework: str, limit: str, size: int
) -> None:
    page = [[("read_skill_resource", {"name": "csv", "path": "references/rules.md"})], "done"]
    config = beside(clerk, text_of(hub, f"limits: {{{limit}}}"))
    (result,) = run(framework, config, page).requests[-1].results
    assert len(result.encode()) <= size
    assert "of 1300 bytes shown" in result
    (result,) = run(framework, clerk, page).requests[-1].results
    assert "bytes shown" not in result


def with_fence(tmp_path: Path, mode: str) -> AgentConfig:
    folder = write_skill(tmp_path, "orders", "Answers questions about orders.", "# Orders")
    text = (folder / "SKILL.md").read_text().replace("description:", "allowed-tools: lookup\ndescription:")
    (folder / "SKILL.md").write_text(text)
    agent = f"{{skills: [local:./orders], tools: [lookup, cancel], allowed_tools: {mode}}}"
    return parse_agents(f"agents:\n  clerk: {agent}\n", path=tmp_path / "agents.yaml")["clerk"]


@pytest.mark.parametrize("mode", ["advisory", "enforce"])
def test_the_tools_a_skill_allows_are_a_hint_or_a_fence_as_the_file_says(tmp_path: Path, mode: str) -> None:
    ran: list[str] = []

    def cancel(order: str) -> str:
        """Cancel an order."""
        ran.append(order)
        return "cancelled"

    steps = [[("load_skill", {"name": "orders"})], CALL, [("cancel", {"order": "A1"})], "done"]
    done = run("langchain", with_fence(tmp_path, mode), steps, tools={**TOOLS, "cancel": cancel})
    assert done.requests[-1].results[1] == "A1 is on its way."
    assert ran == ([] if mode == "enforce" else ["A1"])


def test_llama_index_does_not_promise_a_fence_it_has_not(tmp_path: Path) -> None:
    with pytest.raises(AgentConfigError) as caught:
        with_fence(tmp_path, "enforce").to_llama_index(tools={**TOOLS, "cancel": lookup})
    assert told(caught) == (
        "agents.yaml:2:77: agents.clerk.allowed_tools: Only agents of LangChain can enforce allowed-tools; "
        "write 'advisory' for LlamaIndex."
    )


def test_a_bound_of_bytes_holds_for_the_host_as_well(clerk: AgentConfig, hub: Hub) -> None:
    router = beside(clerk, text_of(hub, "limits: {resource_bytes: 100}")).open_skills().router
    assert len(router.read("csv", "references/rules.md").data) == 100
    assert [info.path for info in router.resources("csv")] == ["references/rules.md", "scripts/run.py"]
    assert not router.reload()
    assert router.diagnostics() == ()
    assert "Read references/rules.md." in router.activate("csv").text
    assert [match.summary.name for match in router.search("IBAN numbers")] == ["iban"]


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
def test_the_model_is_the_one_of_the_file_with_its_options(
    clerk: AgentConfig, hub: Hub, provider: OpenAIServer, framework: str
) -> None:
    options = "{temperature: 0.25, top_p: 0.5, max_tokens: 321, seed: 7, timeout: 9, max_retries: 0}"
    config = beside(clerk, text_of(hub, "provider: openai", "model: gpt-4o-mini", f"options: {options}"))
    answer = ask(framework, build(framework, config), "Is this IBAN valid?")
    assert answer.startswith("[offline rule-based model")  # whose rules answer at the other end of the wire
    assert "Skill used: iban" in answer
    request = provider.requests[0]
    assert (request["model"], request["seed"]) == ("gpt-4o-mini", 7)
    assert (request["temperature"], request["top_p"]) == (0.25, 0.5)
    assert request.get("max_tokens", request.get("max_completion_tokens")) == 321
    assert "Checks IBAN numbers." in json.dumps(request["messages"][0])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_host_may_take_another_model_by_name_or_as_an_object(provider: OpenAIServer, framework: str) -> None:
    config = parse_agents("agents: {clerk: {provider: openai, model: other, options: {seed: 3}}}")["clerk"]
    ask(framework, build(framework, config, model="openai:gpt-4o-mini"))
    assert (provider.requests[0]["model"], provider.requests[0]["seed"]) == ("gpt-4o-mini", 3)
    assert ask(framework, build(framework, config, model="offline")).startswith("[offline rule-based model")
    assert run(framework, config, ["scripted"]).answer == "scripted"
    with pytest.raises(AgentConfigError, match="'gpt' is not a model; give provider:name, such as openai"):
        build(framework, config, model="gpt")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_offline_model_is_the_one_when_nothing_is_said(framework: str) -> None:
    assert isinstance(langchain_model("offline"), OfflineChatModel)
    assert isinstance(llama_index_model("offline"), OfflineLLM)
    answer = ask(framework, build(framework, AgentConfig(name="a")))
    assert answer.startswith("[offline rule-based model, no LLM]")


@pytest.mark.parametrize(
    ("framework", "name", "said"),
    [
        ("langchain", "mistralai", "LangChain needs a package for 'mistralai' models; install it with: "),
        ("llama-index", "mistralai", "LlamaIndex needs a package for 'mistralai' models; install it with: "),
        ("langchain", "nonsense", "LangChain does not know this provider. "),
    ],
)
def test_a_provider_that_is_not_there_is_named_with_its_line(framework: str, name: str, said: str) -> None:
    config = parse_agents(f"agents:\n  clerk:\n    provider: {name}\n    model: x\n")["clerk"]
    with pytest.raises(AgentConfigError) as caught:
        build(framework, config)
    assert str(caught.value).startswith(f"agents.yaml:3:15: agents.clerk.provider: {said}")


def test_an_option_that_a_class_of_llama_index_does_not_take_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("llama_index.llms.somewhere")
    module.Somewhere = type("Somewhere", (OfflineLLM,), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    config = parse_agents("agents:\n  clerk:\n    provider: somewhere\n    model: x\n    options: {max_tokens: 3}\n")[
        "clerk"
    ]
    with pytest.raises(AgentConfigError) as caught:
        config.to_llama_index()
    assert str(caught.value) == (
        "agents.yaml:3:15: agents.clerk.provider: The class Somewhere of LlamaIndex takes no option 'max_tokens'; "
        "leave it out."
    )


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [
        ("to_langchain", "langchain.agents", "langchain"),
        ("to_llama_index", "llama_index.core.agent.workflow", "llama-index"),
    ],
)
def test_a_missing_framework_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, method: str, module: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, f"skillbelt.agents.{extra.replace('-', '_')}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "skillbelt\[{extra}\]"'):
        getattr(AgentConfig(name="a"), method)()
