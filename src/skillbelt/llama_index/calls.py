"""Calls of an agent with skills: what may run, what a load leaves in the context, what a confused model is told.

A call is judged against the skills in use before the message it stands in, so calls of one message cannot let each
other through. Here is the work; :mod:`skillbelt.llama_index.dispatch` makes tools of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from llama_index.core.tools import ToolOutput

from skillbelt.active import after, fingerprint, hold, in_use, is_same, removal
from skillbelt.conduct import LOAD, READ, RUN, UNLOAD, Rules
from skillbelt.errors import SkillError
from skillbelt.kits import Kit
from skillbelt.llama_index import state as kept
from skillbelt.llama_index.approval import SkillApproval, ask
from skillbelt.llama_index.events import (
    ResourceRead,
    ScriptRan,
    SkillActivated,
    SkillFailed,
    SkillRepeated,
    SkillsSearched,
    SkillStreamEvent,
    SkillUnloaded,
    ToolRefused,
    ToolsUnbound,
)
from skillbelt.llama_index.state import Held
from skillbelt.llama_index.texts import key_of, standing
from skillbelt.llama_index.tools import output
from skillbelt.parsing import name_key
from skillbelt.tools import ToolSpec

__all__ = ["Call", "Desk", "visible"]

Runner = Callable[[Mapping[str, Any], ToolSpec], Awaitable[ToolOutput]]


class Desk:
    """What the calls of one agent are judged by.

    Args:
        rules: The host's rules.
        owner: Name of the agent; ``""`` for any.
        scratchpad: Where the agent keeps the messages of a run.
        reasoning: Where a ``ReActAgent`` keeps its steps.
        media: Whether pictures and documents are handed over.
        approval: What a person is asked about.
        bound: Gives the names of the tools the agent has.
    """

    def __init__(
        self,
        rules: Rules,
        owner: str,
        *,
        scratchpad: str = kept.SCRATCHPAD,
        reasoning: str = kept.REASONING,
        media: bool = False,
        approval: SkillApproval | None = None,
        bound: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.rules = rules
        self.owner = owner
        self.scratchpad = scratchpad
        self.reasoning = reasoning
        self.media = media
        self.approval = approval
        self.bound = bound


def visible(held: Mapping[str, Held], kit: Kit, owner: str) -> dict[str, Held]:
    """Return the skills in use that concern an agent: its own, and those of others that it has too.

    Args:
        held: The held records.
        kit: Of this run's router.
        owner: The agent.
    """
    return {name: r for name, r in held.items() if name in kit.router or r.get("agent", owner) == owner}


class Call:
    """One tool call, from the wish to what is written into the context.

    Args:
        desk: What it is judged by.
        kit: Of this run's router.
        ctx: Of the run.
        name: The tool.
        arguments: As the model gave them.

    Attributes:
        events: What there is to tell.
    """

    def __init__(self, desk: Desk, kit: Kit, ctx: Any, name: str, arguments: Mapping[str, Any]) -> None:
        self.events: list[SkillStreamEvent] = []
        self._desk = desk
        self._kit = kit
        self._ctx = ctx
        self._name = name
        self._arguments = arguments
        self._notes = kit.router.renderer

    # --- tools of the host ------------------------------------------------------------------------------------------

    async def judge(self) -> ToolOutput | None:
        """Return the answer to a call of a host's tool that must not run; ``None`` when it may."""
        rules = self._desk.rules
        if not rules.scoped and not await kept.held_skills(self._ctx):
            return None
        before = await self._before(await self._mark())
        if self._name in rules.scoped:
            if rules.bringing(self._name, before):
                return None
            return self._refuse(self._notes.not_yet(self._name, rules.scoped[self._name]), rules.scoped[self._name])
        return self._fenced(before)

    def _fenced(self, before: Mapping[str, Held]) -> ToolOutput | None:
        verdict = self._desk.rules.fence.judge(self._name, self._arguments, before)
        if verdict.allowed:
            return None
        text = self._notes.refused(self._name, verdict.skills, verdict.rules, verdict.why)
        if self._desk.rules.fence.enforcing:
            return self._refuse(text, verdict.skills)
        self.events.append(ToolRefused(tool=self._name, skills=[*verdict.skills], reason=text, enforced=False))
        return None

    def _refuse(self, text: str, skills: Sequence[str]) -> ToolOutput:
        self.events.append(ToolRefused(tool=self._name, skills=[*skills], reason=text))
        return output(self._name, self._arguments, text, is_error=True)

    # --- tools of skills --------------------------------------------------------------------------------------------

    async def run(self, runner: Runner, own: ToolSpec | None = None) -> ToolOutput:
        """Run a skill tool and write down what it did.

        Args:
            runner: Runs a spec.
            own: The tool, when it is one of a single skill.
        """
        mark = await self._mark()
        wanted = own.metadata.get("skill") if own is not None else self._arguments.get("name")
        spec = own or await self._spec(wanted)
        if spec is None:
            text = f"Tool {self._name} not found. Please select a tool that is available."
            return output(self._name, self._arguments, text, is_error=True)
        loads = self._name == LOAD or own is not None
        if loads and (refusal := self._no_room(wanted, await self._names())) is not None:
            return refusal
        if self._name == RUN and (refusal := self._fenced(await self._before(mark))) is not None:
            return refusal
        if (refusal := await self._approved(loads, wanted, mark)) is not None:
            return refusal
        if loads:
            async with kept.in_turn(self._ctx):
                given = await runner(self._arguments, spec)
                return await (self._failed(given) if given.is_error else self._loaded(given, given.raw_output, mark))
        given = await runner(self._arguments, spec)
        if given.is_error:
            return await self._failed(given)
        facts = given.raw_output
        if self._name == UNLOAD and "unloaded" in facts:
            return await self._unloaded(str(facts["unloaded"]), mark)
        if self._name == READ and await self._ctx.store.get(kept.MISSES, default=None):
            await self._ctx.store.set(kept.MISSES, None)
        self._tell(facts)
        return given

    async def _spec(self, wanted: object) -> ToolSpec | None:
        """Return the tool of this run's router; for a skill that was chosen, one that serves hidden ones as well."""
        key = name_key(wanted) if isinstance(wanted, str) else ""
        hidden = any(
            name_key(own) == key and record.get("by") != "model" and not record.get("unloaded")
            for own, record in (await kept.held_skills(self._ctx)).items()
        )
        return self._kit.spec(self._name, media=self._desk.media and self._name == READ, hidden=hidden)

    async def _approved(self, loads: bool, wanted: object, mark: str) -> ToolOutput | None:
        approval = self._desk.approval
        tool = LOAD if loads else self._name
        if approval is None or not approval.asks(tool):
            return None
        given = {**self._arguments, "name": wanted}
        equal = await kept.equal_calls(self._ctx, self._name, self._arguments, self._desk.scratchpad)
        refusal = await ask(approval, self._ctx, self._kit.router, tool, given, mark=mark, equal=equal)
        return None if refusal is None else self._refuse(refusal[1], [refusal[0]])

    def _no_room(self, wanted: object, names: Sequence[str]) -> ToolOutput | None:
        rules = self._desk.rules
        if rules.max_active is None or not rules.full(wanted, names):
            return None
        return self._refuse(self._notes.too_many(names, rules.max_active, unload=rules.unload), names)

    async def _loaded(self, given: ToolOutput, facts: Mapping[str, Any], mark: str) -> ToolOutput:
        name, digest, arguments = str(facts["skill"]), str(facts["digest"]), facts.get("arguments")
        whole = given.content
        text = fingerprint(whole)
        there = await self._is_present(name, digest, text, arguments)
        tools = [str(tool) for tool in facts.get("allowed_tools") or ()]
        async with kept.editing(self._ctx) as edit:
            record = edit.held.get(name)
            if record is not None and is_same(record, digest, text, arguments):
                before = edit.before
                again = before is not None and before["mark"] == mark and before["held"].get(name) != record
                if again or there:
                    self.events.append(SkillRepeated(skill=name, digest=digest))
                    note = self._notes.same_message(name) if again else self._notes.repeated(name)
                    return output(self._name, self._arguments, note, facts)
            mine = visible(edit.held, self._kit, self._desk.owner)
            refusal = self._no_room(name, in_use(mine))
            if refusal is not None:
                return refusal
            active, new = hold(name, digest, text, key_of(whole), tools=tools, arguments=arguments)
            mine_now: Held = {**after(new, record), "agent": self._desk.owner}
            edit.join([active], {name: mine_now}, mark=mark)
        tokens = self._kit.layout.restore.count(whole)
        self.events.append(SkillActivated(skill=name, digest=digest, tokens=tokens, by="model"))
        missing = self._desk.rules.fence.unbound(tools, [*self._desk.bound(), *self._kit.specs])
        if missing:
            self.events.append(ToolsUnbound(skill=name, tools=[*missing]))
        return given

    async def _is_present(self, name: str, digest: str, text: str, arguments: str | None) -> bool:
        """Whether the model had the text of a skill before it when it asked; as was noted then, else looked up now."""
        record = (await kept.held_skills(self._ctx)).get(name)
        if record is None or not is_same(record, digest, text, arguments):
            return False
        noted = await kept.seen(self._ctx, self._desk.owner)
        if noted is not None:
            return name in noted
        messages = await kept.remembered(self._ctx)
        messages += await kept.running(self._ctx, self._desk.scratchpad, self._desk.reasoning)
        return standing(messages, record)

    async def _unloaded(self, name: str, mark: str) -> ToolOutput:
        async with kept.editing(self._ctx) as edit:
            record = edit.held.get(name)
            active = record is not None and not record.get("unloaded")
            if record is not None and active:
                edit.join([removal(name)], {name: {**record, "unloaded": True}}, mark=mark)
        if active:
            self.events.append(SkillUnloaded(skill=name))
        return output(self._name, self._arguments, self._notes.unload(name, active=active))

    async def _failed(self, given: ToolOutput) -> ToolOutput:
        asked = self._arguments.get("name")
        skill = asked if isinstance(asked, str) else None
        self.events.append(SkillFailed(tool=self._name, skill=skill, reason=given.content))
        if self._name != READ or skill is None:
            return given
        question = fingerprint(str(await self._ctx.store.get("user_msg_str", default="")))
        known = await self._ctx.store.get(kept.MISSES, default=None)
        misses = 1 + (known["count"] if known is not None and known["of"] == question else 0)
        await self._ctx.store.set(kept.MISSES, {"of": question, "count": misses})
        if misses < self._desk.rules.misses:
            return given
        try:
            infos = await asyncio.to_thread(self._kit.router.quiet().resources, skill)
        except SkillError:
            return given
        text = self._notes.enough(skill, [info.path for info in infos], misses)
        return output(self._name, self._arguments, text, is_error=True)

    def _tell(self, facts: Mapping[str, Any]) -> None:
        skill, path = str(facts.get("skill")), str(facts.get("path"))
        if self._name == READ:
            self.events.append(ResourceRead(skill=skill, path=path, size=int(facts["total"])))
        elif self._name == RUN:
            self.events.append(ScriptRan(skill=skill, path=path, exit_code=int(facts["exit_code"])))
        elif "query" in facts:
            self.events.append(SkillsSearched(query=str(facts["query"]), skills=[*facts["skills"]]))

    # --- inside -----------------------------------------------------------------------------------------------------

    async def _mark(self) -> str:
        return await kept.message_mark(self._ctx, self._desk.scratchpad)

    async def _before(self, mark: str) -> dict[str, Held]:
        return visible(await kept.before_message(self._ctx, mark), self._kit, self._desk.owner)

    async def _names(self) -> list[str]:
        return in_use(visible(await kept.held_skills(self._ctx), self._kit, self._desk.owner))
