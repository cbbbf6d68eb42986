import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_research.config import fingerprint
from rag_research.errors import ArtifactError, ConfigError
from rag_research.index.base import Retriever
from rag_research.index.bm25 import BM25Config, BM25Retriever, build_bm25
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Hit

TEXTS = {
    "a": "violin music",
    "b": "violin violin concert hall",
    "c": "",
    "d": "東京の音楽",
    "e": "تاريخ المدينة",
    "f": "😀",
    "g": "river bridge",
    "h": "river bridge",
}


def _build(root: Path, texts: dict[str, str], config: BM25Config | None = None) -> BM25Retriever:
    store = ArtifactStore(root)
    return build_bm25("passages", list(texts), list(texts.values()), store, config)


def test_scores_are_the_hand_computed_ones(tmp_path: Path) -> None:
    (hits,) = _build(tmp_path, {"x": "violin", "y": "violin violin oboe", "z": "oboe"}).search(
        ["violin"], 5
    )
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    average = 5 / 3

    def weight(tf: int, length: int) -> float:
        return idf * tf / (tf + 1.5 * (0.25 + 0.75 * length / average))

    assert [hit.id for hit in hits] == ["x", "y"]
    assert [hit.score for hit in hits] == pytest.approx([weight(1, 1), weight(2, 3)], abs=2e-6)


def test_a_word_asked_twice_counts_twice(tmp_path: Path) -> None:
    retriever = _build(tmp_path, TEXTS)
    once, twice = retriever.search(["violin", "violin violin"], 1)
    assert twice[0].score == pytest.approx(2 * once[0].score, abs=3e-6)


def test_unknown_words_and_empty_queries_find_nothing(tmp_path: Path) -> None:
    retriever = _build(tmp_path, TEXTS)
    assert isinstance(retriever, Retriever)
    assert retriever.search(["", "the of", "saxophone", "😀", "?!"], 3) == [[]] * 5
    assert retriever.search([], 3) == [] and retriever.search(["violin"], 0) == [[]]


def test_texts_that_share_no_word_are_never_hits(tmp_path: Path) -> None:
    (hits,) = _build(tmp_path, TEXTS).search(["violin saxophone"], 100)
    assert {hit.id for hit in hits} == {"a", "b"}


def test_other_scripts_are_found(tmp_path: Path) -> None:
    hits = _build(tmp_path, TEXTS).search(["音楽", "المدينة"], 2)
    assert [[hit.id for hit in found] for found in hits] == [["d"], ["e"]]


def test_duplicates_come_in_the_order_of_their_ids(tmp_path: Path) -> None:
    texts = {f"p{i:02d}": "same words" for i in reversed(range(30))} | {"other": "different"}
    (hits,) = _build(tmp_path, texts).search(["words"], 3)
    assert [hit.id for hit in hits] == ["p00", "p01", "p02"]


@pytest.mark.parametrize("texts", [{}, {"a": ""}, {"a": "", "b": "😀 the"}])
def test_nothing_to_index_finds_nothing(tmp_path: Path, texts: dict[str, str]) -> None:
    assert _build(tmp_path, texts).search(["violin", ""], 3) == [[], []]


WORDS = st.sampled_from(["violin", "oboe", "hall", "river", "bridge", "東", "😀", "the"])


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.lists(WORDS, max_size=6), max_size=12),
    st.lists(WORDS, max_size=4),
    st.integers(1, 15),
)
def test_hits_are_few_enough_sorted_and_not_zero(
    tmp_path: Path, documents: list[list[str]], query: list[str], k: int
) -> None:
    texts = {f"p{i}": " ".join(words) for i, words in enumerate(documents)}
    (hits,) = _build(tmp_path, texts).search([" ".join(query)], k)
    assert len(hits) <= k
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
    known = set(query) - {"😀", "the"}
    matching = {id for id, text in texts.items() if known & set(text.split())}
    assert {hit.id for hit in hits} <= matching and len(hits) == min(k, len(matching))
    assert all(hit.score > 0 for hit in hits)


def test_growing_equals_building_from_scratch(tmp_path: Path) -> None:
    _build(tmp_path / "grown", {"a": TEXTS["a"]})
    grown = _build(tmp_path / "grown", TEXTS).search(["violin hall", "river"], 5)
    assert grown == _build(tmp_path / "scratch", TEXTS).search(["violin hall", "river"], 5)


def test_it_opens_without_texts(tmp_path: Path) -> None:
    built = _build(tmp_path, TEXTS, BM25Config(stemmer="english"))
    (path,) = (p.parent for p in tmp_path.glob("bm25-index/*/manifest.json"))
    hits = BM25Retriever(path).search(["violins"], 2)
    assert hits == built.search(["violins"], 2) and [hit.id for hit in hits[0]] == ["b", "a"]


def test_damage_says_what_to_do(tmp_path: Path) -> None:
    _build(tmp_path, TEXTS)
    (path,) = tmp_path.glob("bm25-index/*/settings.json")
    path.write_text("{")
    with pytest.raises(ArtifactError, match="Delete it and build again"):
        BM25Retriever(path.parent)


def test_settings_change_the_artefact(tmp_path: Path) -> None:
    changed = [
        BM25Config(k1=1.2),
        BM25Config(b=0.5),
        BM25Config(stemmer="english"),
        BM25Config(stop_words=False),
    ]
    assert len({fingerprint(config) for config in [BM25Config(), *changed]}) == 5
    plain = _build(tmp_path, TEXTS).search(["the violin"], 1)
    assert _build(tmp_path, TEXTS, changed[0]).search(["the violin"], 1) != plain


def test_ids_must_be_unique(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="occurs twice"):
        build_bm25("passages", ["a", "a"], ["x", "y"], ArtifactStore(tmp_path))


def test_hits_carry_plain_floats(tmp_path: Path) -> None:
    (hits,) = _build(tmp_path, TEXTS).search(["music"], 1)
    assert hits == [Hit("a", hits[0].score)] and type(hits[0].score) is float
