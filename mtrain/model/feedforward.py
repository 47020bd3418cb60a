"""The position-wise feed-forward sublayer (paper section 3.3)."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.model.dropout import Dropout


class FeedForward(nn.Module):
    """activation(x W1 + b1) W2 + b2 at every position (eq. 2, where it is relu), with dropout on the inner values."""

    def __init__(self, d_model: int, d_ff: int, dropout: float, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)
        self._activation = activation

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Shapes: (B, T, D) in and out."""
        out_BTD: Tensor = self.outer(self.dropout(self._activation(self.inner(x_BTD))))
        return out_BTD


class GatedFeedForward(nn.Module):
    """(swish(x W) * x V) W2, without biases, its inner width two thirds of `d_ff` for about as many parameters.

    Source: Shazeer 2020, "GLU Variants Improve Transformer", eq. 6.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        width = gated_width(d_ff)
        self.inner = nn.Linear(d_model, 2 * width, bias=False)
        self.outer = nn.Linear(width, d_model, bias=False)
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Shapes: (B, T, D) in and out."""
        gate_BTF, value_BTF = self.inner(x_BTD).chunk(2, dim=-1)
        out_BTD: Tensor = self.outer(self.dropout(F.silu(gate_BTF) * value_BTF))
        return out_BTD


def gated_width(d_ff: int) -> int:
    """Return the multiple of 8 that is nearest to two thirds of `d_ff`: three such matrices weigh as much as two."""
    return max(8, 8 * round(d_ff / 12))


FEED_FORWARDS: dict[str, Callable[[int, int, float], FeedForward | GatedFeedForward]] = {
    "relu": partial(FeedForward, activation=F.relu),
    "gelu": partial(FeedForward, activation=F.gelu),  # Hendrycks and Gimpel 2016
    "swiglu": GatedFeedForward,
}
