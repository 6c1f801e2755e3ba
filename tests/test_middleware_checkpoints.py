"""State travels: stopped in one process, edited, gone on with in another; with every saver LangGraph has."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

import postgres_server
from checkpoint_child import CONFIG, agent_of, saver
from langchain_kit import load, skill

CHILD = Path(__file__).parent / "checkpoint_child.py"


def _missing(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True


NO_SQLITE = pytest.mark.skipif(
    _missing("langgraph.checkpoint.sqlite"), reason="NOT CHECKED: langgraph-checkpoint-sqlite is not installed"
)
NO_POSTGRES = pytest.mark.skipif(
    _missing("langgraph.checkpoint.postgres") or _missing("psycopg") or not postgres_server.available(),
    reason="NOT CHECKED: langgraph-checkpoint-postgres, psycopg or PostgreSQL is not installed",
)


@pytest.fixture(
    params=["file", pytest.param("sqlite", marks=NO_SQLITE), pytest.param("postgres", marks=NO_POSTGRES)],
)
def place(request, tmp_path):
    """A kind of saver and its address."""
    if request.param == "postgres":
        with postgres_server.postgres() as url:
            yield "postgres", url
    else:
        yield request.param, str(tmp_path / "checkpoints")


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "skills"
    for name in ("shout", "gone"):
        (root / name / "scripts").mkdir(parents=True)
        (root / name / "SKILL.md").write_text(skill(name, f"Old text of {name}."))
    count = tmp_path / "count"
    script = f"with open({str(count)!r}, 'a') as file:\n    file.write('x')\n"
    (root / "shout" / "scripts" / "count.py").write_text(script)
    return root


RUN = [("run_skill_script", {"name": "shout", "path": "scripts/count.py", "args": []})]


def go_on(folder: Path, kind: str, address: str, steps: list[Any]) -> dict[str, Any]:
    """Go on in another process, in which a warning and an unregistered type are errors."""
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONWARNINGS": ""}
    command = [sys.executable, "-W", "error::UserWarning", "-W", "error::DeprecationWarning:skillbelt", str(CHILD)]
    done = subprocess.run(
        [*command, str(folder), kind, address, json.dumps(steps)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "unregistered" not in done.stderr and "Warning" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def test_a_run_that_was_stopped_goes_on_in_another_process_with_the_text_as_it_is_now(folder, tmp_path, place):
    kind, address = place
    with saver(kind, address) as opened:
        agent, model = agent_of(str(folder), opened, [[load("shout"), load("gone")], RUN])
        out = agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
        assert out["__interrupt__"] and len(model.requests) == 2
    (folder / "shout" / "SKILL.md").write_text(skill("shout", "New text of shout."))
    (folder / "gone" / "SKILL.md").unlink()
    (folder / "gone" / "scripts").rmdir()
    (folder / "gone").rmdir()
    assert not (tmp_path / "count").exists()

    steps = [[("load_skill", {"name": "gone"})], "done", "done again"]
    told = go_on(folder, kind, address, steps)
    assert (tmp_path / "count").read_text() == "x"  # run once, in the end
    for sent in told["sent"]:
        whole = "\n".join(sent)
        assert whole.count("New text of shout.") == 1 and "Old text of shout." not in whole
        assert "The skill shout was changed after it was loaded." in whole
        assert "Old text of gone." in whole  # still in the conversation; it can only not be loaded again
    refused = "\n".join(told["sent"][1])
    assert "no longer available" in refused or "There is no skill 'gone'" in refused
    assert [set(record) for record in told["active"]] == [{"name", "digest", "when"}] * 2
    assert set(told["held"]) == {"shout", "gone"}


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_skill_that_did_not_change_is_found_again_and_nothing_is_added(folder, tmp_path, place):
    kind, address = place
    with saver(kind, address) as opened:
        agent, model = agent_of(str(folder), opened, [[load("shout")], RUN])
        agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
        before = [str(message.content) for message in model.requests[1].messages]
    told = go_on(folder, kind, address, ["done", [("load_skill", {"name": "shout"})], "done again"])
    assert told["sent"][0][: len(before)] == before
    assert "loaded already" in told["sent"][-1][-1]
    assert (tmp_path / "count").read_text() == "x"
