"""What the author of a runner fills in, and what every check does with it."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest import SkipTest

from skillbelt.limits import MIB
from skillbelt.models import ScriptResult
from skillbelt.scripts.content import SkillFiles
from skillbelt.scripts.limits import ScriptLimits
from skillbelt.scripts.protocol import Cancel, Guarantee, OutputHandler, ScriptRequest, ScriptRunner
from skillbelt.testing.contract.base import holds, same

__all__ = ["LIMITS", "RunnerHooks", "holds", "same", "script"]

LIMITS = ScriptLimits(
    timeout=20.0,
    cpu=10.0,
    memory=256 * MIB,
    processes=32,
    open_files=128,
    file_size=16 * MIB,
    disk=32 * MIB,
    entries=2000,
    output=64 * 1024,
    output_total=32 * MIB,
    artifacts=4 * MIB,
)
"""Bounds that the checks ask for: small ones, so that passing them takes no time."""

SKILL = b"---\nname: probe\ndescription: Checks a runner.\n---\nRun scripts/main.py.\n"


def script(code: str, **files: str) -> SkillFiles:
    """Return the files of a skill with one script, and others by path.

    Args:
        code: Python.
        **files: Text by path.
    """
    texts = {"SKILL.md": SKILL, "scripts/main.py": textwrap.dedent(code).strip().encode() + b"\n"}
    return SkillFiles.of({**texts, **{path: text.encode() for path, text in files.items()}})


class RunnerHooks:
    """What the author of a runner fills in.

    Attributes:
        takes_files: Files can be handed in and are handed back.
        keeps_workspaces: A working folder can be kept over several runs.
        streams: ``on_output`` hears lines while the script runs.
        languages: Languages the runner has interpreters for.
        seconds: How much longer than its timeout a run may take to be answered.
    """

    takes_files: bool = True
    keeps_workspaces: bool = True
    streams: bool = True
    languages: tuple[str, ...] = ("python",)
    seconds: float = 5.0

    def make(self, limits: ScriptLimits) -> ScriptRunner:
        """Return a runner with these bounds; it may be one that was made before with the same.

        Args:
            limits: Its bounds.
        """
        raise NotImplementedError("Override make(limits): return a runner with these bounds.")

    def run_script(
        self,
        code: SkillFiles | str,
        *args: str,
        path: str = "scripts/main.py",
        on_output: OutputHandler | None = None,
        cancel: Cancel | None = None,
        limits: Mapping[str, Any] | None = None,
        **request: Any,
    ) -> ScriptResult:
        """Run a script with the runner and return what came of it."""
        content = script(code) if isinstance(code, str) else code
        runner = self.make(replace(LIMITS, **(limits or {})))
        asked = ScriptRequest("probe", path, content, args, **request)
        result = runner.run(asked, on_output=on_output, cancel=cancel or threading.Event())
        holds(isinstance(result, ScriptResult), f"run() gave {type(result).__name__}, not a ScriptResult.")
        return result

    def need(self, guarantee: Guarantee) -> None:
        """Skip a check of something the runner does not promise."""
        if guarantee not in self.make(LIMITS).guarantees:
            raise self.left_out(f"the runner does not guarantee {guarantee!r}")

    def left_out(self, reason: str) -> SkipTest:
        """Return what to raise when a runner cannot do what is checked."""
        return SkipTest(f"NOT CHECKED for {type(self).__name__}: {reason}.")
