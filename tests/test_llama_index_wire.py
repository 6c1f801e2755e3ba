"""LlamaIndex agents through the client of OpenAI, on the wire: recorded from a scripted server, replayed blocked.

See ``tests/cassettes/llama_index/README.md`` for what that shows and what it does not.
"""

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import vcr
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.llms.openai import OpenAI
from pytest_socket import disable_socket, enable_socket

from llama_index_kit import Story, answer, react, skill
from skillbelt import MappingSource, SkillRouter
from skillbelt.llama_index import SkillFunctionAgent, SkillReActAgent, Skills, SkillsMemoryBlock, skill_tools
from skillbelt.testing import ScriptedLLM
from wire_server import WireServer

pytestmark = pytest.mark.filterwarnings("ignore:A test tried to use:UserWarning")

CASSETTES = Path(__file__).parent / "cassettes" / "llama_index"
RECORD = os.environ.get("SKILLBELT_RECORD") == "1"
KEY = "sk-not-a-real-key"
NOWHERE = "http://127.0.0.1:9"
KEPT_HEADERS = {"content-type", "accept"}
NUMBER = 10

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
    names = sorted(tool["function"]["name"] for tool in sent.get("tools") or [])
    return {**{key: sent.get(key) for key in ("model", "stream", "messages")}, "tools": names}


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


def chat(url: str) -> OpenAI:
    return OpenAI(model="gpt-4o-mini", api_base=f"{url}/v1", api_key=KEY, max_retries=0)


def router() -> SkillRouter:
    return SkillRouter(MappingSource(FILES))


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", ["agent", "tools"])
async def test_a_conversation_with_skills_runs_through_the_client(kind, streaming):
    # A plain agent has the results of one message in the order in which they came in: another one at each run.
    steps = [LOAD, READ, BOTH if kind == "agent" else BOTH[-1:], "Sorted. KETTLE"]
    with wire(f"openai-{kind}-{'streamed' if streaming else 'whole'}", steps) as url:
        options: dict[str, Any] = {"llm": chat(url), "streaming": streaming}
        if kind == "agent":
            agent: Any = SkillFunctionAgent(skills=router(), system_prompt="You are a clerk.", **options)
        else:
            agent = FunctionAgent(
                tools=skill_tools(router()), system_prompt=router().prompt("You are a clerk."), **options
            )
        story = Story(agent, ScriptedLLM([]))
        assert await story.say("Sort my mail.") == "Sorted. KETTLE"
    answers = [event.tool_output for event in story.events if type(event).__name__ == "ToolCallResult"]
    texts = sorted((output.content for output in answers), key=len)
    assert len(texts) == (5 if kind == "agent" else 3) and any("Receipts go to Money." in text for text in texts)
    assert any("Did you mean 'mail'" in text for text in texts)
    assert sum("</skill_content>" in text for text in texts) == 1
    assert sum("loaded already" in text for text in texts) == (2 if kind == "agent" else 0)


@pytest.mark.parametrize("form", ["pair", "message", "block"])
async def test_what_is_put_back_is_a_request_the_wire_takes(form):
    long = "line " * 60
    steps = [LOAD, "one", long, long, long, LOAD, "four"]
    skills = Skills(router(), restore="message" if form == "block" else form)
    with wire(f"openai-restored-{form}", steps) as url:
        if form == "block":
            agent: Any = FunctionAgent(tools=skills.tools(), system_prompt="You are a clerk.", llm=chat(url))
            block = SkillsMemoryBlock(skills)
            memory: Any = Memory.from_defaults(token_limit=300, token_flush_size=1, memory_blocks=[block])
        else:
            agent = SkillFunctionAgent(skills=skills, system_prompt="You are a clerk.", llm=chat(url))
            memory = ChatMemoryBuffer.from_defaults(token_limit=200)
        story = Story(agent, ScriptedLLM([]), memory=memory)
        for turn in range(5):
            said = await story.say(f"question {turn}")
    assert said == "four"
    outputs = [event.tool_output.content for event in story.events if type(event).__name__ == "ToolCallResult"]
    assert "loaded already" in outputs[-1]
    assert any(getattr(event, "kind", "") == "restored" for event in story.events)


async def test_a_slash_mention_and_a_handoff_are_requests_the_wire_takes():
    handoff = [("handoff", {"to_agent": "clerk", "reason": "mail"})]
    with wire("openai-workflow", [handoff, LOAD, "done"]) as url:
        front = SkillFunctionAgent(skills=router(), name="front", description="Talks.", llm=chat(url))
        clerk = SkillFunctionAgent(skills=router(), name="clerk", description="Works.", llm=chat(url))
        flow = AgentWorkflow(agents=[front, clerk], root_agent="front")
        assert await Story(flow, ScriptedLLM([])).say("/mail all of it") == "done"


async def test_a_react_agent_speaks_through_the_client():
    with wire("openai-react", [react("load_skill", name="mail"), answer("KETTLE")]) as url:
        agent = SkillReActAgent(skills=router(), system_prompt="You are a clerk.", llm=chat(url))
        assert await Story(agent, ScriptedLLM([])).say("Sort my mail.") == "KETTLE"


async def test_of_a_picture_the_client_sends_the_line_beside_it_only():
    with wire("openai-picture", [SHOW, "seen"]) as url:
        agent = SkillFunctionAgent(skills=Skills(router(), media=True), llm=chat(url))
        assert await Story(agent, ScriptedLLM([])).say("show it") == "seen"
    text = (CASSETTES / "scripted-openai-picture.yaml").read_text()
    assert "logo.png" in text and "image_url" not in text, "as LlamaIndex's client has it; the docs say so"


# --- that this file can fail ------------------------------------------------------------------------------------------


@pytest.mark.skipif(RECORD, reason="nothing to replay while recording")
async def test_another_prompt_does_not_replay():
    agent = SkillReActAgent(skills=router(), system_prompt="You are someone else.", llm=chat(NOWHERE))
    with pytest.raises(Exception, match="Connection error"), wire("openai-react", []):
        await Story(agent, ScriptedLLM([])).say("Sort my mail.")


@pytest.mark.skipif(RECORD, reason="nothing to read while recording")
def test_no_key_no_host_and_no_path_of_a_machine_is_in_a_cassette():
    files = sorted(CASSETTES.glob("scripted-*.yaml"))
    assert len(files) == NUMBER
    for file in files:
        text = file.read_text()
        assert KEY not in text and "127.0.0.1" not in text and "authorization" not in text.lower()
        assert "x-stainless" not in text.lower() and "user-agent" not in text.lower()
        assert not re.search(r"/(home|root|tmp|Users)/", text)
        assert file.stat().st_size < 80_000
