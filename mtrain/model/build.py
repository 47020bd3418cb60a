"""Settings to model: the only place that reads the names in the `model` section."""

from torch import nn

from mtrain.config.schema import ModelConfig
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.decoder import Decoder, DecoderLayer
from mtrain.model.encoder import Encoder, EncoderLayer
from mtrain.model.feedforward import FeedForward
from mtrain.model.initialize import initialize
from mtrain.model.sublayer import RESIDUALS, Residual
from mtrain.model.transformer import Transformer


def build_model(config: ModelConfig, vocabulary_size: int) -> Transformer:
    """Return a freshly initialised model, drawn from PyTorch's global generator."""
    source = nn.Embedding(vocabulary_size, config.d_model)
    shared = config.tied == "three_way"
    model = Transformer(
        source_embedding=source,
        target_embedding=source if shared else nn.Embedding(vocabulary_size, config.d_model),
        output=source if shared else nn.Embedding(vocabulary_size, config.d_model),
        encoder=Encoder([_encoder_layer(config) for _ in range(config.encoder_layers)], _final_norm(config)),
        decoder=Decoder([_decoder_layer(config) for _ in range(config.decoder_layers)], _final_norm(config)),
        dropout=config.dropout,
    )
    initialize(model)
    return model


def _encoder_layer(config: ModelConfig) -> EncoderLayer:
    return EncoderLayer(_attention(config), _feed_forward(config), (_residual(config), _residual(config)))


def _decoder_layer(config: ModelConfig) -> DecoderLayer:
    residuals = (_residual(config), _residual(config), _residual(config))
    return DecoderLayer(_attention(config), _attention(config), _feed_forward(config), residuals)


def _attention(config: ModelConfig) -> MultiHeadAttention:
    return MultiHeadAttention(config.d_model, config.heads, config.attention_dropout)


def _feed_forward(config: ModelConfig) -> FeedForward:
    return FeedForward(config.d_model, config.d_ff, config.dropout)


def _residual(config: ModelConfig) -> Residual:
    return RESIDUALS[config.norm_position](config.d_model, config.dropout)


def _final_norm(config: ModelConfig) -> nn.Module:
    if RESIDUALS[config.norm_position].normalises_output:
        return nn.Identity()
    return nn.LayerNorm(config.d_model)
