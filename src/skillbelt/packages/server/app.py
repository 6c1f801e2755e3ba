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

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
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
from skillbelt.packages.ids import PackageId
from skillbelt.packages.reading import read_package
from skillbelt.packages.references import PackageReference
from skillbelt.packages.server.access import Access
from skillbelt.packages.server.answers import answer, failed, refuse
from skillbelt.packages.server.entries import Entry, Store
from skillbelt.packages.server.requests import (
    TYPE,
    Bounds,
    asked_for,
    check_type,
    page_size,
    received,
    token_in,
    token_of,
)
from skillbelt.packages.versions import LATEST, is_concrete, select, sort_versions
from skillbelt.packages.violations import Violation, refused
from skillbelt.sources.paths import shown

__all__ = ["application"]

_WELL_KNOWN = "/.well-known/cleverthis-packages"
_LOG = logging.getLogger(__name__)


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
            "types": [TYPE.value],
            "authentication": "none" if self._access.open else "bearer",
            "publishing": "bearer" if self._access.publishing else "none",
            "limits": {"package_bytes": self._bounds.package.document_bytes, "page_size": self._bounds.page_size},
        }
        return answer(request, _json(told), private=False)

    def by_id(self, request: Request) -> Response:
        """Give a package by its id. The same content may have many names, so this answer has none: it never changes."""
        package = PackageId.parse(request.path_params["id"], expect=TYPE)
        canonical = self._store.content(package)
        if canonical is None:
            raise PackageNotFoundError(f"This registry has no package {package}.", details={"id": str(package)})
        facts = {
            "id": str(package),
            "integrity": integrity(canonical),
            "type": TYPE.value,
            "namespace": None,
            "name": json.loads(canonical)["name"],
            "version": None,
        }
        return answer(request, _wrapped(facts, canonical), tag=str(package), for_ever=True, private=self._private)

    def by_name(self, request: Request) -> Response:
        """Give a version of a package; the answer says which one an alias led to."""
        namespace, name, wanted = asked_for(request)
        entry = self._found(namespace, name, wanted)
        canonical = self._store.content(PackageId.parse(entry.id))
        if canonical is None:
            raise IntegrityError(f"The content of {namespace}/{name}@{entry.version} was lost; publish it again.")
        return answer(request, _wrapped(_facts(entry), canonical, entry), private=self._private)

    def versions(self, request: Request) -> Response:
        """List the versions of a package, highest first."""
        namespace, name, _ = asked_for(request)
        told = {"type": TYPE.value, "namespace": namespace, "name": name, "versions": self._known(namespace, name)}
        return answer(request, _json(told), private=self._private)

    def browse(self, request: Request) -> Response:
        """List packages, each with its highest version; page by page, in the order of their names."""
        asked = request.query_params
        wanted, namespace = asked.get("type") or TYPE.value, asked.get("namespace") or None
        check_type(wanted)
        if namespace is not None:
            PackageReference.parse(f"registry:{namespace}/any")
        size = page_size(asked.get("page_size"), self._bounds.page_size)
        after = token_in(asked.get("page_token"))
        found = [each for each in self._store.packages(namespace) if each > after] if wanted == TYPE else []
        page = found[:size]
        entries = [entry for each in page if (entry := self._highest(*each)) is not None]
        told = {
            "packages": [{**_facts(entry), "description": entry.description, "size": entry.size} for entry in entries],
            "next_page_token": token_of(page[-1]) if len(found) > size else None,
        }
        return answer(request, _json(told), private=self._private)

    async def publish(self, request: Request) -> Response:
        """Add a version; nothing is read from a caller who may not."""
        namespace, name, version = asked_for(request)
        self._access.may_publish(request.headers.get("authorization"), namespace)
        if "version" not in request.query_params or not is_concrete(version):
            raise InvalidPackageReferenceError(
                f"A package is published under a concrete version, not {shown(version)}; "
                "say for example '?version=v1.2.3'.",
                details={"version": version[:200]},
            )
        body = await received(request, self._bounds)
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
            type=TYPE.value,
            namespace=namespace,
            name=name,
            version=version,
            description=str(document["description"]),
            size=len(canonical),
            release_date=released if isinstance(released, str) else None,
        )
        return entry, self._store.publish(entry, canonical)


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
