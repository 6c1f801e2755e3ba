"""Whether what a registry sent is what was asked for: hashed again, whatever the registry says of it."""

from __future__ import annotations

from skillbelt.errors import IntegrityError, PackageValidationError, RegistryError
from skillbelt.packages.answers import PackageAnswer, VerifiedPackage
from skillbelt.packages.canonical import canonicalize, id_of, integrity
from skillbelt.packages.ids import PackageId, PackageType
from skillbelt.packages.refusals import Question
from skillbelt.packages.versions import select
from skillbelt.packages.violations import Violation, refused
from skillbelt.sources.paths import shown

__all__ = ["check_name", "check_place", "verified"]

_PREFIXES = {kind.value: kind.prefix for kind in PackageType}


def verified(answer: PackageAnswer, question: Question, *, asked: PackageId | None = None) -> VerifiedPackage:
    """Return an answer whose content has the id, and the digest, that it says.

    Args:
        answer: What a registry sent.
        question: What it was asked.
        asked: The id that was asked for, if it was one.

    Raises:
        IntegrityError: The content has another id or digest.
        PackageValidationError: The content has no canonical form.
    """
    try:
        canonical = canonicalize(answer["document"])
    except PackageValidationError as error:
        raise PackageValidationError(
            f"{question.where} sent a document for {question.what} that cannot be hashed: {error.message}",
            details=error.details,
            original_reference=question.reference,
        ) from None
    told = answer["id"]
    if asked is not None and told != str(asked):
        raise _forged(question, "id", str(asked), told)
    kind = told.rpartition("_")[0]
    prefix = _PREFIXES.get(answer["type"])
    found = f"{f'pkg_{prefix}' if prefix else kind}_{id_of(canonical).sha1}"
    if told != found:
        raise _forged(question, "id", told, found)
    proof = integrity(canonical)
    if answer["integrity"] not in (None, proof):
        raise _forged(question, "integrity", str(answer["integrity"]), proof)
    return VerifiedPackage(answer, proof, canonical)


def check_place(package: VerifiedPackage, question: Question, *, kind: str, namespace: str, wanted: str) -> None:
    """Raise unless an answer is of the type, the namespace and a version that was asked for.

    Args:
        package: The answer.
        question: What was asked.
        kind: The type of package.
        namespace: Who publishes it.
        wanted: A version or an alias.

    Raises:
        IntegrityError: It is something else.
    """
    answer = package.answer
    for what, asked, told in (("type", kind, answer["type"]), ("namespace", namespace, answer["namespace"])):
        if told != asked:
            raise _forged(question, what, asked, told)
    version = answer["version"]
    if version is None or select(wanted, [version]) is None:
        raise _forged(question, "version", wanted, version)


def check_name(name: str, document_name: object, *, what: str, reference: str | None) -> None:
    """Raise unless a package is called what the reference calls it (S2-23).

    Args:
        name: The name segment of the reference.
        document_name: What the document says.
        what: Subject of the message.
        reference: As it was typed.

    Raises:
        PackageValidationError: They differ.
    """
    if document_name != name:
        why = f"it is called {shown(str(document_name))}, and {shown(name)} was asked for"
        raise refused([Violation("/name", "name-mismatch", f"{why}.")], what=what, reference=reference)


def _forged(question: Question, what: str, expected: str, found: str | None) -> RegistryError:
    return IntegrityError(
        f"{question.where} answered the question for {question.what} with another {what} than it should: "
        f"{shown(str(found))} instead of {shown(expected)}. Nothing of it is used; ask who runs the registry.",
        details={"what": what, "expected": expected[:200], "found": None if found is None else found[:200]},
        original_reference=question.reference,
    )
