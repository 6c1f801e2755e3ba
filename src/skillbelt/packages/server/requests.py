"""What a request asks for: its address, its page, its body; each within its bounds, or an error that says why not.

An address becomes a path on disk later, so this is where it is judged.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from skillbelt.errors import InvalidPackageReferenceError, PackageNotFoundError
from skillbelt.packages.ids import PackageType
from skillbelt.packages.limits import PackageLimits
from skillbelt.packages.references import PackageReference
from skillbelt.packages.server.answers import BadRequestError
from skillbelt.packages.versions import LATEST, normalize_version
from skillbelt.sources.paths import shown

__all__ = ["TYPE", "Bounds", "asked_for", "check_type", "page_size", "received", "token_in", "token_of"]

TYPE = PackageType.SKILL
"""The one type of package that is held here."""

_NAME_BYTES = 240
"""A name is that of a folder on disk, where 255 bytes are the most; 64 letters may have 256."""


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


def check_type(text: str) -> None:
    """Raise unless a word is a type of package.

    Args:
        text: The word.

    Raises:
        InvalidPackageReferenceError: It is none.
    """
    if text not in list(PackageType):
        raise InvalidPackageReferenceError(
            f"{shown(text)} is no type of package; this registry holds {TYPE.value!r}.", details={"type": text[:200]}
        )


def asked_for(request: Request) -> tuple[str, str, str]:
    """Return namespace, name and version of a request; they become paths, so nothing odd gets past here.

    Args:
        request: To an address of a package.

    Raises:
        InvalidPackageReferenceError: They cannot be those of a package.
        PackageNotFoundError: It is another type of package than is held here.
    """
    kind, namespace, name = (request.path_params[part] for part in ("type", "namespace", "name"))
    version = request.query_params.get("version") or LATEST
    check_type(kind)
    reference = PackageReference.parse(f"registry:{namespace}/{name}@{version}")
    if len(name.encode()) > _NAME_BYTES:
        raise InvalidPackageReferenceError(
            f"The name has {len(name.encode())} bytes; at most {_NAME_BYTES} can be stored.", details={"name": name}
        )
    if kind != TYPE:
        raise PackageNotFoundError(f"This registry holds no packages of the type {kind!r}.", details={"type": kind})
    return str(reference.namespace), str(reference.name), normalize_version(version)


def page_size(text: str | None, most: int) -> int:
    """Return how many packages a page is to have.

    Args:
        text: As it was asked for, if it was.
        most: More than this it never has.

    Raises:
        BadRequestError: It is no number.
    """
    if text is None:
        return most
    if not (text.isascii() and text.isdecimal() and int(text[:10]) > 0):
        raise BadRequestError(f"page_size must be a whole number from 1 up, not {shown(text)}.")
    return min(int(text[:10]), most)


def token_of(last: tuple[str, str]) -> str:
    """Return the token of the page that follows.

    Args:
        last: Namespace and name of the last package of this page.
    """
    return base64.urlsafe_b64encode("/".join(last).encode()).decode().rstrip("=")


def token_in(text: str | None) -> tuple[str, str]:
    """Return the package after which a page begins: a name, so that publications in between shift nothing.

    Args:
        text: What :func:`token_of` gave.

    Raises:
        BadRequestError: It is something else.
    """
    if not text:
        return ("", "")
    try:
        padded = text + "=" * (-len(text) % 4)
        namespace, _, name = base64.b64decode(padded, b"-_", validate=True).decode().partition("/")
    except ValueError:
        raise BadRequestError(f"{shown(text)} is no page_token; take it from the page before.") from None
    return namespace, name


async def received(request: Request, bounds: Bounds) -> bytes:
    """Return the body of a request, as long as it keeps to the bounds.

    Args:
        request: Whose.
        bounds: How much it may take.

    Raises:
        BadRequestError: It is too large, too slow, compressed, or not all of it came.
    """
    bound = bounds.package.document_bytes
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
        async with asyncio.timeout(bounds.upload_seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > bound:
                    raise too_large
    except TimeoutError:
        raise BadRequestError(
            f"The document did not arrive within {bounds.upload_seconds:g} seconds; send it again.", 408
        ) from None
    except ClientDisconnect:
        raise BadRequestError("The document did not arrive in full; send it again.") from None
    return bytes(body)
