"""Real skills of other people: every one is in the catalog or in the diagnostics, every file is listed and readable."""

import importlib.util
import json
from pathlib import Path

import pytest

from skillbelt import STRICT, DirectorySource, Limits, MappingSource, SkillRouter, merge
from skillbelt import langchain as lc
from skillbelt import llama_index as li

pytestmark = pytest.mark.corpus

PACKAGES = {
    "vibe_engineering_skills": 71,
    "ai_hats_library": 99,
    "abvx_agent_skills": 89,
    "agent_skills_bundle": 22,
}
LEFT_OUT = {"node_modules", "__pycache__", "__MACOSX"}


def folder(package: str) -> Path:
    return Path(importlib.util.find_spec(package).submodule_search_locations[0])


def skill_files(root: Path) -> list[Path]:
    """The SKILL.md files of a tree, found without skillbelt; those inside another skill are its files."""
    found = sorted(path for path in root.rglob("*") if path.name.casefold() == "skill.md")
    return [p for p in found if not any(q.parent in p.parent.parents for q in found)]


def bundled(skill_file: Path) -> set[str]:
    root = skill_file.parent
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file() and path != skill_file)
    return {p.as_posix() for p in paths if not any(part.startswith(".") or part in LEFT_OUT for part in p.parts)}


def pm_skills() -> dict[str, str]:
    """The JSON of pm-skills as SKILL.md files, as a user would feed it to a MappingSource."""
    listed = json.loads((folder("pm_skills") / "skills.json").read_text())["skills"]
    return {
        f"{skill['name']}/SKILL.md": "---\n"
        f"name: {skill['name']}\ndescription: {json.dumps(skill['description'], ensure_ascii=False)}\n"
        f"---\n{skill['instructions']}\n"
        for skill in listed
    }


@pytest.mark.parametrize(("package", "expected"), PACKAGES.items())
def test_every_skill_of_a_package_is_in_the_catalog_or_in_the_diagnostics(package, expected):
    router = SkillRouter.from_directory(folder(package))
    files = skill_files(folder(package))
    assert len(files) >= expected  # newer versions of the packages may hold more
    shown = {summary.location for summary in router.skills()}
    reported = {d.path for d in router.diagnostics() if d.severity == "error" or d.code == "duplicate-name"}
    assert {str(path) for path in files} == shown | reported
    catalog = router.catalog()
    assert set(catalog.shown) == {s.name for s in router.skills() if s.model_invocable}
    assert catalog.text.count("<skill name=") == len(catalog.shown)


@pytest.mark.parametrize("package", PACKAGES)
async def test_every_skill_and_every_file_comes_through_both_adapters(package):
    router = SkillRouter.from_directory(folder(package))
    ours = {tool.name: tool for tool in lc.skill_tools(router)}
    theirs = {tool.metadata.name: tool for tool in li.skill_tools(router)}
    for summary in router.for_model().skills():
        activation = router.activate(summary.name)
        assert not activation.truncated
        assert ours["load_skill"].invoke({"name": summary.name}) == activation.text
        assert theirs["load_skill"].call(name=summary.name).content == activation.text
        assert {info.path for info in activation.resources} == bundled(Path(summary.location))
        for info in activation.resources:
            data = (Path(summary.location).parent / info.path).read_bytes()
            assert router.read(summary.name, info.path, max_bytes=max(1, info.size)).data == data
            arguments = {"name": summary.name, "path": info.path}
            text = ours["read_skill_resource"].invoke(arguments)
            assert text == theirs["read_skill_resource"].call(**arguments).content
            assert text.startswith("<skill_resource ") or f"is binary ({router.read(**arguments).media_type}" in text


def test_a_mapping_of_1322_skills_or_more_is_listed_and_every_body_is_given_whole():
    files = pm_skills()
    router = SkillRouter(MappingSource(files, limits=Limits(entries=5000, directories=5000)))
    assert len(files) >= 1322
    errors = [d for d in router.diagnostics() if d.severity == "error"]
    assert len(router) + len(errors) == len(files)
    load = lc.skill_tools(router)[0]
    for summary in router.skills():
        text = load.invoke({"name": summary.name})
        body = files[f"{summary.name}/SKILL.md"].split("\n---\n", 1)[1].strip()
        assert body in text


def test_all_collections_together_lose_nothing_and_name_every_collision():
    limits = Limits(entries=5000, directories=5000)
    sources = [DirectorySource(folder(package), limits=limits) for package in PACKAGES]
    sources.append(MappingSource(pm_skills(), limits=limits))
    router = SkillRouter(merge(*sources))
    total = sum(len(source.list()) for source in sources)
    shadowed = [d for d in router.diagnostics() if d.code == "duplicate-name"]
    assert len(router) + len(shadowed) == total


@pytest.mark.parametrize("package", PACKAGES)
def test_under_strict_every_skill_is_valid_or_has_all_its_violations_named(package):
    source = DirectorySource(folder(package), profile=STRICT)
    valid = {summary.location for summary in source.list()}
    invalid = {d.path for d in source.diagnostics() if d.severity == "error"}
    assert valid.isdisjoint(invalid)
    assert {str(path) for path in skill_files(folder(package))} == valid | invalid
