"""What the checks of a source stand on: the hooks its author fills in, sample skills, and ways to be wrong.

No test framework is imported: a check fails with ``AssertionError`` and is left out with ``unittest.SkipTest``, which
unittest and pytest both report with its reason. ``assert`` is not used, for ``python -O`` would make every check pass.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar
from unittest import SkipTest

from skillbelt.errors import SourceError
from skillbelt.models import Diagnostic, SkillSummary
from skillbelt.sources import ResourceSource

__all__ = [
    "BROKEN",
    "CALLS",
    "FILES",
    "RULES",
    "SECRET",
    "Hooks",
    "holds",
    "joined",
    "names",
    "polite",
    "raises",
    "refused",
    "reported",
    "same",
    "skill_file",
]

_E = TypeVar("_E", bound=BaseException)

_MESSAGE = 1024
"""Bytes of an error message or a diagnostic: it may be shown to a model."""

_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# --- sample skills --------------------------------------------------------------------------------------------------


def skill_file(name: str, *, description: str | None = None, body: str = "Begin.\n", more: str = "") -> bytes:
    """Return the bytes of a SKILL.md."""
    return f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n{more}---\n{body}".encode()


RULES = b"Receipts go to Money.\n"
SECRET = b"CANARY-5f1d: only the skill pdf may show this.\n"

FILES: MappingProxyType[str, bytes] = MappingProxyType(
    {
        "mail/SKILL.md": skill_file("mail", description="Sorts mail.", more="metadata:\n  version: '1.10'\n"),
        "mail/references/rules.md": RULES,
        "mail/references.md": b"Not the folder.\n",
        "mail/scripts/sort.py": b"print('sorted')\n",
        "mail/assets/logo.bin": b"\x89\x00\xff",
        "mail/examples/deep/more.csv": b"a,b\r\n",
        "mail/notes.txt": b"loose",
        "pdf/SKILL.md": skill_file("pdf", description="Fills forms.", body="Fill.\n"),
        "pdf/references/secret.md": SECRET,
    }
)
"""Two skills; the file that only ``pdf`` may show is what every trick in this suite is after."""

BROKEN: MappingProxyType[str, bytes] = MappingProxyType(
    {
        "empty-file": b"",
        "no-frontmatter": b"Begin.\n",
        "never-closed": b"---\nname: never-closed\ndescription: Goes on.\n",
        "no-description": b"---\nname: no-description\n---\nBegin.\n",
        "a-list": b"---\n- name\n- description\n---\nBegin.\n",
        "bad-yaml": b"---\nname: [\n---\nBegin.\n",
        "binary": bytes(range(256)),
    }
)
"""SKILL.md files that no profile can use, by folder."""

CALLS: MappingProxyType[str, Callable[[ResourceSource, Any], Any]] = MappingProxyType(
    {
        "lookup": lambda source, name: source.lookup(name),
        "load": lambda source, name: source.load(name),
        "resources": lambda source, name: source.resources(name),
        "read": lambda source, name: source.read(name, "SKILL.md"),
    }
)
"""Everything that can be asked of one skill."""


# --- hooks ----------------------------------------------------------------------------------------------------------


class Hooks:
    """What the author of a source fills in.

    Each attribute says that the source can do something. Set one to ``False`` and its checks are reported as skipped,
    with the reason; left ``True`` without its hook, they fail.

    Attributes:
        takes_profile: ``make`` takes ``profile=``.
        takes_limits: ``make`` takes ``limits=``.
        holds_links: The place can hold symbolic links; see :meth:`make_linked`.
        writable: What the place holds can change; see :meth:`change`.
        may_be_empty: A place without any skill is empty and not an error.
    """

    takes_profile: bool = True
    takes_limits: bool = True
    holds_links: bool = True
    writable: bool = True
    may_be_empty: bool = True

    def make(self, files: Mapping[str, bytes], **options: Any) -> ResourceSource:
        """Return a new source that holds exactly these files.

        Args:
            files: Content by path, e.g. ``"mail/SKILL.md"``: the first part is the skill's folder.
            **options: ``profile`` and ``limits``, each only if the class says that it is taken.
        """
        raise NotImplementedError("Override make(files, **options): return a source that holds exactly these files.")

    def make_linked(self, files: Mapping[str, bytes], links: Mapping[str, str]) -> ResourceSource:
        """Return a new source that holds these files and symbolic links.

        Args:
            files: As for :meth:`make`.
            links: For the path of each link, where it leads, as it stands in the link.
        """
        raise NotImplementedError("Override make_linked(files, links), or say holds_links = False.")

    def change(self, source: ResourceSource, files: Mapping[str, bytes]) -> None:
        """Make the place of a source that :meth:`make` gave hold exactly these files from now on."""
        raise NotImplementedError("Override change(source, files), or say writable = False.")

    def name(self, folder: str) -> str:
        """Return what the source calls the skill of a folder; override it when that is not the folder's name."""
        return folder

    def left_out(self, reason: str) -> SkipTest:
        """Return what to raise when a source cannot do what is checked."""
        return SkipTest(f"NOT CHECKED for {type(self).__name__}: {reason}")


# --- checks ---------------------------------------------------------------------------------------------------------


def holds(condition: object, message: str) -> None:
    """Fail with a message unless a condition is true."""
    if not condition:
        raise AssertionError(message)


def same(actual: object, expected: object, what: str) -> None:
    """Fail unless two values are equal."""
    if actual != expected:
        raise AssertionError(f"{what} must be {_short(expected)}, not {_short(actual)}.")


def raises(
    kind: type[_E],
    what: str,
    call: Callable[..., object],
    *args: object,
    but: type[BaseException] | None = None,
    **options: object,
) -> _E:
    """Return the error of a call; fail when there is none, another one, or one that is not fit to be shown.

    Args:
        kind: What must be raised.
        what: Names the call.
        call: What is called.
        *args: With what.
        but: What the error may not be at the same time.
        **options: With what.
    """
    try:
        answer = call(*args, **options)
    except kind as error:
        if but is not None and isinstance(error, but):
            raise AssertionError(
                f"{what} raises {type(error).__name__}, which must not be a {but.__name__}."
            ) from error
        polite(str(error), f"The message of {what}")
        return error
    except Exception as error:
        raise AssertionError(f"{what} must raise {kind.__name__}, not {type(error).__name__}: {error}.") from error
    raise AssertionError(f"{what} must raise {kind.__name__}; it gave {_short(answer)}.")


def polite(text: object, what: str) -> None:
    """Fail unless a text can be shown to a person and to a model: short, no control or bidirectional characters."""
    if not isinstance(text, str) or not text.strip():
        raise AssertionError(f"{what} is empty; it must say what is wrong.")
    size = len(text.encode("utf-8", "surrogatepass"))
    holds(size <= _MESSAGE, f"{what} has {size} bytes, more than {_MESSAGE}: {_short(text)}.")
    bad = sorted({char for char in text if unicodedata.category(char) in ("Cc", "Cs") or char in _BIDI})
    holds(not bad, f"{what} holds characters that must not be shown, {bad}: {_short(text)}.")


def names(source: ResourceSource) -> list[str]:
    """Return the names a source lists, each of a real summary."""
    listed = list(source.list())
    for summary in listed:
        holds(isinstance(summary, SkillSummary), f"list() gave {type(summary).__name__}, not SkillSummary.")
    return [summary.name for summary in listed]


def reported(source: ResourceSource) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a source, each of them complete."""
    found = tuple(source.diagnostics())
    for diagnostic in found:
        holds(isinstance(diagnostic, Diagnostic), f"diagnostics() gave {_short(diagnostic)}, which is no Diagnostic.")
        holds(diagnostic.code.strip(), f"A diagnostic has no code: {diagnostic}.")
        holds(diagnostic.severity in ("error", "warning", "info"), f"A diagnostic has no severity: {diagnostic}.")
        polite(diagnostic.message, f"The message of the diagnostic {diagnostic.code}")
    return found


def refused(source: ResourceSource, name: str) -> bool:
    """Whether a source refuses its whole place, as one of archives may; then it says why and serves nothing."""
    try:
        source.list()
    except SourceError as error:
        polite(str(error), "The message of list() of a place that is refused")
        raises(SourceError, f"load({name!r}) from a place that is refused", source.load, name)
        holds(any(d.severity == "error" for d in reported(source)), "A place is refused and no diagnostic says why.")
        return True
    return False


def joined(source: ResourceSource, name: str, path: str, *, page: int | None = None) -> bytes:
    """Return a whole file, read in pages of at most ``page`` bytes; every page must say truly whether more follows."""
    whole = b""
    for number in _pages():
        options = {} if page is None else {"max_bytes": page}
        part = source.read(name, path, offset=len(whole), **options)
        what = f"Page {number} of {path!r}"
        holds(isinstance(part.data, bytes), f"{what} is {type(part.data).__name__}; a file is bytes.")
        holds(page is None or len(part.data) <= page, f"{what} has {len(part.data)} bytes; {page} were asked for.")
        same(part.offset, len(whole), f"{what}: its offset")
        whole += part.data
        same(
            part.truncated, len(whole) < part.total, f"{what}: truncated, with {len(whole)} of {part.total} bytes read,"
        )
        if not part.truncated:
            break
        holds(part.data, f"{what} is empty although more follows.")
    return whole


def _pages() -> Iterator[int]:
    for number in count(1):
        holds(number <= 10_000, "A file has no last page.")
        yield number


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:200]} … {text[-60:]} ({len(text)} characters)"
