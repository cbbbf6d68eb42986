"""From verdicts in both orders to wins, ties and the judge's favour for a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_research.evaluation.contestants import Match
from rag_research.evaluation.judge import CRITERIA, Choice, Verdict

_FIRST: Mapping[Choice, float] = {"1": 1.0, "tie": 0.5, "2": 0.0}


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge said of one match.

    Args:
        match: two answers to one question.
        forward: with ``a``'s answer first; ``None`` without a usable verdict.
        backward: with ``b``'s answer first.
        scores: by criterion, ``a``'s part of the win: 1, 0.5 or 0; ``None`` when a verdict is
            missing. A failed question loses to an answered one, and two failed ones tie:
            nothing is asked then.
    """

    match: Match
    forward: Verdict | None
    backward: Verdict | None
    scores: Mapping[str, float] | None

    @property
    def forfeited(self) -> bool:
        """Whether an answer is missing."""
        return None in self.match.answers


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How the place of an answer swayed the judge, on one criterion.

    Args:
        shown: presentations with a verdict.
        first: share of them won by the first answer, ties left out; 0.5 is no favour, and
            ``None`` stands for ties only.
        ties: share of presentations called a tie.
        pairs: answer pairs with verdicts in both orders.
        inconsistent: share of those pairs in which the two orders name different answers.
    """

    shown: int
    first: float | None
    ties: float | None
    pairs: int
    inconsistent: float | None


def pair_score(forward: Choice, backward: Choice) -> float:
    """``a``'s part of the win: 1 or 0 when both orders agree on it, half of it otherwise.

    Args:
        forward: the choice with ``a``'s answer first.
        backward: the choice with ``b``'s answer first.
    """
    score = _FIRST[forward]
    return score if score == 1.0 - _FIRST[backward] else 0.5


def judged(matches: Sequence[Match], given: Mapping[str, Verdict]) -> list[Judged]:
    """Every match with its verdicts.

    Args:
        matches: in order.
        given: verdicts by the key of their presentation.
    """
    return [_judged(match, given) for match in matches]


def _judged(match: Match, given: Mapping[str, Verdict]) -> Judged:
    shown = match.presentations
    if shown is None:
        a, b = (answer is not None for answer in match.answers)
        return Judged(match, None, None, dict.fromkeys(CRITERIA, 0.5 * (1 + a - b)))
    forward, backward = (given.get(presentation.key) for presentation in shown)
    if forward is None or backward is None:
        return Judged(match, forward, backward, None)
    scores = {name: pair_score(forward[name], backward[name]) for name in CRITERIA}
    return Judged(match, forward, backward, scores)


def score_cube(outcomes: Sequence[Judged], criterion: str, systems: int) -> NDArray[np.float64]:
    """Scores of one criterion by question and pair.

    Args:
        outcomes: all matches, grouped by question.
        criterion: one of ``CRITERIA``.
        systems: how many.

    Returns:
        ``[Q, R, R]``: the part of the win that the row's system has over the column's;
        not a number where nothing usable was said, and on the diagonal.
    """
    rows = {id: row for row, id in enumerate(dict.fromkeys(o.match.id for o in outcomes))}
    cube = np.full((len(rows), systems, systems), np.nan)
    for outcome in outcomes:
        if outcome.scores is not None:
            row, a, b = rows[outcome.match.id], outcome.match.a, outcome.match.b
            cube[row, a, b] = outcome.scores[criterion]
            cube[row, b, a] = 1.0 - outcome.scores[criterion]
    return cube


def position_bias(outcomes: Sequence[Judged], criterion: str) -> PositionBias:
    """The figures of one criterion over all matches; forfeited ones were never shown.

    Args:
        outcomes: all matches.
        criterion: one of ``CRITERIA``.
    """
    both = [(o.forward, o.backward) for o in outcomes]
    choices = [v[criterion] for pair in both for v in pair if v is not None]
    decided = [choice for choice in choices if choice != "tie"]
    pairs = [(f[criterion], b[criterion]) for f, b in both if f is not None and b is not None]
    differing = [_FIRST[f] != 1.0 - _FIRST[b] for f, b in pairs]
    return PositionBias(
        shown=len(choices),
        first=_share(decided.count("1"), len(decided)),
        ties=_share(len(choices) - len(decided), len(choices)),
        pairs=len(pairs),
        inconsistent=_share(sum(differing), len(differing)),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
