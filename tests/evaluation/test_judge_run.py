"""Whole judgements of real run directories, with scripted judges."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_research.cli import main
from rag_research.config.build import build
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.contestants import load_contestants
from rag_research.evaluation.judge import CRITERIA
from rag_research.evaluation.judge_config import JudgeConfig
from rag_research.evaluation.judge_report import Judgement
from rag_research.evaluation.judge_run import judge, run_command
from rag_research.evaluation.runner import evaluate
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted

Reply = Callable[[Request], str]


def verdict(choice: str) -> str:
    return json.dumps(dict.fromkeys(CRITERIA, choice))


def longer(request: Request) -> str:
    """The answer of more characters wins; a fair judge of a kind."""
    first, second = re.findall(r"<answer \d>\n(.*?)\n</answer", request.messages[-1].content)
    return verdict("tie" if len(first) == len(second) else "12"[len(second) > len(first)])


def first_place(request: Request) -> str:
    return verdict("1")


@pytest.fixture
def run(lab: Any) -> Callable[..., Path]:
    """Evaluate into a named folder: words around every third answer, or the bare city."""

    def make(name: str, reply: Reply | None = None, **changes: Any) -> Path:
        folder: Path = lab.root / name
        config = lab.config(run={"out": str(folder)}, **changes)
        evaluate(config, lab.models(config, reply=reply or lab.read_the_passage)[0])
        return folder

    return make


@pytest.fixture
def bare(lab: Any) -> Reply:
    return lambda request: str(lab.read_the_passage(request)).removeprefix("It is ")


def settings(root: Path, **changes: Any) -> JudgeConfig:
    values = {"llm": "scripted", "bootstrap_samples": 100, **changes}
    run = {"out": str(root / "judgement"), "concurrency": 1, **changes.get("run", {})}
    return build(JudgeConfig, {**values, "run": run})


def judged_by(root: Path, reply: Reply, *runs: Path, **changes: Any) -> tuple[Judgement, Scripted]:
    llm = Scripted.of(reply)
    return judge(load_contestants(runs), settings(root, **changes), llm), llm


def test_a_fair_judge_finds_the_wordy_answers(lab: Any, run: Any, bare: Reply) -> None:
    judgement, llm = judged_by(lab.root, longer, run("terse", bare), run("wordy"))
    # Four of ten answers are longer, six are the same: w = (4 + 3) / 10 for the wordy run.
    assert judgement.systems == ("terse", "wordy")
    overall = judgement.ratings["overall"]
    rate = overall.win_rates[1][0]
    assert rate is not None and rate.n == 10
    assert rate.mean == pytest.approx(0.7)
    assert overall.elo[1] is not None
    assert overall.elo[1].mean == pytest.approx(1747.2, abs=0.05)  # 400 log10(7 / 3)
    bias = judgement.bias["overall"]
    assert (bias.first, bias.inconsistent) == (0.5, 0.0)
    # Equal answers are the same presentation in both orders: 6 + 2 x 4 requests.
    assert len(llm.requests) == judgement.counts["shown"] == 14
    assert judgement.usage["judge"].calls == 14


def test_identical_answers_are_even_and_the_favour_for_a_place_shows(lab: Any, run: Any) -> None:
    judgement, _ = judged_by(lab.root, first_place, run("one"), run("two"))
    for criterion in CRITERIA:
        rate = judgement.ratings[criterion].win_rates[0][1]
        assert rate is not None and (rate.mean, rate.low, rate.high) == (0.5, 0.5, 0.5)
        bias = judgement.bias[criterion]
        assert (bias.first, bias.inconsistent) == (1.0, 1.0)
    shown = str(judgement)
    assert "50.0 ±0.0" in shown and "1600 [1600, 1600]" in shown


def test_swapping_the_runs_mirrors_the_result(lab: Any, run: Any, bare: Reply) -> None:
    terse, wordy = run("terse", bare), run("wordy")
    one, _ = judged_by(lab.root, longer, terse, wordy)
    other, llm = judged_by(lab.root, longer, wordy, terse)
    assert llm.requests == []  # the same presentations in the same log
    for criterion in CRITERIA:
        rates = one.ratings[criterion].win_rates, other.ratings[criterion].win_rates
        assert rates[0][0][1] == rates[1][1][0]
    assert one.bias == other.bias


def test_an_interrupted_judgement_ends_like_an_uninterrupted_one(
    lab: Any, run: Any, bare: Reply
) -> None:
    runs = run("terse", bare), run("wordy"), run("third", lambda _: "Oslo")

    @functools.wraps(longer)  # a scripted model is known by the name of its function
    def dies(request: Request) -> str:
        if "Country 6" in request.messages[-1].content:
            raise KeyboardInterrupt
        return longer(request)

    with pytest.raises(KeyboardInterrupt):
        judged_by(lab.root, dies, *runs)
    [log] = (lab.root / "judgement" / "verdicts").glob("*.jsonl")
    finished = len(log.read_text().splitlines())
    assert finished > 0
    resumed, llm = judged_by(lab.root, longer, *runs)
    assert len(llm.requests) == resumed.counts["shown"] - finished
    assert resumed.counts["reused"] == finished
    whole, _ = judged_by(lab.root / "whole", longer, *runs)
    assert (whole.ratings, whole.bias) == (resumed.ratings, resumed.bias)
    written = [(j.directory / "verdicts.jsonl").read_bytes() for j in (resumed, whole)]
    assert written[0] == written[1]


def test_a_reply_that_says_nothing_counts_for_nobody(lab: Any, run: Any, bare: Reply) -> None:
    def mumbles(request: Request) -> str:
        text = "\n".join(message.content for message in request.messages)
        return "Who knows." if "Country 3 ?" in text else longer(request)

    judgement, _ = judged_by(lab.root, mumbles, run("terse", bare), run("wordy"))
    assert (judgement.counts["judged"], judgement.counts["unjudged"]) == (9, 1)
    assert judgement.counts["unparsed"] == 2  # in both orders
    rate = judgement.ratings["overall"].win_rates[1][0]
    assert rate is not None and rate.n == 9
    assert rate.mean == pytest.approx(6 / 9)
    rows = (judgement.directory / "verdicts.jsonl").read_text().splitlines()
    row = next(r for r in map(json.loads, rows) if r["id"] == "q3")
    assert (row["a_first"], row["b_first"], row["scores_of_a"]) == (None, None, None)
    assert "NOT JUDGED: 1 pairs" in str(judgement)
    assert "2 replies could not be parsed" in str(judgement)


def test_a_failed_question_loses_unasked(lab: Any, run: Any, fails_on: Any) -> None:
    judgement, llm = judged_by(
        lab.root, longer, run("whole"), run("broken", fails_on("Country 4 "))
    )
    rate = judgement.ratings["overall"].win_rates[0][1]
    assert rate is not None and rate.mean == pytest.approx(0.55)
    assert judgement.counts["forfeits"] == 1
    assert not any("Country 4 " in r.messages[-1].content for r in llm.requests)
    assert "FORFEITS: 1 pairs" in str(judgement)


def test_runs_that_were_asked_something_else_are_refused(lab: Any, run: Any) -> None:
    all_of_them, some = run("all"), run("some", limit=4)
    with pytest.raises(DataError, match=r"cannot be compared: they were asked different"):
        load_contestants([all_of_them, some])
    with pytest.raises(DataError, match="their corpora differ"):
        load_contestants([all_of_them, run("others", dataset={"name": "capitals", "size": 12})])
    with pytest.raises(ConfigError, match="given twice"):
        load_contestants([all_of_them, some, lab.root / "all"])
    with pytest.raises(ConfigError, match="at least two runs, got 1"):
        load_contestants([all_of_them])
    with pytest.raises(DataError, match="there are no results"):
        load_contestants([all_of_them, lab.root])


def test_results_that_name_no_data_are_checked_by_their_questions(lab: Any, run: Any) -> None:
    def without_facts(folder: Path) -> Path:
        file = folder / "results.json"
        value = json.loads(file.read_text())
        value["provenance"] = {}
        file.write_text(json.dumps(value))
        return folder

    runs = [without_facts(run("all")), without_facts(run("some", limit=4))]
    with pytest.raises(DataError, match="they hold 10 and 4 questions, 4 of them the same"):
        load_contestants(runs)
    text = (runs[0] / "predictions.jsonl").read_text().replace("Country 1 ?", "Country One ?")
    (runs[0] / "predictions.jsonl").write_text(text)
    with pytest.raises(DataError, match="question 'q1' differs"):
        load_contestants(runs)


def words(root: Path, *runs: Path, replies: int = 0, choice: str = "1") -> list[str]:
    quoted = "'" + verdict(choice) + "'"
    return [
        *map(str, runs),
        "llm=scripted",
        f"llm.replies=[{','.join([quoted] * replies)}]",
        "run.concurrency=1",
        f"run.out={root / 'judgement'}",
        f"run.store={root / 'store'}",
    ]


def test_the_command_judges_prints_and_writes(
    lab: Any, run: Any, bare: Reply, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = run("terse", bare, limit=4), run("wordy", limit=4)
    # Questions 0 and 3 differ: two presentations each; 1 and 2 are equal: one each.
    call = words(lab.root, *runs, replies=6)
    assert main(["judge", *call, "reference=wordy"]) == 0
    out = capsys.readouterr().out
    assert "| overall " in out and "| position bias " in out
    assert "4 questions, 4 pairs of answers, 4 judged; 6 presentations" in out
    assert (lab.root / "judgement" / "judge.md").read_text().strip() == out.strip()
    saved = json.loads((lab.root / "judgement" / "judge.json").read_text())
    assert (saved["systems"], saved["reference"]) == (["terse", "wordy"], "wordy")
    assert saved["bias"]["overall"]["first"] == 1.0
    assert saved["ratings"]["overall"]["win_rates"][0][1]["mean"] == 0.5
    assert saved["provenance"]["prompts"].keys() == {"judge/pairwise", "repair"}
    assert [r["name"] for r in saved["provenance"]["runs"]] == ["terse", "wordy"]
    # Nothing is left to ask, so a judge without a reply is no hindrance.
    assert main(["judge", *call, "reference=terse"]) == 0
    assert "6 of them judged earlier" in capsys.readouterr().out


def test_a_spent_budget_keeps_what_was_judged(
    lab: Any, run: Any, bare: Reply, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = run("terse", bare, limit=4), run("wordy", limit=4)
    call = words(lab.root, *runs, replies=6)
    assert main(["judge", *call, "budget.calls=4"]) == 1
    assert "PARTIAL: the budget was spent." in capsys.readouterr().out
    assert main(["judge", *call, "budget.calls=9"]) == 0
    assert "4 of them judged earlier" in capsys.readouterr().out


def test_a_dry_run_counts_and_writes_nothing(
    lab: Any, run: Any, bare: Reply, capsys: pytest.CaptureFixture[str]
) -> None:
    call = words(lab.root, run("terse", bare, limit=4), run("wordy", limit=4))
    before = sorted(lab.root.iterdir())
    assert run_command([*call, "run.dry_run=true", "budget.calls=2"]) == 0
    out = capsys.readouterr().out
    assert "4 pairs of answers, 6 presentations. Nothing was sent." in out
    assert "calls: 2 may not be enough for 6" in out
    assert sorted(lab.root.iterdir()) == before


def test_mistakes_are_explained(lab: Any, run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    runs = run("one", limit=2), run("two", limit=2)
    assert main(["judge", *words(lab.root, *runs), "reference=tow"]) == 2
    assert "no run named 'tow'. Did you mean 'two'?" in capsys.readouterr().err
    assert main(["judge", *words(lab.root, runs[0])]) == 2
    assert "at least two runs" in capsys.readouterr().err
    assert main(["judge", *words(lab.root, *runs), "limit=0"]) == 2
    assert "limit must be at least 1" in capsys.readouterr().err


def test_the_default_folder_depends_on_what_is_judged(
    lab: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab.root)
    runs = run("one", limit=2), run("two", limit=2)
    config = build(JudgeConfig, {"llm": "scripted", "bootstrap_samples": 10})
    folders = set()
    for limit in (1, 2):
        chosen = build(JudgeConfig, {"llm": "scripted", "bootstrap_samples": 10, "limit": limit})
        judgement = judge(load_contestants(runs), chosen, Scripted.of(first_place))
        folders.add(judgement.directory)
    repeated = judge(load_contestants(runs), config, Scripted.of(first_place))
    assert len(folders | {repeated.directory}) == 3
    assert all(folder.parent == Path("runs") for folder in folders)
