"""What a script finds in its environment: a short list, never the host's own variables.

The host's keys are in the host's environment; a script inherits none of them. What it may have the host names, or
grants to one skill as a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from skillbelt.errors import ScriptError

__all__ = ["Secrets", "clean_environment"]

PASSED = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Variables of the host that say how to write and what time it is, and nothing else."""

_FIXED = {
    # Text arrives as it was written, whatever the locale; nothing is written into the skill; lines come as they are.
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONNOUSERSITE": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEERING = re.compile(r"LD_.*|DYLD_.*|PYTHON.*|BASH_ENV|ENV|NODE_OPTIONS|PERL5.*|RUBY(OPT|LIB)|IFS|PATH|HOME|TMPDIR")


def clean_environment(
    *, work: str, temporary: str, path: str, passed: Iterable[str], extra: Mapping[str, str], secrets: Mapping[str, str]
) -> dict[str, str]:
    """Return the whole environment of a script.

    Args:
        work: Its working folder, which is its home as well.
        temporary: Where temporary files go.
        path: Where it finds programs.
        passed: Names of variables of the host that it may see.
        extra: Variables the host sets for every script.
        secrets: Variables the host grants this skill.

    Raises:
        ScriptError: A name or a value cannot be a variable.
    """
    environment = {name: os.environ[name] for name in (*PASSED, *passed) if name in os.environ}
    environment.setdefault("LANG", "C.UTF-8")
    environment.update(_FIXED)
    environment.update({"HOME": work, "TMPDIR": temporary, "PATH": path})
    for name, value in (*extra.items(), *secrets.items()):
        if not _NAME.fullmatch(name) or "\x00" in value:
            raise ScriptError(
                f"{name[:60]!r} cannot be a variable; its name or its value has a character that may not."
            )
        environment[name] = value
    return environment


@dataclass(frozen=True, slots=True)
class _Grant:
    values: Mapping[str, str] = field(repr=False)
    digest: str | None = None


class Secrets:
    """Variables that the host grants to skills, by name; their values are in no ``repr``.

    A grant can be bound to the digest of the skill's files: then a changed skill does not get it.

    Args:
        granted: For the name of a skill, its variables.

    Example:
        >>> secrets = Secrets({"weigh": {"WEIGH_KEY": "s3cr3t"}})
        >>> secrets
        Secrets(weigh: WEIGH_KEY)
        >>> secrets.of("weigh", "any digest"), secrets.of("other", "any digest")
        ({'WEIGH_KEY': 's3cr3t'}, {})
    """

    __slots__ = ("_grants",)

    def __init__(self, granted: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._grants: Mapping[str, _Grant] = MappingProxyType(
            {name: _checked(name, values, None) for name, values in (granted or {}).items()}
        )

    @classmethod
    def from_environment(cls, **granted: Iterable[str]) -> Secrets:
        """Return secrets whose values are in the host's environment now.

        Args:
            **granted: For the name of a skill, names of variables.

        Raises:
            ScriptError: One of them is not set.
        """
        for name, names in granted.items():
            for variable in names:
                if variable not in os.environ:
                    raise ScriptError(f"{variable} is not set, so it cannot be granted to the skill {name!r}.")
        return cls({name: {variable: os.environ[variable] for variable in names} for name, names in granted.items()})

    def grant(self, skill: str, values: Mapping[str, str], *, digest: str | None = None) -> Secrets:
        """Return these secrets and one grant more; one for the same skill is replaced.

        Args:
            skill: Name of the skill.
            values: Its variables.
            digest: Only while the files of the skill have this digest.

        Raises:
            ScriptError: A variable would steer the interpreter, such as ``PYTHONPATH`` or ``LD_PRELOAD``.
        """
        more = Secrets()
        more._grants = MappingProxyType({**self._grants, skill: _checked(skill, values, digest)})
        return more

    def of(self, skill: str, digest: str) -> dict[str, str]:
        """Return the variables of one skill.

        Args:
            skill: Its name.
            digest: Digest of its files.
        """
        grant = self._grants.get(skill)
        return dict(grant.values) if grant is not None and grant.digest in (None, digest) else {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._grants)

    def __repr__(self) -> str:
        return f"Secrets({'; '.join(f'{skill}: {chr(32).join(g.values)}' for skill, g in self._grants.items())})"


def _checked(skill: str, values: Mapping[str, str], digest: str | None) -> _Grant:
    for name, value in values.items():
        if not isinstance(value, str) or not _NAME.fullmatch(name) or _STEERING.fullmatch(name):
            raise ScriptError(f"{name[:60]!r} cannot be granted to the skill {skill!r}; give another variable.")
    return _Grant(MappingProxyType(dict(values)), digest)
