"""The table of cuts against true ones, and the public peers in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.corpus.segmented import SegmentedDocument
from rag_research.embed.hashing import Hashing
from rag_research.errors import DataError
from rag_research.evaluation.segmentation import (
    SegmentationConfig,
    read_set,
    score_set,
    segmentation_table,
    segmenters,
)
from rag_research.evaluation.segmentation_peers import EmbeddingDepth, SemanticChunker, TextTiling
from rag_research.extract.spans import check_tiling
from rag_research.extract.unit_states import UnitStates

Cuts = Sequence[int]
SENTENCES = st.lists(
    st.sampled_from(["Cats purr.", "Tides rise at dusk.", "你好。", "A: yes!", "\n\nNew part."]),
    max_size=40,
)


class Given:
    """A segmenter that cuts where it is told."""

    identity: Mapping[str, str] = {"segmenter": "given"}

    def __init__(self, cuts: Sequence[Cuts]) -> None:
        self.cuts = cuts

    def segment(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [
            list(pairwise([0, *own, len(text)])) for text, own in zip(texts, self.cuts, strict=True)
        ]


class Words:
    """Stands in for a frozen encoder: vectors of hashed words, so topics differ by words."""

    def __init__(self) -> None:
        self.encoder = Hashing(Hashing.Config())

    def documents(
        self, texts: Sequence[str], units: Sequence[Sequence[tuple[int, int]]]
    ) -> list[UnitStates]:
        found = []
        for text, own in zip(texts, units, strict=True):
            vectors = self.encoder.encode([text[a:b] for a, b in own], "passage")
            half = vectors.astype(np.float16).reshape(len(own), self.encoder.dimension)
            found.append(UnitStates(half, half, half))
        return found


def topics(*words: str, sentences: int = 12) -> tuple[str, list[int]]:
    """A text of one topic a word, and the cuts between them."""
    parts = [f"The {word} {word}s near {word}land with {word}ness. " * sentences for word in words]
    return "".join(parts), [int(cut) for cut in np.cumsum([len(part) for part in parts])[:-1]]


def peers() -> dict[str, Any]:
    encoder: Any = Words()
    return {
        "text_tiling": TextTiling(),
        "embedding_depth": EmbeddingDepth(encoder),
        "semantic_chunker": SemanticChunker(encoder),
    }


def _literal(words: int, k: int, true: Cuts, found: Cuts) -> tuple[float, float]:
    """Pk and WindowDiff in percent, pair by pair from their definitions."""
    label = [sum(cut <= i for cut in true) for i in range(words)]
    other = [sum(cut <= i for cut in found) for i in range(words)]
    pairs = [(label[i + k] - label[i], other[i + k] - other[i]) for i in range(words - k)]
    wrong = sum((a > 0) != (b > 0) for a, b in pairs)
    differ = sum(a != b for a, b in pairs)
    return 100 * wrong / len(pairs), 100 * differ / len(pairs)


def test_scores_by_hand() -> None:
    # Words of one letter: word i starts at 2 i. The true cut is before word 5 of ten, so k is 2;
    # one found cut falls before word 6, which is near enough for F1, and another before word 9.
    text = "a b c d e f g h i j"
    document = SegmentedDocument("x", "wiki", text, (10,))
    scores = score_set(Given([[12, 18]]), [document]).scores
    # Pairs (i, i + 2), i < 8: parted truly i = 3, 4; by the found cuts i = 4, 5 and i = 7.
    assert scores.pk == pytest.approx(100 * 3 / 8)
    assert scores.window_diff == pytest.approx(100 * 3 / 8)
    assert (scores.precision, scores.recall, scores.cuts) == (50.0, 100.0, 2.0)
    assert scores.f1 == pytest.approx(200 / 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(6, 60), st.sets(st.integers(1, 5)), st.sets(st.integers(1, 5))),
        min_size=1,
        max_size=4,
    )
)
def test_scores_against_the_definitions(cases: list[tuple[int, set[int], set[int]]]) -> None:
    documents, cuts, expected = [], [], []
    for words, true, found in cases:
        text = " ".join("w" * words)
        gold, own = sorted(true), sorted(found)
        documents.append(SegmentedDocument("x", "", text, tuple(2 * cut for cut in gold)))
        cuts.append([2 * cut for cut in own])
        k = max(2, round(words / (len(gold) + 1) / 2))
        expected.append(_literal(words, k, gold, own))
    scores = score_set(Given(cuts), documents).scores
    assert (scores.pk, scores.window_diff) == pytest.approx(tuple(np.mean(expected, axis=0)))


@pytest.mark.parametrize("seed", range(5))
def test_scores_against_nltk(seed: int) -> None:
    segmentation = pytest.importorskip("nltk.metrics.segmentation")
    rng = np.random.default_rng(seed)
    words = int(rng.integers(30, 90))
    gold, own = (sorted(rng.choice(np.arange(1, words), 4, False).tolist()) for _ in range(2))
    document = SegmentedDocument("x", "", " ".join("w" * words), tuple(2 * cut for cut in gold))
    scores = score_set(Given([[2 * cut for cut in own]]), [document]).scores
    marks = ["".join("1" if i in cuts else "0" for i in range(1, words)) for cuts in (gold, own)]
    k = max(2, round(words / 10))
    assert scores.pk == pytest.approx(100 * segmentation.pk(*marks, k))
    assert scores.window_diff == pytest.approx(100 * segmentation.windowdiff(*marks, k))


@pytest.mark.parametrize("name", ["text_tiling", "embedding_depth", "semantic_chunker"])
def test_peers_find_an_obvious_change_of_subject(name: str) -> None:
    text, (cut,) = topics("zebra", "quartz", sentences=20)  # 140 words: a multiple of TextTiling's
    (pieces,) = peers()[name].segment([text])
    starts = [start for start, _ in pieces[1:]]
    assert cut in starts
    sentence = text.index(".") + 2  # embeddings of neighbours run into each other this far
    assert all(abs(start - cut) <= sentence + 6 for start in starts)


@pytest.mark.parametrize("name", ["text_tiling", "embedding_depth", "semantic_chunker"])
def test_peers_do_not_mind_other_documents(name: str) -> None:
    texts = [topics("zebra", "quartz")[0], "", "One.", topics("river", "violin", "oven")[0]]
    together = peers()[name].segment(texts)
    assert together == [peers()[name].segment([text])[0] for text in texts]
    assert together[1] == []
    assert together[2] == [(0, 4)]


@settings(max_examples=25, deadline=None)
@given(SENTENCES, st.sampled_from(["", " ", "\n"]))
def test_peers_tile_any_text(sentences: list[str], gap: str) -> None:
    text = gap.join(sentences)
    for segmenter in peers().values():
        check_tiling(text, segmenter.segment([text])[0])


def test_semantic_chunker_cuts_above_its_percentile() -> None:
    # Distances differ only at the two changes of subject: the upper half holds both.
    text, cuts = topics("zebra", "quartz", "violin", sentences=4)
    encoder: Any = Words()
    (pieces,) = SemanticChunker(encoder, percentile=80, buffer=0).segment([text])
    assert [start for start, _ in pieces[1:]] == cuts


def test_identities_differ_by_setting() -> None:
    encoder: Any = Words()
    made = [
        TextTiling(),
        TextTiling(w=10),
        EmbeddingDepth(encoder),
        EmbeddingDepth(encoder, window=4),
        SemanticChunker(encoder),
        SemanticChunker(encoder, percentile=90),
    ]
    assert len({tuple(sorted(segmenter.identity.items())) for segmenter in made}) == len(made)


def _folder(tmp_path: Path) -> Path:
    rows = [
        {"id": f"d{i}", "source": "wiki", "segments": [["One two three."] * 4, ["Four five."] * 4]}
        for i in range(3)
    ]
    for name in ("wiki_train", "wiki_test"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
        (tmp_path / f"{name}.jsonl").rename(tmp_path / f"{name}.jsonl.gz")  # plain text is read too
    return tmp_path


def test_a_whole_table(tmp_path: Path) -> None:
    config = SegmentationConfig(
        str(_folder(tmp_path)), sets=("wiki_test",), checkpoints=("boundary-light",), model=None
    )
    documents = read_set(config, "wiki_test")
    assert len(documents) == 3
    found = segmenters(config)
    # Twelve and eight words in two segments; the fixed and recursive peers get their mean.
    characters = len(documents[0].text) // 2
    assert list(found) == [
        "boundary-light",
        "text_tiling",
        "fixed (10 words)",
        f"recursive ({characters} characters)",
    ]
    rows = {name: {"wiki_test": score_set(cut, documents)} for name, cut in found.items()}
    assert rows["fixed (10 words)"]["wiki_test"].scores.f1 == 100.0  # two words off
    assert all(own["wiki_test"].characters_per_second > 0 for own in rows.values())
    lines = segmentation_table(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert {line.count("|") for line in lines} == {3}


def test_networks_of_one_file_name_are_both_in_the_table() -> None:
    names = ("runs/a/boundary.safetensors", "runs/b/boundary.safetensors")
    found = segmenters(SegmentationConfig(checkpoints=names, model=None))
    assert len([name for name in found if "boundary" in name]) == 2


def test_sets_may_lie_unzipped_and_a_missing_one_is_named(tmp_path: Path) -> None:
    config = SegmentationConfig(str(_folder(tmp_path)))
    (tmp_path / "wiki_test.jsonl.gz").rename(tmp_path / "wiki_test.jsonl")
    assert len(read_set(config, "wiki_test")) == 3
    with pytest.raises(DataError, match=r"wiki_tes\.jsonl\.gz.*Did you mean 'wiki_test\.jsonl'"):
        read_set(config, "wiki_tes")


def test_limit(tmp_path: Path) -> None:
    config = SegmentationConfig(str(_folder(tmp_path)), limit=2)
    assert [document.id for document in read_set(config, "wiki_test")] == ["d0", "d1"]
    with pytest.raises(DataError, match="no document, limit is 0"):
        read_set(replace(config, limit=0), "wiki_test")
