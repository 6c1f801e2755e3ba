"""Which skills a conversation has in use: first turns, parallel loads, wishes from outside, mentions, unloading."""

import json
import shutil
from typing import Any, NotRequired

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langchain_kit import (
    Story,
    load,
    look,
    orphans,
    place,
    results,
    router_of,
    scenario,
    simple,
    skill,
    system_text,
    texts,
    times,
)
from skillbelt import MappingSource, SkillError, SkillNotFoundError, SkillRouter, TokenBudget
from skillbelt.langchain import SkillsMiddleware
from skillbelt.sources import DirectorySource
from skillbelt.testing import ScriptedChatModel

# --- C06: first turn, later turns, and a reset -----------------------------------------------------------------------


class Counting(DirectorySource):
    """Counts how often the folder is listed."""

    lists = 0

    def list(self) -> Any:
        self.lists += 1
        return super().list()


def test_c06_turns_keep_their_bytes_while_the_folder_changes_and_a_reload_shows_it(tmp_path):
    root = scenario("C06", tmp_path)
    source = Counting(root=root)
    router = SkillRouter(source)
    story = simple(["one", "two", [load("one")], "three", "four"], router, checkpointer=InMemorySaver())
    story.say("first")
    story.say("second")
    (root / "two").mkdir()
    (root / "two" / "SKILL.md").write_text(skill("two"))
    shutil.rmtree(root / "one")
    story.say("third")
    assert 'name="one"' in system_text(story.requests[0])
    assert len({system_text(request) for request in story.requests}) == 1
    (answer,) = results(story.last)
    assert answer.status == "error" and "no longer available" in answer.content
    assert source.lists == 1  # one look for all turns: docs/how-to/langchain.md says so

    diff = router.reload()
    assert (diff.added, diff.removed) == (("two",), ("one",))
    story.say("fourth")
    assert 'name="two"' in system_text(story.last) and 'name="one"' not in system_text(story.last)
    (loading,) = [t for t in story.last.tools if t["function"]["name"] == "load_skill"]
    assert loading["function"]["parameters"]["properties"]["name"]["enum"] == ["two"]
    assert source.lists == 2


def test_c06_the_catalog_is_in_the_first_request_when_the_state_key_is_preset_to_an_empty_list():
    story = simple(["done"], router_of("one"), checkpointer=InMemorySaver())
    out = story.say("first", active_skills=[])
    assert 'name="one"' in system_text(story.last)
    assert out["active_skills"] == []


def test_none_asks_for_the_skills_to_be_read_again_and_keeps_those_in_use(tmp_path):
    root = scenario("C06", tmp_path)
    source = Counting(root=root)
    story = simple([[load("one")], "one", "two", "three"], SkillRouter(source), checkpointer=InMemorySaver())
    story.say("first")
    (root / "two").mkdir()
    (root / "two" / "SKILL.md").write_text(skill("two"))
    out = story.say("second", active_skills=None)
    assert 'name="two"' in system_text(story.last)
    assert [record["name"] for record in out["active_skills"]] == ["one"]
    lists = source.lists
    story.say("third", active_skills=[])
    assert source.lists == lists


def test_a_middleware_may_look_again_at_the_start_of_each_run(tmp_path):
    root = scenario("C06", tmp_path)
    story = simple(["one", "two"], SkillRouter.from_directory(root), reload="run", checkpointer=InMemorySaver())
    story.say("first")
    (root / "two").mkdir()
    (root / "two" / "SKILL.md").write_text(skill("two"))
    story.say("second")
    assert 'name="two"' not in system_text(story.requests[0]) and 'name="two"' in system_text(story.last)


def test_an_agent_without_skills_gets_them_with_a_reload_and_can_use_them(tmp_path):
    root = tmp_path / "skills"
    root.mkdir()
    router = SkillRouter.from_directory(root)
    story = simple(["none", [load("late")], "done"], router, checkpointer=InMemorySaver())
    story.say("first")
    assert story.last.tools == [] and system_text(story.last) == "You are a clerk."
    (root / "late").mkdir()
    (root / "late" / "SKILL.md").write_text(skill("late", "Better late than never."))
    story.say("second", active_skills=None)
    assert "load_skill" in story.last.tool_names
    assert times(story.last, "Better late than never.") == 1
    assert story.active == ["late"]


def test_skills_that_are_gone_after_a_reload_take_their_tools_with_them(tmp_path):
    root = scenario("C06", tmp_path)
    router = SkillRouter.from_directory(root)
    story = simple(["one", "two"], router, checkpointer=InMemorySaver(), tools=[look])
    story.say("first")
    shutil.rmtree(root / "one")
    router.reload()
    story.say("second")
    assert story.last.tool_names == ["look"]
    assert system_text(story.last) == "You are a clerk."


# --- C07: two loads in one step --------------------------------------------------------------------------------------


def test_c07_two_loads_in_one_message_are_both_recorded_in_order(tmp_path):
    router = SkillRouter.from_directory(scenario("C07", tmp_path))
    story = simple([[load("west"), load("east")], "done"], router)
    story.say("go")
    assert [r.content for r in results(story.last)] == [router.activate(n).text for n in ("west", "east")]
    assert story.active == ["west", "east"]
    assert orphans(story.last) == []


def test_c07_the_same_skill_twice_in_one_message_is_one_full_body_and_one_short_note(tmp_path):
    router = SkillRouter.from_directory(scenario("C07", tmp_path))
    story = simple([[load("east"), load("east")], "done"], router)
    story.say("go")
    full, short = results(story.last)
    assert full.content == router.activate("east").text
    assert "another call of the same message" in short.content
    assert times(story.last, "Do the work.") == 1
    assert story.active == ["east"]


def test_the_same_skill_with_other_arguments_is_another_text():
    router = router_of(fill="Fill $ARGUMENTS.")
    steps = [[load("fill", arguments="form 1"), load("fill", arguments="form 2")], "done"]
    story = simple(steps, router)
    story.say("go")
    assert ["Fill form 1." in r.content for r in results(story.last)] == [True, False]
    assert "Fill form 2." in results(story.last)[1].content


def child(router: SkillRouter, name: str, **options: Any) -> Any:
    """A tool that is an agent with skills of its own."""
    model = ScriptedChatModel([[load(name)], f"child has {name}"])
    agent = create_agent(model, middleware=[SkillsMiddleware(router, **options)])

    @tool(f"ask_{name}")
    def ask(task: str) -> str:
        """Hand a task to a child."""
        out = agent.invoke({"messages": [HumanMessage(task)]})
        assert [record["name"] for record in out["active_skills"]] == [name]
        return str(out["messages"][-1].content)

    return ask


def test_c07_two_subagents_in_one_step_load_their_skills_and_leave_the_parent_alone(tmp_path):
    router = SkillRouter.from_directory(scenario("C07", tmp_path))
    story = simple(
        [[load("east")], [("ask_east", {"task": "a"}), ("ask_west", {"task": "b"})], "done"],
        router,
        tools=[child(router, "east"), child(router, "west")],
        checkpointer=InMemorySaver(),
    )
    story.say("go")
    assert [r.content for r in results(story.last)][1:] == ["child has east", "child has west"]
    assert story.active == ["east"]


def test_another_tool_cannot_write_skills_into_the_state():
    @tool
    def forge(how: str, runtime: Any = None) -> Any:
        """Forge a record."""

    def forging(request: Any) -> Any:
        update = {
            "messages": [ToolMessage("forged", tool_call_id=request.tool_call["id"])],
            "active_skills": [{"name": "two", "digest": "x", "when": "now"}],
            "skills_held": {"two": {"digest": "x", "text": "x", "key": "x"}},
        }
        return Command(update=list(update.items()) if request.tool_call["args"]["how"] == "pairs" else update)

    class Forging(SkillsMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return super().wrap_tool_call(request, forging if request.tool_call["name"] == "forge" else handler)

    router = router_of("one", "two")
    steps = [[("forge", {"how": "dict"}), ("forge", {"how": "pairs"})], "done"]
    story = Story(steps, [Forging(router)], tools=[forge], checkpointer=InMemorySaver())
    out = story.say("go")
    assert out["active_skills"] == []
    assert story.agent.get_state(story.config).values.get("skills_held") in (None, {})


# --- wishes from outside ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wish", [["pdf"], "pdf", [{"name": "pdf"}], ["PDF"]])
def test_a_caller_can_have_a_skill_in_use_from_the_start(wish):
    router = router_of("mail", pdf="Fill the form.")
    story = simple(["done", "done"], router, checkpointer=InMemorySaver())
    out = story.say("go", active_skills=wish)
    assert times(story.last, "Fill the form.") == 1
    assert "is in use from the start" in texts(story.last)[place(story.last, "Fill the form.")]
    (record,) = out["active_skills"]
    assert record["name"] == "pdf" and record["digest"] == router.activate("pdf").skill.digest
    assert set(record) == {"name", "digest", "when"}
    first = texts(story.last)
    story.say("again")
    assert texts(story.last)[: len(first)] == first  # its place and bytes stay
    assert times(story.last, "Fill the form.") == 1


def test_a_wish_for_a_skill_that_there_is_not_is_the_callers_error():
    story = simple(["done"], router_of("pdf"))
    with pytest.raises(SkillNotFoundError, match="Did you mean 'pdf'"):
        story.say("go", active_skills=["pdff"])
    with pytest.raises(SkillError, match="active_skills takes names"):
        story.say("go", active_skills=[7])


def test_skills_may_be_in_use_from_the_first_message_of_every_conversation_on():
    router = router_of("mail", pdf="Fill the form.")
    story = simple([[load("pdf")], "done", "done"], router, preload=["pdf"], checkpointer=InMemorySaver())
    story.say("go")
    assert times(story.requests[0], "Fill the form.") == 1
    assert "loaded already" in results(story.last)[0].content
    story.say("more")
    assert times(story.last, "Fill the form.") == 1
    assert story.active == ["pdf"]


def test_records_of_another_conversation_are_taken_as_wishes_and_dropped_when_their_skill_is_gone():
    router = router_of(pdf="Fill the form.")
    records = [{"name": n, "digest": "0" * 64, "when": "2026-01-01T00:00:00+00:00"} for n in ("pdf", "gone")]
    story = simple(["done"], router, checkpointer=InMemorySaver())
    out = story.say("go", active_skills=records)
    assert times(story.last, "Fill the form.") == 1
    assert [(r["name"], r["digest"]) for r in out["active_skills"]] == [("pdf", router.activate("pdf").skill.digest)]


def test_what_the_middleware_holds_cannot_be_given_from_outside():
    forged = {"pdf": {"digest": "x", "text": "x", "key": "x", "tools": ["*"]}}
    story = simple(["done"], router_of("pdf"), checkpointer=InMemorySaver())
    out = story.say("go", skills_held=forged)
    assert "skills_held" not in out
    assert story.agent.get_state(story.config).values.get("skills_held") in (None, {})
    assert times(story.last, "Do the work.") == 0


# --- slash mentions --------------------------------------------------------------------------------------------------


def test_a_user_activates_a_skill_with_a_slash_and_arguments_are_put_in_literally(tmp_path):
    root = tmp_path / "skills"
    (root / "fill").mkdir(parents=True)
    body = "Fill $ARGUMENTS from {baseDir} with ${CLAUDE_SKILL_DIR}/a and ${SKILL_DIR}/b, not $1, never !`touch gone`."
    (root / "fill" / "SKILL.md").write_text(skill("fill", body))
    router = SkillRouter.from_directory(root)
    story = simple(["done", "done"], router, checkpointer=InMemorySaver())
    story.say("/fill form $(rm -r .) `x`")
    folder = str(root / "fill")
    wanted = f"Fill form $(rm -r .) `x` from {folder} with {folder}/a and {folder}/b, not $1, never !`touch gone`."
    assert times(story.last, wanted) == 1
    said = texts(story.last)
    assert said[1] == "/fill form $(rm -r .) `x`"
    assert said[2].startswith("[The user chose the skill fill with /fill. Its instructions follow;")
    assert isinstance(story.last.messages[2], HumanMessage)
    assert story.active == ["fill"]
    story.say("go on")
    assert texts(story.last)[: len(said)] == said
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("text", ["/etc/hosts is empty", "see /fill", "fill it", "/", "/ fill", "/filler"])
def test_other_slashes_stay_what_they_are(text):
    story = simple(["done"], router_of("fill"))
    story.say(text)
    assert texts(story.last)[1:] == [text]
    assert story.active == []


def test_mentions_can_be_left_to_the_model():
    story = simple(["done"], router_of("fill"), mentions=False)
    story.say("/fill a")
    assert story.active == []


def test_a_skill_that_authors_keep_from_users_is_not_activated_by_a_slash_and_one_kept_from_the_model_is():
    files = {
        "inner/SKILL.md": skill("inner", "Inner work.", "user-invocable: false\n"),
        "outer/SKILL.md": skill("outer", "Outer work. See notes.md.", "disable-model-invocation: true\n"),
        "outer/notes.md": "Notes of outer.",
    }
    router = SkillRouter(MappingSource(files))
    reading = ("read_skill_resource", {"name": "outer", "path": "notes.md"})
    story = simple(["done", [reading], "done"], router, checkpointer=InMemorySaver())
    story.say("/inner")
    assert story.active == []
    story.say("/outer")
    assert story.active == ["outer"]
    assert times(story.last, "Outer work.") == 1
    assert results(story.last)[0].status == "success" and "Notes of outer." in results(story.last)[0].content
    assert 'name="outer"' not in system_text(story.last)


def test_what_is_kept_from_the_model_stays_so_until_the_user_chooses_it():
    files = {
        "open/SKILL.md": skill("open"),
        "outer/SKILL.md": skill("outer", "Outer work.", "disable-model-invocation: true\n"),
        "outer/notes.md": "Notes of outer.",
    }
    calls = [load("outer"), ("read_skill_resource", {"name": "outer", "path": "notes.md"})]
    story = simple([calls, "done"], SkillRouter(MappingSource(files)))
    story.say("go")
    assert [r.status for r in results(story.last)] == ["error", "error"]
    assert times(story.last, "Outer work.") == 0 and times(story.last, "Notes of outer.") == 0


def test_a_second_mention_says_so_when_the_text_is_there_and_brings_it_when_the_arguments_differ():
    story = simple(["done"] * 3, router_of(fill="Fill $ARGUMENTS."), checkpointer=InMemorySaver())
    story.say("/fill form 1")
    story.say("/fill form 1")
    assert times(story.last, "Fill form 1.") == 1
    assert "its instructions stand above, unchanged" in texts(story.last)[-1]
    story.say("/fill form 2")
    assert times(story.last, "Fill form 2.") == 1


def test_blocks_of_a_message_are_read_as_its_text():
    story = simple(["done"], router_of(fill="Fill $ARGUMENTS."))
    story.agent.invoke({"messages": [HumanMessage([{"type": "text", "text": "/fill form 1"}])]})
    assert times(story.last, "Fill form 1.") == 1


# --- unloading and how many ------------------------------------------------------------------------------------------


def test_an_unloaded_skill_leaves_the_request_and_can_be_loaded_again():
    router = router_of(pdf="Fill the form.")
    unload = ("unload_skill", {"name": "pdf"})
    steps = [[load("pdf")], [unload], "done", [load("pdf")], "done", [unload], [unload], "done"]
    story = simple(steps, router, unload=True, checkpointer=InMemorySaver())
    story.say("go")
    assert "no longer in use" in results(story.last)[1].content
    assert times(story.last, "Fill the form.") == 0
    assert "were unloaded. Call load_skill" in results(story.last)[0].content
    assert story.active == []
    story.say("again")
    assert times(story.last, "Fill the form.") == 1 and story.active == ["pdf"]
    story.say("enough")
    assert "is not in use; there is nothing to unload" in results(story.last)[-1].content
    assert orphans(story.last) == []


def test_there_is_no_unload_tool_unless_it_is_asked_for():
    story = simple(["done"], router_of("pdf"))
    story.say("go")
    assert story.last.tool_names == ["load_skill", "read_skill_resource"]


@pytest.mark.parametrize(("unload", "advice"), [(True, "Unload one of them"), (False, "Go on with these")])
def test_no_more_skills_than_the_host_allows_are_in_use_at_a_time(unload, advice):
    steps = [[load("a"), load("b"), load("c")], [load("a"), load("c")], "done"]
    story = simple(steps, router_of("a", "b", "c"), max_active=2, unload=unload)
    story.say("go")
    first = results(story.requests[1])
    assert [r.status for r in first] == ["success", "success", "error"]
    assert "At most 2 skills" in first[2].content and advice in first[2].content
    again = results(story.last)[3:]
    assert "loaded already" in again[0].content
    assert again[1].status == "error" and "a, b" in again[1].content
    assert story.active == ["a", "b"]


# --- what the state holds --------------------------------------------------------------------------------------------


def test_everything_in_the_state_is_plain_json():
    story = simple([[load("a"), load("b")], "done"], router_of("a", "b"), checkpointer=InMemorySaver())
    story.say("/b now")
    values = story.agent.get_state(story.config).values
    for key in ("active_skills", "skills_held"):
        assert json.loads(json.dumps(values[key])) == values[key]
    assert {r["name"] for r in values["active_skills"]} == {"a", "b"}


def test_two_middlewares_in_one_agent_need_two_names():
    one, other = router_of(a="Alpha."), router_of(b="Beta.")
    with pytest.raises(AssertionError, match="duplicate middleware"):
        Story([], [SkillsMiddleware(one), SkillsMiddleware(other)])


def test_a_middleware_needs_skills_and_knows_its_options():
    with pytest.raises(SkillError, match="needs skills"):
        SkillsMiddleware()
    for wrong in ({"placement": "middle"}, {"reload": "never"}, {"allowed_tools": "off"}, {"restore": "maybe"}):
        with pytest.raises(SkillError):
            SkillsMiddleware(router_of("a"), **wrong)


# --- where the catalog stands ----------------------------------------------------------------------------------------


def test_the_catalog_may_stand_at_the_start_or_only_in_its_slot():
    router = router_of("a")
    story = simple(["done"], router, placement="start")
    story.say("go")
    assert system_text(story.last) == f"{router.prompt()}\n\nYou are a clerk."
    story = simple(["done"], router, placement="slot", system_prompt="Before {skills} after.")
    story.say("go")
    assert system_text(story.last) == f"Before {router.prompt()} after."
    story = simple(["done"], router, placement="slot")
    with pytest.raises(SkillError, match="there is none"):
        story.say("go")


def test_marks_of_a_provider_on_the_blocks_of_a_system_prompt_stay():
    from langchain_core.messages import SystemMessage

    marked = {"type": "text", "text": "You are a clerk.", "cache_control": {"type": "ephemeral"}}
    story = simple(["done"], router_of("a"), system_prompt=SystemMessage([marked]))
    story.say("go")
    assert story.last.messages[0].content[0] == marked


def test_a_slot_without_skills_is_emptied():
    router = SkillRouter(MappingSource({}))
    story = simple(["done"], router, system_prompt="Before {skills}after.")
    story.say("go")
    assert system_text(story.last) == "Before after."
    story = simple(["done"], router, system_prompt="{skills}")
    story.say("go")
    assert system_text(story.last) == ""


def test_another_middleware_may_take_our_tools_out_of_a_request():
    class NoReading(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[t for t in request.tools if t.name != "read_skill_resource"]))

    story = Story(["done"], [NoReading(), SkillsMiddleware(router_of("a"))])
    story.say("go")
    assert story.last.tool_names == ["load_skill"]


def test_ai_messages_of_other_makers_are_no_reason_to_stumble():
    router = router_of("a")
    story = simple(["done"], router)
    out = story.agent.invoke({"messages": [HumanMessage("hi"), AIMessage("hello"), HumanMessage("/a")]})
    assert [r["name"] for r in out["active_skills"]] == ["a"]


# --- middleware behind ours ------------------------------------------------------------------------------------------


class Wrapping(AgentMiddleware[Any, Any, Any]):
    """Answers a call with a command of its own, as middleware that keeps files does."""

    class State(AgentState[Any]):
        seen: NotRequired[list[str]]

    state_schema = State

    def __init__(self, *, lose: bool = False) -> None:
        super().__init__()
        self.lose = lose

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        message = handler(request)
        update = {"seen": [request.tool_call["id"]], "messages": [] if self.lose else [message, AIMessage("aside")]}
        return Command(update=update)


def test_what_a_middleware_behind_ours_writes_stays_beside_ours():
    unload = ("unload_skill", {"name": "pdf"})
    steps = [[load("pdf")], [load("pdf")], [unload], [unload], [("read_skill_resource", {"name": "pdf", "path": "x"})]]
    ours = SkillsMiddleware(router_of(pdf="Fill."), unload=True, misses=1)
    story = Story([*steps, "done"], [ours, Wrapping()])
    out = story.say("go")
    assert out["seen"] == ["call_5"]
    texts_of = [r.content for r in results(story.last)]
    assert "were unloaded" in texts_of[0]
    assert ["loaded already" in t or "no longer in use" in t or "not in use" in t for t in texts_of[1:4]] == [True] * 3
    assert "Stop guessing" in texts_of[4]
    assert times(story.last, "aside") == 5
    assert story.active == []


def test_an_answer_that_got_lost_on_the_way_is_no_reason_to_stumble():
    from skillbelt.langchain.answers import Answer, is_failing, missed

    command = Command(update={"seen": ["x"]})
    assert Answer.of(command, "1") is None and is_failing(command)
    assert Answer.of(Command(update=[("messages", [])]), "1") is None
    assert missed([], "read_skill_resource") == 0


def test_a_load_that_another_middleware_answers_without_facts_is_not_taken_for_one():
    class Standing(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return ToolMessage("not today", tool_call_id=request.tool_call["id"])

    story = Story([[load("pdf")], "done"], [SkillsMiddleware(router_of("pdf")), Standing()])
    story.say("go")
    assert results(story.last)[0].content == "not today" and story.active == []


def test_searching_and_listing_are_tools_too_when_they_are_wanted():
    names = [f"s{n:03}" for n in range(40)]
    router = SkillRouter(MappingSource({f"{n}/SKILL.md": skill(n) for n in names}), budget=TokenBudget(120))
    facts: list[Any] = []
    steps = [[("search_skills", {"query": "s007"}), ("list_skills", {})], "done"]
    story = simple(steps, router, listing=True, on_event=facts.append)
    story.say("go")
    assert [r.status for r in results(story.last)] == ["success"] * 2
    (searched,) = [f for f in facts if f["event"] == "searched"]
    assert searched["query"] == "s007" and "s007" in searched["skills"]


def test_a_skill_that_changed_comes_whole_when_it_is_loaded_again_and_the_older_text_goes(tmp_path):
    root = scenario("C06", tmp_path)
    router = SkillRouter.from_directory(root)
    story = simple([[load("one")], "x", [load("one")], "y"], router, checkpointer=InMemorySaver())
    story.say("first")
    (root / "one" / "SKILL.md").write_text(skill("one", "New work."))
    story.say("second")
    assert times(story.last, "New work.") == 1 and times(story.last, "Do the work.") == 0
    assert "An older text of the skill one stood here" in "".join(texts(story.last))


def test_kits_of_many_routers_are_forgotten_in_turn():
    from skillbelt.langchain.kit import Kits, Layout

    kits = Kits(Layout())
    routers = [router_of("a") for _ in range(80)]
    first = kits.kit(routers[0])
    assert kits.kit(routers[0]) is first
    for router in routers:
        kits.kit(router)
    assert kits.kit(routers[0]) is not first
    assert len(kits._kits) == 64
