"""Names and words of the corpus graph at growing size: CPU time, memory, and what lies on disk.

Passages come from the generated world, one block at a time. The encoder is left out: sentences
are cut as it would cut them, and vectors and tokens cost the same for each passage. Then questions
are looked up: the titles and words they name, and the passages behind them.

    OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 python benchmarks/corpus_graph.py 10000 100000 1000000
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np

from rag_research.corpus.corpus import Corpus
from rag_research.corpus.sample.world import World
from rag_research.graph.corpus_arrays import corpus_arrays
from rag_research.graph.corpus_entities import folded_words, named
from rag_research.graph.corpus_graph import CorpusGraph
from rag_research.text.sentences import sentence_offsets

QUESTIONS = 300


def peak_mb() -> float:
    """Highest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def sentence_tables(corpus: Corpus, ids: tuple[str, ...]) -> Any:
    """Sentences as the token store has them, without vectors and tokens."""
    offsets = [sentence_offsets(corpus[id].contents) for id in ids]
    start = np.cumsum([0, *map(len, offsets)])
    flat = np.fromiter((n for own in offsets for pair in own for n in pair), np.int32)
    return SimpleNamespace(sentence_start=start, sentence_offsets=flat.reshape(-1, 2))


def measure(size: int) -> None:
    """One size: build, look up, print."""
    world = World(size, seed=0)
    corpus = Corpus(passage for passage, _ in world.articles())
    questions = [question.text for question in world.questions(QUESTIONS)]
    ids = tuple(sorted(corpus.ids))
    tables = sentence_tables(corpus, ids)
    before = peak_mb()
    started = time.process_time()
    arrays = corpus_arrays(corpus, ids, tables)
    seconds = time.process_time() - started
    megabytes = sum(array.nbytes for array in arrays.values()) / 2**20
    print(
        f"{size:>9,} passages: names and words in {seconds:,.1f} CPU s "
        f"({1e6 * seconds / size:,.0f} us a passage), {megabytes:,.0f} MiB on disk, "
        f"{len(arrays['entity_hash']):,} entities; peak {before:,.0f} MiB with the passages, "
        f"{peak_mb():,.0f} MiB in all"
    )
    graph = CorpusGraph(
        ids, tables, arrays, np.empty((len(arrays["bridge_entity"]), 0), np.float32)
    )
    started = time.process_time()
    graph.names, graph.entity_idf, graph.title_named  # noqa: B018 - what an opened graph keeps
    opened = time.process_time() - started
    times = []
    for text in questions:
        started = time.process_time()
        look_up(graph, text)
        times.append(time.process_time() - started)
    print(
        f"{'':>9} opened in {opened:,.1f} CPU s; {1e3 * float(np.median(times)):.3f} ms a "
        f"question to find its names, its words and the passages of the names"
    )


def look_up(graph: CorpusGraph, text: str) -> int:
    """What candidates of a question start from."""
    words = [word for word, _, _ in folded_words(text)]
    graph.words_of(words)
    start, passages = graph.arrays["entity_start"], graph.arrays["entity_passages"]
    found = 0
    for entity in graph.entities_of(named(text, graph.names)):
        found += len(list(islice(passages[start[entity] : start[entity + 1]], 100)))
    return found


def main() -> None:
    """Measure every size that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    for size in parser.parse_args().sizes:
        measure(size)


if __name__ == "__main__":
    main()
