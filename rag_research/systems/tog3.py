"""ToG-3: Think-on-Graph 3.0, a loop of agents over a chunk-triplet-community graph.

Retrieve a small sub-graph, answer from the best of it, let a reflector judge. When that is not
enough, query and sub-graph both evolve: the one sub-question to look up next, and triplets
extracted and refined for it. The last step reads the whole trajectory.

Source: arXiv 2509.21710 v2, algorithm 2 (MACER). Nothing of the loop is public, so prompts and
whatever the paper leaves open are ours, behind a named setting.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from rag_research.corpus.corpus import Corpus
from rag_research.graph.node_retrieval import NODE_RETRIEVALS
from rag_research.graph.subgraph import Element, Subgraph
from rag_research.index.rerank import NoReranker, NoRerankerConfig, Reranker
from rag_research.index.similarity import Similarity
from rag_research.llm.structured import Parsed
from rag_research.llm.traced import TracedLLM
from rag_research.registry import RERANKERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.solve.agents import AGENTS, Agents
from rag_research.solve.evidence import EVIDENCE_WORDS
from rag_research.solve.evolve_subgraph import CONSTRUCTOR, EVOLUTIONS
from rag_research.solve.provenance import Inferred
from rag_research.solve.reflect import INSUFFICIENT
from rag_research.solve.synthesise import reasoned_answer
from rag_research.solve.trajectory import UNKNOWN, Trajectory, is_unknown
from rag_research.systems.base import Index, Parts, System
from rag_research.systems.community_index import CommunityGraphConfig, build_community_graph
from rag_research.trace import Trace
from rag_research.types import Answer, Hit

T = TypeVar("T")
STOPS = ("sufficient", "no_sub_question", "horizon")
COUNTED = (
    "extracted",
    "refined",
    "inferred",
    *(f"unreadable_{a}" for a in ("respond", "reflect", "evolve_query", *CONSTRUCTOR)),
)


@dataclass(frozen=True, slots=True)
class ToG3Config:
    """Settings of :class:`ToG3`; defaults are the paper's.

    Args:
        graph: how the index is built.
        horizon: K, most rounds of answering and judging (3).
        top_k: nodes in a retrieved sub-graph, over all three types (5).
        keep: nodes the reranker leaves for the responder (2).
        retrieval: vectors and one hop along the edges (the paper's hybrid), vectors alone, or
            chunks ranked by the learned path selector.
        path_selector: released network or path of one, for ``retrieval: paths``.
        rerank: by relevance to the current query (the run's reranker, or cosine where it is
            ``none``), or the order of retrieval.
        evolving_query: a sub-question each round, or the question again.
        refinement: triplets extracted and refined for the sub-question, or what was retrieved.
        agents: a prompt each for answering, judging and asking on, or one for all three.
        evidence_words: most words of sub-graphs in one prompt. What the reranker kept comes first;
            the rest is read as far as it fits. 3,500 words of an encyclopedia are about 5,400
            tokens of the default model: with the worked examples still below
            ``llm.max_input_tokens``.
        inferred: triplets that the model added and no chunk supports: never read, or read like
            the others (the paper lets the model add what it knows).
    """

    name: str = "tog3"
    graph: CommunityGraphConfig = field(default_factory=CommunityGraphConfig)
    horizon: int = 3
    top_k: int = 5
    keep: int = 2
    retrieval: Literal["hybrid", "vector", "paths"] = "hybrid"
    path_selector: str = "selector-minilm"
    rerank: Literal["relevance", "none"] = "relevance"
    evolving_query: Literal["llm", "none"] = "llm"
    refinement: Literal["llm", "none"] = "llm"
    agents: Literal["several", "single"] = "several"
    evidence_words: int = EVIDENCE_WORDS
    inferred: Inferred = "hidden"

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise ValueError(f"horizon={self.horizon} must be at least 1")
        if self.evidence_words < 1:
            raise ValueError(f"evidence_words={self.evidence_words} must be at least 1")
        if not 1 <= self.keep <= self.top_k:
            raise ValueError(
                f"needs 1 <= keep <= top_k, got keep={self.keep} and top_k={self.top_k}"
            )


class ToG3(System):
    """See the module's docstring."""

    Config = ToG3Config

    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        """The graph of chunks, triplets and communities, and what retrieves and reranks in it."""
        config, parts = self.config, self.parts
        built = build_community_graph(config.graph, corpus, store, parts)
        retrieve = NODE_RETRIEVALS[config.retrieval]
        nodes = retrieve(built.data["graph"], corpus, parts.encoder, store, config.path_selector)
        data = {**built.data, "reranker": RERANKS[config.rerank](parts)}
        return Index(corpus, {"nodes": nodes}, data, built.counts, built.usage, built.contents)

    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        """Algorithm 2 of the paper."""
        config, prompts = self.config, self.parts.prompts
        llm = TracedLLM(self.parts.llm, trace)
        agents, evolve = AGENTS[config.agents](llm, prompts), EVOLUTIONS[config.refinement]
        tally: Counter[str] = Counter()
        rounds, stop = 0, "horizon"

        with trace.step("retrieve") as step:
            found = self.retrieve(question, index)
            state = Trajectory.start(question, found, config.evidence_words)
            step.record(query=question, **state.subgraph.described())

        while rounds < config.horizon:
            rounds += 1
            with trace.step("rerank", round=rounds) as step:
                state = state.keep(best(index.data["reranker"], state, config.keep))
                step.record(query=state.query, kept=[e.id for e in state.present.kept])

            with trace.step("respond", round=rounds) as step:
                answer = taken("respond", await agents.respond(state), UNKNOWN, tally)
                state = state.answered(answer)
                step.record(query=state.query, answer=answer)

            with trace.step("reflect", round=rounds) as step:
                verdict = taken("reflect", await agents.reflect(state), INSUFFICIENT, tally)
                step.record(verdict=verdict)
            if verdict.sufficient:
                stop = "sufficient"
                break

            with trace.step("evolve_query", round=rounds) as step:
                asked = await QUERIES[config.evolving_query](agents, state, verdict.missing)
                query = taken("evolve_query", asked, "", tally)
                step.record(query=query)
            if not query:
                stop = "no_sub_question"
                break

            with trace.step("evolve_subgraph", round=rounds) as step:
                found = self.retrieve(query, index)
                evolved = await evolve(llm, prompts, state, query, found, config.inferred)
                state = state.evolved(query, evolved.subgraph, evolved.read)
                tally.update(evolved.counts)
                step.record(query=query, found=found.described(), made=evolved.made)
                step.record(**state.subgraph.described())

        with trace.step("synthesise", stop=stop) as step:
            values = {"evidence": state.evidence, "found": state.findings, "question": question}
            text = await reasoned_answer(llm, prompts, "tog3/synthesise", **values)
            text = UNKNOWN if is_unknown(text) else text
            step.record(answer=text)
        stats = {f"stop_{reason}": float(reason == stop) for reason in STOPS}
        stats |= {name: float(tally[name]) for name in COUNTED}
        stats |= {"unique_chunks": float(len(state.chunks)), "unknown": float(text == UNKNOWN)}
        stats["left_out"] = float(state.left_out)
        facts = tuple(relation.triplet for relation in state.relations)
        return Answer(text, state.passages(), rounds, facts, stats)

    def retrieve(self, query: str, index: Index) -> Subgraph:
        """The sub-graph of a query, before anything evolves."""
        hits = index.retrievers["nodes"].search([query], self.config.top_k)[0]
        return Subgraph.found(index.data["graph"], hits)


def best(reranker: Reranker, state: Trajectory, k: int) -> list[Element]:
    """The ``k`` elements of the present sub-graph that are most relevant to its query."""
    by_text = {e.text: e for e in reversed(state.subgraph.elements)}
    elements = {e.id: e for e in state.subgraph.elements if by_text[e.text] is e}
    hits = [Hit(e.id, e.score) for e in elements.values()]
    texts = {id: e.text for id, e in elements.items()}
    return [elements[hit.id] for hit in reranker.rerank(state.query, hits, texts, k)]


def taken(agent: str, reply: Parsed[T], fallback: T, tally: Counter[str]) -> T:
    """What an agent replied, or the fallback; a reply nobody can read is counted."""
    tally[f"unreadable_{agent}"] += reply.rejected
    return fallback if reply.value is None else reply.value


async def sub_question(agents: Agents, state: Trajectory, missing: str) -> Parsed[str]:
    """The paper's; a question that was asked before is none."""
    reply = await agents.evolve_query(state, missing)
    return Parsed("") if reply.value and state.asked(reply.value) else reply


async def same_question(agents: Agents, state: Trajectory, missing: str) -> Parsed[str]:
    """The ablation: the question again, for which the sub-graph may still evolve."""
    return Parsed(state.question)


def by_relevance(parts: Parts) -> Reranker:
    """The configured reranker, else cosine."""
    config = parts.reranker
    if config is None or config.name == "none":
        return Similarity(parts.encoder)
    reranker: Reranker = RERANKERS.get(config.name)(config)
    return reranker


def by_retrieval(parts: Parts) -> Reranker:
    """The ablation: the order of retrieval."""
    return NoReranker(NoRerankerConfig())


QUERIES = {"llm": sub_question, "none": same_question}
RERANKS = {"relevance": by_relevance, "none": by_retrieval}
