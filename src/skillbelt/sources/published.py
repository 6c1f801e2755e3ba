"""From an entry of an index to a tree of bytes: fetched, bounded, verified, and only then opened (SPEC-125 to -127).

An artifact is kept in memory under its digest. What has none (v0.1.0) is asked for again when it is no longer fresh.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from copy import copy
from typing import NoReturn

from skillbelt.errors import ResourceNotFoundError, SourceError
from skillbelt.limits import Limits
from skillbelt.models import SkillSummary
from skillbelt.parsing import SKILL_FILE, Profile, Report, invalid_skill
from skillbelt.sources.archive import ArchiveTree
from skillbelt.sources.fetch import Deadline, Fetched, Fetcher, RefusedUrlError, ResponseTooLargeError
from skillbelt.sources.kept import CachedFetcher, may_be_kept
from skillbelt.sources.lru import Kept
from skillbelt.sources.mapping import MappingTree
from skillbelt.sources.paths import join, shown
from skillbelt.sources.tree import Chunk
from skillbelt.sources.tree_source import TreeSource
from skillbelt.sources.urls import public_url
from skillbelt.sources.well_known import IndexEntry

__all__ = ["GONE", "Artifact", "Published", "answered", "at_root"]

Artifact = ArchiveTree | MappingTree
"""The files of one skill, whichever way they were published."""

GONE = (404, 410)

_ARCHIVES = {
    "application/zip": "zip",
    "application/x-zip-compressed": "zip",
    "application/gzip": "tar.gz",
    "application/x-gzip": "tar.gz",
    "application/x-gtar": "tar.gz",
    "application/x-tar+gzip": "tar.gz",
    "application/tar+gzip": "tar.gz",
}
_EXTENSIONS = {".zip": "zip", ".tar.gz": "tar.gz", ".tgz": "tar.gz"}
_NAMELESS = frozenset({"name-missing", "name-type", "name-unsafe"})
_GZIP = b"\x1f\x8b"


class Published:
    """Opens what an index leads to.

    Args:
        fetcher: Gets bytes under its policy.
        profile: Gives diagnostics their severity.
        limits: ``skill_bytes`` bounds a SKILL.md.
    """

    def __init__(self, fetcher: Fetcher, profile: Profile, limits: Limits) -> None:
        self.cached = CachedFetcher(fetcher)
        self._fetcher = fetcher
        self._profile = profile
        self._limits = limits
        self._trees: Kept[Artifact] = Kept(fetcher.limits.cache_bytes)

    def tree(self, entry: IndexEntry, deadline: Deadline) -> Artifact:
        """Return the files of one skill.

        Raises:
            InvalidSkillError: They are not there, too large, not what the index says, or may not be asked for.
            SourceError: They cannot be fetched.
        """
        if entry.kind == "files":
            return self._files(entry, deadline)
        key = f"{entry.kind} {entry.digest}"
        tree = self._trees.get(key)
        if tree is None:
            archive = entry.kind == "archive"
            bound = self._fetcher.limits.archive_bytes if archive else self._limits.skill_bytes
            name = "HttpLimits.archive_bytes" if archive else "Limits.skill_bytes"
            fetched = self._fetched(entry, entry.url, bound, name, deadline, cached=False)
            self._verify(entry, entry.url, fetched, entry.digest)
            tree = self._archive(entry, fetched) if archive else MappingTree({SKILL_FILE: fetched.body})
            if may_be_kept(fetched.headers):
                self._trees.put(key, tree, len(fetched.body))
        return tree

    def version(self, entry: IndexEntry) -> str:
        """Return what changes with the content of a skill, as far as that is known without asking."""
        if entry.digest is not None:
            return entry.digest
        seen = self.cached.seen(entry.url_of(SKILL_FILE))
        told = repr((entry.summary, sorted(entry.files.items()), seen and seen.body))
        return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()

    def listed(self, entry: IndexEntry, tree: Artifact) -> tuple[TreeSource, tuple[SkillSummary, ...]]:
        """Return a source of the files of one skill, and what it lists.

        Raises:
            SourceError: It is an archive that is refused.
        """
        source = TreeSource(tree, profile=self._profile, limits=self._limits)
        summaries = source.list()
        if summaries or not {d.code for d in source.diagnostics()} & _NAMELESS:
            return source, summaries
        # LENIENT calls a skill without a usable name after its folder; here there is none, and the index names it.
        named = copy(tree)
        named.name = entry.summary.name
        source = TreeSource(named, profile=self._profile, limits=self._limits)
        return source, source.list()

    def _archive(self, entry: IndexEntry, fetched: Fetched) -> Artifact:
        """Open an archive as what its Content-Type says, else its name; where both are silent, as what it is."""
        told = _ARCHIVES.get(fetched.headers.get("content-type", "").partition(";")[0].strip().lower())
        for url in (fetched.url, entry.url):
            path = public_url(url).lower()
            told = told or next((kind for end, kind in _EXTENSIONS.items() if path.endswith(end)), None)
        if told == "zip" and fetched.body.startswith(_GZIP):
            self._fail(entry, "skill-file-type", f"{_shown(entry.url)} is called a zip archive and is none.")
        return ArchiveTree(fetched.body, kind="tar.gz" if told == "tar.gz" else None, label=public_url(entry.url))

    def _files(self, entry: IndexEntry, deadline: Deadline) -> Artifact:
        def get(path: str) -> bytes:
            url = entry.url_of(path)
            if path == SKILL_FILE:
                fetched = self._fetched(entry, url, self._limits.skill_bytes, "Limits.skill_bytes", deadline)
            else:
                bound = self._fetcher.limits.archive_bytes
                fetched = self.cached.get(url, max_bytes=bound, deadline=deadline)
                if fetched.status in GONE:
                    raise ResourceNotFoundError(f"{shown(path)} is in the index and not on the server.")
                if fetched.status != 200:
                    raise answered(url, fetched)
            self._verify(entry, url, fetched, entry.files[path])
            return fetched.body

        def size(path: str) -> int:
            seen = self.cached.seen(entry.url_of(path))
            return len(seen.body) if seen else 0

        return _FilesTree(entry, get(SKILL_FILE), get, size)

    def _fetched(
        self, entry: IndexEntry, url: str, bound: int, limit: str, deadline: Deadline, *, cached: bool = True
    ) -> Fetched:
        try:
            fetched = (self.cached if cached else self._fetcher).get(url, max_bytes=bound, deadline=deadline)
        except RefusedUrlError as error:
            self._fail(entry, "url-refused", str(error))
        except ResponseTooLargeError as error:
            self._fail(entry, "file-too-large", str(error), f"Publish less, or raise {limit}.")
        if fetched.status in GONE:
            self._fail(entry, "skill-file-missing", f"{_shown(url)} is in the index and not on the server.")
        if fetched.status != 200:
            raise answered(url, fetched)
        return fetched

    def _verify(self, entry: IndexEntry, url: str, fetched: Fetched, digest: str | None) -> None:
        if digest is not None and hashlib.sha256(fetched.body).hexdigest() != digest:
            self._fail(
                entry,
                "digest-mismatch",
                f"{_shown(url)} is not what the index has the digest of; it is not used.",
                "Ask the publisher to make the index anew.",
            )

    def _fail(self, entry: IndexEntry, code: str, message: str, hint: str | None = None) -> NoReturn:
        report = Report(self._profile, entry.summary.location)
        report.add(code, message, hint=hint, fatal=True)
        raise invalid_skill(f"Skill {shown(entry.summary.name)}", tuple(report.found))


class _FilesTree(MappingTree):
    """The files of a skill of v0.1.0: known by name, fetched one by one when they are read."""

    def __init__(
        self, entry: IndexEntry, skill_file: bytes, get: Callable[[str], bytes], size: Callable[[str], int]
    ) -> None:
        super().__init__(dict.fromkeys(entry.files, b"") | {SKILL_FILE: skill_file})
        self.name = entry.summary.name  # the folder of its address
        self._get = get
        self._size = size

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a file; ``size=0`` fetches nothing."""
        whole = join(folder, path)
        chunk = super().read(folder, path, offset=offset, size=size)
        if whole == SKILL_FILE:
            return chunk
        if not size:
            return Chunk(b"", self._size(whole))
        data = self._get(whole)
        return Chunk(data[offset : offset + size], len(data))


def at_root(tree: Artifact) -> bool:
    """Whether a tree has its SKILL.md at the top (SPEC-125)."""
    return any(entry.kind == "file" and entry.name.casefold() == SKILL_FILE.casefold() for entry in tree.entries(""))


def answered(url: str, fetched: Fetched) -> SourceError:
    """Return the error for a status that is not 200."""
    hint = " Credentials go into headers." if fetched.status in (401, 403, 407) else ""
    return SourceError(f"{_shown(url)} answered with the status {fetched.status}.{hint}")


def _shown(url: str) -> str:
    return repr(public_url(url)[:200])
