"""Whatever text there is, it comes back unchanged, and order leaks nothing."""

import gzip
import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rag_research.corpus.jsonl import read_passages
from rag_research.corpus.pool import Pool
from rag_research.corpus.records import lines
from rag_research.corpus.subset import sample_questions
from rag_research.types import Question

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=8), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_passages_round_trip(content: list[tuple[str, str]], packed: bool, ending: str) -> None:
    rows = [{"id": str(i), "title": a, "text": b} for i, (a, b) in enumerate(content)]
    raw = "".join(json.dumps(row, ensure_ascii=False) + ending for row in rows).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        path.write_bytes(gzip.compress(raw) if packed else raw)
        assert [(p.title, p.text) for p in read_passages(path)] == content


@given(st.lists(st.sampled_from(["a", "北京", " ", ""]), max_size=12))
def test_line_numbers_count_blank_lines(content: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.txt"
        path.write_text("".join(line + "\n" for line in content), encoding="utf-8")
        expected = [(n, line) for n, line in enumerate(content, 1) if line.strip()]
        assert list(lines(path)) == expected


@given(st.lists(st.tuples(TEXT, TEXT), max_size=12), st.randoms(use_true_random=False))
def test_a_pool_does_not_depend_on_the_order_of_adding(
    content: list[tuple[str, str]], shuffle: object
) -> None:
    shuffled = list(content)
    shuffle.shuffle(shuffled)  # type: ignore[attr-defined]
    pools = Pool("x"), Pool("x")
    ids = [pools[0].add(title, text) for title, text in content]
    for title, text in shuffled:
        pools[1].add(title, text)
    assert pools[0].passages() == pools[1].passages()
    assert len(set(ids)) == len({(a.strip(), b.strip()) for a, b in content})


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 5))
def test_a_sample_of_questions_keeps_their_order(total: int, count: int, seed: int) -> None:
    questions = [Question(f"q{i}", "?") for i in range(total)]
    sample = sample_questions(questions, count, seed)
    assert len(sample) == min(total, count)
    assert sample == [q for q in questions if q in sample]
