"""Triplet files made elsewhere: both formats, how documents find passages, clear errors."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.errors import DataError
from rag_research.extract.imported import Imported, ImportedConfig
from rag_research.extract.triplets import Extraction
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Triplet

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
CORPUS = Corpus(
    [
        Passage("p1", "Vellamy", "The tower was built in 1931."),
        Passage("p2", "Orrest", "A mountain — in “Tavrinia”."),
        Passage("p3", "Copy", "Same text."),
        Passage("p4", "Other copy", "Same text."),
        Passage("p5", "Vellamy", "The tower was built in 1931."),
    ]
)


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def run(path: Path, corpus: Corpus = CORPUS) -> Extraction:
    return Imported(ImportedConfig(str(path))).extract(corpus, ArtifactStore(path.parent))


def doc(passage: str, *rows: Any, idx: str = "chunk-0") -> dict[str, Any]:
    return {"idx": idx, "passage": passage, "extracted_entities": [], "extracted_triples": [*rows]}


def test_published_documents_find_all_equal_passages(tmp_path: Path) -> None:
    docs = [
        doc("Vellamy\nThe tower was built in 1931.", ["V", "built in", "1931"], ["V", "x"]),
        doc('orrest\nA mountain - in "Tavrinia".', ["Orrest", "is in", "Tavrinia"]),
        doc("Same text.", ["a", "b", "c"], ["a", "b", "c"]),
        doc("Not there", ["x", "y", "z"], idx="p1"),
    ]
    extraction = run(write(tmp_path / "openie.json", {"docs": docs}))
    assert extraction.triplets == {
        "p1": (Triplet("V", "built in", "1931"),),
        "p2": (Triplet("Orrest", "is in", "Tavrinia"),),
        "p3": (Triplet("a", "b", "c"),),
        "p4": (Triplet("a", "b", "c"),),
        "p5": (Triplet("V", "built in", "1931"),),
    }
    report = extraction.report
    assert (report["documents"], report["rows"]) == (4, 6)
    assert (report["matched_documents"], report["unmatched_documents"]) == (3, 1)
    assert (report["matched"], report["unmatched"]) == (5, 0)


def test_own_lines_match_by_id_plain_and_gzip(tmp_path: Path) -> None:
    lines = [{"id": "p2", "triplets": [["a", "b", "c"]]}, {"id": "zz", "triplets": []}]
    text = "\n".join(json.dumps(line) for line in lines) + "\n\n"
    plain = run(write(tmp_path / "own.jsonl", text))
    (tmp_path / "own.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    packed = run(tmp_path / "own.jsonl.gz")
    assert plain == packed
    assert plain.triplets["p2"] == (Triplet("a", "b", "c"),)
    assert (plain.report["matched"], plain.report["unmatched"]) == (1, 4)
    assert plain.report["unmatched_documents"] == 1


def test_nothing_that_matches_says_what_was_compared(tmp_path: Path) -> None:
    path = write(tmp_path / "o.json", {"docs": [doc("Elsewhere\nOther words", ["a", "b", "c"])]})
    with pytest.raises(DataError, match="none of its 1 documents") as error:
        run(path)
    assert "Elsewhere" in str(error.value)
    assert "Vellamy" in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "p1", "triplets": []}\n{"id": ', "line 2"),
        ('{"id": "p1", "triplets": "x"}', "line 1"),
        ("[1, 2]", "line 1"),
        ({"docs": [{"idx": "1", "passage": "x"}]}, r"docs\[0\]"),
    ],
)
def test_broken_files_name_the_place(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        run(write(tmp_path / "broken.json", content))


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such triplet file"):
        run(tmp_path / "absent.json")
    (tmp_path / "bad.json.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot be read"):
        run(tmp_path / "bad.json.gz")


@pytest.mark.skipif(not SHARED.is_dir(), reason="real data is not on this machine")
def test_the_published_medical_file_is_found_completely() -> None:
    with gzip.open(SHARED / "medical" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    corpus = Corpus(Passage(r["id"], r["title"], r["text"]) for r in rows)
    extraction = run(SHARED / "openie" / "medical_openie.json.gz", corpus)
    report = extraction.report
    assert (report["passages"], report["rows"]) == (268, 5256)
    assert report["unmatched"] == report["unmatched_documents"] == 0
    # one published row has an empty object
    assert (report["rejects"], report["duplicates"], report["triplets"]) == (1, 0, 5255)
