"""Keywords that Robot Framework's own libraries lack: where things are installed, and what is in a JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from robot.api.deco import keyword, library

from skillbelt import examples


@library(scope="SUITE", doc_format="ROBOT", auto_keywords=False)
class SkillbeltLibrary:
    """Small helpers for the suites of skillbelt."""

    @keyword
    def installed_command(self) -> str:
        """Return the path of the ``skillbelt`` command of this environment."""
        command = Path(sys.executable).with_name("skillbelt")
        if not command.exists():
            raise AssertionError(f"{command} does not exist; install the package into this environment first.")
        return str(command)

    @keyword
    def folder_of_shipped_skills(self) -> str:
        """Return the folder of the example skills."""
        return str(examples.path())

    @keyword
    def json_value(self, text: str, key: str) -> Any:
        """Return one value of the JSON object in ``text``, which must hold nothing else."""
        return json.loads(text)[key]

    @keyword
    def json_values(self, text: str, key: str, field: str) -> list[Any]:
        """Return one field of each object in the list that is called ``key``."""
        return [entry[field] for entry in json.loads(text)[key]]
