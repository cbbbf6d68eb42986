"""ThreadRAG: graph topology meets energy-driven pathfinding.

Documents are cut into verbatim spans without a language model; for each question the spans of
the retrieved documents become a graph, energy spreads from the spans nearest the question, and
what holds enough of it is read out as continuous text. A discriminator asks for what is still
missing, new documents are folded into the graph, and pathfinding runs again.

No public code or formulas exist. What the paper's summary states is the default; what it
leaves open is ours, behind a named setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rag_research.config import slot
from rag_research.corpus.corpus import Corpus
from rag_research.graph.candidates import Query
from rag_research.graph.evidence import FORMATS, Material
from rag_research.graph.linearise import LINEARISATIONS, Kept, Relevance, document_ranking
from rag_research.graph.pathfinding import PathfindingConfig, Paths, find_paths
from rag_research.graph.topology import Topology, TopologyConfig, drawing, edge_counts
from rag_research.index.hybrid import Fusion
from rag_research.llm.traced import TracedLLM
from rag_research.registry import ENTITY_FINDERS, EXTRACTORS, SEGMENTERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.solve.discriminate import Verdict, discriminate
from rag_research.solve.placeholders import known_ends, known_text
from rag_research.solve.question_entities import QUESTION_ENTITIES
from rag_research.solve.synthesise import synthesise
from rag_research.systems.base import Index, System
from rag_research.systems.thread_index import Library, build_library, pooled
from rag_research.systems.thread_paths import FoundByHybrid, FoundByPaths
from rag_research.text.entities import entity_key
from rag_research.trace import Trace
from rag_research.types import Answer, Hit, Span


@dataclass(frozen=True, slots=True)
class ThreadRAGConfig:
    """Settings of :class:`ThreadRAG`; defaults are the paper's where it does not say ours.

    Args:
        documents: best chunks of a round, over all its queries (5).
        iterations: most rounds of retrieval and pathfinding (3).
        chunk_size: characters of a retrieved chunk (1,200).
        chunk_overlap: characters shared by neighbouring chunks (150).
        retrieval: along the corpus graph, ranked by the path selector (ours), or the paper's hybrid
            search.
        path_selector: released network or path of one, for ``retrieval: paths``; behind
            ``pathfinding.selector: learned`` (ours) its scores also take the place of anchors and
            diffusion.
        fusion: of BM25 and dense scores (``retrieval: hybrid``).
        units: what the graph connects: verbatim spans, or verbalised triplets.
        segmenter: cuts documents into spans.
        span_words: most words of a span, so that several fit into the budget of the evidence (200,
            ours); a longer one is cut between sentences. ``None`` leaves spans as they are cut.
        entities: finds the entities of spans.
        title_entity: the document title counts as an entity of each of its spans, or not.
        embedded: what a span's vector is made from: its text, or title and text.
        question_entities: by spelling alone, or by the language model (the paper's). Hybrid
            retrieval searches for them and anchors are found by them; the path selector finds names
            by itself, so a call for them would be wasted on it.
        topology: how spans are connected.
        pathfinding: which spans are kept.
        relevance: what orders documents: the highest or the summed energy of their spans, or
            their score in retrieval.
        linearisation: the order in which kept spans are read.
        evidence: kept spans as text, or as triplets taken from them.
        extractor: makes the triplets of ``units: triplets`` and of the KG evidence formats;
            not used, and free, otherwise.
        seed: of ``linearisation: shuffled``.
    """

    name: str = "threadrag"
    documents: int = 5
    iterations: int = 3
    chunk_size: int = 1200
    chunk_overlap: int = 150
    retrieval: Literal["paths", "hybrid"] = "paths"
    path_selector: str = "selector-minilm"
    fusion: Fusion = "min_max"
    units: Literal["spans", "triplets"] = "spans"
    segmenter: Any = slot(SEGMENTERS, "boundary")
    span_words: int | None = 200
    entities: Any = slot(ENTITY_FINDERS, "named_entities")
    title_entity: Literal["none", "each_span"] = "none"
    embedded: Literal["span", "titled_span"] = "span"
    question_entities: Literal["spelling", "llm"] = "spelling"
    topology: TopologyConfig = field(default_factory=TopologyConfig)
    pathfinding: PathfindingConfig = field(default_factory=PathfindingConfig)
    relevance: Relevance = "highest"
    linearisation: Literal["document_order", "energy_order", "shuffled"] = "document_order"
    evidence: Literal["stg_paths", "kg_triplets", "kg_paths", "kg_texts"] = "stg_paths"
    extractor: Any = slot(EXTRACTORS, "openie")
    seed: int = 0

    def __post_init__(self) -> None:
        if self.documents < 1 or self.iterations < 1:
            raise ValueError(
                f"documents={self.documents} and iterations={self.iterations} must both be at "
                "least 1"
            )
        if self.span_words is not None and self.span_words < 1:
            raise ValueError(f"span_words: got {self.span_words}, expected at least 1 or null.")
        if self.chunk_size < 1 or not 0 <= self.chunk_overlap < self.chunk_size:
            raise ValueError(
                f"needs 0 <= chunk_overlap < chunk_size, got {self.chunk_overlap} and "
                f"{self.chunk_size}"
            )


class ThreadRAG(System):
    """See the module's docstring."""

    Config = ThreadRAGConfig

    def index(self, corpus: Corpus, store: ArtifactStore) -> Index:
        """Chunks to retrieve; spans with entities and vectors. Costs no LLM tokens by default.

        Differs from the paper: documents are segmented once, when indexed, not when retrieved.
        The spans are the same for every question and cost nothing at question time.
        """
        return build_library(self.config, corpus, store, self.parts)

    async def solve(self, question: str, index: Index, trace: Trace) -> Answer:
        """The agent's loop."""
        config, library = self.config, index.data["library"]
        llm, prompts = TracedLLM(self.parts.llm, trace), self.parts.prompts
        topology = Topology(config.topology)
        search = self.search(index)
        seen: dict[str, Hit] = {}
        rounds, evidence, sufficient, thread = 0, "", False, Thread.empty()

        with trace.step("entities") as step:
            names = await QUESTION_ENTITIES[config.question_entities](llm, prompts, question)
            query, queries = self.query(question, names), search.first_queries(question, names)
            step.record(entities=names)

        while rounds < config.iterations:
            with trace.step("retrieve", round=rounds + 1) as step:
                hits = pooled(search.search(queries, config.documents))
                hits = hits[: config.documents]
                new = [hit for hit in hits if hit.id not in seen]
                seen.update((hit.id, hit) for hit in new)
                step.record(queries=queries, hits=hits, new=[hit.id for hit in new])
            if not new:  # the same evidence would bring the same verdict again
                break
            rounds += 1

            with trace.step("topology", round=rounds) as step:
                added = topology.add(*library.spans([hit.id for hit in new]))
                graph = topology.data()
                step.record(nodes=len(topology), added=added, edges=edge_counts(graph))
                step.record(**drawing(topology.nodes, added, graph))

            with trace.step("pathfind", round=rounds) as step:
                retrieval = library.document_scores(seen.values())
                learned = search.span_scores(graph.nodes)
                paths = find_paths(graph, query, config.pathfinding, retrieval, learned)
                thread = self.thread(paths, library)
                evidence = thread.text
                step.record(**summary(paths), evidence=evidence)

            if rounds == config.iterations:
                break
            with trace.step("discriminate", round=rounds) as step:
                verdict = await discriminate(llm, prompts, question, evidence)
                sufficient = verdict is not None and verdict.sufficient
                queries = verdict.queries if verdict is not None else []
                query = self.focused(query, verdict)
                step.record(verdict=verdict, queries=queries)
            if not queries:  # enough, nothing named to look for, or an unreadable reply
                break

        with trace.step("synthesise") as step:
            text = await synthesise(llm, prompts, question, evidence)
            step.record(answer=text)
        stats = {
            "unique_chunks": len(seen),
            "spans": len(thread.spans),
            "nodes": len(topology),
            "sufficient": float(sufficient),
        }
        return Answer(text, thread.passages, rounds, stats=stats, spans=thread.spans)

    def search(self, index: Index) -> FoundByHybrid | FoundByPaths:
        """What finds chunks for one question and remembers what it thinks of them."""
        kind = FoundByPaths if self.config.retrieval == "paths" else FoundByHybrid
        return kind(index.retrievers["chunks"], index.data["library"])

    def query(self, question: str, names: Sequence[str]) -> Query:
        """The question as pathfinding sees it."""
        vector = self.parts.encoder.encode([question], "query")[0]
        return Query(question, vector, frozenset(filter(None, map(entity_key, names))))

    def focused(self, query: Query, verdict: Verdict | None) -> Query:
        """The same question, with what the verdict says is missing."""
        if verdict is None or not verdict.queries:
            return query
        vectors = self.parts.encoder.encode(verdict.queries, "query")
        facts = []
        for text, vector in zip(verdict.queries, vectors, strict=True):
            ends = {e for t in verdict.missing if known_text(t) == text for e in known_ends(t)}
            facts.append(Query(text, vector, frozenset(filter(None, map(entity_key, ends)))))
        return replace(query, missing=(*query.missing, *facts))

    def thread(self, paths: Paths, library: Library) -> Thread:
        """The kept spans as the reader gets them."""
        config = self.config
        kept = Kept(paths.candidates, paths.kept, config.relevance, config.seed)
        blocks = LINEARISATIONS[config.linearisation](kept)
        material = Material(kept, blocks, library.texts, library.facts)
        nodes, energy = paths.candidates.graph.nodes, paths.candidates.energy
        shown = [number for block in blocks for number in block.nodes]
        place = {document: n for n, (document, _) in enumerate(document_ranking(kept))}
        order = sorted(shown, key=lambda n: (place[nodes[n].span.document_id], -energy[n], n))
        passages: dict[str, Hit] = {}
        for number in order:
            id = library.passage_of(nodes[number].span)
            passages.setdefault(id, Hit(id, float(energy[number])))
        return Thread(
            FORMATS[config.evidence](material),
            tuple(nodes[number].span for number in shown),
            tuple(passages.values()),
        )


@dataclass(frozen=True, slots=True)
class Thread:
    """Evidence of one round.

    Args:
        text: what the reader gets.
        spans: the spans behind it, in its order.
        passages: the passages they come from, best first.
    """

    text: str
    spans: tuple[Span, ...]
    passages: tuple[Hit, ...]

    @classmethod
    def empty(cls) -> Thread:
        """No evidence."""
        return cls("", (), ())


def summary(paths: Paths) -> Mapping[str, Any]:
    """What a trace keeps of pathfinding: anchors, and the spans left after each step."""
    candidates = paths.candidates
    nodes = candidates.graph.nodes

    def shown(number: int, value: float) -> list[Any]:
        return [*nodes[number].key, round(float(value), 6)]

    return {
        "anchors": [shown(n, candidates.scores[n]) for n in candidates.anchors],
        "energy": [shown(n, candidates.energy[n]) for n in candidates.by_energy()],
        "selected": [list(nodes[n].key) for n in paths.selected],
        "kept": [list(nodes[n].key) for n in paths.kept],
    }
