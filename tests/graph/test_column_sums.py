import pytest
import torch

from rag_research.graph.column_sums import ColumnSums

VALUES = torch.tensor([[1.0, 0.0], [2.0, 4.0], [3.0, 0.0], [0.5, 0.0], [0.5, 2.0]])
BLOCKS = torch.tensor([0, 0, 2, 2, 2])  # the second has no rows


@pytest.mark.parametrize("total", [ColumnSums(BLOCKS), ColumnSums.of_sizes([2, 0, 3])])
def test_sums_distances_and_scales_of_blocks(total: ColumnSums) -> None:
    assert total.blocks
    assert total(VALUES).tolist() == [[3.0, 4.0], [4.0, 2.0]]
    assert total.distance(VALUES, VALUES.flip(0)).tolist() == [[2.0, 6.0], [2.0, 6.0]]
    scaled = total.rescale(VALUES.clone(), torch.tensor([[6.0, 1.0], [2.0, 0.0]]))
    expected = [[2.0, 0.0], [4.0, 1.0], [1.5, 0.0], [0.25, 0.0], [0.25, 0.0]]
    assert scaled.tolist() == expected


def test_without_blocks_all_rows_are_one() -> None:
    total = ColumnSums(None)
    assert not total.blocks
    assert total(VALUES).tolist() == [7.0, 6.0]
    assert total.distance(VALUES, 2 * VALUES).tolist() == [7.0, 6.0]
    assert total.rescale(VALUES.clone(), torch.tensor([14.0, 0.0]))[:, 0].tolist() == [
        2.0,
        4.0,
        6.0,
        1.0,
        1.0,
    ]


def test_columns_of_zeros_stay() -> None:
    for total in (ColumnSums(None), ColumnSums.of_sizes([1, 1])):
        sums = total(torch.zeros(2, 1))
        assert total.rescale(torch.zeros(2, 1), sums).tolist() == [[0.0], [0.0]]
