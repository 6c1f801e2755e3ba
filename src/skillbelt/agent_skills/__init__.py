"""The stateful loader of one skill folder, for hosts that keep a skill of their own per conversation (system S1).

An :class:`AgentSkillLoader` goes through three tiers: discovered (name and description, the body not even read),
activated (the body), and resources on demand. It owns what sources and routers leave to others, the state of one
conversation (conflict C14): make one for each skill and conversation. Many skills at once are the business of
:class:`~skillbelt.router.SkillRouter`.

It reads through the same tree and the same parser as every source, so limits and confinement are theirs. It writes
nothing, executes nothing and knows no tool. To offer a skill as a tool of its own give
:func:`~skillbelt.tools.tool_per_skill` a router: its tool is called ``tool_name(descriptor.name)``, describes itself
by ``descriptor.description``, is ``read_only`` like the descriptor, and gives ``descriptor.body`` in the wrapper that
a model is sent.
"""

from skillbelt.agent_skills.loader import AgentSkillLoader
from skillbelt.agent_skills.values import (
    AgentSkillResourceSlot,
    AgentSkillSpec,
    AgentSkillToolDescriptor,
    SkillStep,
)

__all__ = [
    "AgentSkillLoader",
    "AgentSkillResourceSlot",
    "AgentSkillSpec",
    "AgentSkillToolDescriptor",
    "SkillStep",
]
