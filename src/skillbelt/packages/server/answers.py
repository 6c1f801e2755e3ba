"""Answers of the registry: JSON with validators and caching rules, and every failure as the same JSON object.

What may be kept for ever is what an id names; all else is asked for again, with its validator.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from skillbelt.errors import (
    AccessDeniedError,
    AuthenticationRequiredError,
    IntegrityError,
    InvalidPackageIdError,
    InvalidPackageReferenceError,
    PackageConflictError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryError,
    VersionNotFoundError,
)

__all__ = ["BadRequestError", "answer", "failed", "refuse"]

_FOR_EVER = "max-age=31536000, immutable"
_SHARED = {"X-Content-Type-Options": "nosniff"}

_STATUS: Mapping[type[RegistryError], int] = {
    PackageNotFoundError: 404,
    VersionNotFoundError: 404,
    InvalidPackageIdError: 400,
    InvalidPackageReferenceError: 400,
    PackageValidationError: 400,
    AuthenticationRequiredError: 401,
    AccessDeniedError: 403,
    PackageConflictError: 409,
    IntegrityError: 500,
}


class BadRequestError(RegistryError):
    """The request itself cannot be answered, whatever it is about.

    Args:
        message: One sentence.
        status: HTTP status.
        code: The word for it in the answer.
    """

    def __init__(self, message: str, status: int = 400, code: str = "BadRequest") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def answer(request: Request, body: bytes, *, tag: str | None = None, for_ever: bool = False, private: bool) -> Response:
    """Return a body, or 304 to who has it.

    Args:
        request: Says what its sender has.
        body: JSON.
        tag: Names the body; without one it is hashed.
        for_ever: Whether the address always gives this body.
        private: Whether only the sender may keep it, for a key was needed.
    """
    etag = f'"{tag or hashlib.sha256(body).hexdigest()[:32]}"'
    kept = _FOR_EVER if for_ever else "no-cache"
    headers = {**_SHARED, "ETag": etag, "Cache-Control": f"{'private' if private else 'public'}, {kept}"}
    if private:
        headers["Vary"] = "Authorization"
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def refuse(error: RegistryError) -> Response:
    """Return the answer that says an error; its code is the name of the error that a client raises.

    Args:
        error: What went wrong.
    """
    if isinstance(error, BadRequestError):
        return failed(error.status, error.code, error.message)
    kind = next(each for each in type(error).__mro__ if each in _STATUS or each is RegistryError)
    code = kind.__name__.removesuffix("Error").lstrip("_")
    return failed(_STATUS.get(kind, 500), code, error.message, error.details)


def failed(status: int, code: str, message: str, details: Mapping[str, Any] | None = None) -> Response:
    """Return a failure.

    Args:
        status: HTTP status.
        code: One word for programs.
        message: One sentence for people.
        details: JSON-able facts.
    """
    body = json.dumps({"error": {"code": code, "message": message, "details": dict(details or {})}}, default=str)
    headers = {**_SHARED, "Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body.encode("ascii"), status, headers, media_type="application/json")
