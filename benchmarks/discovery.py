"""From a folder to every skill's name and description; the limit reads the same bytes and checks nothing."""

import math
import time
from pathlib import Path

from benchmarks import LIMITS, SIZES, STYLES, limit_list, ratio, source, write
from skillbelt import SkillRouter


class Discovery:
    """Folders of 10 to 1000 skills, in the page cache: plain frontmatter, and frontmatter that takes a YAML parser."""

    params = (SIZES, STYLES)
    param_names = ("skills", "frontmatter")
    number = 1
    rounds = 7

    def setup_cache(self):
        return {
            (count, style): write(Path.cwd() / f"{count}-{style}", count, style) for count in SIZES for style in STYLES
        }

    def time_list(self, roots, skills, style):
        source(roots[skills, style]).list()

    def time_limit(self, roots, skills, style):
        limit_list(roots[skills, style])

    def track_times_limit(self, roots, skills, style):
        """How many times the limit a list costs."""
        root = roots[skills, style]
        return ratio(lambda: source(root).list(), lambda: limit_list(root), self.rounds)

    track_times_limit.unit = "x scandir + open + read 4 KB + CSafeLoader"


class Discovery10000(Discovery):
    """The same for 10,000 skills, with time for it."""

    params = ((10_000,), STYLES)
    rounds = 1
    timeout = 600

    def setup_cache(self):
        return {(10_000, style): write(Path.cwd() / f"10000-{style}", 10_000, style) for style in STYLES}


class Growth:
    """By which power of their number the cost of 100 to 10,000 skills grows: 1 is linear."""

    timeout = 600

    def setup_cache(self):
        return {count: write(Path.cwd() / str(count), count) for count in (100, 10_000)}

    def track_exponent(self, roots):
        taken = {}
        for count, root in roots.items():
            times = []
            for _ in range(4):
                start = time.process_time()
                source(root).list()
                times.append(time.process_time() - start)
            taken[count] = min(times)
        return math.log(taken[10_000] / taken[100]) / math.log(100)


class Reload:
    """Looking again when nothing has changed."""

    params = (SIZES,)
    param_names = ("skills",)
    number = 1
    rounds = 7

    def setup_cache(self):
        return {count: write(Path.cwd() / str(count), count) for count in SIZES}

    def setup(self, roots, skills):
        self.router = SkillRouter.from_directory(roots[skills], limits=LIMITS)
        self.router.skills()

    def time_reload(self, roots, skills):
        self.router.reload()

    def track_times_limit(self, roots, skills):
        """How many times the limit of a first look a second look costs."""
        return ratio(self.router.reload, lambda: limit_list(roots[skills]), self.rounds)

    track_times_limit.unit = "x scandir + open + read 4 KB + CSafeLoader"


class Reload10000(Reload):
    """The same for 10,000 skills."""

    params = ((10_000,),)
    rounds = 1
    timeout = 600

    def setup_cache(self):
        return {10_000: write(Path.cwd() / "10000", 10_000)}


class Memory:
    """Peak memory of the process; subtract that of the limit to see what the list itself takes."""

    params = ((*SIZES, 10_000),)
    param_names = ("skills",)
    timeout = 600

    def setup_cache(self):
        return {count: write(Path.cwd() / str(count), count) for count in (*SIZES, 10_000)}

    def peakmem_list(self, roots, skills):
        assert len(source(roots[skills]).list()) == skills

    def peakmem_limit(self, roots, skills):
        assert len(limit_list(roots[skills])) == skills
