"""The boundary network and the losses, against values worked out by hand."""

import math

import pytest
import torch

from rag_research.models.boundary_mlp import BoundaryMLP
from rag_research.models.losses import balancing_weight, focal_loss, weighted_bce


def test_layers_are_those_of_the_spec() -> None:
    network = BoundaryMLP(10)
    kinds = [type(layer).__name__ for layer in network.layers]
    assert kinds == [
        "LayerNorm",
        "Dropout",
        "Linear",
        "GELU",
        "Dropout",
        "Linear",
        "GELU",
        "Linear",
    ]
    shapes = [
        tuple(p.shape) for n, p in network.named_parameters() if "weight" in n and p.ndim == 2
    ]
    assert shapes == [(256, 10), (64, 256), (1, 64)]
    assert [layer.p for layer in network.layers if isinstance(layer, torch.nn.Dropout)] == [
        0.0,
        0.1,
    ]


def test_shapes_and_sizes() -> None:
    network = BoundaryMLP(6, (8, 4, 3), dropout=0.5).eval()
    assert network(torch.zeros(6)).shape == ()
    assert network(torch.zeros(5, 7, 6)).shape == (5, 7)


def test_standardisation_is_part_of_the_weights() -> None:
    torch.manual_seed(0)
    network = BoundaryMLP(3).eval()
    rows = torch.randn(4, 3)
    before = network(rows)
    network.standardise(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 4.0]))
    moved = rows * torch.tensor([2.0, 2.0, 4.0]) + torch.tensor([1.0, 2.0, 3.0])
    assert torch.allclose(network(moved), before, atol=1e-5)
    assert {"mean", "scale"} <= set(network.state_dict())


def test_balancing_weight() -> None:
    assert balancing_weight(torch.tensor([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])) == 3.0
    assert balancing_weight(torch.zeros(4)) == 1.0


def test_weighted_bce_by_hand() -> None:
    logits = torch.tensor([0.0, math.log(3)])  # p = 1/2, 3/4
    targets = torch.tensor([1.0, 0.0])
    assert weighted_bce(logits, targets, 2.0).item() == pytest.approx(
        (2 * math.log(2) + math.log(4)) / 2
    )
    # Smoothing .2: targets .9 and .1.
    second = -0.1 * math.log(0.75) - 0.9 * math.log(0.25)
    assert weighted_bce(logits, targets, 1.0, 0.2).item() == pytest.approx(
        (math.log(2) + second) / 2
    )
    assert weighted_bce(logits, targets, reduction="none").shape == (2,)


def test_focal_loss_by_hand_and_its_limit() -> None:
    logits = torch.tensor([0.0, math.log(3)])
    targets = torch.tensor([1.0, 0.0])
    expected = (0.25 * math.log(2) + 0.5625 * math.log(4)) / 2
    assert focal_loss(logits, targets).item() == pytest.approx(expected)
    assert focal_loss(logits, targets, 0.0, 2.0).item() == pytest.approx(
        weighted_bce(logits, targets, 2.0).item()
    )


def test_soft_targets_are_reached() -> None:
    """The loss of a soft target is least at its own probability."""
    at = torch.logit(torch.tensor([0.3]))
    for loss in (weighted_bce, focal_loss):
        best = loss(at, torch.tensor([0.3]))
        assert best <= loss(at + 0.3, torch.tensor([0.3]))
        assert best <= loss(at - 0.3, torch.tensor([0.3]))
