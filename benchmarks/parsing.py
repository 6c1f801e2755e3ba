"""Parsing SKILL.md files that are in memory already; the limit is the C YAML parser alone."""

from benchmarks import SIZES, frontmatter, ratio, text
from skillbelt import LENIENT, STRICT, parse_skill
from skillbelt.parsing import parse_frontmatter

PROFILES = {"lenient": LENIENT, "strict": STRICT}


class Parse:
    """Every frontmatter is valid."""

    params = (SIZES, tuple(PROFILES))
    param_names = ("skills", "profile")
    number = 1

    def setup(self, skills, profile):
        self.profile = PROFILES[profile]
        self.files = [text(number).encode() for number in range(skills)]
        self.heads = [data[: data.index(b"\n---", 3) + 5] for data in self.files]

    def time_whole(self, skills, profile):
        for data in self.files:
            parse_skill(data, profile=self.profile)

    def time_frontmatter(self, skills, profile):
        for head in self.heads:
            parse_frontmatter(head, profile=self.profile)

    def time_limit(self, skills, profile):
        for head in self.heads:
            frontmatter(head)

    def track_times_limit(self, skills, profile):
        """How many times the limit level 1 costs."""
        return ratio(lambda: self.time_frontmatter(skills, profile), lambda: self.time_limit(skills, profile), rounds=5)

    track_times_limit.unit = "x CSafeLoader"


class Repair:
    """Every description has an unquoted ``": "`` in it, so the YAML has to be repaired."""

    params = (SIZES,)
    param_names = ("skills",)
    number = 1

    def setup(self, skills):
        good = [text(number) for number in range(skills)]
        self.good = [data.encode() for data in good]
        self.broken = [data.replace("description: Turns", "description: Note: turns").encode() for data in good]

    def time_broken(self, skills):
        for data in self.broken:
            parse_skill(data)

    def time_limit(self, skills):
        for data in self.good:
            parse_skill(data)

    def track_times_limit(self, skills):
        """How many times the cost of the same files with valid YAML."""
        return ratio(lambda: self.time_broken(skills), lambda: self.time_limit(skills), rounds=2)

    track_times_limit.unit = "x valid YAML"
