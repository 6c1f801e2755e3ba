"""Benchmarks for asv: how fast, beside how fast it could be.

Each ``track_`` benchmark measures skillbelt and a limit in one run, turn by turn, and returns the ratio: a ratio
survives a slower machine, a time does not. The limit is the least work that gives the same answer without any care:
read the bytes, call the C parser, join the lines.

The skills are generated: a SKILL.md of about 5.5 KB, zero to five files beside it (none in the largest set, whose files
nobody reads), the same for every run.
"""

import os
import random
import time
from pathlib import Path
from statistics import median

import yaml

from skillbelt import DirectorySource, Limits
from skillbelt.sources.directory import SETTLE

SIZES = (10, 100, 1000)
STYLES = ("plain", "folded", "flow")
LIMITS = Limits(entries=100_000, directories=100_000)
HEAD = 4096
"""Bytes of a SKILL.md that the limit reads: the frontmatter is in them."""

_WORDS = """
    report invoice table schema query image audio chart deploy review test mail calendar budget contract translate
    summary index cluster token policy garden recipe route ticket survey badge ledger parcel
""".split()


def name(number):
    return f"skill-{number:05d}"


def text(number, style="plain"):
    """One SKILL.md; ``folded`` has a description in a block, ``flow`` takes a YAML parser to read."""
    pick = random.Random(number)
    first, second, third = pick.sample(_WORDS, 3)
    body = "\n".join(
        f"{step}. Take the {pick.choice(_WORDS)}, compare it with the {pick.choice(_WORDS)} and write down both."
        for step in range(1, 76)
    )
    described = (
        f"Turns a {first} into a {second} and checks the {third} on the way. Use when a user asks for a {second}, "
        f"mentions a {first} file, or wants to know what is wrong with a {third}. "
        f"Keeps the original, asks once for what is missing, and names each {third} that it could not read."
    )
    metadata = f'metadata:\n  author: bench\n  version: "1.{number}"\n'
    if style == "flow":
        metadata = f'metadata: {{author: bench, version: "1.{number}"}}\n'
    return (
        f"---\nname: {name(number)}\ndescription: {'>-' if style == 'folded' else described}\n"
        f"{f'  {described}' + chr(10) if style == 'folded' else ''}"
        f"license: MIT\n{metadata}---\n\n# {first.title()}\n\n{body}\n"
    )


def write(root, count, style="plain"):
    """Write ``count`` skills below ``root`` and return it."""
    for number in range(count):
        folder = Path(root, name(number))
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text(number, style))
        for extra in range(number % 6 if count <= SIZES[-1] or number < SIZES[-1] else 0):
            (folder / "references").mkdir(exist_ok=True)
            (folder / "references" / f"part-{extra}.md").write_text(f"# Part {extra}\n\nMore about it.\n")
    time.sleep(SETTLE)  # a file has to rest before it is served; that is not what is measured
    return str(root)


def source(root):
    return DirectorySource(root, limits=LIMITS)


def frontmatter(data):
    """Return what the C parser makes of a frontmatter, checking nothing."""
    return yaml.load(data[4 : data.index(b"\n---", 3)], Loader=yaml.CSafeLoader)


def limit_list(root):
    """Return name and description of every skill: scandir, open, one bounded read, the C parser."""
    found = []
    with os.scandir(root) as entries:
        for entry in entries:
            fd = os.open(f"{entry.path}/SKILL.md", os.O_RDONLY)
            try:
                fields = frontmatter(os.read(fd, HEAD))
            finally:
                os.close(fd)
            found.append((fields["name"], fields["description"]))
    return sorted(found)


def ratio(ours, limit, rounds):
    """Return how many times the CPU time of ``limit`` that ``ours`` takes: medians of turns taken one after another."""
    taken = ([], [])
    for _ in range(rounds + 1):
        for function, times in zip((ours, limit), taken, strict=True):
            start = time.process_time_ns()
            function()
            times.append(time.process_time_ns() - start)
    one, other = (median(times[1:]) for times in taken)  # the first turn warms up
    return one / max(other, 1)
