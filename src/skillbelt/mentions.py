r"""Skills a user names in a message: ``/pdf-forms page 3``, read without asking a model.

Only the start of a message counts, and only names that exist: ``/etc/hosts is empty`` stays what it is. Nothing here
loads or runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Mention", "mention"]

_MENTION = re.compile(r"\s*/([^\s/][^\s]{0,199})(?:\s+(.*))?\s*\Z", re.DOTALL)


class Mention(NamedTuple):
    """A skill a user named.

    Attributes:
        name: As the user wrote it, without the slash.
        arguments: What follows it; ``None`` when nothing does.
    """

    name: str
    arguments: str | None


def mention(text: str, known: Callable[[str], bool]) -> Mention | None:
    """Return the skill that a message starts with.

    Args:
        text: What the user wrote.
        known: Whether there is a skill of that name that users may choose.

    Example:
        >>> mention("/pdf-forms page 3", {"pdf-forms"}.__contains__)
        Mention(name='pdf-forms', arguments='page 3')
        >>> mention("/etc/hosts is empty", {"pdf-forms"}.__contains__)
    """
    match = _MENTION.match(text) if text.lstrip()[:1] == "/" else None
    if match is None or not known(match[1]):
        return None
    return Mention(match[1], (match[2] or "").strip() or None)
