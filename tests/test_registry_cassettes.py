"""Conversations with a registry, played back: the client does today what it did when they were recorded."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from vcr.errors import CannotOverwriteExistingCassetteException

from cassettes import FOLDER, LABEL, PLACE, played, recorded
from registry_loopback import Url, running_registry
from registry_server import skill
from skillbelt import SkillRouter
from skillbelt.errors import (
    AccessDeniedError,
    AuthenticationRequiredError,
    InvalidPackageIdError,
    PackageConflictError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryError,
    VersionNotFoundError,
)
from skillbelt.packages import PackageId, Registries, RegistryClient

KEY = "publishers-own-key"
OTHER_KEY = "key-of-another-namespace"
READ_KEY = "readers-key"
PDF = skill("pdf", "One.\n", references__guide_md="Guide.\n", assets__dot_png=b"\x89PNG\x00")
PDF_2 = skill("pdf", "Two.\n")
MAIL = skill("mail")
GONE = "http://127.0.0.1:9"
"""Where nobody is: the server of a cassette that is played back."""


def client(url: str, key: str | None = None) -> RegistryClient:
    return RegistryClient(url, api_key=key, allow_private=True)


def refused(kind: type[RegistryError], call: Callable[[], Any]) -> RegistryError:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    return caught.value


# --- the scenes: each runs against a server and against its cassette --------------------------------------------------


def reading(url: str) -> None:
    """The four endpoints."""
    reader = client(url, READ_KEY)
    assert reader.well_known().authentication == "bearer"
    assert [info.name for info in reader.browse("skill", "acme")] == ["mail", "pdf"]
    assert reader.find("acme", "pdf", "v1.x")["version"] == "v1.1.0"
    assert reader.package(PDF.id)["document"] == dict(PDF.document)
    assert reader.versions("acme", "pdf") == ("v1.1.0", "v1.0.0")


def publishing(url: str) -> None:
    """A publication, the same again, another under its version, and two that may not."""
    new = skill("third")
    publisher = client(url, KEY)
    for _ in range(2):
        assert publisher.publish(new.document, namespace="acme", version="v0.1.0").id == str(new.id)
    other = skill("third", "Else.\n")
    refused(PackageConflictError, lambda: publisher.publish(other.document, namespace="acme", version="v0.1.0"))
    broken = {**new.document, "name": "third", "instructions": "Else.\n"}
    refused(PackageValidationError, lambda: publisher.publish(broken, namespace="acme", version="v0.2.0"))
    for key, kind in ((None, AuthenticationRequiredError), (OTHER_KEY, AccessDeniedError)):
        refused(kind, lambda key=key: client(url, key).publish(new.document, namespace="acme", version="v0.2.0"))


def refusals(url: str) -> None:
    """What there is not, and what may not be asked."""
    reader = client(url, READ_KEY)
    missing = refused(PackageNotFoundError, lambda: reader.find("acme", "pfd", reference="registry:acme/pfd"))
    assert "Did you mean 'pdf'?" in missing.message and missing.original_reference == "registry:acme/pfd"
    version = refused(VersionNotFoundError, lambda: reader.find("acme", "pdf", "v7"))
    assert version.details["versions"] == ["v1.1.0", "v1.0.0"]
    refused(PackageNotFoundError, lambda: reader.package("pkg_skl_" + "0" * 40))
    refused(InvalidPackageIdError, lambda: reader.package(PackageId.parse("pkg_act_" + "0" * 40)))
    refused(AuthenticationRequiredError, lambda: client(url).find("acme", "pdf"))


def routing(url: str) -> None:
    """A router from references: discovery, an alias, a version, an id."""
    given = Registries({"registry": url}, api_keys={"registry": READ_KEY}, allow_private=True)
    router = SkillRouter.from_references("registry:acme/pdf@v1.0.x", f"ID:{MAIL.id}", registry=given)
    assert [each.name for each in router] == ["mail", "pdf"]
    assert router.read("pdf", "assets/dot.png").data == b"\x89PNG\x00"


SCENES: dict[str, Callable[[str], None]] = {
    "reading": reading,
    "publishing": publishing,
    "refusals": refusals,
    "routing": routing,
}


def record(scene: str, file: Path, folder: Path) -> Url:
    """Record a scene against the real server, and return where that was."""
    keys = {KEY: ["acme"], OTHER_KEY: ["other"]}
    with running_registry(folder / "packages", publish_key=keys, read_key=READ_KEY, page_size=1) as url:
        for packed, version in ((PDF, "v1.0.0"), (PDF_2, "v1.1.0"), (MAIL, "v0.1.0")):
            client(url, KEY).publish(packed.document, namespace="acme", version=version)
        with recorded(file):
            SCENES[scene](url)
    return url


def conversation(file: Path) -> list[tuple[str, str, int, Any]]:
    """What was asked and answered, without what differs from one machine to the next."""
    told = []
    for each in yaml.safe_load(file.read_text(encoding="utf-8"))["interactions"]:
        body = each["response"]["body"]["string"]
        sent = each["request"]["method"], each["request"]["uri"]
        told.append((*sent, each["response"]["status"]["code"], json.loads(body)))
    return told


# --- tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-24", "S2-25", "S2-26", "S2-27", "S2-28", "S2-29")
@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_plays_from_its_cassette_without_a_network(scene: str) -> None:
    with played(FOLDER / f"registry_{scene}.yaml") as cassette:
        SCENES[scene](GONE)
    assert cassette.all_played and len(cassette) >= 3


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_recorded_from_a_real_server_and_says_what_its_cassette_says(scene: str, tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    url = record(scene, file, tmp_path)
    assert url.requests, "nothing reached the server"
    assert len(conversation(file)) == len(url.requests) - 3  # three publications came before
    assert conversation(file) == conversation(FOLDER / f"registry_{scene}.yaml"), "run python tests/cassettes.py"
    with played(file) as cassette:
        SCENES[scene](GONE)
    assert cassette.all_played


@pytest.mark.parametrize("scene", SCENES)
def test_a_cassette_says_that_it_is_scripted_and_holds_no_key(scene: str) -> None:
    text = (FOLDER / f"registry_{scene}.yaml").read_text(encoding="utf-8")
    assert text.startswith(LABEL) and PLACE in text
    assert not any(key in text for key in (KEY, OTHER_KEY, READ_KEY))
    assert "Bearer ..." in text and "127.0.0.1" not in text


def test_what_is_not_on_a_cassette_is_an_error_and_no_socket_is_connected() -> None:
    with played(FOLDER / "registry_reading.yaml"):
        with pytest.raises(CannotOverwriteExistingCassetteException):
            client(GONE, READ_KEY).find("acme", "else")
        with pytest.raises(CannotOverwriteExistingCassetteException):
            client(GONE).find("acme", "pdf", "v1.x")  # it was asked with a key
        with pytest.raises(AssertionError, match="the network was asked"):
            socket.create_connection(("127.0.0.1", 9))
