"""T2RAG: triplet-driven thinking for retrieval-augmented generation.

Decompose the question into triplets with variables, retrieve atomic propositions for the
triplets that can be searched, let the model fill variables, repeat; answer from triplets.

Source: arXiv 2508.02435, algorithms 1 and 2. The paper's behaviour is the default;
``compat: released`` reproduces what the authors' public code does where the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag_research.config import slot
from rag_research.corpus.corpus import Corpus
from rag_research.graph.path_retriever import build_path_retriever
from rag_research.graph.selector_checkpoint import load_selector
from rag_research.index.base import Retriever
from rag_research.index.dense import build_dense
from rag_research.index.propositions import (
    BUDGETS,
    POOLS,
    Proposition,
    PropositionsOfPassages,
    collect_propositions,
    last_source_only,
)
from rag_research.llm.traced import TracedLLM
from rag_research.registry import EXTRACTORS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.solve.answer import answer_from_triplets
from rag_research.solve.decompose import decompose
from rag_research.solve.placeholders import count_variables, known_text
from rag_research.solve.query_triplets import (
    QueryTriplets,
    consume,
    count_question_marks,
    retain,
    unify_named,
    unify_nothing,
)
from rag_research.solve.resolve import CONTEXTS, SUPPORTS, resolve
from rag_research.solve.triplet_lines import triplet_lines
from rag_research.systems.base import Index, Parts, System
from rag_research.trace import Trace
from rag_research.types import Answer, Hit, Triplet

Queries = Callable[[str, Sequence[Triplet]], list[str]]


@dataclass(frozen=True, slots=True)
class T2RAGConfig:
    """Settings of :class:`T2RAG`.

    Args:
        rounds: N, most retrieval rounds.
        k: unique source chunks a round (propositions with ``budget: propositions``).
        extractor: where the triplets come from.
        retrieval: propositions near the queries (the paper's), or those of passages that the path
            selector finds.
        path_selector: released network or path of one, for ``retrieval: paths``.
        budget: when a round has enough.
        pool: one pool of all queries' hits, or a budget for each query.
        context: what the model reads when it resolves: source chunks too, or propositions only.
        support: believe what the model filled in, or keep only what the context says verbatim.
        unification: carry a bound variable over to all pending triplets, or not.
        compat: ``paper``, or ``released`` for the behaviour of the authors' public code.
    """

    name: str = "t2rag"
    rounds: int = 3
    k: int = 5
    extractor: Any = slot(EXTRACTORS, "openie")
    retrieval: Literal["propositions", "paths"] = "propositions"
    path_selector: str = "selector-minilm"
    budget: Literal["unique_chunks", "propositions"] = "unique_chunks"
    pool: Literal["global", "per_query"] = "global"
    context: Literal["chunks", "propositions"] = "chunks"
    support: Literal["trusted", "verbatim"] = "trusted"
    unification: Literal["named", "none"] = "named"
    compat: Literal["paper", "released"] = "paper"

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.k < 1:
            raise ValueError(f"rounds={self.rounds} and k={self.k} must both be at least 1")


def searchable_or_question(question: str, searchable: Sequence[Triplet]) -> list[str]:
    """The paper's queries: known slots of each searchable triplet, else the question."""
    return list(dict.fromkeys(known_text(t) for t in searchable)) or [question]


def searchable_and_question(question: str, searchable: Sequence[Triplet]) -> list[str]:
    """The released code's queries: the question always comes along."""
    return list(dict.fromkeys([question, *(known_text(t) for t in searchable)]))


@dataclass(frozen=True, slots=True)
class _Behaviour:
    """Where the paper and the authors' released code differ."""

    queries: Queries
    count: Callable[[Triplet], int]
    update: Callable[..., QueryTriplets]
    merge_sources: Callable[..., Any]


_BEHAVIOUR = {
    "paper": _Behaviour(searchable_or_question, count_variables, retain, dict),
    "released": _Behaviour(
        searchable_and_question, count_question_marks, consume, last_source_only
    ),
}
_UNIFICATION = {"named": unify_named, "none": unify_nothing}


def near_queries(
    config: T2RAGConfig,
    corpus: Corpus,
    propositions: Mapping[str, Proposition],
    parts: Parts,
    store: ArtifactStore,
) -> Retriever:
    """The paper's: every proposition has a vector."""
    texts = [p.text for p in propositions.values()]
    return build_dense(parts.dense, "propositions", list(propositions), texts, parts.encoder, store)


def along_paths(
    config: T2RAGConfig,
    corpus: Corpus,
    propositions: Mapping[str, Proposition],
    parts: Parts,
    store: ArtifactStore,
) -> Retriever:
    """Propositions of the passages that the path selector ranks."""
    selector = load_selector(config.path_selector)
    paths = build_path_retriever(corpus, parts.encoder, store, selector)
    return PropositionsOfPassages(paths, propositions)


RETRIEVALS = {"propositions": near_queries, "paths": along_paths}


class T2RAG(System):
    """See the module's docstring."""

    Config = T2RAGConfig

    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        """Triplets of every passage, verbalised, embedded, searchable."""
        parts = self.parts
        extractor = EXTRACTORS.get(self.config.extractor.name)(self.config.extractor)
        extraction = extractor.extract(corpus, store, parts.llm, parts.prompts, parts.concurrency)
        propositions = _BEHAVIOUR[self.config.compat].merge_sources(
            collect_propositions(extraction.triplets)
        )

        def write(directory: Path) -> dict[str, int]:
            extraction.save(directory / "triplets.jsonl")
            return dict(extraction.report)

        store.ensure("triplet-export", 1, {"extraction": extraction.fingerprint}, write)
        retriever = RETRIEVALS[self.config.retrieval](
            self.config, corpus, propositions, parts, store
        )
        counts = {**extraction.report, "propositions": len(propositions)}
        return Index(
            corpus,
            {"propositions": retriever},
            {"propositions": propositions},
            counts,
            extraction.usage,
            extraction.fingerprint,
        )

    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        """The online loop of the paper (algorithm 2)."""
        config, behaves = self.config, _BEHAVIOUR[self.config.compat]
        llm = TracedLLM(self.parts.llm, trace)
        prompts, propositions = self.parts.prompts, index.data["propositions"]
        search, unify = POOLS[config.pool], _UNIFICATION[config.unification]
        seen: dict[str, Hit] = {}
        rounds = 0

        with trace.step("decompose") as step:
            triplets = await decompose(llm, prompts, question)
            state = QueryTriplets.sort(triplets, behaves.count)
            step.record(state=state, fallback=not triplets)

        # Without triplets the question itself is searched once, so that there are facts at all.
        while rounds < config.rounds and (state.pending or not (rounds or state.resolved)):
            rounds += 1
            with trace.step("retrieve", round=rounds) as step:
                queries = behaves.queries(question, state.searchable)
                found = search(
                    index.retrievers["propositions"],
                    propositions,
                    queries,
                    config.k,
                    BUDGETS[config.budget],
                )
                texts = [propositions[hit.id].text for hit in found.propositions]
                step.record(queries=queries, propositions=texts, sources=found.sources)
            for hit in found.sources:
                seen.setdefault(hit.id, hit)

            with trace.step("resolve", round=rounds) as step:
                chunks = [index.corpus[hit.id] for hit in found.sources]
                context = CONTEXTS[config.context](texts, chunks)
                filled = await resolve(llm, prompts, question, state, context)
                told = f"{context}\n{question}\n{triplet_lines(state.pending + state.resolved)}"
                kept = SUPPORTS[config.support](filled or (), told)
                before, state = state, behaves.update(state, kept, unify, behaves.count)
                step.record(filled=filled, kept=kept, state=state)
            # Nothing new can be asked: the same queries would bring the same reply again.
            if state.pending == before.pending:
                break

        with trace.step("synthesise") as step:
            facts = state.resolved if not state.pending else state.resolved + state.searchable
            text = await answer_from_triplets(llm, prompts, question, facts)
            step.record(facts=facts, answer=text)
        resolved = bool(state.resolved) and not state.pending
        stats = {"unique_chunks": len(seen), "resolved": float(resolved)}
        return Answer(text, tuple(seen.values()), rounds, state.resolved, stats)
