"""One snapshot of level 1, shared by a router and its views, and what a view lets through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from skillbelt.errors import InvalidSkillError, SkillNotFoundError, did_you_mean
from skillbelt.events import EventHandler, SkillShadowed, SkillSkipped, SkillsListed
from skillbelt.models import ReloadDiff, SkillSummary
from skillbelt.parsing import name_key
from skillbelt.sources import ResourceSource
from skillbelt.sources.base import Bundle
from skillbelt.sources.paths import asked, shown
from skillbelt.sources.sound import bundle_of, versions_of

__all__ = ["Names", "Reach", "Shelf", "Snapshot", "View", "difference", "narrowed"]

Names = str | Iterable[str] | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Level 1 at one moment."""

    summaries: tuple[SkillSummary, ...]
    by_key: Mapping[str, SkillSummary]
    versions: Mapping[str, str]


@dataclass(slots=True)
class Shelf:
    """A source and its snapshot, shared by a router and its views."""

    source: ResourceSource
    snapshot: Snapshot | None = None

    def current(self, emit: EventHandler | None) -> Snapshot:
        """Return the snapshot, taken now if there is none yet."""
        return self.snapshot or self.refresh(emit)

    def refresh(self, emit: EventHandler | None) -> Snapshot:
        """Take a new snapshot and tell the listener what was listed and what was left out."""
        summaries = tuple(self.source.list())
        snapshot = Snapshot(
            summaries,
            {name_key(summary.name): summary for summary in summaries},
            versions_of(self.source),
        )
        self.snapshot = snapshot
        if emit is not None:
            emit(SkillsListed(tuple(summary.name for summary in summaries)))
            for diagnostic in self.source.diagnostics():
                if diagnostic.code == "duplicate-name":
                    emit(SkillShadowed(diagnostic.path, diagnostic))
                elif diagnostic.severity == "error":
                    emit(SkillSkipped(diagnostic.path, diagnostic))
        return snapshot


@dataclass(frozen=True, slots=True)
class View:
    """Which skills a router shows and serves; ``blind`` views do not speak of broken ones either."""

    keep: Callable[[SkillSummary], bool]
    named: Callable[[str], bool]
    blind: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """What one router can reach: the shelf, seen through its view. Every door goes through here.

    Attributes:
        shelf: Shared with the routers it came from.
        emit: Hears of listings.
        view: ``None`` admits everything.
    """

    shelf: Shelf
    emit: EventHandler | None
    view: View | None = None

    @property
    def source(self) -> ResourceSource:
        """Where the skills come from."""
        return self.shelf.source

    def snapshot(self) -> Snapshot:
        """Return level 1 as it was last taken."""
        return self.shelf.current(self.emit)

    def keeps(self, summary: SkillSummary) -> bool:
        """Whether a skill is admitted."""
        return self.view is None or self.view.keep(summary)

    def summaries(self) -> tuple[SkillSummary, ...]:
        """Return the admitted skills, sorted by name."""
        summaries = self.snapshot().summaries
        return summaries if self.view is None else tuple(filter(self.view.keep, summaries))

    def resolve(self, name: str) -> str:
        """Return the name to ask the source for; skills that came since the snapshot are found too.

        Raises:
            SkillNotFoundError: There is none, or none that is admitted.
            InvalidSkillError: It is broken, and the view may speak of it.
        """
        if not isinstance(name, str) or not name.strip():
            raise SkillNotFoundError(f"A skill name must not be empty. {self._known('')}")
        key = name_key(name)
        summary = self.snapshot().by_key.get(key)
        if summary is None:
            try:
                summary = self.source.lookup(name)
            except InvalidSkillError:
                if self.view is None or (self.view.named(key) and not self.view.blind):
                    raise
            except SkillNotFoundError:
                pass
        if summary is None or not self.keeps(summary):
            raise SkillNotFoundError(f"There is no skill {asked(name)}. {self._known(name)}")
        return name if "@" in name and name_key(summary.name) != key else summary.name

    def bundle(self, name: str) -> Bundle:
        """Return a skill and its files, read afresh and judged again: it may not be admitted any more.

        Raises:
            SkillNotFoundError: There is none, or not any more.
            InvalidSkillError: It is broken.
        """
        own = self.resolve(name)
        try:
            bundle = bundle_of(self.source, own)
        except SkillNotFoundError:
            raise self._gone(own) from None
        if self.view is not None and not self.view.keep(bundle.skill.summary()):
            raise self._gone(own)
        return bundle

    def _gone(self, name: str) -> SkillNotFoundError:
        return SkillNotFoundError(f"The skill {shown(name)} is no longer available. {self._known(name)}")

    def _known(self, name: str) -> str:
        return did_you_mean(name, [summary.name for summary in self.summaries() if summary.name != name])


def difference(before: Snapshot, after: Snapshot, keeps: Callable[[SkillSummary], bool]) -> ReloadDiff:
    """Return what changed between two snapshots, among the skills that ``keeps`` admits."""
    old = {key: summary for key, summary in before.by_key.items() if keeps(summary)}
    new = {key: summary for key, summary in after.by_key.items() if keeps(summary)}
    changed = (
        key
        for key in new.keys() & old.keys()
        if new[key] != old[key] or before.versions.get(key) != after.versions.get(key)
    )
    return ReloadDiff(
        added=tuple(sorted(new[key].name for key in new.keys() - old.keys())),
        removed=tuple(sorted(old[key].name for key in old.keys() - new.keys())),
        changed=tuple(sorted(new[key].name for key in changed)),
    )


def narrowed(outer: View | None, include: Names, exclude: Names, where: Callable[[SkillSummary], bool] | None) -> View:
    """Return the view that shows what ``outer`` shows and the patterns and ``where`` admit."""
    wanted, unwanted = _patterns(include, ["*"]), _patterns(exclude, [])

    def named(key: str) -> bool:
        inside = outer is None or outer.named(key)
        return inside and _matches(key, wanted) and not _matches(key, unwanted)

    def keep(summary: SkillSummary) -> bool:
        inside = outer is None or outer.keep(summary)
        return inside and named(name_key(summary.name)) and (where is None or where(summary))

    return View(keep, named, where is not None or (outer is not None and outer.blind))


def _patterns(names: Names, default: list[str]) -> list[str]:
    if names is None:
        return default
    return [name_key(name) for name in ([names] if isinstance(names, str) else names)]


def _matches(key: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)
