"""Helpers that several test modules import."""

import importlib.util
from pathlib import Path

CORPUS = ("vibe_engineering_skills", "ai_hats_library", "abvx_agent_skills", "agent_skills_bundle")


def corpus_folder(package: str) -> Path:
    """The folder of an installed package of the corpus extra."""
    return Path(importlib.util.find_spec(package).submodule_search_locations[0])


def corpus_blocks() -> list[str]:
    """The frontmatter of every real SKILL.md of the corpus packages."""
    found = []
    for package in CORPUS:
        for path in sorted(corpus_folder(package).rglob("SKILL.md")):
            text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
            found.append(text.split("---\n", 2)[1])
    return found
