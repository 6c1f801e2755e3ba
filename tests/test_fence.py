"""The fence alone: which calls the allowed-tools of skills in use cover."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillbelt import SkillError
from skillbelt.fence import Fence, HostTool, Verdict

TABLE = {
    "Bash": HostTool("shell", "command"),
    "Read": [HostTool("read_file", "path"), "peek"],
    "Run": HostTool("run", "argv"),
    "Web": "fetch",
}


def held(**tools):
    """Held records of skills with these allowed-tools."""
    return {name: {"digest": "", "text": "", "key": "", **({"tools": t} if t else {})} for name, t in tools.items()}


@pytest.mark.parametrize(
    ("rule", "tool", "arguments", "allowed"),
    [
        ("look", "look", {}, True),
        ("look", "looks", {}, False),
        ("mcp__git__*", "mcp__git__push", {}, True),
        ("Bash", "shell", {"command": "rm -r ."}, True),
        ("Bash(*)", "shell", {"command": "rm; rm"}, True),
        ("Bash(:*)", "shell", {"command": "anything"}, True),
        ("Bash(git:*)", "shell", {"command": "git"}, True),
        ("Bash(git:*)", "shell", {"command": "  git   status "}, True),
        ("Bash(git:*)", "shell", {"command": "gitk"}, False),
        ("Bash(git:*)", "shell", {"command": "git status\nrm -r ."}, False),
        ("Bash(git:*)", "shell", {"command": "git log | sh"}, False),
        ("Bash(git:*)", "shell", {"command": "git log `id`"}, False),
        ("Bash(git:*)", "shell", {"command": "git log $(id)"}, False),
        ("Bash(git:*)", "shell", {"command": "git log > file"}, False),
        ("Bash(git add:*)", "shell", {"command": "git add ."}, True),
        ("Bash(git add:*)", "shell", {"command": "git commit"}, False),
        ("Bash(npm run *)", "shell", {"command": "npm run test"}, True),
        ("Bash(npm run test)", "shell", {"command": "npm run test"}, True),
        ("Bash(npm run test)", "shell", {"command": "npm run tests"}, False),
        ("Bash(git:*)", "shell", {}, False),
        ("Bash(git:*)", "shell", {"command": 7}, False),
        ("Run(git:*)", "run", {"argv": ["git", "status"]}, True),
        ("Run(git:*)", "run", {"argv": ["rm", "git"]}, False),
        ("Read(./src/**)", "read_file", {"path": "./src/a/b.py"}, True),
        ("Read(./src/**)", "read_file", {"path": "./src/../secret"}, False),
        ("Read(./src/**)", "read_file", {"path": "/etc/passwd"}, False),
        ("Read", "peek", {}, True),
        ("Read(./src/**)", "peek", {"path": "./src/a"}, False),
        ("Web(domain:example.com)", "fetch", {"url": "https://example.com"}, False),
        ("Web", "Web", {}, False),
        ("Bash(git:*) x (", "shell", {"command": "git"}, False),
    ],
)
def test_a_rule_covers_a_call(rule, tool, arguments, allowed):
    verdict = Fence("enforce", TABLE).judge(tool, arguments, held(s=[rule]))
    assert verdict.allowed is allowed
    if not allowed:
        assert verdict.skills == ("s",) and verdict.rules == (rule,)


def test_a_refusal_says_what_is_wrong_with_the_call_when_its_tool_is_allowed():
    fence = Fence("enforce", TABLE)
    said = {
        rule: fence.judge(tool, arguments, held(s=[rule])).why
        for rule, tool, arguments in [
            ("Bash(git:*)", "shell", {"command": "git; rm"}),
            ("Bash(ls)", "shell", {"command": "rm"}),
            ("Read(./a/*)", "read_file", {"path": "./a/../b"}),
            ("Bash(x)", "shell", {}),
            ("Web(x)", "fetch", {}),
        ]
    }
    assert said == {
        "Bash(git:*)": "Its command joins a second command to the first (Bash(git:*)).",
        "Bash(ls)": "Its command is another one than is allowed (Bash(ls)).",
        "Read(./a/*)": "Its path climbs out of a folder (Read(./a/*)).",
        "Bash(x)": "Its argument command is missing (Bash(x)).",
        "Web(x)": "The host did not say which argument this rule is for (Web(x)).",
    }
    assert fence.judge("look", {}, held(s=["Bash"])).why == ""


def test_without_skills_that_name_tools_everything_may_run():
    fence = Fence("enforce")
    assert fence.judge("anything", {}, {}).allowed
    assert fence.judge("anything", {}, held(a=[], b=[])).allowed
    over = held(a=["look"])
    over["a"]["unloaded"] = True
    assert fence.judge("anything", {}, over).allowed


def test_several_skills_allow_what_any_of_them_allows():
    fence = Fence("enforce")
    both = held(a=["look"], b=["listen"], c=[])
    assert [fence.judge(t, {}, both).allowed for t in ("look", "listen", "speak")] == [True, True, False]
    assert fence.judge("speak", {}, both) == Verdict(False, ("a", "b"), ("look", "listen"))


def test_for_a_list_of_tools_a_tool_counts_that_may_run_for_some_arguments():
    fence = Fence("enforce", TABLE)
    assert fence.judge("shell", None, held(s=["Bash(git:*)"])).allowed
    assert not fence.judge("peek", None, held(s=["Bash(git:*)"])).allowed


def test_the_base_set_may_be_names_or_patterns_or_one_name():
    assert Fence(base=["list_*"]).judge("list_files", {}, held(s=["x"])).allowed
    assert Fence(base="look").judge("look", {}, held(s=["x"])).allowed
    assert not Fence(base="look").judge("l", {}, held(s=["x"])).allowed


def test_tools_that_a_host_does_not_have_are_named_once_in_the_authors_words():
    fence = Fence(tool_names=TABLE)
    assert fence.unbound(["Bash(git:*)", "Bash(jq -r:*)", "Read", "Grep"], ["shell", "peek"]) == ("Grep",)
    assert fence.unbound(["mcp__*", "look"], ["mcp__git"]) == ("look",)
    assert fence.unbound([], []) == ()


def test_a_mode_is_one_of_two():
    assert Fence("enforce").enforcing and not Fence().enforcing
    with pytest.raises(SkillError, match='"advisory" or "enforce"'):
        Fence("strict")  # type: ignore[arg-type]


@given(st.text(min_size=1), st.text(), st.text())
def test_no_rule_and_no_value_breaks_it_and_a_second_command_never_passes(word, rule, value):
    fence = Fence("enforce", {word: HostTool("shell", "command")})
    fence.judge("shell", {"command": value}, held(s=[f"{word}({rule})"]))
    joined = fence.judge("shell", {"command": f"git {value}; rm -r ."}, held(s=["Bash(git:*)"]))
    assert not joined.allowed
