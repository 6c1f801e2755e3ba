"""Skills published by a site, from a real server: both forms of the index, digests, archives, bad sites."""

import hashlib
import io
import json
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from http_server import (
    Site,
    dripping_body,
    endless,
    in_turn,
    outcome,
    redirect,
    reply,
    silent,
    tagged,
)
from skillbelt import (
    LENIENT,
    NAMESPACED,
    STRICT,
    ContentTooLargeError,
    InvalidSkillError,
    Limits,
    MappingSource,
    ResourceNotFoundError,
    ResourcePathError,
    ResourceSource,
    SkillNotFoundError,
    SkillRouter,
    SourceError,
    merge,
)
from skillbelt.errors import LimitError, MissingExtraError
from skillbelt.parsing import name_key
from skillbelt.sources import fetch
from skillbelt.sources.base import Troubled, Versioned
from skillbelt.sources.fetch import HttpLimits, RefusedUrlError, UnreachableError
from skillbelt.sources.http import HttpSource, http_source
from skillbelt.sources.well_known import SCHEMA, index_urls, read_index

NEW = "/.well-known/agent-skills/index.json"
OLD = "/.well-known/skills/index.json"
MAIL = "---\nname: mail\ndescription: Sorts mail.\n---\nBegin.\n"
PDF = "---\nname: pdf\ndescription: Fills forms.\n---\nFill.\n"


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE", 0.001)


def source(site: Site, path: str = "", **options: Any) -> HttpSource:
    limits = options.pop("http_limits", HttpLimits(deadline=20, fresh=60))
    return http_source(site.url + path, allow_private=True, http_limits=limits, **options)


def digest(body: bytes | str) -> str:
    return "sha256:" + hashlib.sha256(body.encode() if isinstance(body, str) else body).hexdigest()


def entry(name: str, body: bytes | str, **changed: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": "skill-md",
        "description": {"mail": "Sorts mail.", "pdf": "Fills forms."}.get(name, "Does things."),
        "url": f"{name}/SKILL.md",
        "digest": digest(body),
    } | changed


def zipped(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return file.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return file.getvalue()


def publish(site: Site, *skills: str) -> None:
    """Publish skills in the newer form."""
    bodies = {"mail": MAIL, "pdf": PDF}
    for name in skills:
        site.put(f"/.well-known/agent-skills/{name}/SKILL.md", bodies[name])
    site.publish(NEW, [entry(name, bodies[name]) for name in skills])


def codes(source: ResourceSource) -> list[str]:
    return [d.code for d in source.diagnostics()]


# --- the newer form ---------------------------------------------------------------------------------------------------


def test_listing_costs_the_index_and_no_skill_is_fetched_before_it_is_asked_for(site: Site) -> None:
    publish(site, "pdf", "mail")
    skills = source(site)
    assert site.paths == []
    assert [(s.name, s.description) for s in skills.list()] == [("mail", "Sorts mail."), ("pdf", "Fills forms.")]
    assert site.paths == [NEW]
    skill = skills.load("Mail")
    assert (skill.name, skill.instructions, skill.source) == ("mail", "Begin.\n", site.url)
    assert skill.location == f"{site.url}/.well-known/agent-skills/mail/SKILL.md"
    assert skill.digest == hashlib.sha256(MAIL.encode()).hexdigest() == skills.versions()["mail"]
    assert site.paths == [NEW, "/.well-known/agent-skills/mail/SKILL.md"]


def test_what_has_a_digest_is_fetched_once(site: Site) -> None:
    publish(site, "mail")
    skills = source(site)
    for _ in range(3):
        skills.load("mail")
        skills.lookup("mail")
        skills.resources("mail")
    assert site.paths == [NEW, "/.well-known/agent-skills/mail/SKILL.md"]


def test_unless_it_may_not_be_kept_or_does_not_fit(site: Site) -> None:
    publish(site, "mail")
    small = source(site, http_limits=HttpLimits(cache_bytes=10))
    small.load("mail")
    small.load("mail")
    assert site.paths.count("/.well-known/agent-skills/mail/SKILL.md") == 2
    site.put("/.well-known/agent-skills/mail/SKILL.md", MAIL, Cache_Control="no-store")
    site.forget()
    skills = source(site)
    skills.load("mail")
    skills.load("mail")
    assert site.paths.count("/.well-known/agent-skills/mail/SKILL.md") == 2


def test_it_is_a_source_like_any_other(site: Site) -> None:
    publish(site, "mail")
    skills = source(site)
    assert isinstance(skills, ResourceSource) and isinstance(skills, Troubled) and isinstance(skills, Versioned)
    router = SkillRouter(merge(MappingSource({"pdf/SKILL.md": PDF}), skills))
    assert [s.name for s in router.skills()] == ["mail", "pdf"]
    assert "Begin." in router.activate("mail").text
    assert skills.resources("mail") == ()
    assert skills.read("mail", "SKILL.md", offset=4, max_bytes=4).data == b"name"
    assert repr(skills) == f"HttpSource('{site.url}')"


async def test_it_works_inside_a_running_event_loop(site: Site) -> None:
    publish(site, "mail")
    assert source(site).load("mail").name == "mail"


def test_threads_share_a_source(site: Site) -> None:
    publish(site, "mail", "pdf")
    skills, got = source(site), []
    threads = [
        threading.Thread(target=lambda name=name: got.append(skills.load(name).name)) for name in ["mail", "pdf"] * 6
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == ["mail"] * 6 + ["pdf"] * 6


def test_a_missing_name_and_one_that_is_none_are_said_without_fetching_a_skill(site: Site) -> None:
    publish(site, "mail")
    skills = source(site)
    for name in ("", "  ", None):
        with pytest.raises(SkillNotFoundError, match="must not be empty"):
            skills.load(name)  # type: ignore[arg-type]
    assert site.paths == []
    with pytest.raises(SkillNotFoundError, match="Did you mean 'mail'"):
        skills.load("mial")
    assert site.paths == [NEW]
    with pytest.raises(ResourceNotFoundError):
        skills.read("mail", "references/a.md")
    with pytest.raises(ResourcePathError):
        skills.read("mail", "../pdf/SKILL.md")


def test_addresses_are_resolved_against_the_index(site: Site) -> None:
    with Site() as elsewhere:
        elsewhere.put("/skills/c.md", MAIL + "c")
        site.put("/at/a.md", MAIL + "a")
        site.put("/at/b.md", MAIL + "b")
        urls = {"a": "/at/a.md", "b": "../../at/b.md?v=1#top", "c": f"{elsewhere.url}/skills/c.md"}
        site.publish(NEW, [entry(name, MAIL + name, url=url) for name, url in urls.items()])
        skills = source(site, headers={"Authorization": "sesame"})
        assert [skills.load(name).instructions for name in "abc"] == ["Begin.\na", "Begin.\nb", "Begin.\nc"]
        assert "authorization" not in elsewhere.requests[0].headers
    assert all(request.headers["authorization"] == "sesame" for request in site.requests)


def test_an_index_that_moved_is_followed_and_its_addresses_with_it(site: Site) -> None:
    with Site() as elsewhere:
        publish(elsewhere, "mail")
        site.routes[NEW] = redirect(elsewhere.url + NEW, 301)
        assert source(site).load("mail").location == f"{elsewhere.url}/.well-known/agent-skills/mail/SKILL.md"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://a.example", ["/" + NEW.lstrip("/"), OLD]),
        ("https://a.example/", [NEW, OLD]),
        ("https://a.example/docs/", ["/docs" + NEW, "/docs" + OLD]),
        ("https://a.example/.well-known/skills/", [OLD]),
        ("https://a.example/.well-known/agent-skills", [NEW]),
        ("https://a.example/any/where.json?key=1", ["/any/where.json?key=1"]),
    ],
)
def test_a_site_a_folder_of_it_and_an_index_can_be_given(url: str, found: list[str]) -> None:
    assert list(index_urls(url)) == [f"https://a.example{path}" for path in found]


# --- entries ----------------------------------------------------------------------------------------------------------


def test_unknown_fields_are_ignored_and_unknown_types_are_left_out_with_a_warning(site: Site) -> None:
    publish(site, "mail")
    site.publish(NEW, [entry("mail", MAIL, version="7", files=5), entry("odd", MAIL, type="wasm")])
    skills = source(site)
    assert [s.name for s in skills.list()] == ["mail"]
    assert [(d.code, d.severity) for d in skills.diagnostics()] == [("index-type", "warning")]
    with pytest.raises(SkillNotFoundError):
        skills.load("odd")


BAD_ENTRIES = {
    "no object": 5,
    "no name": {"description": "d"},
    "name is a number": entry("x", MAIL) | {"name": 5},
    "name is blank": entry("x", MAIL) | {"name": "  "},
    "no type": {k: v for k, v in entry("x", MAIL).items() if k != "type"},
    "type is a list": entry("x", MAIL, type=["skill-md"]),
    "no digest": {k: v for k, v in entry("x", MAIL).items() if k != "digest"},
    "another hash": entry("x", MAIL, digest="md5:" + "0" * 32),
    "upper case digest": entry("x", MAIL, digest=digest(MAIL).upper()),
    "long digest": entry("x", MAIL, digest=digest(MAIL) + "0"),
    "no url": {k: v for k, v in entry("x", MAIL).items() if k != "url"},
    "empty url": entry("x", MAIL, url=""),
    "file url": entry("x", MAIL, url="file:///etc/passwd"),
    "no url at all": entry("x", MAIL, url="https://[bad"),
    "script url": entry("x", MAIL, url="javascript:alert(1)"),
    "description is a list": entry("x", MAIL, description=["d"]),
}


@pytest.mark.parametrize("bad", BAD_ENTRIES.values(), ids=BAD_ENTRIES)
def test_a_bad_entry_costs_that_entry_only(site: Site, bad: Any) -> None:
    publish(site, "mail", "pdf")
    site.publish(NEW, [entry("mail", MAIL), bad, entry("pdf", PDF)])
    skills = source(site)
    assert [s.name for s in skills.list()] == ["mail", "pdf"]
    assert codes(skills) == ["index-entry"]
    if isinstance(bad, dict) and bad.get("name") == "x":
        with pytest.raises(InvalidSkillError, match="Entry 2 of the index, 'x', has"):
            skills.load("x")
        assert set(skills.problems()) == {"x"}


def test_names_and_descriptions_of_the_index_are_judged_like_those_of_a_frontmatter(site: Site) -> None:
    odd = [
        entry("No_Kebab", MAIL),
        entry("quiet", MAIL, description=" "),
        entry("half", MAIL, description='a "b" \\ \n\ud800 \x07 \U0001f600 c'),
        entry("x\u202ey", MAIL),
    ]
    site.publish(NEW, odd)
    lenient = source(site)
    assert {s.name: s.description for s in lenient.list()} == {
        "No_Kebab": "Does things.",
        "half": 'a "b" \\ \n\ufffd\ufffd\ufffd \x07 \U0001f600 c',
    }
    assert set(lenient.problems()) == {"quiet", "x\u202ey"}
    strict = source(site, profile=STRICT)
    assert [s.name for s in strict.list()] == ["half"]
    assert source(site, profile=NAMESPACED).list() == ()
    assert all(d.line is None and d.path for d in lenient.diagnostics())


def test_of_a_name_given_twice_the_first_counts(site: Site) -> None:
    publish(site, "mail")
    site.publish(NEW, [entry("mail", MAIL), entry("Mail", PDF, url="elsewhere.md")])
    skills = source(site)
    assert [s.name for s in skills.list()] == ["mail"] and "duplicate-name" in codes(skills)
    assert skills.load("MAIL").instructions == "Begin.\n"


def test_a_broken_entry_does_not_break_a_good_one_of_the_same_name(site: Site) -> None:
    publish(site, "mail")
    site.publish(NEW, [entry("mail", MAIL, url=""), entry("mail", MAIL)])
    skills = source(site)
    assert [s.name for s in skills.list()] == ["mail"] and skills.problems() == {}


def test_more_entries_than_the_limit_are_left_out_and_said_so(site: Site) -> None:
    publish(site, "mail", "pdf")
    skills = source(site, limits=Limits(entries=1))
    assert [s.name for s in skills.list()] == ["mail"] and codes(skills) == ["scan-limit"]
    with pytest.raises(LimitError, match=r"Raise Limits\.entries"):
        source(site, limits=Limits(entries=1), profile=STRICT).list()


# --- versions of the index --------------------------------------------------------------------------------------------


def test_an_index_of_an_unknown_version_is_not_read_and_said_so(site: Site) -> None:
    publish(site, "mail")
    site.publish(NEW, [entry("mail", MAIL)], schema="https://schemas.agentskills.io/discovery/9.9.9/schema.json")
    skills = source(site)
    assert skills.list() == ()
    assert [(d.code, d.severity) for d in skills.diagnostics()] == [("index-schema", "warning")]
    site.put(NEW, json.dumps({"$schema": 5, "skills": []}))
    assert source(site).list() == ()


def test_an_index_without_a_version_is_read_as_the_older_form(site: Site) -> None:
    site.publish(NEW, [entry("mail", MAIL)], schema=None)
    skills = source(site)
    assert skills.list() == ()
    with pytest.raises(InvalidSkillError, match="no list 'files', which an index without"):
        skills.load("mail")


# --- the older form ---------------------------------------------------------------------------------------------------


def publish_old(site: Site, files: list[Any] | None = None, **changed: Any) -> None:
    listed = ["SKILL.md", "references/a b.md", "scripts/run.sh"] if files is None else files
    site.publish(OLD, [{"name": "mail", "description": "Sorts mail.", "files": listed} | changed], schema=None)
    site.routes["/.well-known/skills/mail/SKILL.md"] = tagged(MAIL, "1", Cache_Control="no-cache")
    site.put("/.well-known/skills/mail/references/a%20b.md", "hello", Cache_Control="max-age=60")


def test_the_older_form_is_found_and_read_with_a_warning_that_it_is_unverified(site: Site) -> None:
    publish_old(site)
    skills = source(site)
    assert [s.name for s in skills.list()] == ["mail"] and site.paths == [NEW, OLD]
    assert [(d.code, d.severity) for d in skills.diagnostics()] == [("index-unverified", "warning")]
    site.forget()
    assert skills.load("mail").instructions == "Begin.\n"
    assert site.paths == ["/.well-known/skills/mail/SKILL.md"]
    assert skills.load("mail").location == f"{site.url}/.well-known/skills/mail/SKILL.md"


def test_its_files_are_fetched_one_by_one_when_they_are_read(site: Site) -> None:
    publish_old(site)
    skills = source(site)
    infos = skills.resources("mail")
    assert [(i.path, i.kind, i.size) for i in infos] == [
        ("references/a b.md", "reference", 0),
        ("scripts/run.sh", "script", 0),
    ]
    site.forget()
    page = skills.read("mail", "references/a b.md", offset=1, max_bytes=3)
    assert (page.data, page.total, page.truncated) == (b"ell", 5, True)
    assert site.paths == ["/.well-known/skills/mail/SKILL.md", "/.well-known/skills/mail/references/a%20b.md"]
    assert site.requests[0].headers["if-none-match"] == '"1"'
    skills.read("mail", "references/a b.md")
    assert site.paths.count("/.well-known/skills/mail/references/a%20b.md") == 1
    assert skills.resources("mail")[0].size == 5
    with pytest.raises(ResourceNotFoundError, match="is in the index and not on the server"):
        skills.read("mail", "scripts/run.sh")
    with pytest.raises(ResourceNotFoundError):
        skills.read("mail", "scripts/other.sh")
    site.put("/.well-known/skills/mail/scripts/run.sh", "no", 403)
    with pytest.raises(SourceError, match=r"status 403\. Credentials go into headers"):
        skills.read("mail", "scripts/run.sh")


def test_its_edits_are_seen_as_the_caching_headers_allow(site: Site) -> None:
    publish_old(site)
    skills = source(site)
    before = skills.versions()
    assert skills.load("mail").instructions == "Begin.\n"
    assert skills.versions() != before
    site.routes["/.well-known/skills/mail/SKILL.md"] = tagged(MAIL.replace("Begin", "Go on"), "2")
    assert skills.load("mail").instructions == "Go on.\n"


def test_drafts_that_give_each_file_a_digest_are_verified(site: Site) -> None:
    files = [
        {"path": "SKILL.md", "digest": digest(MAIL)},
        {"path": "references/a b.md", "digest": digest("something else")},
    ]
    publish_old(site, files)
    skills = source(site)
    assert skills.load("mail").name == "mail" and codes(skills) == []
    with pytest.raises(InvalidSkillError, match="is not what the index has the digest of") as caught:
        skills.read("mail", "references/a b.md")
    assert [d.code for d in caught.value.diagnostics] == ["digest-mismatch"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"files": 5}, "no list 'files'"),
        ({"files": []}, "lists no SKILL.md"),
        ({"files": ["skill.md"]}, "lists no SKILL.md"),
        ({"files": ["SKILL.md", 5]}, "a file that cannot be used"),
        ({"files": ["SKILL.md", "../../secret"]}, "a file that cannot be used"),
        ({"files": ["SKILL.md", "/etc/passwd"]}, "a file that cannot be used"),
        ({"files": ["SKILL.md", {"path": "a", "digest": "x"}]}, "a digest that is none"),
        ({"files": ["SKILL.md", "a", "a/b"]}, "'a' both as a file and as a folder"),
        ({"name": ".."}, "cannot be part of an address"),
        ({"name": "a/b"}, "cannot be part of an address"),
        ({"name": "a\ud800"}, "cannot be part of an address"),
    ],
)
def test_its_bad_entries_are_not_loaded(site: Site, changed: dict[str, Any], words: str) -> None:
    publish_old(site, **changed)
    skills = source(site)
    assert skills.list() == ()
    with pytest.raises(InvalidSkillError, match=words):
        skills.load(changed.get("name", "mail"))


# --- archives ---------------------------------------------------------------------------------------------------------

FILES = {"SKILL.md": MAIL, "references/a.md": "hello", "scripts/run.sh": "#!/bin/sh\n"}


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("kind", ["by its type", "by its name", "by its look"])
def test_an_archive_is_read_with_all_its_files(site: Site, pack: Any, kind: str) -> None:
    data = pack(FILES)
    end, media = (".zip", "application/zip") if pack is zipped else (".tar.gz", "application/gzip")
    path = "/download" if kind != "by its name" else f"/mail{end}"
    site.put(path, data, Content_Type=media if kind == "by its type" else "application/octet-stream")
    site.publish(NEW, [entry("mail", data, type="archive", url=path)])
    skills = source(site)
    assert skills.load("mail").instructions == "Begin.\n"
    assert [(i.path, i.size) for i in skills.resources("mail")] == [("references/a.md", 5), ("scripts/run.sh", 10)]
    assert skills.read("mail", "references/a.md").text() == "hello"
    assert site.paths == [NEW, path]
    assert codes(skills) == []


def test_an_archive_that_is_not_what_it_is_called_is_not_read(site: Site) -> None:
    for name, data, media in (("a", tarred(FILES), "application/zip"), ("b", zipped(FILES), "application/gzip")):
        site.put(f"/{name}", data, Content_Type=media)
    site.publish(
        NEW,
        [
            entry("a", tarred(FILES), type="archive", url="/a"),
            entry("b", zipped(FILES), type="archive", url="/b"),
        ],
    )
    for name in "ab":
        with pytest.raises(InvalidSkillError):
            source(site).load(name)


def test_a_folder_around_the_skill_is_forgiven_and_said_so(site: Site) -> None:
    data = zipped({f"mail-main/{path}": text for path, text in FILES.items()})
    site.put("/mail.zip", data)
    site.publish(NEW, [entry("mail", data, type="archive", url="/mail.zip")])
    lenient = source(site)
    assert lenient.load("mail").name == "mail"
    assert "archive-layout" in codes(lenient)
    assert lenient.read("mail", "references/a.md").text() == "hello"
    with pytest.raises(InvalidSkillError, match="differs from its folder 'mail-main'"):
        source(site, profile=STRICT).load("mail")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (zipped({"SKILL.md": MAIL, "../evil.txt": "x"}), "refused"),
        (zipped({"readme.md": "x"}), "refused"),
        (zipped({"a/SKILL.md": MAIL, "b/SKILL.md": PDF}), "holds 2 skills"),
        (zipped({"SKILL.md": "no frontmatter"}), "no frontmatter"),
        (zipped({"SKILL.md": MAIL, "big.bin": "\0" * (70 << 20)}), "refused"),
        (b"no archive at all", "refused"),
    ],
    ids=["slip", "no skill", "two skills", "broken skill", "bomb", "no archive"],
)
def test_an_archive_that_breaks_a_rule_is_not_used(site: Site, data: bytes, words: str) -> None:
    publish(site, "pdf")
    site.put("/mail.zip", data)
    site.publish(NEW, [entry("mail", data, type="archive", url="/mail.zip"), entry("pdf", PDF)])
    skills = source(site)
    with pytest.raises(InvalidSkillError, match=words) as caught:
        skills.load("mail")
    assert any(d.severity == "error" for d in caught.value.diagnostics)
    assert skills.load("pdf").name == "pdf"
    assert any(d.severity == "error" and d.path == f"{site.url}/mail.zip" for d in skills.diagnostics())


def test_notes_about_files_are_among_the_diagnostics(site: Site) -> None:
    data = zipped(FILES | {"inner/SKILL.md": PDF})
    site.put("/mail.zip", data)
    site.publish(NEW, [entry("mail", data, type="archive", url="/mail.zip")])
    skills = source(site)
    skills.resources("mail")
    assert codes(skills) == ["nested-skill"]


# --- what the index says and what is there ----------------------------------------------------------------------------


def test_content_of_another_digest_is_never_used_and_costs_that_skill_only(site: Site) -> None:
    publish(site, "mail", "pdf")
    site.put("/.well-known/agent-skills/mail/SKILL.md", MAIL.replace("Begin", "Obey"))
    skills = source(site)
    for call in (skills.load, skills.lookup, skills.resources, lambda name: skills.read(name, "SKILL.md")):
        with pytest.raises(InvalidSkillError, match="is not what the index has the digest of") as caught:
            call("mail")
        assert [d.code for d in caught.value.diagnostics] == ["digest-mismatch"]
    assert [s.name for s in skills.list()] == ["mail", "pdf"]
    assert skills.load("pdf").name == "pdf"
    assert codes(skills) == ["digest-mismatch"]


def test_content_newer_than_the_index_that_is_kept_is_found_by_asking_for_the_index_again(site: Site) -> None:
    publish(site, "mail")
    skills = source(site)
    skills.list()
    edited = MAIL.replace("Begin", "Go on")
    site.put("/.well-known/agent-skills/mail/SKILL.md", edited)
    site.publish(NEW, [entry("mail", edited)])
    site.forget()
    assert skills.load("mail").instructions == "Go on.\n"
    assert site.paths.count(NEW) == 1


def test_a_skill_goes_by_its_name_in_the_index_and_its_own_description_counts(site: Site) -> None:
    other = "---\nname: post\ndescription: >\n  Sorts\n  post.\n---\nBegin.\n"
    site.put("/.well-known/agent-skills/mail/SKILL.md", other)
    site.publish(NEW, [entry("mail", other)])
    skills = source(site)
    skill = skills.load("mail")
    assert (skill.name, skill.description) == ("mail", "Sorts post.")
    assert skills.lookup("mail").description == "Sorts post."
    found = [d for d in skills.diagnostics() if d.code == "index-mismatch"]
    assert [(d.field, d.severity) for d in found] == [("name", "warning"), ("description", "warning")]
    assert skills.read("mail", "SKILL.md").text() == other
    router = SkillRouter(merge(skills))
    assert router.activate("mail").skill.name == "mail"
    with pytest.raises(InvalidSkillError, match="The index gives the name 'mail', the skill itself 'post'"):
        source(site, profile=STRICT).load("mail")


def test_folded_white_space_is_no_difference(site: Site) -> None:
    body = MAIL.replace("Sorts mail.", ">\n  Sorts\n  mail.")
    site.put("/.well-known/agent-skills/mail/SKILL.md", body)
    site.publish(NEW, [entry("mail", body)])
    skills = source(site, profile=STRICT)
    assert skills.load("mail").description == "Sorts mail." and codes(skills) == []


def test_a_file_that_is_gone_or_too_large_or_may_not_be_asked_for_costs_its_skill_only(site: Site) -> None:
    publish(site, "mail")
    site.routes["/large.md"] = endless()
    site.publish(
        NEW,
        [
            entry("mail", MAIL),
            entry("gone", MAIL, url="/gone.md"),
            entry("large", MAIL, url="/large.md"),
            entry("secret", MAIL, url="http://169.254.169.254/latest"),
            entry("huge", MAIL, url="/large.md", type="archive"),
        ],
    )
    skills = source(site, http_limits=HttpLimits(archive_bytes=1000))
    for name, code in (
        ("gone", "skill-file-missing"),
        ("large", "file-too-large"),
        ("secret", "url-refused"),
        ("huge", "file-too-large"),
    ):
        error = outcome(lambda name=name: skills.load(name))
        assert type(error) is (ContentTooLargeError if code == "file-too-large" else InvalidSkillError)
        assert [d.code for d in error.diagnostics] == [code]
    assert skills.load("mail").name == "mail"


def test_a_server_that_fails_is_an_error_of_the_source(site: Site) -> None:
    publish(site, "mail")
    site.put("/.well-known/agent-skills/mail/SKILL.md", "busy", 500)
    with pytest.raises(SourceError, match="answered with the status 500"):
        source(site).load("mail")


# --- freshness --------------------------------------------------------------------------------------------------------


def test_reload_sees_changes_and_asks_with_the_tag_it_has(site: Site) -> None:
    publish(site, "mail")
    body = json.dumps({"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": []})
    skills = source(site)
    router = SkillRouter(skills)
    assert [s.name for s in router.skills()] == ["mail"]
    site.routes[NEW] = tagged(body, "empty")
    assert router.reload().removed == ("mail",)
    site.forget()
    assert not router.reload()
    assert site.requests[-1].headers["if-none-match"] == '"empty"'
    edited = MAIL.replace("Begin", "Go on")
    publish(site, "mail", "pdf")
    assert router.reload().added == ("mail", "pdf")
    site.put("/.well-known/agent-skills/mail/SKILL.md", edited)
    site.publish(NEW, [entry("mail", edited), entry("pdf", PDF)])
    assert router.reload().changed == ("mail",)
    assert "Go on." in router.activate("mail").text


def test_an_index_that_is_no_longer_fresh_is_asked_for_again_by_every_call(site: Site) -> None:
    publish(site, "mail")
    skills = source(site, http_limits=HttpLimits(fresh=0))
    skills.load("mail")
    publish(site, "pdf")
    assert skills.load("pdf").name == "pdf"
    with pytest.raises(SkillNotFoundError):
        skills.load("mail")


def test_a_site_that_takes_up_the_newer_form_is_noticed_by_the_next_listing(site: Site) -> None:
    publish_old(site)
    skills = source(site)
    skills.list()
    publish(site, "pdf")
    assert skills.load("mail").name == "mail"
    assert [s.name for s in skills.list()] == ["pdf"]


# --- sites that are none ----------------------------------------------------------------------------------------------


def test_a_site_without_an_index_is_an_error_and_not_an_empty_source(site: Site) -> None:
    with pytest.raises(SourceError, match="publishes no skills: there is no"):
        source(site).list()
    with pytest.raises(SourceError, match="publishes no skills"):
        source(site, "/index.json").diagnostics()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<!doctype html>", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff\xfe{", "is not JSON"),
        ("[]", "no list 'skills'"),
        ('{"skills": {}}', "no list 'skills'"),
    ],
)
def test_a_page_that_is_no_index_is_an_error(site: Site, body: bytes | str, words: str) -> None:
    site.put(NEW, body)
    site.put(OLD, body)
    with pytest.raises(SourceError, match=words):
        source(site).list()


def test_a_site_that_answers_every_address_with_a_page_may_still_have_the_older_form(site: Site) -> None:
    publish_old(site)
    site.put(NEW, "<!doctype html>")
    assert [s.name for s in source(site).list()] == ["mail"]


@pytest.mark.parametrize("route", [silent, dripping_body()], ids=["silent", "drips"])
def test_a_site_that_takes_its_time_is_left_at_the_deadline(site: Site, route: Any) -> None:
    publish(site, "mail")
    quick = HttpLimits(deadline=0.5)
    site.routes["/.well-known/agent-skills/mail/SKILL.md"] = route
    assert isinstance(outcome(lambda: source(site, http_limits=quick).load("mail")), UnreachableError)
    site.routes[NEW] = route
    assert isinstance(outcome(lambda: source(site, http_limits=quick).list()), UnreachableError)


def test_an_index_past_its_bound_is_refused_and_one_that_is_denied_says_what_to_do(site: Site) -> None:
    site.routes[NEW] = endless()
    with pytest.raises(SourceError, match="is larger than 1048576 bytes"):
        source(site).list()
    site.put(NEW, "who are you", 401)
    with pytest.raises(SourceError, match=r"status 401\. Credentials go into headers"):
        source(site).list()
    site.routes[NEW] = in_turn(reply("busy", 503), reply('{"skills": []}'))
    assert source(site).list() == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["mail", "a b", "..", "\ud800", "x" * 99]) | JSON,
        "description": st.text(max_size=20) | JSON,
        "type": st.sampled_from(["skill-md", "archive"]) | JSON,
        "url": st.sampled_from(["a/SKILL.md", "//h/a", "http://[", "\ud800", "https://h:99999/"]) | JSON,
        "digest": st.just(digest("x")) | JSON,
        "files": st.lists(st.just("SKILL.md") | st.fixed_dictionaries({"path": JSON}) | JSON, max_size=3) | JSON,
    },
)


@given(
    st.fixed_dictionaries({"skills": st.lists(ENTRY | JSON, max_size=4)}, optional={"$schema": st.just(SCHEMA) | JSON})
)
@settings(max_examples=300, deadline=None)
def test_whatever_an_index_holds_reading_it_gives_an_index(root: Any) -> None:
    data = json.dumps(root).encode()
    for profile in (LENIENT, STRICT, NAMESPACED):
        index = read_index(data, url="https://a.example/index.json", label="a", profile=profile, limits=Limits())
        assert all(name_key(e.summary.name) == key for key, e in index.entries.items())
        assert all(e.url.startswith(("https://", "http://")) for e in index.entries.values())
        assert not index.broken.keys() & index.entries.keys()
        assert all(d.message.isprintable() for d in index.diagnostics)


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "skillbelt\[remote\]"'):
        http_source("https://example.com")


@pytest.mark.parametrize(
    "url", ["http://example.com", "ftp://example.com", "https://10.0.0.1/", "https://u:sesame@example.com", "example"]
)
def test_a_url_that_may_not_be_asked_is_refused_at_once(url: str) -> None:
    with pytest.raises(RefusedUrlError) as caught:
        http_source(url)
    assert "sesame" not in str(caught.value)


def test_a_transport_of_the_callers_carries_the_requests() -> None:
    pages = {NEW: json.dumps({"skills": [{"name": "mail", "description": "Sorts mail.", "files": ["SKILL.md"]}]})}
    pages["/.well-known/agent-skills/mail/SKILL.md"] = MAIL
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=pages[request.url.path]))
    skills = http_source("https://skills.example/?key=sesame", transport=transport, profile=LENIENT)
    assert skills.load("mail").source == "https://skills.example/"
    assert "sesame" not in repr(skills) + str(skills.diagnostics())
