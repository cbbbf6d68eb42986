"""How fast a random walk on a symmetric graph forgets where it started."""

from __future__ import annotations

import torch
from torch import Tensor

_STEPS = 16


def second_eigenvalue(matrix: Tensor, degree: Tensor) -> float:
    r"""Second largest absolute eigenvalue of the walk on a symmetric weighted graph.

    Lanczos iteration on :math:`S = D^{-1/2} W D^{-1/2}` with the known eigenvector
    :math:`\sqrt{d}` of the eigenvalue 1 taken out. The estimate never exceeds the true value by
    more than rounding; graphs of several components give 1.

    Args:
        matrix: transposed transition probabilities, sparse CSR, [N, N].
        degree: weighted degrees, [N].

    Returns:
        A number in [0, 1].
    """
    root = degree.to(matrix.dtype).sqrt()
    if not bool((root > 0).any()):
        return 0.0
    inverse = torch.where(root > 0, 1 / root, 0)
    basis = [root / root.norm()]
    # A fixed start: the same graph gives the same iterations, whatever was drawn before.
    generator = torch.Generator().manual_seed(0)
    start = torch.rand(len(root), generator=generator, dtype=torch.float64) - 0.5
    vector = start.to(root) * (root > 0)
    diagonal: list[Tensor] = []
    beside: list[Tensor] = []
    for _ in range(min(_STEPS, len(root))):
        for known in basis * 2:  # twice is enough to stay orthogonal in single precision
            vector = vector - known.dot(vector) * known
        beside.append(vector.norm())
        vector = vector / beside[-1].clamp_min(torch.finfo(root.dtype).tiny)
        basis.append(vector)
        image = inverse * torch.mv(matrix, root * vector)
        diagonal.append(image.dot(vector))
        vector = image
    tridiagonal = torch.diag(torch.stack(diagonal).double())
    if len(diagonal) > 1:
        off = torch.stack(beside[1:]).double()
        # A vanished vector ends the space: what follows is rounding.
        off = off * (torch.cumprod((off > 1e-5).double(), 0))
        tridiagonal = tridiagonal + torch.diag(off, 1) + torch.diag(off, -1)
    values = torch.linalg.eigvalsh(tridiagonal.cpu()).abs()
    return min(1.0, float(values.max()))
