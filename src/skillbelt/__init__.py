"""Agent Skills for LangChain and LlamaIndex.

skillbelt reads folders with a ``SKILL.md`` (agentskills.io), shows a model their names and descriptions, and hands
out instructions and files only when it selects a skill. Start with :class:`SkillRouter`; the adapters are
:mod:`skillbelt.langchain` and :mod:`skillbelt.llama_index`.

Importing this package imports neither framework.
"""

from skillbelt.compose import filtered, merge, namespaced
from skillbelt.errors import (
    AgentConfigError,
    AgentLimitError,
    CollisionError,
    ContentTooLargeError,
    InvalidSkillError,
    LimitError,
    MissingExtraError,
    ResourceError,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceTypeError,
    ScriptError,
    ScriptNotAllowedError,
    ScriptTimeoutError,
    SkillError,
    SkillFileNotFoundError,
    SkillNotFoundError,
    SourceError,
    ToolArgumentError,
)
from skillbelt.limits import Limits
from skillbelt.models import (
    Activation,
    Catalog,
    Diagnostic,
    Frontmatter,
    Match,
    ReloadDiff,
    Resource,
    ResourceInfo,
    ScriptResult,
    Skill,
    SkillSummary,
)
from skillbelt.parsing import LENIENT, NAMESPACED, STRICT, ParsedSkill, Profile, parse_skill
from skillbelt.render import Renderer, TokenBudget
from skillbelt.router import SkillRouter
from skillbelt.scopes import default_sources
from skillbelt.search import LexicalSearcher, Searcher
from skillbelt.sources import (
    DirectorySource,
    HttpLimits,
    MappingSource,
    ResourceSource,
    SkillSource,
    TreeSource,
    fsspec_source,
    http_source,
    package_source,
    tar_source,
    tree_source,
    validate_skill,
    zip_source,
)
from skillbelt.text import estimate_tokens
from skillbelt.tools import ToolResult, ToolSpec, skill_tools, tool_name, tool_per_skill

__version__ = "0.1.0"

__all__ = [
    "LENIENT",
    "NAMESPACED",
    "STRICT",
    "Activation",
    "AgentConfigError",
    "AgentLimitError",
    "Catalog",
    "CollisionError",
    "ContentTooLargeError",
    "Diagnostic",
    "DirectorySource",
    "Frontmatter",
    "HttpLimits",
    "InvalidSkillError",
    "LexicalSearcher",
    "LimitError",
    "Limits",
    "MappingSource",
    "Match",
    "MissingExtraError",
    "ParsedSkill",
    "Profile",
    "ReloadDiff",
    "Renderer",
    "Resource",
    "ResourceError",
    "ResourceInfo",
    "ResourceNotFoundError",
    "ResourcePathError",
    "ResourceSource",
    "ResourceTypeError",
    "ScriptError",
    "ScriptNotAllowedError",
    "ScriptResult",
    "ScriptTimeoutError",
    "Searcher",
    "Skill",
    "SkillError",
    "SkillFileNotFoundError",
    "SkillNotFoundError",
    "SkillRouter",
    "SkillSource",
    "SkillSummary",
    "SourceError",
    "TokenBudget",
    "ToolArgumentError",
    "ToolResult",
    "ToolSpec",
    "TreeSource",
    "default_sources",
    "estimate_tokens",
    "filtered",
    "fsspec_source",
    "http_source",
    "merge",
    "namespaced",
    "package_source",
    "parse_skill",
    "skill_tools",
    "tar_source",
    "tool_name",
    "tool_per_skill",
    "tree_source",
    "validate_skill",
    "zip_source",
]
