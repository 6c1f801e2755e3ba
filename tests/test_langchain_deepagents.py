"""deepagents: our middleware beside its own, its summarizer, its subagents; and skills in its backends."""

import posixpath
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langchain_kit import load, look, orphans, place, results, router_of, scenario, skill, system_text, texts, times
from skillbelt import ResourceNotFoundError, ResourceTypeError, SkillRouter, SourceError
from skillbelt.langchain import BackendSource, SkillsMiddleware
from skillbelt.testing import ScriptedChatModel, SourceContract

LAST = "end answers with KETTLE"
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


class Model(ScriptedChatModel):
    """A scripted model that deepagents can give a profile."""


def say(text: str, **state: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)], **state}


def body_of(request: Any) -> str:
    return "".join(texts(request))


# --- in an agent of theirs -------------------------------------------------------------------------------------------


def test_our_middleware_works_in_a_deep_agent_beside_its_own_skills(tmp_path):
    theirs = tmp_path / "theirs"
    (theirs / "cook").mkdir(parents=True)
    (theirs / "cook" / "SKILL.md").write_text(skill("cook", "Cook it."))
    router = router_of(mail="Sort the mail.")
    model = Model([[load("mail")], "done"])
    agent = create_deep_agent(
        model,
        backend=FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True),
        skills=["/theirs"],
        middleware=[SkillsMiddleware(router)],
    )
    out = agent.invoke(say("go"))
    first = system_text(model.requests[0])
    assert '<skill name="mail">' in first and "cook" in first
    assert times(model.requests[1], "Sort the mail.") == 1
    assert [record["name"] for record in out["active_skills"]] == ["mail"]


@pytest.mark.parametrize("order", ["ours first", "ours last"])
def test_c08_their_summarizer_takes_messages_away_and_the_skill_stays_once_after_the_summary(tmp_path, order):
    router = SkillRouter.from_directory(scenario("C08", tmp_path))
    backend = FilesystemBackend(root_dir=str(tmp_path / "files"), virtual_mode=True)
    writer = ScriptedChatModel(["SUMMARY OF OLD TIMES"] * 20)
    theirs = SummarizationMiddleware(writer, backend=backend, trigger=("messages", 8), keep=("messages", 4))
    ours = SkillsMiddleware(router)
    steps = [[load("rule-book"), ("look", {"at": "the sea"})], "loaded", *[f"answer {n}" for n in range(12)]]
    model = ScriptedChatModel(steps)
    middleware = [ours, theirs] if order == "ours first" else [theirs, ours]
    agent = create_agent(model, tools=[look], middleware=middleware, checkpointer=InMemorySaver())
    for turn in range(13):
        agent.invoke(say(f"question {turn}"), CONFIG)
    after = [request for request in model.requests if times(request, "SUMMARY OF OLD TIMES")]
    assert len(after) >= 6
    for request in model.requests[1:]:
        assert times(request, LAST) == 1
        assert orphans(request) == []
    for request in after:
        assert place(request, "SUMMARY OF OLD TIMES") < place(request, LAST)
        assert "already in use" in texts(request)[place(request, LAST)]
        assert "saw the sea" not in body_of(request)


@pytest.mark.parametrize("order", ["ours first", "ours last"])
def test_a_skill_the_user_chose_outlives_their_summarizer_as_well(tmp_path, order):
    router = router_of(fill="Fill $ARGUMENTS with care.")
    backend = FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True)
    writer = ScriptedChatModel(["SUMMARY OF OLD TIMES"] * 20)
    theirs = SummarizationMiddleware(writer, backend=backend, trigger=("messages", 8), keep=("messages", 4))
    ours = SkillsMiddleware(router)
    model = ScriptedChatModel([f"answer {n}" for n in range(12)])
    middleware = [ours, theirs] if order == "ours first" else [theirs, ours]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke(say("/fill form 7"), CONFIG)
    for turn in range(11):
        agent.invoke(say(f"question {turn}"), CONFIG)
    assert times(model.requests[-1], "SUMMARY OF OLD TIMES") == 1
    for request in model.requests:
        assert times(request, "Fill form 7 with care.") == 1
        assert orphans(request) == []


def test_a_result_that_they_move_into_a_file_is_filled_again(tmp_path):
    body = "\n".join(f"Rule {number} of a very long book of rules." for number in range(3000))
    router = router_of(big=body)
    model = Model([[load("big")], "done"])
    agent = create_deep_agent(
        model,
        backend=FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True),
        middleware=[SkillsMiddleware(router)],
    )
    out = agent.invoke(say("go"))
    kept = next(m for m in out["messages"] if isinstance(m, ToolMessage))
    sent = next(m for m in results(model.requests[1]))
    assert "Rule 100 of" in sent.content and "output truncated" in sent.content
    assert len(sent.content) < len(body) and '<skill_content name="big">' in sent.content
    assert [record["name"] for record in out["active_skills"]] == ["big"]
    assert kept.tool_call_id == sent.tool_call_id


def test_subagents_get_the_skills_they_are_given_and_leave_their_parents_alone(tmp_path):
    router = router_of(a="Alpha.", b="Beta.", c="Gamma.")
    child = Model([[load("b"), load("a")], "child done"])
    parent = Model([[load("a")], [("task", {"description": "work", "subagent_type": "helper"})], "done"])
    agent = create_deep_agent(
        parent,
        backend=FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True),
        middleware=[SkillsMiddleware(router)],
        subagents=[
            {
                "name": "helper",
                "description": "Helps.",
                "system_prompt": "You help.",
                "model": child,
                "middleware": [SkillsMiddleware(router, only=["b", "c"], preload=["c"])],
            }
        ],
        checkpointer=InMemorySaver(),
    )
    out = agent.invoke(say("go"), CONFIG)
    first = child.requests[0]
    assert '<skill name="a">' not in system_text(first) and '<skill name="b">' in system_text(first)
    assert times(first, "Alpha.") == 0 and times(first, "Gamma.") == 1
    assert [m.status for m in results(child.requests[1])] == ["success", "error"]
    assert [record["name"] for record in out["active_skills"]] == ["a"]
    assert times(parent.requests[-1], "Beta.") == times(parent.requests[-1], "Gamma.") == 0


def test_two_subagents_in_one_step_finish(tmp_path):
    router = router_of("a", "b")
    kids = {name: Model([[load(name)], f"{name} done"]) for name in "ab"}
    calls = [("task", {"description": "work", "subagent_type": f"helper-{name}"}) for name in "ab"]
    parent = Model([calls, "done"])
    agent = create_deep_agent(
        parent,
        backend=FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True),
        middleware=[SkillsMiddleware(router)],
        subagents=[
            {
                "name": f"helper-{name}",
                "description": "Helps.",
                "system_prompt": "You help.",
                "model": kids[name],
                "middleware": [SkillsMiddleware(router)],
            }
            for name in "ab"
        ],
    )
    out = agent.invoke(say("go"))
    assert sorted(m.content for m in results(parent.requests[-1])) == ["a done", "b done"]
    assert out["active_skills"] == []


# --- skills in a backend of theirs -----------------------------------------------------------------------------------


def upload(backend: Any, files: dict[str, bytes], root: str = "/skills") -> Any:
    responses = backend.upload_files([(f"{root}/{path}", data) for path, data in files.items()])
    assert [r.error for r in responses] == [None] * len(files)
    return backend


def store() -> Any:
    return StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",))


FILES = {
    "mail/SKILL.md": skill("mail", "Begin. See references/rules.md.").encode(),
    "mail/references/rules.md": b"Receipts go to Money.\n",
    "mail/logo.bin": b"\x00\xff",
}


@pytest.mark.parametrize("kind", ["disk", "store", "composite"])
def test_skills_are_read_from_a_backend(tmp_path, kind):
    disk = FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True)
    backend = {
        "disk": disk,
        "store": store(),
        "composite": CompositeBackend(default=disk, routes={"/skills/": store()}),
    }
    source = BackendSource(upload(backend[kind], FILES))
    assert [s.name for s in source.list()] == ["mail"]
    assert (source.list()[0].location, source.list()[0].source) == ("/skills/mail/SKILL.md", "/skills")
    assert [(i.path, i.size) for i in source.resources("mail")] == [("logo.bin", 2), ("references/rules.md", 22)]
    page = source.read("mail", "references/rules.md", offset=2, max_bytes=3)
    assert (page.data, page.total, page.truncated) == (b"cei", 22, True)
    with pytest.raises(ResourceNotFoundError):
        source.read("mail", "nope.md")
    with pytest.raises((ResourceTypeError, ResourceNotFoundError)):
        source.read("mail", "references")
    router = SkillRouter(source)
    model = ScriptedChatModel([[load("mail")], "done"])
    out = create_agent(model, middleware=[SkillsMiddleware(router)]).invoke(say("go"))
    assert "Skill directory: /skills/mail" in out["messages"][2].content  # as their own file tools name it
    upload(backend[kind], {"mail/SKILL.md": skill("mail", "Go on.").encode()})
    assert "Go on." in router.activate("mail").text


def test_skills_that_live_in_the_state_of_a_run_are_read_inside_of_it():
    router = SkillRouter(BackendSource(StateBackend()))
    model = Model([[load("mail")], "done"])
    agent = create_deep_agent(
        model, backend=StateBackend(), middleware=[SkillsMiddleware(router_for=lambda runtime: router)]
    )
    files = {"/skills/mail/SKILL.md": {"content": skill("mail", "Begin."), "encoding": "utf-8"}}
    agent.invoke(say("go", files=files))
    assert times(model.requests[1], "Begin.") == 1
    with pytest.raises(SourceError, match="cannot be read"):
        SkillRouter(BackendSource(StateBackend())).skills()


def test_what_is_no_backend_or_no_folder_is_said(tmp_path):
    with pytest.raises(SourceError, match="needs a deepagents backend"):
        BackendSource(object())  # type: ignore[arg-type]
    disk = FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True)
    with pytest.raises(SourceError, match="is the folder of the backend"):
        BackendSource(disk, "skills")
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="is not a directory"):
        BackendSource(disk, "/file").list()
    missing = BackendSource(disk, "/nowhere")
    assert missing.list() == () and [d.code for d in missing.diagnostics()] == ["folder-missing"]


class Answers:
    """A backend that answers what it is told to."""

    def __init__(self, listed: Any = None, got: Any = None) -> None:
        self.listed = listed
        self.got = got

    def ls(self, path: str) -> Any:
        if isinstance(self.listed, Exception):
            raise self.listed
        return self.listed

    def download_files(self, paths: list[str]) -> list[Any]:
        return [self.got]


def test_failures_of_a_backend_are_one_kind_of_error():
    from deepagents.backends.protocol import FileDownloadResponse, LsResult

    with pytest.raises(SourceError, match="PermissionError"):
        BackendSource(Answers(PermissionError("no"))).list()
    with pytest.raises(SourceError, match="cannot be listed: on fire"):
        BackendSource(Answers(LsResult(error="on fire"))).list()
    tree = BackendSource(Answers(got=FileDownloadResponse("x", None, "permission_denied")))._tree
    with pytest.raises(SourceError, match="permission_denied"):
        tree.read("mail", "x", size=1)
    for error, kind in (("is_directory", ResourceTypeError), ("invalid_path", Exception)):
        with pytest.raises(kind):
            BackendSource(Answers(got=FileDownloadResponse("x", None, error)))._tree.read("mail", "x", size=1)
    huge = FileDownloadResponse("x", bytes(64 * 1024 * 1024 + 1), None)
    with pytest.raises(ResourceTypeError, match="too large"):
        BackendSource(Answers(got=huge))._tree.read("mail", "x", size=1)


class TestBackendSource(SourceContract):
    """The contract of a source, on a store: a place without links."""

    holds_links = False

    def make(self, files: Any, **options: Any) -> BackendSource:
        return BackendSource(upload(store(), dict(files), "/skills"), "/skills", **options)

    def change(self, source: BackendSource, files: Any) -> None:
        tree: Any = source._tree
        backend = tree._backend
        for item in list(backend._get_store().search(("files",), limit=10_000)):
            backend._get_store().delete(("files",), item.key)
        upload(backend, dict(files), "/skills")


def test_names_are_joined_as_the_backend_names_them():
    tree: Any = BackendSource(store(), "/")._tree
    assert (tree.where("mail"), tree.where(""), tree.name, tree.label) == ("/mail", "/", None, "/")
    assert posixpath.isabs(tree.where("a/b"))
