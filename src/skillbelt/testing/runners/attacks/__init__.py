"""Scripts that mean harm, by what they are after; every one of them is data, and none is run by importing it."""

from skillbelt.testing.runners.attacks import files, limits, network, processes
from skillbelt.testing.runners.attacks.base import Attack

__all__ = ["ATTACKS", "Attack"]

ATTACKS: tuple[Attack, ...] = (*network.ATTACKS, *files.ATTACKS, *processes.ATTACKS, *limits.ATTACKS)
"""All of them, with names that differ."""
