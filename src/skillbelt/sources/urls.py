"""URLs, secrets and foreign errors as they may be shown: without users, passwords, queries and options' texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

__all__ = ["Redactor", "Veiled", "public_url"]

_DETAIL = 300
_SHORT = 3
"""Options no longer than this are words such as ``"s3"``; taking them out would only spoil the message."""


def public_url(url: str) -> str:
    """Return a URL, chained or not, without user, password, query and fragment.

    Example:
        >>> public_url("zip://skills::sftp://me:secret@example.com/a.zip?token=1")
        'zip://skills::sftp://example.com/a.zip'
    """
    parts = (_without_user(part) for part in url.split("::"))
    return "::".join(re.split(r"[?#]", part, maxsplit=1)[0] for part in parts)


def _without_user(text: str) -> str:
    return re.sub(r"//[^/\s]*@", "//", text)


class Veiled(str):
    """A secret that a traceback with its local variables, or any other ``repr``, does not show.

    Example:
        >>> {"Authorization": Veiled("Bearer hunter22")}
        {'Authorization': '…'}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


class Redactor:
    """Says what an error says without repeating any text of the options that led to it.

    Args:
        options: What was passed to the library that fails, nested as it may be.

    Example:
        >>> Redactor({"secret": "hunter22"}).line(ValueError("bad key hunter22"))
        'ValueError: bad key …'
    """

    def __init__(self, options: object = None) -> None:
        # A library may show an option whole, escaped, or only the word of it that it stumbled over.
        texts = {form for text in _texts(options) for form in (text, repr(text)[1:-1], *text.split())}
        self._secrets = sorted((text for text in texts if len(text) > _SHORT), key=len, reverse=True)

    def line(self, error: BaseException) -> str:
        """Return the kind of an error and one bounded line of its text; of the system's errors no path."""
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        for secret in self._secrets:
            text = text.replace(secret, "…")
        text = " ".join(_without_user(text).split())[:_DETAIL].rstrip(".")
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
        return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _texts(options: object) -> Iterator[str]:
    if isinstance(options, Mapping):
        for value in options.values():
            yield from _texts(value)
    elif isinstance(options, (list, tuple, set, frozenset)):
        for value in options:
            yield from _texts(value)
    elif isinstance(options, bytes):
        yield from _texts(options.decode("utf-8", "replace"))
    elif isinstance(options, str):
        yield options
