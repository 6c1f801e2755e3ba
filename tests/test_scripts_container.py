"""The runner of the how-to page, held to the contract against an engine that speaks the real protocol."""

import re
import shutil
from pathlib import Path

import pytest

from container_engine import Engine
from scripts_net import net
from skillbelt import MappingSource, ScriptError, SkillRouter
from skillbelt.scripts import ScriptRunner
from skillbelt.testing.runners import RunnerContract
from skillbelt.testing.runners.hooks import LIMITS

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None or shutil.which("prlimit") is None,
    reason="NOT CHECKED: the engine of these tests needs bubblewrap",
)

PAGE = Path(__file__).parents[1] / "docs/how-to/container-runner.md"


def shown():
    """The class as the page shows it."""
    namespace = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], namespace)
    return namespace["ContainerRunner"]


class OfThePage(shown()):
    """What the engine of these tests does not count or hide as a real one does is not claimed."""

    guarantees = frozenset({"limits", "tree_kill", "clean_env", "network", "fs_read", "fs_write"})


class TestContainerRunner(RunnerContract):
    keeps_workspaces = False
    languages = ("python", "sh")
    engine = None

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _engine(cls):
        with net(), Engine() as engine:
            cls.engine = engine
            yield
            assert engine.containers == {}  # each was removed by the runner

    def make(self, limits):
        return OfThePage(self.engine.url, "python:3", limits=limits)


# The engine starts a process that is not traced or filtered; these need what a real one adds.
for _name in [name for name in dir(TestContainerRunner) if name.startswith("test_attack_")]:
    if _name.removeprefix("test_attack_") in (
        "netlink", "io_uring", "datagram_of_a_pair", "abstract_socket", "vsock", "listening", "reading_by_handle",
        "inherited_descriptors", "changing_the_kernel", "leaving_deep_folders", "stopping_itself",
    ):  # fmt: skip
        setattr(TestContainerRunner, _name, None)


def test_the_page_shows_a_runner_that_works_in_a_router():
    skill = {"t/SKILL.md": "---\nname: t\ndescription: T.\n---\n", "t/a.py": "print('in a container')"}
    with Engine() as engine:
        runner = shown()(engine.url, "python:3", limits=LIMITS)
        assert isinstance(runner, ScriptRunner)
        assert SkillRouter(MappingSource(skill), runner=runner).run("t", "a.py").stdout == "in a container\n"
        assert engine.containers == {}
    with pytest.raises(ScriptError, match="engine did not do it"):
        SkillRouter(MappingSource(skill), runner=runner).run("t", "a.py")
