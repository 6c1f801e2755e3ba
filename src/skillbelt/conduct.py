"""How an agent with skills behaves: which tools are offered, which calls run, how many skills may be in use.

The rules are the host's and do not change while an agent runs; each question is answered from the skills in use that
it is given. Nothing here reads a file, and where the questions are asked is the adapter's affair.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from skillbelt.active import HeldSkill, in_use
from skillbelt.fence import Fence
from skillbelt.parsing import name_key

__all__ = ["LOAD", "READ", "RUN", "UNLOAD", "Rules"]

LOAD, READ, UNLOAD, RUN = "load_skill", "read_skill_resource", "unload_skill", "run_skill_script"


@dataclass(frozen=True)
class Rules:
    """What calls are judged by.

    Attributes:
        fence: allowed-tools.
        scoped: Tools that come with skills: their names, and the skills that bring each.
        max_active: Most skills in use at a time.
        unload: Whether the model can unload one.
        misses: Files in a row that do not exist, after which the answer becomes firm.
    """

    fence: Fence = field(default_factory=Fence)
    scoped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_active: int | None = None
    unload: bool = False
    misses: int = 3

    def offers(self, tool: str, held: Mapping[str, HeldSkill], ours: Container[str]) -> bool:
        """Whether a tool is shown to the model.

        Args:
            tool: The tool.
            held: The skills in use.
            ours: Names of the skill tools.
        """
        if tool in self.scoped:
            return bool(self.bringing(tool, held))
        if tool in ours and tool != RUN:
            return True
        return not self.fence.enforcing or self.fence.judge(tool, None, held).allowed

    def bringing(self, tool: str, held: Mapping[str, HeldSkill]) -> list[str]:
        """Return the skills in use that bring a tool.

        Args:
            tool: A tool that comes with skills.
            held: The skills in use.
        """
        keys = {name_key(name) for name in self.scoped[tool]}
        return [name for name in in_use(held) if name_key(name) in keys]

    def full(self, wanted: object, names: Iterable[str]) -> bool:
        """Whether there is no room for one more skill.

        Args:
            wanted: The skill that is asked for, as it was asked for.
            names: The skills in use.
        """
        if self.max_active is None or not isinstance(wanted, str):
            return False
        keys = {name_key(name) for name in names}
        return name_key(wanted) not in keys and len(keys) >= self.max_active
