import pytest
import torch
from torch import Tensor

from rag_research.errors import DataError
from rag_research.graph.pagerank import personalized_pagerank
from rag_research.graph.transition import Transition
from rag_research.graph.unrolled import diffuse, unrolled_pagerank


def _graph(size: int, edges: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(0, size, (2, edges), generator=generator)
    return index, torch.rand(edges, generator=generator, dtype=torch.float64) + 0.1


def test_many_steps_equal_the_converged_result() -> None:
    index, weight = _graph(40, 90)  # some nodes dangle
    seeds = torch.rand(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    transition = Transition.from_edges(index, weight, 40, dtype=torch.float64)
    assert transition.dangling
    for restart in (0.5, 0.15):
        expected = personalized_pagerank(transition, seeds, restart, 1e-12)
        unrolled = unrolled_pagerank(index, weight, seeds, restart, steps=200)
        torch.testing.assert_close(unrolled, expected, atol=1e-10, rtol=0)


def test_sixteen_steps_are_as_close_as_the_docstring_says() -> None:
    index, weight = _graph(40, 200)
    seeds = torch.full((40,), 1 / 40, dtype=torch.float64)
    exact = unrolled_pagerank(index, weight, seeds, 0.5, steps=100)
    error = (unrolled_pagerank(index, weight, seeds, 0.5, steps=16) - exact).abs().sum()
    assert float(error) <= 2 * 0.5**16


def test_one_step_by_hand() -> None:
    index = torch.tensor([[0, 0], [1, 2]])
    energy = unrolled_pagerank(
        index, torch.tensor([1.0, 3.0]), torch.tensor([1.0, 0.0, 0.0]), restart=0.2, steps=1
    )
    torch.testing.assert_close(energy, torch.tensor([0.2, 0.2, 0.6]))


def test_no_steps_give_the_seeds_and_no_seeds_give_nothing() -> None:
    index, weight = _graph(5, 8)
    seeds = torch.tensor([[1.0, 0.0]] * 5, dtype=torch.float64)
    assert torch.equal(unrolled_pagerank(index, weight, seeds, steps=0), seeds)
    energy = unrolled_pagerank(index, weight, seeds, steps=3)
    assert energy[:, 1].tolist() == [0.0] * 5
    assert float(energy[:, 0].sum()) == pytest.approx(5.0)


def test_mass_that_a_learned_stop_holds_back_returns_to_the_seeds() -> None:
    # From 0 half of the energy stops: 1 gets (1 - a)/2, the seed the rest.
    energy = diffuse(
        torch.tensor([[0], [1]]), torch.tensor([0.5]), torch.tensor([1.0, 0.0]), 0.5, steps=1
    )
    torch.testing.assert_close(energy, torch.tensor([0.75, 0.25]))


@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_to_weights_seeds_and_restart(steps: int) -> None:
    index, weight = _graph(7, 12)  # with a dangling node
    weight.requires_grad_()
    seeds = torch.rand(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    seeds.requires_grad_()
    restart = torch.tensor([0.5, 0.3], dtype=torch.float64, requires_grad=True)

    def run(weight: Tensor, seeds: Tensor, restart: Tensor) -> Tensor:
        return unrolled_pagerank(index, weight, seeds, restart, steps)

    assert torch.autograd.gradcheck(run, (weight, seeds, restart))


def test_gradients_stay_finite_at_zero_weights() -> None:
    index = torch.tensor([[0, 1], [1, 2]])
    weight = torch.tensor([1.0, 0.0], requires_grad=True)
    energy = unrolled_pagerank(index, weight, torch.tensor([1.0, 0.0, 0.0]), steps=4)
    (gradient,) = torch.autograd.grad(energy[2], weight)
    assert bool(torch.isfinite(gradient).all())


def test_descent_learns_which_edge_leads_to_the_target() -> None:
    index = torch.tensor([[0, 0], [1, 2]])
    logits = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([logits], lr=5.0)
    for _ in range(50):
        optimizer.zero_grad()
        energy = unrolled_pagerank(index, logits.exp(), torch.tensor([1.0, 0.0, 0.0]), steps=4)
        (-energy[2].log()).backward()
        optimizer.step()
    assert float(logits.detach().softmax(0)[1]) > 0.9


def test_shapes_must_fit() -> None:
    with pytest.raises(DataError, match=r"expected \[2, E\] and \[E\]"):
        diffuse(torch.zeros(2, 3, dtype=torch.int64), torch.ones(4), torch.ones(2))
