"""What is told while a workflow runs: stream events, the instrumentation dispatcher, a callback of the host."""

import json

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_kit import Story, keeping, load, look, remembered, router_of, skill, unload
from skillbelt import MappingSource, SkillRouter, TokenBudget, estimate_tokens
from skillbelt.llama_index import SkillFunctionAgent, Skills, SkillsMemoryBlock, events
from skillbelt.llama_index.events import SkillActivated, SkillEvent, SkillStreamEvent
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedLLM

FILES = {
    "shout/SKILL.md": skill("shout", "Run scripts/shout.py.", "allowed-tools: look Grep\n"),
    "shout/scripts/shout.py": "print('LOUD')\n",
    "shout/notes.md": "Notes.\n",
    "mail/SKILL.md": skill("mail", "Secret words of mail."),
}
STEPS = [
    [load("shout")],
    [load("shout"), ("read_skill_resource", {"name": "shout", "path": "notes.md"})],
    [("run_skill_script", {"name": "shout", "path": "scripts/shout.py", "args": []})],
    [("look", {"at": "x"}), load("nope")],
    [unload("mail"), ("list_skills", {})],
    "first",
    "second",
    [unload("shout")],
    "third",
]
EVENTS = ["listed", "activated", "unbound", "repeated", "read", "refused", "ran", "failed", "listed", "restored"]
EVENTS += ["listed", "unloaded"]


class Heard(BaseEventHandler):
    """Keeps the events of skills."""

    heard: list[SkillEvent] = []  # noqa: RUF012 - a field

    @classmethod
    def class_name(cls) -> str:
        return "Heard"

    def handle(self, event, **_):
        if isinstance(event, SkillEvent):
            self.heard.append(event)


@pytest.fixture
def dispatched():
    root = get_dispatcher()
    handler = Heard(heard=[])
    root.add_event_handler(handler)
    yield handler.heard
    root.event_handlers.remove(handler)


def files_router(**options):
    return SkillRouter(MappingSource(FILES), runner=LocalRunner(), **options)


async def told(make, facts=None, **options):
    """The story of STEPS, with a memory that has forgotten the first turn at the second."""
    on_event = None if facts is None else facts.append
    story = make(STEPS, Skills(files_router(), on_event=on_event, unload=True, listing=True, **options), tools=[look])
    await story.say("go")
    if make is keeping:
        story.memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    else:
        story.memory = Memory.from_defaults(token_limit=100_000, memory_blocks=[SkillsMemoryBlock(story.skills)])
        if not hasattr(Context, "get_step_context"):
            story.memory.memory_blocks[0].attach(story.ctx)
    if not hasattr(Context, "get_step_context"):  # llama-index-workflows 1 keeps the first one
        await story.ctx.store.set("memory", story.memory)
    await story.say("on")
    await story.say("off")
    return story


@pytest.mark.parametrize("make", [keeping, remembered], ids=["agent", "block"])
async def test_stream_dispatcher_and_callback_tell_everything_and_no_text_of_a_skill(make, dispatched):
    facts = []
    story = await told(make, facts)
    seen = [event for event in story.events if isinstance(event, SkillStreamEvent)]
    assert sorted(event.kind for event in seen) == sorted(EVENTS)
    by = {event.kind: event.fact() for event in seen}
    assert all(fact["type"] == "skill" for fact in by.values())
    activation = files_router().activate("shout")
    assert (by["activated"]["skill"], by["activated"]["digest"]) == ("shout", activation.skill.digest)
    assert by["activated"]["tokens"] == estimate_tokens(activation.text) and by["activated"]["by"] == "model"
    assert (by["read"]["path"], by["read"]["size"]) == ("notes.md", 7)
    assert (by["ran"]["path"], by["ran"]["exit_code"]) == ("scripts/shout.py", 0)
    assert by["unbound"]["tools"] == ["Grep"]
    assert (by["refused"]["tool"], by["refused"]["enforced"]) == ("run_skill_script", False)
    assert "There is no skill 'nope'" in by["failed"]["reason"]
    assert (by["restored"]["skill"], by["restored"]["changed"]) == ("shout", False)
    assert not any("Run scripts/shout.py." in str(fact) or "Notes." in str(fact) for fact in facts)
    assert sorted(map(str, facts)) == sorted(str(event.fact()) for event in seen)
    assert sorted(map(str, facts)) == sorted(str(event.facts) for event in dispatched)
    assert {event.class_name() for event in dispatched} == {"SkillEvent"}


async def test_a_search_is_told_and_a_catalog_says_what_it_leaves_out():
    budget = TokenBudget(40)
    files = {f"skill-{number}/SKILL.md": skill(f"skill-{number}") for number in range(30)}
    router = SkillRouter(MappingSource(files), budget=budget)
    story = keeping([[("search_skills", {"query": "skill-7"})], "done"], router)
    await story.say("go")
    (listed,) = story.told("listed")
    assert listed["omitted"] > 0 and listed["skills"] + listed["omitted"] == 30
    (searched,) = story.told("searched")
    assert searched["query"] == "skill-7" and searched["skills"][0] == "skill-7"


async def test_what_is_put_back_again_is_told_once_until_it_was_there_in_between():
    router = router_of(rule="Rule. " * 100)
    story = keeping([[load("rule")], "one", "two", "three"], router)
    await story.say("go")
    for text in ("on", "and on"):
        story.memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        if not hasattr(Context, "get_step_context"):
            await story.ctx.store.set("memory", story.memory)
        await story.say(text)
    assert len(story.told("restored")) == 1


def test_every_event_can_be_written_and_read_by_a_serializer():
    serializer = JsonSerializer()
    made = {
        "SkillsListed": {"skills": 1, "omitted": 0, "tokens": 9},
        "SkillActivated": {"skill": "a", "digest": "d", "tokens": 9, "by": "model"},
        "SkillRepeated": {"skill": "a", "digest": "d"},
        "ResourceRead": {"skill": "a", "path": "p", "size": 9},
        "SkillsSearched": {"query": "q", "skills": ["a"]},
        "ScriptRan": {"skill": "a", "path": "p", "exit_code": 0},
        "ToolRefused": {"tool": "t", "skills": ["a"], "reason": "r"},
        "SkillRestored": {"skill": "a", "digest": "d", "tokens": 9},
        "SkillUnloaded": {"skill": "a"},
        "ToolsUnbound": {"skill": "a", "tools": ["t"]},
        "SkillFailed": {"tool": "t", "reason": "r"},
    }
    classes = {name for name in events.__all__ if issubclass(getattr(events, name), SkillStreamEvent)}
    assert classes - {"SkillStreamEvent"} == set(made)
    for name, fields in made.items():
        event = getattr(events, name)(**fields)
        again = serializer.deserialize(json.loads(json.dumps(serializer.serialize(event))))
        assert type(again) is type(event) and again.fact() == event.fact()


async def test_an_agent_of_a_workflow_tells_into_the_stream_of_the_workflow():
    llm = ScriptedLLM([[load("a")], "done"])
    clerk = SkillFunctionAgent(skills=router_of("a"), name="clerk", description="Works.", llm=llm)
    story = Story(AgentWorkflow(agents=[clerk], root_agent="clerk"), llm)
    await story.say("go")
    assert [type(event) for event in story.events if isinstance(event, SkillActivated)] == [SkillActivated]


async def test_calls_of_skill_tools_are_spans_of_llama_indexs_instrumentation():
    root = get_dispatcher()
    spans = SimpleSpanHandler()
    root.add_span_handler(spans)
    try:
        llm = ScriptedLLM([[load("a")], "done"])
        await FunctionAgent(tools=Skills(router_of("a")).tools([look]), llm=llm).run("go")
    finally:
        root.span_handlers.remove(spans)
    assert any(span.id_.startswith("SkillCallTool.acall") for span in spans.completed_spans)
