"""Whole runs with a scripted model: determinism, resume, failures, budget, provenance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_research.config.compose import compose_experiment
from rag_research.errors import ConfigError, RagResearchError
from rag_research.evaluation.metrics import register_metric
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request
from rag_research.registry import METRICS
from rag_research.types import Answer, Question

FILES = ("predictions.jsonl", "failures.jsonl")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(lab: Any, name: str, concurrency: int = 4, **changes: Any) -> Results:
    config = lab.config(
        run={"out": str(lab.root / name), "concurrency": concurrency},
        **changes,
    )
    return evaluate(config, lab.models(config)[0])


def test_scores_costs_and_counts_of_a_whole_run(lab: Any) -> None:
    results = run(lab, "out")
    # Countries 0, 3, 6, 9 are answered "It is CITY": not equal, but contained;
    # F1 of one right token in three: P = 1/3, R = 1, F1 = 1/2.
    assert results.metrics["exact_match"].mean == pytest.approx(6 / 10)
    assert results.metrics["substring_match"].mean == 1.0
    assert results.metrics["token_f1"].mean == pytest.approx((6 + 4 / 2) / 10)
    assert results.metrics["answer_length"].mean == pytest.approx((6 + 4 * 3) / 10)
    assert results.metrics["recall@2"].mean == results.metrics["full_chain@5"].mean == 1.0
    assert (results.asked, results.answered, results.failed) == (10, 10, 0)
    assert not results.partial
    assert results.means == {"rounds": 1.0, "unique_chunks": 3.0}
    assert results.index_usage["summarise"].calls == 1
    assert results.query_usage["answer"].calls == 10
    # "The capital of Country 1 is Lima." and "What is the capital of Country 1 ?": 7 + 8 words.
    assert results.query_usage["answer"].input_tokens == 150
    assert results.query_total.weighted_tokens == 150 + 4 * (6 + 4 * 3)
    assert results.metrics["token_f1"].low < 0.8 < results.metrics["token_f1"].high


def test_predictions_are_byte_identical_at_any_concurrency(lab: Any) -> None:
    runs = {n: run(lab, f"out{n}", concurrency=n) for n in (1, 8)}
    again = run(lab, "again", concurrency=8)
    first = (runs[1].directory / "predictions.jsonl").read_bytes()
    assert first.count(b"\n") == 10
    assert (runs[8].directory / "predictions.jsonl").read_bytes() == first
    assert (again.directory / "predictions.jsonl").read_bytes() == first
    assert [r["id"] for r in lines(again.directory / "predictions.jsonl")] == [
        f"q{i}" for i in range(10)
    ]


def test_cached_replies_change_no_prediction(lab: Any) -> None:
    config = lab.config(run={"out": str(lab.root / "cold")})
    cold = evaluate(config, lab.models(config, cache=True)[0])
    config = lab.config(run={"out": str(lab.root / "warm")})
    models, scripted = lab.models(config, cache=True)
    warm = evaluate(config, models)
    assert scripted.requests == []
    assert cold.query_total.cached_calls == 0
    assert warm.query_total.cached_calls == 10
    assert warm.query_total.input_tokens == cold.query_total.input_tokens
    for name in FILES:
        assert (warm.directory / name).read_bytes() == (cold.directory / name).read_bytes()


def test_a_second_run_in_the_same_directory_asks_nothing(lab: Any) -> None:
    config = lab.config()
    evaluate(config, lab.models(config)[0])
    models, scripted = lab.models(config)
    results = evaluate(config, models)
    assert [r.purpose for r in scripted.requests] == ["summarise"]
    assert results.answered == 10


@pytest.mark.parametrize(
    "changes",
    [
        {"system": {"name": "overlap", "k": 2}},
        {"seed": 1},
        {"dataset": {"name": "capitals", "size": 11}},
    ],
)
def test_another_configuration_in_the_same_directory_asks_again(lab: Any, changes: Any) -> None:
    config = lab.config()
    evaluate(config, lab.models(config)[0])
    config = lab.config(**changes)
    models, scripted = lab.models(config)
    evaluate(config, models)
    assert sum(r.purpose == "answer" for r in scripted.requests) >= 10


def test_more_questions_only_ask_the_new_ones(lab: Any) -> None:
    config = lab.config(limit=4)
    assert evaluate(config, lab.models(config)[0]).asked == 4
    config = lab.config(limit=7)
    models, scripted = lab.models(config)
    assert evaluate(config, models).asked == 7
    assert sum(r.purpose == "answer" for r in scripted.requests) == 3


def test_an_interrupted_run_goes_on_and_ends_like_an_uninterrupted_one(lab: Any) -> None:
    whole = run(lab, "whole")

    class Killed(BaseException):
        pass

    left = 5  # the summary and four questions

    def dies(request: Request) -> str:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        return str(lab.read_the_passage(request))

    config = lab.config(run={"concurrency": 1})
    with pytest.raises(Killed):
        evaluate(config, lab.models(config, reply=dies)[0])
    assert not (lab.root / "out" / "results.json").exists()
    left = 100
    models, scripted = lab.models(config, reply=dies)
    resumed = evaluate(config, models)
    assert sum(r.purpose == "answer" for r in scripted.requests) == 6
    for name in FILES:
        assert (resumed.directory / name).read_bytes() == (whole.directory / name).read_bytes()


def test_a_failing_question_is_counted_reported_and_asked_again(lab: Any, fails_on: Any) -> None:
    config = lab.config()
    models, _ = lab.models(config, reply=fails_on("Country 4 "))
    results = evaluate(config, models)
    assert (results.asked, results.answered, results.failed) == (10, 9, 1)
    # Wrong, not left out: 5 of 10 exact, where country 4 would have made 6.
    assert results.metrics["exact_match"].mean == pytest.approx(0.5)
    assert results.metrics["exact_match"].n == 10
    assert results.metrics["recall@2"].mean == pytest.approx(0.9)
    assert results.metrics["answer_length"].n == 9
    assert "q4" not in {row["id"] for row in lines(results.directory / "predictions.jsonl")}
    [failure] = lines(results.directory / "failures.jsonl")
    assert failure["id"] == "q4"
    assert failure["error"] == "LLMError: the server refused 'Country 4 '"
    steps = [x for x in lines(results.directory / "traces.jsonl") if x["question"] == "q4"]
    assert "refused" in steps[-1]["error"]
    models, scripted = lab.models(config, reply=fails_on("Country 4 "))
    evaluate(config, models)
    assert [r.purpose for r in scripted.requests] == ["summarise", "answer"]


def test_a_failing_metric_fails_the_run_and_keeps_the_answers(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))  # forgets it afterwards

    @register_metric("divides_by_zero", version=1)
    def divides_by_zero(answer: Answer, question: Question) -> float:
        return len(answer.text) / (len(question.answers) - 1)

    config = lab.config(evaluation={"metrics": ["divides_by_zero"]})
    with pytest.raises(RagResearchError, match=r"divides_by_zero.*'q0'.*ZeroDivisionError"):
        evaluate(config, lab.models(config)[0])
    assert not (lab.root / "out" / "results.json").exists()
    config = lab.config(evaluation={"metrics": ["token_f1"]})
    models, scripted = lab.models(config)
    evaluate(config, models)
    assert [r.purpose for r in scripted.requests] == ["summarise"]


def test_the_budget_stops_cleanly_and_a_larger_one_goes_on(lab: Any) -> None:
    config = lab.config(budget={"calls": 5}, run={"concurrency": 1})
    results = evaluate(config, lab.models(config)[0])
    assert results.partial
    assert (results.questions, results.asked, results.failed) == (10, 4, 0)
    assert results.metrics["exact_match"].n == 4
    assert len(lines(results.directory / "predictions.jsonl")) == 4
    assert results.provenance["budget_error"]
    config = lab.config(budget={"calls": 100}, run={"concurrency": 1})
    models, scripted = lab.models(config)
    results = evaluate(config, models)
    assert not results.partial
    assert results.asked == 10
    assert sum(r.purpose == "answer" for r in scripted.requests) == 6


def test_results_name_everything_a_row_needs(lab: Any) -> None:
    results = run(lab, "out", seed=7)
    facts = json.loads((results.directory / "results.json").read_text())["provenance"]
    assert facts["code"].keys() == {"commit", "dirty"}
    assert facts["packages"]["numpy"]
    assert facts["machine"]["cores"] >= 1
    assert facts["date"] and facts["command"]
    assert facts["config"]["system"] == {"k": 3, "name": "overlap"}
    assert facts["config_fingerprint"] == results.fingerprint
    assert facts["seed"] == 7
    assert facts["dataset"]["passages"] == facts["dataset"]["questions"] == 10
    assert len(facts["dataset"]["corpus_fingerprint"]) == 16
    assert facts["models"]["llm"]["backend"] == "scripted"
    assert facts["models"]["encoder"] == {"model": "letters"}
    assert facts["metric_versions"]["token_f1"] == 1
    assert facts["resources"]["query"]["wall_seconds"] > 0
    assert facts["resources"]["peak_memory_mib"]["process"] > 1
    assert "index" in facts and "prompts" in facts


def test_results_can_be_loaded_back(lab: Any) -> None:
    results = run(lab, "out")
    loaded = Results.load(results.directory)
    assert loaded.metrics == results.metrics
    assert loaded.query_usage == results.query_usage
    assert loaded.directory == results.directory
    assert len(loaded.predictions()) == 10


def test_questions_are_shuffled_by_the_seed_then_limited(lab: Any) -> None:
    def asked(name: str, seed: int) -> list[str]:
        results = run(lab, name, shuffle=True, limit=5, seed=seed)
        return [row["id"] for row in results.predictions()]

    assert asked("a", 1) == asked("b", 1)
    assert asked("a", 1) != asked("c", 2)


def test_a_limit_of_none_left_is_an_error(lab: Any) -> None:
    with pytest.raises(ConfigError, match="limit: got 0"):
        run(lab, "out", limit=0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threads": 0}, "threads: got 0"),
        ({"seed": -1}, "seed: got -1"),
        ({"limit": -5}, "limit: got -5"),
        ({"evaluation": {"recall_at": [0]}}, "recall_at: got"),
        ({"evaluation": {"bootstrap_samples": 0}}, "bootstrap_samples: got 0"),
        ({"evaluation": {"metrics": ["exact_mach"]}}, "exact_match"),
        ({"evaluation": {"metrics": ["recall_at_k"]}}, "needs a cut-off"),
    ],
)
def test_settings_are_checked_before_anything_is_asked(
    lab: Any, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(RagResearchError, match=said):
        run(lab, "out", **changes)
    assert not (lab.root / "out").exists()


def test_without_a_directory_the_run_is_named_after_what_it_is(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab.root)
    config = lab.config(run={"out": None}, limit=2)
    results = evaluate(config, lab.models(config)[0])
    assert str(results.directory) == f"runs/overlap-capitals-{results.fingerprint}"
    other = lab.config(run={"out": None, "concurrency": 1}, limit=2)
    assert evaluate(other, lab.models(other)[0]).directory == results.directory


def test_answers_do_not_outlive_a_changed_triplet_file(lab: Any, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    (tmp_path / "data").mkdir()
    rows = [{"id": f"p{n}", "title": f"T{n}", "text": f"Text {n}."} for n in range(6)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "data" / "corpus.jsonl").write_text(text, encoding="utf-8")
    question = {"id": "q", "question": "Who directed Salt Road?", "answers": ["Mia Orr"]}
    (tmp_path / "data" / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    fact = ["Salt Road", "directed by", "Mia Orr"]
    asked = json.dumps({"triplets": [[*fact[:2], "?a"]]})
    config = compose_experiment(
        [
            "system=t2rag",
            "system.extractor.name=imported",
            f"system.extractor.path={tmp_path}/triplets.jsonl",
            "dataset=jsonl",
            f"dataset.path={tmp_path}/data",
            "llm=scripted",
            f"llm.replies={json.dumps([asked, json.dumps({'triplets': [fact]}), 'Mia Orr'])}",
            "encoder=hashing",
            f"run.out={tmp_path}/out",
            f"run.store={tmp_path}/store",
            "run.cache=false",
        ]
    )
    found = []
    for passage in ("p5", "p1"):
        row = json.dumps({"id": passage, "triplets": [fact]})
        (tmp_path / "triplets.jsonl").write_text(row, encoding="utf-8")
        (answered,) = evaluate(config).predictions()
        found.append(answered["evidence"][0][0])
    assert found == ["p5", "p1"]
