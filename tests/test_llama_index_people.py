"""A person looks before a script runs or a skill is loaded, in LlamaIndex's own way of asking."""

import asyncio
import json

import pytest
from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.agent.workflow import base_agent as upstream
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonPickleSerializer

from llama_index_kit import Story, keeping, load, orphans, remembered, results, router_of, skill
from skillbelt import SkillRouter
from skillbelt.fence import Fence
from skillbelt.llama_index import SkillApproval, SkillApprovalRequired, SkillFunctionAgent, Skills
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedLLM

SCRIPT = "import sys\nimport helper\nprint('ran', helper.WORD, *sys.argv[1:])\n"

WAITS = hasattr(upstream, "_get_waiting_for_event_exception") or not hasattr(Context, "get_step_context")
"""llama-index-core 0.14.0 to 0.14.x with llama-index-workflows 2 makes an error of a tool that waits."""

pytestmark = pytest.mark.skipif(not WAITS, reason="this llama-index-core cannot wait inside a tool")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "skills" / "shout"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill("shout", "Run scripts/shout.py."))
    (folder / "scripts" / "shout.py").write_text(SCRIPT)
    (folder / "scripts" / "helper.py").write_text("WORD = 'loud'\n")
    return tmp_path / "skills"


@pytest.fixture
def router(root):
    return SkillRouter.from_directory(root, runner=LocalRunner())


def run(*args: str, name: str = "shout", path: str = "scripts/shout.py"):
    return ("run_skill_script", {"name": name, "path": path, "args": list(args)})


class Asked:
    """A story with somebody to ask."""

    def __init__(self, steps, router, *, make=keeping, answers=(), **options):
        skills = Skills(router, approval=SkillApproval(**options))
        self.story = make(steps, skills)
        self.answers = list(answers)
        self.questions: list[SkillApprovalRequired] = []

    async def say(self, text):
        run = self.story.agent.run(text, ctx=self.story.ctx, memory=self.story.memory)
        async for event in run.stream_events():
            self.story.events.append(event)
            if isinstance(event, InputRequiredEvent):
                self.questions.append(event)
                answer = self.answers.pop(0)
                answer = answer(event) if callable(answer) else event.answer(answer)
                run.ctx.send_event(answer)
        return str(await run)

    @property
    def results(self):
        return results(self.story.last)


@pytest.mark.parametrize("make", [keeping, remembered], ids=["agent", "plain"])
async def test_before_a_script_runs_a_person_sees_what_would_run(router, make):
    asked = Asked([[run("a", "b c")], "done"], router, make=make, answers=["yes"])
    await asked.say("go")
    (question,) = asked.questions
    for words in (
        "Run scripts/shout.py of the skill shout?",
        'Arguments: ["a", "b c"]',
        "import helper",
        "sha256 of the skill's files: ",
    ):
        assert words in question.prefix
    assert (question.tool, question.skill) == ("run_skill_script", "shout")
    assert question.arguments == run("a", "b c")[1]
    assert "ran loud a b c" in asked.results[0]
    assert orphans(asked.story.last) == []


async def test_a_plain_answer_of_the_host_counts_when_it_has_the_key(router):
    answers = [lambda event: HumanResponseEvent(response="Yes ", key=event.key)]
    asked = Asked([[run()], "done"], router, answers=answers)
    await asked.say("go")
    assert "ran loud" in asked.results[0]


async def test_what_a_person_does_not_agree_to_does_not_run_and_is_asked_again(router):
    answers = [lambda event: event.answer("no", "too <loud>"), lambda event: event.answer(False), True]
    asked = Asked([[run("a")], [run("a")], [run("a")], "done"], router, answers=answers)
    await asked.say("go")
    first, second, third = asked.results
    assert "was not run" in first and "too &lt;loud&gt;" in first
    assert "did not agree" in second and "The reason given" not in second
    assert "ran loud a" in third
    assert [fact["tool"] for fact in asked.story.told("refused")] == ["run_skill_script"] * 2


@pytest.mark.parametrize(("remember", "questions"), [("call", 2), ("script", 1), ("never", 3)])
async def test_a_yes_is_remembered_for_the_call_the_script_or_never(router, remember, questions):
    steps = [[run("a")], [run("a")], "one", [run("b")], "two"]
    asked = Asked(steps, router, remember=remember, answers=["yes"] * 3)
    await asked.say("go")
    await asked.say("more")
    assert len(asked.questions) == questions
    assert all("ran loud" in text for text in asked.results)


@pytest.mark.parametrize("changed", ["scripts/shout.py", "scripts/helper.py", "SKILL.md"])
async def test_a_yes_ends_when_any_file_of_the_skill_changes(router, root, changed):
    asked = Asked([[run("a")], "one", [run("a")], "two"], router, answers=["yes", "no"])
    await asked.say("go")
    file = root / "shout" / changed
    file.write_text(file.read_text() + "\n")
    await asked.say("again")
    assert len(asked.questions) == 2
    assert "did not agree" in asked.results[-1]


async def test_what_changed_between_the_question_and_the_answer_does_not_run_unseen(router, root):
    def change(event):
        (root / "shout" / "scripts" / "helper.py").write_text("WORD = 'evil'\n")
        return event.answer("yes")

    asked = Asked([[run("a")], "done"], router, answers=[change, "no"])
    await asked.say("go")
    assert "evil" not in asked.results[0]
    assert "changed while approval was waited for" in asked.results[0] or "did not agree" in asked.results[0]


async def test_skills_that_are_allowed_and_digests_granted_before_need_no_question(router):
    await Asked([[run("a")], "done"], router, allow=["sh*"]).say("go")
    grants: set[str] = set()
    asked = Asked([[run("a")], "done"], router, grants=grants, answers=["yes"])
    await asked.say("go")
    assert grants == {asked.questions[0].key}
    other = Asked([[run("a")], "done"], router, grants=grants)
    await other.say("go")
    assert "ran loud a" in other.results[0]
    forgetful = Asked([[run("a")], "done"], router, remember="never", grants=set(), answers=["yes"])
    await forgetful.say("go")
    assert "ran loud a" in forgetful.results[0]


async def test_loading_a_skill_is_asked_for_when_the_host_wants_it_and_reading_never():
    read = ("read_skill_resource", {"name": "rule", "path": "x.md"})
    asked = Asked(
        [[load("rule")], [load("rule")], [read], "done"], router_of("rule"), loading=True, answers=["no", "y"]
    )
    await asked.say("go")
    assert "Load the skill rule?" in asked.questions[0].prefix
    assert "did not agree" in asked.results[0] and "</skill_content>" in asked.results[1]
    assert await asked.story.active() == ["rule"]


async def test_a_call_that_would_fail_anyway_is_not_asked_about(router):
    bad = [run(name="nope"), run(path="scripts/nope.py"), ("run_skill_script", {"name": 7, "path": []})]
    asked = Asked([bad, "done"], router)
    await asked.say("go")
    assert asked.questions == [] and len(asked.results) == 3


async def test_two_questions_of_one_message_are_answered_each_on_its_own(router):
    waiting: list[SkillApprovalRequired] = []
    story = keeping([[run("a"), run("b")], "done"], Skills(router, approval=SkillApproval()))
    handler = story.agent.run("go", ctx=story.ctx, memory=story.memory)
    async for event in handler.stream_events():
        if isinstance(event, SkillApprovalRequired):
            waiting.append(event)
            if len(waiting) == 2:
                for question in reversed(waiting):
                    handler.ctx.send_event(question.answer("yes" if "b" in question.arguments["args"] else "no"))
    await handler
    first, second = results(story.last)
    assert "did not agree" in first and "ran loud b" in second


@pytest.mark.parametrize("response", ["yes", "no"])
async def test_two_equal_calls_of_one_message_are_both_answered(router, response):
    asked = Asked([[run("a"), run("a")], "done"], router, answers=[response] * 2)
    async with asyncio.timeout(60):
        await asked.say("go")
    assert [("ran loud a" in text) for text in asked.results] == [response == "yes"] * 2


async def test_nobody_answers_in_time(router):
    story = keeping([[run("a")], "done"], Skills(router, approval=SkillApproval(timeout=0.2)))
    await story.say("go")
    assert "nobody answered the question about the skill shout in time" in results(story.last)[0]


async def test_the_fence_comes_before_the_question(root):
    (root / "strict").mkdir()
    (root / "strict" / "SKILL.md").write_text(skill("strict", "x", "allowed-tools: look\n"))
    router = SkillRouter.from_directory(root, runner=LocalRunner())
    skills = Skills(router, approval=SkillApproval(), allowed_tools=Fence("enforce"))
    story = keeping([[load("strict")], [run("a")], "done"], skills)
    await story.say("go")
    assert "run_skill_script was not run" in results(story.last)[-1]


async def test_an_agent_of_a_workflow_asks_too(router):
    llm = ScriptedLLM([[run("a")], "done"])
    skills = Skills(router, approval=SkillApproval())
    clerk = SkillFunctionAgent(skills=skills, name="clerk", description="Works.", llm=llm)
    flow = AgentWorkflow(agents=[clerk], root_agent="clerk")
    asked = Asked([], router_of("x"), answers=["yes"])
    asked.story = Story(flow, llm)
    await asked.say("go")
    assert "ran loud a" in asked.results[0]


@pytest.mark.skipif(not hasattr(Context, "get_step_context"), reason="llama-index-workflows 1 cannot stop in a tool")
@pytest.mark.parametrize("pause", [0.0, 0.3])
async def test_a_workflow_that_waits_is_saved_and_goes_on_after_the_answer_and_runs_the_script_once(
    router, root, pause
):
    count = root.parent / "count"
    (root / "shout" / "scripts" / "shout.py").write_text(f"open({str(count)!r}, 'a').write('x')\nprint('counted')\n")
    skills = Skills(router, approval=SkillApproval())
    story = keeping([[run("a")]], skills)
    handler = story.agent.run("go", ctx=story.ctx, memory=story.memory)
    async for event in handler.stream_events():
        if isinstance(event, SkillApprovalRequired):
            question = event
            break
    # JsonSerializer leaves the memory out, and a run that waits cannot be given another one.
    saved = json.loads(json.dumps(handler.ctx.to_dict(serializer=JsonPickleSerializer())))
    await handler.cancel_run()
    with pytest.raises(Exception):  # noqa: B017 - LlamaIndex's own
        await handler

    llm = ScriptedLLM(["done"])
    agent = SkillFunctionAgent(skills=skills, llm=llm, system_prompt="You are a clerk.")
    handler = agent.run(ctx=Context.from_dict(agent, saved, serializer=JsonPickleSerializer()))
    await asyncio.sleep(pause)
    handler.ctx.send_event(question.answer("yes"))
    async with asyncio.timeout(60):
        assert str(await handler) == "done"
    assert "counted" in results(llm.requests[-1])[0]
    assert count.read_text() == "x"
