"""Who may run what: the host's rules, a person's answer, and what was granted before.

Rules are the application's alone: nothing in a skill, its front matter or a project folder adds to them. A grant is
bound to the sha256 of the skill's files, so it ends when a byte of the skill changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from skillbelt.errors import ScriptError, ScriptNotAllowedError
from skillbelt.sources.paths import shown

__all__ = ["Action", "Answer", "Ask", "Decision", "Grants", "Rule", "ScriptCall", "ScriptPolicy", "Trust"]

Action = Literal["allow", "ask", "deny"]
Trust = Literal["developer", "user", "project", "fetched"]
"""Where a skill comes from: chosen by the developer, the user's own folder, a project's folder, or fetched."""

Answer = Literal["once", "always", "no"]


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """What is about to run, as a rule judges it and a person is shown it.

    Attributes:
        skill: Name of the skill.
        path: The script.
        args: Its arguments.
        digest: sha256 over all files of the skill.
        trust: Where the skill comes from.
        runner: Name of what would run it.
        stdin_bytes: Size of its standard input.
        secrets: Names of the variables that the host grants the skill.
    """

    skill: str
    path: str
    args: tuple[str, ...] = ()
    digest: str = ""
    trust: Trust = "fetched"
    runner: str = ""
    stdin_bytes: int = 0
    secrets: tuple[str, ...] = ()


Ask = Callable[[ScriptCall], Answer | bool]
"""Asks a person. ``True`` is ``"once"``; ``"always"`` is a grant for this script while the skill stays as it is."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; the first that fits decides.

    Attributes:
        action: What follows.
        skill: Pattern for the skill's name, such as ``"pdf-*"``.
        path: Pattern for the script's path; ``*`` also stands for ``/``.
        trust: Only skills from there; ``None`` is anywhere.
        digest: Only a skill whose files have this digest.

    Raises:
        ScriptError: The action or the trust is none there is.
    """

    action: Action
    skill: str = "*"
    path: str = "*"
    trust: Trust | tuple[Trust, ...] | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise ScriptError(f"A rule's action is 'allow', 'ask' or 'deny', not {self.action!r}.")
        wrong = [one for one in self._trusts() if one not in get_args(Trust)]
        if wrong:
            raise ScriptError(f"There is no trust {wrong[0]!r}; there are: {', '.join(get_args(Trust))}.")

    def fits(self, call: ScriptCall) -> bool:
        """Whether the rule is about a call.

        Args:
            call: What is about to run.
        """
        return (
            fnmatchcase(call.skill.casefold(), self.skill.casefold())
            and fnmatchcase(call.path, self.path)
            and (self.trust is None or call.trust in self._trusts())
            and (self.digest is None or call.digest == self.digest)
        )

    def _trusts(self) -> tuple[str, ...]:
        return () if self.trust is None else (self.trust,) if isinstance(self.trust, str) else self.trust

    def __str__(self) -> str:
        where = [
            f"{name} {shown(value)}" for name, value in (("skill", self.skill), ("path", self.path)) if value != "*"
        ]
        where += [f"trust {', '.join(self._trusts())}"] if self.trust else []
        where += [f"digest {self.digest[:12]}…"] if self.digest else []
        return f"{self.action} ({'; '.join(where) or 'everything'})"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say of one call.

    Attributes:
        action: What follows.
        why: The rule, or the grant, in words.
    """

    action: Action
    why: str


class Grants:
    """What a person allowed for good: scripts of skills, each while the skill's files stay the same.

    Args:
        granted: As :meth:`as_json` gave it.

    Example:
        >>> grants = Grants()
        >>> grants.add(ScriptCall("pdf", "scripts/fill.py", digest="abc"))
        >>> grants.covers(ScriptCall("pdf", "scripts/fill.py", digest="abc"))
        True
        >>> grants.covers(ScriptCall("pdf", "scripts/fill.py", digest="changed"))
        False
    """

    def __init__(self, granted: Iterable[Mapping[str, str]] = ()) -> None:
        self._lock = threading.Lock()
        self._granted = {(one["skill"], one["path"], one["digest"]) for one in granted}

    def add(self, call: ScriptCall) -> None:
        """Grant a script of a skill as it is now.

        Args:
            call: What was asked for; its arguments do not matter.

        Raises:
            ScriptError: The call has no digest to bind the grant to.
        """
        if not call.digest:
            raise ScriptError("A grant is bound to the digest of a skill's files, and this call has none.")
        with self._lock:
            self._granted.add((call.skill, call.path, call.digest))

    def covers(self, call: ScriptCall) -> bool:
        """Whether a call was granted.

        Args:
            call: What is about to run.
        """
        with self._lock:
            return (call.skill, call.path, call.digest) in self._granted

    def revoke(self, skill: str) -> None:
        """Take back everything granted to a skill.

        Args:
            skill: Its name.
        """
        with self._lock:
            self._granted = {one for one in self._granted if one[0] != skill}

    def as_json(self) -> list[dict[str, str]]:
        """Return the grants as plain values, to be kept by the host."""
        with self._lock:
            return [{"skill": skill, "path": path, "digest": digest} for skill, path, digest in sorted(self._granted)]


CAREFUL = (Rule("allow", trust=("developer", "user")), Rule("ask"))


class ScriptPolicy:
    """Rules, somebody to ask, and what was granted.

    Args:
        rules: Tried in order. By default what the developer and the user chose runs, everything else is asked for.
        ask: Asks a person; without it, what would be asked for is refused.
        grants: What was allowed for good; a new store by default.
        otherwise: What follows when no rule fits.

    Example:
        >>> policy = ScriptPolicy([Rule("allow", skill="pdf-*", path="scripts/*.py")], otherwise="deny")
        >>> policy.decide(ScriptCall("mail", "scripts/send.py")).action
        'deny'
    """

    def __init__(
        self,
        rules: Iterable[Rule] = CAREFUL,
        *,
        ask: Ask | None = None,
        grants: Grants | None = None,
        otherwise: Action = "deny",
    ) -> None:
        self.rules = tuple(rules)
        self.ask = ask
        self.grants = grants or Grants()
        self.otherwise: Action = otherwise

    def asking(self, ask: Ask) -> ScriptPolicy:
        """Return the same rules and grants with somebody else to ask, for one conversation.

        Args:
            ask: Asks a person.
        """
        return ScriptPolicy(self.rules, ask=ask, grants=self.grants, otherwise=self.otherwise)

    def decide(self, call: ScriptCall) -> Decision:
        """Return what the rules say, asking nobody.

        Args:
            call: What is about to run.
        """
        for rule in self.rules:
            if rule.fits(call):
                if rule.action == "ask" and self.grants.covers(call):
                    return Decision("allow", "granted before, for these very files")
                return Decision(rule.action, str(rule))
        return Decision(self.otherwise, f"{self.otherwise} (no rule fits)")

    def check(self, call: ScriptCall) -> None:
        """Return when a call may run, after asking if need be.

        Args:
            call: What is about to run.

        Raises:
            ScriptNotAllowedError: A rule, or the person asked, says no; the message names the rule.
        """
        decision = self.decide(call)
        what = f"{shown(call.path)} of the skill {shown(call.skill)}"
        if decision.action == "deny":
            raise ScriptNotAllowedError(f"{what} may not be run: the host's rule is {decision.why}. Go on without it.")
        if decision.action == "ask":
            if self.ask is None:
                raise ScriptNotAllowedError(
                    f"{what} may not be run: the host's rule is {decision.why}, and there is nobody to ask. "
                    "Go on without it."
                )
            answer = self.ask(call)
            if answer == "always":
                self.grants.add(call)
            elif answer is not True and answer != "once":
                raise ScriptNotAllowedError(f"{what} was not run: the person who was asked refused. Go on without it.")

    def __repr__(self) -> str:
        return f"ScriptPolicy([{', '.join(map(str, self.rules))}], otherwise={self.otherwise!r})"


def described(call: ScriptCall) -> dict[str, object]:
    """Return a call as plain values, for an approval that crosses a process or is kept in a checkpoint.

    Args:
        call: What is about to run.
    """
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(call).items()}
