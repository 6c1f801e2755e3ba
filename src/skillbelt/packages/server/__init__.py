"""A registry of packages to run: an ASGI application over a folder.

::

    from skillbelt.packages.server import registry_app

    app = registry_app("packages", publish_keys=[os.environ["REGISTRY_KEY"]])     # uvicorn module:app

The folder is either a registry's own, where every published version is kept for ever, or a folder of skills, which
is served as it is and takes no publications. ``skillbelt registry serve`` runs it; starlette is imported when the
application is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skillbelt.errors import LimitError, MissingExtraError, SourceError
from skillbelt.limits import check_bytes
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.references import PackageReference
from skillbelt.packages.server.access import Access
from skillbelt.packages.server.disk import MARKER, DiskStore
from skillbelt.packages.server.entries import Entry, Store

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from skillbelt.packages.server.plain import PlainStore

__all__ = ["Entry", "Store", "open_store", "registry_app"]

NAMESPACE = "skills"
"""Where a folder of skills is published unless it is said."""


def registry_app(
    folder: str | os.PathLike[str] | Store,
    *,
    publish_keys: Iterable[str] | Mapping[str, Iterable[str]] | None = None,
    read_keys: Iterable[str] | None = None,
    namespace: str = NAMESPACE,
    name: str = "skillbelt registry",
    limits: PackageLimits | None = None,
    upload_seconds: float = 30.0,
    page_size: int = 100,
) -> Starlette:
    """Return a registry as an ASGI application (ADR 0012).

    Args:
        folder: A registry's folder, made when it does not exist and there are ``publish_keys``; or a folder of skills;
            or a store of your own.
        publish_keys: Keys that may publish, into any namespace; a mapping says into which each of them may.
        read_keys: Keys that may read; by default anybody may.
        namespace: Where the skills of a folder of skills are published.
        name: What the registry calls itself.
        limits: Bounds of a document that is published.
        upload_seconds: Seconds in which it must have arrived.
        page_size: Packages in one page of a listing.

    Raises:
        MissingExtraError: starlette, or a package the hashes need, is not installed.
        SourceError: The folder cannot be read or used, or is to be published to and is one of skills.
        LimitError: A key, a bound or the namespace is not usable.

    Example:
        >>> from skillbelt import examples
        >>> app = registry_app(examples.path(), namespace="examples")
        >>> [route.path for route in app.routes][:2]
        ['/.well-known/cleverthis-packages', '/browse']
    """
    try:
        from skillbelt.packages.server.app import application
        from skillbelt.packages.server.requests import Bounds
    except ModuleNotFoundError as error:
        raise MissingExtraError("The registry server", extra="serve") from error
    access = Access(publish_keys, read_keys)
    if not isinstance(upload_seconds, int | float) or isinstance(upload_seconds, bool) or not upload_seconds > 0:
        raise LimitError(f"upload_seconds must be a number above 0, not {upload_seconds!r}.")
    bounds = Bounds(
        package=limits or PackageLimits(),
        upload_seconds=upload_seconds,
        page_size=check_bytes("page_size", page_size),
    )
    store = (
        open_store(folder, writable=access.publishing, namespace=namespace)
        if isinstance(folder, str | os.PathLike)
        else folder
    )
    return application(store, access, name=name, bounds=bounds)


def open_store(
    folder: str | os.PathLike[str], *, writable: bool = False, namespace: str = NAMESPACE
) -> DiskStore | PlainStore:
    """Return the packages of a folder, whichever kind of folder it is.

    Args:
        folder: A registry's folder, or a folder of skills.
        writable: Whether anything will be published.
        namespace: Where the skills of a folder of skills are published.

    Raises:
        SourceError: It does not exist and nothing will be published; it cannot be read; or it is a folder of skills
            or of something else, and something will be published.
        LimitError: The namespace is not usable.
    """
    path = Path(folder).expanduser().absolute()
    shown = repr(str(folder))
    try:
        within = {each.name for each in path.iterdir()}
    except FileNotFoundError:
        if not writable:
            raise SourceError(f"The folder {shown} was not found; create it, or give a key to publish with.") from None
        within = set()
    except OSError as error:
        raise SourceError(f"The folder {shown} cannot be served: {error.strerror}; give a folder of skills.") from None
    if MARKER in within or (writable and not within - {".staging"}):
        return DiskStore(path, writable=writable)
    if writable:
        raise SourceError(
            f"The folder {shown} holds other things than a registry, so nothing can be published to it; "
            "give a folder that is empty or does not exist, or serve it without a key to publish with."
        )
    _check_namespace(namespace)
    from skillbelt.packages.server.plain import PlainStore

    return PlainStore(path, namespace)


def _check_namespace(namespace: str) -> None:
    try:
        PackageReference.parse(f"registry:{namespace}/any")
    except ValueError:
        raise LimitError(f"{namespace!r} cannot be a namespace; it has 1 to 64 letters, digits, '_' and '-'.") from None
