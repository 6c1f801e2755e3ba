"""The three levels of what a router can reach: catalog, instructions, files, each told to a listener.

Stateless towards conversations, and shared by threads: one snapshot of level 1 is kept, so that the catalog's bytes
stay the same over turns, while instructions and files are read afresh at every call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from skillbelt.desk import Desk
from skillbelt.errors import InvalidSkillError, ResourceError, ScriptError, SkillNotFoundError
from skillbelt.events import Event, EventHandler, ResourceRead, SkillActivated, SkillFailed, SkillsSearched
from skillbelt.limits import MIB
from skillbelt.models import Activation, Catalog, Match, Resource, ResourceInfo, SkillSummary
from skillbelt.render import Renderer, TokenBudget
from skillbelt.search import LexicalSearcher, Searcher
from skillbelt.shelf import Reach, Snapshot
from skillbelt.text import fill_slot

__all__ = ["Levels"]


class Levels:
    """Level 1 into the prompt, level 2 and 3 on request.

    Args:
        reach: What can be reached.
        budget: Bound of the catalog; ``None`` shows every skill in full.
        searcher: Ranks skills for a query.
        pinned: Names that stay in a catalog cut by its budget.
        renderer: Wording and bounds of what a model is given.
        on_event: Called with each :data:`~skillbelt.events.Event`.
    """

    def __init__(
        self,
        reach: Reach,
        *,
        budget: TokenBudget | None,
        searcher: Searcher | None,
        pinned: Sequence[str],
        renderer: Renderer | None,
        on_event: EventHandler | None,
    ) -> None:
        self._desk = Desk(reach)
        self._budget = budget
        self._searcher = searcher or LexicalSearcher()
        self._pinned = tuple(pinned)
        self._renderer = renderer or Renderer()
        self._renderer.check(budget)
        self._on_event = on_event
        self._cached: tuple[Snapshot, Catalog] | None = None

    @property
    def renderer(self) -> Renderer:
        """Wording and bounds of what a model is given."""
        return self._renderer

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
        return fill_slot(base, self._renderer.prompt(catalog, tools=self._more_tools()) if catalog.text else "")

    def _more_tools(self) -> tuple[str, ...]:
        """Return the names of tools beyond the usual ones, for the words of the prompt."""
        return ()

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
            activation = self._desk.activation(name, arguments, self._renderer)
        skill = activation.skill
        self._emit(SkillActivated(skill.name, skill.digest, len(activation.text), activation.truncated))
        return activation

    def digest(self, name: str) -> str:
        """Return the sha256 of a skill's SKILL.md as it is now: another one than when it was loaded, and it changed.

        Args:
            name: The skill.
        """
        with self._failures(name):
            return self._desk.reach.bundle(name).skill.digest

    # --- level 3 --------------------------------------------------------------------------------------------------

    def resources(self, name: str) -> tuple[ResourceInfo, ...]:
        """Return the bundled files of a skill, sorted by path.

        Args:
            name: The skill.
        """
        with self._failures(name):
            return tuple(self._reach.source.resources(self._reach.resolve(name)))

    def read(
        self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB, generation: str | None = None
    ) -> Resource:
        r"""Return bytes of a bundled file.

        Args:
            name: The skill.
            path: Relative to its folder; ``./a.md`` and ``references\a.md`` are understood.
            offset: First byte.
            max_bytes: Most bytes to return.
            generation: ``Activation.generation``, to have the file as it was when the skill was activated.

        Raises:
            ResourceChangedError: The skill is of another generation now.
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: There is no such file; the message says which there are.
            ResourceTypeError: It is not a regular file.
            SkillNotFoundError: There is no such skill.
        """
        with self._failures(name, path):
            own, resource = self._desk.resource(name, path, offset, max_bytes, generation)
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

    # --- inside ---------------------------------------------------------------------------------------------------

    @property
    def _reach(self) -> Reach:
        return self._desk.reach

    @contextmanager
    def _failures(self, name: str, path: str | None = None) -> Iterator[None]:
        """Tell the listener of a refusal on its way to the caller."""
        try:
            yield
        except (SkillNotFoundError, InvalidSkillError, ResourceError, ScriptError) as error:
            self._emit(SkillFailed(str(name), path, error, getattr(error, "diagnostics", ())))
            raise

    def _emit(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)
