"""The event loop never waits for a disk, and sync calls work inside a running loop."""

import asyncio

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.agent.workflow import FunctionAgent

from skillbelt import langchain as lc
from skillbelt import llama_index as li
from skillbelt.router import SkillRouter
from skillbelt.testing import ScriptedChatModel, ScriptedLLM

CALLS = [
    ("load_skill", {"name": "mail-sorter"}),
    ("read_skill_resource", {"name": "mail-sorter", "path": "references/rules.md"}),
]


def chat():
    steps = [
        AIMessage(content="", tool_calls=[{"name": n, "args": a, "id": f"c{i}", "type": "tool_call"}])
        for i, (n, a) in enumerate(CALLS)
    ]
    return ScriptedChatModel(steps=[*steps, "done"])


@pytest.fixture
def relative_router(skills_dir, monkeypatch):
    """A router whose root is relative to the current folder; its tools are made before the loop runs."""
    monkeypatch.chdir(skills_dir.parent)
    return SkillRouter.from_directory("skills")


def test_a_langchain_run_with_a_relative_root_never_blocks_the_loop(relative_router):
    model = chat()
    agent = create_agent(model, middleware=[lc.SkillsMiddleware(relative_router)])

    async def run():
        with blockbuster_ctx("skillbelt"):
            out = await agent.ainvoke({"messages": [HumanMessage("hi")]})
            return out["messages"][-1].content

    assert asyncio.run(run()) == "done"
    assert "Receipts go to Money." in model.requests[-1].messages[-1].content


def test_a_llama_index_run_with_a_relative_root_never_blocks_the_loop(relative_router):
    llm = ScriptedLLM(steps=[[CALLS[0]], [CALLS[1]], "done"])
    tools = li.skill_tools(relative_router)
    prompt = relative_router.prompt()

    async def run():
        agent = FunctionAgent(tools=tools, system_prompt=prompt, llm=llm)
        with blockbuster_ctx("skillbelt"):
            return str(await agent.run("hi"))

    assert asyncio.run(run()) == "done"
    assert "Receipts go to Money." in llm.requests[-1].messages[-1].content


async def test_the_blocking_detector_sees_a_disk_read_on_the_loop(relative_router):
    with blockbuster_ctx("skillbelt"), pytest.raises(Exception, match="Blocking call"):
        relative_router.activate("mail-sorter")


async def test_sync_calls_work_inside_a_running_loop(relative_router):
    text = relative_router.activate("mail-sorter").text
    assert lc.skill_tools(relative_router)[0].invoke({"name": "mail-sorter"}) == text
    assert li.skill_tools(relative_router)[0].call(name="mail-sorter").content == text


async def test_invoke_ainvoke_stream_and_astream_give_the_same_messages(relative_router):
    question = {"messages": [HumanMessage("hi", id="q")]}
    contents = []
    for style in ("invoke", "ainvoke", "stream", "astream"):
        agent = create_agent(chat(), middleware=[lc.SkillsMiddleware(relative_router)])
        if style == "invoke":
            final = agent.invoke(question)
        elif style == "ainvoke":
            final = await agent.ainvoke(question)
        elif style == "stream":
            *_, final = agent.stream(question, stream_mode="values")
        else:
            *_, final = [state async for state in agent.astream(question, stream_mode="values")]
        contents.append([m.content for m in final["messages"]])
    assert contents[0] == contents[1] == contents[2] == contents[3]
