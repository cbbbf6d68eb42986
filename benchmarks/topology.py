"""Building the topology graph against plain peers: one thread, CPU time, interleaved.

Lexical edges against the full product A @ A.T of the incidence matrix (scipy); nearest
neighbours against FAISS's flat search. With --corpus the spans are real: sentences of the
passages, entities by spaCy and spelling, vectors by the encoder; lexical edges of all of them
are then compared with brute force over every pair that shares an entity.

    OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 python benchmarks/topology.py
    ... benchmarks/topology.py --corpus data/2wiki/corpus.jsonl.gz --store .rag_research
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch
from scipy.sparse import csr_array

from rag_research.config import build
from rag_research.embed.store import EmbeddingStore
from rag_research.extract.documents import span_documents
from rag_research.extract.spans import merge_passages
from rag_research.graph.lexical_join import Pairs, prefix_join
from rag_research.graph.nearest import nearest_neighbours
from rag_research.graph.nodes import SemanticNode
from rag_research.graph.topology import Topology, edge_counts
from rag_research.registry import ENCODERS, ENTITY_FINDERS, SEGMENTERS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Span

THRESHOLD = 0.3


def measured(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def peak_mb() -> float:
    """Highest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def incidence(sets: Sequence[frozenset[str]]) -> Any:
    """Which set holds which entity."""
    number = {item: n for n, item in enumerate(sorted({i for items in sets for i in items}))}
    index = np.array([number[item] for items in sets for item in items], np.int64)
    ends = np.cumsum([0, *(len(items) for items in sets)])
    return csr_array((np.ones(len(index)), index, ends), shape=(len(sets), max(len(number), 1)))


def full_product(sets: Sequence[frozenset[str]], rows: int | None = None) -> Pairs:
    """Every pair that shares an entity, then the similar ones; ``rows`` rows at a time."""
    matrix = incidence(sets)
    sizes = np.diff(matrix.indptr)
    found = []
    step = rows or max(len(sets), 1)
    for at in range(0, len(sets), step):
        shared = (matrix[at : at + step] @ matrix.T).tocoo()
        one, other, overlap = shared.row + at, shared.col, shared.data
        value = overlap / (sizes[one] + sizes[other] - overlap)
        kept = (one < other) & (value >= THRESHOLD)
        found.append((one[kept], other[kept], value[kept]))
    first, second, value = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((second, first))
    return Pairs(first[order], second[order], value[order])


def random_sets(count: int) -> list[frozenset[str]]:
    """One to a dozen entities a node, hubs included: frequencies fall as 1 / rank."""
    random = np.random.default_rng(0)
    share = 1 / np.arange(1, 6001)
    sizes = 1 + random.poisson(4, size=count)
    drawn = random.choice(6000, size=int(sizes.sum()), p=share / share.sum())
    return [frozenset(map(str, part)) for part in np.split(drawn, np.cumsum(sizes)[:-1])]


def random_vectors(count: int, dimension: int = 384) -> np.ndarray:
    """Unit vectors in clusters, so that there are neighbours at all."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(max(count // 20, 1), dimension))
    vectors = centres[random.integers(len(centres), size=count)]
    vectors = (vectors + 0.8 * random.normal(size=vectors.shape)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def lexical(sets: Sequence[frozenset[str]], rounds: int) -> None:
    """Print prefix filter against full product."""
    ours, peer = [], []
    for _ in range(rounds):
        seconds, pairs = measured(lambda: prefix_join(sets, THRESHOLD))
        ours.append(seconds)
        seconds, truth = measured(lambda: full_product(sets))
        peer.append(seconds)
    assert all(np.array_equal(a, b) for a, b in zip(pairs, truth, strict=True))
    print(
        f"lexical edges, {len(sets)} nodes: {len(pairs.first)} edges, equal; "
        f"prefix filter {min(ours):.3f} s, A @ A.T {min(peer):.3f} s, "
        f"ratio {min(peer) / min(ours):.1f}"
    )


def nearest(vectors: np.ndarray, documents: np.ndarray, rounds: int) -> None:
    """Print nearest neighbours against FAISS flat search."""
    faiss.omp_set_num_threads(1)
    torch.set_num_threads(1)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    rank = np.arange(len(vectors))
    ours, peer = [], []
    for _ in range(rounds):
        seconds, found = measured(lambda: nearest_neighbours(vectors, documents, rank))
        ours.append(seconds)
        seconds, _ = measured(lambda: index.search(vectors, 6))
        peer.append(seconds)
    print(
        f"nearest 5 in other documents, cosine >= 0.5, {len(vectors)} x {vectors.shape[1]}: "
        f"{len(found.source)} neighbours; tiles {min(ours):.3f} s, FAISS flat "
        f"{min(peer):.3f} s, ratio {min(peer) / min(ours):.2f}"
    )


def real_nodes(corpus: Path, store: ArtifactStore) -> list[SemanticNode]:
    """Sentences of all passages with their entities."""
    from rag_research.corpus.jsonl import read_passages

    sources = merge_passages(read_passages(corpus))
    segmenter = SEGMENTERS.get("sentences")(build(SEGMENTERS.get("sentences").Config, {}))
    finder_class = ENTITY_FINDERS.get("named_entities")
    finder = finder_class(build(finder_class.Config, {}))
    seconds, documents = measured(lambda: span_documents(sources, segmenter, finder, store))
    nodes = [node for document in documents for node in document.nodes]
    print(f"{len(sources)} documents -> {len(nodes)} spans with entities: {seconds:.1f} CPU s")
    return nodes


def all_lexical(nodes: Sequence[SemanticNode]) -> None:
    """Print lexical edges of all spans against brute force in blocks."""
    sets = [node.entities for node in nodes]
    before = peak_mb()
    seconds, pairs = measured(lambda: prefix_join(sets, THRESHOLD))
    after = peak_mb()
    brute, truth = measured(lambda: full_product(sets, rows=1000))
    equal = all(np.array_equal(a, b) for a, b in zip(pairs, truth, strict=True))
    print(
        f"lexical edges of all {len(nodes)} spans: {len(pairs.first)} edges in {seconds:.2f} s, "
        f"{after - before:.0f} MB more at peak; brute force {brute:.1f} s, "
        f"equal: {equal}"
    )


def whole_graph(nodes: Sequence[SemanticNode], vectors: np.ndarray) -> None:
    """Print the time of the graph as it is used, and of a query-time graph."""

    def build_graph() -> Any:
        topology = Topology()
        topology.add(nodes, vectors)
        return topology.data()

    seconds, graph = measured(build_graph)
    print(f"whole graph of {len(nodes)} spans: {seconds:.1f} CPU s, edges {edge_counts(graph)}")

    def three_rounds() -> list[Any]:
        topology, graphs = Topology(), []
        for at in (0, 30, 60):
            topology.add(nodes[at : at + 30], vectors[at : at + 30])
            graphs.append(topology.data())
        return graphs

    seconds, _ = measured(lambda: [three_rounds() for _ in range(50)])
    print(f"query-time graph, three rounds of 30 spans: {1000 * seconds / 50:.2f} ms")


def main() -> None:
    """Parse the command line, run what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--corpus", type=Path, help="a corpus.jsonl or corpus.jsonl.gz")
    parser.add_argument("--store", default=".rag_research")
    parser.add_argument("--encode", type=int, default=0, help="how many spans to encode")
    arguments = parser.parse_args()
    if not arguments.corpus:
        lexical(random_sets(arguments.nodes), arguments.rounds)
        vectors = random_vectors(arguments.nodes)
        nearest(vectors, np.arange(len(vectors)) // 5, arguments.rounds)
        spans = [Span(f"{n // 5}", n, n + 1, "x") for n in range(arguments.nodes)]
        sets = random_sets(arguments.nodes)
        nodes = [
            SemanticNode(s, n % 5, "", e) for n, (s, e) in enumerate(zip(spans, sets, strict=True))
        ]
        whole_graph(nodes, vectors)
        return
    store = ArtifactStore(arguments.store)
    nodes = real_nodes(arguments.corpus, store)
    all_lexical(nodes)
    lexical([node.entities for node in nodes[: arguments.nodes]], arguments.rounds)
    if arguments.encode:
        nodes = nodes[: arguments.encode]
        encoder_class = ENCODERS.get("sentence_encoder")
        encoder = encoder_class(build(encoder_class.Config, {"device": "cpu"}))
        texts = [node.span.text for node in nodes]
        vectors = np.array(EmbeddingStore(store.root, encoder).vectors(texts))
        names = {name: n for n, name in enumerate({node.span.document_id for node in nodes})}
        documents = np.array([names[node.span.document_id] for node in nodes])
        nearest(vectors, documents, arguments.rounds)
        whole_graph(nodes, vectors)


if __name__ == "__main__":
    main()
