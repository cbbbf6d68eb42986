"""Open questions over long texts; the sample rows are made up here."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_research.config.build import build
from rag_research.corpus.ultradomain import UltraDomain, UltraDomainConfig
from rag_research.errors import ConfigError, DataError

BEES = " ".join(f"Hive {n} is checked on day {n}." for n in range(40))  # 280 words
ROWS: list[dict[str, Any]] = [
    {
        "input": "How should a keeper plan the year?",
        "context": BEES,
        "answers": ["By the flowering of the plants around the hives."],
        "_id": "q1",
        "label": "agriculture",
        "length": 280,
        "meta": {"title": "Keeping Bees", "authors": "nobody"},
    },
    {
        "input": "What connects weather and honey?",
        "context": f"  {BEES}\n",
        "label": "agriculture",
        "meta": {"title": "A later title"},
    },
    {"input": "Why are ledgers kept twice?", "context": "Ledgers are copied nightly."},
]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def config(path: Path, **changes: Any) -> UltraDomainConfig:
    return build(UltraDomainConfig, {"path": str(path), **changes})


def test_equal_texts_are_cut_once_under_their_title(tmp_path: Path) -> None:
    file = write(tmp_path / "farm.jsonl", ROWS)
    dataset = UltraDomain(config(file, chunk_size=100, chunk_overlap=10)).load()
    assert dataset.name == "farm"
    # 280 words in windows of 100 every 90 words: 0-100, 90-190, 180-280; the ledgers are one.
    assert [p.title for p in dataset.corpus] == ["Keeping Bees"] * 3 + [""]
    assert [p.id.partition("#")[2] for p in dataset.corpus] == ["1", "2", "3", "1"]
    words = BEES.split()
    windows = [" ".join(words[start : start + 100]) for start in (0, 90, 180)]
    assert [p.text for p in dataset.corpus][:3] == windows
    assert {p.source for p in dataset.corpus} == {"farm.jsonl"}


def test_questions_have_domain_and_no_gold_unless_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "farm.jsonl", ROWS)
    asked = UltraDomain(config(file)).load().questions
    assert [(q.id, q.type) for q in asked] == [
        ("q1", "agriculture"),
        ("farm-2", "agriculture"),
        ("farm-3", "farm"),
    ]
    assert all(q.answers == () and q.gold_passages == () for q in asked)
    gold = UltraDomain(config(file, answers="gold")).load().questions
    assert gold[0].answers == ("By the flowering of the plants around the hives.",)
    assert gold[1].answers == ()


def test_whole_texts_on_request(tmp_path: Path) -> None:
    dataset = UltraDomain(config(write(tmp_path / "farm.jsonl", ROWS), chunk_size=None)).load()
    assert [p.text for p in dataset.corpus] == [BEES, "Ledgers are copied nightly."]


def test_a_folder_of_domains_and_questions_of_ones_own(tmp_path: Path) -> None:
    folder = tmp_path / "broad"
    folder.mkdir()
    write(folder / "legal.jsonl", [ROWS[2]])
    write(folder / "agriculture.jsonl", [ROWS[0]])
    own = write(tmp_path / "own.jsonl", [{"question": "What repeats?", "id": 7}])
    dataset = UltraDomain(config(folder, questions=str(own))).load()
    assert dataset.name == "broad"
    assert [p.source for p in dataset.corpus] == ["agriculture.jsonl", "legal.jsonl"]
    assert [(q.id, q.text, q.type) for q in dataset.questions] == [("7", "What repeats?", "own")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROWS[0], {"label": "legal", "context": " "}], "line 2: expected a question in 'input'"),
        ([{"input": ["a"], "context": "t"}], r"expected text in 'input', got \[\"a\"\]"),
        (
            [{"input": "a", "context": "t", "meta": "x"}],
            "expected a mapping with 'title' in 'meta'",
        ),
        ([{"input": "only a question"}], "there is no passage in it"),
        ([ROWS[0], ROWS[0]], "two questions share the id 'q1'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, rows: list[Any], message: str
) -> None:
    file = write(tmp_path / "x.jsonl", rows)
    with pytest.raises(DataError, match=message):
        UltraDomain(config(file)).load()


def test_an_empty_folder_and_an_overlap_that_never_ends_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no file that ends in \.jsonl"):
        UltraDomain(config(tmp_path)).load()
    with pytest.raises(ConfigError, match="chunk_overlap: expected"):
        config(tmp_path, chunk_size=10, chunk_overlap=10)
