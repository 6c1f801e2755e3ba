"""The stateful loader of one skill folder: skillbelt.agent_skills. Its rows are in features/agent_skills.feature."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from skillbelt import (
    LENIENT,
    NAMESPACED,
    STRICT,
    ContentTooLargeError,
    InvalidSkillError,
    LimitError,
    Limits,
    ResourceNotFoundError,
    ResourcePathError,
    SkillError,
    SkillFileNotFoundError,
    SkillRouter,
    SourceError,
    examples,
    tool_name,
    tool_per_skill,
)
from skillbelt.agent_skills import (
    AgentSkillLoader,
    AgentSkillResourceSlot,
    AgentSkillSpec,
    AgentSkillToolDescriptor,
    SkillStep,
)

MAIL = "---\nname: local/mail\ndescription: Sorts mail.\n---\nBegin.\n"
POST = "---\nname: local/post\ndescription: Sorts post.\n---\nNew.\n"


def put(path: Path, text: str | bytes = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A namespaced skill with a file of every kind."""
    put(tmp_path / "mail/SKILL.md", MAIL)
    put(tmp_path / "mail/scripts/sort.py")
    put(tmp_path / "mail/references/rules.md")
    put(tmp_path / "mail/assets/folders.json")
    put(tmp_path / "mail/notes.txt")
    return tmp_path / "mail"


_opened: list[str] | None = None


def _hook(event, args):
    if _opened is not None and event == "open" and isinstance(args[0], str):
        _opened.append(args[0])


sys.addaudithook(_hook)


def opened_by(function) -> list[str]:
    """What a call opened, as it was named to the system."""
    global _opened
    _opened = seen = []
    try:
        function()
    finally:
        _opened = None
    return seen


# --- the specification ------------------------------------------------------------------------------------------------


def test_text_may_be_bytes():
    assert AgentSkillSpec.from_text(MAIL.encode()) == AgentSkillSpec.from_text(MAIL)


def test_a_name_without_a_namespace_is_its_own_short_name():
    spec = AgentSkillSpec.from_text("---\nname: mail\ndescription: D.\n---\nB\n", profile=LENIENT)
    assert (spec.namespace, spec.name, spec.short_name) == (None, "mail", "mail")


def test_a_version_is_its_source_text_and_anything_else_stays_in_extra():
    text = "---\nname: l/a\ndescription: D.\nversion: {}\n---\nB\n"
    assert AgentSkillSpec.from_text(text.format("1.10")).version == "1.10"
    odd = AgentSkillSpec.from_text(text.format("[1, 2]"))
    assert odd.version is None
    assert odd.extra["version"] == ["1", "2"]
    assert AgentSkillSpec.from_text(text.format("null")).version is None


def test_metadata_keeps_text_as_text_and_structure_as_structure():
    spec = AgentSkillSpec.from_text(
        "---\nname: l/a\ndescription: D.\n"
        "metadata: {n: 1.10, when: 2025-01-31, tags: [a, b], deep: {x: {y: z}}, no: }\n---\nB\n"
    )
    assert spec.metadata == {"n": "1.10", "when": "2025-01-31", "tags": ["a", "b"], "deep": {"x": {"y": "z"}}}
    assert "empty-field" in [d.code for d in spec.diagnostics]


def test_compatibility_given_as_a_list_is_text():
    spec = AgentSkillSpec.from_text("---\nname: l/a\ndescription: D.\ncompatibility: [linux, macos]\n---\nB\n")
    assert spec.compatibility == "linux macos"


def test_a_spec_survives_a_round_trip_through_json():
    text = "---\nname: l/a\ndescription: D.\nversion: '1'\ncompatibility: {os: [a]}\nsteps: [Look.]\nx: 1\n---\nB\n"
    spec = AgentSkillSpec.from_text(text)
    assert AgentSkillSpec.model_validate_json(spec.model_dump_json()) == spec


def test_every_value_is_frozen_and_takes_no_unknown_field():
    slot = AgentSkillResourceSlot(name="scripts", path="scripts")
    values = [
        (slot, {"name": "scripts", "path": "scripts"}),
        (SkillStep(index=1, content="Look."), {"index": 1, "content": "Look."}),
        (AgentSkillToolDescriptor(name="a", description="D."), {"name": "a", "description": "D."}),
        (AgentSkillSpec(name="a", description="D."), {"name": "a", "description": "D."}),
    ]
    for value, arguments in values:
        with pytest.raises(ValidationError):
            value.name = "other"
        with pytest.raises(ValidationError):
            type(value)(**arguments, writable=True)
    with pytest.raises(ValidationError):
        AgentSkillResourceSlot(name="examples", path="examples")


def test_what_strict_allows_as_a_field_of_the_house_is_read():
    ours = replace(STRICT, allowed_fields=frozenset({"version", "steps"}))
    spec = AgentSkillSpec.from_text(
        "---\nname: a\ndescription: D.\nversion: '1'\nsteps: [Look.]\n---\nB\n", profile=ours
    )
    assert (spec.version, spec.steps, spec.diagnostics) == ("1", (SkillStep(index=1, content="Look."),), ())


def test_text_larger_than_its_limit_is_refused():
    with pytest.raises(ContentTooLargeError, match="larger than 50 bytes"):
        AgentSkillSpec.from_text(MAIL + "x" * 100, limits=Limits(skill_bytes=50, frontmatter_bytes=50))


def test_text_that_cannot_be_used_is_refused_with_everything_that_is_wrong():
    with pytest.raises(InvalidSkillError, match=r"The SKILL\.md text cannot be loaded") as raised:
        AgentSkillSpec.from_text("---\nname: a\nsteps: go\n---\nB\n")
    assert {d.code for d in raised.value.diagnostics} == {"name-namespace", "description-missing", "steps-type"}


# --- one file ---------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_body_and_its_place(folder):
    spec = AgentSkillSpec.from_file(folder / "SKILL.md")
    assert (spec.name, spec.body) == ("local/mail", "Begin.\n")
    assert AgentSkillSpec.from_file(str(folder / "SKILL.md")) == spec


def test_a_file_may_be_given_relative_to_the_working_directory_or_the_home(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert AgentSkillSpec.from_file("SKILL.md") == AgentSkillSpec.from_file("~/SKILL.md")


def test_a_file_larger_than_its_limit_is_refused_and_one_that_fits_is_not(folder):
    size = (folder / "SKILL.md").stat().st_size
    exact, less = (Limits(skill_bytes=n, frontmatter_bytes=n) for n in (size, size - 1))
    assert AgentSkillSpec.from_file(folder / "SKILL.md", limits=exact).body == "Begin.\n"
    with pytest.raises(ContentTooLargeError, match=r"SKILL\.md"):
        AgentSkillSpec.from_file(folder / "SKILL.md", limits=less)


def test_a_file_of_another_name_is_an_error_when_namespaced_and_a_warning_when_lenient(folder):
    put(folder / "guide.md", MAIL)
    with pytest.raises(InvalidSkillError, match=r"The file is called 'guide\.md'"):
        AgentSkillSpec.from_file(folder / "guide.md")
    assert "filename-case" in [
        d.code for d in AgentSkillSpec.from_file(folder / "guide.md", profile=LENIENT).diagnostics
    ]


@pytest.mark.parametrize("name", ["", "mail", "mail/link.md", "mail/odd\\name.md"])
def test_what_is_not_a_regular_file_of_its_folder_is_refused_with_its_path(folder, name):
    (folder / "link.md").symlink_to(put(folder.parent / "elsewhere.md", MAIL))
    put(folder / "odd\\name.md", MAIL)
    with pytest.raises(InvalidSkillError) as raised:
        AgentSkillSpec.from_file(folder.parent / name)
    assert [d.code for d in raised.value.diagnostics] == ["skill-file-type"]
    assert "regular file" in raised.value.diagnostics[0].hint
    assert str(folder.parent).rpartition("/")[2] in str(raised.value)


def test_a_file_below_a_file_cannot_be_read_and_the_error_has_the_whole_path(folder):
    with pytest.raises(SourceError, match=r"notes\.txt/SKILL\.md.*not a directory"):
        AgentSkillSpec.from_file(folder / "notes.txt/SKILL.md")


# --- the loader before anything is read -------------------------------------------------------------------------------


def test_a_loader_made_by_hand_reads_nothing_until_it_is_asked(folder):
    spec = AgentSkillSpec.from_text(MAIL)
    seen = opened_by(lambda: AgentSkillLoader(spec, folder))
    assert seen == []
    loader = AgentSkillLoader(spec, folder)
    assert loader.spec is spec
    assert not loader.active
    assert loader.body == ""
    assert loader.to_tool_descriptor().body == ""
    assert loader.activate().body == "Begin.\n"


def test_a_loader_made_by_hand_reads_files_under_the_name_the_folder_says(folder):
    loader = AgentSkillLoader(AgentSkillSpec(name="other/name", description="D."), folder)
    assert loader.read("notes.txt").text() == "text"
    assert loader.activate().name == "local/mail"


def test_the_folder_is_settled_when_the_loader_is_made(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder.parent)
    loader = AgentSkillLoader.from_folder("mail")
    monkeypatch.chdir(tmp_path.parent)
    assert loader.folder == folder.resolve()
    assert loader.activate().body == "Begin.\n"


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: AgentSkillSpec.from_text(None), "text must be"),
        (lambda: AgentSkillSpec.from_text(Path("SKILL.md")), "text must be"),
        (lambda: AgentSkillSpec.from_file(None), "path must be"),
        (lambda: AgentSkillLoader(None, "mail"), "spec must be"),
        (lambda: AgentSkillLoader(AgentSkillSpec(name="a", description="D."), None), "folder must be"),
        (lambda: AgentSkillLoader.from_folder(None), "folder must be"),
        (lambda: AgentSkillLoader.from_folder(7), "folder must be"),
    ],
)
def test_an_argument_that_is_not_given_is_named(call, named):
    with pytest.raises(SkillError, match=named):
        call()


@pytest.mark.parametrize("given", ["text", 7, {"name": "local/mail"}])
def test_what_is_no_spec_is_refused_by_name(folder, given):
    with pytest.raises(SkillError, match="spec must be an AgentSkillSpec"):
        AgentSkillLoader(given, folder)


def test_a_loader_shows_what_it_holds(folder):
    loader = AgentSkillLoader.from_folder(folder)
    assert repr(loader) == f"AgentSkillLoader('local/mail', {str(folder)!r})"
    loader.activate()
    assert repr(loader).endswith(", active)")


# --- the folder -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [STRICT, NAMESPACED])
def test_another_spelling_of_the_file_is_an_error(tmp_path, profile):
    put(tmp_path / "mail/skill.md", MAIL.replace("local/mail", "mail") if profile is STRICT else MAIL)
    with pytest.raises(InvalidSkillError, match=r"The file is called 'skill\.md'"):
        AgentSkillLoader.from_folder(tmp_path / "mail", profile=profile)


def test_another_spelling_of_the_file_loads_when_lenient_and_is_not_listed_as_a_resource(tmp_path):
    put(tmp_path / "mail/Skill.md", MAIL)
    loader = AgentSkillLoader.from_folder(tmp_path / "mail", profile=LENIENT)
    assert loader.activate().body == "Begin.\n"
    assert loader.list_resources() == ()
    assert "filename-case" in [d.code for d in loader.diagnostics()]


def test_of_two_spellings_the_exact_one_counts(tmp_path):
    put(tmp_path / "mail/SKILL.md", MAIL)
    put(tmp_path / "mail/Skill.md", POST)
    assert AgentSkillLoader.from_folder(tmp_path / "mail").spec.name == "local/mail"


@pytest.mark.parametrize("make", ["directory", "pipe", "link out"])
def test_a_skill_file_that_is_no_regular_file_makes_a_broken_skill(tmp_path, make):
    path = tmp_path / "mail/SKILL.md"
    path.parent.mkdir()
    if make == "directory":
        path.mkdir()
    elif make == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(put(tmp_path / "SKILL.md", MAIL))
    with pytest.raises(InvalidSkillError) as raised:
        AgentSkillLoader.from_folder(tmp_path / "mail")
    assert [d.code for d in raised.value.diagnostics] == ["skill-file-type"]


def test_a_skill_file_that_is_a_link_leading_nowhere_is_not_found(tmp_path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail/SKILL.md").symlink_to("gone.md")
    with pytest.raises(SkillFileNotFoundError, match=r"SKILL\.md"):
        AgentSkillLoader.from_folder(tmp_path / "mail")


def test_a_linked_folder_is_no_slot_for_its_files_are_listed_where_they_are(folder):
    put(folder / "tools/run.py")
    (folder / "scripts").rename(folder / "tools/scripts")
    (folder / "scripts").symlink_to("tools/scripts")
    loader = AgentSkillLoader.from_folder(folder)
    assert [slot.name for slot in loader.resource_slots] == ["references", "assets"]
    assert loader.script_paths == ()
    assert "tools/scripts/sort.py" in [info.path for info in loader.list_resources()]
    assert loader.read("scripts/sort.py").text() == "text"


def test_a_folder_whose_name_is_not_utf_8_has_a_path_that_can_be_printed(folder):
    odd = os.fsdecode(os.fsencode(folder.parent) + b"/\xff")
    folder.rename(odd)
    loader = AgentSkillLoader.from_folder(odd)
    assert loader.activate().agent_skill_path.endswith("/?")
    assert loader.read("notes.txt").text() == "text"


def test_the_skill_that_ships_has_everything_the_loader_knows():
    path = examples.path() / "deploy-to-staging"
    for profile in (STRICT, LENIENT):
        loader = AgentSkillLoader.from_folder(path, profile=profile)
        descriptor = loader.activate()
        assert descriptor.name == "deploy-to-staging"
        assert descriptor.allowed_tools == ("Read", "Bash(python3:*)", "Bash(git:*)")
        assert [slot.name for slot in descriptor.resource_slots] == ["scripts", "references", "assets"]
        assert loader.spec.metadata == {"author": "skillbelt", "version": "1.0"}
        assert loader.diagnostics() == ()
    with pytest.raises(InvalidSkillError, match="namespace"):
        AgentSkillLoader.from_folder(path)


# --- the three tiers --------------------------------------------------------------------------------------------------


def test_each_tier_opens_the_skill_file_once_and_no_resource(folder):
    loader = AgentSkillLoader.from_folder(folder)
    for tier in (loader.discover, loader.activate, lambda: AgentSkillLoader.from_folder(folder)):
        seen = [Path(path).name for path in opened_by(tier)]
        assert seen.count("SKILL.md") == 1
        assert not {"sort.py", "rules.md", "folders.json", "notes.txt"} & set(seen)


def test_slots_and_descriptor_open_no_skill_file(folder):
    loader = AgentSkillLoader.from_folder(folder)
    seen = opened_by(lambda: (loader.resource_slots, loader.to_tool_descriptor()))
    assert "SKILL.md" not in {Path(path).name for path in seen}


def test_discovery_says_nothing_of_a_body_it_has_not_read(tmp_path):
    put(tmp_path / "mail/SKILL.md", "---\nname: local/mail\ndescription: D.\n---\n")
    loader = AgentSkillLoader.from_folder(tmp_path / "mail")
    assert loader.diagnostics() == ()
    loader.activate()
    assert [d.code for d in loader.diagnostics()] == ["body-empty"]
    assert loader.active
    assert loader.body == ""


def test_a_file_in_utf_16_is_discovered_without_its_body_too(tmp_path):
    put(tmp_path / "mail/SKILL.md", MAIL.encode("utf-16"))
    loader = AgentSkillLoader.from_folder(tmp_path / "mail", profile=LENIENT)
    assert (loader.spec.name, loader.spec.body) == ("local/mail", "")
    assert loader.activate().body == "Begin.\n"


def test_a_frontmatter_larger_than_its_limit_is_refused_at_discovery(tmp_path):
    put(tmp_path / "mail/SKILL.md", MAIL.replace("Sorts", "Sorts " + "x" * 9000))
    with pytest.raises(ContentTooLargeError, match="frontmatter is larger than 5000 bytes"):
        AgentSkillLoader.from_folder(tmp_path / "mail", limits=Limits(frontmatter_bytes=5000))


def test_discovery_shows_an_edit_and_leaves_an_active_skill_as_it_was_read(folder):
    loader = AgentSkillLoader.from_folder(folder)
    put(folder / "SKILL.md", POST)
    assert loader.discover().name == loader.spec.name == "local/post"
    loader.activate()
    put(folder / "SKILL.md", MAIL)
    assert loader.discover().name == "local/mail"
    assert (loader.spec.name, loader.body) == ("local/post", "New.\n")
    assert loader.to_tool_descriptor().body == "New.\n"
    loader.deactivate()
    assert (loader.spec.name, loader.body, loader.spec.body) == ("local/post", "", "")


def test_an_activation_that_fails_changes_nothing(folder):
    loader = AgentSkillLoader.from_folder(folder)
    loader.activate()
    put(folder / "SKILL.md", "no frontmatter")
    with pytest.raises(InvalidSkillError, match="frontmatter"):
        loader.activate()
    assert loader.active
    assert loader.body == "Begin.\n"
    (folder / "SKILL.md").unlink()
    with pytest.raises(SkillFileNotFoundError, match=r"has no SKILL\.md"):
        loader.activate()
    assert loader.to_tool_descriptor().body == "Begin.\n"


def test_activating_twice_reads_twice(folder):
    loader = AgentSkillLoader.from_folder(folder)
    loader.activate()
    put(folder / "SKILL.md", POST)
    assert loader.activate().body == "New.\n"


def test_deactivating_what_is_not_active_does_nothing(folder):
    spec = AgentSkillSpec.from_text(MAIL)
    loader = AgentSkillLoader(spec, folder)
    loader.deactivate()
    assert loader.spec is spec


def test_two_loaders_of_one_folder_do_not_share_their_state(folder):
    one, other = AgentSkillLoader.from_folder(folder), AgentSkillLoader.from_folder(folder)
    one.activate()
    other.deactivate()
    assert (one.body, other.body) == ("Begin.\n", "")


def test_a_folder_that_is_gone_is_said_so_by_everything_that_reads(folder):
    loader = AgentSkillLoader.from_folder(folder)
    loader.activate()
    folder.rename(folder.parent / "moved")
    for read in (
        loader.discover,
        loader.activate,
        loader.to_tool_descriptor,
        loader.list_resources,
        lambda: loader.resource_slots,
        lambda: loader.script_paths,
        lambda: loader.read("notes.txt"),
    ):
        with pytest.raises(SkillFileNotFoundError, match="was not found"):
            read()
    assert loader.body == "Begin.\n"


def test_threads_never_see_a_body_of_one_version_with_the_name_of_another(folder):
    texts = [f"---\nname: local/v{n}\ndescription: D{n}.\n---\n" + f"{n}" * 20_000 for n in range(2)]
    loader = AgentSkillLoader.from_folder(folder)
    stop, bad = threading.Event(), []

    def write():
        turn = 0
        while not stop.is_set():
            put(folder.parent / "new", texts[turn]).replace(folder / "SKILL.md")
            turn = 1 - turn

    def act():
        for _ in range(150):
            loader.activate()
            loader.discover()
            loader.deactivate()

    def look():
        while not stop.is_set():
            descriptor = loader.to_tool_descriptor()
            body = descriptor.body
            if body and {body} != {descriptor.name[-1] * 20_000} and body != "Begin.\n":
                bad.append((descriptor.name, body[:10]))

    others = [threading.Thread(target=write), *(threading.Thread(target=look) for _ in range(2))]
    actors = [threading.Thread(target=act) for _ in range(3)]
    for thread in [*others, *actors]:
        thread.start()
    for thread in actors:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()
    assert bad == []


def test_a_folder_that_is_exchanged_is_seen_whole_old_or_new(folder):
    versions = {}
    for slot, name in (("scripts", "local/a"), ("references", "local/b")):
        versions[name] = slot
        put(folder.parent / slot / "SKILL.md", MAIL.replace("local/mail", name))
        put(folder.parent / slot / slot / "file.md")
    link = folder.parent / "current"
    link.symlink_to("scripts")
    loader = AgentSkillLoader.from_folder(link)
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            for slot in versions.values():
                (folder.parent / "next").symlink_to(slot)
                (folder.parent / "next").replace(link)

    writer = threading.Thread(target=exchange)
    writer.start()
    try:
        for _ in range(500):
            found = loader.activate()
            assert [slot.name for slot in found.resource_slots] == [versions[found.name]]
            assert len(loader.list_resources()) == 1
    finally:
        stop.set()
        writer.join()


# --- bundled files ----------------------------------------------------------------------------------------------------


def test_only_files_directly_in_the_three_folders_are_scripts_references_and_assets(folder):
    put(folder / "scripts/deep/more.py")
    put(folder / "scripts-old/no.py")
    loader = AgentSkillLoader.from_folder(folder)
    assert loader.script_paths == ("scripts/sort.py",)
    assert loader.reference_paths == ("references/rules.md",)
    assert loader.asset_paths == ("assets/folders.json",)
    assert [info.path for info in loader.list_resources()] == [
        "assets/folders.json",
        "notes.txt",
        "references/rules.md",
        "scripts/deep/more.py",
        "scripts/sort.py",
        "scripts-old/no.py",
    ]


def test_what_a_listing_leaves_out_is_said_until_the_next_listing(folder):
    loader = AgentSkillLoader.from_folder(folder, limits=Limits(resources=2))
    assert len(loader.list_resources()) == 2
    assert [d.code for d in loader.diagnostics()] == ["scan-limit"]
    (folder / "notes.txt").unlink()
    (folder / "scripts/sort.py").unlink()
    loader.list_resources()
    assert loader.diagnostics() == ()


def test_a_listing_past_its_limit_raises_when_strict(folder):
    put(folder / "SKILL.md", MAIL.replace("local/", ""))
    loader = AgentSkillLoader.from_folder(folder, profile=STRICT, limits=Limits(resources=2))
    with pytest.raises(LimitError, match="more than 2 files"):
        loader.list_resources()


def test_a_read_is_confined_and_bounded(folder):
    put(folder.parent / "secret.txt")
    put(folder / ".env")
    loader = AgentSkillLoader.from_folder(folder, limits=Limits(resource_bytes=3))
    part = loader.read("notes.txt")
    assert (part.data, part.total, part.truncated) == (b"tex", 4, True)
    assert loader.read("notes.txt", offset=3).text() == "t"
    assert loader.read("notes.txt", max_bytes=1).data == b"t"
    with pytest.raises(ResourcePathError):
        loader.read("../secret.txt")
    with pytest.raises(ResourceNotFoundError):
        loader.read(".env")
    with pytest.raises(ResourceNotFoundError):
        loader.read("references/none.md")


def test_a_file_of_a_skill_that_was_renamed_is_still_read(folder):
    loader = AgentSkillLoader.from_folder(folder)
    put(folder / "SKILL.md", POST)
    assert loader.read("notes.txt").text() == "text"
    assert loader.spec.name == "local/mail"


def test_a_file_of_a_skill_that_broke_is_not_served(folder):
    loader = AgentSkillLoader.from_folder(folder)
    put(folder / "SKILL.md", "no frontmatter")
    with pytest.raises(InvalidSkillError, match="frontmatter"):
        loader.read("notes.txt")
    (folder / "SKILL.md").unlink()
    with pytest.raises(SkillFileNotFoundError, match=r"has no SKILL\.md"):
        loader.read("notes.txt")


# --- as a tool --------------------------------------------------------------------------------------------------------


def test_a_descriptor_maps_to_the_tool_of_its_skill_as_the_module_says(folder):
    descriptor = AgentSkillLoader.from_folder(folder).activate()
    (spec,) = tool_per_skill(SkillRouter.from_directory(folder.parent, profile=NAMESPACED))
    assert spec.name == tool_name(descriptor.name) == "local_S_mail"
    assert descriptor.description in spec.description
    assert spec.read_only is descriptor.read_only
    assert descriptor.body.strip() in spec.call().text
