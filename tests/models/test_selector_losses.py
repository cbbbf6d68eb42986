"""Losses of the path selector against values worked out by hand."""

import math

import pytest
import torch
from torch import tensor

from rag_research.models.selector_losses import (
    adversarial_bce_loss,
    full_chain_loss,
    gold_losses,
    listwise_loss,
    next_hop_loss,
)

# Graph 0: gold 0 and 1, others 2 and 3. Graph 1: nothing gold. Graph 2: one gold, one other.
LOGITS = tensor([2.0, 0.0, 1.0, -1.0, 3.0, 0.5, 0.5])
GOLD = tensor([1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
GRAPH = tensor([0, 0, 0, 0, 1, 2, 2])


def test_gold_items_compete_with_the_others_only() -> None:
    others = math.exp(1) + math.exp(-1)
    expected = [
        math.log(math.exp(2) + others) - 2,
        math.log(1 + others) - 0,
        math.log(2),
    ]
    assert gold_losses(LOGITS, GOLD, GRAPH).tolist() == pytest.approx(expected)
    first = (expected[0] + expected[1]) / 2
    assert listwise_loss(LOGITS, GOLD, GRAPH).item() == pytest.approx((first + math.log(2)) / 2)
    worst = full_chain_loss(LOGITS, GOLD, GRAPH).item()
    assert worst == pytest.approx((max(expected[:2]) + math.log(2)) / 2)


def test_other_gold_items_do_not_change_a_loss() -> None:
    moved = LOGITS.clone()
    moved[0] = 50.0
    assert gold_losses(moved, GOLD, GRAPH)[1] == gold_losses(LOGITS, GOLD, GRAPH)[1]


def test_a_graph_of_gold_only_costs_nothing_and_has_gradients() -> None:
    logits = tensor([1.0, -2.0, 0.0, 0.0], requires_grad=True)
    loss = listwise_loss(logits, tensor([1.0, 1.0, 1.0, 0.0]), tensor([0, 0, 1, 1]))
    assert loss.item() == pytest.approx(math.log(2) / 2)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == pytest.approx([0.0, 0.0, -0.25, 0.25])


def test_large_logits_stay_finite() -> None:
    logits = tensor([-500.0, 500.0], requires_grad=True)
    loss = listwise_loss(logits, tensor([1.0, 0.0]), tensor([0, 0]))
    loss.backward()
    assert loss.item() == pytest.approx(1000.0)
    assert logits.grad is not None and logits.grad.tolist() == pytest.approx([-1.0, 1.0])


def test_wrong_items_count_by_their_probability() -> None:
    logits = tensor([0.0, math.log(3.0), -math.log(3.0)])  # p = 1/2, 3/4, 1/4
    loss = adversarial_bce_loss(logits, tensor([1.0, 0.0, 0.0]), tensor([0, 0, 0]), 5.0)
    # Weights of the wrong ones: 3/4 and 1/4 over their mean 1/2.
    parts = 5 * math.log(2) + 1.5 * -math.log(1 / 4) + 0.5 * -math.log(3 / 4)
    assert loss.item() == pytest.approx(parts / 3)


def test_the_weights_of_wrong_items_have_no_gradient() -> None:
    logits = tensor([0.0, math.log(3.0), -math.log(3.0)], requires_grad=True)
    adversarial_bce_loss(logits, tensor([1.0, 0.0, 0.0]), tensor([0, 0, 0]), 5.0).backward()
    # d/dz of -log(1 - p) is p, of -log p it is p - 1.
    expected = [5 * -0.5 / 3, 1.5 * 0.75 / 3, 0.5 * 0.25 / 3]
    assert logits.grad is not None and logits.grad.tolist() == pytest.approx(expected)


def test_graphs_without_gold_count_in_no_loss() -> None:
    kept = GRAPH != 1
    for loss in (listwise_loss, full_chain_loss, adversarial_bce_loss):
        alone = loss(LOGITS[kept], GOLD[kept], GRAPH[kept])
        assert loss(LOGITS, GOLD, GRAPH).item() == pytest.approx(alone.item())
        nothing = tensor([1.0, 2.0], requires_grad=True)
        value = loss(nothing, torch.zeros(2), torch.zeros(2, dtype=torch.long))
        assert value.item() == 0.0


def test_next_hop_with_a_known_order() -> None:
    # 0 -> 1 -> 2 is the chain, 3 is not gold. Node 2 is the last: nothing is asked of it.
    edges = tensor([[0, 0, 0, 1, 1, 2], [1, 2, 3, 0, 2, 0]])
    probability = tensor([0.5, 0.3, 0.2, 0.75, 0.25, 1.0], requires_grad=True)
    loss = next_hop_loss(probability, edges, tensor([1.0, 1.0, 1.0, 0.0]), tensor([0, 1, 2, -1]))
    assert loss.item() == pytest.approx((-math.log(0.5) - math.log(0.25)) / 2, abs=1e-6)
    loss.backward()
    assert probability.grad is not None
    assert probability.grad.tolist() == pytest.approx([-1.0, 0, 0, 0, -2.0, 0], abs=1e-6)


def test_next_hop_without_an_order_takes_any_gold_node() -> None:
    edges = tensor([[0, 0, 1, 2], [1, 2, 3, 0]])
    loss = next_hop_loss(
        tensor([0.25, 0.5, 1.0, 0.5]),
        edges,
        tensor([1.0, 1.0, 1.0, 0.0]),
        tensor([-1, -1, -1, -1]),
    )
    # Node 0 sends 0.75 to gold, node 2 sends 0.5; node 1 has no edge to a gold node.
    assert loss.item() == pytest.approx((-math.log(0.75) - math.log(0.5)) / 2, abs=1e-6)


def test_next_hop_without_any_edge_between_gold_nodes_is_zero() -> None:
    loss = next_hop_loss(
        tensor([1.0], requires_grad=True),
        tensor([[0], [1]]),
        tensor([1.0, 0.0]),
        tensor([0, -1]),
    )
    assert loss.item() == 0.0 and loss.requires_grad
