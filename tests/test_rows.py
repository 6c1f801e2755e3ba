"""Every row of the requirements has a proof, or stands in a list of open rows that only shrinks.

A proof is a Behave scenario or a Robot test with the row's id as a tag, or a test with ``@pytest.mark.row("S3-13")``.
A row that also has a scenario tagged ``@wip``, or a test that is skipped or expected to fail, is still open: part of
it does not hold. ``python tests/test_rows.py`` rewrites ``tests/data/rows_open.txt`` to what is true now.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from behave.parser import parse_file
from robot import api as robot

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "tests/data/rows.txt"
OPEN = ROOT / "tests/data/rows_open.txt"

ID = re.compile(r"S[123]-\d\d")
OTHER_IDS = re.compile(r"C(0?[1-9]|1\d|2[0-2])")
"""Conflicts C1 to C22 of the requirements and stories C01 to C15 may be named as well; nobody counts those."""

CLOSED_BY = {"S1": "3", "S2": "4", "S3": "3"}
"""The issue that closes a row, where the list of open rows does not know better."""


class Proof(NamedTuple):
    """A test that claims a row; ``whole`` unless it says itself that it does not run or does not pass."""

    row: str
    where: str
    whole: bool = True


# --- reading ----------------------------------------------------------------------------------------------------------


def rows() -> dict[str, str]:
    """The 179 rows, id to title."""
    return dict(line.split(" ", 1) for line in ROWS.read_text(encoding="utf-8").splitlines())


def open_rows() -> dict[str, str]:
    """The rows without a proof so far, id to the issue that will bring it."""
    return dict(line.split() for line in OPEN.read_text(encoding="utf-8").splitlines())


def in_features(folder: Path) -> Iterator[Proof]:
    """The tags of every scenario, those of its feature and of its examples included."""
    for path in sorted(folder.glob("*.feature")):
        for scenario in parse_file(str(path)).walk_scenarios():
            tags = {str(tag) for tag in scenario.effective_tags}
            for tag in sorted(tags - {"wip"}):
                yield Proof(tag, f"{path.name}: {scenario.name}", "wip" not in tags)


def in_robot(folder: Path) -> Iterator[Proof]:
    """The tags of every Robot test that are meant as ids."""
    for path in sorted(folder.rglob("*.robot")):
        for test in robot.TestSuite.from_file_system(path).all_tests:
            whole = not any(tag.lower() in ("robot:skip", "robot:exclude", "wip") for tag in test.tags)
            for tag in test.tags:
                if ID.match(tag) or OTHER_IDS.fullmatch(tag):
                    yield Proof(str(tag), f"{path.name}: {test.name}", whole)


def in_tests(folder: Path) -> Iterator[Proof]:
    """Every ``pytest.mark.row(…)`` in the source of the tests, also one of a parameter or of a whole module."""
    for path in sorted(folder.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        halves = {id(mark) for node in ast.walk(tree) for mark in _marks_that_do_not_run(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _is_mark(node, "row"):
                for argument in node.args:
                    value = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                    yield Proof(str(value), f"{path.name}:{node.lineno}", id(node) not in halves)


def _marks_that_do_not_run(node: ast.AST) -> list[ast.expr]:
    """The marks beside a ``skip`` or an ``xfail``: of one function, one class, one parameter."""
    beside = list(getattr(node, "decorator_list", []))
    for keyword in getattr(node, "keywords", []):
        if keyword.arg == "marks":
            beside = list(getattr(keyword.value, "elts", [keyword.value]))
    return beside if any(_is_mark(mark, "skip") or _is_mark(mark, "xfail") for mark in beside) else []


def _is_mark(node: ast.expr, name: str) -> bool:
    function = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(function).endswith(f"mark.{name}")


@cache
def all_proofs() -> list[Proof]:
    """Every proof there is; some are of ids that are no rows."""
    return [*in_features(ROOT / "features"), *in_robot(ROOT / "robot"), *in_tests(ROOT / "tests")]


# --- judging ----------------------------------------------------------------------------------------------------------


def proven(proofs: list[Proof]) -> set[str]:
    """Rows with at least one proof, none of which is only half of one."""
    whole = defaultdict(list)
    for proof in proofs:
        whole[proof.row].append(proof.whole)
    return {row for row, all_whole in whole.items() if all(all_whole)}


def to_change(known: dict[str, str], listed: dict[str, str], proofs: list[Proof]) -> tuple[list[str], list[str]]:
    """Rows to put into the list of open rows, and rows to take out of it."""
    done = proven(proofs)
    missing = [row for row in known if row not in done and row not in listed]
    return missing, [row for row in listed if row in done or row not in known]


def lines(ids: list[str]) -> str:
    """Lines as they stand in ``rows_open.txt``."""
    return "".join(f"{row} {open_rows().get(row) or CLOSED_BY[row[:2]]}\n" for row in ids)


def test_there_are_179_rows_each_with_a_title():
    assert [row for row in rows() if not ID.fullmatch(row)] == []
    expected = [f"S{part}-{n:02}" for part, count in ((1, 59), (2, 51), (3, 69)) for n in range(1, count + 1)]
    assert list(rows()) == expected
    assert all(rows().values())


def test_every_row_is_proven_or_stands_in_the_list_of_open_rows():
    missing, _ = to_change(rows(), open_rows(), all_proofs())
    titles = "".join(f"  {row} {rows()[row]}\n" for row in missing)
    assert not missing, f"These rows have no proof:\n{titles}Prove them, or add to {OPEN.name}:\n{lines(missing)}"


def test_no_row_of_the_list_of_open_rows_is_proven():
    _, proven_now = to_change(rows(), open_rows(), all_proofs())
    where = "".join(f"  {proof.row} by {proof.where}\n" for proof in all_proofs() if proof.row in proven_now)
    assert not proven_now, f"These rows are proven, take them out of {OPEN.name}: {' '.join(proven_now)}\n{where}"


def test_the_list_of_open_rows_names_each_once_in_order_with_its_issue():
    text = OPEN.read_text(encoding="utf-8").splitlines()
    assert text == sorted(set(text))
    assert [line for line in text if not re.fullmatch(r"S[123]-\d\d \d+", line)] == []


def test_no_test_claims_a_row_that_does_not_exist():
    wrong = [p for p in all_proofs() if p.row not in rows() and not OTHER_IDS.fullmatch(p.row)]
    assert wrong == [], "\n".join(f"{p.where} claims {p.row!r}, which is no row" for p in wrong)


# --- that this file can fail ------------------------------------------------------------------------------------------

FEATURE = """@S3-01
Feature: F
  @S3-02
  Scenario: a
    Given x
  @wip @S3-03
  Scenario: b
    Given x
  @S3-04
  Scenario Outline: <c>
    Given x
    Examples:
      | c |
      | 1 |
    @S3-05 @wip
    Examples:
      | c |
      | 2 |
"""
ROBOT = """*** Settings ***
Test Tags    S1-01
*** Test Cases ***
One
    [Tags]    S1-02    slow
    No Operation
Two
    [Tags]    S1-03    robot:skip
    No Operation
"""
TESTS = """import pytest
pytestmark = pytest.mark.row("S2-01")
@pytest.mark.row("S2-02", "S2-03")
def test_a(): ...
@pytest.mark.xfail
@pytest.mark.row("S2-04")
def test_b(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.row("S2-05")),
    pytest.param(1, marks=[pytest.mark.skip, pytest.mark.row("S2-06")])])
def test_c(x): ...
def test_d(): "S2-07"
"""


def test_tags_and_marks_are_found_wherever_they_may_stand(tmp_path):
    (tmp_path / "f.feature").write_text(FEATURE)
    (tmp_path / "r.robot").write_text(ROBOT)
    (tmp_path / "test_t.py").write_text(TESTS)
    features, suites, tests = list(in_features(tmp_path)), list(in_robot(tmp_path)), list(in_tests(tmp_path))
    assert proven(features) == {"S3-02"}
    assert {p.row for p in features} == {"S3-01", "S3-02", "S3-03", "S3-04", "S3-05"}
    assert proven(suites) == {"S1-02"}
    assert {p.row for p in suites} == {"S1-01", "S1-02", "S1-03"}
    assert proven(tests) == {"S2-01", "S2-02", "S2-03", "S2-05"}
    assert {p.row for p in tests} == {"S2-01", "S2-02", "S2-03", "S2-04", "S2-05", "S2-06"}


@pytest.mark.parametrize(
    ("listed", "proofs", "add", "remove"),
    [
        ({}, [Proof("S1-01", "x"), Proof("S1-02", "x")], [], []),
        ({}, [Proof("S1-01", "x")], ["S1-02"], []),
        ({"S1-02": "3"}, [Proof("S1-01", "x")], [], []),
        ({"S1-02": "3"}, [Proof("S1-01", "x"), Proof("S1-02", "x")], [], ["S1-02"]),
        ({}, [Proof("S1-01", "x"), Proof("S1-02", "x"), Proof("S1-02", "y", whole=False)], ["S1-02"], []),
        ({"S1-02": "3", "S1-99": "3"}, [Proof("S1-01", "x")], [], ["S1-99"]),
    ],
)
def test_what_to_add_and_to_take_out_is_said_exactly(listed, proofs, add, remove):
    assert to_change({"S1-01": "a", "S1-02": "b"}, listed, proofs) == (add, remove)


if __name__ == "__main__":
    done = proven(all_proofs())
    still_open = lines([row for row in rows() if row not in done])
    OPEN.write_text(still_open, encoding="utf-8")
    sys.stdout.write(still_open)
