from hypothesis import given
from hypothesis import strategies as st

from rag_research.embed.batches import equal_length_batches


def test_batches_hold_one_length_longest_first_and_are_cut_by_tokens() -> None:
    assert list(equal_length_batches([3, 5, 3, 3, 5], 6)) == [[1], [4], [0, 2], [3]]


def test_a_text_longer_than_a_batch_is_a_batch_of_its_own() -> None:
    assert list(equal_length_batches([9, 9], 4)) == [[0], [1]]


def test_no_texts_no_batches() -> None:
    assert list(equal_length_batches([], 4)) == []


@given(st.lists(st.integers(1, 12), max_size=60), st.integers(1, 40))
def test_every_position_stands_in_exactly_one_batch(lengths: list[int], tokens: int) -> None:
    batches = list(equal_length_batches(lengths, tokens))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[i] for i in batch}) == 1
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= tokens
