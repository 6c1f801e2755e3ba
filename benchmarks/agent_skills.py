"""The stateful loader of one skill folder: parse throughput, folder load, lifecycle, resource listing (S1-58)."""

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks import frontmatter, ratio
from skillbelt import LENIENT, NAMESPACED, STRICT
from skillbelt.agent_skills import AgentSkillLoader, AgentSkillSpec

PROFILES = {"strict": STRICT, "lenient": LENIENT, "namespaced": NAMESPACED}

# Sizes of real files: the median, the 99th percentile, and the largest of 18,837.
SIZES = {"6 KB": 6_455, "42 KB": 41_680, "294 KB": 294_426}

FIELDS = """license: MIT
compatibility: Needs Python 3.11 or newer and git.
metadata:
  author: ops-team
  version: "1.0"
allowed-tools: Read Bash(git:*)
"""


def skill_text(name, size, extra=""):
    """A SKILL.md of ``size`` bytes with every field of the specification."""
    head = (
        f"---\nname: {name}\ndescription: Deploys a service to staging. Use when asked to ship.\n{FIELDS}{extra}---\n"
    )
    line = "1. Look at the service, then at `references/guide.md`, and go on.\n"
    return (head + line * (size // len(line) + 1))[:size]


def name_for(profile):
    return "local/deploy" if profile == "namespaced" else "deploy"


class Folder:
    """A skill folder on the disk, removed after each benchmark."""

    def make(self, name, size, files=0):
        self.root = Path(tempfile.mkdtemp(prefix="skillbelt-bench-"))
        folder = self.root / "deploy"
        folder.mkdir()
        (folder / "SKILL.md").write_text(skill_text(name, size))
        for index in range(files):
            below = folder / ("scripts", "references", "assets", "examples/deep")[index % 4]
            below.mkdir(parents=True, exist_ok=True)
            (below / f"file-{index:04}.md").write_text("x" * 2000)
        return folder

    def teardown(self, *_):
        shutil.rmtree(self.root)


class ParseThroughput:
    """Text to specification, by profile and by size of the file."""

    params = (list(PROFILES), list(SIZES))
    param_names = ("profile", "size")

    def setup(self, profile, size):
        self.profile = PROFILES[profile]
        self.text = skill_text(name_for(profile), SIZES[size])

    def time_from_text(self, profile, size):
        AgentSkillSpec.from_text(self.text, profile=self.profile)


class ParseSteps:
    """The ``steps`` field, which only the namespaced profile judges."""

    params = (1, 10, 100)
    param_names = ("steps",)

    def setup(self, steps):
        lines = "".join(f"  - Step {index}: look, then go on.\n" for index in range(steps)).replace(": ", " - ")
        self.text = skill_text("local/deploy", 6_455 + len(lines), f"steps:\n{lines}")

    def time_from_text(self, steps):
        AgentSkillSpec.from_text(self.text)


class FolderLoad(Folder):
    """Discovery of one folder; flat in the size of the body, for that is not read."""

    params = (["lenient", "namespaced"], list(SIZES))
    param_names = ("profile", "size")

    def setup(self, profile, size):
        self.profile = PROFILES[profile]
        self.folder = self.make(name_for(profile), SIZES[size], files=9)

    def time_from_folder(self, profile, size):
        AgentSkillLoader.from_folder(self.folder, profile=self.profile)

    def time_limit(self, profile, size):
        """The least that gives the same: list the folder, read the first 4 KB, call the C parser."""
        os.listdir(self.folder)  # noqa: PTH208 - the limit has no Path objects to make
        fd = os.open(self.folder / "SKILL.md", os.O_RDONLY)
        try:
            frontmatter(os.read(fd, 4096))
        finally:
            os.close(fd)

    def track_times_limit(self, profile, size):
        return times_limit(self.time_from_folder, self.time_limit, profile, size)

    track_times_limit.unit = "x scandir + read + CSafeLoader"

    def track_bytes_read(self, profile, size):
        """Bytes this process reads for one discovery, as the kernel counts them."""
        before = _bytes_read()
        AgentSkillLoader.from_folder(self.folder, profile=self.profile)
        return _bytes_read() - before

    track_bytes_read.unit = "bytes"


class Lifecycle(Folder):
    """One conversation: discover, activate, deactivate."""

    params = tuple(SIZES)
    param_names = ("size",)

    def setup(self, size):
        self.folder = self.make("local/deploy", SIZES[size], files=9)
        self.loader = AgentSkillLoader.from_folder(self.folder)

    def time_discover(self, size):
        self.loader.discover()

    def time_activate(self, size):
        self.loader.activate()

    def time_discover_activate_deactivate(self, size):
        self.loader.discover()
        self.loader.activate()
        self.loader.deactivate()

    def time_limit(self, size):
        """The least that gives the same: the first 4 KB and the whole file, each with the C parser."""
        for count in (4096, -1):
            with (self.folder / "SKILL.md").open("rb", buffering=0) as file:
                frontmatter(file.read(count))

    def track_times_limit(self, size):
        return times_limit(self.time_discover_activate_deactivate, self.time_limit, size)

    track_times_limit.unit = "x 2 reads + CSafeLoader"


class ResourceListing(Folder):
    """The files of one folder; linear in their number."""

    params = (0, 9, 37, 500)  # 9 and 37 files are the 90th and the 99th percentile
    param_names = ("files",)

    def setup(self, files):
        self.folder = self.make("local/deploy", 6_455, files=files)
        self.loader = AgentSkillLoader.from_folder(self.folder)

    def time_list_resources(self, files):
        self.loader.list_resources()

    def time_script_paths(self, files):
        self.loader.script_paths  # noqa: B018 - a property that lists

    def time_resource_slots(self, files):
        self.loader.resource_slots  # noqa: B018 - a property that looks

    def time_limit(self, files):
        """The least that gives the same: walk, and one stat a file."""
        for path, _, names in os.walk(self.folder):
            for name in names:
                os.stat(os.path.join(path, name))  # noqa: PTH118 - the limit, without Path objects

    def track_times_limit(self, files):
        return times_limit(self.time_list_resources, self.time_limit, files)

    track_times_limit.unit = "x walk + stat"


def times_limit(ours, limit, *params):
    """How many times the limit ours takes; many calls a turn, for one is shorter than the clock's step."""

    def many(function):
        return lambda: [function(*params) for _ in range(50)]

    return ratio(many(ours), many(limit), rounds=5)


def _bytes_read():
    return int(Path("/proc/self/io").read_bytes().split()[1])
