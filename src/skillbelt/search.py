"""Which skills fit a query: one protocol and the searcher that needs nothing installed.

The searcher sees level 1 only, names and descriptions, as the model does. It does not decide which skills may
be found (the router passes those), and no answer depends on what it keeps: the index it holds is a cache.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from math import log
from typing import Final, Protocol

from skillbelt.models import Match, SkillSummary

__all__ = ["LexicalSearcher", "Searcher", "keywords", "stem"]


class Searcher(Protocol):
    """Ranks skills for a query. Anything with this method will do: a vector store, a remote index, a fake."""

    def search(self, query: str, skills: Sequence[SkillSummary], *, k: int = 5) -> tuple[Match, ...]:
        """Return the best ``k`` of ``skills``, best first; only those that fit at all.

        Args:
            query: What the user or the model is looking for, in its own words.
            skills: The skills to choose from; a result names no other.
            k: How many at most.
        """
        ...


_NAME_WEIGHT: Final = 3.0
"""How much more a word of the name counts than one of the description: authors choose it to be found by."""

_SATURATION: Final = 1.2
"""BM25's k1: how soon the repetition of a word stops to matter."""

_LENGTH: Final = 0.75
"""BM25's b: how much a long description pays for having more words to be hit by."""

_KEPT: Final = 4
"""Indexes kept at a time: a router and a few views of it share one searcher."""


class LexicalSearcher:
    """BM25 over names and descriptions, with a light English stemmer; no dependency, no setup.

    The first query over a set of skills builds an index; later queries over the same or an equal sequence
    reuse it. The held indexes are one tuple that is replaced as a whole, so threads need no lock: two of them
    may build the same index, none can see half of one.

    Example:
        >>> pdf = SkillSummary(name="pdf-forms", description="Fills PDF forms.")
        >>> mail = SkillSummary(name="mail", description="Writes e-mail.")
        >>> [(m.summary.name, m.why) for m in LexicalSearcher().search("Fill in a form", [pdf, mail])]
        [('pdf-forms', ('fill', 'form'))]
    """

    def __init__(self) -> None:
        self._indexes: tuple[_Index, ...] = ()

    def search(self, query: str, skills: Sequence[SkillSummary], *, k: int = 5) -> tuple[Match, ...]:
        """Return the best ``k`` skills that share a word with ``query``; ties are in order of the name.

        Args:
            query: Free text; filler words are ignored unless there is nothing else.
            skills: The skills to choose from. Passing the same tuple again is fastest.
            k: How many at most; nothing is found for less than one.
        """
        if k < 1 or not skills:
            return ()
        return self._index(skills).search(query, k)

    def _index(self, skills: Sequence[SkillSummary]) -> _Index:
        content = tuple(skills)  # the same object when it is a tuple; comparing looks at identity first
        held = self._indexes
        for index in held:
            if index.skills is content or index.skills == content:
                return index
        index = _Index(content)
        self._indexes = (index, *held[: _KEPT - 1])
        return index


class _Index:
    """For every word, what it adds to the score of each skill that has it. Immutable once built."""

    __slots__ = ("_impacts", "_names", "skills")

    def __init__(self, skills: tuple[SkillSummary, ...]) -> None:
        self.skills = skills
        stems = _Stems()
        names = [[stems[w] for w in _name_words(s.name)] for s in skills]
        descriptions = [[stems[w] for w in _words(s.description) if w.casefold() not in _STOPWORDS] for s in skills]
        self._names: dict[tuple[str, ...], list[int]] = {}
        for i, name in enumerate(names):
            self._names.setdefault(tuple(dict.fromkeys(name)), []).append(i)

        weights: defaultdict[str, dict[int, float]] = defaultdict(dict)
        for field, weight in ((names, _NAME_WEIGHT), (descriptions, 1.0)):
            average = sum(map(len, field)) / len(field) or 1.0
            for i, terms in enumerate(field):
                share = weight / (1 - _LENGTH + _LENGTH * len(terms) / average)
                for term, count in Counter(terms).items():
                    weights[term][i] = weights[term].get(i, 0.0) + share * count
        self._impacts = {
            term: _impacts(having, rarity=log(1 + (len(skills) - len(having) + 0.5) / (len(having) + 0.5)))
            for term, having in weights.items()
        }

    def search(self, query: str, k: int) -> tuple[Match, ...]:
        words = keywords(query)
        scores: dict[int, float] = {}
        for term in words:
            for i, impact in self._impacts.get(term, {}).items():
                scores[i] = scores.get(i, 0.0) + impact
        top = max(scores.values(), default=0.0)
        for i in self._names.get(tuple(_all_keywords(query)), ()):
            scores[i] += top  # a name and nothing else was asked for: no description outranks that
        best = nsmallest(k, scores, key=lambda i: (-scores[i], self.skills[i].name, i))
        return tuple(
            Match(
                summary=self.skills[i],
                score=round(scores[i], 6),
                why=tuple(typed for term, typed in words.items() if i in self._impacts.get(term, {})),
            )
            for i in best
        )


def _impacts(having: dict[int, float], *, rarity: float) -> dict[int, float]:
    return {i: rarity * w * (_SATURATION + 1) / (w + _SATURATION) for i, w in having.items()}


# --- words --------------------------------------------------------------------------------------------------

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han are written without spaces; Hangul words take endings."""

_MARKS: Final = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
"""Vowel signs and accents, which belong to a word although ``\\w`` leaves them out; Indic blocks whole."""

_WORD: Final = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+(?:['\u2019][^\W\d_{_UNSPACED}]+)*"
)
_ASCII_WORD: Final = re.compile(r"[a-zA-Z0-9]+(?:'[a-zA-Z]+)*")
_PARTS: Final = re.compile(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")


def keywords(text: str) -> dict[str, str]:
    """Return the words of ``text`` that say something, as stem to the word as it was written, lower-cased.

    Args:
        text: Any text. One of filler words only keeps them, so that a skill named ``how-to`` can be found.

    Example:
        >>> keywords("How do I fill the Forms?")
        {'fill': 'fill', 'form': 'forms'}
    """
    every = _all_keywords(text)
    telling = {term: typed for term, typed in every.items() if typed.casefold() not in _STOPWORDS}
    return telling or every


def _all_keywords(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in _words(text):
        found.setdefault(stem(word.casefold()), word.lower())
    return found


def _words(text: str) -> Iterator[str]:
    """Yield words in their own case; of a run without spaces every two neighbours (bigrams)."""
    if text.isascii():  # most text, and four times as fast
        yield from _ASCII_WORD.findall(text)
        return
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = match[0]
        if match["run"] is None or len(word) == 1:
            yield word
        else:
            yield from (word[i : i + 2] for i in range(len(word) - 1))


def _name_words(name: str) -> Iterator[str]:
    """Yield a name's words; ``gitHub`` is found as ``github`` and as its parts."""
    for word in _words(name):
        yield word
        parts = _PARTS.findall(word)
        if len(parts) > 1:
            yield from parts


class _Stems(dict[str, str]):
    """Stems of the words met while an index is built: most words come many times."""

    def __missing__(self, word: str) -> str:
        self[word] = term = stem(word.casefold())
        return term


_VOWEL: Final = re.compile("[aeiouy]")
_SHORT: Final = re.compile("[^aeiou][aeiouy][^aeiouwxy]")
_DOUBLED: Final = re.compile(r"([^aeioulsz])\1$")
_ENDINGS: Final = (
    ("ically", 0, 4),
    ("ly", 6, 2),
    ("mentation", 0, 5),
    ("ization", 0, 5),
    ("isation", 0, 5),
    ("tion", 7, 3),
    ("ment", 10, 4),
)
"""Ending, the shortest word it is taken from, and how many letters go; the first that fits is used."""


def stem(word: str) -> str:
    """Return what the inflections of an English word have in common; any other word as it is.

    It is careful rather than complete: a word is left alone where a cut would make it another one. A stem is
    for comparing, not for showing.

    Args:
        word: One case-folded word.

    Example:
        >>> [stem(w) for w in ("forms", "filling", "planned", "queries", "status")]
        ['form', 'fill', 'plan', 'query', 'status']
        >>> stem("summarises") == stem("summarization")
        True
    """
    word = re.sub("['\u2019](?:s$)?", "", word)
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_inflection(_singular(word))
    for ending, shortest, cut in _ENDINGS:
        if word.endswith(ending) and len(word) >= shortest:
            word = word[:-cut]
            break
    if word.endswith("e") and len(word) >= 5:
        word = word[:-1]
    if word.endswith("ysis"):
        return word[:-3] + "z"
    if word.endswith(("is", "ys")) and len(word) >= 6:  # British spelling: organise, analyse
        return word[:-1] + "z"
    return word


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("is") and not word.endswith(("jis", "kis", "lis", "pis", "uis")):  # analysis; but APIs, wikis
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _without_inflection(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing"):
        root = word[:-3]
    elif word.endswith("ed") and not word.endswith("eed"):
        root = word[:-2]
    else:
        return word
    if len(root) < 3 or not _VOWEL.search(root):
        return word
    if _DOUBLED.search(root):
        return root[:-1]
    return root + "e" if len(root) == 3 and _SHORT.fullmatch(root) else root


_STOPWORDS: Final = frozenset(
    """
    a about after all also am an and any anything are as at be because been before being between
    both but by can cannot cant could did do does doesnt doing dont each either else etc ever every
    for from get gets getting give gives go had has have having he help helps her here hers him his
    how i id if ill im in into is isnt it its ive just let lets like me might more most much must my
    need needed needs no not of off on once only or other others our ours out over own per please
    same shall she should so some something such than that thats the their them then there these
    they thing things this those through to too under until up upon us use used user's uses using
    very via want wanted wants was we well were what whats when whenever where whether which while
    who whom whose why will with within without would you your yours
    """.split()
)
"""Words that fill a sentence without telling skills apart; nearly every description says «Use when»."""
