"""Checks of levels 1 and 2: which skills there are, under which names, and exactly what they say."""

from __future__ import annotations

import hashlib
import unicodedata
from contextlib import suppress
from typing import Any

from skillbelt.errors import InvalidSkillError, SkillNotFoundError
from skillbelt.models import Skill
from skillbelt.parsing import STRICT, name_key
from skillbelt.sources import ResourceSource, SkillSource
from skillbelt.sources.base import Troubled, Versioned
from skillbelt.testing.contract.base import (
    BROKEN,
    CALLS,
    FILES,
    Hooks,
    holds,
    names,
    raises,
    refused,
    reported,
    same,
    skill_file,
)

__all__ = ["SkillChecks"]

_BODIES = {
    "nothing": "",
    "no newline at the end": "Begin.",
    "blank lines around it": "\n\n  Begin.  \n\n",
    "CRLF": "Begin.\r\nEnd.\r\n",
    "a lone CR": "Begin.\rEnd.",
    "a NUL": "Be\x00gin.\n",
    "other line separators": "a\u2028b\x0cc\x85d\n",
    "wide and combined characters": "日本 🎉 e\u0301 é\n",
    "a byte order mark inside": "Begin.\ufeff\n",
    "fences": "a\n---\nname: other\ndescription: Not this.\n---\nb\n",
    "a fence as its first line": "---\nBegin.\n",
    "a fenced example": "```yaml\n---\nname: other\n---\n```\n",
    "much": "0123456789abcde\n" * 8192,
}
_DESCRIPTIONS = {
    "Cuts --- and joins.": "Cuts --- and joins.",
    '"--- in quotes ---"': "--- in quotes ---",
    "|\n  First\n  ---\n  Last": "First\n---\nLast",
    ">-\n  One\n  ----\n  two": "One ---- two",
    "Ünïcode 日本 🎉": "Ünïcode 日本 🎉",
    "'It: has a colon # and a hash'": "It: has a colon # and a hash",
}


class SkillChecks(Hooks):
    """Levels 1 and 2."""

    def test_it_is_a_resource_source(self) -> None:
        """Whatever takes a source asks for one of two protocols (S3-01)."""
        source = self.make(FILES)
        holds(isinstance(source, SkillSource), "The source has not all methods of SkillSource.")
        holds(isinstance(source, ResourceSource), "The source has not all methods of ResourceSource.")

    def test_of_no_files_nothing_is_listed_and_nothing_found(self) -> None:
        """A place without skills is empty and no error (S3-22)."""
        if not self.may_be_empty:
            raise self.left_out("a place without skills is an error.")
        source = self.make({})
        same(list(source.list()), [], "list() of no files")
        for call, ask in CALLS.items():
            raises(SkillNotFoundError, f"{call}() of no files", ask, source, self.name("mail"))

    def test_every_skill_is_listed_once_and_sorted_by_name(self) -> None:
        """The same skills give the same catalog, in whatever order they were written (S3-19)."""
        folders = ["zeta", "a-b", "a", "ab", "mail", "b2", "b10"]
        made = {f"{folder}/SKILL.md": skill_file(folder) for folder in folders}
        expected = sorted(self.name(folder) for folder in folders)
        same(names(self.make(made)), expected, "list()")
        same(names(self.make(dict(reversed(made.items())))), expected, "list() of the same files in another order")

    def test_list_lookup_and_load_agree(self) -> None:
        """Level 1 is level 1, however it is asked for (S3-33)."""
        source = self.make(FILES)
        same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list()")
        for summary in source.list():
            same(source.lookup(summary.name), summary, f"lookup({summary.name!r})")
            skill = source.load(summary.name)
            holds(isinstance(skill, Skill), f"load() gave {type(skill).__name__}, not Skill.")
            same(skill.summary(), summary, f"load({summary.name!r}).summary()")
        same(source.lookup(self.name("mail")).description, "Sorts mail.", "The description of mail")
        same(source.load(self.name("mail")).frontmatter.metadata, {"version": "1.10"}, "The metadata of mail")

    def test_a_skill_can_be_asked_for_before_anything_was_listed(self) -> None:
        """No call is needed before another one."""
        for call, ask in CALLS.items():
            source = self.make(FILES)
            same(ask(source, self.name("mail")), ask(source, self.name("mail")), f"{call}() asked twice")
        same([d for d in reported(self.make(FILES)) if d.severity == "error"], [], "The errors of two good skills")

    def test_values_are_frozen_and_belong_to_the_caller(self) -> None:
        """What a caller does to an answer must not reach the next caller."""
        source, name = self.make(FILES), self.name("mail")
        skill = source.load(name)
        before = skill.model_copy(deep=True)
        values: list[Any] = [*source.list(), skill, skill.frontmatter, *source.resources(name)]
        for value in [*values, source.read(name, "notes.txt")]:
            field = next(iter(type(value).model_fields))
            held = getattr(value, field)
            with suppress(Exception):
                setattr(value, field, "changed by a caller")
            same(getattr(value, field), held, f"{type(value).__name__}.{field} of a frozen value")
        with suppress(Exception):
            skill.frontmatter.metadata["version"] = "changed by a caller"  # type: ignore[index]
        answers: list[Any] = [source.list(), source.resources(name)]
        for answer in answers:
            with suppress(Exception):
                answer.clear()
        same(source.load(name), before, "load() after a caller changed its answer")
        same(len(source.list()), 2, "The number of skills after a caller changed the list")
        holds(source.resources(name), "resources() is empty after a caller changed its answer.")

    def test_the_body_is_exactly_what_follows_the_fence(self) -> None:
        """Not one byte is trimmed or normalised (S3-15, S1-03)."""
        files = {f"s{i}/SKILL.md": skill_file(f"s{i}", body=body) for i, body in enumerate(_BODIES.values())}
        source = self.make(files)
        same(len(source.list()), len(files), "The number of skills")
        for i, (what, body) in enumerate(_BODIES.items()):
            skill, data = source.load(self.name(f"s{i}")), files[f"s{i}/SKILL.md"]
            same(skill.instructions, body, f"A body with {what}")
            same(skill.digest, hashlib.sha256(data).hexdigest(), f"The digest of a skill whose body has {what}")
            same(data[skill.body_offset :].decode(), body, f"What follows body_offset, with {what},")

    def test_line_ends_and_a_byte_order_mark_change_nothing(self) -> None:
        """CRLF fences are fences and a leading BOM is ignored, yet counts in the digest (S3-13, S3-14)."""
        data = b"\xef\xbb\xbf" + skill_file("mail", body="Begin.\nEnd.\n").replace(b"\n", b"\r\n")
        skill = self.make({"mail/SKILL.md": data}).load(self.name("mail"))
        same(skill.description, "Does mail.", "The description")
        same(skill.instructions, "Begin.\r\nEnd.\r\n", "The body")
        same(skill.digest, hashlib.sha256(data).hexdigest(), "The digest")

    def test_a_fence_inside_a_value_ends_nothing(self) -> None:
        """Only a whole line of three dashes is a fence (S3-13)."""
        folders = {f"s{i}": written for i, written in enumerate(_DESCRIPTIONS)}
        source = self.make({f"{f}/SKILL.md": skill_file(f, description=text) for f, text in folders.items()})
        for folder, written in folders.items():
            expected = _DESCRIPTIONS[written]
            same(source.lookup(self.name(folder)).description, expected, f"The description {written!r}")
            same(source.load(self.name(folder)).description, expected, f"The loaded description {written!r}")
            same(source.load(self.name(folder)).instructions, "Begin.\n", f"The body after the description {written!r}")

    def test_a_name_is_found_in_any_case_and_unicode_form(self) -> None:
        """Models write names as they like; what comes back is the skill's own spelling."""
        source = self.make({"café-bill/SKILL.md": skill_file("café-bill"), "mail/SKILL.md": skill_file("mail")})
        for folder in ("café-bill", "mail"):
            name = self.name(folder)
            for form in (name.upper(), name.title(), unicodedata.normalize("NFD", name)):
                same(source.lookup(form).name, name, f"lookup({form!r}).name")
                same(source.load(form).name, name, f"load({form!r}).name")
        same(
            source.lookup(self.name("\uff4d\uff41\uff49\uff4c")).name,
            self.name("mail"),
            "lookup() of full-width letters",
        )

    def test_a_missing_skill_is_not_found_and_close_matches_are_named(self) -> None:
        """«Not found» is never «invalid», and helps to ask again (S3-29)."""
        source = self.make(FILES)
        for call, ask in CALLS.items():
            error = raises(
                SkillNotFoundError,
                f"{call}() of a misspelt name",
                ask,
                source,
                self.name("maill"),
                but=InvalidSkillError,
            )
            holds(self.name("mail") in str(error), f"The message does not name the close match: {error}")

    def test_a_broken_skill_is_reported_and_hides_no_other(self) -> None:
        """Nothing is lost in silence, and one bad file takes nothing else away (S3-20)."""
        source = self.make(FILES | {f"{folder}/SKILL.md": data for folder, data in BROKEN.items()})
        same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list() with broken skills beside good ones")
        errors = [f"{d.path} {d.message}" for d in reported(source) if d.severity == "error"]
        for folder in BROKEN:
            holds(any(folder in error for error in errors), f"No error among the diagnostics speaks of {folder!r}.")
        for name in names(source):
            same(source.load(name).name, name, f"load({name!r}).name")

    def test_a_broken_skill_says_why_and_serves_nothing(self) -> None:
        """It exists, so it is invalid and not missing; no file of it is served (S3-30, S3-35)."""
        for folder, data in BROKEN.items():
            source = self.make(FILES | {f"{folder}/SKILL.md": data, f"{folder}/notes.txt": b"Not served."})
            asks = CALLS | {"read of a file": lambda source, name: source.read(name, "notes.txt")}
            for call, ask in asks.items():
                what = f"{call}() of the broken skill {folder!r}"
                error = raises(
                    InvalidSkillError,
                    what,
                    ask,
                    source,
                    self.name(folder),
                    but=SkillNotFoundError,
                )
                holds(any(d.severity == "error" for d in error.diagnostics), f"{what} has no error in .diagnostics.")

    def test_a_folder_without_skill_file_owns_its_name(self) -> None:
        """It is a broken skill and not a missing one, so that nothing else answers for it (S3-31)."""
        source = self.make(FILES | {"bare/notes.md": b"No SKILL.md here."})
        same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list()")
        for call, ask in CALLS.items():
            raises(
                InvalidSkillError,
                f"{call}() of a folder without SKILL.md",
                ask,
                source,
                self.name("bare"),
                but=SkillNotFoundError,
            )

    def test_hidden_folders_and_loose_files_are_no_skills(self) -> None:
        """Version control, caches and dependencies hold copies that nobody published."""
        hidden = [".git", ".hidden", "node_modules", "__pycache__"]
        more = {f"{folder}/SKILL.md": skill_file(folder.strip("._")) for folder in hidden}
        source = self.make(FILES | more | {"README.md": b"Loose.", "loose.txt": b"Loose."})
        same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list()")
        for folder in hidden:
            raises(SkillNotFoundError, f"load({folder!r})", source.load, self.name(folder))

    def test_a_skill_inside_a_skill_is_one_of_its_files(self) -> None:
        """Discovery stops at a skill."""
        inner = skill_file("inner")
        source = self.make(FILES | {"mail/steps/inner/SKILL.md": inner})
        same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list()")
        raises(SkillNotFoundError, "load('inner')", source.load, self.name("inner"))
        same(source.read(self.name("mail"), "steps/inner/SKILL.md").data, inner, "The inner SKILL.md")

    def test_of_two_skills_of_one_name_one_is_whole_and_the_other_reported(self) -> None:
        """The winner owns its whole folder: text of one with files of the other would be a third skill (S3-50)."""
        made: dict[str, bytes] = {}
        for folder in ("one", "two"):
            made[f"{folder}/SKILL.md"] = skill_file("same", description=folder, body=folder)
            made[f"{folder}/which.txt"] = folder.encode()
        source, name = self.make(made), self.name("same")
        if refused(source, name):
            return
        same(names(source), [name], "list()")
        same("duplicate-name" in [d.code for d in reported(source)], True, "Whether duplicate-name is reported")
        winner = source.lookup(name).description
        same(source.load(name).instructions, winner, "The body of the winner")
        same(source.read(name, "which.txt").data.decode(), winner, "The file of the winner")

    def test_a_strict_source_leaves_out_what_a_lenient_one_warns_of(self) -> None:
        """A profile changes what is usable, never whether it is said."""
        if not self.takes_profile:
            raise self.left_out("the source takes no profile.")
        files = FILES | {"mail-sorter/SKILL.md": skill_file("Mail Sorter")}
        lenient, strict = self.make(files), self.make(files, profile=STRICT)
        holds(self.name("Mail Sorter") in names(lenient), "LENIENT must list 'Mail Sorter', with a warning.")
        same(names(strict), sorted([self.name("mail"), self.name("pdf")]), "list() under STRICT")
        for source, severity in ((lenient, "warning"), (strict, "error")):
            said = [d.severity for d in reported(source) if "mail-sorter" in f"{d.path} {d.message}"]
            holds(severity in said, f"No {severity} speaks of the skill 'mail-sorter'.")
        raises(InvalidSkillError, "load() under STRICT", strict.load, self.name("mail-sorter"))

    def test_problems_and_versions_speak_of_the_right_names(self) -> None:
        """Routers and merges rely on them, where a source has them."""
        source = self.make(FILES | {"broken/SKILL.md": b"No frontmatter."})
        if not isinstance(source, Troubled) and not isinstance(source, Versioned):
            raise self.left_out("the source has neither problems() nor versions().")
        source.list()
        if isinstance(source, Troubled):
            same(set(source.problems()), {name_key(self.name("broken"))}, "The names in problems()")
        if isinstance(source, Versioned):
            known = {name_key(self.name("mail")), name_key(self.name("pdf"))}
            same(set(source.versions()), known, "The names in versions()")
