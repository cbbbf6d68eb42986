"""Encoding speed of the sentence encoder against sentence-transformers in float32.

Both encode the same texts in turns, one thread, CPU time, best of the rounds; the cosine
between their vectors is printed with the ratio. Texts are random lengths of random words, or
the passages of a corpus.

    OMP_WAIT_POLICY=passive python benchmarks/encoding.py --texts 256 --rounds 3
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from rag_research.config.build import build
from rag_research.corpus.jsonl import read_passages
from rag_research.embed.base import Vectors
from rag_research.embed.sentence_encoder import SentenceEncoder
from rag_research.runtime.weights import resolve_model

_WORDS = """
river bridge council harbour engine painter valley museum treaty railway printer orchard the
festival glacier senator novel quarry lantern captain village archive cathedral meadow and of
"""


def random_texts(count: int) -> list[str]:
    """Texts of 20 to 180 words."""
    generator = random.Random(0)
    words = _WORDS.split()
    return [" ".join(generator.choices(words, k=generator.randint(20, 180))) for _ in range(count)]


def timed(encode: Callable[[], Vectors]) -> tuple[float, Vectors]:
    """CPU seconds of one call, and what it returned."""
    started = time.process_time()
    vectors = encode()
    return time.process_time() - started, vectors


def compare(model: str, texts: Sequence[str], rounds: int) -> None:
    """Time the peer and both precisions, interleaved, and print a line each."""
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    peer = SentenceTransformer(str(resolve_model(model).path), device="cpu")
    contenders: dict[str, Callable[[], Vectors]] = {
        "sentence-transformers fp32": lambda: np.asarray(
            peer.encode(list(texts), normalize_embeddings=True)
        )
    }
    for precision in ("bf16", "fp32"):
        settings = {"model": model, "precision": precision, "device": "cpu"}
        encoder = SentenceEncoder(build(SentenceEncoder.Config, settings))
        encoder.encode(texts[:8], "passage")
        contenders[f"rag_research {precision}"] = partial(encoder.encode, texts, "passage")
    best: dict[str, float] = {}
    vectors: dict[str, Vectors] = {}
    for _ in range(rounds):
        for name, encode in contenders.items():
            seconds, vectors[name] = timed(encode)
            best[name] = min(seconds, best.get(name, seconds))
    (reference, *_) = contenders
    print("bf16 matrix units (AMX):", torch.cpu._is_amx_tile_supported())
    for name in contenders:
        cosine = (vectors[name] * vectors[reference]).sum(axis=1).min()
        print(
            f"{name:28} {len(texts) / best[name]:7.1f} texts per CPU second"
            f"  ratio {best[reference] / best[name]:.2f}  least cosine {cosine:.5f}"
        )


def main() -> None:
    """Parse the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="all-minilm-l6-v2")
    parser.add_argument("--corpus", type=Path, help="a corpus.jsonl or corpus.jsonl.gz")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.corpus:
        passages = list(read_passages(arguments.corpus))[: arguments.texts]
        texts = [passage.contents for passage in passages]
    else:
        texts = random_texts(arguments.texts)
    compare(arguments.model, texts, arguments.rounds)


if __name__ == "__main__":
    main()
