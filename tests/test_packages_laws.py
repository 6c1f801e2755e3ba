"""Laws of packages, for any tree of bytes: nothing is lost, nothing is confused, nothing else is raised."""

import base64
import json
import os
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from packages_kit import document, of_package, on_disk, skill_text, write
from skillbelt import MappingSource
from skillbelt.errors import InvalidPackageReferenceError, PackageValidationError, RegistryError
from skillbelt.packages import (
    PackageId,
    PackageReference,
    canonicalize,
    integrity,
    json_schema,
    key_of,
    pack,
    pack_skill,
    path_of,
    read_package,
    select,
    unpack,
    unpack_to,
)

SCHEMA = Draft202012Validator(json_schema())

NAMES = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.text(min_size=1, max_size=6).map(lambda text: text.encode("utf-8", "ignore")),
    st.sampled_from(
        ["é", "e\u0301", "\u212b", "Å", "%", "%FF", "%25", "\U0001f600", "\uff21", "a", "A", ".x", " "]
    ).map(str.encode),
)
"""Bytes of any kind, text of any kind, and what is likely to be confused."""

CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "ignore")),
    st.sampled_from(["", "é", "e\u0301", "\ufeffx", "\r\n", "\x00", "w6k="]).map(str.encode),
)


def attempt(function, *args):
    """What a function gives, or the error of this project that it raises; any other fails the test."""
    try:
        return function(*args), None
    except RegistryError as error:
        return None, error


def usable(path):
    """Whether a skill may have a file of this path: what the gate of every source says."""
    parts = path.split(b"/")
    forbidden = b"\\" in path or b"\x00" in path or parts[0].endswith(b":")
    return not forbidden and not any(part in (b"", b".", b"..") for part in parts)


def folded(path):
    text = os.fsdecode(path)
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


@st.composite
def trees(draw):
    """The files of a skill beside its SKILL.md, by the bytes of their paths: content, and whether executable."""
    found, taken = {}, {folded(b"SKILL.md"): "file"}
    for parts in draw(st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=6)):
        path = b"/".join(parts)
        if not usable(path):
            continue
        pieces = path.split(b"/")
        above = [b"/".join(pieces[:depth]) for depth in range(1, len(pieces))]
        if folded(path) in taken or any(taken.get(folded(folder), folder) != folder for folder in above):
            continue
        taken[folded(path)] = "file"
        taken |= {folded(folder): folder for folder in above}
        found[path] = (draw(CONTENTS), draw(st.booleans()))
    return found


BODIES = st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "ignore"))


def packed_in_memory(tree, body=b"Begin.\n"):
    files = {b"SKILL.md": (skill_text(body="").encode() + body, False)} | tree
    source = MappingSource(
        {f"mail/{os.fsdecode(path)}": data for path, (data, _) in files.items()},
        executable=[f"mail/{os.fsdecode(path)}" for path, (_, bit) in files.items() if bit],
        any_names=True,
    )
    return files, pack_skill(source, "mail", ignore=())


@pytest.mark.row("S2-18", "S2-19", "S2-20")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), BODIES)
def test_any_folder_comes_back_byte_for_byte(tree, body):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "mail"
        write(folder, {"SKILL.md": skill_text(body="").encode() + body} | {p: data for p, (data, _) in tree.items()})
        for path, (_, bit) in tree.items():
            (folder / os.fsdecode(path)).chmod(0o755 if bit else 0o644)
        before = on_disk(folder)
        packed = pack(folder, ignore=())
        assert on_disk(unpack_to(packed, Path(place) / "copy")) == before
        in_memory = unpack(packed)
        assert pack_skill(in_memory, "mail", ignore=()).document == packed.document
        for info in in_memory.resources("mail"):
            data, bit = before[os.fsencode(info.path)]
            assert (in_memory.read("mail", info.path).data, info.executable) == (data, bit)


@pytest.mark.row("S2-14", "S2-18", "S2-19", "S2-21")
@settings(max_examples=100, deadline=None)
@given(trees(), BODIES)
def test_any_tree_is_one_document_that_keeps_to_the_schema(tree, body):
    files, packed = packed_in_memory(tree, body)
    package = read_package(packed.document, profile=MappingSource({}).profile)
    assert of_package(package) == files
    assert package.to_document() == packed.document
    SCHEMA.validate(packed.document)
    canonical = canonicalize(packed.document)
    assert json.loads(canonical) == packed.document  # NFC changed nothing
    assert read_package(canonical, profile=MappingSource({}).profile) == package
    keys = list(json.loads(canonical)["files"])
    assert keys == sorted(keys, key=lambda key: key.encode("utf-16-be"))


def other_form(raw, form):
    """Bytes in another Unicode form, as far as they are text."""
    return unicodedata.normalize(form, raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


@st.composite
def neighbours(draw):
    """Two trees, mostly ones that differ in a single file, and in as little of it as may be."""
    one = draw(trees())
    if not one or draw(st.integers(0, 3)) == 0:
        return one, draw(trees())
    path = draw(st.sampled_from(sorted(one)))
    content, bit = one.pop(path)
    change = draw(st.sampled_from(["content", "form", "bit", "path", "gone"]))
    letter = draw(st.sampled_from("éÅ한ﬁ\u2126\u0344")).encode()
    form = draw(st.sampled_from(["NFC", "NFD", "NFKC"]))
    if change == "path":
        spelled = (path + letter, path + other_form(letter, form))
        return one | {spelled[0]: (content, bit)}, one | {spelled[1]: (content, bit)}
    if change == "form":
        return one | {path: (content + letter, bit)}, one | {path: (content + other_form(letter, form), bit)}
    if change == "gone":
        return one | {path: (content, bit)}, one
    changed = (draw(CONTENTS), bit) if change == "content" else (content, not bit)
    return one | {path: (content, bit)}, one | {path: changed}


@pytest.mark.row("S2-16", "S2-19")
@settings(max_examples=250, deadline=None)
@given(neighbours())
def test_two_trees_never_have_one_id(pair):
    (one, first), (other, second) = ((tree, attempt(packed_in_memory, tree)[0]) for tree in pair)
    assume(first is not None and second is not None)  # a new name may clash with a folder
    assert (first[1].id == second[1].id) == (first[1].integrity == second[1].integrity) == (one == other)


@settings(max_examples=300)
@given(st.lists(NAMES, min_size=1, max_size=3))
def test_every_path_has_one_key_and_every_key_one_path(parts):
    path = os.fsdecode(b"/".join(parts))
    key = key_of(path)
    assert path_of(key) == path
    assert unicodedata.is_normalized("NFC", key) and key.encode()


@settings(max_examples=300)
@given(st.text(alphabet="%0123456789ABCDEFabcdef/é\u0301.x", max_size=12))
def test_a_text_is_the_key_of_its_path_or_of_none(text):
    try:
        path = path_of(text)
    except ValueError:
        return
    assert key_of(path) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["format", "type", "name", "description", "license", "compatibility", "metadata", "allowed-tools", "version",
     "release_date", "instructions", "files", "extra"]
)  # fmt: skip
ENTRIES = st.fixed_dictionaries(
    {}, optional={"text": JSON, "base64": JSON | st.binary(max_size=4).map(lambda b: base64.b64encode(b).decode()),
                  "executable": JSON, "x": JSON}
)  # fmt: skip


@pytest.mark.row("S2-22")
@settings(max_examples=150, deadline=None)
@given(st.dictionaries(FIELDS, JSON, max_size=4), st.dictionaries(st.text(max_size=8), ENTRIES | JSON, max_size=3))
def test_whatever_a_document_holds_it_is_valid_or_refused_with_violations(changes, files):
    given_ = document() | changes
    if isinstance(given_["files"], dict):
        given_["files"] = given_["files"] | files
    for form in (given_, json.dumps(given_)):
        package, error = attempt(read_package, form)
        if error is not None:
            assert isinstance(error, PackageValidationError) and error.details["violations"]
            json.dumps(error.details, allow_nan=False).encode()
            assert error.message.isprintable() and len(error.message) < 2000
        else:
            assert package.to_document() == given_
            assert pack_skill(unpack(package), "mail").document == {
                field: value for field, value in given_.items() if field not in ("version", "release_date")
            }
            SCHEMA.validate(given_)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_document_with_one_byte_changed_is_refused_or_has_another_id(data):
    _, packed = packed_in_memory({b"a/\xff": (b"\xff\xfe", True), "é".encode(): ("é".encode(), False)})
    canonical = bytearray(canonicalize(packed.document))
    at = data.draw(st.integers(0, len(canonical) - 1))
    canonical[at] = data.draw(st.integers(0, 255))
    assume(bytes(canonical) != canonicalize(packed.document))
    try:
        package = read_package(bytes(canonical))
    except PackageValidationError:
        return
    assert integrity(package.to_document()) != packed.integrity


@given(st.text(max_size=30) | st.binary(max_size=30))
def test_any_bytes_are_a_document_or_refused(data):
    with pytest.raises(PackageValidationError):
        read_package(data)


REFERENCES = st.text(max_size=40) | st.lists(
    st.sampled_from(
        ["ID", "local", "registry", ":", "/", "@", "v1", ".x", "latest", "hub.com", "acme", "pdf", "[::1]"]
    ),
    max_size=9,
).map("".join)


@pytest.mark.row("S2-09", "S2-10")
@settings(max_examples=400)
@given(REFERENCES)
def test_any_text_is_a_reference_or_refused(text):
    reference, error = attempt(PackageReference.parse, text)
    if error is not None:
        assert isinstance(error, InvalidPackageReferenceError)
        assert error.original_reference == text
        assert error.message.isprintable()
    else:
        assert str(reference) == text and PackageReference.parse(text) == reference


@given(st.text(max_size=50) | st.from_regex(r"pkg_(skl|act)_[0-9a-fA-F]{38,41}", fullmatch=True))
def test_any_text_is_an_id_or_refused(text):
    found, error = attempt(PackageId.parse, text)
    assert str(found) == text if error is None else error.details["value"] == text


VERSIONS = st.from_regex(r"v?[0-9]{1,2}\.[0-9]\.[0-9](-(rc|a)\.[0-9])?", fullmatch=True)
WANTED = st.from_regex(r"latest|v[0-9](\.x|\.[0-9]\.x|\.[0-9]\.[0-9])?", fullmatch=True)


@pytest.mark.row("S2-11")
@given(st.lists(VERSIONS, max_size=8), WANTED, st.randoms())
def test_what_is_selected_matches_and_does_not_depend_on_the_order(available, wanted, random):
    found = select(wanted, available)
    shuffled = random.sample(available, len(available))
    assert (found or "").removeprefix("v") == (select(wanted, shuffled) or "").removeprefix("v")
    if found is not None and wanted != "latest":
        numbers = [part for part in wanted[1:].split(".") if part != "x"]
        assert found.removeprefix("v").split("-")[0].split(".")[: len(numbers)] == numbers
        assert "-" not in found
