"""How the model learns where a token stands (paper section 3.5)."""

import math

import torch
from torch import Tensor, nn


def sinusoids(positions: int, d_model: int) -> Tensor:
    """Return PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i+1) = cos of the same.

    Shapes: (positions, d_model). Source: paper section 3.5.
    """
    frequencies = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angles = torch.arange(positions)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class SinusoidalPositions(nn.Module):
    """Adds the sinusoids to the embeddings; the table grows as far as a sentence needs, so there is no longest one.

    The table is no buffer of the module: several processes would exchange it, and theirs differ in length.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.table_TD = sinusoids(512, d_model)

    def forward(self, x_BTD: Tensor, first: int = 0) -> Tensor:
        """Add positions `first`, `first` + 1, … along the T dimension."""
        end = first + x_BTD.size(1)
        if end > self.table_TD.size(0):
            self.table_TD = sinusoids(2 * end, self.d_model)
        self.table_TD = self.table_TD.to(x_BTD.device)
        return x_BTD + self.table_TD[first:end]
