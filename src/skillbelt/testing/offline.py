"""A small rule-based «model» for examples, tests and CI without a network. It is no LLM, and says so.

It goes the way a model is meant to go through skills: read the catalog, load the skill that fits, read the
files its instructions mention, answer from them. It ranks by shared words and quotes instead of writing: that
proves how the pieces play together, not how well a real model would choose. It keeps no state and knows no
framework; :mod:`skillbelt.testing.langchain` and :mod:`skillbelt.testing.llama_index` only convert messages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from skillbelt.search import LexicalSearcher, keywords, stem
from skillbelt.testing.conversation import (
    LIST,
    LOAD,
    READ,
    SEARCH,
    Conversation,
    Message,
    OpenSkill,
    Reply,
    ToolCall,
)
from skillbelt.testing.excerpts import best_lines, first_lines, numbered_steps, overlap

__all__ = ["LABEL", "MAX_ROUNDS", "Message", "Reply", "ToolCall", "decide"]

LABEL = "[offline rule-based model, no LLM]"
"""First line of every answer."""

MAX_ROUNDS = 6
"""Rounds of tool calls for one question; then it answers with what it has."""

_FILES = 2
"""Bundled files read for one question."""

_LINES = 12
"""Lines quoted from a skill's instructions."""

_FILE_LINES = 3
"""Lines quoted from a file."""

_ERROR = 300
"""Characters quoted of an error."""

_NAMES = 5
"""Skills named when none fits."""

_Call = tuple[str, dict[str, Any]]


def decide(messages: Sequence[Message], tools: Collection[str]) -> Reply:
    r"""Return the next message of the rule-based model: tool calls, or the answer.

    Args:
        messages: The whole conversation as it was sent, oldest first.
        tools: Names of the tools it may call.

    Example:
        >>> catalog = '<available_skills>\n<skill name="pdf">Fills PDF forms.</skill>\n</available_skills>'
        >>> asked = [Message("system", catalog), Message("user", "Fill in this PDF form")]
        >>> decide(asked, ["load_skill"]).tool_calls
        (ToolCall(id='call_1', name='load_skill', arguments={'name': 'pdf'}),)
    """
    talk = Conversation.read(messages)
    calls = _next_calls(talk, tools) if talk.question and talk.rounds < MAX_ROUNDS else []
    if calls:
        numbered = enumerate(calls, talk.next_id)
        return Reply("", tuple(ToolCall(f"call_{n}", tool, arguments) for n, (tool, arguments) in numbered))
    return Reply("\n".join([LABEL, *_answer(talk, tools)]))


def _next_calls(talk: Conversation, tools: Collection[str]) -> list[_Call]:
    skill = _current(talk)
    calls = _choose(talk, tools) if skill is None else _read(talk, skill)
    return calls if all(tool in tools for tool, _ in calls) else []


# --- which skill -------------------------------------------------------------------------------------------


def _current(talk: Conversation) -> OpenSkill | None:
    """Return the skill to answer with, once its instructions are visible."""
    loads = talk.called(LOAD)
    if loads:
        return talk.skills.get(loads[-1].opened or "")
    best = _best(talk)
    if best is not None:
        return talk.skills.get(best)
    # A follow-up question need not name the subject again.
    latest = next(reversed(list(talk.skills.values())), None)
    return latest if latest and overlap(_telling(talk.question), latest.body) else None


def _choose(talk: Conversation, tools: Collection[str]) -> list[_Call]:
    loads = talk.called(LOAD)
    if loads:  # it failed; one more try if the error proposes another name
        name = loads[-1].suggestion
        return [(LOAD, {"name": name})] if name and len(loads) == 1 else []
    best = _best(talk)
    if best is not None:
        return [(LOAD, {"name": best})]
    if not talk.catalog and LIST in tools and not talk.called(LIST):
        return [(LIST, {})]
    if not talk.complete and SEARCH in tools and not talk.called(SEARCH):
        return [(SEARCH, {"query": " ".join(keywords(talk.question).values())})]
    return []


def _best(talk: Conversation) -> str | None:
    """Return the skill the question asks for: named, else best by shared words, else as searched."""
    said = {word.strip("/:.-") for word in re.split(r"[^\w/:.-]+", talk.question.casefold())}
    names = [s.name for s in talk.catalog if _COMPOUND.search(s.name) and s.name.casefold() in said]
    if names:
        return max(names, key=len)
    telling = _telling(talk.question)
    for match in LexicalSearcher().search(talk.question, talk.catalog, k=20):
        if not telling.isdisjoint(stem(word.casefold()) for word in match.why):
            return match.summary.name
    return next((name for outcome in talk.called(SEARCH) for name in outcome.listed), None)


def _telling(question: str) -> set[str]:
    """Return the stems that say what a question is about; verbs like «make» fit half of all skills."""
    return {term for term, typed in keywords(question).items() if term not in _WEAK and not _LETTER.fullmatch(typed)}


_LETTER = re.compile("[a-z0-9]")
_COMPOUND = re.compile(r"\w[-_:/]\w")

_WEAK = frozenset(
    stem(word)
    for word in """
    add answer ask best better build can change check code create day do example explain file find
    first generate good great guide idea keep kind know list long look make many name new nice
    number part people project provide put question quick really right run see set short show simple
    small start step task tell text today tool try type update way work write
    """.split()
)
"""Stems of words that on their own are no reason to choose a skill."""


# --- which files -------------------------------------------------------------------------------------------


def _read(talk: Conversation, skill: OpenSkill) -> list[_Call]:
    asked = [o for o in talk.called(READ) if o.call.arguments.get("name") == skill.name]
    tried = {str(o.call.arguments.get("path")) for o in asked}
    wanted = _wanted(skill, talk.question)
    paths = [path for path in wanted if path not in tried and (skill.name, path) not in talk.files]
    if not paths and tried <= set(wanted):  # no retry yet
        paths = [o.suggestion for o in asked if o.suggestion and o.suggestion not in tried][:1]
    return [(READ, {"name": skill.name, "path": path}) for path in paths]


def _wanted(skill: OpenSkill, question: str) -> list[str]:
    """Return the text files to read: mentioned in the body, listed, and close to the question."""
    focus = _focus(skill, question)
    mentioned = _mentioned(skill)
    scores = {p: overlap(focus, said) + 2 * overlap(focus, PurePosixPath(p).stem) for p, said in mentioned}
    references = [path for path in scores if path.startswith(("references/", "reference/"))]
    fitting = sorted((p for p in scores if scores[p]), key=lambda p: (-scores[p], p not in references))[:_FILES]
    return [path for path in scores if path in fitting] or references[:1]


def _focus(skill: OpenSkill, question: str) -> set[str]:
    """Return what the question asks beyond the subject: in a PDF skill «pdf» is on every line."""
    telling = _telling(question)
    words = list(keywords(question).values())
    compounds = {stem(one + other) for one, other in pairwise(words)}  # «roll back» asks for rollback.md
    return (telling - keywords(skill.name).keys() or telling) | compounds


def _mentioned(skill: OpenSkill) -> Iterator[tuple[str, str]]:
    """Yield the listed text files that the body mentions, with the sentence, in order of mention."""
    body, found = skill.body, []
    for path in sorted(skill.files, key=len, reverse=True):  # the longest first: it claims its mentions
        base = PurePosixPath(path).name
        unique = sum(PurePosixPath(other).name == base for other in skill.files) == 1
        for spelling in (path, base) if unique else (path,):
            pattern = re.compile(rf"(?<![\w-]){re.escape(spelling)}(?![\w-])")
            mention = pattern.search(body)
            if mention:
                found.append((mention.start(), path))
                body = pattern.sub("\0" * len(spelling), body)
                break
    for start, path in sorted(found):
        if PurePosixPath(path).suffix.lower() in _TEXT_SUFFIXES:
            yield path, _sentence(body, start)


def _sentence(body: str, at: int) -> str:
    """Return the sentence around a mention, within its line; names of files, masked in ``body``, say nothing."""
    before = re.split(r"[.!?]\s+|\n", body[:at])[-1]
    after = re.split(r"[.!?](?:\s+|\Z)|\n", body[at:])[0]
    return f"{before}{after}".replace("\0", " ")


_TEXT_SUFFIXES = frozenset(
    """
    .c .cfg .cpp .css .csv .go .html .ini .j2 .java .jinja .js .json .jsonl .md .mdx .py .r .rb .rs
    .rst .sh .sql .template .tex .tmpl .toml .ts .tsv .txt .xml .yaml .yml
    """.split()
)


# --- the answer --------------------------------------------------------------------------------------------


def _answer(talk: Conversation, tools: Collection[str]) -> list[str]:
    skill = _current(talk)
    lines = _quotes(talk, skill) if skill else [_excuse(talk, tools)]
    for outcome in talk.outcomes:
        if outcome.failed:
            given = ", ".join(f"{key}={value!r}" for key, value in outcome.call.arguments.items())
            said = " ".join(outcome.text.split()) or "nothing"
            said = said if len(said) <= _ERROR else said[:_ERROR] + " …"
            lines += ["", f"Error: {outcome.call.name}({given}) answered: {said}"]
    return lines


def _quotes(talk: Conversation, skill: OpenSkill) -> list[str]:
    focus = _focus(skill, talk.question)
    lines = [f"Skill used: {skill.name}"]
    steps = numbered_steps(skill.body, focus, limit=_LINES)
    fitting = best_lines(skill.body, focus, limit=_LINES - len(steps), skip=steps)
    if not steps and not fitting:
        fitting = first_lines(skill.body, limit=3)
    if steps:
        lines += ["", "Steps:", *steps]
    if fitting:
        lines += ["", "Its instructions say:", *fitting]
    asked = [str(o.call.arguments.get("path")) for o in talk.called(READ)]
    for path in dict.fromkeys([*_wanted(skill, talk.question), *asked]):
        text = talk.files.get((skill.name, path))
        if text is not None:
            prose = PurePosixPath(path).suffix.lower() in (".md", ".mdx", ".rst", ".txt")
            quoted = best_lines(text, focus, limit=_FILE_LINES, prose=prose) or first_lines(text, limit=2, prose=prose)
            lines += ["", f"From {path}:", *quoted]
    return lines


def _excuse(talk: Conversation, tools: Collection[str]) -> str:
    if not talk.question:
        return "There is no question to answer."
    loads = talk.called(LOAD)
    if loads:
        return f"The skill {loads[-1].call.arguments.get('name')!r} could not be loaded."
    best = _best(talk)
    if best is not None:
        why = f"this question took {MAX_ROUNDS} rounds already" if LOAD in tools else f"I have no {LOAD} tool"
        return f"The skill {best!r} fits, but {why}."
    if not talk.catalog:
        return "I was sent no skill catalog, so there is no skill to choose."
    names = [skill.name for skill in talk.catalog]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"No skill in the catalog fits this question. It lists: {', '.join(names[:_NAMES])}{more}."
