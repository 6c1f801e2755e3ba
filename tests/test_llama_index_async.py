"""C13: nothing holds up the loop, both ways of calling give the same, and a cancelled run leaves nothing behind."""

import asyncio
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from llama_index_kit import keeping, load, remembered, results, scenario, skill, unload
from skillbelt import SkillRouter
from skillbelt.llama_index import Skills, skill_tools
from skillbelt.scripts import LocalRunner

STEPS = [
    [("list_skills", {})],
    [load("calm")],
    [("read_skill_resource", {"name": "calm", "path": "references/a.md"})],
    [("run_skill_script", {"name": "calm", "path": "scripts/s.py", "args": []})],
    *[[("read_skill_resource", {"name": "calm", "path": "nope.md"})]] * 3,
    [unload("calm")],
    "done",
]


@pytest.fixture
def relative(tmp_path, monkeypatch):
    """A router whose root is relative, and that nobody has listed."""
    monkeypatch.chdir(scenario("C13", tmp_path).parent)
    return SkillRouter.from_directory("skills", runner=LocalRunner())


@pytest.mark.parametrize("make", [keeping, remembered], ids=["agent", "block"])
async def test_c13_nothing_holds_up_the_loop(make, relative):
    story = make(STEPS, relative, listing=True, unload=True)
    with blockbuster_ctx("skillbelt"):
        await story.say("/calm please")
        await story.ctx.store.set("active_skills", None)
        story.llm._script._steps.extend([[load("calm")], "again"])
        await story.say("once more")
    whole = "\n".join(results(story.last))
    for words in ("<stdout>\nok", "Stop guessing", "no longer in use"):
        assert words in whole
    assert await story.active() == ["calm"]


async def test_c13_the_skills_of_a_user_are_first_read_without_holding_up_the_loop(relative):
    story = keeping([[load("calm")], "done"], Skills(router_for=lambda ctx: relative, preload=["calm"]))
    with blockbuster_ctx("skillbelt"):
        await story.say("go")
    assert await story.active() == ["calm"]


def test_c13_the_detector_sees_a_sync_call(relative):
    async def run():
        with blockbuster_ctx("skillbelt"):
            return skill_tools(relative)

    with pytest.raises(Exception, match="Blocking call"):
        asyncio.run(run())


async def test_c13_call_and_acall_give_the_same_also_inside_a_running_loop(relative):
    tools = Skills(relative, listing=True, unload=True).tools()
    arguments = {
        "load_skill": {"name": "calm"},
        "read_skill_resource": {"name": "calm", "path": "references/a.md"},
        "list_skills": {},
        "run_skill_script": {"name": "calm", "path": "scripts/s.py"},
        "unload_skill": {"name": "calm"},
    }
    assert {tool.metadata.name for tool in tools} == set(arguments)
    for tool in tools:
        given = arguments[tool.metadata.name]
        one, other = tool.call(**given), await tool.acall(**given)
        assert one.content == other.content == tool(**given).content and not one.is_error


async def test_a_cancelled_run_ends_the_script_it_started(tmp_path):
    root = tmp_path / "skills" / "slow"
    (root / "scripts").mkdir(parents=True)
    (root / "SKILL.md").write_text(skill("slow"))
    mark = tmp_path / "mark"
    (root / "scripts" / "slow.py").write_text(
        f"import os, pathlib, time\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\ntime.sleep(30)\n"
    )
    router = SkillRouter.from_directory(tmp_path / "skills", runner=LocalRunner())
    story = keeping([[("run_skill_script", {"name": "slow", "path": "scripts/slow.py"})], "done"], router)
    handler = story.agent.run("go", ctx=story.ctx, memory=story.memory)
    async with asyncio.timeout(20):
        while not mark.exists() or not mark.read_text():
            await asyncio.sleep(0.05)
        assert alive(int(mark.read_text()))
        await handler.cancel_run()
        with pytest.raises(BaseException):  # noqa: B017 - LlamaIndex's own
            await handler
        pid = int(mark.read_text())
        while alive(pid):  # it would go on for half a minute
            await asyncio.sleep(0.05)


def alive(pid):
    """Whether a process is there and no zombie."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
