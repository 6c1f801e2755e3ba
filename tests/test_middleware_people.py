"""A person looks before a script runs or a skill is loaded; what was approved is remembered by content."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langchain_kit import Story, load, orphans, results, router_of, skill, times, write_note
from skillbelt import SkillRouter
from skillbelt.consent import consent
from skillbelt.langchain import SkillApproval, SkillsMiddleware
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedChatModel

SCRIPT = "import sys\nimport helper\nprint('ran', helper.WORD, *sys.argv[1:])\n"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "skills" / "shout"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill("shout", "Run scripts/shout.py.", "allowed-tools: Bash(shout:*)\n"))
    (folder / "scripts" / "shout.py").write_text(SCRIPT)
    (folder / "scripts" / "helper.py").write_text("WORD = 'loud'\n")
    return tmp_path / "skills"


@pytest.fixture
def router(root):
    return SkillRouter.from_directory(root, runner=LocalRunner())


def run(*args: str, name: str = "shout", path: str = "scripts/shout.py") -> tuple[str, dict[str, Any]]:
    return ("run_skill_script", {"name": name, "path": path, "args": list(args)})


class Asked(Story):
    """A story with somebody to ask."""

    def __init__(
        self, steps: list[Any], router: SkillRouter, *, saver: Any = None, tools: Any = (), **options: Any
    ) -> None:
        ours = SkillsMiddleware(router)
        super().__init__(
            steps, [ours, SkillApproval(ours, **options)], tools=tools, checkpointer=saver or InMemorySaver()
        )

    def answer(self, *decisions: Any) -> dict[str, Any]:
        given = [{"type": d} if isinstance(d, str) else d for d in decisions]
        self.out = self.agent.invoke(Command(resume={"decisions": given}), self.config)
        return self.out

    @property
    def questions(self) -> list[str]:
        interrupts = self.out.get("__interrupt__", [])
        return [request["description"] for i in interrupts for request in i.value["action_requests"]]


def test_before_a_script_runs_a_person_sees_what_would_run(router):
    story = Asked([[run("a", "b c")], "done"], router)
    story.say("go")
    (question,) = story.questions
    for words in (
        "Run scripts/shout.py of the skill shout?",
        'Arguments: ["a", "b c"]',
        "import helper",
        "sha256 of the skill's files: ",
        f"Size of the script: {len(SCRIPT)} bytes",
    ):
        assert words in question
    story.answer("approve")
    (answer,) = results(story.last)
    assert "ran loud a b c" in answer.content
    assert orphans(story.last) == []


def test_what_a_person_rejects_does_not_run_and_is_not_remembered(router):
    story = Asked([[run("a")], [run("a")], "done"], router)
    story.say("go")
    story.answer({"type": "reject", "message": "too loud"})
    assert "too loud" in results(story.last)[0].content and results(story.last)[0].status == "error"
    assert len(story.questions) == 1


@pytest.mark.parametrize(
    ("remember", "asked_again"), [("call", [False, True]), ("script", [False, False]), ("never", [True, True])]
)
def test_a_yes_is_remembered_for_the_call_the_script_or_never(router, remember, asked_again):
    story = Asked([[run("a")], [run("a")], "one", [run("b")], "two"], router, remember=remember)
    story.say("go")
    story.answer("approve")
    assert bool(story.questions) == asked_again[0]
    if story.questions:
        story.answer("approve")
    story.say("more")
    assert bool(story.questions) == asked_again[1]


@pytest.mark.parametrize("changed", ["scripts/shout.py", "scripts/helper.py", "SKILL.md"])
def test_a_yes_ends_when_any_file_of_the_skill_changes(router, root, changed):
    story = Asked([[run("a")], "one", [run("a")], "two"], router)
    story.say("go")
    story.answer("approve")
    file = root / "shout" / changed
    file.write_text(file.read_text() + "\n")
    story.say("again")
    assert len(story.questions) == 1


def test_what_changed_between_question_and_answer_does_not_run(router, root):
    story = Asked([[run("a")], "done"], router)
    story.say("go")
    (root / "shout" / "scripts" / "helper.py").write_text("WORD = 'evil'\n")
    story.answer("approve")
    (answer,) = results(story.last)
    assert answer.status == "error" and "changed while approval was waited for" in answer.content
    assert "evil" not in answer.content
    assert orphans(story.last) == []


def test_a_person_may_change_the_arguments_and_that_is_no_grant_for_the_first_ones(router):
    story = Asked([[run("a")], [run("a")], "done"], router)
    story.say("go")
    edited = {"type": "edit", "edited_action": {"name": "run_skill_script", "args": {**run("quietly")[1]}}}
    story.answer(edited)
    assert "ran loud quietly" in results(story.last)[0].content
    assert len(story.questions) == 1


def test_loading_is_asked_for_when_the_host_wants_it(router):
    story = Asked([[load("shout")], "done"], router, loading=True, scripts=False)
    story.say("go")
    (question,) = story.questions
    assert "Load the skill shout?" in question and "Run scripts/shout.py." in question
    assert "Bash(shout:*)" in question and "Files: 2" in question
    assert times(story.last, "Run scripts/shout.py.") == 0
    story.answer("approve")
    assert times(story.last, "Run scripts/shout.py.") == 1
    assert story.active == ["shout"]


@pytest.mark.skipif("when" not in InterruptOnConfig.__annotations__, reason="LangChain asks about all of a message")
def test_calls_of_one_message_are_asked_for_one_by_one_and_only_those_that_need_it(router):
    steps = [[run("a")], [run("a"), run("b"), ("write_note", {"text": "x"})], "done"]
    story = Asked(steps, router, tools=[write_note])
    story.say("go")
    story.answer("approve")
    assert len(story.questions) == 1 and '["b"]' in story.questions[0]
    story.answer("reject")
    status = {m.tool_call_id: m.status for m in results(story.last)}
    assert status == {"call_1": "success", "call_2": "success", "call_3": "error", "call_4": "success"}


def test_skills_may_be_allowed_by_name_and_grants_shared_by_conversations(router):
    story = Asked([[run("a")], "done"], router, allow=["sh*"])
    story.say("go")
    assert story.questions == [] and "ran loud a" in results(story.last)[0].content
    grants: set[str] = set()
    first, second = (Asked([[run("a")], "done"], router, grants=grants) for _ in range(2))
    first.say("go")
    first.answer("approve")
    second.say("go")
    assert len(grants) == 1 and second.questions == []


def test_other_tools_can_be_asked_for_beside_ours(router):
    story = Asked(
        [[("write_note", {"text": "x"})], "done"], router, tools=[write_note], interrupt_on={"write_note": True}
    )
    story.say("go")
    assert len(story.questions) == 1


@pytest.mark.parametrize(
    "call",
    [
        ("run_skill_script", {"name": "nope", "path": "a.py", "args": []}),
        ("run_skill_script", {"name": "shout", "path": "scripts/nope.py", "args": []}),
        ("run_skill_script", {"name": "shout", "path": "../../x.py", "args": []}),
        ("run_skill_script", {"name": 7, "path": 8}),
        ("run_skill_script", {"name": "shout", "path": 8}),
    ],
)
def test_nobody_is_asked_about_what_would_fail_anyway(router, call):
    story = Asked([[call], "done"], router)
    story.say("go")
    assert story.questions == []
    assert results(story.last)[0].status == "error"


async def test_an_async_agent_asks_without_holding_up_the_loop(router):
    blockbuster_ctx = pytest.importorskip("blockbuster").blockbuster_ctx

    ours = SkillsMiddleware(router)
    model = ScriptedChatModel([[run("a")], "done"])
    agent = create_agent(model, middleware=[ours, SkillApproval(ours)], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "async"}}
    with blockbuster_ctx("skillbelt"):
        out = await agent.ainvoke({"messages": [HumanMessage("go")]}, config)
        assert len(out["__interrupt__"]) == 1
        out = await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    (answer,) = [m for m in out["messages"] if isinstance(m, ToolMessage)]
    assert "ran loud a" in answer.content


def test_a_plain_router_will_do_and_the_grants_are_plain_json(router):
    model = ScriptedChatModel([[run("a")], "done"])
    agent = create_agent(
        model, middleware=[SkillsMiddleware(router), SkillApproval(router)], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "plain"}}
    agent.invoke({"messages": [HumanMessage("go")]}, config)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    grants = agent.get_state(config).values["skill_grants"]
    assert len(grants) == 1 and isinstance(grants[0], str)


def test_a_question_names_binary_scripts_and_standard_input(tmp_path, router, root):
    (root / "shout" / "scripts" / "tool.bin").write_bytes(b"\x00\xff\x00")
    arguments = {"name": "shout", "path": "scripts/tool.bin", "args": [], "stdin": "secret\nlines"}
    asked = consent(router, "run_skill_script", arguments)
    assert asked is not None
    assert "(binary)" in asked.description and "Standard input: secret lines" in asked.description
    long = router_of(big="\n".join(f"line {n}" for n in range(100)))
    loading = consent(long, "load_skill", {"name": "big"})
    assert loading is not None and "… 60 more lines" in loading.description


def test_of_two_equal_loads_the_second_is_whole_when_the_first_was_rejected(router):
    story = Asked([[load("shout"), load("shout"), load("shout")], "done"], router, loading=True, scripts=False)
    story.say("go")
    assert len(story.questions) == 3
    story.answer("reject", "approve", "approve")
    by_id = {m.tool_call_id: m for m in results(story.last)}
    assert by_id["call_1"].status == "error"
    assert "Run scripts/shout.py." in by_id["call_2"].content
    assert "another call of the same message" in by_id["call_3"].content
    assert times(story.last, "Run scripts/shout.py.") == 1
