"""Every runner of this package under the checks that are shipped for runners of others.

LocalRunner stops what it claims, each rung of SandboxRunner stops everything; as root here, as an ordinary user in
``test_scripts_as_user.py``.
"""

from functools import cache

import pytest

from skillbelt.errors import ScriptError
from skillbelt.scripts import LocalRunner, SandboxRunner
from skillbelt.testing.runners import ATTACKS, RunnerContract


class Host(RunnerContract):
    """A runner of this machine."""

    languages = ("python", "sh", "bash")
    folder = None

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _folder(cls, tmp_path_factory):
        cls.folder = tmp_path_factory.mktemp("scripts")
        cls.runner.cache_clear()

    def make(self, limits):
        return self.runner(type(self).folder, limits)


class TestLocalRunner(Host):
    @staticmethod
    @cache
    def runner(folder, limits):
        return LocalRunner(cache=folder, limits=limits)


class Sandbox(Host):
    rung = ""

    @classmethod
    def sandbox(cls, folder, limits):
        """The one rung; the first sandbox of a class is tried by itself, the others are like it."""
        try:
            return SandboxRunner(cache=folder, limits=limits, rungs=(cls.rung,))
        except ScriptError as error:
            pytest.skip(f"NOT CHECKED: there is no {cls.rung} here: {error}")

    def test_it_guarantees_everything(self):
        from typing import get_args

        from skillbelt.scripts import Guarantee
        from skillbelt.testing.runners.hooks import LIMITS

        assert self.make(LIMITS).guarantees == frozenset(get_args(Guarantee))


class TestBubblewrap(Sandbox):
    rung = "bubblewrap"

    @staticmethod
    @cache
    def runner(folder, limits):
        return TestBubblewrap.sandbox(folder, limits)


class TestLandlock(Sandbox):
    rung = "landlock"

    @staticmethod
    @cache
    def runner(folder, limits):
        return TestLandlock.sandbox(folder, limits)


def test_there_are_at_least_44_attacks_of_every_kind():
    assert len(ATTACKS) >= 44
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    kinds = {attack.stopped_by for attack in ATTACKS}
    assert kinds == {"limits", "tree_kill", "clean_env", "network", "fs_read", "fs_write", "processes", "disk"}
