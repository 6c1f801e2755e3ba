"""Every runner of this package under the checks that are shipped for runners of others.

LocalRunner stops what it claims, each rung of SandboxRunner stops everything: as the user of this process, and when
that is root, once more as an ordinary user.
"""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from scripts_net import net
from skillbelt.errors import ScriptError
from skillbelt.scripts import Guarantee, LocalRunner, SandboxRunner
from skillbelt.testing.runners import ATTACKS, RunnerContract
from skillbelt.testing.runners.hooks import LIMITS


class Host(RunnerContract):
    """A runner of this machine."""

    languages = ("python", "sh", "bash")
    folder = None

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _folder(cls, tmp_path_factory):
        cls.folder = tmp_path_factory.mktemp("scripts")
        cls.runner.cache_clear()
        with net():
            yield
            cls.runner.cache_clear()  # its groups lie in that of the net
            gc.collect()

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
    assert kinds == set(get_args(Guarantee))


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user already")
@pytest.mark.parametrize(
    "tests",
    [
        "test_scripts_contract.py::TestLocalRunner",
        "test_scripts_contract.py::TestBubblewrap",
        "test_scripts_contract.py::TestLandlock",
        "test_scripts_sandbox.py",
    ],
)
def test_the_same_holds_as_an_ordinary_user(tests):
    folder = Path(tempfile.mkdtemp(prefix="user-"))  # sockets have short paths
    words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-rs"]
    words += ["--basetemp", str(folder / "pytest"), f"tests/{tests}"]
    with net():
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("as_user.py")), str(folder), sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
        )
    shutil.rmtree(folder)
    if "there is no bubblewrap here" in done.stdout or "there is no landlock here" in done.stdout:
        pytest.skip(f"NOT CHECKED as an ordinary user: {done.stdout[-1500:]}")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
