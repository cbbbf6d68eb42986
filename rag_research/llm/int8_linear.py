"""Linear layers in eight-bit integers, for CPUs whose integer products are the fast ones."""

from __future__ import annotations

import torch
from torch import nn

_LEVELS = 127.0


class Int8Linear(nn.Module):
    r"""A linear layer with int8 weights and activations, for inference.

    Weights get one scale for each output, activations one for each token, found as they come:
    :math:`y = s_x s_w (x_q W_q^T) + b`, the product in int32, all else in fp32.

    Args:
        linear: the layer to take over.

    Shapes:
        input ``[..., in_features]``, output ``[..., out_features]``, fp32.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        scale = weight.abs().amax(dim=1).clamp(min=1e-12) / _LEVELS
        self.weight = (weight / scale[:, None]).round().to(torch.int8)
        self.scale = scale
        self.bias = None if linear.bias is None else linear.bias.detach().float()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The approximate ``inputs @ weight.T + bias``."""
        rows = inputs.reshape(-1, inputs.shape[-1]).float()
        scale = rows.abs().amax(dim=1, keepdim=True).clamp_(min=1e-12).div_(_LEVELS)
        quantised = (rows / scale).round_().to(torch.int8)
        product = torch._int_mm(quantised, self.weight.t()).float()
        product.mul_(scale).mul_(self.scale)
        if self.bias is not None:
            product.add_(self.bias)
        return product.view(*inputs.shape[:-1], -1)
