"""The registry as an ASGI application: which address answers what (ADR 0012).

::

    GET /.well-known/cleverthis-packages              what this registry is
    GET /packages/{id}                                a package by its id
    GET /{type}/{namespace}/{name}?version=           a package by its name; an alias is resolved here
    GET /{type}/{namespace}/{name}/versions           its versions, highest first
    GET /browse?type=&namespace=&page_size=&page_token=
    PUT /{type}/{namespace}/{name}?version=           publish

Reading files and judging documents happens in threads, never in the event loop. What is kept where is the store's
business; who may do what is judged in :mod:`skillbelt.packages.server.access`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from skillbelt.errors import (
    IntegrityError,
    InvalidPackageReferenceError,
    PackageNotFoundError,
    RegistryError,
    VersionNotFoundError,
    did_you_mean,
)
from skillbelt.packages.canonical import canonicalize, id_of, integrity
from skillbelt.packages.ids import PackageId, PackageType
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.reading import read_package
from skillbelt.packages.references import PackageReference
from skillbelt.packages.server.access import Access
from skillbelt.packages.server.answers import BadRequestError, answer, failed, refuse
from skillbelt.packages.server.entries import Entry, Store
from skillbelt.packages.versions import LATEST, is_concrete, normalize_version, select, sort_versions
from skillbelt.packages.violations import Violation, refused
from skillbelt.sources.paths import shown

__all__ = ["Bounds", "application"]

_TYPE = PackageType.SKILL
_WELL_KNOWN = "/.well-known/cleverthis-packages"
_NAME_BYTES = 240
"""A name is that of a folder on disk, where 255 bytes are the most; 64 letters may have 256."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much a request may take.

    Attributes:
        package: Of a document that is published.
        upload_seconds: Seconds in which it must have arrived.
        page_size: Packages in one page of a listing.
    """

    package: PackageLimits
    upload_seconds: float
    page_size: int


def application(store: Store, access: Access, *, name: str, bounds: Bounds) -> Starlette:
    """Return the application.

    Args:
        store: Where the packages are.
        access: Who may do what.
        name: What the registry calls itself.
        bounds: How much a request may take.
    """
    site = _Registry(store, access, name, bounds)
    package = "/{type}/{namespace}/{name}"
    app = Starlette(
        routes=[
            Route(_WELL_KNOWN, site.well_known, methods=["GET"]),
            Route("/browse", site.reading(site.browse), methods=["GET"]),
            Route("/packages/{id}", site.reading(site.by_id), methods=["GET"]),
            Route(f"{package}/versions", site.reading(site.versions), methods=["GET"]),
            Route(package, site.reading(site.by_name), methods=["GET"]),
            Route(package, site.publish, methods=["PUT"]),
        ],
        exception_handlers={
            RegistryError: _refuse,
            HTTPException: _no_such_route,
            OSError: _storage_failed,
            Exception: _broken,
        },
    )
    app.router.redirect_slashes = False
    return app


class _Registry:
    """The endpoints; state is in the store."""

    def __init__(self, store: Store, access: Access, name: str, bounds: Bounds) -> None:
        self._store = store
        self._access = access
        self._name = name
        self._bounds = bounds

    def reading(self, endpoint: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Return an endpoint that first asks whether its caller may read."""

        def checked(request: Request) -> Response:
            self._access.may_read(request.headers.get("authorization"))
            return endpoint(request)

        return checked

    def well_known(self, request: Request) -> Response:
        """Say what this registry is; needs no key, for it says whether one is needed."""
        told = {
            "format": "skillbelt.registry/1",
            "name": self._name,
            "api": f"{request.scope.get('root_path', '').rstrip('/')}/",
            "types": [_TYPE.value],
            "authentication": "none" if self._access.open else "bearer",
            "publishing": "bearer" if self._access.publishing else "none",
            "limits": {"package_bytes": self._bounds.package.document_bytes, "page_size": self._bounds.page_size},
        }
        return answer(request, _json(told), private=False)

    def by_id(self, request: Request) -> Response:
        """Give a package by its id. The same content may have many names, so this answer has none: it never changes."""
        package = PackageId.parse(request.path_params["id"], expect=_TYPE)
        canonical = self._store.content(package)
        if canonical is None:
            raise PackageNotFoundError(f"This registry has no package {package}.", details={"id": str(package)})
        facts = {
            "id": str(package),
            "integrity": integrity(canonical),
            "type": _TYPE.value,
            "namespace": None,
            "name": json.loads(canonical)["name"],
            "version": None,
        }
        return answer(request, _wrapped(facts, canonical), tag=str(package), for_ever=True, private=self._private)

    def by_name(self, request: Request) -> Response:
        """Give a version of a package; the answer says which one an alias led to."""
        namespace, name, wanted = _asked(request)
        entry = self._found(namespace, name, wanted)
        canonical = self._store.content(PackageId.parse(entry.id))
        if canonical is None:
            raise IntegrityError(f"The content of {namespace}/{name}@{entry.version} was lost; publish it again.")
        return answer(request, _wrapped(_facts(entry), canonical, entry), private=self._private)

    def versions(self, request: Request) -> Response:
        """List the versions of a package, highest first."""
        namespace, name, _ = _asked(request)
        told = {"type": _TYPE.value, "namespace": namespace, "name": name, "versions": self._known(namespace, name)}
        return answer(request, _json(told), private=self._private)

    def browse(self, request: Request) -> Response:
        """List packages, each with its highest version; page by page, in the order of their names."""
        asked = request.query_params
        wanted, namespace = asked.get("type") or _TYPE.value, asked.get("namespace") or None
        _check_type(wanted)
        if namespace is not None:
            PackageReference.parse(f"registry:{namespace}/any")
        size = _page_size(asked.get("page_size"), self._bounds.page_size)
        after = _token(asked.get("page_token"))
        found = [each for each in self._store.packages(namespace) if each > after] if wanted == _TYPE else []
        page = found[:size]
        entries = [entry for each in page if (entry := self._highest(*each)) is not None]
        told = {
            "packages": [{**_facts(entry), "description": entry.description, "size": entry.size} for entry in entries],
            "next_page_token": _token_of(page[-1]) if len(found) > size else None,
        }
        return answer(request, _json(told), private=self._private)

    async def publish(self, request: Request) -> Response:
        """Add a version; nothing is read from a caller who may not."""
        namespace, name, version = _asked(request)
        self._access.may_publish(request.headers.get("authorization"), namespace)
        if "version" not in request.query_params or not is_concrete(version):
            raise InvalidPackageReferenceError(
                f"A package is published under a concrete version, not {shown(version)}; "
                "say for example '?version=v1.2.3'.",
                details={"version": version[:200]},
            )
        body = await self._received(request)
        entry, new = await run_in_threadpool(self._published, namespace, name, version, body)
        location = f"{request.url.path}?version={entry.version}"
        told = Response(_json(_facts(entry)), 201 if new else 200, media_type="application/json")
        told.headers["Location"] = location
        told.headers["Cache-Control"] = "no-store"
        return told

    # --- parts --------------------------------------------------------------------------------------------------------

    @property
    def _private(self) -> bool:
        return not self._access.open

    def _known(self, namespace: str, name: str) -> Sequence[str]:
        versions = sort_versions(self._store.versions(namespace, name))
        if not versions:
            near = [known for _, known in self._store.packages(namespace) if known != name]
            hint = did_you_mean(name, near, what=f"packages in {namespace}")
            raise PackageNotFoundError(
                f"This registry has no package {namespace}/{name}. {hint}",
                details={"namespace": namespace, "name": name},
            )
        return versions

    def _found(self, namespace: str, name: str, wanted: str) -> Entry:
        versions = self._known(namespace, name)
        version = select(wanted, versions)
        entry = None if version is None else self._store.entry(namespace, name, version)
        if entry is None:
            raise VersionNotFoundError(
                f"{namespace}/{name} has no version {wanted}. {did_you_mean(wanted, versions, what='versions')}",
                details={"namespace": namespace, "name": name, "version": wanted, "versions": list(versions[:100])},
            )
        return entry

    def _highest(self, namespace: str, name: str) -> Entry | None:
        """Return what ``latest`` means; of a package that has pre-releases only, the highest of them."""
        versions = sort_versions(self._store.versions(namespace, name))
        version = select(LATEST, versions) or next(iter(versions), None)
        return None if version is None else self._store.entry(namespace, name, version)

    async def _received(self, request: Request) -> bytes:
        """Return the body of a request, as long as it keeps to the bounds."""
        bound = self._bounds.package.document_bytes
        too_large = BadRequestError(
            f"The document is larger than the {bound} bytes that are taken here; leave out what is not needed.",
            413,
            "PackageTooLarge",
        )
        said = request.headers.get("content-length", "")
        if said.isascii() and said.isdecimal() and int(said[:20]) > bound:
            raise too_large
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise BadRequestError("Documents are taken as they are; send it without a Content-Encoding.", 415)
        body = bytearray()
        try:
            async with asyncio.timeout(self._bounds.upload_seconds):
                async for piece in request.stream():
                    body += piece
                    if len(body) > bound:
                        raise too_large
        except TimeoutError:
            raise BadRequestError(
                f"The document did not arrive within {self._bounds.upload_seconds:g} seconds; send it again.", 408
            ) from None
        except ClientDisconnect:
            raise BadRequestError("The document did not arrive in full; send it again.") from None
        return bytes(body)

    def _published(self, namespace: str, name: str, version: str, body: bytes) -> tuple[Entry, bool]:
        document = read_package(body, limits=self._bounds.package).to_document()
        wrong = [
            Violation(f"/{field}", "address", f"it is {shown(str(said))}, and is published as {meant!r}.")
            for field, said, meant in (("name", document["name"], name), ("version", document.get("version"), version))
            if said not in (None, meant)
        ]
        if wrong:
            raise refused(wrong)
        canonical = canonicalize(document)
        released = document.get("release_date")
        entry = Entry(
            id=str(id_of(canonical)),
            integrity=integrity(canonical),
            type=_TYPE.value,
            namespace=namespace,
            name=name,
            version=version,
            description=str(document["description"]),
            size=len(canonical),
            release_date=released if isinstance(released, str) else None,
        )
        return entry, self._store.publish(entry, canonical)


# --- requests ---------------------------------------------------------------------------------------------------------


def _check_type(text: str) -> None:
    if text not in list(PackageType):
        raise InvalidPackageReferenceError(
            f"{shown(text)} is no type of package; this registry holds {_TYPE.value!r}.", details={"type": text[:200]}
        )


def _asked(request: Request) -> tuple[str, str, str]:
    """Return namespace, name and version of a request; they become paths, so nothing odd gets past here."""
    kind, namespace, name = (request.path_params[part] for part in ("type", "namespace", "name"))
    version = request.query_params.get("version") or LATEST
    _check_type(kind)
    reference = PackageReference.parse(f"registry:{namespace}/{name}@{version}")
    if len(name.encode()) > _NAME_BYTES:
        raise InvalidPackageReferenceError(
            f"The name has {len(name.encode())} bytes; at most {_NAME_BYTES} can be stored.", details={"name": name}
        )
    if kind != _TYPE:
        raise PackageNotFoundError(f"This registry holds no packages of the type {kind!r}.", details={"type": kind})
    return str(reference.namespace), str(reference.name), normalize_version(version)


def _page_size(text: str | None, most: int) -> int:
    if text is None:
        return most
    if not (text.isascii() and text.isdecimal() and int(text[:10]) > 0):
        raise BadRequestError(f"page_size must be a whole number from 1 up, not {shown(text)}.")
    return min(int(text[:10]), most)


def _token_of(last: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode("/".join(last).encode()).decode().rstrip("=")


def _token(text: str | None) -> tuple[str, str]:
    """Return the package after which a page begins: a name, so that publications in between shift nothing."""
    if not text:
        return ("", "")
    try:
        padded = text + "=" * (-len(text) % 4)
        namespace, _, name = base64.b64decode(padded, b"-_", validate=True).decode().partition("/")
    except ValueError:
        raise BadRequestError(f"{shown(text)} is no page_token; take it from the page before.") from None
    return namespace, name


# --- answers ----------------------------------------------------------------------------------------------------------


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _facts(entry: Entry) -> dict[str, Any]:
    parts = ("id", "integrity", "type", "namespace", "name", "version")
    return {part: getattr(entry, part) for part in parts}


def _wrapped(facts: dict[str, Any], canonical: bytes, entry: Entry | None = None) -> bytes:
    """Return the answer around a document, whose bytes are put in as they are: no JSON is read to be written."""
    head = _json(facts)[:-1] + b',"document":'
    if entry is None:
        return head + canonical + b"}"
    lifecycle = {"version": entry.version, "release_date": entry.release_date}
    told = _json({key: value for key, value in lifecycle.items() if value is not None})[:-1]
    return head + told + b"," + canonical[1:] + b"}"


async def _refuse(request: Request, error: Exception) -> Response:
    refused = refuse(error if isinstance(error, RegistryError) else RegistryError(str(error)))
    if request.method == "PUT":
        refused.headers["Connection"] = "close"  # or the server would go on reading a body that nobody wants
    return refused


async def _no_such_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        return failed(405, "MethodNotAllowed", f"{request.method} is not possible here; GET reads, PUT publishes.")
    return failed(status, "NotFound", f"There is nothing at this address; see {_WELL_KNOWN} for what is.")


async def _storage_failed(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s: %s", request.method, request.url.path, error)
    # No more of it: the message of an OSError has paths of this machine.
    return failed(503, "StorageFailed", "The registry could not read or write its folder; try again later.")


async def _broken(_: Request, __: Exception) -> Response:
    return failed(500, "Internal", "The registry failed on this request; its log says why.")
