"""Retrieval along paths keeps the retriever's contract; released selectors travel whole."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from rag_research.config.build import to_dict
from rag_research.errors import ArtifactError, ModelNotFoundError
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES, VERSION
from rag_research.graph.path_retriever import PathRetriever, build_path_retriever
from rag_research.graph.selector_checkpoint import (
    SelectorCheckpoint,
    load_selector,
    save_selector,
)
from rag_research.index.base import Retriever
from rag_research.models.path_selector import PathSelector, PathSelectorConfig

from .conftest import CountingHashing, MakeWorld, World

PASSAGES = [
    ("film", "Silent Harbour", "Silent Harbour was directed by Mira Okafor in a studio."),
    ("woman", "Mira Okafor", "She grew up among fishermen. Later she left."),
    ("prize", "Golden Wheel", "Awarded once to Silent Harbour and never again."),
    ("noise", "Cabbage", "A vegetable with leaves."),
    ("twin b", "", "The same words."),
    ("twin a", "", "The same words."),
]
RELEASED = sorted(
    path.stem for path in (Path(__file__).parents[2] / "checkpoints").glob("selector-*.safetensors")
)
SIZES = (
    sum(map(len, NODE_FEATURES.values())),
    sum(map(len, EDGE_FEATURES.values())),
    len(SENTENCE_FEATURES),
)
QUERIES = ["Where did the director of Silent Harbour grow up?", "the same words", ""]


def _selector(noise: float = 0.1, **limits: int) -> SelectorCheckpoint:
    torch.manual_seed(1)
    network = PathSelector(*SIZES, PathSelectorConfig(width=16, layers=1)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += noise * torch.randn(parameter.shape)
    return SelectorCheckpoint(network, {"candidates": to_dict(CandidateConfig(**limits))}, "test")


def _retriever(world: World, **limits: int) -> PathRetriever:
    return build_path_retriever(world.corpus, world.encoder, world.store, _selector(**limits))


@pytest.mark.parametrize("k", [1, 3, 50])
def test_hits_are_sorted_distinct_and_at_most_k(make_world: MakeWorld, k: int) -> None:
    retriever = _retriever(make_world(PASSAGES))
    assert isinstance(retriever, Retriever)
    for hits in retriever.search(QUERIES, k):
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
        assert len({hit.id for hit in hits}) == len(hits) == min(k, 6)
        assert {hit.id for hit in hits} <= {id for id, _, _ in PASSAGES}


def test_queries_do_not_touch_each_other(make_world: MakeWorld) -> None:
    retriever = _retriever(make_world(PASSAGES))
    assert retriever.search(QUERIES, 6) == [retriever.search([q], 6)[0] for q in QUERIES]


def test_scores_are_keep_logits_of_the_candidates(make_world: MakeWorld) -> None:
    world = make_world(PASSAGES)
    retriever = _retriever(world, found=1, front=1, namers=0, shared=0)
    (tokens,) = retriever.read(QUERIES[:1])
    found = retriever.rank(QUERIES[0], tokens)
    hits = retriever.search(QUERIES[:1], 10)[0]
    assert {hit.id for hit in hits} == {"film", "woman"}
    by_id = {world.graph.ids[row]: n for n, row in enumerate(found.path.rows.tolist())}
    for hit in hits:
        assert hit.score == float(found.passages[by_id[hit.id]])
    assert len(found.sentences) == len(found.path.sentence_rows) == 3
    assert found.passages.dtype == np.float32


def test_nothing_asked_nothing_found(make_world: MakeWorld) -> None:
    retriever = _retriever(make_world(PASSAGES))
    assert retriever.search(QUERIES, 0) == [[], [], []]
    assert retriever.search([], 5) == []
    empty = _retriever(make_world([], "empty"))
    assert empty.search(QUERIES, 5) == [[], [], []]
    assert len(empty.rank("Rome?", empty.read(["Rome?"])[0]).passages) == 0


def test_one_passage(make_world: MakeWorld) -> None:
    retriever = _retriever(make_world([("only", "", "")]))
    assert [[hit.id for hit in hits] for hits in retriever.search(["", "What?"], 3)] == [
        ["only"],
        ["only"],
    ]


def test_built_again_nothing_is_encoded(make_world: MakeWorld) -> None:
    world = make_world(PASSAGES)
    encoder = CountingHashing()
    retriever = build_path_retriever(world.corpus, encoder, world.store, _selector())
    assert encoder.read == []
    assert retriever.search(QUERIES, 6) == _retriever(world).search(QUERIES, 6)


def test_a_saved_selector_gives_the_same_logits(make_world: MakeWorld, tmp_path: Path) -> None:
    selector = _selector(found=4)
    selector.network.standardise("node", torch.arange(SIZES[0]) / 9, torch.full(SIZES[:1], 2.0))
    path = tmp_path / "deep" / "selector-x.safetensors"
    save_selector(path, selector.network, selector.card | {"encoder": "hashing"})
    loaded = load_selector(str(path))
    assert loaded.name == "selector-x" and loaded.card["encoder"] == "hashing"
    assert loaded.candidates == CandidateConfig(found=4)
    assert loaded.network.config == selector.network.config
    assert not loaded.network.training
    world = make_world(PASSAGES)
    one, other = (
        PathRetriever(world.graph, world.lexical, world.reader, s).search(QUERIES, 6)
        for s in (selector, loaded)
    )
    assert one == other


@pytest.mark.parametrize("name", RELEASED)
def test_released_selectors_follow_the_chain(make_world: MakeWorld, name: str) -> None:
    world = make_world(PASSAGES)
    retriever = build_path_retriever(world.corpus, world.encoder, world.store, load_selector(name))
    assert {hit.id for hit in retriever.search(QUERIES, 2)[0]} == {"film", "woman"}
    card = retriever.selector.card
    assert card["name"] == name and card["command"].startswith("train/selector.py ")
    left_out = {"hotpotqa", "2wikimultihopqa", "musique"} - set(card["data"]["datasets"])
    assert len(left_out) == ("without" in name)


def test_features_of_another_version_are_refused(tmp_path: Path) -> None:
    selector = _selector()
    path = tmp_path / "old.safetensors"
    save_selector(path, selector.network, selector.card)
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(card | {"feature_version": VERSION + 1}))
    with pytest.raises(ArtifactError, match=rf"version {VERSION + 1}.*makes version {VERSION}"):
        load_selector(str(path))


def test_an_unknown_selector_is_named_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no selector network 'selector-mnlm'"):
        load_selector("selector-mnlm")
    with pytest.raises(ModelNotFoundError):
        load_selector(str(tmp_path / "missing.safetensors"))


def test_a_card_keeps_every_setting(tmp_path: Path) -> None:
    selector = _selector()
    path = tmp_path / "x.safetensors"
    save_selector(path, selector.network, selector.card)
    card = json.loads(path.with_suffix(".json").read_text())
    assert set(card["candidates"]) == {f.name for f in dataclasses.fields(CandidateConfig)}
    assert set(card["network"]) == {f.name for f in dataclasses.fields(PathSelectorConfig)}


def test_a_network_without_its_card_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lonely.safetensors"
    path.write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"card lonely\.json"):
        load_selector(str(path))
