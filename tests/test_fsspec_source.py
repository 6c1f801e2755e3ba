"""Skills on fsspec file systems: memory, disk, zip, and S3 as it is spoken on the wire, with its requests counted."""

import os
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec import AbstractFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from s3_server import SECRET, S3Server
from skillbelt import (
    STRICT,
    InvalidSkillError,
    Limits,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceSource,
    ResourceTypeError,
    SkillNotFoundError,
    SkillRouter,
    SourceError,
)
from skillbelt.errors import MissingExtraError
from skillbelt.sources.base import Versioned
from skillbelt.sources.remote import FsspecTree, fsspec_source
from skillbelt.sources.tree_source import TreeSource

MAIL = "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"


def skill(name: str, body: str = "Begin.\n") -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}".encode()


@pytest.fixture
def files() -> Iterator[Any]:
    """The in-memory file system, which all of a process share."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def put(system: Any, root: str, names: Sequence[str] = ("mail", "pdf")) -> None:
    for name in names:
        system.pipe_file(f"{root}/{name}/SKILL.md", skill(name, "Begin.\n" + "x" * 20_000))
        system.pipe_file(f"{root}/{name}/references/a.md", b"hello")


def codes(source: TreeSource) -> list[str]:
    return [d.code for d in source.diagnostics()]


# --- any file system --------------------------------------------------------------------------------------------------


def test_skills_in_memory_are_listed_loaded_and_read(files: Any) -> None:
    put(files, "/skills")
    files.pipe_file("/skills/mail/scripts/deep/run.sh", b"#!/bin/sh\n")
    source = fsspec_source("memory://skills")
    assert isinstance(source, ResourceSource) and isinstance(source, Versioned)
    assert [s.name for s in source.list()] == ["mail", "pdf"]
    loaded = source.load("Mail")
    assert loaded.instructions.startswith("Begin.\n") and len(loaded.instructions) == 20_007
    assert (loaded.location, loaded.source) == ("memory://skills/mail/SKILL.md", "memory://skills")
    assert source.lookup("mail").description == "Does mail."
    assert [(i.path, i.size) for i in source.resources("mail")] == [("references/a.md", 5), ("scripts/deep/run.sh", 10)]
    page = source.read("mail", "references/a.md", offset=1, max_bytes=3)
    assert (page.data, page.total, page.truncated) == (b"ell", 5, True)
    assert source.read("mail", "references/a.md", offset=99).data == b""
    assert source.problems() == {} and codes(source) == []
    assert "Begin." in SkillRouter(source).activate("mail").text


def test_the_root_may_be_the_top_of_a_file_system_or_a_skill_itself(files: Any) -> None:
    put(files, "")
    assert [s.name for s in fsspec_source("memory://").list()] == ["mail", "pdf"]
    assert [s.name for s in fsspec_source("memory:///").list()] == ["mail", "pdf"]
    alone = fsspec_source("memory://mail/", profile=STRICT)
    assert [s.name for s in alone.list()] == ["mail"]
    assert alone.load("mail").location == "memory://mail/SKILL.md"


def test_edits_are_seen_at_the_next_call_and_change_the_version(files: Any) -> None:
    put(files, "/skills")
    source = fsspec_source("memory://skills")
    router = SkillRouter(source)
    assert [s.name for s in router.skills()] == ["mail", "pdf"]
    files.pipe_file("/skills/mail/SKILL.md", skill("mail", "Go on.\n"))
    assert source.load("mail").instructions == "Go on.\n"
    assert router.reload().changed == ("mail",)
    assert not router.reload()
    files.rm("/skills/pdf", recursive=True)
    with pytest.raises(SkillNotFoundError):
        source.load("pdf")
    put(files, "/skills", ["new", "brief"])
    assert len(source.list()) == 3
    files.rm("/skills/brief/SKILL.md")
    assert [s.name for s in source.list()] == ["mail", "new"]
    assert source.load("new").name == "new"
    files.pipe_file("/skills/mail/references/a.md", b"longer than before")
    assert source.read("mail", "references/a.md").total == 18


def test_what_cannot_be_read_is_said_in_its_own_way(files: Any) -> None:
    put(files, "/skills")
    files.mkdir("/skills/bare")
    source = fsspec_source("memory://skills")
    with pytest.raises(ResourceNotFoundError, match=r"There is no file 'references/b\.md'"):
        source.read("mail", "references/b.md")
    with pytest.raises(ResourceNotFoundError, match=r"There is no file 'no/b\.md'"):
        source.read("mail", "no/b.md")
    with pytest.raises(ResourceNotFoundError):
        source.read("mail", "references/a.md/b")
    with pytest.raises(ResourceTypeError, match="'references' is a folder"):
        source.read("mail", "references")
    for path in ("../pdf/SKILL.md", "/etc/passwd", "references//a.md", "a\\b"):
        with pytest.raises(ResourcePathError):
            source.read("mail", path)
    with pytest.raises(InvalidSkillError, match=r"no SKILL\.md"):
        source.load("bare")


def test_a_folder_that_is_not_there_is_empty_and_said_so_and_a_file_is_an_error(files: Any) -> None:
    source = fsspec_source("memory://nowhere")
    assert source.list() == () and codes(source) == ["folder-missing"]
    put(files, "/skills")
    with pytest.raises(SourceError, match="is not a directory"):
        fsspec_source("memory://skills/mail/SKILL.md").list()


async def test_it_works_inside_a_running_event_loop(files: Any) -> None:
    put(files, "/skills")
    assert fsspec_source("memory://skills").load("mail").name == "mail"


def test_threads_share_a_source_and_listings_are_not_kept_between_calls(files: Any) -> None:
    names = [f"s{number}" for number in range(20)]
    put(files, "/skills", names)
    source = fsspec_source("memory://skills")
    got: list[str] = []
    threads = [threading.Thread(target=lambda name=name: got.append(source.load(name).name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(names)
    assert not source._tree._call.listings  # type: ignore[attr-defined]


def test_a_tree_by_itself_answers_about_folders_and_files(files: Any) -> None:
    put(files, "/skills")
    tree = FsspecTree("memory://skills")
    assert (tree.label, tree.name, tree.on_disk) == ("memory://skills", "skills", False)
    assert tree.where("") == "memory://skills" and tree.where("mail") == "memory://skills/mail"
    assert repr(tree) == "FsspecTree('memory://skills')"
    assert {(e.name, e.kind) for e in tree.entries("mail")} == {("SKILL.md", "file"), ("references", "directory")}
    assert tree.kind("mail", "references").kind == "directory" and tree.kind("mail", "SKILL.md").kind == "file"
    with pytest.raises(ResourceNotFoundError):
        tree.kind("mail", "other")
    assert FsspecTree("memory://").name is None


@pytest.mark.parametrize("url", ["nosuch://bucket/skills", "", None, 5])
def test_a_url_of_no_known_kind_is_refused(url: Any) -> None:
    with pytest.raises(
        SourceError, match="Give a URL such as 's3:" if url == "nosuch://bucket/skills" else "needs a URL such as 's3:"
    ):
        fsspec_source(url)


@pytest.mark.parametrize("missing", ["fsspec.core", "s3fs"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(MissingExtraError, match='"skillbelt.remote."' if missing == "fsspec.core" else "s3fs$"):
        fsspec_source("s3://bucket/skills")


# --- file systems with ways of their own ------------------------------------------------------------------------------


class Odd(MemoryFileSystem):
    """Fails as it is told, says nothing of sizes, or uses a name twice, like some object stores."""

    protocol = "odd"
    cachable = False
    opened: ClassVar[list[int | None]] = []
    cat_file = AbstractFileSystem.cat_file  # no ranged read of its own: files are opened

    def __init__(self, fails: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.fails = fails

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.replace("odd://", "memory://"))

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        if self.fails == "ls":
            raise RuntimeError(f"no luck with {self.storage_options['token']} at\nhttps://me:pass@example.com")
        if self.fails == "denied":
            raise PermissionError(13, "Access Denied")
        found = super().ls(path, detail=detail, **kwargs)
        if self.fails == "sizeless":
            return [{k: v for k, v in info.items() if k != "size"} for info in found]
        if self.fails == "names":
            top = self._strip_protocol(path)
            marker = {"name": f"{top}/", "type": "file", "size": 0}
            odd = [{"name": f"{top}/{name}", "type": "file", "size": 1} for name in ("..", "a\\b", "mail")]
            pipe = {"name": f"{top}/pipe", "type": "other", "size": 0}
            return [marker, *found, *odd, pipe]
        return found

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **kwargs: Any) -> Any:
        self.opened.append(block_size)
        if self.fails == "open":
            raise OSError(5, "Input/output error", "/host/path")
        if self.fails == "text":
            return _Text()
        if self.fails == "whole":
            return _Whole(super()._open(path, mode, **kwargs).getvalue())
        return super()._open(path, mode, block_size=block_size, **kwargs)


class _Text:
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None: ...

    def seek(self, _: int) -> None: ...

    def read(self, _: int) -> Any:
        return "text"


class _Whole(_Text):
    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, _: int) -> Any:
        return self.data


@pytest.fixture
def odd(files: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "odd", Odd)
    put(files, "/skills", ["mail"])
    Odd.opened.clear()
    return lambda fails="", **options: fsspec_source("odd://skills", fails=fails, token=SECRET, **options)


def test_a_file_system_that_only_opens_files_is_told_to_read_little(odd: Any) -> None:
    assert [s.name for s in odd().list()] == ["mail"]
    assert Odd.opened == [65536]


def test_a_file_system_that_fails_is_one_kind_of_error_without_secrets(odd: Any) -> None:
    for fails, words in (
        ("ls", "'odd://skills' cannot be read: RuntimeError: no luck with … at https://example.com."),
        ("denied", "access was denied (PermissionError: Access Denied). Check the credentials in storage_options."),
    ):
        with pytest.raises(SourceError) as caught:
            odd(fails).list()
        assert words in str(caught.value)
        assert caught.value.__suppress_context__
    assert SECRET not in repr(odd())
    source = odd("open")
    with pytest.raises(InvalidSkillError, match="Input/output error") as invalid:
        source.load("mail")
    assert "/host" not in str(invalid.value)
    with pytest.raises(InvalidSkillError, match="gave str, not bytes"):
        odd("text").load("mail")


def test_sizes_that_are_not_told_are_found_out_by_reading_one_byte_more(odd: Any) -> None:
    source = odd("sizeless")
    assert source.load("mail").instructions.startswith("Begin.")
    page = source.read("mail", "references/a.md", max_bytes=3)
    assert (page.data, page.total, page.truncated) == (b"hel", 4, True)
    page = source.read("mail", "references/a.md", max_bytes=5)
    assert (page.data, page.total, page.truncated) == (b"hello", 5, False)


def test_a_range_that_is_ignored_does_not_change_what_is_read(odd: Any) -> None:
    source = odd("whole")
    assert source.load("mail").instructions.startswith("Begin.")
    assert source.read("mail", "references/a.md", offset=2, max_bytes=2).data == b"ll"


def test_names_no_one_can_ask_for_are_left_out_and_a_name_may_be_file_and_folder(odd: Any) -> None:
    source = odd("names")
    assert [s.name for s in source.list()] == ["mail"]
    assert {i.path for i in source.resources("mail")} == {"mail", "references/a.md", "references/mail"}
    with pytest.raises(ResourceTypeError, match="not a regular file"):
        source.read("mail", "pipe")


# --- disk and archives ------------------------------------------------------------------------------------------------


def test_links_on_a_disk_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    (secret / "inner").mkdir(parents=True)
    (secret / "SKILL.md").write_text(MAIL)
    (secret / "key.txt").write_text("sesame")
    (secret / "inner" / "key.txt").write_text("sesame")
    root = tmp_path / "skills"
    (root / "mail").mkdir(parents=True)
    (root / "mail" / "SKILL.md").write_text(MAIL)
    (root / "linked").symlink_to(secret)
    (root / "mail" / "references").symlink_to(secret)
    (root / "mail" / "key.txt").symlink_to(secret / "key.txt")
    os.mkfifo(root / "mail" / "pipe")
    source = fsspec_source(root.as_uri())
    for _ in range(2):
        assert [s.name for s in source.list()] == ["mail"]
        assert codes(source) == ["symlink-escape"]
    assert source.resources("mail") == ()
    for path in ("references/key.txt", "references/inner/key.txt", "key.txt"):
        with pytest.raises(ResourcePathError, match="a link that is not followed"):
            source.read("mail", path)
    with pytest.raises(ResourceNotFoundError):
        source.read("mail", "SKILL.md/a")
    with pytest.raises(ResourceTypeError):
        source.read("mail", "pipe")
    (root / "mail" / "SKILL.md").unlink()
    (root / "mail" / "SKILL.md").symlink_to(secret / "SKILL.md")
    with pytest.raises(InvalidSkillError, match="a link"):
        source.load("mail")


def test_a_zip_on_a_disk_is_read_through_a_chained_url(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "skills.zip", "w") as archive:
        archive.writestr("skills/mail/SKILL.md", MAIL)
        archive.writestr("skills/mail/references/a.md", "hello")
    source = fsspec_source(f"zip://skills::{(tmp_path / 'skills.zip').as_uri()}")
    assert source.load("mail").location == "mail/SKILL.md"
    assert source.read("mail", "references/a.md").text() == "hello"
    assert source.versions()["mail"]


# --- S3 ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    pytest.importorskip("moto")
    pytest.importorskip("s3fs")
    with pytest.MonkeyPatch.context() as patch, S3Server() as server:
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = fsspec.filesystem("s3", **server.options, skip_instance_cache=True)
        system.mkdir("bucket")
        put(system, "bucket/skills", ["mail", "pdf", "zip"])
        system.pipe_file("bucket/skills/mail/", b"")  # the marker some tools write for a folder
        system.pipe_file("bucket/skills/mail/../escape.md", b"x")
        put(system, "bucket/edited", ["mail"])
        server.system = system  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def bucket(s3: S3Server) -> S3Server:
    s3.forget()
    return s3


def test_listing_a_bucket_takes_one_listing_a_folder_and_one_ranged_read_a_skill(bucket: S3Server) -> None:
    source = fsspec_source("s3://bucket/skills", **bucket.options)
    assert bucket.kinds == []
    assert [s.name for s in source.list()] == ["mail", "pdf", "zip"]
    assert bucket.kinds == [
        "list skills/",
        "list skills/mail/",
        "get skills/mail/SKILL.md 0-4095",
        "list skills/pdf/",
        "get skills/pdf/SKILL.md 0-4095",
        "list skills/zip/",
        "get skills/zip/SKILL.md 0-4095",
    ]


def test_the_other_calls_take_no_more_than_they_need(bucket: S3Server) -> None:
    source = fsspec_source("s3://bucket/skills", **bucket.options)
    source.list()
    for call, asked in (
        (lambda: source.lookup("mail"), ["list skills/mail/"]),  # it has the ETag of the last scan
        (lambda: source.load("mail"), ["list skills/mail/", "get skills/mail/SKILL.md 0-20049"]),
        (
            lambda: source.resources("mail"),
            ["list skills/mail/", "list skills/mail/references/"],
        ),
        (
            lambda: source.read("mail", "references/a.md", offset=1, max_bytes=2),
            [
                "list skills/mail/",
                "list skills/mail/references/",
                "get skills/mail/references/a.md 1-2",
            ],
        ),
        (source.list, ["list skills/", "list skills/mail/", "list skills/pdf/", "list skills/zip/"]),
        (source.versions, []),
        (source.diagnostics, []),
    ):
        bucket.forget()
        call()
        assert bucket.kinds == asked
    assert [i.path for i in source.resources("mail")] == ["references/a.md"]
    assert source.read("mail", "references/a.md", offset=1, max_bytes=2).data == b"el"


def test_a_bucket_is_read_inside_a_running_event_loop_too(bucket: S3Server) -> None:
    import asyncio

    async def main() -> str:
        return fsspec_source("s3://bucket/skills", **bucket.options).load("mail").name

    assert asyncio.run(main()) == "mail"


def test_edits_in_a_bucket_are_seen_at_the_next_call(bucket: S3Server) -> None:
    source = fsspec_source("s3://bucket/edited", **bucket.options)
    router = SkillRouter(source)
    router.skills()
    assert not router.reload()
    bucket.system.pipe_file("bucket/edited/mail/SKILL.md", skill("mail", "Go on.\n"))  # type: ignore[attr-defined]
    bucket.system.pipe_file("bucket/edited/new/SKILL.md", skill("new"))  # type: ignore[attr-defined]
    assert source.load("mail").instructions == "Go on.\n"
    diff = router.reload()
    assert (diff.added, diff.changed) == (("new",), ("mail",))


def test_a_bucket_that_is_not_there_or_not_answering_is_said_to_be_so(bucket: S3Server) -> None:
    source = fsspec_source("s3://no-such-bucket/skills", **bucket.options)
    assert source.list() == () and codes(source) == ["folder-missing"]
    options = bucket.options | {
        "client_kwargs": {"endpoint_url": "http://127.0.0.1:1"},
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    with pytest.raises(SourceError, match="'s3://bucket/skills' cannot be read: EndpointConnectionError") as caught:
        fsspec_source("s3://bucket/skills", **options).list()
    assert SECRET not in str(caught.value) + repr(fsspec_source("s3://bucket/skills", **options))
    with pytest.raises(SourceError, match="is not a directory"):
        fsspec_source("s3://bucket/skills/mail/SKILL.md", **bucket.options).list()


def test_limits_hold_in_a_bucket(bucket: S3Server) -> None:
    source = fsspec_source("s3://bucket/skills", limits=Limits(directories=2), **bucket.options)
    assert [s.name for s in source.list()] == ["mail"]
    assert "scan-limit" in codes(source)
    assert len(bucket.kinds) == 3
