"""Takes in the body of a response, decoded and bounded: a bomb is noticed one block past the bound."""

from __future__ import annotations

import zlib
from io import BytesIO

from skillbelt.errors import SourceError

__all__ = ["Sink"]

_GZIP = 31


class Sink:
    """Collects decoded bytes up to a bound.

    Args:
        bound: Most decoded bytes.
        encoding: The Content-Encoding header: none or gzip, which is all that is asked for.

    Raises:
        SourceError: Another encoding.

    Example:
        >>> sink = Sink(5, "")
        >>> sink.add(b"hello"), sink.add(b"!"), sink.body()
        (True, False, b'hello')
    """

    def __init__(self, bound: int, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise SourceError(f"The response is encoded as {encoding[:40]!r}, which was not asked for.")
        self._bound = bound
        self._machine = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
        self._fed = False
        self._size = 0
        self._body = BytesIO()

    def add(self, data: bytes) -> bool:
        """Take in a piece.

        Returns:
            Whether it fitted; what is past the bound is dropped.

        Raises:
            SourceError: The compressed data is damaged.
        """
        while data:
            room = self._bound - self._size
            if self._machine is None:
                piece, data = data[: room + 1], b""
            else:
                self._fed = True
                if self._machine.eof:  # gzip may have several members
                    self._machine = zlib.decompressobj(_GZIP)
                try:
                    piece = self._machine.decompress(data, room + 1)
                except zlib.error:
                    raise SourceError("The compressed body of the response is damaged.") from None
                data = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
            self._body.write(piece[:room])
            self._size += len(piece[:room])
            if len(piece) > room:
                return False
        return True

    @property
    def plain(self) -> bool:
        """Whether the body is sent as it is."""
        return self._machine is None

    @property
    def complete(self) -> bool:
        """Whether the compressed data, if any, has come to its end."""
        return self._machine is None or not self._fed or self._machine.eof

    def body(self) -> bytes:
        """Return what was taken in, without copying it."""
        return self._body.getvalue()
