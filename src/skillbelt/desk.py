"""Levels 2 and 3 over what a router can reach: skills handed out, pages of their files.

What was handed out is not made anew while nothing in the skill's folder changed; a page of a file can be asked for as
of the moment a skill was handed out, and is refused when something changed since.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field

from skillbelt.errors import ResourceChangedError, ResourceNotFoundError, ResourcePathError, did_you_mean
from skillbelt.models import Activation, Resource
from skillbelt.render import Renderer
from skillbelt.shelf import Reach
from skillbelt.sources.base import Bundle
from skillbelt.sources.paths import portable, shown

__all__ = ["Desk"]

_KEPT = 64
_KEPT_CHARACTERS = 64 * 1024


@dataclass(slots=True)
class Desk:
    """Hands out what a router can reach; may be shared by threads.

    Attributes:
        reach: What can be reached.
    """

    reach: Reach
    _handed: OrderedDict[tuple[str, int], tuple[Renderer, Bundle, Activation]] = field(
        default_factory=OrderedDict, repr=False
    )

    def activation(self, name: str, arguments: str | None, renderer: Renderer) -> Activation:
        """Return a skill as it is now, with its text for a model.

        Args:
            name: The skill.
            arguments: What the user gave with it.
            renderer: Makes the text.
        """
        bundle = self.reach.bundle(name)
        skill = bundle.skill
        key = skill.name, id(renderer)
        known = self._handed.get(key) if arguments is None else None
        if known is not None and known[0] is renderer and _same(known[1], bundle):
            return known[2]
        text, truncated = renderer.content(
            skill,
            bundle.resources,
            arguments=arguments,
            on_disk=os.path.isabs(skill.location or ""),  # noqa: PTH117
        )
        activation = Activation(
            skill=skill, text=text, resources=bundle.resources, truncated=truncated, generation=bundle.generation
        )
        if arguments is None and len(text) <= _KEPT_CHARACTERS:
            self._handed[key] = (renderer, bundle, activation)
            while len(self._handed) > _KEPT:
                self._handed.popitem(last=False)
        return activation

    def resource(
        self, name: str, path: str, offset: int, max_bytes: int, generation: str | None
    ) -> tuple[str, Resource]:
        """Return the skill's own name and bytes of a file, as of a generation when one is given.

        Args:
            name: The skill.
            path: The file, as a model may write it.
            offset: First byte.
            max_bytes: Most bytes to return.
            generation: That of the activation the file belongs to; ``None`` takes what there is now.

        Raises:
            ResourceChangedError: The skill is of another generation now.
        """
        own = self.reach.resolve(name)
        self._check(own, generation)
        try:
            resource = self.reach.source.read(own, portable(path), offset=offset, max_bytes=max_bytes)
        except (ResourceNotFoundError, ResourcePathError) as error:
            paths = [info.path for info in self.reach.source.resources(own)]
            raise type(error)(f"{error} {did_you_mean(str(path), paths, what='files')}") from error
        self._check(own, generation)  # what was read before and after is what was read in between
        return own, resource

    def _check(self, name: str, generation: str | None) -> None:
        if generation is None:
            return
        bundle = self.reach.bundle(name)
        if not bundle.current or bundle.generation != generation:
            raise ResourceChangedError(
                f"The skill {shown(name)} changed since it was loaded. Load it again, then read its files."
            )


def _same(known: Bundle, bundle: Bundle) -> bool:
    # Tuples compare by identity first, and nearly always it is the very same skill.
    return (known.generation, known.skill, known.resources) == (bundle.generation, bundle.skill, bundle.resources)
