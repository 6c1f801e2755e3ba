"""What tests of LlamaIndex agents share: scripted models, a look at what they were sent, stories of several turns."""

from __future__ import annotations

import importlib.util
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.workflow import Context

from skillbelt import MappingSource, SkillRouter
from skillbelt.llama_index import SkillFunctionAgent, Skills, SkillsMemoryBlock
from skillbelt.testing import Request, ScriptedLLM
from skillbelt.testing import llama_index as module

SCENARIOS = Path(__file__).parent / "data" / "scenarios"
_spec = importlib.util.spec_from_file_location("materialise", SCENARIOS / "materialise.py")
materialise: Any = importlib.util.module_from_spec(_spec)  # type: ignore[arg-type]
_spec.loader.exec_module(materialise)  # type: ignore[union-attr]


def scenario(name: str, folder: Path) -> Path:
    """Build the files of a scenario below a folder and return the folder of its skills."""
    materialise.main(SCENARIOS / f"{name}.json", folder / name)
    return folder / name / "skills"


def skill(name: str, body: str = "Do the work.", more: str = "") -> str:
    """A SKILL.md."""
    return f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n{body}\n"


def router_of(*names: str, **bodies: str) -> SkillRouter:
    """A router over skills in memory."""
    texts = {name: skill(name) for name in names} | {name: skill(name, body) for name, body in bodies.items()}
    return SkillRouter(MappingSource({f"{name}/SKILL.md": text for name, text in texts.items()}))


def fenced(*skills: tuple[str, str]) -> SkillRouter:
    """A router over skills with allowed-tools."""
    files = {f"{name}/SKILL.md": skill(name, f"Body of {name}.", f"allowed-tools: {tools}\n") for name, tools in skills}
    return SkillRouter(MappingSource(files | {"free/SKILL.md": skill("free", "Body of free.")}))


def load(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """A call of load_skill, as a step of a script."""
    return ("load_skill", {"name": name, **more})


def unload(name: str) -> tuple[str, dict[str, Any]]:
    """A call of unload_skill."""
    return ("unload_skill", {"name": name})


def react(tool: str, **arguments: Any) -> str:
    """A call as a ReActAgent's model writes it."""
    import json

    return f"Thought: I need a tool.\nAction: {tool}\nAction Input: {json.dumps(arguments)}"


def answer(text: str = "done") -> str:
    """An answer as a ReActAgent's model writes it."""
    return f"Thought: I can answer.\nAnswer: {text}"


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def write_note(text: str) -> str:
    """Write a note."""
    NOTES.append(text)
    return "written"


def measure(what: str) -> str:
    """Measure something."""
    MEASURED.append(what)
    return f"measured {what}"


NOTES: list[str] = []
MEASURED: list[str] = []
NOTE = ("write_note", {"text": "x"})


class Story:
    """An agent with a scripted model and one conversation; each :meth:`say` is a turn of the user."""

    def __init__(self, agent: Any, llm: ScriptedLLM, *, memory: Any = None, skills: Skills | None = None) -> None:
        self.agent = agent
        self.llm = llm
        self.memory = memory if memory is not None else ChatMemoryBuffer.from_defaults(token_limit=100_000)
        self.ctx = Context(agent)
        for block in getattr(memory, "memory_blocks", ()) if not hasattr(Context, "get_step_context") else ():
            block.attach(self.ctx)  # llama-index-workflows 1
        self.skills = skills
        self.events: list[Any] = []

    async def say(self, text: str) -> str:
        """Say something and return the answer."""
        run = self.agent.run(text, ctx=self.ctx, memory=self.memory)
        async for event in run.stream_events():
            self.events.append(event)
        return str(await run)

    async def active(self) -> list[str]:
        """Names of the skills in use."""
        return [record["name"] for record in await self.ctx.store.get("active_skills", default=[])]

    @property
    def requests(self) -> list[Request[ChatMessage]]:
        """What the model was sent."""
        return self.llm.requests

    @property
    def last(self) -> Request[ChatMessage]:
        """The last request."""
        return self.llm.requests[-1]

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The stream events of one kind, as facts."""
        return [event.fact() for event in self.events if getattr(event, "kind", None) == kind]


def keeping(steps: list[Any], skills: Any, *, tools: Any = (), memory: Any = None, **options: Any) -> Story:
    """A story with a SkillFunctionAgent; options of the skills and of the agent may be mixed."""
    of_agent = {key: options.pop(key) for key in ("system_prompt", "name", "tool_retriever") if key in options}
    of_agent.setdefault("system_prompt", "You are a clerk.")
    llm = ScriptedLLM(steps)
    known = skills if isinstance(skills, Skills) else Skills(skills, **options)
    return Story(
        SkillFunctionAgent(skills=known, tools=[*tools], llm=llm, **of_agent), llm, memory=memory, skills=known
    )


def remembered(steps: list[Any], skills: Any, *, tools: Any = (), limit: int = 100_000, **options: Any) -> Story:
    """A story with a plain FunctionAgent and a SkillsMemoryBlock."""
    llm = ScriptedLLM(steps)
    known = skills if isinstance(skills, Skills) else Skills(skills, **options)
    agent = FunctionAgent(tools=known.tools(tools), system_prompt="You are a clerk.", llm=llm)
    memory = Memory.from_defaults(token_limit=limit, token_flush_size=1, memory_blocks=[SkillsMemoryBlock(known)])
    return Story(agent, llm, memory=memory, skills=known)


@contextmanager
def raises(error: type[BaseException], words: str) -> Any:
    """Expect an error of a step; llama-index-workflows 1 wraps it."""
    with pytest.raises(Exception, match=re.escape(words)) as caught:
        yield
    assert isinstance(caught.value, error) or isinstance(caught.value.__cause__, error)


def text_of(message: ChatMessage) -> str:
    """The text of a message."""
    return message.content or ""


def texts(request: Request[ChatMessage]) -> list[str]:
    """The texts of a request's messages."""
    return [text_of(message) for message in request.messages]


def times(request: Request[ChatMessage], words: str) -> int:
    """How often some words stand in a request."""
    return sum(text.count(words) for text in texts(request))


def place(request: Request[ChatMessage], words: str) -> int:
    """Index of the first message with some words."""
    return next(index for index, text in enumerate(texts(request)) if words in text)


def system_text(request: Request[ChatMessage]) -> str:
    """The system messages' text."""
    return "\n\n".join(text_of(m) for m in request.messages if m.role == MessageRole.SYSTEM)


def results(request: Request[ChatMessage]) -> list[str]:
    """The texts of the results of tools, in the order of their calls: a plain agent has them as they came in."""
    order: dict[str, int] = {}
    for message in request.messages:
        for call in module._calls(message):
            order[call.id] = len(order)
    found = [message for message in request.messages if message.role == MessageRole.TOOL]
    return [text_of(m) for m in sorted(found, key=lambda m: order[str(m.additional_kwargs["tool_call_id"])])]


def orphans(request: Request[ChatMessage]) -> list[str]:
    """Calls without an answer right after them, and answers without a call right before them."""
    wrong: list[str] = []
    waiting: set[str] = set()
    for message in request.messages:
        if message.role == MessageRole.TOOL:
            id_ = str(message.additional_kwargs.get("tool_call_id"))
            wrong += [] if id_ in waiting else [f"answer {id_}"]
            waiting.discard(id_)
            continue
        wrong += [f"call {id_}" for id_ in sorted(waiting)]
        waiting = {call.id for call in module._calls(message)} if message.role == MessageRole.ASSISTANT else set()
    return [*wrong, *(f"call {id_}" for id_ in sorted(waiting))]
