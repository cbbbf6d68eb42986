"""Evidence kept whole and found, and ways of cutting made equally long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.embed.hashing import Hashing
from rag_research.errors import DataError
from rag_research.evaluation.equal_lengths import (
    GroupedSentences,
    equal_length_pieces,
    fitted,
    mean_words,
)
from rag_research.evaluation.segmentation import SegmentationConfig
from rag_research.evaluation.span_recall import (
    EvidenceQuestion,
    read_evidence,
    recall_table,
    span_recall,
)
from rag_research.extract.fixed import Fixed
from rag_research.extract.recursive import Recursive
from rag_research.extract.sentences import Sentences
from rag_research.extract.spans import check_tiling

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"


class Table:
    """An encoder of known texts."""

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str], role: str) -> Any:
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


class Lengths:
    """One token a character."""

    def __getitem__(self, text: str) -> int:
        return len(text)


def test_by_hand() -> None:
    # Spans by cosine with the question: "cc" 1, "aaa" .8, "b" .6, "dddd" 0.
    encoder: Any = Table(
        {"aaa": (0.8, 0.6), "b": (0.6, 0.8), "cc": (1, 0), "dddd": (0, 1), "?": (1, 0)}
    )
    counts: Any = Lengths()
    documents, pieces = ["aaab", "ccdddd"], [[(0, 3), (3, 4)], [(0, 2), (2, 6)]]
    # One gold sentence inside "aaa", one across "aaa" and "b", one across "cc" and "dddd".
    question = EvidenceQuestion("?", ((0, (0, 2)), (0, (2, 4)), (1, (0, 6))))
    found = span_recall(documents, pieces, [question], encoder, counts, (1, 2, 5, 6, 9, 10))
    assert found.spans == 4
    assert found.words == pytest.approx(2 / 4)  # a word that is cut counts once
    assert found.whole == pytest.approx(100 / 3)
    # 1: nothing fits; 2: "cc"; 5: and "aaa"; 6: and "b"; 9: "dddd" does not fit; 10: all.
    shares = [0, 0, 1, 2, 2, 3]
    assert list(found.recall.values()) == pytest.approx([100 * share / 3 for share in shares])


def test_a_span_that_does_not_fit_ends_the_evidence() -> None:
    encoder: Any = Table({"aaaa": (1, 0), "b": (0.6, 0.8), "?": (1, 0)})
    counts: Any = Lengths()
    question = EvidenceQuestion("?", ((0, (4, 5)),))
    found = span_recall(["aaaab"], [[(0, 4), (4, 5)]], [question], encoder, counts, (3, 5))
    assert found.recall == {3: 0.0, 5: 100.0}


def test_without_questions_or_spans_that_tile() -> None:
    encoder, counts = Hashing(Hashing.Config()), Lengths()
    found = span_recall(["Some text."], [[(0, 10)]], [], encoder, counts, (8,))  # type: ignore[arg-type]
    assert (found.whole, found.recall) == (0.0, {8: 0.0})
    with pytest.raises(DataError, match="tile"):
        span_recall(["Some text."], [[(0, 4), (5, 10)]], [], encoder, counts, (8,))  # type: ignore[arg-type]


TEXTS = st.lists(
    st.lists(st.sampled_from(["Cats purr. ", "Tides rise at dusk. ", "So be it, then. "])).map(
        "".join
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(1, 9))
def test_more_budget_finds_no_less_and_all_of_it_everything(texts: list[str], size: int) -> None:
    texts = [text for text in texts if text] or ["Cats purr."]
    sentences = Sentences(Sentences.Config()).segment(texts)
    gold = tuple((number, piece) for number, own in enumerate(sentences) for piece in own)
    encoder, counts = Hashing(Hashing.Config()), Lengths()
    pieces = Fixed(Fixed.Config(size=size)).segment(texts)
    question = EvidenceQuestion("Do cats purr?", gold)
    everything = sum(map(len, texts))
    budgets = (0, 10, 20, 40, everything)
    found = span_recall(texts, pieces, [question], encoder, counts, budgets)  # type: ignore[arg-type]
    shares = list(found.recall.values())
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, pytest.approx(100.0))
    alone = span_recall(texts, sentences, [question], encoder, counts, budgets)  # type: ignore[arg-type]
    assert alone.whole == pytest.approx(100.0)


def test_reading_evidence(tmp_path: Path) -> None:
    passages = [
        {"title": "A", "sentences": ["One. ", " Two.", "Three."]},
        {"title": "B", "sentences": ["", "Four.  "]},
    ]
    rows = [
        {"dataset": "other", "question": "?"},
        {"dataset": "mine", "question": "q", "passages": passages, "supporting_facts": [["A", 1]]},
        {
            "question": "r",
            "passages": passages[::-1],
            "supporting_facts": [["B", [0, 1]], ["A", 2]],
        },
        {"question": "too many"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    documents, questions = read_evidence(path, "mine", 2)
    assert documents == ["One.  Two. Three.", "Four.  "]  # no two sentences run into each other
    quoted = [[documents[n][a:b] for n, (a, b) in question.gold] for question in questions]
    assert quoted == [["Two."], ["Three.", "Four."]]  # without white space or empty sentences
    path.write_text(json.dumps({"dataset": "other", "question": "?"}), "utf-8")
    with pytest.raises(DataError, match="no question of the data set 'mine'"):
        read_evidence(path, "mine", 2)


def test_reading_evidence_as_hotpotqa_publishes_it(tmp_path: Path) -> None:
    row = {"question": "q", "supporting_facts": [["A", 1]], "context": [["A", ["One.", " Two."]]]}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([row]), "utf-8")
    documents, (question,) = read_evidence(path, "hotpotqa", 5)
    assert (documents, question.gold) == (["One. Two."], ((0, (5, 9)),))


def test_grouped_sentences_by_hand() -> None:
    text = "A b c. D e. F g h. I j. K l m n o p. Q."  # words 3, 2, 3, 2, 6, 1: seventeen
    group = GroupedSentences(8)  # two spans; 8 words before "I" are nearest to 8.5
    (pieces,) = group.segment([text])
    assert [text[a:b] for a, b in pieces] == ["A b c. D e. F g h. ", "I j. K l m n o p. Q."]
    assert GroupedSentences(40).segment([text, ""]) == [[(0, len(text))], []]
    assert GroupedSentences(1).segment([text]) == Sentences(Sentences.Config()).segment([text])


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 30))
def test_grouped_sentences_tile_and_end_with_sentences(texts: list[str], size: int) -> None:
    ends = Sentences(Sentences.Config()).segment(texts)
    for text, own, pieces in zip(texts, ends, GroupedSentences(size).segment(texts), strict=True):
        check_tiling(text, pieces)
        assert {start for start, _ in pieces} <= {start for start, _ in own}


def _passages() -> list[str]:
    """Sixty texts of 40 to 160 words, sentences of 4 to 20."""
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(60):
        lengths = rng.integers(4, 21, rng.integers(4, 9))
        texts.append(" ".join("Word" + " word" * (int(n) - 1) + "." for n in lengths))
    return texts


def test_fitted_finds_the_nearest_size_of_all() -> None:
    texts = _passages()
    for target in (5.0, 21.0, 48.0):
        size, pieces = fitted(lambda n: Fixed(Fixed.Config(size=n)), texts, target)
        assert pieces == Fixed(Fixed.Config(size=size)).segment(texts)
        means = [
            mean_words(texts, Fixed(Fixed.Config(size=n)).segment(texts)) for n in range(1, 99)
        ]
        assert abs(mean_words(texts, pieces) - target) == min(abs(m - target) for m in means)


@pytest.mark.parametrize("target", [30.0, 48.0])
def test_all_kinds_reach_a_length(target: float) -> None:
    texts = _passages()
    for make in (
        GroupedSentences,
        lambda n: Fixed(Fixed.Config(size=n)),
        lambda n: Recursive(Recursive.Config(size=n)),
    ):
        _, pieces = fitted(make, texts, target)
        assert mean_words(texts, pieces) == pytest.approx(target, rel=0.05)


def test_fitted_to_what_cannot_be_reached_ends_at_whole_texts() -> None:
    texts = ["One two. Three.", "Four."]
    for target, spans in ((99.0, 2), (0.1, 4)):
        _, pieces = fitted(lambda n: Fixed(Fixed.Config(size=n)), texts, target)
        assert sum(map(len, pieces)) == spans
    assert fitted(GroupedSentences, [], 5.0) == (1, [])


def test_equal_lengths_next_to_a_network() -> None:
    texts = _passages()
    config = SegmentationConfig(checkpoints=("boundary-light",), span_words=40)
    pieces = equal_length_pieces(config, texts)
    kinds = [name.split(" (")[0] for name in pieces]
    assert kinds == ["boundary-light", "sentences", "sentences, grouped", "fixed", "recursive"]
    lengths = {
        kind: mean_words(texts, own) for kind, own in zip(kinds, pieces.values(), strict=True)
    }
    for kind in ("sentences, grouped", "fixed", "recursive"):
        assert lengths[kind] == pytest.approx(lengths["boundary-light"], rel=0.05)
    assert equal_length_pieces(SegmentationConfig(checkpoints=()), texts).keys() >= {"sentences"}


def test_the_table() -> None:
    encoder, counts = Hashing(Hashing.Config()), Lengths()
    question = EvidenceQuestion("cats?", ((0, (0, 10)),))
    row = span_recall(["Cats purr."], [[(0, 10)]], [question], encoder, counts, (5, 50))  # type: ignore[arg-type]
    assert recall_table({"whole": row}).splitlines() == [
        "| split | spans | words a span | gold sentences inside one span "
        "| recall at 5 | recall at 50 |",
        "|---|---|---|---|---|---|",
        "| whole | 1 | 2.0 | 100.0 | 0.0 | 100.0 |",
    ]


def test_published_hotpotqa_questions_name_sentences_of_their_passages() -> None:
    path = SHARED / "official_formats" / "hotpot_dev_distractor_v1.json"
    if not path.exists():
        pytest.skip("the shared data is not here")
    documents, questions = read_evidence(path, "hotpotqa", 40)
    rows = json.loads(path.read_text("utf-8"))
    for row, question in zip(rows, questions, strict=False):
        known = dict(row["context"])
        expected = sorted(known[title][number].strip() for title, number in row["supporting_facts"])
        assert sorted(documents[n][a:b] for n, (a, b) in question.gold) == expected
