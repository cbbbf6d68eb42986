"""Group softmax and maximum against a loop over groups, and against PyTorch Geometric."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import scatter, softmax

from rag_research.models.groups import largest_of_groups, softmax_in_groups

COUNT = 5
rows = st.lists(st.tuples(st.integers(0, COUNT - 1), st.floats(-90, 90, width=32)), max_size=20)


def _columns(drawn: list[tuple[int, float]]) -> tuple[Tensor, Tensor]:
    group = torch.tensor([group for group, _ in drawn], dtype=torch.int64)
    return group, torch.tensor([value for _, value in drawn], dtype=torch.float32)


@given(rows)
def test_softmax_is_that_of_each_group(drawn: list[tuple[int, float]]) -> None:
    group, logits = _columns(drawn)
    share = softmax_in_groups(logits, group, COUNT)
    assert share.shape == logits.shape
    for number in range(COUNT):
        own = group == number
        torch.testing.assert_close(share[own], logits[own].softmax(0))


@given(rows)
def test_maximum_is_that_of_each_group(drawn: list[tuple[int, float]]) -> None:
    group, first = _columns(drawn)
    values = torch.stack([first, -first], dim=1)
    largest = largest_of_groups(values, group, COUNT)
    assert largest.shape == (COUNT, 2)
    for number in range(COUNT):
        own = values[group == number]
        expected = own.amax(0) if len(own) else torch.zeros(2)
        assert torch.equal(largest[number], expected)


def test_values_and_gradients_are_those_of_pytorch_geometric() -> None:
    random = torch.Generator().manual_seed(0)
    group = torch.randint(COUNT, (30,), generator=random)
    values = torch.randn(30, 3, generator=random)
    weight = torch.randn(30, 3, generator=random)
    found = []
    for ours in (True, False):
        leaf = values.clone().requires_grad_()
        column = leaf[:, 0]
        if ours:
            share = softmax_in_groups(column, group, COUNT)
            largest = largest_of_groups(leaf, group, COUNT)
        else:
            share = softmax(column, group, num_nodes=COUNT)
            largest = scatter(leaf, group, dim_size=COUNT, reduce="max")
        ((share * weight[:, 0]).sum() + (largest * weight[:COUNT]).sum()).backward()
        assert leaf.grad is not None
        found.append((share.detach(), largest.detach(), leaf.grad))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
