"""SkillRouter: the façade that joins a source, a renderer and a searcher.

A router is stateless towards conversations and may be shared by threads: it keeps one snapshot of level 1, replaced
as a whole by :meth:`SkillRouter.reload`, so that the catalog's bytes stay the same over turns (the provider's prompt
cache holds) while instructions and files are read afresh at every call. It executes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from skillbelt.compose import merge
from skillbelt.errors import (
    InvalidSkillError,
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    SkillError,
    SkillNotFoundError,
    did_you_mean,
)
from skillbelt.events import (
    Event,
    EventHandler,
    ResourceRead,
    SkillActivated,
    SkillFailed,
    SkillsReloaded,
    SkillsSearched,
)
from skillbelt.limits import MIB, Limits
from skillbelt.models import (
    Activation,
    Catalog,
    Diagnostic,
    Match,
    ReloadDiff,
    Resource,
    ResourceInfo,
    SkillSummary,
)
from skillbelt.parsing import LENIENT, Profile, name_key
from skillbelt.render import Renderer, TokenBudget
from skillbelt.search import LexicalSearcher, Searcher
from skillbelt.shelf import Names, Reach, Shelf, Snapshot, View, difference, narrowed
from skillbelt.sources import DirectorySource, ResourceSource
from skillbelt.sources.paths import portable
from skillbelt.sources.sound import sound
from skillbelt.text import fill_slot

__all__ = ["SkillRouter"]


class SkillRouter:
    r"""Level 1 into the prompt, level 2 and 3 on request.

    Args:
        source: Where skills come from; several are joined with :func:`skillbelt.merge`.
        budget: Bound of the catalog; ``None`` shows every skill in full.
        searcher: Ranks skills for a query; by default lexical, without dependencies.
        pinned: Names that stay in a catalog cut by its budget.
        renderer: Wording and bounds of what the model is given.
        on_event: Called with each :data:`~skillbelt.events.Event`.

    Example:
        >>> from skillbelt import MappingSource
        >>> skills = {"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"}
        >>> router = SkillRouter(MappingSource(skills))
        >>> print(router.catalog().text)
        <available_skills>
        <skill name="mail">Sorts mail.</skill>
        </available_skills>
    """

    def __init__(
        self,
        source: ResourceSource,
        *,
        budget: TokenBudget | None = None,
        searcher: Searcher | None = None,
        pinned: Sequence[str] = (),
        renderer: Renderer | None = None,
        on_event: EventHandler | None = None,
    ) -> None:
        self._reach = Reach(Shelf(sound(source, "SkillRouter")), on_event)
        self._budget = budget
        self._searcher = searcher or LexicalSearcher()
        self._pinned = tuple(pinned)
        self._renderer = renderer or Renderer()
        self._renderer.check(budget)
        self._on_event = on_event
        self._cached: tuple[Snapshot, Catalog] | None = None

    @classmethod
    def from_directory(
        cls,
        *roots: str | os.PathLike[str],
        profile: Profile = LENIENT,
        limits: Limits | None = None,
        **options: Any,
    ) -> SkillRouter:
        """Make a router over folders; of a name in several, the first root's skill wins.

        Args:
            *roots: Folders of skills, or skill folders.
            profile: How strictly SKILL.md files are read. Under STRICT every folder is read now.
            limits: Bounds of every read.
            **options: As for the constructor.

        Raises:
            InvalidSkillError: Under STRICT, a skill is broken; all are named at once.
            SourceError: Under STRICT, a root cannot be read.
        """
        if not roots:
            raise SkillError("from_directory() needs a folder; give the one that holds the skills.")
        sources = [DirectorySource(root, profile=profile, limits=limits) for root in roots]
        router = cls(sources[0] if len(sources) == 1 else merge(*sources), **options)
        if profile.strict:
            errors = tuple(d for d in router.diagnostics() if d.severity == "error")
            if errors:
                raise InvalidSkillError("These skills are not valid:\n" + "\n".join(map(str, errors)), errors)
        return router

    # --- level 1 --------------------------------------------------------------------------------------------------

    def skills(self) -> tuple[SkillSummary, ...]:
        """Return all usable skills of this router, sorted by name, those hidden from the model included."""
        return self._reach.summaries()

    def catalog(self, query: str | None = None) -> Catalog:
        """Return level 1 as the model sees it: skills its authors allow the model to choose.

        Args:
            query: When the budget cuts, skills that fit this are left out last.
        """
        snapshot = self._reach.snapshot()
        if query is None and self._cached is not None and self._cached[0] is snapshot:
            return self._cached[1]
        summaries = [summary for summary in self.skills() if summary.model_invocable]
        pinned = self._pinned
        if query is not None and self._budget is not None:
            pinned += tuple(m.summary.name for m in self._searcher.search(query, summaries, k=len(summaries)))
        catalog = self._renderer.catalog(summaries, self._budget, pinned=pinned)
        if query is None:
            self._cached = (snapshot, catalog)
        return catalog

    def listing(self) -> Catalog:
        """Return the catalog for a tool result, cut to what one may hold (S3-64)."""
        catalog = self.catalog()
        room = TokenBudget(self._renderer.max_output, lambda text: len(text.encode("utf-8", "replace")))
        if room.count(catalog.text) <= room.tokens:
            return catalog
        summaries = [summary for summary in self.skills() if summary.model_invocable]
        return self._renderer.catalog(summaries, room, pinned=self._pinned)

    def prompt(self, base: str = "", *, query: str | None = None) -> str:
        """Return a system prompt with the skills section: at ``{skills}`` if ``base`` has it, else at its end.

        Args:
            base: The agent's own prompt; unchanged when there are no skills (S2-50, SPEC-089).
            query: As for :meth:`catalog`.
        """
        catalog = self.catalog(query)
        return fill_slot(base, self._renderer.prompt(catalog) if catalog.text else "")

    def search(self, query: str, *, k: int = 5) -> tuple[Match, ...]:
        """Return the skills that fit a query best, best first.

        Args:
            query: Words, in any language.
            k: At most so many.
        """
        matches = self._searcher.search(query, [s for s in self.skills() if s.model_invocable], k=k)
        self._emit(SkillsSearched(query, tuple(match.summary.name for match in matches)))
        return matches

    # --- level 2 --------------------------------------------------------------------------------------------------

    def activate(self, name: str, *, arguments: str | None = None) -> Activation:
        """Read a skill afresh and return its text for the model.

        Args:
            name: A name of :meth:`skills`, in any case.
            arguments: What the user gave with it; see :meth:`~skillbelt.render.Renderer.content`.

        Raises:
            SkillNotFoundError: There is none, or not any more; close matches in the message.
            InvalidSkillError: It cannot be used; the message says why.
        """
        with self._failures(name):
            skill = self._reach.load(name)
            resources = tuple(self._reach.source.resources(skill.name))
            text, truncated = self._renderer.content(
                skill,
                resources,
                arguments=arguments,
                on_disk=os.path.isabs(skill.location or ""),  # noqa: PTH117
            )
        self._emit(SkillActivated(skill.name, skill.digest, len(text), truncated))
        return Activation(skill=skill, text=text, resources=resources, truncated=truncated)

    # --- level 3 --------------------------------------------------------------------------------------------------

    def resources(self, name: str) -> tuple[ResourceInfo, ...]:
        """Return the bundled files of a skill, sorted by path.

        Args:
            name: The skill.
        """
        with self._failures(name):
            return tuple(self._reach.source.resources(self._reach.resolve(name)))

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        r"""Return bytes of a bundled file.

        Args:
            name: The skill.
            path: Relative to its folder; ``./a.md`` and ``references\a.md`` are understood.
            offset: First byte.
            max_bytes: Most bytes to return.

        Raises:
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: There is no such file; the message says which there are.
            ResourceTypeError: It is not a regular file.
            SkillNotFoundError: There is no such skill.
        """
        with self._failures(name, path):
            own = self._reach.resolve(name)
            try:
                resource = self._reach.source.read(own, portable(path), offset=offset, max_bytes=max_bytes)
            except (ResourceNotFoundError, ResourcePathError) as error:
                paths = [info.path for info in self._reach.source.resources(own)]
                raise type(error)(f"{error} {did_you_mean(str(path), paths, what='files')}") from error
        self._emit(ResourceRead(own, resource.info.path, offset, len(resource.data), resource.total))
        return resource

    def page(self, name: str, path: str, *, offset: int = 0) -> tuple[Resource, str]:
        """Return one page of a text file, and it as text for the model, marked when more follows.

        Args:
            name: The skill.
            path: As for :meth:`read`.
            offset: First byte.

        Raises:
            ResourceTypeError: It is binary.
        """
        resource = self.read(name, path, offset=offset, max_bytes=self._renderer.page_bytes)
        with self._failures(name, path):
            return resource, self._renderer.resource(self._reach.resolve(name), resource)

    # --- housekeeping ---------------------------------------------------------------------------------------------

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return everything worth saying about the skills; of a view, about its own skills only."""
        self._reach.snapshot()
        found = tuple(self._reach.source.diagnostics())
        if self._reach.view is None:
            return found
        mine = {summary.location for summary in self.skills()} - {None}
        return tuple(diagnostic for diagnostic in found if diagnostic.path in mine)

    def reload(self) -> ReloadDiff:
        """Look at the source again, also for all views of this router, and return what changed."""
        before = self._reach.snapshot()
        after = self._reach.shelf.refresh(self._on_event)
        diff = difference(before, after, self._reach.keeps)
        self._emit(SkillsReloaded(diff))
        return diff

    def view(
        self, *, include: Names = None, exclude: Names = None, where: Callable[[SkillSummary], bool] | None = None
    ) -> SkillRouter:
        """Return a router over some of the skills: per user, per agent, per subagent.

        What a view leaves out cannot be listed, found, activated or read through it.

        Args:
            include: Name patterns (``"mail-*"``); ``None`` is all, ``[]`` is none.
            exclude: Name patterns taken away again.
            where: Judges the summaries that are left.
        """
        return self._with(narrowed(self._reach.view, include, exclude, where))

    def for_model(self) -> SkillRouter:
        """Return the view that tools for a model use: without skills their authors keep from the model."""
        outer = self._reach.view
        keep = outer.keep if outer else (lambda _: True)
        named = outer.named if outer else (lambda _: True)
        return self._with(View(lambda s: s.model_invocable and keep(s), named, outer is not None and outer.blind))

    def __len__(self) -> int:
        return len(self.skills())

    def __iter__(self) -> Iterator[SkillSummary]:
        return iter(self.skills())

    def __contains__(self, name: object) -> bool:
        summary = self._reach.snapshot().by_key.get(name_key(name)) if isinstance(name, str) else None
        return summary is not None and self._reach.keeps(summary)

    def __bool__(self) -> bool:
        return True  # a router without skills is still a router

    def __repr__(self) -> str:
        return f"SkillRouter({self._reach.source!r})"

    def _repr_html_(self) -> str:
        from skillbelt.display import skills_html  # the upper waist: only a notebook needs it

        return skills_html(self.skills(), self.diagnostics())

    # --- inside ---------------------------------------------------------------------------------------------------

    def _with(self, view: View) -> SkillRouter:
        router = SkillRouter(
            self._reach.source,
            budget=self._budget,
            searcher=self._searcher,
            pinned=self._pinned,
            renderer=self._renderer,
            on_event=self._on_event,
        )
        router._reach = replace(self._reach, view=view)
        return router

    @contextmanager
    def _failures(self, name: str, path: str | None = None) -> Iterator[None]:
        """Tell the listener of a refusal on its way to the caller."""
        try:
            yield
        except (SkillNotFoundError, InvalidSkillError, ResourceError) as error:
            self._emit(SkillFailed(str(name), path, error, getattr(error, "diagnostics", ())))
            raise

    def _emit(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)
