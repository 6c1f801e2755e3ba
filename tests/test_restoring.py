"""The keeper of texts: reads when it must, cuts to bounds, survives what happens to the folder."""

import pytest

from skillbelt import SkillRouter, SourceError, estimate_tokens
from skillbelt.active import fingerprint, hold
from skillbelt.restoring import Keeper, Restore, lost

BIG = "\n".join(f"Line {number} of many words that fill a page." for number in range(3000))


@pytest.fixture
def root(tmp_path):
    for name, body in {"small": "Small body.", "big": BIG, "args": "Fill $ARGUMENTS."}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n{body}\n")
    return tmp_path


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Counted(SkillRouter):
    """Counts how often a skill is handed out."""

    def activate(self, name, *, arguments=None):
        COUNT.append(name)
        return super().activate(name, arguments=arguments)


COUNT: list[str] = []


def keeper_of(root, **restore):
    COUNT.clear()
    clock = Clock()
    router = Counted.from_directory(root)
    return Keeper(router, Restore(**restore), clock), router, clock


def held_of(router, *names, arguments=None):
    records = {}
    for name in names:
        activation = router.activate(name, arguments=arguments)
        text = fingerprint(activation.text)
        records[name] = hold(name, activation.skill.digest, text, name, arguments=arguments)[1]
    COUNT.clear()
    return records


def test_a_skill_is_read_again_only_when_its_reading_is_old_or_a_run_begins(root):
    keeper, router, clock = keeper_of(root, fresh=10)
    held = held_of(router, "small")
    assert keeper.stale(held)
    keeper.refresh(held)
    for _ in range(5):
        assert not keeper.stale(held)
        keeper.refresh(held)
        keeper.back(held)
    assert COUNT == ["small"]
    clock.now = 11
    assert keeper.stale(held)
    keeper.refresh(held)
    keeper.refresh(held, force=True)
    assert len(COUNT) == 3
    over = {"small": {**held["small"], "unloaded": True}}
    clock.now = 99
    assert not keeper.stale(over)
    keeper.refresh(over, force=True)
    assert len(COUNT) == 3


def test_a_text_that_was_read_for_another_reason_is_taken_over(root):
    keeper, router, _ = keeper_of(root)
    held = held_of(router, "small")
    keeper.note("small", None, router.activate("small"))
    COUNT.clear()
    assert keeper.current("small", held["small"]).text == router.activate("small").text
    assert COUNT == ["small"]  # ours


def test_arguments_are_part_of_what_is_put_back(root):
    keeper, router, _ = keeper_of(root)
    held = held_of(router, "args", arguments="form 7")
    (back,) = keeper.back(held).skills
    assert "Fill form 7." in back.text and back.arguments == "form 7"


@pytest.mark.parametrize("tokens", [256, 300, 1000, 5000])
def test_a_cut_text_keeps_to_its_bound_whatever_counts_the_tokens(root, tokens):
    for count in (estimate_tokens, len, lambda text: len(text.split())):
        keeper, router, _ = keeper_of(root, skill_tokens=tokens, count=count)
        back = keeper.one("big", held_of(router, "big")["big"], "note")
        if count is not len or tokens >= 1100:  # a kilobyte is the least a marked text takes
            assert back.tokens <= tokens
        assert back.cut and back.text.endswith("</skill_content>") and "output truncated" in back.text
        assert back.tokens == count(back.text)


def test_arguments_too_long_for_a_cut_text_are_left_out_of_it(root):
    keeper, router, _ = keeper_of(root, skill_tokens=256)
    held = held_of(router, "args", arguments="x" * 5000)
    back = keeper.one("args", held["args"], "note")
    assert back.cut and back.tokens <= 256 and "$ARGUMENTS" in back.text


def test_what_is_put_back_is_the_same_object_while_nothing_changes(root):
    keeper, router, _ = keeper_of(root)
    held = held_of(router, "small", "big")
    assert keeper.back(held) is keeper.back(held)
    assert not keeper.back({})
    assert not keeper.back(lost(held, ["small", "big"])) and keeper.back(lost(held, ["big"]))


def test_a_skill_that_is_gone_or_broken_is_said_to_be_gone(root):
    keeper, router, _ = keeper_of(root)
    held = held_of(router, "small")
    (root / "small" / "SKILL.md").write_text("broken")
    (back,) = keeper.back(held).skills
    assert back.text == "" and back.whole == back.note
    assert "no longer available" in back.note and back.changed
    assert not keeper.changed("small", held["small"])


def test_a_disk_that_fails_for_a_moment_does_not_end_the_use_of_a_skill(root, monkeypatch):
    keeper, router, clock = keeper_of(root, fresh=1)
    held = held_of(router, "small")
    keeper.refresh(held)

    def failing(self, name, *, arguments=None):
        raise SourceError("on fire")

    monkeypatch.setattr(Counted, "activate", failing)
    clock.now = 5
    keeper.refresh(held)
    assert "Small body." in keeper.back(held).skills[0].text
    fresh, _, _ = keeper_of(root)
    with pytest.raises(SourceError, match="on fire"):
        fresh.refresh(held)


def test_the_memory_of_a_keeper_is_bounded(root):
    keeper, router, _ = keeper_of(root)
    held = held_of(router, "args", arguments="0")
    for number in range(600):
        record = {**held["args"], "arguments": str(number)}
        keeper.back({"args": record})
    assert len(keeper._current) <= 513 and len(keeper._texts) <= 257 and len(keeper._plans) <= 64
