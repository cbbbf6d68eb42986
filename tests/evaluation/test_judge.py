"""Reading verdicts, scoring two orders, and asking with a log."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_research.errors import LLMError, ParseError
from rag_research.evaluation.contestants import Match
from rag_research.evaluation.judge import (
    CRITERIA,
    Choice,
    Presentation,
    Verdict,
    ask_judge,
    read_verdict,
)
from rag_research.evaluation.judge_scores import judged, pair_score, position_bias, score_cube
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ItemLog


def says(choice: str) -> dict[str, Any]:
    return dict.fromkeys(CRITERIA, choice)


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("1", "1"),
        (2, "2"),
        ("Answer 2", "2"),
        ("answer_1", "1"),
        (" Tie ", "tie"),
        ("draw", "tie"),
        ({"winner": "Answer 1", "explanation": "longer"}, "1"),
    ],
)
def test_ways_to_say_a_choice(said: Any, choice: str) -> None:
    assert read_verdict({**says("tie"), "Overall": said, "overall": said})["overall"] == choice


@pytest.mark.parametrize("said", ["both", "3", "", None, True, "1 or 2", 1.5, ["1"], {"a": "1"}])
def test_what_is_no_choice_is_refused_not_guessed(said: Any) -> None:
    with pytest.raises(ParseError):
        read_verdict({**says("1"), "diversity": said})


def test_a_missing_criterion_is_refused() -> None:
    with pytest.raises(ParseError, match="no key 'empowerment'"):
        read_verdict({k: v for k, v in says("1").items() if k != "empowerment"})


def test_the_score_of_two_orders_by_hand() -> None:
    # Forward "1" and backward "2" both name a. Any disagreement is half a win each.
    wins: dict[tuple[Choice, Choice], float] = {("1", "2"): 1.0, ("2", "1"): 0.0}
    choices: tuple[Choice, ...] = ("1", "2", "tie")
    for pair in itertools.product(choices, choices):
        assert pair_score(*pair) == wins.get(pair, 0.5)


QUESTION = "How are hives kept?"


def match(a: str | None, b: str | None, id: str = "q") -> Match:
    return Match(id, QUESTION, 0, 1, (a, b))


def verdicts(shown: Match, forward: str, backward: str) -> dict[str, Verdict]:
    assert shown.presentations is not None
    first, second = shown.presentations
    return {first.key: says(forward), second.key: says(backward)}


def test_identical_answers_come_out_even_whatever_the_judge_says() -> None:
    same = match("Daily.", "Daily.")
    for choice in ("1", "2", "tie"):
        [outcome] = judged([same], verdicts(same, choice, choice))
        assert outcome.scores == dict.fromkeys(CRITERIA, 0.5)


def test_a_failed_question_loses_and_two_failed_ones_tie() -> None:
    shown = [match("x", None), match(None, "x"), match(None, None)]
    outcomes = judged(shown, {})
    assert [o.scores["overall"] for o in outcomes if o.scores] == [1.0, 0.0, 0.5]
    assert all(outcome.forfeited for outcome in outcomes)
    assert position_bias(outcomes, "overall").shown == 0


def test_position_bias_by_hand() -> None:
    shown = [match("a", "b", "1"), match("c", "d", "2"), match("e", "f", "3"), match("g", "h", "4")]
    given = {
        **verdicts(shown[0], "1", "2"),  # agrees: a
        **verdicts(shown[1], "1", "1"),  # the first one twice
        **verdicts(shown[2], "1", "tie"),  # disagrees as well
        **verdicts(shown[3], "tie", "tie"),
    }
    outcomes = judged(shown, given)
    bias = position_bias(outcomes, "overall")
    # Choices: 1 2 1 1 1 tie tie tie: 4 of 5 decided ones for the first place.
    assert (bias.shown, bias.first, bias.ties) == (8, 0.8, 3 / 8)
    assert (bias.pairs, bias.inconsistent) == (4, 0.5)
    cube = score_cube(outcomes, "overall", 2)
    assert cube[:, 0, 1].tolist() == [1.0, 0.5, 0.5, 0.5]
    assert cube[:, 1, 0].tolist() == [0.0, 0.5, 0.5, 0.5]
    assert np.isnan(cube[:, 0, 0]).all()


def test_one_order_alone_decides_nothing() -> None:
    shown = match("a", "b")
    assert shown.presentations is not None
    outcomes = judged([shown], {shown.presentations[0].key: says("1")})
    assert outcomes[0].scores is None
    assert np.isnan(score_cube(outcomes, "overall", 2)).all()
    bias = position_bias(outcomes, "overall")
    assert (bias.shown, bias.pairs, bias.inconsistent) == (1, 0, None)


SHOWN = {
    shown.key: shown
    for shown in (Presentation(f"Question {n}?", f"first {n}", f"second {n}") for n in range(6))
}


def asked(request: Request) -> str:
    return request.messages[-1].content


def ask(path: Path, reply: Callable[[Request], str], concurrency: int = 1) -> tuple[Any, Scripted]:
    llm = Scripted.of(reply)
    log = ItemLog(path / "log.jsonl")
    return ask_judge(SHOWN, log, llm, PromptLibrary(), concurrency), llm


def test_the_judge_is_shown_question_and_both_answers_in_order(tmp_path: Path) -> None:
    _, llm = ask(tmp_path, lambda _: json.dumps(says("1")))
    text = asked(llm.requests[2])
    assert text.index("Question 2?") < text.index("first 2") < text.index("second 2")
    assert llm.requests[2].prompt == "judge/pairwise@1"
    assert llm.requests[2].purpose == "judge"
    assert llm.requests[2].temperature == 0.0


def test_an_unparsable_reply_is_counted_and_asked_for_again(tmp_path: Path) -> None:
    def mumbles(request: Request) -> str:
        # The repair request ends otherwise, but holds the question further up.
        of_three = any("Question 3?" in message.content for message in request.messages)
        return "Both are fine." if of_three else json.dumps(says("2"))

    result, llm = ask(tmp_path, mumbles)
    assert len(result.given) == 5
    assert [key for key in SHOWN if key not in result.given] == list(result.unparsed)
    assert len(llm.requests) == 7  # a repair was asked for once
    assert result.usage["judge"].calls == 7
    again, llm = ask(tmp_path, lambda _: json.dumps(says("1")))
    assert len(llm.requests) == 1
    assert (again.reused, len(again.given), again.unparsed) == (5, 6, {})


def test_a_failed_call_is_counted_and_a_judge_that_is_down_ends_it(tmp_path: Path) -> None:
    def refuses(part: str) -> Callable[[Request], str]:
        def reply(request: Request) -> str:
            if part in asked(request):
                raise LLMError("refused")
            return json.dumps(says("2"))

        return reply

    result, _ = ask(tmp_path, refuses("Question 1?"))
    assert list(result.failed.values()) == ["refused"]
    assert len(result.given) == 5
    with pytest.raises(LLMError, match="failed for all"):
        ask(tmp_path / "other", refuses("Question"))


def test_a_repaired_reply_counts_as_one_verdict(tmp_path: Path) -> None:
    def mends(request: Request) -> str:
        return "Hm." if "Question 0?" in asked(request) else json.dumps(says("1"))

    result, _ = ask(tmp_path, mends)
    assert (len(result.given), result.repaired, result.usage["judge"].calls) == (6, 1, 7)


def test_a_kill_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    def dies(request: Request) -> str:
        if "Question 4?" in asked(request):
            raise KeyboardInterrupt
        return json.dumps(says("1"))

    with pytest.raises(KeyboardInterrupt):
        ask(tmp_path, dies)
    result, llm = ask(tmp_path, lambda _: json.dumps(says("1")))
    assert [asked(r).split("\n")[0] for r in llm.requests] == [
        "Question: Question 4?",
        "Question: Question 5?",
    ]
    assert (len(result.given), result.reused) == (6, 4)
    assert ask(tmp_path, dies)[0].given == result.given
