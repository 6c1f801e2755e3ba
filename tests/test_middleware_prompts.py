"""What stays the same over turns, and how much a model is told at once: acceptance tests 3, 12 and 14 on requests."""

import json
import shutil

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langchain_kit import load, results, router_of, scenario, simple, skill, system_text, times
from skillbelt import Renderer, SkillRouter, TokenBudget, estimate_tokens


def test_system_text_and_schemas_are_the_same_bytes_over_five_turns_with_two_activations():
    router = router_of("a", "b", "c")
    steps = [
        "one",
        [load("a")],
        "two",
        "three",
        [load("b"), ("read_skill_resource", {"name": "b", "path": "x"})],
        "four",
    ]
    story = simple([*steps, "five"], router, checkpointer=InMemorySaver())
    for turn in range(5):
        story.say(f"question {turn}")
    assert len(story.requests) == 7
    assert len({json.dumps(request.messages[0].content) for request in story.requests}) == 1
    assert len({json.dumps(request.tools) for request in story.requests}) == 1
    for before, after in zip(story.requests, story.requests[1:], strict=False):
        assert [m.content for m in after.messages][: len(before.messages)] == [m.content for m in before.messages]


def test_the_order_does_not_depend_on_the_file_system(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    names = [f"s{n:02}" for n in range(20)]
    for root, order in ((one, names), (other, reversed(names))):
        for name in order:
            (root / name).mkdir(parents=True)
            (root / name / "SKILL.md").write_text(skill(name))
    stories = [simple(["done"], SkillRouter.from_directory(root)) for root in (one, other)]
    for story in stories:
        story.say("go")
    assert system_text(stories[0].last) == system_text(stories[1].last)
    assert stories[0].last.tools == stories[1].last.tools


def test_a_body_of_1500_lines_arrives_whole_in_one_call():
    body = "\n".join(f"Line {number}." for number in range(1500))
    story = simple([[load("big")], "done"], router_of(big=body))
    story.say("go")
    assert "Line 1499." in results(story.last)[0].content and "truncated" not in results(story.last)[0].content


def test_a_body_over_the_bound_is_marked_with_both_sizes_and_read_on_without_loss(tmp_path):
    body = "\n".join(f"Line {number}." for number in range(1500))
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "SKILL.md").write_text(skill("big", body))
    router = SkillRouter.from_directory(tmp_path, renderer=Renderer(max_output=4096))
    story = simple([[load("big")], lambda messages: read_on(messages[-1]), *[read_next] * 20], router)
    story.say("go")
    got = "".join(page_of(answer.content) for answer in results(story.last))
    assert got.split() == body.split()
    assert f"of {len(body) + 1} bytes shown" in results(story.last)[0].content


def offset_of(text: str) -> int | None:
    found = text.rpartition("offset=")[2].partition(".")[0]
    return int(found) if "output truncated" in text else None


def read_on(message):
    return [("read_skill_resource", {"name": "big", "path": "SKILL.md", "offset": offset_of(message.content)})]


def read_next(messages):
    return read_on(messages[-1]) if offset_of(messages[-1].content) is not None else "done"


def page_of(text: str) -> str:
    inner = text.partition("\n")[2]
    for end in ("\n\n[output truncated", "\n</skill_resource>", "\n\nSkill directory"):
        inner = inner.partition(end)[0]
    return inner


@pytest.mark.parametrize("tokens", [1000, 300, 60])
def test_c12_sixty_long_descriptions_fit_the_budget_of_the_request(tmp_path, tokens):
    router = SkillRouter.from_directory(scenario("C12", tmp_path), budget=TokenBudget(tokens))
    story = simple([[("search_skills", {"query": "topic 42 alone"})], "done"], router)
    story.say("go")
    catalog = system_text(story.last).partition("<available_skills>")[2].partition("</available_skills>")[0]
    assert estimate_tokens(f"<available_skills>{catalog}</available_skills>") <= tokens
    assert "search_skills" in story.last.tool_names and "search_skills" in system_text(story.last)
    if tokens >= 1000:
        assert all(f'name="unit-{n:02}"' in catalog for n in range(60))
    else:
        assert "more skills are not listed" in catalog
    assert "unit-42" in results(story.last)[0].content


def test_c12_leaving_some_out_makes_room(tmp_path):
    router = SkillRouter.from_directory(scenario("C12", tmp_path), budget=TokenBudget(1000))
    story = simple(["done"], router.view(exclude=["unit-1*"]))
    story.say("go")
    assert "unit-10" not in system_text(story.last) and "unit-20" in system_text(story.last)
    shutil.rmtree(tmp_path / "C12")
    assert times(story.last, "unit-20") >= 1
