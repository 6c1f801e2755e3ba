"""MinimalRenderer: the wording of the minimal read-only repository (S3), for hosts that grew up with it.

A catalog of nested elements, ``load_skill`` gives the instruction body and nothing else, and a cut ends in
``[output truncated]``. Costs some six percent more tokens a skill than the default (ADR 0001).
"""

from __future__ import annotations

from collections.abc import Sequence

from skillbelt.models import ResourceInfo, Skill, SkillSummary
from skillbelt.render import Renderer
from skillbelt.text import inline, shorten

__all__ = ["MinimalRenderer"]

_CUT = "\n\n[output truncated]"


class MinimalRenderer(Renderer):
    """The wording of S3-62, S3-63, S3-65 and S3-66.

    Example:
        >>> from skillbelt import SkillSummary
        >>> print(MinimalRenderer().entry(SkillSummary(name="mail", description="Sorts mail.")))
        <skill><name>mail</name><description>Sorts mail.</description></skill>
    """

    def entry(self, summary: SkillSummary, width: int | None = None) -> str:
        """Return one entry as nested elements, on one line (S3-62)."""
        description = summary.description if width is None else shorten(summary.description, width)
        return f"<skill><name>{inline(summary.name)}</name><description>{inline(description)}</description></skill>"

    def block(self, lines: Sequence[str], note: str | None = None) -> str:
        """Return the catalog; a cut one ends in ``<truncated>true</truncated>`` (S3-66)."""
        return super().block(lines, "true" if note else None)

    def content(
        self, skill: Skill, resources: Sequence[ResourceInfo], *, arguments: str | None = None, on_disk: bool = True
    ) -> tuple[str, bool]:
        """Return the instruction body as it stands, cut at a character within ``max_output`` (S3-63, S3-65)."""
        data = skill.instructions.encode("utf-8", "replace")
        if len(data) <= self.max_output:
            return skill.instructions, False
        return data[: self.max_output - len(_CUT)].decode("utf-8", "ignore") + _CUT, True
