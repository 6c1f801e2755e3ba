"""Goes on with a conversation in a process of its own: ``python llama_index_child.py FOLDER STATE MEMORY STEPS``.

Prints what the model was sent and what the context holds, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.workflow import Context, JsonSerializer

from skillbelt import SkillRouter
from skillbelt.llama_index import SkillFunctionAgent, Skills, SkillsMemoryBlock
from skillbelt.testing import ScriptedLLM


def agent_of(kind: str, folder: str, steps: list[Any]) -> tuple[Any, ScriptedLLM, Skills]:
    """The agent of both processes."""
    llm = ScriptedLLM(steps)
    skills = Skills(SkillRouter.from_directory(folder))
    if kind == "agent":
        return SkillFunctionAgent(skills=skills, llm=llm, system_prompt="You are a clerk."), llm, skills
    return FunctionAgent(tools=skills.tools(), llm=llm, system_prompt="You are a clerk."), llm, skills


def memory_of(kind: str, skills: Skills, database: str, ctx: Any) -> Any:
    """An empty memory, or one whose messages are in a database."""
    if kind == "agent":
        return ChatMemoryBuffer.from_defaults(token_limit=100_000)
    uri = f"sqlite+aiosqlite:///{database}"
    block = SkillsMemoryBlock(skills, ctx=ctx)
    return Memory.from_defaults(session_id="ada", async_database_uri=uri, memory_blocks=[block])


async def main(kind: str, folder: str, state: str, database: str, steps: str) -> None:
    """Say two more things."""
    script = [[(name, args) for name, args in step] if isinstance(step, list) else step for step in json.loads(steps)]
    agent, llm, skills = agent_of(kind, folder, script)
    ctx = Context.from_dict(agent, json.loads(Path(state).read_text()), serializer=JsonSerializer())
    memory = memory_of(kind, skills, database, ctx)
    for text in ("and now?", "and then?"):
        await agent.run(text, ctx=ctx, memory=memory)
    sent = [[str(message.content) for message in request.messages] for request in llm.requests]
    active = await ctx.store.get("active_skills")
    sys.stdout.write(json.dumps({"sent": sent, "active": active, "held": await ctx.store.get("skills_held")}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
