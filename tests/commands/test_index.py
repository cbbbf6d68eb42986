"""What the command ``index`` takes as a source."""

import json
from pathlib import Path

import pytest

from rag_research.commands.index import load_source

ROW = {"id": "1", "text": "Otters eat fish."}


def test_a_json_array_is_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpus.json").write_text(json.dumps([ROW, {**ROW, "id": "2"}], indent=1))
    assert load_source(str(tmp_path / "corpus.json")).corpus.ids == ["1", "2"]


def test_documents_beside_a_corpus_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "corpus.jsonl").write_text(json.dumps(ROW))
    assert load_source(str(tmp_path)).corpus.ids == ["1"]
    assert not caplog.records
    (tmp_path / "deep").mkdir()
    for name in ("a.md", "deep/b.md", "c.txt", "d.csv"):
        (tmp_path / name).write_text("x")
    assert load_source(str(tmp_path)).corpus.ids == ["1"]
    assert "the documents beside it: .md 2, .txt 1. Pass dataset=folder" in caplog.text
    chosen = load_source(str(tmp_path), ["dataset=folder"]).corpus
    assert chosen.ids == ["a.md#1", "c.txt#1", "deep/b.md#1"]
