"""Runs the calls of hostile cases, one child process each, with bounds on memory and on hanging.

Started by ``test_security_cases.py``: reads one JSON request a line, answers each with one JSON line. The child is
forked from a process that has imported everything, so that a case costs milliseconds.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path

from skillbelt import DirectorySource, SkillError, SkillRouter
from skillbelt.sources import directory

HANG = 60
MIB = 1 << 20


def told(error):
    return {"error": type(error).__name__, "ours": isinstance(error, SkillError), "text": str(error)}


def path_call(source, router, op, skill, path):
    """Yield the answers of the source and of the router to one call."""
    if op == "list":
        for listed in (source.list, router.skills):
            yield lambda listed=listed: {"names": [s.name for s in listed()]}
    elif op == "load":
        yield lambda: {"content": source.load(skill).instructions}
        yield lambda: {"content": router.activate(skill).text}
    else:

        def of_source():
            resource_ = source.read(skill, path)
            return {"content": resource_.text(), "truncated": resource_.truncated}

        def of_router():
            page, text = router.page(skill, path)
            return {"content": page.text(), "truncated": page.truncated, "text": text}

        yield of_source
        yield of_router


def paths(request):
    """Answer the calls of a path case."""
    root = Path(request["base"]) / "skills"
    source = DirectorySource(root)
    router = SkillRouter.from_directory(root)
    answers = []
    for op, skill, path in request["calls"]:
        for call in path_call(source, router, op, skill, path):
            try:
                answers.append(call())
            except BaseException as error:
                answers.append(told(error))
    return answers


def swap(first, second, parked):
    """Exchange two names until killed."""
    while True:
        for one, other in ((first, parked), (second, first), (parked, second)):
            os.rename(one, other)  # noqa: PTH104 - as bare as an attacker would


def race(request):
    """Read one file many times while another process swaps it, or its folder, with a link that leads outside."""
    base = Path(request["base"])
    a, b = (str(base / name) for name in request["swap"])
    swapper = os.fork()
    if swapper == 0:
        try:
            swap(a, b, a + ".parked")
        finally:
            os._exit(1)
    source = DirectorySource(base / "skills", settle=0)  # no waiting: every race is run
    counts = {}
    try:
        (_, skill, path) = request["calls"][0]
        reads = 0
        while reads < request["reads"] or (len(counts) < 2 and reads < 50 * request["reads"]):
            reads += 1
            try:
                answer = source.read(skill, path).text()
            except SkillError as error:
                answer = f"{type(error).__name__}: {error!s}"
            counts[answer] = counts.get(answer, 0) + 1
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    return counts


def listing(request):
    """List a root that holds one hostile skill between two good ones."""
    root = request["root"]
    router = SkillRouter.from_directory(root)
    answer = {
        "skills": [[s.name, os.path.relpath(s.location, root)] for s in router.skills()],
        "diagnostics": [[d.code, d.severity, d.path, str(d)] for d in router.diagnostics()],
        "catalog": router.catalog().text,
        "good": [router.activate(name).skill.instructions for name in ("good-a", "good-z")],
    }
    try:
        answer["bad"] = {"content": router.activate("bad").text}
    except Exception as error:
        answer["bad"] = told(error)
    return answer


JOBS = {"paths": paths, "race": race, "listing": listing}


def child(request):
    for name, value in request.get("env", {}).items():
        os.environ[name] = value
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_AS, (held + 256 * MIB, held + 256 * MIB))
    signal.alarm(HANG)
    answer = JOBS[request["job"]](request)
    return {"answer": answer, "rss_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


def main():
    directory.SETTLE = 0.0  # cases are judged as soon as they are built
    # Everything that is imported late is imported now, and memory for it is taken before it is limited.
    SkillRouter.from_directory("/nowhere").catalog()
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                text = json.dumps(child(request))
            except BaseException as error:
                text = json.dumps({"crash": f"{type(error).__name__}: {error}"})
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
            sys.stdout.write(json.dumps({"crash": f"no answer within {HANG} s, or killed"}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
