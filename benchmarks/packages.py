"""Packages: packing, unpacking and hashing a skill of 50 KB, beside the least work that touches the same bytes.

The skill has a SKILL.md of about 5.5 KB, eight text files and two binary ones. The limits: reading its files (for
``pack``), ``json.loads`` of the document (for ``unpack``), ``json.dumps`` with sorted keys (for ``canonicalize``).
"""

import hashlib
import json
import random
from pathlib import Path

from benchmarks import name, ratio, text
from skillbelt.packages import PackageReference, canonicalize, integrity, pack, package_id, read_package, unpack

NUMBER = 7
ROUNDS = 5


def write_skill(root):
    """Write one skill of about 50 KB below ``root`` and return its folder."""
    folder = Path(root, name(NUMBER))
    pick = random.Random(NUMBER)
    for kind in ("references", "scripts", "assets"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text(NUMBER))
    for part in range(5):
        lines = (f"{pick.choice(('Überprüfe', 'Check', 'Compare'))} the {pick.random()} of it.\n" for _ in range(130))
        (folder / f"references/part-{part}.md").write_text("".join(lines))
    for part in range(3):
        (folder / f"scripts/step-{part}.py").write_text(f"print({part})\n" * 250)
        (folder / f"scripts/step-{part}.py").chmod(0o755)
    for part in range(2):
        (folder / f"assets/picture-{part}.png").write_bytes(b"\x89PNG\r\n" + pick.randbytes(8192))
    return folder


def times(function, count=5):
    """Call a function several times: one call is too short for the clock of the process."""
    for _ in range(count):
        function()


class Package:
    """One skill of 50 KB."""

    def setup(self):
        self.folder = write_skill(Path.cwd())
        self.document = pack(self.folder).document
        self.wire = json.dumps(self.document, ensure_ascii=False).encode()
        self.canonical = canonicalize(self.document)

    def _read_all(self):
        return [path.read_bytes() for path in self.folder.rglob("*") if path.is_file()]

    def time_pack(self):
        pack(self.folder)

    def time_read_package(self):
        read_package(self.wire)

    def time_unpack(self):
        unpack(self.wire)

    def time_canonicalize(self):
        canonicalize(self.document)

    def time_package_id(self):
        package_id(self.document)

    def time_integrity_of_canonical_bytes(self):
        integrity(self.canonical)

    def track_pack(self):
        """How many times the cost of reading the files."""
        return ratio(lambda: times(lambda: pack(self.folder)), lambda: times(self._read_all), rounds=ROUNDS)

    def track_unpack(self):
        """How many times the cost of parsing the JSON."""
        return ratio(lambda: times(lambda: unpack(self.wire)), lambda: times(lambda: json.loads(self.wire)), ROUNDS)

    def track_package_id(self):
        """How many times the cost of ``json.dumps`` with sorted keys, and a SHA-1."""

        def limit():
            data = json.dumps(self.document, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
            return hashlib.sha1(data, usedforsecurity=False).hexdigest()

        return ratio(lambda: times(lambda: package_id(self.document)), lambda: times(limit), rounds=ROUNDS)

    track_pack.unit = "x reading the files"
    track_unpack.unit = "x json.loads"
    track_package_id.unit = "x json.dumps + SHA-1"


class References:
    """A hundred references, read and nothing else."""

    def setup(self):
        self.texts = [f"hub.example.com:acme/skill-{number}@v1.{number}.x" for number in range(100)]

    def time_parse_100(self):
        for one in self.texts:
            PackageReference.parse(one)
