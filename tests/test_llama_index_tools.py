"""Skill tools wherever LlamaIndex takes a tool: alone, in predict_and_call, beside query engines, sync and async."""

import asyncio
import json
import pickle
from base64 import b64decode

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import DocumentBlock, ImageBlock, TextBlock
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.tools import QueryEngineTool
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_kit import keeping, load, remembered, results, router_of, scenario, skill, text_of, unload
from skillbelt import MappingSource, SkillRouter
from skillbelt.llama_index import Skills, SkillToolSpec, skill_tools
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedLLM

PNG = b"\x89PNG\r\n\x1a\n picture"
PDF = b"%PDF-1.7 paper"
FILES = {
    "a/SKILL.md": skill("a"),
    "a/logo.png": PNG,
    "a/form.pdf": PDF,
    "a/tool.bin": b"\x00\x01",
    "a/notes.md": "Notes.\n",
}


# --- wherever LlamaIndex takes a tool ---------------------------------------------------------------------------------


async def test_predict_and_call_loads_a_skill_with_llms_that_call_functions(router):
    tools = skill_tools(router)
    llm = ScriptedLLM([[load("mail-sorter")]] * 2)
    expected = router.activate("mail-sorter").text
    assert llm.predict_and_call(tools, "go").response == expected
    answer = await llm.apredict_and_call(tools, "go")
    assert answer.response == expected
    assert answer.sources[0].raw_output["skill"] == "mail-sorter"


async def test_predict_and_call_loads_a_skill_with_llms_that_do_not(router):
    class Plain(ScriptedLLM):
        @property
        def metadata(self):
            return super().metadata.model_copy(update={"is_function_calling_model": False})

    step = 'Thought: I need it.\nAction: load_skill\nAction Input: {"name": "mail-sorter"}'
    answer = await Plain([step]).apredict_and_call(skill_tools(router), "go")
    assert answer.response == router.activate("mail-sorter").text


def test_the_functions_by_which_llama_index_calls_a_tool_take_ours(router):
    (load_tool, *_) = skill_tools(router)
    assert call_tool(load_tool, {"name": "mail-sorter"}).content == router.activate("mail-sorter").text
    assert asyncio.run(acall_tool(load_tool, {"name": "nope"})).is_error
    search = SkillRouter(MappingSource({f"s{i}/SKILL.md": skill(f"s{i}") for i in range(9)}))
    (unload_tool,) = [t for t in Skills(search, unload=True).tools() if t.metadata.name == "unload_skill"]
    assert "no longer in use" in call_tool(unload_tool, {"name": "s1"}).content, "one argument, by name or not"
    assert "no longer in use" in call_tool(unload_tool, {"skill": "s1"}).content


async def test_an_agent_with_query_engines_loads_a_skill_and_then_asks_them(router):
    index = VectorStoreIndex.from_documents([Document(text="Receipts of May.")], embed_model=MockEmbedding(embed_dim=8))
    books = QueryEngineTool.from_defaults(index.as_query_engine(llm=MockLLM()), name="books", description="The books.")
    steps = [[load("mail-sorter")], [("books", {"input": "What of May?"})], "done"]
    for tools in (skill_tools(router), Skills(router).tools()):
        llm = ScriptedLLM(steps)
        agent = FunctionAgent(tools=[books, *tools], system_prompt=router.prompt("You keep books."), llm=llm)
        assert str(await agent.run("go")) == "done"
        loaded, found = results(llm.requests[-1])
        assert loaded == router.activate("mail-sorter").text
        assert "Receipts of May." in found


def test_the_tool_spec_makes_the_tools_and_its_functions_do_what_they_do(router):
    spec = SkillToolSpec(router)
    assert spec.load_skill("mail-sorter") == skill_tools(router)[0].call("mail-sorter").content
    assert [t.metadata.name for t in spec.to_tool_list()] == [t.metadata.name for t in skill_tools(router)]
    (load_tool, _) = spec.to_tool_list()
    assert load_tool.real_fn(name="mail-sorter") == spec.load_skill("mail-sorter")


def test_no_description_is_longer_than_llama_index_takes_and_the_schema_is_plain_json(router):
    for tool in Skills(router, unload=True, listing=True).tools():
        sent = tool.metadata.to_openai_tool()
        assert len(sent["function"]["description"]) <= 1024
        json.dumps(sent)


def test_partial_arguments_of_llama_index_are_honoured(router):
    (load_tool, *_) = skill_tools(router)
    load_tool.partial_params = {"name": "mail-sorter"}
    assert load_tool.call().content == router.activate("mail-sorter").text


# --- pictures and documents -------------------------------------------------------------------------------------------


def read(path):
    return ("read_skill_resource", {"name": "a", "path": path})


async def test_pictures_and_documents_come_as_blocks_when_the_host_says_so():
    router = SkillRouter(MappingSource(FILES))
    _, reading = skill_tools(router, media=True)
    picture = reading.call(name="a", path="logo.png")
    text, image = picture.blocks
    assert isinstance(text, TextBlock) and "logo.png" in text.text
    assert isinstance(image, ImageBlock) and image.image_mimetype == "image/png"
    assert image.resolve_image().read() == PNG
    text, paper = (await reading.acall(name="a", path="form.pdf")).blocks
    assert isinstance(paper, DocumentBlock) and paper.document_mimetype == "application/pdf"
    assert paper.title == "form.pdf" and b64decode(paper.data) == PDF
    assert reading.call(name="a", path="notes.md").content.count("Notes.") == 1
    assert reading.call(name="a", path="tool.bin").is_error


async def test_in_an_agent_the_blocks_reach_the_model_and_survive_a_serializer():
    router = SkillRouter(MappingSource(FILES))
    story = keeping([[read("logo.png")], "done"], router, media=True)
    await story.say("go")
    assert [type(block) for block in story.last.messages[-1].blocks] == [TextBlock, ImageBlock]
    json.dumps(story.ctx.to_dict(serializer=JsonSerializer()))
    without = keeping([[read("logo.png")], "done"], router)
    await without.say("go")
    assert "You cannot be shown pictures" in results(without.last)[0]


# --- C13: sync, async, and a loop that never waits --------------------------------------------------------------------

STEPS = [
    [("list_skills", {})],
    [load("calm")],
    [("read_skill_resource", {"name": "calm", "path": "references/a.md"})],
    [("run_skill_script", {"name": "calm", "path": "scripts/s.py", "args": []})],
    *[[("read_skill_resource", {"name": "calm", "path": "nope.md"})]] * 3,
    [unload("calm")],
    "done",
]


@pytest.fixture
def relative(tmp_path, monkeypatch):
    """A router whose root is relative, and that nobody has listed."""
    monkeypatch.chdir(scenario("C13", tmp_path).parent)
    return SkillRouter.from_directory("skills", runner=LocalRunner())


@pytest.mark.parametrize("make", [keeping, remembered], ids=["agent", "block"])
async def test_c13_nothing_holds_up_the_loop(make, relative):
    story = make(STEPS, relative, listing=True, unload=True)
    with blockbuster_ctx("skillbelt"):
        await story.say("/calm please")
        await story.ctx.store.set("active_skills", None)
        story.llm._script._steps.extend([[load("calm")], "again"])
        await story.say("once more")
    whole = "\n".join(results(story.last))
    for words in ("<stdout>\nok", "Stop guessing", "no longer in use"):
        assert words in whole
    assert await story.active() == ["calm"]


async def test_c13_the_skills_of_a_user_are_first_read_without_holding_up_the_loop(relative):
    story = keeping([[load("calm")], "done"], Skills(router_for=lambda ctx: relative, preload=["calm"]))
    with blockbuster_ctx("skillbelt"):
        await story.say("go")
    assert await story.active() == ["calm"]


def test_c13_the_detector_sees_a_sync_call(relative):
    async def run():
        with blockbuster_ctx("skillbelt"):
            return skill_tools(relative)

    with pytest.raises(Exception, match="Blocking call"):
        asyncio.run(run())


async def test_c13_call_and_acall_give_the_same_also_inside_a_running_loop(relative):
    tools = Skills(relative, listing=True, unload=True).tools()
    arguments = {
        "load_skill": {"name": "calm"},
        "read_skill_resource": {"name": "calm", "path": "references/a.md"},
        "list_skills": {},
        "run_skill_script": {"name": "calm", "path": "scripts/s.py"},
        "unload_skill": {"name": "calm"},
    }
    assert {tool.metadata.name for tool in tools} == set(arguments)
    for tool in tools:
        given = arguments[tool.metadata.name]
        one, other = tool.call(**given), await tool.acall(**given)
        assert one.content == other.content == tool(**given).content and not one.is_error


async def test_a_cancelled_run_ends_the_script_it_started(tmp_path):
    root = tmp_path / "skills" / "slow"
    (root / "scripts").mkdir(parents=True)
    (root / "SKILL.md").write_text(skill("slow"))
    mark = tmp_path / "mark"
    (root / "scripts" / "slow.py").write_text(
        f"import pathlib, time\npathlib.Path({str(mark)!r}).write_text('began')\n"
        f"time.sleep(30)\npathlib.Path({str(mark)!r}).write_text('ended')\n"
    )
    router = SkillRouter.from_directory(tmp_path / "skills", runner=LocalRunner())
    story = keeping([[("run_skill_script", {"name": "slow", "path": "scripts/slow.py"})], "done"], router)
    handler = story.agent.run("go", ctx=story.ctx, memory=story.memory)
    async with asyncio.timeout(60):
        while not mark.exists():
            await asyncio.sleep(0.05)
        await handler.cancel_run()
        with pytest.raises(BaseException):  # noqa: B017 - LlamaIndex's own
            await handler
    assert mark.read_text() == "began"


async def test_tools_of_an_agent_can_be_called_outside_of_it_and_then_remember_nothing():
    skills = Skills(router_of("a"))
    (load_tool, *_) = skills.tools()
    first, second = load_tool.call(name="a"), await load_tool.acall(name="a")
    assert first.content == second.content and "</skill_content>" in text_of_output(first)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        pickle.dumps(Context(FunctionAgent(tools=[], llm=ScriptedLLM([]))))


def text_of_output(output):
    """The text of an output, by its blocks."""
    return "\n".join(block.text for block in output.blocks)


async def test_a_message_of_the_model_may_come_with_its_calls(router):
    story = keeping([[load("mail-sorter")], "done"], router)
    await story.say("go")
    assert text_of(story.last.messages[-1]) == router.activate("mail-sorter").text
