"""Tool specs: names, schemas, arguments and answers, free of any framework."""

import re

import pytest

from skillbelt import (
    LimitError,
    MappingSource,
    ResourceTypeError,
    SkillNotFoundError,
    SkillRouter,
    ToolArgumentError,
    skill_tools,
    tool_name,
    tool_per_skill,
)
from skillbelt.tools import TOLD, failure_text


def specs(router, **options):
    return {spec.name: spec for spec in skill_tools(router, **options)}


def one(name, description="Does it."):
    return f"---\nname: {name}\ndescription: {description}\n---\nGo.\n"


def test_the_tools_are_two_until_the_catalog_is_cut_or_a_listing_is_asked_for(router):
    assert list(specs(router)) == ["load_skill", "read_skill_resource"]
    assert list(specs(router, listing=True)) == ["load_skill", "read_skill_resource", "list_skills"]
    assert all(spec.read_only for spec in skill_tools(router))


@pytest.mark.row("S3-68")
def test_descriptions_say_when_to_call_and_that_nothing_is_executed(router):
    tools = specs(router)
    assert "when a task matches" in tools["load_skill"].description
    assert "Nothing is executed" in tools["load_skill"].description
    assert "not run" in tools["read_skill_resource"].description


@pytest.mark.row("S3-61")
@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("load_skill", {}, "name"),
        ("load_skill", {"name": "mail-sorter", "op": "list"}, "op"),
        ("load_skill", {"name": 7}, "name"),
        ("read_skill_resource", {"name": "mail-sorter"}, "path"),
        ("read_skill_resource", {"name": "mail-sorter", "path": "x", "offset": -1}, "offset"),
        ("list_skills", {"op": "list"}, "op"),
    ],
)
def test_unknown_missing_and_mistyped_arguments_are_named(router, tool, arguments, field):
    with pytest.raises(ToolArgumentError, match=field) as caught:
        specs(router, listing=True)[tool].call(**arguments)
    assert str(caught.value).startswith(f"{tool} was called with arguments it does not take")


def test_a_binary_file_is_refused_with_its_kind_and_size():
    source = MappingSource({"a/SKILL.md": one("a"), "a/assets/p.png": b"\x89PNG\xff\x00", "a/z.txt": b"a\x00b"})
    read = specs(SkillRouter(source))["read_skill_resource"]
    with pytest.raises(ResourceTypeError, match=r"'assets/p.png' is binary \(image/png, 6 bytes\), not text"):
        read.call(name="a", path="assets/p.png")
    with pytest.raises(ResourceTypeError, match="binary"):
        read.call(name="a", path="z.txt")


def test_results_carry_facts_for_the_host(router):
    tools = specs(router)
    loaded = tools["load_skill"].call(name="MAIL-SORTER")
    assert loaded.artifact == {
        "skill": "mail-sorter",
        "digest": router.activate("mail-sorter").skill.digest,
        "truncated": False,
    }
    read = tools["read_skill_resource"].call(name="mail-sorter", path="./references/rules.md")
    assert read.artifact == {
        "skill": "mail-sorter",
        "path": "references/rules.md",
        "offset": 0,
        "total": 22,
        "truncated": False,
        "media_type": "text/markdown",
        "skill_digest": loaded.artifact["digest"],
    }


@pytest.mark.row("S1-57")
@pytest.mark.parametrize(
    ("name", "safe"),
    [("pdf", "pdf"), ("local/my-skill", "local_S_my-skill"), ("office:mail", "office_C_mail"), ("a_b", "a_b")],
)
def test_namespaced_names_become_tool_names_and_back(name, safe):
    assert tool_name(name) == safe
    assert safe.replace("_S_", "/").replace("_C_", ":") == name


@pytest.mark.parametrize("name", ["Mail Sorter", "письма", "a_S_b", "x" * 65, "a.b", "!!!"])
def test_other_names_get_a_safe_one_with_a_hash_that_stays_the_same(name):
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool_name(name))
    assert re.search(r"-[0-9a-f]{8}$", tool_name(name))
    assert tool_name(name) == tool_name(name)
    assert tool_name("письма") != tool_name("почта")


def test_one_tool_per_skill_has_distinct_names_and_leads_to_its_skill():
    source = MappingSource({"a/SKILL.md": one("Mail Sorter"), "b/SKILL.md": one("mail.sorter"), "c/SKILL.md": one("c")})
    tools = tool_per_skill(SkillRouter(source))
    assert len({t.name for t in tools}) == 3
    assert {t.metadata["skill"] for t in tools} == {"Mail Sorter", "mail.sorter", "c"}
    for tool in tools:
        assert f'name="{tool.metadata["skill"]}"' in tool.call().text
        assert len(tool.description) <= 1024
    assert "Arguments: x" in tools[0].call(arguments="x").text


def test_a_long_description_of_a_skill_tool_is_cut_to_what_frameworks_take():
    source = MappingSource({"a/SKILL.md": one("a", "& <word> " * 200)})
    (tool,) = tool_per_skill(SkillRouter(source))
    assert len(tool.description) <= 1024


def test_a_failure_is_told_in_at_most_a_thousand_characters():
    assert failure_text(SkillNotFoundError("x" * 5000)) == "x" * 999 + "…"
    assert failure_text(LimitError()) == "LimitError"
    assert not issubclass(OSError, TOLD) and issubclass(ToolArgumentError, TOLD)
