"""What came out of judging: an object, its ``judge.json``, and its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.evaluation.judge_scores import Judged, PositionBias
from rag_research.evaluation.ratings import Ratings
from rag_research.evaluation.records import write_lines
from rag_research.evaluation.statistics import Interval
from rag_research.evaluation.table import aligned
from rag_research.runtime.text_files import write_text
from rag_research.trace import plain
from rag_research.types import Usage

FILE = "judge.json"
FORMAT = 1
_LEGEND = (
    "Win rates in percent, of the row over the column, ties half, ± half the 95 % bootstrap "
    "interval over questions. ELO is from the games against {reference} alone, Bradley-Terry from "
    "all pairs (one tied game added to each); {reference} has 1600 in both. Every pair is shown "
    "in both orders; where the orders disagree it is a tie."
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The comparison of several runs by one judge.

    Args:
        systems: names of the runs, in the order given.
        reference: the one rated 1600.
        questions: how many were compared.
        matches: pairs of answers: questions times pairs of runs.
        counts: ``judged`` and ``unjudged`` matches; ``forfeits``, matches with a failed
            question, which are judged without asking; of the presentations, ``shown`` (equal
            ones once), ``unparsed``, ``failed``, ``repaired`` and ``reused``.
        partial: the budget ended the judging early.
        ratings: by criterion; none when nothing was judged.
        bias: by criterion.
        usage: cost of the judge by purpose, verdicts found in the log included.
        provenance: judge, prompt, runs, code and machine.
        directory: where the files are.
    """

    systems: tuple[str, ...]
    reference: str
    questions: int
    matches: int
    counts: Mapping[str, int]
    partial: bool
    ratings: Mapping[str, Ratings]
    bias: Mapping[str, PositionBias]
    usage: Mapping[str, Usage]
    provenance: Mapping[str, Any]
    directory: Path

    def save(self, outcomes: Sequence[Judged]) -> None:
        """Write ``verdicts.jsonl``, ``judge.md`` and, last, ``judge.json``."""
        self.directory.mkdir(parents=True, exist_ok=True)
        write_lines(
            self.directory / "verdicts.jsonl", (_verdict_row(o, self.systems) for o in outcomes)
        )
        write_text(self.directory / "judge.md", f"{self}\n")
        value = {"format": FORMAT, **plain(self)}
        del value["directory"]
        text = json.dumps(value, indent=2, ensure_ascii=False)
        write_text(self.directory / FILE, text + "\n")

    def __str__(self) -> str:
        tables = [_ratings_table(self, name) for name in self.ratings]
        return "\n\n".join([*tables, _bias_table(self.bias), "\n".join(_notes(self))])


def _verdict_row(outcome: Judged, systems: Sequence[str]) -> dict[str, Any]:
    match = outcome.match
    return {
        "id": match.id,
        "question": match.question,
        "a": systems[match.a],
        "b": systems[match.b],
        "answers": list(match.answers),
        "a_first": outcome.forward,
        "b_first": outcome.backward,
        "scores_of_a": outcome.scores,
    }


def _ratings_table(judgement: Judgement, criterion: str) -> str:
    ratings = judgement.ratings[criterion]
    head = [criterion, *(f"vs {name}" for name in judgement.systems), "ELO", "Bradley-Terry"]
    rows = [
        [name, *map(_rate, rates), _rating(elo), _rating(fitted)]
        for name, rates, elo, fitted in zip(
            judgement.systems,
            ratings.win_rates,
            ratings.elo,
            ratings.bradley_terry,
            strict=True,
        )
    ]
    return "\n".join(aligned([head, *rows]))


def _bias_table(bias: Mapping[str, PositionBias]) -> str:
    head = ["position bias", "first wins", "orders disagree", "ties", "presentations", "pairs"]
    rows = [
        [
            name,
            _percent(figure.first),
            _percent(figure.inconsistent),
            _percent(figure.ties),
            str(figure.shown),
            str(figure.pairs),
        ]
        for name, figure in bias.items()
    ]
    return "\n".join(aligned([head, *rows]))


def _notes(judgement: Judgement) -> list[str]:
    counts = judgement.counts
    cost = sum(judgement.usage.values(), Usage())
    notes = [
        _LEGEND.format(reference=judgement.reference),
        "First wins is the share of presentations, ties left out, that the first answer won: a "
        "judge without a favourite place is near 50.0.",
        f"{judgement.questions} questions, {judgement.matches} pairs of answers, "
        f"{counts['judged']} judged; {counts['shown']} presentations, {counts['reused']} of them "
        f"judged earlier, {counts['repaired']} after a repair. Judge: {cost.calls} calls, "
        f"{cost.input_tokens} tokens in, {cost.output_tokens} out.",
    ]
    if counts["forfeits"]:
        notes.append(
            f"FORFEITS: {counts['forfeits']} pairs hold a failed question, which loses to an "
            "answered one; the judge was not asked."
        )
    if counts["unjudged"]:
        notes.append(
            f"NOT JUDGED: {counts['unjudged']} pairs, for want of a verdict in one order or both: "
            f"{counts['unparsed']} replies could not be parsed, {counts['failed']} calls failed. "
            "They count for nobody. The same command asks again."
        )
    if judgement.partial:
        notes.append(
            "PARTIAL: the budget was spent. The same command with a larger budget goes on from "
            "there."
        )
    return notes


def _rate(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{100 * interval.mean:.1f} ±{100 * interval.half_width:.1f}"


def _rating(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.mean:.0f} [{interval.low:.0f}, {interval.high:.0f}]"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
