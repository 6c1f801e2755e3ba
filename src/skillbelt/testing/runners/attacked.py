"""Checks that attacks fail: one method for each, made from the list of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from skillbelt.testing.runners.attacks import ATTACKS, Attack
from skillbelt.testing.runners.hooks import RunnerHooks
from skillbelt.testing.runners.stage import CANARY, Stage

__all__ = ["AttackChecks"]


class AttackChecks(RunnerHooks):
    """Attacks on what the runner guarantees; each is a method ``test_attack_…``."""

    def attack(self, attack: Attack) -> None:
        """Let one attack loose and fail when it gets anything.

        Args:
            attack: One of :data:`~skillbelt.testing.runners.ATTACKS`, or of your own.
        """
        self.need(attack.stopped_by)
        with Stage() as stage:
            given = stage.request(attack)
            before = os.environ.get("HOST_KEY")
            os.environ["HOST_KEY"] = CANARY.strip()
            try:
                began = time.monotonic()
                files = {"files": given["given"]} if self.takes_files else {}
                result = self.run_script(given["files"], limits={"timeout": attack.timeout}, **files)
            finally:
                if before is None:
                    del os.environ["HOST_KEY"]
                else:
                    os.environ["HOST_KEY"] = before
            stage.judge(attack, result, time.monotonic() - began)


def _check(attack: Attack) -> Callable[[AttackChecks], None]:
    def check(self: AttackChecks) -> None:
        self.attack(attack)

    check.__name__ = f"test_attack_{attack.name}"
    check.__doc__ = f"{attack.name.replace('_', ' ').capitalize()}."
    return check


for _attack in ATTACKS:
    setattr(AttackChecks, f"test_attack_{_attack.name}", _check(_attack))
