"""The cache of packages: what it keeps and for how long, and that nothing spoils it: kills, threads, forks, disks."""

from __future__ import annotations

import fcntl
import gc
import json
import mmap
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillbelt.errors import IntegrityError, LimitError, MissingExtraError, RegistryNetworkError, SourceError
from skillbelt.packages import cache_database, cache_flights, cache_rows
from skillbelt.packages.cache import RegistryCache, default_cache_folder
from skillbelt.packages.canonical import id_of
from skillbelt.packages.ids import PackageId

NOBODY = 65534


def content(number: int, size: int = 100) -> bytes:
    """Canonical bytes of some document, different for each number."""
    head = json.dumps({"number": number})[:-1].encode()
    return head + b',"pad":"' + b"x" * max(0, size - len(head) - 10) + b'"}'


A, B, C = (content(number) for number in range(3))
IDS = {data: id_of(data) for data in (A, B, C)}


@pytest.fixture(params=["memory", "folder"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RegistryCache]:
    """A cache of each kind, with room for two of the contents above."""
    with RegistryCache(None if request.param == "memory" else tmp_path / "cache", max_bytes=250) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def database(folder: Path) -> Path:
    (found,) = folder.glob("*.sqlite")
    return found


def damage(folder: Path, package: PackageId, data: bytes) -> None:
    """Change content under its id, as a failing disk would."""
    with sqlite3.connect(database(folder)) as connection:
        connection.execute("UPDATE content SET data = ? WHERE id = ?", (data, str(package)))
    connection.close()


def unreachable() -> bytes:
    raise AssertionError("it was fetched")


# --- content ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-31")
def test_what_was_put_is_found_and_nothing_else(cache: RegistryCache) -> None:
    assert cache.get(IDS[A]) is None
    cache.put(IDS[A], A)
    assert cache.get(IDS[A]) == A
    assert cache.get(IDS[B]) is None
    found = cache.statistics()
    assert (found.hits, found.misses, found.entries, found.bytes) == (1, 2, 1, len(A))


def test_content_of_another_id_is_refused_and_not_kept(cache: RegistryCache) -> None:
    with pytest.raises(IntegrityError, match=str(IDS[A])) as caught:
        cache.put(IDS[A], B)
    assert caught.value.details == {"id": str(IDS[A])}
    assert cache.get(IDS[A]) is None
    with pytest.raises(IntegrityError):
        cache.fill(IDS[A], lambda: B)
    assert cache.statistics().entries == 0


@pytest.mark.row("S2-34")
def test_the_least_recently_used_makes_room(cache: RegistryCache) -> None:
    cache.put(IDS[A], A)
    cache.put(IDS[B], B)
    assert cache.get(IDS[A]) == A
    cache.put(IDS[C], C)
    assert [cache.get(each) for each in IDS.values()] == [A, None, C]
    assert cache.statistics().evictions == 1


def test_putting_again_is_using(cache: RegistryCache) -> None:
    cache.put(IDS[A], A)
    cache.put(IDS[B], B)
    cache.put(IDS[A], A)
    cache.put(IDS[C], C)
    assert [cache.get(each) for each in IDS.values()] == [A, None, C]


def test_what_is_larger_than_the_limit_is_not_kept_and_drops_nothing(cache: RegistryCache) -> None:
    cache.put(IDS[A], A)
    large = content(9, 251)
    cache.put(id_of(large), large)
    assert cache.fill(id_of(large), lambda: large) == large
    assert cache.get(IDS[A]) == A
    found = cache.statistics()
    assert (found.unstored, found.evictions, found.entries) == (2, 0, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["put", "get", "reopen"]), st.integers(0, 7)), max_size=60),
    st.integers(100, 700),
)
def test_it_keeps_what_a_model_of_it_keeps(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], most: int
) -> None:
    contents = [content(number, 60 + 30 * number) for number in range(8)]
    model: OrderedDict[int, int] = OrderedDict()
    folder = tmp_path_factory.mktemp("cache")
    cache = RegistryCache(folder, max_bytes=most)
    for what, number in steps:
        data = contents[number]
        if what == "reopen":
            cache.close()
            cache = RegistryCache(folder, max_bytes=most)
            continue
        if what == "put" and len(data) <= most:
            cache.put(id_of(data), data)
            model[number] = len(data)
            model.move_to_end(number)
            while sum(model.values()) > most:
                model.popitem(last=False)
        elif what == "get":
            assert (cache.get(id_of(data)) is not None) == (number in model)
            if number in model:
                model.move_to_end(number)
        found = cache.statistics()
        assert (found.entries, found.bytes) == (len(model), sum(model.values()))
        assert found.bytes <= most
    cache.close()


def test_a_folder_is_remembered(folder: Path) -> None:
    with RegistryCache(folder) as first:
        first.put(IDS[A], A)
        first.put_alias("hub/skill/acme/a@latest", "v1.0.0")
    second = RegistryCache(folder)
    assert second.get(IDS[A]) == A
    assert second.alias("hub/skill/acme/a@latest") == "v1.0.0"
    second.close()
    assert second.get(IDS[A]) == A  # it opens itself again
    assert repr(second) == f"RegistryCache({str(folder)!r})"
    assert repr(RegistryCache()) == "RegistryCache()"


def test_clearing_forgets_everything_but_what_was_done(cache: RegistryCache) -> None:
    cache.put(IDS[A], A)
    cache.put_alias("a", "b")
    cache.clear()
    assert cache.get(IDS[A]) is None
    assert cache.alias("a") is None
    found = cache.statistics()
    assert (found.entries, found.bytes, found.misses) == (0, 0, 2)


def test_a_lowered_limit_makes_the_file_smaller(folder: Path) -> None:
    with RegistryCache(folder) as wide:
        for number in range(40):
            data = content(number, 50_000)
            wide.put(id_of(data), data)
    before = database(folder).stat().st_size
    with RegistryCache(folder, max_bytes=100_000) as narrow:
        narrow.put(IDS[A], A)
        assert narrow.statistics().bytes <= 100_000
    assert before > 2_000_000
    assert database(folder).stat().st_size < before / 5
    with RegistryCache(folder) as empty:
        empty.clear()
    assert database(folder).stat().st_size < 100_000


def test_reading_rarely_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
        watcher = sqlite3.connect(database(folder))
        version = "PRAGMA data_version"
        before = watcher.execute(version).fetchone()
        monkeypatch.setattr(cache_database, "_TOUCHED", 3600.0)
        for _ in range(100):
            cache.get(IDS[A])
        assert watcher.execute(version).fetchone() == before
        monkeypatch.setattr(cache_database, "_TOUCHED", -1.0)
        cache.get(IDS[A])
        assert watcher.execute(version).fetchone() != before
        watcher.close()


def test_what_another_process_read_counts_as_used(folder: Path) -> None:
    with RegistryCache(folder, max_bytes=250) as one, RegistryCache(folder, max_bytes=250) as other:
        one.put(IDS[A], A)
        one.put(IDS[B], B)
        other.get(IDS[A])  # its first read says so at once
        one.put(IDS[C], C)
        assert [other.get(each) for each in IDS.values()] == [A, None, C]


# --- aliases ----------------------------------------------------------------------------------------------------------


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("place", [None, "cache"])
def test_an_alias_is_used_for_its_time_and_content_for_ever(tmp_path: Path, place: str | None) -> None:
    clock = Clock()
    cache = RegistryCache(place and tmp_path / place, alias_ttl=60, clock=clock)
    cache.put(IDS[A], A)
    cache.put_alias("acme/a@latest", "one")
    clock.now += 59.9
    assert cache.alias("acme/a@latest") == "one"
    clock.now += 0.1
    assert cache.alias("acme/a@latest") is None
    cache.put_alias("acme/a@latest", "two")
    assert cache.alias("acme/a@latest") == "two"
    clock.now += 1e9
    assert cache.get(IDS[A]) == A
    found = cache.statistics()
    assert (found.hits, found.misses) == (3, 1)
    cache.close()


def test_a_clock_that_is_set_back_makes_aliases_stale_and_does_not_change_what_was_used_last() -> None:
    clock = Clock()
    cache = RegistryCache(max_bytes=250, clock=clock)
    cache.put(IDS[A], A)
    cache.put_alias("a", "later")
    clock.now -= 1e6
    assert cache.alias("a") is None
    cache.put_alias("a", "now")
    assert cache.alias("a") == "now"
    cache.put(IDS[B], B)
    cache.put(IDS[C], C)
    assert cache.get(IDS[A]) is None


def test_without_a_lifetime_no_alias_is_used() -> None:
    cache = RegistryCache(alias_ttl=0)
    cache.put_alias("a", "b")
    assert cache.alias("a") is None


def test_any_text_can_be_an_alias_but_not_a_book(cache: RegistryCache) -> None:
    odd = "caf\u0065\u0301 \ud800 \x00 '; DROP TABLE alias"
    cache.put_alias(odd, odd)
    cache.put_alias("book", "x" * 70_000)
    assert cache.alias(odd) == odd
    assert cache.alias("book") is None
    assert cache.statistics().unstored == 1


def test_there_are_only_so_many_aliases(cache: RegistryCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_database, "_ALIASES", 20)
    for number in range(30):
        cache.put_alias(str(number), "value")
    known = [number for number in range(30) if cache.alias(str(number))]
    assert len(known) in range(15, 21)
    assert known[-1] == 29
    assert known == list(range(known[0], 30))


def test_a_damaged_alias_is_dropped_and_counted(folder: Path) -> None:
    with RegistryCache(folder) as cache:
        for key in ("one", "two", "three"):
            cache.put_alias(key, "right")
        for change in ("value = x'00'", "learned = 1e18", "value = NULL"):
            with sqlite3.connect(database(folder)) as connection:
                key = ("one", "two", "three")[("value = x'00'", "learned = 1e18", "value = NULL").index(change)]
                name = cache_rows.hashed(key)
                try:
                    connection.execute(f"UPDATE alias SET {change} WHERE key = ?", (name,))
                except sqlite3.IntegrityError:  # the table holds no NULL
                    connection.execute("UPDATE alias SET value = 'text' WHERE key = ?", (name,))
            connection.close()
            assert cache.alias(key) is None
        assert cache.statistics().corrupt == 3
        with sqlite3.connect(database(folder)) as connection:
            assert connection.execute("SELECT count(*) FROM alias").fetchone() == (0,)
        connection.close()


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-33")
@pytest.mark.parametrize("wrong", [B, A[:-1], A + b" ", b"", "text", 17], ids=repr)
def test_damaged_content_is_dropped_counted_and_can_be_put_again(folder: Path, wrong: Any) -> None:
    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
        damage(folder, IDS[A], wrong)
        assert cache.get(IDS[A]) is None
        found = cache.statistics()
        assert (found.corrupt, found.misses, found.entries) == (1, 1, 0)
        assert cache.fill(IDS[A], lambda: A) == A
        assert cache.get(IDS[A]) == A
        damage(folder, IDS[A], wrong)
        cache.put(IDS[A], A)  # nobody looked in between
        assert cache.get(IDS[A]) == A


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 - 100)


def scribbled(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(200)
        file.write(os.urandom(path.stat().st_size - 200))


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE content (id TEXT, something TEXT)")
    connection.close()


def from_the_future(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def without_a_table(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE content")
    connection.close()


@pytest.mark.parametrize("spoil", [garbage, cut, scribbled, foreign, from_the_future, without_a_table])
@pytest.mark.parametrize("first", ["get", "put", "alias", "statistics", "clear"])
def test_a_damaged_file_is_set_aside_and_another_begun(folder: Path, spoil: Callable[[Path], None], first: str) -> None:
    with RegistryCache(folder) as cache:
        for number in range(20):
            cache.put(id_of(content(number, 5000)), content(number, 5000))
    spoil(database(folder))
    with RegistryCache(folder) as cache:
        operations: dict[str, Callable[[], Any]] = {
            "get": lambda: cache.get(id_of(content(1, 5000))),
            "put": lambda: cache.put(IDS[A], A),
            "alias": lambda: cache.alias("any"),
            "statistics": cache.statistics,
            "clear": cache.clear,
        }
        operations[first]()
        cache.put(IDS[A], A)
        cache.get(id_of(content(7, 5000)))
        assert cache.get(IDS[A]) == A
        assert cache.statistics().corrupt == 1
        assert [path.name for path in folder.glob("*.damaged")] == ["packages-v1.0.sqlite.damaged"]
        assert database(folder).name == "packages-v1.1.sqlite"
    spoil(database(folder))
    with RegistryCache(folder) as cache:
        cache.put(IDS[B], B)
        assert cache.get(IDS[B]) == B
    assert [path.name for path in folder.glob("*.damaged")] == ["packages-v1.1.sqlite.damaged"]  # one is enough


def test_all_who_have_a_damaged_file_open_go_over_to_the_next(folder: Path) -> None:
    caches = [RegistryCache(folder) for _ in range(4)]
    for number, cache in enumerate(caches):
        cache.put(id_of(content(number)), content(number))
    garbage(database(folder))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda cache: cache.put(IDS[A], A), caches))
    assert [cache.get(IDS[A]) for cache in caches] == [A] * 4
    assert sum(cache.statistics().corrupt for cache in caches) == 1
    assert len(list(folder.glob("*.sqlite*"))) == 2
    for cache in caches:
        cache.close()


def test_a_file_or_a_folder_that_was_removed_is_made_again(folder: Path) -> None:
    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
        database(folder).unlink()
        cache.put(IDS[B], B)
        assert cache.get(IDS[B]) == B
        assert cache.get(IDS[A]) is None
        shutil.rmtree(folder)
        cache.put(IDS[C], C)
        assert cache.get(IDS[C]) == C
        assert (database(folder).stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
        assert cache.statistics().unstored == 0


def test_two_versions_of_the_tables_do_not_meet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RegistryCache(folder) as today:
        today.put(IDS[A], A)
        with monkeypatch.context() as patch:
            patch.setattr(cache_database, "SCHEMA", 2)
            patch.setattr(cache_rows, "SCHEMA", 2)
            tomorrow = RegistryCache(folder)
            tomorrow.put(IDS[B], B)
            assert tomorrow.get(IDS[A]) is None
        assert today.get(IDS[A]) == A
        assert today.get(IDS[B]) is None
        assert sorted(path.name for path in folder.glob("*.sqlite")) == ["packages-v1.0.sqlite", "packages-v2.0.sqlite"]
        tomorrow.close()


# --- a system that refuses --------------------------------------------------------------------------------------------


def in_a_process(code: str, *arguments: str, **options: Any) -> str:
    """Run code in a Python of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def child(work: Callable[[], object]) -> int:
    """Fork; run the work in the child, which then ends at once, with 0 when all went well."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        os.write(2, f"child: {error!r}\n".encode())
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def used_by_nobody(folder: Path) -> list[Any]:
    """Use a cache as a user who may not write, and return what that gives."""
    receive, send = os.pipe()

    def work() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        cache = RegistryCache(folder)
        gave: list[Any] = [cache.get(IDS[A]) == A, cache.fill(IDS[B], lambda: B) == B, cache.get(IDS[B])]
        gave.append(cache.alias("a"))
        cache.put_alias("b", "c")
        cache.clear()
        told = cache.statistics()
        gave.append([told.hits, told.misses, told.unstored, told.corrupt, told.entries])
        cache.close()
        os.write(send, json.dumps(gave).encode())

    with RegistryCache(folder.parent / "warm") as warm:
        warm.fill(IDS[A], lambda: A)  # whoever cannot read our home cannot import from it either
    pid = child(work)
    os.close(send)
    with os.fdopen(receive) as pipe:
        gave = json.loads(pipe.read() or "null")
    assert ended(pid) == 0
    return gave


@pytest.fixture
def open_tmp(tmp_path: Path) -> Iterator[Path]:
    """A folder that other users can reach."""
    for path in (tmp_path, *tmp_path.parents):  # one more of them where tests are spread over workers
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(0o755)
    yield tmp_path
    for path, _, _ in os.walk(tmp_path):
        Path(path).chmod(0o755)


def test_a_read_only_folder_is_read(open_tmp: Path) -> None:
    folder = open_tmp / "cache"
    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
        cache.put_alias("a", "b")
    database(folder).chmod(0o444)
    folder.chmod(0o555)
    assert used_by_nobody(folder) == [True, True, None, "b", [2, 2, 2, 0, 1]]


def test_a_folder_that_cannot_be_made_read_or_written_is_of_no_use_and_does_no_harm(open_tmp: Path) -> None:
    closed = open_tmp / "closed"
    closed.mkdir(mode=0o700)
    if os.getuid() != 0:
        closed.chmod(0)
    assert used_by_nobody(closed / "cache") == [False, True, None, None, [0, 4, 2, 0, 0]]


def test_a_damaged_file_in_a_read_only_folder_stays_there(open_tmp: Path) -> None:
    folder = open_tmp / "cache"
    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
    garbage(database(folder))
    database(folder).chmod(0o444)
    folder.chmod(0o555)
    assert used_by_nobody(folder) == [False, True, None, None, [0, 4, 2, 0, 0]]


FULL = """
import resource, signal, sys
from skillbelt.packages.cache import RegistryCache
from skillbelt.packages.canonical import id_of
cache = RegistryCache(sys.argv[1])
contents = [b'"%03d' % number + b"x" * 50_000 + b'"' for number in range(40)]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
for data in contents:
    assert cache.fill(id_of(data), lambda: data) == data
full = cache.statistics()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept = sum(cache.get(id_of(data)) == data for data in contents)
for data in contents:
    cache.put(id_of(data), data)
cured = cache.statistics()
print(full.unstored + kept, 0 < kept < 20, full.corrupt, cured.entries, cured.unstored - full.unstored, cured.corrupt)
"""


def test_a_disk_without_room_loses_nothing_that_was_kept(folder: Path) -> None:
    assert in_a_process(FULL, str(folder)) == "40 True 0 40 0 0"


def test_a_disk_without_any_room_can_still_be_cleared(folder: Path) -> None:
    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        with RegistryCache(folder) as cache:
            cache.clear()
            assert cache.statistics().entries == 0

    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
        assert ended(child(work)) == 0
        assert [path.name for path in folder.glob("*.sqlite*")] == ["packages-v1.1.sqlite"]
        cache.put(IDS[B], B)  # goes over to the new file
        with RegistryCache(folder) as other:
            assert (other.get(IDS[A]), other.get(IDS[B])) == (None, B)


def test_somebody_who_does_not_let_go_of_the_file_is_not_waited_for_for_ever(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_database, "_BUSY", 0.05)
    with RegistryCache(folder) as cache:
        cache.put(IDS[A], A)
        blocker = sqlite3.connect(database(folder), isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        assert cache.get(IDS[A]) is None
        cache.put(IDS[B], B)
        assert cache.fill(IDS[C], lambda: C) == C
        found = cache.statistics()
        assert (found.unstored, found.corrupt, found.entries) == (2, 0, 0)
        blocker.execute("ROLLBACK")
        assert cache.get(IDS[A]) == A
        blocker.execute("BEGIN IMMEDIATE")  # somebody writes, and we only read: that it was used can wait
        monkeypatch.setattr(cache_database, "_TOUCHED", -1.0)
        assert cache.get(IDS[A]) == A
        blocker.close()


def test_memory_is_not_given_up_for_one_failure() -> None:
    cache = RegistryCache(max_bytes=1 << 40)
    cache.put(IDS[A], A)
    cache._database._connection.execute("PRAGMA max_page_count = 1")  # the smallest there is: no page more
    large = content(1, 500_000)
    cache.put(id_of(large), large)
    assert cache.get(IDS[A]) == A
    assert cache.statistics().unstored == 1


# --- places -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "cache"
    with RegistryCache(str(folder)) as cache:
        cache.fill(IDS[A], lambda: A)
    modes = {path.relative_to(folder).parts[0]: path.stat().st_mode & 0o777 for path in [folder, *folder.iterdir()][1:]}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert modes == {"packages-v1.0.sqlite": 0o600, "locks": 0o700}


def test_a_folder_that_no_system_can_make_is_of_no_use_and_does_no_harm(tmp_path: Path) -> None:
    with RegistryCache(tmp_path / ("x" * 300)) as cache:
        assert cache.fill(IDS[A], lambda: A) == A
        assert cache.get(IDS[A]) is None
        cache.put_alias("a", "b")
        assert cache.alias("a") is None
        assert cache.statistics().unstored == 2


def test_a_folder_that_is_a_file_or_open_to_everybody_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for place in (file, file / "below"):
        with pytest.raises(SourceError, match="is a file, not a folder"):
            RegistryCache(place)
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o777)
    with pytest.raises(SourceError, match="chmod o-w"):
        RegistryCache(public)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_bytes": 0},
        {"max_bytes": 1.5},
        {"alias_ttl": -1},
        {"alias_ttl": float("nan")},
        {"alias_ttl": float("inf")},
        {"alias_ttl": True},
        {"patience": "long"},
    ],
    ids=repr,
)
def test_a_number_that_is_no_use_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match=next(iter(wrong))):
        RegistryCache(**wrong)


def test_the_usual_place_is_where_the_system_keeps_what_can_be_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "skillbelt" / "packages"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_cache_folder() == Path("/home/somebody/.cache/skillbelt/packages")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_folder() == Path("/home/somebody/.cache/skillbelt/packages")

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SourceError, match="XDG_CACHE_HOME"):
        default_cache_folder()


def test_a_cache_that_could_not_be_made_is_cleaned_up_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(MissingExtraError, match=r"skillbelt\[registry\]"):
        RegistryCache(tmp_path / "cache")
    gc.collect()
    assert not recwarn.list


def test_without_filelock_memory_works_and_a_folder_says_what_to_install() -> None:
    code = """
import sys
sys.modules["filelock"] = None
from skillbelt.errors import MissingExtraError
from skillbelt.packages.cache import RegistryCache
assert RegistryCache().statistics().entries == 0
try:
    RegistryCache(sys.argv[1])
except MissingExtraError as error:
    print(error)
"""
    assert in_a_process(code, "unused").endswith('pip install "skillbelt[registry]"')


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("S2-36")
def test_many_threads_that_want_one_package_download_it_once(cache: RegistryCache) -> None:
    calls: list[str] = []
    arrived = threading.Barrier(16)

    def fetch() -> bytes:
        calls.append(threading.current_thread().name)
        time.sleep(0.05)
        return A

    def want(_: int) -> bytes:
        arrived.wait()
        return cache.fill(IDS[A], fetch)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(want, range(16))) == [A] * 16
    assert len(calls) == 1
    found = cache.statistics()
    assert (found.hits, found.misses) == (15, 1)


def test_when_a_download_fails_each_makes_its_own_attempt_and_gets_its_own_error(cache: RegistryCache) -> None:
    attempts: list[int] = []

    def fetch() -> bytes:
        attempts.append(1)
        if len(attempts) < 3:
            raise RegistryNetworkError(f"attempt {len(attempts)}")
        return A

    def want(_: int) -> Any:
        try:
            return cache.fill(IDS[A], fetch)
        except RegistryNetworkError as error:
            return str(error)

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(want, range(6)))
    assert Counter(map(str, found)) == {"attempt 1": 1, "attempt 2": 1, str(A): 4}
    assert len(attempts) == 3
    assert not cache._flights._running


def test_different_packages_are_downloaded_side_by_side(cache: RegistryCache) -> None:
    together = threading.Barrier(2, timeout=20)

    def fetch(data: bytes) -> bytes:
        together.wait()  # would break if one waited for the other
        return data

    assert cache_flights._FILES == 64
    assert int(IDS[A].sha1[:8], 16) % 64 != int(IDS[B].sha1[:8], 16) % 64
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda data: cache.fill(IDS[data], lambda: fetch(data)), (A, B))) == [A, B]


def test_many_threads_read_write_and_evict(cache: RegistryCache) -> None:
    contents = [content(number, 60) for number in range(8)]

    def work(seed: int) -> int:
        dice, found = random.Random(seed), 0
        for _ in range(60):
            data = dice.choice(contents)
            if dice.random() < 0.4:
                cache.put(id_of(data), data)
            else:
                got = cache.get(id_of(data))
                assert got in (None, data)
                found += got is not None
        return found

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(work, range(8))) > 0
    told = cache.statistics()
    assert (told.corrupt, told.unstored) == (0, 0)
    assert told.bytes <= 250


def test_nobody_waits_longer_than_his_patience_for_the_download_of_another(tmp_path: Path) -> None:
    """In the same process, and for a lock file whose holder is stopped."""
    folder = tmp_path / "cache"
    with RegistryCache(folder, patience=0.1) as cache, RegistryCache(folder, patience=0.1) as other:
        started, let_go = threading.Event(), threading.Event()

        def slow() -> bytes:
            started.set()
            assert let_go.wait(30)
            return A

        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(cache.fill, IDS[A], slow)
            assert started.wait(30)
            assert cache.fill(IDS[A], lambda: A) == A
            other.clear()
            assert other.fill(IDS[A], lambda: A) == A
            let_go.set()
            assert first.result() == A


# --- forks ------------------------------------------------------------------------------------------------------------


def test_a_forked_child_and_its_parent_both_go_on(cache: RegistryCache) -> None:
    cache.put(IDS[A], A)

    def work() -> None:
        assert cache.get(IDS[A]) == A
        cache.put(IDS[B], B)
        assert cache.get(IDS[B]) == B

    pid = child(work)
    for _ in range(20):
        assert cache.get(IDS[A]) == A
    assert ended(pid) == 0
    assert cache.get(IDS[B]) == (None if cache.folder is None else B)


@pytest.mark.parametrize("place", [None, "cache"])
def test_a_fork_in_the_middle_of_other_threads_work_leaves_no_lock_behind(tmp_path: Path, place: str | None) -> None:
    cache = RegistryCache(place and tmp_path / place, patience=0.2)
    stop, fetching = threading.Event(), threading.Event()

    def busy() -> None:
        while not stop.is_set():
            cache.put(IDS[A], A)
            cache.get(IDS[A])

    def slow() -> bytes:
        fetching.set()
        assert stop.wait(30)
        return C

    def work() -> None:
        signal.alarm(30)  # a lock that nobody lets go of would be waited for until then
        assert cache.fill(IDS[C], lambda: C) == C
        assert cache.get(IDS[C]) == C
        cache.statistics()

    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(busy) for _ in range(3)] + [threads.submit(cache.fill, IDS[C], slow)]
        assert fetching.wait(30)
        pids = [child(work) for _ in range(10)]
        codes = [ended(pid) for pid in pids]
        stop.set()
        assert [done.result() for done in waiting] == [None, None, None, C]
    assert codes == [0] * 10
    cache.close()


def test_a_child_does_not_keep_the_lock_of_a_download_of_its_parent(folder: Path) -> None:
    with RegistryCache(folder) as cache:
        release, pids = mmap.mmap(-1, 1), []

        def wait() -> None:
            end = time.monotonic() + 30
            while not release[0] and time.monotonic() < end:
                time.sleep(0.005)

        def fetch() -> bytes:
            pids.append(child(wait))  # it lives on after the download
            return A

        assert cache.fill(IDS[A], fetch) == A
        cache.clear()
        lock = folder / "locks" / f"{int(IDS[A].sha1[:8], 16) % 64:02}.lock"
        lock.touch()
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises when the child has it
        release[0] = 1
        assert ended(pids[0]) == 0


# --- processes --------------------------------------------------------------------------------------------------------


def test_a_process_killed_while_it_downloads_keeps_nobody_waiting(folder: Path) -> None:
    downloading = mmap.mmap(-1, 1)

    def fetch() -> bytes:
        downloading[0] = 1
        time.sleep(60)
        return A

    with RegistryCache(folder, patience=3600) as cache:
        pid = child(lambda: cache.fill(IDS[A], fetch))
        while not downloading[0]:
            time.sleep(0.001)
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(cache.fill, IDS[A], lambda: A)
            os.kill(pid, signal.SIGKILL)
            ended(pid)
            assert waiting.result(60) == A


KILLS = int(os.environ.get("SKILLBELT_KILLS", "60"))
FILLERS = int(os.environ.get("SKILLBELT_FILLERS", "8"))


@pytest.mark.row("S2-36")
def test_processes_killed_while_they_write_spoil_nothing_and_leave_nothing(folder: Path) -> None:
    """Set SKILLBELT_KILLS=500 for the figure of the issue."""
    contents = [content(number, 1000 * (1 + number % 7) ** 3) for number in range(24)]
    begun, writing = mmap.mmap(-1, 1), mmap.mmap(-1, 1)

    def write() -> None:
        dice = random.Random(os.getpid())
        cache = RegistryCache(folder, max_bytes=1_500_000)
        while True:
            data = dice.choice(contents)
            begun[0] = writing[0] = 1
            cache.put(id_of(data), data)
            cache.put_alias(str(dice.randrange(20)), str(id_of(data)))
            writing[0] = 0
            cache.get(id_of(dice.choice(contents)))

    dice, interrupted, hits = random.Random(1), 0, 0
    with RegistryCache(folder, max_bytes=1_500_000) as reader:
        for _ in range(KILLS):
            begun[0] = writing[0] = 0
            pid = child(write)
            while not begun[0]:
                time.sleep(0.0005)
            time.sleep(dice.uniform(0, 0.01))
            os.kill(pid, signal.SIGKILL)
            assert ended(pid) == -signal.SIGKILL
            interrupted += writing[0]
            data = dice.choice(contents)
            got = reader.get(id_of(data))
            assert got in (None, data)
            hits += got is not None
        for data in contents:
            assert reader.get(id_of(data)) in (None, data)
        found = reader.statistics()
        assert (found.corrupt, found.unstored) == (0, 0)
        assert 0 < found.bytes <= 1_500_000
    assert interrupted > KILLS // 3
    assert hits > 0
    assert {path.name for path in folder.iterdir()} <= {"packages-v1.0.sqlite", "locks"}
    connection = sqlite3.connect(database(folder))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    os.write(1, f"{KILLS} killed, {interrupted} of them while writing; {hits} hits meanwhile\n".encode())


@pytest.mark.row("S2-36")
def test_processes_that_fill_one_cache_at_once_download_each_package_once(folder: Path, tmp_path: Path) -> None:
    """Set SKILLBELT_FILLERS=16 for the figure of the issue."""
    contents = [content(number, 2000 + 500 * number) for number in range(40)]
    downloads = os.open(tmp_path / "downloads", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    start = mmap.mmap(-1, 1)

    def work() -> None:
        while not start[0]:
            time.sleep(0.001)
        cache = RegistryCache(folder, patience=120)
        mine = contents[:]
        random.Random(os.getpid()).shuffle(mine)

        def fetch(data: bytes) -> bytes:
            os.write(downloads, f"{id_of(data)}\n".encode())
            time.sleep(0.002)
            return data

        for data in mine:
            assert cache.fill(id_of(data), lambda data=data: fetch(data)) == data
        for data in mine:
            assert cache.fill(id_of(data), unreachable) == data
        found = cache.statistics()
        assert (found.corrupt, found.unstored, found.evictions, found.entries) == (0, 0, 0, 40)

    pids = [child(work) for _ in range(FILLERS)]
    start[0] = 1
    assert [ended(pid) for pid in pids] == [0] * FILLERS
    os.close(downloads)
    counts = Counter((tmp_path / "downloads").read_text().split())
    assert counts == {str(id_of(data)): 1 for data in contents}
