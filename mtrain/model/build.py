"""Settings to model: the only place that reads the names in the `model` section."""

from collections.abc import Callable

import torch
from torch import nn

from mtrain.config.schema import ModelConfig
from mtrain.model.attention import KERNELS, MultiHeadAttention
from mtrain.model.decoder import Decoder, DecoderLayer
from mtrain.model.embedding import OutputLayer, TokenEmbedding
from mtrain.model.encoder import Encoder, EncoderLayer
from mtrain.model.feedforward import FEED_FORWARDS, FeedForward, GatedFeedForward
from mtrain.model.initialize import INITIALIZATIONS, initialize
from mtrain.model.norms import NORMS
from mtrain.model.positions import (
    AlibiPositions,
    BlindAttention,
    LearnedPositions,
    NoPositions,
    RelativeBias,
    RotaryPositions,
    SinusoidalPositions,
)
from mtrain.model.sublayer import RESIDUALS, Residual
from mtrain.model.transformer import Transformer

# Where a kind of positions comes in: beside the embeddings, or inside each self-attention; "none" nowhere.
BESIDE_EMBEDDINGS: dict[str, Callable[[ModelConfig], nn.Module]] = {
    "sinusoidal": lambda config: SinusoidalPositions(config.d_model),
    "learned": lambda config: LearnedPositions(config.max_positions, config.d_model),
}
INSIDE_ATTENTION: dict[str, Callable[[ModelConfig], BlindAttention]] = {
    "rotary": lambda _: RotaryPositions(),
    "alibi": lambda config: AlibiPositions(config.heads),
    "relative": lambda config: RelativeBias(config.heads),
}


def build_model(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Transformer:
    """Return a freshly initialised model, drawn from PyTorch's global generator; vocabularies are numbers of pieces."""
    source_VD = nn.Parameter(torch.empty(source_vocabulary, config.d_model))
    new_target_VD = nn.Parameter(torch.empty(target_vocabulary, config.d_model))
    target_VD = source_VD if config.tied == "three_way" else new_target_VD
    output_VD = target_VD if config.tied != "none" else nn.Parameter(torch.empty_like(target_VD))
    model = Transformer(
        source_embedding=_embedding(config, source_VD),
        target_embedding=_embedding(config, target_VD),
        encoder=Encoder([_encoder_layer(config) for _ in range(config.encoder_layers)], _final_norm(config)),
        decoder=Decoder([_decoder_layer(config) for _ in range(config.decoder_layers)], _final_norm(config)),
        output=OutputLayer(output_VD, config.output_bias),
    )
    initialize(model, INITIALIZATIONS[config.initialization])
    return model


def _embedding(config: ModelConfig, weight_VD: nn.Parameter) -> TokenEmbedding:
    make = BESIDE_EMBEDDINGS.get(config.positions)
    positions = make(config) if make else NoPositions()
    return TokenEmbedding(weight_VD, config.scale_embeddings, positions, _dropout(config, config.embedding_dropout))


def _encoder_layer(config: ModelConfig) -> EncoderLayer:
    residuals = (_residual(config), _residual(config))
    return EncoderLayer(_self_attention(config), _feed_forward(config), residuals)


def _decoder_layer(config: ModelConfig) -> DecoderLayer:
    residuals = (_residual(config), _residual(config), _residual(config))
    return DecoderLayer(_self_attention(config), _attention(config, BlindAttention()), _feed_forward(config), residuals)


def _self_attention(config: ModelConfig) -> MultiHeadAttention:
    make = INSIDE_ATTENTION.get(config.positions)
    return _attention(config, make(config) if make else BlindAttention())


def _attention(config: ModelConfig, positions: BlindAttention) -> MultiHeadAttention:
    head_width = config.head_width or config.d_model // config.heads
    kernel = KERNELS[config.attention]
    return MultiHeadAttention(config.d_model, config.heads, head_width, config.attention_dropout, positions, kernel)


def _feed_forward(config: ModelConfig) -> FeedForward | GatedFeedForward:
    dropout = _dropout(config, config.feed_forward_dropout)
    return FEED_FORWARDS[config.activation](config.d_model, config.d_ff, dropout)


def _residual(config: ModelConfig) -> Residual:
    norm = NORMS[config.norm](config.d_model)
    return RESIDUALS[config.norm_position](norm, _dropout(config, config.residual_dropout))


def _final_norm(config: ModelConfig) -> nn.Module:
    if RESIDUALS[config.norm_position].normalises_output:
        return nn.Identity()
    return NORMS[config.norm](config.d_model)


def _dropout(config: ModelConfig, at_this_place: float) -> float:
    return config.dropout if at_this_place < 0 else at_this_place
