"""Skill tools wherever LlamaIndex takes a tool: alone, in predict_and_call, beside query engines, sync and async."""

import asyncio
import json
from base64 import b64decode

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.agent import ReActChatFormatter, ReActOutputParser
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.agent.workflow import base_agent as upstream
from llama_index.core.base.llms.types import DocumentBlock, ImageBlock, TextBlock
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.tools import QueryEngineTool
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_index.core.workflow import Context, JsonSerializer

from llama_index_kit import keeping, load, results, router_of, skill
from skillbelt import MappingSource, SkillRouter
from skillbelt.llama_index import Skills, SkillToolSpec, skill_tools
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


@pytest.mark.skipif(
    not hasattr(upstream, "_get_waiting_for_event_exception") and hasattr(Context, "get_step_context"),
    reason="llama-index-core 0.14.0 to 0.14.5 with llama-index-workflows 2 cannot do it",
)
async def test_predict_and_call_loads_a_skill_with_llms_that_do_not(router):
    class Plain(ScriptedLLM):
        @property
        def metadata(self):
            return super().metadata.model_copy(update={"is_function_calling_model": False})

    step = 'Thought: I need it.\nAction: load_skill\nAction Input: {"name": "mail-sorter"}'
    # LlamaIndex 0.14 fails without these two; it hands its own agent None.
    options = {"react_chat_formatter": ReActChatFormatter.from_defaults(), "output_parser": ReActOutputParser()}
    answer = await Plain([step]).apredict_and_call(skill_tools(router), "go", **options)
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


async def test_tools_of_an_agent_can_be_called_outside_of_it_and_then_remember_nothing():
    skills = Skills(router_of("a"))
    (load_tool, *_) = skills.tools()
    first, second = load_tool.call(name="a"), await load_tool.acall(name="a")
    assert first.content == second.content and "</skill_content>" in first.content
