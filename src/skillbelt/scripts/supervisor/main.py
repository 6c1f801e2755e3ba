"""From the orders of the host to the answer."""

from __future__ import annotations

import marshal
import posix

from skillbelt.scripts.supervisor.files import copy_folder, own_all, remove
from skillbelt.scripts.supervisor.libc import FOLDER, PR_SET_CHILD_SUBREAPER, call
from skillbelt.scripts.supervisor.mounts import expose, own_mounts, read_only
from skillbelt.scripts.supervisor.start import launch
from skillbelt.scripts.supervisor.tree import end_all
from skillbelt.scripts.supervisor.watching import hurry, join, watch

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would cost each run as much as its copying
    from typing import Any


def main(orders: dict[str, Any]) -> None:
    """Do as the orders say."""
    control, report, run = orders["control"], orders["report"], orders["run"]
    for one in (control, report, run):
        posix.set_inheritable(one, False)
    answer: dict[str, object] = {}
    reason, process = "exit", 0
    ended: list[int] = []
    try:
        call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        hurry()
        join(orders["group"])
        runs = posix.open("..", FOLDER, dir_fd=run)
        if orders["tmpfs"]:
            try:
                work = posix.open("work", FOLDER, dir_fd=run)
            except FileNotFoundError:
                work = -1
            own_mounts(orders)
            if orders["expose"]:
                expose(orders["expose"])
            if orders["read_only"]:
                read_only(orders)
            for name in ("work", "tmp", "shm"):
                posix.mkdir(f"{orders['box']}/{name}", 0o700)
                if orders["uid"] is not None:
                    posix.chown(f"{orders['box']}/{name}", orders["uid"], orders["uid"])
            inside = posix.open(f"{orders['box']}/work", FOLDER)
            if work >= 0:
                copy_folder(work, inside, [orders["disk"], orders["entries"]])
                posix.close(work)
            if orders["uid"] is not None:
                own_all(inside, orders["uid"])
        orders["close"] = [control, report, run, runs] + ([inside] if orders["tmpfs"] else [])
        process = launch(orders)
        reason = watch(process, control, orders, ended)
    except BaseException as error:  # the host raises it
        answer["error"] = f"{type(error).__name__}: {error}"[:2000]
    answer["left"] = end_all(process, ended, orders["uid"])
    answer["reason"] = reason
    answer["status"] = ended[0] if ended else None
    if reason == "gone":
        remove(runs, orders["name"])
        posix._exit(0)
    if orders["tmpfs"] and "error" not in answer and (work >= 0 or posix.listdir(inside)):
        posix.mkdir("out", 0o700, dir_fd=run)
        out = posix.open("out", FOLDER, dir_fd=run)
        copy_folder(inside, out, [orders["disk"], orders["entries"]])
    data = marshal.dumps(answer)
    try:
        while data:
            data = data[posix.write(report, data) :]
    except OSError:
        remove(runs, orders["name"])
    posix._exit(0)
