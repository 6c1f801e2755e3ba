"""What may run: allowed-tools as advice and as a fence, tools that come with skills, users, children, confusion."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_kit import (
    NOTES,
    Story,
    load,
    look,
    orphans,
    results,
    router_of,
    scenario,
    simple,
    skill,
    system_text,
    texts,
    times,
    write_note,
)
from skillbelt import MappingSource, SkillError, SkillNotFoundError, SkillRouter
from skillbelt.fence import Fence, HostTool
from skillbelt.langchain import SkillsMiddleware
from skillbelt.testing import ScriptedChatModel

NOTE = ("write_note", {"text": "x"})


@tool
def measure(what: str) -> str:
    """Measure something."""
    MEASURED.append(what)
    return f"measured {what}"


MEASURED: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran():
    NOTES.clear()
    MEASURED.clear()


def fenced(*skills: tuple[str, str]) -> SkillRouter:
    """A router over skills with allowed-tools."""
    files = {f"{name}/SKILL.md": skill(name, f"Body of {name}.", f"allowed-tools: {tools}\n") for name, tools in skills}
    return SkillRouter(MappingSource(files | {"free/SKILL.md": skill("free", "Body of free.")}))


def told() -> tuple[list[dict[str, Any]], Any]:
    facts: list[dict[str, Any]] = []
    return facts, facts.append


# --- C14: a fence that holds -----------------------------------------------------------------------------------------


def test_c14_enforced_a_hidden_tool_is_refused_with_the_skill_and_the_rule(tmp_path):
    router = SkillRouter.from_directory(scenario("C14", tmp_path))
    facts, on_event = told()
    steps = [[load("read-only")], [NOTE, ("look", {"at": "x"})], "done"]
    story = simple(steps, router, tools=[look, write_note], allowed_tools="enforce", on_event=on_event)
    story.say("go")
    assert story.requests[0].tool_names == ["load_skill", "read_skill_resource", "look", "write_note"]
    assert story.requests[1].tool_names == ["load_skill", "read_skill_resource", "look"]
    refused, looked = results(story.last)[1:]
    assert NOTES == []
    assert refused.status == "error"
    assert "write_note was not run" in refused.content and "read-only" in refused.content and "look" in refused.content
    assert looked.content == "saw x"
    (fact,) = [f for f in facts if f["event"] == "refused"]
    assert (fact["tool"], fact["skills"], fact["enforced"]) == ("write_note", ["read-only"], True)
    assert orphans(story.last) == []


def test_c14_advised_the_tool_runs_and_is_recorded(tmp_path):
    router = SkillRouter.from_directory(scenario("C14", tmp_path))
    facts, on_event = told()
    story = simple([[load("read-only")], [NOTE], "done"], router, tools=[look, write_note], on_event=on_event)
    story.say("go")
    assert NOTES == ["x"]
    assert "write_note" in story.requests[1].tool_names
    (fact,) = [f for f in facts if f["event"] == "refused"]
    assert (fact["tool"], fact["enforced"]) == ("write_note", False)
    assert "Tools it was written for: look" in results(story.last)[0].content


def test_c14_a_tool_that_comes_with_a_skill_is_offered_on_the_next_call_and_refused_before(tmp_path):
    router = SkillRouter.from_directory(scenario("C14", tmp_path))
    steps = [[("measure", {"what": "early"})], [load("read-only")], [("measure", {"what": "late"})], "done"]
    story = simple(steps, router, tools_for={"read-only": [measure]}, checkpointer=InMemorySaver())
    story.say("go")
    assert ["measure" in request.tool_names for request in story.requests] == [False, False, True, True]
    assert MEASURED == ["late"]
    early = results(story.last)[0]
    assert early.status == "error" and "comes with the skill read-only: call load_skill first" in early.content


def test_calls_of_one_message_are_judged_by_the_state_before_it():
    router = fenced(("strict", "look"))
    steps = [
        [load("strict"), ("measure", {"what": "with the load"})],
        [("unload_skill", {"name": "strict"}), NOTE, ("measure", {"what": "with the unload"})],
        [NOTE, ("measure", {"what": "after"})],
        "done",
    ]
    ours = SkillsMiddleware(router, allowed_tools="enforce", unload=True, tools_for={"strict": [measure]})
    story = Story(steps, [ours], tools=[write_note])
    story.say("go")
    assert MEASURED == ["with the unload"]
    assert NOTES == ["x"]
    status = [message.status for message in results(story.last)]
    assert status == ["success", "error", "success", "error", "success", "success", "error"]


def test_a_function_may_come_with_two_skills_and_its_name_must_be_one():
    def weigh(what: str) -> str:
        """Weigh something."""
        return f"weighed {what}"

    router = router_of("a", "b")
    story = simple(
        [[load("b")], [("weigh", {"what": "x"})], "done"], router, tools_for={"a": [measure], "b": [weigh, measure]}
    )
    story.say("go")
    assert story.requests[1].tool_names[-2:] == ["measure", "weigh"]
    assert results(story.last)[-1].content == "weighed x"

    @tool("measure")
    def other(what: str) -> str:
        """Another one."""
        return what

    with pytest.raises(SkillError, match="two tools called 'measure'"):
        SkillsMiddleware(router, tools_for={"a": [measure], "b": [other]})


def test_the_base_set_and_several_skills_widen_the_fence_and_a_skill_that_says_nothing_does_not():
    router = fenced(("one", "look"), ("two", "measure"))
    steps = [
        [load("one"), load("free")],
        [NOTE, ("measure", {"what": "x"})],
        [load("two")],
        [("measure", {"what": "x"})],
        "done",
    ]
    fence = Fence("enforce", base=["write_*"])
    story = simple(steps, router, tools=[look, write_note, measure], allowed_tools=fence)
    story.say("go")
    assert NOTES == ["x"] and MEASURED == ["x"]
    assert [m.status for m in results(story.last)[2:]] == ["success", "error", "success", "success"]


def test_words_of_allowed_tools_mean_what_the_host_says_arguments_included():
    ran: list[str] = []

    @tool
    def shell(command: str) -> str:
        """Run a command."""
        ran.append(command)
        return "ok"

    router = fenced(("git", "Bash(git:*) Read"))
    table = {"Bash": HostTool("shell", "command"), "Read": ["look", "load_file"]}
    commands = ["git status", "rm -r .", "git log; rm -r .", "gitk", "git log && ls"]
    steps = [[load("git")], [*(("shell", {"command": c}) for c in commands), ("look", {"at": "x"})], "done"]
    story = simple(steps, router, tools=[shell, look], allowed_tools=Fence("enforce", table))
    story.say("go")
    assert ran == ["git status"]
    answers = results(story.last)[1:]
    assert [m.status for m in answers] == ["success", "error", "error", "error", "error", "success"]
    assert "joins a second command" in answers[2].content
    assert "Bash(git:*)" in answers[1].content
    assert "shell" in story.last.tool_names  # it may run, for some commands


def test_tools_that_a_provider_runs_itself_are_hidden_by_the_fence():
    router = fenced(("strict", "look"))
    search = {"type": "web_search_preview"}
    model = ScriptedChatModel([[load("strict")], "done"])
    seen: list[list[Any]] = []

    class Seeing(SkillsMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            def look_at(ready: Any) -> Any:
                seen.append([t if isinstance(t, dict) else t.name for t in ready.tools])
                return handler(ready.override(tools=[t for t in ready.tools if not isinstance(t, dict)]))

            return super().wrap_model_call(request, look_at)

    story = Story([], [Seeing(router, allowed_tools="enforce")], tools=[look, search], model=model)
    story.say("go")
    assert search in seen[0] and search not in seen[1] and "look" in seen[1]


def test_c03_a_tool_that_is_declared_and_not_bound_is_named(tmp_path):
    router = SkillRouter.from_directory(scenario("C03", tmp_path))

    @tool("Read")
    def read(path: str) -> str:
        """Read."""
        return path

    facts, on_event = told()
    story = simple([[load("tools-s1")], [load("tools-s6")], "done"], router, tools=[read], on_event=on_event)
    story.say("go")
    unbound = [(f["skill"], f["tools"]) for f in facts if f["event"] == "unbound"]
    assert unbound == [("tools-s1", ["Grep"]), ("tools-s6", ["Bash"])]


# --- users -----------------------------------------------------------------------------------------------------------


@dataclass
class User:
    name: str


def test_forty_concurrent_users_see_and_reach_only_their_own_skills():
    names = [f"own-{number:02}" for number in range(40)]
    router = router_of(**{name: f"Secret of {name}." for name in names})
    views = {name: router.view(include=[name]) for name in names}
    model_of: dict[str, ScriptedChatModel] = {}
    middleware = SkillsMiddleware(router_for=lambda runtime: views[runtime.context.name])
    barrier = threading.Barrier(8)

    def run(number: int) -> Any:
        own, other = names[number], names[(number + 1) % 40]
        reading = ("read_skill_resource", {"name": other, "path": "SKILL.md"})
        model = model_of[own] = ScriptedChatModel([[load(own), load(other), reading], "done"])
        agent = create_agent(model, middleware=[middleware], context_schema=User, checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": own}}
        barrier.wait(timeout=30)
        return agent.invoke({"messages": [HumanMessage(f"/{other} hi")]}, config, context=User(own))

    with ThreadPoolExecutor(8) as pool:
        outs = list(pool.map(run, range(40)))
    for number, (own, out) in enumerate(zip(names, outs, strict=True)):
        others = [name for name in names if name != own]
        for request in model_of[own].requests:
            sent = "".join(texts(request))
            assert f'name="{own}"' in sent
            assert not any(f'name="{other}"' in sent or f"Secret of {other}." in sent for other in others)
            loading = request.tools[0]["function"]["parameters"]["properties"]["name"]
            assert loading["enum"] == [own]
        answers = [m for m in out["messages"] if isinstance(m, ToolMessage)]
        assert [m.status for m in answers] == ["success", "error", "error"], number
        assert [record["name"] for record in out["active_skills"]] == [own]


def test_one_agent_serves_each_run_with_the_skills_of_its_user():
    router = router_of(a="Alpha.", b="Beta.")
    views = {"ann": router.view(include=["a"]), "bob": router.view(include=["b"])}
    model = ScriptedChatModel([[load("a")], "done", [load("a")], "done"])
    ours = SkillsMiddleware(router_for=lambda runtime: views[runtime.context.name])
    agent = create_agent(model, middleware=[ours], context_schema=User)
    ann = agent.invoke({"messages": [HumanMessage("hi")]}, context=User("ann"))
    bob = agent.invoke({"messages": [HumanMessage("hi")]}, context=User("bob"))
    assert "Alpha." in ann["messages"][2].content
    assert bob["messages"][2].status == "error" and "Alpha." not in bob["messages"][2].content
    assert [times(request, "Alpha.") for request in model.requests] == [0, 1, 0, 0]


def test_what_is_preloaded_is_in_use_for_the_users_who_have_it():
    router = router_of(a="Alpha.", b="Beta.")
    views = {"ann": router.view(include=["a"]), "bob": router.view(include=["b"])}
    ours = SkillsMiddleware(router_for=lambda runtime: views[runtime.context.name], preload=["a"])
    agent = create_agent(ScriptedChatModel(["done", "done"]), middleware=[ours], context_schema=User)
    outs = [agent.invoke({"messages": [HumanMessage("hi")]}, context=User(name)) for name in views]
    assert [[r["name"] for r in out["active_skills"]] for out in outs] == [["a"], []]
    with pytest.raises(SkillNotFoundError):
        simple(["done"], router, preload=["nope"]).say("go")


def test_a_new_view_for_every_call_works_as_well():
    router = router_of(a="Alpha.", b="Beta.")
    model = ScriptedChatModel([[load("a")], [load("a")], [load("b")], "done"])
    ours = SkillsMiddleware(router_for=lambda runtime: router.view(include=["a"]))
    agent = create_agent(model, middleware=[ours])
    out = agent.invoke({"messages": [HumanMessage("hi")]})
    answers = [m for m in out["messages"] if isinstance(m, ToolMessage)]
    assert [m.status for m in answers] == ["success", "success", "error"]
    assert "loaded already" in answers[1].content


async def test_routers_that_were_never_listed_do_not_hold_up_the_loop(tmp_path):
    blockbuster_ctx = pytest.importorskip("blockbuster").blockbuster_ctx

    root = scenario("C07", tmp_path)
    model = ScriptedChatModel([[load("east")], "done"])
    ours = SkillsMiddleware(router_for=lambda runtime: routers[0])
    agent = create_agent(model, middleware=[ours])
    routers = [SkillRouter.from_directory(root)]
    with blockbuster_ctx("skillbelt"):
        out = await agent.ainvoke({"messages": [HumanMessage("hi")]})
    assert [r["name"] for r in out["active_skills"]] == ["east"]


# --- children --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("only", "names"), [(None, ["a", "b", "c"]), ([], []), (["a", "c"], ["a", "c"]), (["b*"], ["b"])]
)
def test_a_child_gets_all_none_or_named_skills_in_list_schema_and_dispatch_alike(only, names):
    router = router_of("a", "b", "c")
    model = ScriptedChatModel([[load(name) for name in "abc"], "done"])
    agent = create_agent(model, tools=[look], middleware=[SkillsMiddleware(router, only=only)])
    out = agent.invoke({"messages": [HumanMessage("hi")]})
    first = model.requests[0]
    assert [n for n in "abc" if f'name="{n}"' in system_text(first)] == names
    schemas = [t["function"] for t in first.tools if t["function"]["name"] == "load_skill"]
    assert [s["parameters"]["properties"]["name"]["enum"] for s in schemas] == ([names] if names else [])
    answered = [m.tool_call_id for m in out["messages"] if isinstance(m, ToolMessage) and m.status == "success"]
    assert [f"call_{'abc'.index(name) + 1}" for name in names] == answered


@pytest.mark.parametrize("inherit", [True, False])
def test_a_child_takes_over_the_skills_of_its_parent_only_when_it_is_told_to(inherit):
    router = router_of(a="Alpha.", b="Beta.")
    model = ScriptedChatModel([[load("b")], "child done"])
    inner = create_agent(model, middleware=[SkillsMiddleware(router, inherit=inherit, name="child")])

    @tool
    def ask(task: str, runtime: Any = None) -> str:
        """Hand a task to a child, with all the state there is."""
        out = inner.invoke({"messages": [HumanMessage(task)], "active_skills": STATE[-1]["active_skills"]})
        return ", ".join(record["name"] for record in out["active_skills"])

    class Watching(SkillsMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            STATE.append(request.state)
            return super().wrap_tool_call(request, handler)

    story = Story([[load("a")], [("ask", {"task": "go"})], "done"], [Watching(router)], tools=[ask])
    story.say("go")
    assert results(story.last)[-1].content == ("a, b" if inherit else "b")
    assert times(model.requests[0], "Alpha.") == (1 if inherit else 0)
    assert story.active == ["a"]


STATE: list[Any] = []


# --- C15: a confused model -------------------------------------------------------------------------------------------

WRONG = ["guide", "guide.md", "references/guide", "docs/guide.md", "references/Guide.md", "references/guide.txt"]


def test_c15_a_skill_called_as_a_tool_and_near_names_get_helpful_answers(tmp_path):
    router = SkillRouter.from_directory(scenario("C15", tmp_path))
    steps = [[("pdf-forms", {})], [load("pdf_forms")], [load("PDF-Forms")], [load("nope")], "done"]
    story = simple(steps, router)
    story.say("go")
    called, near, other_case, miss = results(story.last)
    assert called.content == 'pdf-forms is a skill, not a tool. Call load_skill with name "pdf-forms" to read it.'
    assert called.status == "error"
    assert "pdf-forms" in near.content
    assert other_case.status == "success"
    assert "Available skills: pdf-forms" in miss.content
    assert story.requests[0].tool_names == ["load_skill", "read_skill_resource"]  # nothing to run, no tool to run it


@pytest.mark.parametrize("most", [3, 5])
async def test_c15_wrong_file_names_get_a_firm_answer_after_some(tmp_path, most):
    router = SkillRouter.from_directory(scenario("C15", tmp_path))
    calls = [[("read_skill_resource", {"name": "pdf-forms", "path": path})] for path in WRONG]
    right = [("read_skill_resource", {"name": "pdf-forms", "path": "references/guide.md"})]
    steps = [*calls, right, calls[0], "done"]
    sync, asynchronous = simple(steps, router, misses=most), simple(steps, router, misses=most)
    sync.say("go")
    await asynchronous.asay("go")
    for story in (sync, asynchronous):
        answers = results(story.last)
        assert all(m.status == "error" for m in answers[:6]) and answers[6].status == "success"
        firm = ["Stop guessing" in m.content for m in answers]
        assert firm == [number + 1 >= most for number in range(6)] + [False, False]
        for answer in answers[:6]:
            assert "references/guide.md" in answer.content
        assert f"{most} calls in a row" in answers[most - 1].content


def test_a_skill_without_files_says_so_when_asked_too_often():
    calls = [[("read_skill_resource", {"name": "bare", "path": f"{n}.md"})] for n in range(3)]
    story = simple([*calls, "done"], router_of("bare"))
    story.say("go")
    assert "It has no files besides SKILL.md." in results(story.last)[-1].content


def test_wrong_names_of_skills_do_not_become_firm_and_other_unknown_tools_stay_the_agents_affair():
    calls = [[("read_skill_resource", {"name": "nope", "path": "a.md"})] for _ in range(4)]
    story = simple([*calls, [("fly", {})], "done"], router_of("bare"))
    story.say("go")
    answers = results(story.last)
    assert all("There is no skill 'nope'" in m.content for m in answers[:4])
    assert "fly is not a valid tool" in answers[4].content


def test_a_load_without_a_usable_name_takes_no_place_among_those_in_use():
    steps = [[("load_skill", {"name": 7}), ("load_skill", {}), load("a")], "done"]
    story = simple(steps, router_of("a", "b"), max_active=1)
    story.say("go")
    assert [m.status for m in results(story.last)] == ["error", "error", "success"]
