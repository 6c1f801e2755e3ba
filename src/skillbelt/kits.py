"""What one router gives an agent, ready made: the section for the prompt, the tools, the keeper of texts.

A kit is good for as long as the router's catalog is the same object, which it is until somebody reloads. Nothing about
a conversation stands in it, so threads and users share it. No framework is known here.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from skillbelt.errors import SkillError
from skillbelt.models import Catalog
from skillbelt.parsing import name_key
from skillbelt.restoring import Keeper, Restore
from skillbelt.router import SkillRouter
from skillbelt.text import fill_slot
from skillbelt.tools import ToolSpec, skill_tools, tool_name

__all__ = ["Kit", "Kits", "Layout"]

_SLOT = "{skills}"
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """What a kit is made with: which tools there are, and where the catalog stands.

    Attributes:
        placement: ``"end"`` of the prompt unless it says ``{skills}``, its ``"start"``, or ``"slot"``, which demands
            that it says so.
        listing: Whether there is ``list_skills``.
        unload: Whether there is ``unload_skill``.
        restore: How lost texts are put back.
    """

    placement: str = "end"
    listing: bool = False
    unload: bool = False
    restore: Restore = field(default_factory=Restore)


class Kit:
    """Tools, section and keeper for one state of a router.

    Args:
        router: The skills.
        layout: What to make.
        keeper: One to go on with, of the same router.
    """

    def __init__(self, router: SkillRouter, layout: Layout, keeper: Keeper | None = None) -> None:
        self.router = router
        self.layout = layout
        self.catalog: Catalog = router.catalog()
        self.section = router.prompt() if self.catalog.text else ""
        self.keeper = keeper or Keeper(router, layout.restore)
        self.specs = self._make()
        self._variants = {(False, False): self.specs}
        self._names = {name_key(summary.name): summary.name for summary in router.skills()}
        self._by_tool = {tool_name(name): name for name in self._names.values()}

    @property
    def fresh(self) -> bool:
        """Whether the router's skills are still those this was made of."""
        return self.router.catalog() is self.catalog

    def spec(self, name: str, *, media: bool = False, hidden: bool = False) -> ToolSpec | None:
        """Return one of the skill tools.

        Args:
            name: The tool.
            media: Whether the model takes pictures and documents.
            hidden: Whether it serves skills that authors keep from the model.
        """
        known = self._variants.get((media, hidden))
        if known is None:
            # No look at the disk: whether there are scripts was seen when the kit was made.
            known = self._make(media=media, hidden=hidden, scripts="run_skill_script" in self.specs)
            self._variants[media, hidden] = known
        return known.get(name)

    def skill(self, called: str) -> str | None:
        """Return the skill that somebody means by a name, a tool's name included.

        Args:
            called: What was called or named.
        """
        return self._names.get(name_key(called)) or self._by_tool.get(called)

    def prompt(self, base: str) -> str:
        """Return a system prompt with the section in its place.

        Args:
            base: The agent's own prompt.

        Raises:
            SkillError: The placement is ``"slot"`` and there is none.
        """
        if _SLOT not in base.partition("<available_skills>")[0]:
            if self.layout.placement == "slot":
                raise SkillError('placement="slot" wants {skills} in the system prompt, and there is none. Add it.')
            if self.layout.placement == "start" and self.section and base:
                return f"{self.section}\n\n{base}"
        return fill_slot(base, self.section)

    def _make(self, *, media: bool = False, hidden: bool = False, scripts: bool | None = None) -> dict[str, ToolSpec]:
        layout = self.layout
        specs = skill_tools(
            self.router, listing=layout.listing, unload=layout.unload, media=media, hidden=hidden, scripts=scripts
        )
        return {spec.name: spec for spec in specs}


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
