"""How a model tells positions apart, measured on it: what is added, and what a distance does to a score."""

import torch
from torch import Tensor

from mtrain.inspection.model_picture import PositionView
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.transformer import Transformer

_POSITIONS = 128


def position_view(model: Transformer) -> PositionView:
    """Return what is to be drawn of a model's positions, as its source side has them."""
    weight = model.output.weight
    with torch.no_grad():
        zeros_1TD = torch.zeros(1, _POSITIONS, model.d_model, device=weight.device)
        added_TD: Tensor = model.source_embedding.positions(zeros_1TD)[0]
        attention = next(module for module in model.encoder.modules() if isinstance(module, MultiHeadAttention))
        return PositionView(added_TD.cpu().numpy(), _score_changes(attention).cpu().numpy())


def _score_changes(attention: MultiHeadAttention) -> Tensor:
    """Return, by head and by key position, how the score of two equal vectors of length 1 differs from the plain one.

    The query stands in the middle. Shapes: (H, T).
    """
    H, K = attention.heads, attention.query.out_features // attention.heads
    vectors_1HTK = attention.query.weight.new_full((1, H, _POSITIONS, K), K**-0.5)
    turned_1HTK = attention.positions.turn(vectors_1HTK)
    scores_HTS = (turned_1HTK @ turned_1HTK.transpose(2, 3))[0]
    bias_HTS = attention.positions.bias(0, _POSITIONS, _POSITIONS, scores_HTS)
    return (scores_HTS - 1 if bias_HTS is None else scores_HTS - 1 + bias_HTS)[:, _POSITIONS // 2]
