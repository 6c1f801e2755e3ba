"""Skills inside installed packages and in anything folder-like: found without importing anything, and confined."""

import importlib
import io
import os
import sys
import zipfile
from importlib.machinery import ModuleSpec
from importlib.resources import files as resource_files
from importlib.resources.abc import Traversable, TraversableResources
from importlib.resources.readers import MultiplexedPath
from pathlib import Path

import pytest

from skillbelt import (
    STRICT,
    DirectorySource,
    Limits,
    MappingSource,
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceTypeError,
    SourceError,
)
from skillbelt.sources import TraversableTree, package_source, tree_source
from tests_support import CORPUS, corpus_folder

FILES = {
    "demo/SKILL.md": b"---\nname: demo\ndescription: d\n---\nbody\n",
    "demo/references/a.md": b"read me\n",
    "demo/scripts/run.py": b"print()\n",
    "mail/SKILL.md": b"---\nname: mail\ndescription: Sorts mail.\n---\nSort.\n",
}


def content(source):
    return {
        summary.name: (
            source.load(summary.name).instructions,
            {info.path: source.read(summary.name, info.path).data for info in source.resources(summary.name)},
        )
        for summary in source.list()
    }


WANTED = content(MappingSource(FILES))
BOOM = "raise RuntimeError('this package was imported')\n"


def write(root, files):
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data if isinstance(data, bytes) else data.encode())
    return root


def zip_at(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """A folder on sys.path; what is imported from it is forgotten afterwards."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    known = set(sys.modules)
    yield site
    for name in set(sys.modules) - known:
        if name.startswith("pkg_"):
            del sys.modules[name]
    importlib.invalidate_caches()


# --- packages ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-58")
def test_a_package_in_a_folder_is_a_directory_source_and_is_not_imported(on_path):
    write(on_path, {"pkg_a/__init__.py": BOOM, "pkg_a/skills/__init__.py": BOOM})
    write(on_path / "pkg_a/skills", FILES)
    write(on_path / "pkg_a/my-skills", FILES)
    for name in ("pkg_a.skills", "pkg_a.my-skills"):
        source = package_source(name)
        assert isinstance(source, DirectorySource)
        assert content(source) == WANTED
    assert not any(name.startswith("pkg_a") for name in sys.modules)
    location = package_source("pkg_a.skills").lookup("demo").location
    assert location == str(on_path / "pkg_a/skills/demo/SKILL.md")


def test_a_whole_package_may_be_the_root_and_its_profile_and_limits_are_kept(on_path):
    write(on_path, {"pkg_b/__init__.py": BOOM, **{f"pkg_b/{path}": data for path, data in FILES.items()}})
    source = package_source("pkg_b", profile=STRICT, limits=Limits(resource_bytes=4))
    assert source.profile is STRICT
    assert source.read("demo", "references/a.md").data == b"read"


@pytest.mark.row("S3-58")
@pytest.mark.parametrize("init", [{"pkg_z/__init__.py": BOOM}, {"pkg_z/": b""}], ids=["package", "namespace package"])
def test_a_package_in_a_zip_is_read_where_it_lies(tmp_path, monkeypatch, init):
    path = zip_at(tmp_path / "lib.zip", {**init, **{f"pkg_z/skills/{name}": data for name, data in FILES.items()}})
    monkeypatch.syspath_prepend(str(path))
    importlib.invalidate_caches()
    source = package_source("pkg_z.skills")
    assert content(source) == WANTED
    assert source.lookup("demo").source == "pkg_z.skills"
    assert "pkg_z" not in sys.modules
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(SourceError, match=r"has no folder 'none'\. Available folders: skills"):
        package_source("pkg_z.none")


def test_a_namespace_package_in_several_folders_gives_the_skills_of_all(on_path, tmp_path, monkeypatch):
    other = tmp_path / "other"
    write(on_path, {f"pkg_n/skills/{path}": data for path, data in FILES.items() if path.startswith("demo")})
    write(other, {f"pkg_n/skills/{path}": data for path, data in FILES.items() if path.startswith("mail")})
    write(other, {"pkg_n/only/x/SKILL.md": FILES["mail/SKILL.md"].replace(b"mail", b"x")})
    monkeypatch.syspath_prepend(str(other))
    assert content(package_source("pkg_n.skills")) == WANTED
    assert isinstance(package_source("pkg_n.only"), DirectorySource)


def test_a_loader_of_its_own_is_asked_for_its_folder(monkeypatch):
    class Reader(TraversableResources):
        def files(self):
            return Memory({f"skills/{path}": data for path, data in FILES.items()})

    class Loader:
        def get_resource_reader(self, name):
            return Reader()

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return ModuleSpec(name, Loader(), is_package=True) if name == "pkg_m" else None

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    assert content(package_source("pkg_m.skills")) == WANTED
    with pytest.raises(SourceError, match=r"has no folder 'skills\.none'"):
        package_source("pkg_m.skills.none")


def test_a_package_without_a_loader_or_a_folder_has_no_skills(monkeypatch):
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return ModuleSpec(name, object(), is_package=True) if name == "pkg_e" else None

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(SourceError, match="has no folder"):
        package_source("pkg_e.skills")


def test_an_unknown_package_is_an_error_that_names_a_near_one(on_path):
    write(on_path, {"pkg_known/__init__.py": ""})
    with pytest.raises(SourceError, match=r"no package 'pkg-known'; install it.* Did you mean 'pkg_known'"):
        package_source("pkg-known")
    with pytest.raises(SourceError, match=r"no package 'zzqqxx'; install it, or give the name that is imported\.$"):
        package_source("zzqqxx.skills")


def test_a_module_is_no_package_and_a_folder_that_is_not_there_is_named(on_path):
    write(on_path, {"pkg_mod.py": BOOM, "pkg_c/__init__.py": BOOM, "pkg_c/skillz/demo/SKILL.md": "x", "pkg_c/_x/y": ""})
    with pytest.raises(SourceError, match="single module"):
        package_source("pkg_mod")
    with pytest.raises(SourceError, match=r"'pkg_c' has no folder 'skills'\. Available folders: skillz"):
        package_source("pkg_c.skills")


@pytest.mark.parametrize("name", ["", ".", "pkg.", ".pkg", "a..b", "a/b", "a\\b", "a. .b", "a\x00b", None, 5, b"json"])
def test_what_is_no_name_of_a_package_is_refused(name):
    with pytest.raises(SourceError, match="named like"):
        package_source(name)


def test_a_module_that_lost_its_spec_is_an_error_of_ours(monkeypatch):
    monkeypatch.setitem(sys.modules, "pkg_odd", type(sys)("pkg_odd"))
    with pytest.raises(SourceError, match="no package"):
        package_source("pkg_odd")


@pytest.mark.corpus
@pytest.mark.parametrize("package", CORPUS)
def test_a_corpus_package_gives_what_its_folder_gives(package):
    source, folder = package_source(package), DirectorySource(corpus_folder(package))
    assert [s.name for s in source.list()] == [s.name for s in folder.list()] != []
    assert source.diagnostics() == folder.diagnostics()


@pytest.mark.corpus
@pytest.mark.row("S3-58")
@pytest.mark.parametrize("package", CORPUS)
def test_a_corpus_package_packed_into_a_zip_gives_the_same_skills(package, tmp_path, monkeypatch):
    folder = corpus_folder(package)
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"packed_{path.relative_to(folder.parent).as_posix()}")
    monkeypatch.syspath_prepend(str(tmp_path / "lib.zip"))
    importlib.invalidate_caches()
    packed, plain = package_source(f"packed_{package}"), DirectorySource(folder)
    assert [s.name for s in packed.list()] == [s.name for s in plain.list()]
    assert sorted(d.code for d in packed.diagnostics()) == sorted(d.code for d in plain.diagnostics())
    for summary in plain.list():
        assert packed.load(summary.name).digest == plain.load(summary.name).digest
        assert packed.resources(summary.name) == plain.resources(summary.name)


# --- anything folder-like ---------------------------------------------------------------------------------------------


class Memory:
    """A folder in memory that knows nothing but the protocol."""

    def __init__(self, files, path="", name="memory"):
        self._files, self._path, self.name = files, path, name

    def _below(self):
        prefix = f"{self._path}/" if self._path else ""
        return {path[len(prefix) :] for path in self._files if path.startswith(prefix)}

    def iterdir(self):
        return (self.joinpath(name) for name in {path.partition("/")[0] for path in self._below()})

    def joinpath(self, *parts):
        path = "/".join([*filter(None, [self._path]), *parts])
        return Memory(self._files, path, parts[-1])

    __truediv__ = joinpath

    def is_dir(self):
        return not self.is_file() and bool(self._below())

    def is_file(self):
        return self._path in self._files

    def open(self, mode="r", *args, **kwargs):
        if not self.is_file():
            raise KeyError(self._path)
        return io.BytesIO(self._files[self._path])

    def read_bytes(self):
        return self._files[self._path]

    def read_text(self, encoding=None):
        return self.read_bytes().decode()


@pytest.mark.row("S3-58")
@pytest.mark.row("S3-59")
def test_every_folder_like_object_serves_the_same_skills(tmp_path):
    root = write(tmp_path / "plain", FILES)
    archive = zip_at(tmp_path / "all.zip", {f"top/{path}": data for path, data in FILES.items()})
    roots = {
        "memory": Memory(FILES),
        "path": root,
        "zip": zipfile.Path(archive, "top/"),
        "multiplexed": MultiplexedPath(root),
    }
    for name, node in roots.items():
        assert isinstance(node, Traversable), name
        source = tree_source(node)
        assert content(source) == WANTED, name
        assert source.diagnostics() == ()
        assert source.read("demo", "references/a.md", offset=5, max_bytes=2).data == b"me"
        assert source.read("demo", "references/a.md", offset=100).data == b""
        with pytest.raises(ResourceNotFoundError):
            source.read("demo", "none.md")
        with pytest.raises(ResourceTypeError):
            source.read("demo", "references")
        with pytest.raises(ResourceError):
            source.read("demo", "../mail/SKILL.md")
    assert isinstance(tree_source(root), DirectorySource)
    assert isinstance(tree_source(resource_files("skillbelt.examples")), DirectorySource)


def test_a_label_and_a_name_are_those_of_the_folder(tmp_path):
    archive = zip_at(tmp_path / "pdf-1.2.zip", {"SKILL.md": FILES["demo/SKILL.md"], "sub/demo/SKILL.md": "x"})
    whole, part = TraversableTree(zipfile.Path(archive)), TraversableTree(zipfile.Path(archive, "sub/demo/"))
    assert (whole.label, whole.name) == ("pdf-1.2.zip", None)
    assert (part.label, part.name) == ("demo", "demo")
    assert (part.on_disk, part.where(""), part.where("SKILL.md")) == (False, None, "SKILL.md")
    assert tree_source(zipfile.Path(archive), label="mine").lookup("demo").source == "mine"
    assert tree_source(zipfile.Path(archive), profile=STRICT).diagnostics() == ()


def test_a_zip_in_memory_has_no_name_and_serves_its_skills():
    archive = zipfile.ZipFile(io.BytesIO(), "w")
    for path, data in FILES.items():
        archive.writestr(path, data)
    tree = TraversableTree(zipfile.Path(archive))
    assert (tree.label, tree.name) == ("folder", None)
    assert content(tree_source(zipfile.Path(archive))) == WANTED


@pytest.mark.parametrize("root", [None, "skills", 5, object(), io.BytesIO()])
def test_what_is_no_folder_like_object_is_refused(root):
    with pytest.raises(SourceError, match="Traversable"):
        tree_source(root)


def test_a_missing_root_is_an_empty_source_as_a_missing_folder_is(tmp_path):
    archive = zip_at(tmp_path / "a.zip", {"x": b""})
    for node in (Memory({}), zipfile.Path(archive, "none/"), zipfile.Path(archive, "none")):
        source = tree_source(node)
        assert source.list() == ()


def test_links_are_refused_where_an_object_owns_up_to_them(tmp_path):
    root = write(tmp_path / "root", FILES)
    write(tmp_path / "out", {"secret.md": b"secret", "skill/SKILL.md": FILES["mail/SKILL.md"].replace(b"mail", b"out")})
    (root / "demo/link.md").symlink_to(tmp_path / "out/secret.md")
    (root / "demo/folder").symlink_to(tmp_path / "out")
    (root / "linked").symlink_to(tmp_path / "out/skill")
    source = tree_source(MultiplexedPath(root))
    assert [summary.name for summary in source.list()] == ["demo", "mail"]
    assert "symlink-escape" in [d.code for d in source.diagnostics()]
    assert [info.path for info in source.resources("demo")] == ["references/a.md", "scripts/run.py"]
    for path in ("link.md", "folder/secret.md"):
        with pytest.raises(ResourcePathError, match="link"):
            source.read("demo", path)
        assert TraversableTree(MultiplexedPath(root)).version("demo", path) is None


def test_what_is_neither_file_nor_folder_is_not_served(tmp_path):
    root = write(tmp_path / "root", FILES)
    os.mkfifo(root / "demo/pipe")
    source = tree_source(MultiplexedPath(root))
    assert [info.path for info in source.resources("demo")] == ["references/a.md", "scripts/run.py"]
    with pytest.raises(ResourceNotFoundError):
        source.read("demo", "pipe")


def test_facts_are_those_of_the_place_where_it_knows_them(tmp_path):
    root = write(tmp_path / "root", FILES)
    (root / "demo/scripts/run.py").chmod(0o755)
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for path in FILES:
            made.write(root / path, path)
    for node in (MultiplexedPath(root), zipfile.Path(archive)):
        tree = TraversableTree(node)
        assert tree.version("demo", "SKILL.md") == tree.read("demo", "SKILL.md", size=3).version != ""
        assert [i.executable for i in tree_source(node).resources("demo")] == [False, True]
        assert tree.version("demo", "none") is None and tree.version("demo", "scripts") is None
    memory = TraversableTree(Memory(FILES))
    assert memory.version("demo", "SKILL.md") is None
    versions = {memory.read("demo", "SKILL.md", size=size).version for size in (0, 3, 1000)}
    assert len(versions) == 1 and versions != {""}


def test_a_changed_file_in_memory_is_seen_at_the_next_call():
    files = dict(FILES)
    source = tree_source(Memory(files))
    source.list()
    before = dict(source.versions())
    files["demo/SKILL.md"] = files["demo/SKILL.md"].replace(b"body", b"else")
    source.list()
    assert source.load("demo").instructions == "else\n"
    assert source.versions()["demo"] != before["demo"] and source.versions()["mail"] == before["mail"]


@pytest.mark.parametrize(
    "error", [OSError(5, "broken"), RuntimeError("password"), zipfile.BadZipFile("crc"), EOFError()]
)
def test_a_failing_object_is_an_error_of_ours(error):
    class Failing(Memory):
        def joinpath(self, *parts):
            return Failing(self._files, super().joinpath(*parts)._path, parts[-1])

        def open(self, *args, **kwargs):
            raise error

    source = tree_source(Failing(FILES), profile=STRICT)
    with pytest.raises(SourceError, match="cannot be read"):
        source.list()


def test_a_damaged_zip_is_an_error_of_ours(tmp_path):
    archive = zip_at(tmp_path / "a.zip", {"demo/SKILL.md": FILES["demo/SKILL.md"], "demo/a.md": b"a" * 1000})
    data = archive.read_bytes()
    at = data.index(b"demo/a.md") + 9
    archive.write_bytes(data[:at] + b"\xff\xff" + data[at + 2 :])
    source = tree_source(zipfile.Path(archive))
    assert [summary.name for summary in source.list()] == ["demo"]
    with pytest.raises(SourceError, match="cannot be read"):
        source.read("demo", "a.md")


def test_a_file_that_vanishes_between_two_looks_is_not_found():
    class Vanishing(Memory):
        def joinpath(self, *parts):
            return Vanishing(self._files, super().joinpath(*parts)._path, parts[-1])

        def open(self, *args, **kwargs):
            raise FileNotFoundError

    with pytest.raises(ResourceNotFoundError):
        TraversableTree(Vanishing(FILES)).read("demo", "SKILL.md", size=1)


def test_the_tree_answers_like_any_tree():
    tree = TraversableTree(Memory(FILES))
    assert {(e.name, e.kind) for e in tree.entries("demo")} == {
        ("SKILL.md", "file"),
        ("references", "directory"),
        ("scripts", "directory"),
    }
    assert tree.kind("demo").kind == "directory" and tree.kind("demo", "SKILL.md").kind == "file"
    for call in (lambda: tree.kind("none"), lambda: tree.entries("none"), lambda: tree.entries("demo", "SKILL.md")):
        with pytest.raises(ResourceNotFoundError):
            call()


def test_the_examples_of_the_package_itself_are_a_package_source():
    root = Path(importlib.import_module("skillbelt.examples").__file__).parent
    assert content(package_source("skillbelt.examples")) == content(DirectorySource(root))
