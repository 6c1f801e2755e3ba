"""A skill and the list of its files as of one moment, read again only when something in its folder changed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import NamedTuple

from skillbelt.errors import InvalidSkillError, ResourceError
from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, Skill
from skillbelt.parsing import Report, invalid_skill
from skillbelt.sources.base import Bundle
from skillbelt.sources.files import Files, list_files
from skillbelt.sources.heads import Reader
from skillbelt.sources.lru import Kept
from skillbelt.sources.paths import asked, join
from skillbelt.sources.rest import CLOCK, PATIENCE, Look, Rest
from skillbelt.sources.scan import Found
from skillbelt.sources.tree import Enterable, Holdable, Measured, Statted, Tree, Unsettled

__all__ = ["Bundler", "Made"]

_KEPT = 8 * MIB


class Made(NamedTuple):
    """A bundle, what its listing found worth saying, and by which marks to see that it still stands."""

    bundle: Bundle
    notes: tuple[Diagnostic, ...]
    marks: Mapping[str, str] | None


class Bundler:
    """Makes the bundles of one tree, and keeps the last ones.

    Args:
        reader: The tree and how its files are parsed.
        rest: For how long they must have rested.
    """

    def __init__(self, reader: Reader, rest: Rest) -> None:
        self._reader = reader
        self._rest = rest
        self._unchanged = reader.tree.unchanged if isinstance(reader.tree, Measured) else None
        self._kept: Kept[Made] = Kept(_KEPT)

    def bundle(self, found: Found, what: str) -> Made:
        """Return a skill with the list of its files.

        Args:
            found: Where it lies.
            what: The name it was asked for by.

        Raises:
            ResourceError: There is no such skill any more, or its file cannot be read.
            InvalidSkillError: It cannot be used.
            SourceError: Its folder cannot be read.
            LimitError: Under STRICT, it has more files than the limits allow.
        """
        kept = self._kept.get(found.folder)
        if kept is not None and self._stands(found.folder, kept.marks):
            return kept
        return self._rest.see(
            join(found.folder, found.file), lambda: self._look(found, what), lambda: self._before(found.folder)
        )

    def last(self, folder: str) -> Skill | None:
        """Return a skill as it was made last, if it is kept."""
        kept = self._kept.get(folder)
        return kept and kept.bundle.skill

    def _before(self, folder: str) -> Made | None:
        """Return the last bundle as what it is when it is served again: not what there is now."""
        kept = self._kept.get(folder)
        return kept and kept._replace(bundle=kept.bundle._replace(current=False))

    def _lacks(self, folder: str, files: Files) -> bool:
        """Whether a file that was there before is missing."""
        kept = self._kept.get(folder)
        return kept is not None and not {info.path for info in kept.bundle.resources} <= {i.path for i in files.infos}

    def _stands(self, folder: str, marks: Mapping[str, str] | None) -> bool:
        """Whether nothing was changed, by one stat for each file and folder of the skill."""
        return marks is not None and self._unchanged is not None and self._unchanged(folder, marks)

    def _look(self, found: Found, what: str) -> Look[Made]:
        tree = self._reader.tree
        try:
            if isinstance(tree, Enterable):
                with tree.enter(found.folder) as below:
                    return self._made(below, "", found, what)
            with tree.hold() if isinstance(tree, Holdable) else nullcontext(tree) as held:
                return self._made(held, found.folder, found, what)
        except ResourceError as error:
            return Look(error, tree.written(found.folder) if isinstance(tree, Unsettled) else 0.0)

    def _made(self, tree: Tree, folder: str, found: Found, what: str) -> Look[Made]:
        reader = self._reader
        own = tree.version(folder, "") if isinstance(tree, Statted) else None
        chunk = tree.read(folder, found.file, size=reader.limits.skill_bytes + 1)
        parsed = reader.skill(found.folder, found.file, chunk.data)
        if parsed.skill is None:
            error: InvalidSkillError = invalid_skill(f"Skill {asked(what)}", parsed.diagnostics)
            return Look(error, chunk.written, doubtful=True)
        report = Report(reader.profile, parsed.skill.location)
        files = list_files(tree, folder, found.file, reader.limits, report)
        written = max(chunk.written, files.written)
        marks = None
        if isinstance(tree, Measured) and own is not None and files.marks is not None:
            marks = {"": own, **files.marks, found.file: chunk.version}
            if not tree.unchanged(folder, marks):
                marks, written = None, time.time()  # changed while it was read
        if isinstance(tree, Unsettled):
            written = max(written, tree.written(folder))
        doubtful = self._lacks(found.folder, files)
        bundle = Bundle(parsed.skill, files.infos, _generation(parsed.skill, files, marks))
        made = Made(bundle, tuple(report.found), marks if time.time() - written > CLOCK else None)
        if not self._rest.left(written, PATIENCE if doubtful else 1):
            self._kept.put(found.folder, made, 2 * len(chunk.data) + 1024 + 256 * len(files.infos))
        return Look(made, written, doubtful)


def _generation(skill: Skill, files: Files, marks: Mapping[str, str] | None) -> str:
    told = sorted(marks.items()) if marks is not None else [(info.path, info.size) for info in files.infos]
    return hashlib.sha256(json.dumps([skill.digest, told]).encode()).hexdigest()[:32]
