"""What skills cost, in tokens: in every request, when they are loaded, and what lies beside them.

A catalog is paid for with each request of a model, a loaded skill with each request from then on. Counting loads every
skill asked for, so it is for reports and tests, not for the way of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from skillbelt.errors import InvalidSkillError, SkillNotFoundError
from skillbelt.router import SkillRouter
from skillbelt.text import estimate_tokens

__all__ = ["SkillCost", "skill_costs"]


@dataclass(frozen=True, slots=True)
class SkillCost:
    """What one skill costs.

    Attributes:
        catalog: Tokens of its line in the catalog, in every request.
        loaded: Tokens of its text once it is loaded; 0 when it cannot be read.
        files: Bytes of its other files, which cost nothing until they are read.
    """

    catalog: int
    loaded: int
    files: int


def skill_costs(
    router: SkillRouter, names: Iterable[str] | None = None, *, count: Callable[[str], int] = estimate_tokens
) -> dict[str, SkillCost]:
    r"""Return what skills cost, by name.

    Args:
        router: The skills; nothing is told to its listener.
        names: Which of them; ``None`` counts all, and loads all.
        count: Counts the tokens of a text; pass a tokenizer for exact numbers.

    Example:
        >>> from skillbelt import MappingSource
        >>> skills = {"mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"}
        >>> skill_costs(SkillRouter(MappingSource(skills)))["mail"].catalog
        10
    """
    quiet = router.quiet()
    wanted = None if names is None else set(names)
    return {
        summary.name: SkillCost(count(quiet.renderer.entry(summary)), *_loaded(quiet, summary.name, count))
        for summary in quiet.skills()
        if wanted is None or summary.name in wanted
    }


def _loaded(router: SkillRouter, name: str, count: Callable[[str], int]) -> tuple[int, int]:
    try:
        activation = router.activate(name)
    except (SkillNotFoundError, InvalidSkillError):
        return 0, 0
    return count(activation.text), sum(info.size for info in activation.resources)
