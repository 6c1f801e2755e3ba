"""What may run in LlamaIndex: the fence, tools that come with skills, users, agents of a workflow, confusion."""

import asyncio

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.objects import ObjectRetriever
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.tools import FunctionTool, QueryEngineTool, ToolMetadata, ToolOutput
from llama_index.core.tools.types import BaseTool
from llama_index.core.workflow import Context

from llama_index_kit import (
    MEASURED,
    NOTE,
    NOTES,
    Story,
    fenced,
    keeping,
    load,
    look,
    measure,
    orphans,
    raises,
    remembered,
    results,
    router_of,
    scenario,
    skill,
    system_text,
    texts,
    times,
    unload,
    write_note,
)
from skillbelt import MappingSource, SkillError, SkillRouter, tool_per_skill
from skillbelt.fence import Fence, HostTool
from skillbelt.llama_index import SkillFunctionAgent, SkillFunctionTool, Skills
from skillbelt.testing import ScriptedLLM


@pytest.fixture(autouse=True)
def _nothing_ran():
    NOTES.clear()
    MEASURED.clear()


BOTH = pytest.mark.parametrize("make", [keeping, remembered], ids=["agent", "plain"])

# --- C14: a fence that holds ------------------------------------------------------------------------------------------


@BOTH
async def test_c14_enforced_a_hidden_tool_is_refused_with_the_skill_and_the_rule(make, tmp_path):
    router = SkillRouter.from_directory(scenario("C14", tmp_path))
    steps = [[load("read-only")], [NOTE, ("look", {"at": "x"})], "done"]
    story = make(steps, router, tools=[look, write_note], allowed_tools="enforce")
    await story.say("go")
    refused, looked = results(story.last)[1:]
    assert NOTES == []
    assert "write_note was not run" in refused and "read-only" in refused and "look" in refused
    assert looked == "saw x"
    (fact,) = story.told("refused")
    assert (fact["tool"], fact["skills"], fact["enforced"]) == ("write_note", ["read-only"], True)
    assert orphans(story.last) == []
    if make is keeping:
        assert story.requests[0].tool_names == ["look", "write_note", "load_skill", "read_skill_resource"]
        assert story.requests[1].tool_names == ["look", "load_skill", "read_skill_resource"]


@BOTH
async def test_c14_advised_the_tool_runs_and_is_recorded(make, tmp_path):
    router = SkillRouter.from_directory(scenario("C14", tmp_path))
    story = make([[load("read-only")], [NOTE], "done"], router, tools=[look, write_note])
    await story.say("go")
    assert NOTES == ["x"] and "write_note" in story.requests[1].tool_names
    (fact,) = story.told("refused")
    assert (fact["tool"], fact["enforced"]) == ("write_note", False)
    assert "Tools it was written for: look" in results(story.last)[0]


@BOTH
async def test_c14_a_tool_that_comes_with_a_skill_is_offered_on_the_next_call_and_refused_before(make, tmp_path):
    router = SkillRouter.from_directory(scenario("C14", tmp_path))
    steps = [[("measure", {"what": "early"})], [load("read-only")], [("measure", {"what": "late"})], "done"]
    story = make(steps, router, tools_for={"read-only": [measure]})
    await story.say("go")
    if make is keeping:
        assert ["measure" in request.tool_names for request in story.requests] == [False, False, True, True]
    assert MEASURED == ["late"]
    assert "comes with the skill read-only: call load_skill first" in results(story.last)[0]


@BOTH
async def test_calls_of_one_message_are_judged_by_the_state_before_it(make):
    router = fenced(("strict", "look"))
    steps = [
        [load("strict"), ("measure", {"what": "with the load"})],
        [unload("strict"), NOTE, ("measure", {"what": "with the unload"})],
        [NOTE, ("measure", {"what": "after"})],
        "done",
    ]
    options = {"allowed_tools": "enforce", "unload": True, "tools_for": {"strict": [measure]}}
    story = make(steps, router, tools=[write_note], **options)
    await story.say("go")
    assert MEASURED == ["with the unload"]
    assert NOTES == ["x"], "refused beside the unload, allowed after it"


@BOTH
async def test_a_second_run_begins_behind_the_fence_of_the_first(make):
    router = fenced(("strict", "look"))
    steps = [[load("strict"), NOTE], "one", [load("strict"), NOTE], "two"]
    story = make(steps, router, tools=[write_note], allowed_tools="enforce")
    await story.say("go")
    assert NOTES == ["x"], "the skill was not in use before its message"
    await story.say("go")
    assert NOTES == ["x"], "now it is"


async def test_the_base_set_the_table_of_names_and_a_pattern_are_honoured():
    def shell(command: str) -> str:
        """Run a command."""
        return f"ran {command}"

    fence = Fence("enforce", {"Bash": HostTool("shell", "command")}, base="write_*")
    steps = [
        [load("git")],
        [("shell", {"command": "git status"}), ("shell", {"command": "git log; rm -r ."}), NOTE, ("look", {"at": "x"})],
        "done",
    ]
    story = keeping(steps, fenced(("git", "Bash(git:*)")), tools=[shell, write_note, look], allowed_tools=fence)
    await story.say("go")
    ran, joined, noted, looked = results(story.last)[1:]
    assert ran == "ran git status" and noted == "written"
    assert "joins a second command" in joined and "look was not run" in looked


class Plain(BaseTool):
    """A tool of the old kind, without an async path."""

    @property
    def metadata(self):
        return ToolMetadata(name="plain", description="Does it.", fn_schema=None)

    def __call__(self, input):  # noqa: A002 - its name in the base class
        return ToolOutput(content=f"plain {input}", tool_name="plain", raw_input={}, raw_output=input)


class Engine(CustomQueryEngine):
    """Answers every question."""

    def custom_query(self, query_str: str) -> str:
        return f"answer to {query_str}"


async def counted(ctx: Context, word: str) -> str:
    """Remember a word."""
    await ctx.store.set("word", word)
    return f"remembered {word}"


async def test_tools_of_every_kind_stand_behind_the_fence_and_still_work():
    engine = QueryEngineTool.from_defaults(Engine(), name="books", description="Knows books.")
    calls = [("plain", {"input": "a"}), ("books", {"input": "b"}), ("counted", {"word": "c"})]
    router = fenced(("strict", "look"), ("lax", "plain books counted"))
    steps = [calls, [load("lax")], calls, [load("strict"), unload("lax")], calls, "done"]
    story = keeping(steps, router, tools=[Plain(), engine, counted], allowed_tools="enforce", unload=True)
    await story.say("go")
    answers = results(story.last)
    allowed = ["plain a", "answer to b", "remembered c"]
    assert answers[0:3] == allowed and answers[4:7] == allowed
    assert all("was not run" in text for text in answers[9:12])
    assert await story.ctx.store.get("word") == "c"


async def test_tools_that_are_added_later_or_found_by_a_retriever_stand_behind_it_too():
    class Finder(ObjectRetriever):
        def __init__(self):
            self.asked = []

        def retrieve(self, query):
            self.asked.append(query)
            return [FunctionTool.from_defaults(measure)]

        async def aretrieve(self, query):
            return self.retrieve(query)

    finder = Finder()
    steps = [[load("strict")], [NOTE, ("measure", {"what": "x"})], "done"]
    story = keeping(steps, fenced(("strict", "look")), allowed_tools="enforce", tool_retriever=finder)
    story.agent.tools.append(FunctionTool.from_defaults(write_note))
    await story.say("go")
    assert NOTES == [] and MEASURED == []
    assert all("was not run" in text for text in results(story.last)[1:])
    assert finder.asked and story.agent.tool_retriever.retrieve("x")[0].metadata.name == "measure"


def test_a_fenced_tool_works_outside_of_a_workflow_and_says_what_it_is():
    (tool, *_) = Skills(router_of("a")).tools([look])
    assert tool.call(at="x").content == tool(at="x").content == "saw x"
    assert tool.metadata.name == "look" and tool.inner.metadata is tool.metadata
    assert asyncio.run(tool.acall(at="y")).content == "saw y"


async def test_two_tools_of_one_name_are_an_error_when_the_agent_is_built():
    def load_skill(name: str) -> str:
        """Load."""
        return name

    with pytest.raises(SkillError, match="Two tools are called 'load_skill'"):
        SkillFunctionAgent(skills=router_of("a"), tools=[load_skill], llm=ScriptedLLM([]))
    with pytest.raises(SkillError, match="Two tools are called 'load_skill'"):
        Skills(router_of("a")).tools([load_skill])

    def other(what: str) -> str:
        """Another one."""
        return what

    twin = FunctionTool.from_defaults(other, name="measure")
    with pytest.raises(SkillError, match="two tools called 'measure'"):
        Skills(router_of("a"), tools_for={"a": [measure], "b": [twin]})
    assert Skills(router_of("a"), tools_for={"a": [measure], "b": [measure]}).rules.scoped == {"measure": ("a", "b")}


@pytest.mark.parametrize("options", [{"placement": "middle"}, {"reload": "never"}, {"allowed_tools": "maybe"}, {}])
def test_an_option_that_there_is_not_is_an_error(options):
    with pytest.raises(SkillError):
        Skills(*([router_of("a")] if options else []), **options)


@BOTH
async def test_at_most_so_many_skills_are_in_use_also_when_they_are_loaded_together(make):
    steps = [[load("a"), load("b"), load("c"), load("A")], [load("c")], [unload("a")], [load("c")], "done"]
    story = make(steps, router_of("a", "b", "c"), max_active=2, unload=True)
    await story.say("go")
    answers = results(story.last)
    assert "At most 2 skills can be in use at a time" in answers[2] and "Unload one of them" in answers[2]
    assert "At most 2" in answers[4] and "</skill_content>" in answers[6]
    assert sorted(await story.active()) == ["b", "c"]


async def test_tools_a_skill_names_and_the_agent_does_not_have_are_reported():
    story = keeping([[load("strict")], "done"], fenced(("strict", "look Grep")), tools=[look])
    await story.say("go")
    (fact,) = story.told("unbound")
    assert fact["tools"] == ["Grep"]


# --- C15: a confused model, C09: paths, C05: names --------------------------------------------------------------------


async def test_c15_a_skill_called_as_a_tool_and_near_names_are_explained(tmp_path):
    router = SkillRouter.from_directory(scenario("C15", tmp_path))
    steps = [[("pdf-forms", {})], [load("pdf_forms")], [load("PDF-Forms")], [load("nope")], [("other", {})], "done"]
    story = keeping(steps, router)
    await story.say("go")
    called, near, other_case, none, unknown = results(story.last)
    assert called == 'pdf-forms is a skill, not a tool. Call load_skill with name "pdf-forms" to read it.'
    assert "Did you mean 'pdf-forms'?" in near
    assert "</skill_content>" in other_case
    assert "pdf-forms" in none
    assert "other" in unknown
    assert story.last.tool_names == ["load_skill", "read_skill_resource"], "there is nothing to run"
    assert orphans(story.last) == []


@BOTH
async def test_c15_after_three_wrong_files_in_a_row_the_answer_is_firm_and_a_right_one_starts_anew(make, tmp_path):
    router = SkillRouter.from_directory(scenario("C15", tmp_path))
    wrong = "guide guide.md references/guide docs/guide.md references/Guide.md references/guide.txt".split()
    paths = [*wrong, "references/guide.md", "nope", "/nope"]
    steps = [*([("read_skill_resource", {"name": "pdf-forms", "path": path})] for path in paths), "done"]
    story = make(steps, router)
    await story.say("go")
    answers = results(story.last)
    assert ["Stop guessing" in text for text in answers] == [False, False, True, True, True, True, False, False, False]
    assert "references/guide.md" in answers[2] and "6 calls in a row" in answers[5]
    assert [fact["tool"] for fact in story.told("failed")] == ["read_skill_resource"] * 8


async def test_misses_of_one_question_do_not_count_for_the_next_and_skills_without_files_say_so():
    read = [("read_skill_resource", {"name": "a", "path": "x.md"})]
    gone = [("read_skill_resource", {"name": "gone", "path": "x.md"})]
    story = keeping([read, read, "one", read, read, read, gone, "two"], router_of("a"))
    await story.say("first")
    await story.say("second")
    answers = results(story.last)
    assert ["Stop guessing" in text for text in answers] == [False, False, False, False, True, False]
    assert "It has no files besides SKILL.md." in answers[4]


async def test_c09_what_lies_outside_of_a_skill_is_refused_and_the_run_goes_on(tmp_path):
    router = SkillRouter.from_directory(scenario("C09", tmp_path))
    good = ["references/ok.md", "./references/ok.md", "references/deep/er/ok2.md", "references\\ok.md"]
    bad = [
        "../alpha-extra/secret.md", "../../outside.md", "/etc/hostname", "C:\\Windows\\win.ini", "references/leak.md",
        "references/../../alpha-extra/secret.md", "references/ok.md\x00.txt", "", ".", "~/.ssh/id_rsa",
        "file:///etc/hostname", "SKILL.md/../../outside.md",
    ]  # fmt: skip
    calls = [("read_skill_resource", {"name": "alpha", "path": path}) for path in [*good, *bad]]
    story = keeping([calls, "done"], router, misses=99)
    await story.say("go")
    answers = results(story.last)
    assert all("inside" in text for text in answers[:4])
    assert not any("outside\n" in text or "other skill" in text or str(tmp_path) in text for text in answers[4:])
    assert orphans(story.last) == []


async def test_c05_every_tool_of_a_skill_is_reached_by_the_name_it_is_sent_under(tmp_path):
    prefixed = SkillRouter(MappingSource({"x/SKILL.md": "---\nname: my.pack:x\ndescription: X.\n---\nBody of x.\n"}))
    for router in (SkillRouter.from_directory(scenario("C05", tmp_path)), prefixed):
        tools = [SkillFunctionTool(spec) for spec in tool_per_skill(router)]
        names = [tool.metadata.to_openai_tool()["function"]["name"] for tool in tools]
        assert len(set(names)) == len(names)
        llm = ScriptedLLM([[(name, {}) for name in names], "done"])
        await FunctionAgent(tools=tools, llm=llm).run("go")
        assert llm.requests[0].tool_names == names
        bodies = results(llm.requests[1])
        assert [f'<skill_content name="{summary.name}">' in body for summary, body in zip(router, bodies, strict=True)]
        assert all("</skill_content>" in body for body in bodies)


async def test_c12_sixty_long_descriptions_fit_their_budget_and_no_tool_description_is_too_long(tmp_path):
    from skillbelt import TokenBudget

    folder = scenario("C12", tmp_path)
    router = SkillRouter.from_directory(folder, budget=TokenBudget(4000, len))
    story = keeping(["done"], router, system_prompt=None)
    await story.say("go")
    assert len(router.catalog().text) <= 4000
    assert router.catalog().text in system_text(story.last)
    assert all(len(tool["function"]["description"]) <= 1024 for tool in story.last.tools)
    for spec in tool_per_skill(router):
        assert SkillFunctionTool(spec).metadata.to_openai_tool()


async def test_c04_text_that_tries_to_leave_its_box_stays_in_it(tmp_path):
    router = SkillRouter.from_directory(scenario("C04", tmp_path))
    for make in (keeping, remembered):
        story = make([[load("box-two")], "done"], router)
        await story.say("go")
        assert times(story.last, "<available_skills>") == times(story.last, "</available_skills>") == 1
        sent = "\n".join(texts(story.requests[0]))
        assert "Fill {width} by {} boxes, don't stack" in sent
        assert not any(line.startswith("SYSTEM") for line in sent.splitlines())
        assert "Use {width} and {{height}} as is." in results(story.last)[0]


# --- users ------------------------------------------------------------------------------------------------------------


def views():
    everything = router_of(*(f"skill-{user}" for user in range(40)), "common")
    return {user: everything.view(include=["common", f"skill-{user}"]) for user in range(40)}


async def test_forty_users_at_a_time_see_and_reach_only_their_own():
    known = views()

    async def router_for(ctx):
        return known[await ctx.store.get("user")]

    def step(messages):
        mine = {message.content for message in messages if message.role.value == "user"}
        (user,) = [text.removeprefix("I am ") for text in mine]
        if messages[-1].role.value == "user":
            return [load(f"skill-{user}"), load(f"skill-{(int(user) + 1) % 40}")]
        return "done"

    llm = ScriptedLLM([step] * 80)
    agent = SkillFunctionAgent(skills=Skills(router_for=router_for), tools=[look], llm=llm)

    async def one(user):
        ctx = Context(agent)
        await ctx.store.set("user", user)
        await agent.run(f"I am {user}", ctx=ctx)
        return await ctx.store.get("active_skills")

    states = await asyncio.gather(*(one(user) for user in range(40)))
    assert [[record["name"] for record in state] for state in states] == [[f"skill-{user}"] for user in range(40)]
    for request in llm.requests:
        (user,) = [t.removeprefix("I am ") for t in texts(request) if t.startswith("I am ")]
        assert system_text(request).count("<skill name=") == 2 and f'"skill-{user}"' in system_text(request)
        (loading,) = [tool for tool in request.tools if tool["function"]["name"] == "load_skill"]
        assert loading["function"]["parameters"]["properties"]["name"]["enum"] == ["common", f"skill-{user}"]
        for answer in results(request)[1:]:
            assert "There is no skill" in answer and "</skill_content>" not in answer


async def test_a_user_without_skills_is_offered_no_tools_and_a_call_all_the_same_finds_none(empty_router):
    story = keeping([[load("x")], "done"], Skills(router_for=lambda ctx: empty_router), tools=[look])
    await story.say("go")
    assert story.last.tool_names == ["look"]
    assert results(story.last) == ["Tool load_skill not found. Please select a tool that is available."]


async def test_preloaded_skills_are_those_of_the_user_where_users_differ():
    known = router_of("alpha", "beta").view(include=["beta"])
    story = keeping(["done"], Skills(router_for=lambda ctx: known, preload=["alpha", "beta"]))
    await story.say("go")
    assert await story.active() == ["beta"]


def test_plain_agents_cannot_have_users_and_a_tool_of_a_run_says_that_it_is_one():
    skills = Skills(router_for=lambda ctx: router_of("a"))
    with pytest.raises(SkillError, match="A plain agent offers everybody the same tools"):
        skills.tools()
    agent = SkillFunctionAgent(skills=skills, llm=ScriptedLLM([]))
    tool = next(tool for tool in agent.tools if tool.metadata.name == "load_skill")
    assert tool.call(name="a").is_error and "called outside of one" in tool.call(name="a").content
    assert asyncio.run(tool.acall(name="a")).is_error
    with pytest.raises(NotImplementedError):
        tool.fn()


async def test_agents_of_a_workflow_have_named_skills_and_their_own_fences():
    router = fenced(("strict", "look"), ("wide", "look write_note"))
    first = ScriptedLLM([[load("strict")], [NOTE], [("handoff", {"to_agent": "clerk", "reason": "x"})]])
    second = ScriptedLLM([[NOTE], [load("strict")], "done"])
    front = SkillFunctionAgent(
        skills=Skills(router, only=["strict"], allowed_tools="enforce"), name="front", description="Talks.", llm=first,
        tools=[write_note],
    )  # fmt: skip
    clerk = SkillFunctionAgent(
        skills=Skills(router, only=["wide"], allowed_tools="enforce"), name="clerk", description="Works.", llm=second,
        tools=[write_note],
    )  # fmt: skip
    story = Story(AgentWorkflow(agents=[front, clerk], root_agent="front"), second)
    await story.say("go")
    assert NOTES == ["x"], "refused to the first, who has the skill in use; the second does not have it"
    assert "There is no skill 'strict'" in results(second.requests[-1])[-1]
    assert "handoff" in first.requests[-1].tool_names, "a fence keeps nobody from handing over"


async def test_a_wish_of_the_host_is_left_to_the_agent_of_the_workflow_that_has_it():
    router = router_of("mail", "pdf")
    first = ScriptedLLM([[("handoff", {"to_agent": "clerk", "reason": "x"})]])
    second = ScriptedLLM(["done"])
    front = SkillFunctionAgent(skills=Skills(router, only=["mail"]), name="front", description="Talks.", llm=first)
    clerk = SkillFunctionAgent(skills=Skills(router, only=["pdf"]), name="clerk", description="Works.", llm=second)
    story = Story(AgentWorkflow(agents=[front, clerk], root_agent="front"), second)
    await story.ctx.store.set("active_skills", ["pdf"])
    await story.say("go")
    assert times(first.requests[0], "</skill_content>") == 0
    assert times(second.requests[0], "</skill_content>") == 1


async def test_a_failing_disk_is_no_answer_to_the_model_but_an_error_of_the_tool(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text(skill("a"))
    router = SkillRouter.from_directory(tmp_path)
    story = keeping([[load("a")], "done"], router)
    router.skills()

    def broken(*_args, **_kwargs):
        raise OSError("disk on fire")

    monkeypatch.setattr("skillbelt.sources.directory.os.pread", broken)
    await story.say("go")  # LlamaIndex makes a result of every exception
    assert "cannot be read" in results(story.last)[0]
    assert await story.active() == []
    with raises(SkillError, "slot"):
        await keeping(["x"], router_of("a"), placement="slot").say("go")
