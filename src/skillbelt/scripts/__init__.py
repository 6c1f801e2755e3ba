"""Running the scripts of skills: a protocol, a runner for this machine, a sandbox, and a policy.

Nothing here is used unless a host passes a runner to :class:`~skillbelt.SkillRouter`: without one, scripts are text.
There is no sandbox inside the host's own process, and none is claimed.
"""

from skillbelt.scripts.content import SkillFiles
from skillbelt.scripts.environment import Secrets
from skillbelt.scripts.interpreters import Interpreters
from skillbelt.scripts.limits import ScriptLimits
from skillbelt.scripts.local import LocalRunner
from skillbelt.scripts.policy import Decision, Grants, Rule, ScriptCall, ScriptPolicy
from skillbelt.scripts.preflight import Need, Preflight
from skillbelt.scripts.protocol import Cancel, Guarantee, OutputHandler, ScriptRequest, ScriptRunner
from skillbelt.scripts.sandbox import SandboxRunner
from skillbelt.scripts.workspace import Workspace

__all__ = [
    "Cancel",
    "Decision",
    "Grants",
    "Guarantee",
    "Interpreters",
    "LocalRunner",
    "Need",
    "OutputHandler",
    "Preflight",
    "Rule",
    "SandboxRunner",
    "ScriptCall",
    "ScriptLimits",
    "ScriptPolicy",
    "ScriptRequest",
    "ScriptRunner",
    "Secrets",
    "SkillFiles",
    "Workspace",
]
