"""Tool calls of an agent with skills: what may run, what a load leaves in the state, what a confused model is told.

A call is judged against the state before the message it stands in, so calls of one message cannot let each other
through. Nothing here reads a file: the tools do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from skillbelt.active import (
    HeldSkill,
    Sight,
    after,
    changed_since,
    fingerprint,
    hold,
    in_use,
    is_same,
    removal,
    same_load,
)
from skillbelt.errors import SkillError
from skillbelt.fence import Fence
from skillbelt.langchain.answers import Answer, is_failing, missed, without_ours
from skillbelt.langchain.kit import Kit
from skillbelt.langchain.requests import answered_in_error, marks
from skillbelt.langchain.state import ACTIVE, HELD, held_skills, text_of
from skillbelt.langchain.telling import Fact, fact
from skillbelt.parsing import name_key

__all__ = ["Call", "Rules"]

LOAD, READ, UNLOAD, RUN = "load_skill", "read_skill_resource", "unload_skill", "run_skill_script"


@dataclass(frozen=True)
class Rules:
    """What calls are judged by.

    Attributes:
        fence: allowed-tools.
        scoped: Tools that come with skills: their names, and the skills that bring each.
        max_active: Most skills in use at a time.
        unload: Whether the model can unload one.
        misses: Files in a row that do not exist, after which the answer becomes firm.
        media: Whether pictures and documents are handed over; ``None`` leaves it to what is known of the model.
    """

    fence: Fence = field(default_factory=Fence)
    scoped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_active: int | None = None
    unload: bool = False
    misses: int = 3
    media: bool | None = None

    def offers(self, tool: str, held: Mapping[str, HeldSkill], ours: Mapping[str, Any]) -> bool:
        """Whether a tool is shown to the model.

        Args:
            tool: The tool.
            held: The skills in use.
            ours: The skill tools.
        """
        if tool in self.scoped:
            return bool(self._bringing(tool, held))
        if tool in ours and tool != RUN:
            return True
        return not self.fence.enforcing or self.fence.judge(tool, None, held).allowed

    def _bringing(self, tool: str, held: Mapping[str, HeldSkill]) -> list[str]:
        keys = {name_key(name) for name in self.scoped[tool]}
        return [name for name in in_use(held) if name_key(name) in keys]


class Call:
    """One tool call, from the request to what goes into the state.

    Args:
        request: As the tool node gives it.
        kit: Of this run's router.
        rules: What it is judged by.
        sight: Finds texts in messages.

    Attributes:
        facts: What there is to tell.
    """

    def __init__(self, request: ToolCallRequest, kit: Kit, rules: Rules, sight: Sight[BaseMessage]) -> None:
        self.facts: list[Fact] = []
        self._request = request
        self._kit = kit
        self._rules = rules
        self._sight = sight
        self._notes = kit.router.renderer
        state = request.state if isinstance(request.state, Mapping) else {}
        self._held = held_skills(state)
        self._messages: Sequence[BaseMessage] = state.get("messages") or ()
        self._name = request.tool_call["name"]
        self._arguments: dict[str, Any] = request.tool_call["args"] or {}
        self._id = str(request.tool_call["id"])

    # --- before -----------------------------------------------------------------------------------------------------

    def start(self) -> ToolCallRequest | ToolMessage:
        """Return the request to run, or the answer when it does not run."""
        name, rules = self._name, self._rules
        if name in self._kit.tools:
            refusal = self._full() if name == LOAD else self._fenced() if name == RUN else None
            return refusal or self._with_tool()
        if name in rules.scoped:
            if not rules._bringing(name, self._held):
                return self._refuse(self._notes.not_yet(name, rules.scoped[name]), rules.scoped[name])
            return self._request
        refusal = self._fenced()
        if refusal is None and self._request.tool is None and (skill := self._kit.skill(name)) is not None:
            return self._refuse(self._notes.no_tool(name, skill), (skill,))
        return refusal or self._request

    def _with_tool(self) -> ToolCallRequest:
        """Put in the tool of this run's router: another user's, or that of before a reload, may be registered."""
        hidden = self._chosen(self._arguments.get("name"))
        media = self._name == READ and self._takes_media()
        tool = self._kit.tool(self._name, media=media, hidden=hidden)
        if tool is None or tool is self._request.tool:
            return self._request
        return self._request.override(tool=tool)

    def _takes_media(self) -> bool:
        if self._rules.media is not None:
            return self._rules.media
        path = self._arguments.get("path")
        kind = "pdf" if isinstance(path, str) and path.lower().endswith(".pdf") else "image"
        return bool(marks(self._asking()).get(kind))

    def _chosen(self, name: Any) -> bool:
        """Whether a skill is in use that was not chosen by the model: its author may keep it from the catalog."""
        key = name_key(name) if isinstance(name, str) else ""
        return any(
            name_key(own) == key and record.get("by") != "model" and not record.get("unloaded")
            for own, record in self._held.items()
        )

    def _full(self) -> ToolMessage | None:
        most = self._rules.max_active
        if most is None:
            return None
        active = in_use(self._held)
        wanted = self._arguments.get("name")
        before = {name_key(name) for name in active}
        # Loads of the same message come first in their order, each counted once.
        for id_, arguments in self._loads():
            if id_ == self._id:
                break
            if isinstance(arguments.get("name"), str):
                before.add(name_key(arguments["name"]))
        if not isinstance(wanted, str) or name_key(wanted) in before or len(before) < most:
            return None
        return self._refuse(self._notes.too_many(active or list(before), most, unload=self._rules.unload), active)

    def _fenced(self) -> ToolMessage | None:
        verdict = self._rules.fence.judge(self._name, self._arguments, self._held)
        if verdict.allowed:
            return None
        text = self._notes.refused(self._name, verdict.skills, verdict.rules, verdict.why)
        if self._rules.fence.enforcing:
            return self._refuse(text, verdict.skills)
        self.facts.append(fact("refused", tool=self._name, skills=[*verdict.skills], reason=text, enforced=False))
        return None

    def _refuse(self, text: str, skills: Sequence[str]) -> ToolMessage:
        self.facts.append(fact("refused", tool=self._name, skills=[*skills], reason=text, enforced=True))
        return ToolMessage(text, tool_call_id=self._id, name=self._name, status="error")

    # --- after ------------------------------------------------------------------------------------------------------

    def end(self, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        """Return what goes into the state.

        Args:
            result: What the tool, or a middleware behind us, gave.
        """
        if self._name not in self._kit.tools:
            return without_ours(result)
        answer = Answer.of(result, self._id)
        if answer is None:
            return result
        if answer.message.status == "error":
            return self._failed(answer)
        artifact = answer.message.artifact if isinstance(answer.message.artifact, dict) else {}
        if self._name == LOAD and "digest" in artifact:
            return self._loaded(answer, artifact)
        if self._name == UNLOAD and "unloaded" in artifact:
            return self._unloaded(answer, str(artifact["unloaded"]))
        self._tell(artifact)
        skill = str(artifact.get("skill"))
        if self._name == READ and changed_since(self._held.get(skill), artifact.get("skill_digest")):
            return answer.saying(self._notes.stale(skill))
        return result

    async def aend(self, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        """Return what goes into the state, without holding up the loop.

        Args:
            result: As for :meth:`end`.
        """
        # Only the firm answer after several misses looks at the disk.
        looks = self._name == READ and is_failing(result)
        return await asyncio.to_thread(self.end, result) if looks else self.end(result)

    def _loaded(self, answer: Answer, artifact: Mapping[str, Any]) -> ToolMessage | Command[Any]:
        name, digest = str(artifact["skill"]), str(artifact["digest"])
        text = str(artifact.get("text") or fingerprint(text_of(answer.message)))
        record = self._held.get(name)
        again = record is not None and is_same(record, digest, text, artifact.get("arguments"))
        if again and record is not None and self._is_present(name, record):
            self.facts.append(fact("repeated", skill=name, digest=digest))
            return answer.saying(self._notes.repeated(name))
        if same_load(self._loads(), self._id, lambda id_: answered_in_error(self._messages, id_)):
            self.facts.append(fact("repeated", skill=name, digest=digest))
            return answer.saying(self._notes.same_message(name))
        tools = [str(tool) for tool in artifact.get("allowed_tools") or ()]
        active, held = hold(name, digest, text, self._id, tools=tools, arguments=artifact.get("arguments"))
        tokens = self._kit.layout.restore.count(text_of(answer.message))
        self.facts.append(fact("activated", skill=name, digest=digest, tokens=tokens, by="model"))
        missing = self._rules.fence.unbound(tools, self._bound())
        if missing:
            self.facts.append(fact("unbound", skill=name, tools=[*missing]))
        return answer.writing({ACTIVE: [active], HELD: {name: after(held, record)}})

    def _unloaded(self, answer: Answer, name: str) -> ToolMessage | Command[Any]:
        record = self._held.get(name)
        if record is None or record.get("unloaded"):
            return answer.saying(self._notes.unload(name, active=False))
        self.facts.append(fact("unloaded", skill=name))
        over: HeldSkill = {**record, "unloaded": True}
        return answer.writing({ACTIVE: [removal(name)], HELD: {name: over}})

    def _failed(self, answer: Answer) -> ToolMessage | Command[Any]:
        asked = self._arguments.get("name")
        skill = asked if isinstance(asked, str) else None
        self.facts.append(fact("failed", tool=self._name, skill=skill, reason=text_of(answer.message)))
        misses = 1 + missed(self._messages, READ)
        if self._name != READ or skill is None or misses < self._rules.misses:
            return answer.result
        try:
            paths = [info.path for info in self._kit.router.quiet().resources(skill)]
        except SkillError:
            return answer.result
        return answer.saying(self._notes.enough(skill, paths, misses))

    def _tell(self, artifact: Mapping[str, Any]) -> None:
        skill = artifact.get("skill")
        if self._name == READ:
            self.facts.append(fact("read", skill=skill, path=artifact.get("path"), size=artifact.get("total")))
        elif self._name == RUN:
            self.facts.append(fact("ran", skill=skill, path=artifact.get("path"), exit_code=artifact.get("exit_code")))
        elif "query" in artifact:
            self.facts.append(fact("searched", query=artifact["query"], skills=artifact.get("skills")))

    # --- the message this call stands in ----------------------------------------------------------------------------

    def _asking(self) -> BaseMessage:
        for message in reversed(self._messages):
            if isinstance(message, AIMessage):
                return message
        return AIMessage("")

    def _loads(self) -> list[tuple[str, Mapping[str, Any]]]:
        asking = self._asking()
        calls = asking.tool_calls if isinstance(asking, AIMessage) else []
        return [(str(call["id"]), call["args"]) for call in calls if call["name"] == LOAD]

    def _is_present(self, name: str, record: HeldSkill) -> bool:
        """Whether the model had the text before it when it asked; noted then, else judged by the state."""
        noted = marks(self._asking()).get("present")
        if isinstance(noted, list):
            return name in noted
        return self._sight.find(self._messages, record)[1]

    def _bound(self) -> list[str]:
        runtime = self._request.runtime
        known = [str(tool.name) for tool in getattr(runtime, "tools", None) or ()]
        return [*known, *self._kit.tools, *self._rules.scoped]
