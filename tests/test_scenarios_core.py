"""Stories from public bug reports, as far as the core goes: parsing, sources, router, catalog.

What a scenario asks of frameworks, of script runners and of tool binding is tested beside those; each test says what
it leaves to them.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillbelt import (
    STRICT,
    InvalidSkillError,
    ResourceError,
    SkillRouter,
    TokenBudget,
    parse_skill,
)

SCENARIOS = Path(__file__).parent / "data" / "scenarios"
_spec = importlib.util.spec_from_file_location("materialise", SCENARIOS / "materialise.py")
materialise = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(materialise)


@pytest.fixture
def scenario(tmp_path):
    """Build the files of a scenario and return its folder of skills."""

    def build(name, target="case"):
        materialise.main(SCENARIOS / f"{name}.json", tmp_path / target)
        return tmp_path / target / "skills"

    return build


def _found(router, name):
    return [d for d in router.diagnostics() if d.path and Path(d.path).parent.name == name]


# --- C01: a pack where prose breaks the YAML -----------------------------------------------------------------------


def test_c01_prose_that_breaks_the_yaml_is_repaired_and_said(scenario):
    router = SkillRouter.from_directory(scenario("C01"))
    descriptions = {s.name: s.description for s in router.skills()}
    assert descriptions == {
        "tidy-ledger": "Reconcile a ledger in two passes: match first, then explain gaps.",
        "name-boats": "给船起名。触发词: 渔船, 帆船。",
        "brew-log": "Keep a brewing log: times, weights, notes.",
        "knit-chart": "Turn rows into a chart",
    }
    for name in ("tidy-ledger", "name-boats"):
        (warning,) = _found(router, name)
        assert (warning.code, warning.severity, warning.line) == ("yaml-repaired", "warning", 3)
        assert "repaired" in warning.message
    assert _found(router, "brew-log") == []
    assert [d.code for d in _found(router, "knit-chart")] == ["yaml-comment-truncation"]


def test_c01_what_cannot_be_read_is_reported_with_path_reason_and_line(scenario):
    root = scenario("C01")
    router = SkillRouter.from_directory(root)
    for name, line in (("half-open", 4), ("no-fence", 1)):
        (error,) = _found(router, name)
        assert error.severity == "error"
        assert error.path == str(root / name / "SKILL.md")
        assert error.message
        assert error.line == line
    listed = {s.name for s in router.skills()}
    reported = {Path(d.path).parent.name for d in router.diagnostics() if d.severity == "error"}
    assert listed | reported == {path.name for path in root.iterdir()}


def test_c01_strict_construction_names_every_bad_file_at_once(scenario):
    root = scenario("C01")
    with pytest.raises(InvalidSkillError) as caught:
        SkillRouter.from_directory(root, profile=STRICT)
    for name in ("tidy-ledger", "name-boats", "half-open", "no-fence"):
        assert f"{name}/SKILL.md" in str(caught.value)
    for name in ("brew-log", "knit-chart"):
        assert f"{name}/SKILL.md" not in str(caught.value)


def test_c01_activating_a_broken_skill_says_that_it_exists_and_why_it_cannot_be_loaded(scenario):
    router = SkillRouter.from_directory(scenario("C01"))
    with pytest.raises(InvalidSkillError, match=r"'half-open' cannot be loaded: .*not valid YAML") as caught:
        router.activate("half-open")
    assert "Traceback" not in str(caught.value)


# --- C02: one skill, six byte forms --------------------------------------------------------------------------------

LAMPS = [f"lamp-{letter}" for letter in "abcdef"]


def _lamps(root):
    router = SkillRouter.from_directory(root)
    skills = [router.activate(name).skill for name in LAMPS]
    bodies = [s.instructions.replace("\r\n", "\n").replace("\r", "\n") for s in skills]
    return [s.description for s in router.skills()], [s.short_name for s in skills], bodies, router.diagnostics()


def _check_lamps(descriptions, names, bodies, codes):
    assert descriptions == ["Check a lamp — safely."] * 6
    assert names == LAMPS
    assert bodies[:5] == ["\n# Lamp check\n\nSay LAMP-OK.\n"] * 5
    assert bodies[5] == ""
    assert sorted(set(codes)) == ["encoding-bom"]  # a name taken from the folder would be said


@pytest.mark.row("S3-13", "S3-14")
def test_c02_six_byte_forms_are_one_skill(scenario):
    root = scenario("C02")
    descriptions, names, bodies, diagnostics = _lamps(root)
    _check_lamps(descriptions, names, bodies, [d.code for d in diagnostics])
    parsed = parse_skill((root / "lamp-f" / "SKILL.md").read_bytes(), directory="lamp-f")
    assert [d.code for d in parsed.diagnostics] == ["body-empty"]


def test_c02_text_with_crlf_is_text_and_no_path(scenario, monkeypatch):
    text = (scenario("C02") / "lamp-b" / "SKILL.md").read_bytes().decode()

    def refuse(*_args, **_options):
        raise AssertionError("a file was looked for")

    for name in ("open", "stat", "scandir", "listdir"):
        monkeypatch.setattr(os, name, refuse)
    parsed = parse_skill(text)
    monkeypatch.undo()
    assert parsed.unwrap().description == "Check a lamp — safely."
    assert parsed.unwrap().instructions == "\r\n# Lamp check\r\n\r\nSay LAMP-OK.\r\n"


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {
            "LC_ALL": "POSIX",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONIOENCODING": "cp1252",
        },
    ],
    ids=["ascii", "cp1252"],
)
def test_c02_the_locale_does_not_matter(scenario, env):
    script = """
import json, locale, sys
sys.path.insert(0, sys.argv[2])
from test_scenarios_core import _lamps
*rest, diagnostics = _lamps(sys.argv[1])
print(json.dumps([*rest, [d.code for d in diagnostics], locale.getpreferredencoding(False)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(scenario("C02")), str(Path(__file__).parent)],
        capture_output=True,
        env={**os.environ, **env},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    *answer, encoding = json.loads(done.stdout)
    assert encoding.upper() not in ("UTF-8", "UTF8")
    _check_lamps(*answer)


# --- C03: allowed-tools in every shape people use ------------------------------------------------------------------


@pytest.mark.row("S3-11", "C3")
def test_c03_every_shape_of_allowed_tools_loads(scenario):
    # That a declared tool is not bound is said by what binds tools; not tested here.
    router = SkillRouter.from_directory(scenario("C03"))
    tools = {s.name: list(router.activate(s.name).skill.frontmatter.allowed_tools) for s in router.skills()}
    for number in range(1, 6):
        assert tools.pop(f"tools-s{number}") == ["Read", "Grep"]
    assert tools == {"tools-s6": ["Bash(git:*)", "Bash(jq -r:*)", "Read"], "tools-s7": ["Read"], "tools-s8": []}
    for name in ("tools-s7", "tools-s8"):
        assert {(d.severity, d.field) for d in _found(router, name)} == {("warning", "allowed-tools")}
    assert _found(router, "tools-s1") == []


# --- C04: text that tries to leave its box -------------------------------------------------------------------------


@pytest.mark.row("S3-62")
def test_c04_a_description_cannot_leave_its_entry(scenario):
    # The turns in LangChain and LlamaIndex are tested with the adapters.
    router = SkillRouter.from_directory(scenario("C04"))
    text = router.catalog().text
    request = router.prompt("You are a clerk.")
    for whole in (text, request):
        assert whole.count("<available_skills>") == whole.count("</available_skills>") == 1
    entries = text.splitlines()[1:-1]
    assert len(entries) == 3
    assert all(entry.startswith("<skill name=") and entry.endswith("</skill>") for entry in entries)
    assert all(entry.count("<") == 2 for entry in entries)
    assert not any(line.startswith("SYSTEM") for line in request.splitlines())


def test_c04_apostrophes_braces_and_the_body_arrive_unchanged(scenario):
    router = SkillRouter.from_directory(scenario("C04"))
    text = router.catalog().text
    assert "Fill {width} by {} boxes, don't stack &lt;3 &amp; more." in text
    assert "First line second line" in text
    assert "# Fill\n\nUse {width} and {{height}} as is." in router.activate("box-two").text


# --- C09: reads that must stay inside one skill --------------------------------------------------------------------

INSIDE = {
    "references/ok.md": "inside\n",
    "./references/ok.md": "inside\n",
    "references/deep/er/ok2.md": "inside2\n",
    "references\\ok.md": "inside\n",
    "references/same.md": "inside\n",
}
OUTSIDE = [
    "../alpha-extra/secret.md", "../../outside.md", "/etc/hostname", "C:\\Windows\\win.ini", "references/leak.md",
    "references/../../alpha-extra/secret.md", "references/ok.md\u0000.txt", "", ".", "~/.ssh/id_rsa", "file:///etc/hostname",
    "SKILL.md/../../outside.md",
]  # fmt: skip


@pytest.mark.row("S3-34", "S3-39")
@pytest.mark.parametrize("path", INSIDE)
def test_c09_a_path_inside_the_skill_is_read(scenario, path):
    router = SkillRouter.from_directory(scenario("C09"))
    assert router.read("alpha", path).text() == INSIDE[path]


@pytest.mark.row("S3-34", "S3-38", "S3-39", "S1-52")
@pytest.mark.parametrize("path", OUTSIDE, ids=range(len(OUTSIDE)))
def test_c09_a_path_outside_the_skill_is_refused_with_the_names_that_are_valid(scenario, path):
    # That a script runner refuses the same paths is tested beside the runners.
    root = scenario("C09")
    router = SkillRouter.from_directory(root)
    with pytest.raises(ResourceError) as caught:
        router.read("alpha", path)
    text = str(caught.value)
    assert "references/" in text
    assert str(root.parent) not in text
    assert "outside\n" not in text
    assert "other skill" not in text


def test_c09_a_link_that_leaves_is_not_in_the_inventory(scenario):
    router = SkillRouter.from_directory(scenario("C09"))
    listed = [info.path for info in router.resources("alpha")]
    assert listed == ["references/deep/er/ok2.md", "references/ok.md", "references/same.md"]
    assert "leak.md" not in router.activate("alpha").text
    assert "symlink-escape" in {d.code for d in router.diagnostics()}


# --- C12: sixty long descriptions ----------------------------------------------------------------------------------


def _characters(limit):
    return TokenBudget(limit, count=len)


@pytest.mark.parametrize("budget", [None, 20_000, 4000, 2500, 1000, 200], ids=str)
def test_c12_the_catalog_keeps_its_budget_and_says_what_is_missing(scenario, budget):
    # How much each description was cut is not told yet, only which; placement in a tool description is an adapter's.
    options = {} if budget is None else {"budget": _characters(budget)}
    root = scenario("C12")
    catalog = SkillRouter.from_directory(root, **options).catalog()
    names = [f"unit-{i:02}" for i in range(60)]
    assert sorted((*catalog.shown, *catalog.omitted)) == names
    if budget is None:
        assert (len(catalog.shown), catalog.truncated, catalog.shortened) == (60, False, ())
        assert all(f"Use it for topic {i:02} alone" in catalog.text for i in range(60))
        return
    assert len(catalog.text) <= budget
    assert catalog.truncated == (len(catalog.text) < len(SkillRouter.from_directory(root).catalog().text))
    if budget >= 2500:
        assert list(catalog.shown) == names
    else:
        assert f"{len(catalog.omitted)} more skills are not listed; search_skills finds them." in catalog.text
    if catalog.truncated:
        assert "<truncated>" in catalog.text
        assert set(catalog.shortened) == set(catalog.shown)


def test_c12_entries_made_alike_by_cutting_are_reported(scenario):
    catalog = SkillRouter.from_directory(scenario("C12"), budget=_characters(4000)).catalog()
    texts = [line.partition(">")[2] for line in catalog.text.splitlines() if line.startswith("<skill ")]
    assert len(set(texts)) < 60
    assert len(catalog.shortened) == 60


def test_c12_leaving_ten_out_makes_room_for_the_others(scenario):
    router = SkillRouter.from_directory(scenario("C12"), budget=_characters(4000))
    view = router.view(exclude=["unit-1*"])
    assert len(view) == 50
    assert not any(name.startswith("unit-1") for name in view.catalog().shown)

    def width(catalog):
        return len(next(line for line in catalog.text.splitlines() if 'name="unit-00"' in line))

    assert len(view.catalog().text) <= 4000
    assert width(view.catalog()) > width(router.catalog())


def test_c12_a_copy_made_in_reverse_order_gives_the_same_bytes(scenario, tmp_path):
    root = scenario("C12")
    for folder in sorted(root.iterdir(), reverse=True):
        target = tmp_path / "reversed" / folder.name
        target.mkdir(parents=True)
        (target / "SKILL.md").write_bytes((folder / "SKILL.md").read_bytes())
    for budget in (None, _characters(4000), _characters(200)):
        one, other = (SkillRouter.from_directory(path, budget=budget) for path in (root, tmp_path / "reversed"))
        assert one.catalog().text.encode() == other.catalog().text.encode()
        assert one.prompt("x") == other.prompt("x")
