"""``skillbelt doctor``: what the scripts of some skills need and this machine lacks, and what could run them here.

Nothing of a skill is run and nothing is installed; scripts are read. Only the machine's own sandbox is tried, with a
script of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillbelt.cli.console import line, print_json, progress, table, write
from skillbelt.cli.folders import CommandError, left_out, open_router
from skillbelt.errors import ScriptError, SkillError
from skillbelt.scripts import Preflight, SandboxRunner

__all__ = ["doctor"]


def doctor(paths: Sequence[str], *, as_json: bool) -> bool:
    """Look at the scripts of skills and print what they lack.

    Args:
        paths: Folders of skills, as typed.
        as_json: Print for machines.

    Returns:
        Whether every script can begin.

    Raises:
        CommandError: There is no skill.
    """
    router = open_router(paths)
    names = [summary.name for summary in router.skills()]
    if not names:
        raise CommandError("There is no skill that can be loaded; see why with: skillbelt validate DIR", 1)
    found: list[Preflight] = []
    broken: list[str] = []
    with progress() as bar:
        for name in bar.track(names, description="Reading scripts"):
            try:
                found.append(router.preflight(name))
            except SkillError as error:
                broken.append(f"{name}: {error}")
    sandbox, why = _sandbox()
    ok = all(one.ok for one in found) and not broken
    if as_json:
        print_json(_record(found, broken, sandbox, why, ok=ok))
        return ok
    _say(found, broken, len(left_out(router.diagnostics())))
    write(f"Sandbox: {line(sandbox)}." if sandbox else f"Sandbox: none. {line(why)}", "green" if sandbox else "yellow")
    return ok


def _sandbox() -> tuple[str, str]:
    """Return the sandbox that scripts would run in here, else why there is none."""
    try:
        return str(SandboxRunner().rung), ""
    except ScriptError as error:
        return "", str(error)


def _say(found: Sequence[Preflight], broken: Sequence[str], hidden: int) -> None:
    rows = [
        (
            one.skill,
            need.script + (f":{need.line}" if need.line else ""),
            "must have" if need.required else "may need",
            need.what,
        )
        for one in found
        for need in one.needs
    ]
    if rows:
        table(("Skill", "Where", "", "What"), rows)
    for text in broken:
        write(line(text), "red")
    scripts = sum(len(one.scripts) for one in found)
    dead = sum(len(one.dead) for one in found)
    more = f" {hidden} skills could not be loaded; see: skillbelt validate DIR." if hidden else ""
    verdict = "all can begin" if not dead else f"{dead} cannot begin here"
    write(f"{len(found)} skills with {scripts} scripts: {verdict}.{more}", "red" if dead or broken else "green")


def _record(found: Sequence[Preflight], broken: Sequence[str], sandbox: str, why: str, *, ok: bool) -> dict[str, Any]:
    skills = [
        {
            "name": one.skill,
            "ok": one.ok,
            "scripts": list(one.scripts),
            "needs": [
                {"script": n.script, "line": n.line, "kind": n.kind, "what": n.what, "required": n.required}
                for n in one.needs
            ],
        }
        for one in found
    ]
    return {"ok": ok, "skills": skills, "unreadable": list(broken), "sandbox": sandbox or None, "why_none": why or None}
