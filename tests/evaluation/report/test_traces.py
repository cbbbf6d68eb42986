"""Packing of traces: repeated texts, blocks, the passages that steps name."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_research.evaluation.report.traces import (
    QUESTIONS_A_BLOCK,
    Texts,
    blocks,
    named_passages,
    passage_id,
)

LONG = "a text that is long enough to be worth a place in the table"
VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from([LONG, "\x01", "\x01#0", "x" * 50]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def unpack(value: Any, table: list[str]) -> Any:
    """What the page does, in Python."""
    if isinstance(value, str):
        if not value.startswith("\x01"):
            return value
        return table[int(value[2:])] if value[1:2] == "#" else value[1:]
    if isinstance(value, list):
        return [unpack(item, table) for item in value]
    if isinstance(value, dict):
        return {key: unpack(item, table) for key, item in value.items()}
    return value


@given(VALUES, VALUES)
def test_packing_loses_nothing(first: Any, second: Any) -> None:
    texts = Texts([first, second, first])
    for value in (first, second):
        assert unpack(texts.pack(value), texts.table) == value


def test_only_long_texts_that_repeat_have_a_place() -> None:
    texts = Texts([{"a": LONG, "b": "short"}, {"a": LONG, "b": "short", "c": LONG + "!"}])
    assert texts.table == [LONG]
    assert texts.pack([LONG, "short", LONG + "!"]) == ["\x01#0", "short", LONG + "!"]


def test_passages_are_found_in_hits_spans_and_chunk_nodes() -> None:
    step = {
        "hits": [{"id": "12@1050", "score": 0.5}],
        "spans": [["doc", 0, 5, "text"]],
        "nodes": [["chunk:7@0", 0.4], ["triplet:ab", 0.3]],
        "calls": [{"id": "not a passage", "score": 1}],
    }
    assert set(named_passages(step)) == {"12", "doc", "7"}
    assert passage_id("chunk:7@20") == "7"


def test_blocks_hold_twenty_questions_with_the_passages_they_name() -> None:
    ids = [f"q{n}" for n in range(QUESTIONS_A_BLOCK + 1)]
    first = {id: [{"step": "retrieve", "hits": [{"id": f"p{id}", "score": 1.0}]}] for id in ids}
    second = {"q0": [{"step": "answer"}]}
    asked: list[list[str]] = []

    def passages(names: Any) -> dict[str, str]:
        asked.append(list(names))
        return dict.fromkeys(asked[-1], "known")

    table, packed = blocks(ids, [first, second], passages, {"q20": ["gold"]})
    assert table == []
    assert [list(block["traces"]) for block in packed] == [ids[:20], ids[20:]]
    assert packed[0]["traces"]["q0"] == [first["q0"], second["q0"]]
    assert packed[0]["traces"]["q1"] == [first["q1"], None]
    assert packed[1]["passages"] == {"gold": "known", "pq20": "known"}
    assert asked[0] == sorted(f"pq{n}" for n in range(20))
