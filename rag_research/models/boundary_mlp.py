"""The boundary network: features of a token pair -> logit that a span ends between them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


class BoundaryMLP(nn.Module):
    """LayerNorm, then linear layers with GELU; dropout after the first.

    ``logit = W3 gelu(W2 drop(gelu(W1 norm((x - mean) / scale))))``; mean and scale of the
    training features are buffers, so a loaded network takes raw features.

    Args:
        inputs: F, features a row.
        hidden: sizes of the hidden layers.
        dropout: after the first hidden layer; also on the inputs with ``input_dropout``.
        input_dropout: share of inputs zeroed while training (ours; 0 in the paper's spec).

    Shapes:
        [..., F] -> [...]

    Source: ThreadRAG, Semantic Topology Mapper; the sizes are ours.
    """

    mean: Tensor
    scale: Tensor

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int] = (256, 64),
        dropout: float = 0.1,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        import torch

        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        layers: list[nn.Module] = [nn.LayerNorm(inputs), nn.Dropout(input_dropout)]
        width = inputs
        for number, size in enumerate(hidden):
            layers += [nn.Linear(width, size), nn.GELU()]
            if number == 0:
                layers.append(nn.Dropout(dropout))
            width = size
        layers.append(nn.Linear(width, 1))
        self.layers = nn.Sequential(*layers)

    def standardise(self, mean: Tensor, scale: Tensor) -> None:
        """Set what is subtracted from inputs and what they are divided by. [F], [F]"""
        self.mean.copy_(mean)
        self.scale.copy_(scale)

    def forward(self, features: Tensor) -> Tensor:
        """Logits. [..., F] -> [...]"""
        logits: Tensor = self.layers((features - self.mean) / self.scale).squeeze(-1)
        return logits
