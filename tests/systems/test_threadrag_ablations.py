"""Every ablation of ThreadRAG changes what is asked for and what happens."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rag_research.config import build, fingerprint
from rag_research.config.compose import compose_dict, config_folder
from rag_research.corpus.sample_world import SampleWorld, SampleWorldConfig
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.extract.triplets import Extraction
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.registry import EXTRACTORS
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts
from rag_research.systems.threadrag import ThreadRAG, ThreadRAGConfig
from rag_research.trace import Trace

MISSING = json.dumps({"sufficient": False, "missing": [["Oakhollow", "lies on", "?"]]})
ABLATIONS = sorted((config_folder() / "ablation").glob("threadrag*/*.yaml"))
WORLD = SampleWorld(SampleWorldConfig(passages=80))


class GoldTriplets:
    """The sample world's own triplets, in place of a model's."""

    def __init__(self, config: Any) -> None:
        pass

    def extract(self, corpus, store, llm, prompts, concurrency=8) -> Extraction:
        gold = WORLD.gold_triplets()
        return Extraction({p.id: tuple(gold.get(p.id, ())) for p in corpus}, {"passages": 1})


# Energy reaches a span through its neighbours, so one above the threshold nearly always has a
# neighbour above it: the search is seen to work only behind a selector that ignores energy.
SETTING = {"no_connectivity": ["system.pathfinding.selector={name: random, k: 12}"]}


def solved(tmp_path: Path, system_name: str, *more: str) -> list[str]:
    """Trace lines of some questions, without times."""
    overrides = [f"system={system_name}", "system.entities=capitalised", *more]
    config = build(ThreadRAGConfig, compose_dict(overrides)["system"])
    dataset = WORLD.load()
    llm = Scripted.of(
        lambda request: {"entities": "?", "answer": "<answer>x"}.get(request.purpose, MISSING)
    )
    system = ThreadRAG(config, Parts(llm, Hashing(HashingConfig(dimension=128)), PromptLibrary()))
    index = system.index(dataset.corpus, ArtifactStore(tmp_path))
    lines = []
    for question in dataset.questions[:6]:
        trace = Trace(question.id)
        asyncio.run(system.solve(question.text, index, trace))
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in trace.lines()]
        lines += [json.dumps(row, default=str) for row in rows]
    return lines


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    names = ("threadrag", "threadrag_edp")
    return {name: solved(tmp_path_factory.mktemp(name), name) for name in names}


@pytest.mark.parametrize("path", ABLATIONS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_ablation_changes_fingerprint_and_trace(
    path: Path, plain: Mapping[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EXTRACTORS.get("openie"), "__init__", GoldTriplets.__init__)
    monkeypatch.setattr(EXTRACTORS.get("openie"), "extract", GoldTriplets.extract)
    name = path.parent.name
    base = compose_dict([f"system={name}"])["system"]
    ablated = compose_dict([f"system={name}", f"ablation/{name}={path.stem}"])["system"]
    assert fingerprint(build(ThreadRAGConfig, base)) != fingerprint(build(ThreadRAGConfig, ablated))
    more = SETTING.get(path.stem, [])
    before = solved(tmp_path / "plain", name, *more) if more else plain[name]
    ablation = f"ablation/{name}={path.stem}"
    assert solved(tmp_path / "ablated", name, ablation, *more) != before
