"""C13: nothing holds up the loop, all styles of calling give the same, and a cancelled run leaves nothing behind."""

import asyncio
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_kit import Trimming, load, scenario
from skillbelt import SkillRouter
from skillbelt.langchain import SkillsMiddleware
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedChatModel

STEPS: list[Any] = [
    [("list_skills", {})],
    [load("calm")],
    [("read_skill_resource", {"name": "calm", "path": "references/a.md"})],
    [("run_skill_script", {"name": "calm", "path": "scripts/s.py", "args": []})],
    *[[("read_skill_resource", {"name": "calm", "path": "nope.md"})]] * 3,
    [("unload_skill", {"name": "calm"})],
    "done",
]


@pytest.fixture
def router(tmp_path, monkeypatch):
    """A router whose root is relative, and that nobody has listed."""
    monkeypatch.chdir(scenario("C13", tmp_path).parent)
    return SkillRouter.from_directory("skills", runner=LocalRunner())


def agent_of(router: SkillRouter, **options: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(STEPS)
    ours = SkillsMiddleware(router, listing=True, unload=True, **options)
    return create_agent(model, middleware=[ours, Trimming(6, state=False)], checkpointer=InMemorySaver()), model


QUESTION = {"messages": [HumanMessage("/calm please", id="q")]}
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def said(messages: list[Any]) -> list[Any]:
    return [(m.type, m.content) for m in messages]


def test_c13_no_style_holds_up_the_loop_and_all_give_the_same(router):
    async def run(style: str) -> list[Any]:
        agent, model = agent_of(router)
        with blockbuster_ctx("skillbelt"):
            if style == "ainvoke":
                out = await agent.ainvoke(QUESTION, CONFIG)
            else:
                *_, out = [state async for state in agent.astream(QUESTION, CONFIG, stream_mode="values")]
        return [said(out["messages"]), *(said(request.messages) for request in model.requests)]

    agent, model = agent_of(router)
    out = agent.invoke(QUESTION, CONFIG)
    first = [said(out["messages"]), *(said(request.messages) for request in model.requests)]
    agent, model = agent_of(router)
    *_, out = agent.stream(QUESTION, CONFIG, stream_mode="values")
    second = [said(out["messages"]), *(said(request.messages) for request in model.requests)]
    assert first == second == asyncio.run(run("ainvoke")) == asyncio.run(run("astream"))
    whole = str(first)
    for words in ("<stdout>\\nok", "Stop guessing", "no longer in use", "already in use"):
        assert words in whole


def test_a_run_whose_skills_nobody_has_read_yet_starts_without_holding_up_the_loop(router):
    async def run() -> Any:
        model = ScriptedChatModel(["done"])
        agent = create_agent(model, middleware=[SkillsMiddleware(router_for=lambda _: router, reload="run")])
        with blockbuster_ctx("skillbelt"):
            return await agent.ainvoke({"messages": [HumanMessage("go")], "active_skills": ["calm"]})

    assert [record["name"] for record in asyncio.run(run())["active_skills"]] == ["calm"]


def test_the_detector_sees_a_read_in_a_sync_hook(router):
    async def run() -> Any:
        with blockbuster_ctx("skillbelt"):
            return SkillsMiddleware(router)

    with pytest.raises(Exception, match="Blocking call"):
        asyncio.run(run())


def test_a_cancelled_run_ends_the_script_it_started(tmp_path):
    root = tmp_path / "skills" / "slow"
    (root / "scripts").mkdir(parents=True)
    (root / "SKILL.md").write_text("---\nname: slow\ndescription: Slow.\n---\nGo.\n")
    mark = tmp_path / "mark"
    (root / "scripts" / "slow.py").write_text(
        f"import pathlib, time\npathlib.Path({str(mark)!r}).write_text('began')\n"
        f"time.sleep(30)\npathlib.Path({str(mark)!r}).write_text('ended')\n"
    )
    router = SkillRouter.from_directory(tmp_path / "skills", runner=LocalRunner())
    model = ScriptedChatModel([[("run_skill_script", {"name": "slow", "path": "scripts/slow.py", "args": []})], "done"])
    agent = create_agent(model, middleware=[SkillsMiddleware(router)])

    async def run() -> None:
        task = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("go")]}))
        async with asyncio.timeout(60):
            while not mark.exists():
                await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert mark.read_text() == "began"
