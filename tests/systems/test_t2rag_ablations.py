"""Every ablation of T2RAG changes what is asked for and what happens."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rag_research.config import build, fingerprint
from rag_research.config.compose import compose_dict, config_folder
from rag_research.corpus.sample_world import SampleWorld, SampleWorldConfig
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.extract.triplets import Extraction
from rag_research.index.flat import Flat
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import EXTRACTORS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts
from rag_research.systems.t2rag import T2RAG, T2RAGConfig
from rag_research.trace import Trace

pytest.importorskip("faiss")

ABLATIONS = sorted((config_folder() / "ablation" / "t2rag").glob("*.yaml"))
WORLD = SampleWorld(SampleWorldConfig(passages=80))


def extractor(most: int) -> type:
    """Stands in for a model: the sample world's own triplets, at most so many a passage."""

    class GoldTriplets:
        def __init__(self, config: Any) -> None:
            pass

        def extract(self, corpus, store, llm, prompts, concurrency=8) -> Extraction:
            gold = WORLD.gold_triplets()
            return Extraction(
                {p.id: tuple(gold.get(p.id, ())[:most]) for p in corpus}, {"passages": 1}
            )

    return GoldTriplets


def reply(request: Request) -> str:
    """Two triplets of one unknown, one of two; each round fills in one name, out of thin air."""
    text = request.messages[-1].content
    if request.purpose == "decompose":
        name = max(re.findall(r"[A-Z]\w+", text), key=len)
        chain = [[name, "lies on", "?a"], [name, "was built by", "?c"], ["?a", "near", "?b"]]
        return json.dumps({"triplets": chain})
    if request.purpose == "resolve":
        pending = [json.loads(line) for line in text.splitlines() if line.startswith("[")]
        first = pending[0] if pending else ["it", "is", "it"]
        filled = [re.sub(r"\?\w+", f"Nowhere{len(text) % 7}", word) for word in first]
        return json.dumps({"triplets": [filled]})
    return "x"


def solved(tmp_path: Path, system_name: str, *more: str) -> list[str]:
    """Trace lines of some questions, without times."""
    config = build(T2RAGConfig, compose_dict([f"system={system_name}", *more])["system"])
    encoder = Hashing(HashingConfig(dimension=128))
    parts = Parts(Scripted.of(reply), encoder, PromptLibrary(), build(Flat.Config, {}))
    system = T2RAG(config, parts)
    dataset = WORLD.load()
    index = system.index(dataset.corpus, ArtifactStore(tmp_path))
    lines = []
    for question in dataset.questions[:4]:
        trace = Trace(question.id)
        asyncio.run(system.solve(question.text, index, trace))
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in trace.lines()]
        lines += [json.dumps(row, default=str) for row in rows]
    return lines


@pytest.fixture(autouse=True)
def _no_model_extracts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("openie", 9), ("rules", 1)):
        stand_in = extractor(most)
        monkeypatch.setattr(EXTRACTORS.get(name), "__init__", stand_in.__init__)
        monkeypatch.setattr(EXTRACTORS.get(name), "extract", stand_in.extract)  # type: ignore[attr-defined]


@pytest.fixture
def plain(tmp_path: Path) -> Mapping[str, list[str]]:
    return {name: solved(tmp_path / name, name) for name in ("t2rag", "t2rag_rules")}


def test_every_ablation_changes_fingerprint_and_trace(
    plain: Mapping[str, list[str]], tmp_path: Path
) -> None:
    rounds = [json.loads(line).get("round") for line in plain["t2rag"]]
    assert max(number or 0 for number in rounds) == 3
    assert len(ABLATIONS) >= 8
    for path in ABLATIONS:
        # The reverse of llm_extractor is the default: compare it with the rules instead.
        name = "t2rag_rules" if path.stem == "llm_extractor" else "t2rag"
        ablation = f"ablation/t2rag={path.stem}"
        base = compose_dict([f"system={name}"])["system"]
        ablated = compose_dict([f"system={name}", ablation])["system"]
        prints = [fingerprint(build(T2RAGConfig, values)) for values in (base, ablated)]
        assert prints[0] != prints[1], path.stem
        assert solved(tmp_path / path.stem, name, ablation) != plain[name], path.stem


def test_one_round_is_one_round(tmp_path: Path) -> None:
    lines = map(json.loads, solved(tmp_path, "t2rag", "ablation/t2rag=single_round"))
    assert {line["round"] for line in lines if "round" in line} == {1}
