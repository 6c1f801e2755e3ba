"""Skills in memory: a mapping of paths to text or bytes, for skills written in Python, for packages and for tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from skillbelt.errors import ResourceNotFoundError, ResourcePathError, ResourceTypeError, SourceError
from skillbelt.limits import Limits
from skillbelt.parsing import LENIENT, Profile
from skillbelt.sources.paths import join, shown, split_path
from skillbelt.sources.tree import Chunk, Entry
from skillbelt.sources.tree_source import TreeSource

__all__ = ["MappingSource", "MappingTree"]


class MappingSource(TreeSource):
    r"""Skills from a mapping such as ``{"name/SKILL.md": "…", "name/references/a.md": b"…"}``.

    Args:
        files: Paths to content; text is stored as UTF-8. Copied, so later changes to the mapping are not seen.
        profile: How strictly SKILL.md files are read.
        limits: Bounds of every read.
        label: What the source is called in summaries.
        executable: The paths of files that have the executable bit.
        any_names: Whether a name may be no UTF-8, written as ``os.fsdecode`` gives it; such a file is kept and
            reported, and not listed, as on disk.

    Raises:
        SourceError: A path is not a plain relative one, a file is also used as a folder, or ``executable`` names no
            file.

    Example:
        >>> source = MappingSource({"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"})
        >>> [s.name for s in source.list()]
        ['mail']
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes],
        *,
        profile: Profile = LENIENT,
        limits: Limits | None = None,
        label: str = "memory",
        executable: Collection[str] = (),
        any_names: bool = False,
    ) -> None:
        tree = MappingTree(files, label=label, executable=executable, any_names=any_names)
        super().__init__(tree, profile=profile, limits=limits)


class MappingTree:
    """Files in memory; implements :class:`~skillbelt.sources.tree.Tree`."""

    on_disk = False
    name: str | None = None

    def __init__(
        self,
        files: Mapping[str, str | bytes],
        *,
        label: str = "memory",
        executable: Collection[str] = (),
        any_names: bool = False,
    ) -> None:
        if not isinstance(files, Mapping):
            raise SourceError(f"files must be a mapping of paths to content, not {type(files).__name__}.")
        self.label = label
        self._split = _split_any if any_names else split_path
        self._files: dict[str, bytes] = {}
        self._folders: dict[str, dict[str, Entry]] = {"": {}}
        self._identities: dict[str, int] = {"": 1}
        for path, content in files.items():
            self._add(path, content)
        self._executable = frozenset(executable)
        for path in sorted(self._executable - self._files.keys()):
            raise SourceError(f"executable names {shown(path)}, which is no file of the mapping.")

    def _add(self, path: str, content: str | bytes) -> None:
        try:
            parts = self._split(path)
        except ResourcePathError as error:
            raise SourceError(f"The mapping has a key that is no path: {error}") from None
        folder = ""
        for part in parts[:-1]:
            below = join(folder, part)
            identity = self._identities.setdefault(below, len(self._identities) + 1)
            entry = self._folders[folder].setdefault(part, Entry(part, "directory", identity))
            if entry.kind != "directory":
                raise SourceError(f"The mapping uses {shown(below)} both as a file and as a folder.")
            self._folders.setdefault(below, {})
            folder = below
        if parts[-1] in self._folders[folder]:
            raise SourceError(f"The mapping uses {shown(path)} both as a file and as a folder.")
        self._folders[folder][parts[-1]] = Entry(parts[-1], "file")
        self._files[path] = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)

    def where(self, path: str) -> str | None:
        """Return the path in the mapping, printable whatever bytes it has."""
        return (path if path.isascii() else path.encode("utf-8", "replace").decode()) or None

    def entries(self, folder: str, path: str = "") -> Sequence[Entry]:
        """Return what is in a folder."""
        whole = join(folder, path)
        if whole not in self._folders:
            raise ResourceNotFoundError(f"There is no folder {shown(whole)}.")
        return list(self._folders[whole].values())

    def kind(self, folder: str, path: str = "") -> Entry:
        """Return what a path leads to."""
        whole = join(folder, path)
        name = whole.rpartition("/")[2]
        if whole in self._folders:
            return Entry(name, "directory", self._identities[whole])
        if whole in self._files:
            return Entry(name, "file")
        raise ResourceNotFoundError(f"There is no file {shown(path or folder)}.")

    def read(self, folder: str, path: str, *, offset: int = 0, size: int) -> Chunk:
        """Return at most ``size`` bytes of a file."""
        whole = join(folder, path)
        if whole in self._folders:
            raise ResourceTypeError(f"{shown(path)} is a folder, not a file; name a file in it.")
        if whole not in self._files:
            raise ResourceNotFoundError(f"There is no file {shown(path)}.")
        data = self._files[whole]
        return Chunk(data[offset : offset + size], len(data), whole in self._executable)


def _split_any(path: str) -> tuple[str, ...]:
    """Return the parts of a key; a name that is no UTF-8, as ``os.fsdecode`` gives it, is judged by its bytes."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
        whole = raw.decode("utf-8", "surrogateescape") == path
    except (AttributeError, UnicodeEncodeError):
        return split_path(path)  # not text, or half a character: the gate says so
    if not whole or raw.decode("utf-8", "replace") == path:
        return split_path(path)
    split_path(raw.decode("latin-1"))
    return tuple(path.split("/"))
