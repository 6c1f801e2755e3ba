"""From references to skills: what is asked and what is not, what is believed and what is not."""

import json
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from http_server import in_turn, outcome, reply, silent
from registry_loopback import Url, running_registry
from registry_server import WELL_KNOWN, HostileRegistry, answer, says, skill
from skillbelt import SkillRouter, events
from skillbelt.errors import (
    AccessDeniedError,
    CollisionError,
    IntegrityError,
    InvalidPackageIdError,
    InvalidPackageReferenceError,
    LimitError,
    MissingExtraError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryError,
    RegistryNetworkError,
    SkillNotFoundError,
    VersionNotFoundError,
)
from skillbelt.packages import (
    PackageContentResolver,
    PackageLimits,
    PackageReference,
    ReferenceResolver,
    Registries,
    RegistryClient,
    RegistrySource,
    judged,
    read_package,
    registries,
)
from skillbelt.packages.cache import RegistryCache
from skillbelt.sources import HttpLimits, fetch
from skillbelt.sources.lru import Kept

KEY = "sesame-open-7"
PDF = skill("pdf", "One.\n", references__guide_md="Guide.\n")
PDF_2 = skill("pdf", "Two.\n")
MAIL = skill("mail")
UNKNOWN = "ID:pkg_skl_" + "0" * 40


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE", 0.001)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Url]:
    with running_registry(tmp_path / "packages", publish_key=KEY) as url:
        publish(url, PDF, "v1.0.0")
        publish(url, MAIL, "v0.1.0")
        url.forget()
        yield url


@pytest.fixture
def hostile() -> Iterator[HostileRegistry]:
    with HostileRegistry() as site:
        yield site


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def client(url: str, **options: Any) -> RegistryClient:
    return RegistryClient(url, **{"limits": HttpLimits(deadline=20), "allow_private": True} | options)


def publish(url: str, packed: Any, version: str, namespace: str = "acme") -> None:
    client(url, api_key=KEY).publish(packed.document, namespace=namespace, version=version)


def contents(registry: Any, **options: Any) -> PackageContentResolver:
    return PackageContentResolver(ReferenceResolver(registry, **options))


def folder(root: Path, name: str = "local-skill", description: str = "Is on disk.", **files: str) -> Path:
    (root / name).mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: {description}\n---\nBegin.\n"
    for path, content in {"SKILL.md": text, **files}.items():
        (root / name / path).write_text(content)
    return root / name


# --- the schemes ------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-08", "S2-11")
def test_an_alias_leads_to_the_highest_version_and_its_id(registry: Url) -> None:
    publish(registry, PDF_2, "v1.1.0")
    resolver = ReferenceResolver(client(registry))
    found = {wanted: resolver.resolve(f"registry:acme/pdf@{wanted}") for wanted in ("latest", "v1.0.x", "v1.0.0")}
    assert {wanted: (each.version, each.id) for wanted, each in found.items()} == {
        "latest": ("v1.1.0", PDF_2.id),
        "v1.0.x": ("v1.0.0", PDF.id),
        "v1.0.0": ("v1.0.0", PDF.id),
    }
    assert str(found["v1.0.x"].reference) == "registry:acme/pdf@v1.0.x"
    assert found["latest"].host == registry and found["latest"].path is None


@pytest.mark.row("S2-06")
def test_an_id_is_resolved_without_asking_anybody_and_fetched_by_it(registry: Url, no_network: None) -> None:
    resolver = ReferenceResolver(client(registry))
    resolved = resolver.resolve(f"ID:{PDF.id}")
    assert (resolved.id, resolved.version, resolved.host, resolved.path) == (PDF.id, None, None, None)
    assert registry.requests == []


def test_an_id_is_looked_for_in_every_registry_that_was_given(registry: Url, hostile: HostileRegistry) -> None:
    several = {"one.example": client(hostile.url), "two.example": client(registry)}
    assert contents(several).content(f"ID:{PDF.id}").id == PDF.id
    assert hostile.paths == [f"/packages/{PDF.id}"] and registry.requests == [f"GET /packages/{PDF.id}"]
    with pytest.raises(PackageNotFoundError):
        contents(several).content(UNKNOWN)
    hostile.routes[f"/packages/{UNKNOWN[3:]}"] = reply("broken", 500)
    error = outcome(lambda: contents(several).content(UNKNOWN))
    assert isinstance(error, RegistryNetworkError) and error.status_code == 500  # it may have it
    error = outcome(lambda: contents(None).content(UNKNOWN))
    assert isinstance(error, InvalidPackageReferenceError) and error.original_reference == UNKNOWN


@pytest.mark.row("S2-33", "S2-37")
def test_a_registry_that_lies_or_wants_a_key_does_not_stand_in_the_way_of_another(
    registry: Url, hostile: HostileRegistry
) -> None:
    several = {"one.example": client(hostile.url), "two.example": client(registry)}
    hostile.put(f"/packages/{PDF.id}", answer(PDF, document=dict(PDF_2.document)))
    hostile.routes[f"/packages/{MAIL.id}"] = says(401, "AuthenticationRequired")
    hostile.routes[f"/packages/{UNKNOWN[3:]}"] = says(403, "AccessDenied")
    assert contents(several).content(f"ID:{PDF.id}").id == PDF.id
    assert contents(several).content(f"ID:{MAIL.id}").id == MAIL.id
    assert len(hostile.requests) == len(registry.requests) == 2
    assert isinstance(outcome(lambda: contents(several).content(UNKNOWN)), AccessDeniedError)
    error = outcome(lambda: contents({"one.example": client(hostile.url)}).content(f"ID:{PDF.id}"))
    assert isinstance(error, IntegrityError)


@pytest.mark.row("S2-37")
def test_a_registry_that_let_us_wait_is_asked_last_for_the_next_id(registry: Url, hostile: HostileRegistry) -> None:
    hostile.routes[f"/packages/{PDF.id}"] = silent
    several = {"slow": client(hostile.url, limits=HttpLimits(deadline=0.3)), "registry.example": client(registry)}
    asking = contents(several)
    assert [asking.content(f"ID:{each.id}").id for each in (PDF, MAIL)] == [PDF.id, MAIL.id]
    assert hostile.paths == [f"/packages/{PDF.id}"]
    assert isinstance(outcome(lambda: asking.content(UNKNOWN)), PackageNotFoundError)
    assert hostile.paths[1:] == [f"/packages/{UNKNOWN[3:]}"]


@pytest.mark.row("S2-07")
def test_a_folder_is_packed_as_it_is_now_relative_to_a_base_and_nobody_is_asked(
    tmp_path: Path, no_network: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path / "deep" / "skills")
    monkeypatch.chdir(tmp_path)
    for text, base in (
        ("local:./skills/local-skill", tmp_path / "deep"),
        ("local:deep/skills/local-skill", "."),
        ("local:../skills/local-skill", "deep/skills"),
        (f"local:{tmp_path}/deep/skills/local-skill", "/"),
    ):
        resolver = ReferenceResolver(base=base)
        resolved = resolver.resolve(text)
        assert resolved.path == str(tmp_path / "deep" / "skills" / "local-skill") and resolved.id is None
        packed = PackageContentResolver(resolver).content(resolved)
        assert packed.document["name"] == "local-skill"
        loaded = PackageContentResolver(resolver).load(text)
        assert loaded.resolved.id == packed.id and loaded.resolved.reference.text == text


def test_a_folder_that_is_none_or_holds_no_usable_skill_is_an_error_that_names_the_reference(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    folder(tmp_path, "nameless", description="''")
    loop = folder(tmp_path, "leaky")
    (loop / "passwd").symlink_to("/etc/passwd")
    for path, kind, words in (
        ("nowhere", PackageNotFoundError, "leads to no folder"),
        ("file", PackageNotFoundError, "leads to no folder"),
        ("empty", PackageNotFoundError, "without a SKILL.md"),
        ("nameless", PackageValidationError, "description"),
        ("leaky", PackageValidationError, "passwd"),
    ):
        error = outcome(lambda path=path: contents(None, base=tmp_path).content(f"local:./{path}"))
        assert type(error) is kind and words in str(error)
        assert error.original_reference == f"local:./{path}" and f"local:./{path}" in str(error)
    assert error.details["violations"]


def test_a_folder_that_may_not_be_read_is_an_error_that_names_the_reference() -> None:
    with tempfile.TemporaryDirectory() as base:
        Path(base).chmod(0o755)
        (folder(Path(base), "shut") / "SKILL.md").chmod(0)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # nothing is denied to root
        try:
            error = outcome(lambda: contents(None, base=base).content("local:shut"))
        finally:
            if root:
                os.seteuid(0)
    assert type(error) is RegistryError and "'local:shut' leads to a folder that cannot be read" in str(error)
    assert error.original_reference == "local:shut"


@pytest.mark.row("S2-10")
@pytest.mark.parametrize(
    "text", ["", "pdf", "acme/pdf", "http://hub.example.com/pdf", "registry:pdf", "ID:x", "local:"]
)
def test_what_is_no_reference_is_refused_before_anybody_is_asked(hostile: HostileRegistry, text: str) -> None:
    error = outcome(lambda: ReferenceResolver(client(hostile.url)).resolve(text))
    assert isinstance(error, InvalidPackageReferenceError) and error.original_reference == text
    assert isinstance(error, InvalidPackageIdError) == text.startswith("ID:")
    assert hostile.connections == 0


def test_a_missing_package_and_a_missing_version_are_errors_that_name_the_reference(registry: Url) -> None:
    asking = contents(client(registry))
    for text, kind in (
        ("registry:acme/nope", PackageNotFoundError),
        ("registry:acme/pdf@v9.x", VersionNotFoundError),
        (UNKNOWN, PackageNotFoundError),
    ):
        error = outcome(lambda text=text: asking.content(text))
        assert type(error) is kind and error.original_reference == text


# --- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-31")
@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_cached_is_not_asked_for(registry: Url, tmp_path: Path, on_disk: bool) -> None:
    cache = RegistryCache(tmp_path / "cache" if on_disk else None)
    texts = ["registry:acme/pdf@v1.x", f"{registry.host}:acme/mail", f"ID:{PDF.id}", f"ID:{MAIL.id}"]
    asking = contents(client(registry), cache=cache)
    first = [asking.content(text) for text in texts]
    assert registry.requests == ["GET /skill/acme/pdf?version=v1.x", "GET /skill/acme/mail?version=latest"]
    registry.forget()
    again = [contents(client(registry), cache=cache).content(text) for text in texts]
    assert again == first and registry.requests == []
    assert [packed.id for packed in again] == [PDF.id, MAIL.id, PDF.id, MAIL.id]
    assert cache.statistics().hits >= 6


@pytest.mark.row("S2-32")
def test_an_alias_is_looked_up_again_when_its_time_is_over_and_content_never(registry: Url) -> None:
    now = [1000.0]
    cache = RegistryCache(alias_ttl=60, clock=lambda: now[0])
    asking = contents(client(registry), cache=cache)
    assert asking.content("registry:acme/pdf").id == PDF.id
    publish(registry, PDF_2, "v1.1.0")
    registry.forget()
    now[0] += 59
    assert asking.content("registry:acme/pdf").id == PDF.id
    assert registry.requests == []
    now[0] += 2
    assert asking.content("registry:acme/pdf").id == PDF_2.id
    assert asking.content(f"ID:{PDF.id}").id == PDF.id
    assert registry.requests == ["GET /skill/acme/pdf?version=latest"]


def test_content_that_was_evicted_is_fetched_by_its_id(registry: Url) -> None:
    cache = RegistryCache(max_bytes=10)
    asking = contents(client(registry), cache=cache)
    assert asking.content("registry:acme/pdf").id == PDF.id
    assert registry.requests == ["GET /skill/acme/pdf?version=latest", f"GET /packages/{PDF.id}"]


@pytest.mark.row("S2-33")
@pytest.mark.parametrize("text", [f"ID:{PDF.id}", "registry:acme/pdf"])
def test_content_that_is_not_what_its_id_says_is_fetched_once_more_and_then_given_up(
    hostile: HostileRegistry, text: str
) -> None:
    path = f"/packages/{PDF.id}" if text.startswith("ID") else "/skill/acme/pdf"
    lie = reply(answer(PDF, document=dict(PDF_2.document)))
    cache = RegistryCache()
    asking = contents(client(hostile.url), cache=cache)
    hostile.routes[path] = lie
    error = outcome(lambda: asking.content(text))
    assert isinstance(error, IntegrityError) and error.original_reference == text
    assert len(hostile.requests) == 2
    assert cache.statistics().entries == 0 and cache.get(PDF_2.id) is None
    hostile.forget()
    hostile.routes[path] = in_turn(lie, reply(answer(PDF)))
    assert asking.content(text).id == PDF.id
    assert len(hostile.requests) == 2
    assert asking.content(text).id == PDF.id
    assert len(hostile.requests) == 2


@pytest.mark.row("S2-33")
def test_a_cached_document_that_was_changed_is_discarded_and_fetched_again(registry: Url, tmp_path: Path) -> None:
    text = f"ID:{PDF.id}"
    with RegistryCache(tmp_path / "cache") as cache:
        contents(client(registry), cache=cache).content(text)
    (file,) = (tmp_path / "cache").glob("*.sqlite")
    with sqlite3.connect(file) as database:
        changed = database.execute("UPDATE content SET data = replace(data, 'One', 'Own')").rowcount
    database.close()
    assert changed == 1
    registry.forget()
    with RegistryCache(tmp_path / "cache") as cache:
        assert contents(client(registry), cache=cache).content(text) == contents(client(registry)).content(text)
        assert registry.requests == [f"GET /packages/{PDF.id}"] * 2
        assert cache.statistics().corrupt == 1


def test_a_document_is_judged_once_under_the_same_bounds_and_hashed_every_time(
    registry: Url, monkeypatch: pytest.MonkeyPatch
) -> None:
    count: list[int] = []

    def counted(canonical: bytes, **options: Any) -> Any:
        count.append(len(canonical))
        return read_package(canonical, **options)

    monkeypatch.setattr(judged, "read_package", counted)
    monkeypatch.setattr(judged, "_JUDGED", Kept(1_000_000))
    cache = RegistryCache()
    loaded = [contents(client(registry), cache=cache).load(f"ID:{PDF.id}") for _ in range(3)]
    assert len(count) == 1 and loaded[0] == loaded[2] and loaded[0].packed.document == dict(PDF.document)
    assert cache.statistics().hits == 2 and registry.requests == [f"GET /packages/{PDF.id}"]
    resolver = ReferenceResolver(client(registry), cache=cache)
    tight = PackageContentResolver(resolver, limits=PackageLimits(files=1))
    for _ in range(2):  # a failure is not remembered
        error = outcome(lambda: tight.content(f"ID:{PDF.id}"))
        assert isinstance(error, PackageValidationError) and error.original_reference == f"ID:{PDF.id}"
    assert len(count) == 3
    assert PackageContentResolver(resolver).content(f"ID:{PDF.id}").id == PDF.id
    assert len(count) == 3


@pytest.mark.parametrize(
    "value", ["", "{", "[]", '{"id": 5, "version": "v1.0.0"}', '{"id": "pkg_skl_x", "version": "v1.0.0"}']
)
def test_an_alias_that_cannot_be_understood_is_looked_up(registry: Url, value: str) -> None:
    cache = RegistryCache()
    good = json.dumps({"id": str(PDF_2.id), "version": "v2.0.0"})
    for each in (value, good):  # the good one is of another version than was asked for
        cache.put_alias(f"{registry}/skill/acme/pdf@v1.x", each)
        assert ReferenceResolver(client(registry), cache=cache).resolve("registry:acme/pdf@v1.x").id == PDF.id
    assert len(registry.requests) == 2


def test_offline_what_is_cached_is_served_and_the_rest_is_an_error(registry: Url) -> None:
    cache = RegistryCache()
    contents(client(registry), cache=cache).content("registry:acme/pdf")
    registry.forget()
    asking = contents(client(registry), cache=cache)
    assert asking.load("registry:acme/pdf", offline=True).packed.id == PDF.id
    for text in ("registry:acme/mail", f"ID:{MAIL.id}"):
        error = outcome(lambda text=text: asking.load(text, offline=True))
        assert isinstance(error, RegistryNetworkError) and error.details == {"reason": "offline"}
        assert error.original_reference == text
    assert registry.requests == []


@pytest.mark.row("S2-22", "S2-23")
def test_content_is_valid_and_called_as_its_reference_calls_it(hostile: HostileRegistry) -> None:
    broken = skill("pdf")
    document = {**broken.document, "description": "Another.", "surprise": 1}
    from skillbelt.packages import integrity, package_id

    told = answer(broken, document=document, id=str(package_id(document)), integrity=integrity(document))
    hostile.put("/skill/acme/pdf", told)
    hostile.put(f"/packages/{package_id(document)}", told)
    for text in ("registry:acme/pdf", f"ID:{package_id(document)}"):
        error = outcome(lambda text=text: contents(client(hostile.url)).content(text))
        assert isinstance(error, PackageValidationError) and error.original_reference == text
        assert {"/surprise", "/description"} <= {each["path"] for each in error.details["violations"]}
    cache = RegistryCache()
    cache.put_alias(f"{hostile.url}/skill/acme/pdf@latest", json.dumps({"id": str(MAIL.id), "version": "v1.0.0"}))
    hostile.put(f"/packages/{MAIL.id}", answer(MAIL))
    error = outcome(lambda: contents(client(hostile.url), cache=cache).content("registry:acme/pdf"))
    assert isinstance(error, PackageValidationError) and "it is called 'mail'" in str(error)


# --- several registries -----------------------------------------------------------------------------------------------


@pytest.mark.row("S2-37")
def test_each_host_has_one_client_and_its_own_packages_and_aliases(registry: Url, tmp_path: Path) -> None:
    with running_registry(tmp_path / "other", publish_key=KEY) as other:
        publish(other, PDF_2, "v1.0.0")
        other.forget()
        cache = RegistryCache()
        both = Registries({registry.host: registry, other.host: other}, allow_private=True)
        asking = contents(both, cache=cache)
        texts = [f"{url.host}:acme/pdf@v1.0.0" for url in (registry, other)]
        for _ in range(2):
            assert [asking.content(text).id for text in texts] == [PDF.id, PDF_2.id]
        assert registry.requests == other.requests == [f"GET {WELL_KNOWN}", "GET /skill/acme/pdf?version=v1.0.0"]
        clients = {both.client(url.host) for url in (registry, other) for _ in range(3)}
        assert len(clients) == 2
        assert repr(both) == f"Registries({{'{registry.host}': '{registry}', '{other.host}': '{other}'}})"


def test_threads_get_the_same_client(monkeypatch: pytest.MonkeyPatch) -> None:
    several = Registries()
    got: list[RegistryClient] = []
    threads = [threading.Thread(target=lambda: got.append(several.client("Hub.example.com"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8 and len(set(got)) == 1 and got[0].url == "https://hub.example.com"


def test_registries_may_be_given_as_an_application_has_them() -> None:
    one = RegistryClient("https://hub.example.com:443/api")
    for given in (one, "https://hub.example.com/api", {"registry": one}, {"acme.example": one}):
        several = Registries.of(given)
        assert several.client("registry") is several.client("hub.example.com") is several.client("HUB.example.com")
        assert Registries.of(several) is several
    several = Registries.of({"hub": "https://hub.example.com/api", "other.example": one})
    assert several.client("hub").url == "https://hub.example.com/api"
    assert several.client("other.example") is one
    with pytest.raises(InvalidPackageReferenceError, match="means the default registry, and there is none"):
        several.client("registry")
    assert Registries.of(None).client("hub.example.com").url == "https://hub.example.com"
    assert Registries({"a": one, "registry": "https://b.example"}).client("registry").url == "https://b.example"


def test_keys_are_those_of_their_hosts(registry: Url, tmp_path: Path, hostile: HostileRegistry) -> None:
    hostile.offer(MAIL, "/skill/acme/mail")
    with running_registry(tmp_path / "shut", publish_key=KEY, read_key="reader-key") as shut:
        publish(shut, PDF, "v1.0.0")
        several = Registries({"shut": shut, "open": hostile.url}, api_keys={"shut": "reader-key"}, allow_private=True)
        assert contents(several).content("shut:acme/pdf").id == PDF.id
        assert contents(several).content("open:acme/mail").id == MAIL.id
        assert all("authorization" not in request.headers for request in hostile.requests)
        by_host = Registries({"registry": shut}, api_keys={shut.host.upper(): "reader-key"}, allow_private=True)
        assert contents(by_host).content("registry:acme/pdf").id == PDF.id
        assert "reader-key" not in repr(several) + repr(vars(several))


def test_hosts_that_were_not_given_may_be_refused() -> None:
    only = Registries({"registry": "https://hub.example.com"}, others=False)
    error = outcome(lambda: ReferenceResolver(only).resolve("evil.example:acme/pdf"))
    assert isinstance(error, RegistryNetworkError) and error.details["reason"] == "refused"
    assert error.url == "https://evil.example" and error.original_reference == "evil.example:acme/pdf"
    with pytest.raises(RegistryNetworkError, match="This leads to"):
        only.client("evil.example")


def test_a_host_that_is_not_public_is_not_asked_unless_that_is_allowed(registry: Url) -> None:
    error = outcome(lambda: ReferenceResolver().resolve(f"{registry.host}:acme/pdf"))
    assert isinstance(error, RegistryNetworkError) and error.details["reason"] == "refused"
    assert registry.requests == []


def test_what_comes_from_a_cache_needs_no_http_library(
    registry: Url, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = RegistryCache()
    given = {"registry": str(registry)}
    contents(Registries(given, allow_private=True), cache=cache).content("registry:acme/pdf")
    monkeypatch.setitem(sys.modules, "httpx", None)
    source = RegistrySource(["registry:acme/pdf", f"ID:{PDF.id}"], registry=given, cache=cache)
    assert [each.name for each in source.list()] == ["pdf"]
    with pytest.raises(MissingExtraError, match=r"skillbelt\[registry\]"):
        RegistrySource(["registry:acme/mail"], registry=given, cache=cache)


# --- a source of references -------------------------------------------------------------------------------------------


@pytest.mark.row("S2-38", "S2-42")
def test_every_scheme_at_once_is_one_source_served_from_memory(registry: Url, tmp_path: Path) -> None:
    local = folder(tmp_path, "local-skill", **{"notes.md": "Noted.\n"})
    texts = [f"{registry.host}:acme/mail", f"ID:{PDF.id}", "local:./local-skill", "registry:acme/pdf@v1.0.0"]
    source = RegistrySource(texts, registry=client(registry), base=tmp_path)
    shutil.rmtree(local)
    registry.forget()
    assert [each.name for each in source.list()] == ["local-skill", "mail", "pdf"]
    assert source.load("pdf").instructions == "One.\n"
    bundle = source.bundle("pdf")
    assert (bundle.skill, bundle.resources) == (source.load("pdf"), source.resources("pdf")) and bundle.current
    assert source.lookup("PDF").source == f"ID:{PDF.id}"
    assert [info.path for info in source.resources("pdf")] == ["references/guide.md"]
    assert source.read("pdf", "references/guide.md").data == b"Guide.\n"
    assert source.read("local-skill", "notes.md").data == b"Noted.\n"
    assert registry.requests == [] and source.diagnostics() == () and source.problems() == {}
    assert source.versions().keys() == {"local-skill", "mail", "pdf"}
    assert [each.resolved.reference.text for each in source.packages] == texts
    assert repr(source) == f"RegistrySource({texts})"
    with pytest.raises(SkillNotFoundError, match="Did you mean 'pdf'"):
        source.load("pfd")
    with pytest.raises(SkillNotFoundError):
        source.load(None)  # type: ignore[arg-type]


@pytest.mark.row("S2-39")
def test_a_reference_that_fails_fails_when_the_source_is_made_and_all_that_fail_are_told(
    registry: Url, tmp_path: Path
) -> None:
    bad = ["registry:acme/nope", "local:./nowhere", "not a reference", "registry:acme/pdf@v7.x"]
    error = outcome(lambda: RegistrySource([*bad[:1], f"ID:{PDF.id}", *bad[1:]], registry=client(registry)))
    assert type(error) is PackageNotFoundError and error.original_reference == bad[0]
    assert [failure["reference"] for failure in error.details["failures"]] == bad
    assert [failure["error"] for failure in error.details["failures"]] == [
        "PackageNotFoundError",
        "PackageNotFoundError",
        "InvalidPackageReferenceError",
        "VersionNotFoundError",
    ]
    assert "Of 5 references 4 failed: also 'local:./nowhere', 'not a reference', 'registry:acme/pdf@v7.x'." in str(
        error
    )
    assert str(error) == error.message and error.details["status_code"] == 404
    many = outcome(lambda: RegistrySource([f"local:{number}" for number in range(30)], base=tmp_path))
    assert "'local:10' and 19 more." in str(many) and len(many.details["failures"]) == 30
    single = outcome(lambda: RegistrySource(["local:0"], base=tmp_path))
    assert "failed" not in str(single) and len(single.details["failures"]) == 1


def test_a_registry_that_does_not_answer_is_waited_for_once(hostile: HostileRegistry, registry: Url) -> None:
    for name in ("pdf", "mail", "third"):
        hostile.routes[f"/skill/acme/{name}"] = silent
    cache = RegistryCache()
    slow = client(hostile.url, limits=HttpLimits(deadline=0.4))
    hostile.put(f"/packages/{MAIL.id}", answer(MAIL))
    contents(slow, cache=cache).content(f"ID:{MAIL.id}")
    cache.put_alias(f"{hostile.url}/skill/acme/kept@latest", json.dumps({"id": str(MAIL.id), "version": "v1.0.0"}))
    hostile.forget()
    texts = [f"slow:acme/{name}" for name in ("pdf", "mail", "third")]
    both = Registries({"slow": slow, "registry": client(registry)})
    start = time.monotonic()
    error = outcome(lambda: RegistrySource([*texts, "registry:acme/pdf"], registry=both, cache=cache))
    assert time.monotonic() - start < 0.4 + 0.4
    assert isinstance(error, RegistryNetworkError) and error.details["reason"] == "timeout"
    assert [failure["reference"] for failure in error.details["failures"]] == texts
    assert hostile.paths == ["/skill/acme/pdf?version=latest"]


def test_a_registry_that_only_lacks_a_package_is_asked_for_the_others(hostile: HostileRegistry) -> None:
    hostile.routes["/skill/acme/pdf"] = says(500)
    hostile.offer(MAIL, "/skill/acme/mail")
    error = outcome(lambda: RegistrySource(["registry:acme/pdf", "registry:acme/mail"], registry=client(hostile.url)))
    assert isinstance(error, RegistryNetworkError) and len(error.details["failures"]) == 1


@pytest.mark.row("S2-23", "C1")
def test_of_two_skills_with_one_name_the_first_wins_unless_that_is_refused_or_namespaces_are_shown(
    registry: Url,
) -> None:
    publish(registry, PDF_2, "v1.0.0", namespace="other")
    texts = ["registry:acme/pdf", "registry:other/pdf", f"ID:{PDF.id}"]
    given: dict[str, Any] = {"registry": client(registry)}
    source = RegistrySource(texts, **given)
    assert source.load("pdf").instructions == "One.\n"
    assert source.load("pdf@registry:other/pdf").instructions == "Two.\n"
    (note,) = source.diagnostics()
    assert note.code == "duplicate-name"
    with pytest.raises(CollisionError, match=r"registry:acme/pdf and registry:other/pdf"):
        RegistrySource(texts, on_collision="error", **given)
    spaced = RegistrySource([*texts[:2], f"ID:{MAIL.id}"], namespaces=True, **given)
    assert [each.name for each in spaced.list()] == ["acme/pdf", "mail", "other/pdf"]
    assert spaced.load("other/pdf").instructions == "Two.\n" and spaced.load("other/pdf").namespace == "other"
    assert spaced.diagnostics() == ()


def test_references_are_a_list(registry: Url) -> None:
    with pytest.raises(LimitError, match="put the one into a list"):
        RegistrySource("registry:acme/pdf", registry=client(registry))
    parsed = PackageReference.parse("registry:acme/pdf")
    assert [each.name for each in RegistrySource((parsed,), registry=client(registry)).list()] == ["pdf"]
    assert RegistrySource([]).list() == ()


# --- routers ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-09", "S2-38", "S2-39")
def test_a_router_is_made_from_references_and_tells_of_each(registry: Url, tmp_path: Path) -> None:
    folder(tmp_path, "local-skill")
    seen: list[Any] = []
    texts = ["registry:acme/pdf@v1.x", "local:local-skill", f"ID:{MAIL.id}"]
    router = SkillRouter.from_references(
        *texts, registry=client(registry), base=tmp_path, cache=RegistryCache(), on_event=seen.append
    )
    loaded = [event for event in seen if isinstance(event, events.PackageLoaded)]
    assert [(event.reference, event.name, event.version) for event in loaded] == [
        (texts[0], "pdf", "v1.0.0"),
        (texts[1], "local-skill", None),
        (texts[2], "mail", None),
    ]
    assert [event.id for event in loaded][::2] == [str(PDF.id), str(MAIL.id)]
    assert [each.name for each in router] == ["local-skill", "mail", "pdf"]
    assert "One." in router.activate("pdf").text
    assert router.read("pdf", "references/guide.md").data == b"Guide.\n"
    with pytest.raises(PackageNotFoundError) as caught:
        SkillRouter.from_references("registry:acme/nope", registry=client(registry))
    assert caught.value.original_reference == "registry:acme/nope"
    assert len(SkillRouter.from_references()) == 0


def test_the_registries_module_is_public() -> None:
    assert registries.DEFAULT == "registry"
