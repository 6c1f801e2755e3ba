"""From what went wrong over HTTP to the one error that says it (S2-29, S2-30).

A registry says why it refuses in an ``error`` object; which error is raised depends on its status and, where one status
has several meanings, on the code in that object. The registry's words are quoted, bounded and never obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillbelt.errors import (
    AccessDeniedError,
    AuthenticationRequiredError,
    InvalidPackageIdError,
    InvalidPackageReferenceError,
    PackageConflictError,
    PackageNotFoundError,
    PackageValidationError,
    RegistryError,
    RegistryNetworkError,
    SourceError,
    VersionNotFoundError,
)
from skillbelt.models import JsonValue
from skillbelt.packages.answers import Said
from skillbelt.sources.fetch import RefusedUrlError, ResponseTooLargeError, UnreachableError
from skillbelt.sources.urls import public_url

__all__ = ["Question", "refusal", "unanswered", "unusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a registry was asked, as an error shows it.

    Attributes:
        what: What is wanted, quoted.
        where: The registry.
        url: The address, with its query.
        unless: The error of a 400 whose code says nothing.
        missing: The error of a 404 whose code says nothing.
        reference: What the user typed, when that led here (S2-09).
    """

    what: str
    where: str
    url: str
    unless: type[RegistryError] = RegistryError
    missing: type[RegistryError] | None = None
    reference: str | None = None


_BY_STATUS: Mapping[int, tuple[type[RegistryError], ...]] = {
    400: (InvalidPackageIdError, InvalidPackageReferenceError, PackageValidationError),
    401: (AuthenticationRequiredError,),
    403: (AccessDeniedError,),
    404: (PackageNotFoundError, VersionNotFoundError),
    409: (PackageConflictError,),
    410: (PackageNotFoundError, VersionNotFoundError),
    413: (PackageValidationError,),
    422: (PackageValidationError,),
}
_TELL: Mapping[type[RegistryError], str] = {
    PackageNotFoundError: "{where} has no package {what}; check the reference.",
    VersionNotFoundError: "{where} has no such version of {what}.",
    InvalidPackageIdError: "{where} does not take {what} as an id.",
    InvalidPackageReferenceError: "{where} does not take {what} as a reference.",
    PackageValidationError: "{where} does not take the document of {what}.",
    AuthenticationRequiredError: "{where} wants an API key for {what}; pass api_key=….",
    AccessDeniedError: "{where} does not let this API key at {what}; use one that may.",
    PackageConflictError: "{where} has {what} with other content, and a version never changes; publish a new version.",
    RegistryError: "{where} refuses the question for {what}.",
}


def refusal(status: int, said: Said, question: Question) -> RegistryError:
    """Return the error for an answer that is a failure.

    Args:
        status: Its HTTP status.
        said: What its body says.
        question: What was asked.
    """
    kind = _kind(status, said.code, question)
    quote = f" It says: {said.message}" if said.message else ""
    facts = _facts(question) | {"status_code": status}
    if said.code:
        facts["code"] = said.code[:100]
    details: dict[str, JsonValue] = {**said.details, **facts}
    if kind is None:
        return RegistryNetworkError(
            f"{question.where} answered {status} to the question for {question.what}.{quote}",
            status_code=status,
            url=public_url(question.url),
            details={**details, "reason": "status"},
            original_reference=question.reference,
        )
    told = _TELL.get(kind, _TELL[RegistryError]).format(where=question.where, what=question.what)
    return kind(f"{told}{quote}", details=details, original_reference=question.reference)


def _kind(status: int, code: str, question: Question) -> type[RegistryError] | None:
    """Return the class of an error, ``None`` for one of the network."""
    kinds = _BY_STATUS.get(status, ())
    word = code.removesuffix("Error")
    for kind in kinds:
        name = kind.__name__.removesuffix("Error")
        if word and word in (name, name.removeprefix("Package")):
            return kind
    if status == 400:
        return question.unless
    if status in (404, 410):
        return question.missing
    return kinds[0] if kinds else None


def unanswered(error: SourceError, question: Question, *, sending: bool = False) -> RegistryNetworkError:
    """Return the error for a question that got no answer, or one that may not be taken.

    Args:
        error: What the fetcher says.
        question: What was asked.
        sending: Whether something was to be published: then it matters whether it may have arrived.
    """
    reason = "unusable"
    if isinstance(error, UnreachableError):
        reason = "timeout" if error.late else "unreachable"
    elif isinstance(error, RefusedUrlError):
        reason = "refused"
    elif isinstance(error, ResponseTooLargeError):
        reason = "too-large"
    message = f"{question.where} gave no answer for {question.what}: {error}"
    if not sending:
        return _network(message, reason, question)
    sent = error.sent if isinstance(error, UnreachableError) else reason != "refused"
    if sent:
        message += " It may have been published all the same; ask for it before you publish it again."
    return _network(message, reason, question, sent=sent)


def unusable(why: str, question: Question) -> RegistryNetworkError:
    """Return the error for an answer that nothing can be made of.

    Args:
        why: What it is, as the end of a sentence.
        question: What was asked.
    """
    message = f"The answer of {question.where} for {question.what} cannot be used: {why.rstrip('.')}."
    return _network(message, "unusable", question)


def _network(message: str, reason: str, question: Question, **more: JsonValue) -> RegistryNetworkError:
    return RegistryNetworkError(
        message,
        url=public_url(question.url),
        details=_facts(question) | {"reason": reason} | more,
        original_reference=question.reference,
    )


def _facts(question: Question) -> dict[str, JsonValue]:
    return {"url": public_url(question.url)}
