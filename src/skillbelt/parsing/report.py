"""Findings of one file under one profile: bounded, printable, with the severity the profile gives their code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from skillbelt.models import Diagnostic, Severity
from skillbelt.parsing.profiles import Profile

__all__ = ["Report"]

_LONGEST = 300
_FIELD = 100


@dataclass(slots=True)
class Report:
    """Collects diagnostics of one file under one profile.

    Attributes:
        profile: Gives each code its severity.
        path: What the diagnostics speak of.
        found: In order of discovery.
        line_of: Gives the line of an offset in the frontmatter; asked only when there is something to say.
    """

    profile: Profile
    path: str | None = None
    found: list[Diagnostic] = field(default_factory=list)
    line_of: Callable[[int], int] | None = None

    def add(
        self,
        code: str,
        message: str,
        *,
        line: int | None = None,
        at: int | None = None,
        field: str | None = None,
        hint: str | None = None,
        fatal: bool = False,
    ) -> None:
        """Record one finding, unless the profile has nothing to say about its code.

        Args:
            code: A code of the format document.
            message: What was found; a key or a value in it may come from the file.
            line: 1-based line.
            at: Offset in the frontmatter, instead of a line.
            field: Frontmatter field.
            hint: What to change.
            fatal: An error whatever the profile says: nothing is left to go on with.
        """
        severity: Severity | None = "error" if fatal else self.profile.severity(code)
        if severity is not None:
            if line is None and at is not None and self.line_of is not None:
                line = self.line_of(at)
            self.found.append(
                Diagnostic(
                    code=code,
                    severity=severity,
                    message=_line(message, _LONGEST),
                    path=self.path,
                    line=line,
                    field=field and _line(field, _FIELD),
                    hint=hint and _line(hint, _LONGEST),
                )
            )

    def ordered(self) -> tuple[Diagnostic, ...]:
        """Return the findings: errors first, then by line, what has no line last."""
        return tuple(sorted(self.found, key=lambda d: (d.severity != "error", d.line is None, d.line or 0)))

    def has(self, severity: Severity) -> bool:
        """Whether anything of that severity was recorded."""
        return any(d.severity == severity for d in self.found)


def _line(text: str, length: int) -> str:
    """Return one bounded line: a file's own words may be 64 KB long and hold what a terminal acts on."""
    if len(text) > length:
        text = text[: length - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)
