"""The form of agents.yaml as pydantic models; the published JSON Schema is made from them.

Strict: no unknown field, no silent conversion. A model says what one field may hold; what fields have to do with each
other is in :mod:`skillbelt.agents.checks`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

__all__ = [
    "FORMAT",
    "OFFLINE",
    "TYPES",
    "AgentEntry",
    "AgentLimits",
    "AgentsFile",
    "ModelOptions",
    "RegistrySettings",
    "Settings",
    "json_schema",
]

FORMAT = "skillbelt.agents/1"
"""The version of the form, for ``format:``."""

OFFLINE = "offline"
"""The provider that is no LLM and needs no network: :mod:`skillbelt.testing`."""

TYPES = ("llm",)
"""The types of agents there are."""

_DAY = 86_400.0
_MOST = 1 << 40


def _form(pattern: str, expected: str) -> Any:
    """Return the annotations of a text: a check that says what was expected, and the pattern for editors."""

    def check(value: str) -> str:
        if not re.search(pattern, value):
            raise PydanticCustomError("form", "{expected}", {"expected": expected})
        return value

    return AfterValidator(check), Field(json_schema_extra={"pattern": pattern})


Filled = Annotated[str, *_form(r"\S", "some text")]
AgentName = Annotated[
    str,
    *_form(
        "^[A-Za-z][A-Za-z0-9_.-]{0,63}$",
        "a name of an agent: a letter, then letters, digits, '_', '-' and '.', at most 64 together",
    ),
]
Provider = Annotated[
    str, *_form("^[A-Za-z][A-Za-z0-9_-]{0,63}$", "the name of a provider, such as offline, openai or anthropic")
]
Variable = Annotated[
    str, *_form("^[A-Za-z_][A-Za-z0-9_]{0,127}$", "the name of an environment variable, such as ACME_SKILLS_KEY")
]
Url = Annotated[
    str,
    *_form(r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$", "a URL like https://skills.example.com, without user and query"),
]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, protected_namespaces=()
    )


class RegistrySettings(_Model):
    """How one registry is reached; its key in ``registries:`` is what references write before the colon.

    Attributes:
        url: Its address, without credentials. Without one it is ``https://`` and the key.
        api_key_env: The environment variable that holds the key; a file never holds one.
        allow_private: Also ask addresses that are not public, such as loopback.
        default: Whether ``registry:`` and ``ID:`` references go to it.
    """

    url: Url | None = Field(
        None, description="Its address, without credentials. Default: https:// and the key of this entry."
    )
    api_key_env: Variable | None = Field(
        None, description="Name of the environment variable that holds the API key. The file never holds a key."
    )
    allow_private: bool = Field(False, description="Also ask addresses that are not public, such as loopback.")
    default: bool = Field(False, description="Whether registry: and ID: references go to this registry.")


class AgentLimits(_Model):
    """Bounds of one agent; ``None`` takes the one of ``defaults:``, else the library's.

    Attributes:
        model_calls: Calls of the model in one run; 25 when nothing is said.
        deadline: Seconds one run may take; no bound when nothing is said.
        catalog_tokens: Tokens of the catalog of skills in the system prompt; every skill in full when nothing is said.
        output_bytes: Bytes of one skill's text, or of one page of a file, as the model is given it.
        resource_bytes: Bytes of a bundled file that are read at once.

    Example:
        >>> AgentLimits(model_calls=8).model_calls
        8
    """

    model_calls: int | None = Field(None, ge=1, le=1000, description="Calls of the model in one run. Default: 25.")
    deadline: float | None = Field(None, gt=0, le=_DAY, description="Seconds one run may take. Default: no bound.")
    catalog_tokens: int | None = Field(
        None, ge=1, le=_MOST, description="Tokens of the catalog in the system prompt. Default: all skills in full."
    )
    output_bytes: int | None = Field(
        None, ge=1024, le=_MOST, description="Bytes of one skill's text or one page of a file. Default: 262144."
    )
    resource_bytes: int | None = Field(
        None, ge=1, le=_MOST, description="Bytes of a bundled file that are read at once. Default: 1048576."
    )


class ModelOptions(_Model):
    """What a provider's model is made with; the offline model takes none of it.

    Addresses and keys are not options: they come from the environment.

    Attributes:
        temperature: How freely it chooses its words.
        top_p: From how much of the probability it chooses.
        max_tokens: The longest answer.
        seed: For providers that take one.
        timeout: Seconds for one request.
        max_retries: Further tries after a failed request.
        reasoning_effort: How long it thinks, for models that do.
    """

    temperature: float | None = Field(None, ge=0, le=2, description="How freely the model chooses its words.")
    top_p: float | None = Field(None, gt=0, le=1, description="From how much of the probability it chooses.")
    max_tokens: int | None = Field(None, ge=1, description="The longest answer.")
    seed: int | None = Field(None, description="For providers that take one.")
    timeout: float | None = Field(None, gt=0, le=_DAY, description="Seconds for one request.")
    max_retries: int | None = Field(None, ge=0, le=100, description="Further tries after a failed request.")
    reasoning_effort: Filled | None = Field(None, description="How long it thinks, for models that do.")


class Settings(_Model):
    """What ``defaults:`` and every agent may say; lists of an agent replace those of the defaults."""

    provider: Provider | None = Field(
        None, description="Whose model: offline (rules, no LLM) by default, or openai, anthropic, …"
    )
    model: Filled | None = Field(None, description="The model's name, as the provider gives it.")
    system_prompt: str | None = Field(
        None, description="The agent's own prompt. The catalog of its skills stands at {skills}, else after it."
    )
    skills: list[Filled] | None = Field(
        None,
        max_length=1000,
        description="References to skills: host:namespace/name@version, registry:namespace/name, "
        "ID:pkg_skl_… or local:./folder (relative to this file).",
    )
    tools: list[Filled] | None = Field(
        None,
        max_length=1000,
        description="Names of tools that the host passes, or module:attribute where it allows imports.",
    )
    allowed_tools: Literal["advisory", "enforce"] | None = Field(
        None, description="Whether the allowed-tools of skills in use are a hint (advisory) or a fence (enforce)."
    )
    limits: AgentLimits | None = Field(None, description="Bounds of the agent.")
    options: ModelOptions | None = Field(None, description="What the provider's model is made with.")


class AgentEntry(Settings):
    """One agent."""

    type: Literal["llm"] = Field("llm", description="What kind of agent: llm.")
    description: Filled | None = Field(None, description="What it is for, for workflows that hand over to it.")


class AgentsFile(_Model):
    """A file of agents, for skillbelt."""

    format: Literal["skillbelt.agents/1"] | None = Field(None, description="Version of this form.")
    registries: dict[str, RegistrySettings] | None = Field(
        None, description="Registries by the host, or the short name, that references write before the colon."
    )
    defaults: Settings | None = Field(None, description="What agents have that do not say otherwise.")
    agents: dict[AgentName, AgentEntry] = Field(min_length=1, description="The agents by name.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of agents, for editors; it is published with the documentation.

    Example:
        >>> json_schema()["title"]
        'agents.yaml of skillbelt, skillbelt.agents/1'
    """
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"agents.yaml of skillbelt, {FORMAT}"}
    return head | _pruned(AgentsFile.model_json_schema())


def _pruned(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without what pydantic adds and no editor shows: titles, null defaults, long docstrings."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _pruned(inner) for name, inner in value.items()}
        elif key == "description":
            kept[key] = value.partition("\n")[0].replace("``", "")
        elif key != "title" and not (key == "default" and value is None):
            kept[key] = value
    return kept
