"""Exact dense search against FAISS's own flat search, interleaved, one thread, CPU time.

OMP_WAIT_POLICY=passive python benchmarks/dense_search.py --vectors 100000 --batch 64
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import faiss
import numpy as np

from rag_research.index.flat import Flat, FlatConfig


def cpu_seconds(search: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    started = time.process_time()
    search()
    return time.process_time() - started


def main() -> None:
    """Parse the command line, time both in turns, print the ratio of the best rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    vectors = random.normal(size=(arguments.vectors, arguments.dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = np.ascontiguousarray(vectors[: arguments.batch])
    faiss.omp_set_num_threads(1)
    flat = Flat(FlatConfig(device="cpu"))
    index = flat.build(vectors)
    contenders: dict[str, Callable[[], Any]] = {
        "FAISS Flat": partial(index.search, queries, arguments.k),
        "rag_research flat": partial(flat.searcher(index).top, queries, arguments.k),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(arguments.rounds):
        for name, search in contenders.items():
            best[name] = min(best[name], cpu_seconds(search))
    reference = best["FAISS Flat"]
    for name, seconds in best.items():
        per_query = 1000 * seconds / arguments.batch
        print(f"{name:18} {per_query:7.3f} ms a query  ratio {reference / seconds:.2f}")
    assert (contenders["rag_research flat"]()[1] == contenders["FAISS Flat"]()[1]).all()


if __name__ == "__main__":
    main()
