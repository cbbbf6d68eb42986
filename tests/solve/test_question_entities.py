"""Entities of questions by spelling; the model's are tested with the system."""

import pytest

from rag_research.solve.question_entities import spelled_entities


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where was the director of Salt Road born?", ("Salt Road",)),
        ('Who wrote "the long way home"?', ("the long way home",)),
        ("Is Keld or the Keld older than Orr?", ("Keld", "Orr")),
        ("who bakes?", ()),
        ("", ()),
        ("東京はどこ？", ()),
    ],
)
def test_by_spelling(question: str, names: tuple[str, ...]) -> None:
    assert spelled_entities(question) == names
