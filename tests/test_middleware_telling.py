"""What is told while an agent runs: stream events, callbacks, spans, and what skills cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags, Tracer

from langchain_kit import Story, Trimming, load, look, router_of, skill, text_of
from skillbelt import MappingSource, SkillRouter, estimate_tokens
from skillbelt.costs import skill_costs
from skillbelt.langchain import SkillsMiddleware, telling
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedChatModel

FILES = {
    "shout/SKILL.md": skill("shout", "Run scripts/shout.py.", "allowed-tools: look Grep\n"),
    "shout/scripts/shout.py": "print('LOUD')\n",
    "shout/notes.md": "Notes.\n",
    "mail/SKILL.md": skill("mail", "Secret words of mail."),
}
STEPS: list[Any] = [
    [load("shout")],
    [load("shout"), ("read_skill_resource", {"name": "shout", "path": "notes.md"})],
    [("run_skill_script", {"name": "shout", "path": "scripts/shout.py", "args": []})],
    [("look", {"at": "x"}), load("nope")],
    "first",
    "second",
]
EVENTS = ["listed", "activated", "unbound", "repeated", "read", "refused", "ran", "failed", "listed", "restored"]


def agent_of(facts: list[Any] | None = None, **options: Any) -> tuple[Any, ScriptedChatModel]:
    router = SkillRouter(MappingSource(FILES), runner=LocalRunner())
    model = ScriptedChatModel([*STEPS])
    on_event = None if facts is None else facts.append
    ours = SkillsMiddleware(router, on_event=on_event, **options)
    middleware = [ours, Trimming(2, state=False)]
    return create_agent(model, tools=[look], middleware=middleware, checkpointer=InMemorySaver()), model


CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def test_the_stream_tells_everything_that_happened_to_skills_and_no_text_of_theirs():
    agent, _ = agent_of()
    seen = [fact for text in ("go", "on") for fact in agent.stream(say(text), CONFIG, stream_mode="custom")]
    assert sorted(f["event"] for f in seen) == sorted(EVENTS)
    by = {f["event"]: f for f in seen}
    assert all(f["type"] == "skill" for f in seen)
    assert by["listed"]["skills"] == 2 and by["listed"]["tokens"] > 10
    router = SkillRouter(MappingSource(FILES), runner=LocalRunner())
    activation = router.activate("shout")
    assert (by["activated"]["skill"], by["activated"]["digest"]) == ("shout", activation.skill.digest)
    assert by["activated"]["tokens"] == estimate_tokens(activation.text)
    assert by["activated"]["by"] == "model"
    assert (by["read"]["path"], by["read"]["size"]) == ("notes.md", 7)
    assert (by["ran"]["path"], by["ran"]["exit_code"]) == ("scripts/shout.py", 0)
    assert by["unbound"]["tools"] == ["Grep"]
    assert (by["refused"]["tool"], by["refused"]["enforced"]) == ("run_skill_script", False)
    assert "There is no skill 'nope'" in by["failed"]["reason"]
    assert (by["restored"]["skill"], by["restored"]["changed"]) == ("shout", False)
    assert not any("Run scripts/shout.py." in str(f) or "Notes." in str(f) for f in seen)


async def test_async_streams_callbacks_and_the_hosts_callback_tell_the_same():
    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.heard: list[tuple[str, Any]] = []

        def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            self.heard.append((name, data))

    facts: list[Any] = []
    handler = Heard()
    agent, _ = agent_of(facts)
    config = {**CONFIG, "callbacks": [handler]}
    seen = []
    for text in ("go", "on"):
        async for event in agent.astream_events(say(text), config, version="v2"):
            if event["event"] == "on_custom_event":
                seen.append((event["name"], event["data"]))
    assert sorted(name for name, _ in seen) == sorted(f"skill_{event}" for event in EVENTS)
    assert sorted(map(str, seen)) == sorted(map(str, handler.heard))
    assert sorted(str(data) for _, data in seen) == sorted(map(str, facts))


def test_sync_callbacks_hear_of_it_too():
    class Heard(BaseCallbackHandler):
        names: list[str] = []  # noqa: RUF012

        def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
            self.names.append(name)

    agent, _ = agent_of()
    agent.invoke(say("go"), {**CONFIG, "callbacks": [Heard()]})
    assert "skill_activated" in Heard.names and "skill_ran" in Heard.names


def test_a_skill_that_is_put_back_at_every_call_is_told_once():
    facts: list[Any] = []
    router = router_of(a="Alpha.")
    ours = SkillsMiddleware(router, on_event=facts.append)
    story = Story([[load("a")], "x", "y", "z"], [ours, Trimming(2, state=False)], checkpointer=InMemorySaver())
    for _ in range(3):
        story.say("go")
    assert [f["event"] for f in facts].count("restored") == 1


# --- spans -----------------------------------------------------------------------------------------------------------


class Recorded(NonRecordingSpan):
    """A span of the API that keeps what it is told; the SDK is the host's to choose."""

    def __init__(self, name: str) -> None:
        super().__init__(SpanContext(1, len(SPANS) + 1, is_remote=False, trace_flags=TraceFlags(1)))
        self.name = name
        self.attributes: dict[str, Any] = {}
        self.events: list[tuple[str, Any]] = []
        self.error: BaseException | None = None

    def is_recording(self) -> bool:
        return True

    def set_attribute(self, key: str, value: Any) -> None:
        assert isinstance(value, str | bool | int | float)
        self.attributes[key] = value

    def add_event(self, name: str, attributes: Any = None, timestamp: Any = None) -> None:
        self.events.append((name, dict(attributes)))

    def record_exception(self, exception: BaseException, *_: Any, **__: Any) -> None:
        self.error = exception


SPANS: list[Recorded] = []


class Recorder(Tracer):
    def start_span(self, name: str, *_: Any, **__: Any) -> Span:
        SPANS.append(Recorded(name))
        return SPANS[-1]

    @contextmanager
    def start_as_current_span(self, name: str, *_: Any, **__: Any) -> Iterator[Span]:
        with trace.use_span(self.start_span(name)) as span:
            yield span


class Provider(trace.TracerProvider):
    def get_tracer(self, *_: Any, **__: Any) -> Tracer:
        return Recorder()


@pytest.fixture
def spans(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", Provider())
    SPANS.clear()
    return SPANS


def test_calls_of_skill_tools_are_spans_with_names_sizes_and_outcomes(spans):
    agent, _ = agent_of()
    agent.invoke(say("go"), CONFIG)
    assert sorted(s.name for s in spans) == ["skill.load"] * 3 + ["skill.read", "skill.run"]
    loaded = next(s for s in spans if s.attributes["skillbelt.outcome"] == "activated")
    assert loaded.attributes["skillbelt.skill.name"] == "shout"
    assert len(loaded.attributes["skillbelt.skill.digest"]) == 64
    assert loaded.attributes["skillbelt.skill.tokens"] > 10
    assert loaded.attributes["gen_ai.tool.name"] == "load_skill"
    assert loaded.attributes["gen_ai.tool.call.id"] == "call_1"
    read = next(s for s in spans if s.name == "skill.read")
    assert read.attributes["skillbelt.resource.path"] == "notes.md"
    ran = next(s for s in spans if s.name == "skill.run")
    assert ran.attributes["skillbelt.script.exit_code"] == 0
    failed = next(s for s in spans if s.attributes["skillbelt.outcome"] == "failed")
    assert "nope" in failed.attributes["skillbelt.refusal.reason"]


async def test_async_calls_are_spans_too_and_a_restored_skill_is_an_event_of_the_hosts_span(spans):
    agent, _ = agent_of()
    with Recorder().start_as_current_span("host") as host:
        await agent.ainvoke(say("go"), CONFIG)
    assert len(spans) == 6
    ((name, attributes),) = host.events
    assert name == "skill.restored" and attributes["skillbelt.skill.name"] == "shout"


def test_without_opentelemetry_nothing_is_missing(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    agent, model = agent_of()
    out = agent.invoke(say("go"), CONFIG)
    assert out["messages"][-1].content == "first"
    telling.note_restored([telling.fact("restored", skill="a")])
    assert len(model.requests) == 5


def test_a_span_that_nobody_records_costs_no_attributes():
    with telling.span({"name": "load_skill", "id": "1"}) as noted:
        noted.note([telling.fact("activated", skill="a")])
    with telling.span({"name": "look", "id": "1"}) as noted:
        noted.note([])


# --- what skills cost ------------------------------------------------------------------------------------------------


def test_the_tokens_of_a_skill_are_counted_level_by_level():
    router = SkillRouter(MappingSource(FILES))
    costs = skill_costs(router)
    assert list(costs) == ["mail", "shout"]
    shout = costs["shout"]
    assert shout.catalog == estimate_tokens(router.renderer.entry(router.skills()[1]))
    assert shout.loaded == estimate_tokens(router.activate("shout").text)
    assert shout.files == 14 + 7
    only = skill_costs(router, ["mail"], count=len)
    assert only["mail"].loaded == len(router.activate("mail").text)


def test_a_skill_that_cannot_be_read_costs_only_its_entry(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text(skill("a"))
    router = SkillRouter.from_directory(tmp_path)
    router.skills()
    (tmp_path / "a" / "SKILL.md").unlink()
    assert skill_costs(router)["a"].loaded == 0


def test_the_facts_of_a_run_add_up_to_what_its_skills_cost_it():
    facts: list[Any] = []
    agent, _ = agent_of(facts)
    out = agent.invoke(say("go"), CONFIG)
    (loaded,) = [m for m in out["messages"] if isinstance(m, ToolMessage) and m.name == "load_skill"][:1]
    spent = sum(f["tokens"] for f in facts if f["event"] == "activated")
    assert spent == estimate_tokens(text_of(loaded))
