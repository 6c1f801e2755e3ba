"""Real skills of other people: each one is packed, unpacked and packed again without losing a byte."""

import pytest
from jsonschema import Draft202012Validator

from packages_kit import codes, of_package, on_disk
from skillbelt import LENIENT, STRICT, Limits, MappingSource, validate_skill
from skillbelt.errors import PackageValidationError
from skillbelt.packages import json_schema, pack, pack_skill, read_package, unpack, unpack_to
from test_corpus import PACKAGES, folder, pm_skills, skill_files

pytestmark = pytest.mark.corpus


@pytest.mark.row("S2-18")
@pytest.mark.parametrize("package", PACKAGES)
def test_every_real_skill_comes_back_byte_for_byte(package, tmp_path):
    ids = {}
    for number, file in enumerate(skill_files(folder(package))):
        packed = pack(file.parent, ignore={"__pycache__"})  # compiled by whoever installed the package
        before = {path: content for path, content in on_disk(file.parent).items() if b"__pycache__" not in path}
        assert of_package(read_package(packed.document, profile=LENIENT)) == before
        assert on_disk(unpack_to(packed, tmp_path / str(number))) == before
        source = unpack(packed)
        (summary,) = source.list()
        assert pack_skill(source, summary.name).document == packed.document
        for info in source.resources(summary.name):
            assert source.read(summary.name, info.path).data == before[info.path.encode()][0][: 1 << 20]
        assert ids.setdefault(packed.id, before) == before
    assert len(ids) >= PACKAGES[package] * 0.9


@pytest.mark.row("S2-21", "S2-22", "S2-48")
@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_valid_exactly_when_the_skill_is(package):
    schema = Draft202012Validator(json_schema())
    for file in skill_files(folder(package)):
        errors = {d.code for d in validate_skill(file.parent, profile=STRICT) if d.severity == "error"}
        document = pack(file.parent).document
        if errors:
            with pytest.raises(PackageValidationError) as caught:
                read_package(document)
            assert {code for _, code in codes(caught.value)} == errors - {"name-dir-mismatch"}
        else:
            assert read_package(document).to_document() == document
            schema.validate(document)


def test_a_catalog_of_1322_skills_in_memory_is_packed_skill_by_skill():
    source = MappingSource(pm_skills(), limits=Limits(entries=5000, directories=5000))
    names = [summary.name for summary in source.list()]
    ids = {}
    for name in names[::10]:
        invalid = name_violations(name)
        if invalid:
            with pytest.raises(PackageValidationError) as caught:
                pack_skill(source, name)
            assert {code for _, code in codes(caught.value)} == invalid
            continue
        packed = pack_skill(source, name)
        assert pack_skill(unpack(packed), name).id == packed.id
        ids[packed.id] = name
    assert len(ids) > 100


def name_violations(name):
    """The rules for names, written down once more."""
    found = {"name-too-long"} if len(name) > 64 else set()
    found |= {"name-uppercase"} if name != name.lower() else set()
    found |= {"name-charset"} if not name.replace("-", "a").isalnum() else set()
    return found | ({"name-hyphen"} if "--" in name or name[0] == "-" or name[-1] == "-" else set())
