"""Who may run what: rules, answers, grants bound to the files, and where a skill comes from."""

import json

import pytest

from skillbelt import (
    DirectorySource,
    MappingSource,
    ScriptError,
    ScriptNotAllowedError,
    SkillRouter,
    default_sources,
    filtered,
    merge,
    namespaced,
    skill_tools,
    zip_source,
)
from skillbelt.errors import SkillNotFoundError
from skillbelt.events import SkillFailed
from skillbelt.running import trust_of
from skillbelt.scripts import Grants, LocalRunner, Rule, ScriptCall, ScriptPolicy, Secrets
from skillbelt.scripts.policy import described
from skillbelt.tools import TOLD, failure_text

HEAD = "---\nname: {0}\ndescription: Does {0}.\n---\nRun it.\n"


def skill(code="print('ran')", name="tool"):
    return MappingSource({f"{name}/SKILL.md": HEAD.format(name), f"{name}/scripts/main.py": code})


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return LocalRunner(cache=tmp_path_factory.mktemp("cache"))


def run(source, runner, policy, **options):
    return SkillRouter(source, runner=runner, policy=policy, **options).run("tool", "scripts/main.py", ["a"])


# --- rules ------------------------------------------------------------------------------------------------------------

CALL = ScriptCall("pdf-forms", "scripts/fill.py", ("--x",), "d1", "fetched", "sandbox")


@pytest.mark.parametrize(
    ("rules", "action"),
    [
        ([Rule("allow", skill="pdf-*")], "allow"),
        ([Rule("allow", skill="PDF-*")], "allow"),
        ([Rule("allow", skill="mail-*")], "deny"),
        ([Rule("allow", path="scripts/*.py")], "allow"),
        ([Rule("allow", path="*.sh")], "deny"),
        ([Rule("allow", trust="fetched")], "allow"),
        ([Rule("allow", trust=("developer", "user"))], "deny"),
        ([Rule("allow", digest="d1")], "allow"),
        ([Rule("allow", digest="d2")], "deny"),
        ([Rule("deny", path="scripts/fill.py"), Rule("allow")], "deny"),
        ([Rule("ask"), Rule("allow")], "ask"),
        ([], "deny"),
    ],
)
def test_the_first_rule_that_fits_decides_and_without_one_nothing_runs(rules, action):
    assert ScriptPolicy(rules).decide(CALL).action == action


def test_what_follows_without_a_rule_can_be_chosen():
    assert ScriptPolicy([], otherwise="ask").decide(CALL).action == "ask"


def test_by_default_what_the_host_and_the_user_chose_runs_and_the_rest_is_asked_for():
    actions = {trust: ScriptPolicy().decide(ScriptCall("a", "b", trust=trust)).action for trust in (
        "developer", "user", "project", "fetched")}  # fmt: skip
    assert actions == {"developer": "allow", "user": "allow", "project": "ask", "fetched": "ask"}


@pytest.mark.parametrize("wrong", [{"action": "maybe"}, {"action": "allow", "trust": "everyone"}])
def test_a_rule_that_means_nothing_is_refused(wrong):
    with pytest.raises(ScriptError):
        Rule(**wrong)


def test_a_policy_shows_its_rules():
    policy = ScriptPolicy([Rule("allow", skill="a", path="b", trust="user", digest="f" * 64), Rule("deny")])
    assert repr(policy) == (
        "ScriptPolicy([allow (skill 'a'; path 'b'; trust user; digest ffffffffffff…), deny (everything)], "
        "otherwise='deny')"
    )


# --- refusals and answers ---------------------------------------------------------------------------------------------


def test_a_refusal_names_the_rule_is_told_to_the_model_and_is_an_event(runner):
    events = []
    router = SkillRouter(
        skill(), runner=runner, policy=ScriptPolicy([Rule("deny", skill="to*")]), on_event=events.append
    )
    tool = {spec.name: spec for spec in skill_tools(router)}["run_skill_script"]
    with pytest.raises(TOLD) as caught:
        tool.call(name="tool", path="scripts/main.py")
    assert isinstance(caught.value, ScriptNotAllowedError)
    assert "deny (skill 'to*')" in failure_text(caught.value)
    assert isinstance(events[-1], SkillFailed)


def test_without_anybody_to_ask_what_would_be_asked_for_is_refused(runner):
    with pytest.raises(ScriptNotAllowedError, match="nobody to ask"):
        run(skill(), runner, ScriptPolicy([Rule("ask")]))


@pytest.mark.parametrize(
    ("answer", "runs"), [("once", 1), (True, 1), ("always", 1), ("no", 0), (False, 0), (None, 0), ("", 0)]
)
def test_only_a_clear_yes_runs(answer, runs, runner):
    asked = []

    def ask(call):
        asked.append(call)
        return answer

    policy = ScriptPolicy([Rule("ask")], ask=ask)
    if runs:
        assert run(skill(), runner, policy, secrets=Secrets({"tool": {"KEY": "v4lue-of-it"}})).stdout == "ran\n"
        (call,) = asked
        assert (call.skill, call.path, call.args, call.trust) == ("tool", "scripts/main.py", ("a",), "developer")
        assert (call.secrets, call.runner, len(call.digest)) == (("KEY",), "local (not a sandbox)", 64)
        assert "v4lue" not in repr(call)
        json.dumps(described(call))
    else:
        with pytest.raises(ScriptNotAllowedError, match="refused"):
            run(skill(), runner, policy)


def test_always_is_a_grant_that_ends_when_a_byte_of_the_skill_changes(runner):
    asked = []

    def ask(call):
        asked.append(call)
        return "always"

    policy = ScriptPolicy([Rule("ask")], ask=ask)
    for _ in range(3):
        run(skill(), runner, policy)
    assert len(asked) == 1
    run(skill("print('ran') # changed"), runner, policy)
    assert len(asked) == 2 and asked[0].digest != asked[1].digest
    policy.grants.revoke("tool")
    run(skill(), runner, policy)
    assert len(asked) == 3


def test_once_is_asked_for_again(runner):
    asked = []
    policy = ScriptPolicy([Rule("ask")], ask=lambda call: asked.append(call) or True)
    run(skill(), runner, policy)
    run(skill(), runner, policy)
    assert len(asked) == 2


def test_grants_can_be_kept_and_never_overrule_a_refusal():
    grants = Grants()
    grants.add(CALL)
    again = Grants(json.loads(json.dumps(grants.as_json())))
    assert again.covers(CALL)
    assert not again.covers(ScriptCall("pdf-forms", "scripts/other.py", digest="d1"))
    assert ScriptPolicy([Rule("deny")], grants=again).decide(CALL).action == "deny"
    assert ScriptPolicy([Rule("ask")], grants=again).decide(CALL).action == "allow"
    with pytest.raises(ScriptError, match="digest"):
        grants.add(ScriptCall("a", "b"))


def test_one_conversation_can_ask_somebody_else_and_shares_the_grants(runner):
    policy = ScriptPolicy([Rule("ask")])
    run(skill(), runner, policy.asking(lambda call: "always"))
    assert run(skill(), runner, policy).stdout == "ran\n"


def test_an_exception_of_the_one_who_asks_is_the_hosts(runner):
    def ask(call):
        raise KeyError("interrupt")  # as a framework that stops a graph to ask a person does

    with pytest.raises(KeyError):
        run(skill(), runner, ScriptPolicy([Rule("ask")], ask=ask))


# --- where a skill comes from -----------------------------------------------------------------------------------------


class Own:
    """A source of somebody else."""

    def __init__(self, trust=None):
        self.inner = skill()
        if trust is not None:
            self.trust = trust

    def list(self):
        return self.inner.list()

    def load(self, name):
        return self.inner.load(name)


def folder(tmp_path, name="skills"):
    path = tmp_path / name / "tool"
    (path / "scripts").mkdir(parents=True)
    (path / "SKILL.md").write_text(HEAD.format("tool"))
    (path / "scripts" / "main.py").write_text("print('ran')")
    return tmp_path / name


def test_the_source_that_holds_a_skill_says_where_it_comes_from(tmp_path):
    root = folder(tmp_path)
    (tmp_path / "z.zip").write_bytes(_zipped())
    trusted, untrusted = DirectorySource(root), DirectorySource(root, trusted=False)
    packed = zip_source(tmp_path / "z.zip")
    cases = {
        "developer": [skill(), trusted, merge(MappingSource({}), trusted), filtered(skill(), lambda _: True)],
        "project": [untrusted, merge(untrusted, trusted), Own("project")],
        "fetched": [packed, merge(packed, trusted), Own(), Own("nonsense"), merge(Own(), trusted)],
        "user": [Own("user"), Own(lambda name: "user")],
    }
    for trust, sources in cases.items():
        for source in sources:
            from skillbelt.sources.sound import sound

            assert trust_of(sound(source, "test"), "tool") == trust, source
    assert trust_of(namespaced("acme", trusted), "acme/tool") == "developer"
    for source in (skill(), Own(), merge(Own(), trusted), namespaced("acme", trusted)):
        with pytest.raises(SkillNotFoundError):
            trust_of(sound(source, "test"), "other")


def test_the_usual_places_say_whose_they_are(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    folder(home, ".agents/skills")
    assert trust_of(default_sources(project, home=home), "tool") == "user"
    folder(project, ".agents/skills")
    assert trust_of(default_sources(project, home=home, trust_project=True), "tool") == "project"


def test_a_careful_policy_asks_for_what_a_project_brings(tmp_path, runner):
    source = DirectorySource(folder(tmp_path), trusted=False)
    with pytest.raises(ScriptNotAllowedError, match=r"ask \(everything\)"):
        run(source, runner, ScriptPolicy())
    assert run(source, runner, None).stdout == "ran\n"  # a runner alone is the host's leave for all it serves


def _zipped():
    import io
    import zipfile

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tool/SKILL.md", HEAD.format("tool"))
        archive.writestr("tool/scripts/main.py", "print('ran')")
    return data.getvalue()
