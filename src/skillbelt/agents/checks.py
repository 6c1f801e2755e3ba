"""From a document to its values, or to every problem it has at once, each with its line.

What one field may hold is judged by the models of :mod:`skillbelt.agents.schema`; their findings become sentences
here. What fields have to do with each other is judged here: repeated keys, references, tools, models, registries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from pydantic import BaseModel, ValidationError

from skillbelt.agents.document import Document
from skillbelt.agents.problems import ConfigProblem, Loc, refusal
from skillbelt.agents.schema import (
    OFFLINE,
    TYPES,
    AgentEntry,
    AgentLimits,
    AgentsFile,
    ModelOptions,
    RegistrySettings,
    Settings,
)
from skillbelt.errors import InvalidPackageReferenceError, LimitError, did_you_mean
from skillbelt.packages.references import PackageReference
from skillbelt.parsing.nodes import Mapping, Node, Scalar, Sequence, is_null, type_name
from skillbelt.render import Renderer, TokenBudget

__all__ = ["IMPORTED", "checked"]

IMPORTED = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
"""A tool that is to be imported: ``module:attribute``."""

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_TRUE = ("true", "yes", "on")
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
}


def checked(document: Document) -> AgentsFile:
    """Return the values of a document.

    Raises:
        AgentConfigError: Something is wrong; every problem is named, in the order of the file.
    """
    problems = [*_repeated(document), *_types(document), *_lists(document), *_registries(document)]
    strangers = {("agents", name) for name in _strangers(document)}
    try:
        file = AgentsFile.model_validate(document.value())
    except ValidationError as error:
        # An agent of an unknown type has fields of its own: what is said of them would be noise.
        problems += [_told(document, e) for e in error.errors(include_url=False) if e["loc"][:2] not in strangers]
        problems += _models(document)
    else:
        problems += [*_models(document), *_budgets(document, file)]
        if not problems:
            return file
    raise refusal(problems)


# --- what the models found --------------------------------------------------------------------------------------------


def _told(document: Document, error: Any) -> ConfigProblem:
    """Return one finding of pydantic as a sentence with a place."""
    loc: Loc = tuple(error["loc"])
    kind, context = error["type"], error.get("ctx", {})
    if loc and loc[-1] == "[key]":
        return document.problem(loc[:-1], f"Expected {context['expected']}.", key=True)
    if kind == "extra_forbidden":
        hint = did_you_mean(str(loc[-1]), _known(loc[:-1]), what="fields")
        return document.problem(loc, f"There is no such field here. {hint}", key=True)
    if kind == "missing":
        return document.problem(loc, "This is missing; it must be a mapping of names to agents.")
    found = document.found(loc)
    if kind in _KINDS:
        message = f"Expected {_KINDS[kind]}, not {found}."
        if kind == "string_type" and found.startswith(("the number", "the truth value")):
            message += " Put it in quotes."
        elif kind != "string_type" and found.startswith("the text") and _unquoted(document.node(loc)):
            message += " Write it without quotes."
        return document.problem(loc, message)
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return document.problem(loc, f"Expected a number of {words} {context[key]:g}, not {found}.")
    if kind in ("literal_error", "form"):
        return document.problem(loc, f"Expected {context['expected']}, not {found}.")
    if kind == "too_short":
        return document.problem(loc, "Expected at least one agent.")
    if kind == "too_long":
        return document.problem(loc, f"Expected at most {context['max_length']} entries.")
    return document.problem(loc, f"{error['msg']}.")


def _known(loc: Loc) -> Iterator[str]:
    """Yield the fields of the mapping at a place."""
    model: type[BaseModel] = AgentsFile
    match loc:
        case (*_, "limits"):
            model = AgentLimits
        case (*_, "options"):
            model = ModelOptions
        case ("registries", _):
            model = RegistrySettings
        case ("defaults",):
            model = Settings
        case ("agents", _):
            model = AgentEntry
    yield from model.model_fields


def _unquoted(node: Node | None) -> bool:
    """Whether a quoted text would be a number or a truth value without its quotes."""
    return isinstance(node, Scalar) and node.quoted and bool(re.fullmatch(r"[-+]?[\d.]+|true|false", node.text))


# --- what the models cannot see ---------------------------------------------------------------------------------------


def _repeated(document: Document) -> Iterator[ConfigProblem]:
    for key, at in document.root.repeated:
        line, column = document.place_of(at)
        yield ConfigProblem(document.path, line, column, key[:100], "This key is given twice; keep one of them.")


def _agents(document: Document) -> Iterator[tuple[Loc, Mapping]]:
    """Yield the agents that are mappings."""
    agents = document.node(("agents",))
    for name, node in agents.pairs.items() if isinstance(agents, Mapping) else ():
        if isinstance(node, Mapping):
            yield ("agents", name), node


def _strangers(document: Document) -> Iterator[str]:
    """Yield the names of agents that are of a type nobody knows."""
    for (_, name), node in _agents(document):
        kind = node.pairs.get("type")
        if isinstance(kind, Scalar) and not is_null(kind) and kind.text not in TYPES:
            yield str(name)


def _types(document: Document) -> Iterator[ConfigProblem]:
    for name in _strangers(document):
        loc: Loc = ("agents", name, "type")
        known = " or ".join(map(repr, TYPES))
        yield document.problem(loc, f"There is no such type of agent: {document.found(loc)}. Known: {known}.")


def _lists(document: Document) -> Iterator[ConfigProblem]:
    """Judge every entry of every ``skills:`` and ``tools:``, whatever else is wrong."""
    for loc in (("defaults",), *(loc for loc, _ in _agents(document))):
        for field, judge in (("skills", _reference), ("tools", _tool)):
            node = document.node((*loc, field))
            seen: set[str] = set()
            for number, item in enumerate(node.items if isinstance(node, Sequence) else ()):
                if not _is_text(item):
                    continue
                message = "This is listed twice; keep one." if item.text in seen else judge(item.text)
                seen.add(item.text)
                if message:
                    yield document.problem((*loc, field, number), message)


def _reference(text: str) -> str | None:
    try:
        PackageReference.parse(text)
    except InvalidPackageReferenceError as error:
        return error.message
    return None


def _tool(text: str) -> str | None:
    if ":" in text and not IMPORTED.fullmatch(text):
        return f"Expected the name of a tool, or module:attribute, not {text[:100]!r}."
    return None


def _registries(document: Document) -> Iterator[ConfigProblem]:
    node = document.node(("registries",))
    defaults = []
    for key in node.pairs if isinstance(node, Mapping) else ():
        loc: Loc = ("registries", key)
        if not _is_host(key):
            hint = "a host such as skills.example.com, or a short name such as acme; not ID, local or registry"
            yield document.problem(loc, f"Expected {hint}.", key=True)
        if _plain_http(document, loc):
            message = "Without TLS only loopback can be asked, and only with 'allow_private: true'; use https."
            yield document.problem((*loc, "url"), message)
        default = document.node((*loc, "default"))
        if isinstance(default, Scalar) and default.text.lower() in _TRUE:
            defaults.append(loc)
    for loc in defaults[1:]:
        message = f"Only one registry can be the default, and {defaults[0][1]!r} is it already."
        yield document.problem((*loc, "default"), message)


def _plain_http(document: Document, loc: Loc) -> bool:
    url, private = document.node((*loc, "url")), document.node((*loc, "allow_private"))
    allowed = isinstance(private, Scalar) and private.text.lower() in _TRUE
    return isinstance(url, Scalar) and url.text.startswith("http://") and not allowed


def _is_host(key: str) -> bool:
    """Whether a reference can begin with this and a colon."""
    try:
        return PackageReference.parse(f"{key}:namespace/name").scheme == "host"
    except InvalidPackageReferenceError:
        return False


def _models(document: Document) -> Iterator[ConfigProblem]:
    """Judge which model there is, with the defaults in mind: their model belongs to their provider."""
    base = document.node(("defaults",))
    inherited = _said(base) if isinstance(base, Mapping) else {}
    yield from _model(document, ("defaults",), inherited, inherited)
    for loc, node in _agents(document):
        own = _said(node)
        yield from _model(document, loc, own, inherited)
        provider = own.get("provider") or inherited.get("provider", OFFLINE)
        theirs = inherited.get("model") if provider == inherited.get("provider") else None
        if provider != OFFLINE and "model" not in own and theirs is None:
            where = (*loc, "provider") if "provider" in own else loc
            yield document.problem(where, f"The provider {provider!r} needs a model; add 'model:'.")


def _model(document: Document, loc: Loc, own: dict[str, str], inherited: dict[str, str]) -> Iterator[ConfigProblem]:
    if "model" not in own:
        return
    provider = own.get("provider") or inherited.get("provider")
    if provider is None:
        yield document.problem((*loc, "model"), "A model needs its provider; add 'provider:' beside it.")
    elif provider == OFFLINE:
        message = f"The provider {OFFLINE!r} follows rules and has no models; name another one, or drop 'model:'."
        yield document.problem((*loc, "model"), message)


def _said(node: Mapping) -> dict[str, str]:
    """Return what a mapping says of its model; what is no text says only that it is there."""
    said = {key: node.pairs[key] for key in ("provider", "model") if key in node.pairs}
    return {key: value.text if isinstance(value, Scalar) else "?" for key, value in said.items() if not is_null(value)}


def _is_text(node: Node | None) -> TypeGuard[Scalar]:
    """Whether a value is a text with something in it, so that judging it further makes sense."""
    return isinstance(node, Scalar) and bool(node.text.strip()) and not is_null(node) and type_name(node) == "str"


def _budgets(document: Document, file: AgentsFile) -> Iterator[ConfigProblem]:
    """Judge budgets that no catalog fits into."""
    places: list[tuple[Loc, Settings | None]] = [(("defaults",), file.defaults)]
    places += [(("agents", name), entry) for name, entry in file.agents.items()]
    for loc, entry in places:
        tokens = entry.limits.catalog_tokens if entry and entry.limits else None
        if tokens is not None:
            try:
                Renderer().check(TokenBudget(tokens))
            except LimitError as error:
                yield document.problem((*loc, "limits", "catalog_tokens"), str(error))
