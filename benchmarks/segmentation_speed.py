"""Speed of segmentation against pysbd and the encoder's tokenizer, one thread, CPU time.

All cut the same text in turns; the best of the rounds counts. pysbd only finds sentences; the
boundary networks find sentences, compute features and decode.

    OMP_WAIT_POLICY=passive python benchmarks/segmentation_speed.py --characters 200000
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

import torch

from rag_research.corpus.segmented import read_segmented
from rag_research.errors import ModelNotFoundError
from rag_research.extract.boundary import Boundary
from rag_research.registry import SEGMENTERS
from rag_research.runtime.weights import resolve_model

_WORDS = """
river bridge council harbour engine painter valley museum treaty railway printer orchard the
festival glacier senator novel quarry lantern captain village archive cathedral meadow and of
"""


def sample(characters: int, path: Path | None) -> str:
    """Real documents put together, or sentences of random words."""
    if path is not None:
        text = " ".join(document.text for document in read_segmented(path))
        return text[:characters]
    generator = random.Random(0)
    words = _WORDS.split()
    sentences = []
    size = 0
    while size < characters:
        sentence = " ".join(generator.choices(words, k=generator.randint(6, 30))).capitalize()
        sentences.append(sentence + ".")
        size += len(sentence) + 2
    return " ".join(sentences)[:characters]


def contenders(encoder: str, contextual: str) -> dict[str, Callable[[str], object]]:
    """Name -> what is timed on one text; models are loaded before."""
    import pysbd
    from transformers import AutoTokenizer

    peer = pysbd.Segmenter(language="en", clean=False)
    found: dict[str, Callable[[str], object]] = {"pysbd": peer.segment}
    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve_model(encoder).path)
        found["tokenizer"] = lambda text: tokenizer(text, truncation=False, verbose=False)
    except ModelNotFoundError:
        print(f"{encoder} is not fetched: tokenizer left out")
    component = SEGMENTERS.get("sentences")
    sentences = component(component.Config())
    found["sentences"] = lambda text: sentences.segment([text])
    names = ["boundary-light", *([contextual] if contextual else [])]
    for name in names:
        boundary = Boundary(Boundary.Config(checkpoint=name, device="cpu"))
        found[name] = lambda text, boundary=boundary: boundary.segment([text])  # type: ignore[misc]
    for run in found.values():
        run("A short text. It warms up. Ann came home.")
    return found


def main() -> None:
    """Parse the command line, time, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, help="a file of segmented documents")
    parser.add_argument("--characters", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--encoder", default="all-minilm-l6-v2")
    parser.add_argument("--contextual", default="", help="a contextual network to time too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    text = sample(arguments.characters, arguments.documents)
    best: dict[str, float] = {}
    runs = contenders(arguments.encoder, arguments.contextual)
    for _ in range(arguments.rounds):
        for name, run in runs.items():
            started = time.process_time()
            run(text)
            seconds = time.process_time() - started
            best[name] = min(seconds, best.get(name, seconds))
    for name, seconds in best.items():
        speed = len(text) / seconds / 1e6
        print(
            f"{name:16} {speed:7.3f} M characters a second  {best['pysbd'] / seconds:7.2f} x pysbd"
        )


if __name__ == "__main__":
    main()
