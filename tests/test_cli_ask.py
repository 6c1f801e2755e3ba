"""``skillbelt ask``: a real agent loop in both frameworks, offline and over HTTP against a loopback provider."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openai_server import OpenAIServer
from skillbelt import SkillRouter, SourceError, examples
from skillbelt.cli import langchain_run
from skillbelt.cli.app import app
from skillbelt.cli.models import failure, llama_index_model
from skillbelt.cli.steps import FileRead, Recorder, Refused, SkillLoaded, SkillsFound, ToolReturned
from skillbelt.events import ResourceRead, SkillActivated, SkillFailed, SkillsSearched

FRAMEWORKS = ["langchain", "llama-index"]
MODELS = [("langchain", "openai:test-model"), ("llama-index", "openai:gpt-4o-mini")]
QUESTION = "Roll back the staging deployment: what about database migrations?"
LABEL = "offline rule-based model, no LLM; pass --model provider:name for a real one"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep keys and addresses of the machine out of the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "SKILLBELT_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A provider on the loopback, and the environment that points to it."""
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        yield server


def ask(*args: str) -> Any:
    return CliRunner().invoke(app, ["ask", *args], prog_name="skillbelt")


def record(*args: str) -> dict[str, Any]:
    """Ask for JSON and return it; it must be alone on standard output."""
    result = ask(*args, "--json")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def refused(result: Any, code: int) -> str:
    assert result.exit_code == code, result.output
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    return str(result.stderr)


# --- offline --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_ask_shows_every_step_of_a_real_run_on_the_shipped_skills(framework: str) -> None:
    result = ask(QUESTION, "--framework", framework)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:3] == [f"Question   {QUESTION}", f"Framework  {framework}", f"Model      {LABEL}"]
    assert lines[3].startswith("Catalog    3 skills, about ")
    assert lines[3].endswith(" tokens: csv-quality-check, deploy-to-staging, incident-report")
    assert "1. load_skill(name='deploy-to-staging')" in lines
    loaded = next(row for row in lines if row.startswith("   1: "))
    assert loaded.startswith("   1: skill deploy-to-staging loaded, ")
    read = next(row for row in lines if row.startswith("   2: "))
    assert read.startswith("   2: file ")
    path = read.split()[2]
    assert f"2. read_skill_resource(name='deploy-to-staging', path='{path}')" in lines
    answer = lines[lines.index("Answer") :]
    assert answer[1] == "[offline rule-based model, no LLM]"
    assert f"From {path}:" in answer
    assert "\x1b" not in result.stdout


def test_both_frameworks_take_the_same_steps_and_give_the_same_answer() -> None:
    one, other = (record(QUESTION, "--framework", framework) for framework in FRAMEWORKS)
    assert [one.pop("framework"), other.pop("framework")] == FRAMEWORKS
    assert one == other
    assert one["skills_loaded"] == ["deploy-to-staging"]
    assert one["offline"] is True
    (first, *_) = one["files_read"]
    assert first["skill"] == "deploy-to-staging"
    assert (examples.path() / first["skill"] / first["path"]).is_file()
    assert first["path"] in one["answer"]


def test_the_json_has_stable_keys() -> None:
    found = record(QUESTION)
    assert list(found) == [
        "question",
        "framework",
        "model",
        "offline",
        "catalog",
        "system_prompt",
        "steps",
        "skills_loaded",
        "files_read",
        "answer",
        "diagnostics",
    ]
    assert found["catalog"].keys() == {"count", "tokens", "shown", "omitted"}
    assert [step["type"] for step in found["steps"]][:3] == ["tool_called", "skill_loaded", "tool_called"]
    router = SkillRouter.from_directory(examples.path())
    assert found["steps"][1]["digest"] == router.activate("deploy-to-staging").skill.digest


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_verbose_prints_the_system_prompt_that_was_sent(framework: str) -> None:
    prompt = SkillRouter.from_directory(examples.path()).prompt()
    sent = record(QUESTION, "--framework", framework)["system_prompt"]
    assert sent.startswith("You are a helpful assistant.")
    assert sent.endswith(f"\n\n{prompt}")
    result = ask(QUESTION, "--framework", framework, "--verbose")
    assert f"\nSystem prompt sent to the model\n{sent}\n" in result.stdout
    assert prompt not in ask(QUESTION, "--framework", framework).stdout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_ask_takes_own_folders_and_says_what_they_left_out(skills_dir: Path, tmp_path: Path, framework: str) -> None:
    (tmp_path / "more/bad").mkdir(parents=True)
    (tmp_path / "more/bad/SKILL.md").write_text("---\nname: bad\n---\nBody.\n")
    args = ["Sort my mail", "--skills", str(skills_dir), "--skills", str(tmp_path / "more"), "--framework", framework]
    result = ask(*args)
    assert result.exit_code == 0
    assert "skill mail-sorter loaded" in result.stdout
    assert "file references/rules.md of mail-sorter read, 22 of 22 bytes" in result.stdout
    assert "error[description-missing]" in result.stderr
    found = json.loads(ask(*args, "--json").stdout)
    assert [diagnostic["code"] for diagnostic in found["diagnostics"]] == ["description-missing"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_question_that_fits_no_skill_is_answered_without_loading_one(framework: str) -> None:
    found = record("Knit me a jumper", "--framework", framework)
    assert (found["steps"], found["skills_loaded"], found["files_read"]) == ([], [], [])
    assert "No skill in the catalog fits" in found["answer"]


def test_a_folder_without_usable_skills_is_refused(tmp_path: Path) -> None:
    said = refused(ask("Sort my mail", "--skills", str(tmp_path)), 1)
    assert f"There is no skill for a model in '{tmp_path}'; look why with: skillbelt validate DIR" in said


def test_text_of_skills_and_questions_cannot_steer_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: mail\ndescription: Sorts [bold]mail[/bold].\n---\n1. \x1b[31mGo\x1b[0m.\n"
    )
    result = ask("Sort \x1b[31mmail", "--skills", str(tmp_path), "-v")
    assert result.exit_code == 0
    assert "[bold]mail[/bold]" in result.stdout
    assert "\ufffd[31mGo" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


# --- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("framework", "model"), MODELS)
def test_a_provider_is_asked_over_http_and_the_run_is_the_same(
    provider: OpenAIServer, framework: str, model: str
) -> None:
    offline = record(QUESTION, "--framework", framework)
    found = record(QUESTION, "--framework", framework, "--model", model)
    assert (found["model"], found["offline"]) == (model, False)
    for key in ("steps", "skills_loaded", "files_read", "answer", "system_prompt"):
        assert found[key] == offline[key]
    first, last = provider.requests[0], provider.requests[-1]
    assert first["model"] == model.partition(":")[2]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["load_skill", "read_skill_resource"]
    enum = first["tools"][0]["function"]["parameters"]["properties"]["name"]["enum"]
    assert enum == ["csv-quality-check", "deploy-to-staging", "incident-report"]
    tool_texts = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert len(tool_texts) == len(found["steps"]) // 2
    assert "<skill_content" in str(tool_texts[0])
    assert {request.get("stream", False) for request in provider.requests} == {framework == "llama-index"}


def test_langchain_streams_over_http_too(provider: OpenAIServer) -> None:
    from langchain.chat_models import init_chat_model

    steps: list[object] = []
    recorder = Recorder(steps.append)
    router = SkillRouter.from_directory(examples.path(), on_event=recorder.on_event)
    model = init_chat_model("test-model", model_provider="openai", streaming=True)
    langchain_run.run(router, QUESTION, base="Be brief.", model=model, recorder=recorder)
    assert any(isinstance(step, SkillLoaded) for step in steps)
    assert all(request["stream"] for request in provider.requests)


def test_the_label_of_a_real_model_is_its_name(provider: OpenAIServer) -> None:
    result = ask(QUESTION, "--model", "openai:test-model")
    assert "\nModel      openai:test-model\n" in result.stdout
    assert LABEL not in result.stdout


def test_openai_api_base_wins_over_openai_base_url_in_llama_index(
    provider: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", provider.url)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert record(QUESTION, "--framework", "llama-index", "--model", "openai:gpt-4o-mini")["skills_loaded"]


@pytest.mark.parametrize(("framework", "model"), MODELS)
def test_a_wrong_key_is_one_sentence_and_never_printed(
    provider: OpenAIServer, monkeypatch: pytest.MonkeyPatch, framework: str, model: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-and-wrong")
    said = refused(ask(QUESTION, "--framework", framework, "--model", model), 1)
    assert f"error: {model}: there is no valid key; set the provider's variable" in said
    assert "Incorrect API key provided: $OPENAI_API_KEY." in said
    assert "sk-very" not in said


@pytest.mark.parametrize(("framework", "model"), MODELS)
def test_no_key_at_all_is_one_sentence(framework: str, model: str) -> None:
    said = refused(ask(QUESTION, "--framework", framework, "--model", model), 1)
    assert "there is no valid key" in said
    assert "OPENAI_API_KEY" in said


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients give up at once: how they wait between tries is theirs to test."""
    monkeypatch.setattr("openai._base_client.BaseClient._calculate_retry_timeout", lambda *_, **__: 0)


@pytest.mark.parametrize(("framework", "model"), MODELS)
@pytest.mark.usefixtures("impatient")
def test_a_provider_that_cannot_be_reached_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, framework: str, model: str
) -> None:
    with OpenAIServer() as gone:
        url = gone.url
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    said = refused(ask(QUESTION, "--framework", framework, "--model", model), 1)
    assert f"error: {model}: the provider cannot be reached; check the network and the base URL." in said


@pytest.mark.usefixtures("impatient")
def test_a_provider_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(broken=418) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        said = refused(ask(QUESTION, "--model", "openai:test-model"), 1)
    assert "openai:test-model: the run failed; --debug shows where." in said
    assert "The server is out of order." in said


# --- which model ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        (
            "langchain",
            "error: LangChain needs a package for 'mistralai' models; "
            "install it with: pip install langchain-mistralai\n",
        ),
        (
            "llama-index",
            "error: LlamaIndex needs a package for 'mistralai' models; "
            "install it with: pip install llama-index-llms-mistralai\n",
        ),
    ],
)
def test_a_missing_provider_package_is_named(framework: str, said: str) -> None:
    assert refused(ask(QUESTION, "--framework", framework, "--model", "mistralai:x"), 2) == said


def test_an_unknown_provider_is_answered_with_the_known_ones() -> None:
    said = refused(ask(QUESTION, "--model", "nonsense:x"), 2)
    assert "LangChain does not know this provider." in said
    assert "openai" in said


def test_a_missing_framework_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for framework in FRAMEWORKS:
        module = framework.replace("-", "_")
        monkeypatch.delitem(sys.modules, f"skillbelt.cli.{module}_run", raising=False)
        monkeypatch.delattr(f"skillbelt.cli.{module}_run", raising=False)
        monkeypatch.setitem(sys.modules, f"skillbelt.{module}", None)
        said = refused(ask(QUESTION, "--framework", framework), 2)
        assert said.endswith(f'pip install "skillbelt[{framework}]"\n')


def test_a_model_name_that_llama_index_does_not_know_gets_a_hint(provider: OpenAIServer) -> None:
    said = refused(ask(QUESTION, "--framework", "llama-index", "--model", "openai:test-model"), 1)
    assert "for another server that speaks its protocol use --model openai-like:NAME" in said


def test_a_class_for_servers_of_any_make_is_told_that_the_model_calls_tools(
    provider: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llama_index.core.base.llms.types import LLMMetadata
    from llama_index.llms.openai import OpenAI

    class OpenAILike(OpenAI):
        """What llama-index-llms-openai-like adds, as far as it matters here."""

        is_chat_model: bool = False
        is_function_calling_model: bool = False

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(
                is_chat_model=self.is_chat_model, is_function_calling_model=self.is_function_calling_model
            )

    module = types.ModuleType("llama_index.llms.openai_like")
    OpenAILike.__module__ = module.__name__
    module.OpenAILike, module.OpenAI = OpenAILike, OpenAI  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = record(QUESTION, "--framework", "llama-index", "--model", "openai-like:anything")
    assert found["skills_loaded"] == ["deploy-to-staging"]
    assert provider.requests[0]["model"] == "anything"


def test_a_package_whose_classes_are_called_otherwise_gives_its_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from skillbelt.testing import OfflineLLM

    module = types.ModuleType("llama_index.llms.somewhere")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def home(name: str) -> type:
        return type(name, (OfflineLLM,), {"__module__": module.__name__})

    module.First = home("First")  # type: ignore[attr-defined]
    assert type(llama_index_model("somewhere:x")).__name__ == "First"
    module.Second = home("Second")  # type: ignore[attr-defined]
    said = refused(ask(QUESTION, "--framework", "llama-index", "--model", "somewhere:x"), 2)
    assert "llama_index.llms.somewhere has no LLM class called like 'somewhere' (it has: First, Second)." in said


def test_a_provider_package_that_lacks_a_module_of_its_own_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import llama_index.llms

    (tmp_path / "halfway.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.setattr(llama_index.llms, "__path__", [*llama_index.llms.__path__, str(tmp_path)])
    said = refused(ask(QUESTION, "--framework", "llama-index", "--model", "halfway:x"), 1)
    assert "No module named 'no_such_module_anywhere'" in said


def test_a_provider_that_refuses_its_options_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def init_chat_model(*_: object, **__: object) -> None:
        raise ValueError("The temperature is too high.")

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init_chat_model)
    said = refused(ask(QUESTION, "--model", "openai:x"), 1)
    assert "openai:x: the run failed; --debug shows where. (ValueError: The temperature is too high.)" in said


def test_skills_that_cannot_be_read_any_more_are_no_failure_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise SourceError("The skills folder cannot be read: Input/output error.")

    monkeypatch.setattr(langchain_run, "run", run)
    assert refused(ask(QUESTION), 2) == "error: The skills folder cannot be read: Input/output error.\n"


# --- failures as sentences ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (type("AuthenticationError", (Exception,), {})("no"), "there is no valid key"),
        (type("Denied", (Exception,), {"status_code": 403})("no"), "there is no valid key"),
        (ValueError("Did not find ANTHROPIC_API_KEY"), "there is no valid key"),
        (type("ReadTimeout", (Exception,), {})("slow"), "did not answer in time"),
        (ConnectionRefusedError("refused"), "cannot be reached"),
        (ValueError(), "the run failed; --debug shows where. (ValueError: no reason was given)"),
        (ValueError("x" * 1000), "xxx …)"),
    ],
)
def test_a_failure_of_a_provider_becomes_a_sentence(error: Exception, said: str) -> None:
    found = failure(error, "some:model")
    assert str(found).startswith("some:model: ")
    assert said in str(found)
    assert found.code == 1


def test_what_a_framework_wraps_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "abcdefgh12345")
    inner = type("APIStatusError", (Exception,), {"status_code": 401})("bad abcdefgh12345")
    outer = RuntimeError("step failed")
    outer.__cause__, inner.__cause__ = inner, outer  # a chain may even be a ring
    assert str(failure(outer, "m")).endswith("(APIStatusError: bad $SOME_TOKEN)")


# --- steps ----------------------------------------------------------------------------------------------------------


def test_results_of_parallel_calls_are_told_apart() -> None:
    recorder = Recorder(lambda _: None)
    recorder.called("1", "load_skill", {"name": "Mail"})
    recorder.called("2", "read_skill_resource", {"name": "mail", "path": "./a.md"})
    recorder.called("3", "read_skill_resource", {"name": "mail", "path": "b.md"})
    recorder.called("4", "load_skill", {"name": "nope"})
    recorder.called("5", "search_skills", {"query": "pdf"})
    recorder.called("6", "load_skill", {"name": "mail"})
    recorder.called("7", "weather", {})
    for event in (
        SkillsSearched("pdf", ("pdf",)),
        SkillFailed("nope", None, ValueError("no")),
        ResourceRead("mail", "b.md", 0, 2, 2),
        ResourceRead("mail", "a.md", 0, 1, 1),
        SkillActivated("mail", "d", 9, truncated=False),
    ):
        recorder.on_event(event)
    for call_id in "1234567":
        recorder.returned(call_id, "text", failed=call_id == "7")
    recorder.returned("8", "text", failed=False)
    assert recorder.steps[7:] == [
        SkillLoaded("1", "mail", 9, truncated=False, digest="d"),
        FileRead("2", "mail", "a.md", 0, 1, 1),
        FileRead("3", "mail", "b.md", 0, 2, 2),
        Refused("4", "load_skill", "text"),
        SkillsFound("5", "pdf", ("pdf",)),
        ToolReturned("6", "load_skill", 4),
        Refused("7", "weather", "text"),
        ToolReturned("8", "", 4),
    ]


def test_every_kind_of_step_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(router: object, question: str, *, base: str, model: object, recorder: Recorder) -> None:
        for call_id, tool in (("a", "load_skill"), ("b", "search_skills"), ("c", "weather")):
            recorder.called(call_id, tool, {"query": "q" * 100})
        recorder.on_event(SkillsSearched("q" * 100, ()))
        recorder.returned("b", "nothing", failed=False)
        recorder.returned("a", "There is no skill.\nReally.", failed=True)
        recorder.returned("c", "sun", failed=False)
        recorder.answered("Done.")

    monkeypatch.setattr(langchain_run, "run", run)
    lines = ask(QUESTION).stdout.splitlines()
    assert f"1. load_skill(query='{'q' * 58}…)" in lines
    assert "   2: search found nothing" in lines
    assert "   1: refused: There is no skill. Really." in lines
    assert "   3: weather answered, 3 characters" in lines
    assert lines[-2:] == ["Answer", "Done."]
