"""Steps about the cache of packages. The registry is real, on loopback, and counts what it is asked."""

import json
import mmap
import os
import signal
import sqlite3
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from behave import given, register_type, then, when
from parse import with_pattern

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from registry_loopback import running_registry
from skillbelt import MappingSource, errors
from skillbelt.packages.cache import RegistryCache
from skillbelt.packages.canonical import canonicalize, id_of
from skillbelt.packages.packing import pack_skill

KEY = "cache-feature-key"
SIZE = 4000


@with_pattern("memory|a folder")
def _place(text):
    return text


@with_pattern("known|unknown")
def _known(text):
    return text == "known"


@with_pattern("[A-Z][A-Za-z]+Error")
def _error(text):
    return getattr(errors, text)


register_type(CachePlace=_place, CacheKnown=_known, CacheError=_error)


# --- the registry -----------------------------------------------------------------------------------------------------


def registry(context):
    """The address of the scenario's registry, started when it is first needed."""
    if not hasattr(context, "cache_registry"):
        running = running_registry(context.folder / "registry", publish_key=KEY)
        context.cache_registry = running.__enter__()
        context.add_cleanup(running.__exit__, None, None, None)
        context.cache_contents = {}
        context.cache_got = []
        context.cache_lies = set()
    return context.cache_registry


@given('the package "{name}" in a registry')
def step_package(context, name):
    text = f"---\nname: {name}\ndescription: Does {name}.\n---\n".ljust(SIZE, "x")
    packed = pack_skill(MappingSource({f"{name}/SKILL.md": text}), name)
    url = f"{registry(context)}/skill/acme/{name}?version=v1.0.0"
    answer = httpx.put(url, json=dict(packed.document), headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 201, answer.text
    context.cache_contents[name] = canonicalize(packed.document)


@given('the registry gives other content for the package "{name}"')
def step_lies(context, name):
    context.cache_lies.add(name)


def identity(context, name):
    return id_of(context.cache_contents[name])


def download(context, name):
    """Get a package over HTTP, as a client does."""
    answer = httpx.get(f"{registry(context)}/packages/{identity(context, name)}").raise_for_status().json()
    if name in context.cache_lies:
        answer["document"]["description"] = "Something else."
    return canonicalize(answer["document"])


def want(context, cache, name):
    return cache.fill(identity(context, name), lambda: download(context, name))


# --- the cache --------------------------------------------------------------------------------------------------------


def made(context, place, **options):
    context.cache_now = 1_800_000_000.0
    folder = None if place == "memory" else context.folder / "cache"
    context.cache = RegistryCache(folder, clock=lambda: context.cache_now, **options)
    context.add_cleanup(context.cache.close)


def room(context, packages):
    return sum(sorted(map(len, context.cache_contents.values()))[-packages:])


@given("a cache in {place:CachePlace}")
def step_cache(context, place):
    made(context, place)


@given("a cache in {place:CachePlace} with room for {number:d} packages")
def step_small_cache(context, place, number):
    made(context, place, max_bytes=room(context, number))


@given("a cache in {place:CachePlace} that believes aliases for {seconds:d} seconds")
def step_cache_of_time(context, place, seconds):
    made(context, place, alias_ttl=seconds)


@when('the package "{name}" is wanted')
def step_wanted(context, name):
    context.error = None
    try:
        context.cache_got.append((name, want(context, context.cache, name)))
    except errors.SkillError as error:
        context.error = error


@when('the alias "{key}" of the package "{name}" is kept')
def step_alias(context, key, name):
    context.cache.put_alias(key, str(identity(context, name)))


@when("{seconds:d} seconds pass")
def step_time(context, seconds):
    context.cache_now += seconds


def file_of(context):
    (found,) = (context.folder / "cache").glob("*.sqlite")
    return found


@when('the content of the package "{name}" is damaged on disk')
def step_damage(context, name):
    connection = sqlite3.connect(file_of(context))
    with connection:
        changed = connection.execute(
            "UPDATE content SET data = ? WHERE id = ?", (b"{}", str(identity(context, name)))
        ).rowcount
    connection.close()
    assert changed == 1


@when("the file of the cache is overwritten with nonsense")
def step_nonsense(context):
    file_of(context).write_bytes(b"nonsense" * 5000)


@when('{number:d} threads want the package "{name}" at once')
def step_threads(context, number, name):
    with ThreadPoolExecutor(number) as threads:
        context.cache_got += threads.map(lambda _: (name, want(context, context.cache, name)), range(number))


def forked(work):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


@when('another process wants the package "{name}"')
def step_process(context, name):
    def work():
        with RegistryCache(context.folder / "cache") as cache:
            assert want(context, cache, name) == context.cache_contents[name]

    assert os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1]) == 0


@when("{number:d} processes want all packages at once")
def step_processes(context, number):
    def work():
        with RegistryCache(context.folder / "cache", patience=60) as cache:
            for name, content in context.cache_contents.items():
                assert want(context, cache, name) == content

    pids = [forked(work) for _ in range(number)]
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * number


@when("{number:d} processes are killed while they fill the cache")
def step_kill(context, number):
    contents = [(id_of(content), content) for content in context.cache_contents.values()]
    rounds = mmap.mmap(-1, 1)

    def work():
        cache = RegistryCache(context.folder / "cache", max_bytes=room(context, 2))
        while True:
            for package, content in contents:
                cache.put(package, content)
            rounds[0] = 1

    for turn in range(number):
        rounds[0] = 0
        pid = forked(work)
        while not rounds[0]:
            time.sleep(0.001)
        time.sleep(0.0003 * turn)
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


# --- then -------------------------------------------------------------------------------------------------------------


@then('the registry was asked for the package "{name}" {number:d} time')
@then('the registry was asked for the package "{name}" {number:d} times')
def step_asked(context, name, number):
    asked = Counter(registry(context).requests)[f"GET /packages/{identity(context, name)}"]
    assert asked == number, registry(context).requests


@then("both times it was the package that was published")
def step_both(context):
    assert len(context.cache_got) == 2, context.error
    step_each(context)


@then("each got the package that was published")
def step_each(context):
    for name, content in context.cache_got:
        assert content == context.cache_contents[name]


@then("the cache has counted")
def step_counted(context):
    found = context.cache.statistics()
    (row,) = context.table
    for heading in context.table.headings:
        assert getattr(found, heading) == json.loads(row[heading]), f"{heading}: {found}"


@then('the alias "{key}" is {known:CacheKnown}')
def step_known(context, key, known):
    assert (context.cache.alias(key) is not None) == known


@then('the cache still has the package "{name}"')
def step_has(context, name):
    assert context.cache.get(identity(context, name)) == context.cache_contents[name]


@then('the cache no longer has the package "{name}"')
def step_has_not(context, name):
    assert context.cache.get(identity(context, name)) is None


@then("the cache holds no more bytes than it may")
def step_bytes(context):
    found = context.cache.statistics()
    assert 0 < found.bytes <= room(context, 2), found


@then("every package the cache has is the one that was published")
def step_every(context):
    found = [context.cache.get(identity(context, name)) for name in context.cache_contents]
    assert any(found)
    for content, published in zip(found, context.cache_contents.values(), strict=True):
        assert content in (None, published)


@then('it fails with an {kind:CacheError} that names the id of the package "{name}"')
def step_fails(context, kind, name):
    assert isinstance(context.error, kind), context.error
    assert str(identity(context, name)) in str(context.error)


@then("the damaged file was set aside")
def step_set_aside(context):
    (damaged,) = (context.folder / "cache").glob("*.damaged")
    assert damaged.read_bytes().startswith(b"nonsense")


@then("nothing but the cache's own files is left in the folder")
def step_left(context):
    context.cache.close()
    left = {path.name for path in (context.folder / "cache").iterdir()}
    assert left <= {"packages-v1.0.sqlite", "locks"}, left
