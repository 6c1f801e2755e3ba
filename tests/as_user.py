"""Runs a command as an ordinary user: ``python as_user.py FOLDER COMMAND…``, started by root.

The interpreter of a root may lie where no other user can go; a mount namespace of the child's own makes it, and the
checkout, reachable. FOLDER is given to the user.
"""

import os
import runpy
import sys
from pathlib import Path

USER = 1500
REPOSITORY = Path(__file__).parents[1]


def main(folder: str, *command: str) -> None:
    supervisor = runpy.run_path(str(REPOSITORY / "src/skillbelt/scripts/supervisor.py"))
    supervisor["call"]("unshare", supervisor["CLONE_NEWNS"])
    supervisor["call"]("mount", b"none", b"/", 0, supervisor["MS_REC"] | supervisor["MS_SLAVE"], 0)
    paths = {sys.prefix, sys.base_prefix, str(REPOSITORY), folder, str(Path(sys.executable).resolve().parents[1])}
    supervisor["expose"](sorted(paths))
    os.chown(folder, USER, USER)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.chdir(REPOSITORY)
    os.execve(command[0], command, {**os.environ, "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"})


if __name__ == "__main__":
    main(*sys.argv[1:])
