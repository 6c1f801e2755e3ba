"""Agents through the clients of OpenAI and Anthropic, on the wire: recorded from a scripted server, replayed blocked.

See ``tests/cassettes/README.md`` for what that shows and what it does not.
"""

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import vcr
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pytest_socket import disable_socket, enable_socket

from langchain_kit import skill
from skillbelt import MappingSource, SkillRouter
from skillbelt.langchain import SkillsMiddleware
from skillbelt.testing import ScriptedChatModel
from wire_server import WireServer

pytestmark = pytest.mark.filterwarnings("ignore:A test tried to use:UserWarning")

CASSETTES = Path(__file__).parent / "cassettes"
RECORD = os.environ.get("SKILLBELT_RECORD") == "1"
KEY = "sk-not-a-real-key"
NOWHERE = "http://127.0.0.1:9"
KEPT_HEADERS = {"content-type", "accept"}

FILES: dict[str, str | bytes] = {
    "mail/SKILL.md": skill("mail", "Sort by references/rules.md. Last rule: sign with KETTLE."),
    "mail/references/rules.md": "Receipts go to Money.\n",
    "mail/logo.png": b"\x89PNG\r\n\x1a\n picture",
}
LOAD = [("load_skill", {"name": "mail"})]
READ = [("read_skill_resource", {"name": "mail", "path": "references/rules.md"})]
SHOW = [("read_skill_resource", {"name": "mail", "path": "logo.png"})]
BOTH = [*LOAD, *LOAD, ("load_skill", {"name": "male"})]


def _asked(body: Any) -> dict[str, Any]:
    """What a request is known by, whatever the order of its keys and its sampling knobs."""
    sent = json.loads(body)
    names = sorted(t["function"]["name"] if "function" in t else t["name"] for t in sent.get("tools") or [])
    return {**{key: sent.get(key) for key in ("model", "stream", "messages", "system")}, "tools": names}


def _same_body(one: Any, other: Any) -> None:
    assert _asked(one.body) == _asked(other.body)


def _scrubbed_request(request: Any) -> Any:
    request.headers = {key: value for key, value in request.headers.items() if key.lower() in KEPT_HEADERS}
    request.uri = re.sub(r"http://127\.0\.0\.1:\d+", "http://provider.invalid", request.uri)
    return request


def _scrubbed_response(response: Any) -> Any:
    headers = response["headers"].items()
    response["headers"] = {key: value for key, value in headers if key.lower() == "content-type"}
    return response


def recorder() -> Any:
    made = vcr.VCR(
        record_mode="all" if RECORD else "none",
        before_record_request=_scrubbed_request,
        before_record_response=_scrubbed_response,
        decode_compressed_response=True,
        match_on=["method", "path", "chat_body"],
    )
    made.register_matcher("chat_body", _same_body)
    return made


@contextmanager
def wire(name: str, steps: list[Any]) -> Any:
    """Replay a conversation with sockets blocked, or record it from the scripted server."""
    file = CASSETTES / f"scripted-{name}.yaml"
    if RECORD:
        file.unlink(missing_ok=True)
        with WireServer(steps) as server, recorder().use_cassette(str(file)):
            yield server.url
            assert server.refused == []
        return
    disable_socket(allow_unix_socket=True)
    try:
        with recorder().use_cassette(str(file)) as cassette:
            yield NOWHERE
            assert cassette.all_played
    finally:
        enable_socket()


def chat(provider: str, url: str, **options: Any) -> Any:
    if provider == "openai":
        return ChatOpenAI(model="gpt-test", base_url=f"{url}/v1", api_key=KEY, max_retries=0, **options)
    return ChatAnthropic(model_name="claude-test", base_url=url, api_key=KEY, max_retries=0, **options)


def router() -> SkillRouter:
    return SkillRouter(MappingSource(FILES))


CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


async def say(agent: Any, style: str, text: str) -> list[Any]:
    given = {"messages": [HumanMessage(text)]}
    if style == "invoke":
        return agent.invoke(given, CONFIG)["messages"]
    if style == "ainvoke":
        return (await agent.ainvoke(given, CONFIG))["messages"]
    pieces: list[Any] = []
    if style == "stream":
        pieces.extend(agent.stream(given, CONFIG, stream_mode=["messages", "values"]))
    else:
        pieces.extend([piece async for piece in agent.astream(given, CONFIG, stream_mode=["messages", "values"])])
    assert any(kind == "messages" for kind, _ in pieces)
    return [value for kind, value in pieces if kind == "values"][-1]["messages"]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("style", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_conversation_with_skills_runs_through_the_client(provider, style):
    steps = [LOAD, READ, BOTH, "Sorted. KETTLE"]
    kind = "streamed" if "stream" in style else "whole"
    with wire(f"{provider}-{kind}", steps) as url:
        model = chat(provider, url, streaming="stream" in style)
        ours = SkillsMiddleware(router())
        agent = create_agent(model, system_prompt="You are a clerk.", middleware=[ours], checkpointer=InMemorySaver())
        messages = await say(agent, style, "Sort my mail.")
    assert messages[-1].text == "Sorted. KETTLE"
    answers = [m for m in messages if m.type == "tool"]
    assert [m.status for m in answers] == ["success"] * 4 + ["error"]
    assert "Receipts go to Money." in answers[1].content
    assert "loaded already" in answers[2].content and "loaded already" in answers[3].content
    assert "Did you mean 'mail'" in answers[4].content


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("form", ["pair", "message"])
def test_what_is_put_back_after_a_summary_is_a_request_the_wire_takes(provider, form):
    steps = [LOAD, "one", "two", "three", LOAD, "four"]
    with wire(f"{provider}-summary-{form}", steps) as url:
        summary = SummarizationMiddleware(
            ScriptedChatModel(["SUMMARY"] * 9), trigger=("messages", 6), keep=("messages", 3)
        )
        ours = SkillsMiddleware(router(), restore=form)
        agent = create_agent(chat(provider, url), middleware=[summary, ours], checkpointer=InMemorySaver())
        for turn in range(4):
            out = agent.invoke({"messages": [HumanMessage(f"question {turn}")]}, CONFIG)
    assert out["messages"][-1].text == "four"
    assert "loaded already" in out["messages"][-2].content


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_slash_mention_is_a_request_the_wire_takes(provider):
    with wire(f"{provider}-mention", ["done"]) as url:
        agent = create_agent(chat(provider, url), middleware=[SkillsMiddleware(router())])
        out = agent.invoke({"messages": [HumanMessage("/mail all of it")]})
    assert out["messages"][-1].text == "done"


def test_pictures_go_over_the_wire_as_results_of_tools():
    with wire("anthropic-picture", [SHOW, "seen"]) as url:
        agent = create_agent(chat("anthropic", url), middleware=[SkillsMiddleware(router(), media=True)])
        out = agent.invoke({"messages": [HumanMessage("show it")]})
    assert out["messages"][-1].text == "seen"


def test_a_providers_cache_marks_stay_on_a_system_prompt_with_skills():
    with wire("anthropic-cached", [LOAD, "done"]) as url:
        caching = AnthropicPromptCachingMiddleware()
        middleware = [SkillsMiddleware(router()), caching]
        agent = create_agent(chat("anthropic", url), system_prompt="You are a clerk.", middleware=middleware)
        out = agent.invoke({"messages": [HumanMessage("go")]})
    assert out["messages"][-1].text == "done"


# --- that this file can fail ------------------------------------------------------------------------------------------


@pytest.mark.skipif(RECORD, reason="nothing to replay while recording")
def test_another_prompt_does_not_replay():
    agent = create_agent(chat("openai", NOWHERE), middleware=[SkillsMiddleware(router())])
    with pytest.raises(Exception, match="Connection error"), wire("openai-mention", ["done"]):
        agent.invoke({"messages": [HumanMessage("/mail something else")]})


@pytest.mark.skipif(RECORD, reason="nothing to read while recording")
def test_no_key_no_host_and_no_path_of_a_machine_is_in_a_cassette():
    files = sorted(CASSETTES.glob("scripted-*.yaml"))
    assert len(files) == 12
    for file in files:
        text = file.read_text()
        assert KEY not in text and "127.0.0.1" not in text and "authorization" not in text.lower()
        assert "x-stainless" not in text.lower() and "user-agent" not in text.lower()
        assert not re.search(r"/(home|root|tmp|Users)/", text)
        assert file.stat().st_size < 60_000


@pytest.mark.parametrize(
    ("provider", "broken", "why"),
    [
        ("openai", [{"role": "tool", "tool_call_id": "a", "content": "x"}], "answers no call"),
        ("anthropic", [{"role": "assistant", "content": "x"}], "first message"),
        ("anthropic", [{"role": "user", "content": "x"}, {"role": "user", "content": "y"}], "take turns"),
    ],
)
def test_the_scripted_server_refuses_what_a_provider_would(provider, broken, why):
    import httpx

    path = "/v1/chat/completions" if provider == "openai" else "/v1/messages"
    with WireServer(["never"]) as server:
        answer = httpx.post(server.url + path, json={"model": "m", "messages": broken})
        assert answer.status_code == 400 and why in answer.text
        assert len(server.refused) == 1
