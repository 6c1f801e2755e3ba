"""From a folder to every skill's name and description; the limit reads the same bytes and checks nothing."""

from pathlib import Path

from benchmarks import LIMITS, SIZES, limit_list, ratio, source, write
from skillbelt import SkillRouter


class Discovery:
    """Folders of 10 to 1000 skills, in the page cache."""

    params = (SIZES,)
    param_names = ("skills",)
    number = 1
    rounds = 5

    def setup_cache(self):
        return {count: write(Path.cwd() / str(count), count) for count in (*SIZES, 10_000)}

    def time_list(self, roots, skills):
        source(roots[skills]).list()

    def time_limit(self, roots, skills):
        limit_list(roots[skills])

    def track_times_limit(self, roots, skills):
        """How many times the limit a list costs."""
        return ratio(lambda: source(roots[skills]).list(), lambda: limit_list(roots[skills]), self.rounds)

    track_times_limit.unit = "x scandir + open + read 4 KB + CSafeLoader"


class Discovery10000(Discovery):
    """The same for 10,000 skills, with time for it."""

    params = ((10_000,),)
    rounds = 1
    timeout = 300


class Reload:
    """Looking again when nothing has changed."""

    params = (SIZES,)
    param_names = ("skills",)
    number = 1
    setup_cache = Discovery.setup_cache

    def setup(self, roots, skills):
        self.router = SkillRouter.from_directory(roots[skills], limits=LIMITS)
        self.router.skills()

    def time_reload(self, roots, skills):
        self.router.reload()


class Memory:
    """Peak memory of the process; subtract that of the limit to see what the list itself takes."""

    params = ((*SIZES, 10_000),)
    param_names = ("skills",)
    timeout = 300
    setup_cache = Discovery.setup_cache

    def peakmem_list(self, roots, skills):
        assert len(source(roots[skills]).list()) == skills

    def peakmem_limit(self, roots, skills):
        assert len(limit_list(roots[skills])) == skills
