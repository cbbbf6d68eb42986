import pytest

from rag_research.solve.answer import clean_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Norvia", "Norvia"),
        ("Answer: Norvia.", "Norvia"),
        ('The answer is: "Norvia"', "Norvia"),
        ("<think>long\nthoughts</think>\n\nyes", "yes"),
        ("**1931**\nBecause the text says so.", "1931"),
        ("Martin Luther King Jr.", "Martin Luther King Jr."),
        ("Washington, D.C.", "Washington, D.C."),
        ("Franklin D.", "Franklin D."),
        ("", ""),
        ("\n \n", ""),
        ("東京。", "東京。"),
    ],
)
def test_clean_answer(reply: str, answer: str) -> None:
    assert clean_answer(reply) == answer
