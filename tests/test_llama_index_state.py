"""State travels: plain JSON in ``ctx.store``, saved in one process and gone on with in another."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_child import agent_of, memory_of
from llama_index_kit import keeping, load, router_of, skill, times, unload
from skillbelt.llama_index import Skills

CHILD = Path(__file__).parent / "llama_index_child.py"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore:Skipping serialization")


@pytest.fixture
def folder(tmp_path):
    for name in ("rule", "gone"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(skill(name, f"Old text of {name}."))
    return tmp_path / "skills"


def is_plain(value):
    """Whether a value is what JSON has, down to its leaves."""
    if isinstance(value, dict):
        return type(value) is dict and all(type(key) is str and is_plain(one) for key, one in value.items())
    if isinstance(value, list):
        return type(value) is list and all(map(is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


async def test_what_the_context_holds_of_skills_is_plain_json_and_says_which_text_it_was():
    router = router_of("a", "b")
    story = keeping([[load("a"), load("b", arguments="7")], [unload("a")], "done"], router, unload=True)
    await story.say("go")
    state = {
        key: await story.ctx.store.get(key, default=None) for key in ("active_skills", "skills_held", "skills_seen")
    }
    assert all(map(is_plain, state.values()))
    (record,) = state["active_skills"]
    assert record["name"] == "b" and record["digest"] == router.activate("b").skill.digest and record["when"]
    assert state["skills_held"]["b"]["arguments"] == "7"
    assert json.loads(json.dumps(state)) == state


async def test_a_context_that_was_written_and_read_has_the_same_skills_in_use():
    router = router_of(rule="The rule.")
    story = keeping([[load("rule")], "one"], router)
    await story.say("go")
    saved = json.dumps(story.ctx.to_dict(serializer=JsonSerializer()))
    other = keeping(["two", [load("rule")], "three"], router)
    other.ctx = Context.from_dict(other.agent, json.loads(saved), serializer=JsonSerializer())
    await other.say("go on")
    assert times(other.last, "The rule.") == 1 and times(other.last, "is already in use") == 1
    await other.say("again")
    assert times(other.last, "The rule.") == 1
    assert await other.active() == ["rule"]


async def started(kind, folder, tmp_path, steps):
    """Begin a conversation and write its context to a file."""
    agent, _, skills = agent_of(kind, str(folder), steps)
    ctx = Context(agent)
    memory = memory_of(kind, skills, str(tmp_path / "memory.db"), ctx)
    await agent.run("go", ctx=ctx, memory=memory)
    file = tmp_path / "state.json"
    file.write_text(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    return file


def go_on(kind, folder, tmp_path, state, steps):
    command = [
        sys.executable,
        str(CHILD),
        kind,
        str(folder),
        str(state),
        str(tmp_path / "memory.db"),
        json.dumps(steps),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


KINDS = pytest.mark.parametrize("kind", ["agent", "block"])


@KINDS
async def test_another_process_goes_on_with_the_skills_in_use(kind, folder, tmp_path):
    state = await started(kind, folder, tmp_path, [[load("rule")], "loaded"])
    out = go_on(kind, folder, tmp_path, state, ["one", [load("rule")], "two"])
    for sent in out["sent"]:
        assert "\n".join(sent).count("Old text of rule.") == 1
    assert "is loaded already" in out["sent"][-1][-1]
    assert [record["name"] for record in out["active"]] == ["rule"]


@KINDS
async def test_what_changed_meanwhile_is_said_and_the_right_text_is_used(kind, folder, tmp_path):
    state = await started(kind, folder, tmp_path, [[load("rule"), load("gone")], "loaded"])
    (folder / "rule" / "SKILL.md").write_text(skill("rule", "New text of rule."))
    (folder / "gone" / "SKILL.md").unlink()
    out = go_on(kind, folder, tmp_path, state, ["one", [load("gone")], [load("rule")], "two"])
    first = "\n".join(out["sent"][0])
    assert first.count("New text of rule.") == 1
    changed = "Its text has changed since then" if kind == "agent" else "was changed after it was loaded"
    assert changed in first
    if kind == "agent":  # its messages are gone with the process, those of the block are in the database
        assert "The skill gone was in use and is no longer available" in first
    last = "\n".join(out["sent"][-1])
    assert "Skill 'gone' cannot be loaded: The folder has no SKILL.md." in last
    assert last.count("New text of rule.") == 1
    assert out["held"]["rule"]["digest"] != out["held"]["gone"]["digest"]


async def test_editing_the_state_oneself_copies_no_skills():
    # llama-index-workflows 2 copies the whole state when a tool edits it, the memory in it and all.
    import copy

    from skillbelt.llama_index import SkillsMemoryBlock

    skills = Skills(router_of("a"))
    block = SkillsMemoryBlock(skills)
    assert copy.deepcopy(skills) is skills
    assert copy.deepcopy(block) is block


def test_calls_are_read_from_blocks_and_from_what_openai_puts_beside_them():
    from llama_index.core.base.llms.types import ChatMessage

    from skillbelt.llama_index.state import calls_of

    class Entry:
        def model_dump(self):
            return {"function": {"name": "b", "arguments": '{"x": 1}'}}

    def beside(*entries):
        return ChatMessage("", role="assistant", additional_kwargs={"tool_calls": list(entries)})

    plain = {"function": {"name": "a", "arguments": {"x": 1}}}
    assert calls_of(beside(plain, Entry())) == [("a", {"x": 1}), ("b", {"x": 1})]
    assert calls_of(beside({"name": "c", "input": {}})) == []
    for broken in ("{", "[1]", "", None):
        assert calls_of(beside({"function": {"name": "d", "arguments": broken or ""}})) == [("d", {})]
    assert calls_of(ChatMessage("hi", role="assistant")) == []


async def test_a_block_is_told_by_the_tools_whose_conversation_it_is_in_where_llama_index_does_not(monkeypatch):
    from llama_index_kit import remembered
    from skillbelt.llama_index import memory, state

    class Old:
        """The context of llama-index-workflows 1, as far as it is asked for."""

    monkeypatch.setattr(memory, "Context", Old)
    monkeypatch.setattr(state, "Context", Old)
    router = router_of(rule="The rule.")
    story = remembered([[load("rule")], [load("rule")], "one", "two"], router)
    await story.say("go")
    assert times(story.last, "The rule.") == 1 and "is loaded already" in story.last.messages[-1].content
    assert await story.active() == ["rule"]


async def test_claims_of_a_long_conversation_do_not_grow_without_end():
    from skillbelt.llama_index import state

    class Run:
        class Store:
            """A store that can be told from others."""

        store = Store()

    for number in range(600):
        assert state.claim(Run(), ("mark", str(number)), 1)
        assert not state.claim(Run(), ("mark", str(number)), 1)
    assert len(state._begun[Run.store]) <= 300
