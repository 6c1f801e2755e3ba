"""Steps about packages: ids, references, versions, documents, packing and unpacking."""

import hashlib
import json
import os
from pathlib import Path

from behave import given, register_type, then, when
from files_steps import put, put_skill
from kit import attempt, got, unescaped, watching, words
from parse import with_pattern

from skillbelt import STRICT, SkillRouter, errors
from skillbelt.packages import (
    PackageId,
    PackageLimits,
    PackageReference,
    PackageType,
    canonicalize,
    pack,
    read_package,
    select,
    unpack,
    unpack_to,
)
from skillbelt.packages.verifying import check_name


@with_pattern(r"[\[{\"0-9].*")
def _json(word):
    return json.loads(word)


register_type(Json=_json)

# --- ids, references, versions ----------------------------------------------------------------------------------------


@when('the id "{text:Q}" is read')
def step_read_id(context, text):
    context.typed = text
    attempt(context, PackageId.parse, text)


@when('the id "{text:Q}" is read as one of a skill')
def step_read_skill_id(context, text):
    attempt(context, PackageId.parse, text, expect=PackageType.SKILL)


@then('it is the id of a skill with the hash "{sha1:Q}"')
def step_id(context, sha1):
    assert got(context) == PackageId(PackageType.SKILL, sha1)


@then("it is written as it was read")
@then("it is written as it was typed")
def step_written(context):
    assert str(got(context)) == context.typed


@when('the reference "{text:Q}" is read')
def step_read_reference(context, text):
    context.typed = text
    attempt(context, PackageReference.parse, text)


@then('its scheme is "{scheme:Q}" and its parts are "{parts:Q}"')
def step_parts(context, scheme, parts):
    found = got(context)
    given_parts = (found.host, found.namespace, found.name, found.version, found.id, found.path)
    assert found.scheme == scheme
    assert [str(part) for part in given_parts if part is not None] == parts.split(), found


@then('the error keeps the reference "{text:Q}"')
def step_original(context, text):
    assert context.error.original_reference == text, context.error.original_reference


@given('the versions "{versions:Q}"')
def step_versions(context, versions):
    context.versions = words(versions)


@when('the version "{wanted:Q}" is selected')
def step_select(context, wanted):
    attempt(context, select, wanted, context.versions)


@then('"{found:Q}" is selected')
def step_selected(context, found):
    assert got(context) == (None if found == "nothing" else found), context.outcome


# --- documents --------------------------------------------------------------------------------------------------------


@when("the document {document:Json} is brought into its canonical form")
def step_canonicalize(context, document):
    attempt(context, canonicalize, document)


@then("its bytes are {text:Any}")
def step_bytes(context, text):
    assert got(context) == text.encode(), context.outcome


def document_of(text, fields):
    """The document that a program without any care would make of a SKILL.md."""
    return {
        "format": "skillbelt.package/1",
        "type": "skill",
        **{field: value for field, value in fields.items() if value is not None},
        "instructions": "Begin.\n",
        "files": {"SKILL.md": {"text": text}},
    }


@given('a package of the name "{name:Q}" that says "{description:Any}" and has "{more:Q}"')
def step_package(context, name, description, more):
    more = unescaped(more).decode("utf-8")
    text = f"---\nname: {name}\ndescription: {description}\n{more}---\nBegin.\n"
    context.document = document_of(text, {"name": name, "description": description.strip('"')})
    context.careless = True
    if "license: MIT" in more:
        extra = {"license": "MIT", "metadata": {"by": "me"}, "compatibility": "A kettle"}
        context.document |= extra | {"allowed-tools": "Read Bash(git *)"}


@given('a package whose {field:w} is {count:d} times "{char:Q}"')
def step_long_package(context, field, count, char):
    fields = {"name": "tea", "description": "Makes tea."} | {field: char * count}
    head = "".join(f"{key}: {value}\n" for key, value in fields.items())
    context.document = document_of(f"---\n{head}---\nBegin.\n", fields)


@given('in the document "{field:Q}" is {value:Json}')
def step_change(context, field, value):
    context.document[field] = value


@given('in the document the file "{key:Q}" is {entry:Json}')
def step_file_entry(context, key, entry):
    context.document["files"][key.replace("\\\\", "\\")] = entry


@when("the package is read")
def step_read_package(context):
    attempt(context, read_package, context.document)


@when('the package is read for the reference "{reference:Q}"')
def step_read_for(context, reference):
    attempt(context, read_package, context.document, reference=reference)


@when('the package is read as the one of "{text:Q}"')
def step_read_as(context, text):
    package, reference = read_package(context.document), PackageReference.parse(text)
    attempt(context, check_name, reference.name, package.name, what="The package", reference=text)


def named(context):
    """The violations of the last refusal."""
    assert isinstance(context.error, errors.PackageValidationError), repr(context.error or context.outcome)
    return [(v["path"], v["code"]) for v in context.error.details["violations"]]


@then('the verdict on the package is "{verdict:Q}"')
def step_package_verdict(context, verdict):
    if verdict == "valid":
        assert got(context).to_document() == context.document
        return
    # A field that differs from SKILL.md, or is missing, is told beside the rule that SKILL.md breaks.
    found = {code for _, code in named(context) if code != "projection-mismatch"}
    assert found == set(words(verdict)), context.error.details


@then('the violation "{code:Q}" is named at "{place:Q}"')
def step_violation(context, code, place):
    place = place.replace("\\\\", "\\")
    assert (place, code) in named(context), named(context)


@then("exactly these violations are named")
def step_all_violations(context):
    assert sorted(named(context)) == sorted((row["path"], row["code"]) for row in context.table), named(context)


# --- packing and unpacking --------------------------------------------------------------------------------------------


@given('the file "{path:Q}" is executable')
def step_executable(context, path):
    (context.folder / path).chmod(0o755)


@given('a file of "{folder:Q}" whose name is the bytes "{escaped:Q}"')
def step_odd_name(context, folder, escaped):
    put(context, f"{folder}/{os.fsdecode(unescaped(escaped))}", "odd")


@given('"{path:Q}" is a link to "{target:Q}"')
def step_is_link(context, path, target):
    (context.folder / path).symlink_to(target)


@given('"{path:Q}" is a FIFO')
def step_is_fifo(context, path):
    os.mkfifo(context.folder / path)


@given('a skill "{name:Q}" in "{folder:Q}" whose body has {count:d} lines')
def step_body_lines(context, name, folder, count):
    put_skill(context, f"{folder}/{name}", name, body="Do it.\n" * count)


def packing(context, path, **options):
    attempt(context, pack, context.folder / path, **options)
    if context.error is None:
        context.packages = [*getattr(context, "packages", []), context.outcome]


@when('"{path:Q}" is packed')
def step_pack(context, path):
    packing(context, path)


@when('"{path:Q}" is packed under STRICT')
def step_pack_strict(context, path):
    packing(context, path, profile=STRICT)


@when('"{path:Q}" is packed as version "{version:Q}" of "{date:Q}"')
def step_pack_version(context, path, version, date):
    packing(context, path, version=version, release_date=date)


@when('"{path:Q}" is packed with at most {count:d} {limit:w}')
def step_pack_limited(context, path, count, limit):
    packing(context, path, limits=PackageLimits(**{limit: count}))


@then("both packages have the same id and the same integrity")
def step_same_id(context):
    got(context)
    one, other = context.packages
    assert (one.id, one.integrity) == (other.id, other.integrity)
    assert one.document != other.document


@then("the last two packages have different ids")
def step_different_ids(context):
    got(context)
    one, other = context.packages[-2:]
    assert one.id != other.id
    assert one.integrity != other.integrity


@then('the id is "pkg_skl_" and the SHA-1 of the canonical bytes')
def step_id_is_sha1(context):
    packed = context.packages[-1]
    assert str(packed.id) == "pkg_skl_" + hashlib.sha1(canonicalize(packed.document)).hexdigest()


@then('the document says "{description:Q}"')
def step_document_says(context, description):
    assert got(context).document["description"] == description


@when('it is unpacked to "{path:Q}"')
def step_unpack_to(context, path):
    unpack_to(context.packages[-1], context.folder / path)


def tree(folder):
    """Every file by the bytes of its path: content, and whether it is executable."""
    return {
        os.fsencode(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o111))
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


@then('"{one:Q}" holds the same files as "{other:Q}"')
def step_same_files(context, one, other):
    found = tree(context.folder / one)
    assert found == tree(context.folder / other)
    assert len(found) == 8, found.keys()


@then('"{path:Q}" packed again has the same id')
def step_same_again(context, path):
    assert pack(context.folder / path).id == context.packages[-1].id


@then('the document holds "{key:Q}" as {form:w}')
def step_entry(context, key, form):
    assert set(context.packages[-1].document["files"][key]) == {form}


@then('the document holds "{key:Q}" as text that is executable')
def step_executable_entry(context, key):
    assert set(context.packages[-1].document["files"][key]) == {"text", "executable"}


@when("it is unpacked in memory while every open is watched")
def step_unpack_watched(context):
    with watching() as context.seen:
        router = SkillRouter(unpack(context.packages[-1]))
        names = [summary.name for summary in router.skills()]
        context.outcome = (names, router.activate("mail"), router.read("mail", "scripts/run.py"))


@then('the skill "{name:Q}" has its instructions and the file "{path:Q}", which is executable')
def step_memory_skill(context, name, path):
    names, activation, resource = got(context)
    assert names == [name]
    assert "1. Begin." in activation.text
    assert [info.path for info in activation.resources] == [path]
    assert resource.info.executable
    assert resource.data == b"print(1)\n"


@then("nothing was opened")
def step_nothing_opened(context):
    assert context.seen.nothing, context.seen.events


@then('the package says that "{path:Q}" was a link')
def step_was_link(context, path):
    assert got(context).links == (path,)


@then('the package comes with the warnings "{codes:Q}"')
def step_warnings(context, codes):
    diagnostics = got(context).diagnostics
    assert [d.code for d in diagnostics] == words(codes)
    assert all(d.severity == "warning" for d in diagnostics)
