"""The registry: the real server on loopback, and the application in this process where a network cannot show it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from registry_loopback import Url, running_registry, serving
from skillbelt import MappingSource, examples
from skillbelt.errors import AccessDeniedError, LimitError, PackageConflictError, SourceError
from skillbelt.models import JsonValue
from skillbelt.packages.canonical import canonicalize, id_of
from skillbelt.packages.ids import PackageId
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.packing import PackedSkill, pack_skill
from skillbelt.packages.reading import read_package
from skillbelt.packages.server import open_store, registry_app
from skillbelt.packages.server.access import Access
from skillbelt.packages.server.disk import DiskStore
from skillbelt.packages.server.plain import PlainStore, entry_of

KEY = "publisher-key"
BEARER = {"Authorization": f"Bearer {KEY}"}


def skill(name: str = "pdf", body: str = "Begin.\n", **files: str) -> PackedSkill:
    """The package of a small skill."""
    head = f"---\nname: {name}\ndescription: Does {name}.\n---\n"
    paths = {f"{name}/SKILL.md": head + body} | {f"{name}/{path}": text for path, text in files.items()}
    return pack_skill(MappingSource(paths), name)


def publish(
    client: httpx.Client, packed: PackedSkill, version: str = "v1.0.0", namespace: str = "acme"
) -> httpx.Response:
    name = packed.document["name"]
    return client.put(f"/skill/{namespace}/{name}?version={version}", json=dict(packed.document), headers=BEARER)


def refusal(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Return what a refusal says, after checking that it is JSON of the one form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert response.json().keys() == {"error"}
    error = response.json()["error"]
    assert error.keys() == {"code", "message", "details"}
    assert error["code"] == code, error
    assert error["message"][-1] in ".?", error
    return dict(error)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "packages"


@pytest.fixture
def url(folder: Path) -> Iterator[Url]:
    with running_registry(folder, publish_key=KEY) as found:
        yield found


@pytest.fixture
def client(url: Url) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A registry with one package, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("shared") / "packages"
    with running_registry(folder, publish_key=KEY) as url, httpx.Client(base_url=url) as found:
        assert publish(found, skill()).status_code == 201
        yield found
    assert len(list((folder / "skill").rglob("*.json"))) == 1


def facts(packed: PackedSkill, version: str | None, namespace: str | None = "acme") -> dict[str, Any]:
    return {
        "id": str(packed.id),
        "integrity": packed.integrity,
        "type": "skill",
        "namespace": namespace,
        "name": packed.document["name"],
        "version": version,
    }


# --- publishing and reading -------------------------------------------------------------------------------------------


@pytest.mark.row("S2-24")
@pytest.mark.row("S2-25")
def test_what_was_published_is_given_by_name_and_by_id(client: httpx.Client) -> None:
    packed = skill(body='# Größe\n\n\u20ac \\ "\n', **{"scripts/a.py": "print(1)\n"})
    published = publish(client, packed)
    assert published.status_code == 201
    assert published.json() == facts(packed, "v1.0.0")
    assert published.headers["location"] == "/skill/acme/pdf?version=v1.0.0"

    by_name = client.get(published.headers["location"]).json()
    document = by_name.pop("document")
    assert by_name == facts(packed, "v1.0.0")
    assert document == {**packed.document, "version": "v1.0.0"}
    assert read_package(document).contents() == read_package(packed.document).contents()

    by_id = client.get(f"/packages/{packed.id}").json()
    document = by_id.pop("document")
    assert by_id == facts(packed, None, None)
    assert document == packed.document
    assert id_of(canonicalize(document)) == packed.id


def test_release_date_and_version_are_told_and_change_no_id(client: httpx.Client) -> None:
    packed = skill()
    document = {**packed.document, "version": "v1.0.0", "release_date": "2026-01-31"}
    response = client.put("/skill/acme/pdf?version=1.0.0", json=document, headers=BEARER)
    assert response.json() == facts(packed, "v1.0.0")
    assert client.get("/skill/acme/pdf").json()["document"] == document


def test_publishing_the_same_again_is_no_error_and_other_content_is_a_conflict(client: httpx.Client) -> None:
    first, other = skill(), skill(body="Other.\n")
    assert publish(client, first).status_code == 201
    assert publish(client, first).status_code == 200
    error = refusal(publish(client, other), 409, "PackageConflict")
    assert error["details"] == {"published": str(first.id), "sent": str(other.id)}
    assert client.get("/skill/acme/pdf?version=v1.0.0").json()["id"] == str(first.id)
    refusal(client.get(f"/packages/{other.id}"), 404, "PackageNotFound")
    assert publish(client, other, "v1.0.1").status_code == 201


@pytest.mark.row("S2-11")
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, "v2.0.0"),
        ("latest", "v2.0.0"),
        ("v1", "v1.10.0"),
        ("v1.x", "v1.10.0"),
        ("1.2.x", "v1.2.3"),
        ("v3.0.0-rc.1", "v3.0.0-rc.1"),
        ("v1.2.0", "v1.2.0"),
        ("v3", None),
        ("v9.9.9", None),
    ],
)
def test_an_alias_means_the_highest_version_that_matches(client: httpx.Client, wanted: str, found: str | None) -> None:
    for version in ("v1.2.0", "v1.10.0", "v2.0.0", "v1.2.3", "v3.0.0-rc.1"):
        assert publish(client, skill(body=f"{version}\n"), version).status_code == 201
    response = client.get("/skill/acme/pdf", params={} if wanted is None else {"version": wanted})
    if found:
        assert response.json()["version"] == response.json()["document"]["version"] == found
    else:
        error = refusal(response, 404, "VersionNotFound")
        assert error["details"]["versions"] == ["v3.0.0-rc.1", "v2.0.0", "v1.10.0", "v1.2.3", "v1.2.0"]
        assert error["details"]["version"] == wanted
    listed = client.get("/skill/acme/pdf/versions").json()
    assert listed["versions"] == ["v3.0.0-rc.1", "v2.0.0", "v1.10.0", "v1.2.3", "v1.2.0"]


def test_a_name_in_another_script_is_a_name(client: httpx.Client) -> None:
    packed = skill("größe-messen")
    assert publish(client, packed).status_code == 201
    assert client.get("/skill/acme/größe-messen").json()["id"] == str(packed.id)
    assert client.get("/browse").json()["packages"][0]["name"] == "größe-messen"


def test_one_content_may_be_published_in_many_places_and_is_kept_once(client: httpx.Client, folder: Path) -> None:
    for namespace, version in (("acme", "v1.0.0"), ("acme", "v2.0.0"), ("Other_1", "v1.0.0")):
        assert publish(client, skill(), version, namespace).status_code == 201
    assert len(list((folder / "packages").rglob("*.json"))) == 1
    assert len(list((folder / "skill").rglob("*.json"))) == 3


# --- listing ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-26")
def test_browsing_lists_each_package_once_with_its_highest_version(client: httpx.Client) -> None:
    for name, version in (("mail", "v1.0.0"), ("mail", "v1.2.0"), ("mail", "v2.0.0-rc.1"), ("early", "v0.1.0-a")):
        publish(client, skill(name), version)
    publish(client, skill("pdf"), namespace="zeta")
    told = client.get("/browse").json()
    assert told["next_page_token"] is None
    listed = [(each["namespace"], each["name"], each["version"]) for each in told["packages"]]
    assert listed == [("acme", "early", "v0.1.0-a"), ("acme", "mail", "v1.2.0"), ("zeta", "pdf", "v1.0.0")]
    mail = told["packages"][1]
    packed = skill("mail")
    size = len(canonicalize(packed.document))
    assert mail == {**facts(packed, "v1.2.0"), "description": "Does mail.", "size": size}
    for query, names in {
        "?namespace=zeta": ["pdf"],
        "?namespace=none": [],
        "?type=skill&namespace=acme": ["early", "mail"],
        "?type=actor": [],
        "?type=&namespace=": ["early", "mail", "pdf"],
    }.items():
        assert [each["name"] for each in client.get(f"/browse{query}").json()["packages"]] == names, query


def test_pages_lose_nothing_and_repeat_nothing_while_packages_are_added(client: httpx.Client) -> None:
    names = [f"skill-{number:02}" for number in range(23)]
    for name in names:
        publish(client, skill(name))
    seen, token, pages = [], None, 0
    while True:
        query = {"page_size": "7"} | ({} if token is None else {"page_token": token})
        told = client.get("/browse", params=query).json()
        seen += [each["name"] for each in told["packages"]]
        pages += 1
        publish(client, skill(f"added-{pages}"))  # sorts before all that come
        token = told["next_page_token"]
        if token is None:
            break
    assert seen == names
    assert pages == 4


@pytest.mark.parametrize("query", ["page_size=0", "page_size=-1", "page_size=x", "page_size=", "page_size=½"])
def test_a_page_size_is_a_number(shared: httpx.Client, query: str) -> None:
    refusal(shared.get(f"/browse?{query}"), 400, "BadRequest")


@pytest.mark.parametrize("token", ["!", "a", "_____w", "%00", "x" * 3000])
def test_a_page_token_is_one_of_ours_or_means_nothing(shared: httpx.Client, token: str) -> None:
    response = shared.get(f"/browse?page_token={token}")
    if response.status_code == 200:
        assert response.json()["packages"] == []
    else:
        refusal(response, 400, "BadRequest")


def test_no_page_is_larger_than_the_registry_says(folder: Path) -> None:
    with running_registry(folder, publish_key=KEY, page_size=2) as url, httpx.Client(base_url=url) as client:
        for name in ("a", "b", "c"):
            publish(client, skill(name))
        assert client.get("/.well-known/cleverthis-packages").json()["limits"]["page_size"] == 2
        assert len(client.get("/browse?page_size=99999999999999999999").json()["packages"]) == 2


@pytest.mark.row("S2-27")
def test_a_registry_says_what_it_is(client: httpx.Client, folder: Path) -> None:
    assert client.get("/.well-known/cleverthis-packages").json() == {
        "format": "skillbelt.registry/1",
        "name": "skillbelt registry",
        "api": "/",
        "types": ["skill"],
        "authentication": "none",
        "publishing": "bearer",
        "limits": {"package_bytes": PackageLimits().document_bytes, "page_size": 100},
    }
    options: dict[str, Any] = {"read_key": "reader", "name": "Ours", "limits": PackageLimits(document_bytes=5000)}
    with running_registry(folder, **options) as url:
        told = httpx.get(f"{url}/.well-known/cleverthis-packages").json()  # without a key
    assert (told["authentication"], told["publishing"], told["name"]) == ("bearer", "none", "Ours")
    assert told["limits"]["package_bytes"] == 5000


def test_a_registry_may_be_a_part_of_a_larger_application(folder: Path) -> None:
    app = Starlette(routes=[Mount("/registry", registry_app(folder, publish_keys=[KEY]))])
    with serving(app) as url, httpx.Client(base_url=f"{url}/registry") as client:
        assert client.get("/.well-known/cleverthis-packages").json()["api"] == "/registry/"
        published = publish(client, skill())
        assert published.headers["location"] == "/registry/skill/acme/pdf?version=v1.0.0"
        assert client.get("/skill/acme/pdf").status_code == 200


# --- caching ----------------------------------------------------------------------------------------------------------


def test_an_id_may_be_kept_for_ever_and_all_else_is_asked_for_again(client: httpx.Client) -> None:
    packed = skill()
    publish(client, packed)
    kept = client.get(f"/packages/{packed.id}")
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert kept.headers["etag"] == f'"{packed.id}"'
    for path in ("/skill/acme/pdf", "/browse", "/skill/acme/pdf/versions", "/.well-known/cleverthis-packages"):
        first = client.get(path)
        assert first.headers["cache-control"] == "public, no-cache", path
        for condition in (first.headers["etag"], f'"other", W/{first.headers["etag"]}', "*"):
            again = client.get(path, headers={"If-None-Match": condition})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == first.headers["etag"]
        assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    tag = client.get("/skill/acme/pdf").headers["etag"]
    publish(client, skill(body="New.\n"), "v1.1.0")
    assert client.get("/skill/acme/pdf", headers={"If-None-Match": tag}).status_code == 200


def test_what_needs_a_key_is_kept_by_nobody_in_between(folder: Path) -> None:
    with running_registry(folder, publish_key=KEY, read_key="reader") as url, httpx.Client(base_url=url) as client:
        packed = skill()
        publish(client, packed)
        kept = client.get(f"/packages/{packed.id}", headers={"Authorization": "Bearer reader"})
        assert kept.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert kept.headers["vary"] == "Authorization"


def test_head_says_what_get_says_without_the_body(client: httpx.Client) -> None:
    packed = skill()
    publish(client, packed)
    for path in (f"/packages/{packed.id}", "/skill/acme/pdf", "/browse", "/skill/acme/none"):
        got, head = client.get(path), client.head(path)
        assert head.status_code == got.status_code
        assert head.content == b""
        for name in ("content-length", "content-type", "etag", "cache-control"):
            assert head.headers.get(name) == got.headers.get(name), (path, name)


# --- keys -------------------------------------------------------------------------------------------------------------

REFUSED = {
    "no key": ({}, 401, "AuthenticationRequired"),
    "an empty one": ({"Authorization": "Bearer"}, 401, "AuthenticationRequired"),
    "another scheme": ({"Authorization": f"Basic {KEY}"}, 401, "AuthenticationRequired"),
    "an unknown one": ({"Authorization": "Bearer publisher-ke"}, 401, "AuthenticationRequired"),
    "a longer one": ({"Authorization": f"Bearer {KEY}y"}, 401, "AuthenticationRequired"),
    "a very long one": ({"Authorization": "Bearer " + "k" * 5000}, 401, "AuthenticationRequired"),
    "one that reads": ({"Authorization": "Bearer reader"}, 403, "AccessDenied"),
    "one of another namespace": ({"Authorization": "Bearer zeta-key"}, 403, "AccessDenied"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_who_may_not_publish_is_told_so_and_nothing_is_kept(folder: Path, case: str) -> None:
    headers, status, code = REFUSED[case]
    keys = {KEY: ["acme"], "zeta-key": ["zeta"]}
    with running_registry(folder, publish_key=keys, read_key="reader") as url, httpx.Client(base_url=url) as client:
        for body in (json.dumps(dict(skill().document)).encode(), b"no document"):
            response = client.put("/skill/acme/pdf?version=v1.0.0", content=body, headers=headers)
            error = refusal(response, status, code)
            assert (response.headers.get("www-authenticate") == "Bearer") == (status == 401)
            assert not any(key in json.dumps(error) for key in (KEY, "reader", "zeta-key", "publisher-ke", "kkk"))
        assert publish(client, skill()).status_code == 201
    assert len(list((folder / "skill").rglob("*.json"))) == 1


def test_who_may_not_read_is_told_so(folder: Path) -> None:
    with running_registry(folder, publish_key=KEY, read_key="reader") as url, httpx.Client(base_url=url) as client:
        packed = skill()
        publish(client, packed)
        for path in (f"/packages/{packed.id}", "/skill/acme/pdf", "/skill/acme/pdf/versions", "/browse", "/packages/x"):
            refusal(client.get(path), 401, "AuthenticationRequired")
            refusal(client.get(path, headers={"Authorization": "Bearer wrong"}), 401, "AuthenticationRequired")
            for key in ("reader", KEY):
                code = client.get(path, headers={"Authorization": f"bearer  {key}"}).status_code
                assert code == (400 if path == "/packages/x" else 200)


def test_without_keys_nobody_publishes_and_everybody_reads(folder: Path) -> None:
    DiskStore(folder)
    with running_registry(folder) as url, httpx.Client(base_url=url) as client:
        refusal(publish(client, skill()), 403, "AccessDenied")
        assert client.get("/browse").json()["packages"] == []


def test_one_key_is_a_key_and_not_its_letters() -> None:
    access = Access("word", "other")
    access.may_publish("Bearer word", "acme")
    access.may_read("Bearer other")
    with pytest.raises(Exception, match="does not know"):
        access.may_read("Bearer o")


@pytest.mark.parametrize("key", ["", " ", "two words", "Schlüssel", "a\nb", 7], ids=repr)
def test_a_key_that_no_header_could_carry_is_refused_at_the_start(folder: Path, key: Any) -> None:
    for options in ({"publish_keys": [key]}, {"read_keys": [key]}):
        with pytest.raises(LimitError, match="API key"):
            registry_app(folder, **options)


# --- requests that cannot be answered ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/", 404, "NotFound"),
        ("/nothing/here", 404, "NotFound"),
        ("/browse/", 404, "NotFound"),
        ("/packages/", 404, "NotFound"),
        ("/packages/pkg_skl_a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5abcdef", 404, "PackageNotFound"),
        ("/packages/pkg_skl_a1b2c3", 400, "InvalidPackageId"),
        ("/packages/pkg_act_a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5abcdef", 400, "InvalidPackageId"),
        ("/packages/..%2f..%2fetc%2fpasswd", 404, "NotFound"),
        ("/packages/%2e%2e", 400, "InvalidPackageId"),
        ("/skill/acme/none", 404, "PackageNotFound"),
        ("/skill/none/pdf", 404, "PackageNotFound"),
        ("/skill/acme/none/versions", 404, "PackageNotFound"),
        ("/actor/acme/pdf", 404, "PackageNotFound"),
        ("/nonsense/acme/pdf", 400, "InvalidPackageReference"),
        ("/skill/acme/PDF", 400, "InvalidPackageReference"),
        ("/skill/a.b/pdf", 400, "InvalidPackageReference"),
        ("/skill/%2e%2e/pdf", 400, "InvalidPackageReference"),
        ("/skill/acme/%2e%2e", 400, "InvalidPackageReference"),
        ("/skill/acme/%2e%2e/versions", 400, "InvalidPackageReference"),
        ("/skill/acme%00/pdf", 400, "InvalidPackageReference"),
        ("/skill/acme/pdf%40v1", 400, "InvalidPackageReference"),
        ("/skill/acme/" + "a" * 65, 400, "InvalidPackageReference"),
        ("/skill/acme/%ff", 400, "InvalidPackageReference"),
        ("/skill/acme/" + "%F0%90%90%A8" * 64, 400, "InvalidPackageReference"),  # 256 bytes
        ("/skill/acme/pdf?version=main", 400, "InvalidPackageReference"),
        ("/skill/acme/pdf?version=../../x", 400, "InvalidPackageReference"),
        ("/browse?type=nonsense", 400, "InvalidPackageReference"),
        ("/browse?namespace=../..", 400, "InvalidPackageReference"),
    ],
)
def test_what_is_not_there_or_cannot_be_meant_has_its_own_code(
    shared: httpx.Client, path: str, status: int, code: str
) -> None:
    refusal(shared.get(path), status, code)


def test_an_unknown_package_is_answered_with_those_that_are_near(client: httpx.Client) -> None:
    publish(client, skill("pdf-forms"))
    error = refusal(client.get("/skill/acme/pdf-from"), 404, "PackageNotFound")
    assert error["message"].endswith("Did you mean 'pdf-forms'?")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/browse"), ("DELETE", "/skill/acme/pdf"), ("PUT", "/packages/x"), ("PATCH", "/skill/acme/pdf")],
)
def test_a_method_that_is_not_offered_is_405(shared: httpx.Client, method: str, path: str) -> None:
    response = shared.request(method, path)
    refusal(response, 405, "MethodNotAllowed")


# --- what is not published --------------------------------------------------------------------------------------------


def changed(**fields: JsonValue) -> dict[str, JsonValue]:
    return {key: value for key, value in {**skill().document, **fields}.items() if value is not None}


BROKEN: Mapping[str, tuple[Any, set[str]]] = {
    "nothing": (b"", {""}),
    "no JSON": (b"{", {""}),
    "no UTF-8": (b'{"name": "\xff"}', {""}),
    "a list": (b"[]", {""}),
    "NaN": (json.dumps(changed()).replace('"Begin.\\n"', "NaN", 1).encode(), {"", "/instructions"}),
    "a key twice": (json.dumps(changed())[:-1].encode() + b', "name": "pdf"}', {"/name"}),
    "very deep": (b'{"name":' * 100_000, {""}),
    "an unknown format": (changed(format="skillbelt.package/9"), {"/format"}),
    "three things at once": (
        changed(name="PDF", description=None, extra=1, files={}),
        {"/name", "/description", "/extra", "/files"},
    ),
    "a path that leaves": (
        changed(files={**skill().document["files"], "../evil": {"text": ""}}),  # type: ignore[dict-item]
        {"/files/..~1evil"},
    ),
    "another name": (dict(skill("mail").document), {"/name"}),
    "another version": (changed(version="v2.0.0"), {"/version"}),
}


@pytest.mark.row("S2-22")
@pytest.mark.parametrize("case", BROKEN)
def test_a_document_that_breaks_the_schema_is_refused_with_every_violation(shared: httpx.Client, case: str) -> None:
    sent, expected = BROKEN[case]
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    response = shared.put("/skill/acme/pdf?version=v1.0.1", content=body, headers=BEARER)
    error = refusal(response, 400, "PackageValidation")
    assert {violation["path"] for violation in error["details"]["violations"]} >= expected, error
    assert [each["version"] for each in shared.get("/browse").json()["packages"]] == ["v1.0.0"]


@pytest.mark.parametrize("query", ["", "?version=", "?version=latest", "?version=v1.x", "?version=v1", "?version=main"])
def test_a_package_is_published_under_a_concrete_version_only(shared: httpx.Client, query: str) -> None:
    response = shared.put(f"/skill/acme/pdf{query}", json=changed(), headers=BEARER)
    refusal(response, 400, "InvalidPackageReference")


@pytest.mark.parametrize("path", ["/skill/%2e%2e/pdf", "/skill/acme/%2e%2e", "/skill/a%5cb/pdf", "/skill/acme/a%00b"])
def test_nothing_is_written_outside_the_folder(client: httpx.Client, tmp_path: Path, path: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    response = client.put(f"{path}?version=v1.0.0", json=changed(), headers=BEARER)
    refusal(response, 400, "InvalidPackageReference")
    assert sorted(tmp_path.rglob("*")) == before


# --- bounds -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def narrow(folder: Path) -> Iterator[httpx.Client]:
    """A registry that takes 1,000 bytes in half a second."""
    options: dict[str, Any] = {"limits": PackageLimits(document_bytes=1000), "upload_seconds": 0.5}
    with running_registry(folder, publish_key=KEY, **options) as url, httpx.Client(base_url=url) as client:
        yield client


def test_a_document_of_exactly_the_bound_is_taken_and_one_byte_more_is_not(narrow: httpx.Client) -> None:
    body = json.dumps(changed()).encode()
    put = "/skill/acme/pdf?version=v1.0.0"
    refusal(narrow.put(put, content=body.ljust(1001), headers=BEARER), 413, "PackageTooLarge")
    assert narrow.put(put, content=body.ljust(1000), headers=BEARER).status_code == 201


def test_a_body_without_a_length_is_cut_off_at_the_bound(narrow: httpx.Client) -> None:
    sent = []

    def pieces() -> Iterator[bytes]:
        for _ in range(2000):
            sent.append(65536)
            yield b" " * 65536

    refusal(narrow.put("/skill/acme/pdf?version=v1.0.0", content=pieces(), headers=BEARER), 413, "PackageTooLarge")
    assert sum(sent) < 32 * 1024 * 1024


def raw(url: str, head: str, *pieces: bytes, pause: float = 0.1) -> bytes:
    """Send bytes as they are, slowly, and return all that comes back."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as talk:
        talk.sendall(head.replace("\n", "\r\n").encode())
        with suppress(ConnectionError):  # it hangs up when it has heard enough
            for piece in pieces:
                talk.sendall(piece)
                time.sleep(pause)
        answer = b""
        with suppress(ConnectionError):
            while block := talk.recv(65536):
                answer += block
        return answer


HEAD = (
    f"PUT /skill/acme/pdf?version=v1.0.0 HTTP/1.1\nHost: x\nAuthorization: Bearer {KEY}\n"
    "Connection: close\nContent-Length: {}\n{}\n"
)


def test_a_body_that_drips_is_given_up(narrow: httpx.Client) -> None:
    answer = raw(str(narrow.base_url).rstrip("/"), HEAD.format(900, ""), *[b" "] * 8)
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert b"did not arrive within 0.5 seconds" in answer


def test_a_length_that_is_said_to_be_too_large_is_refused_before_the_body(narrow: httpx.Client) -> None:
    answer = raw(str(narrow.base_url).rstrip("/"), HEAD.format(10**12, ""), pause=0)
    assert b" 413 " in answer.split(b"\r\n")[0]


def test_a_compressed_body_is_not_blown_up(narrow: httpx.Client) -> None:
    headers = {**BEARER, "Content-Encoding": "gzip"}
    refusal(narrow.put("/skill/acme/pdf?version=v1.0.0", content=b"x", headers=headers), 415, "BadRequest")


def test_a_sender_that_hangs_up_leaves_nothing(narrow: httpx.Client, folder: Path) -> None:
    url = str(narrow.base_url).rstrip("/")
    host, _, port = url.removeprefix("http://").partition(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as talk:
            talk.sendall(HEAD.format(500, "").replace("\n", "\r\n").encode() + b'{"for')
    assert narrow.get("/browse").json()["packages"] == []
    assert not list((folder / ".staging").iterdir())


def in_process(app: Any, *requests: tuple[str, str, bytes]) -> list[httpx.Response]:
    """Put requests to an application without a server; what it raises is not raised here."""

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://registry", headers=BEARER) as client:
            return [await client.request(method, path, content=body) for method, path, body in requests]

    return asyncio.run(run())


def test_a_disconnected_sender_is_a_bad_request(folder: Path) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "PUT",
        "path": "/skill/acme/pdf",
        "raw_path": b"/skill/acme/pdf",
        "query_string": b"version=v1.0.0",
        "headers": [(b"authorization", f"Bearer {KEY}".encode()), (b"content-length", b"nonsense")],
    }
    asyncio.run(registry_app(folder, publish_keys=[KEY])(scope, receive, send))
    assert sent[0]["status"] == 400
    assert json.loads(sent[1]["body"])["error"]["code"] == "BadRequest"


# --- the folder -------------------------------------------------------------------------------------------------------


def stored(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_folder_is_laid_out_as_documented(client: httpx.Client, folder: Path) -> None:
    packed = skill()
    publish(client, packed)
    content = f"packages/skl/{packed.id.sha1[:2]}/{packed.id.sha1[2:]}.json"
    assert stored(folder) == [content, "skill/acme/pdf/v1.0.0.json", "skillbelt-registry.json"]
    assert (folder / content).read_bytes() == canonicalize(packed.document)


def test_content_that_was_damaged_is_not_served_until_it_is_published_again(client: httpx.Client, folder: Path) -> None:
    packed = skill()
    publish(client, packed)
    (path,) = (folder / "packages").rglob("*.json")
    path.write_bytes(path.read_bytes() + b" ")
    refusal(client.get(f"/packages/{packed.id}"), 500, "Integrity")
    refusal(client.get("/skill/acme/pdf"), 500, "Integrity")
    assert publish(client, packed, "v1.0.1").status_code == 201
    assert client.get("/skill/acme/pdf?version=v1.0.0").json()["id"] == str(packed.id)
    path.unlink()
    refusal(client.get("/skill/acme/pdf"), 500, "Integrity")
    refusal(client.get(f"/packages/{packed.id}"), 404, "PackageNotFound")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"id": 1}'])
def test_an_entry_that_was_damaged_is_said_to_be(client: httpx.Client, folder: Path, text: str) -> None:
    publish(client, skill())
    (folder / "skill/acme/pdf/v1.0.0.json").write_text(text)
    refusal(client.get("/skill/acme/pdf"), 500, "Integrity")


def test_an_entry_of_a_later_version_may_say_more(client: httpx.Client, folder: Path) -> None:
    publish(client, skill())
    path = folder / "skill/acme/pdf/v1.0.0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "stars": 5}))
    assert client.get("/skill/acme/pdf").status_code == 200


def test_what_others_put_into_the_folder_is_no_package(client: httpx.Client, folder: Path) -> None:
    publish(client, skill())
    (folder / "skill/acme/pdf/notes.txt").touch()
    (folder / "skill/acme/pdf/main.json").touch()
    (folder / "skill/acme/loose.txt").touch()
    (folder / "skill/acme/empty").mkdir()
    assert client.get("/skill/acme/pdf/versions").json()["versions"] == ["v1.0.0"]
    assert [each["name"] for each in client.get("/browse").json()["packages"]] == ["pdf"]
    refusal(client.get("/skill/acme/empty"), 404, "PackageNotFound")


def test_a_folder_that_cannot_be_written_is_503_without_a_path_of_this_machine(
    client: httpx.Client, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / ".staging").rmdir()
    (folder / ".staging").touch()
    error = refusal(publish(client, skill()), 503, "StorageFailed")
    assert str(folder) not in json.dumps(error)
    assert "PUT /skill/acme/pdf" in caplog.text


def test_a_folder_that_cannot_be_read_is_503(client: httpx.Client, folder: Path) -> None:
    publish(client, skill())
    path = folder / "skill/acme/pdf/v1.0.0.json"
    path.unlink()
    path.mkdir()
    refusal(client.get("/skill/acme/pdf"), 503, "StorageFailed")


def test_a_disk_without_room_leaves_nothing_behind(folder: Path) -> None:
    store = DiskStore(folder)
    large = entry_of(skill(body="x" * 500_000), "acme", "v1.0.0")
    pid = os.fork()
    if not pid:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
            with pytest.raises(OSError, match="too large"):
                store.publish(*large)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert stored(folder) == ["skillbelt-registry.json"]
    assert store.publish(*large)


def test_what_nobody_expected_is_500_and_json(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = registry_app(folder, publish_keys=[KEY])
    monkeypatch.setattr(DiskStore, "packages", lambda *_: 1 / 0)
    (response,) = in_process(app, ("GET", "/browse", b""))
    error = refusal(response, 500, "Internal")
    assert "division" not in json.dumps(error)


def test_two_servers_on_one_folder_agree(folder: Path) -> None:
    with running_registry(folder, publish_key=KEY) as one, running_registry(folder, publish_key=KEY) as other:
        clients = [httpx.Client(base_url=url, timeout=60) for url in (one, other) for _ in range(4)]
        variants = [skill(body=f"Variant {number}.\n") for number in range(8)]
        for attempt in range(5):
            version = f"v1.0.{attempt}"
            with ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda n: publish(clients[n], variants[n], version), range(8)))  # noqa: B023
            codes = sorted(answer.status_code for answer in answers)
            assert codes == [201] + [409] * 7
            (winner,) = [answer.json()["id"] for answer in answers if answer.status_code == 201]
            assert {c.get(f"/skill/acme/pdf?version={version}").json()["id"] for c in clients} == {winner}
        for each in clients:
            each.close()


def test_two_who_publish_the_same_at_once_both_succeed(folder: Path) -> None:
    store, packed = DiskStore(folder), skill()
    entry, canonical = entry_of(packed, "acme", "v1.0.0")
    together = threading.Barrier(8)

    def add(_: int) -> bool:
        together.wait()
        return store.publish(entry, canonical)

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(add, range(8))) == [False] * 7 + [True]


def test_servers_killed_while_they_publish_leave_whole_versions_only(folder: Path) -> None:
    variants = [entry_of(skill(body="x" * 30_000 + str(number)), "acme", f"v1.0.{number}") for number in range(200)]

    def work() -> None:
        store = DiskStore(folder)
        while True:
            entry, canonical = random.choice(variants)
            store.publish(entry, canonical)

    DiskStore(folder)
    for _ in range(25):
        pid = os.fork()
        if not pid:
            try:
                work()
            finally:
                os._exit(1)
        time.sleep(random.uniform(0.005, 0.04))
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    store = DiskStore(folder)
    versions = store.versions("acme", "pdf")
    assert versions
    for version in versions:
        entry = store.entry("acme", "pdf", version)
        assert entry is not None
        canonical = store.content(PackageId.parse(entry.id))  # raises when it is not what its id says
        assert canonical is not None and len(canonical) == entry.size
    for each in (folder / ".staging").iterdir():
        os.utime(each, (1, 1))
    DiskStore(folder)
    assert not list((folder / ".staging").iterdir())


def test_a_conflict_and_its_details_are_raised_by_the_store(folder: Path) -> None:
    store = DiskStore(folder)
    store.publish(*entry_of(skill(), "acme", "v1.0.0"))
    with pytest.raises(PackageConflictError, match=r"acme/pdf@v1\.0\.0 is published with other content"):
        store.publish(*entry_of(skill(body="Other.\n"), "acme", "v1.0.0"))


# --- folders of skills ------------------------------------------------------------------------------------------------


def test_a_folder_of_skills_is_served_as_it_is(tmp_path: Path) -> None:
    with running_registry(examples.path(), namespace="examples") as url, httpx.Client(base_url=url) as client:
        listed = client.get("/browse?namespace=examples").json()["packages"]
        assert [each["name"] for each in listed] == ["csv-quality-check", "deploy-to-staging", "incident-report"]
        assert client.get("/browse?namespace=other").json()["packages"] == []
        assert {each["version"] for each in listed} == {"v0.0.0"}
        given = client.get("/skill/examples/deploy-to-staging").json()
        files = read_package(given["document"]).contents()
        root = examples.path() / "deploy-to-staging"
        assert {path: file.data for path, file in files.items()} == {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert client.get(f"/packages/{given['id']}").json()["document"]["name"] == "deploy-to-staging"
        refusal(client.get("/skill/examples/deploy-to-staging?version=v1"), 404, "VersionNotFound")
        refusal(client.get("/skill/examples/none"), 404, "PackageNotFound")
        refusal(client.get("/skill/skills/deploy-to-staging"), 404, "PackageNotFound")
        refusal(client.get("/packages/pkg_skl_" + "0" * 40), 404, "PackageNotFound")


def test_a_skill_has_the_version_it_states_and_changes_when_the_server_is_started_again(skills_dir: Path) -> None:
    path = skills_dir / "mail-sorter" / "SKILL.md"
    stated = path.read_text().replace("---\n#", "metadata:\n  version: 2.1.0\n---\n#")
    path.write_text(stated)
    (skills_dir / "broken").mkdir()
    (skills_dir / "broken" / "SKILL.md").write_text("---\nname: broken\ndescription: Has a link.\n---\n")
    (skills_dir / "broken" / "link").symlink_to("/etc/passwd")
    (skills_dir / "loose").mkdir()
    (skills_dir / "loose" / "SKILL.md").write_text("---\nname: Loose_Name\ndescription: D.\nversion: 1\n---\n")
    store = open_store(skills_dir)
    assert isinstance(store, PlainStore)
    assert store.packages() == [("skills", "mail-sorter"), ("skills", "pdf-forms")]
    assert store.versions("skills", "mail-sorter") == ["v2.1.0"]
    told = {diagnostic.path: diagnostic.message for diagnostic in store.diagnostics if diagnostic.severity == "error"}
    assert "'broken' is not served" in told[str(skills_dir / "broken" / "SKILL.md")]
    assert "is not served" in told[str(skills_dir / "loose" / "SKILL.md")]
    before = store.entry("skills", "mail-sorter", "v2.1.0")
    path.write_text(stated + "More.\n")
    assert store.entry("skills", "mail-sorter", "v2.1.0") == before
    assert open_store(skills_dir).entry("skills", "mail-sorter", "v2.1.0") != before
    with pytest.raises(AccessDeniedError, match="takes no publications"):
        store.publish(*entry_of(skill(), "skills", "v1.0.0"))


def test_a_folder_that_cannot_be_served_says_why(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    skills = tmp_path / "skills"
    skills.mkdir()
    (skills / "notes.txt").touch()
    other = tmp_path / "other"
    other.mkdir()
    (other / "skillbelt-registry.json").write_text('{"format": "somebody else"}')
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "skillbelt-registry.json").write_text("[")
    for folder, options, words in (
        (tmp_path / "none", {}, "was not found"),
        (file, {}, "cannot be served"),
        (file, {"publish_keys": [KEY]}, "cannot be served"),
        (skills, {"publish_keys": [KEY]}, "holds other things than a registry"),
        (other, {}, "of a format that this version does not know"),
        (odd, {"publish_keys": [KEY]}, "of a format that this version does not know"),
        (file / "below", {"publish_keys": [KEY]}, "cannot be served"),
    ):
        with pytest.raises(SourceError, match=words):
            registry_app(folder, **options)
    with pytest.raises(SourceError, match="cannot be used"):
        DiskStore(file / "below")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"namespace": "a.b"}, "cannot be a namespace"),
        ({"namespace": ""}, "cannot be a namespace"),
        ({"page_size": 0}, "page_size"),
        ({"upload_seconds": 0}, "upload_seconds"),
        ({"upload_seconds": "long"}, "upload_seconds"),
    ],
)
def test_an_option_that_is_no_use_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LimitError, match=words):
        registry_app(examples.path(), **options)


def test_a_store_of_ones_own_can_be_served() -> None:
    (response,) = in_process(registry_app(PlainStore(examples.path(), "mine")), ("GET", "/browse", b""))
    assert {each["namespace"] for each in response.json()["packages"]} == {"mine"}


def test_without_starlette_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["starlette"] = None
from skillbelt.errors import MissingExtraError
from skillbelt.packages.server import registry_app
try:
    registry_app("anywhere")
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip().endswith('pip install "skillbelt[serve]"')
