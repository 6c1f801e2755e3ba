"""What is wrong with a document: one value per violation, and the error that lists them all (S2-22)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from skillbelt.errors import PackageValidationError
from skillbelt.sources.paths import shown

__all__ = ["Violation", "pointer", "refused"]

_TOLD = 700
"""Characters of violations in a message; ``details`` has them all."""
_PLACE = 120
_POINTER = 5000
"""Characters of a pointer, in a message and in all; the longest path has 4096 bytes."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a document breaks.

    Attributes:
        path: Where, as a JSON Pointer (RFC 6901); ``""`` is the whole document.
        code: Stable; for the fields of a skill the code of the diagnostic, e.g. ``"name-uppercase"``.
        message: What was found and what was expected.
    """

    path: str
    code: str
    message: str

    def __str__(self) -> str:
        place = self.path if len(self.path) <= _PLACE else f"{self.path[:_PLACE]}…"
        text = f"{place or 'the document'}: {self.message}"
        return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def pointer(*parts: str | int) -> str:
    """Return the JSON Pointer of a place in a document.

    Args:
        parts: Keys and positions from the top down.

    Example:
        >>> pointer("files", "scripts/run.sh", "text")
        '/files/scripts~1run.sh/text'
    """
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    whole = "".join(f"/{part}" for part in escaped)[:_POINTER]
    return whole.encode("utf-8", "backslashreplace").decode()


def refused(
    violations: Iterable[Violation], *, what: str = "The package", reference: str | None = None
) -> PackageValidationError:
    """Return the error for a document that breaks the schema, with every violation in its ``details``.

    Args:
        violations: At least one; told in order.
        what: Subject of the sentence.
        reference: What led to the document, as it was typed.
    """
    found = tuple(violations)
    told, room = 1, _TOLD - len(str(found[0]))
    while told < len(found) and len(str(found[told])) < room:
        room -= len(str(found[told])) + 1
        told += 1
    more = f" There are {len(found) - told} more." if told < len(found) else ""
    subject = what if reference is None else f"{what} {shown(reference)}"
    reasons = " ".join(_cut(str(violation)) for violation in found[:told])
    return PackageValidationError(
        f"{subject} is not valid: {reasons}{more}",
        details={"violations": [asdict(violation) for violation in found]},
        original_reference=reference,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _TOLD else f"{text[: _TOLD - 1]}…"
