"""What a skill folder says, as values: its specification, steps, slots and tool descriptor; and how they are read.

Nothing here has state; that is :mod:`skillbelt.agent_skills.loader`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from skillbelt.errors import (
    ResourceError,
    ResourceNotFoundError,
    SkillError,
    SkillFileNotFoundError,
    SourceError,
)
from skillbelt.limits import Limits
from skillbelt.models import Diagnostic, JsonValue, _Value
from skillbelt.parsing import NAMESPACED, SKILL_FILE, ParsedSkill, Profile, Report, invalid_skill, parse_skill
from skillbelt.sources.directory import DirectoryTree
from skillbelt.sources.heads import Reader, read_head
from skillbelt.sources.paths import split_path

__all__ = [
    "AgentSkillResourceSlot",
    "AgentSkillSpec",
    "AgentSkillToolDescriptor",
    "SkillStep",
    "SlotName",
    "absolute",
    "read_spec",
]

SlotName = Literal["scripts", "references", "assets"]


class SkillStep(_Value):
    """One entry of the ``steps`` field (S1-43, S1-44).

    Attributes:
        index: Its place in the list, from 1.
        content: What to do, as it stands in the file.
    """

    index: int
    content: str


class AgentSkillResourceSlot(_Value):
    """A folder of bundled files that a skill has; nothing makes one writable (S1-48, S1-51).

    Attributes:
        name: ``"scripts"``, ``"references"`` or ``"assets"``.
        path: The folder, relative to the skill's (S1-29).
        access: Always ``"read_only"``; any other value is refused.
    """

    name: SlotName
    path: str
    access: Literal["read_only"] = "read_only"


class AgentSkillToolDescriptor(_Value):
    """A skill as a host lists it among its tools (S1-16 to S1-19).

    Attributes:
        name: The full name, namespace included.
        description: What it does and when to use it.
        source: Always ``"agent_skill"``: tells it from other kinds of tools.
        read_only: Calling it changes nothing: it gives text.
        writes: The same, said the other way round.
        allowed_tools: Patterns the author suggests, in file order; a hint, never a permission.
        agent_skill_path: The skill's folder, absolute, links resolved.
        resource_slots: The folders of bundled files that exist.
        body: The instructions; ``""`` until the skill is activated (S1-20).
    """

    name: str
    description: str
    source: Literal["agent_skill"] = "agent_skill"
    read_only: bool = True
    writes: bool = False
    allowed_tools: tuple[str, ...] = ()
    agent_skill_path: str | None = None
    resource_slots: tuple[AgentSkillResourceSlot, ...] = ()
    body: str = ""


class AgentSkillSpec(_Value):
    r"""What a SKILL.md says, as S1 wants it: structured where the author wrote structure (conflicts C3 to C6).

    Attributes:
        name: The full name, ``namespace/short-name``; without a namespace the plain one.
        description: What it does and when to use it.
        namespace: Given under :data:`~skillbelt.NAMESPACED` only (conflict C1).
        license: Name of the licence.
        version: The ``version`` field as source text, ``"1.10"``; ``None`` when it is absent or no scalar.
        compatibility: A mapping when the author wrote one, else text (S1-02, S1-37).
        metadata: Values as source text; lists and mappings keep their structure.
        allowed_tools: Patterns in file order.
        steps: The texts of the ``steps`` list. What cannot be a step is an error under NAMESPACED (S1-46, S1-47);
            other profiles do not judge the field: its usable entries are here, all of it is in ``extra``.
        extra: Every field the open specification does not know, and fields that hold structure where it wants text.
        body: The instructions, exactly (S1-03); ``""`` when only the frontmatter was read.
        diagnostics: Everything found that does not keep the skill from being used.

    Example:
        >>> spec = AgentSkillSpec.from_text("---\nname: local/mail\ndescription: Sorts mail.\n---\nBegin.\n")
        >>> spec.namespace, spec.short_name, spec.body
        ('local', 'mail', 'Begin.\n')
    """

    name: str
    description: str
    namespace: str | None = None
    license: str | None = None
    version: str | None = None
    compatibility: str | Mapping[str, JsonValue] | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    steps: tuple[SkillStep, ...] = ()
    extra: Mapping[str, JsonValue] = Field(default_factory=dict)
    body: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def short_name(self) -> str:
        """The name without its namespace."""
        return self.name.removeprefix(f"{self.namespace}/") if self.namespace else self.name

    @classmethod
    def from_text(
        cls, text: str | bytes, *, profile: Profile = NAMESPACED, limits: Limits | None = None
    ) -> AgentSkillSpec:
        """Parse the text of a SKILL.md.

        Args:
            text: All of it, frontmatter and body.
            profile: How strictly it is read.
            limits: Bounds on its size.

        Raises:
            InvalidSkillError: It cannot be used; the message names each field, what was found and what is expected.
            SkillError: ``text`` is no text.
        """
        if not isinstance(text, str | bytes):
            raise SkillError(f"text must be the text of a {SKILL_FILE}, not {text!r}.")
        return _spec(parse_skill(text, profile=profile, limits=limits), f"The {SKILL_FILE} text")

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], *, profile: Profile = NAMESPACED, limits: Limits | None = None
    ) -> AgentSkillSpec:
        """Read and parse one SKILL.md.

        Args:
            path: The file.
            profile: How strictly it is read.
            limits: Bounds on its size.

        Raises:
            SkillFileNotFoundError: There is no such file (S1-30).
            InvalidSkillError: It cannot be used.
            SourceError: It cannot be read.
            SkillError: ``path`` is no path.
        """
        folder, file = os.path.split(absolute(path, "path", f"the path of a {SKILL_FILE}"))
        return read_spec(DirectoryTree(folder), file, profile, limits or Limits(), whole=True)


def absolute(path: object, argument: str, expected: str) -> str:
    """Return a path as absolute text, links not resolved; the working directory may change later."""
    if not isinstance(path, str | os.PathLike):
        raise SkillError(f"{argument} must be {expected}, not {path!r}.")
    return os.path.abspath(os.path.expanduser(os.fsdecode(path)))


def read_spec(tree: DirectoryTree, file: str, profile: Profile, limits: Limits, *, whole: bool) -> AgentSkillSpec:
    """Read a SKILL.md, or its frontmatter only, and say each failure with the path the developer knows."""
    what = repr(tree.where(file))
    try:
        split_path(file)
        read = tree.read("", file, size=limits.skill_bytes + 1) if whole else read_head(tree, "", file, limits)
        data = read.data
    except ResourceNotFoundError:
        raise SkillFileNotFoundError(f"{what} was not found; give the path of a {SKILL_FILE}.") from None
    except ResourceError as error:
        report = Report(profile, tree.where(file))
        report.add("skill-file-type", str(error), hint=f"Give a {SKILL_FILE} that is a regular file.")
        raise invalid_skill(what, tuple(report.found)) from error
    except SourceError as error:
        raise SourceError(f"{what}: {error}") from error
    spec = _spec(Reader(tree, profile, limits).skill("", file, data), what)
    if whole:
        return spec
    # The head alone was parsed: that it has no body says nothing about the file.
    told = tuple(diagnostic for diagnostic in spec.diagnostics if diagnostic.code != "body-empty")
    return spec.model_copy(update={"body": "", "diagnostics": told})


def _spec(parsed: ParsedSkill, what: str) -> AgentSkillSpec:
    skill = parsed.skill
    if skill is None:
        raise invalid_skill(what, parsed.diagnostics)
    frontmatter = skill.frontmatter
    extra = frontmatter.extra
    version, compatibility, nested = (extra.get(key) for key in ("version", "compatibility", "metadata"))
    metadata: dict[str, JsonValue] = dict(frontmatter.metadata)
    if isinstance(nested, Mapping):
        metadata |= {key: value for key, value in nested.items() if isinstance(value, list | dict)}
    steps = extra.get("steps")
    return AgentSkillSpec(
        name=skill.name,
        description=skill.description,
        namespace=skill.namespace,
        license=frontmatter.license,
        version=version if isinstance(version, str) else None,
        compatibility=compatibility if isinstance(compatibility, Mapping) else frontmatter.compatibility,
        metadata=metadata,
        allowed_tools=frontmatter.allowed_tools,
        steps=tuple(
            SkillStep(index=index, content=content)
            for index, content in enumerate(steps if isinstance(steps, list) else (), start=1)
            if isinstance(content, str) and content.strip()
        ),
        extra=extra,
        body=skill.instructions,
        diagnostics=parsed.diagnostics,
    )
