"""Tokens per second of the local model at several numbers of concurrent requests.

Prompts are alike in shape to those of the systems: fixed instructions with worked examples,
then passages and a question of their own. Every round uses new passages.

    OMP_WAIT_POLICY=passive python benchmarks/llm_throughput.py --threads 1
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from collections.abc import Sequence
from typing import Any

from rag_research.config.build import build
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.transformers_local import TransformersLocal

_WORDS = """
river bridge council harbour engine painter valley museum treaty railway printer orchard
festival glacier senator novel quarry lantern captain village archive cathedral meadow market
island garden doctor winter summit copper violin theatre border station
"""


def _passage(generator: random.Random, words: int) -> str:
    return " ".join(generator.choice(_WORDS.split()) for _ in range(words)).capitalize() + "."


def make_requests(
    count: int, seed: int, *, fixed_words: int, own_words: int, max_tokens: int
) -> list[Request]:
    """Requests that share their first ``fixed_words`` words and nothing else."""
    fixed = _passage(random.Random(0), fixed_words)
    requests = []
    for i in range(count):
        own = _passage(random.Random(f"{seed}-{i}"), own_words)
        messages = (
            Message("system", f"Continue the list of words for as long as you can. {fixed}"),
            Message("user", f"{own}\nNow write a long list of other words, one a line."),
        )
        requests.append(Request(messages, max_tokens=max_tokens, prompt="throughput"))
    return requests


async def _ask(llm: TransformersLocal, requests: Sequence[Request]) -> list[Completion]:
    return list(await asyncio.gather(*(llm.complete(request) for request in requests)))


def measure(llm: TransformersLocal, requests: Sequence[Request]) -> dict[str, float]:
    """Wall-clock and CPU seconds of one round, and the tokens it read and wrote."""
    wall, cpu = time.perf_counter(), time.process_time()
    done = asyncio.run(_ask(llm, requests))
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "read": sum(c.input_tokens for c in done),
        "written": sum(c.output_tokens for c in done),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print one row for each concurrency."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--fixed-words", type=int, default=300)
    parser.add_argument("--own-words", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=40)
    parser.add_argument("--no-prefix", action="store_true", help="compute every prompt whole")
    given = parser.parse_args(argv)
    settings: dict[str, Any] = {
        "model": given.model,
        "threads": given.threads,
        "device": given.device,
        "precision": given.precision,
        "batch_size": max(given.concurrency),
    }
    if given.no_prefix:
        settings["prefix_tokens"] = 0
    llm = TransformersLocal(build(TransformersLocal.Config, settings))
    shape = {"fixed_words": given.fixed_words, "own_words": given.own_words}
    for seed in (-2, -1):  # load, and let the shared beginning be found
        measure(llm, make_requests(1, seed, max_tokens=2, **shape))
    policy = os.environ.get("OMP_WAIT_POLICY", "unset")
    print(f"{given.model} {given.precision} threads={given.threads} OMP_WAIT_POLICY={policy}")
    print("Speeds are per wall-clock second; a prefill-only round gives the prompt figure.")
    print(f"{'at once':>8} {'prompt':>7} {'prompt tok/s':>13} {'gen tok/s':>10} {'CPU s':>7}")
    for count in given.concurrency:
        first = measure(llm, make_requests(count, count, max_tokens=1, **shape))
        full = measure(llm, make_requests(count, count, max_tokens=given.max_tokens, **shape))
        steps = full["written"] - first["written"]
        generation = steps / max(full["wall"] - first["wall"], 1e-9)
        print(
            f"{count:>8} {first['read'] / count:>7.0f} {first['read'] / first['wall']:>13.1f} "
            f"{generation:>10.1f} {first['cpu'] + full['cpu']:>7.1f}"
        )


if __name__ == "__main__":
    main()
