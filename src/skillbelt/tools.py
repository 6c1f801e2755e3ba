"""The upper waist: what a model can call, once, for every framework.

A :class:`ToolSpec` is a name, a description, a pydantic model of its arguments and one synchronous call that gives
text and an artifact. Adapters translate it and add nothing, so each framework sends a model the same bytes.

Who sees a failure is settled here: the errors in :data:`TOLD` are answers to the model (their text says what to do
next); every other exception raises to the caller.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, create_model

from skillbelt.errors import (
    InvalidSkillError,
    LimitError,
    ResourceError,
    ResourceTypeError,
    ScriptError,
    SkillNotFoundError,
    ToolArgumentError,
)
from skillbelt.media import Medium, media_type, whole
from skillbelt.models import SkillSummary
from skillbelt.parsing import name_key
from skillbelt.render import Renderer
from skillbelt.router import SkillRouter
from skillbelt.text import inline, shorten

__all__ = ["TOLD", "ToolResult", "ToolSpec", "failure_text", "skill_tools", "tool_name", "tool_per_skill"]

TOLD: tuple[type[Exception], ...] = (
    SkillNotFoundError,
    InvalidSkillError,
    ResourceError,
    LimitError,
    ScriptError,
    ToolArgumentError,
)
"""Failures that a model can cause or mend: they are told to it; nothing else is."""

_ENUM = 64
_DESCRIPTION = 1024
_FAILURE = 1000
_NAME = 64


class ToolResult(NamedTuple):
    """What a call gives: text for the model, JSON-able facts for the host, and sometimes more than text.

    Attributes:
        text: For the model.
        artifact: For the host.
        media: For models that take pictures and documents, when the host said that its model does.
    """

    text: str
    artifact: dict[str, Any]
    media: tuple[Medium, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool, free of any framework.

    Attributes:
        name: Matches ``^[a-zA-Z0-9_-]{1,64}$``.
        description: At most 1024 characters, which every framework takes.
        args: Model of the arguments; its JSON Schema is what a model is sent.
        run: The work, called with validated arguments.
        read_only: Whether it changes nothing.
        metadata: Facts for the host, e.g. ``{"skill": "mail"}``.
    """

    name: str
    description: str
    args: type[BaseModel]
    run: Callable[..., ToolResult]
    read_only: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def call(self, /, **arguments: Any) -> ToolResult:
        """Validate the arguments and run.

        Args:
            **arguments: As the schema has them.

        Raises:
            ToolArgumentError: An argument is unknown, missing or of the wrong type (S3-61).
        """
        try:
            given = self.args.model_validate(arguments)
        except ValidationError as error:
            raise self.argument_error(error) from error
        return self.run(**{name: getattr(given, name) for name in type(given).model_fields})

    async def acall(self, /, **arguments: Any) -> ToolResult:
        """Call in a thread; a task that is cancelled ends the script it started before it lets go.

        Args:
            **arguments: As the schema has them.
        """
        from skillbelt.running import in_thread

        return await in_thread(self.call, **arguments)

    def argument_error(self, error: ValidationError) -> ToolArgumentError:
        """Return what a model is told when its arguments do not fit the schema.

        Args:
            error: What pydantic found.
        """
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors())
        return ToolArgumentError(
            f"{self.name} was called with arguments it does not take: {problems}. It takes: {self._signature()}."
        )

    def _signature(self) -> str:
        fields = self.args.model_fields.items()
        return ", ".join(f"{name}{'' if f.is_required() else ' (optional)'}" for name, f in fields) or "none"


def failure_text(error: Exception) -> str:
    """Return a failure as a model is told it: bounded, on its own lines, no traceback.

    Args:
        error: One of :data:`TOLD`.
    """
    text = str(error).strip() or type(error).__name__
    return text if len(text) <= _FAILURE else text[: _FAILURE - 1] + "…"


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def skill_tools(
    router: SkillRouter,
    *,
    listing: bool = False,
    media: bool = False,
    unload: bool = False,
    hidden: bool = False,
    scripts: bool | None = None,
) -> tuple[ToolSpec, ...]:
    """Return the tools for a router's skills; none when it has no skills for a model (SPEC-089).

    ``load_skill`` and ``read_skill_resource`` always, ``search_skills`` only when the catalog does not show every
    skill (conflict C15), ``run_skill_script`` only when the router has a runner and a skill has a script. Names are
    those of now: make the tools anew after a reload.

    Args:
        router: Its skills that the model may choose.
        listing: Add ``list_skills``, for hosts that do not put the catalog into the prompt (S3-60).
        media: Hand over pictures and PDF documents as they are, for models that take them as results of tools.
        unload: Add ``unload_skill``, for hosts that keep track of the skills in use.
        hidden: Serve skills as well that their authors keep from the model, for one that a user chose.
        scripts: Whether a skill has a script, where the host knows; ``None`` looks.
    """
    router = router if hidden else router.for_model()
    summaries = router.skills()
    if not summaries:
        return ()
    name = _name_type(summaries)
    specs = [_load_tool(router, name), _read_tool(router, name, media=media)]
    if router.catalog().truncated:
        specs.append(_search_tool(router))
    if listing:
        specs.append(_list_tool(router))
    if router.runs_scripts and (_has_scripts(router, summaries) if scripts is None else scripts):
        specs.append(_run_tool(router, name))
    if unload:
        specs.append(_unload_tool(router, name))
    return tuple(specs)


def tool_per_skill(router: SkillRouter) -> tuple[ToolSpec, ...]:
    """Return one tool for each skill, for small sets: calling it loads the skill.

    Args:
        router: Its skills that the model may choose.
    """
    router = router.for_model()
    taken: dict[str, str] = {}
    specs = []
    for summary in router.skills():
        safe = tool_name(summary.name)
        if taken.setdefault(safe, summary.name) != summary.name:
            safe = _hashed(summary.name)
        specs.append(_single_tool(router, summary, safe))
    return tuple(specs)


def tool_name(name: str) -> str:
    """Return a skill's name as a tool name that every provider takes (S1-57, scenario C05).

    ``/`` becomes ``_S_`` and ``:`` becomes ``_C_``; whatever cannot be turned back from that gets a hash.

    Args:
        name: A skill's name.

    Example:
        >>> tool_name("local/my-skill"), tool_name("pdf")
        ('local_S_my-skill', 'pdf')
    """
    safe = name.replace("/", "_S_").replace(":", "_C_")
    back = safe.replace("_S_", "/").replace("_C_", ":")
    return safe if back == name and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", safe) else _hashed(name)


def _hashed(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    slug = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[: _NAME - 9]
    return f"{slug or 'skill'}-{digest}"


def _name_type(summaries: Sequence[SkillSummary]) -> Any:
    """Return the type of a ``name`` argument: advertised as an enum, judged by the router (SPEC-092).

    A miss must come back with close matches, so the enum is not enforced by the schema's own validation.
    """
    if len(summaries) > _ENUM:
        return Annotated[str, Field(description="Name of a skill, as the catalog gives it.")]
    schema = {"type": "string", "enum": [summary.name for summary in summaries]}
    return Annotated[str, WithJsonSchema(schema), Field(description="Name of a skill, as the catalog gives it.")]


def _load_tool(router: SkillRouter, name: Any) -> ToolSpec:
    def run(name: str, arguments: str | None = None) -> ToolResult:
        activation = router.activate(name, arguments=arguments)
        skill = activation.skill
        text = activation.text + _dead_scripts(router, skill.name)
        artifact = {
            "skill": skill.name,
            "digest": skill.digest,
            "truncated": activation.truncated,
        }
        if skill.frontmatter.allowed_tools:
            artifact["allowed_tools"] = list(skill.frontmatter.allowed_tools)
        if arguments is not None:
            artifact["arguments"] = arguments
        return ToolResult(text, artifact)

    args = create_model(
        "LoadSkillArgs",
        __base__=_Arguments,
        name=(name, ...),
        arguments=(str | None, Field(default=None, description="What the user gave with the skill, if anything.")),
    )
    return ToolSpec(
        "load_skill",
        "Load the instructions of a skill. Call it first when a task matches a skill's description, "
        "then follow what it returns. Nothing is executed.",
        args,
        run,
    )


def _read_tool(router: SkillRouter, name: Any, *, media: bool) -> ToolSpec:
    def run(name: str, path: str, offset: int = 0) -> ToolResult:
        medium = media_type(path)
        if media and medium is not None and offset == 0:
            text, artifact, data = whole(router, name, path, medium)
            return ToolResult(text, artifact, (Medium(medium, data),))
        try:
            resource, text = router.page(name, path, offset=offset)
        except ResourceTypeError as error:
            advice = "Read a text file of the skill instead."
            if medium is not None:
                advice = "You cannot be shown pictures or documents here; tell the user where it is, or go on without."
            raise ResourceTypeError(f"{error} {advice}") from error
        artifact = {
            "skill": name,
            "path": resource.info.path,
            "offset": offset,
            "total": resource.total,
            "truncated": resource.truncated,
            "media_type": resource.media_type,
        }
        return ToolResult(text, artifact)

    args = create_model(
        "ReadSkillResourceArgs",
        __base__=_Arguments,
        name=(name, ...),
        path=(str, Field(description="Path relative to the skill's folder, such as references/guide.md.")),
        offset=(int, Field(default=0, ge=0, description="Byte to start at, to read on in a long file.")),
    )
    return ToolSpec(
        "read_skill_resource",
        "Read a file of a skill that was loaded, by its path relative to the skill's folder. "
        + ("Scripts come back as text." if router.runs_scripts else "Scripts come back as text; they are not run."),
        args,
        run,
    )


def _unload_tool(router: SkillRouter, name: Any) -> ToolSpec:
    def run(name: str) -> ToolResult:
        # Whether it is in use is known to the conversation only; the host that keeps it says so in its answer.
        own = next((s.name for s in router.skills() if name_key(s.name) == name_key(name)), name)
        return ToolResult(router.renderer.unload(own, active=True), {"unloaded": own})

    args = create_model("UnloadSkillArgs", __base__=_Arguments, name=(name, ...))
    return ToolSpec(
        "unload_skill",
        "Put a loaded skill out of use when its task is done, to make room. Its instructions no longer apply.",
        args,
        run,
    )


def _run_tool(router: SkillRouter, name: Any) -> ToolSpec:
    from skillbelt.running import result_text  # only a host that runs scripts needs it

    def run(name: str, path: str, args: Sequence[str] = (), stdin: str | None = None) -> ToolResult:
        result = router.run(name, path, args, stdin=stdin)
        facts = result.model_dump(exclude={"stdout", "stderr", "contents"}, mode="json")
        return ToolResult(result_text(name, path, result), {"skill": name, "path": path, **facts})

    args = create_model(
        "RunSkillScriptArgs",
        __base__=_Arguments,
        name=(name, ...),
        path=(str, Field(description="Path of the script relative to the skill's folder, such as scripts/fill.py.")),
        args=(list[str], Field(default_factory=list, description="Arguments, one string each; no shell reads them.")),
        stdin=(str | None, Field(default=None, description="Text for its standard input, if it reads any.")),
    )
    return ToolSpec(
        "run_skill_script",
        "Run a script of a skill that was loaded and get its exit code, its output and the files it left. "
        "It runs in a working folder of its own, without a shell; its arguments are a list.",
        args,
        run,
        read_only=False,
    )


def _has_scripts(router: SkillRouter, summaries: Sequence[SkillSummary]) -> bool:
    """Whether there is anything to run; of many skills nobody asks each."""
    from skillbelt.running import runnable

    if len(summaries) > _ENUM:
        return True
    for summary in summaries:
        with suppress(InvalidSkillError, SkillNotFoundError, ResourceError):  # it will say so when it is asked for
            if runnable(router.resources(summary.name)):
                return True
    return False


def _dead_scripts(router: SkillRouter, name: str) -> str:
    """Return a note on scripts that must die here, so that a model does not try them."""
    if not router.runs_scripts:
        return ""
    from skillbelt.running import missing_note

    note = missing_note(router.preflight(name))
    return f"\n{note}" if note else ""


def _search_tool(router: SkillRouter) -> ToolSpec:
    def run(query: str) -> ToolResult:
        matches = router.search(query)
        catalog = Renderer().catalog([match.summary for match in matches])
        text = catalog.text or f"No skill fits {inline(query)!r}. Use other words, or go on without a skill."
        return ToolResult(text, {"query": query, "skills": list(catalog.shown)})

    args = create_model(
        "SearchSkillsArgs", __base__=_Arguments, query=(str, Field(description="What the task is about, in words."))
    )
    return ToolSpec(
        "search_skills", "Find skills that the list does not show, with their full descriptions.", args, run
    )


def _list_tool(router: SkillRouter) -> ToolSpec:
    def run() -> ToolResult:
        catalog = router.listing()
        return ToolResult(catalog.text, {"skills": list(catalog.shown), "omitted": list(catalog.omitted)})

    args = create_model("ListSkillsArgs", __base__=_Arguments)
    return ToolSpec(
        "list_skills",
        "List the skills that can be loaded, with what each is for. Call it before a task, to see whether one fits.",
        args,
        run,
    )


def _single_tool(router: SkillRouter, summary: SkillSummary, safe: str) -> ToolSpec:
    def run(arguments: str | None = None) -> ToolResult:
        activation = router.activate(summary.name, arguments=arguments)
        return ToolResult(activation.text, {"skill": summary.name, "digest": activation.skill.digest})

    args = create_model(
        "SkillArgs",
        __base__=_Arguments,
        arguments=(str | None, Field(default=None, description="What the user gave with the skill, if anything.")),
    )
    lead = f"Load the skill {json.dumps(inline(summary.name), ensure_ascii=False)}: "
    description = lead + inline(shorten(summary.description, _DESCRIPTION - len(lead)))
    return ToolSpec(safe, description[:_DESCRIPTION], args, run, metadata={"skill": summary.name})
