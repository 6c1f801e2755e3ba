"""From a skill to its package: :func:`pack` a folder, :func:`pack_skill` one of any source (S2-18 to S2-20).

A package holds every file of the skill byte for byte. What cannot be in a package is refused, with all of it named;
what is left out by name is listed. Nothing is run and nothing is sent.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillbelt.errors import ResourceNotFoundError, SkillFileNotFoundError, SourceError
from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, JsonValue
from skillbelt.packages.canonical import canonicalize, id_of, integrity
from skillbelt.packages.collecting import LEFT_OUT, Collected, collect
from skillbelt.packages.content import FileContent, entry_of
from skillbelt.packages.ids import PackageId
from skillbelt.packages.keys import key_of
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.projection import project
from skillbelt.packages.rules import as_violation, lifecycle_violations, parse_packed
from skillbelt.packages.schema import FORMAT
from skillbelt.packages.unpacking import unpack, unpack_to
from skillbelt.packages.violations import Violation, pointer, refused
from skillbelt.parsing import LENIENT, SKILL_FILE, Profile
from skillbelt.sources.base import ResourceSource
from skillbelt.sources.directory import DirectoryTree
from skillbelt.sources.tree_source import TreeSource

__all__ = ["PackedSkill", "pack", "pack_skill", "unpack", "unpack_to"]

_SKILL_FILE_AT = pointer("files", SKILL_FILE)


@dataclass(frozen=True, slots=True)
class PackedSkill:
    """A skill as a package.

    Attributes:
        document: The package, as JSON values; not to be changed.
        id: Its id (S2-16).
        integrity: ``"sha256-…"`` over the same bytes: what to pin (conflict C18).
        diagnostics: What the specification says against the skill, where packing lets it pass.
        left_out: Paths that were passed over: version control, dependencies, caches.
        links: Paths of links that were packed as the content they lead to.
    """

    document: Mapping[str, JsonValue]
    id: PackageId
    integrity: str
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, JsonValue]) -> PackedSkill:
        """Return a document with its id and its integrity, both computed now.

        Args:
            document: A package.

        Raises:
            PackageValidationError: It is no JSON.
        """
        canonical = canonicalize(document)
        return cls(document, id_of(canonical), integrity(canonical))


def pack(
    path: str | os.PathLike[str],
    *,
    version: str | None = None,
    release_date: str | None = None,
    limits: PackageLimits | None = None,
    profile: Profile = LENIENT,
    ignore: Collection[str] = LEFT_OUT,
) -> PackedSkill:
    """Return the package of a skill on disk.

    Every file is packed, hidden ones too, apart from those named in ``ignore``; empty folders are no part of a skill.
    A link that stays inside the skill is packed as the content it leads to.

    Args:
        path: The skill's folder, or its SKILL.md.
        version: A concrete version such as ``"v1.2.3"``; does not change the id (S2-15).
        release_date: A date such as ``"2026-01-31"``, or a time with its zone; does not change it either.
        limits: Bounds.
        profile: How strictly the skill is read; pass :data:`~skillbelt.parsing.STRICT` to refuse all that a registry
            would.
        ignore: Names that are passed over, of files and folders; ``()`` packs everything.

    Raises:
        SkillFileNotFoundError: There is no such folder, or no SKILL.md in it.
        PackageValidationError: It cannot be a package: a link that leaves it, a special file, too large, a SKILL.md
            that breaks the rules; ``details["violations"]`` lists everything.
        SourceError: Something cannot be read, or was changed meanwhile.
        MissingExtraError: The package ``rfc8785`` is not installed.
    """
    root = _folder(path)
    try:
        collected = collect(DirectoryTree(root), "", limits or PackageLimits(), ignore)
    except ResourceNotFoundError:
        raise SkillFileNotFoundError(f"{os.fspath(path)!r} was not found; give a skill folder.") from None
    names = {name.partition("/")[0].casefold() for name in collected.contents}
    if not collected.violations and SKILL_FILE.casefold() not in names:
        raise SkillFileNotFoundError(f"{os.fspath(path)!r} has no {SKILL_FILE}.")
    return _packed(collected, root.name, version, release_date, limits or PackageLimits(), profile)


def pack_skill(
    source: ResourceSource,
    name: str,
    *,
    version: str | None = None,
    release_date: str | None = None,
    limits: PackageLimits | None = None,
    profile: Profile = LENIENT,
    ignore: Collection[str] = LEFT_OUT,
) -> PackedSkill:
    """Return the package of a skill of any source: a folder, an archive, a store, another package.

    A source that skillbelt reads itself gives every file, as :func:`pack` does, and the same id. Of any other source,
    a merged one for example, the files it lists are packed; hidden files are not among them.

    Args:
        source: Where the skill is.
        name: Its name there.
        version: As for :func:`pack`.
        release_date: As for :func:`pack`.
        limits: Bounds.
        profile: How strictly the skill is read.
        ignore: As for :func:`pack`.

    Raises:
        SkillNotFoundError: There is no such skill.
        InvalidSkillError: It cannot be used.
        PackageValidationError: It cannot be a package.
        SourceError: Something cannot be read, or was changed meanwhile.
        MissingExtraError: The package ``rfc8785`` is not installed.
    """
    limits = limits or PackageLimits()
    if isinstance(source, TreeSource):
        tree, folder = source.locate(name)
        collected = collect(tree, folder, limits, ignore)
        directory = folder.rpartition("/")[2] or tree.name
    else:
        collected, directory = _served(source, name, limits), None
    return _packed(collected, directory, version, release_date, limits, profile)


def _folder(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise SourceError(f"path must name a skill folder or its {SKILL_FILE}, not {path!r}.")
    whole = Path(os.path.abspath(os.path.expanduser(os.fspath(path))))
    return whole.parent if whole.name.casefold() == SKILL_FILE.casefold() and not whole.is_dir() else whole


def _served(source: ResourceSource, name: str, limits: PackageLimits) -> Collected:
    """Read what a source serves of a skill, page by page."""
    found = Collected()
    executable = {info.path: info.executable for info in source.resources(name)}
    room = limits.total_bytes
    for path in (SKILL_FILE, *executable):
        if len(found.contents) >= limits.files:
            message = f"the skill has more than {limits.files} files."
            found.violations.append(Violation("/files", "too-many-files", message))
            break
        pages: list[bytes] = []
        more, offset = True, 0
        while more and room >= 0:
            page = source.read(name, path, offset=offset, max_bytes=MIB)
            pages.append(page.data)
            offset += len(page.data)
            room -= len(page.data)
            more = page.truncated and bool(page.data)
        if room < 0:
            message = f"the files have more than {limits.total_bytes} bytes together."
            found.violations.append(Violation("/files", "too-large", message))
            break
        found.contents[path] = FileContent(b"".join(pages), executable.get(path, False))
    return found


def _packed(
    found: Collected,
    directory: str | None,
    version: str | None,
    release_date: str | None,
    limits: PackageLimits,
    profile: Profile,
) -> PackedSkill:
    lifecycle: dict[str, JsonValue] = {"version": version, "release_date": release_date}
    lifecycle = {field: value for field, value in lifecycle.items() if value is not None}
    violations = [*found.violations, *lifecycle_violations(lifecycle)]
    skill_file = found.contents.get(SKILL_FILE)
    diagnostics: tuple[Diagnostic, ...] = ()
    fields: dict[str, JsonValue] = {}
    if skill_file is not None:
        parsed = parse_packed(skill_file.data, profile, limits, directory=directory or None)
        diagnostics = parsed.diagnostics
        violations.extend(as_violation(d) for d in diagnostics if d.severity == "error")
        fields = project(parsed.skill) if parsed.skill is not None else {}
    elif not any(v.path in ("/files", _SKILL_FILE_AT) for v in violations):  # it is not reached, or refused itself
        message = f"there is no {SKILL_FILE}; the file has exactly this name."
        violations.append(Violation("/files", "skill-file-missing", message))
    if violations:
        raise refused(violations, what="The skill")
    instructions = fields.pop("instructions")
    files: dict[str, JsonValue] = {key_of(path): entry_of(found.contents[path]) for path in sorted(found.contents)}
    document: dict[str, JsonValue] = {
        "format": FORMAT,
        "type": "skill",
        **fields,
        **lifecycle,
        "instructions": instructions,
        "files": files,
    }
    canonical = canonicalize(document)
    if len(canonical) > limits.document_bytes:
        message = f"its document has {len(canonical)} bytes; at most {limits.document_bytes} are allowed."
        raise refused([Violation("", "too-large", message)], what="The skill")
    return PackedSkill(
        document, id_of(canonical), integrity(canonical), diagnostics, tuple(found.left_out), tuple(found.links)
    )
