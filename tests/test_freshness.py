"""Skills are read while somebody writes them: no answer is torn, none is mixed of two generations (ADR 0020)."""

import asyncio
import ctypes
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from skillbelt import DirectorySource, SkillError, SkillRouter
from skillbelt.errors import ResourceChangedError, ResourceError
from skillbelt.sources import directory
from skillbelt.sources.rest import Look, Rest

pytestmark = pytest.mark.settling

LINES = 400
FILES = ("SKILL.md", "references/a.md", "references/b.md")
READS = int(os.environ.get("SKILLBELT_FRESHNESS_READS", "1500"))

WRITER = r"""
import ctypes, os, shutil, sys, time
from pathlib import Path
mode, root = sys.argv[1], Path(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
def text(file, generation):
    head = "---\nname: demo\ndescription: Shows generations.\n---\n" if file == "SKILL.md" else ""
    return head + f"generation {generation} end\n" * 400
FILES = ("SKILL.md", "references/a.md", "references/b.md")
def fill(folder, generation):
    for file in FILES:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(file, generation))
def write(generation):
    skill = root / "demo"
    if mode == "in place":
        for file in FILES:
            whole = text(file, generation)
            with open(skill / file, "w") as stream:
                stream.write(whole[: len(whole) // 2])
                stream.flush()
                time.sleep(0.001)
                stream.write(whole[len(whole) // 2 :])
    elif mode == "rename":
        for file in FILES:
            new = root / ".new"
            new.write_text(text(file, generation)); os.replace(new, skill / file)
    elif mode == "exchange":
        other = root / ".other"
        shutil.rmtree(other, ignore_errors=True); fill(other, generation)
        if libc.renameat2(-100, os.fsencode(skill), -100, os.fsencode(other), 2) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")
    else:
        shutil.rmtree(skill); fill(skill, generation)
generation = 1
if os.getuid() == 0:
    os.nice(-10)  # a writer held up for longer than files have to rest cannot be told from one that is done
while True:
    for _ in range(20):  # a burst, then long enough a pause that some generations come to rest
        generation += 1
        write(generation)
        time.sleep(0.004)
    time.sleep(float(sys.argv[3]))
"""


def build(root: Path) -> None:
    for file in FILES:
        head = "---\nname: demo\ndescription: Shows generations.\n---\n" if file == "SKILL.md" else ""
        (root / "demo" / file).parent.mkdir(parents=True, exist_ok=True)
        (root / "demo" / file).write_text(head + "generation 1 end\n" * LINES)


def can_exchange(root: Path) -> bool:
    for name in ("x", "y"):
        (root / name).mkdir()
    done = ctypes.CDLL(None).renameat2(-100, os.fsencode(root / "x"), -100, os.fsencode(root / "y"), 2) == 0
    (root / "x").rmdir()
    (root / "y").rmdir()
    return done


def generation_of(text: str) -> str:
    """The one generation of a whole answer; anything else is torn or mixed."""
    found = re.findall(r"^generation (\d+) end$", text, re.MULTILINE)
    assert len(found) == LINES, f"torn: {len(found)} of {LINES} lines"
    assert len(set(found)) == 1, f"mixed: {sorted(set(found))}"
    return found[0]


def read_once(router: SkillRouter, seen: dict[str, int]) -> None:
    activation = router.activate("demo")
    body = generation_of(activation.text)
    seen["generations"] = max(seen.get("generations", 0), int(body))
    assert [info.path for info in activation.resources] == ["references/a.md", "references/b.md"]
    for path in ("references/a.md", "references/b.md"):
        try:
            resource = router.read("demo", path, generation=activation.generation)
        except ResourceChangedError:
            seen["changed"] = seen.get("changed", 0) + 1
            return
        assert generation_of(resource.text()) == body, "the file is of another generation than the body"
        seen["read"] = seen.get("read", 0) + 1


@pytest.mark.row("S3-32")
@pytest.mark.parametrize("mode", ["in place", "rename", "exchange", "recreate"])
def test_no_answer_is_torn_and_none_is_mixed_while_a_skill_is_written(tmp_path, mode):
    build(tmp_path)
    if mode == "exchange" and not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    router = SkillRouter.from_directory(tmp_path)
    first = router.activate("demo")
    assert generation_of(first.text) == "1"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, mode, str(tmp_path), str(2.5 * directory.SETTLE)])
    seen: list[dict[str, int]] = []
    failures: list[BaseException] = []
    left = threading.Semaphore(READS)

    def reader() -> None:
        mine: dict[str, int] = {}
        seen.append(mine)
        try:
            while left.acquire(blocking=False) and not failures:
                read_once(router, mine)
        except BaseException as error:
            failures.append(error)

    async def tasks() -> None:
        mine: dict[str, int] = {}
        seen.append(mine)

        async def one() -> None:
            while left.acquire(blocking=False) and not failures:
                await asyncio.to_thread(read_once, router, mine)

        await asyncio.gather(*(one() for _ in range(4)))

    try:
        threads = [threading.Thread(target=reader) for _ in range(4)]
        for thread in threads:
            thread.start()
        asyncio.run(tasks())
        for thread in threads:
            thread.join()
    finally:
        alive = writer.poll() is None
        writer.kill()
        writer.wait()
    if failures:
        raise failures[0]
    assert alive, "the writer stopped writing"
    assert max(mine.get("generations", 0) for mine in seen) > 1, "no new generation was ever seen"
    assert sum(mine.get("read", 0) for mine in seen) > 0
    time.sleep(directory.SETTLE)
    last = router.activate("demo")
    with pytest.raises(ResourceChangedError, match="changed since it was loaded"):
        router.read("demo", "references/a.md", generation=first.generation)
    assert generation_of(router.read("demo", "references/a.md", generation=last.generation).text())


def test_an_edit_is_seen_at_the_next_activation_and_reload_says_so(tmp_path):
    build(tmp_path)
    router = SkillRouter.from_directory(tmp_path)
    assert generation_of(router.activate("demo").text) == "1"
    file = tmp_path / "demo" / "SKILL.md"
    file.write_text(file.read_text().replace("generation 1 ", "generation 2 "))
    assert generation_of(router.activate("demo").text) == "2"
    assert router.reload().changed == ("demo",)
    assert not router.reload()


def test_a_file_that_comes_back_within_the_time_was_never_gone(tmp_path):
    build(tmp_path)
    router = SkillRouter.from_directory(tmp_path)
    router.activate("demo")
    file = tmp_path / "demo" / "SKILL.md"
    text = file.read_text()
    file.unlink()
    timer = threading.Timer(directory.SETTLE / 3, file.write_text, [text.replace("generation 1 ", "generation 2 ")])
    timer.start()
    assert generation_of(router.activate("demo").text) == "1"  # somebody is writing: as it was last whole
    timer.join()
    time.sleep(directory.SETTLE)
    assert generation_of(router.activate("demo").text) == "2"


def test_a_file_that_stays_away_is_gone(tmp_path):
    build(tmp_path)
    router = SkillRouter.from_directory(tmp_path)
    router.activate("demo")
    (tmp_path / "demo" / "references" / "a.md").unlink()
    with pytest.raises(ResourceError, match=r"no file 'references/a\.md'"):
        router.read("demo", "references/a.md")
    assert len(router.activate("demo").resources) == 2  # it may be on its way back
    time.sleep(8 * directory.SETTLE)
    assert [info.path for info in router.activate("demo").resources] == ["references/b.md"]
    (tmp_path / "demo" / "SKILL.md").unlink()
    with pytest.raises(SkillError, match=r"no longer available|has no SKILL"):
        router.activate("demo")


def test_a_file_that_is_never_left_alone_is_said_to_be_written_and_listed_as_it_is(tmp_path):
    build(tmp_path)
    stop = threading.Event()

    def touch() -> None:
        while not stop.is_set():
            os.utime(tmp_path / "demo" / "SKILL.md")
            os.utime(tmp_path / "demo" / "references" / "a.md")
            time.sleep(0.005)

    thread = threading.Thread(target=touch)
    thread.start()
    try:
        source = DirectorySource(tmp_path, settle=0.03)
        assert [summary.name for summary in source.list()] == ["demo"]
        with pytest.raises(SkillError, match="is being written right now"):
            source.bundle("demo")
        with pytest.raises(SkillError, match="is being written right now"):
            source.load("demo")
        with pytest.raises(ResourceError, match="is being written right now"):
            source.read("demo", "references/a.md")
    finally:
        stop.set()
        thread.join()
    time.sleep(0.05)
    assert generation_of(source.bundle("demo").skill.instructions) == "1"


def test_while_somebody_keeps_writing_the_last_whole_skill_and_file_are_served(tmp_path):
    build(tmp_path)
    source = DirectorySource(tmp_path, settle=0.05)
    source.list()
    whole = source.bundle("demo")
    page = source.read("demo", "references/a.md")
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for file in FILES:
                (tmp_path / "demo" / file).write_text("half")
            time.sleep(0.005)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        time.sleep(0.02)
        before = whole._replace(current=False)
        assert source.bundle("demo") == before
        assert source.bundle("demo") == before  # this one did not wait
        assert source.load("demo") == whole.skill
        assert source.read("demo", "references/a.md") == page
        assert source.lookup("demo").description == "Shows generations."
        assert [summary.name for summary in source.list()] == ["demo"]
    finally:
        stop.set()
        thread.join()


def test_what_was_written_in_the_future_or_at_an_unknown_time_is_taken_as_it_is():
    rest = Rest(0.25)
    assert rest.left(0.0) == 0.0
    assert rest.left(time.time() + 3600) == 0.0
    assert rest.left(time.time() - 1) == 0.0
    assert 0 < rest.left(time.time()) <= 0.25
    assert Rest(0).left(time.time()) == 0.0
    assert rest.see("x", lambda: Look("now", 0.0), lambda: None) == "now"
    with pytest.raises(SkillError, match="why"):
        rest.see("x", lambda: Look(SkillError("why"), 0.0), lambda: None)


def test_nothing_waits_and_no_file_is_opened_when_nothing_changed(tmp_path, monkeypatch):
    build(tmp_path)
    source = DirectorySource(tmp_path)
    router = SkillRouter(source)
    first = router.activate("demo")
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *args, **kwargs: opened.append(args) or real(*args, **kwargs))
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
    assert router.activate("demo") is first
    assert opened == []


def test_the_process_that_reads_and_the_one_that_writes_may_be_any(tmp_path):
    """A second process with a source of its own sees whole files only, from its very first look."""
    build(tmp_path)
    program = textwrap.dedent(
        """
        import re, sys
        from skillbelt import SkillRouter
        text = SkillRouter.from_directory(sys.argv[1]).activate("demo").text
        found = re.findall(r"^generation (\\d+) end$", text, re.MULTILINE)
        print(len(found), len(set(found)))
        """
    )
    writer = subprocess.Popen([sys.executable, "-c", WRITER, "in place", str(tmp_path), "0.6"])
    try:
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
            assert done.stdout.split() == [str(LINES), "1"], done.stderr[-500:]
    finally:
        writer.kill()
        writer.wait()
