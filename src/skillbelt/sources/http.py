"""Skills that a site publishes under ``/.well-known``, fetched when they are asked for and never before.

Listing costs the index, one request, or a conditional one when it is known already. A skill is fetched when it is
first looked up, loaded or read from; what the index has a digest for is verified before anything looks at it and then
kept in memory. A skill goes by the name the index gives it; of everything else its own frontmatter counts, and a
difference between the two is reported. Which addresses may be asked, and for how long, is decided in
:mod:`skillbelt.sources.fetch`. Nothing is written to disk, and nothing is run (SPEC-121 to SPEC-129).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillbelt.errors import InvalidSkillError, SkillNotFoundError, SourceError, did_you_mean
from skillbelt.limits import MIB, Limits, check_bytes
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.parsing import LENIENT, SKILL_FILE, Profile, Report, invalid_skill, name_key
from skillbelt.sources.base import Bundle, Problems, Versions
from skillbelt.sources.fetch import Deadline, Fetched, Fetcher, HttpLimits
from skillbelt.sources.paths import shown, split_path
from skillbelt.sources.published import GONE, Artifact, Published, answered, at_root
from skillbelt.sources.tree_source import TreeSource
from skillbelt.sources.urls import public_url
from skillbelt.sources.well_known import IndexEntry, SkillIndex, index_urls, read_index

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["HttpSource", "http_source"]


def http_source(
    url: str,
    *,
    profile: Profile = LENIENT,
    limits: Limits | None = None,
    http_limits: HttpLimits | None = None,
    allow_private: bool = False,
    allow_http: bool = False,
    hosts: Collection[str] | None = None,
    headers: Mapping[str, str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
    transport: httpx.BaseTransport | None = None,
) -> HttpSource:
    """Return the skills that a site publishes.

    Args:
        url: The site, a folder of it that has a ``.well-known`` of its own, or the index itself (``….json``).
        profile: How strictly SKILL.md files, and the names of the index, are read.
        limits: Bounds of every read.
        http_limits: Bounds of time, bytes and requests.
        allow_private: Also fetch from addresses that are not public, such as loopback.
        allow_http: Also without TLS. Loopback needs only ``allow_private``.
        hosts: The only hosts that are asked, also after a redirect; ``None`` for all (SPEC-129).
        headers: Sent to the origin of ``url`` only, e.g. ``{"Authorization": …}``. Never shown in messages.
        ssl_context: Whom to trust instead of the public authorities. The environment is not asked.
        transport: Carries requests instead of the network; what names resolve to is then its business.

    Returns:
        A source. Nothing is fetched before it is used.

    Raises:
        MissingExtraError: httpx is not installed.
        SourceError: The URL may not be asked.

    Example:
        >>> http_source("https://example.com")
        HttpSource('https://example.com')
    """
    fetcher = Fetcher(
        limits=http_limits,
        allow_private=allow_private,
        allow_http=allow_http,
        hosts=hosts,
        headers=headers,
        origin=url,
        ssl_context=ssl_context,
        transport=transport,
    )
    fetcher.check(url)
    return HttpSource(url, fetcher, profile=profile, limits=limits)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A skill that was fetched: a source of it alone, its own name there, as it is known, and what differs."""

    entry: IndexEntry
    source: TreeSource
    own: str
    skill: Skill
    found: tuple[Diagnostic, ...]


class HttpSource:
    """Serves what an index of skills leads to: implements :class:`~skillbelt.sources.base.ResourceSource`.

    The index is asked for again by :meth:`list`, and by the other methods when it is no longer fresh. Threads may
    share a source; no lock is held while the network is asked.

    Args:
        url: As for :func:`http_source`.
        fetcher: Gets bytes under its policy.
        profile: As for :func:`http_source`.
        limits: As for :func:`http_source`.
    """

    def __init__(self, url: str, fetcher: Fetcher, *, profile: Profile = LENIENT, limits: Limits | None = None) -> None:
        self.profile = profile
        self.limits = limits or Limits()
        self.label = public_url(url)
        self._fetcher = fetcher
        self._published = Published(fetcher, self.profile, self.limits)
        self._candidates = index_urls(url)
        self._home: str | None = None
        self._parsed: tuple[Fetched, SkillIndex] | None = None
        self._notes: dict[str, tuple[Diagnostic, ...]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    # --- level 1 ----------------------------------------------------------------------------------------------------

    def list(self) -> tuple[SkillSummary, ...]:
        """Return every usable entry of the index, sorted by name, as it is now.

        Raises:
            SourceError: There is no index, it cannot be read, or it may not be asked.
            LimitError: Under STRICT, it has more entries than ``limits.entries``.
        """
        index = self._index(self._fetcher.deadline(), again=True)
        return tuple(entry.summary for entry in index.entries.values())

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 of one skill, by its own verified frontmatter.

        Raises:
            SkillNotFoundError: The index has none of that name.
            InvalidSkillError: It has, and it cannot be used.
            SourceError: It cannot be fetched.
        """
        return self.load(name).summary()

    # --- levels 2 and 3 ---------------------------------------------------------------------------------------------

    def load(self, name: str) -> Skill:
        """Return one skill.

        Args:
            name: As :meth:`list` gives it, in any case and Unicode form.

        Raises:
            SkillNotFoundError: The index has none of that name.
            InvalidSkillError: It has, and it cannot be used: ``digest-mismatch`` when its content is not that of the
                index.
            SourceError: It cannot be fetched.
        """
        return self._opened(name).skill

    def bundle(self, name: str) -> Bundle:
        """Return one skill with the list of its files. In v0.1.0 a change of a file alone makes no other generation.

        Raises:
            SkillNotFoundError: The index has none of that name.
            InvalidSkillError: It has, and it cannot be used.
            SourceError: It cannot be fetched.
        """
        opened = self._opened(name)
        infos = opened.source.resources(opened.own)
        self._note(opened.entry, (*opened.source.diagnostics(), *opened.found))
        return Bundle(opened.skill, infos, opened.entry.generation(opened.skill.digest))

    def resources(self, name: str) -> tuple[ResourceInfo, ...]:
        """Return the bundled files of a skill. In v0.1.0 sizes are not told: they are 0 until a file was read.

        Raises:
            SkillError: As :meth:`bundle`.
        """
        return tuple(self.bundle(name).resources)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return at most ``max_bytes`` bytes of one bundled file.

        Raises:
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: The skill has no such file.
            LimitError: ``offset`` or ``max_bytes`` is not a usable number.
            SkillNotFoundError: The index has no such skill.
            InvalidSkillError: It has, and it cannot be used.
            SourceError: It cannot be fetched.
        """
        split_path(path)  # before anything is fetched (S3-57)
        check_bytes("max_bytes", max_bytes)
        opened = self._opened(name)
        return opened.source.read(opened.own, path, offset=offset, max_bytes=max_bytes)

    # --- what is wrong ----------------------------------------------------------------------------------------------

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what the index, and the skills fetched since, gave reason to say."""
        found = self._known().diagnostics
        with self._lock:
            return (*found, *(d for key in sorted(self._notes) for d in self._notes[key]))

    def problems(self) -> Problems:
        """Return the names of the index that cannot be used, with everything wrong about each."""
        return self._known().broken

    def versions(self) -> Versions:
        """Return for each usable name what changes with its content; in v0.1.0 only with the index or a fetch."""
        return {key: self._published.version(entry) for key, entry in self._known().entries.items()}

    # --- the index --------------------------------------------------------------------------------------------------

    def _known(self) -> SkillIndex:
        return self._parsed[1] if self._parsed is not None else self._index(self._fetcher.deadline(), again=True)

    def _index(self, deadline: Deadline, *, again: bool) -> SkillIndex:
        """Return the index; a site without the newer one is asked for the older one."""
        # When the server must be asked anyway, it is asked for the newer one first: it may have been put there since.
        candidates = self._candidates if again else sorted(self._candidates, key=lambda url: url != self._home)
        problem: SourceError | None = None
        for url in candidates:
            fetched = self._published.cached.get(
                url, max_bytes=self._fetcher.limits.index_bytes, deadline=deadline, again=again
            )
            if fetched.status in GONE:
                continue
            if fetched.status != 200:
                raise answered(url, fetched)
            try:
                index = self._read_index(fetched)
            except SourceError as error:  # many sites answer every address with a page
                problem = problem or error
                continue
            self._home = url
            return index
        names = " nor ".join(repr(public_url(url)) for url in self._candidates)
        raise problem or SourceError(f"{self.label!r} publishes no skills: there is no {names}.")

    def _read_index(self, fetched: Fetched) -> SkillIndex:
        parsed = self._parsed
        if parsed is not None and parsed[0].body is fetched.body and parsed[0].url == fetched.url:
            return parsed[1]
        index = read_index(fetched.body, url=fetched.url, label=self.label, profile=self.profile, limits=self.limits)
        with self._lock:
            self._parsed = (fetched, index)
            self._notes = {key: found for key, found in self._notes.items() if key in index.entries}
        return index

    def _entry(self, index: SkillIndex, name: str) -> IndexEntry:
        key = _key(name)
        if key in index.entries:
            return index.entries[key]
        if key in index.broken:
            raise invalid_skill(f"Skill {shown(name)}", index.broken[key])
        known = [entry.summary.name for entry in index.entries.values()]
        raise SkillNotFoundError(f"There is no skill {shown(name)}. {did_you_mean(name, known)}")

    # --- one skill --------------------------------------------------------------------------------------------------

    def _opened(self, name: str) -> _Opened:
        """Fetch and verify a skill."""
        deadline = self._fetcher.deadline()
        key = _key(name)
        entry = self._entry(self._index(deadline, again=False), name)
        try:
            tree = self._published.tree(entry, deadline)
        except InvalidSkillError as error:
            self._note(entry, error.diagnostics)
            # The content may be newer than the index that is kept: then the index of now has another digest.
            renewed = self._index(deadline, again=True).entries.get(key) if entry.digest else None
            if renewed is None or renewed.digest == entry.digest:
                raise
            entry = renewed
            tree = self._published.tree(entry, deadline)
        return self._judged(entry, tree)

    def _judged(self, entry: IndexEntry, tree: Artifact) -> _Opened:
        report = Report(self.profile, entry.summary.location)
        try:
            source, summaries = self._published.listed(entry, tree)
        except SourceError as error:  # an archive that is refused as a whole
            found = getattr(error, "diagnostics", ())
            report.add("skill-file-type", str(error), fatal=not found)
            raise self._invalid(entry, found or report.found) from None
        if len(summaries) != 1:
            if summaries:
                report.add("skill-file-type", f"It holds {len(summaries)} skills; it must be one.", fatal=True)
            raise self._invalid(entry, (*report.found, *source.diagnostics()))
        skill = source.load(summaries[0].name)
        if not at_root(tree):
            hint = f"Pack {SKILL_FILE} at the top, without a folder around it."
            report.add("archive-layout", f"{SKILL_FILE} is not at the root of the archive.", hint=hint)
        self._compare(entry.summary, skill, report)
        found = (*source.diagnostics(), *report.found)
        self._note(entry, found)
        if report.has("error"):
            raise self._invalid(entry, found)
        return _Opened(entry, source, skill.name, self._named(entry.summary, skill), tuple(report.found))

    def _compare(self, summary: SkillSummary, skill: Skill, report: Report) -> None:
        for field, told, own in (
            ("name", summary.name, skill.name),
            ("description", summary.description, skill.description),
        ):
            if told.split() != own.split():  # folding changes white space, not what is said
                report.add(
                    "index-mismatch",
                    f"The index gives the {field} {shown(told)}, the skill itself {shown(own)}.",
                    field=field,
                    hint="Ask the publisher to make the index anew.",
                )

    def _named(self, summary: SkillSummary, skill: Skill) -> Skill:
        """Return the skill under the name it is known by: the catalog, later calls and merges go by that."""
        changed: dict[str, object] = {"location": summary.location, "source": self.label}
        if skill.name != summary.name:
            short = summary.name.rpartition("/")[2]
            changed["frontmatter"] = skill.frontmatter.model_copy(update={"name": short})
            changed["namespace"] = summary.namespace
        return skill.model_copy(update=changed)

    def _invalid(self, entry: IndexEntry, found: Iterable[Diagnostic]) -> InvalidSkillError:
        error = invalid_skill(f"Skill {shown(entry.summary.name)}", tuple(_placed(found, entry)))
        self._note(entry, error.diagnostics)
        return error

    def _note(self, entry: IndexEntry, found: Iterable[Diagnostic]) -> None:
        with self._lock:
            self._notes[name_key(entry.summary.name)] = tuple(_placed(found, entry))


def _placed(found: Iterable[Diagnostic], entry: IndexEntry) -> Iterator[Diagnostic]:
    """Say of each diagnostic which artifact it speaks of; its path in that is in the message."""
    return (diagnostic.model_copy(update={"path": entry.summary.location}) for diagnostic in found)


def _key(name: object) -> str:
    """Validate a name before anything is asked (S3-27)."""
    if not isinstance(name, str) or not name.strip():
        raise SkillNotFoundError("A skill name must not be empty; give one of the names in the catalog.")
    return name_key(name)
