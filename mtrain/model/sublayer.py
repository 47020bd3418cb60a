"""Where the norm stands around a sublayer: one object, so that encoder and decoder never ask."""

from collections.abc import Callable

from torch import Tensor, nn

from mtrain.model.dropout import Dropout

Sublayer = Callable[[Tensor], Tensor]


class PostNorm(nn.Module):
    """LayerNorm(x + Sublayer(x)), as in the paper (sections 3.1 and 5.4)."""

    normalises_output = True

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        """Apply the sublayer, add, then normalise."""
        out_BTD: Tensor = self.norm(x_BTD + self.dropout(sublayer(x_BTD)))
        return out_BTD


class PreNorm(nn.Module):
    """x + Sublayer(LayerNorm(x)): trains without a delicate warm-up (Xiong et al. 2020).

    The sum is never normalised on its way, so that a stack of these needs one more norm at its end.
    """

    normalises_output = False

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x_BTD: Tensor, sublayer: Sublayer) -> Tensor:
        """Normalise, apply the sublayer, then add."""
        out_BTD: Tensor = x_BTD + self.dropout(sublayer(self.norm(x_BTD)))
        return out_BTD


Residual = PreNorm | PostNorm
RESIDUALS: dict[str, type[PreNorm] | type[PostNorm]] = {"pre": PreNorm, "post": PostNorm}
