"""Which texts a prompt holds, and that a limit nobody reaches changes nothing."""

import random

from rag_research.graph.subgraph import Element, readable
from rag_research.solve.evidence import cut, fitting


def element(id: str, text: str) -> Element:
    return Element(id, "chunk", text, 0.5, (id,))


LONG, SHORT, TINY = (
    element("l", "one two three four five"),
    element("s", "a b c"),
    element("t", "x"),
)


def texts(elements: tuple[Element, ...]) -> list[str]:
    return [e.text for e in elements]


def test_what_no_longer_fits_is_left_out_and_a_shorter_one_may_fit() -> None:
    assert fitting([LONG, SHORT, TINY], 9) == ((LONG, SHORT, TINY), 0)
    assert fitting([LONG, SHORT, TINY], 8) == ((LONG, SHORT), 1)
    assert fitting([LONG, SHORT, TINY], 7) == ((LONG, TINY), 1)
    assert fitting([LONG, SHORT, TINY], 7, [SHORT]) == ((SHORT, TINY), 1)
    assert fitting([SHORT, TINY], 3, [TINY]) == ((TINY,), 1)


def test_one_text_is_always_there_and_cut_where_it_is_too_long() -> None:
    shown, left_out = fitting([LONG, TINY], 3)
    assert (texts(shown), left_out) == (["one two three"], 1)
    assert fitting([], 3) == ((), 0)
    assert fitting([element("e", " \n")], 3) == ((), 0)
    assert cut(LONG, 5) is LONG
    assert cut(element("c", "東京都\n港区"), 4).text == "東京都\n港"
    assert cut(element("c", "a  b \n c"), 2).text == "a  b"


def test_below_the_limit_the_prompt_reads_as_it_would_without_one() -> None:
    draw = random.Random(3)
    for _ in range(50):
        all = [element(str(n), draw.choice(["a b", " a b", "c\nd e", "f", ""])) for n in range(5)]
        shown, left_out = fitting(all, 3500, draw.sample(all, 2))
        assert (readable(shown), left_out) == (readable(all), 0)
