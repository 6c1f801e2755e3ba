"""The catalog of level 1; the limit joins and escapes the same lines."""

from html import escape

from benchmarks import SIZES, name, ratio, text
from skillbelt import MappingSource, Renderer, SkillRouter, TokenBudget, estimate_tokens
from skillbelt.limits import Limits


def bare(summaries):
    """Return the shortest usual form, ``- name: description``."""
    return "\n".join(f"- {s.name}: {s.description}" for s in summaries)


class Catalog:
    """Skills are listed already; only the text is made."""

    params = ((*SIZES, 10_000),)
    param_names = ("skills",)

    def setup(self, skills):
        files = {f"{name(number)}/SKILL.md": text(number) for number in range(skills)}
        limits = Limits(entries=100_000, directories=100_000)
        self.router = SkillRouter(MappingSource(files, limits=limits))
        self.summaries = self.router.skills()
        self.renderer = Renderer()
        self.full = self.router.catalog()
        self.half = TokenBudget(max(50, self.full.tokens // 2))
        self.names = TokenBudget(max(50, self.full.tokens // 10))

    def time_first(self, skills):
        self.renderer.catalog(self.summaries)

    def time_again(self, skills):
        self.router.catalog()

    def time_prompt(self, skills):
        self.router.prompt("You are helpful.")

    def time_half_budget(self, skills):
        self.renderer.catalog(self.summaries, self.half)

    def time_tenth_budget(self, skills):
        self.renderer.catalog(self.summaries, self.names)

    def time_limit(self, skills):
        return self._limit()

    def _limit(self):
        return "\n".join(f'<skill name="{s.name}">{escape(s.description, quote=False)}</skill>' for s in self.summaries)

    def track_times_limit(self, skills):
        """How many times the limit the text costs when it is made for the first time."""
        return ratio(lambda: self.renderer.catalog(self.summaries), self._limit, rounds=15)

    track_times_limit.unit = "x join of escaped lines"

    def track_tokens_over_bare(self, skills):
        """How many times the tokens of the bare form the catalog takes, by the package's own estimate."""
        return self.full.tokens / estimate_tokens(bare(self.summaries))

    track_tokens_over_bare.unit = "x tokens of '- name: description'"
