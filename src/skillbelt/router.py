"""SkillRouter: the façade that joins a source, a renderer and a searcher.

A router is stateless towards conversations and may be shared by threads: it keeps one snapshot of level 1, replaced
as a whole by :meth:`SkillRouter.reload`, so that the catalog's bytes stay the same over turns (the provider's prompt
cache holds) while instructions and files are read afresh at every call. It executes nothing without a runner.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillbelt.compose import merge
from skillbelt.desk import Desk
from skillbelt.errors import (
    InvalidSkillError,
    SkillError,
)
from skillbelt.events import (
    EventHandler,
    SkillsReloaded,
)
from skillbelt.levels import Levels
from skillbelt.limits import Limits
from skillbelt.models import (
    Diagnostic,
    ReloadDiff,
    ScriptResult,
    SkillSummary,
)
from skillbelt.parsing import LENIENT, Profile, name_key
from skillbelt.render import Renderer, TokenBudget
from skillbelt.search import Searcher
from skillbelt.shelf import Names, Reach, Shelf, View, difference, narrowed
from skillbelt.sources import DirectorySource, ResourceSource
from skillbelt.sources.sound import sound

if TYPE_CHECKING:
    from skillbelt.packages.cache import RegistryCache
    from skillbelt.packages.registries import Registry
    from skillbelt.running import Scripts
    from skillbelt.scripts import Cancel, ScriptPolicy, ScriptRunner, Secrets, Workspace
    from skillbelt.scripts.preflight import Preflight

__all__ = ["SkillRouter"]


class SkillRouter(Levels):
    r"""Level 1 into the prompt, level 2 and 3 on request.

    Args:
        source: Where skills come from; several are joined with :func:`skillbelt.merge`.
        budget: Bound of the catalog; ``None`` shows every skill in full.
        searcher: Ranks skills for a query; by default lexical, without dependencies.
        pinned: Names that stay in a catalog cut by its budget.
        renderer: Wording and bounds of what the model is given.
        runner: Runs the scripts of these skills; ``None`` leaves them text.
        policy: Which scripts may run; ``None``, with a runner, lets all of them.
        secrets: Variables that skills are granted for their scripts.
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
        runner: ScriptRunner | None = None,
        policy: ScriptPolicy | None = None,
        secrets: Secrets | None = None,
        on_event: EventHandler | None = None,
    ) -> None:
        super().__init__(
            Reach(Shelf(sound(source, "SkillRouter")), on_event),
            budget=budget,
            searcher=searcher,
            pinned=pinned,
            renderer=renderer,
            on_event=on_event,
        )
        self._scripts: Scripts | None = None
        if runner is not None:
            from skillbelt.running import scripts_with  # only a host that runs scripts needs it

            self._scripts = scripts_with(runner, policy, secrets)

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

    @classmethod
    def from_references(
        cls,
        *references: str,
        registry: Registry = None,
        cache: RegistryCache | None = None,
        base: str | os.PathLike[str] = ".",
        **options: Any,
    ) -> SkillRouter:
        """Make a router over packages; every reference is resolved and fetched now (S2-39).

        Args:
            *references: Such as ``"hub.example.com:acme/pdf@v1.x"``; of two skills with one name the first wins.
            registry: Where to look: a client or URL for the default registry, several by host, or
                :class:`~skillbelt.packages.Registries`.
            cache: What was fetched before.
            base: Folder that ``local:`` paths are relative to.
            **options: As for the constructor.

        Raises:
            RegistryError: A reference failed; all that did are in ``details["failures"]``.
            MissingExtraError: A package that registries need is not installed.
        """
        from skillbelt.packages.registry_source import RegistrySource  # and with it hashing, caching, HTTP

        source = RegistrySource(references, registry=registry, cache=cache, base=base)
        router = cls(source, **options)
        for loaded in source.packages:
            router._emit(loaded.event())
        return router

    # --- scripts --------------------------------------------------------------------------------------------------

    def run(
        self,
        name: str,
        path: str,
        args: Sequence[str] = (),
        *,
        stdin: str | bytes | None = None,
        cancel: Cancel | None = None,
        files: Mapping[str, bytes] | None = None,
        workspace: Workspace | None = None,
    ) -> ScriptResult:
        """Run a script of a skill with the runner this router was given (S2-46, S2-47).

        Args:
            name: The skill; it is read afresh and must be usable.
            path: The script, relative to the skill's folder.
            args: Its arguments, exactly as it gets them; no shell reads them.
            stdin: Its standard input; empty when there is none.
            cancel: Such as a :class:`threading.Event`; once it is set the run ends.
            files: Files to put into its working folder first, by path.
            workspace: A working folder that outlives the run; without it, each run has a fresh one.

        Raises:
            ScriptNotAllowedError: There is no runner, or the policy or a person says no.
            ScriptError: It could not be started.
            ResourceError: The skill has no such script, or the path may not be used.
            SkillNotFoundError: There is no such skill.
        """
        from skillbelt.running import RunOptions, run

        with self._failures(name, path):
            return run(self._scripts, self._reach, name, path, args, RunOptions(stdin, cancel, files or {}, workspace))

    def preflight(self, name: str) -> Preflight:
        """Return what a skill's scripts need and this machine lacks; nothing is run.

        Args:
            name: The skill.
        """
        from skillbelt.running import check

        with self._failures(name):
            return check(self._scripts, self._reach, name)

    @property
    def runs_scripts(self) -> bool:
        """Whether a runner was given; without one, scripts are text."""
        return self._scripts is not None

    def _more_tools(self) -> tuple[str, ...]:
        return ("run_skill_script",) if self.runs_scripts else ()

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

    def quiet(self, *, max_output: int | None = None) -> SkillRouter:
        """Return this router without its listener, for a host that reads a skill again on its own account.

        Args:
            max_output: Most bytes of a text, when it is to be less than the renderer allows.
        """
        router = copy(self)
        router._on_event = None
        if max_output is not None:
            router._renderer = replace(self._renderer, max_output=max_output)
        return router

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
        router._desk = Desk(replace(self._reach, view=view))
        router._scripts = self._scripts
        return router
