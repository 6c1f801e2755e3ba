"""One snapshot of level 1, shared by a router and its views, and what a view lets through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from skillbelt.events import EventHandler, SkillShadowed, SkillSkipped, SkillsListed
from skillbelt.models import Diagnostic, ReloadDiff, SkillSummary
from skillbelt.parsing import name_key
from skillbelt.sources import ResourceSource
from skillbelt.sources.sound import problems_of, versions_of

__all__ = ["Names", "Shelf", "Snapshot", "View", "difference", "narrowed"]

Names = str | Iterable[str] | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Level 1 at one moment."""

    summaries: tuple[SkillSummary, ...]
    by_key: Mapping[str, SkillSummary]
    problems: Mapping[str, tuple[Diagnostic, ...]]
    versions: Mapping[str, str]


@dataclass(slots=True)
class Shelf:
    """A source and its snapshot, shared by a router and its views."""

    source: ResourceSource
    lock: threading.Lock = field(default_factory=threading.Lock)
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
            problems_of(self.source),
            versions_of(self.source),
        )
        with self.lock:
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
