"""Broad evaluation as a user does it: open questions, two systems, a judge over both."""

import json
from pathlib import Path

import pytest

from rag_research.cli import main

pytest.importorskip("bm25s")

TEXT = "Bees winter in a cluster. Keepers feed them in autumn. Hives are opened in April. "
ROWS = [
    {"input": "How does a hive get through the year?", "context": TEXT * 20, "label": "farming"},
    {"input": "What do keepers do, and why?", "context": TEXT * 20, "label": "farming"},
]
VERDICT = {"comprehensiveness": "2", "diversity": "1", "empowerment": "tie", "overall": "2"}


def test_open_questions_are_answered_measured_by_length_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "farming.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    offline = ["llm=scripted", "run.concurrency=1", f"run.store={tmp_path / 'store'}"]
    asked = [f"dataset.path={data}", "dataset=ultradomain", "dataset.chunk_size=50"]
    systems = ["system=closed_book,bm25_rag", "encoder=hashing", f"run.out={tmp_path / 'runs'}"]
    replies = "llm.replies=[bees sleep,they feed,a cluster in winter,feeding in autumn and April]"
    assert main(["evaluate", *systems, *asked, *offline, replies]) == 0
    out = capsys.readouterr().out
    head = next(line for line in out.splitlines() if line.startswith("| system"))
    columns = {cell.strip() for cell in head.split("|")}
    assert "words" in columns and not columns & {"EM", "sub-EM", "F1", "recall@2"}
    for name in ("closed_book", "bm25_rag"):
        assert f"{name}: no question has gold answers, so there is no EM, sub-EM, F1." in out
    results = json.loads((tmp_path / "runs" / "bm25_rag" / "results.json").read_text())
    assert results["metrics"]["exact_match"] is None
    assert results["metrics"]["answer_length"]["mean"] == 4.5

    runs = [str(tmp_path / "runs" / name) for name in ("closed_book", "bm25_rag")]
    one = "'" + json.dumps(VERDICT) + "'"
    verdicts = f"llm.replies=[{','.join([one] * 4)}]"
    judged = [f"run.out={tmp_path / 'judged'}", verdicts]
    assert main(["judge", *runs, *offline, *judged]) == 0
    assert "2 questions, 2 pairs of answers, 2 judged; 4 presentations" in capsys.readouterr().out
    bias = json.loads((tmp_path / "judged" / "judge.json").read_text())["bias"]
    # The script favours a place, whatever stands there.
    assert {name: figure["first"] for name, figure in bias.items()} == {
        "comprehensiveness": 0.0,
        "diversity": 1.0,
        "empowerment": None,
        "overall": 0.0,
    }
