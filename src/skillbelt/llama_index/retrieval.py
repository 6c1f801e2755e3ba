"""SkillToolRetriever: one tool for each skill, and only those that fit the question, for large sets.

LlamaIndex asks a tool retriever twice: with the user's message, for the tools to offer, and with the name of a tool,
for the one to call. The second must find it whatever ranks: a query that is a tool's name is answered with that tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from skillbelt.errors import MissingExtraError, SkillError
from skillbelt.models import Catalog, SkillSummary
from skillbelt.router import SkillRouter
from skillbelt.tools import ToolSpec, skill_tools, tool_per_skill

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.objects import ObjectRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType, TextNode
    from llama_index.core.tools import BaseTool

    from skillbelt.llama_index.dispatch import SkillCallTool
    from skillbelt.llama_index.skills import Skills
    from skillbelt.llama_index.tools import SkillFunctionTool
except ImportError as error:
    raise MissingExtraError("skillbelt.llama_index", extra="llama-index") from error

__all__ = ["SkillToolRetriever"]

_FILES = ("read_skill_resource", "run_skill_script")


class _Shelf:
    """The tools of one state of a router, and the embeddings of their descriptions once they are asked for."""

    def __init__(self, router: SkillRouter, make: Callable[[ToolSpec, bool], BaseTool], *, files: bool) -> None:
        self.router = router
        self.catalog: Catalog = router.catalog()
        self.by_skill: dict[str, BaseTool] = {}
        self.by_name: dict[str, BaseTool] = {}
        for spec in tool_per_skill(router):
            tool = make(spec, True)
            self.by_skill[str(spec.metadata["skill"])] = tool
            self.by_name[spec.name] = tool
        self.files = [make(spec, False) for spec in skill_tools(router) if files and spec.name in _FILES]
        self.by_name |= {tool.metadata.get_name(): tool for tool in self.files}
        summaries = [summary for summary in router.skills() if summary.name in self.by_skill]
        self.nodes = {summary.name: _node(summary, self.by_skill[summary.name]) for summary in summaries}
        self.embeddings: list[list[float]] | None = None


class _Nodes(BaseRetriever):
    """Skills as nodes with scores, best first: what a reranker of LlamaIndex takes."""

    def __init__(self, shelf: Callable[[], _Shelf], k: int, embed_model: BaseEmbedding | None) -> None:
        super().__init__()
        self._shelf = shelf
        self._k = k
        self._embed_model = embed_model

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        shelf, model = self._shelf(), self._embed_model
        if model is None:
            found = shelf.router.search(query_bundle.query_str, k=self._k)
            return [NodeWithScore(node=shelf.nodes[match.summary.name], score=match.score) for match in found]
        if shelf.embeddings is None:
            shelf.embeddings = model.get_text_embedding_batch([node.text for node in shelf.nodes.values()])
        query = query_bundle.embedding or model.get_query_embedding(query_bundle.query_str)
        return self._ranked(shelf, model, query)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        model = self._embed_model
        if model is None:
            return await asyncio.to_thread(self._retrieve, query_bundle)
        shelf = await asyncio.to_thread(self._shelf)
        if shelf.embeddings is None:
            texts = [node.text for node in shelf.nodes.values()]
            shelf.embeddings = await model.aget_text_embedding_batch(texts)
        query = query_bundle.embedding or await model.aget_query_embedding(query_bundle.query_str)
        return self._ranked(shelf, model, query)

    def _ranked(self, shelf: _Shelf, model: BaseEmbedding, query: list[float]) -> list[NodeWithScore]:
        scored = [
            NodeWithScore(node=node, score=float(model.similarity(query, embedding)))
            for node, embedding in zip(shelf.nodes.values(), shelf.embeddings or (), strict=True)
        ]
        return sorted(scored, key=lambda one: one.score or 0.0, reverse=True)[: self._k]


class SkillToolRetriever(ObjectRetriever[Any]):
    """A ``tool_retriever`` with a tool for each skill: calling it loads the skill.

    Args:
        skills: :class:`~skillbelt.llama_index.Skills`, whose conversations keep what is loaded in use, or a router.
        k: Most skills to offer for a question.
        embed_model: An embedding model of LlamaIndex to rank with; ``None`` ranks with the router's searcher.
        files: Whether the tools for a skill's files are offered as well.
        node_postprocessors: Rerankers and filters of LlamaIndex.

    Raises:
        SkillError: The skills have a router for each run, or ``k`` is not positive.

    Example:
        ``FunctionAgent(tool_retriever=SkillToolRetriever(router, k=3), llm=llm)``
    """

    def __init__(
        self,
        skills: Skills | SkillRouter,
        *,
        k: int = 5,
        embed_model: BaseEmbedding | None = None,
        files: bool = True,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
    ) -> None:
        if k < 1:
            raise SkillError(f"k is how many skills are offered at most, a positive number, not {k}.")
        if isinstance(skills, Skills) and (skills.router is None or skills.router_for is not None):
            raise SkillError("A tool retriever is asked without a run. Make one of a router, or of a view of it.")
        router = skills.router if isinstance(skills, Skills) else skills
        assert router is not None  # noqa: S101 - see above
        self._router = router.quiet()
        self._make = _stateful(skills, self.names) if isinstance(skills, Skills) else _stateless
        self._files = files
        self._known: _Shelf | None = None
        self._retriever = _Nodes(self._shelf, k, embed_model)
        self._node_postprocessors = list(node_postprocessors)

    def names(self) -> list[str]:
        """Return the names of all tools there are."""
        return list(self._shelf().by_name)

    def retrieve(self, str_or_query_bundle: QueryType) -> list[Any]:
        """Return the tools that fit a question, best first; for a tool's name, that tool."""
        shelf, bundle = self._shelf(), _bundle(str_or_query_bundle)
        if bundle.query_str in shelf.by_name:
            return [shelf.by_name[bundle.query_str]]
        return self._chosen(shelf, bundle, self._retriever.retrieve(bundle))

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[Any]:
        """Return the tools that fit a question, best first; for a tool's name, that tool."""
        shelf, bundle = await asyncio.to_thread(self._shelf), _bundle(str_or_query_bundle)
        if bundle.query_str in shelf.by_name:
            return [shelf.by_name[bundle.query_str]]
        return self._chosen(shelf, bundle, await self._retriever.aretrieve(bundle))

    def _chosen(self, shelf: _Shelf, bundle: QueryBundle, nodes: list[NodeWithScore]) -> list[Any]:
        for postprocessor in self._node_postprocessors:
            nodes = postprocessor.postprocess_nodes(nodes, query_bundle=bundle)
        return [*(shelf.by_skill[str(node.node.metadata["skill"])] for node in nodes), *shelf.files]

    def _shelf(self) -> _Shelf:
        known = self._known
        if known is None or known.catalog is not self._router.catalog():
            known = self._known = _Shelf(self._router, self._make, files=self._files)
        return known


def _bundle(query: QueryType) -> QueryBundle:
    return QueryBundle(query_str=query) if isinstance(query, str) else query


def _node(summary: SkillSummary, tool: BaseTool) -> TextNode:
    text = f"{summary.name}: {summary.description}"
    return TextNode(text=text, metadata={"skill": summary.name, "tool": tool.metadata.get_name()})


def _stateless(spec: ToolSpec, own: bool) -> BaseTool:
    return SkillFunctionTool(spec)


def _stateful(skills: Skills, names: Callable[[], list[str]]) -> Callable[[ToolSpec, bool], BaseTool]:
    desk = skills.desk("", bound=names)
    return lambda spec, own: SkillCallTool(spec.name, skills, desk, spec, own=own)
