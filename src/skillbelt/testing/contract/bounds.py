"""Checks of confinement and limits: no path, name or link leads out of a skill, and no skill is too much."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from skillbelt.errors import (
    ContentTooLargeError,
    InvalidSkillError,
    LimitError,
    ResourceError,
    ResourcePathError,
    SkillError,
    SkillNotFoundError,
)
from skillbelt.limits import Limits
from skillbelt.parsing import STRICT
from skillbelt.sources import ResourceSource
from skillbelt.testing.contract.base import (
    CALLS,
    FILES,
    RULES,
    SECRET,
    Hooks,
    holds,
    joined,
    names,
    raises,
    refused,
    reported,
    same,
    skill_file,
)

__all__ = ["BoundChecks"]

_NO_PATHS: list[Any] = [
    "",
    ".",
    "..",
    "/",
    "../pdf/references/secret.md",
    "references/../../pdf/references/secret.md",
    "references/../../../etc/passwd",
    "references/../references/rules.md",
    "./references/rules.md",
    "references//rules.md",
    "references/./rules.md",
    "references/",
    "/etc/passwd",
    "/pdf/references/secret.md",
    "//host/share/secret.md",
    "file:///etc/passwd",
    "....//pdf/references/secret.md",
    "..\\pdf\\references\\secret.md",
    "references\\rules.md",
    "C:\\Windows\\win.ini",
    "references/rules.md\x00.png",
    "\x00",
    "references/\udcff.md",
    "a/" * 100 + "b",
    "x" * 100_000,
    None,
    7,
    b"references/rules.md",
    ["references/rules.md"],
    PurePosixPath("references/rules.md"),
]
"""Refused as they stand, before anything is looked up (S3-34)."""

_ONLY_NAMES = [
    "pdf/references/secret.md",
    "%2e%2e/pdf/references/secret.md",
    "..%2fpdf%2freferences%2fsecret.md",
    "%2e%2e%2fpdf%2freferences%2fsecret.md",
    "%252e%252e/pdf/references/secret.md",
    "\uff0e\uff0e/pdf/references/secret.md",
    "..\u2215pdf\u2215references\u2215secret.md",
    "..;/pdf/references/secret.md",
    ".. /pdf/references/secret.md",
    "C:/Windows/win.ini",
    "~/secret.md",
    "$HOME/secret.md",
    "*/references/secret.md",
    "\x1b[2J\u202e\n",
    "x" * 300,
    "é" * 2000,
]
"""Names like any other, which no file has: nothing is decoded, expanded or normalised."""

_NO_NAMES: list[Any] = [
    "",
    " ",
    ".",
    "..",
    "/",
    "*",
    "{mail}/..",
    "{mail}/../{pdf}",
    "../{pdf}",
    "./{mail}",
    "/{mail}",
    "{mail}/",
    "{mail}/SKILL.md",
    "{mail}/references",
    "{mail}\\..\\{pdf}",
    "{mail}\x00",
    "{mail}%2f..%2f{pdf}",
    "%6dail",
    "\x1b[2J\u202e\ndrop\r\n",
    "\ud800",
    "x" * 100_000,
    "\n" * 100_000,
    "é" * 100_000,
    None,
    7,
    b"mail",
    ["mail"],
]
_CONFINED: Mapping[str, Callable[[str], str]] = {
    "sibling.md": lambda _: "../pdf/references/secret.md",
    "references/sibling.md": lambda _: "../../pdf/references/secret.md",
    "outside.md": lambda outside: f"{outside}/secret/references/secret.md",
    "up": lambda _: "..",
    "sibling": lambda _: "../pdf",
    "outside": lambda outside: f"{outside}/secret",
    "nowhere.md": lambda _: "nowhere",
    "loop.md": lambda _: "loop.md",
    "chain.md": lambda _: "sibling.md",
}
_THROUGH = ["up/pdf/references/secret.md", "sibling/references/secret.md", "outside/references/secret.md"]


class BoundChecks(Hooks):
    """Confinement, the shape of errors, and limits."""

    def test_no_path_leads_out_of_a_skill(self) -> None:
        """A path is judged on its text and then looked up as it is (S3-34, S3-39)."""
        source, name = self.make(FILES | {"secret.md": SECRET}), self.name("mail")
        for path in _NO_PATHS:
            raises(ResourcePathError, f"read({path!r:.80})", source.read, name, path)
        for path in _ONLY_NAMES:
            raises(ResourceError, f"read({path!r:.80})", source.read, name, path)
        same(source.read(name, "references/rules.md").data, RULES, "A good path after bad ones")
        same(source.read(self.name("pdf"), "references/secret.md").data, SECRET, "The file of pdf, asked of pdf,")

    def test_no_name_leads_to_another_skill(self) -> None:
        """A name is looked up and never joined into a path (S3-27)."""
        source = self.make(FILES | {"secret.md": SECRET})
        for pattern in _NO_NAMES:
            name = pattern
            if isinstance(pattern, str):
                name = pattern.replace("{mail}", self.name("mail")).replace("{pdf}", self.name("pdf"))
            for call, ask in CALLS.items():
                raises(SkillNotFoundError, f"{call}({name!r:.80})", ask, source, name)
        same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list() after bad names")

    def test_errors_stay_short_whatever_the_place_holds(self) -> None:
        """A message reaches a model: it is bounded, printable, and tells nothing of the host."""
        files = {f"{letter * 60}/SKILL.md": skill_file(letter * 250) for letter in "abcdefghijklmnopq"}
        files |= {f"close-{number}/SKILL.md": skill_file("é" * 240 + str(number)) for number in range(5)}
        files |= FILES | {f"bad-{letter * 50}/SKILL.md": b"---\nname: \x1b[2J\n" for letter in "ab"}
        source = self.make(files)
        source.list()
        reported(source)
        folder = PurePosixPath(source.lookup(self.name("mail")).location or "mail").parent.parent
        errors = [
            raises(SkillNotFoundError, "load() of no skill", source.load, self.name("nothing-like-it")),
            raises(SkillNotFoundError, "load() of a name close to long ones", source.load, self.name("é" * 240)),
            raises(InvalidSkillError, "load() of a broken skill", source.load, self.name(f"bad-{'a' * 50}")),
            raises(ResourceError, "read() of no file", source.read, self.name("mail"), "missing.md"),
            raises(ResourceError, "read() of a folder", source.read, self.name("mail"), "references"),
            raises(ResourceError, "read() of a path out", source.read, self.name("mail"), "../secret.md"),
        ]
        for error in errors:
            holds(
                not folder.is_absolute() or len(folder.parts) < 2 or str(folder) not in str(error),
                f"The message names a folder of the host, {folder}: {error}",
            )

    def test_no_link_leads_out_of_a_skill(self) -> None:
        """Links that leave it are refused and not listed (S3-38, S3-39); one that stays is served or refused."""
        if not self.holds_links:
            raise self.left_out("the place holds no symbolic links.")
        with tempfile.TemporaryDirectory() as outside:
            _secret(outside)
            links = {f"mail/{path}": target(outside) for path, target in _CONFINED.items()}
            source, name = self.make_linked(FILES, links | {"mail/inside.md": "references/rules.md"}), self.name("mail")
            if refused(source, self.name("mail")):
                return
            listed = {info.path for info in source.resources(name)}
            for path in [*_CONFINED, *_THROUGH]:
                holds(path not in listed, f"{path!r}, a link that leaves the skill, is listed.")
                raises(ResourceError, f"read({path!r}), a link,", source.read, name, path)
            same("outside.md" in _said(source), True, "Whether a link that leaves the skill is reported")
            if "inside.md" in listed:
                same(source.read(name, "inside.md").data, RULES, "A link that stays inside")
            else:
                raises(ResourceError, "read() of an unlisted link", source.read, name, "inside.md")

    def test_no_link_makes_a_skill_of_what_lies_outside(self) -> None:
        """A linked folder, or a linked SKILL.md, does not bring foreign text in (S3-38)."""
        if not self.holds_links:
            raise self.left_out("the place holds no symbolic links.")
        with tempfile.TemporaryDirectory() as outside:
            _secret(outside)
            links = {"secret": f"{outside}/secret", "file/SKILL.md": f"{outside}/secret/SKILL.md"}
            source = self.make_linked(FILES, links)
            if refused(source, self.name("mail")):
                return
            same(names(source), sorted([self.name("mail"), self.name("pdf")]), "list()")
            said = _said(source)
            for folder in ("secret", "file"):
                holds(folder in said, f"No diagnostic speaks of {folder!r}.")
                for call, ask in CALLS.items():
                    what = f"{call}() of {folder!r}, a link out,"
                    raises(SkillError, what, ask, source, self.name(folder))

    def test_a_read_never_gives_more_than_the_limit(self) -> None:
        """Whatever is asked for."""
        source, name = self._limited(FILES | {"mail/text.md": b"0123456789abc"}, resource_bytes=5), self.name("mail")
        resource = source.read(name, "text.md", max_bytes=1000)
        same((resource.data, resource.truncated, resource.total), (b"01234", True, 13), "A read past resource_bytes")
        same(joined(source, name, "text.md"), b"0123456789abc", "Pages of resource_bytes, joined,")

    def test_a_skill_too_large_to_load_is_still_listed(self) -> None:
        """A listing reads no body (S3-24, S3-28)."""
        files = FILES | {"large/SKILL.md": skill_file("large", body="x" * 1000)}
        source = self._limited(files, frontmatter_bytes=200, skill_bytes=500)
        holds(self.name("large") in names(source), "A skill with a large body is not listed.")
        raises(ContentTooLargeError, "load() past skill_bytes", source.load, self.name("large"))
        same(source.load(self.name("mail")).name, self.name("mail"), "load() of another skill")

    def test_the_budget_of_a_frontmatter_is_exact(self) -> None:
        """Raw bytes up to the end of the closing fence: just fits, or one too many (S3-25)."""
        data = skill_file("mail", description="x" * 300)
        size = data.index(b"---\nBegin") + len(b"---\n")
        fits = self._limited({"mail/SKILL.md": data}, frontmatter_bytes=size)
        same(names(fits), [self.name("mail")], "list() of a frontmatter that just fits")
        source = self._limited({"mail/SKILL.md": data}, frontmatter_bytes=size - 2)
        same(names(source), [], "list() of a frontmatter that is too large")
        holds(any(d.severity == "error" for d in reported(source)), "A frontmatter too large is not reported.")
        raises(ContentTooLargeError, "load() past frontmatter_bytes", source.load, self.name("mail"))

    def test_past_a_limit_the_rest_is_reported_and_strict_raises(self) -> None:
        """Too many skills or files are cut with a word, or not accepted at all (S3-23)."""
        many = {f"s{i}/SKILL.md": skill_file(f"s{i}") for i in range(10)}
        files = {f"mail/references/{i}.md": b"x" for i in range(5)} | {"mail/SKILL.md": skill_file("mail")}
        source = self._limited(many, entries=3)
        holds(0 < len(names(source)) < len(many), f"With entries=3, {len(names(source))} of {len(many)} are listed.")
        holds("scan-limit" in [d.code for d in reported(source)], "Skills past the limit are left out in silence.")
        source = self._limited(files, resources=3)
        same(len(source.resources(self.name("mail"))), 3, "The number of files listed with resources=3")
        holds("scan-limit" in [d.code for d in reported(source)], "Files past the limit are left out in silence.")
        if self.takes_profile:
            strict = self._limited(many, entries=3, profile=STRICT)
            raises(LimitError, "list() under STRICT", strict.list)
            strict = self._limited(files, resources=3, profile=STRICT)
            raises(LimitError, "resources() under STRICT", strict.resources, self.name("mail"))

    def _limited(self, files: Mapping[str, bytes], *, profile: Any = None, **limits: int) -> ResourceSource:
        if not self.takes_limits:
            raise self.left_out("the source takes no limits.")
        options = {} if profile is None else {"profile": profile}
        return self.make(files, limits=Limits(**limits), **options)


def _secret(outside: str) -> None:
    folder = Path(outside, "secret", "references")
    folder.mkdir(parents=True)
    (folder / "secret.md").write_bytes(SECRET)
    (folder.parent / "SKILL.md").write_bytes(skill_file("secret", description=SECRET.decode().strip()))


def _said(source: ResourceSource) -> str:
    return " ".join(f"{d.path} {d.message}" for d in reported(source))
