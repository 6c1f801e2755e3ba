"""References: from a hundred of them to packages and to a router, when all they lead to is cached.

No server is asked, which ``setup`` makes sure of: where the registry should be, nobody is. Of the references a third
names a host, a third the default registry, and a third are ids. A package has a SKILL.md of about 5.5 KB and one file
beside it, 12 KB as a document. The goal is 50 ms of CPU for all hundred; ``first`` is the first time in a process,
when every document is judged, ``again`` any time after it.
"""

import hashlib
import json
import time
from pathlib import Path
from statistics import median

from benchmarks import name, ratio, text
from skillbelt import MappingSource, SkillRouter
from skillbelt.packages import (
    PackageContentResolver,
    ReferenceResolver,
    Registries,
    canonicalize,
    pack_skill,
)
from skillbelt.packages import judged as judging
from skillbelt.packages.cache import RegistryCache
from skillbelt.sources.lru import Kept

COUNT = 100
HOST = "127.0.0.1:9"
GUIDE = "Compare both, and write down what differs.\n" * 16


def packed(number):
    """One package."""
    own = name(number)
    return pack_skill(MappingSource({f"{own}/SKILL.md": text(number), f"{own}/references/guide.md": GUIDE}), own)


def filled(cache):
    """Put a hundred packages and what their aliases mean into a cache, and return the references."""
    references = []
    for number in range(COUNT):
        package, own = packed(number), name(number)
        cache.put(package.id, canonicalize(package.document))
        means = json.dumps({"id": str(package.id), "version": "v1.0.0"})
        cache.put_alias(f"{HOST}/skill/acme/{own}@v1.x", means)
        texts = (f"{HOST}:acme/{own}@v1.x", f"registry:acme/{own}@v1.x", f"ID:{package.id}")
        references.append(texts[number % 3])
    return references


def forget():
    """Make skillbelt judge every package anew."""
    judging._JUDGED = Kept(8 << 20)


def milliseconds(function, before=lambda: None, rounds=7):
    """Return the CPU time of a call in milliseconds, the median of some."""
    taken = []
    for _ in range(rounds):
        before()
        start = time.process_time_ns()
        function()
        taken.append(time.process_time_ns() - start)
    return median(taken) / 1e6


class WarmCache:
    """A hundred references to packages that are kept in memory, or on disk."""

    params = ("memory", "disk")
    param_names = ("cache",)

    def setup(self, kind):
        self.cache = RegistryCache(None if kind == "memory" else Path.cwd() / "cache")
        self.references = filled(self.cache)
        self.registries = Registries({"registry": f"https://{HOST}"}, others=False)
        self.resolver = ReferenceResolver(self.registries, cache=self.cache)
        self.contents = PackageContentResolver(self.resolver)

    def teardown(self, kind):
        self.cache.close()

    def _resolve(self):
        return [self.resolver.resolve(one) for one in self.references]

    def _load(self):
        return [self.contents.load(one) for one in self.references]

    def _router(self):
        return SkillRouter.from_references(*self.references, registry=self.registries, cache=self.cache)

    def time_resolve_100(self, kind):
        self._resolve()

    def time_load_100(self, kind):
        self._load()

    def time_router_of_100(self, kind):
        self._router()

    def track_resolve_100(self, kind):
        """From references to ids."""
        return milliseconds(self._resolve)

    def track_load_100_first(self, kind):
        """To packages that were read, hashed and judged."""
        return milliseconds(self._load, before=forget)

    def track_load_100_again(self, kind):
        """To packages that were read and hashed."""
        return milliseconds(self._load)

    def track_router_of_100_first(self, kind):
        """To a router, with every skill unpacked and listed."""
        return milliseconds(self._router, before=forget)

    def track_router_of_100_again(self, kind):
        """The same, when the process has seen the packages before."""
        return milliseconds(self._router)

    def track_load_100_first_over_limit(self, kind):
        """How many times the cost of reading the bytes, hashing them and ``json.loads``."""
        ids = [resolved.id for resolved in self._resolve()]

        def limit():
            for one in ids:
                data = self.cache._database.read(str(one))
                hashlib.sha1(data, usedforsecurity=False).hexdigest()
                json.loads(data)

        def ours():
            forget()
            self._load()

        return ratio(ours, limit, rounds=7)

    for _track in (
        track_resolve_100,
        track_load_100_first,
        track_load_100_again,
        track_router_of_100_first,
        track_router_of_100_again,
    ):
        _track.unit = "ms CPU"
    del _track
    track_load_100_first_over_limit.unit = "x read + SHA-1 + json.loads"
