"""SkillsMiddleware: skills in a ``create_agent`` agent, with one line.

It adds the catalog to the system message of every model call, as one block of its own whose bytes do not change over
turns, so that the provider's prompt cache holds; it contributes the skill tools; it keeps track of the skills in use,
keeps their texts in the conversation, and judges tool calls by what they allow.

The work is done in the modules beside this one; here is what a host can choose, and LangChain's hooks.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from skillbelt.errors import MissingExtraError, SkillError
from skillbelt.fence import Fence
from skillbelt.restoring import Restore
from skillbelt.router import SkillRouter

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import BaseTool
    from langgraph.runtime import Runtime
    from langgraph.types import Command

    from skillbelt.langchain.calls import LOAD, READ, Call, Rules
    from skillbelt.langchain.kit import Kit, Kits, Layout, offered, tool_name
    from skillbelt.langchain.opening import Opening
    from skillbelt.langchain.requests import Shaper, kept
    from skillbelt.langchain.state import MARK, SkillState, held_skills, sight
    from skillbelt.langchain.telling import Fact, Teller, fact, note_restored, span
except ImportError as error:
    raise MissingExtraError("SkillsMiddleware", extra="langchain") from error

__all__ = ["SkillsMiddleware"]

_TOLD = 10_000


class SkillsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent skills: the catalog in its system message, the tools to load them, and care for those in use.

    Without skills the request stays as it is and no tool is added (S2-50). It may stand anywhere among the middleware.

    Args:
        skills: A router, or a folder of skills. May be left out when ``router_for`` is given.
        *more: Further folders; of a name in several, the first folder's skill wins.
        router_for: Gives the router of a run from its runtime, e.g. a view for the user of ``runtime.context``. The
            same user should get the same object: what is made of it is kept with it.
        only: Which skills this agent has: ``None`` is all, ``[]`` none, else names or patterns.
        preload: Names of skills that are in use from the first message of a conversation on; with ``router_for``, those
            of them that the user has.
        placement: Where the catalog stands: at the ``"end"`` of the system message unless that says ``{skills}``, at
            its ``"start"``, or only in the ``"slot"``, which is then required.
        allowed_tools: ``"advisory"`` reports calls that the skills in use do not allow, ``"enforce"`` refuses them; a
            :class:`~skillbelt.fence.Fence` says also what the words of allowed-tools mean here.
        tools_for: Tools that come with a skill: offered from the model call after it was loaded, refused before.
        restore: Whether texts of skills in use that were removed from the conversation are put back; see
            :class:`~skillbelt.restoring.Restore`.
        reload: ``"asked"`` reads the skills again when a caller passes ``active_skills=None`` or the router is
            reloaded; ``"run"`` at the start of each run.
        mentions: Whether a user activates a skill with ``/name`` at the start of a message.
        unload: Whether the model gets ``unload_skill``.
        listing: Whether the model gets ``list_skills``.
        max_active: Most skills in use at a time.
        misses: Files in a row that do not exist, after which the model is told firmly which there are.
        media: Whether pictures and PDF documents are handed to the model; ``None`` asks the model's profile.
        inherit: Whether a subagent takes over the skills its parent has in use.
        on_event: Called with each fact that is told, see :mod:`skillbelt.langchain.telling`.
        name: Tells two of these in one agent apart.

    Raises:
        SkillError: Neither ``skills`` nor ``router_for`` was given, or an option is none there is.

    Example:
        ``create_agent(model, middleware=[SkillsMiddleware("skills")])``. The catalog stands at the end of the system
        prompt, or where that says ``{skills}``.
    """

    state_schema = SkillState

    def __init__(
        self,
        skills: SkillRouter | str | os.PathLike[str] | None = None,
        *more: str | os.PathLike[str],
        router_for: Callable[[Any], SkillRouter] | None = None,
        only: Sequence[str] | None = None,
        preload: Sequence[str] = (),
        placement: Literal["end", "start", "slot"] = "end",
        allowed_tools: Literal["advisory", "enforce"] | Fence = "advisory",
        tools_for: Mapping[str, Sequence[BaseTool | Callable[..., Any]]] | None = None,
        restore: Literal["auto", "pair", "message", "off"] | Restore = "auto",
        reload: Literal["asked", "run"] = "asked",
        mentions: bool = True,
        unload: bool = False,
        listing: bool = False,
        max_active: int | None = None,
        misses: int = 3,
        media: bool | None = None,
        inherit: bool = False,
        on_event: Callable[[Fact], None] | None = None,
        name: str = "skillbelt.SkillsMiddleware",
    ) -> None:
        super().__init__()
        _one_of("placement", placement, ("end", "start", "slot"))
        _one_of("reload", reload, ("asked", "run"))
        self._name = name
        self._router_for = router_for
        self._restore = restore if isinstance(restore, Restore) else Restore(restore)
        self._kits = Kits(Layout(placement, listing, unload, self._restore))
        self._sight = sight()
        self._teller = Teller(on_event)
        self._preload = tuple(preload)
        self._mentions = mentions
        self._reload = reload == "run"
        self._inherit = inherit
        scoped = _scoped(tools_for or {})
        fence = allowed_tools if isinstance(allowed_tools, Fence) else Fence(allowed_tools)
        self._rules = Rules(
            fence, {tool: skills for tool, (_, skills) in scoped.items()}, max_active, unload, misses, media
        )
        if skills is None and router_for is None:
            raise SkillError('SkillsMiddleware needs skills: SkillsMiddleware("skills"), a router, or router_for=….')
        self.router = _router(skills, more, only)
        self.tools = [tool for tool, _ in scoped.values()]
        if self.router is not None:
            self.tools = [*self._kits.kit(self.router).tools.values(), *self.tools]
        self._registered = {tool.name: tool for tool in self.tools}
        self._told: set[tuple[str, str, str]] = set()

    @property
    def name(self) -> str:
        """What this middleware is called in a graph; not the name of another package's."""
        return self._name

    # --- once a run -------------------------------------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Read skills again if asked for, and take up those that a caller or a user chose."""
        opening, router = self._opening(state, runtime), self.router_of(runtime)
        ready = self._kits.ready(router) if opening.idle else None
        kit, update = (ready, None) if ready is not None else self._open(opening, router)
        self._teller.tell(runtime, [*kit.listed(), *opening.facts])
        return update

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Read skills again if asked for, and take up those that a caller or a user chose."""
        opening, router = self._opening(state, runtime), self.router_of(runtime)
        ready = self._kits.ready(router) if opening.idle else None
        kit, update = (ready, None) if ready is not None else await asyncio.to_thread(self._open, opening, router)
        await self._teller.atell(runtime, [*kit.listed(), *opening.facts])
        return update

    def _opening(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> Opening:
        info = getattr(runtime, "execution_info", None)
        return Opening(
            state,
            preload=self._preload,
            mentions=self._mentions,
            reload=self._reload,
            per_user=self._router_for is not None,
            inherit=self._inherit,
            child="|" in (info.checkpoint_ns if info else ""),
        )

    def _open(self, opening: Opening, router: SkillRouter) -> tuple[Kit, dict[str, Any] | None]:
        if opening.reload:
            router.reload()
        kit = self._kits.kit(router)
        return kit, opening.open(kit, self._sight)

    # --- each model call --------------------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the catalog in the system message and every skill in use in the messages."""
        kit = self._kits.kit(self.router_of(request.runtime))
        held = held_skills(request.state)
        if held and kit.keeper.stale(held):
            kit.keeper.refresh(held)
        shaper = self._shaper(request, kit, held) if held else None
        response = handler(self._ready(request, kit, held, shaper))
        self._teller.tell(request.runtime, self._after(request, kit, shaper, response))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the catalog in the system message and every skill in use in the messages."""
        kit = await self._kits.akit(self.router_of(request.runtime))
        held = held_skills(request.state)
        if held and kit.keeper.stale(held):
            await asyncio.to_thread(kit.keeper.refresh, held)
        shaper = self._shaper(request, kit, held) if held else None
        response = await handler(self._ready(request, kit, held, shaper))
        await self._teller.atell(request.runtime, self._after(request, kit, shaper, response))
        return response

    def _ready(
        self, request: ModelRequest[Any], kit: Kit, held: Mapping[str, Any], shaper: Shaper | None
    ) -> ModelRequest[Any]:
        """Return the request as the model gets it; the very same one when nothing is to change."""
        changes: dict[str, Any] = {}
        system = kit.system(request.system_message)
        if system is not request.system_message:
            changes["system_message"] = system
        tools = self._offer(request.tools, kit, held)
        if tools is not request.tools:
            changes["tools"] = tools
        if shaper is not None:
            return kept(request, shaper, **changes)
        return request.override(**changes) if changes else request

    def _offer(self, tools: list[Any], kit: Kit, held: Mapping[str, Any]) -> list[Any]:
        own = self._registered
        moved = kit.tools.keys() - own.keys() or any(tool is not own.get(name) for name, tool in kit.tools.items())
        surplus = own.keys() - kit.tools.keys() - self._rules.scoped.keys()
        if moved:
            tools = offered(tools, kit.tools, own)
        if surplus or self._rules.scoped or (self._rules.fence.enforcing and held):
            tools = [
                tool
                for tool in tools
                if (name := tool_name(tool)) not in surplus and self._rules.offers(name, held, kit.tools)
            ]
        return tools

    def _shaper(self, request: ModelRequest[Any], kit: Kit, held: Mapping[str, Any]) -> Shaper:
        form = self._restore.form
        if form == "auto":
            # A call that thinking did not lead to is refused by models that check it.
            form = "message" if getattr(request.model, "thinking", None) else "pair"
        return Shaper(kit.router, kit.keeper, self._sight, held, form)

    def _after(self, request: ModelRequest[Any], kit: Kit, shaper: Shaper | None, response: Any) -> list[Fact]:
        """Note on a message that calls our tools what its request held; return what was put back for the first time."""
        result = [response] if isinstance(response, AIMessage) else response.result
        message = next((one for one in result if isinstance(one, AIMessage)), None)
        if message is not None and any(call["name"] in (LOAD, READ) for call in message.tool_calls):
            noted: dict[str, Any] = {} if shaper is None else {"present": sorted(shaper.present)}
            profile = getattr(request.model, "profile", None) or {}
            noted |= {kind: True for kind in ("image", "pdf") if profile.get(f"{kind}_tool_message")}
            if noted:
                message.response_metadata = {**message.response_metadata, MARK: noted}
        facts: list[Fact] = []
        for back in shaper.restored if shaper is not None else ():
            told = (back.name, back.digest, back.arguments or "")
            if told not in self._told:
                if len(self._told) >= _TOLD:
                    self._told.clear()
                self._told.add(told)
                facts.append(
                    fact("restored", skill=back.name, digest=back.digest, tokens=back.tokens, changed=back.changed)
                )
        if facts:
            note_restored(facts)
        return facts

    # --- each tool call ---------------------------------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run a tool if the skills in use allow it, and take up a skill that it loaded."""
        kit = self._kits.kit(self.router_of(request.runtime))
        call = Call(request, kit, self._rules, self._sight)
        with span(request.tool_call) as noted:
            started = call.start()
            ended = started if isinstance(started, ToolMessage) else call.end(handler(started))
            noted.note(call.facts)
        self._teller.tell(request.runtime, call.facts)
        return ended

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Run a tool if the skills in use allow it, and take up a skill that it loaded."""
        kit = await self._kits.akit(self.router_of(request.runtime))
        call = Call(request, kit, self._rules, self._sight)
        with span(request.tool_call) as noted:
            started = call.start()
            ended = started if isinstance(started, ToolMessage) else await call.aend(await handler(started))
            noted.note(call.facts)
        await self._teller.atell(request.runtime, call.facts)
        return ended

    def router_of(self, runtime: Any) -> SkillRouter:
        """Return the router of a run.

        Args:
            runtime: The run's, as LangChain gives it to hooks and tools.
        """
        if self._router_for is not None:
            return self._router_for(runtime)
        assert self.router is not None  # noqa: S101 - the constructor saw to it
        return self.router


def _router(
    skills: SkillRouter | str | os.PathLike[str] | None,
    more: Sequence[str | os.PathLike[str]],
    only: Sequence[str] | None,
) -> SkillRouter | None:
    if skills is None:
        return None
    router = skills if isinstance(skills, SkillRouter) else SkillRouter.from_directory(skills, *more)
    return router if only is None else router.view(include=only)


def _scoped(
    tools_for: Mapping[str, Sequence[BaseTool | Callable[..., Any]]],
) -> dict[str, tuple[BaseTool, tuple[str, ...]]]:
    """Return the tools that come with skills, each with the skills that bring it."""
    from langchain_core.tools import tool as make_tool

    scoped: dict[str, tuple[BaseTool, tuple[str, ...]]] = {}
    for skill, tools in tools_for.items():
        for given in tools:
            tool = given if isinstance(given, BaseTool) else make_tool(given)
            known = scoped.get(tool.name)
            if known is not None and known[0] is not given and known[0] is not tool:
                raise SkillError(f"tools_for has two tools called {tool.name!r}. Give them different names.")
            scoped[tool.name] = (tool, (*(known[1] if known else ()), skill))
    return scoped


def _one_of(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise SkillError(f"{what} is {' or '.join(map(repr, known))}, not {given!r}.")
