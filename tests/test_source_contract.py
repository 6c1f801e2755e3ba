"""The contract suite on every source of our own, and on sources with one fault each, which it must find."""

import io
import itertools
import os
import posixpath
import shutil
import subprocess
import sys
import tarfile
import threading
import unicodedata
import zipfile
import zlib
from typing import ClassVar
from unittest import SkipTest
from urllib.parse import unquote

import pytest

from skillbelt import (
    ContentTooLargeError,
    DirectorySource,
    InvalidSkillError,
    LimitError,
    MappingSource,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceTypeError,
    SkillError,
    SkillNotFoundError,
    filtered,
    merge,
    namespaced,
)
from skillbelt.models import Resource, ResourceInfo
from skillbelt.sources import tar_source, tree_source, zip_source
from skillbelt.testing import SourceContract

CHECKS = sorted(name for name in dir(SourceContract) if name.startswith("test_"))


def write(root, files, links=None):
    """Make a folder hold exactly these files."""
    if root.exists():
        shutil.rmtree(root)
    root.mkdir()
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    for path, target in (links or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    return root


def zipped(files, links=None):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        for path, target in (links or {}).items():
            info = zipfile.ZipInfo(path)
            info.create_system, info.external_attr = 3, 0o120777 << 16
            archive.writestr(info, target)
    return file.getvalue()


def tarred(files, links=None):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for path, target in (links or {}).items():
            info = tarfile.TarInfo(path)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return file.getvalue()


# --- our own sources --------------------------------------------------------------------------------------------------


class Places(SourceContract):
    """Gives each source that a check makes a place of its own."""

    @pytest.fixture(autouse=True)
    def _places(self, tmp_path):
        self.places = (tmp_path / str(number) for number in itertools.count())
        self.roots = {}

    def placed(self, source, *roots):
        self.roots[id(source)] = roots
        return source


class TestDirectorySource(Places):
    options: ClassVar = {}

    def make(self, files, **options):
        return DirectorySource(write(next(self.places), files), **self.options, **options)

    def make_linked(self, files, links):
        return DirectorySource(write(next(self.places), files, links), **self.options)

    def change(self, source, files):
        write(source.root, files)


class TestDirectorySourceThatRefusesLinks(TestDirectorySource):
    options: ClassVar = {"symlinks": "refuse"}


class TestMappingSource(SourceContract):
    holds_links = writable = False

    def make(self, files, **options):
        return MappingSource(files, **options)


class TestZipSource(Places):
    may_be_empty = False
    pack = staticmethod(zipped)
    open = staticmethod(zip_source)

    def make(self, files, **options):
        place = next(self.places)
        place.write_bytes(self.pack(files))
        return self.placed(self.open(place, **options), place)

    def make_linked(self, files, links):
        return self.open(self.pack(files, links))

    def change(self, source, files):
        self.roots[id(source)][0].write_bytes(self.pack(files))


class TestTarSource(TestZipSource):
    pack = staticmethod(tarred)
    open = staticmethod(tar_source)


class TestTreeSource(SourceContract):
    """Whatever importlib.resources gives."""

    holds_links = writable = False

    def make(self, files, **options):
        return tree_source(zipfile.Path(zipfile.ZipFile(io.BytesIO(zipped(files)))), **options)


class TestFsspecSource(SourceContract):
    holds_links = False
    numbers = itertools.count()

    @pytest.fixture(autouse=True)
    def _store(self):
        self.store = pytest.importorskip("fsspec").filesystem("memory")
        self.roots = {}
        yield
        self.store.store.clear()
        self.store.pseudo_dirs[:] = [""]

    def make(self, files, **options):
        from skillbelt.sources.remote import fsspec_source

        root = f"contract-{next(self.numbers)}"
        source = fsspec_source(f"memory://{root}", **options)
        self.roots[id(source)] = root
        self.change(source, files)
        return source

    def change(self, source, files):
        root = f"/{self.roots[id(source)]}"
        if self.store.exists(root):
            self.store.rm(root, recursive=True)
        self.store.makedirs(root)
        for path, data in files.items():
            self.store.pipe_file(f"{root}/{path}", data)


class TestMerge(Places):
    """Two folders, each skill in one of them."""

    @staticmethod
    def split(files):
        halves = {}, {}
        for path, data in files.items():
            folder = path.partition("/")[0]
            halves[zlib.crc32(folder.encode()) % 2][path] = data
        return halves

    def make(self, files, **options):
        roots = [write(next(self.places), half) for half in self.split(files)]
        return self.placed(merge(*(DirectorySource(root, **options) for root in roots)), *roots)

    def make_linked(self, files, links):
        pairs = zip(self.split(files), self.split(links), strict=True)
        return merge(*(DirectorySource(write(next(self.places), *pair)) for pair in pairs))

    def change(self, source, files):
        for root, half in zip(self.roots[id(source)], self.split(files), strict=True):
            write(root, half)


class Wrapped(Places):
    def wrap(self, source):
        raise NotImplementedError

    def make(self, files, **options):
        root = write(next(self.places), files)
        return self.placed(self.wrap(DirectorySource(root, **options)), root)

    def make_linked(self, files, links):
        return self.wrap(DirectorySource(write(next(self.places), files, links)))

    def change(self, source, files):
        write(self.roots[id(source)][0], files)


class TestNamespaced(Wrapped):
    def name(self, folder):
        return f"acme/{folder}"

    def wrap(self, source):
        return namespaced("acme", source)


class TestFiltered(Wrapped):
    """Beside what a check makes there is a skill that is not let through."""

    EXTRA: ClassVar = {"zz-left-out/SKILL.md": b"---\nname: zz-left-out\ndescription: Is never seen.\n---\n"}

    def wrap(self, source):
        return filtered(source, lambda summary: summary.name != "zz-left-out")

    def make(self, files, **options):
        return super().make({**files, **self.EXTRA}, **options)

    def change(self, source, files):
        super().change(source, {**files, **self.EXTRA})


class TestNested(Wrapped):
    """All wrappers at once."""

    def name(self, folder):
        return f"acme/{folder}"

    def wrap(self, source):
        return merge(filtered(namespaced("acme", source), lambda _: True), MappingSource({}))


# --- the suite can fail -----------------------------------------------------------------------------------------------


def altered(**methods):
    """A mapping source with other methods; each is given the method it stands for."""

    def made(files, **options):
        source = MappingSource(files, **options)
        for name, method in methods.items():
            setattr(source, name, method(source, getattr(source, name)))
        return source

    return made


def answering(change):
    """Stand for a method by changing what it answers."""
    return lambda source, method: lambda *args, **options: change(method(*args, **options))


def replaced(**fields):
    """Change fields of an answer; each is given the answer."""
    return answering(lambda value: value.model_copy(update={name: change(value) for name, change in fields.items()}))


def data(change):
    return replaced(data=lambda resource: change(resource.data))


def paths(change):
    """Stand for read by changing the path first."""
    return lambda source, read: lambda name, path, **options: read(name, change(path), **options)


def asked(change):
    """Stand for a method by changing the name first."""
    return lambda source, method: lambda name, *args, **options: method(change(name), *args, **options)


def without(*names):
    """Stand for make by leaving options out."""
    return lambda files, **options: MappingSource(files, **{k: v for k, v in options.items() if k not in names})


def translated(caught, raised):
    """Stand for a method by turning its errors into others."""

    def stand_in(_, method):
        def call(*args, **options):
            try:
                return method(*args, **options)
            except caught as error:
                raised_now = raised(error)
                if isinstance(raised_now, BaseException):
                    raise raised_now from None
                return raised_now

        return call

    return stand_in


def everywhere(stand_in):
    return altered(lookup=stand_in, load=stand_in, resources=stand_in, read=stand_in)


def leaking(change):
    """Join a path to the skill's folder and normalise the whole, after a gate that sees the path as it was written."""

    def made(files, **options):
        source = MappingSource(files, **options)
        read = source.read

        def unconfined(name, path, **bounds):
            whole = posixpath.normpath(posixpath.join("mail", change(path))) if isinstance(path, str) else ""
            folder, _, below = whole.partition("/")
            return read(folder, below, **bounds) if whole in files and folder != "mail" else read(name, path, **bounds)

        source.read = unconfined
        return source

    return made


def names_are_paths(files, **options):
    source = MappingSource(files, **options)
    clean = asked(lambda name: posixpath.normpath(name).strip("/") if isinstance(name, str) else name)
    source.load, source.read = clean(source, source.load), clean(source, source.read)
    return source


def one_answer_for_all(files, **options):
    """Keeps a call's name on the source, and is slow enough for another thread to come between."""
    source = MappingSource(files, **options)
    load, pause = source.load, threading.Event()

    def stateful(name):
        source.name = name
        pause.wait(0.0005)
        return load(source.name)

    source.load = stateful
    return source


def shares_its_list(files, **options):
    source = MappingSource(files, **options)
    shared = list(source.list())
    source.list = lambda: shared
    return source


def keeps_its_answers(files, **options):
    source = MappingSource(files, **options)
    load, kept = source.load, {}

    def cached(name):
        if name not in kept:
            kept[name] = load(name)
        return kept[name]

    source.load = cached
    return source


class Bare:
    """Has none of the methods beyond levels 1 and 2."""

    def __init__(self, files, **options):
        source = MappingSource(files, **options)
        self.list, self.load = source.list, source.load


def listing_bodies(files, **options):
    """Reads whole files to list them."""

    def listed(source, method):
        def call():
            good = []
            for summary in method():
                try:
                    good.append(source.load(summary.name).summary())
                except ContentTooLargeError:
                    continue
            return tuple(good)

        return call

    return altered(list=listed)(files, **options)


def exact_case(source, method):
    def call(name, *args, **options):
        if name not in [summary.name for summary in source.list()] and isinstance(name, str):
            raise SkillNotFoundError(f"There is no skill {name[:50]!r}. Did you mean 'mail'?")
        return method(name, *args, **options)

    return call


def unbounded(source, read):
    return lambda name, path, *, offset=0, max_bytes=1 << 20: read(name, path, offset=offset, max_bytes=1 << 20)


def forgiving(source, read):
    def call(name, path, *, offset=0, max_bytes=1 << 20):
        size = max_bytes if isinstance(max_bytes, int) and 0 < max_bytes < 1 << 40 else 1 << 20
        return read(name, path, offset=max(0, offset) if isinstance(offset, int) else 0, max_bytes=size)

    return call


def other_winner(source, read):
    def call(name, path, **options):
        if path == "which.txt":
            return read(name, path, **options).model_copy(update={"data": b"other"})
        return read(name, path, **options)

    return call


def nowhere(error):
    return ResourceNotFoundError("There is no such file.")


def pad(text):
    return lambda error: type(error)(f"{error}{text}", *([error.diagnostics] if hasattr(error, "diagnostics") else []))


def dir_source(policy=None):
    """Make the checks that need a disk run on a source with a fault."""

    class Faulty(TestDirectorySource):
        options = policy or {}

    return Faulty


def on_disk(fault):
    """A fault of a source on disk: given the source, it puts the fault in."""

    class Faulty(TestDirectorySource):
        def make(self, files, **options):
            source = super().make(files, **options)
            fault(source)
            return source

    return Faulty


def kept_answers(*methods):
    def fault(source):
        for name in methods:
            method, kept = getattr(source, name), {}

            def cached(*args, method=method, kept=kept, **options):
                key = (args, *options.items())
                if key not in kept:
                    kept[key] = method(*args, **options)
                return kept[key]

            setattr(source, name, cached)

    return on_disk(fault)


def last_good(source):
    load, kept = source.load, {}

    def cached(name):
        try:
            kept[name] = load(name)
        except InvalidSkillError:
            if name not in kept:
                raise
        return kept[name]

    source.load = cached


def never_missing(source):
    source.load = translated(SkillNotFoundError, lambda _: InvalidSkillError("It is gone."))(source, source.load)


def same_versions(source):
    versions = source.versions
    source.versions = lambda: dict.fromkeys(versions(), "1")


NO_FILE = Resource(info=ResourceInfo(path="none", kind="other", size=0), data=b"")
FAULTS = {
    "is no source": (Bare, ["test_it_is_a_resource_source"]),
    "finds something in nothing": (
        lambda files, **o: MappingSource({**files, "extra/SKILL.md": b"---\nname: extra\ndescription: E.\n---\n"}, **o),
        ["test_of_no_files_nothing_is_listed_and_nothing_found", "test_list_lookup_and_load_agree"],
    ),
    "lists in any order": (
        altered(list=answering(lambda found: found[::-1])),
        ["test_every_skill_is_listed_once_and_sorted_by_name"],
    ),
    "lists a skill twice": (
        altered(list=answering(lambda found: found + found)),
        ["test_every_skill_is_listed_once_and_sorted_by_name"],
    ),
    "shortens descriptions in the list": (
        altered(list=answering(lambda found: tuple(s.model_copy(update={"description": "…"}) for s in found))),
        ["test_list_lookup_and_load_agree"],
    ),
    "gives dicts": (
        altered(list=answering(lambda found: [s.model_dump() for s in found])),
        ["test_list_lookup_and_load_agree"],
    ),
    "knows nothing before it was listed": (
        everywhere(lambda source, ask: lambda *args, **o: ask(*args, **o) if source._listing else _echo("mail")),
        ["test_a_skill_can_be_asked_for_before_anything_was_listed"],
    ),
    "shares its list": (shares_its_list, ["test_values_are_frozen_and_belong_to_the_caller"]),
    "shares its skills": (keeps_its_answers, ["test_values_are_frozen_and_belong_to_the_caller"]),
    "bundles a skill without its files": (
        altered(bundle=answering(lambda bundle: bundle._replace(resources=()))),
        ["test_a_bundle_is_the_skill_and_its_files"],
    ),
    "strips bodies": (
        altered(load=replaced(instructions=lambda skill: skill.instructions.strip())),
        ["test_the_body_is_exactly_what_follows_the_fence"],
    ),
    "gives a digest of something else": (
        altered(load=replaced(digest=lambda skill: "0" * 64)),
        ["test_the_body_is_exactly_what_follows_the_fence", "test_line_ends_and_a_byte_order_mark_change_nothing"],
    ),
    "loses the place of the body": (
        altered(load=replaced(body_offset=lambda skill: 0)),
        ["test_the_body_is_exactly_what_follows_the_fence"],
    ),
    "normalises line ends": (
        altered(load=replaced(instructions=lambda skill: "\n".join(skill.instructions.splitlines()) + "\n")),
        ["test_line_ends_and_a_byte_order_mark_change_nothing"],
    ),
    "splits at any three dashes": (
        altered(
            load=replaced(
                frontmatter=lambda skill: skill.frontmatter.model_copy(
                    update={"description": skill.description.split("---")[0]}
                )
            )
        ),
        ["test_a_fence_inside_a_value_ends_nothing"],
    ),
    "knows names in one case only": (
        everywhere(exact_case),
        ["test_a_name_is_found_in_any_case_and_unicode_form"],
    ),
    "answers with the name it was asked for": (
        altered(
            lookup=lambda source, ask: lambda name: ask(name).model_copy(update={"name": name}),
        ),
        ["test_a_name_is_found_in_any_case_and_unicode_form"],
    ),
    "calls a missing skill invalid": (
        everywhere(translated(SkillNotFoundError, lambda _: InvalidSkillError("It is not valid."))),
        ["test_a_missing_skill_is_not_found_and_close_matches_are_named", "test_no_name_leads_to_another_skill"],
    ),
    "raises KeyError for a missing skill": (
        everywhere(translated(SkillNotFoundError, lambda _: KeyError("mail"))),
        ["test_a_missing_skill_is_not_found_and_close_matches_are_named"],
    ),
    "gives None for a missing skill": (
        everywhere(translated(SkillNotFoundError, lambda _: None)),
        [
            "test_a_missing_skill_is_not_found_and_close_matches_are_named",
            "test_a_file_of_a_missing_skill_is_a_missing_skill",
        ],
    ),
    "names no close match": (
        everywhere(translated(SkillNotFoundError, lambda _: SkillNotFoundError("There is no such skill."))),
        ["test_a_missing_skill_is_not_found_and_close_matches_are_named"],
    ),
    "leaves broken skills out in silence": (
        altered(diagnostics=lambda *_: lambda: ()),
        ["test_a_broken_skill_is_reported_and_hides_no_other"],
    ),
    "lists nothing when one skill is broken": (
        altered(list=lambda source, found: lambda: () if source.problems() else found()),
        ["test_a_broken_skill_is_reported_and_hides_no_other"],
    ),
    "raises from a list when one skill is broken": (
        altered(list=lambda source, found: lambda: source.load(next(iter(source.problems()), "mail")) and found()),
        ["test_a_broken_skill_is_reported_and_hides_no_other"],
    ),
    "calls a broken skill missing": (
        everywhere(translated(InvalidSkillError, lambda _: SkillNotFoundError("There is no such skill."))),
        ["test_a_broken_skill_says_why_and_serves_nothing", "test_a_folder_without_skill_file_owns_its_name"],
    ),
    "does not say why a skill is broken": (
        everywhere(translated(InvalidSkillError, lambda _: InvalidSkillError("It is broken."))),
        ["test_a_broken_skill_says_why_and_serves_nothing"],
    ),
    "serves files of broken skills": (
        altered(read=translated(InvalidSkillError, lambda _: NO_FILE)),
        ["test_a_broken_skill_says_why_and_serves_nothing"],
    ),
    "searches hidden folders": (
        lambda files, **o: MappingSource({path.removeprefix("."): d for path, d in files.items()}, **o),
        ["test_hidden_folders_and_loose_files_are_no_skills"],
    ),
    "lists skills inside skills": (
        lambda files, **o: MappingSource(
            {path.replace("mail/steps/", "inner-ones/"): d for path, d in files.items()}, **o
        ),
        ["test_a_skill_inside_a_skill_is_one_of_its_files"],
    ),
    "mixes the files of two skills of one name": (
        altered(read=other_winner),
        ["test_of_two_skills_of_one_name_one_is_whole_and_the_other_reported"],
    ),
    "does not say that a skill is shadowed": (
        altered(diagnostics=answering(lambda found: tuple(d for d in found if d.code != "duplicate-name"))),
        ["test_of_two_skills_of_one_name_one_is_whole_and_the_other_reported"],
    ),
    "ignores the profile": (
        without("profile"),
        [
            "test_a_strict_source_leaves_out_what_a_lenient_one_warns_of",
            "test_past_a_limit_the_rest_is_reported_and_strict_raises",
        ],
    ),
    "has problems() of good skills": (
        altered(problems=lambda *_: lambda: {"mail": ()}),
        ["test_problems_and_versions_speak_of_the_right_names"],
    ),
    "has versions() of no skills": (
        altered(versions=lambda *_: dict),
        ["test_problems_and_versions_speak_of_the_right_names"],
    ),
    "serves three folders only": (
        altered(resources=answering(lambda infos: tuple(i for i in infos if i.kind != "other"))),
        ["test_every_file_is_listed_with_its_size_and_kind", "test_what_is_listed_is_what_can_be_read"],
    ),
    "lists the SKILL.md as a file": (
        altered(resources=answering(lambda infos: (ResourceInfo(path="SKILL.md", kind="other", size=1), *infos))),
        ["test_a_skill_of_one_file_has_no_resources", "test_every_file_is_listed_with_its_size_and_kind"],
    ),
    "lists files in any order": (
        altered(resources=answering(lambda infos: infos[::-1])),
        ["test_every_file_is_listed_with_its_size_and_kind"],
    ),
    "trims files": (altered(read=data(bytes.strip)), ["test_files_are_lossless", "test_pages_join_to_the_file"]),
    "reads text only": (
        altered(read=data(lambda read: read.decode(errors="replace").encode())),
        ["test_files_are_lossless", "test_pages_join_to_the_file"],
    ),
    "changes line ends": (altered(read=data(lambda read: read.replace(b"\r\n", b"\n"))), ["test_files_are_lossless"]),
    "drops a byte order mark": (
        altered(read=data(lambda read: read.removeprefix(b"\xef\xbb\xbf"))),
        ["test_files_are_lossless"],
    ),
    "gives str": (
        altered(read=data(lambda read: read.decode("latin-1"))),
        ["test_files_are_lossless", "test_a_read_is_bounded_and_says_whether_more_follows"],
    ),
    "never says that a read is cut": (
        altered(read=replaced(truncated=lambda _: False)),
        [
            "test_a_read_is_bounded_and_says_whether_more_follows",
            "test_files_are_lossless",
            "test_pages_join_to_the_file",
            "test_without_bounds_one_mebibyte_is_read",
        ],
    ),
    "ignores max_bytes": (
        altered(read=unbounded),
        ["test_a_read_is_bounded_and_says_whether_more_follows", "test_pages_join_to_the_file"],
    ),
    "counts pages from the start": (
        altered(read=lambda source, read: lambda name, path, *, offset=0, **o: read(name, path, **o)),
        ["test_pages_join_to_the_file", "test_a_read_is_bounded_and_says_whether_more_follows"],
    ),
    "reads four KiB unless told": (
        altered(read=lambda source, read: lambda name, path, **o: read(name, path, **{"max_bytes": 4096} | o)),
        ["test_without_bounds_one_mebibyte_is_read"],
    ),
    "makes usable numbers of bounds": (
        altered(read=forgiving),
        ["test_bounds_that_are_no_usable_numbers_are_refused"],
    ),
    "raises TypeError for bounds": (
        altered(read=translated(LimitError, lambda _: TypeError("a number, please"))),
        ["test_bounds_that_are_no_usable_numbers_are_refused"],
    ),
    "does not serve the SKILL.md": (
        altered(read=paths(lambda path: "none" if path == "SKILL.md" else path)),
        ["test_the_skill_file_itself_can_be_read"],
    ),
    "decodes paths": (
        altered(read=paths(lambda path: unquote(path) if isinstance(path, str) else path)),
        ["test_what_is_listed_is_what_can_be_read"],
    ),
    "lists hidden files": (
        altered(resources=answering(lambda infos: (*infos, ResourceInfo(path=".env", kind="other", size=4)))),
        ["test_what_is_listed_is_what_can_be_read"],
    ),
    "serves hidden files to who asks": (
        altered(read=translated(ResourceNotFoundError, lambda _: NO_FILE)),
        ["test_what_is_listed_is_what_can_be_read"],
    ),
    "calls a missing file a missing skill": (
        altered(read=translated(ResourceNotFoundError, lambda _: SkillNotFoundError("There is nothing."))),
        ["test_a_missing_file_is_not_a_missing_skill"],
    ),
    "gives an empty file for a missing one": (
        altered(read=translated(ResourceNotFoundError, lambda _: NO_FILE)),
        ["test_a_missing_file_is_not_a_missing_skill"],
    ),
    "gives an empty file for a folder": (
        altered(read=translated(ResourceTypeError, lambda _: NO_FILE)),
        ["test_only_a_file_is_a_file"],
    ),
    "leaks a sibling": (leaking(str), ["test_no_path_leads_out_of_a_skill"]),
    "leaks a sibling to who encodes": (
        leaking(lambda path: path if "../" in path else unquote(path)),
        ["test_no_path_leads_out_of_a_skill"],
    ),
    "leaks a sibling to who writes wide dots": (
        leaking(lambda path: path if "../" in path else unicodedata.normalize("NFKC", path)),
        ["test_no_path_leads_out_of_a_skill"],
    ),
    "leaks a sibling to whom knows its folder": (
        leaking(lambda path: f"../{path}" if path.startswith("pdf/") else path),
        ["test_no_path_leads_out_of_a_skill"],
    ),
    "takes Windows paths": (
        altered(read=paths(lambda path: path.replace("\\", "/") if isinstance(path, str) else path)),
        ["test_no_path_leads_out_of_a_skill"],
    ),
    "takes any path type": (
        altered(read=paths(lambda path: os.fspath(path) if isinstance(path, os.PathLike) else path)),
        ["test_no_path_leads_out_of_a_skill"],
    ),
    "calls a bad path missing": (
        altered(read=translated(ResourcePathError, nowhere)),
        ["test_no_path_leads_out_of_a_skill"],
    ),
    "leaks a sibling by a name": (names_are_paths, ["test_no_name_leads_to_another_skill"]),
    "repeats what it was asked at length": (
        altered(load=lambda source, load: lambda name: load(name) if name in source.versions() else _echo(name)),
        ["test_no_name_leads_to_another_skill"],
    ),
    "talks without end": (
        everywhere(translated(SkillError, pad("." * 1000))),
        ["test_errors_stay_short_whatever_the_place_holds"],
    ),
    "colours its messages": (
        everywhere(translated(SkillError, pad("\x1b[0m"))),
        ["test_errors_stay_short_whatever_the_place_holds"],
    ),
    "ignores resource_bytes": (without("limits"), ["test_a_read_never_gives_more_than_the_limit"]),
    "ignores other limits": (
        without("limits"),
        [
            "test_a_skill_too_large_to_load_is_still_listed",
            "test_the_budget_of_a_frontmatter_is_exact",
            "test_past_a_limit_the_rest_is_reported_and_strict_raises",
        ],
    ),
    "reads bodies to list": (listing_bodies, ["test_a_skill_too_large_to_load_is_still_listed"]),
    "cuts in silence": (
        altered(diagnostics=answering(lambda found: tuple(d for d in found if d.code != "scan-limit"))),
        ["test_past_a_limit_the_rest_is_reported_and_strict_raises"],
    ),
    "has diagnostics without words": (
        altered(diagnostics=answering(lambda found: tuple(d.model_copy(update={"message": ""}) for d in found))),
        ["test_a_broken_skill_is_reported_and_hides_no_other"],
    ),
    "mixes threads up": (one_answer_for_all, ["test_threads_that_ask_at_once_get_the_same_answers"]),
}
FAULTS_ON_DISK = {
    "follows links": (
        dir_source({"symlinks": "follow"}),
        ["test_no_link_leads_out_of_a_skill", "test_no_link_makes_a_skill_of_what_lies_outside"],
    ),
    "names the host": (
        on_disk(lambda source: setattr(source, "load", translated(SkillError, pad(source.root))(source, source.load))),
        ["test_errors_stay_short_whatever_the_place_holds"],
    ),
    "keeps skills": (
        kept_answers("load"),
        ["test_an_edit_is_seen_at_the_next_call", "test_a_removed_skill_is_missing_and_a_new_one_found"],
    ),
    "keeps summaries": (kept_answers("lookup"), ["test_an_edit_is_seen_at_the_next_call"]),
    "keeps its list": (
        kept_answers("list"),
        ["test_an_edit_is_seen_at_the_next_call", "test_a_skill_that_was_broken_says_so_until_it_is_mended"],
    ),
    "keeps files": (kept_answers("read"), ["test_an_edit_of_a_file_is_seen_at_the_next_read"]),
    "keeps the list of files": (kept_answers("resources"), ["test_an_edit_of_a_file_is_seen_at_the_next_read"]),
    "serves the last good text": (on_disk(last_good), ["test_a_skill_that_was_broken_says_so_until_it_is_mended"]),
    "calls a removed skill invalid": (on_disk(never_missing), ["test_a_removed_skill_is_missing_and_a_new_one_found"]),
    "has one version for ever": (on_disk(same_versions), ["test_versions_tell_what_was_written_anew"]),
}


def _echo(name):
    raise SkillNotFoundError(f"There is no skill {name!r}. Did you mean 'mail'?")


def outcome(contract, check):
    """Run one check by hand; return what it raises."""
    try:
        getattr(contract, check)()
    except Exception as error:
        return error
    return None


def each(faults):
    return [
        pytest.param(made, check, id=f"{fault}-{check}") for fault, (made, found) in faults.items() for check in found
    ]


@pytest.mark.parametrize(("made", "check"), each(FAULTS))
def test_a_fault_is_found(made, check):
    class Faulty(TestMappingSource):
        make = staticmethod(made)

    assert isinstance(outcome(Faulty(), check), AssertionError | SkillError)
    assert outcome(TestMappingSource(), check) is None


@pytest.mark.parametrize(("kind", "check"), each(FAULTS_ON_DISK))
def test_a_fault_on_disk_is_found(kind, check, tmp_path):
    contract = kind()
    contract.places, contract.roots = (tmp_path / str(number) for number in itertools.count()), {}
    assert isinstance(outcome(contract, check), AssertionError)


def test_every_check_finds_a_fault():
    """A check that nothing fails proves nothing."""
    assert {check for _, checks in [*FAULTS.values(), *FAULTS_ON_DISK.values()] for check in checks} == set(CHECKS)


@pytest.mark.parametrize(
    ("claims", "left_out"),
    [
        ({"holds_links": False, "writable": False}, 7),
        ({"takes_profile": False}, 1),
        ({"takes_limits": False}, 4),
        ({"may_be_empty": False}, 1),
    ],
)
def test_what_a_source_cannot_do_is_skipped_with_the_reason_and_never_passed(claims, left_out):
    class Claiming(TestMappingSource):
        holds_links = writable = True

        def make_linked(self, files, links):
            raise ZeroDivisionError

        change = make_linked

    for name, value in claims.items():
        setattr(Claiming, name, value)
    outcomes = [outcome(Claiming(), check) for check in CHECKS]
    skipped = [error for error in outcomes if isinstance(error, SkipTest)]
    assert len(skipped) == left_out
    assert all("NOT CHECKED for Claiming" in str(error) for error in skipped)


def test_a_hook_that_is_forgotten_fails_and_says_what_to_do():
    class Forgetful(SourceContract):
        pass

    class Half(SourceContract):
        make = TestMappingSource.make

    assert {type(outcome(Forgetful(), check)) for check in CHECKS} == {NotImplementedError}
    assert str(outcome(Half(), "test_an_edit_is_seen_at_the_next_call")).endswith("or say writable = False.")
    assert str(outcome(Half(), "test_no_link_leads_out_of_a_skill")).endswith("or say holds_links = False.")


SCRIPT = """
import sys, unittest
sys.modules["pytest"] = sys.modules["_pytest"] = None  # importing either fails
from skillbelt import MappingSource
from skillbelt.testing import SourceContract

class Good(SourceContract, unittest.TestCase):
    holds_links = writable = False
    def make(self, files, **options):
        return MappingSource(files, **options)

class Trimming(Good):
    def make(self, files, **options):
        return super().make({path: data.strip() for path, data in files.items()}, **options)

for kind in (Good, Trimming):
    result = unittest.defaultTestLoader.loadTestsFromTestCase(kind).run(unittest.TestResult())
    failed = sorted(test.id().split(".")[-1] for test, _ in result.failures + result.errors)
    print(result.testsRun, len(result.skipped), failed)
"""


@pytest.mark.parametrize("options", [[], ["-O"]], ids=["plain", "without assert"])
def test_it_runs_under_unittest_without_pytest_and_without_assert_statements(options):
    ran = subprocess.run([sys.executable, *options, "-c", SCRIPT], capture_output=True, text=True, check=False)
    good, trimming = ran.stdout.splitlines()
    assert good == f"{len(CHECKS)} 7 []"
    assert "test_files_are_lossless" in trimming


def test_pytest_collects_it_and_reports_what_was_left_out(tmp_path):
    path = tmp_path / "test_mine.py"
    path.write_text(
        "from skillbelt import MappingSource\nfrom skillbelt.testing import SourceContract\n"
        "class TestMine(SourceContract):\n    holds_links = writable = False\n"
        "    def make(self, files, **options):\n        return MappingSource(files, **options)\n"
    )
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert f"{len(CHECKS) - 7} passed, 7 skipped" in ran.stdout
    assert "NOT CHECKED for TestMine: the place holds no symbolic links." in ran.stdout
