"""The first value of every parameter, decided in one place."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from mtrain.model.attention import MultiHeadAttention
from mtrain.model.embedding import OutputLayer, TokenEmbedding
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.positions import LearnedPositions, RelativeBias
from mtrain.model.transformer import Transformer


class Initialization(NamedTuple):
    """How matrices are drawn, the standard deviation of embeddings by d_model, and whether sublayers start at 0."""

    draw_matrix: Callable[[Tensor], Tensor]
    embedding_std: Callable[[int], float]
    sublayers_at_zero: bool = False


def _d_model_to_the_minus_half(d_model: int) -> float:
    """Give embeddings variance 1 after their scale, and logits variance 1: training then starts near ln V."""
    return float(d_model**-0.5)


INITIALIZATIONS = {
    # Glorot and Bengio 2010; embeddings as in tensor2tensor.
    "xavier": Initialization(nn.init.xavier_uniform_, _d_model_to_the_minus_half),
    # Radford et al. 2018 (GPT), section 4.1: everything from N(0, 0.02).
    "normal": Initialization(lambda weight: nn.init.normal_(weight, std=0.02), lambda _: 0.02),
    # After Zhang et al. 2019 (Fixup), section 3, and its form for Transformers, Huang et al. 2020 (T-Fixup): the last
    # matrix of each residual branch is 0, so that at first only the embeddings speak.
    "tfixup_like": Initialization(nn.init.xavier_uniform_, _d_model_to_the_minus_half, sublayers_at_zero=True),
}


def initialize(model: Transformer, how: Initialization) -> None:
    """Draw all parameters from PyTorch's global generator; biases start at 0, gains of norms at 1."""
    std = how.embedding_std(model.d_model)
    for module in model.modules():
        match module:
            case TokenEmbedding() | OutputLayer() | LearnedPositions() | RelativeBias():
                nn.init.normal_(module.weight, std=std)
            case nn.Linear():
                how.draw_matrix(module.weight)
        if isinstance(bias := getattr(module, "bias", None), nn.Parameter):
            nn.init.zeros_(bias)
    for module in model.modules():
        match module:
            case MultiHeadAttention():
                _draw_halves(module.key_value, how)
            case GatedFeedForward():
                _draw_halves(module.inner, how)
    if how.sublayers_at_zero:
        for matrix in last_matrices(model).values():
            nn.init.zeros_(matrix)


def last_matrices(model: nn.Module) -> dict[str, Tensor]:
    """Return by name the matrix of each sublayer that its output comes from."""
    last: dict[str, Tensor] = {}
    for name, module in model.named_modules():
        match module:
            case MultiHeadAttention():
                last[f"{name}.output.weight"] = module.output.weight
            case FeedForward() | GatedFeedForward():
                last[f"{name}.outer.weight"] = module.outer.weight
    return last


def _draw_halves(linear: nn.Linear, how: Initialization) -> None:
    """Draw two projections that share a matrix only for speed as what they are."""
    for half in linear.weight.data.chunk(2):
        how.draw_matrix(half)
