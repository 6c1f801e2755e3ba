"""allowed-tools as a fence: which tools may run while skills are in use.

The field of a SKILL.md names tools as its author knows them, such as ``Read`` or ``Bash(git:*)``. A host calls its
tools by other names, so a table that the host writes says what each word means here. Without an entry a word means the
tool of exactly that name. ``"advisory"`` lets every tool run and tells the host; ``"enforce"`` refuses.

A fence judges one call against the skills that were in use before the message it stands in; where it is asked is the
adapter's affair. Hiding a tool is no fence: what was not offered can be called all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from skillbelt.active import HeldSkill
from skillbelt.errors import SkillError

__all__ = ["Fence", "HostTool", "ToolTable", "Verdict"]

Mode = Literal["advisory", "enforce"]

_PATTERN = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)
_OPERATORS = re.compile(r"[;&|<>`\n\r]|\$\(")
"""What joins a second command to an allowed one."""


@dataclass(frozen=True, slots=True)
class HostTool:
    """A tool of the host, as the meaning of a word in allowed-tools.

    Attributes:
        name: The tool.
        argument: The argument that a pattern in brackets speaks of: the command of a shell, the path of a reader.
    """

    name: str
    argument: str | None = None


ToolTable = Mapping[str, "str | HostTool | Sequence[str | HostTool]"]
"""What the words of allowed-tools mean to a host: ``{"Read": "read_file", "Bash": HostTool("shell", "command")}``."""


class Verdict(NamedTuple):
    """What a fence says of one call.

    Attributes:
        allowed: Whether the skills in use allow it.
        skills: The skills in use that say which tools they need.
        rules: What they allow, as written.
        why: What is wrong with this call when its tool is allowed for others.
    """

    allowed: bool
    skills: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    why: str = ""


_FREE = Verdict(allowed=True)


@dataclass(frozen=True)
class Fence:
    """Judges calls by the allowed-tools of the skills in use.

    While at least one skill in use names its tools, the tools that any of them names may run, and the host's base set.
    A skill that names none neither allows nor forbids.

    Args:
        mode: ``"advisory"`` reports what it would refuse, ``"enforce"`` refuses it.
        tool_names: What the words of allowed-tools mean here.
        base: Names, or patterns such as ``"list_*"``, of tools that may always run.

    Raises:
        SkillError: The mode is neither of the two.

    Example:
        >>> fence = Fence("enforce", {"Bash": HostTool("shell", "command")})
        >>> held = {"git": {"digest": "", "text": "", "key": "", "tools": ["Bash(git:*)"]}}
        >>> fence.judge("shell", {"command": "git status"}, held).allowed
        True
        >>> fence.judge("shell", {"command": "git status; rm -r ."}, held).allowed
        False
    """

    mode: Mode = "advisory"
    tool_names: ToolTable = field(default_factory=dict)
    base: Iterable[str] = ()

    def __post_init__(self) -> None:
        if self.mode not in ("advisory", "enforce"):
            raise SkillError(f'allowed_tools is "advisory" or "enforce", not {self.mode!r}.')
        object.__setattr__(self, "base", tuple([self.base] if isinstance(self.base, str) else self.base))

    @property
    def enforcing(self) -> bool:
        """Whether refused calls do not run."""
        return self.mode == "enforce"

    def judge(self, tool: str, arguments: Mapping[str, Any] | None, held: Mapping[str, HeldSkill]) -> Verdict:
        """Judge one call.

        Args:
            tool: Name of the tool.
            arguments: Its arguments; ``None`` asks whether it may run at all, for a list of tools.
            held: The skills in use before the message that calls it.
        """
        rules = {name: record["tools"] for name, record in held.items() if _speaks(record)}
        if not rules or any(fnmatchcase(tool, pattern) for pattern in self.base):
            return _FREE
        why = ""
        for pattern in (pattern for patterns in rules.values() for pattern in patterns):
            meant, said = self._permits(pattern, tool, arguments)
            if meant and not said:
                return _FREE
            why = why or said
        return Verdict(False, tuple(rules), tuple(dict.fromkeys(p for ps in rules.values() for p in ps)), why)

    def unbound(self, tools: Iterable[str], bound: Iterable[str]) -> tuple[str, ...]:
        """Return the tools that a skill names and the host does not have.

        Args:
            tools: A skill's allowed-tools.
            bound: Names of the tools an agent has.

        Example:
            >>> Fence().unbound(["Read", "Grep"], ["Read"])
            ('Grep',)
        """
        names = list(bound)
        missing = {
            _split(pattern)[0]: None
            for pattern in tools
            if not any(fnmatchcase(name, meant.name) for meant in self._meaning(_split(pattern)[0]) for name in names)
        }
        return tuple(missing)

    def _meaning(self, word: str) -> list[HostTool]:
        entry = self.tool_names.get(word, word)
        entries = [entry] if isinstance(entry, str | HostTool) else entry
        return [HostTool(one) if isinstance(one, str) else one for one in entries]

    def _permits(self, pattern: str, tool: str, arguments: Mapping[str, Any] | None) -> tuple[bool, str]:
        """Return whether a pattern speaks of a tool, and what it has against the call."""
        word, rule = _split(pattern)
        meant = [entry for entry in self._meaning(word) if fnmatchcase(tool, entry.name)]
        if not meant:
            return False, ""
        if rule is None or rule in ("*", ":*") or arguments is None:
            return True, ""
        against = [_against(rule, entry, arguments) for entry in meant]
        return True, "" if "" in against else f"{against[0]} ({pattern})."


def _speaks(record: HeldSkill) -> bool:
    return bool(record.get("tools")) and not record.get("unloaded")


def _split(pattern: str) -> tuple[str, str | None]:
    match = _PATTERN.fullmatch(pattern.strip())
    # What cannot be taken apart means a tool that nobody has: it allows nothing.
    return (match[1].strip(), match[2]) if match else (pattern, None)


def _against(rule: str, entry: HostTool, arguments: Mapping[str, Any]) -> str:
    """Return what speaks against a call under the rule in brackets, ``""`` when nothing does."""
    if entry.argument is None:
        return "The host did not say which argument this rule is for"
    value = arguments.get(entry.argument)
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return f"Its argument {entry.argument} is missing"
    value = value.strip()
    if _OPERATORS.search(value):
        return f"Its {entry.argument} joins a second command to the first"
    if ".." in re.split(r"[/\\\s=:]", value):
        return f"Its {entry.argument} climbs out of a folder"
    if _fits(rule.strip(), value):
        return ""
    return f"Its {entry.argument} is another one than is allowed"


def _fits(rule: str, value: str) -> bool:
    """Judge a value: ``git:*`` is git with any arguments, ``*`` stands for any text, the rest is literal."""
    if rule.endswith(":*"):
        stem = rule[:-2].strip()
        words, wanted = value.split(), stem.split()
        return words[: len(wanted)] == wanted
    return re.fullmatch(".*".join(map(re.escape, rule.split("*"))), value, re.DOTALL) is not None
