"""Checks over time: what changed is seen at the next call, and threads that ask at once get the same answers."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from skillbelt.errors import InvalidSkillError, ResourceNotFoundError, SkillNotFoundError
from skillbelt.parsing import name_key
from skillbelt.sources import ResourceSource
from skillbelt.sources.base import Versioned
from skillbelt.testing.contract.base import (
    CALLS,
    FILES,
    RULES,
    Hooks,
    holds,
    joined,
    names,
    raises,
    same,
    skill_file,
)

__all__ = ["ChangeChecks"]

_THREADS = 8
_ROUNDS = 12
_ENDS = 60.0
"""Seconds after which threads that should have ended long ago are taken to hang."""


class ChangeChecks(Hooks):
    """Staleness and concurrency."""

    def test_an_edit_is_seen_at_the_next_call(self) -> None:
        """No cache, no refresh call; also when the new text is as long as the old one (S3-32)."""
        source, name = self._known(FILES), self.name("mail")
        before = source.load(name)
        for description, body in (
            ("Sorts mail.", "Start.\n"),
            ("Files mail.", "Start.\n"),
            ("Other.", "Longer by far.\n"),
        ):
            self.change(source, FILES | {"mail/SKILL.md": skill_file("mail", description=description, body=body)})
            skill = source.load(name)
            same(skill.instructions, body, "The body after an edit")
            same(skill.description, description, "The loaded description after an edit")
            same(source.lookup(name).description, description, "The description after an edit")
            same({s.name: s.description for s in source.list()}[name], description, "The listed one after an edit")
            holds(skill.digest != before.digest, "The digest is the same after an edit.")
            before = skill
        same(source.load(self.name("pdf")).instructions, "Fill.\n", "The body of the skill that was not edited")

    def test_an_edit_of_a_file_is_seen_at_the_next_read(self) -> None:
        """Longer, shorter, new and removed files (S3-32, S3-40)."""
        source, name = self._known(FILES), self.name("mail")
        for data in (RULES.upper(), b"Shorter.\n", RULES * 100):
            self.change(source, FILES | {"mail/references/rules.md": data, "mail/new.txt": data})
            for path in ("references/rules.md", "new.txt"):
                same(joined(source, name, path), data, f"{path!r} after an edit")
            sizes = {info.path: info.size for info in source.resources(name)}
            same(
                (sizes["references/rules.md"], sizes.get("new.txt")), (len(data), len(data)), "The sizes after an edit"
            )
        self.change(source, {path: data for path, data in FILES.items() if path != "mail/references/rules.md"})
        for path in ("references/rules.md", "new.txt"):
            holds(path not in [i.path for i in source.resources(name)], f"The removed file {path!r} is listed.")
            raises(ResourceNotFoundError, "read() of a removed file", source.read, name, path)

    def test_a_removed_skill_is_missing_and_a_new_one_found(self) -> None:
        """Also when it was just listed, loaded and read (S3-41)."""
        source = self._known(FILES)
        without = {path: data for path, data in FILES.items() if not path.startswith("mail/")}
        self.change(source, without | {"new/SKILL.md": skill_file("new"), "new/a.md": b"New."})
        for call, ask in CALLS.items():
            raises(
                SkillNotFoundError,
                f"{call}() of a removed skill",
                ask,
                source,
                self.name("mail"),
                but=InvalidSkillError,
            )
        same(source.load(self.name("new")).instructions, "Begin.\n", "The body of a new skill")
        same(source.read(self.name("new"), "a.md").data, b"New.", "A file of a new skill")
        same(names(source), sorted([self.name("new"), self.name("pdf")]), "list() after a skill was exchanged")
        if self.may_be_empty:
            self.change(source, {})
            same(names(source), [], "list() after everything was removed")

    def test_a_skill_that_was_broken_says_so_until_it_is_mended(self) -> None:
        """The last good text is not served instead, and the others stay."""
        source, name = self._known(FILES), self.name("mail")
        self.change(source, FILES | {"mail/SKILL.md": b"---\nname: mail\n"})
        for call, ask in CALLS.items():
            raises(InvalidSkillError, f"{call}() of a skill broken since", ask, source, name)
        same(names(source), [self.name("pdf")], "list() with a skill broken since")
        same(source.load(self.name("pdf")).instructions, "Fill.\n", "The body of the other skill")
        self.change(source, FILES)
        same(source.load(name).description, "Sorts mail.", "The description of a mended skill")
        same(names(source), sorted([name, self.name("pdf")]), "list() with the skill mended")

    def test_versions_tell_what_was_written_anew(self) -> None:
        """And nothing else, so that a router reloads what changed."""
        source = self._known(FILES)
        if not isinstance(source, Versioned):
            raise self.left_out("the source has no versions().")
        before = dict(source.versions())
        self.change(source, FILES | {"mail/SKILL.md": skill_file("mail", description="Files mail.", body="Start.\n")})
        source.list()
        after = source.versions()
        key = name_key(self.name("mail"))
        holds(after[key] != before[key], "The version of an edited skill is the same.")

    def test_threads_that_ask_at_once_get_the_same_answers(self) -> None:
        """A source is shared by all conversations of a process."""
        data = b"0123456789abcdef" * 1000
        source = self.make(FILES | {"mail/data.bin": data, "broken/SKILL.md": b"No frontmatter."})
        mail, pdf = self.name("mail"), self.name("pdf")
        failures: list[BaseException] = []
        start = threading.Barrier(_THREADS)

        def ask(number: int) -> None:
            first, second = (mail, pdf) if number % 2 else (pdf, mail)
            bodies = {mail: "Begin.\n", pdf: "Fill.\n"}
            for _ in range(_ROUNDS):
                same(names(source), sorted([mail, pdf]), "list() in a thread")
                for name in (first, second):
                    same(source.load(name).instructions, bodies[name], f"load({name!r}) in a thread")
                    same(source.lookup(name).name, name, f"lookup({name!r}).name in a thread")
                same(joined(source, mail, "data.bin", page=7000), data, "A file read in a thread")
                paths = [info.path for info in source.resources(pdf)]
                same(paths, ["references/secret.md"], "resources() in a thread")
                raises(InvalidSkillError, "load() of a broken skill", source.load, self.name("broken"))
                raises(SkillNotFoundError, "load() of no skill", source.load, self.name("none"))
                holds(any(d.severity == "error" for d in source.diagnostics()), "diagnostics() are lost in a thread.")

        def run(number: int) -> None:
            try:
                start.wait(_ENDS)
                ask(number)
            except BaseException as error:  # handed to the thread that runs the check
                failures.append(error)

        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_ENDS)
        if failures:
            raise AssertionError(f"{len(failures)} of {_THREADS} threads failed: {failures[0]}") from failures[0]
        holds(not any(thread.is_alive() for thread in threads), "Threads that ask at once do not end.")

    def _known(self, files: Mapping[str, bytes]) -> ResourceSource:
        """Return a source that was asked for everything before it changes."""
        if not self.writable:
            raise self.left_out("what the source holds does not change.")
        source = self.make(files)
        for name in names(source):
            for ask in CALLS.values():
                ask(source, name)
            for info in source.resources(name):
                source.read(name, info.path)
        source.diagnostics()
        return source
