"""SkillApproval: a person looks before a script of a skill runs, or before a skill is loaded.

It is LangChain's own :class:`~langchain.agents.middleware.HumanInTheLoopMiddleware` with a description that shows what
would happen, and a memory: what was approved is not asked again while the skill's files stay the same. What changed
between question and answer does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableSet, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from langchain.agents.middleware import AgentState, HumanInTheLoopMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from skillbelt.consent import Consent, Remember, consent
from skillbelt.langchain.calls import LOAD, RUN
from skillbelt.langchain.middleware import SkillsMiddleware
from skillbelt.langchain.state import MARK
from skillbelt.router import SkillRouter

__all__ = ["SkillApproval"]

Decision = Literal["approve", "edit", "reject"]

_ASKED = "asked"
_consents: ContextVar[Mapping[str, Consent]] = ContextVar("skillbelt_consents")


def _union(old: list[str] | None, new: list[str] | None) -> list[str]:
    return list(dict.fromkeys([*(old or []), *(new or [])]))


if TYPE_CHECKING:
    _State = AgentState[Any]
else:  # what LangChain keeps for itself differs by version
    _State = HumanInTheLoopMiddleware.state_schema


class ApprovalState(_State):
    """State of an agent whose scripts are approved.

    Attributes:
        skill_grants: Digests of what was approved; neither input nor output of an agent.
    """

    skill_grants: NotRequired[Annotated[list[str], PrivateStateAttr, _union]]


class SkillApproval(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Asks a person before a script of a skill runs; needs a checkpointer, as every interrupt does.

    Args:
        skills: The agent's :class:`~skillbelt.langchain.SkillsMiddleware`, or its router.
        scripts: Whether running a script is asked for.
        loading: Whether loading a skill is.
        allow: Names, or patterns such as ``"pdf-*"``, of skills that need no approval.
        remember: What a yes is good for: this very ``"call"``, the ``"script"`` with any arguments, or ``"never"``.
        grants: Digests of what was approved before, shared by conversations; a set the host keeps.
        decisions: What the person may answer.
        **options: As for LangChain's middleware, e.g. ``interrupt_on`` for further tools.

    Example:
        ``create_agent(model, middleware=[skills, SkillApproval(skills, loading=True)], checkpointer=…)``
    """

    state_schema: Any = ApprovalState

    def __init__(
        self,
        skills: SkillsMiddleware | SkillRouter,
        *,
        scripts: bool = True,
        loading: bool = False,
        allow: Sequence[str] = (),
        remember: Remember = "call",
        grants: MutableSet[str] | None = None,
        decisions: Sequence[Decision] = ("approve", "edit", "reject"),
        **options: Any,
    ) -> None:
        asked: dict[str, Any] = {}
        for tool, wanted in ((RUN, scripts), (LOAD, loading)):
            if wanted:
                config = {"allowed_decisions": [*decisions], "description": self._describe, "when": self._needed}
                asked[tool] = config
        super().__init__({**options.pop("interrupt_on", {}), **asked}, **options)
        self._skills = skills
        self._tools = frozenset(asked)
        self._allow = tuple(allow)
        self._remember: Remember = remember
        self._grants = grants

    @property
    def name(self) -> str:
        """What this middleware is called in a graph."""
        return "skillbelt.SkillApproval"

    # --- what is asked, as it is when the model asks for it -----------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model and note what its calls would run, as it is now."""
        response = handler(request)
        self._note(response, request.runtime)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model and note what its calls would run, as it is now."""
        response = await handler(request)
        if any(self._calls(message) for message in response.result):
            await asyncio.to_thread(self._note, response, request.runtime)
        return response

    def _note(self, response: ModelResponse[Any], runtime: Any) -> None:
        for message in response.result:
            asked = {id_: found.key for id_, found in self._found(message, runtime).items()}
            if asked and isinstance(message, AIMessage):
                noted = message.response_metadata.get(MARK) or {}
                message.response_metadata = {**message.response_metadata, MARK: {**noted, _ASKED: asked}}

    # --- the question -----------------------------------------------------------------------------------------------

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask about the calls of the last message that were not approved before."""
        return self._reviewed(state, runtime, self._found(_last(state["messages"]), runtime))

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask about the calls of the last message that were not approved before."""
        last = _last(state["messages"])
        found = await asyncio.to_thread(self._found, last, runtime) if self._calls(last) else {}
        return self._reviewed(state, runtime, found)

    def _reviewed(self, state: Any, runtime: Runtime[Any], found: Mapping[str, Consent]) -> dict[str, Any] | None:
        known = {*(state.get("skill_grants") or ()), *(self._grants or ())}
        pending = {id_: one for id_, one in found.items() if one.key not in known and not self._free(one.skill)}
        last = _last(state["messages"])
        if not pending and not any(call["name"] in self.interrupt_on.keys() - self._tools for call in _calls(last)):
            return None
        before = {str(call["id"]): call["args"] for call in _calls(last)}
        noted = _asked(last)
        token = _consents.set(pending)
        try:
            update = super().after_model(state, runtime)
        finally:
            _consents.reset(token)
        if update is None:
            return None
        return self._settled(update, pending, before, noted)

    def _settled(
        self,
        update: dict[str, Any],
        pending: Mapping[str, Consent],
        before: Mapping[str, Any],
        noted: Mapping[str, str],
    ) -> dict[str, Any]:
        """Keep what was approved; take back what is not what was shown."""
        messages: list[BaseMessage] = update["messages"]
        refused = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        edited = {*(update.get("hitl_edited_tool_calls") or ())}
        edited |= {str(call["id"]) for call in _calls(_last(messages)) if call["args"] != before.get(str(call["id"]))}
        granted: list[str] = []
        for id_, one in pending.items():
            if id_ in refused or id_ in edited:
                continue
            if noted.get(id_, one.key) != one.key:
                text = (
                    f"The skill {one.skill!r} changed while approval was waited for, so nothing was run or loaded. "
                    "Call again to ask for approval of what it is now."
                )
                call = next(call for call in _calls(_last(messages)) if str(call["id"]) == id_)
                messages.append(ToolMessage(text, tool_call_id=id_, name=call["name"], status="error"))
            elif self._remember != "never":
                granted.append(one.key)
        if granted and self._grants is not None:
            for key in granted:
                self._grants.add(key)
        return {**update, "skill_grants": granted} if granted else update

    # --- inside -----------------------------------------------------------------------------------------------------

    def _describe(self, tool_call: ToolCall, state: Any, runtime: Any) -> str:
        found = _consents.get({}).get(str(tool_call["id"]))
        return found.description if found else f"{tool_call['name']} with {tool_call['args']}"

    def _needed(self, request: ToolCallRequest) -> bool:
        return str(request.tool_call["id"]) in _consents.get({})

    def _free(self, skill: str) -> bool:
        return any(fnmatchcase(skill, pattern) for pattern in self._allow)

    def _calls(self, message: BaseMessage | None) -> list[ToolCall]:
        return [call for call in _calls(message) if call["name"] in self._tools]

    def _found(self, message: BaseMessage | None, runtime: Any) -> dict[str, Consent]:
        calls = self._calls(message)
        if not calls:
            return {}
        skills = self._skills
        router = skills.router_of(runtime) if isinstance(skills, SkillsMiddleware) else skills
        asked = {
            str(call["id"]): consent(router, call["name"], call["args"], remember=self._remember) for call in calls
        }
        return {id_: one for id_, one in asked.items() if one is not None}


def _last(messages: Sequence[BaseMessage]) -> AIMessage | None:
    return next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)


def _calls(message: BaseMessage | None) -> list[ToolCall]:
    return message.tool_calls if isinstance(message, AIMessage) else []


def _asked(message: BaseMessage | None) -> Mapping[str, str]:
    noted = message.response_metadata.get(MARK) if isinstance(message, AIMessage) else None
    return (noted or {}).get(_ASKED) or {}
