"""What scripts need and a machine lacks, read without running them; and the command that says it."""

import json

import pytest

from skillbelt import MappingSource, SkillRouter, skill_tools
from skillbelt.cli import main
from skillbelt.scripts import Interpreters, LocalRunner, Secrets

HEAD = "---\nname: tool\ndescription: Does things.\n{0}---\nRun it.\n"


def look(files, more="", **options):
    texts = {"tool/SKILL.md": HEAD.format(more), **{f"tool/{path}": text for path, text in files.items()}}
    return SkillRouter(MappingSource(texts), **options).preflight("tool")


def needs(files, more="", **options):
    return [(n.script, n.kind, n.required, n.line) for n in look(files, more, **options).needs]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import json, os.path\nfrom collections import deque", []),
        ("import nowhere_to_be_found", [("module", True, 1)]),
        ("from nowhere_to_be_found.deep import x", [("module", True, 1)]),
        ("import json\nimport nowhere_to_be_found as n, os", [("module", True, 2)]),
        ("try:\n    import nowhere_to_be_found\nexcept ImportError:\n    pass", [("module", False, 2)]),
        ("def f():\n    import nowhere_to_be_found", [("module", False, 2)]),
        ("if 0:\n    import nowhere_to_be_found\nimport nowhere_to_be_found", [("module", True, 3)]),
        ("from . import x\nfrom .y import z", []),
        ("import helper, sub, sub.inner", []),
        ("import os\nprint(os.environ['TOOL_KEY'])", [("variable", True, 2)]),
        ("import os\nos.environ['TOOL_KEY'] = 'x'", []),
        ("import os\nprint(os.environ.get('TOOL_KEY'))", [("variable", False, 2)]),
        ("import os\nprint(os.getenv('TOOL_KEY', 'x'))", []),
        ("import os\nprint(os.environ['GRANTED'])", []),
        ("import subprocess\nsubprocess.run(['no-such-program', 'x'])", [("binary", False, 2)]),
        ("import subprocess\nsubprocess.check_output('no-such-program x', shell=True)", [("binary", False, 2)]),
        ("import subprocess, sys\nsubprocess.run([sys.executable])\nsubprocess.run(x)\nsubprocess.run('')", []),
        ("print 'old'", [("syntax", True, 1)]),
        ("\x00", [("syntax", True, None)]),
        ("# /// script\n# dependencies = ['nowhere-to-be-found>=1']\n# ///\nimport nowhere", [("package", True, None)]),
        ("# /// script\n# dependencies = ['pydantic>=1', 'PyYAML']\n# ///\nimport yaml", []),
        ("# /// script\n# dependencies = 3\n# ///\n", [("package", True, None)]),
    ],
)
def test_python_is_read(code, found):
    files = {"scripts/main.py": code, "scripts/helper.py": "", "scripts/sub/inner.py": ""}
    secrets = Secrets({"tool": {"GRANTED": "a value"}})
    got = needs(files, runner=LocalRunner(), secrets=secrets)
    assert [one[1:] for one in got if one[0] == "scripts/main.py"] == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("#!/bin/bash\nset -e\necho hi | sort > x && cat x", []),
        ("kubectl get pods", [("binary", False, 1)]),
        ("# kubectl; terraform\necho 'kubectl'", []),
        ("X=1 terraform plan || { echo no; }", [("binary", False, 1)]),
        ("if command -v no-such-program; then echo; fi", [("binary", False, 1)]),
        ("cat <<EOF\nkubectl; terraform\nEOF\nhelm x", [("binary", False, 4)]),
        ("kubectl() { echo; }\nkubectl x", []),
        ("echo hi\r\necho ho\r\n", [("line-ends", True, None)]),
        (": ${TOOL_KEY:?must be set}", [("variable", False, 1)]),
        ("TOOL_KEY=1\n: ${TOOL_KEY:?must be set}", []),
        ("echo 'a quote that goes on\nterraform'", []),
    ],
)
def test_shells_are_read(code, found, monkeypatch):
    monkeypatch.setattr("skillbelt.scripts.preflight.which", _which)
    got = needs({"scripts/run.sh": code}, runner=LocalRunner())
    assert [one[1:] for one in got] == found


def _which(name, path=None):
    return None if name in ("kubectl", "terraform", "helm", "no-such-program", "docker") else f"/usr/bin/{name}"


def test_an_interpreter_that_is_missing_or_forbidden_is_needed():
    forbidden = LocalRunner(interpreters=Interpreters(commands={"node": None, "ruby": ["/no/such/ruby"]}))
    files = {"scripts/a.js": "1", "scripts/b.rb": "1", "bin/c": "#!/usr/bin/env no-such-language\n", "d.txt": "text"}
    assert needs(files, runner=forbidden) == [
        ("bin/c", "interpreter", True, None),
        ("scripts/a.js", "interpreter", True, None),
        ("scripts/b.rb", "interpreter", True, None),
    ]


def test_another_python_is_not_judged_by_this_one():
    other = LocalRunner(interpreters=Interpreters(commands={"python": ["sh"]}))
    assert needs({"scripts/a.py": "import nowhere_to_be_found"}, runner=other) == []


def test_compatibility_is_read(monkeypatch):
    monkeypatch.setattr("skillbelt.scripts.preflight.which", _which)
    more = "compatibility: Requires Python 3.99+, git and docker; Python 3.8 works for parts\n"
    found = look({}, more).needs
    assert [(n.kind, n.required) for n in found] == [("compatibility", False)] * 2
    assert "3.99" in found[0].what and "docker" in found[1].what
    assert look({}, more).ok


def test_a_need_and_a_preflight_speak_for_themselves():
    found = look({"scripts/a.py": "import nowhere_a", "scripts/b.py": "pass"})
    assert str(found.needs[0]) == "scripts/a.py:1: needs the module 'nowhere_a', which is not installed here"
    assert (found.ok, list(found.dead), found.scripts) == (False, ["scripts/a.py"], ("scripts/a.py", "scripts/b.py"))


def test_a_model_is_told_which_scripts_must_die_before_it_tries_them():
    files = {"tool/SKILL.md": HEAD.format(""), "tool/scripts/a.py": "import nowhere_a", "tool/scripts/b.py": "pass"}
    load = {s.name: s for s in skill_tools(SkillRouter(MappingSource(files), runner=LocalRunner()))}["load_skill"]
    text = load.call(name="tool").text
    assert "scripts/a.py (the module 'nowhere_a', which is not installed here)" in text
    assert "scripts/b.py (" not in text
    without = {s.name: s for s in skill_tools(SkillRouter(MappingSource(files)))}["load_skill"]
    assert "cannot run here" not in without.call(name="tool").text


def test_preflight_runs_nothing(tmp_path):
    trap = tmp_path / "trap"
    code = f"open({str(trap)!r}, 'w')\nimport json"
    look({"scripts/a.py": code, "scripts/json.py": code, "scripts/a.sh": f"touch {trap}"}, runner=LocalRunner())
    assert not trap.exists()


# --- skillbelt doctor -------------------------------------------------------------------------------------------------


@pytest.fixture
def skills(tmp_path):
    def write(code):
        folder = tmp_path / "skills" / "tool" / "scripts"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "SKILL.md").write_text(HEAD.format(""))
        (folder / "main.py").write_text(code)
        return str(tmp_path / "skills")

    return write


def doctor(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *words])
    return ended.value.code, capsys.readouterr().out


def test_doctor_is_content_when_every_script_can_begin(skills, capsys):
    code, out = doctor(capsys, skills("import json"))
    assert code == 0
    assert "1 skills with 1 scripts: all can begin." in out
    assert "Sandbox: " in out


def test_doctor_says_what_is_missing_and_where(skills, capsys):
    code, out = doctor(capsys, skills("import nowhere_a\nimport os\nos.getenv('TOOL_X')"))
    assert code == 1
    assert "scripts/main.py:1" in out and "must have" in out and "nowhere_a" in out
    assert "may need" in out and "1 cannot begin here" in out


def test_doctor_speaks_json(skills, capsys):
    code, out = doctor(capsys, skills("import nowhere_a"), "--json")
    told = json.loads(out)
    assert code == 1 and told["ok"] is False
    (skill,) = told["skills"]
    assert skill["needs"][0]["kind"] == "module" and skill["scripts"] == ["scripts/main.py"]
    assert (told["sandbox"] is None) != (told["why_none"] is None)


def test_doctor_without_a_sandbox_says_why(skills, capsys, monkeypatch):
    monkeypatch.setattr("skillbelt.scripts.sandbox.candidates", lambda wanted: ([], ["bubblewrap: it is not here"]))
    code, out = doctor(capsys, skills("pass"))
    assert code == 0 and "Sandbox: none." in out and "it is not here" in out
    told = json.loads(doctor(capsys, skills("pass"), "--json")[1])
    assert told["sandbox"] is None and "it is not here" in told["why_none"]


def test_doctor_of_a_folder_without_skills_is_an_error(tmp_path, capsys):
    assert doctor(capsys, str(tmp_path))[0] == 1


def test_doctor_goes_on_after_a_skill_that_cannot_be_read(skills, capsys, monkeypatch):
    from skillbelt.errors import ScriptError

    def fail(self, name):
        raise ScriptError("It is too large.")

    monkeypatch.setattr(SkillRouter, "preflight", fail)
    code, out = doctor(capsys, skills("pass"))
    assert code == 1 and "tool: It is too large." in out
