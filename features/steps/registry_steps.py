"""Steps about registries: their clients, references to what they hold, and registries that cannot be trusted."""

import json
import re
import shutil
import socket
import sqlite3
import sys
import time
from pathlib import Path
from unittest import mock

from behave import given, register_type, then, when
from kit import attempt, got, words
from parse import with_pattern

from skillbelt import SkillRouter
from skillbelt.errors import RegistryError, RegistryNetworkError
from skillbelt.packages import (
    PackageContentResolver,
    PackageLimits,
    ReferenceResolver,
    Registries,
    RegistryClient,
    RegistrySource,
    integrity,
    package_id,
)
from skillbelt.packages.cache import RegistryCache
from skillbelt.sources import HttpLimits, policy

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from http_server import Site, drip, endless, in_turn, redirect, reply, silent, truncated
from registry_loopback import running_registry
from registry_server import HostileRegistry, answer, resets, says, skill

KEY = "publishers-own-key"
PATIENT = HttpLimits(deadline=20)
TIMES = {"nothing": 0, "once": 1, "twice": 2}
PLACE = "/skill/acme/pdf"


@with_pattern("nothing|once|twice")
def _times(word):
    return TIMES[word]


register_type(Times=_times)


def entered(context, manager):
    """Enter a context manager until the scenario ends."""
    inside = manager.__enter__()
    context.add_cleanup(manager.__exit__, None, None, None)
    return inside


def client(url, **options):
    return RegistryClient(url, **{"limits": PATIENT, "allow_private": True} | options)


def publish(context, url, package, body):
    """Publish ``"acme/pdf@v1.0.0"`` with a body of its own."""
    place, _, version = package.partition("@")
    namespace, _, name = place.partition("/")
    packed = skill(name, f"{body}\n")
    client(url, api_key=KEY).publish(packed.document, namespace=namespace, version=version)
    context.published.setdefault(package, packed)
    return packed


def spelled(context, text):
    """Fill in ``<id of …>``, ``<host>`` and ``<second>``."""
    text = re.sub(r"<id of ([^>]+)>", lambda match: str(context.published[match[1]].id), text)
    text = text.replace("<host>", context.url.host)
    return text.replace("<second>", context.second.host) if "<second>" in text else text


def spelled_words(context, text):
    return words(spelled(context, text))


@given("a registry with the packages")
def step_registry(context):
    context.published = {}
    context.now = [1000.0]
    context.cache = RegistryCache(clock=lambda: context.now[0])
    context.server = running_registry(context.folder / "registry", publish_key=KEY, page_size=2)
    context.url = entered(context, context.server)
    for row in context.table:
        publish(context, context.url, row["package"], row["body"])
    context.url.forget()
    context.told = context.url  # what the client of the next steps talks to
    context.asked = lambda: list(context.url.requests)


# --- the endpoints ----------------------------------------------------------------------------------------------------


@given('the registry wants the key "{key:Q}"')
def step_wants_key(context, key):
    context.told = entered(context, running_registry(context.folder / "registry", publish_key=KEY, read_key=key))


def ask(context, package, asking=None, **options):
    place, _, version = package.partition("@")
    asking = asking or client(context.told)
    attempt(context, asking.find, *place.split("/"), version, **options)


@when('the client asks for "{package:Q}"')
def step_ask(context, package):
    ask(context, package)


@when('the client asks for the id of "{package:Q}"')
def step_ask_id(context, package):
    attempt(context, client(context.told).package, context.published[package].id)


@when('the client asks for "{package:Q}" with the key "{key:Q}"')
def step_ask_with_key(context, package, key):
    context.asking = client(context.told, api_key=key or None)
    ask(context, package, context.asking)


@when('the client browses the type "{kind:Q}" and the namespace "{namespace:Q}"')
def step_browse(context, kind, namespace):
    attempt(context, client(context.told).browse, kind or None, namespace or None)


@when("the client asks what the registry is")
def step_ask_what(context):
    attempt(context, client(context.told).well_known)


@when('a client that may only ask public hosts asks for "{package:Q}"')
def step_ask_public(context, package):
    place, _, version = package.partition("@")
    attempt(context, lambda: RegistryClient(context.told, allow_http=True).find(*place.split("/"), version))


@then('it gets what was published as "{package:Q}"')
def step_gets(context, package):
    packed, told = context.published[package], got(context)
    assert (told["id"], told["integrity"]) == (str(packed.id), packed.integrity), told
    content = {key: value for key, value in told["document"].items() if key != "version"}  # told when asked by name
    assert content == dict(packed.document), content


@then('it finds "{packages:Q}"')
def step_finds(context, packages):
    found = {f"{info.namespace}/{info.name}@{info.version}": info.id for info in got(context)}
    assert found == {package: str(context.published[package].id) for package in words(packages)}, found


@then('it is one of the format "{form:Q}" that holds "{kinds:Q}" and wants "{key:Q}" to be read')
def step_info(context, form, kinds, key):
    info = got(context)
    assert (info.format, list(info.types), info.authentication) == (form, words(kinds), key), info


@then('the registry was asked "{request:Q}"')
def step_asked(context, request):
    assert context.asked() == [spelled(context, request)], context.asked()


@then("the registry was asked {count:Times}")
def step_asked_times(context, count):
    assert len(context.asked()) == count, context.asked()


@then("the keys are nowhere to be seen")
def step_no_keys(context):
    seen = f"{context.asking!r} {context.error} {context.error!r} {vars(context.error) if context.error else ''}"
    assert not any(key in seen for key in ("readers-key", "another-key")), seen


@given('another server has the package "{package:Q}"')
def step_other_server(context, package):
    context.other = entered(context, Site())
    context.other.put(PLACE, answer(context.published[package]))


@then("the other server was asked without a key")
def step_other_without_key(context):
    (first,), (second,) = context.hostile.requests, context.other.requests
    assert first.headers["authorization"] == "Bearer readers-key", first.headers
    assert "authorization" not in second.headers, second.headers


# --- registries that cannot be trusted --------------------------------------------------------------------------------


def hostile(context, route, path=PLACE):
    """From now on the client talks to a server that answers as it is told to."""
    context.hostile = entered(context, HostileRegistry())
    context.hostile.routes[path] = route
    context.told = context.hostile.url
    context.asked = lambda: [f"{request.method} {request.path}" for request in context.hostile.requests]


@given("a registry that redirects to that server")
def step_redirects(context):
    hostile(context, redirect(f"{context.other.url}{PLACE}"))


@given('a registry that answers {status:d} with the code "{code:Q}"')
def step_answers(context, status, code):
    hostile(context, says(status, code or None))


HOW = {
    "says nothing": lambda: silent,
    "drips": lambda: drip(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n"),
    "breaks off": lambda: resets,
    "sends half of it": lambda: truncated(answer(skill()).encode()[:100], 4000),
    "sends too much": endless,
    "redirects to a file": lambda: redirect("file:///etc/passwd"),
    "redirects to a private host": lambda: redirect("http://10.0.0.1/skill/acme/pdf"),
    "redirects in a circle": lambda: redirect(PLACE),
    "sends a page for people": lambda: reply("<!doctype html><title>Sign in</title>"),
    "sends garbage": lambda: reply(b"\xff\xfe\x00garbage"),
}


@with_pattern("|".join([*HOW, "is not there"]))
def _how(word):
    return word


register_type(How=_how)


@given("a registry that {how:How}")
def step_misbehaves(context, how):
    if how == "is not there":
        with socket.create_server(("127.0.0.1", 0)) as server:
            context.told = f"http://127.0.0.1:{server.getsockname()[1]}"
        return
    hostile(context, HOW[how]())


LIES = {
    "another id": lambda packed, other: {"id": str(other.id)},
    "other content": lambda packed, other: {"document": dict(other.document)},
    "another digest": lambda packed, other: {"integrity": other.integrity},
    "another version": lambda packed, other: {"version": "v2.0.0"},
    "another namespace": lambda packed, other: {"namespace": "evil"},
    "another name": lambda packed, other: {"name": "mail"},
}


@given("a registry that tells {lie:Any}")
def step_lies(context, lie):
    lie, once, _ = lie.partition(", once")
    packed, other = context.published["acme/pdf@v1.0.0"], context.published["acme/pdf@v1.1.0"]
    route = reply(answer(packed, **LIES[lie](packed, other)))
    if once:
        route = in_turn(route, reply(answer(packed)))
    hostile(context, route)
    context.hostile.routes[f"/packages/{packed.id}"] = route
    context.given = {"registry": client(context.told)}


@when('the client asks for "{package:Q}" because of "{reference:Q}"')
def step_ask_because(context, package, reference):
    ask(context, package, reference=reference)


@when('the client asks for "{package:Q}" because of "{reference:Q}", for at most {seconds:g} seconds')
def step_ask_in_time(context, package, reference, seconds):
    context.seconds = seconds
    with mock.patch.object(policy, "is_public", lambda address: address == "127.0.0.1"):
        bounds = {"limits": HttpLimits(deadline=seconds), "package_limits": PackageLimits(document_bytes=100_000)}
        asking = RegistryClient(context.told, allow_http=True, **bounds)
        start = time.monotonic()
        ask(context, package, asking, reference=reference)
        context.taken = time.monotonic() - start


@then("it took no longer than that")
def step_in_time(context):
    assert context.taken < context.seconds + 0.2, context.taken


@then('the reason is "{reason:Q}"')
def step_reason(context, reason):
    assert context.error.details["reason"] == reason, context.error.details


@then("it is exactly that, and a RegistryError")
def step_exactly(context):
    assert isinstance(context.error, RegistryError), type(context.error).__mro__
    assert type(context.error).__module__ == "skillbelt.errors", type(context.error)


@then('the error tells of "{reference:Q}", with a message, the status {status:d} and the address')
def step_tells(context, reference, status):
    error, address = context.error, f"{context.told}{PLACE}"
    assert error.original_reference == reference, error.original_reference
    assert error.message == str(error), error.message
    assert context.told in error.message, error.message
    assert (error.details["status_code"], error.details["url"]) == (status, address), error.details
    if isinstance(error, RegistryNetworkError):
        assert (error.status_code, error.url) == (status, address), vars(error)


@given("a registry with a package whose {field} is {value}")
def step_invalid_package(context, field, value):
    length = re.fullmatch(r"(\d+) letters", value)
    said = "a" * int(length[1]) if length else None if value == "missing" else json.loads(value)
    fields = {"name": "pdf", "description": "Fills forms.", field: said}
    fields = {key: told for key, told in fields.items() if told is not None}
    head = "".join(f"{key}: {json.dumps(told)}\n" for key, told in fields.items())
    document = {**skill("pdf").document, **fields, "files": {"SKILL.md": {"text": f"---\n{head}---\nBegin.\n"}}}
    if said is None:
        del document[field]
    context.invalid = package_id(document)
    told = answer(skill("pdf"), document=document, id=str(context.invalid), integrity=integrity(document))
    hostile(context, reply(told), f"/packages/{context.invalid}")


@when("that package is resolved")
def step_resolve_invalid(context):
    resolver = ReferenceResolver(client(context.told), cache=context.cache)
    attempt(context, PackageContentResolver(resolver).content, f"ID:{context.invalid}")


@then('its reference is shown, and "{path:Q}" with the rule "{rule:Q}" is among the violations')
def step_violations(context, path, rule):
    reference = f"ID:{context.invalid}"
    assert context.error.original_reference == reference, context.error.original_reference
    assert reference in str(context.error), str(context.error)
    found = [(each["path"], each["code"]) for each in context.error.details["violations"]]
    assert (path, rule) in found, found


# --- from references to skills ----------------------------------------------------------------------------------------


def registries(context):
    """The registries of the scenario, by URL; the client of each is made when it is needed."""
    return getattr(context, "given", None) or Registries({"registry": context.url}, limits=PATIENT, allow_private=True)


@when('a router is made from "{references:Q}"')
def step_router(context, references):
    given = registries(context)
    wanted = spelled_words(context, references)
    attempt(context, SkillRouter.from_references, *wanted, registry=given, base=context.folder)
    context.router = context.outcome


@when('the registry and the folder "{folder:Q}" are gone')
def step_gone(context, folder):
    shutil.rmtree(context.folder / folder)
    for where, name in ((socket.socket, "connect"), (socket, "getaddrinfo")):
        entered(context, mock.patch.object(where, name, side_effect=AssertionError("the network was asked")))


@then('its skills are "{names:Q}"')
def step_router_skills(context, names):
    assert [each.name for each in got(context)] == words(names), got(context)


@then('the skill "{name:Q}" says "{text:Q}"')
def step_skill_says(context, name, text):
    assert text in context.router.activate(name).text, context.router.activate(name).text


@then('the original reference is "{reference:Q}"')
def step_original(context, reference):
    assert context.error.original_reference == reference, context.error.original_reference


@then('the failures are of "{references:Q}"')
def step_failures(context, references):
    found = [failure["reference"] for failure in context.error.details["failures"]]
    assert found == words(references), found


# --- what is known already --------------------------------------------------------------------------------------------


def resolve(context, references):
    context.references = references
    given = context.given = registries(context)
    attempt(context, lambda: RegistrySource(references, registry=given, cache=context.cache, base=context.folder))


def forget(context):
    context.url.forget()


@given('"{references:Q}" were resolved')
def step_resolved(context, references):
    resolve(context, spelled_words(context, references))
    got(context)
    forget(context)


@given('"{references:Q}" were resolved with a cache on disk')
def step_resolved_on_disk(context, references):
    context.cache = RegistryCache(context.folder / "cache")
    step_resolved(context, references)
    context.cache.close()


@given("what the cache holds is changed on disk")
def step_changed(context):
    (file,) = (context.folder / "cache").glob("*.sqlite")
    with sqlite3.connect(file) as database:
        changed = database.execute("UPDATE content SET data = replace(data, 'Fill', 'Burn')").rowcount
    database.close()
    assert changed == 1, changed
    context.cache = RegistryCache(context.folder / "cache")
    context.add_cleanup(context.cache.close)


@given('"{package:Q}" was published, with the body "{body:Q}"')
def step_published(context, package, body):
    publish(context, context.url, package, body)
    forget(context)


@when('"{references:Q}" are resolved')
def step_resolve(context, references):
    resolve(context, spelled_words(context, references))


@when("they are resolved again")
def step_resolve_again(context):
    resolve(context, context.references)


@when("they are resolved again {seconds:d} seconds later")
def step_resolve_later(context, seconds):
    context.now[0] += seconds
    resolve(context, context.references)


@then('they lead to "{packages:Q}"')
def step_lead_to(context, packages):
    found = [each.packed.id for each in got(context).packages]
    assert found == [context.published[package].id for package in words(packages)], found


@then("the cache is empty")
def step_cache_empty(context):
    assert context.cache.statistics().entries == 0, context.cache.statistics()


@given('a second registry with "{package:Q}", with the body "{body:Q}"')
def step_second(context, package, body):
    context.second = entered(context, running_registry(context.folder / "second", publish_key=KEY))
    context.second_packed = publish(context, context.second, package, body)
    context.given = Registries(
        {url.host: url for url in (context.url, context.second)}, limits=PATIENT, allow_private=True
    )


@then('the second and the last say "{body:Q}"')
def step_second_says(context, body):
    texts = [each.package.instructions.strip() for each in got(context).packages]
    assert texts == ["Fill them in.", body, "Sort mail.", body], texts


@then("each of the registries has one client")
def step_one_client(context):
    clients = [context.given.client(url.host) for url in (context.url, context.second) for _ in range(2)]
    assert [clients.index(one) for one in clients] == [0, 0, 2, 2], clients
    asked = [[line for line in url.requests if ".well-known" in line] for url in (context.url, context.second)]
    assert [len(lines) for lines in asked] == [1, 1], asked
