"""The index of skills that a site publishes, read: pure, from bytes to entries and coded diagnostics.

Two forms are known. v0.2.0, ``/.well-known/agent-skills/index.json``: one artifact a skill, with its digest. v0.1.0,
``/.well-known/skills/index.json``: a list of files a skill, without digests; drafts in between gave each file one.
One bad entry costs that entry. Name and description are judged by the rules of a frontmatter (SPEC-121 to SPEC-124).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from skillbelt.errors import LimitError, ResourcePathError, SourceError
from skillbelt.limits import KIB, Limits
from skillbelt.models import Diagnostic, SkillSummary
from skillbelt.parsing import SKILL_FILE, Profile, Report, name_key, parse_skill, usable_label
from skillbelt.sources.base import Problems
from skillbelt.sources.paths import shown, split_path
from skillbelt.sources.policy import RefusedUrlError, join_url, parse_url
from skillbelt.sources.urls import public_url

__all__ = ["INDEX_PATHS", "SCHEMA", "IndexEntry", "SkillIndex", "index_urls", "read_index"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEX_PATHS = (".well-known/agent-skills/index.json", ".well-known/skills/index.json")

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TYPES = ("skill-md", "archive")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One skill as the index has it.

    Attributes:
        summary: Level 1; ``location`` is where its SKILL.md or its archive is.
        kind: What is published: the file alone, an archive, or ``"files"``, each at its own address (v0.1.0).
        url: The artifact; of ``"files"`` the folder, with a ``/`` at its end.
        digest: sha256 of the artifact, in hex; ``None`` for ``"files"``.
        files: Paths of ``"files"`` and their digests, where they have one.
    """

    summary: SkillSummary
    kind: Literal["skill-md", "archive", "files"]
    url: str
    digest: str | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)

    def url_of(self, path: str) -> str:
        """Return the address of a file of ``"files"``."""
        return self.url + quote(path)

    def generation(self, skill_file: str) -> str:
        """Return what tells one state of a skill from another: sizes are not in it, for reading makes them known.

        Args:
            skill_file: Digest of its SKILL.md.
        """
        told = json.dumps([skill_file, self.digest, sorted(self.files.items())])
        return hashlib.sha256(told.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class SkillIndex:
    """An index: usable entries by key in order of their names, the names that are unusable, what is worth saying."""

    entries: Mapping[str, IndexEntry]
    broken: Problems
    diagnostics: tuple[Diagnostic, ...]


def read_index(data: bytes, *, url: str, label: str, profile: Profile, limits: Limits) -> SkillIndex:
    """Read an index.

    Args:
        data: Its bytes.
        url: Where it was found; relative addresses are resolved against it.
        label: What the source is called in summaries.
        profile: The rules for names and descriptions.
        limits: ``entries`` bounds the entries looked at.

    Returns:
        The skills; of an index in a version that is not known, none and a diagnostic (SPEC-123).

    Raises:
        SourceError: It is no index at all.
        LimitError: Under STRICT, it has more entries than ``limits.entries``.
    """
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        raise SourceError(f"{public_url(url)!r} is not JSON, so it is no index of skills.") from None
    if not isinstance(root, dict) or not isinstance(root.get("skills"), list):
        raise SourceError(f"{public_url(url)!r} has no list 'skills', so it is no index of skills.")
    return _Reader(url, label, profile, limits).read(root)


def index_urls(url: str) -> tuple[str, ...]:
    """Return where the index of a site may be, the newer form first; a URL that ends in ``.json`` is the index.

    Raises:
        RefusedUrlError: It is no URL.

    Example:
        >>> index_urls("https://example.com/docs/")[0]
        'https://example.com/docs/.well-known/agent-skills/index.json'
    """
    whole = parse_url(url)
    if whole.path.endswith(".json"):
        return (str(whole),)
    folder = whole.path.rstrip("/")
    if folder.endswith(tuple(f"/{path.rpartition('/')[0]}" for path in INDEX_PATHS)):
        return (str(whole.copy_with(path=f"{folder}/index.json")),)
    return tuple(str(whole.copy_with(path=f"{folder}/{path}")) for path in INDEX_PATHS)


class _EntryProblem(Exception):  # noqa: N818 - never leaves this module
    """Why an entry is not used."""


class _Reader:
    def __init__(self, url: str, label: str, profile: Profile, limits: Limits) -> None:
        self._url = url
        self._label = label
        self._profile = profile
        self._limits = limits
        self._entries: dict[str, IndexEntry] = {}
        self._broken: dict[str, tuple[Diagnostic, ...]] = {}
        self._diagnostics: list[Diagnostic] = []

    def read(self, root: dict[str, Any]) -> SkillIndex:
        schema = root.get("$schema")
        if schema is not None and schema != SCHEMA:
            self._say(
                "index-schema",
                f"The index is of the version {shown(str(schema))}, which is not known; it is not read.",
                f"The version that is known is {SCHEMA}.",
            )
        else:
            self._skills(root["skills"], dated=schema is None)
        order = sorted(self._entries.items(), key=lambda item: (item[1].summary.name, item[0]))
        broken = {key: found for key, found in self._broken.items() if key not in self._entries}
        return SkillIndex(dict(order), broken, tuple(self._diagnostics))

    def _skills(self, skills: list[Any], *, dated: bool) -> None:
        for number, entry in enumerate(skills, start=1):
            if number > self._limits.entries:
                message = f"The index has more than {self._limits.entries} entries; the others were not read."
                if self._profile.strict:
                    raise LimitError(f"{message} Raise Limits.entries.")
                self._say("scan-limit", message, "Raise Limits.entries.")
                break
            name = entry.get("name") if isinstance(entry, dict) else None
            try:
                if not isinstance(name, str) or not name.strip():
                    raise _EntryProblem("has no name")
                self._entry(entry, name, dated=dated)
            except _EntryProblem as problem:
                what = f"Entry {number} of the index" + (f", {shown(name)}," if isinstance(name, str) else "")
                self._lose(name, self._say("index-entry", f"{what} {problem}.", "It is not loaded."))
        if any(entry.kind == "files" and None in entry.files.values() for entry in self._entries.values()):
            self._say(
                "index-unverified",
                "The index is of v0.1.0 and has no digests; what it leads to cannot be verified.",
                "Ask the publisher for an index of v0.2.0.",
            )

    def _entry(self, entry: dict[str, Any], name: str, *, dated: bool) -> None:
        kind = entry.get("type")
        if not dated and isinstance(kind, str) and kind not in _TYPES:
            self._say("index-type", f"{shown(name)} is of the type {shown(kind)}, which is not known; it is left out.")
            return
        made = self._files(entry, name) if dated else self._artifact(entry)
        location = made.url_of(SKILL_FILE) if made.kind == "files" else made.url
        summary = self._summary(entry, name, public_url(location))
        if summary is None:
            return
        key = name_key(summary.name)
        if key in self._entries:
            self._say("duplicate-name", f"The index has {shown(name)} twice; the first one counts.", "Rename one.")
            return
        self._entries[key] = IndexEntry(summary, made.kind, made.url, made.digest, made.files)

    def _artifact(self, entry: dict[str, Any]) -> IndexEntry:
        if not isinstance(entry.get("type"), str):
            raise _EntryProblem("has no type; 'skill-md' and 'archive' are known")
        digest = entry.get("digest")
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise _EntryProblem("has no digest of the form 'sha256:' and 64 hexadecimal digits, in lower case")
        if not isinstance(entry.get("url"), str) or not entry["url"]:
            raise _EntryProblem("has no url")
        return IndexEntry(_NOBODY, entry["type"], self._joined(entry["url"]), digest.partition(":")[2])

    def _files(self, entry: dict[str, Any], name: str) -> IndexEntry:
        listed = entry.get("files")
        if not isinstance(listed, list):
            raise _EntryProblem("has no list 'files', which an index without $schema needs (v0.1.0)")
        if usable_label(name) is None or not name.strip(".") or "/" in name or "\\" in name:
            raise _EntryProblem("has a name that cannot be part of an address")
        files: dict[str, str | None] = {}
        for file in listed:
            path: Any
            path, digest = (file.get("path"), file.get("digest")) if isinstance(file, dict) else (file, None)
            if digest is not None and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
                raise _EntryProblem(f"gives {shown(str(path))} a digest that is none")
            try:
                split_path(path)
            except ResourcePathError as error:
                raise _EntryProblem(f"has a file that cannot be used: {str(error).rstrip('.')}") from None
            files[path] = digest and digest.partition(":")[2]
        folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
        if folders & files.keys():
            raise _EntryProblem(f"uses {shown(min(folders & files.keys()))} both as a file and as a folder")
        if SKILL_FILE not in files:
            raise _EntryProblem(f"lists no {SKILL_FILE}")
        return IndexEntry(_NOBODY, "files", self._joined(quote(name, safe="") + "/"), None, files)

    def _joined(self, reference: str) -> str:
        try:
            url = join_url(self._url, reference)
        except RefusedUrlError:
            url = ""
        if not url.startswith(("https://", "http://")):
            raise _EntryProblem("has a url that is no web address")
        return url

    def _summary(self, entry: dict[str, Any], name: str, location: str) -> SkillSummary | None:
        """Judge name and description as if they stood in a frontmatter."""
        description = entry.get("description")
        if description is not None and not isinstance(description, str):
            raise _EntryProblem("has a description that is no text")
        size = len(f"{name}{description or ''}".encode("utf-8", "replace"))
        if size > self._limits.frontmatter_bytes:
            raise _EntryProblem(f"has a name and description of {size} bytes, more than a frontmatter may have")
        text = f"---\nname: {_quoted(name)}\ndescription: {_quoted(description or '')}\n---\nNot fetched yet.\n"
        room = 2 * KIB + len(text) * 4  # quotes and escapes are ours: they do not count
        limits = Limits(frontmatter_bytes=room, skill_bytes=room)
        parsed = parse_skill(text, profile=self._profile, limits=limits, path=location, source=self._label)
        found = tuple(d.model_copy(update={"line": None}) for d in parsed.diagnostics)
        self._diagnostics.extend(found)
        if parsed.skill is None:
            self._lose(name, found)
            return None
        return parsed.skill.summary()

    def _say(self, code: str, message: str, hint: str | None = None) -> tuple[Diagnostic, ...]:
        report = Report(self._profile, public_url(self._url))
        report.add(code, message, hint=hint)
        self._diagnostics.extend(report.found)
        return tuple(report.found)

    def _lose(self, name: object, diagnostics: tuple[Diagnostic, ...]) -> None:
        if isinstance(name, str) and name.strip():
            self._broken.setdefault(name_key(name), diagnostics)


_NOBODY = SkillSummary(name="-", description="-")


def _quoted(text: str) -> str:
    """Return a text as a YAML scalar in double quotes that means exactly it; half characters become U+FFFD."""
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08X}" for c in text) + '"'
