"""The bytes of one file, and how a document spells them: as text where that is exact, else as base64 (S2-19)."""

from __future__ import annotations

import base64
import binascii
import unicodedata
from dataclasses import dataclass

from skillbelt.models import JsonValue

__all__ = ["FileContent", "decode_base64", "entry_of", "exact_text"]


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file of a skill.

    Attributes:
        data: Its bytes.
        executable: Whether it has the executable bit.
    """

    data: bytes
    executable: bool = False


def exact_text(data: bytes) -> str | None:
    r"""Return the text that stands for these bytes and no others, ``None`` when there is none.

    Bytes that are no UTF-8 have no text. Text that is not in Unicode's normal form NFC would become that of other
    bytes when the document is brought into its canonical form.

    Args:
        data: Of a file.

    Example:
        >>> exact_text(b"caf\xc3\xa9"), exact_text(b"cafe\xcc\x81"), exact_text(b"caf\xe9")
        ('café', None, None)
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if unicodedata.is_normalized("NFC", text) else None


def entry_of(content: FileContent) -> dict[str, JsonValue]:
    """Return the one entry of a document that stands for a file.

    Args:
        content: The file.

    Example:
        >>> entry_of(FileContent(b"echo hi", executable=True))
        {'text': 'echo hi', 'executable': True}
    """
    text = exact_text(content.data)
    entry: dict[str, JsonValue] = (
        {"base64": base64.b64encode(content.data).decode()} if text is None else {"text": text}
    )
    if content.executable:
        entry["executable"] = True
    return entry


def decode_base64(text: str) -> bytes:
    """Return the bytes of a base64 text in its one spelling.

    Args:
        text: With padding, without white space.

    Raises:
        ValueError: It is none, or another spelling of the same bytes.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64 with its padding and without white space") from None
    if base64.b64encode(data).decode() != text:
        raise ValueError("its last character has bits that mean nothing")
    return data
