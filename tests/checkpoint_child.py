"""Goes on with a conversation in a process of its own: ``python checkpoint_child.py FOLDER SAVER ADDRESS STEPS``.

Prints what the model was sent and what the state holds, as JSON. Run with warnings as errors.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from skillbelt import SkillRouter
from skillbelt.langchain import SkillsMiddleware
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedChatModel

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "travelling"}}


@contextmanager
def saver(kind: str, address: str) -> Iterator[Any]:
    """Open a checkpoint saver."""
    if kind == "file":
        # LangGraph's own saver and its own bytes, written to a file in between.
        memory = InMemorySaver()
        file = Path(address)
        if file.exists():
            storage, writes, blobs = pickle.loads(file.read_bytes())
            for thread, spaces in storage.items():
                for space, checkpoints in spaces.items():
                    memory.storage[thread][space].update(checkpoints)
            memory.writes.update(writes)
            memory.blobs.update(blobs)
        yield memory
        plain = {
            thread: {space: dict(kept) for space, kept in spaces.items()} for thread, spaces in memory.storage.items()
        }
        file.write_bytes(pickle.dumps((plain, dict(memory.writes), dict(memory.blobs))))
    elif kind == "sqlite":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(address) as opened:
            yield opened
    else:
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(address) as opened:
            opened.setup()
            yield opened


def agent_of(folder: str, opened: Any, steps: list[Any]) -> tuple[Any, ScriptedChatModel]:
    """The agent of both processes: it asks before it runs a script."""
    router = SkillRouter.from_directory(folder, runner=LocalRunner())
    model = ScriptedChatModel(steps)
    asking = HumanInTheLoopMiddleware(interrupt_on={"run_skill_script": {"allowed_decisions": ["approve", "reject"]}})
    return create_agent(model, middleware=[SkillsMiddleware(router), asking], checkpointer=opened), model


def main(folder: str, kind: str, address: str, steps: str) -> None:
    """Approve what is asked for, then say one more thing."""
    script = [[(name, args) for name, args in step] if isinstance(step, list) else step for step in json.loads(steps)]
    with saver(kind, address) as opened:
        agent, model = agent_of(folder, opened, script)
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
        out = agent.invoke({"messages": [HumanMessage("and now?")]}, CONFIG)
        held = agent.get_state(CONFIG).values["skills_held"]
    sent = [[str(message.content) for message in request.messages] for request in model.requests]
    sys.stdout.write(json.dumps({"sent": sent, "active": out["active_skills"], "held": held}))


if __name__ == "__main__":
    main(*sys.argv[1:])
