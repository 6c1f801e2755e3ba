"""Skills by reference: a source whose skills come from registries, by id, or from folders, all of them in memory.

Everything is resolved, fetched and checked when the source is made (S2-39). After that nothing is asked and nothing is
read from disk: the files of a skill are served from memory (S2-42), and what a folder held then is what is served. To
have what is published now, make the source again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from skillbelt.compose import merge, namespaced
from skillbelt.errors import LimitError, RegistryError, RegistryNetworkError
from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.packages.ids import PackageId
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.references import PackageReference
from skillbelt.packages.resolving import LoadedPackage, PackageContentResolver, ReferenceResolver
from skillbelt.packages.unpacking import unpack
from skillbelt.parsing import name_key
from skillbelt.sources.base import Bundle, Problems, ResourceSource, Versions
from skillbelt.sources.paths import shown
from skillbelt.sources.sound import bundle_of, problems_of, versions_of

if TYPE_CHECKING:
    from skillbelt.packages.cache import RegistryCache
    from skillbelt.packages.registries import Registry

__all__ = ["RegistrySource"]

_SILENT = frozenset({"timeout", "unreachable", "offline"})
"""Failures that the next question to the same registry would meet again, a deadline later."""

_NAMED = 10
"""How many other references the message of a failure names."""


class RegistrySource:
    """Serves the skills that references lead to: implements :class:`~skillbelt.sources.base.ResourceSource`.

    Args:
        references: In order of precedence: of two with one name the first is the skill, and the other can be asked
            for as ``name@reference``, as in a merge.
        registry: Where to look: a client or a URL for the default registry, several by host, or
            :class:`~skillbelt.packages.Registries`.
        cache: What was fetched before; by default nothing is kept beyond this source.
        base: Folder that ``local:`` paths are relative to.
        namespaces: Whether skills of a registry are called ``namespace/name``, as their references have it. By default
            they are called as their SKILL.md says (conflict C1).
        on_collision: ``"error"`` refuses two references with one name.
        limits: Bounds of each package.

    Raises:
        RegistryError: At least one reference failed. It is the error of the first, names the others, and has them all
            in ``details["failures"]``.
        CollisionError: Two references lead to one name, and that is refused.
        LimitError: ``references`` is one text, not a list of them.

    Example:
        >>> RegistrySource([]).list()
        ()
    """

    def __init__(
        self,
        references: Iterable[str | PackageReference],
        *,
        registry: Registry = None,
        cache: RegistryCache | None = None,
        base: str | os.PathLike[str] = ".",
        namespaces: bool = False,
        on_collision: Literal["first", "error"] = "first",
        limits: PackageLimits | None = None,
    ) -> None:
        if isinstance(references, str | PackageReference):
            raise LimitError("references must be a list of references; put the one into a list.")
        limits = limits or PackageLimits()
        resolver = ReferenceResolver(registry, cache=cache, base=base)
        self.packages: tuple[LoadedPackage, ...] = _loaded(
            PackageContentResolver(resolver, limits=limits), list(references)
        )
        parts = [_part(each, namespaces, limits) for each in _distinct(self.packages, namespaces)]
        self._merged = merge(*parts, on_collision=on_collision)
        self._summaries = tuple(self._merged.list())
        self._owners: dict[str, ResourceSource] = {}
        for part in parts:
            for key in versions_of(part):  # of what was listed just now
                self._owners.setdefault(key, part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({[each.resolved.reference.text for each in self.packages]})"

    # --- levels 1 to 3 ------------------------------------------------------------------------------------------------

    def list(self) -> tuple[SkillSummary, ...]:
        """Return every skill, sorted by name: what was found when the source was made."""
        return self._summaries

    def lookup(self, name: str) -> SkillSummary:
        """Return level 1 of one skill.

        Args:
            name: A name of :meth:`list`, or ``name@reference`` for one that gave way.

        Raises:
            SkillNotFoundError: There is none of that name.
        """
        return self._owner(name).lookup(name)

    def load(self, name: str) -> Skill:
        """Return one skill.

        Args:
            name: As for :meth:`lookup`.

        Raises:
            SkillNotFoundError: There is none of that name.
        """
        return self._owner(name).load(name)

    def bundle(self, name: str) -> Bundle:
        """Return one skill with the list of its files.

        Args:
            name: As for :meth:`lookup`.

        Raises:
            SkillNotFoundError: There is none of that name.
        """
        return bundle_of(self._owner(name), name)

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        """Return the bundled files of a skill, sorted by path.

        Args:
            name: As for :meth:`lookup`.

        Raises:
            SkillNotFoundError: There is none of that name.
        """
        return self._owner(name).resources(name)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        """Return at most ``max_bytes`` bytes of one bundled file, from memory (S2-42).

        Args:
            name: As for :meth:`lookup`.
            path: Relative to the skill's folder.
            offset: First byte.
            max_bytes: Most bytes to return.

        Raises:
            SkillNotFoundError: There is no such skill.
            ResourcePathError: The path may not be used.
            ResourceNotFoundError: The skill has no such file.
        """
        return self._owner(name).read(name, path, offset=offset, max_bytes=max_bytes)

    # --- what is worth saying -----------------------------------------------------------------------------------------

    def diagnostics(self) -> Sequence[Diagnostic]:
        """Return everything worth saying about the skills, and one for each that gave way to another."""
        return self._merged.diagnostics()

    def problems(self) -> Problems:
        """Return the names that cannot be used: none, for such a reference fails when the source is made."""
        return problems_of(self._merged)

    def versions(self) -> Versions:
        """Return for each skill a string that never changes: neither does what is served."""
        return versions_of(self._merged)

    def _owner(self, name: str) -> ResourceSource:
        """Return who serves a name; whatever is odd about one is the merge's to say."""
        return self._owners.get(name_key(name), self._merged) if isinstance(name, str) else self._merged


def _part(loaded: LoadedPackage, namespaces: bool, limits: PackageLimits) -> ResourceSource:
    reference = loaded.resolved.reference
    source = unpack(loaded.package, limits=limits, label=reference.text)
    return namespaced(reference.namespace, source) if namespaces and reference.namespace else source


def _distinct(packages: Sequence[LoadedPackage], namespaces: bool) -> Sequence[LoadedPackage]:
    """Return packages without those that came before: one package under two references is no collision."""
    first: dict[tuple[PackageId, str | None], LoadedPackage] = {}
    for each in packages:
        first.setdefault((each.packed.id, each.resolved.reference.namespace if namespaces else None), each)
    return list(first.values())


# --- building ---------------------------------------------------------------------------------------------------------


def _loaded(
    contents: PackageContentResolver, references: Sequence[str | PackageReference]
) -> tuple[LoadedPackage, ...]:
    """Load every reference, and tell of all failures at once."""
    loaded: list[LoadedPackage] = []
    failures: list[RegistryError] = []
    silent: set[str] = set()
    for reference in references:
        place = None
        try:
            parsed = PackageReference.parse(reference)  # type: ignore[arg-type]  # takes a parsed one too
            place = parsed.host or parsed.scheme
            loaded.append(contents.load(parsed, offline=place in silent))
        except RegistryError as error:
            failures.append(error)
            # A registry that does not answer is waited for once, not once for each reference.
            if isinstance(error, RegistryNetworkError) and place and error.details.get("reason") in _SILENT:
                silent.add(place)
    if failures:
        raise _failed(failures, references)
    return tuple(loaded)


def _failed(failures: Sequence[RegistryError], references: Sequence[str | PackageReference]) -> RegistryError:
    """Return the first failure, with all of them in its details."""
    first, *others = failures
    told = [
        {"reference": error.original_reference, "error": type(error).__name__, "message": error.message}
        for error in failures
    ]
    if others:
        names = ", ".join(shown(str(error.original_reference)) for error in others[:_NAMED])
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        first.message += f" Of {len(references)} references {len(failures)} failed: also {names}{more}."
        first.args = (first.message,)
    first.details = {**first.details, "failures": told}
    return first
