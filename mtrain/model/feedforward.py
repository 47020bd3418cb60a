"""The position-wise feed-forward sublayer (paper section 3.3)."""

import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.model.dropout import Dropout


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2 at every position (eq. 2), with dropout on the inner activation."""

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Shapes: (B, T, D) in and out."""
        out_BTD: Tensor = self.outer(self.dropout(F.relu(self.inner(x_BTD))))
        return out_BTD
