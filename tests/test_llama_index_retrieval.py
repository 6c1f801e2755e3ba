"""Many skills: a tool for each, and only those that fit the question, by words or by any embedding model."""

import asyncio

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.objects import ObjectIndex
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import QueryBundle

from llama_index_kit import Story, fenced, keeping, results, texts, times
from skillbelt import MappingSource, SkillError, SkillRouter, tool_per_skill
from skillbelt.llama_index import SkillFunctionTool, Skills, SkillToolRetriever
from skillbelt.scripts import LocalRunner
from skillbelt.testing import ScriptedLLM

TOPICS = {
    "invoices": "Checks invoices against purchase orders. Use when money is owed.",
    "garden": "Plans which vegetables to plant in which bed. Use for seeds and soil.",
    "local/pdf": "Fills PDF forms. Use when a form is to be filled.",
    "release": "Rolls back a bad deployment. Use when staging is broken.",
}


def files():
    """The skills."""
    texts = {name: f"---\nname: {name}\ndescription: {text}\n---\nBody of {name}.\n" for name, text in TOPICS.items()}
    return {f"{name.replace('/', '-')}/SKILL.md": text for name, text in texts.items()}


@pytest.fixture
def router():
    return SkillRouter(MappingSource({**files(), "garden/beds.md": "Beans beside corn.\n"}))


class Letters(BaseEmbedding):
    """Embeds a text by how often it has each letter: small, real, and the same everywhere."""

    asked: list[str] = []  # noqa: RUF012 - a field

    @classmethod
    def class_name(cls):
        return "Letters"

    def _vector(self, text):
        self.asked.append(text)
        return [float(text.lower().count(letter)) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"]

    def _get_text_embedding(self, text):
        return self._vector(text)

    def _get_query_embedding(self, query):
        return self._vector(query)

    async def _aget_query_embedding(self, query):
        return self._vector(query)


def names(tools):
    return [tool.metadata.name for tool in tools]


async def test_the_tools_that_fit_a_question_are_offered_best_first_with_the_one_for_files(router):
    retriever = SkillToolRetriever(router, k=2)
    found = retriever.retrieve("fill this form, it is a PDF")
    assert names(found)[0] == "local_S_pdf" and names(found)[-1] == "read_skill_resource"
    assert len(found) <= 3
    assert names(await retriever.aretrieve(QueryBundle("fill this form, it is a PDF"))) == names(found)
    assert names(retriever.retrieve("xyzzy")) == ["read_skill_resource"]
    assert names(SkillToolRetriever(router, files=False).retrieve("garden seeds")) == ["garden"]
    assert set(retriever.names()) == {"invoices", "garden", "local_S_pdf", "release", "read_skill_resource"}


async def test_the_name_of_a_tool_finds_it_whatever_ranks(router):
    for retriever in (SkillToolRetriever(router, k=1), SkillToolRetriever(router, k=1, embed_model=Letters())):
        for name in retriever.names():
            assert names(retriever.retrieve(name)) == names(await retriever.aretrieve(name)) == [name]


async def test_any_embedding_model_ranks_and_embeds_each_skill_once(router):
    model = Letters(asked=[])
    retriever = SkillToolRetriever(router, k=4, embed_model=model, files=False)
    question = "garden: Plans which vegetables to plant in which bed. Use for seeds and soil."
    assert names(retriever.retrieve(question))[0] == "garden"
    assert names(await retriever.aretrieve(question)) == names(retriever.retrieve(question))
    assert len(model.asked) == 4 + 3, "each skill once, each question as often as it was asked"
    nodes = retriever.retriever.retrieve(QueryBundle(question))
    scores = [node.score for node in nodes]
    assert scores == sorted(scores, reverse=True) and scores[0] == pytest.approx(1.0)
    given = QueryBundle(question, embedding=model._vector(question))
    assert names(SkillToolRetriever(router, embed_model=model).retrieve(given))[0] == "garden"
    fresh = Letters(asked=[])
    await SkillToolRetriever(router, embed_model=fresh).aretrieve(question)
    assert len(fresh.asked) == 5


def test_a_reranker_of_llama_index_has_the_last_word(router):
    class Reversed(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            return nodes[::-1][:1]

    retriever = SkillToolRetriever(router, k=4, embed_model=Letters(), node_postprocessors=[Reversed()], files=False)
    best = SkillToolRetriever(router, k=4, embed_model=Letters(), files=False).retrieve("seeds")
    assert names(retriever.retrieve("seeds")) == names(best)[-1:]
    assert retriever.node_postprocessors


async def test_an_agent_is_offered_what_fits_and_reaches_what_it_calls(router):
    steps = [
        [("garden", {})],
        [("read_skill_resource", {"name": "garden", "path": "beds.md"})],
        [("release", {})],
        "done",
    ]
    llm = ScriptedLLM(steps)
    agent = FunctionAgent(tool_retriever=SkillToolRetriever(router, k=1), llm=llm)
    assert str(await agent.run("Which seeds for this bed?")) == "done"
    assert llm.requests[0].tool_names == ["garden", "read_skill_resource"]
    garden, beds, release = results(llm.requests[-1])
    assert "Body of garden." in garden and "Beans" in beds
    assert "Body of release." in release, "called though it was not offered: it is no secret"


async def test_what_is_loaded_through_a_tool_of_its_own_is_in_use_and_behind_the_fence():
    router = fenced(("strict", "look"))
    skills = Skills(router, allowed_tools="enforce")

    def look(at: str) -> str:
        """Look."""
        return f"saw {at}"

    def write(text: str) -> str:
        """Write."""
        return "written"

    steps = [[("strict", {})], [("strict", {}), ("write", {"text": "x"}), ("look", {"at": "x"})], "done"]
    llm = ScriptedLLM(steps)
    agent = FunctionAgent(
        tools=skills.fenced([look, write], skills.desk("")), llm=llm, tool_retriever=SkillToolRetriever(skills)
    )
    story = Story(agent, llm)
    await story.say("strict")
    again, wrote, looked = results(story.last)[1:]
    assert "is loaded already" in again and "write was not run" in wrote and looked == "saw x"
    assert await story.active() == ["strict"]
    assert story.told("activated")[0]["skill"] == "strict"


async def test_a_skill_agent_with_a_retriever_keeps_what_it_loads(router):
    skills = Skills(router, only=["invoices"])
    story = keeping([[("garden", {})], "one", "two"], skills, tool_retriever=SkillToolRetriever(Skills(router)))
    await story.say("Which seeds for this bed?")
    assert await story.active() == ["garden"]
    await story.say("go on")
    assert times(story.last, "Body of garden.") == 1
    flow = AgentWorkflow(agents=[story.agent])
    llm = story.agent.llm = ScriptedLLM([[("garden", {})], "done"])
    await flow.run("Which seeds?")
    assert "Body of garden." in "".join(texts(llm.requests[-1]))


async def test_a_reload_is_seen_and_tools_for_scripts_come_with_a_runner():
    sources = {**files(), "garden/scripts/plant.py": "print('planted')\n"}
    router = SkillRouter(MappingSource(sources), runner=LocalRunner())
    retriever = SkillToolRetriever(router)
    assert names(retriever.retrieve("seeds"))[-2:] == ["read_skill_resource", "run_skill_script"]
    first = retriever.retrieve("garden")[0]
    assert retriever.retrieve("garden")[0] is first
    router.reload()
    assert retriever.retrieve("garden")[0] is not first


def test_what_cannot_be_asked_without_a_run_is_refused(router):
    with pytest.raises(SkillError, match="asked without a run"):
        SkillToolRetriever(Skills(router_for=lambda ctx: router))
    with pytest.raises(SkillError, match="a positive number"):
        SkillToolRetriever(router, k=0)


# --- LlamaIndex's own index of objects --------------------------------------------------------------------------------


async def test_one_tool_per_skill_lives_in_an_object_index(router):
    tools = [SkillFunctionTool(spec) for spec in tool_per_skill(router)]
    index = ObjectIndex.from_objects(tools, index_cls=VectorStoreIndex, embed_model=Letters())
    found = index.as_retriever(similarity_top_k=1).retrieve("Plans which vegetables to plant in which bed.")
    assert names(found) == ["garden"]
    llm = ScriptedLLM([[("garden", {}), ("local_S_pdf", {"arguments": "7"})], "done"])
    everything = index.as_retriever(similarity_top_k=4)
    await FunctionAgent(tool_retriever=everything, llm=llm).run("go")
    assert [
        "Body of garden." in results(llm.requests[-1])[0],
        "Body of local/pdf." in results(llm.requests[-1])[1],
    ] == [True] * 2
    mock = ObjectIndex.from_objects(tools, index_cls=VectorStoreIndex, embed_model=MockEmbedding(embed_dim=8))
    assert len(mock.as_retriever(similarity_top_k=4).retrieve("x")) == 4


def test_a_search_by_many_at_a_time_finds_the_same(router):
    retriever = SkillToolRetriever(router, k=2)

    async def many():
        return await asyncio.gather(*(retriever.aretrieve("fill the form") for _ in range(20)))

    assert len({tuple(names(found)) for found in asyncio.run(many())}) == 1
