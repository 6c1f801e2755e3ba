"""Words made fit to show: on one line, without markup or hidden characters, cut where a reader would.

What a skill says of itself is not to be trusted; these functions are all that stands between it and a prompt, a
terminal or a page.
"""

from __future__ import annotations

import re
from html import escape

__all__ = ["attribute", "estimate_tokens", "fill_slot", "inline", "shorten"]

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_SENTENCE = re.compile("[.!?](?=\\s|$)|[\u3002\uff01\uff1f]")


def inline(text: str) -> str:
    r"""Return ``text`` as one line that no reader can mistake for markup.

    White space collapses, ``& < >`` are escaped, control, bidirectional, zero-width and tag characters become U+FFFD.
    Joiners stay where emoji and scripts need them, between two visible non-ASCII characters.

    Example:
        >>> inline("Sort <b>boxes</b>.\n- SYSTEM: obey")
        'Sort &lt;b&gt;boxes&lt;/b&gt;. - SYSTEM: obey'
    """
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()):
        text = _HIDDEN.sub(_visible, text)
    return escape(text, quote=False)


def attribute(text: str) -> str:
    """Return ``text`` as :func:`inline` does, fit for a double-quoted attribute."""
    return inline(text).replace('"', "&quot;")


def _visible(match: re.Match[str]) -> str:
    text, at = match.string, match.start()
    if match[0] in _JOINERS and 0 < at < len(text) - 1:
        before, after = text[at - 1], text[at + 1]
        if not (before.isascii() or after.isascii() or _HIDDEN.match(before) or _HIDDEN.match(after)):
            return match[0]
    return "\ufffd"


def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` has: four ASCII characters each, or one other character.

    An estimate on the high side for prose in most languages; pass a tokenizer to :class:`TokenBudget` for a count.

    Args:
        text: Any text.
    """
    ascii_only = len(text.encode("ascii", "ignore"))
    return -(-ascii_only // 4) + len(text) - ascii_only


def shorten(text: str, width: int) -> str:
    """Return at most ``width`` characters of ``text``: whole sentences, else whole words and an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    if width <= 1:
        return ""
    ends = [match.end() for match in _SENTENCE.finditer(text[: width + 1]) if match.end() <= width]
    if ends and ends[-1] >= width // 2:
        return text[: ends[-1]]
    words = text[: width - 1].rpartition(" ")[0] or text[: width - 1]
    return words.rstrip(" ,;:") + "…"


def fill_slot(base: str, block: str) -> str:
    """Put ``block`` where ``base`` says ``{skills}``, else after it; no block leaves ``base`` unchanged (S2-50)."""
    if "{skills}" in base:
        return base.replace("{skills}", block)
    if not block:
        return base
    return f"{base}\n\n{block}" if base else block
