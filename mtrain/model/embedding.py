"""Tokens to vectors on the way in, vectors to logits on the way out (paper section 3.4)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtrain.model.dropout import Dropout


class TokenEmbedding(nn.Module):
    """One side's tokens as vectors: `scaled` by sqrt(d_model) or not, with positions, and dropout (section 5.4)."""

    def __init__(self, weight_VD: nn.Parameter, scaled: bool, positions: nn.Module, dropout: float) -> None:
        super().__init__()
        self.weight = weight_VD
        self.positions = positions
        self.dropout = Dropout(dropout)
        self._scale = math.sqrt(weight_VD.size(1)) if scaled else 1.0

    def forward(self, tokens_BT: Tensor, first: int = 0) -> Tensor:
        """Return x_BTD of tokens that stand at positions `first`, `first` + 1, …"""
        x_BTD: Tensor = self.dropout(self.positions(F.embedding(tokens_BT, self.weight) * self._scale, first))
        return x_BTD


class OutputLayer(nn.Module):
    """The unnormalised log-probability of every piece; its matrix may be that of an embedding."""

    def __init__(self, weight_VD: nn.Parameter, biased: bool) -> None:
        super().__init__()
        self.weight = weight_VD
        self.bias = nn.Parameter(torch.empty(weight_VD.size(0))) if biased else None

    def forward(self, hidden: Tensor) -> Tensor:
        """Shapes: (…, D) to (…, V)."""
        return F.linear(hidden, self.weight, self.bias)
