"""Skills in archives: what is accepted, what is refused and why, within which bounds, and that nothing is unpacked."""

import base64
import gzip
import importlib.util
import io
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillbelt import (
    STRICT,
    DirectorySource,
    InvalidSkillError,
    LimitError,
    Limits,
    MappingSource,
    ResourceNotFoundError,
    ResourceTypeError,
    SourceError,
)
from skillbelt.sources import ArchiveLimits, ArchiveTree, tar_source, zip_source
from skillbelt.sources.archive.files import settled

DATA = Path(__file__).parent / "data" / "security"
CASES = json.loads((DATA / "archive_cases.json").read_text())["cases"]
SKILL = b"---\nname: demo\ndescription: d\n---\nbody\n"
FILES = {
    "demo/SKILL.md": SKILL,
    "demo/references/na\u00efve.md": b"read me\n" * 50,
    "demo/scripts/run.py": b"print()\n",
    "demo/assets/empty": b"",
    "demo/assets/random.bin": bytes(i * i % 251 for i in range(5000)),
}
CODES = {
    "archive-damaged",
    "archive-differs",
    "archive-duplicate",
    "archive-encrypted",
    "archive-limit",
    "archive-link",
    "archive-method",
    "archive-no-skill",
    "archive-path",
    "archive-special",
}


def entry(name, *, mode=0o100644, method=zipfile.ZIP_DEFLATED, system=3):
    info = zipfile.ZipInfo("x", (2024, 1, 1, 0, 0, 0))
    info.filename = name
    info.create_system = system
    info.external_attr = mode << 16
    info.compress_type = method
    return info


def zipped(files=None, *, comment=b""):
    """A zip archive made by Python; keys are names or ZipInfo."""
    pairs = FILES.items() if files is None else (files.items() if isinstance(files, dict) else files)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, data in pairs:
                archive.writestr(entry(name) if isinstance(name, str) else name, data)
            archive.comment = comment
    return buffer.getvalue()


def member(name, data=b"", *, kind=tarfile.REGTYPE, link="", mode=0o644, pax=None, size=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    info.size = len(data) if size is None else size
    info.pax_headers = pax or {}
    return info, data


def tarred(members=None, *, form=tarfile.PAX_FORMAT, tail=None, level=6):
    """A .tar.gz archive made by Python; ``tail`` replaces the blocks at its end."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=form) as archive:
        for info, data in [member(*pair) for pair in FILES.items()] if members is None else members:
            archive.addfile(info, io.BytesIO(data) if data else None)
        end = plain.tell()
    data = plain.getvalue()
    return gzip.compress(data if tail is None else data[:end] + tail, level)


def tarred_files(files):
    return tarred([member(*pair) for pair in files.items()])


def raw_header(name, *, size=0, kind=b"0", magic=b"ustar\x0000", prefix=b"", mode=b"0000644\x00", sum_by=0):
    """One tar header, byte by byte."""
    digits = size if isinstance(size, bytes) else b"%011o\x00" % size
    head = name.ljust(100, b"\x00") + mode + b"0000000\x00" * 2 + digits + b"0" * 11 + b"\x00"
    rest = kind + bytes(100) + magic.ljust(88, b"\x00") + prefix.ljust(155, b"\x00") + bytes(12)
    total = sum(head) + 8 * 32 + sum(rest) + sum_by
    return head + b"%06o\x00 " % total + rest


def raw_tar(*blocks, end=bytes(1024)):
    """A .tar.gz of a good skill and then these blocks."""
    return gzip.compress(padded(raw_header(b"demo/SKILL.md", size=len(SKILL)), SKILL, *blocks) + end)


def padded(*pieces):
    return b"".join(piece + bytes(-len(piece) % 512) for piece in pieces)


def record(key, value):
    text = b" %s=%s\n" % (key, value)
    length = len(text) + 2
    return b"%d%s" % (length if len(str(length)) == 2 else length + 1, text)


def refusal(data, source=zip_source, **arguments):
    """Assert that every call refuses an archive alike, and return the code."""
    made = source(data, **arguments)
    calls = [
        made.list,
        lambda: made.lookup("demo"),
        lambda: made.load("demo"),
        lambda: made.resources("demo"),
        lambda: made.read("demo", "SKILL.md"),
    ]
    messages = set()
    for call in calls:
        with pytest.raises(SourceError) as caught:
            call()
        messages.add(str(caught.value))
        assert caught.value.diagnostics == made.diagnostics()
    assert len(messages) == 1
    (message,) = messages
    assert message.startswith("The archive '") and len(message) < 500 and message.isprintable()
    (diagnostic,) = made.diagnostics()
    assert diagnostic.severity == "error" and diagnostic.message == message and diagnostic.hint
    assert diagnostic.code in CODES
    return diagnostic.code


def content(source):
    """All that a source holds: for each skill its body and its files with their bytes."""
    return {
        summary.name: (
            source.load(summary.name).instructions,
            {info.path: source.read(summary.name, info.path).data for info in source.resources(summary.name)},
        )
        for summary in source.list()
    }


def patched(data, old, new, *, count=-1):
    assert old in data and len(old) == len(new)
    return data.replace(old, new, count)


# --- the cases --------------------------------------------------------------------------------------------------------


def case_file(case, folder):
    path = folder / f"{case['id']}.{case['ext']}"
    if "data_b64" in case:
        path.write_bytes(base64.b64decode(case["data_b64"]))
    else:
        spec = importlib.util.spec_from_file_location("bombs", DATA / "bombs.py")
        bombs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(bombs)
        bombs.build(case["id"], str(path))
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['title']}")
def test_every_case_is_accepted_or_refused_as_it_should_be(case, tmp_path):
    path = case_file(case, tmp_path)
    before = set(tmp_path.rglob("*"))
    for source in (zip_source, tar_source) if case["ext"] == "tgz" else (zip_source,):
        tracemalloc.start()
        try:
            if case["expect"] == "refuse":
                assert refusal(path, source) in CODES
            else:
                made = source(path)
                assert [skill.name for skill in made.list()] == ["demo"]
                assert made.load("demo").instructions.strip() == "body"
                assert made.diagnostics() == ()
                for info in made.resources("demo"):
                    assert len(made.read("demo", info.path).data) == info.size
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()
    assert set(tmp_path.rglob("*")) == before


# --- what is accepted -------------------------------------------------------------------------------------------------


@pytest.mark.row("S3-58")
@pytest.mark.parametrize("data", [zipped(), tarred()], ids=["zip", "tar.gz"])
def test_an_archive_serves_the_same_skills_as_a_folder_without_a_temp_directory(data, tmp_path, monkeypatch):
    wanted = content(MappingSource(FILES))
    path = tmp_path / "skills.bin"
    path.write_bytes(data)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    for made in ("mkstemp", "mkdtemp", "TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory"):
        monkeypatch.delattr(tempfile, made)
    with path.open("rb") as file:
        for form in (path, str(path), data, bytearray(data), io.BytesIO(data), file):
            assert content(zip_source(form)) == wanted
    assert list(scratch.iterdir()) == []
    assert list(tmp_path.iterdir()) == [path, scratch] or set(tmp_path.iterdir()) == {path, scratch}


def test_what_an_archive_says_of_a_skill_is_what_a_mapping_says():
    files = {
        "one/SKILL.md": b"---\nname: other\ndescription: Named otherwise.\nextra: 1\n---\n",
        "group/two/SKILL.md": b"---\nname: two\ndescription: In a group.\n---\nText.\n",
        "three/skill.md": b"---\nname: three\ndescription: Lower case.\n---\nText.\n",
        "four/SKILL.md": b"no frontmatter\n",
        "two/nested/SKILL.md": b"---\nname: two\ndescription: A second one of the name.\n---\n",
    }
    plain = MappingSource(files)
    for data in (zipped(files), tarred_files(files)):
        source = zip_source(data)
        assert content(source) == content(plain)
        assert [(d.code, d.path) for d in source.diagnostics()] == [(d.code, d.path) for d in plain.diagnostics()]
        assert set(source.versions()) == set(plain.versions()) and all(source.versions().values())
        assert source.problems().keys() == plain.problems().keys()


@pytest.mark.parametrize("top", ["", "./", "demo/", "repo-main/skills/demo/"], ids=["root", "dot", "folder", "wrapper"])
def test_the_skill_may_lie_at_the_root_or_in_folders_of_any_depth(top):
    files = {top + "SKILL.md": SKILL, top + "references/a.md": b"a"}
    for data in (zipped(files), tarred_files(files)):
        for profile in (None, STRICT):
            source = zip_source(data, **({"profile": profile} if profile else {}))
            assert content(source) == {"demo": ("body\n", {"references/a.md": b"a"})}
            assert source.diagnostics() == ()


def test_an_archive_may_hold_many_skills():
    files = {f"s{i}/SKILL.md": SKILL.replace(b"demo", b"s%d" % i) for i in range(300)}
    for data in (zipped(files), tarred_files(files)):
        assert len(zip_source(data).list()) == 300


def test_two_folders_at_the_top_that_claim_one_name_are_refused_and_a_broken_one_claims_none():
    twice = {"demo/SKILL.md": SKILL, "demo2/SKILL.md": SKILL}
    assert refusal(zipped(twice)) == "archive-duplicate"
    assert refusal(tarred_files(twice)) == "archive-duplicate"
    broken = {"demo/SKILL.md": SKILL, "demo2/SKILL.md": b"---\nname: demo\n---\n"}
    assert [skill.name for skill in zip_source(zipped(broken)).list()] == ["demo"]
    lower = {"a/b/SKILL.md": SKILL, "c/SKILL.md": SKILL}
    assert [d.code for d in zip_source(zipped(lower)).diagnostics() if d.code == "duplicate-name"] == ["duplicate-name"]


def test_only_the_executable_bit_of_a_mode_is_kept():
    files = [("demo/SKILL.md", SKILL), (entry("demo/run.sh", mode=0o106777), b"x"), (entry("demo/a", mode=0o600), b"x")]
    tar = [member("demo/SKILL.md", SKILL), member("demo/run.sh", b"x", mode=0o6777), member("demo/a", b"x", mode=0o600)]
    for data in (zipped(files), tarred(tar)):
        assert {i.path: i.executable for i in zip_source(data).resources("demo")} == {"a": False, "run.sh": True}
    dos = [("demo/SKILL.md", SKILL), (entry("demo/run.sh", mode=0o777, system=0), b"x")]
    assert [info.executable for info in zip_source(zipped(dos)).resources("demo")] == [False]


def test_folders_are_entries_or_not_and_one_named_twice_is_one():
    explicit = [("demo/", b""), ("demo/SKILL.md", SKILL), ("demo/", b""), (entry("demo/x/", mode=0o40755), b"")]
    assert content(zip_source(zipped(explicit))) == {"demo": ("body\n", {})}
    folders = [member(".", kind=tarfile.DIRTYPE), member("./demo", kind=tarfile.DIRTYPE)]
    assert content(zip_source(tarred([*folders, *folders, member("./demo/SKILL.md", SKILL)]))) == {
        "demo": ("body\n", {})
    }


def test_hidden_files_and_macos_extras_are_not_served_and_no_skill():
    files = {
        "__MACOSX/demo/._SKILL.md": b"x",
        "demo/.DS_Store": b"x",
        "demo/SKILL.md": SKILL,
        "__MACOSX/SKILL.md": SKILL,
    }
    assert content(zip_source(zipped(files))) == {"demo": ("body\n", {})}
    del files["demo/SKILL.md"]
    assert refusal(zipped(files)) == "archive-no-skill"


def test_a_zip_may_be_streamed_have_comments_stored_entries_and_zip64_fields():
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, block):
            self.data += bytes(block)
            return len(block)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    streamed = pipe.data
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in FILES.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(data)
    streamed64 = pipe.data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in FILES.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(data)
    stored = zipped([(entry(name, method=zipfile.ZIP_STORED), data) for name, data in FILES.items()])
    # The name of an entry as Info-ZIP writes it: UTF-8 without the bit that says so.
    unflagged = zipped().replace(b"\x00\x08\x08\x00", b"\x00\x00\x08\x00")
    for data in (streamed, streamed64, buffer.getvalue(), stored, zipped(comment=b"a" * 40), unflagged, wide(zipped())):
        assert content(zip_source(data)) == content(MappingSource(FILES))
    # A descriptor may leave out its signature.
    for bare in (streamed, streamed64):
        assert content(zip_source(without_signatures(bare))) == content(MappingSource(FILES))


def without_signatures(data):
    """Drop the optional signature of each data descriptor, and mend the offsets."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        offsets = [info.header_offset for info in archive.infolist()]
        start = archive.start_dir
    pieces = data[:start].split(b"PK\x07\x08")
    body = b"".join(pieces)
    directory = data[start:]
    at = 0
    for number, offset in enumerate(offsets):
        at = directory.index(struct.pack("<L", offset), at + 42 if number else 42)
        directory = directory[:at] + struct.pack("<L", offset - 4 * number) + directory[at + 4 :]
    end = directory.rindex(b"PK\x05\x06")
    return body + directory[: end + 16] + struct.pack("<L", start - 4 * (len(pieces) - 1)) + directory[end + 20 :]


def wide(data, *, count=None, sentinel=True, shift=0, locator=0):
    """The same archive with a zip64 end record."""
    end = data.rindex(b"PK\x05\x06")
    _, _, _, here, total, size, start, comment = struct.unpack("<4s4H2LH", data[end:])
    here = total = count if count is not None else total
    record64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44 + shift, 45, 45, 0, 0, here, total, size, start)
    place = struct.pack("<4sLQL", b"PK\x06\x07", 0, end + locator, 1)
    short = (0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF) if sentinel else (here, total, size, start)
    return data[:end] + record64 + place + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, *short, comment)


def test_an_entry_may_have_its_sizes_in_the_zip64_field_of_the_directory():
    data = zipped({"demo/SKILL.md": SKILL})
    start = data.index(b"PK\x01\x02")
    fields = list(struct.unpack("<4s6H3L5H2L", data[start : start + 46]))
    sizes = struct.pack("<2H3Q", 1, 24, fields[9], fields[8], fields[16])
    fields[8] = fields[9] = fields[16] = 0xFFFFFFFF
    fields[11] = len(sizes)
    end = data.index(b"PK\x05\x06")
    central = struct.pack("<4s6H3L5H2L", *fields) + data[start + 46 : end] + sizes
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), start, 0)
    assert content(zip_source(data[:start] + central + tail)) == {"demo": ("body\n", {})}
    short = central[: -len(sizes)] + struct.pack("<2H", 9, 24) + sizes[4:]
    assert refusal(data[:start] + short + tail) == "archive-differs"


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_may_have_long_names_in_any_of_the_formats(form):
    name = f"demo/{'folder' * 12}/{'name' * 20 if form == tarfile.USTAR_FORMAT else 'name' * 50}.md"
    data = tarred([member("demo/SKILL.md", SKILL), member(name, b"long")], form=form)
    assert content(zip_source(data)) == {"demo": ("body\n", {name[5:]: b"long"})}


def test_a_tar_may_have_a_global_comment_numbers_as_bytes_and_no_magic():
    blocks = [
        padded(
            raw_header(b"pax_global_header", size=len(record(b"comment", b"x")), kind=b"g"), record(b"comment", b"x")
        ),
        padded(raw_header(b"demo/a", size=b"\x80" + bytes(10) + b"\x01"), b"a"),
        padded(raw_header(b"demo/b", size=1, kind=b"\x00", magic=b""), b"b"),
        padded(raw_header(b"demo/c", size=1, magic=b"ustar  \x00", prefix=b"12345"), b"c"),
        padded(raw_header(b"c/d", size=1, prefix=b"demo"), b"d"),
        padded(raw_header(b"demo/e", size=b" 1 \x00".ljust(12, b"\x00"), mode=b"\x00" * 8), b"e"),
        padded(raw_header(b"p", kind=b"x", size=len(record(b"path", b"demo/f"))), record(b"path", b"demo/f")),
        padded(raw_header(b"l", kind=b"L", size=7), b"demo/f\x00"),
        padded(raw_header(b"demo/other", size=1), b"f"),
    ]
    with pytest.raises(SourceError):  # «demo/c» is a file and then a folder
        zip_source(raw_tar(*blocks)).list()
    blocks[4] = padded(raw_header(b"g/d", size=1, prefix=b"demo"), b"d")
    files = {"a": b"a", "b": b"b", "c": b"c", "g/d": b"d", "e": b"e", "f": b"f"}
    assert content(zip_source(raw_tar(*blocks))) == {"demo": ("body\n", files)}


TOOLS = {
    "zip": [
        "zip -qr {out}.zip demo",
        "cd demo && zip -qr {out}.zip .",
        "zip -qr - demo > {out}.zip",
        "zip -q0r {out}.zip demo",
    ],
    "7z": ["7z a -bso0 -bsp0 {out}.zip demo"],
    "7zz": ["7zz a -bso0 -bsp0 {out}.zip demo", "7zz a -bso0 -bsp0 -mm=Copy -mcu=on {out}.zip demo"],
    "bsdtar": ["bsdtar -a -cf {out}.zip demo", "bsdtar -czf {out}.tgz demo", "cd demo && bsdtar -czf {out}.tgz ."],
    "jar": ["jar cMf {out}.zip demo", "jar cf {out}.zip demo"],
    "tar": [
        "tar --format=gnu -czf {out}.tgz demo",
        "tar --format=posix -czf {out}.tgz demo",
        "tar --format=ustar -czf {out}.tgz demo",
        "cd demo && tar -czf {out}.tgz .",
        "cd demo && tar -czf {out}.tgz *",
    ],
    "git": [
        "git init -q . && git add -A && git -c user.name=n -c user.email=e@x commit -qm m && "
        "git archive --format=zip -o {out}.zip HEAD",
        "git init -q . && git add -A && git -c user.name=n -c user.email=e@x commit -qm m && "
        "git archive --prefix=demo-1.0/ --format=tar.gz -o {out}.tgz HEAD",
    ],
}


def disk_tree(root):
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "demo/scripts/run.py").chmod(0o755)
    (root / "demo/hollow").mkdir()
    return content(DirectorySource(root))


@pytest.mark.parametrize(("tool", "line"), [(tool, line) for tool, lines in TOOLS.items() for line in lines])
def test_archives_made_by_the_usual_tools_are_accepted(tool, line, tmp_path):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "src").mkdir()
    wanted = disk_tree(tmp_path / "src")
    subprocess.run(line.format(out=tmp_path / "made"), shell=True, cwd=tmp_path / "src", check=True)
    (made,) = tmp_path.glob("made.*")
    assert content(zip_source(made)) == wanted


def test_archives_made_by_python_are_accepted(tmp_path):
    wanted = disk_tree(tmp_path / "src")
    for form in ("zip", "gztar"):
        for base in (None, "demo"):
            root = tmp_path / "src" if base else tmp_path / "src/demo"
            assert content(zip_source(shutil.make_archive(str(tmp_path / f"{form}{base}"), form, root, base))) == wanted


# --- what is refused: zip ---------------------------------------------------------------------------------------------


NAMES = {
    "..": "demo/../x",
    "absolute": "/demo/x",
    "empty part": "demo//x",
    "dot": "demo/./x",
    "drive": "C:x",
    "stream": "demo/x.md:hidden",
    "backslash": "demo\\x",
    "newline": "demo/a\nb",
    "escape": "demo/a\x1bb",
    "device": "demo/lpt1.txt",
    "device with blanks": "demo/NUL .txt",
    "trailing dot": "demo/x.",
    "trailing blank": "demo /x",
    "part too long": "demo/" + "\u00e4" * 128,
    "path too long": "/".join(["demo", *["x" * 200] * 25]),
    "too deep": "/".join(["d"] * 65),
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_could_mean_something_else_is_refused(name):
    assert refusal(zipped({"demo/SKILL.md": SKILL, name: b"x"})) == "archive-path"
    # In the long form, for a short one ends at a NUL and is cut to 100 bytes.
    extension = record(b"path", name.encode()) if len(name) < 80 else b""
    blocks = padded(raw_header(b"p", kind=b"x", size=len(extension)), extension) if extension else b""
    long = padded(raw_header(b"l", kind=b"L", size=len(name.encode())), name.encode()) if not blocks else b""
    assert refusal(raw_tar(blocks, long, raw_header(b"x"))) == "archive-path"


def test_a_name_that_is_not_utf_8_is_refused_flagged_or_not():
    data = zipped({"demo/SKILL.md": SKILL, "demo/\u00e4.md": b"x"})
    bad = patched(data, "\u00e4".encode(), b"\xe4\x2e")
    assert refusal(bad) == "archive-path"
    assert refusal(bad.replace(b"\x00\x08\x08\x00", b"\x00\x00\x08\x00")) == "archive-path"
    assert refusal(raw_tar(raw_header(b"demo/\xe4.md"))) == "archive-path"


CLASHES = {
    "case": ["demo/A.md", "demo/a.md"],
    "case of a folder": ["demo/Sub/a.md", "demo/sub/b.md"],
    "case of an empty folder": ["demo/Sub/", "demo/sub/b.md"],
    "normal form": ["demo/\u00e9.md", "demo/e\u0301.md"],
    "both": ["demo/\u00c9.md", "demo/e\u0301.md"],
    "sharp s": ["demo/\u00df.md", "demo/SS.md"],
    "twice": ["demo/a.md", "demo/a.md"],
    "dot": ["demo/a.md", "./demo/a.md"],
    "file and folder": ["demo/a", "demo/a/b"],
    "folder and file": ["demo/a/b", "demo/a"],
    "folder and file, both entries": ["demo/a/", "demo/a"],
}


@pytest.mark.parametrize("names", CLASHES.values(), ids=CLASHES)
def test_names_that_some_file_systems_cannot_tell_apart_are_refused(names):
    files = [("demo/SKILL.md", SKILL), *((name, b"" if name.endswith("/") else b"x") for name in names)]
    assert refusal(zipped(files)) == "archive-duplicate"
    members = [member(n.rstrip("/"), d, kind=tarfile.DIRTYPE if n.endswith("/") else tarfile.REGTYPE) for n, d in files]
    assert refusal(tarred(members)) == "archive-duplicate"


@pytest.mark.parametrize("system", [0, 3, 19], ids=["dos", "unix", "macos"])
@pytest.mark.parametrize(
    ("mode", "code"),
    [
        (stat.S_IFLNK, "archive-link"),
        (stat.S_IFIFO, "archive-special"),
        (stat.S_IFCHR, "archive-special"),
        (stat.S_IFBLK, "archive-special"),
        (stat.S_IFSOCK, "archive-special"),
        (stat.S_IFDIR, "archive-differs"),
    ],
)
def test_an_entry_of_a_zip_that_is_no_file_or_folder_is_refused_whatever_made_it(mode, code, system):
    assert (
        refusal(zipped([("demo/SKILL.md", SKILL), (entry("demo/x", mode=mode | 0o644, system=system), b"a")])) == code
    )


def test_methods_and_flags_that_not_every_tool_reads_are_refused():
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert refusal(zipped([("demo/SKILL.md", SKILL), (entry("demo/x", method=method), b"a")])) == "archive-method"
    data = zipped({"demo/SKILL.md": SKILL})
    for flag in (0x1, 0x40, 0x2000, 0x10, 0x20, 0x1000):
        local, central = data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8
        flagged = bytearray(data)
        struct.pack_into("<H", flagged, local, flag)
        struct.pack_into("<H", flagged, central, flag)
        assert refusal(bytes(flagged)) == ("archive-encrypted" if flag & 0x2041 else "archive-method")


def changed(data, signature, at, form, value, *, last=False):
    """Overwrite a field of the first or last record with a signature."""
    place = data.rindex(signature) if last else data.index(signature)
    copy = bytearray(data)
    struct.pack_into(form, copy, place + at, value)
    return bytes(copy)


LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
GOOD = zipped({"demo/SKILL.md": SKILL, "demo/a.md": b"a" * 100})
DIFFERENT = {
    "name in the local header": patched(GOOD, b"demo/a.md", b"demo/b.md", count=1),
    "crc in the local header": changed(GOOD, LOCAL, 14, "<L", 1),
    "packed size in the local header": changed(GOOD, LOCAL, 18, "<L", 1),
    "size in the local header": changed(GOOD, LOCAL, 22, "<L", 1),
    "method in the local header": changed(GOOD, LOCAL, 8, "<H", 0),
    "flags in the local header": changed(GOOD, LOCAL, 6, "<H", 2),
    "length of the local name": changed(GOOD, LOCAL, 26, "<H", 5),
    "offset in the directory": changed(GOOD, CENTRAL, 42, "<L", 1),
    "offset of the second": changed(GOOD, CENTRAL, 42, "<L", 0, last=True),
    "two stored sizes": changed(changed(GOOD, CENTRAL, 10, "<H", 0), LOCAL, 8, "<H", 0),
    "disk of an entry": changed(GOOD, CENTRAL, 34, "<H", 1),
    "no signature in the directory": changed(GOOD, CENTRAL, 0, "<L", 0),
    "no signature before an entry": changed(GOOD, LOCAL, 0, "<L", 0),
    "one entry less": changed(changed(GOOD, END, 10, "<H", 1), END, 8, "<H", 1),
    "one entry more": changed(changed(GOOD, END, 10, "<H", 3), END, 8, "<H", 3),
    "two counts": changed(GOOD, END, 10, "<H", 3),
    "another disk": changed(GOOD, END, 4, "<H", 1),
    "start of the directory": changed(GOOD, END, 16, "<L", 5),
    "size of the directory": changed(GOOD, END, 12, "<L", 5),
    "stacked": GOOD + GOOD,
    "before": b"#!/bin/sh\n" + GOOD,
    "after": GOOD + b"x",
    "zeros after": GOOD + bytes(100),
    "end record in the comment": zipped({"demo/SKILL.md": SKILL}, comment=GOOD[-22:]),
    "end record cut": GOOD + END,
    "comment longer than the file": changed(GOOD, END, 20, "<H", 5),
    "zip64 count": wide(GOOD, count=3),
    "zip64 against the short record": wide(GOOD, count=3, sentinel=False)[:-22] + GOOD[-22:],
    "zip64 length": wide(GOOD, shift=4),
    "zip64 place": wide(GOOD, locator=1),
    "zip64 nowhere": wide(GOOD, locator=1 << 40),
}


@pytest.mark.parametrize("data", DIFFERENT.values(), ids=DIFFERENT)
def test_a_zip_that_tools_could_read_differently_is_refused(data):
    assert refusal(data) == "archive-differs"


def local_only(files, hidden):
    """A zip with an entry that has a local header and is not in the directory."""
    data = zipped(files)
    start = data.index(CENTRAL)
    other = zipped(hidden)
    extra = other[: other.index(CENTRAL)]
    end = data.rindex(END)
    return data[:start] + extra + data[start : end + 16] + struct.pack("<L", start + len(extra)) + data[end + 20 :]


def test_bytes_that_no_entry_accounts_for_are_refused():
    assert refusal(local_only({"demo/SKILL.md": SKILL}, {"demo/x": b"x"})) == "archive-differs"
    # A second end record whose comment is the rest: two archives in one, by where a tool starts to search.
    first = zipped({"demo/SKILL.md": SKILL})
    second = zipped({"demo/SKILL.md": SKILL.replace(b"body", b"evil")})
    both = first[:-2] + struct.pack("<H", len(second)) + second
    assert refusal(both) == "archive-differs"
    # Data between an entry's packed bytes and the next header, with the size said to be larger.
    tail = zipped([(entry("demo/SKILL.md"), SKILL), (entry("demo/x"), b"x" * 100)])
    packed = struct.unpack_from("<L", tail, 18)[0]
    longer = tail[: 30 + 13 + packed] + b"junk" + tail[30 + 13 + packed :]
    longer = changed(changed(longer, LOCAL, 18, "<L", packed + 4), CENTRAL, 20, "<L", packed + 4)
    place = longer.rindex(CENTRAL)
    copy = bytearray(longer)
    struct.pack_into("<L", copy, place + 42, struct.unpack_from("<L", longer, place + 42)[0] + 4)
    copy = bytearray(changed(bytes(copy), END, 16, "<L", longer.index(CENTRAL)))
    assert refusal(bytes(copy)) == "archive-differs"


def with_extra(extra, *, local=False):
    """A zip whose only entry has this extra field, in the directory or in its own header."""
    info = entry("demo/SKILL.md")
    if not local:
        info.extra = extra
        return zipped([(info, SKILL)])
    data = zipped([(info, SKILL)])
    head = changed(data[:43], LOCAL, 28, "<H", len(extra)) + extra + data[43:]
    return changed(head, END, 16, "<L", data.index(CENTRAL) + len(extra))


@pytest.mark.parametrize("local", [False, True], ids=["directory", "local header"])
def test_an_extra_field_may_not_give_a_second_name_or_be_cut_or_doubled(local):
    def field(kind, value):
        return struct.pack("<2H", kind, len(value)) + value

    good = field(0x7075, b"\x01" + bytes(4) + b"demo/SKILL.md") + field(0x5455, b"\x01" + bytes(4))
    assert content(zip_source(with_extra(good, local=local))) == {"demo": ("body\n", {})}
    for bad in (
        field(0x7075, b"\x01" + bytes(4) + b"demo/OTHER.md"),
        field(0x5455, b"abc")[:-1],
        b"\x01",
        field(1, bytes(8)) + field(1, bytes(8)),
    ):
        assert refusal(with_extra(bad, local=local)) == "archive-differs"


def test_the_sizes_after_an_entry_must_be_those_of_the_directory():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def tell(self):
            raise OSError

        def seek(self, *_):
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        archive.writestr(entry("demo/SKILL.md"), SKILL)
    data = pipe.getvalue()
    assert content(zip_source(data)) == {"demo": ("body\n", {})}
    for at in (0, 4, 8, 12):
        assert refusal(changed(data, b"PK\x07\x08", at, "<L", 7)) == "archive-differs"
    cut = data.replace(data[data.index(b"PK\x07\x08") :][:16], b"")
    assert refusal(changed(cut, END, 16, "<L", cut.index(CENTRAL))) == "archive-differs"
    longer = data.replace(b"PK\x07\x08", b"junkPK\x07\x08")
    assert refusal(changed(longer, END, 16, "<L", longer.index(CENTRAL))) == "archive-differs"


def test_a_folder_with_content_is_refused():
    assert refusal(zipped([("demo/SKILL.md", SKILL), (entry("demo/x/", mode=0o40755), b"hidden")])) == "archive-differs"
    assert refusal(raw_tar(padded(raw_header(b"demo/x", kind=b"5", size=1), b"x"))) == "archive-differs"


def test_damaged_data_is_refused_wherever_it_is():
    start = GOOD.index(b"demo/a.md") + 9
    assert refusal(GOOD[:start] + b"\xff\xff" + GOOD[start + 2 :]) == "archive-damaged"
    assert refusal(GOOD[:-30]) == "archive-damaged"
    # An entry that ends before its compressed data does, and one whose data is no whole stream.
    data = zipped([(entry("demo/SKILL.md", method=zipfile.ZIP_STORED), SKILL[:-1] + b"\n")])
    as_deflated = changed(changed(data, LOCAL, 8, "<H", 8), CENTRAL, 10, "<H", 8)
    assert refusal(as_deflated) in {"archive-damaged", "archive-differs"}
    for text in (b"", b"hello", b"Rar!\x1a\x07", b"BZh91AY", b"\xfd7zXZ\x00", b"PK"):
        assert refusal(text) == "archive-damaged"
    empty = zipped([(entry("demo/SKILL.md"), SKILL), (entry("demo/a"), b"a" * 5000)])
    at = empty.index(b"demo/a") + 6
    packed = struct.unpack_from("<L", empty, at - 6 - 30 + 18)[0]
    cut = empty[: at + packed - 1] + b"\x00" + empty[at + packed :]
    assert refusal(cut) in {"archive-damaged", "archive-limit"}


# --- what is refused: tar ---------------------------------------------------------------------------------------------


BAD_TARS = {
    "hard link": ([member("demo/x", kind=tarfile.LNKTYPE, link="demo/SKILL.md")], "archive-link"),
    "symbolic link": ([member("demo/x", kind=tarfile.SYMTYPE, link="SKILL.md")], "archive-link"),
    "long link": ([member("demo/x", kind=tarfile.SYMTYPE, link="x" * 300)], "archive-link"),
    "pipe": ([member("demo/x", kind=tarfile.FIFOTYPE)], "archive-special"),
    "character device": ([member("demo/x", kind=tarfile.CHRTYPE)], "archive-special"),
    "block device": ([member("demo/x", kind=tarfile.BLKTYPE)], "archive-special"),
    "sparse": ([member("demo/x", b"x", kind=tarfile.GNUTYPE_SPARSE)], "archive-method"),
    "contiguous": ([member("demo/x", b"x", kind=tarfile.CONTTYPE)], "archive-method"),
    "sparse by a pax field": ([member("demo/x", b"x", pax={"GNU.sparse.major": "1"})], "archive-special"),
    "size by a pax field": ([member("demo/x", b"x", pax={"size": "0"})], "archive-differs"),
}


@pytest.mark.parametrize(("members", "code"), BAD_TARS.values(), ids=BAD_TARS)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
def test_an_entry_of_a_tar_that_is_no_plain_file_or_folder_is_refused(members, code, form):
    if form == tarfile.GNU_FORMAT and members[0][0].pax_headers:
        members = []
        code = None
    data = tarred([member("demo/SKILL.md", SKILL), *members], form=form)
    assert (refusal(data) if code else content(zip_source(data)) and None) == code


def extension(kind, data):
    return padded(raw_header(b"e", kind=kind, size=len(data)), data)


PATH = record(b"path", b"demo/x")
BAD_RECORDS = {
    "checksum": (raw_header(b"demo/x", sum_by=1), "damaged"),
    "number": (raw_header(b"demo/x", size=b"00000000009\x00"), "damaged"),
    "negative number": (raw_header(b"demo/x", size=b"\xff" * 12), "damaged"),
    "size past everything": (raw_header(b"demo/x", size=b"\x80" + b"\xff" * 11), "limit"),
    "name that goes on": (raw_header(b"demo/x\x00.md"), "differs"),
    "file that is a folder by its name": (raw_header(b"demo/x/"), "differs"),
    "file without a name": (raw_header(b"./"), "differs"),
    "no name at all": (raw_header(b""), "path"),
    "two pax names": (extension(b"x", PATH) + extension(b"x", PATH) + raw_header(b"y"), "differs"),
    "two names in one header": (extension(b"x", PATH + PATH) + raw_header(b"y"), "differs"),
    "two long names": (extension(b"L", b"demo/x\x00") * 2 + raw_header(b"y"), "differs"),
    "long names that differ": (extension(b"L", b"demo/y\x00") + extension(b"x", PATH) + raw_header(b"y"), "differs"),
    "a global name": (extension(b"g", PATH) + raw_header(b"y"), "differs"),
    "a link's name": (extension(b"x", record(b"linkpath", b"/etc")) + raw_header(b"y"), "link"),
    "a long name before the end": (extension(b"x", PATH), "differs"),
    "a long link": (extension(b"K", b"/etc\x00") + raw_header(b"y"), "link"),
    "a record without length": (extension(b"x", b"path=demo/x\n") + raw_header(b"y"), "damaged"),
    "a record of length 0": (extension(b"x", b"0 path=demo/x\n") + raw_header(b"y"), "damaged"),
    "a record that is cut": (extension(b"x", PATH[:-1]) + raw_header(b"y"), "damaged"),
    "a record without a value": (extension(b"x", b"9 path  \n") + raw_header(b"y"), "damaged"),
    "an extension without end": (raw_header(b"e", kind=b"x", size=1 << 20), "limit"),
    "an unknown kind": (raw_header(b"demo/x", kind=b"Q"), "method"),
    "a volume label": (raw_header(b"demo/x", kind=b"V"), "method"),
    "content that is cut": (raw_header(b"demo/x", size=1000), "damaged"),
}


@pytest.mark.parametrize(("block", "code"), BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_a_tar_with_a_record_that_tools_could_read_differently_is_refused(block, code):
    end = b"" if code == "damaged" and block[124:125] == b"0" and len(block) == 512 else bytes(1024)
    assert refusal(raw_tar(block, end=end)) == f"archive-{code}"


def test_nothing_may_follow_after_the_end_of_a_tar():
    good = tarred()
    second = padded(raw_header(b"demo/x", size=1), b"x") + bytes(1024)
    for data in (
        good + good,
        good + b"x",
        good + bytes(1000),
        raw_tar(end=bytes(512) + second),
        raw_tar(end=bytes(10240) + second),
        raw_tar(end=bytes(3 << 20)),
    ):
        assert refusal(data) == "archive-differs"
    for end in (bytes(512), bytes(1024), bytes(1 << 20)):
        assert content(zip_source(raw_tar(end=end))) == {"demo": ("body\n", {})}


def test_a_tar_that_is_cut_or_damaged_or_not_packed_is_refused():
    good = tarred()
    assert refusal(good[:-1]) == "archive-damaged"
    assert refusal(good[:40]) == "archive-damaged"
    assert refusal(raw_tar(end=b"")) == "archive-damaged"
    assert refusal(good[:-8] + bytes(8)) == "archive-damaged"
    for data in (gzip.decompress(good), zipped(), b""):
        assert refusal(data, tar_source) == "archive-damaged"
    assert refusal(gzip.compress(b"hello")) == "archive-damaged"


# --- bounds -----------------------------------------------------------------------------------------------------------


def many(count, size):
    return {"demo/SKILL.md": SKILL, **{f"demo/{i}": bytes(size) for i in range(count)}}


@pytest.mark.parametrize(
    "pack", [zipped, lambda files: tarred([member(*p) for p in files.items()])], ids=["zip", "tar"]
)
def test_every_bound_of_an_archive_has_a_name_and_can_be_raised(pack):
    crowd = pack(many(20, 0))
    assert refusal(crowd, bounds=ArchiveLimits(entries=20)) == "archive-limit"
    assert len(zip_source(crowd, bounds=ArchiveLimits(entries=21)).resources("demo")) == 20
    heavy = pack(many(3, 1 << 20))
    assert refusal(heavy, bounds=ArchiveLimits(total_bytes=3 << 20)) == "archive-limit"
    steep = pack(many(1, 8 << 20))
    assert refusal(steep) == "archive-limit"
    source = zip_source(steep, bounds=ArchiveLimits(ratio=2000))
    assert [info.size for info in source.resources("demo")] == [8 << 20]


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "5", None])
def test_a_bound_that_is_no_positive_number_is_refused(value):
    for name in ("entries", "total_bytes", "ratio"):
        with pytest.raises(LimitError, match=name):
            ArchiveLimits(**{name: value})


def test_a_file_that_is_larger_than_what_it_may_hold_is_refused_unread():
    # Empty blocks can be packed without end, and inflate to nothing.
    flood = gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * (1 << 19)
    assert refusal(flood, bounds=ArchiveLimits(entries=1, total_bytes=1000)) == "archive-limit"
    assert refusal(flood) == "archive-damaged"
    assert refusal(bytes(3 << 20), bounds=ArchiveLimits(entries=1, total_bytes=1000)) == "archive-limit"


def test_a_directory_larger_than_its_entries_is_refused_unread():
    one, two = entry("demo/SKILL.md"), entry("demo/a")
    one.comment = two.comment = b"x" * 60000
    assert refusal(zipped([(one, SKILL), (two, b"")])) == "archive-differs"


def test_bombs_are_refused_and_large_files_read_within_little_memory():
    noise = os.urandom(1 << 20)
    large = {"demo/SKILL.md": SKILL, "demo/large": noise * 24}
    for data in (zipped(large), tarred([member(*pair) for pair in large.items()], level=1)):
        source = zip_source(data)
        tracemalloc.start()
        try:
            for offset in range(0, 24 << 20, 5 << 20):
                page = source.read("demo", "large", offset=offset, max_bytes=1000)
                assert page.data == noise[offset % len(noise) :][:1000] and page.total == 24 << 20
            assert source.read("demo", "large", offset=1 << 40).data == b""
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 12 << 20
        assert source.read("demo", "large", max_bytes=1 << 40).data == noise  # Limits.resource_bytes


def test_pages_put_together_are_the_file_across_all_blocks():
    text = b"".join(b"line %d of a long file\n" % i for i in range(150_000))
    files = {"demo/SKILL.md": SKILL, "demo/a": b"small", "demo/long.txt": text, "demo/z": b"after"}
    for data in (zipped(files), tarred_files(files)):
        source = zip_source(data)
        pages, offset = [], 0
        while True:
            page = source.read("demo", "long.txt", offset=offset, max_bytes=333_333)
            pages.append(page.data)
            offset += len(page.data)
            if not page.truncated:
                break
        assert b"".join(pages) == text
        assert source.read("demo", "z").data == b"after"


# --- the tree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [zipped(), tarred()], ids=["zip", "tar.gz"])
def test_the_tree_answers_like_any_tree(data):
    tree = ArchiveTree(data, label="skills")
    assert (tree.label, tree.name, tree.on_disk) == ("skills", None, False)
    assert (tree.where(""), tree.where("demo/SKILL.md")) == (None, "demo/SKILL.md")
    assert [e.name for e in tree.entries("")] == ["demo"]
    assert {e.name: e.kind for e in tree.entries("demo")} == {
        "SKILL.md": "file",
        "references": "directory",
        "scripts": "directory",
        "assets": "directory",
    }
    assert tree.kind("").kind == tree.kind("demo", "assets").kind == "directory"
    assert tree.kind("demo", "assets").identity not in {0, tree.kind("demo").identity}
    assert tree.kind("demo", "SKILL.md").kind == "file"
    assert tree.version("demo", "SKILL.md") == tree.read("demo", "SKILL.md", size=5).version
    assert tree.version("demo", "none") is None
    for call in (tree.kind, tree.entries, lambda *a: tree.read(*a, size=1)):
        with pytest.raises(ResourceNotFoundError):
            call("demo", "none")
    with pytest.raises(ResourceTypeError):
        tree.read("demo", "assets", size=1)
    with pytest.raises(ResourceNotFoundError):
        tree.entries("demo", "SKILL.md")
    with tree.hold() as held:
        assert held.read("demo", "SKILL.md", size=1 << 20).data == SKILL


def test_one_scan_opens_the_file_once_and_judges_it_once(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({f"s{i}/SKILL.md": SKILL.replace(b"demo", b"s%d" % i) for i in range(50)}))
    os.utime(path, ns=(10**18, 10**18))
    source = zip_source(path)
    opened, judged = [], []
    monkeypatch.setattr("skillbelt.sources.archive.files.os.open", counting(os.open, opened))
    monkeypatch.setattr("skillbelt.sources.archive.settled", lambda stamp: True)
    real = sys.modules["skillbelt.sources.archive"].read_zip
    monkeypatch.setattr("skillbelt.sources.archive.read_zip", counting(real, judged))
    assert len(source.list()) == len(source.list()) == 50
    assert len(opened) == 2 and len(judged) == 1


def counting(call, calls):
    def counted(*arguments, **named):
        calls.append(arguments)
        return call(*arguments, **named)

    return counted


# --- the file ---------------------------------------------------------------------------------------------------------


def test_a_missing_archive_is_an_error_and_never_an_empty_answer(tmp_path):
    source = zip_source(tmp_path / "none.zip")
    for call in (source.list, source.diagnostics):
        with pytest.raises(SourceError, match="was not found"):
            call()
    (tmp_path / "none.zip").write_bytes(zipped())
    assert list(content(source)) == ["demo"]


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(SourceError, match="not a regular file"):
            zip_source(path).list()
    (tmp_path / "closed.zip").write_bytes(zipped())
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SourceError, match="cannot be read"):
        zip_source(tmp_path / "loop").list()


@pytest.mark.parametrize("file", [None, 5, "", "a\x00b", bytes, object()])
def test_what_is_no_file_at_all_is_refused_at_construction(file):
    with pytest.raises(SourceError, match="path, bytes or a seekable binary file"):
        zip_source(file)


def test_a_file_object_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped())
    closed = (tmp_path / "a.zip").open("rb")
    closed.close()
    read_end, write_end = os.pipe()
    os.close(write_end)
    with (tmp_path / "a.zip").open("r", encoding="latin-1") as text, os.fdopen(read_end, "rb") as pipe:
        for file in (closed, text, pipe, io.StringIO("PK\x05\x06" + "\x00" * 18)):
            with pytest.raises(SourceError, match="cannot be read"):
                zip_source(file).list()


def test_a_failing_disk_is_an_error_of_ours(tmp_path, monkeypatch):
    (tmp_path / "a.zip").write_bytes(zipped())
    source = zip_source(tmp_path / "a.zip")

    def broken(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("skillbelt.sources.archive.files.os.pread", broken)
    with pytest.raises(SourceError, match="Input/output error"):
        source.list()


def test_an_archive_with_a_name_that_is_no_text_can_be_read(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.zip")
    Path(path).write_bytes(zipped())
    source = zip_source(path)
    assert list(content(source)) == ["demo"]
    assert all(summary.source.isprintable() for summary in source.list())
    with open(path, "rb") as file:  # noqa: PTH123
        assert zip_source(file).list()[0].source.isprintable()


def test_a_refusal_names_the_archive_but_no_folder_of_the_host(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped({"demo/../x": b"", "demo/SKILL.md": SKILL}))
    source = zip_source(tmp_path / "a.zip")
    with pytest.raises(SourceError) as caught:
        source.list()
    assert "'a.zip'" in str(caught.value) and str(tmp_path) not in str(caught.value)
    assert source.diagnostics()[0].path == str(tmp_path / "a.zip")


def test_a_relative_path_stays_the_one_it_was(tmp_path, monkeypatch):
    (tmp_path / "a.zip").write_bytes(zipped())
    monkeypatch.chdir(tmp_path)
    source = zip_source("a.zip")
    monkeypatch.chdir("/")
    assert list(content(source)) == ["demo"]


def descriptors():
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def test_no_descriptor_stays_open_whatever_happens(tmp_path):
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    good.write_bytes(zipped())
    bad.write_bytes(zipped({"demo/SKILL.md": SKILL, "../x": b""}))

    def use():
        content(zip_source(good))
        with pytest.raises(SourceError):
            zip_source(bad).list()
        with pytest.raises(ResourceNotFoundError):
            zip_source(good).read("demo", "none")

    use()
    before = descriptors()
    for _ in range(20):
        use()
    assert descriptors() == before


# --- change -----------------------------------------------------------------------------------------------------------


def generation(number):
    mark = b"%06d" % number
    body = b"---\nname: demo\ndescription: d\n---\n" + mark * 100
    return zipped({"demo/SKILL.md": body, "demo/a.md": mark * 5000})


def test_a_changed_archive_is_seen_at_the_next_call_and_only_what_changed_has_another_version(tmp_path):
    path = tmp_path / "a.zip"
    files = {"demo/SKILL.md": SKILL, "mail/SKILL.md": SKILL.replace(b"demo", b"mail")}
    path.write_bytes(zipped(files))
    source = zip_source(path)
    source.list()
    before = dict(source.versions())
    files["demo/SKILL.md"] = SKILL.replace(b"body", b"else")
    path.write_bytes(zipped(files))  # in place
    assert source.load("demo").instructions == "else\n"
    source.list()
    after = dict(source.versions())
    assert before["mail"] == after["mail"] and before["demo"] != after["demo"]
    path.write_bytes(b"broken")
    with pytest.raises(SourceError):
        source.list()
    (tmp_path / "b.zip").write_bytes(tarred())
    (tmp_path / "b.zip").rename(path)
    assert list(content(source)) == ["demo"]


def test_a_rewrite_of_the_same_size_within_one_tick_of_the_clock_is_seen(tmp_path):
    path = tmp_path / "a.zip"
    source = zip_source(path)
    for number in range(20):
        path.write_bytes(generation(number))
        assert source.load("demo").instructions.startswith(f"{number:06d}")


def test_an_archive_is_judged_again_only_while_its_time_of_change_is_fresh():
    now, years = time.time_ns(), 10**18
    assert not settled((5, 0, now, 1, 1)) and not settled((5, now + years, now))
    assert settled((5, now + years, now - 10**9, 1, 1)) and settled((5, 0, now + years)) and settled((5,))


def test_a_file_object_that_is_written_anew_is_seen_or_an_error_but_never_mixed():
    file = io.BytesIO(generation(1))
    source = zip_source(file)
    assert source.read("demo", "a.md").data == b"000001" * 5000
    file.seek(0)
    file.write(generation(2))  # perhaps of the same size: then nothing tells but the bytes
    with suppress(SourceError):
        assert source.read("demo", "a.md").data == b"000002" * 5000
    stored = io.BytesIO(zipped([("demo/SKILL.md", SKILL), (entry("demo/a.md", method=0), b"a" * 100)]))
    source = zip_source(stored)
    source.list()
    data = stored.getvalue()
    stored.seek(data.index(b"a" * 100))
    stored.write(b"b" * 100)
    with pytest.raises(SourceError, match="judged"):
        source.read("demo", "a.md")
    file.seek(0, os.SEEK_END)
    file.write(b"x")  # another size: judged anew
    with pytest.raises(SourceError, match="refused"):
        zip_source(file).list()


def test_a_file_that_never_stands_still_is_an_error():
    class Growing(io.BytesIO):
        ends = 0

        def seek(self, offset, whence=0):
            result = super().seek(offset, whence)
            if whence == os.SEEK_END:
                self.ends += 1
            return result + self.ends if whence == os.SEEK_END else result

    with pytest.raises(SourceError, match="being written"):
        zip_source(Growing(zipped())).list()


def test_threads_share_one_file_object():
    for data in (zipped(), tarred()):
        with io.BytesIO(data) as file:
            source = zip_source(file)
            wanted = content(source)
            answers = in_threads(8, partial(ten_times, source))
        assert answers == [wanted] * 80


def ten_times(source):
    return [content(source) for _ in range(10)]


def in_threads(count, work):
    results, errors = [], []

    def run():
        try:
            results.extend(work())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return results


@pytest.mark.parametrize("way", ["rename", "in place"])
def test_readers_see_one_generation_while_the_archive_is_replaced(tmp_path, way):
    path, spare = tmp_path / "a.zip", tmp_path / "spare.zip"
    path.write_bytes(generation(0))
    source = zip_source(path)
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            if way == "rename":
                spare.write_bytes(generation(number))
                spare.rename(path)
            else:
                path.write_bytes(generation(number))
                stop.wait(0.002)

    def read():
        torn = []
        for _ in range(150):
            try:
                body = source.load("demo").instructions.encode()
                data = source.read("demo", "a.md").data
            except (SourceError, InvalidSkillError):
                assert way == "in place"  # a half-written archive cannot be read, and says so
                continue
            torn += [text for text in (body, data) if text != text[:6] * (len(text) // 6)]
        return torn

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert in_threads(4, read) == []
    finally:
        stop.set()
        writer.join()


# --- damage -----------------------------------------------------------------------------------------------------------

FLIPS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=3)


def files_of(data):
    """Everything in an archive, hidden files included, as paths and bytes."""
    tree = ArchiveTree(data)
    found = {}

    def walk(folder):
        for child in tree.entries(folder):
            path = f"{folder}/{child.name}" if folder else child.name
            if child.kind == "directory":
                walk(path)
            else:
                found[path] = tree.read("", path, size=1 << 20).data

    walk("")
    return found


@pytest.mark.parametrize(
    "data",
    [
        zipped(comment=b"c" * 40),
        zipped([(entry(name, method=0), data) for name, data in FILES.items()]),
        wide(zipped()),
        tarred(),
        tarred(form=tarfile.GNU_FORMAT),
    ],
    ids=["zip", "zip stored", "zip64", "tar.gz", "tar.gz gnu"],
)
@given(flips=FLIPS)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_byte_gives_an_error_or_the_same_files(data, flips):
    copy = bytearray(data)
    for at, value in flips:
        copy[at % len(copy)] ^= value
    with suppress(SourceError):
        assert files_of(bytes(copy)) == FILES


@given(data=st.binary(max_size=300), start=st.sampled_from([b"", LOCAL, END, b"\x1f\x8b\x08\x00", GOOD]))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_an_error_of_ours_or_a_tree(data, start):
    source = zip_source(start + data, limits=Limits())
    try:
        source.list()
    except SourceError:
        assert source.diagnostics()
