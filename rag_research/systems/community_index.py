"""What ToG-3 knows before a question: chunks, triplets, communities, one vector space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag_research.config import slot
from rag_research.config.fingerprint import fingerprint
from rag_research.corpus.corpus import Corpus
from rag_research.embed.store import EmbeddingStore
from rag_research.extract.summaries import summarise
from rag_research.extract.triplets import Extraction
from rag_research.graph.communities import Community, Levels, Method, find_communities
from rag_research.graph.entity_graph import EntityGraph, build_entity_graph
from rag_research.graph.heterogeneous import (
    HUB_LIMIT,
    KINDS,
    HeterogeneousGraph,
    Kind,
    Node,
    chunk_node_id,
)
from rag_research.graph.heterogeneous_files import save_graph
from rag_research.index.chunks import Chunk, chunk_passages
from rag_research.index.dense import build_dense, texts_fingerprint
from rag_research.llm.resumable import added
from rag_research.registry import EXTRACTORS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.solve.provenance import names_both
from rag_research.systems.base import Index, Parts
from rag_research.types import Passage, Triplet

Triplets = Mapping[str, tuple[Triplet, ...]]

STAGE = "heterogeneous-graph"
VERSION = 1
PAPER_TRIPLETS = 2


@dataclass(frozen=True, slots=True)
class CommunityGraphConfig:
    """Settings of the graph.

    Args:
        chunk_size: words in a chunk (1,024 tokens in the paper). Words are counted as in the
            loader of folders, a character of Chinese or Japanese being one; 1,024 English words
            are about 1,350 tokens of the default model.
        chunk_overlap: words shared by neighbouring chunks of one passage.
        extractor: where triplets come from. ``rules`` asks no model and describes no entity.
        support: triplets whose subject and object both stand in their chunk, or all that the
            extractor gives. Differs from the paper: a small model copies facts from the worked
            examples of its prompt, and what it copied would be found and believed.
        triplets_per_chunk: most triplets kept of a chunk, the first ones, whoever extracts.
            More than 2 need an extractor whose ``limit``, if it has one, is as high.
        communities: how they are found, or ``none``.
        community_size: a community with more entities is partitioned further.
        least_members: communities of fewer entities get no node.
        levels: which levels of the hierarchy get nodes.
        seed: of the partition.
        summary_tokens: most tokens of a community's summary.
        summary_items: most entities, and most facts, that the model reads of a community.
        hub_limit: most neighbours of one node over one kind of edge.
    """

    chunk_size: int = 1024
    chunk_overlap: int = 20
    extractor: Any = slot(EXTRACTORS, "chunk_triplets")
    support: Literal["named", "trusted"] = "named"
    triplets_per_chunk: int = PAPER_TRIPLETS
    communities: Method = "leiden"
    community_size: int = 5
    least_members: int = 2
    levels: Levels = "leaf"
    seed: int = 0
    summary_tokens: int = 128
    summary_items: int = 30
    hub_limit: int = HUB_LIMIT

    def __post_init__(self) -> None:
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise ValueError(
                f"chunk_overlap must be at least 0 and less than chunk_size, got "
                f"{self.chunk_overlap} and {self.chunk_size}."
            )
        for name in ("triplets_per_chunk", "summary_tokens", "summary_items", "hub_limit"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        limit = getattr(self.extractor, "limit", self.triplets_per_chunk)
        if self.triplets_per_chunk > max(limit, PAPER_TRIPLETS):  # a lower limit alone is meant
            raise ValueError(
                f"triplets_per_chunk={self.triplets_per_chunk} has no effect: the extractor gives "
                f"at most {limit} a chunk. Raise its limit too: "
                f"system.graph.extractor.limit={self.triplets_per_chunk}."
            )
        if min(self.community_size, self.least_members) < 2:
            raise ValueError("community_size and least_members must be at least 2.")


def build_community_graph(
    config: CommunityGraphConfig, corpus: Corpus, store: ArtifactStore, parts: Parts
) -> Index:
    """Chunks, their triplets, the communities of the entities, all embedded.

    Finished chunks and summaries are found in ``store``; those that failed are counted
    (``failed``, ``failed_summaries``), are not in the graph, and are asked again by the next
    call that may write. The order of the corpus does not matter, and a corpus that grew gives
    the graph that building from scratch gives.

    Args:
        config: see :class:`CommunityGraphConfig`.
        corpus: the passages; a long one becomes several chunks.
        store: where finished work is kept; the graph itself is stored there as files.
        parts: LLM, encoder and kind of dense index.

    Returns:
        ``data["graph"]`` is a :class:`~rag_research.graph.heterogeneous.HeterogeneousGraph`;
        ``retrievers`` rank the nodes of one kind each. Counts: ``entities``, ``relations``,
        ``communities``, ``unsplit`` (communities above the size limit), ``unsupported`` (triplets
        whose chunk does not name both ends), ``surplus`` (triplets beyond those kept of a chunk),
        and what extractor and summaries report.
    """
    chunks = chunk_passages(corpus, config.chunk_size, config.chunk_overlap, "words")
    extraction, kept, extracted = _kept_triplets(config, chunks, store, parts)
    entity_graph = build_entity_graph(kept, extraction.entities)
    communities = find_communities(
        entity_graph.edges,
        config.communities,
        config.community_size,
        config.seed,
        config.levels,
        config.least_members,
    )
    contents = community_texts(communities, entity_graph, config.summary_items)
    summaries = summarise(
        contents, store, parts.llm, parts.prompts, config.summary_tokens, parts.concurrency
    )
    members = {c.id: c.members for c in communities if c.id in summaries.texts}
    graph, retrievers = _embedded(
        chunks, entity_graph, members, summaries.texts, config.hub_limit, store, parts
    )

    sizes = {
        "entities": len(graph.entities),
        "relations": len(graph.relations),
        "communities": len(graph.members),
        "unsplit": sum(len(c.members) > config.community_size for c in communities if c.leaf),
    }
    contents = _contents(graph, parts)
    _store(graph, contents, sizes, store)
    counts = {
        "passages": len(corpus),
        "chunks": len(chunks),
        **sizes,
        "failed_summaries": summaries.failed,
        "reused_summaries": summaries.reused,
        **extracted,
    }
    usage = added(extraction.usage, summaries.usage)
    return Index(corpus, retrievers, {"graph": graph}, counts, usage, fingerprint(contents))


def _kept_triplets(
    config: CommunityGraphConfig, chunks: Sequence[Chunk], store: ArtifactStore, parts: Parts
) -> tuple[Extraction, Triplets, dict[str, int]]:
    """What the extractor gives, what of it the graph takes, and the counts of both."""

    def total(rows: Triplets) -> int:
        return sum(map(len, rows.values()))

    extractor = EXTRACTORS.get(config.extractor.name)(config.extractor)
    extraction: Extraction = extractor.extract(
        Corpus(map(_as_passage, chunks)), store, parts.llm, parts.prompts, parts.concurrency
    )
    supported = SUPPORTS[config.support](extraction.triplets, chunks)
    kept = {id: rows[: config.triplets_per_chunk] for id, rows in supported.items()}
    counts = {k: n for k, n in extraction.report.items() if k not in ("passages", "triplets")}
    counts["unsupported"] = total(extraction.triplets) - total(supported)
    counts["surplus"] = total(supported) - total(kept)
    return extraction, kept, counts


def named_in_chunk(triplets: Triplets, chunks: Sequence[Chunk]) -> Triplets:
    """The triplets whose chunk names subject and object, title included."""
    contents = {chunk.id: chunk.contents for chunk in chunks}
    return {
        id: tuple(row for row in rows if names_both(contents[id], row))
        for id, rows in triplets.items()
    }


def as_extracted(triplets: Triplets, chunks: Sequence[Chunk]) -> Triplets:
    """All of them."""
    return triplets


SUPPORTS = {"named": named_in_chunk, "trusted": as_extracted}


def community_texts(
    communities: Sequence[Community], graph: EntityGraph, most: int
) -> Mapping[str, str]:
    """What the model reads about each community, by its id.

    Entities with the most relations come first, then by key; facts are those inside the
    community, the most frequent first, then by alphabet. Both stop at ``most``.
    """
    relations_of: dict[str, list[tuple[Triplet, tuple[str, ...]]]] = {}
    for relation in graph.relations.values():
        keys = relation.entity_keys
        for key in keys:
            relations_of.setdefault(key, []).append((relation.triplet, keys))
    texts = {}
    for community in communities:
        inside = set(community.members)
        facts = Counter(
            triplet.proposition
            for member in community.members
            for triplet, keys in relations_of.get(member, ())
            if keys[0] == member and inside.issuperset(keys)
        )
        order = sorted(community.members, key=lambda key: (-len(relations_of.get(key, ())), key))
        lines = ["Things:"]
        for entity in (graph.entities[key] for key in order[:most]):
            kind = f" ({entity.type})" if entity.type else ""
            about = f": {entity.description}" if entity.description else ""
            lines.append(f"- {entity.name}{kind}{about}")
        lines += ["", "Facts:"]
        lines += [f"- {fact}" for fact in sorted(facts, key=lambda f: (-facts[f], f))[:most]]
        texts[community.id] = "\n".join(lines)
    return texts


def _as_passage(chunk: Chunk) -> Passage:
    title, text = chunk.contents[: chunk.text_start], chunk.contents[chunk.text_start :]
    return Passage(chunk.id, title.removesuffix("\n"), text)


def _embedded(
    chunks: Sequence[Chunk],
    entity_graph: EntityGraph,
    members: Mapping[str, Sequence[str]],
    summaries: Mapping[str, str],
    hub_limit: int,
    store: ArtifactStore,
    parts: Parts,
) -> tuple[HeterogeneousGraph, dict[str, Any]]:
    """The graph with a vector for every node, and a dense index for every kind of node."""
    nodes = {
        "chunk": [Node(chunk_node_id(c.id), "chunk", c.contents) for c in chunks],
        "triplet": [Node(id, "triplet", r.text) for id, r in entity_graph.relations.items()],
        "community": [Node(id, "community", summaries[id]) for id in members],
    }
    searchers: dict[Kind, Any] = {}
    ordered: list[Node] = []
    for kind in KINDS:
        own = sorted(nodes[kind], key=lambda node: node.id)
        ids, texts = [node.id for node in own], [node.text for node in own]
        searchers[kind] = build_dense(parts.dense, kind, ids, texts, parts.encoder, store)
        ordered += own
    stored = EmbeddingStore(store.root, parts.encoder, read_only=store.read_only)
    vectors = stored.vectors([n.text for n in ordered])
    graph = HeterogeneousGraph(
        ordered,
        vectors,
        entity_graph.entities,
        entity_graph.relations,
        members,
        {chunk_node_id(c.id): c.passage_id for c in chunks},
        searchers,
        hub_limit,
    )
    return graph, {str(kind): searcher for kind, searcher in searchers.items()}


def _contents(graph: HeterogeneousGraph, parts: Parts) -> Mapping[str, Any]:
    """What the graph is made of, for fingerprints."""
    return {
        "nodes": texts_fingerprint([n.id for n in graph.nodes], [n.text for n in graph.nodes]),
        "entities": fingerprint(
            [[k, e.name, e.type, e.description] for k, e in graph.entities.items()]
        ),
        "members": fingerprint(graph.members),
        "encoder": dict(parts.encoder.identity),
    }


def _store(
    graph: HeterogeneousGraph,
    contents: Mapping[str, Any],
    sizes: Mapping[str, int],
    store: ArtifactStore,
) -> None:
    def write(directory: Path) -> Mapping[str, int]:
        save_graph(graph, directory)
        return sizes

    store.ensure(STAGE, VERSION, contents, write)
