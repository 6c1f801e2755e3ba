"""Records of skills in use, presence in a growing list of messages, mentions: free of any framework."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillbelt import SkillError
from skillbelt.active import (
    Reading,
    Sight,
    after,
    fingerprint,
    hold,
    in_use,
    is_same,
    merge_active,
    merge_held,
    present,
    removal,
    same_load,
    takes_reload,
)
from skillbelt.mentions import mention


def record(name, text="text", key="k", **more):
    return hold(name, "d" * 64, fingerprint(text), key, **more)


def test_records_are_plain_json_with_no_text_of_the_skill():
    active, held = record("pdf", "the whole body", tools=["look"], arguments="form 7", by="user")
    assert set(active) == {"name", "digest", "when"} and active["when"].endswith("+00:00")
    assert held == {
        "digest": "d" * 64,
        "text": fingerprint("the whole body"),
        "key": "k",
        "by": "user",
        "tools": ["look"],
        "arguments": "form 7",
    }
    for one in (active, held):
        assert json.loads(json.dumps(one)) == one
        assert "the whole body" not in json.dumps(one)
    assert set(record("pdf")[1]) == {"digest", "text", "key", "by"}


def test_updates_of_the_public_list_join_in_order_and_the_later_one_wins():
    a, b = {"name": "a", "digest": "1", "when": "x"}, {"name": "b", "digest": "1", "when": "x"}
    assert merge_active(None, [a, b]) == [a, b]
    assert merge_active([a, b], [a | {"digest": "2"}]) == [a | {"digest": "2"}, b]
    assert merge_active([a], ["b", {"name": "c"}]) == [a, {"name": "b"}, {"name": "c"}]
    assert merge_active([a], "b") == [a, {"name": "b"}]
    assert merge_active([a, b], [removal("a"), removal("nope")]) == [b]
    assert merge_active([a], []) == [a]


def test_none_asks_for_a_reload_until_somebody_answers():
    asked = merge_active([{"name": "a"}], None)
    assert takes_reload(asked) == [{"reload": False}]
    assert merge_active(asked, takes_reload(asked)) == [{"name": "a"}]
    assert takes_reload([{"name": "a"}]) == takes_reload(None) == []
    assert merge_active(merge_active(asked, None), takes_reload(asked)) == [{"name": "a"}]


@pytest.mark.parametrize("wrong", [[7], [{}], [{"name": 7}], [None]])
def test_what_is_no_name_and_no_record_is_refused(wrong):
    with pytest.raises(SkillError, match=r'Write \["pdf-forms"\]'):
        merge_active([], wrong)


def test_a_skill_that_is_held_again_moves_to_the_end_and_none_forgets_it():
    held = merge_held(merge_held(None, {"a": record("a")[1]}), {"b": record("b")[1]})
    assert list(merge_held(held, {"a": record("a", "new")[1]})) == ["b", "a"]
    assert list(merge_held(held, {"a": None})) == ["b"]
    assert merge_held(held, None) == held
    assert in_use({"a": held["a"] | {"unloaded": True}, "b": held["b"]}) == ["b"]
    assert in_use(None) == []


def test_texts_that_a_new_load_replaces_are_remembered_a_while():
    old, new = record("a", "old", "1")[1], record("a", "new", "2")[1]
    assert after(new, None) == new
    assert after(new, old)["past"] == [["1", fingerprint("old")]]
    assert after(old, old) == old
    assert after(old, {**old, "unloaded": True})["past"] == [["1", fingerprint("old")]]
    assert "past" not in after({**new, "arguments": "x"}, old)
    last = old
    for number in range(30):
        last = after(record("a", f"text {number}", str(number))[1], last)
    assert len(last["past"]) == 20 and last["past"][-1][0] == "28"


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_merging_names_in_two_steps_or_one_is_the_same(one, other):
    assert merge_active(merge_active([], one), other) == merge_active([], [*one, *other])


def test_an_earlier_equal_load_of_the_same_message_counts_unless_it_failed():
    calls = [("1", {"name": "a"}), ("2", {"name": "b"}), ("3", {"name": "a"}), ("4", {"name": "a", "arguments": "x"})]
    assert [same_load(calls, key, lambda _: False) for key in "1234"] == [False, False, True, False]
    assert not same_load(calls, "3", lambda key: key == "1")
    assert not same_load(calls, "9", lambda _: False)


def test_fingerprints_are_of_the_whole_text_and_half_characters_do_no_harm():
    assert fingerprint("a") != fingerprint("b") and len(fingerprint("a")) == 32
    assert fingerprint("\ud800") == fingerprint("?")
    for number in range(300):
        fingerprint(f"text {number}")
    assert fingerprint("a") == fingerprint("a")


# --- presence ---------------------------------------------------------------------------------------------------------


class Looked:
    """Reads pairs of key and text, and counts how often."""

    def __init__(self):
        self.count = 0
        self.sight = Sight(self.read)

    def read(self, message):
        self.count += 1
        return None if message is None else Reading(*message)

    def cost(self, messages, held):
        self.count = 0
        found = self.sight.find(messages, held)
        return found, self.count


def test_a_text_is_found_where_its_key_is_and_only_while_it_is_whole():
    held = record("a", "body", "k")[1]
    sight = Looked().sight
    assert sight.find([], held) == (None, False)
    assert sight.find([None, ("k", "body")], held) == (1, True)
    assert sight.find([("k", "[cleared]"), None], held) == (0, False)
    assert sight.find([("other", "body")], held) == (None, False)
    assert sight.find([("k", "body"), ("k", "forged")], held) == (0, True)
    assert sight.find([("k", "x"), ("k", "y")], held) == (1, False)
    assert present(sight, [("k", "body")], {"a": held, "b": {**held, "unloaded": True}}) == {"a"}


def test_each_message_is_looked_at_once_however_long_the_conversation_gets():
    looked = Looked()
    here, gone = record("a", "body", "k")[1], record("b", "body", "lost")[1]
    messages = [("k", "body"), *[(f"m{n}", "x") for n in range(999)]]
    assert looked.cost(messages, here)[1] == 1000
    assert looked.cost(messages, gone)[1] == 1000
    for number in range(100):
        messages = [*messages, (f"n{number}", "x")]
        assert looked.cost(messages, here) == ((0, True), 1)
        assert looked.cost(messages, gone) == ((None, False), 1)


def test_a_list_that_was_cut_or_changed_is_looked_through_anew():
    looked = Looked()
    held = record("a", "body", "k")[1]
    messages = [("m", "x")] * 10
    looked.cost(messages, held)
    changed = [("new", "x"), ("k", "body"), *messages]
    assert looked.cost(changed, held)[0] == (1, True)
    assert looked.cost(changed[2:], held)[0] == (None, False)
    assert looked.cost(changed, held)[0] == (1, True)


def test_what_is_remembered_is_bounded():
    looked = Looked()
    for number in range(5000):
        looked.sight.find([("m", "x")], record("a", "body", f"k{number}")[1])
    assert len(looked.sight._seen) <= 4096


# --- mentions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/pdf", ("pdf", None)),
        ("  /pdf  page 3\nand 4 ", ("pdf", "page 3\nand 4")),
        ("/acme/pdf x", ("acme/pdf", "x")),
        ("/pdf/", None),
        ("//pdf", None),
        ("/ pdf", None),
        ("pdf", None),
        ("see /pdf", None),
        ("", None),
        ("/" + "x" * 500, None),
    ],
)
def test_only_a_known_name_at_the_start_is_a_mention(text, found):
    assert mention(text, {"pdf", "acme/pdf"}.__contains__) == found


@given(st.text())
def test_no_text_breaks_a_mention(text):
    named = mention(f"/{text}", lambda name: True)
    assert named is None or named.name in text


def test_a_load_is_the_same_when_file_text_and_arguments_are_and_a_tool_may_say_more_than_a_message():
    held = record("a", "body")[1]
    assert is_same(held, "d" * 64, fingerprint("body"), None)
    assert not is_same(held, "e" * 64, fingerprint("body"), None)
    assert not is_same(held, "d" * 64, fingerprint("body and a new file"), None)
    assert not is_same(held, "d" * 64, fingerprint("body"), "form 7")
    assert not is_same({**held, "unloaded": True}, "d" * 64, fingerprint("body"), None)
    by_user = record("a", "body", by="user")[1]
    assert is_same(by_user, "d" * 64, fingerprint("body and a note"), None)
