"""From a call to a run: which skill, which file of it, who allowed it, and what a model is told afterwards.

A router has this only when its host passed a runner. It is stateless: a run activates its skill itself, which must be
valid and visible through the router at that moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_args

from skillbelt.compose import holder
from skillbelt.errors import (
    ResourceNotFoundError,
    ResourcePathError,
    ScriptError,
    ScriptNotAllowedError,
    did_you_mean,
)
from skillbelt.events import ScriptOutput, ScriptRan
from skillbelt.models import ResourceInfo, ScriptResult, Skill
from skillbelt.scripts.content import SKILL_FILE, SkillFiles, read_files
from skillbelt.scripts.environment import Secrets
from skillbelt.scripts.interpreters import language_of
from skillbelt.scripts.policy import ScriptCall, ScriptPolicy, Trust
from skillbelt.scripts.preflight import Preflight, preflight
from skillbelt.scripts.protocol import Cancel, ScriptRequest, ScriptRunner
from skillbelt.scripts.workspace import Workspace
from skillbelt.shelf import Reach
from skillbelt.sources import DirectorySource, MappingSource, ResourceSource
from skillbelt.sources.paths import portable, shown, split_path
from skillbelt.text import attribute, inline

__all__ = ["RunOptions", "Scripts", "cancellable", "in_thread", "result_text", "run", "trust_of", "using"]

_T = TypeVar("_T")

CANCEL: ContextVar[Cancel | None] = ContextVar("skillbelt_cancel", default=None)
"""What ends the runs of this context; an adapter sets it, so that a cancelled task leaves no process."""

WORKSPACE: ContextVar[Workspace | None] = ContextVar("skillbelt_workspace", default=None)
"""The working folder of this conversation, where an adapter has set one."""

_SHOWN = 24 * 1024
"""Characters of one output stream that a model is given."""

_FILES = 50
_TRIES = 3
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
_RESERVED = re.compile(
    r"[<\uff1c](?=[\s/\xad\u200b-\u200f\u2060-\u2064\ufeff]*+(?:script_result|stdout|stderr)\b)", re.I
)


@contextmanager
def cancellable(cancel: Cancel) -> Iterator[None]:
    """Let ``cancel`` end every run that is started in this context, also in threads that copy it.

    Args:
        cancel: Such as a :class:`threading.Event`.
    """
    token = CANCEL.set(cancel)
    try:
        yield
    finally:
        CANCEL.reset(token)


@contextmanager
def using(workspace: Workspace) -> Iterator[Workspace]:
    """Let every run that is started in this context work in one folder, such as that of a conversation.

    Args:
        workspace: The folder.
    """
    token = WORKSPACE.set(workspace)
    try:
        yield workspace
    finally:
        WORKSPACE.reset(token)


class _Asked:
    """An event that knows whether somebody looks at it: then there is something to wait for."""

    def __init__(self) -> None:
        self._set = False
        self.looked = False

    def is_set(self) -> bool:
        self.looked = True
        return self._set

    def set(self) -> None:
        self._set = True


async def in_thread(call: Callable[..., _T], /, *args: Any, **arguments: Any) -> _T:
    """Await a call in a thread; when the task is cancelled, a script that it runs is ended before this returns.

    Args:
        call: What to call.
        *args: With what.
        **arguments: With what.
    """
    import asyncio

    asked = _Asked()
    with cancellable(asked):
        thread = asyncio.ensure_future(asyncio.to_thread(call, *args, **arguments))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        asked.set()
        if asked.looked:
            await asyncio.wait([thread])
        raise


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What comes with one run.

    Attributes:
        stdin: Standard input, as text or as bytes.
        cancel: Ends the run once it is set.
        files: Files handed in, by path.
        workspace: A working folder kept over several runs.
    """

    stdin: str | bytes | None = None
    cancel: Cancel | None = None
    files: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    workspace: Workspace | None = None


@dataclass(frozen=True, slots=True)
class Scripts:
    """What a router runs scripts with.

    Attributes:
        runner: Where they run.
        policy: Who may; ``None`` lets every script of the router run, for passing a runner is the host's leave.
        secrets: Variables granted to skills.
    """

    runner: ScriptRunner
    policy: ScriptPolicy | None = None
    secrets: Secrets = field(default_factory=Secrets)

    def run(self, reach: Reach, name: str, path: str, args: Sequence[str], options: RunOptions) -> ScriptResult:
        """Run a script of a skill.

        Args:
            reach: What the router can reach.
            name: The skill.
            path: The script.
            args: Its arguments.
            options: What comes with it.

        Raises:
            ScriptNotAllowedError: The policy, or a person, says no.
            ScriptError: It could not be started.
            ResourceNotFoundError: The skill has no such file.
            ResourcePathError: The path may not be used.
        """
        given = _arguments(args)
        stdin = options.stdin.encode("utf-8", "surrogateescape") if isinstance(options.stdin, str) else options.stdin
        skill, skill_files = _read(reach, name)
        own = _file(path, skill_files)
        secrets = self.secrets.of(skill.name, skill_files.digest)
        if self.policy is not None:
            trust = trust_of(reach.source, skill.name)
            size = len(stdin or b"")
            self.policy.check(
                ScriptCall(skill.name, own, given, skill_files.digest, trust, self._name(), size, tuple(secrets))
            )
        request = ScriptRequest(
            skill.name,
            own,
            skill_files,
            given,
            stdin,
            secrets,
            options.files,
            options.workspace or WORKSPACE.get(),
        )
        emit = reach.emit
        result = self.runner.run(
            request,
            on_output=None if emit is None else lambda stream, line: emit(ScriptOutput(skill.name, own, stream, line)),
            cancel=options.cancel or CANCEL.get(),
        )
        if emit is not None:
            emit(
                ScriptRan(
                    skill.name, own, skill_files.digest, self._name(), result.exit_code, result.reason, result.duration
                )
            )
        return result

    def _name(self) -> str:
        return str(getattr(self.runner, "name", type(self.runner).__name__))


def scripts_with(runner: ScriptRunner, policy: ScriptPolicy | None, secrets: Secrets | None) -> Scripts:
    """Return what a router runs scripts with.

    Raises:
        ScriptError: ``runner`` cannot run anything, or ``secrets`` are plain values.
    """
    if not callable(getattr(runner, "run", None)):
        raise ScriptError(f"runner must be a ScriptRunner such as LocalRunner(), not {type(runner).__name__}.")
    if secrets is not None and not isinstance(secrets, Secrets):
        raise ScriptError("secrets must be Secrets({'skill': {'NAME': 'value'}}), which keeps the values to itself.")
    return Scripts(runner, policy, secrets or Secrets())


def run(
    scripts: Scripts | None, reach: Reach, name: str, path: str, args: Sequence[str], options: RunOptions
) -> ScriptResult:
    """Run a script, or say that nothing is run here (S2-44).

    Raises:
        ScriptNotAllowedError: There is no runner.
    """
    if scripts is None:
        raise ScriptNotAllowedError(
            f"Scripts are text here: no runner was given, so nothing of the skill {shown(str(name))} is run. Read the "
            "script with read_skill_resource and do its work another way."
        )
    return scripts.run(reach, name, path, args, options)


def check(scripts: Scripts | None, reach: Reach, name: str) -> Preflight:
    """Return the preflight of a skill, also where nothing will be run."""
    skill, skill_files = _read(reach, name)
    interpreters = getattr(scripts.runner, "interpreters", None) if scripts is not None else None
    granted = scripts.secrets if scripts is not None else None
    return preflight(skill, skill_files, interpreters=interpreters, granted=granted)


def _read(reach: Reach, name: str) -> tuple[Skill, SkillFiles]:
    """Return a skill and all of its files, as of one moment."""
    for _ in range(_TRIES):
        before = reach.bundle(name)
        found = read_files(reach.source, before.skill.name, before.resources)
        if reach.bundle(name).generation == before.generation:
            return before.skill, found
    raise ScriptError(f"The skill {shown(name)} changes faster than it can be read; try again.")


def trust_of(source: ResourceSource, name: str) -> Trust:
    """Return where a skill comes from, by the source that holds it.

    A source of your own says it with an attribute ``trust``; one that says nothing counts as fetched.

    Args:
        source: Any source.
        name: A skill of it.
    """
    at = holder(source, name)
    said = getattr(at, "trust", None)
    said = said(name) if callable(said) else said
    for trust in get_args(Trust):
        if said == trust:
            return cast("Trust", trust)
    if isinstance(at, DirectorySource):
        return "developer" if at.trusted else "project"
    return "developer" if isinstance(at, MappingSource) else "fetched"


def runnable(infos: Sequence[ResourceInfo]) -> bool:
    """Whether any of these files looks like a script.

    Args:
        infos: Files of a skill.
    """
    return any(info.kind == "script" or language_of(info.path, b"") is not None for info in infos)


# --- what a model sends and is told -----------------------------------------------------------------------------------


def _arguments(args: Sequence[str]) -> tuple[str, ...]:
    if isinstance(args, str | bytes) or not all(isinstance(one, str) for one in args):
        raise ScriptError("args is a list of strings, each one argument; no shell reads it.")
    return tuple(one.encode("utf-8", "replace").decode() for one in args)


def _file(path: str, skill_files: SkillFiles) -> str:
    """Return the path of a file of the skill, judged like a path to read."""
    scripts = [
        own for own in skill_files.files if own != SKILL_FILE and language_of(own, skill_files.files[own]) is not None
    ]
    hint = did_you_mean(str(path), scripts, what="scripts")
    own = portable(path)
    try:
        split_path(own)
    except ResourcePathError as error:
        raise ResourcePathError(f"{error} {hint}") from None
    if own not in skill_files.files or own == SKILL_FILE:
        raise ResourceNotFoundError(f"There is no script {shown(own)} in the skill. {hint}")
    return own


def result_text(name: str, path: str, result: ScriptResult) -> str:
    """Return a result as a model is told it: how it ended, both streams, what it left.

    Args:
        name: The skill.
        path: The script.
        result: What came of it.
    """
    ended = {
        "exit": f"exit_code={result.exit_code}",
        "timeout": f"ended after {result.duration:.1f} seconds: it took too long",
        "cancelled": "ended: it was cancelled",
        "output": "ended: it printed too much",
        "disk": "ended: it wrote too much",
        "memory": "ended: it used too much memory",
        "processes": "ended: it started too many processes",
    }[result.reason]
    lines = [f'<script_result name="{attribute(name)}" path="{attribute(path)}">', ended]
    for stream, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            lines += [f"<{stream}>", _plain(text), f"</{stream}>"]
    if not result.stdout and not result.stderr:
        lines.append("It printed nothing.")
    if result.files:
        left = [f"{inline(info.path)} ({info.size} bytes)" for info in result.files[:_FILES]]
        more = f" and {len(result.files) - _FILES} more" if len(result.files) > _FILES else ""
        lines.append(f"Files it left in its working folder: {', '.join(left)}{more}.")
    return "\n".join([*lines, "</script_result>"])


def _plain(text: str) -> str:
    """Return output as a model may have it: both ends, nothing that ends its wrapper or steers a terminal."""
    if len(text) > _SHOWN:
        half = _SHOWN // 2
        text = f"{text[:half]}\n[{len(text) - _SHOWN} of {len(text)} characters are left out here]\n{text[-half:]}"
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return _RESERVED.sub("&lt;", text).rstrip("\n")


def missing_note(found: Preflight) -> str:
    """Return the sentence that keeps a model from scripts that must die, ``""`` when there are none."""
    lines = [
        f"{inline(script)} ({'; '.join(inline(need.what) for need in needs)})" for script, needs in found.dead.items()
    ]
    return f"These scripts cannot run here, something they need is missing: {', '.join(lines)}." if lines else ""
