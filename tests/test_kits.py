"""What one router gives an agent, and the rules its calls are judged by, free of any framework."""

import threading

import pytest

from skillbelt import MappingSource, SkillError, SkillRouter
from skillbelt.conduct import Rules
from skillbelt.fence import Fence
from skillbelt.kits import Kit, Kits, Layout

FILES = {
    "mail/SKILL.md": "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n",
    "my-pdf/SKILL.md": "---\nname: my/pdf\ndescription: Fills forms.\n---\nBegin.\n",
    "hidden/SKILL.md": "---\nname: hidden\ndescription: H.\ndisable-model-invocation: true\n---\nBegin.\n",
}


@pytest.fixture
def router():
    return SkillRouter(MappingSource(FILES))


def held(**tools):
    return {name: {"digest": "", "text": "", "key": "", "tools": allowed.split()} for name, allowed in tools.items()}


def test_a_kit_has_the_section_the_tools_and_knows_skills_by_any_of_their_names(router):
    kit = Kit(router, Layout(listing=True, unload=True))
    assert kit.section == router.prompt() and kit.fresh
    assert list(kit.specs) == ["load_skill", "read_skill_resource", "list_skills", "unload_skill"]
    assert [kit.skill(name) for name in ("MAIL", "my/pdf", "my_S_pdf", "nope")] == ["mail", "my/pdf", "my/pdf", None]
    assert kit.spec("load_skill") is kit.specs["load_skill"] and kit.spec("nope") is None
    assert kit.spec("read_skill_resource", media=True) is kit.spec("read_skill_resource", media=True)
    assert "Begin." in kit.spec("load_skill", hidden=True).call(name="hidden").text
    router.reload()
    assert not kit.fresh


@pytest.mark.parametrize(
    ("placement", "base", "expected"),
    [
        ("end", "A.", "A.\n\n{}"),
        ("end", "A {skills} B", "A {} B"),
        ("end", "", "{}"),
        ("start", "A.", "{}\n\nA."),
        ("start", "A {skills}", "A {}"),
        ("start", "", "{}"),
        ("slot", "{skills}!", "{}!"),
    ],
)
def test_the_section_stands_where_it_is_wanted(router, placement, base, expected):
    kit = Kit(router, Layout(placement))
    assert kit.prompt(base) == expected.replace("{}", kit.section)
    nothing = Kit(SkillRouter(MappingSource({})), Layout(placement))
    assert nothing.section == "" and nothing.prompt(base) == base.replace("{skills}", "")


def test_a_slot_that_is_demanded_must_be_there(router):
    with pytest.raises(SkillError, match=r"wants \{skills\}"):
        Kit(router, Layout("slot")).prompt("A.")


def test_kits_are_made_once_for_a_router_and_anew_after_a_reload_with_the_same_keeper(router):
    kits = Kits(Layout())
    assert kits.ready(router) is None
    kit = kits.kit(router)
    assert kits.kit(router) is kit and kits.ready(router) is kit
    router.reload()
    again = kits.kit(router)
    assert again is not kit and again.keeper is kit.keeper
    others = [SkillRouter(MappingSource(FILES)) for _ in range(80)]
    for other in others:
        kits.kit(other)
    assert kits.ready(router) is None and kits.ready(others[-1]) is not None


def test_many_threads_get_good_kits(router):
    kits, got = Kits(Layout()), []
    threads = [threading.Thread(target=lambda: got.append(kits.kit(router))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 16 and all(kit.section == router.prompt() for kit in got)


def test_what_is_offered_depends_on_the_skills_in_use():
    rules = Rules(Fence("enforce"), {"measure": ("Ruler",)})
    ours = {"load_skill", "run_skill_script"}
    strict = held(ruler="look")
    assert not rules.offers("measure", {}, ours) and rules.offers("measure", strict, ours)
    assert rules.bringing("measure", strict) == ["ruler"]
    assert rules.offers("load_skill", strict, ours) and not rules.offers("run_skill_script", strict, ours)
    assert rules.offers("look", strict, ours) and not rules.offers("write", strict, ours)
    assert Rules().offers("write", strict, ours)
    assert not rules.offers("measure", {"ruler": {**strict["ruler"], "unloaded": True}}, ours)


def test_there_is_room_for_what_is_in_use_already_and_for_what_is_no_name():
    rules = Rules(max_active=2)
    assert not rules.full("C", ["a"]) and rules.full("C", ["a", "b"]) and not rules.full("B", ["a", "b"])
    assert not rules.full(7, ["a", "b"]) and not Rules().full("C", ["a", "b"])
