"""Example skills that ship with skillbelt, to try it out on and to copy from.

Each folder below this package is one complete skill, valid against the open specification: a ``SKILL.md``
with its scripts, references and assets. They are data: nothing in skillbelt imports their scripts.
"""

from pathlib import Path

__all__ = ["path"]


def path() -> Path:
    """Return the folder that holds the example skills.

    Every direct subfolder with a ``SKILL.md`` is a skill, so the result can be given to any source of skills
    as its root.

    Returns:
        The absolute path of the installed folder. Treat it as read-only.
    """
    return Path(__file__).resolve().parent
