import json
from pathlib import Path

import pytest

from rag_research.corpus.popqa import PopQA, PopQAConfig
from rag_research.errors import DataError
from rag_research.types import Triplet

COLUMNS = ["id", "subj", "prop", "obj", "s_wiki_title", "question", "possible_answers"]
ROW = ["41", "Rook", "sound", "caw", "Rook (bird)", "What sound?", '["caw", "kaah"]']


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.json"
    titles = ["Rook (bird)", "Rook (chess)", "Rook (bird)"]
    rows = [{"title": title, "text": f"text {i}"} for i, title in enumerate(titles)]
    path.write_text(json.dumps(rows))
    return str(path)


def tsv(path: Path, *rows: list[str]) -> str:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if '"' in text else text

    path.write_text("".join("\t".join(map(cell, row)) + "\n" for row in (COLUMNS, *rows)))
    return str(path)


def test_reads_the_official_tsv(tmp_path: Path, corpus: str) -> None:
    dataset = PopQA(PopQAConfig(tsv(tmp_path / "popQA.tsv", ROW), corpus)).load()
    (question,) = dataset.questions
    assert (question.id, question.type) == ("41", "sound")
    assert question.answers == ("caw", "kaah")
    assert question.evidence == (Triplet("Rook", "sound", "caw"),)
    assert {dataset.corpus[id].title for id in question.gold_passages} == {"Rook (bird)"}
    assert len(question.gold_passages) == 2


def test_reads_json_lines_and_answers_joined_with_bars(tmp_path: Path, corpus: str) -> None:
    path = tmp_path / "popqa.jsonl"
    path.write_text(json.dumps({"id": 1, "question": "?", "possible_answers": "caw| kaah"}))
    (question,) = PopQA(PopQAConfig(str(path), corpus)).load().questions
    assert question.answers == ("caw", "kaah")
    assert question.evidence == ()


def test_a_line_with_missing_cells_is_named(tmp_path: Path, corpus: str) -> None:
    path = tsv(tmp_path / "popQA.tsv", ROW, ROW[:4])
    with pytest.raises(DataError, match=r"line 3: expected 7 tab-separated cells.*got 4"):
        PopQA(PopQAConfig(path, corpus)).load()
