"""The upper waist: what a model can call, once, for every framework.

A :class:`ToolSpec` is a name, a description, a pydantic model of its arguments and one synchronous call that gives
text and an artifact. Adapters translate it and add nothing, so each framework sends a model the same bytes.

Who sees a failure is settled here: the errors in :data:`TOLD` are answers to the model (their text says what to do
next); every other exception raises to the caller.
"""

from __future__ import annotations

from skillbelt.router import SkillRouter
from skillbelt.tools import makers
from skillbelt.tools.naming import hashed, tool_name
from skillbelt.tools.spec import TOLD, ToolResult, ToolSpec, failure_text

__all__ = ["TOLD", "ToolResult", "ToolSpec", "failure_text", "skill_tools", "tool_name", "tool_per_skill"]


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
    name = makers.name_type(summaries)
    specs = [makers.load_tool(router, name), makers.read_tool(router, name, media=media)]
    if router.catalog().truncated:
        specs.append(makers.search_tool(router))
    if listing:
        specs.append(makers.list_tool(router))
    if router.runs_scripts and (makers.has_scripts(router, summaries) if scripts is None else scripts):
        specs.append(makers.run_tool(router, name))
    if unload:
        specs.append(makers.unload_tool(router, name))
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
            safe = hashed(summary.name)
        specs.append(makers.single_tool(router, summary, safe))
    return tuple(specs)
