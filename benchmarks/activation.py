"""Loading a skill through each kind of tool, beside a tool of the same framework that does next to nothing.

The plain tool reads the same SKILL.md in one call and returns its text: what is left is what skillbelt adds, checks
of name and path, parsing, the file listing, the wrapper.
"""

import time
import tracemalloc
from pathlib import Path

from benchmarks import LIMITS, SIZES, name, ratio, write
from skillbelt import SkillRouter
from skillbelt import skill_tools as core_tools
from skillbelt.limits import MIB
from skillbelt.sources.directory import SETTLE

TOOLS = ("core", "langchain", "llama-index")


def _core(router, plain):
    load, _ = core_tools(router)
    return (lambda which: load.call(name=which)), plain


def _langchain(router, plain):
    from langchain_core.tools import StructuredTool

    from skillbelt.langchain import skill_tools

    load, noop = skill_tools(router)[0], StructuredTool.from_function(plain, name="plain", description="Reads.")
    return (lambda which: load.invoke({"name": which})), (lambda which: noop.invoke({"which": which}))


def _llama_index(router, plain):
    from llama_index.core.tools import FunctionTool

    from skillbelt.llama_index import skill_tools

    load, noop = skill_tools(router)[0], FunctionTool.from_defaults(plain, name="plain", description="Reads.")
    return (lambda which: load.call(name=which)), (lambda which: noop.call(which=which))


class Activation:
    """One skill out of 10 to 1000, read from disk at every call."""

    params = (SIZES, TOOLS)
    param_names = ("skills", "tool")

    def setup_cache(self):
        return {count: write(Path.cwd() / str(count), count) for count in SIZES}

    def setup(self, roots, skills, tool):
        # A framework is imported here and not above: asv imports this module for every benchmark.
        router = SkillRouter.from_directory(roots[skills], limits=LIMITS)
        folder = roots[skills]

        def plain(which: str) -> str:
            return Path(folder, which, "SKILL.md").read_text()

        make = {"core": _core, "langchain": _langchain, "llama-index": _llama_index}[tool]
        self.load, self.plain = make(router, plain)
        self.wanted = name(skills // 2)
        self.load(self.wanted)

    def time_load(self, roots, skills, tool):
        self.load(self.wanted)


class Activation10000(Activation):
    """One skill out of 10,000."""

    params = ((10_000,), TOOLS)
    timeout = 600

    def setup_cache(self):
        return {10_000: write(Path.cwd() / "10000", 10_000)}


class Overhead:
    """The same out of 1000 skills, beside the plain tool."""

    params = ((1000,), TOOLS)
    param_names = ("skills", "tool")
    setup_cache = Activation.setup_cache
    setup = Activation.setup

    def track_times_plain(self, roots, skills, tool):
        """How many times the cost of a plain tool that reads the file and returns it."""
        return ratio(
            lambda: [self.load(self.wanted) for _ in range(20)],
            lambda: [self.plain(self.wanted) for _ in range(20)],
            rounds=5,
        )

    track_times_plain.unit = "x a plain tool that reads the file"


class Resource:
    """One small bundled file, through the core's tool."""

    params = (SIZES,)
    param_names = ("skills",)
    setup_cache = Activation.setup_cache

    def setup(self, roots, skills):
        _, self.read = core_tools(SkillRouter.from_directory(roots[skills], limits=LIMITS))
        self.wanted = name(5)
        self.path = Path(roots[skills], self.wanted, "references", "part-0.md")

    def time_read(self, roots, skills):
        self.read.call(name=self.wanted, path="references/part-0.md")

    def time_limit(self, roots, skills):
        self.path.read_text()

    def track_times_limit(self, roots, skills):
        """How many times the cost of reading the file and nothing else."""
        return ratio(
            lambda: [self.read.call(name=self.wanted, path="references/part-0.md") for _ in range(20)],
            lambda: [self.path.read_text() for _ in range(20)],
            rounds=5,
        )

    track_times_limit.unit = "x open + read"


class Resource10000(Resource):
    """The same out of 10,000 skills."""

    params = ((10_000,),)
    timeout = 600
    setup_cache = Activation10000.setup_cache


class LargeResource:
    """One page of a file of 100 MB: peak memory of the process, beside one that reads the page and nothing else."""

    timeout = 300

    def setup_cache(self):
        root = write(Path.cwd() / "large", 1)
        with Path(root, name(0), "large.txt").open("wb") as file:
            for _ in range(100):
                file.write(b"0123456789abcde\n" * 65536)
        time.sleep(SETTLE)
        return root

    def peakmem_page(self, root):
        page = SkillRouter.from_directory(root, limits=LIMITS).read(name(0), "large.txt", max_bytes=MIB)
        assert (len(page.data), page.total) == (MIB, 100 * MIB)

    def peakmem_limit(self, root):
        with Path(root, name(0), "large.txt").open("rb") as file:
            assert len(file.read(MIB)) == MIB

    def track_extra_memory(self, root):
        """Bytes that Python allocates at most for the page, the page itself included."""
        router = SkillRouter.from_directory(root, limits=LIMITS)
        router.skills()
        tracemalloc.start()
        page = router.read(name(0), "large.txt", max_bytes=MIB)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(page.data) == MIB
        return peak

    track_extra_memory.unit = "bytes"
