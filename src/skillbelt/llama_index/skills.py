"""Skills: everything a host can choose about the skills of a LlamaIndex agent, in one object.

It is what :class:`~skillbelt.llama_index.agents.SkillFunctionAgent` and
:class:`~skillbelt.llama_index.agents.SkillReActAgent` are built with, what a
:class:`~skillbelt.llama_index.memory.SkillsMemoryBlock` renders, and where a plain agent gets its tools from. It holds
nothing of a conversation: one object serves any number of agents and users at a time.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from skillbelt.conduct import Rules
from skillbelt.errors import MissingExtraError, SkillError
from skillbelt.fence import Fence
from skillbelt.kits import Kit, Kits, Layout
from skillbelt.restoring import Restore
from skillbelt.router import SkillRouter

try:
    from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, adapt_to_async_tool

    from skillbelt.llama_index import state as kept
    from skillbelt.llama_index.approval import SkillApproval
    from skillbelt.llama_index.calls import Desk
    from skillbelt.llama_index.dispatch import SkillCallTool, guarded
    from skillbelt.llama_index.events import Fact, Teller
except ImportError as error:
    raise MissingExtraError("skillbelt.llama_index", extra="llama-index") from error

__all__ = ["Skills"]

OURS = (
    "load_skill",
    "read_skill_resource",
    "search_skills",
    "list_skills",
    "run_skill_script",
    "unload_skill",
)
"""The skill tools in the order in which they are offered."""

RouterFor = Callable[[Any], "SkillRouter | Awaitable[SkillRouter]"]


class Skills:
    """The skills of an agent, and how it uses them.

    Args:
        skills: A router, or a folder of skills. May be left out when ``router_for`` is given.
        *more: Further folders; of a name in several, the first folder's skill wins.
        router_for: Gives the router of a run from its ``Context``, e.g. a view for the user it is for; may be async.
            The same user should get the same object: what is made of it is kept with it.
        only: Which skills this agent has: ``None`` is all, ``[]`` none, else names or patterns.
        preload: Names of skills that are in use from the first message of a conversation on; with ``router_for``, those
            of them that the user has.
        placement: Where the catalog stands: at the ``"end"`` of the system prompt unless that says ``{skills}``, at
            its ``"start"``, or only in the ``"slot"``, which is then required.
        allowed_tools: ``"advisory"`` reports calls that the skills in use do not allow, ``"enforce"`` refuses them; a
            :class:`~skillbelt.fence.Fence` says also what the words of allowed-tools mean here.
        tools_for: Tools that come with a skill: refused before it is in use, and offered only then by the agents here.
        restore: Whether texts of skills in use that left the memory are put back; see
            :class:`~skillbelt.restoring.Restore`. ``"auto"`` is ``"message"`` here: a call in the model's name has
            another form in each LLM integration.
        reload: ``"asked"`` reads the skills again when ``active_skills`` is set to ``None`` or the router is reloaded;
            ``"run"`` at the start of each run.
        mentions: Whether a user activates a skill with ``/name`` at the start of a message.
        unload: Whether the model gets ``unload_skill``.
        listing: Whether the model gets ``list_skills``.
        max_active: Most skills in use at a time.
        misses: Files in a row that do not exist, after which the model is told firmly which there are.
        media: Whether pictures and PDF documents are handed over as content blocks; not every LLM integration sends
            those of tools on.
        approval: What a person is asked about.
        on_event: Called with each event as a dict, see :mod:`skillbelt.llama_index.events`.

    Raises:
        SkillError: Neither ``skills`` nor ``router_for`` was given, or an option is none there is.

    Example:
        ``SkillFunctionAgent(skills=Skills("skills", allowed_tools="enforce"), tools=[…], llm=llm)``
    """

    def __init__(
        self,
        skills: SkillRouter | str | os.PathLike[str] | None = None,
        *more: str | os.PathLike[str],
        router_for: RouterFor | None = None,
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
        media: bool = False,
        approval: SkillApproval | None = None,
        on_event: Callable[[Fact], None] | None = None,
    ) -> None:
        _one_of("placement", placement, ("end", "start", "slot"))
        _one_of("reload", reload, ("asked", "run"))
        if skills is None and router_for is None:
            raise SkillError('Skills needs skills: Skills("skills"), a router, or router_for=….')
        self.router = _router(skills, more, only)
        self.router_for = router_for
        self.preload = tuple(preload)
        self.mentions = mentions
        self.reload = reload == "run"
        self.restore = restore if isinstance(restore, Restore) else Restore(restore)
        self.media = media
        self.approval = approval
        self.teller = Teller(on_event)
        self.scoped = _scoped(tools_for or {})
        fence = allowed_tools if isinstance(allowed_tools, Fence) else Fence(allowed_tools)
        scoped = {name: skills_ for name, (_, skills_) in self.scoped.items()}
        self.rules = Rules(fence, scoped, max_active, unload, misses)
        self._listing = listing
        self._kits = Kits(Layout(placement, listing, unload, self.restore))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Skills:
        return self  # LlamaIndex copies a state that is edited; what stands here is no state

    @property
    def form(self) -> str:
        """How lost texts are put back."""
        return "message" if self.restore.form == "auto" else self.restore.form

    def tools(
        self, tools: Sequence[BaseTool | Callable[..., Any]] = (), *, scratchpad: str = kept.SCRATCHPAD
    ) -> list[FunctionTool]:
        """Return the tools of a plain agent: the host's behind the fence, those that come with skills, the skill tools.

        Used in a ``FunctionAgent``, ``ReActAgent`` or ``AgentWorkflow``, what is loaded is in use, in ``ctx.store``.

        Args:
            tools: The host's tools, or functions.
            scratchpad: The agent's ``scratchpad_key``, when it is another one than LlamaIndex's.

        Raises:
            SkillError: There is a router for each run, or two tools have one name.
        """
        if self.router is None or self.router_for is not None:
            raise SkillError(
                "A plain agent offers everybody the same tools. With router_for=… use SkillFunctionAgent or "
                "SkillReActAgent."
            )
        made: list[FunctionTool] = []
        desk = self.desk("", scratchpad=scratchpad, bound=lambda: [tool.metadata.get_name() for tool in made])
        specs = self.kit(self.router).specs
        ours = [SkillCallTool(name, self, desk, specs[name]) for name in OURS if name in specs]
        made += self.fenced(tools, desk)
        _different([*made, *ours])
        return [*made, *ours]

    # --- for the agents here ----------------------------------------------------------------------------------------

    def desk(
        self,
        owner: str,
        *,
        scratchpad: str = kept.SCRATCHPAD,
        reasoning: str = kept.REASONING,
        media: bool | None = None,
        bound: Callable[[], Sequence[str]] = tuple,
    ) -> Desk:
        """Return what the calls of one agent are judged by.

        Args:
            owner: Name of the agent.
            scratchpad: Where it keeps the messages of a run.
            reasoning: Where it keeps the steps of a run.
            media: Whether it can take pictures.
            bound: Gives the names of its tools.
        """
        return Desk(
            self.rules,
            owner,
            scratchpad=scratchpad,
            reasoning=reasoning,
            media=self.media if media is None else media,
            approval=self.approval,
            bound=bound,
        )

    def fenced(self, tools: Sequence[BaseTool | Callable[..., Any]], desk: Desk) -> list[FunctionTool]:
        """Return the host's tools and those that come with skills, behind the fence.

        Args:
            tools: The host's.
            desk: What calls are judged by.
        """
        return [guarded(tool, self, desk) for tool in (*tools, *(tool for tool, _ in self.scoped.values()))]

    def dispatchers(self, desk: Desk) -> list[SkillCallTool]:
        """Return a tool for every skill tool that a run may have: which of them it is offered is settled per call.

        Args:
            desk: What calls are judged by.
        """
        left_out = set() if self._listing else {"list_skills"}
        left_out |= set() if self.rules.unload else {"unload_skill"}
        if self.router_for is None and self.router is not None and not self.router.runs_scripts:
            left_out.add("run_skill_script")
        return [SkillCallTool(name, self, desk) for name in OURS if name not in left_out]

    def kit(self, router: SkillRouter) -> Kit:
        """Return what a router gives an agent.

        Args:
            router: The skills.
        """
        return self._kits.kit(router)

    async def kit_of(self, ctx: Any) -> Kit:
        """Return what the router of a run gives an agent.

        Args:
            ctx: The run's ``Context``.
        """
        return await self._kits.akit(await self.router_of(ctx))

    async def router_of(self, ctx: Any) -> SkillRouter:
        """Return the router of a run.

        Args:
            ctx: The run's ``Context``.
        """
        if self.router_for is not None:
            found = self.router_for(ctx)
            return await found if inspect.isawaitable(found) else found
        assert self.router is not None  # noqa: S101 - the constructor saw to it
        return self.router


def skills_of(given: Skills | SkillRouter | str | os.PathLike[str]) -> Skills:
    """Return skills with the options of the host, or with the usual ones.

    Args:
        given: Skills, a router or a folder.
    """
    return given if isinstance(given, Skills) else Skills(given)


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
) -> dict[str, tuple[AsyncBaseTool, tuple[str, ...]]]:
    """Return the tools that come with skills, each with the skills that bring it."""
    scoped: dict[str, tuple[AsyncBaseTool, tuple[str, ...]]] = {}
    origin: dict[str, object] = {}
    for skill, tools in tools_for.items():
        for given in tools:
            made = given if isinstance(given, BaseTool) else FunctionTool.from_defaults(given)
            name = made.metadata.get_name()
            if origin.setdefault(name, given) is not given:
                raise SkillError(f"tools_for has two tools called {name!r}. Give them different names.")
            known = scoped.get(name)
            scoped[name] = (known[0] if known else adapt_to_async_tool(made), (*(known[1] if known else ()), skill))
    return scoped


def _different(tools: Sequence[BaseTool]) -> None:
    names = [tool.metadata.get_name() for tool in tools]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise SkillError(f"Two tools are called {double[0]!r}; LlamaIndex would silently take the last. Rename one.")


def _one_of(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise SkillError(f"{what} is {' or '.join(map(repr, known))}, not {given!r}.")
