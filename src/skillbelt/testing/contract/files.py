"""Checks of level 3: every file of a skill is listed and readable, byte by byte and page by page, and no other."""

from __future__ import annotations

from random import Random
from typing import Any

from skillbelt.errors import (
    LimitError,
    ResourceError,
    ResourceNotFoundError,
    ResourceTypeError,
    SkillNotFoundError,
)
from skillbelt.limits import MIB
from skillbelt.models import Resource, ResourceInfo
from skillbelt.sources.base import Bundled
from skillbelt.testing.contract.base import FILES, RULES, Hooks, holds, joined, raises, same, skill_file

__all__ = ["FileChecks"]

_LARGE = Random(0).randbytes(MIB + 1)  # noqa: S311 - bytes that no packer makes small
_LOSSLESS = {
    "every-byte.bin": bytes(range(256)),
    "empty.txt": b"",
    "latin-1.txt": "caf\u00e9".encode("latin-1"),
    "utf-16.txt": "café".encode("utf-16"),
    "with-nul.txt": b"a\x00b",
    "crlf.txt": b"a\r\nb\r\n",
    "lone-cr.txt": b"a\rb",
    "mark.txt": b"\xef\xbb\xbfa",
    "blanks.txt": b"\n\n a \t\n\n",
    "fences.md": b"---\nname: other\n---\n",
    "half-a-character.txt": "é".encode()[:1],
    "large.bin": _LARGE,
}
_ODD = [
    "with space.md",
    "%2e%2e",
    "a..b.md",
    "references/..data.md",
    "references/...md",
    "ünï-日本-🎉.md",
    "-rf",
    "#1 & ; $HOME ~ {x} [y] 'z' +=@,!.md",
    "a/a.md",
    "UPPER.MD",
    "SKILL.md.bak",
]
_HIDDEN = [".env", ".git/config", "references/.secret.md", "node_modules/a.js", "scripts/__pycache__/a.pyc"]
_TEXT = b"# Reference\n"
_READS = {  # offset, max_bytes: data, truncated
    (0, 5): (b"# Ref", True),
    (0, 11): (b"# Reference", True),
    (0, 12): (_TEXT, False),
    (0, 13): (_TEXT, False),
    (2, 3): (b"Ref", True),
    (2, 100): (b"Reference\n", False),
    (11, 1): (b"\n", False),
    (12, 5): (b"", False),
    (1000, 5): (b"", False),
    (1 << 31, 5): (b"", False),
    (1 << 70, 5): (b"", False),
}
_NO_SIZES: list[Any] = [0, -1, 1 << 63, 1.5, "5", None]
_NO_OFFSETS: list[Any] = [-1, 1.5, "0", None]


class FileChecks(Hooks):
    """Level 3."""

    def test_a_bundle_is_the_skill_and_its_files(self) -> None:
        """A source that reads both as one gives what load() and resources() give, until something changes."""
        source = self.make(FILES)
        if not isinstance(source, Bundled):
            raise self.left_out("the source has no bundle().")
        name = self.name("mail")
        bundle = source.bundle(name)
        same(bundle.skill, source.load(name), "The skill of a bundle")
        same(tuple(bundle.resources), tuple(source.resources(name)), "The files of a bundle")
        same(source.bundle(name).generation, bundle.generation, "The generation of a skill that did not change")
        raises(SkillNotFoundError, "bundle() of a name that no skill has", source.bundle, self.name("none"))

    def test_every_file_is_listed_with_its_size_and_kind(self) -> None:
        """All of them, whatever their folder; the SKILL.md is the skill and none of its files."""
        infos = list(self.make(FILES).resources(self.name("mail")))
        kinds = {"scripts": "script", "references": "reference", "assets": "asset"}
        own = {path.removeprefix("mail/"): data for path, data in FILES.items() if path.startswith("mail/")}
        del own["SKILL.md"]
        for info in infos:
            holds(isinstance(info, ResourceInfo), f"resources() gave {type(info).__name__}, not ResourceInfo.")
        paths = [info.path for info in infos]
        same(sorted(paths), sorted(own), "The paths in resources()")
        in_order = sorted(paths), sorted(paths, key=lambda path: path.split("/"))
        holds(paths in in_order, f"resources() must be sorted by path: {paths}.")
        for info in infos:
            top = info.path.split("/")[0] if "/" in info.path else ""
            same(info.size, len(own[info.path]), f"The size of {info.path!r}")
            same(info.kind, kinds.get(top, "other"), f"The kind of {info.path!r}")

    def test_a_skill_of_one_file_has_no_resources(self) -> None:
        """An empty listing is an answer and no error."""
        source = self.make({"mail/SKILL.md": skill_file("mail")})
        same(list(source.resources(self.name("mail"))), [], "resources()")

    def test_files_are_lossless(self) -> None:
        """Binary, empty, of any encoding and any line ends, larger than one read: the same bytes come back."""
        source = self.make(FILES | {f"mail/assets/{path}": data for path, data in _LOSSLESS.items()})
        sizes = {info.path: info.size for info in source.resources(self.name("mail"))}
        for path, data in _LOSSLESS.items():
            same(sizes.get(f"assets/{path}"), len(data), f"The listed size of {path!r}")
            whole = joined(source, self.name("mail"), f"assets/{path}")
            holds(isinstance(whole, bytes), f"{path!r} is read as {type(whole).__name__}; a file is bytes.")
            same(whole, data, f"What is read of {path!r}")

    def test_pages_join_to_the_file(self) -> None:
        """Whatever their size, and wherever they cut a character."""
        source, name = self.make(FILES | {"mail/assets/text.md": "aé日🎉\r\n".encode() * 40}), self.name("mail")
        for page in (1, 2, 3, 7, 64, 1000):
            whole = joined(source, name, "assets/text.md", page=page)
            same(whole, "aé日🎉\r\n".encode() * 40, f"Pages of {page} bytes, joined,")
        large = self.make(FILES | {"mail/large.bin": _LARGE})
        same(joined(large, name, "large.bin", page=300_000), _LARGE, "Pages of 300000 bytes, joined,")

    def test_a_read_is_bounded_and_says_whether_more_follows(self) -> None:
        """A cut is always marked, and never claimed where there is none (S3-42)."""
        source, name = self.make(FILES | {"mail/text.md": _TEXT}), self.name("mail")
        for (offset, size), (data, truncated) in _READS.items():
            what = f"{size} bytes at {offset}"
            resource = source.read(name, "text.md", offset=offset, max_bytes=size)
            holds(isinstance(resource, Resource), f"read() gave {type(resource).__name__}, not Resource.")
            same(resource.data, data, what)
            same(resource.truncated, truncated, f"{what}: truncated")
            same(resource.offset, offset, f"{what}: offset")
            same((resource.total, resource.info.size), (len(_TEXT), len(_TEXT)), f"{what}: total and info.size")
            same(resource.info.path, "text.md", f"{what}: info.path")

    def test_without_bounds_one_mebibyte_is_read(self) -> None:
        """The default bound of one read (S3-03)."""
        resource = self.make(FILES | {"mail/large.bin": _LARGE}).read(self.name("mail"), "large.bin")
        same((len(resource.data), resource.truncated, resource.total), (MIB, True, MIB + 1), "A read without bounds")

    def test_bounds_that_are_no_usable_numbers_are_refused(self) -> None:
        """Nothing is guessed from them (S3-43)."""
        source, name = self.make(FILES), self.name("mail")
        for size in _NO_SIZES:
            what = f"read() with max_bytes={size!r}"
            raises(LimitError, what, source.read, name, "notes.txt", max_bytes=size)
        for offset in _NO_OFFSETS:
            what = f"read() with offset={offset!r}"
            raises(LimitError, what, source.read, name, "notes.txt", offset=offset)

    def test_the_skill_file_itself_can_be_read(self) -> None:
        """A body that was cut for the model is read on from there."""
        source = self.make(FILES)
        for folder in ("mail", "pdf"):
            data = FILES[f"{folder}/SKILL.md"]
            same(source.read(self.name(folder), "SKILL.md").data, data, f"The SKILL.md of {folder}")

    def test_what_is_listed_is_what_can_be_read(self) -> None:
        """No file is listed and refused, none is served that no listing shows; odd names are only names."""
        odd = {f"mail/{path}": path.encode() for path in [*_ODD, *_HIDDEN]}
        source, name = self.make(FILES | odd), self.name("mail")
        listed = {info.path for info in source.resources(name)}
        for whole, data in (FILES | odd).items():
            folder, _, path = whole.partition("/")
            if folder != "mail" or path == "SKILL.md":
                continue
            if path in _HIDDEN:
                holds(path not in listed, f"The hidden file {path!r} is listed.")
                raises(ResourceNotFoundError, f"read({path!r}), a hidden file,", source.read, name, path)
            else:
                holds(path in listed, f"{path!r} is not listed.")
                same(source.read(name, path).data, data, f"What is read of {path!r}")

    def test_a_missing_file_is_not_a_missing_skill(self) -> None:
        """Callers tell them apart, and both are «file not found» (S3-40)."""
        source = self.make(FILES)
        for path in ("missing.md", "references/missing.md", "missing/rules.md", "Rules.md", "rules.md"):
            error = raises(
                ResourceNotFoundError,
                f"read({path!r})",
                source.read,
                self.name("mail"),
                path,
                but=SkillNotFoundError,
            )
            holds(isinstance(error, FileNotFoundError), "ResourceNotFoundError must be a FileNotFoundError.")
        same(source.read(self.name("mail"), "references/rules.md").data, RULES, "A file after misses")

    def test_only_a_file_is_a_file(self) -> None:
        """A folder has no bytes (S3-36), and a file no files below it."""
        source, name = self.make(FILES), self.name("mail")
        raises(ResourceTypeError, "read() of a folder", source.read, name, "references")
        raises(ResourceTypeError, "read() of a folder", source.read, name, "examples/deep")
        raises(ResourceError, "read() below a file", source.read, name, "notes.txt/more")

    def test_a_file_of_a_missing_skill_is_a_missing_skill(self) -> None:
        """The skill is what is missing (S3-29)."""
        source = self.make(FILES)
        raises(SkillNotFoundError, "read() of no skill", source.read, self.name("none"), "references/rules.md")
        raises(SkillNotFoundError, "resources() of no skill", source.resources, self.name("none"))
