"""The rules every triplet obeys, and the file that an extraction is written to."""

from pathlib import Path

from rag_research.corpus.corpus import Corpus
from rag_research.extract.imported import Imported, ImportedConfig
from rag_research.extract.triplets import Extraction, clean_rows, collect, passage_key
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Triplet, Usage


def test_clean_rows_counts_what_it_drops() -> None:
    rows = clean_rows(
        [
            ["a", "b", "c"],
            ["a", "b"],
            ["a", "b", "c", "d"],
            ["a", " ", "c"],
            ["a", None, "c"],
            ["a", 1, "c"],
            "abc",
            None,
            [" a", "b  ", "c"],
            ["c", "b", "a"],
        ]
    )
    assert rows.triplets == (Triplet("a", "b", "c"), Triplet("c", "b", "a"))
    assert (rows.rejects, rows.duplicates) == (7, 1)


def test_collect_keeps_corpus_order_and_takes_shared_items_once() -> None:
    corpus = Corpus([Passage("1", "", "x"), Passage("2", "", "y"), Passage("3", "", "x")])
    cost = {"openie": {"calls": 2, "input_tokens": 10, "output_tokens": 3}}
    item = {"triplets": [["a", "b", "c"]], "rejects": 1, "duplicates": 0, "usage": cost}
    extraction = collect(corpus, {passage_key(corpus["1"]): item})
    assert list(extraction.triplets) == ["1", "2", "3"]
    assert extraction.triplets["3"] == extraction.triplets["1"] == (Triplet("a", "b", "c"),)
    assert extraction.triplets["2"] == ()
    assert extraction.usage == {"openie": Usage(calls=2, input_tokens=10, output_tokens=3)}
    assert extraction.report == {
        "passages": 3,
        "triplets": 2,
        "empty": 0,
        "failed": 1,
        "rejects": 1,
        "duplicates": 0,
    }


def test_a_saved_extraction_is_read_back(tmp_path: Path) -> None:
    corpus = Corpus([Passage("a/1", "T", "x"), Passage("2", "", "東京\u2028end")])
    triplets = {"a/1": (Triplet("s\u2028t", "p", "o"), Triplet("日", "は", "本")), "2": ()}
    before = Extraction(triplets, {})
    before.save(tmp_path / "t.jsonl")
    imported = Imported(ImportedConfig(str(tmp_path / "t.jsonl")))
    after = imported.extract(corpus, ArtifactStore(tmp_path))
    assert after.triplets["2"] == ()
    assert after.triplets["a/1"][1] == Triplet("日", "は", "本")
    assert after.report["empty"] == 1
    assert after.report["unmatched"] == 0


def test_the_fingerprint_covers_passages_and_order() -> None:
    one, two = Triplet("a", "b", "c"), Triplet("c", "b", "a")
    prints = {
        Extraction({"1": (one, two)}, {}).fingerprint,
        Extraction({"1": (two, one)}, {}).fingerprint,
        Extraction({"1": (one,), "2": (two,)}, {}).fingerprint,
        Extraction({"2": (one, two)}, {}).fingerprint,
    }
    assert len(prints) == 4
