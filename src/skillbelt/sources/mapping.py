"""Skills in memory: a mapping of paths to text or bytes, for skills written in Python, for packages and for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

    Raises:
        SourceError: A path is not a plain relative one, or a file is also used as a folder.

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
    ) -> None:
        super().__init__(MappingTree(files, label=label), profile=profile, limits=limits)


class MappingTree:
    """Files in memory; implements :class:`~skillbelt.sources.tree.Tree`."""

    on_disk = False
    name = None

    def __init__(self, files: Mapping[str, str | bytes], *, label: str = "memory") -> None:
        if not isinstance(files, Mapping):
            raise SourceError(f"files must be a mapping of paths to content, not {type(files).__name__}.")
        self.label = label
        self._files: dict[str, bytes] = {}
        self._folders: dict[str, dict[str, Entry]] = {"": {}}
        self._identities: dict[str, int] = {"": 1}
        for path, content in files.items():
            self._add(path, content)

    def _add(self, path: str, content: str | bytes) -> None:
        try:
            parts = split_path(path)
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
        """Return the path in the mapping."""
        return path or None

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
        return Chunk(data[offset : offset + size], len(data))
