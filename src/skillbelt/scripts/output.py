"""What a script prints, kept within a bound while it prints: both ends stay, secrets do not.

Twenty megabytes of output cost as much memory as the bound. Nothing is cut inside a secret, and none is missed
because it came in two pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

__all__ = ["Capture", "Redactor"]

_SHORTEST = 4
"""A secret of fewer characters would take half of the output with it."""

_LINE = 4000
_STARS = b"[secret]"


class Redactor:
    """Takes secrets out of a stream of bytes, whatever pieces it comes in.

    Args:
        secrets: The values; those of fewer than four characters are left.

    Example:
        >>> redactor = Redactor(["hunter22"])
        >>> redactor.feed(b"the key is hunt"), redactor.feed(b"er22!"), redactor.flush()
        (b'the key is ', b'[secret]!', b'')
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form.encode("utf-8", "surrogateescape") for secret in secrets for form in _forms(secret)}
        ordered = sorted(forms, key=len, reverse=True)
        self._forms = ordered
        self._pattern = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on; the beginning of what may be a secret is held back.

        Args:
            data: The next piece.
        """
        if self._pattern is None:
            return data
        text = self._pattern.sub(_STARS, self._held + data)
        hold = self._may_begin(text)
        self._held = text[len(text) - hold :] if hold else b""
        return text[: len(text) - hold] if hold else text

    def flush(self) -> bytes:
        """Return what was held back: the stream has ended."""
        held, self._held = self._held, b""
        return held

    def text(self, text: str) -> str:
        """Return a text without the secrets.

        Args:
            text: Any text, such as a message.
        """
        if self._pattern is None:
            return text
        data = text.encode("utf-8", "surrogateescape")
        return self._pattern.sub(_STARS, data).decode("utf-8", "replace")

    def _may_begin(self, text: bytes) -> int:
        """Return how many bytes at the end may be the beginning of a secret."""
        longest = 0
        for form in self._forms:
            tail = text[-(len(form) - 1) :] if len(form) > 1 else b""
            while len(tail) > longest:
                if form.startswith(tail):
                    longest = len(tail)
                    break
                tail = tail[1:]
        return longest


def _forms(secret: str) -> set[str]:
    """Return how a secret may be written: as it is, and as part of an address."""
    if len(secret) < _SHORTEST:
        return set()
    return {secret, quote(secret, safe="")}


class Capture:
    """One output stream, bounded.

    Args:
        bound: Bytes that are kept.
        redactor: Takes the secrets out first.
        hear: Called with each line, as text without its end, until the bound is reached.
    """

    def __init__(self, bound: int, redactor: Redactor, hear: Callable[[str], None] | None = None) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._keep = bound // 2
        self._redactor = redactor
        self._hear = hear
        self._told = 0
        self._bound = bound
        self._line = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        self._take(self._redactor.feed(data))

    def close(self) -> None:
        """Say that nothing more comes."""
        self._take(self._redactor.flush())
        if self._line:
            self._say(bytes(self._line))
            self._line.clear()

    @property
    def truncated(self) -> bool:
        """Whether something in the middle is missing."""
        return self.total > self._bound

    def text(self) -> str:
        """Return what was kept; a cut is marked, with both sizes."""
        if not self.truncated:
            return _decoded(bytes(self._head + self._tail))
        tail = bytes(self._tail[len(self._tail) - self._keep :])
        marker = f"\n[output cut: {self._bound} of {self.total} bytes are shown, the beginning and the end]\n"
        return _decoded(bytes(self._head), end=True) + marker + _decoded(tail, begin=True)

    def _take(self, data: bytes) -> None:
        if not data:
            return
        self.total += len(data)
        if self._hear is not None:
            self._split(data)
        room = self._bound - self._keep - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data and self._keep:
            self._tail += data[-self._keep :]
            if len(self._tail) > 2 * self._keep + 4096:  # not at every piece: moving the rest costs a copy
                del self._tail[: len(self._tail) - self._keep]

    def _split(self, data: bytes) -> None:
        if self._told > self._bound:
            return
        self._line += data
        while self._told <= self._bound:
            at = self._line.find(b"\n", 0, _LINE + 1)
            if at < 0:
                if len(self._line) <= _LINE:
                    return
                at = _LINE
            line = bytes(self._line[:at])
            del self._line[: at + 1 if self._line[at : at + 1] == b"\n" else at]
            self._say(line.removesuffix(b"\r"))
        self._line.clear()

    def _say(self, line: bytes) -> None:
        if self._hear is not None and self._told <= self._bound:
            self._told += len(line) + 1
            self._hear(line.decode("utf-8", "replace"))


def _decoded(data: bytes, *, begin: bool = False, end: bool = False) -> str:
    """Return bytes as text; a character that the cut went through is left out, other bad bytes become U+FFFD."""
    if begin:
        data = data[:3].lstrip(bytes(range(0x80, 0xC0))) + data[3:]
    text = data.decode("utf-8", "replace")
    return text.rstrip("\ufffd") if end else text
