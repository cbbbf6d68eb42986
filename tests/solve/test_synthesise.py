"""The answer in its tag, or what stands in for it."""

import pytest

from rag_research.solve.synthesise import tagged_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("She was born there.\n<answer>Norvia</answer>", "Norvia"),
        ("She was born there. <answer>Norvia", "Norvia"),  # the stop string is not in the reply
        ("<ANSWER>\n Norvia.\n</ANSWER> That is all.", "Norvia"),
        ("<answer><answer>Norvia</answer>", "Norvia"),
        ("<answer>Keld</answer> No: <answer>Norvia</answer>", "Norvia"),
        ("<answer>Keld</answer>\n<answer></answer>", "Keld"),
        ("First this.\n\nNorvia\n\n", "Norvia"),
        ("<think>long <answer>x</answer></think>Norvia", "x"),
        ("</answer>Norvia", "Norvia"),
        ("<answer></answer>", ""),
        ("", ""),
    ],
)
def test_forms(reply: str, answer: str) -> None:
    assert tagged_answer(reply) == answer
