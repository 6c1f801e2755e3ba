"""What an archive may hold: the bounds, the names, and the refusal of everything else.

One gate for every format. An archive is fetched, so it is the least trusted of all places: where a directory would be
read around an oddity, an archive is refused as a whole, with a code that says for what (security.md, section 7).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from skillbelt.errors import ResourcePathError, SourceError
from skillbelt.limits import MIB, check_bytes
from skillbelt.models import Diagnostic
from skillbelt.sources.paths import join, shown, split_path
from skillbelt.sources.tree import Entry

if TYPE_CHECKING:
    from skillbelt.sources.archive.content import Member

__all__ = ["ArchiveLimits", "ArchiveRefusedError", "Index", "member_path", "refuse"]

_NAME = 255
"""Bytes of one part of a name; the usual file systems hold no more."""

_RESERVED = frozenset(
    ("con", "prn", "aux", "nul", "conin$", "conout$", *(f"{d}{n}" for d in ("com", "lpt") for n in "0123456789¹²³"))
)
"""Names that are devices on Windows, whatever follows after a dot."""

_SLACK = MIB
"""Bytes that may be packed as tightly as they will: a ratio says nothing about a few zeros."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much an archive may hold. Past a bound it is refused, before more than the bound was inflated.

    Attributes:
        entries: Files, folders and extension records; of 4,406 real skills two have more than 512 files.
        total_bytes: Bytes of all files together, inflated; the largest real skill has 15 MB.
        ratio: Bytes inflated from one, past the first MiB; zeros reach 1030.

    Raises:
        LimitError: A value is not a positive whole number.

    Example:
        >>> ArchiveLimits(entries=50_000).ratio
        100
    """

    entries: int = 10_000
    total_bytes: int = 64 * MIB
    ratio: int = 100

    def __post_init__(self) -> None:
        for bound in fields(self):
            check_bytes(bound.name, getattr(self, bound.name))

    def check_entries(self, count: int) -> None:
        """Refuse an archive of more than :attr:`entries` entries."""
        if count > self.entries:
            raise refuse(
                "archive-limit", f"it has more than {self.entries} entries.", hint="Raise ArchiveLimits.entries."
            )

    def check_total(self, size: int) -> None:
        """Refuse an archive whose files have more than :attr:`total_bytes` together."""
        if size > self.total_bytes:
            raise refuse(
                "archive-limit",
                f"its files have more than {self.total_bytes} bytes together.",
                hint="Raise ArchiveLimits.total_bytes.",
            )

    def check_ratio(self, size: int, packed: int) -> None:
        """Refuse what inflates to more than :attr:`ratio` times its size."""
        if size > _SLACK + self.ratio * packed:
            raise refuse(
                "archive-limit",
                f"it inflates to more than {self.ratio} times its size.",
                hint="Raise ArchiveLimits.ratio, if you know what is in it.",
            )

    def check_file(self, size: int) -> None:
        """Refuse an archive file that is larger than what it may hold; empty blocks can be packed without end."""
        if size > self.total_bytes + self.total_bytes // 8 + self.entries * 512 + _SLACK:
            raise refuse(
                "archive-limit",
                f"the file itself has {size} bytes, more than an archive of {self.total_bytes} bytes needs.",
                hint="Raise ArchiveLimits.total_bytes.",
            )


class ArchiveRefusedError(SourceError):
    """An archive is not read at all; private to the package, callers see a SourceError.

    Args:
        code: The diagnostic code.
        message: One sentence; a name from the archive in it is quoted and bounded.
        hint: What to change.
        path: What the diagnostic speaks of.
    """

    def __init__(self, code: str, message: str, hint: str | None, path: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.path = path

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The refusal as a diagnostic."""
        return (Diagnostic(code=self.code, severity="error", message=str(self), path=self.path, hint=self.hint),)

    def anew(self) -> ArchiveRefusedError:
        """Return the same refusal as a new error: one that is kept would keep the frames it was raised in."""
        return ArchiveRefusedError(self.code, str(self), self.hint, self.path)

    def of(self, label: str, where: str | None) -> ArchiveRefusedError:
        """Return the refusal as a whole sentence.

        Args:
            label: What people call the archive; only its last part is shown, as it may be a path of the host.
            where: The absolute path, when it has one.
        """
        message = f"The archive {shown(label.rpartition('/')[2])} is refused: {self}"
        return ArchiveRefusedError(self.code, message, self.hint, where or label)


def refuse(code: str, message: str, *, hint: str | None = None) -> ArchiveRefusedError:
    """Return the error that refuses an archive.

    Args:
        code: The diagnostic code.
        message: What was found, as the end of a sentence.
        hint: What to change.

    Example:
        >>> str(refuse("archive-damaged", "it is not a zip archive."))
        'it is not a zip archive.'
    """
    return ArchiveRefusedError(code, message, hint or "Make the archive anew from a plain folder.")


def member_path(raw: bytes) -> tuple[str, bool]:
    """Return the path of an entry and whether its name says that it is a folder.

    Args:
        raw: The name as it stands in the archive.

    Returns:
        A path that passed the lexical gate, ``""`` for the root itself.

    Raises:
        SourceError: It may not be used: not UTF-8, absolute, ``..``, a drive, a backslash, a control character, a
            device of Windows, too long, too deep.

    Example:
        >>> member_path(b"./demo/references/")
        ('demo/references', True)
    """
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _bad_name(raw.decode("utf-8", "replace"), "is not UTF-8, so that tools read it differently") from None
    if not name.isprintable() and any(unicodedata.category(char) == "Cc" for char in name):
        raise _bad_name(name, "has a control character")
    folder = name.endswith("/")
    path = name.removesuffix("/")
    if path in (".", "./"):
        return "", True
    path = path.removeprefix("./")  # tar and bsdtar write it for everything in "."
    try:
        parts = split_path(path)
    except ResourcePathError:
        raise _bad_name(name, "is no plain relative path") from None
    for part in parts:
        if len(part.encode()) > _NAME:
            raise _bad_name(name, f"has a part of more than {_NAME} bytes")
        if ":" in part or part[-1] in ". " or part.partition(".")[0].rstrip().casefold() in _RESERVED:
            raise _bad_name(name, "means something else on Windows")
    return path, folder


def _bad_name(name: str, why: str) -> ArchiveRefusedError:
    return refuse("archive-path", f"the name {shown(name)} {why}.")


@dataclass(slots=True)
class Index:
    """What is in an archive: its folders, and where the bytes of its files are.

    Attributes:
        files: By path.
        folders: The entries of each folder, by path; ``""`` is the root.
        identities: A number for each folder.
    """

    files: dict[str, Member] = field(default_factory=dict)
    folders: dict[str, dict[str, Entry]] = field(default_factory=lambda: {"": {}})
    identities: dict[str, int] = field(default_factory=lambda: {"": 1})
    _spelled: dict[str, str] = field(default_factory=dict)

    def add_folder(self, path: str) -> None:
        """Add a folder and those above it; one that is there already carries nothing that could differ."""
        whole = ""
        for part in path.split("/") if path else ():
            above, whole = whole, join(whole, part)
            if whole in self.folders:
                continue
            self._claim(whole)
            identity = self.identities[whole] = len(self.identities) + 1
            self.folders[above][part] = Entry(part, "directory", identity)
            self.folders[whole] = {}

    def add_file(self, path: str) -> None:
        """Claim a name for a file, whose bytes are filed under it once they are judged.

        Raises:
            SourceError: Another entry has the name, or one that some file systems cannot tell from it.
        """
        folder, _, name = path.rpartition("/")
        self.add_folder(folder)
        self._claim(path)
        self.folders[folder][name] = Entry(name, "file")

    def _claim(self, path: str) -> None:
        # Canonical caseless matching: what any file system holds to be one name is one name here.
        key = unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
        taken = self._spelled.setdefault(key, path)
        if taken != path:
            raise refuse("archive-duplicate", f"{shown(taken)} and {shown(path)} are one name on some file systems.")
        if path in self.folders or path.rpartition("/")[2] in self.folders[path.rpartition("/")[0]]:
            raise refuse("archive-duplicate", f"it holds {shown(path)} more than once; tools take different ones.")
