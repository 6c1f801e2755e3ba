"""What an attack is.

An attack prints ``PWNED`` when it got what it wanted; what it may have done without saying so is looked up on the
host. ``%(…)s`` are places of the stage that :mod:`~skillbelt.testing.runners.stage` sets up for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillbelt.scripts.protocol import Guarantee

__all__ = ["Attack"]


@dataclass(frozen=True, slots=True)
class Attack:
    """One script that means harm.

    Attributes:
        name: What it tries, as a name of a check.
        stopped_by: The guarantee that must stop it.
        code: Python, with places of the stage.
        files: More files of the skill, by path.
        given: Files in the working folder, by path.
        timeout: Seconds that the run is given.
        ends: Reasons with which the run may end; empty is any.
        wait: Seconds after which the host is looked at again, for what comes late.
    """

    name: str
    stopped_by: Guarantee
    code: str
    files: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, bytes] = field(default_factory=dict)
    timeout: float = 4.0
    ends: tuple[str, ...] = ()
    wait: float = 0.0
