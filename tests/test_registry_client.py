"""The client of a registry: against the real server, and against one that lies, drags its feet and wants the key."""

import asyncio
import json
import socket
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from http_server import (
    Site,
    bomb,
    drip,
    dripping_headers,
    endless,
    hang_up,
    in_turn,
    outcome,
    redirect,
    reply,
    silent,
    truncated,
)
from registry_loopback import Url, running_registry
from registry_server import WELL_KNOWN, HostileRegistry, answer, resets, says, shown_by, skill
from skillbelt.errors import (
    AccessDeniedError,
    AuthenticationRequiredError,
    IntegrityError,
    InvalidPackageIdError,
    InvalidPackageReferenceError,
    LimitError,
    MissingExtraError,
    PackageConflictError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryError,
    RegistryNetworkError,
    VersionNotFoundError,
)
from skillbelt.packages import PackageId, PackageLimits, RegistryClient, integrity, package_id
from skillbelt.sources import HttpLimits, fetch, policy

KEY = "sesame-open-7"
PDF = skill("pdf", "One.\n", references__guide_md="Guide.\n")
PDF_2 = skill("pdf", "Two.\n")
QUICK = HttpLimits(deadline=0.5)
PATIENT = HttpLimits(deadline=20)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE", 0.001)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Url]:
    """The real server, with three packages."""
    folder = tmp_path_factory.mktemp("registry") / "packages"
    with running_registry(folder, publish_key=KEY, page_size=2) as url:
        publisher = client(url, api_key=KEY)
        publisher.publish(PDF.document, namespace="acme", version="v1.0.0")
        publisher.publish(PDF_2.document, namespace="acme", version="v1.1.0")
        publisher.publish(skill("mail").document, namespace="acme", version="v2.0.0")
        publisher.publish(skill("mail").document, namespace="other", version="v0.1.0")
        yield url


@pytest.fixture
def hostile() -> Iterator[HostileRegistry]:
    with HostileRegistry() as site:
        yield site


def client(url: str, **options: Any) -> RegistryClient:
    return RegistryClient(url, **{"limits": PATIENT, "allow_private": True} | options)


# --- the endpoints ----------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-24", "S2-28")
def test_a_package_is_had_by_its_id_by_anybody(registry: Url) -> None:
    registry.forget()
    got = client(registry).package(PDF.id)
    assert (got["id"], got["integrity"], got["type"]) == (str(PDF.id), PDF.integrity, "skill")
    assert (got["namespace"], got["version"]) == (None, None)
    assert got["document"] == dict(PDF.document)
    assert client(registry).package(str(PDF.id)) == got
    assert registry.requests == [f"GET /packages/{PDF.id}"] * 2


@pytest.mark.row("S2-25")
def test_a_package_is_had_by_its_name_and_says_which_version_an_alias_led_to(registry: Url) -> None:
    registry.forget()
    asking = client(registry)
    versions = {wanted: asking.find("acme", "pdf", wanted)["version"] for wanted in ("latest", "v1", "v1.0.x", "1.0.0")}
    assert versions == {"latest": "v1.1.0", "v1": "v1.1.0", "v1.0.x": "v1.0.0", "1.0.0": "v1.0.0"}
    assert asking.find("acme", "pdf")["id"] == str(PDF_2.id)
    assert registry.requests[:4] == [
        f"GET /skill/acme/pdf?version={wanted}" for wanted in ("latest", "v1", "v1.0.x", "v1.0.0")
    ]
    assert asking.look_up("acme", "pdf", "v1.0.0").id == PDF.id


@pytest.mark.row("S2-26")
def test_what_there_is_can_be_browsed_over_all_pages_and_filtered(registry: Url) -> None:
    registry.forget()
    asking = client(registry)
    found = asking.browse()
    assert [(info.namespace, info.name, info.version) for info in found] == [
        ("acme", "mail", "v2.0.0"),
        ("acme", "pdf", "v1.1.0"),
        ("other", "mail", "v0.1.0"),
    ]
    assert found[1].id == str(PDF_2.id) and found[1].description == "Does pdf things." and found[1].type == "skill"
    assert len(registry.requests) == 2 and "page_token=" in registry.requests[1]
    assert [info.namespace for info in asking.browse("skill", "other")] == ["other"]
    assert registry.requests[-1] == "GET /browse?type=skill&namespace=other"
    assert asking.browse("agent") == ()


@pytest.mark.row("S2-27")
def test_a_registry_says_what_it_is(registry: Url) -> None:
    registry.forget()
    info = client(registry).well_known()
    assert (info.format, info.api, info.types) == ("skillbelt.registry/1", f"{registry}/", ("skill",))
    assert (info.authentication, info.publishing, info.limits["page_size"]) == ("none", "bearer", 2)
    assert registry.requests == [f"GET {WELL_KNOWN}"]


@pytest.mark.row("S2-28")
def test_a_registry_that_wants_a_key_is_read_with_one(tmp_path: Path) -> None:
    with running_registry(tmp_path / "packages", publish_key=KEY, read_key="read-only-key") as url:
        client(url, api_key=KEY).publish(PDF.document, namespace="acme", version="v1.0.0")
        reader = client(url, api_key="read-only-key")
        assert reader.find("acme", "pdf")["id"] == str(PDF.id)
        assert reader.well_known().authentication == "bearer"
        with pytest.raises(AuthenticationRequiredError, match=r"pass api_key="):
            client(url).find("acme", "pdf")
        with pytest.raises(AuthenticationRequiredError):
            client(url, api_key="wrong").package(PDF.id)
        with pytest.raises(AccessDeniedError):
            reader.publish(PDF_2.document, namespace="acme", version="v2.0.0")


def test_versions_are_listed_highest_first_where_that_is_offered(registry: Url, hostile: HostileRegistry) -> None:
    assert client(registry).versions("acme", "pdf") == ("v1.1.0", "v1.0.0")
    with pytest.raises(PackageNotFoundError):
        client(registry).versions("acme", "nope")
    with pytest.raises(RegistryNetworkError, match="answered 404"):
        client(hostile.url).versions("acme", "pdf")


def test_publishing_is_repeatable_and_what_is_published_never_changes(registry: Url) -> None:
    publisher = client(registry, api_key=KEY)
    info = publisher.publish(PDF.document, namespace="acme", version="1.0.0")
    assert (info.id, info.version, info.integrity) == (str(PDF.id), "v1.0.0", PDF.integrity)
    error = outcome(lambda: publisher.publish(PDF_2.document, namespace="acme", version="v1.0.0"))
    assert isinstance(error, PackageConflictError) and "publish a new version" in str(error)
    assert error.details["published"] == str(PDF.id)
    with pytest.raises(AuthenticationRequiredError):
        client(registry).publish(PDF.document, namespace="acme", version="v3.0.0")
    broken = {**PDF.document, "description": ""}
    error = outcome(lambda: publisher.publish(broken, namespace="acme", version="v3.0.0"))
    assert isinstance(error, PackageValidationError)
    assert "/description" in [violation["path"] for violation in error.details["violations"]]


def test_what_cannot_be_published_is_refused_before_anything_is_sent(hostile: HostileRegistry) -> None:
    publisher = client(hostile.url, api_key=KEY)
    for namespace, version in (("acme", "latest"), ("acme", "v1.x"), ("a/b", "v1.0.0"), ("acme", "main")):
        with pytest.raises(InvalidPackageReferenceError):
            publisher.publish(PDF.document, namespace=namespace, version=version)
    with pytest.raises(InvalidPackageReferenceError):
        publisher.publish({"name": "../x"}, namespace="acme", version="v1.0.0")
    with pytest.raises(PackageValidationError, match="canonical"):
        publisher.publish({**PDF.document, "n": float("nan")}, namespace="acme", version="v1.0.0")
    assert hostile.connections == 0


def test_a_registry_that_says_it_keeps_other_content_is_not_believed(hostile: HostileRegistry) -> None:
    hostile.put("/skill/acme/pdf", answer(PDF_2), 201)
    error = outcome(lambda: client(hostile.url).publish(PDF.document, namespace="acme", version="v1.0.0"))
    assert isinstance(error, IntegrityError) and str(PDF_2.id) in str(error)


async def test_a_coroutine_asks_from_a_thread(registry: Url) -> None:
    asking = client(registry)
    found = await asyncio.gather(*(asyncio.to_thread(asking.find, "acme", name) for name in ("pdf", "mail")))
    assert [answer["name"] for answer in found] == ["pdf", "mail"]


# --- where the endpoints are ------------------------------------------------------------------------------------------


def test_endpoints_are_where_the_well_known_document_says_and_it_is_asked_once(hostile: HostileRegistry) -> None:
    hostile.put(WELL_KNOWN, json.dumps({"format": "skillbelt.registry/1", "api": "../api/v1"}))
    hostile.put("/api/v1/skill/acme/pdf", answer(PDF))
    hostile.put(f"/api/v1/packages/{PDF.id}", answer(PDF))
    asking = client(hostile.url, discover=True)
    assert asking.find("acme", "pdf")["id"] == asking.package(PDF.id)["id"] == str(PDF.id)
    assert hostile.paths == [WELL_KNOWN, "/api/v1/skill/acme/pdf?version=latest", f"/api/v1/packages/{PDF.id}"]
    assert asking.well_known().api == f"{hostile.url}/api/v1"


def test_a_registry_without_a_well_known_document_has_them_at_its_address(hostile: HostileRegistry) -> None:
    hostile.put("/hub/skill/acme/pdf", answer(PDF))
    assert client(f"{hostile.url}/hub/", discover=True).find("acme", "pdf")["id"] == str(PDF.id)
    assert hostile.paths == [f"/hub{WELL_KNOWN}", "/hub/skill/acme/pdf?version=latest"]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"format": "skillbelt.registry/2"}, "this version of skillbelt knows"),
        ({"format": "skillbelt.registry/1", "api": "file:///etc"}, "is not a web address"),
        ({"format": "skillbelt.registry/1", "api": "https://10.0.0.1/"}, "not on the public internet"),
        ({"api": 5}, "api"),
    ],
)
def test_a_well_known_document_that_cannot_be_used_is_not_guessed_at(
    hostile: HostileRegistry, told: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "is_public", lambda address: address == "127.0.0.1")
    hostile.put(WELL_KNOWN, json.dumps(told))
    asking = client(hostile.url, discover=True, allow_private=False, allow_http=True)
    error = outcome(lambda: asking.find("acme", "pdf", reference="registry:acme/pdf"))
    assert isinstance(error, RegistryNetworkError) and words in str(error)
    assert error.original_reference == "registry:acme/pdf" and hostile.paths == [WELL_KNOWN]


def test_a_registry_that_fails_to_say_where_they_are_is_not_guessed_at_either(hostile: HostileRegistry) -> None:
    hostile.put(WELL_KNOWN, "busy", 500)
    error = outcome(lambda: client(hostile.url, discover=True).find("acme", "pdf"))
    assert isinstance(error, RegistryNetworkError) and error.status_code == 500
    assert set(hostile.paths) == {WELL_KNOWN}


# --- each failure its error -------------------------------------------------------------------------------------------

REFUSALS = [
    (404, "PackageNotFound", PackageNotFoundError),
    (404, "VersionNotFound", VersionNotFoundError),
    (404, None, PackageNotFoundError),
    (404, "IntegrityError", PackageNotFoundError),
    (410, None, PackageNotFoundError),
    (400, "InvalidPackageId", InvalidPackageIdError),
    (400, "InvalidPackageReference", InvalidPackageReferenceError),
    (400, "PackageValidation", PackageValidationError),
    (400, "Validation", PackageValidationError),
    (400, "ValidationError", PackageValidationError),
    (400, None, InvalidPackageReferenceError),
    (401, "AuthenticationRequired", AuthenticationRequiredError),
    (401, None, AuthenticationRequiredError),
    (403, "AccessDenied", AccessDeniedError),
    (403, None, AccessDeniedError),
    (409, "PackageConflict", PackageConflictError),
    (409, "Conflict", PackageConflictError),
    (413, "PackageTooLarge", PackageValidationError),
    (500, None, RegistryNetworkError),
    (502, None, RegistryNetworkError),
    (503, "StorageFailed", RegistryNetworkError),
    (429, None, RegistryNetworkError),
    (418, "PackageNotFound", RegistryNetworkError),
    (204, None, RegistryNetworkError),
    (302, None, RegistryNetworkError),
]


@pytest.mark.row("S2-29", "S2-30")
@pytest.mark.parametrize(("status", "code", "kind"), REFUSALS, ids=[f"{s} {c}" for s, c, _ in REFUSALS])
def test_each_answer_of_failure_is_one_typed_error(
    hostile: HostileRegistry, status: int, code: str | None, kind: type[RegistryError]
) -> None:
    hostile.routes["/skill/acme/pdf"] = says(status, code, "Because of the moon.", moon="full")
    reference = "hub.example.com:acme/pdf@v1.x"
    error = outcome(lambda: client(hostile.url).find("acme", "pdf", "v1.x", reference=reference))
    assert type(error) is kind
    assert error.original_reference == reference
    assert error.message == str(error) and hostile.url in error.message
    assert error.details["status_code"] == status
    assert error.details["url"] == f"{hostile.url}/skill/acme/pdf"
    if code:
        assert "It says: Because of the moon." in error.message
        assert (error.details["code"], error.details["moon"]) == (code, "full")
    if isinstance(error, RegistryNetworkError):
        assert (error.status_code, error.url) == (status, f"{hostile.url}/skill/acme/pdf")


@pytest.mark.row("S2-29")
def test_what_a_failure_without_a_code_means_depends_on_what_was_asked(hostile: HostileRegistry) -> None:
    for path in ("/browse", "/skill/acme/pdf", "/skill/acme/pdf/versions", f"/packages/{PDF.id}", WELL_KNOWN):
        hostile.routes[path] = says(400)
    asking = client(hostile.url)
    for call, kind in (
        (lambda: asking.package(PDF.id), InvalidPackageIdError),
        (lambda: asking.find("acme", "pdf"), InvalidPackageReferenceError),
        (lambda: asking.versions("acme", "pdf"), InvalidPackageReferenceError),
        (lambda: asking.publish(PDF.document, namespace="acme", version="v1.0.0"), PackageValidationError),
        (asking.browse, RegistryError),
        (asking.well_known, RegistryError),
    ):
        assert type(outcome(call)) is kind


def test_what_a_registry_says_is_quoted_bounded_and_does_nothing(hostile: HostileRegistry) -> None:
    hostile.routes["/skill/acme/pdf"] = says(404, "PackageNotFound", "a\n\x1b[31mb\u202e" + "c" * 5000)
    error = outcome(lambda: client(hostile.url).find("acme", "pdf"))
    assert "It says: a \ufffd[31mb\ufffdccc" in str(error) and len(str(error)) < 600
    for body in (
        b"[]",
        b'{"error": 5}',
        b'{"error": {"code": 5, "message": [], "details": ""}}',
        b"\xff",
        b"[" * 60000,
    ):
        hostile.put("/skill/acme/pdf", body, 404)
        error = outcome(lambda: client(hostile.url).find("acme", "pdf"))
        assert type(error) is PackageNotFoundError and "It says" not in str(error)


@pytest.mark.row("S2-29", "S2-30")
def test_a_port_nobody_listens_on_is_an_error_of_the_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    error = outcome(lambda: client(url).package(PDF.id, reference=f"ID:{PDF.id}"))
    assert isinstance(error, RegistryNetworkError) and isinstance(error, OSError)
    assert (error.status_code, error.url) == (None, f"{url}/packages/{PDF.id}")
    assert error.details == {"url": error.url, "reason": "unreachable"} and error.original_reference == f"ID:{PDF.id}"


HOSTILE: dict[str, tuple[Any, type[RegistryError], str]] = {
    "silent": (silent, RegistryNetworkError, "timeout"),
    "drips its body": (drip(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n"), RegistryNetworkError, "timeout"),
    "drips its headers": (dripping_headers(), RegistryNetworkError, "timeout"),
    "hangs up": (hang_up, RegistryNetworkError, "unreachable"),
    "breaks off": (resets, RegistryNetworkError, "unreachable"),
    "truncated": (truncated(answer(PDF).encode()[:200], 4000), RegistryNetworkError, "unreachable"),
    "oversized, and says so": (reply(b"x" * 300_000), RegistryNetworkError, "too-large"),
    "oversized, without end": (endless(), RegistryNetworkError, "too-large"),
    "a bomb": (bomb(16), RegistryNetworkError, "too-large"),
    "to a file": (redirect("file:///etc/passwd"), RegistryNetworkError, "refused"),
    "to a private host": (redirect("http://10.0.0.1/skill/acme/pdf"), RegistryNetworkError, "refused"),
    "round and round": (redirect("/skill/acme/pdf"), RegistryNetworkError, "unusable"),
    "a page": (reply("<!doctype html><title>Sign in</title>"), RegistryNetworkError, "unusable"),
    "garbage": (reply(b"\xff\xfe\x00garbage"), RegistryNetworkError, "unusable"),
    "half a JSON": (reply(answer(PDF)[:-20]), RegistryNetworkError, "unusable"),
    "a list": (reply("[1, 2]"), RegistryNetworkError, "unusable"),
    "nothing": (reply(""), RegistryNetworkError, "unusable"),
    "too deep": (reply('{"document":' * 8000), RegistryNetworkError, "unusable"),
    "no JSON number": (reply(answer(PDF, extra=float("nan"))), RegistryNetworkError, "unusable"),
    "no document": (reply(answer(PDF, document=None)), RegistryNetworkError, "unusable"),
    "a document with a number no one can hash": (
        reply(answer(PDF, document={**PDF.document, "n": 1 << 60})),
        PackageValidationError,
        "",
    ),
    "another id": (reply(answer(PDF, id=str(PDF_2.id))), IntegrityError, "id"),
    "an id that is none": (reply(answer(PDF, id="pkg_skl_x")), IntegrityError, "id"),
    "other content": (reply(answer(PDF, document=dict(PDF_2.document))), IntegrityError, "id"),
    "another digest": (reply(answer(PDF, integrity=PDF_2.integrity)), IntegrityError, "integrity"),
    "another type": (reply(answer(PDF, type="agent")), IntegrityError, "type"),
    "another namespace": (reply(answer(PDF, namespace="evil")), IntegrityError, "namespace"),
    "another version": (reply(answer(PDF, version="v2.0.0")), IntegrityError, "version"),
    "no version": (reply(answer(PDF, version=None)), IntegrityError, "version"),
    "another name": (reply(answer(PDF, name="mail")), PackageValidationError, ""),
    "another name in the document": (reply(answer(skill("mail"), name="pdf")), PackageValidationError, ""),
}


@pytest.mark.row("S2-23", "S2-29", "S2-30")
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_registry_gives_one_typed_error_within_the_deadline(
    hostile: HostileRegistry, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    route, kind, reason = HOSTILE[case]
    monkeypatch.setattr(policy, "is_public", lambda address: address == "127.0.0.1")
    hostile.routes["/skill/acme/pdf"] = route
    limits = QUICK if reason == "timeout" else HttpLimits(deadline=5)
    asking = client(
        hostile.url,
        limits=limits,
        package_limits=PackageLimits(document_bytes=100_000),
        allow_private=False,
        allow_http=True,
    )
    start = time.monotonic()
    error = outcome(lambda: asking.find("acme", "pdf", "v1.x", reference="registry:acme/pdf@v1.x"))
    assert time.monotonic() - start < limits.deadline + 0.2
    assert type(error) is kind, repr(error)
    assert error.original_reference == "registry:acme/pdf@v1.x" and len(error.message) < 1024
    if kind is RegistryNetworkError:
        assert error.details["reason"] == reason
        assert (error.status_code, error.url) == (None, f"{hostile.url}/skill/acme/pdf")
    if kind is IntegrityError:
        assert error.details["what"] == reason


def test_millions_of_values_are_not_even_parsed(hostile: HostileRegistry) -> None:
    many = f'{{"id": "x", "document": {{"l": [{"[]," * 3_000_000}0]}}}}'
    assert len(many) < PackageLimits().document_bytes
    for body in (many, many.replace("[],", '"",'), f"{{{'[' * 9_000_000}"):
        hostile.put("/skill/acme/pdf", body)
        error = outcome(lambda: client(hostile.url).find("acme", "pdf"))
        assert isinstance(error, RegistryNetworkError) and "holds more than 100000 values" in str(error)
    tracemalloc.start()
    outcome(lambda: client(hostile.url).find("acme", "pdf"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(many)


@pytest.mark.parametrize(
    "text", ['[{,"' * 300_000, "\\" * 300_000, '\\"' * 300_000], ids=["brackets", "slashes", "quotes"]
)
def test_what_stands_in_a_file_is_one_value(hostile: HostileRegistry, text: str) -> None:
    packed = skill("pdf", data_txt=text)
    hostile.offer(packed)
    assert client(hostile.url).find("acme", "pdf")["id"] == str(packed.id)


def test_as_many_files_as_the_limits_allow_are_no_millions_of_values(hostile: HostileRegistry) -> None:
    files = {f"{number}.sh": {"text": "", "executable": True} for number in range(20_000)}
    document = {**PDF.document, "files": files}
    hostile.offer(PDF, document=document, id=str(package_id(document)), integrity=integrity(document))
    assert isinstance(outcome(lambda: client(hostile.url).find("acme", "pdf")), RegistryNetworkError)
    found = client(hostile.url, package_limits=PackageLimits(files=20_000)).find("acme", "pdf")
    assert found["document"] == document


@pytest.mark.parametrize("case", ["other content", "another digest", "another id", "no document"])
def test_an_id_is_not_taken_for_other_content_either(hostile: HostileRegistry, case: str) -> None:
    route, kind, _ = HOSTILE[case]
    hostile.routes[f"/packages/{PDF.id}"] = route
    assert type(outcome(lambda: client(hostile.url).package(PDF.id))) is kind


def test_the_error_for_a_false_name_names_both(hostile: HostileRegistry) -> None:
    hostile.offer(skill("mail"), name="pdf")
    error = outcome(lambda: client(hostile.url).find("acme", "pdf", reference="registry:acme/pdf"))
    assert "'registry:acme/pdf'" in str(error) and "it is called 'mail', and 'pdf' was asked for" in str(error)
    assert error.details["violations"][0]["code"] == "name-mismatch"


def test_packages_of_other_kinds_are_hashed_as_well(hostile: HostileRegistry) -> None:
    actor = PackageId.parse(str(PDF.id).replace("skl", "act"))
    hostile.put(f"/packages/{actor}", answer(PDF, id=str(actor), type="actor"))
    hostile.put("/agent/acme/pdf", answer(PDF, id=f"pkg_agt_{PDF.id.sha1}", type="agent"))
    assert client(hostile.url).package(actor)["id"] == str(actor)
    assert client(hostile.url).fetch(actor).id == actor
    hostile.put(f"/packages/{actor}", answer(PDF_2, id=str(actor), type="actor"))
    assert isinstance(outcome(lambda: client(hostile.url).package(actor)), IntegrityError)
    assert client(hostile.url).find("acme", "pdf", type="agent")["type"] == "agent"


@pytest.mark.parametrize("bad", ["pkg_skl_short", "", "x" * 5000, 5])
def test_what_is_no_id_is_not_asked_for(hostile: HostileRegistry, bad: Any) -> None:
    error = outcome(lambda: client(hostile.url).package(bad, reference="ID:odd"))
    assert isinstance(error, InvalidPackageIdError) and error.original_reference == "ID:odd"
    assert hostile.connections == 0


@pytest.mark.parametrize(
    "place",
    [("acme", "../x"), ("a/b", "pdf"), ("acme", "pdf?x"), ("acme", "PDF"), ("", "pdf"), ("acme", "pdf", "main")],
)
def test_what_is_no_place_is_not_asked_for(hostile: HostileRegistry, place: tuple[str, ...]) -> None:
    error = outcome(lambda: client(hostile.url).find(*place, reference="odd"))
    assert isinstance(error, InvalidPackageReferenceError) and error.original_reference == "odd"
    with pytest.raises(InvalidPackageReferenceError, match="is no type of package"):
        client(hostile.url).find("acme", "pdf", type="../skill")
    assert hostile.connections == 0


# --- retries ----------------------------------------------------------------------------------------------------------


def test_a_registry_that_fails_now_and_then_is_asked_again(hostile: HostileRegistry) -> None:
    hostile.routes["/skill/acme/pdf"] = in_turn(reply("", 503), hang_up, reply(answer(PDF)))
    assert client(hostile.url).find("acme", "pdf")["id"] == str(PDF.id)
    assert len(hostile.requests) == 3


def test_it_is_waited_for_as_long_as_it_says_when_there_is_time(
    hostile: HostileRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    real = time.sleep
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: waits.append(seconds) or real(0.001))
    hostile.routes["/skill/acme/pdf"] = in_turn(reply("", 429, Retry_After="7"), reply(answer(PDF)))
    assert client(hostile.url).find("acme", "pdf")["id"] == str(PDF.id)
    assert 7 in waits
    hostile.put("/skill/acme/mail", "", 429, Retry_After="70")
    error = outcome(lambda: client(hostile.url).find("acme", "mail"))
    assert isinstance(error, RegistryNetworkError) and error.status_code == 429 and 70 not in waits


def test_a_publication_is_not_sent_twice_and_the_error_says_whether_it_may_have_arrived(
    hostile: HostileRegistry,
) -> None:
    hostile.routes["/skill/acme/pdf"] = in_turn(hang_up, reply(answer(PDF), 201))

    def publish(url: str) -> Any:
        return outcome(lambda: client(url).publish(PDF.document, namespace="acme", version="v1.0.0"))

    error = publish(hostile.url)
    assert isinstance(error, RegistryNetworkError) and error.details["sent"] is True and "may have been" in str(error)
    assert len(hostile.requests) == 1
    assert hostile.requests[0].method == "PUT" and hostile.requests[0].path == "/skill/acme/pdf?version=v1.0.0"
    assert json.loads(hostile.requests[0].body) == dict(PDF.document)
    assert publish(hostile.url).id == str(PDF.id)
    hostile.routes["/skill/acme/pdf"] = redirect("/elsewhere", 307)
    error = publish(hostile.url)
    assert error.details["reason"] == "refused" and error.details["sent"] is False
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    error = publish(f"http://127.0.0.1:{port}")
    assert error.details == {"url": error.url, "reason": "unreachable", "sent": False}


# --- pages ------------------------------------------------------------------------------------------------------------


def test_pages_are_followed_up_to_a_bound_and_not_in_a_circle(hostile: HostileRegistry) -> None:
    info = {"type": "skill", "namespace": "acme", "name": "pdf", "version": "v1.0.0", "id": str(PDF.id)}
    count = iter(range(10_000))
    hostile.routes["/browse"] = lambda request: reply(
        json.dumps({"packages": [info], "next_page_token": f"t{next(count)}"})
    )(request)
    error = outcome(lambda: client(hostile.url).browse(max_pages=5))
    assert isinstance(error, RegistryNetworkError) and "more than 5 pages" in str(error)
    assert len(hostile.requests) == 5
    hostile.put("/browse", json.dumps({"packages": [], "next_page_token": "again"}))
    error = outcome(lambda: client(hostile.url).browse())
    assert isinstance(error, RegistryNetworkError) and "circle" in str(error)
    hostile.put("/browse", json.dumps({"packages": [{"name": "pdf"}]}))
    error = outcome(lambda: client(hostile.url).browse())
    assert isinstance(error, RegistryNetworkError) and "packages.0.type: Field required" in str(error)


def test_all_pages_share_one_deadline(hostile: HostileRegistry) -> None:
    count = iter(range(10_000))

    def slowly(request: Any) -> Any:
        time.sleep(0.1)
        return reply(json.dumps({"packages": [], "next_page_token": f"t{next(count)}"}))(request)

    hostile.routes["/browse"] = slowly
    start = time.monotonic()
    error = outcome(lambda: client(hostile.url, limits=QUICK).browse())
    assert time.monotonic() - start < QUICK.deadline + 0.2
    assert isinstance(error, RegistryNetworkError) and error.details["reason"] == "timeout"


# --- where to, and what with ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9",
        "https://127.0.0.1:9",
        "https://10.0.0.1",
        "http://hub.example.com",
        "file:///etc",
        "hub.example.com",
        "https://u:sesame@hub.example.com",
        "https://hub.example.com/?key=sesame",
        "https://hub.example.com/#sesame",
        "",
    ],
)
def test_by_default_only_https_to_the_public_internet_is_taken_for_a_registry(url: str) -> None:
    with pytest.raises(RegistryNetworkError) as caught:
        RegistryClient(url)
    error = caught.value
    assert "sesame" not in f"{error} {error!r} {vars(error)}"


@pytest.mark.parametrize("key", ["", "two words", "line\r\nbreak", "schlüssel", "nul\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(LimitError) as caught:
        RegistryClient("https://hub.example.com", api_key=key)
    assert not key or key not in str(caught.value)


@pytest.mark.row("S2-28")
def test_the_key_goes_to_its_own_origin_only(hostile: HostileRegistry) -> None:
    with Site() as other:
        other.put("/skill/acme/pdf", answer(PDF))
        other.put("/api/skill/acme/mail", answer(skill("mail")))
        hostile.routes["/skill/acme/pdf"] = redirect(f"{other.url}/skill/acme/pdf")
        hostile.put(WELL_KNOWN, json.dumps({"api": f"{other.url}/api"}))
        assert client(hostile.url, api_key=KEY).find("acme", "pdf")["id"] == str(PDF.id)
        assert client(hostile.url, api_key=KEY, discover=True).find("acme", "mail")["name"] == "mail"
        assert len(other.requests) == 2
        assert all("authorization" not in request.headers for request in other.requests)
    assert [request.headers["authorization"] for request in hostile.requests] == [f"Bearer {KEY}"] * 2


ENDS: dict[str, Any] = {
    "hangs up": hang_up,
    "silent": silent,
    "cut": truncated(b"{", 9),
    "a file": redirect("file:///etc/passwd"),
    "refuses": says(
        403, "AccessDenied", f"The key {KEY} is not good; Bearer {KEY}.", yours=[{"key": f"Bearer {KEY}"}, 5]
    ),
    "a page": reply(f"{KEY} <html>"),
    "no form": reply(json.dumps({KEY: 1, "id": 5})),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_key_is_in_nothing_that_may_be_seen_of_an_error(hostile: HostileRegistry, end: str) -> None:
    secret = client(hostile.url, api_key=KEY, limits=HttpLimits(deadline=0.3, retries=1))
    hostile.routes["/skill/acme/pdf"] = ENDS[end]
    for call in (
        lambda: secret.find("acme", "pdf"),
        lambda: secret.publish(PDF.document, namespace="acme", version="v1.0.0"),
    ):
        error = outcome(call)
        assert isinstance(error, RegistryError)
        assert KEY not in shown_by(error)
    assert KEY not in repr(secret) + repr(secret._exchange._fetcher)


def test_the_key_is_in_no_traceback_when_nobody_can_be_connected_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    error = outcome(lambda: client(f"http://127.0.0.1:{port}", api_key=KEY).find("acme", "pdf"))
    assert isinstance(error, RegistryNetworkError) and KEY not in shown_by(error)


def test_a_transport_may_take_the_place_of_the_network() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=answer(PDF)))
    asking = RegistryClient("https://hub.example.com/registry", transport=transport)
    assert asking.find("acme", "pdf")["id"] == str(PDF.id)
    assert repr(asking) == "RegistryClient('https://hub.example.com/registry')"


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "skillbelt\[registry\]"'):
        RegistryClient("https://hub.example.com")
