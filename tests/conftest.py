"""Fixtures that several test modules share."""

from pathlib import Path

import pytest

from skillbelt import MappingSource, SkillRouter
from skillbelt.sources import directory

DATA = Path(__file__).parent / "data"

MAIL = """---
name: mail-sorter
description: Sorts mail by sender. Use when an inbox needs tidying.
---
# Steps

1. Read `references/rules.md`.
2. Move every message to the folder its rule names.
"""
PDF = """---
name: pdf-forms
description: Fills PDF forms & merges <pages>. Use when a form is to be filled.
---
# Fill

Use {width} and {{height}} as they are.
"""


@pytest.fixture(autouse=True)
def _no_waiting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve files at once that a test has just written; tests of the waiting itself are marked ``settling``."""
    if request.node.get_closest_marker("settling") is None:
        monkeypatch.setattr(directory, "SETTLE", 0.0)


@pytest.fixture
def skills_dir(tmp_path: Path) -> Path:
    """A folder with two skills, one of them with files of every kind."""
    root = tmp_path / "skills"
    for path, text in {
        "mail-sorter/SKILL.md": MAIL,
        "mail-sorter/references/rules.md": "Receipts go to Money.\n",
        "mail-sorter/scripts/sort.py": "print('sorted')\n",
        "mail-sorter/assets/folders.json": "{}\n",
        "mail-sorter/notes.txt": "loose\n",
        "pdf-forms/SKILL.md": PDF,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def router(skills_dir: Path) -> SkillRouter:
    """A router over :func:`skills_dir`."""
    return SkillRouter.from_directory(skills_dir)


@pytest.fixture
def empty_router() -> SkillRouter:
    """A router without skills."""
    return SkillRouter(MappingSource({}))
