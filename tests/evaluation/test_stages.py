"""Ranks of gold passages after each stage, on a corpus where they can be told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.stages import (
    STAGES,
    StageRanks,
    as_threadrag,
    score_stages,
    stage_ranks,
    stages_table,
)
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.systems.base import Parts
from rag_research.systems.closed_book import ClosedBook, ClosedBookConfig
from rag_research.systems.threadrag import ThreadRAG, ThreadRAGConfig
from rag_research.types import Passage, Question

CORPUS = Corpus(
    [
        Passage("film", "Salt Road", "Salt Road is a film. Mia Orr directed Salt Road."),
        Passage("person", "Mia Orr", "Mia Orr was born in Keld."),
        Passage("bread", "Rye", "Rye is a grain."),
    ]
)


PUBLISHED = {"retrieval": "hybrid", "pathfinding": {"selector": "threshold", "connectivity": "bfs"}}


@pytest.mark.parametrize("how", [PUBLISHED, {}], ids=["published", "learned"])
def test_each_stage_ranks_passages_and_asks_no_model(
    tmp_path: Path, how: Mapping[str, Any]
) -> None:
    parts = Parts(Scripted.of([]), Hashing(HashingConfig()), PromptLibrary())
    settings = {"entities": "capitalised", "documents": 2, **how}
    system = ThreadRAG(build(ThreadRAGConfig, settings), parts)
    index = system.index(CORPUS, ArtifactStore(tmp_path))
    question = Question("q", "Who directed Salt Road?", gold_passages=("film", "bread"))
    ranks = stage_ranks(system, index, question)
    assert tuple(ranks.rankings) == STAGES
    assert all(ids[0] == "film" for ids in ranks.rankings.values())
    assert all(gold["film"] == 1 for gold in ranks.gold.values())
    assert len(ranks.rankings["retrieval"]) == 2
    assert set(ranks.rankings["connectivity"]) <= set(ranks.rankings["selection"])


def test_scores_by_hand() -> None:
    rankings = dict.fromkeys(STAGES, ("a", "b")) | {"selection": ("b",), "connectivity": ()}
    gold = {s: {g: ids.index(g) + 1 if g in ids else None for g in "bc"} for s, ids in
            rankings.items()}  # fmt: skip
    scored = score_stages([StageRanks("q", rankings, gold)], (1, 2), samples=10)
    means = {stage: [i.mean for i in row.values()] for stage, row in scored.items()}
    assert list(scored["anchors"]) == [
        *("recall@1", "recall@2", "full_chain@1", "full_chain@2", "gold left")
    ]
    assert means["anchors"] == [0, 0.5, 0, 0, 0.5]
    assert means["selection"] == [0.5, 0.5, 0, 0, 0.5]
    assert means["connectivity"] == [0, 0, 0, 0, 0]
    assert stages_table(scored).splitlines()[2].startswith("| retrieval | 0.0 ±0.0 | 50.0 ±0.0")


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DataError, match="gold"):
        score_stages([])
    system = ClosedBook(ClosedBookConfig(), Parts(Scripted.of([]), None, PromptLibrary()))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="system=threadrag"):
        as_threadrag(system)
