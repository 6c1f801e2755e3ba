"""Words made fit to show: on one line, without markup or hidden characters, cut where a reader would.

What a skill says of itself is not to be trusted; these functions are all that stands between it and a prompt, a
terminal or a page.
"""

from __future__ import annotations

import re
from html import escape

__all__ = ["attribute", "estimate_tokens", "fill_slot", "has_hidden", "inline", "shorten"]

# Controls, marks of direction, joiners, selectors and tags; letters and marks that show nothing; half characters.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f]")
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


def has_hidden(text: str) -> bool:
    """Whether a text has characters that show nothing or change how the rest reads.

    Args:
        text: Any text.
    """
    return not text.isascii() and _HIDDEN.search(text) is not None


def _visible(match: re.Match[str]) -> str:
    """Keep a joiner between two visible characters and one selector after a visible one, as emoji have them."""
    text, at = match.string, match.start()
    before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if _SELECTORS.match(match[0]):
        keycap = after == "\u20e3"
        return match[0] if keycap or _shows(before) else "\ufffd"
    if match[0] in _JOINERS:
        base = text[max(0, at - 2) : at - 1] if at and _SELECTORS.match(before) else before
        return match[0] if _shows(base) and _shows(after) else "\ufffd"
    return "\ufffd"


def _shows(char: str) -> bool:
    return bool(char) and not char.isascii() and not _HIDDEN.match(char)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` has: four ASCII characters each, or one other character.

    On the catalogs of the real collections of the corpus extra it is 13 to 26 percent above the o200k tokenizer's
    count; pass a tokenizer to :class:`~skillbelt.render.TokenBudget` for an exact one.

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
    """Put ``block`` where ``base`` says ``{skills}``, else after it; no block leaves ``base`` unchanged (S2-50).

    Args:
        base: The agent's own prompt. A slot inside a catalog it already holds is some description's, and stays.
        block: The skills section, ``""`` without skills.
    """
    own, catalog, rest = base.partition("<available_skills>")
    if "{skills}" in own:
        return own.replace("{skills}", block) + catalog + rest
    if not block:
        return base
    return f"{base}\n\n{block}" if base else block
