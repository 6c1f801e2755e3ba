"""Skills in an archive: ``.zip`` or ``.tar.gz``, read where it lies and never unpacked to disk.

An archive is judged as a whole when it is first read, and again when its file has changed: names, kinds, sizes and
checksums, within :class:`ArchiveLimits`. One that breaks a rule is refused, all of it: every call raises
:class:`~skillbelt.errors.SourceError`, and :meth:`ArchiveSource.diagnostics` says why with a code. What is kept is an
index; bytes are inflated for each read, as many as it asks for.

Nothing here extracts: no file, no link and no mode bit of an archive ever reaches the host.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from skillbelt.errors import ResourceNotFoundError, ResourceTypeError, SourceError
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic
from skillbelt.parsing import LENIENT, SKILL_FILE, Profile, name_key, parse_frontmatter
from skillbelt.sources.archive.content import version_of
from skillbelt.sources.archive.files import ArchiveFile, Opened, Stamp, settled, storage, written
from skillbelt.sources.archive.gate import ArchiveLimits, ArchiveRefusedError, Index, refuse
from skillbelt.sources.archive.tars import read_tar
from skillbelt.sources.archive.zips import read_zip
from skillbelt.sources.paths import hidden, join, shown
from skillbelt.sources.tree import Chunk, Entry
from skillbelt.sources.tree_source import TreeSource

__all__ = ["ArchiveFile", "ArchiveLimits", "ArchiveSource", "ArchiveTree", "tar_source", "zip_source"]

_T = TypeVar("_T")
_TRIES = 3
"""How often a call starts anew when the file is written under it."""


def zip_source(
    file: ArchiveFile,
    *,
    profile: Profile = LENIENT,
    limits: Limits | None = None,
    bounds: ArchiveLimits | None = None,
) -> ArchiveSource:
    r"""Return the skills in a zip archive; a ``.tar.gz``, told by its first bytes, is taken as well (SPEC-125).

    The archive may itself be a skill, with its SKILL.md at the root, or hold skill folders, in a wrapper folder or
    not. Two folders at its top that claim one name are refused: which of them is the skill would be a guess.

    Args:
        file: A path, ``bytes``, or a seekable binary file object, which stays open and is the source's while in use.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        bounds: Bounds of the archive as a whole.

    Returns:
        A source. It reads nothing yet; a path is opened for each call and its changes are seen at the next one.

    Raises:
        SourceError: ``file`` is none of these. From the source's methods: there is no such file, or the archive is
            refused (SPEC-126, S3-21); the error's ``diagnostics`` and those of the source hold one with the code
            ``archive-path``, ``-link``, ``-special``, ``-duplicate``, ``-limit``, ``-encrypted``, ``-method``,
            ``-differs``, ``-damaged`` or ``-no-skill``.

    Example:
        >>> import io, zipfile
        >>> file = io.BytesIO()
        >>> with zipfile.ZipFile(file, "w") as archive:
        ...     archive.writestr("mail/SKILL.md", "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n")
        >>> [skill.name for skill in zip_source(file).list()]
        ['mail']
    """
    return ArchiveSource(ArchiveTree(file, bounds=bounds), profile=profile, limits=limits)


def tar_source(
    file: ArchiveFile,
    *,
    profile: Profile = LENIENT,
    limits: Limits | None = None,
    bounds: ArchiveLimits | None = None,
) -> ArchiveSource:
    """Return the skills in a ``.tar.gz`` archive and in no other kind; otherwise as :func:`zip_source`.

    Args:
        file: As for :func:`zip_source`.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        bounds: Bounds of the archive as a whole.

    Returns:
        A source.

    Raises:
        SourceError: As for :func:`zip_source`.

    Example:
        >>> tar_source("/no/such/skills.tar.gz").list()
        Traceback (most recent call last):
        skillbelt.errors.SourceError: The archive '/no/such/skills.tar.gz' was not found.
    """
    return ArchiveSource(ArchiveTree(file, kind="tar.gz", bounds=bounds), profile=profile, limits=limits)


class ArchiveSource(TreeSource):
    """Serves the skills of an :class:`ArchiveTree`; made by :func:`zip_source` and :func:`tar_source`."""

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what the last calls found worth saying; of a refused archive, why it is refused.

        Raises:
            SourceError: There is no such file.
        """
        try:
            return super().diagnostics()
        except ArchiveRefusedError as error:
            return error.diagnostics


@dataclass(slots=True)
class _Kept:
    """What was found of a file with some stamp; a tree and those that hold its file open share it."""

    judged: tuple[Stamp, Index | ArchiveRefusedError] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class ArchiveTree:
    """An archive; implements :class:`~skillbelt.sources.tree.Tree`.

    Threads may share one: the index is replaced as a whole, and a read and the index it goes by are of one file.

    Args:
        file: A path, ``bytes``, or a seekable binary file object.
        kind: ``"tar.gz"`` for that alone, ``None`` for what the first bytes say.
        bounds: Bounds of the archive.
        label: What the archive is called; by default its path or file name.

    Raises:
        SourceError: ``file`` is none of these.
    """

    on_disk = False
    name: str | None = None  # it may be called anything: its file name is not the folder a name is compared with

    def __init__(
        self,
        file: ArchiveFile,
        *,
        kind: Literal["tar.gz"] | None = None,
        bounds: ArchiveLimits | None = None,
        label: str | None = None,
    ) -> None:
        self._storage = storage(file)
        self.label = label or self._storage.label
        self._kind = kind
        self._bounds = bounds or ArchiveLimits()
        self._held: Opened | None = None
        self._kept = _Kept()

    def where(self, path: str) -> str | None:
        """Return the path in the archive."""
        return path or None

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        whole = join(folder, path)

        def listed(_: Opened, index: Index) -> Sequence[Entry]:
            if whole not in index.folders:
                raise ResourceNotFoundError(f"There is no folder {shown(whole)}.")
            return tuple(index.folders[whole].values())

        return self._with_index(listed)

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to; there are no links."""
        whole = join(folder, path)

        def told(_: Opened, index: Index) -> Entry:
            name = whole.rpartition("/")[2]
            if whole in index.folders:
                return Entry(name, "directory", index.identities[whole])
            if whole in index.files:
                return Entry(name, "file")
            raise ResourceNotFoundError(f"There is no file {shown(path or folder)}.")

        return self._with_index(told)

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a file, inflating no more than a block past them."""
        whole = join(folder, path)

        def taken(file: Opened, index: Index) -> Chunk:
            if whole in index.folders:
                raise ResourceTypeError(f"{shown(path)} is a folder, not a file; name a file in it.")
            if whole not in index.files:
                raise ResourceNotFoundError(f"There is no file {shown(path)}.")
            member = index.files[whole]
            data = member.read(file, offset, size)
            whole_file = len(data) == member.size
            if len(data) < min(size, member.size - offset) or (whole_file and version_of(data) != member.version):
                raise refuse("archive-damaged", f"{shown(path)} is not what it was when the archive was judged.")
            return Chunk(data, member.size, member.executable, member.version)

        return self._with_index(taken)

    def version(self, folder: str, path: str) -> str | None:
        """Return the version of a file, without reading it; ``None`` when there is no such file."""
        whole = join(folder, path)

        def told(_: Opened, index: Index) -> str | None:
            return index.files[whole].version if whole in index.files else None

        return self._with_index(told)

    @contextmanager
    def hold(self) -> Iterator[ArchiveTree]:
        """Give a tree that keeps the file open: one scan opens it once and sees one archive, whatever is renamed."""
        with self._storage.opened() as file:
            held = copy(self)
            held._held = file
            yield held

    def _with_index(self, work: Callable[[Opened, Index], _T]) -> _T:
        """Do something with the file and its index, which are of one time: else the file is opened anew."""
        for attempt in range(_TRIES):
            with self._storage.opened() if self._held is None or attempt else nullcontext(self._held) as file:
                stamp = file.stamp()
                try:
                    index = self._index(file, stamp)
                    result = work(file, index)
                except SourceError as error:
                    # What looks damaged may only be half written; an archive that stays as it is, is damaged.
                    if not written(stamp, file.stamp()):
                        if isinstance(error, ArchiveRefusedError):
                            raise error.of(self.label, self._storage.where) from None
                        raise
                else:
                    if not written(stamp, file.stamp()):
                        return result
        raise SourceError(f"The archive {shown(self.label)} is being written; try again when that is done.")

    def _index(self, file: Opened, stamp: Stamp) -> Index:
        judged = self._kept.judged
        if judged is None or judged[0] != stamp:
            with self._kept.lock:  # one thread judges, the others wait for what it finds
                judged = self._kept.judged
                if judged is None or judged[0] != stamp:
                    young = not settled(stamp)
                    judged = (stamp, self._judge(file))
                    # A file written just now may be written again under the same time: then it is judged once more.
                    self._kept.judged = None if young else judged
        if isinstance(judged[1], ArchiveRefusedError):
            raise judged[1].anew()
        return judged[1]

    def _judge(self, file: Opened) -> Index | ArchiveRefusedError:
        try:
            packed = self._kind == "tar.gz" or file.at(0, 2) == b"\x1f\x8b"
            index = (read_tar if packed else read_zip)(file, self._bounds)
            _require_skills(file, index)
        except ArchiveRefusedError as error:
            return error.anew()
        return index


def _require_skills(file: Opened, index: Index) -> None:
    """Refuse an archive without a skill, or with two at its top that claim one name."""
    skills = [path for path in index.files if path.rpartition("/")[2].casefold() == SKILL_FILE.casefold()]
    skills = [path for path in skills if not hidden(path.split("/"))]
    if not skills:
        raise refuse("archive-no-skill", f"there is no {SKILL_FILE} in it.", hint=f"Add a {SKILL_FILE}.")
    top = [path for path in skills if path.count("/") == 1]
    holders: dict[str, str] = {}
    for path in top if len(top) > 1 else ():
        folder = path.partition("/")[0]
        head = index.files[path].read(file, 0, Limits().frontmatter_bytes + 1)
        skill = parse_frontmatter(head, profile=LENIENT, directory=folder).summary
        if skill is None:  # a broken one claims nothing; the scan says what is wrong with it
            continue
        holder = holders.setdefault(name_key(skill.name), folder)
        if holder != folder:
            raise refuse(
                "archive-duplicate",
                f"the folders {shown(holder)} and {shown(folder)} at its top are both the skill {shown(skill.name)}.",
                hint="Pack one skill, or give each its own name.",
            )
