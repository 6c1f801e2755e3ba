"""The same story through LangChain and LlamaIndex: what the model is sent, and what the host is told, is the same.

``docs/explanation/parity.md`` is backed by this file: what it says to be the same is compared here, request by request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from llama_index.core.base.llms.types import MessageRole
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context

from skillbelt import MappingSource, SkillRouter, TokenBudget
from skillbelt import langchain as lc
from skillbelt import llama_index as li
from skillbelt.fence import Fence, HostTool
from skillbelt.restoring import Restore
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedChatModel, ScriptedLLM
from skillbelt.testing import llama_index as scripted

OURS = frozenset(
    {"load_skill", "read_skill_resource", "search_skills", "list_skills", "run_skill_script", "unload_skill"}
)

FORGET = "«forget»"
"""A turn in which the conversation loses all its messages."""


def skill(name: str, body: str = "Do the work.", more: str = "") -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n{body}\n"


FILES: dict[str, str | bytes] = {
    "mail/SKILL.md": skill("mail", "Sort by {rules} and `references/rules.md`."),
    "mail/references/rules.md": "Receipts go to Money.\n" * 3,
    "mail/logo.png": b"\x89PNG\r\n\x1a\n picture",
    "form/SKILL.md": skill("form", "Fill in $ARGUMENTS with ${SKILL_DIR} at hand."),
    "strict/SKILL.md": skill("strict", "Only look.", "allowed-tools: look Bash(git:*)\n"),
    "shout/SKILL.md": skill("shout", "Run scripts/shout.py."),
    "shout/scripts/shout.py": "import sys\nprint('LOUD', *sys.argv[1:])\n",
    "secret/SKILL.md": skill("secret", "Nobody asks for this.", "disable-model-invocation: true\n"),
}


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def write_note(text: str) -> str:
    """Write a note."""
    return f"wrote {text}"


def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def measure(what: str) -> str:
    """Measure something."""
    return f"measured {what}"


def load(name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("load_skill", {"name": name, **more})


def read(path: str, name: str = "mail", **more: Any) -> tuple[str, dict[str, Any]]:
    return ("read_skill_resource", {"name": name, "path": path, **more})


LOOK, NOTE = ("look", {"at": "x"}), ("write_note", {"text": "x"})


@dataclass
class Story:
    """What is said, what the model does, and how the host wants it."""

    turns: list[tuple[str, list[Any]]]
    options: dict[str, Any] = field(default_factory=dict)
    prompt: str | None = "You are a clerk."
    router: dict[str, Any] = field(default_factory=dict)


STORIES = {
    "skills are loaded and files read": Story(
        [("go", [[load("mail")], [read("references/rules.md")], [read("references/rules.md", offset=20)], "done"])]
    ),
    "a model makes mistakes": Story(
        [
            (
                "go",
                [
                    [load("male")],
                    [load("nope")],
                    [("load_skill", {"nam": "mail"})],
                    [load("mail", self=1)],
                    [read("../x")],
                    [read("logo.png")],
                    [read("references")],
                    [load("secret")],
                    "done",
                ],
            )
        ]
    ),
    "a skill is called as a tool and files are guessed": Story(
        [
            (
                "go",
                [
                    [("mail", {})],
                    *[[read(f"guess-{i}.md")] for i in range(4)],
                    [read("references/rules.md")],
                    [read("x.md")],
                    "done",
                ],
            )
        ]
    ),
    "a skill is loaded again": Story(
        [("go", [[load("mail")], [load("mail")], [load("MAIL")], "one"]), ("on", [[load("mail")], "two"])]
    ),
    "calls of one message": Story(
        [
            (
                "go",
                [
                    [load("mail"), load("form", arguments="7"), load("mail"), LOOK],
                    [load("form", arguments="9")],
                    "done",
                ],
            )
        ]
    ),
    "the fence enforces": Story(
        [
            (
                "go",
                [
                    [load("strict"), NOTE],
                    [NOTE, LOOK],
                    [("shell", {"command": "git log"})],
                    [("shell", {"command": "git log; rm -r ."})],
                    "one",
                ],
            ),
            ("on", [[load("strict"), NOTE], "two"]),
        ],
        {"allowed_tools": Fence("enforce", {"Bash": HostTool("shell", "command")})},
    ),
    "the fence advises": Story([("go", [[load("strict")], [NOTE, LOOK], "done"])]),
    "tools come with skills": Story(
        [("go", [[("measure", {"what": "early"})], [load("mail")], [("measure", {"what": "late"})], "done"])],
        {"tools_for": {"mail": [measure]}},
    ),
    "so many at a time": Story(
        [
            (
                "go",
                [
                    [load("mail"), load("form")],
                    [load("strict")],
                    [("unload_skill", {"name": "mail"})],
                    [load("strict")],
                    "one",
                ],
            ),
            ("on", ["two"]),
        ],
        {"max_active": 2, "unload": True},
    ),
    "a user names a skill": Story(
        [("/form number 7", ["one"]), ("/form number 7", ["two"]), ("/secret", ["three"]), ("/etc/hosts", ["four"])]
    ),
    "a host chooses skills": Story([("go", [[load("mail")], "one"]), ("on", ["two"])], {"preload": ["mail", "form"]}),
    "what was forgotten is put back as a message": Story(
        [
            ("go", [[load("mail"), load("form", arguments="7")], "one"]),
            (FORGET, []),
            ("on", ["two"]),
            ("more", [[load("mail")], "three"]),
        ],
        {"restore": "message"},
    ),
    "what was forgotten is put back as a pair": Story(
        [
            ("go", [[load("mail"), load("form", arguments="7")], "one"]),
            (FORGET, []),
            ("on", ["two"]),
            ("more", [[load("mail")], "three"]),
        ],
        {"restore": "pair"},
    ),
    "nothing is put back": Story(
        [("go", [[load("mail")], "one"]), (FORGET, []), ("on", ["two"]), ("more", [[load("mail")], "three"])],
        {"restore": "off"},
    ),
    "what is put back keeps within its bounds": Story(
        [("go", [[load("mail")], [load("form")], [load("strict")], "one"]), (FORGET, []), ("on", ["two"])],
        {"restore": Restore("message", 256, 110)},
    ),
    "the catalog has its slot": Story([("go", ["done"])], prompt="First.\n\n{skills}\n\nLast."),
    "the catalog stands first": Story([("go", ["done"])], {"placement": "start"}),
    "the catalog is cut and searched": Story(
        [("go", [[("search_skills", {"query": "mail"})], [("list_skills", {})], "done"])],
        {"listing": True},
        router={"budget": TokenBudget(40)},
    ),
    "a script runs": Story(
        [
            (
                "go",
                [
                    [load("shout")],
                    [("run_skill_script", {"name": "shout", "path": "scripts/shout.py", "args": ["a b"]})],
                    [("run_skill_script", {"name": "shout", "path": "scripts/nope.py"})],
                    "done",
                ],
            )
        ],
        router={"runner": LocalRunner()},
    ),
}

Sent = list[tuple[str, str, list[tuple[str, dict[str, Any]]]]]


def tools_of(request: Any) -> dict[str, Any]:
    """The tools of a request as a provider gets them, without the titles that pydantic adds."""
    found = {}
    for tool in (one["function"] for one in request.tools):
        schema = tool["parameters"]
        properties = {name: {k: v for k, v in p.items() if k != "title"} for name, p in schema["properties"].items()}
        # Of a host's function each framework makes a description of its own.
        described = tool["description"] if tool["name"] in OURS else ""
        found[tool["name"]] = (described, properties, schema.get("required", []))
    return found


class LangChain:
    """A story told to an agent of LangChain."""

    def __init__(self, story: Story, router: SkillRouter) -> None:
        self.facts: list[dict[str, Any]] = []
        self.model = ScriptedChatModel([step for _, steps in story.turns for step in steps])
        ours = lc.SkillsMiddleware(router, on_event=self.facts.append, **story.options)
        self.agent = create_agent(
            self.model,
            tools=[look, write_note, shell],
            system_prompt=story.prompt,
            middleware=[ours],
            checkpointer=InMemorySaver(),
        )
        self.config: dict[str, Any] = {"configurable": {"thread_id": "t"}}
        self.state: dict[str, Any] = {}

    async def say(self, text: str) -> str:
        if text == FORGET:
            self.agent.update_state(self.config, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
            return ""
        self.state = await self.agent.ainvoke({"messages": [HumanMessage(text)]}, self.config)
        return str(self.state["messages"][-1].text)

    @property
    def requests(self) -> list[Any]:
        return self.model.requests

    @staticmethod
    def sent(request: Any) -> Sent:
        roles = {SystemMessage: "system", HumanMessage: "user", AIMessage: "assistant", ToolMessage: "tool"}
        return [
            (roles[type(m)], m.text, [(c["name"], c["args"]) for c in getattr(m, "tool_calls", [])])
            for m in request.messages
        ]

    async def active(self) -> list[tuple[str, str]]:
        return [(record["name"], record["digest"]) for record in self.state.get("active_skills", [])]


class LlamaIndex:
    """A story told to an agent of LlamaIndex."""

    def __init__(self, story: Story, router: SkillRouter) -> None:
        self.facts: list[dict[str, Any]] = []
        self.model = ScriptedLLM([step for _, steps in story.turns for step in steps])
        skills = li.Skills(router, on_event=self.facts.append, **story.options)
        self.agent = li.SkillFunctionAgent(
            skills=skills, tools=[look, write_note, shell], system_prompt=story.prompt, llm=self.model
        )
        self.ctx = Context(self.agent)
        self.memory = ChatMemoryBuffer.from_defaults(token_limit=1_000_000)

    async def say(self, text: str) -> str:
        if text == FORGET:
            self.memory = ChatMemoryBuffer.from_defaults(token_limit=1_000_000)
            if not hasattr(Context, "get_step_context"):  # llama-index-workflows 1 keeps the first one
                await self.ctx.store.set("memory", self.memory)
            return ""
        return str(await self.agent.run(text, ctx=self.ctx, memory=self.memory))

    @property
    def requests(self) -> list[Any]:
        return self.model.requests

    @staticmethod
    def sent(request: Any) -> Sent:
        return [
            (
                MessageRole(m.role).value,
                m.content or "",
                [(c.name, dict(c.arguments)) for c in scripted._calls(m)] if m.role == MessageRole.ASSISTANT else [],
            )
            for m in request.messages
        ]

    async def active(self) -> list[tuple[str, str]]:
        return [(r["name"], r["digest"]) for r in await self.ctx.store.get("active_skills", default=None) or []]


async def tell(kind: Any, story: Story, source: Any = None) -> Any:
    told = kind(story, SkillRouter(source or MappingSource(FILES), **story.router))
    for text, _ in story.turns:
        await told.say(text)
    return told


@pytest.mark.parametrize("name", STORIES)
async def test_both_frameworks_send_the_model_the_same_and_tell_the_host_the_same(name):
    story = STORIES[name]
    one, other = await tell(LangChain, story), await tell(LlamaIndex, story)
    assert len(one.requests) == len(other.requests) == sum(len(steps) for _, steps in story.turns)
    for ours, theirs in zip(one.requests, other.requests, strict=True):
        assert one.sent(ours) == other.sent(theirs)
        assert tools_of(ours) == tools_of(theirs)
    assert sorted(map(str, one.facts)) == sorted(map(str, other.facts))
    assert await one.active() == await other.active()


async def test_a_text_that_changed_while_it_was_forgotten_is_the_same_in_both(tmp_path):
    story = Story(
        [("go", [[load("rule")], "one"]), (FORGET, []), ("on", ["two"])], {"restore": Restore("message", fresh=0.0)}
    )
    sent = []
    for kind in (LangChain, LlamaIndex):
        file = Path(tmp_path, "skills", "rule", "SKILL.md")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(skill("rule", "First text."))
        told = kind(story, SkillRouter.from_directory(tmp_path / "skills"))
        await told.say("go")
        await told.say(FORGET)
        file.write_text(skill("rule", "Second text."))
        await told.say("on")
        sent.append([told.sent(request) for request in told.requests])
        assert "Its text has changed since then" in str(sent[-1][-1]) and "First" not in str(sent[-1][-1])
    assert sent[0] == sent[1]


def test_a_comparison_of_different_things_fails():
    # What this file compares is not empty and not the same for every story.
    async def both():
        return [
            await tell(LangChain, STORIES["the fence advises"]),
            await tell(LlamaIndex, STORIES["the fence enforces"]),
        ]

    import asyncio

    one, other = asyncio.run(both())
    assert one.sent(one.requests[-1]) != other.sent(other.requests[-1])
    assert {role for role, _, _ in one.sent(one.requests[-1])} == {"system", "user", "assistant", "tool"}
    assert tools_of(one.requests[0]).keys() >= {"load_skill", "look"}
