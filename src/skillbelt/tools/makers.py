"""The tools themselves: one function for each, from a router to a :class:`~skillbelt.tools.ToolSpec`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, create_model

from skillbelt.errors import InvalidSkillError, ResourceError, ResourceTypeError, SkillNotFoundError
from skillbelt.media import Medium, media_type, whole
from skillbelt.models import Activation, SkillSummary
from skillbelt.parsing import name_key
from skillbelt.render import Renderer
from skillbelt.router import SkillRouter
from skillbelt.text import inline, shorten
from skillbelt.tools.spec import Arguments, ToolResult, ToolSpec

_ENUM = 64
_DESCRIPTION = 1024


def name_type(summaries: Sequence[SkillSummary]) -> Any:
    """Return the type of a ``name`` argument: advertised as an enum, judged by the router (SPEC-092).

    A miss must come back with close matches, so the enum is not enforced by the schema's own validation.

    Args:
        summaries: The skills.
    """
    if len(summaries) > _ENUM:
        return Annotated[str, Field(description="Name of a skill, as the catalog gives it.")]
    schema = {"type": "string", "enum": [summary.name for summary in summaries]}
    return Annotated[str, WithJsonSchema(schema), Field(description="Name of a skill, as the catalog gives it.")]


def load_tool(router: SkillRouter, name: Any) -> ToolSpec:
    """Return ``load_skill``.

    Args:
        router: The skills.
        name: Type of its ``name`` argument.
    """

    def run(name: str, arguments: str | None = None) -> ToolResult:
        activation = router.activate(name, arguments=arguments)
        text = activation.text + _dead_scripts(router, activation.skill.name)
        return ToolResult(text, _facts(activation, arguments))

    args = create_model(
        "LoadSkillArgs",
        __base__=Arguments,
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


def read_tool(router: SkillRouter, name: Any, *, media: bool) -> ToolSpec:
    """Return ``read_skill_resource``.

    Args:
        router: The skills.
        name: Type of its ``name`` argument.
        media: Whether pictures and documents are handed over as they are.
    """

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
            "skill_digest": router.digest(name),
        }
        return ToolResult(text, artifact)

    args = create_model(
        "ReadSkillResourceArgs",
        __base__=Arguments,
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


def unload_tool(router: SkillRouter, name: Any) -> ToolSpec:
    """Return ``unload_skill``.

    Args:
        router: The skills.
        name: Type of its ``name`` argument.
    """

    def run(name: str) -> ToolResult:
        # Whether it is in use is known to the conversation only; the host that keeps it says so in its answer.
        own = next((s.name for s in router.skills() if name_key(s.name) == name_key(name)), name)
        return ToolResult(router.renderer.unload(own, active=True), {"unloaded": own})

    args = create_model("UnloadSkillArgs", __base__=Arguments, name=(name, ...))
    return ToolSpec(
        "unload_skill",
        "Put a loaded skill out of use when its task is done, to make room. Its instructions no longer apply.",
        args,
        run,
    )


def run_tool(router: SkillRouter, name: Any) -> ToolSpec:
    """Return ``run_skill_script``.

    Args:
        router: The skills; it has a runner.
        name: Type of its ``name`` argument.
    """
    from skillbelt.running import result_text  # only a host that runs scripts needs it

    def run(name: str, path: str, args: Sequence[str] = (), stdin: str | None = None) -> ToolResult:
        result = router.run(name, path, args, stdin=stdin)
        facts = result.model_dump(exclude={"stdout", "stderr", "contents"}, mode="json")
        return ToolResult(result_text(name, path, result), {"skill": name, "path": path, **facts})

    args = create_model(
        "RunSkillScriptArgs",
        __base__=Arguments,
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


def has_scripts(router: SkillRouter, summaries: Sequence[SkillSummary]) -> bool:
    """Whether there is anything to run; of many skills nobody asks each.

    Args:
        router: The skills; it has a runner.
        summaries: Those of them that a model may choose.
    """
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


def search_tool(router: SkillRouter) -> ToolSpec:
    """Return ``search_skills``.

    Args:
        router: The skills.
    """

    def run(query: str) -> ToolResult:
        matches = router.search(query)
        catalog = Renderer().catalog([match.summary for match in matches])
        text = catalog.text or f"No skill fits {inline(query)!r}. Use other words, or go on without a skill."
        return ToolResult(text, {"query": query, "skills": list(catalog.shown)})

    args = create_model(
        "SearchSkillsArgs", __base__=Arguments, query=(str, Field(description="What the task is about, in words."))
    )
    return ToolSpec(
        "search_skills", "Find skills that the list does not show, with their full descriptions.", args, run
    )


def list_tool(router: SkillRouter) -> ToolSpec:
    """Return ``list_skills``.

    Args:
        router: The skills.
    """

    def run() -> ToolResult:
        catalog = router.listing()
        return ToolResult(catalog.text, {"skills": list(catalog.shown), "omitted": list(catalog.omitted)})

    args = create_model("ListSkillsArgs", __base__=Arguments)
    return ToolSpec(
        "list_skills",
        "List the skills that can be loaded, with what each is for. Call it before a task, to see whether one fits.",
        args,
        run,
    )


def _facts(activation: Activation, arguments: str | None) -> dict[str, Any]:
    """Return what a host is told of a skill that was loaded."""
    skill = activation.skill
    facts: dict[str, Any] = {"skill": skill.name, "digest": skill.digest, "truncated": activation.truncated}
    if skill.frontmatter.allowed_tools:
        facts["allowed_tools"] = list(skill.frontmatter.allowed_tools)
    if arguments is not None:
        facts["arguments"] = arguments
    return facts


def single_tool(router: SkillRouter, summary: SkillSummary, safe: str) -> ToolSpec:
    """Return the tool that loads one skill.

    Args:
        router: The skills.
        summary: The skill.
        safe: Name of the tool.
    """

    def run(arguments: str | None = None) -> ToolResult:
        activation = router.activate(summary.name, arguments=arguments)
        return ToolResult(activation.text, _facts(activation, arguments))

    args = create_model(
        "SkillArgs",
        __base__=Arguments,
        arguments=(str | None, Field(default=None, description="What the user gave with the skill, if anything.")),
    )
    lead = f"Load the skill {json.dumps(inline(summary.name), ensure_ascii=False)}: "
    description = lead + inline(shorten(summary.description, _DESCRIPTION - len(lead)))
    return ToolSpec(safe, description[:_DESCRIPTION], args, run, metadata={"skill": summary.name})
