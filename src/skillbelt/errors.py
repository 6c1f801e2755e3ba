"""Every exception skillbelt raises, in one tree.

::

    SkillError
    ├── SkillNotFoundError (FileNotFoundError)      no skill of that name; close matches in the message
    │   └── SkillFileNotFoundError                  a path was given and there is no SKILL.md
    ├── InvalidSkillError (ValueError)              the skill exists but cannot be used; see .diagnostics
    │   └── ContentTooLargeError                    it is larger than a limit allows
    ├── ResourceError
    │   ├── ResourceNotFoundError (FileNotFoundError)   the skill has no such file
    │   ├── ResourcePathError (ValueError)              the path may not be used at all
    │   ├── ResourceChangedError                        the skill changed since it was loaded
    │   └── ResourceTypeError                           a directory, FIFO, device; binary where text is asked
    ├── ToolArgumentError (ValueError)              a model called a tool with arguments it does not take
    ├── LimitError (ValueError)                     a bound is not usable, or was passed in STRICT
    ├── SourceError (OSError)                       the place where skills live cannot be read
    ├── CollisionError                              two sources hold one name and that was forbidden
    ├── MissingExtraError (ImportError)             an optional package is not installed
    ├── AgentConfigError (ValueError)               an agents.yaml cannot be used; see .problems
    ├── AgentLimitError                             the run of an agent reached one of its limits
    ├── ScriptError                                 a script of a skill could not be run to its end
    │   ├── ScriptNotAllowedError (PermissionError)     the policy, or a person, said no
    │   └── ScriptTimeoutError (TimeoutError)           it took longer than it may
    └── RegistryError                               a package or its registry; see .details and .original_reference
        ├── PackageNotFoundError (LookupError)          404: there is no such package
        ├── VersionNotFoundError (LookupError)          404: the package has no such version
        ├── InvalidPackageIdError (ValueError)          400: not an id, or not one of a skill
        ├── InvalidPackageReferenceError (ValueError)   400: not a reference
        ├── PackageValidationError (ValueError)         400: the document breaks the package schema; every violation
        ├── AuthenticationRequiredError                 401
        ├── AccessDeniedError (PermissionError)         403
        ├── PackageConflictError                        409: the version exists with other content
        ├── RegistryNetworkError (OSError)              timeout, no connection, 5xx; .status_code and .url
        └── IntegrityError                              content is not what its id or digest says

This module only names failures; it does not decide who sees them. What a model is told and what raises to the
caller is settled in :mod:`skillbelt.tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillbelt.agents.problems import ConfigProblem
    from skillbelt.models import Diagnostic

__all__ = [
    "AccessDeniedError",
    "AgentConfigError",
    "AgentLimitError",
    "AuthenticationRequiredError",
    "CollisionError",
    "ContentTooLargeError",
    "IntegrityError",
    "InvalidPackageIdError",
    "InvalidPackageReferenceError",
    "InvalidSkillError",
    "LimitError",
    "MissingExtraError",
    "PackageConflictError",
    "PackageNotFoundError",
    "PackageValidationError",
    "RegistryError",
    "RegistryNetworkError",
    "ResourceChangedError",
    "ResourceError",
    "ResourceNotFoundError",
    "ResourcePathError",
    "ResourceTypeError",
    "ScriptError",
    "ScriptNotAllowedError",
    "ScriptTimeoutError",
    "SkillError",
    "SkillFileNotFoundError",
    "SkillNotFoundError",
    "SourceError",
    "ToolArgumentError",
    "VersionNotFoundError",
]

_SHOWN = 12
"""How many known names an error message lists before it says how many more there are."""

_LONGEST = 100
_LISTED = 500
"""Characters of one listed name, and of all of them: a message stays short whatever a skill calls its files."""


class SkillError(Exception):
    """Root of everything skillbelt raises on purpose."""

    def __str__(self) -> str:
        # OSError and ImportError print themselves in their own ways; a message is a message.
        return str(self.args[0]) if self.args else ""


class SkillNotFoundError(SkillError, FileNotFoundError):
    """There is no skill of that name (S3-29). The message carries close matches."""


class SkillFileNotFoundError(SkillNotFoundError):
    """A file or folder was named and holds no ``SKILL.md`` (S1-14, S1-30)."""


class InvalidSkillError(SkillError, ValueError):
    """The skill exists but cannot be used (S3-30).

    Args:
        message: One sentence that names the skill and what to do.
        diagnostics: Everything that is wrong with it, each with its own code.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)


class ContentTooLargeError(InvalidSkillError):
    """A SKILL.md, or its frontmatter, is larger than its limit (S3-25, S3-28)."""


class ResourceError(SkillError):
    """Something about a bundled file."""


class ResourceNotFoundError(ResourceError, FileNotFoundError):
    """The skill exists and has no such file (S3-40)."""


class ResourcePathError(ResourceError, ValueError):
    """The path may not be used: absolute, ``..``, a backslash, leaves the skill (S3-34, S3-38, S3-39)."""


class ResourceChangedError(ResourceError):
    """The skill was loaded, then changed: its files are no longer those its instructions speak of (ADR 0020)."""


class ResourceTypeError(ResourceError):
    """Not a regular file, or binary where text was asked for (S3-36, S3-37)."""


class ToolArgumentError(SkillError, ValueError):
    """A tool was called with arguments it does not take (S3-61)."""


class LimitError(SkillError, ValueError):
    """A bound that is not usable, or one that was passed under STRICT (S3-04, S3-23)."""


class SourceError(SkillError, OSError):
    """The place where skills live cannot be read: permission, I/O, a file instead of a folder (S3-21)."""


class CollisionError(SkillError):
    """Two sources hold the same name and ``on_collision="error"`` was asked for (conflict C9)."""


class MissingExtraError(SkillError, ImportError):
    """An optional package is missing; the message is the line that installs it.

    Args:
        what: What needs it, e.g. ``"skillbelt.langchain"``.
        extra: Name of the extra, e.g. ``"langchain"``.
        package: The package to install when it is not part of an extra.
    """

    def __init__(self, what: str, *, extra: str | None = None, package: str | None = None) -> None:
        target = f'"skillbelt[{extra}]"' if extra else str(package)
        super().__init__(f"{what} needs a package that is not installed. Install it with: pip install {target}")


class AgentConfigError(SkillError, ValueError):
    """A file of agents cannot be used, or what it names is not there when an agent is built.

    Args:
        message: One sentence, or one line for each problem.
        problems: Everything that is wrong, each with its line.
    """

    def __init__(self, message: str, problems: Sequence[ConfigProblem] = ()) -> None:
        super().__init__(message)
        self.problems: tuple[ConfigProblem, ...] = tuple(problems)


class AgentLimitError(SkillError):
    """The run of an agent was ended because it reached one of its limits.

    Args:
        message: One sentence that names the limit and how to raise it.
        limit: Name of the limit, e.g. ``"model_calls"``.
        allowed: Its value.
    """

    def __init__(self, message: str, *, limit: str, allowed: float) -> None:
        super().__init__(message)
        self.limit = limit
        self.allowed = allowed


class ScriptError(SkillError):
    """A script of a skill could not be run to its end; what it printed is in its result, not here."""


class ScriptNotAllowedError(ScriptError, PermissionError):
    """The host's policy, or a person who was asked, refused the run."""


class ScriptTimeoutError(ScriptError, TimeoutError):
    """A script took longer than it may and was ended."""


class RegistryError(SkillError):
    """Something about a package, a reference to one, or the registry it lives in (S2-29, S2-30).

    Args:
        message: One sentence that says what to do.
        details: JSON-able facts, e.g. every violation of a document.
        original_reference: The reference as the user typed it, when one led here (S2-09).
    """

    def __init__(
        self, message: str, *, details: Mapping[str, Any] | None = None, original_reference: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, Any] = dict(details or {})
        self.original_reference = original_reference


class PackageNotFoundError(RegistryError, LookupError):
    """The registry has no such package (404)."""


class VersionNotFoundError(RegistryError, LookupError):
    """The package exists and has no such version (404)."""


class InvalidPackageIdError(RegistryError, ValueError):
    """Not a package id, or the id of something that is no skill (400; S2-02, S2-03)."""


class InvalidPackageReferenceError(RegistryError, ValueError):
    """Not a reference; the message says what was expected (400; S2-10)."""


class PackageValidationError(RegistryError, ValueError):
    """A document breaks the package schema; ``details["violations"]`` lists every one (400; S2-22)."""


class AuthenticationRequiredError(RegistryError):
    """The registry wants an API key (401)."""


class AccessDeniedError(RegistryError, PermissionError):
    """The API key does not admit this (403)."""


class PackageConflictError(RegistryError):
    """The version exists already with other content (409)."""


class RegistryNetworkError(RegistryError, OSError):
    """No usable answer: timeout, no connection, refused address, 5xx (S2-30).

    Args:
        message: One sentence.
        status_code: HTTP status, when there was an answer.
        url: What was asked, without credentials.
        details: As for :class:`RegistryError`.
        original_reference: As for :class:`RegistryError`.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        url: str | None = None,
        details: Mapping[str, Any] | None = None,
        original_reference: str | None = None,
    ) -> None:
        super().__init__(message, details=details, original_reference=original_reference)
        self.status_code = status_code
        self.url = url


class IntegrityError(RegistryError):
    """Content is not what its id or digest says (S2-33)."""


def did_you_mean(name: str, known: Iterable[str], *, what: str = "skills") -> str:
    """Return the closing words of a «not found» message: close matches, else what there is.

    Args:
        name: What was asked for.
        known: What exists, in display order.
        what: Noun for the listing.

    Returns:
        A sentence, or ``""`` when nothing exists.

    Example:
        >>> did_you_mean("pdf-procesing", ["pdf-processing", "mail"])
        "Did you mean 'pdf-processing'?"
        >>> did_you_mean("zebra", ["mail", "pdf"])
        'Available skills: mail, pdf.'
    """
    names = list(known)
    lowered = {n.casefold(): n for n in reversed(names)}
    close = [lowered[c] for c in get_close_matches(name.casefold()[:200], list(lowered), n=3, cutoff=0.6)]
    if close:
        return f"Did you mean {' or '.join(repr(c[:_LONGEST]) for c in close)}?"
    if not names:
        return f"There are no {what}."
    shown = [_plain(known) for known in names[:_SHOWN]]
    while sum(map(len, shown)) > _LISTED:
        shown.pop()
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"Available {what}: {', '.join(shown)}{more}."


def _plain(name: str) -> str:
    """Return a name as a sentence can hold it: the names of files are their authors' words, not ours."""
    return name if len(name) <= _LONGEST and name.isprintable() else repr(name[:_LONGEST])
