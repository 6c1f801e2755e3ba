"""The promises of a runner of scripts as checks that anyone can run on theirs.

Subclass :class:`RunnerContract`, say how to make a runner, and let pytest or unittest collect it. What a runner does
not guarantee is not checked and reported as skipped; what it does guarantee is attacked.
"""

from skillbelt.testing.runners.attacked import AttackChecks
from skillbelt.testing.runners.attacks import ATTACKS, Attack
from skillbelt.testing.runners.honest import HonestChecks
from skillbelt.testing.runners.hooks import RunnerHooks
from skillbelt.testing.runners.limits import LimitChecks

__all__ = ["ATTACKS", "Attack", "RunnerContract"]


class RunnerContract(HonestChecks, LimitChecks, AttackChecks, RunnerHooks):
    """Checks of a :class:`~skillbelt.scripts.ScriptRunner`; each method is one promise, or one attack on one.

    Subclass it in a test module and override :meth:`make`. With unittest, inherit from ``unittest.TestCase`` as well.
    The attacks are real: run them where a runner that is wrong can do no harm.

    Attributes:
        takes_files: Files can be handed in and are handed back.
        keeps_workspaces: A working folder can be kept over several runs.
        streams: ``on_output`` hears lines while the script runs.
        languages: Languages the runner has interpreters for; ``"python"`` must be one.
        seconds: How much longer than its timeout a run may take to be answered.

    Example:
        >>> import unittest
        >>> from skillbelt.scripts import LocalRunner, ScriptLimits
        >>> class TestLocal(RunnerContract, unittest.TestCase):
        ...     def make(self, limits):
        ...         return LocalRunner(limits=limits)
        >>> result = TestLocal("test_arguments_arrive_exactly").run()
        >>> result.failures, result.errors
        ([], [])
    """
