"""One skill folder in one conversation. The only state is what was last read, and whether the body is loaded."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from skillbelt.agent_skills.values import (
    AgentSkillResourceSlot,
    AgentSkillSpec,
    AgentSkillToolDescriptor,
    SlotName,
    absolute,
    read_spec,
)
from skillbelt.errors import ResourceNotFoundError, SkillError, SkillFileNotFoundError, SkillNotFoundError
from skillbelt.limits import MIB, Limits
from skillbelt.models import Diagnostic, Resource, ResourceInfo
from skillbelt.parsing import NAMESPACED, SKILL_FILE, Profile, Report
from skillbelt.sources.directory import DirectoryTree
from skillbelt.sources.files import list_files
from skillbelt.sources.tree import Entry
from skillbelt.sources.tree_source import TreeSource

__all__ = ["AgentSkillLoader"]

_SLOTS: tuple[SlotName, ...] = ("scripts", "references", "assets")


class _State(NamedTuple):
    """What a loader knows; replaced as a whole, so that no thread sees half of a change."""

    spec: AgentSkillSpec
    active: bool


class AgentSkillLoader:
    """One skill folder in one conversation: discovered, activated, deactivated, its files listed on demand.

    Each call reads the disk afresh, so edits are seen at the next call; only the body of an activated skill is held,
    and it stays as it was read until the next :meth:`activate` or :meth:`deactivate`. Threads may share a loader;
    conversations should not, for then one deactivates what another has activated.

    Args:
        spec: What is known of the skill; :meth:`from_folder` reads it from the folder.
        folder: The skill's folder. Nothing is read at construction.
        profile: How strictly its SKILL.md is read.
        limits: Bounds of every read.

    Raises:
        SkillError: ``spec`` or ``folder`` is not given (S1-40, S1-41).

    Example:
        >>> from skillbelt import STRICT, examples
        >>> loader = AgentSkillLoader.from_folder(examples.path() / "deploy-to-staging", profile=STRICT)
        >>> loader.body, loader.script_paths
        ('', ('scripts/preflight.py', 'scripts/smoke_test.py'))
        >>> loader.activate().body.split()[:4]
        ['#', 'Deploy', 'to', 'staging']
        >>> loader.deactivate()
        >>> loader.body
        ''
    """

    def __init__(
        self,
        spec: AgentSkillSpec,
        folder: str | os.PathLike[str],
        *,
        profile: Profile = NAMESPACED,
        limits: Limits | None = None,
    ) -> None:
        if not isinstance(spec, AgentSkillSpec):
            raise SkillError(f"spec must be an AgentSkillSpec, not {spec!r}; AgentSkillLoader.from_folder() makes one.")
        self._tree = DirectoryTree(absolute(folder, "folder", "the folder of a skill"))
        self._profile = profile
        self._limits = limits or Limits()
        self._source = TreeSource(self._tree, profile=profile, limits=self._limits)
        self._state = _State(spec, active=False)
        self._notes: tuple[Diagnostic, ...] = ()
        self._lock = threading.Lock()

    @classmethod
    def from_folder(
        cls, folder: str | os.PathLike[str], *, profile: Profile = NAMESPACED, limits: Limits | None = None
    ) -> AgentSkillLoader:
        """Discover the skill in a folder; of its SKILL.md only the frontmatter is read (S1-09, S1-20).

        Args:
            folder: The skill's folder.
            profile: How strictly its SKILL.md is read.
            limits: Bounds of every read.

        Raises:
            SkillFileNotFoundError: The folder does not exist (S1-15), or holds no SKILL.md (S1-14).
            InvalidSkillError: The skill cannot be used.
            SourceError: The path is not a directory (S1-36), or cannot be read.
            SkillError: ``folder`` is not given (S1-42).
        """
        path = absolute(folder, "folder", "the folder of a skill")
        limits = limits or Limits()
        with _opened(DirectoryTree(path)) as (tree, entries):
            spec = read_spec(tree, _skill_file(tree, entries), profile, limits, whole=False)
        return cls(spec, path, profile=profile, limits=limits)

    def __repr__(self) -> str:
        spec, active = self._state
        return f"AgentSkillLoader({spec.name!r}, {self._tree.root!r}{', active' if active else ''})"

    # --- what is known --------------------------------------------------------------------------------------------

    @property
    def spec(self) -> AgentSkillSpec:
        """The skill as it was given, or last read by :meth:`discover` or :meth:`activate`."""
        return self._state.spec

    @property
    def folder(self) -> Path:
        """The skill's folder, absolute and with links resolved (S1-35)."""
        return Path(self._tree.root).resolve()

    @property
    def active(self) -> bool:
        """Whether the body is loaded."""
        return self._state.active

    @property
    def body(self) -> str:
        """The instructions, ``""`` while the skill is not activated."""
        spec, active = self._state
        return spec.body if active else ""

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what the last reading of the SKILL.md, and the last listing of files, found worth saying."""
        return (*self._state.spec.diagnostics, *self._notes)

    # --- the three tiers ------------------------------------------------------------------------------------------

    def discover(self) -> AgentSkillToolDescriptor:
        """Look at the frontmatter again and return the skill without its body (S1-20, S1-50).

        While the skill is active, :attr:`spec` and :attr:`body` stay those of the activation: the two are never of
        different versions of the file.

        Raises:
            SkillFileNotFoundError: The folder or its SKILL.md is gone.
            InvalidSkillError: The skill cannot be used any more.
            SourceError: The folder cannot be read.
        """
        with _opened(self._tree) as (tree, entries):
            spec = self._fresh(tree, entries, whole=False)
        with self._lock:
            if not self._state.active:
                self._state = _State(spec, active=False)
        return self._descriptor(spec, entries)

    def activate(self) -> AgentSkillToolDescriptor:
        """Read the whole SKILL.md and return the skill with its body (S1-21).

        Activating an active skill reads it again. When it fails, the loader stays as it was.

        Raises:
            SkillFileNotFoundError: The folder or its SKILL.md is gone.
            InvalidSkillError: The skill cannot be used, or is larger than ``limits.skill_bytes``.
            SourceError: The folder cannot be read.
        """
        with _opened(self._tree) as (tree, entries):
            spec = self._fresh(tree, entries, whole=True)
        with self._lock:
            self._state = _State(spec, active=True)
        return self._descriptor(spec, entries)

    def deactivate(self) -> None:
        """Forget the body; the skill stays discovered (S1-23). Does nothing to a skill that is not active."""
        with self._lock:
            if self._state.active:
                self._state = _State(self._state.spec.model_copy(update={"body": ""}), active=False)

    def to_tool_descriptor(self) -> AgentSkillToolDescriptor:
        """Return the skill as it is known, with the folders that exist now, and its body if it is active.

        Raises:
            SkillFileNotFoundError: The folder is gone.
            SourceError: The folder cannot be read.
        """
        spec, active = self._state
        with _opened(self._tree) as (_, entries):
            return self._descriptor(spec if active else spec.model_copy(update={"body": ""}), entries)

    # --- bundled files --------------------------------------------------------------------------------------------

    @property
    def resource_slots(self) -> tuple[AgentSkillResourceSlot, ...]:
        """A slot for each of the three folders that exists now; the folder is looked at, its files are not."""
        with _opened(self._tree) as (_, entries):
            return _slots(entries)

    @property
    def script_paths(self) -> tuple[str, ...]:
        """Files directly in ``scripts/`` (S1-10, S1-39); a view on :meth:`list_resources`, listed anew."""
        return self._directly_in("scripts")

    @property
    def reference_paths(self) -> tuple[str, ...]:
        """Files directly in ``references/`` (S1-11)."""
        return self._directly_in("references")

    @property
    def asset_paths(self) -> tuple[str, ...]:
        """Files directly in ``assets/`` (S1-12)."""
        return self._directly_in("assets")

    def list_resources(self) -> tuple[ResourceInfo, ...]:
        """Return all bundled files, however deep, sorted by path; the skill need not be active (S1-22).

        What is left out for a limit or a link is said by :meth:`diagnostics`. Contents are not read.

        Raises:
            SkillFileNotFoundError: The folder or its SKILL.md is gone.
            SourceError: The folder cannot be read.
            LimitError: Under STRICT, there are more files, or deeper ones, than ``limits`` allow.
        """
        with _opened(self._tree) as (tree, entries):
            file = _skill_file(tree, entries)
            report = Report(self._profile, tree.where(file))
            infos = list_files(tree, "", file, self._limits, report).infos
        self._notes = tuple(report.found)
        return infos

    def read(self, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return bytes of a bundled file, confined to the skill and bounded.

        Args:
            path: As :meth:`list_resources` gives it.
            offset: First byte.
            max_bytes: Most bytes to return; never more than ``limits.resource_bytes``.

        Raises:
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: The skill has no such file.
            ResourceTypeError: It is not a regular file.
            InvalidSkillError: The skill cannot be used any more, so nothing of it is served.
        """
        try:
            return self._source.read(self.spec.name, path, offset=offset, max_bytes=max_bytes)
        except SkillNotFoundError:
            # The file was given another name since, or is gone; only a fresh look tells which.
            with _opened(self._tree) as (tree, entries):
                name = self._fresh(tree, entries, whole=False).name
            return self._source.read(name, path, offset=offset, max_bytes=max_bytes)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _fresh(self, tree: DirectoryTree, entries: Sequence[Entry], *, whole: bool) -> AgentSkillSpec:
        return read_spec(tree, _skill_file(tree, entries), self._profile, self._limits, whole=whole)

    def _descriptor(self, spec: AgentSkillSpec, entries: Sequence[Entry]) -> AgentSkillToolDescriptor:
        return AgentSkillToolDescriptor(
            name=spec.name,
            description=spec.description,
            allowed_tools=spec.allowed_tools,
            agent_skill_path=str(self.folder).encode("utf-8", "replace").decode("utf-8"),
            resource_slots=_slots(entries),
            body=spec.body,
        )

    def _directly_in(self, folder: SlotName) -> tuple[str, ...]:
        return tuple(info.path for info in self.list_resources() if info.path.rpartition("/")[0] == folder)


@contextmanager
def _opened(tree: DirectoryTree) -> Iterator[tuple[DirectoryTree, Sequence[Entry]]]:
    """Give the skill's folder, kept open, and what is in it: one put in its place meanwhile is not mixed with it."""
    with ExitStack() as stack:
        try:
            held = stack.enter_context(tree.hold())
            entries = sorted(held.entries(""), key=lambda entry: entry.name)
        except ResourceNotFoundError:
            raise SkillFileNotFoundError(
                f"The skill folder {tree.root!r} was not found; give a folder that holds a {SKILL_FILE}."
            ) from None
        yield held, entries


def _skill_file(tree: DirectoryTree, entries: Sequence[Entry]) -> str:
    """Return what the SKILL.md is called; the parser judges other spellings of it."""
    names = [entry.name for entry in entries if entry.name.casefold() == SKILL_FILE.casefold()]
    if not names:
        raise SkillFileNotFoundError(f"The skill folder {tree.root!r} has no {SKILL_FILE}; add one.")
    return SKILL_FILE if SKILL_FILE in names else names[0]


def _slots(entries: Sequence[Entry]) -> tuple[AgentSkillResourceSlot, ...]:
    # Links to folders are left out: their files are listed where they really are, not here.
    folders = {entry.name for entry in entries if entry.kind == "directory"}
    return tuple(AgentSkillResourceSlot(name=name, path=name) for name in _SLOTS if name in folders)
