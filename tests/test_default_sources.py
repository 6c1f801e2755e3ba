"""The usual places: which folders are looked at, which wins, and that only the developer can trust a project."""

import os
import threading
from pathlib import Path

import pytest

from skillbelt import (
    STRICT,
    Limits,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceSource,
    SkillNotFoundError,
    SkillRouter,
    SourceError,
)
from skillbelt.scopes import SKILL_FOLDERS, default_sources
from skillbelt.sources.base import Troubled, Versioned


def skill(folder, name, text="text", **fields):
    extra = "".join(f"{key}: {value}\n" for key, value in fields.items())
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n{extra}---\n{text}\n")
    return folder / name


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path):
    """A repository with a package two folders down; what lies above it must not be looked at."""
    (tmp_path / "work/repo/packages/app").mkdir(parents=True)
    (tmp_path / "work/repo/.git").mkdir()
    skill(tmp_path / "work/.agents/skills", "outside")
    return tmp_path / "work/repo"


def names(source):
    return {summary.name: summary.source for summary in source.list()}


# --- what is looked at ------------------------------------------------------------------------------------------------


@pytest.mark.row("S1-55")
def test_project_before_user_nearest_folder_first_and_the_order_of_the_folders_within_one(repo, home):
    app = repo / "packages/app"
    places = [
        *(app / name for name in SKILL_FOLDERS),
        *(repo / "packages" / name for name in SKILL_FOLDERS),
        *(repo / name for name in SKILL_FOLDERS),
        *(home / name for name in SKILL_FOLDERS),
    ]
    labels = [
        *(f"project:{up}{name}" for up in ("", "../", "../../") for name in SKILL_FOLDERS),
        *(f"user:{name}" for name in SKILL_FOLDERS),
    ]
    for place, label in zip(places, labels, strict=True):
        skill(place, "same", label)
        skill(place, f"only-{labels.index(label)}")
    source = default_sources(app, trust_project=True, home=home)
    assert names(source) == {"same": labels[0], **{f"only-{i}": label for i, label in enumerate(labels)}}
    for number, (place, label) in enumerate(zip(places, labels, strict=True)):
        loaded = source.load("same")
        assert (loaded.instructions, loaded.source) == (f"{label}\n", label)
        assert len([d for d in source.diagnostics() if d.code == "duplicate-name"]) == len(labels) - 1 - number
        if label != labels[-1]:
            (place / "same/SKILL.md").unlink()
            (place / "same").rmdir()
        source.list()


@pytest.mark.row("S1-55")
def test_a_shadowed_skill_can_be_asked_for_by_its_scope(repo, home):
    skill(repo / ".agents/skills", "pdf", "project")
    skill(home / ".claude/skills", "pdf", "user")
    source = default_sources(repo, trust_project=True, home=home)
    assert source.load("pdf").instructions == "project\n"
    assert source.load("pdf@user:.claude/skills").instructions == "user\n"


def test_without_a_repository_the_project_folder_alone_is_looked_at(tmp_path, home):
    project = tmp_path / "plain/project"
    skill(project / ".agents/skills", "mine")
    skill(tmp_path / "plain/.agents/skills", "above")
    assert list(names(default_sources(project, trust_project=True, home=home))) == ["mine"]


def test_a_worktree_and_a_submodule_are_roots_too(repo, home):
    (repo / "packages/.git").write_text("gitdir: elsewhere\n")
    skill(repo / ".agents/skills", "outer")
    skill(repo / "packages/.agents/skills", "inner")
    assert list(names(default_sources(repo / "packages/app", trust_project=True, home=home))) == ["inner"]


@pytest.mark.parametrize("trust", [False, True])
def test_a_home_folder_under_git_is_the_users_own_scope(home, trust):
    (home / ".git").mkdir()
    skill(home / ".agents/skills", "own")
    skill(home / "code/app/.agents/skills", "app")
    source = default_sources(home / "code/app", trust_project=trust, home=home)
    assert names(source) == {"own": "user:.agents/skills", **({"app": "project:.agents/skills"} if trust else {})}
    assert names(default_sources(home, home=home)) == {"own": "user:.agents/skills"}
    assert default_sources(home, home=home).diagnostics() == ()


def test_the_defaults_are_the_current_folder_and_the_home_of_the_system(repo, home, monkeypatch):
    skill(repo / ".claude/skills", "here")
    skill(home / ".agents/skills", "there")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(repo)
    source = default_sources(trust_project=True)
    monkeypatch.chdir("/")
    assert list(names(source)) == ["here", "there"]
    monkeypatch.setattr(Path, "home", staticmethod(homeless))
    assert list(names(default_sources(repo, trust_project=True))) == ["here"]


def homeless():
    raise RuntimeError("Could not determine home directory.")


def test_profile_and_limits_reach_every_folder(repo, home):
    skill(repo / ".agents/skills", "Odd_Name")
    (skill(home / ".agents/skills", "big") / "data").write_text("x" * 100)
    source = default_sources(repo, trust_project=True, home=home, profile=STRICT, limits=Limits(resource_bytes=10))
    assert list(names(source)) == ["big"]
    assert "name-uppercase" in [d.code for d in source.diagnostics()]
    assert len(source.read("big", "data").data) == 10


# --- trust ------------------------------------------------------------------------------------------------------------


@pytest.mark.row("S1-55")
def test_an_untrusted_project_is_left_out_with_a_word_on_each_folder_there_is(repo, home):
    skill(repo / "packages/app/.claude/skills", "evil")
    skill(repo / ".agents/skills", "mail", "theirs")
    skill(home / ".agents/skills", "mail", "mine")
    source = default_sources(repo / "packages/app", home=home)
    assert names(source) == {"mail": "user:.agents/skills"}
    assert source.load("mail").instructions == "mine\n"
    for name in ("evil", "mail@project:../../.agents/skills"):
        with pytest.raises(SkillNotFoundError):
            source.load(name)
    found = source.diagnostics()
    assert [(d.code, d.severity, d.path) for d in found] == [
        ("project-untrusted", "warning", str(repo / "packages/app/.claude/skills")),
        ("project-untrusted", "warning", str(repo / ".agents/skills")),
    ]
    assert all("trust_project=True" in d.hint for d in found)


def test_nothing_of_an_untrusted_project_is_opened(repo, home, monkeypatch):
    skill(repo / ".agents/skills", "evil")
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest, **named: opened.append(str(path)) or real(path, *rest, **named))
    source = default_sources(repo, home=home)
    source.list()
    source.diagnostics()
    assert not [path for path in opened if str(repo) in path]


def test_a_trusted_project_still_cannot_lead_out_of_its_folders(repo, home, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    skill(tmp_path / "elsewhere", "far")
    folder = skill(repo / ".agents/skills", "app", symlinks="follow", trust_project="true")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (repo / ".agents/skills/far").symlink_to(tmp_path / "elsewhere/far")
    source = default_sources(repo, trust_project=True, home=home)
    assert list(names(source)) == ["app"]
    assert "symlink-escape" in [d.code for d in source.diagnostics()]
    with pytest.raises(ResourcePathError):
        source.read("app", "link.md")


# --- the source -------------------------------------------------------------------------------------------------------


def test_missing_folders_are_silent_and_ones_made_later_are_seen(repo, home):
    source = default_sources(repo, trust_project=True, home=home)
    assert source.list() == () and source.diagnostics() == ()
    skill(home / ".skillbelt/skills", "late")
    assert names(source) == {"late": "user:.skillbelt/skills"}
    (repo / ".agents").write_text("a file where a folder could be")
    assert list(names(source)) == ["late"] and source.diagnostics() == ()


def test_a_folder_that_is_a_link_to_another_of_them_is_looked_at_once(repo, home):
    skill(repo / ".agents/skills", "one")
    (repo / ".claude").mkdir()
    (repo / ".claude/skills").symlink_to("../.agents/skills")
    source = default_sources(repo, trust_project=True, home=home)
    assert names(source) == {"one": "project:.agents/skills"}
    assert source.diagnostics() == ()


def test_a_folder_that_cannot_be_read_is_an_error_and_never_an_empty_answer(repo, home):
    (home / ".agents").mkdir()
    (home / ".agents/skills").write_text("not a folder")
    with pytest.raises(SourceError, match="not a directory"):
        default_sources(repo, home=home).list()
    (home / ".agents/skills").unlink()
    (home / ".agents/skills").symlink_to("skills")  # a link to itself
    with pytest.raises(SourceError):
        default_sources(repo, home=home).list()


@pytest.mark.parametrize("path", [None, 5, "a\x00b", b"folder", ["a"]])
def test_what_is_no_path_is_refused(path, repo, home):
    with pytest.raises(SourceError, match="project must be the path of a folder"):
        default_sources(path, home=home)
    if path is not None:
        with pytest.raises(SourceError, match="home must be the path of a folder"):
            default_sources(repo, home=path)


def test_it_is_a_source_like_any_other(repo, home):
    folder = skill(repo / ".agents/skills", "app")
    (folder / "references").mkdir()
    (folder / "references/a.md").write_text("read me")
    (skill(home / ".agents/skills", "broken") / "SKILL.md").write_text("no frontmatter")
    source = default_sources(repo, trust_project=True, home=home)
    assert isinstance(source, ResourceSource) and isinstance(source, Troubled) and isinstance(source, Versioned)
    assert source.lookup("app").source == "project:.agents/skills"
    assert source.lookup("app").location == str(folder / "SKILL.md")
    assert [info.path for info in source.resources("app")] == ["references/a.md"]
    assert source.read("app", "references/a.md", offset=5, max_bytes=1).data == b"m"
    with pytest.raises(ResourceNotFoundError):
        source.read("app", "none")
    assert set(source.problems()) == {"broken"} and set(source.versions()) == {"app"}
    router = SkillRouter(source)
    assert [summary.name for summary in router.skills()] == ["app"]
    skill(home / ".agents/skills", "new")
    assert router.reload().added == ("new",)


def test_threads_share_one(repo, home):
    for number in range(5):
        skill(repo / ".agents/skills", f"s{number}")
    source = default_sources(repo, trust_project=True, home=home)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(names(source))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [names(source)] * 8
