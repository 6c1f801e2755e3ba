"""Runs a command as an ordinary user: ``python as_user.py FOLDER COMMAND…``, started by root.

The interpreter of a root may lie where no other user can go; a mount namespace of the child's own makes it, and the
checkout, reachable. FOLDER is given to the user.
"""

import os
import sys
from pathlib import Path

from skillbelt.scripts.supervisor.libc import CLONE_NEWNS, MS_REC, MS_SLAVE, call
from skillbelt.scripts.supervisor.mounts import expose

USER = 1500
REPOSITORY = Path(__file__).parents[1]


def main(folder: str, *command: str) -> None:
    call("unshare", CLONE_NEWNS)
    call("mount", b"none", b"/", 0, MS_REC | MS_SLAVE, 0)
    paths = {sys.prefix, sys.base_prefix, str(REPOSITORY), folder, str(Path(sys.executable).resolve().parents[1])}
    expose(sorted(paths))
    os.chown(folder, USER, USER)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.chdir(REPOSITORY)
    os.execve(command[0], command, {**os.environ, "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"})


if __name__ == "__main__":
    main(*sys.argv[1:])
