"""Steps about sources: what a place holds, one skill of it, one file of it."""

import shutil
import time
from dataclasses import asdict

from behave import given, then, when
from kit import attempt, got, source_of, unescaped, watching, words

from skillbelt import STRICT, DirectorySource, Limits, MappingSource, SkillSource, TreeSource
from skillbelt.errors import ResourceNotFoundError, ResourceTypeError
from skillbelt.sources import Chunk, Entry, ResourceSource


@given("the limits")
def step_limits(context):
    context.limits = {row["limit"]: int(row["value"]) for row in context.table}


@given('the folder "{folder:Q}" as a {profile:Profile} source')
def step_source(context, folder, profile):
    context.source = source_of(context, folder, profile)


@given('the folder "{folder:Q}" as a {profile:Profile} source that refuses links')
def step_source_without_links(context, folder, profile):
    context.source = source_of(context, folder, profile, symlinks="refuse")


@given('the folder "{folder:Q}" as a trusted source whose links are followed')
def step_following_source(context, folder):
    context.source = source_of(context, folder, symlinks="follow")


@given("these skills in memory")
def step_memory(context):
    context.source = MappingSource({row["path"]: unescaped(row["content"]) for row in context.table})


# --- asking -----------------------------------------------------------------------------------------------------------


@when("its skills are listed")
def step_list(context):
    with watching() as context.seen:
        attempt(context, context.source.list)


@when('the skill "{name:Q}" is loaded')
def step_load(context, name):
    with watching() as context.seen:
        attempt(context, context.source.load, name)


@when("a skill without a name is loaded")
def step_load_nothing(context):
    with watching() as context.seen:
        attempt(context, context.source.load, None)


@when('the skill "{name:Q}" is looked up')
def step_lookup(context, name):
    with watching() as context.seen:
        attempt(context, context.source.lookup, name)


@when('the files of "{name:Q}" are listed')
def step_resources(context, name):
    with watching() as context.seen:
        attempt(context, context.source.resources, name)


@when('the file "{path:Any}" of "{name:Q}" is read')
def step_read(context, path, name):
    read(context, name, path)


@when('at most {size:d} bytes of the file "{path:Q}" of "{name:Q}" are read')
def step_read_bounded(context, size, path, name):
    read(context, name, path, max_bytes=size)


@when('the file "{path:Q}" of "{name:Q}" is read from byte {offset:d} on')
def step_read_from(context, path, name, offset):
    read(context, name, path, offset=offset)


def read(context, name, path, **options):
    start = time.monotonic()
    with watching() as context.seen:
        attempt(context, context.source.read, name, unescaped(path).decode(), **options)
    context.seconds = time.monotonic() - start


@when("the {count:d} skills of it are listed, loaded and read {times:d} times, the wrong way too")
def step_everything(context, count, times):
    context.handles = open_handles()
    for _ in range(times):
        assert len(context.source.list()) == count
        for summary in context.source.list():
            context.source.load(summary.name)
            for info in context.source.resources(summary.name):
                context.source.read(summary.name, info.path)
            for wrong in ("nope.md", "../x", "references", "references/loop", "pipe"):
                attempt(context, context.source.read, summary.name, wrong)
                assert context.error is not None, wrong
        for wrong in ("nope", "broken"):
            attempt(context, context.source.load, wrong)
            assert context.error is not None, wrong


@then("no handle is left open")
def step_no_handle(context):
    assert open_handles() == context.handles


def open_handles():
    from pathlib import Path

    return len(list(Path("/proc/self/fd").iterdir()))


# --- answers ----------------------------------------------------------------------------------------------------------


@then('the skills are "{names:Q}"')
def step_names(context, names):
    assert [summary.name for summary in got(context)] == words(names), context.outcome


@then('the only skill is called "{escaped:Q}", byte for byte')
def step_exact_name(context, escaped):
    (summary,) = got(context)
    assert summary.name.encode("utf-8") == unescaped(escaped), ascii(summary.name)


@then("there are no skills")
def step_none(context):
    assert tuple(got(context)) == (), context.outcome


@then('"{name:Q}" is described as "{description:Q}"')
def step_described(context, name, description):
    found = {summary.name: summary.description for summary in got(context)}
    assert found[name] == description, found


@then('its level 1 is "{name:Q}", "{description:Q}"')
def step_summary(context, name, description):
    assert (got(context).name, context.outcome.description) == (name, description), context.outcome


@then('it says "{words_:Q}"')
def step_says(context, words_):
    assert words_ in got(context).instructions, context.outcome.instructions


@then('it is described as "{description:Q}"')
def step_loaded_description(context, description):
    assert got(context).description == description, context.outcome


@then("the files are")
def step_files(context):
    found = [(info.path, info.kind, info.size) for info in got(context)]
    assert found == [(row["path"], row["kind"], int(row["size"])) for row in context.table], found


@then("there are no files")
def step_no_files(context):
    assert tuple(got(context)) == (), context.outcome


@then("every path is relative to the skill, with slashes")
def step_relative(context):
    assert got(context)
    for info in context.outcome:
        parts = info.path.split("/")
        assert all(part not in ("", ".", "..") for part in parts), info
        assert "\\" not in info.path, info
        assert str(context.folder) not in info.path, info


@then('it holds "{content:Any}"')
def step_holds(context, content):
    assert got(context).data == unescaped(content), context.outcome.data


@then('it holds "{content:Any}" and is cut')
def step_holds_cut(context, content):
    assert (got(context).data, context.outcome.truncated) == (unescaped(content), True), context.outcome


@then('it holds "{content:Any}" and is complete')
def step_holds_whole(context, content):
    assert (got(context).data, context.outcome.truncated) == (unescaped(content), False), context.outcome


@then("it has {size:d} of {total:d} bytes")
def step_sizes(context, size, total):
    assert (len(got(context).data), context.outcome.total) == (size, total)


@then("it takes less than a second")
def step_quick(context):
    assert context.seconds < 1, context.seconds


# --- what was said ----------------------------------------------------------------------------------------------------


@then('a {severity:Severity} "{code:Q}" about "{path:Q}" is reported')
def step_reported(context, severity, code, path):
    expected = str(context.folder / path)
    found = [(d.severity, d.code, d.path) for d in context.source.diagnostics()]
    assert (severity, code, expected) in found, found


@then("nothing is reported")
def step_nothing_reported(context):
    assert tuple(context.source.diagnostics()) == (), context.source.diagnostics()


@then('the reported codes are "{codes:Q}"')
def step_reported_codes(context, codes):
    found = sorted({d.code for d in context.source.diagnostics()})
    assert found == sorted(words(codes)), context.source.diagnostics()


# --- what was touched -------------------------------------------------------------------------------------------------


@then("nothing on the disk was touched")
def step_untouched(context):
    assert context.seen.nothing, context.seen.events


@then("at most {size:d} bytes were read")
def step_bytes(context, size):
    assert context.seen.bytes <= size, context.seen.bytes


@then('"{name:Q}" was opened {count:d} times')
def step_opened(context, name, count):
    assert len(context.seen.opens(name)) == count, context.seen.events


@then('"{name:Q}" was not opened')
def step_not_opened(context, name):
    assert context.seen.opens(name) == [], context.seen.events


# --- limits -----------------------------------------------------------------------------------------------------------


@when("the default limits are asked for")
def step_default_limits(context):
    attempt(context, Limits)


@when("the minimal limits are asked for")
def step_minimal_limits(context):
    attempt(context, Limits.minimal)


@when("limits are made with {name:w} = {value}")
def step_make_limits(context, name, value):
    attempt(context, lambda: Limits(**{name: eval(value)}))  # numbers and None, written as Python writes them


@then("they are")
def step_limits_are(context):
    expected = {row["limit"]: int(row["value"]) for row in context.table}
    found = asdict(got(context))
    assert {name: found[name] for name in expected} == expected, found


# --- sources of other people ------------------------------------------------------------------------------------------


class TwoMethods:
    """The least a source can be: levels 1 and 2."""

    def __init__(self, source):
        self._source = source

    def list(self):
        return self._source.list()

    def load(self, name):
        return self._source.load(name)


@given('a source of a host that only lists and loads "{folder:Q}"')
def step_two_methods(context, folder):
    context.source = TwoMethods(source_of(context, folder))


@then("it is a SkillSource and no ResourceSource")
def step_narrow(context):
    assert isinstance(context.source, SkillSource)
    assert not isinstance(context.source, ResourceSource)


@then("it is a SkillSource and a ResourceSource")
def step_wide(context):
    assert isinstance(context.source, SkillSource)
    assert isinstance(context.source, ResourceSource)


class PlainTree:
    """A host's own tree over a folder, without any confinement: it opens what it is asked for."""

    label = "plain"
    name = None
    on_disk = False

    def __init__(self, root):
        self._root = root

    def where(self, path):
        return path or None

    def entries(self, folder, path=""):
        return [self._entry(child) for child in (self._root / folder / path).iterdir()]

    def kind(self, folder, path=""):
        target = self._root / folder / path
        if not target.exists():
            raise ResourceNotFoundError(f"There is no file {path!r}.")
        return self._entry(target)

    def read(self, folder, path, *, offset=0, size):
        target = self._root / folder / path
        if not target.exists():
            raise ResourceNotFoundError(f"There is no file {path!r}.")
        if target.is_dir():
            raise ResourceTypeError(f"{path!r} is a folder.")
        data = target.read_bytes()
        return Chunk(data[offset : offset + size], len(data))

    @staticmethod
    def _entry(path):
        return Entry(path.name, "directory" if path.is_dir() else "file", path.stat().st_ino)


@given('a tree of the host over "{folder:Q}" as the source')
def step_plain_tree(context, folder):
    context.source = TreeSource(PlainTree(context.folder / folder))


@given('the strict root "{folder:Q}"')
def step_strict_root(context, folder):
    attempt(context, DirectorySource, context.folder / folder, profile=STRICT, strict_root=True)


@when('the copy "{folder:Q}" is taken away')
def step_take_away(context, folder):
    shutil.rmtree(context.folder / folder)
