"""Personalized PageRank of many queries at once, as sparse tensor operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from rag_research.errors import ConfigError, DataError
from rag_research.graph.column_sums import ColumnSums
from rag_research.graph.transition import Transition

Method = Literal["auto", "power", "chebyshev"]

# Queries from which estimating the spectrum of a graph, once, pays for itself.
_BATCH_FOR_SPECTRUM = 16

# A guess with room: the benchmark's graphs of 50 and 100 spans have at most 0.60 and 0.64. Where it
# is larger, as on a long path, there are more steps; knowing it costs more than it saves.
_SECOND_EIGENVALUE_OF_BLOCKS = 0.7

# Below it the walk hardly returns: the number of steps, about 1 / restart, has no end in practice.
_LEAST_RESTART = 1e-6


@torch.no_grad()  # type: ignore[untyped-decorator]
def personalized_pagerank(
    transition: Transition | Tensor,
    seeds: Tensor,
    restart: float = 0.5,
    tol: float = 1e-6,
    *,
    method: Method = "auto",
    tile: int | None = None,
    blocks: Tensor | None = None,
) -> Tensor:
    r"""Stationary energy of a walk that returns to its seeds.

    .. math:: e = \alpha s + (1 - \alpha) P^\top e

    with `P` the row-normalised weights; what reaches a node without outgoing weight returns to `s`.
    As `e` is then proportional to the walk that loses that mass, one normalisation at the end
    takes the place of a correction in every step.

    Power iteration is accelerated by Chebyshev's recurrence where the graph is symmetric. On a CPU
    the iteration stops when the residual certifies the tolerance, tested now and then; on an
    accelerator the number of steps is fixed beforehand, so nothing waits for the device.
    Not differentiable: see :func:`rag_research.graph.unrolled.unrolled_pagerank`.

    Args:
        transition: the prepared graph, or a tensor of non-negative weights (prepared for this call
            only, which costs more than a query).
        seeds: non-negative; a column of zeros gives zeros. The energy of a column sums to the
            column's sum.
        restart: probability of returning, 1e-6 to 1; igraph's `damping` is `1 - restart`.
        tol: bound on the L1 error of a column relative to its sum, before rounding (about 2e-7 in
            float32).
        method: "auto" takes "chebyshev" for symmetric weights, else "power".
        tile: queries multiplied at once. Default: what fits the cache; all on an accelerator.
        blocks: block of each node, [N], non-decreasing, for block-diagonal batches: sums and
            tolerance are then those of each block.

    Shapes:
        transition [N, N], seeds [N, B] or [N] -> [N, B] or [N], in the transition's precision.

    Raises:
        ConfigError: restart, tol, method or tile out of range.
        DataError: seeds of the wrong shape, negative or not a number.

    Source: Haveliwala 2002; Chebyshev semi-iteration after Golub & Varga 1961.
    """
    if isinstance(transition, Tensor):
        transition = Transition.from_sparse(transition)
    return stationary_energy(transition, seeds, restart, tol, method, tile, ColumnSums(blocks))


@torch.no_grad()  # type: ignore[untyped-decorator]
def stationary_energy(
    transition: Transition,
    seeds: Tensor,
    restart: float,
    tol: float,
    method: Method,
    tile: int | None,
    total: ColumnSums,
) -> Tensor:
    """:func:`personalized_pagerank` with the sums of its blocks prepared."""
    _check(transition, seeds, restart, tol, method, tile)
    columns = seeds.detach().to(transition.device, transition.dtype)
    columns = columns.unsqueeze(1) if seeds.dim() == 1 else columns
    if restart == 1.0 or columns.numel() == 0:
        return columns.reshape(seeds.shape).clone()
    plan = _plan(transition, restart, tol, method, columns.shape[1], total.blocks)

    def solve(seed: Tensor) -> Tensor:
        sums = total(seed)
        excess = None
        if transition.device.type == "cpu":
            limit = 0.9 * tol * restart / (1 - restart)  # a tenth is left to rounding
            excess = _certificate(limit, sums, transition.dangling, total)
        walk = _iterate(transition.matrix, seed, restart, plan, excess)
        return total.rescale(walk.clamp_(min=0), sums)  # a step may fall below 0 by a bit

    if columns.shape[1] == 1:  # as a vector: the matrix-vector kernel is the faster one there
        return solve(columns.squeeze(1).contiguous()).reshape(seeds.shape)
    energy = torch.empty_like(columns, memory_format=torch.contiguous_format)
    width = tile or _tile(transition, columns.shape[1])
    parts = -(-columns.shape[1] // width)
    for source, out in zip(
        columns.tensor_split(parts, 1), energy.tensor_split(parts, 1), strict=True
    ):
        seed = source.squeeze(1) if source.shape[1] == 1 else source
        out.copy_(solve(seed.contiguous()).reshape(out.shape))
    return energy


def _check(
    transition: Transition,
    seeds: Tensor,
    restart: float,
    tol: float,
    method: str,
    tile: int | None,
) -> None:
    if not _LEAST_RESTART <= restart <= 1:
        raise ConfigError(
            f"restart: got {restart}, expected a probability from {_LEAST_RESTART} to 1"
        )
    if not tol > 0:
        raise ConfigError(f"tol: got {tol}, expected a number above 0")
    if method not in ("auto", "power", "chebyshev"):
        raise ConfigError(f"method: got {method!r}, expected 'auto', 'power' or 'chebyshev'")
    if method == "chebyshev" and not transition.symmetric:
        raise ConfigError("method: 'chebyshev' needs symmetric weights; use 'power' or 'auto'")
    if tile is not None and tile < 1:
        raise ConfigError(f"tile: got {tile}, expected at least 1")
    if seeds.dim() not in (1, 2) or seeds.shape[0] != transition.num_nodes:
        raise DataError(
            f"seeds: got shape {tuple(seeds.shape)}, expected [{transition.num_nodes}] or "
            f"[{transition.num_nodes}, B]: one row a node"
        )
    if seeds.numel():
        low, high = (float(bound) for bound in torch.aminmax(seeds.detach()))
        if not (low >= 0 and high < math.inf):  # a NaN makes both comparisons false
            raise DataError(f"seeds: got values {low} to {high}, expected finite, >= 0")


class _Plan(NamedTuple):
    """How far to iterate.

    Attributes:
        steps: reach the tolerance for sure.
        first: before it no test of convergence is worth its time.
        rate: by which a step is expected to shrink the error.
        radius: of the spectrum to suppress; 0 is power iteration.
    """

    steps: int
    first: int
    rate: float
    radius: float


def _plan(
    transition: Transition, restart: float, tol: float, method: Method, batch: int, blocks: bool
) -> _Plan:
    """A power step shrinks the L1 error by 1 - restart. Chebyshev polynomials shrink the error in
    the norm weighted by 1 / degree, which bounds L1 up to `spread`.
    """
    target = min(tol * (restart / 2 if transition.dangling else 1.0), 1.0)
    damping = 1 - restart
    power = math.ceil(math.log(target / 2) / math.log(damping))
    if method == "power" or not transition.symmetric:
        return _Plan(power, max(2, power // 4), damping / 2, 0.0)
    gain = math.acosh(1 / damping)
    chebyshev = math.ceil(math.acosh(2 * transition.spread / target) / gain)
    if transition.device.type == "cpu":
        # The residual decides, so the radius may be an estimate and narrower.
        second = _SECOND_EIGENVALUE_OF_BLOCKS if blocks else 1.0
        if batch >= _BATCH_FOR_SPECTRUM:
            second = transition.second_eigenvalue
        radius = damping * max(second, 1e-3)
        speed = math.acosh(1 / radius)
        # Of an eigenvalue outside the radius, at most `damping`, the polynomials grow.
        surely = math.log(2 * transition.spread / target) / (speed - math.acosh(damping / radius))
        likely = int(math.acosh(1 / target) / speed) + (2 if blocks else 0)  # the slowest decides
        return _Plan(max(power, math.ceil(surely)), max(2, likely), math.exp(-speed), radius)
    if method == "auto" and power <= chebyshev:
        return _Plan(power, power, damping, 0.0)
    return _Plan(chebyshev, chebyshev, damping, damping)


def _tile(transition: Transition, batch: int) -> int:
    """Queries at once: wide enough to reuse each edge, narrow enough for the cache."""
    if transition.device.type != "cpu":
        return batch
    return 32 if transition.num_nodes <= 20_000 else 16


def _iterate(
    matrix: Tensor,
    seed: Tensor,
    restart: float,
    plan: _Plan,
    excess: Callable[[Tensor, Tensor], float] | None,
) -> Tensor:
    multiply: Callable[..., Tensor] = torch.addmv if seed.dim() == 1 else torch.addmm
    radius, omega, test = plan.radius, 1.0, plan.first
    walk, following = seed.clone(), torch.empty_like(seed)
    before = seed.clone() if radius else seed
    for step in range(1, plan.steps + 1):
        multiply(seed, matrix, walk, beta=restart, alpha=1 - restart, out=following)
        if excess and step >= test:
            ratio = excess(walk, following)
            if ratio <= 1:
                return following
            # A test costs about half a step, so the next is where success is likely.
            test = step + math.ceil(math.log(ratio) / -math.log(plan.rate))
        if radius:
            before.lerp_(following, omega)
            before, walk = walk, before
            omega = 1 / (1 - radius**2 * (0.5 if step == 1 else omega / 4))
        else:
            walk, following = following, walk
    return walk


def _certificate(
    limit: float, sums: Tensor, dangling: bool, total: ColumnSums
) -> Callable[[Tensor, Tensor], float]:
    """How many times too far one plain step moved for the L1 error to be within the tolerance.

    A step is a contraction by 1 - restart in L1: if it moves a vector by delta, the result is
    within (1 - restart) / restart * delta of the fixed point. Where mass was lost at dangling
    nodes, the normalisation divides the error by what is left and adds the error of the sum.
    """
    floor = torch.finfo(sums.dtype).tiny  # columns without seeds do not move
    whole = sums.clamp(min=floor)

    def excess(walk: Tensor, following: Tensor) -> float:
        moved = total.distance(following, walk)
        if not dangling:
            return float((moved / whole).max()) / limit
        left = total(following)
        moved = moved + torch.minimum(moved, (sums - left).clamp_(min=0))
        return float((moved / left.clamp(min=floor)).max()) / limit

    return excess
