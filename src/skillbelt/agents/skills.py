"""The skills of one agent: its references resolved, all of them, when it is built (S2-38, S2-39).

How a reference is resolved is the business of :mod:`skillbelt.packages`. Here the settings of a file become clients,
failures get the lines of the file, and what was loaded is kept as facts for the host (S2-41).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from skillbelt.agents.problems import refusal
from skillbelt.agents.schema import AgentLimits, RegistrySettings
from skillbelt.errors import RegistryError
from skillbelt.events import EventHandler
from skillbelt.limits import MIB
from skillbelt.models import Diagnostic, Resource, ResourceInfo, Skill, SkillSummary
from skillbelt.packages.registry_source import RegistrySource
from skillbelt.parsing import name_key
from skillbelt.render import Renderer, TokenBudget
from skillbelt.router import SkillRouter
from skillbelt.sources.base import Problems, ResourceSource, Versions
from skillbelt.sources.sound import problems_of, versions_of

if TYPE_CHECKING:
    from skillbelt.agents.config import AgentConfig
    from skillbelt.packages.cache import RegistryCache
    from skillbelt.packages.client import RegistryClient
    from skillbelt.packages.registries import Registry

__all__ = ["METADATA", "AgentSkills", "LoadedSkill", "loaded_skills", "open_skills"]

METADATA = "skills"
"""The key of a LangChain agent's metadata that holds its skills."""

_DEFAULT = "registry"


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A skill that an agent was built with (S2-41).

    Attributes:
        name: What the model knows it by.
        reference: What led to it, as it was typed (S2-09).
        id: The id of the package.
        version: The concrete version, of a package that has one.
        integrity: ``sha256-…`` of its content: what to pin.
    """

    name: str
    reference: str
    id: str
    version: str | None
    integrity: str


@dataclass(frozen=True, slots=True)
class AgentSkills:
    """The skills of an agent, resolved.

    Attributes:
        router: Serves them; ``None`` when the agent has no skills.
        loaded: What they are, in the order of the references.
    """

    router: SkillRouter | None = None
    loaded: tuple[LoadedSkill, ...] = ()


def loaded_skills(agent: object) -> tuple[LoadedSkill, ...]:
    """Return the skills that an agent was built with.

    Args:
        agent: What :meth:`~skillbelt.agents.AgentConfig.to_langchain` or
            :meth:`~skillbelt.agents.AgentConfig.to_llama_index` returned.
    """
    kept = getattr(agent, "loaded_skills", None)
    if kept is not None:
        return tuple(kept)
    metadata = (getattr(agent, "config", None) or {}).get("metadata") or {}
    return tuple(LoadedSkill(**facts) for facts in metadata.get(METADATA, ()))


def open_skills(
    config: AgentConfig,
    *,
    registries: Registry = None,
    cache: RegistryCache | None = None,
    on_collision: Literal["first", "error"] = "error",
    on_event: EventHandler | None = None,
    renderer: Renderer | None = None,
    **options: Any,
) -> AgentSkills:
    """Resolve the references of an agent and return its skills.

    Args:
        config: The agent.
        registries: Used instead of those of the file; as for :class:`~skillbelt.packages.RegistrySource`.
        cache: What was fetched before, also by others; without one nothing is kept beyond this call.
        on_collision: ``"first"`` lets the first of two references to skills of one name win.
        on_event: Called with an event for each reference, and with those of the router.
        renderer: Wording and bounds of what the model is given, instead of those of ``limits.output_bytes``.
        **options: For :class:`~skillbelt.SkillRouter`.

    Raises:
        RegistryError: At least one reference failed. It is the error of the first one; its message has a line for each.
        AgentConfigError: A registry cannot be asked as the file says, or two references lead to one name.
    """
    if not config.skills:
        return AgentSkills()
    registry = _registries(config, cached=cache is not None) if registries is None else registries
    try:
        source = RegistrySource(config.skills, registry=registry, cache=cache, base=config.folder)
    except RegistryError as error:
        _locate(config, error)
        raise
    if on_collision == "error":
        _refuse_doubles(config, source)
    loaded = tuple(
        LoadedSkill(
            name=each.package.name,
            reference=each.resolved.reference.text,
            id=str(each.packed.id),
            version=each.resolved.version or each.package.version,
            integrity=each.packed.integrity,
        )
        for each in source.packages
    )
    if on_event is not None:
        for each in source.packages:
            on_event(each.event())
    return AgentSkills(_router(config.limits, source, renderer, on_event, options), loaded)


def _router(
    limits: AgentLimits,
    source: ResourceSource,
    renderer: Renderer | None,
    on_event: EventHandler | None,
    options: dict[str, Any],
) -> SkillRouter:
    if limits.resource_bytes is not None:
        source = _Bounded(source, limits.resource_bytes)
    if renderer is None and limits.output_bytes is not None:
        renderer = Renderer(max_output=limits.output_bytes)
    if limits.catalog_tokens is not None:
        options.setdefault("budget", TokenBudget(limits.catalog_tokens))
    return SkillRouter(source, renderer=renderer, on_event=on_event, **options)


# --- failures with their lines ----------------------------------------------------------------------------------------


def _locate(config: AgentConfig, error: RegistryError) -> None:
    """Put the lines of the file before what is said of its references; the exception stays what it is."""
    places = {reference.text: number for number, reference in reversed([*enumerate(config.skills)])}
    failures = error.details.get("failures") or [{"reference": error.original_reference, "message": error.message}]
    lines = []
    for failure in failures:
        reference, message = str(failure["reference"]), str(failure["message"])
        message = message if reference in message else f"{reference}: {message}"
        number = places.get(reference)
        lines.append(message if number is None else str(config.problem(("skills", number), message)))
    _say(error, "\n".join(lines))


def _say(error: RegistryError, message: str) -> None:
    error.message = message
    error.args = (message,)


def _refuse_doubles(config: AgentConfig, source: RegistrySource) -> None:
    """Refuse two packages of one name: one of them would be lost in silence."""
    first: dict[str, Any] = {}
    problems = []
    for number, each in enumerate(source.packages):
        known = first.setdefault(name_key(each.package.name), each)
        if known.packed.id != each.packed.id:
            problems.append(
                config.problem(
                    ("skills", number),
                    f"This leads to a skill {each.package.name!r}, as {known.resolved.reference.text} does; "
                    "an agent has one skill of a name.",
                )
            )
    if problems:
        raise refusal(problems)


# --- registries -------------------------------------------------------------------------------------------------------


def _registries(config: AgentConfig, *, cached: bool) -> Mapping[str, RegistryClient] | None:
    """Return clients for the registries of the file that its references can lead to.

    Raises:
        AgentConfigError: A reference needs a registry, or a key, that is not there.
    """
    hosts = {reference.host for reference in config.skills}
    schemes = {reference.scheme for reference in config.skills}
    default = next((key for key, settings in config.registries.items() if settings.default), None)
    if default is None and len(config.registries) == 1:
        (default,) = config.registries
    _refuse_homeless(config, default, cached=cached)
    clients: dict[str, RegistryClient] = {}
    for key, settings in config.registries.items():
        wanted = "id" in schemes or ("registry" in schemes and key == default)
        if wanted or hosts & {key, *_hosts_of(settings)}:
            clients[key] = _client(config, key, settings)
    if default in clients:
        clients = {_DEFAULT: clients[default], **clients}
    return clients or None


def _refuse_homeless(config: AgentConfig, default: str | None, *, cached: bool) -> None:
    problems = []
    for number, reference in enumerate(config.skills):
        if reference.scheme == "registry" and default is None:
            message = "This means the default registry, and the file has none; give one 'default: true' in registries."
            problems.append(config.problem(("skills", number), message))
        elif reference.scheme == "id" and not config.registries and not cached:
            message = "This names no registry, and the file has none to look in; add one to registries."
            problems.append(config.problem(("skills", number), message))
    if problems:
        raise refusal(problems)


def _hosts_of(settings: RegistrySettings) -> Iterator[str]:
    if settings.url is not None:
        yield urlsplit(settings.url).netloc.lower()


def _client(config: AgentConfig, key: str, settings: RegistrySettings) -> RegistryClient:
    from skillbelt.packages.client import RegistryClient

    api_key = None
    if settings.api_key_env is not None:
        api_key = os.environ.get(settings.api_key_env) or None
        if api_key is None:
            message = f"The environment variable {settings.api_key_env} is not set; set it to the key of this registry."
            raise refusal([config.problem(("registries", key, "api_key_env"), message)])
    url = settings.url or f"https://{key}"
    try:
        return RegistryClient(url, api_key=api_key, allow_private=settings.allow_private, discover=True)
    except RegistryError as error:
        _say(error, str(config.problem(("registries", key, "url"), error.message)))
        raise


# --- bounded reads ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A source that hands out at most so many bytes of a file at once."""

    source: ResourceSource
    most: int

    def list(self) -> Sequence[SkillSummary]:
        return self.source.list()

    def lookup(self, name: str) -> SkillSummary:
        return self.source.lookup(name)

    def load(self, name: str) -> Skill:
        return self.source.load(name)

    def resources(self, name: str) -> Sequence[ResourceInfo]:
        return self.source.resources(name)

    def read(self, name: str, path: str, *, offset: int = 0, max_bytes: int = MIB) -> Resource:
        return self.source.read(name, path, offset=offset, max_bytes=min(max_bytes, self.most))

    def diagnostics(self) -> Sequence[Diagnostic]:
        return self.source.diagnostics()

    def problems(self) -> Problems:
        return problems_of(self.source)

    def versions(self) -> Versions:
        return versions_of(self.source)
