"""What one router gives an agent, ready made: the block for the system message, the tools, the keeper of texts.

A kit is good for as long as the router's catalog is the same object, which it is until somebody reloads. Nothing about
a conversation stands in it, so threads and users share it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool, StructuredTool

from skillbelt import tools as core
from skillbelt.errors import SkillError
from skillbelt.langchain.telling import Fact, fact
from skillbelt.langchain.tools import structured_tool
from skillbelt.models import Catalog
from skillbelt.parsing import name_key
from skillbelt.restoring import Keeper, Restore
from skillbelt.router import SkillRouter
from skillbelt.text import fill_slot

__all__ = ["Kit", "Kits", "Layout"]

_SLOT = "{skills}"
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """What a kit is made with: which tools there are, and where the catalog stands.

    Attributes:
        placement: ``"end"`` of the system message unless it says ``{skills}``, its ``"start"``, or ``"slot"``, which
            demands that it says so.
        listing: Whether there is ``list_skills``.
        unload: Whether there is ``unload_skill``.
        restore: How lost texts are put back.
    """

    placement: str = "end"
    listing: bool = False
    unload: bool = False
    restore: Restore = field(default_factory=Restore)


class Kit:
    """Tools, catalog block and keeper for one state of a router.

    Args:
        router: The skills.
        layout: What to make.
        keeper: One to go on with, of the same router.
    """

    def __init__(self, router: SkillRouter, layout: Layout, keeper: Keeper | None = None) -> None:
        self.router = router
        self.layout = layout
        self.catalog: Catalog = router.catalog()
        self.block = router.prompt() if self.catalog.text else ""
        self.keeper = keeper or Keeper(router, layout.restore)
        self.tools: dict[str, StructuredTool] = {tool.name: tool for tool in self._make()}
        self._variants: dict[tuple[bool, bool], dict[str, StructuredTool]] = {(False, False): self.tools}
        self._system: tuple[SystemMessage | None, SystemMessage | None] | None = None
        self._names = {name_key(summary.name): summary.name for summary in router.skills()}
        self._by_tool = {core.tool_name(name): name for name in self._names.values()}

    @property
    def fresh(self) -> bool:
        """Whether the router's skills are still those this was made of."""
        return self.router.catalog() is self.catalog

    def listed(self) -> list[Fact]:
        """Return what there is to tell of the catalog."""
        catalog = self.catalog
        if not catalog.text:
            return []
        return [fact("listed", skills=len(catalog.shown), omitted=len(catalog.omitted), tokens=catalog.tokens)]

    def tool(self, name: str, *, media: bool = False, hidden: bool = False) -> StructuredTool | None:
        """Return one of the skill tools.

        Args:
            name: The tool.
            media: Whether the model takes pictures and documents.
            hidden: Whether it serves skills that authors keep from the model.
        """
        known = self._variants.get((media, hidden))
        if known is None:
            # No look at the disk: whether there are scripts was seen when the kit was made.
            scripts = "run_skill_script" in self.tools
            known = {tool.name: tool for tool in self._make(media=media, hidden=hidden, scripts=scripts)}
            self._variants[media, hidden] = known
        return known.get(name)

    def skill(self, called: str) -> str | None:
        """Return the skill that somebody means by a name, a tool's name included.

        Args:
            called: What was called or named.
        """
        return self._names.get(name_key(called)) or self._by_tool.get(called)

    def system(self, given: SystemMessage | None) -> SystemMessage | None:
        """Return the system message with the catalog in it; the same object for the same message.

        Args:
            given: The agent's own.

        Raises:
            SkillError: The placement is ``"slot"`` and there is none.
        """
        ready = self._system
        if ready is None or ready[0] is not given:
            ready = self._system = (given, self._placed(given))
        return ready[1]

    def _make(self, *, media: bool = False, hidden: bool = False, scripts: bool | None = None) -> list[StructuredTool]:
        layout = self.layout
        specs = core.skill_tools(
            self.router, listing=layout.listing, unload=layout.unload, media=media, hidden=hidden, scripts=scripts
        )
        return [structured_tool(spec) for spec in specs]

    def _placed(self, given: SystemMessage | None) -> SystemMessage | None:
        block = self.block
        blocks = _blocks(given)
        texts = [part.get("text", "") if part.get("type") == "text" else "" for part in blocks]
        if any(_SLOT in text for text in texts):
            blocks = [
                {**part, "text": fill_slot(text, block)} if _SLOT in text else part
                for part, text in zip(blocks, texts, strict=True)
            ]
            left: list[str | dict[Any, Any]] = [part for part in blocks if part.get("text") != ""]
            return SystemMessage(content=left) if left else None
        if self.layout.placement == "slot":
            raise SkillError('placement="slot" wants {skills} in the system prompt, and there is none. Add it.')
        if not block:
            return given
        part = {"type": "text", "text": block}
        if self.layout.placement == "start":
            return SystemMessage(content=[part | {"text": f"{block}\n\n"}, *blocks] if blocks else [part])
        # Providers that take one text join the blocks: the section starts on a line of its own.
        return SystemMessage(content=[*blocks, part | {"text": f"\n\n{block}"}] if blocks else [part])


def _blocks(given: SystemMessage | None) -> list[dict[str, Any]]:
    """Return a message's content as blocks, each as it is: a provider's own marks on them stay."""
    if given is None:
        return []
    if isinstance(given.content, str):
        return [{"type": "text", "text": given.content}] if given.content else []
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in given.content]


class Kits:
    """The kits of the routers that an agent has met lately.

    Args:
        layout: What kits are made with.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._kits: OrderedDict[int, Kit] = OrderedDict()
        self._lock = threading.Lock()

    def ready(self, router: SkillRouter) -> Kit | None:
        """Return the kit of a router if there is a good one: no disk is touched.

        Args:
            router: The skills.
        """
        kit = self._kits.get(id(router))
        return kit if kit is not None and kit.router is router and kit.fresh else None

    def kit(self, router: SkillRouter) -> Kit:
        """Return the kit of a router, made now if need be.

        Args:
            router: The skills.
        """
        kit = self.ready(router)
        if kit is None:
            old = self._kits.get(id(router))
            kit = Kit(router, self._layout, old.keeper if old is not None and old.router is router else None)
            with self._lock:
                self._kits[id(router)] = kit
                self._kits.move_to_end(id(router))
                while len(self._kits) > _KEPT:
                    self._kits.popitem(last=False)
        return kit

    async def akit(self, router: SkillRouter) -> Kit:
        """Return the kit of a router without holding up the loop.

        Args:
            router: The skills.
        """
        kit = self.ready(router)
        return kit if kit is not None else await asyncio.to_thread(self.kit, router)


def offered(
    tools: Sequence[BaseTool | dict[str, Any]], ours: Mapping[str, StructuredTool], built: Container[str]
) -> list[Any]:
    """Return a request's tools with the skill tools of this run in place of those the agent was built with.

    Args:
        tools: The request's; what another middleware took out stays out.
        ours: The skill tools of this run, by name.
        built: Names of the tools the agent was built with.
    """
    listed = [ours.get(tool_name(tool), tool) for tool in tools]
    return [*listed, *(tool for name, tool in ours.items() if name not in built)]


def tool_name(tool: BaseTool | dict[str, Any]) -> str:
    """Return what a tool is called; one that a provider runs itself is called by its kind.

    Args:
        tool: A tool of a request.
    """
    if isinstance(tool, dict):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, dict) else tool.get("name")
        return str(name or tool.get("type", ""))
    return tool.name
