"""Packing a skill and unpacking it again: every byte, every bit, and what is refused."""

import os
import socket
import stat
import zipfile

import pytest

from packages_kit import TEXT, codes, document, of_package, on_disk, skill_text, write
from skillbelt import (
    LENIENT,
    STRICT,
    DirectorySource,
    Frontmatter,
    LimitError,
    MappingSource,
    Skill,
    SkillRouter,
    merge,
    namespaced,
)
from skillbelt.errors import (
    InvalidSkillError,
    PackageValidationError,
    ResourceTypeError,
    SkillFileNotFoundError,
    SkillNotFoundError,
    SourceError,
)
from skillbelt.packages import (
    LEFT_OUT,
    PackageLimits,
    PackedSkill,
    canonicalize,
    integrity,
    key_of,
    pack,
    pack_skill,
    package_id,
    path_of,
    read_package,
    unpack,
    unpack_to,
)
from skillbelt.packages.projection import project
from skillbelt.sources import zip_source
from skillbelt.sources.directory import DirectoryTree

FILES = {
    "SKILL.md": TEXT,
    "scripts/run.sh": "#!/bin/sh\necho hi\r\n",
    "references/guide.md": "# Guide\n\nÜ, 😀, \x00\x1f\u2028\n",
    "references/decomposed.md": "cafe\u0301",
    "references/bom.md": b"\xef\xbb\xbfhello",
    "assets/latin.txt": b"caf\xe9",
    "assets/pixel.png": bytes(range(256)),
    "assets/empty": b"",
    "assets/100%.txt": "%41",
    "notes/.hidden/deep/er/and/deeper/still/file": "x",
    ".env.example": "A=1",
    "caf\u00e9.md": "composed",
    "cafe\u0301s.md": "decomposed",
    "\U0001f600/\uff21.md": "astral",
    b"bytes-\xff\xfe/na\xc3me": b"\xff",
    'a b/it\'s "quoted" & <odd>\n\t.md': "odd",
}


@pytest.fixture
def skill(tmp_path):
    """A folder with every kind of file there is."""
    write(tmp_path / "mail", FILES)
    (tmp_path / "mail/scripts/run.sh").chmod(0o755)
    (tmp_path / "mail/assets/pixel.png").chmod(0o610)
    return tmp_path / "mail"


def violations(function, *args, **options):
    with pytest.raises(PackageValidationError) as caught:
        function(*args, **options)
    assert caught.value.message.startswith("The skill is not valid: ")
    return codes(caught.value)


# --- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-18", "S2-19", "S2-20")
def test_every_file_comes_back_byte_for_byte_with_its_executable_bit(skill, tmp_path):
    packed = pack(skill)
    assert of_package(read_package(packed.document)) == on_disk(skill)
    assert len(on_disk(skill)) == len(FILES)
    target = unpack_to(packed, tmp_path / "copy")
    assert target == tmp_path / "copy"
    assert on_disk(target) == on_disk(skill)
    again = pack(target)
    assert (again.document, again.id, again.integrity) == (packed.document, packed.id, packed.integrity)


@pytest.mark.row("S2-18")
def test_the_document_is_what_the_schema_says(skill):
    packed = pack(skill, version="v1.2.3", release_date="2026-01-31")
    assert list(packed.document) == [
        "format", "type", "name", "description", "version", "release_date", "instructions", "files",
    ]  # fmt: skip
    files = packed.document["files"]
    assert files["SKILL.md"] == {"text": TEXT}
    assert files["scripts/run.sh"] == {"text": "#!/bin/sh\necho hi\r\n", "executable": True}
    assert files["assets/empty"] == {"text": ""}
    assert files["references/decomposed.md"] == {"base64": "Y2FmZcyB"}
    assert files["references/bom.md"] == {"text": "\ufeffhello"}
    assert files["assets/latin.txt"] == {"base64": "Y2Fm6Q=="}
    assert set(files) >= {"assets/100%25.txt", "cafe%CC%81s.md", "café.md", "bytes-%FF%FE/na%C3me"}
    assert packed.id == package_id(packed.document) == pack(skill).id
    assert packed.integrity == integrity(packed.document)
    assert PackedSkill.of(packed.document).id == packed.id
    assert (packed.diagnostics, packed.left_out, packed.links) == ((), (), ())


@pytest.mark.row("S2-42")
def test_unpacked_skills_are_read_from_memory(skill, monkeypatch):
    packed = pack(skill)
    monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("the disk was touched"))
    source = unpack(packed)
    router = SkillRouter(source)
    assert [s.name for s in router.skills()] == ["mail"]
    assert router.activate("mail").skill.instructions == "Begin.\n"
    assert source.read("mail", "SKILL.md").data == TEXT.encode()
    listed = {info.path: info for info in source.resources("mail")}
    assert listed["scripts/run.sh"].executable and not listed["assets/empty"].executable
    for path, info in listed.items():
        assert source.read("mail", path, max_bytes=max(1, info.size)).data == on_disk_bytes(path)
    assert source.read("mail", "scripts/run.sh").info.executable


def on_disk_bytes(path):
    content = FILES[path]
    return content if isinstance(content, bytes) else content.encode()


def test_a_source_over_the_folder_and_one_over_the_package_show_the_same(skill):
    disk, memory = DirectorySource(skill.parent), unpack(pack(skill))
    assert [s.name for s in disk.list()] == [s.name for s in memory.list()]
    shown = {info.path: info for info in memory.resources("mail")}
    assert {info.path: info for info in disk.resources("mail")} == shown
    assert {d.code for d in memory.diagnostics()} == {"resource-name"}


@pytest.mark.row("S2-18")
def test_a_skill_of_any_source_has_the_id_of_its_folder(skill, tmp_path):
    packed = pack(skill)
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        for path in ("SKILL.md", "scripts/run.sh", "assets/pixel.png"):
            archive.write(skill / path, f"mail/{path}")
    small = tmp_path / "small/mail"
    for path in ("SKILL.md", "scripts/run.sh", "assets/pixel.png"):
        (small / path).parent.mkdir(parents=True, exist_ok=True)
        (small / path).write_bytes((skill / path).read_bytes())
        (small / path).chmod((skill / path).stat().st_mode)
    assert pack_skill(DirectorySource(tmp_path), "mail").id == packed.id
    assert pack_skill(DirectorySource(skill), "mail").id == packed.id
    assert pack_skill(unpack(packed), "mail").document == packed.document
    assert pack_skill(zip_source(tmp_path / "s.zip"), "mail").id == pack(small).id
    for source in (merge(DirectorySource(small.parent)), namespaced("acme", DirectorySource(small.parent))):
        (name,) = [s.name for s in source.list()]
        assert pack_skill(source, name).document == pack(small).document


def test_a_large_file_of_a_wrapped_source_is_read_page_by_page(tmp_path):
    data = os.urandom(3 * 1024 * 1024 + 7)
    write(tmp_path / "mail", {"SKILL.md": TEXT, "assets/big": data})
    source = merge(DirectorySource(tmp_path))
    assert read_package(pack_skill(source, "mail").document).contents()["assets/big"].data == data
    with pytest.raises(PackageValidationError, match="more than 2000000 bytes"):
        pack_skill(source, "mail", limits=PackageLimits(total_bytes=2_000_000))
    with pytest.raises(PackageValidationError, match="more than 1 files"):
        pack_skill(source, "mail", limits=PackageLimits(files=1))


def test_a_skill_that_is_not_there_or_cannot_be_used_is_not_packed(tmp_path):
    write(tmp_path, {"mail/SKILL.md": TEXT, "bad/SKILL.md": "no"})
    for source in (DirectorySource(tmp_path), merge(DirectorySource(tmp_path))):
        with pytest.raises(SkillNotFoundError):
            pack_skill(source, "post")
        with pytest.raises(InvalidSkillError):
            pack_skill(source, "bad")


@pytest.mark.row("S2-16", "S2-19")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "é"}, {"a": "e\u0301"}),
        ({"é": "x"}, {"e\u0301": "x"}),
        ({"a": b"\xe9"}, {"a": "é"}),
        ({"a": ""}, {}),
        ({"a": "Y2Fm6Q=="}, {"a": b"caf\xe9"}),
        ({"%FF": ""}, {b"\xff": ""}),
        ({"%25": ""}, {"%": ""}),
        ({"a": "\n"}, {"a": "\r\n"}),
        ({"a": "\ufeffx"}, {"a": "x"}),
        ({"\u212b": ""}, {"\u00c5": ""}),
    ],
)
def test_trees_that_only_look_alike_have_ids_of_their_own(one, other, tmp_path):
    write(tmp_path / "1/mail", {"SKILL.md": TEXT} | one)
    write(tmp_path / "2/mail", {"SKILL.md": TEXT} | other)
    assert pack(tmp_path / "1/mail").id != pack(tmp_path / "2/mail").id


@pytest.mark.row("S2-16", "S2-20")
def test_the_executable_bit_is_part_of_the_content_and_other_bits_are_not(tmp_path):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "run": "x"})
    (tmp_path / "mail/run").chmod(0o644)
    plain = pack(tmp_path / "mail").id
    (tmp_path / "mail/run").chmod(0o600)
    assert pack(tmp_path / "mail").id == plain
    (tmp_path / "mail/run").chmod(0o700)
    assert pack(tmp_path / "mail").id != plain


def test_the_name_of_the_folder_is_not_part_of_the_package(skill, tmp_path):
    packed = pack(skill)
    (tmp_path / "mail").rename(tmp_path / "Old Mail")
    renamed = pack(tmp_path / "Old Mail")
    assert renamed.id == packed.id
    assert [(d.code, d.severity) for d in renamed.diagnostics] == [("name-dir-mismatch", "warning")]
    assert violations(pack, tmp_path / "Old Mail", profile=STRICT) == [("/files/SKILL.md", "name-dir-mismatch")]


def test_a_skill_file_or_a_relative_path_will_do(skill, monkeypatch):
    packed = pack(skill)
    monkeypatch.chdir(skill)
    for path in ("SKILL.md", ".", skill / "SKILL.md", str(skill) + "/"):
        assert pack(path).id == packed.id
    assert pack(".", profile=STRICT).id == packed.id


# --- what is packed ---------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-18")
def test_version_control_dependencies_and_caches_are_left_out_and_listed(tmp_path):
    write(
        tmp_path / "mail",
        {"SKILL.md": TEXT, ".git/config": "x", "scripts/__pycache__/a.pyc": "x", "node_modules/m/i.js": "x", ".x": "y"},
    )
    packed = pack(tmp_path / "mail")
    assert list(packed.document["files"]) == [".x", "SKILL.md"]
    assert packed.left_out == (".git", "node_modules", "scripts/__pycache__")
    everything = pack(tmp_path / "mail", ignore=())
    assert everything.left_out == ()
    assert of_package(read_package(everything.document)) == on_disk(tmp_path / "mail")
    assert pack(tmp_path / "mail", ignore={*LEFT_OUT, ".x"}).left_out[1:2] == (".x",)


def test_empty_folders_are_no_part_of_a_skill(tmp_path):
    write(tmp_path / "mail", {"SKILL.md": TEXT})
    (tmp_path / "mail/assets").mkdir()
    assert list(pack(tmp_path / "mail").document["files"]) == ["SKILL.md"]


@pytest.mark.row("S2-20")
def test_links_that_stay_inside_are_packed_as_what_they_lead_to_and_listed(tmp_path):
    root = tmp_path / "mail"
    write(root, {"SKILL.md": TEXT, "scripts/run.sh": "x", "references/deep/a.md": "a"})
    (root / "scripts/run.sh").chmod(0o755)
    (root / "run").symlink_to("scripts/run.sh")
    (root / "refs").symlink_to("references")
    packed = pack(root)
    assert packed.links == ("refs", "run")
    assert packed.document["files"]["run"] == {"text": "x", "executable": True}
    assert packed.document["files"]["refs/deep/a.md"] == {"text": "a"}
    copy = unpack_to(packed, tmp_path / "copy")
    assert not any(path.is_symlink() for path in copy.rglob("*"))
    assert pack(copy).id == packed.id


def test_a_skill_folder_that_is_itself_a_link_was_chosen_by_the_caller(tmp_path):
    write(tmp_path / "real/mail", {"SKILL.md": TEXT})
    (tmp_path / "mail").symlink_to("real/mail")
    assert pack(tmp_path / "mail").id == pack(tmp_path / "real/mail").id


@pytest.mark.row("S2-20")
def test_what_cannot_be_in_a_package_is_refused_all_at_once(tmp_path, monkeypatch):
    root = tmp_path / "mail"
    write(tmp_path, {"secret": "x", "other/SKILL.md": TEXT, "mail/SKILL.md": TEXT, "mail/a\\b": "x", "mail/x:/a": "y"})
    (root / "out").symlink_to("../secret")
    (root / "absolute").symlink_to(tmp_path / "secret")
    (root / "sibling").symlink_to("../other")
    (root / "broken").symlink_to("nothing")
    (root / "self").symlink_to("self")
    (root / "loop").symlink_to(".")
    (root / "device").symlink_to("/dev/null")
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        found = violations(pack, root)
    assert found == [
        ("/files/a\\b", "path-unsafe"),
        ("/files/absolute", "symlink-escape"),
        ("/files/broken", "symlink-broken"),
        ("/files/device", "symlink-escape"),
        ("/files/fifo", "special-file"),
        ("/files/loop", "symlink-loop"),
        ("/files/out", "symlink-escape"),
        ("/files/self", "symlink-escape"),
        ("/files/sibling", "symlink-escape"),
        ("/files/socket", "special-file"),
        ("/files/x:", "path-unsafe"),
    ]


@pytest.mark.row("S2-20")
def test_a_link_to_a_special_file_inside_the_skill_is_refused(tmp_path):
    root = tmp_path / "mail"
    write(root, {"SKILL.md": TEXT})
    os.mkfifo(root / "fifo")
    (root / "link").symlink_to("fifo")
    assert violations(pack, root) == [("/files/fifo", "special-file"), ("/files/link", "special-file")]


def test_links_that_show_one_folder_again_and_again_come_to_an_end(tmp_path):
    root = tmp_path / "mail"
    write(root, {"SKILL.md": TEXT})
    for level in range(12):  # 2 to the power of 12 paths
        (root / f"d{level}").mkdir()
        (root / f"d{level}/a").symlink_to(f"../d{level + 1}")
        (root / f"d{level}/b").symlink_to(f"../d{level + 1}")
    (root / "d12").mkdir()
    assert violations(pack, root, limits=PackageLimits(files=100)) == [("/files", "too-many-files")]


def test_names_that_clash_on_other_systems_are_refused(tmp_path):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "README.md": "a", "readme.md": "b", "é": "", "e\u0301": ""})
    assert violations(pack, tmp_path / "mail") == [("/files/readme.md", "path-clash"), ("/files/é", "path-clash")]


@pytest.mark.row("S2-20")
def test_trees_over_a_limit_are_refused(tmp_path):
    root = tmp_path / "mail"
    write(root, {"SKILL.md": TEXT} | {f"f{at}": "x" * 10 for at in range(20)})
    size = len(TEXT) + 200
    assert pack(root, limits=PackageLimits(files=21, total_bytes=size)).id == pack(root).id
    assert violations(pack, root, limits=PackageLimits(files=20)) == [("/files", "too-many-files")]
    assert violations(pack, root, limits=PackageLimits(total_bytes=size - 1)) == [("/files", "too-large")]
    assert violations(pack, root, limits=PackageLimits(skill_bytes=10)) == [("/files/SKILL.md", "file-too-large")]
    bytes_ = len(canonicalize(pack(root).document))
    assert pack(root, limits=PackageLimits(document_bytes=bytes_)).id == pack(root).id
    assert violations(pack, root, limits=PackageLimits(document_bytes=bytes_ - 1)) == [("", "too-large")]
    with pytest.raises(LimitError):
        PackageLimits(files=0)


def test_a_sparse_file_of_ten_gigabytes_is_refused_without_being_read(tmp_path):
    write(tmp_path / "mail", {"SKILL.md": TEXT})
    with (tmp_path / "mail/sparse").open("wb") as file:
        file.truncate(10 << 30)
    assert violations(pack, tmp_path / "mail") == [("/files", "too-large")]


# --- SKILL.md ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-21", "S2-22")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Begin.\n", ["frontmatter-missing"]),
        ("---\ndescription: x\n---\n", ["name-missing"]),
        ("---\nname: mail\n---\n", ["description-missing"]),
        (skill_text("Mail_Sorter-"), ["name-uppercase", "name-charset", "name-hyphen"]),
        (skill_text("acme/mail"), ["name-charset", "name-unsafe"]),
        (skill_text("m" * 65), ["name-too-long"]),
        (skill_text("[mail]"), ["name-type"]),
        (skill_text(description="Sorts: mail"), ["yaml-invalid"]),
    ],
)
def test_a_skill_that_has_no_valid_name_no_description_or_no_yaml_is_not_packed(text, expected, tmp_path):
    write(tmp_path / "mail", {"SKILL.md": text})
    assert violations(pack, tmp_path / "mail") == [("/files/SKILL.md", code) for code in expected]


def test_what_loads_is_packed_and_what_the_specification_says_against_it_is_told(tmp_path):
    text = skill_text(description="x" * 1100, more="version: 1.10\nmetadata:\n  a: [b]\nallowed-tools: [Read, Write]\n")
    write(tmp_path / "mail", {"SKILL.md": text})
    packed = pack(tmp_path / "mail")
    expected = {"description-too-long", "unknown-field", "metadata-value-type", "allowed-tools-type"}
    assert {d.code for d in packed.diagnostics} == expected
    assert packed.document["metadata"] == {"a": '["b"]'} and packed.document["allowed-tools"] == "Read Write"
    assert unpack(packed).load("mail").description == "x" * 1100
    assert {code for _, code in violations(pack, tmp_path / "mail", profile=STRICT)} == expected
    with pytest.raises(PackageValidationError) as caught:
        read_package(packed.document)
    assert {code for _, code in codes(caught.value)} == expected


@pytest.mark.row("S2-49")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x\n" * 500, []),
        ("x\n" * 501, ["body-long"]),
        ("x\n" * 500 + "x", ["body-long"]),
        ("x" * 20_000, []),
        ("x" * 20_004, ["body-long"]),
        ("é" * 5001, ["body-long"]),
    ],
)
def test_a_long_body_is_a_warning_and_no_error(body, said, tmp_path):
    write(tmp_path / "mail", {"SKILL.md": skill_text(body=body)})
    packed = pack(tmp_path / "mail", profile=STRICT)
    assert [d.code for d in packed.diagnostics] == said
    assert all(d.severity == "warning" for d in packed.diagnostics)
    assert read_package(packed.document).instructions == body


def test_a_skill_md_that_is_no_utf_8_or_no_nfc_comes_back_as_it_was(tmp_path):
    raw = skill_text(description="cafe\u0301", body="e\u0301 ").encode() + b"\xff\xc3"
    write(tmp_path / "mail", {"SKILL.md": raw})
    packed = pack(tmp_path / "mail")
    assert packed.document["description"] == "café" and packed.document["instructions"] == "é \ufffd\ufffd"
    assert set(packed.document["files"]["SKILL.md"]) == {"base64"}
    assert unpack(packed).read("mail", "SKILL.md").data == raw


def test_half_a_character_that_some_yaml_readers_let_pass_becomes_a_replacement_character():
    matter = Frontmatter(name="mail", description="x \ud800 y", metadata={"a\udfff": "e\u0301"})
    assert project(Skill(frontmatter=matter, instructions="")) == {
        "name": "mail",
        "description": "x \ufffd y",
        "metadata": {"a\ufffd": "é"},
        "instructions": "",
    }


@pytest.mark.parametrize("name", ["skill.md", "Skill.md"])
def test_a_skill_file_of_another_spelling_is_refused(name, tmp_path):
    write(tmp_path / "mail", {name: TEXT})
    assert violations(pack, tmp_path / "mail") == [("/files", "skill-file-missing")]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("link", [("/files/SKILL.md", "symlink-escape")]),
        ("fifo", [("/files/SKILL.md", "special-file")]),
        ("folder", [("/files", "skill-file-missing")]),
        ("other", [("/files/out", "symlink-escape"), ("/files", "skill-file-missing")]),
    ],
)
def test_a_skill_file_that_is_no_regular_file_is_refused_as_what_it_is(how, expected, tmp_path):
    write(tmp_path, {"outside.md": TEXT, "mail/a": ""})
    target = tmp_path / "mail/SKILL.md"
    if how == "link":
        target.symlink_to(tmp_path / "outside.md")
    elif how == "fifo":
        os.mkfifo(target)
    elif how == "folder":
        write(target, {"x": ""})
    else:
        (tmp_path / "mail/out").symlink_to(tmp_path / "outside.md")
    assert violations(pack, tmp_path / "mail") == expected


def test_version_and_date_must_have_their_form(tmp_path):
    write(tmp_path / "mail", {"SKILL.md": TEXT})
    found = violations(pack, tmp_path / "mail", version="1.0", release_date="now")
    assert found == [("/version", "version"), ("/release_date", "release-date")]


@pytest.mark.parametrize("path", ["nope", "empty", "file.txt"])
def test_what_is_no_skill_folder_is_refused(path, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises((SkillFileNotFoundError, SourceError)) as caught:
        pack(tmp_path / path)
    assert path in str(caught.value)


@pytest.mark.parametrize("path", [None, "", 7])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(SourceError, match="path must name a skill folder"):
        pack(path)


# --- while it is packed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["rewritten", "grown", "removed"])
def test_a_file_that_changes_meanwhile_is_noticed(how, tmp_path, monkeypatch):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "a": "one", "z": "two"})
    read = DirectoryTree.read

    def changing(self, folder, path, **options):
        chunk = read(self, folder, path, **options)
        if path == "z":
            target = tmp_path / "mail/a"
            if how == "removed":
                target.unlink()
            else:
                target.write_text("new" if how == "rewritten" else "longer than before")
        return chunk

    monkeypatch.setattr(DirectoryTree, "read", changing)
    with pytest.raises(SourceError, match="'a' was changed while the skill was packed"):
        pack(tmp_path / "mail")


def test_a_file_that_shrinks_while_it_is_read_is_noticed(tmp_path, monkeypatch):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "a": "one"})
    read = DirectoryTree.read

    def shrinking(self, folder, path, **options):
        chunk = read(self, folder, path, **options)
        return chunk._replace(data=chunk.data[:-1]) if path == "a" else chunk

    monkeypatch.setattr(DirectoryTree, "read", shrinking)
    with pytest.raises(SourceError, match="'a' was changed"):
        pack(tmp_path / "mail")


def test_a_file_that_becomes_a_folder_meanwhile_is_refused(tmp_path, monkeypatch):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "a": "one"})
    read = DirectoryTree.read

    def swapping(self, folder, path, **options):
        if path == "a":
            (tmp_path / "mail/a").unlink()
            (tmp_path / "mail/a").mkdir()
        return read(self, folder, path, **options)

    monkeypatch.setattr(DirectoryTree, "read", swapping)
    assert violations(pack, tmp_path / "mail") == [("/files/a", "special-file")]


def test_a_link_that_becomes_a_socket_meanwhile_is_refused(tmp_path, monkeypatch):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "a": "one"})
    (tmp_path / "mail/link").symlink_to("a")

    def socket_there(self, folder, path=""):
        if path == "link":
            raise ResourceTypeError("'link' is not a regular file.")
        return kind(self, folder, path)

    kind = DirectoryTree.kind
    monkeypatch.setattr(DirectoryTree, "kind", socket_there)
    assert violations(pack, tmp_path / "mail") == [("/files/link", "special-file")]


def test_a_folder_that_is_exchanged_meanwhile_is_packed_as_it_was_opened(tmp_path, monkeypatch):
    write(tmp_path, {"mail/SKILL.md": TEXT, "mail/a": "old", "new/SKILL.md": TEXT, "new/a": "new"})
    before = pack(tmp_path / "mail").id
    entries = DirectoryTree.entries

    def exchanging(self, folder, path=""):
        if (tmp_path / "new").exists():
            (tmp_path / "mail").rename(tmp_path / "gone")
            (tmp_path / "new").rename(tmp_path / "mail")
        return entries(self, folder, path)

    monkeypatch.setattr(DirectoryTree, "entries", exchanging)
    assert pack(tmp_path / "mail").id == before


# --- to disk ----------------------------------------------------------------------------------------------------------


def test_unpacking_to_disk_takes_an_empty_folder_and_no_other(skill, tmp_path):
    packed = pack(skill)
    (tmp_path / "empty").mkdir()
    assert on_disk(unpack_to(packed, tmp_path / "empty")) == on_disk(skill)
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")
    before = sorted(tmp_path.iterdir())
    for target in ("empty", "link", "file", "full"):
        with pytest.raises(SourceError, match="exists and is not an empty folder"):
            unpack_to(packed, tmp_path / target)
    with pytest.raises(SourceError, match="cannot be written: No such file or directory"):
        unpack_to(packed, tmp_path / "no/such/folder")
    with pytest.raises(SourceError, match="cannot be written: Not a directory"):
        unpack_to(packed, tmp_path / "file/below")
    with pytest.raises(SourceError, match="File name too long"):
        unpack_to(packed, tmp_path / ("x" * 300))
    for path in ("a\x00b", "", None):
        with pytest.raises(SourceError, match="is not a path"):
            unpack_to(packed, path)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == (tmp_path / "full/mine").read_text() == "mine"


def test_a_disk_that_fails_half_way_leaves_nothing(skill, tmp_path, monkeypatch):
    from skillbelt.packages import unpacking

    packed = pack(skill)
    write_one = unpacking._write
    written = []

    def failing(folder, path, data, mode):
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        written.append(path)
        write_one(folder, path, data, mode)

    monkeypatch.setattr(unpacking, "_write", failing)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SourceError, match=r"No space left on device\. Nothing was left there"):
        unpack_to(packed, tmp_path / "copy")
    assert len(written) == 5 and sorted(tmp_path.iterdir()) == before


def test_modes_are_those_of_the_user_and_never_more(tmp_path):
    write(tmp_path / "mail", {"SKILL.md": TEXT, "run": "x"})
    (tmp_path / "mail/run").chmod(0o4777)
    before = os.umask(0o027)
    try:
        target = unpack_to(pack(tmp_path / "mail"), tmp_path / "copy")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (target, *target.iterdir())}
    assert modes == {"copy": 0o750, "SKILL.md": 0o640, "run": 0o750}


def test_documents_text_and_models_are_unpacked_alike(tmp_path):
    for form in (document(), canonicalize(document()), canonicalize(document()).decode(), read_package(document())):
        assert unpack(form).load("mail").instructions == "Begin.\n"
    assert unpack(document(), label="hub").list()[0].source == "hub"
    assert unpack(document()).list()[0].source == "mail"


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("a/b.md", "a/b.md"),
        ("é.md", "é.md"),
        ("e\u0301.md", "e%CC%81.md"),
        ("%", "%25"),
        ("%25", "%2525"),
        ("\udcff", "%FF"),
        ("é/\udcff", "%C3%A9/%FF"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_a_path_and_its_key_belong_to_each_other(path, key):
    assert (key_of(path), path_of(key)) == (key, path)


# --- the mapping that an unpacked skill is ----------------------------------------------------------------------------


def test_a_mapping_may_say_which_files_are_executable():
    files = {"mail/SKILL.md": TEXT, "mail/run": "x", "mail/note": "y"}
    source = MappingSource(files, executable=["mail/run"], profile=LENIENT)
    assert {info.path: info.executable for info in source.resources("mail")} == {"note": False, "run": True}
    with pytest.raises(SourceError, match="executable names 'mail/gone'"):
        MappingSource(files, executable=["mail/gone"])


def test_a_mapping_takes_names_that_are_no_utf_8_only_when_told():
    files = {"mail/SKILL.md": TEXT, "mail/\udcff.md": "x"}
    with pytest.raises(SourceError):
        MappingSource(files)
    source = MappingSource(files, any_names=True)
    assert source.resources("mail") == ()
    assert [d.code for d in source.diagnostics()] == ["resource-name"]
    for key in ("mail/\ud800", "mail/\udcc3\udca9", "../\udcff", "a\\\udcff", "", None):
        with pytest.raises(SourceError):
            MappingSource({key: "x"}, any_names=True)
