"""``skillbelt list`` and ``skillbelt show``: what is there, and what a skill or a file of it says.

Each function takes what was typed, prints, and returns nothing; what goes wrong is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from skillbelt.cli.console import block, line, note, print_diagnostics, print_json, table, write
from skillbelt.cli.folders import is_file, is_skill_file, left_out, open_router, settle_name
from skillbelt.models import Diagnostic, ResourceInfo, Skill
from skillbelt.router import SkillRouter

__all__ = ["list_skills", "records", "show_file", "show_skill"]


def records(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Return diagnostics as JSON objects."""
    return [diagnostic.model_dump(mode="json") for diagnostic in diagnostics]


def list_skills(folders: Sequence[str], *, as_json: bool) -> None:
    """Print the skills of some folders; on standard error, why others are missing."""
    router = open_router(folders)
    skills, diagnostics = router.skills(), router.diagnostics()
    if as_json:
        found = [summary.model_dump(mode="json") for summary in skills]
        print_json({"skills": found, "diagnostics": records(diagnostics)})
        return
    several = len(folders) > 1
    rows = []
    for skill in skills:
        kept = "" if skill.model_invocable else " (kept from the model by its author)"
        rows.append([skill.name, *([skill.source or ""] if several else []), skill.description + kept])
    if rows:
        table(["Name", *(["Folder"] if several else []), "Description"], rows)
    print_diagnostics(left_out(diagnostics), stderr=True)
    note(_summary(len(skills), diagnostics))


def _summary(count: int, diagnostics: Sequence[Diagnostic]) -> str:
    lost = len({d.path for d in left_out(diagnostics)})
    rest = len(diagnostics) - len(left_out(diagnostics))
    text = f"{count} skill{'' if count == 1 else 's'}"
    if lost:
        text += f", {lost} left out"
    if rest:
        text += f"; {rest} more remark{'' if rest == 1 else 's'}, see them with: skillbelt validate --lenient DIR"
    return f"{text}."


def show_skill(target: str, name: str | None, *, as_json: bool) -> None:
    """Print one skill: its fields, its files, its instructions."""
    router, name = _open(target, name)
    activation = router.activate(name)
    skill, files = activation.skill, activation.resources
    diagnostics = [d for d in router.diagnostics() if d.path == skill.location]
    if as_json:
        print_json(_record(skill, files, diagnostics))
        return
    write(line(skill.name), "bold")
    write(line(skill.description))
    write()
    for label, value in _facts(skill):
        write(f"{label + ':':<15}{line(value)}")
    if files:
        write(f"files ({len(files)}):")
        width = max(len(str(info.size)) for info in files)
        for info in files:
            write(f"  {info.size:>{width}}  {line(info.path)}")
    write()
    typer.echo(block(skill.instructions).strip("\n"))
    print_diagnostics(diagnostics, stderr=True)


def show_file(target: str, name: str | None, path: str, *, as_json: bool) -> None:
    """Print one text file of a skill; a cut is marked on standard error."""
    router, name = _open(target, name)
    resource = router.read(name, path)
    if as_json:
        facts = resource.info.model_dump(mode="json")
        text = resource.text()
        print_json({"name": name, **facts, "truncated": resource.truncated, "text": text})
        return
    typer.echo(block(resource.text()).removesuffix("\n"))
    if resource.truncated:
        note(f"[cut: {len(resource.data)} of {resource.total} bytes shown]")


def _open(target: str, name: str | None) -> tuple[SkillRouter, str]:
    """Return a router over what was typed, a folder or a SKILL.md, and the name that was meant."""
    folder = str(Path(target).parent) if is_skill_file(target) and is_file(target) else target
    router = open_router([folder])
    if name is None:
        # A folder that is itself a skill, and a broken one, says what is wrong instead of being empty.
        errors = [d for d in router.diagnostics() if d.severity == "error"]
        if not router.skills() and len({d.path for d in errors}) == 1 and is_skill_file(str(errors[0].path)):
            name = Path(str(errors[0].path)).parent.name
    return router, settle_name(router, target, name)


def _facts(skill: Skill) -> list[tuple[str, str]]:
    front = skill.frontmatter
    facts: dict[str, object] = {
        "license": front.license,
        "compatibility": front.compatibility,
        "allowed-tools": " ".join(front.allowed_tools),
        **front.metadata,
        **front.extra,
        "location": skill.location,
        "digest": skill.digest,
    }
    return [(line(key), str(value)) for key, value in facts.items() if value]


def _record(skill: Skill, files: Sequence[ResourceInfo], diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    front = skill.frontmatter.model_dump(mode="json")
    return {
        **skill.summary().model_dump(mode="json"),
        **{key: front[key] for key in ("license", "compatibility", "metadata", "allowed_tools", "extra")},
        "digest": skill.digest,
        "instructions": skill.instructions,
        "resources": [info.model_dump(mode="json") for info in files],
        "diagnostics": records(diagnostics),
    }
