"""What a person is shown before a skill is loaded or a script of it runs, and the name that a yes is remembered by.

The name is a digest over everything the yes was about: the skill's files, the script and, unless the host says
otherwise, its arguments. It changes when a byte of that does, and then the person is asked again. Asking itself is the
framework's affair.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from skillbelt.errors import ResourceTypeError, SkillError
from skillbelt.models import ResourceInfo
from skillbelt.router import SkillRouter
from skillbelt.text import inline, shorten

__all__ = ["Consent", "Remember", "consent"]

Remember = Literal["call", "script", "never"]
"""What a yes is good for: this very call, the script with any arguments, or this once."""

_LOAD, _RUN = "load_skill", "run_skill_script"
_LINES = 40
_WIDTH = 160


class Consent(NamedTuple):
    """What somebody is asked.

    Attributes:
        description: What would happen, in full enough detail to judge it.
        key: Digest over what the question is about.
        skill: The skill.
    """

    description: str
    key: str
    skill: str


def consent(
    router: SkillRouter, tool: str, arguments: Mapping[str, Any], *, remember: Remember = "call"
) -> Consent | None:
    """Return what a person has to be asked about a call; ``None`` when it would fail anyway.

    Args:
        router: The skills; nothing is told to its listener.
        tool: ``load_skill`` or ``run_skill_script``.
        arguments: As a model gave them.
        remember: What a yes is good for.
    """
    router = router.quiet()
    name = arguments.get("name")
    if not isinstance(name, str):
        return None
    try:
        if tool == _LOAD:
            return _loading(router, name, arguments, remember)
        path = arguments.get("path")
        return _running(router, name, path, arguments, remember) if isinstance(path, str) else None
    except SkillError:
        return None  # the tool itself says why, and nothing runs


def _loading(router: SkillRouter, name: str, arguments: Mapping[str, Any], remember: Remember) -> Consent:
    activation = router.activate(name)
    skill = activation.skill
    lines = [
        f"Load the skill {inline(skill.name)}?",
        f"Description: {inline(shorten(skill.description, 500))}",
        f"From: {inline(skill.location or skill.source or 'memory')}",
        f"sha256 of its SKILL.md: {skill.digest}",
        f"Files: {len(activation.resources)}",
    ]
    if skill.frontmatter.allowed_tools:
        lines.append(f"Tools it was written for: {inline(', '.join(skill.frontmatter.allowed_tools))}")
    lines += ["", "It would tell the model:", *_quoted(skill.instructions)]
    given = arguments.get("arguments") if remember == "call" else None
    return Consent("\n".join(lines), _key(_LOAD, skill.name, skill.digest, given), skill.name)


def _running(router: SkillRouter, name: str, path: str, arguments: Mapping[str, Any], remember: Remember) -> Consent:
    activation = router.activate(name)
    skill = activation.skill
    digest = _files(router, skill.name, activation.resources, skill.digest)
    script = router.read(skill.name, path)
    args = [str(one) for one in arguments.get("args") or ()]
    lines = [
        f"Run {inline(script.info.path)} of the skill {inline(skill.name)}?",
        f"Arguments: {inline(json.dumps(args, ensure_ascii=False))}",
    ]
    if arguments.get("stdin") is not None:
        lines.append(f"Standard input: {inline(shorten(str(arguments['stdin']), 500))}")
    lines += [
        f"From: {inline(skill.location or skill.source or 'memory')}",
        f"sha256 of the skill's files: {digest}",
        f"Size of the script: {script.total} bytes",
        "",
        "The script:",
    ]
    try:
        lines += _quoted(script.text())
    except ResourceTypeError:
        lines.append("(binary)")
    given = [args, arguments.get("stdin")] if remember == "call" else None
    return Consent("\n".join(lines), _key(_RUN, skill.name, digest, script.info.path, given), skill.name)


def _files(router: SkillRouter, name: str, resources: tuple[ResourceInfo, ...], digest: str) -> str:
    """Return a digest over all files of a skill, for any of them may be what a script reads or imports."""
    whole = sha256(digest.encode())
    for info in resources:
        offset = 0
        whole.update(f"\n{info.path}\n{info.size}\n".encode("utf-8", "surrogatepass"))
        while True:
            page = router.read(name, info.path, offset=offset)
            whole.update(page.data)
            offset += len(page.data)
            if not page.truncated or not page.data:
                break
    return whole.hexdigest()


def _quoted(text: str) -> list[str]:
    lines = text.strip().splitlines()
    shown = [f"  {inline(line[:_WIDTH])}" for line in lines[:_LINES]]
    return [*shown, f"  … {len(lines) - _LINES} more lines"] if len(lines) > _LINES else shown


def _key(*parts: Any) -> str:
    return sha256(json.dumps(parts, ensure_ascii=True, default=str).encode()).hexdigest()
