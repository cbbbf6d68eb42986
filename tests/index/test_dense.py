"""Dense indexes of every kind: the promises of a retriever, and of a stored artefact."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rag_research.config import build, fingerprint
from rag_research.embed.base import Role, Vectors
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ArtifactError, ConfigError, MissingExtraError
from rag_research.index.base import Retriever
from rag_research.index.dense import build_dense, load_dense
from rag_research.registry import DENSE_INDEXES
from rag_research.runtime.artifacts import ArtifactStore

KINDS = ["flat", "ivf", "hnsw"]
ENCODER = Hashing(HashingConfig(dimension=64))
ODD = {"e": "", "j": "日本の音楽", "r": "تاريخ المدينة", "s": "😀 🎻", "d1": "twin", "d2": "twin"}


def _config(kind: str, **settings: object) -> object:
    return build(DENSE_INDEXES.get(kind).Config, settings | {"device": "cpu"})


def _retriever(kind: str, root: Path, texts: dict[str, str], **settings: object) -> Retriever:
    config = _config(kind, **settings)
    store = ArtifactStore(root)
    return build_dense(config, "passages", list(texts), list(texts.values()), ENCODER, store)


def _towns(count: int) -> dict[str, str]:
    return {f"t{i}": f"town {i} has {i * 7 % 31} bridges over river {i % 13}" for i in range(count)}


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_the_promises_of_a_retriever(kind: str, tmp_path: Path) -> None:
    retriever = _retriever(kind, tmp_path, _towns(100) | ODD)
    assert isinstance(retriever, Retriever)
    queries = ["bridges of town 17", "", "zzz unknown", "音楽", "مدينة", "🎻", "x " * 5000]
    for k in (1, 7, 50):
        for hits in retriever.search(queries, k):
            assert len(hits) == k
            assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
            assert len({hit.id for hit in hits}) == len(hits)


@pytest.mark.parametrize("kind", KINDS)
def test_more_hits_than_texts_gives_all_texts(kind: str, tmp_path: Path) -> None:
    (hits,) = _retriever(kind, tmp_path, ODD).search(["twin"], 1000)
    assert {hit.id for hit in hits} == set(ODD)


@pytest.mark.parametrize("kind", KINDS)
def test_duplicates_are_all_found_in_the_order_of_their_ids(kind: str, tmp_path: Path) -> None:
    texts = {f"copy{i:02d}": "the same words" for i in range(40)} | _towns(40)
    (hits,) = _retriever(kind, tmp_path, texts).search(["the same words"], 5)
    assert [hit.id for hit in hits] == [f"copy{i:02d}" for i in range(5)]
    assert {hit.score for hit in hits} == {1.0}


@pytest.mark.parametrize("kind", KINDS)
def test_no_texts_no_queries_no_hits(kind: str, tmp_path: Path) -> None:
    empty = _retriever(kind, tmp_path, {})
    assert empty.search(["a", ""], 3) == [[], []]
    full = _retriever(kind, tmp_path, ODD)
    assert full.search([], 3) == [] and full.search(["twin"], 0) == [[]]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_single_queries_agree(kind: str, tmp_path: Path) -> None:
    retriever = _retriever(kind, tmp_path, _towns(300))
    queries = [f"bridges over river {i}" for i in range(300)]
    together = retriever.search(queries, 4)
    assert together[:20] == [retriever.search([query], 4)[0] for query in queries[:20]]


@pytest.mark.parametrize("kind", KINDS)
def test_growing_equals_building_from_scratch(kind: str, tmp_path: Path) -> None:
    _retriever(kind, tmp_path / "grown", _towns(60))
    grown = _retriever(kind, tmp_path / "grown", _towns(120))
    scratch = _retriever(kind, tmp_path / "scratch", _towns(120))
    queries = ["town 99", "river 3", "30 bridges"]
    assert grown.search(queries, 10) == scratch.search(queries, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_it_loads_without_texts_and_searches_alike(kind: str, tmp_path: Path) -> None:
    built = _retriever(kind, tmp_path, _towns(90))
    (path,) = (p.parent for p in tmp_path.glob("dense-index/*/manifest.json"))
    loaded = load_dense(path, ENCODER)
    assert loaded.search(["town 5", ""], 9) == built.search(["town 5", ""], 9)


class Mute(Hashing):
    """Refuses to encode passages."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        assert role == "query"
        return super().encode(texts, role)


def test_a_second_build_encodes_nothing(tmp_path: Path) -> None:
    texts = _towns(30)
    first = _retriever("flat", tmp_path, texts)
    mute, store = Mute(HashingConfig(dimension=64)), ArtifactStore(tmp_path)
    again = build_dense(None, "passages", list(texts), list(texts.values()), mute, store)
    assert again.search(["town 3"], 5) == first.search(["town 3"], 5)


def test_another_encoder_on_a_stored_index_is_refused(tmp_path: Path) -> None:
    _retriever("flat", tmp_path, ODD)
    other = Hashing(HashingConfig(dimension=32))
    (path,) = (p.parent for p in tmp_path.glob("dense-index/*/manifest.json"))
    with pytest.raises(ArtifactError, match=r"dimension is '64'.*encoder's is '32'.*build"):
        load_dense(path, other)
    read_only = ArtifactStore(tmp_path, read_only=True)
    with pytest.raises(ArtifactError, match=r"encoder.dimension: built with '64', asked for '32'"):
        build_dense(None, "passages", list(ODD), list(ODD.values()), other, read_only)


def test_another_corpus_on_a_stored_index_is_refused(tmp_path: Path) -> None:
    _retriever("flat", tmp_path, ODD)
    read_only = ArtifactStore(tmp_path, read_only=True)
    with pytest.raises(ArtifactError, match="texts: built with"):
        build_dense(None, "passages", ["a"], ["b"], ENCODER, read_only)


def test_a_damaged_index_says_what_to_do(tmp_path: Path) -> None:
    _retriever("flat", tmp_path, ODD)
    (path,) = tmp_path.glob("dense-index/*/index.faiss")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ArtifactError, match="Delete it"):
        load_dense(path.parent, ENCODER)
    with pytest.raises(ArtifactError, match="no finished"):
        load_dense(tmp_path, ENCODER)


def test_ids_must_fit_the_texts(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    with pytest.raises(ConfigError, match="'a' occurs twice"):
        build_dense(None, "passages", ["a", "b", "a"], ["x", "y", "z"], ENCODER, store)
    with pytest.raises(ConfigError, match="1 ids for 2 texts"):
        build_dense(None, "passages", ["a"], ["x", "y"], ENCODER, store)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("ivf", {"cells": 3}),
        ("ivf", {"probes": 2}),
        ("hnsw", {"links": 8}),
        ("hnsw", {"build_width": 40}),
        ("hnsw", {"search_width": 40}),
    ],
)
def test_settings_count_in_the_fingerprint(kind: str, setting: dict[str, int]) -> None:
    assert fingerprint(_config(kind, **setting)) != fingerprint(_config(kind))
    assert fingerprint(_config(kind, threads=2)) == fingerprint(_config(kind))


def test_probing_all_cells_finds_what_flat_finds(tmp_path: Path) -> None:
    texts = _towns(400)
    flat = _retriever("flat", tmp_path, texts).search(["river 4", "town 77"], 12)
    exact = _retriever("ivf", tmp_path, texts, cells=10, probes=10)
    assert exact.search(["river 4", "town 77"], 12) == flat


def test_hnsw_finds_nearly_what_flat_finds(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(60)]
    texts = {f"p{i}": " ".join(random.choice(words, 8)) for i in range(1500)}
    queries = [" ".join(random.choice(words, 4)) for _ in range(40)]
    flat = _retriever("flat", tmp_path, texts).search(queries, 10)
    near = _retriever("hnsw", tmp_path, texts).search(queries, 10)
    shared = [
        len({h.id for h in a} & {h.id for h in b}) / 10 for a, b in zip(flat, near, strict=True)
    ]
    assert sum(shared) / len(shared) > 0.95


def test_a_missing_faiss_gives_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-research\[cpu\]'"):
        _retriever("flat", tmp_path, ODD)
