"""CTranslate2: a quick engine for CPUs and GPUs, in a file of weights and one of its vocabulary."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mtrain.config.schema import DecodingConfig, ModelConfig
from mtrain.export.target import Runtime, Said, Target, output_bias, position_table, projections, refuse
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.bundle import Bundle
from mtrain.model.embedding import TokenEmbedding
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.sublayer import Residual
from mtrain.tokenizer import BOS, EOS, UNK, save_tokenizers

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec

_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swiglu": "SWISH"}
_INSIDE_ATTENTION = {
    "alibi": "its encoder knows no linear biases",
    "relative": "its layers share one learned bias, mtrain's have one each",
}


def _refuse(bundle: Bundle) -> None:
    positions = bundle.model_config.positions
    if positions in _INSIDE_ATTENTION:
        raise refuse(TARGET.title, "positions", positions, _INSIDE_ATTENTION[positions])


def _write(bundle: Bundle, _: DecodingConfig, quantization: str, folder: Path) -> None:
    spec = _empty_spec(bundle.model_config)
    with torch.no_grad():
        _fill(spec, bundle)
    source, target = bundle.tokenizers["source"], bundle.tokenizers["target"]
    spec.register_source_vocabulary(source.all_pieces())
    spec.register_target_vocabulary(target.all_pieces())
    bos, eos, unk = target.pieces((BOS, EOS, UNK))
    spec.config.add_source_eos = True
    spec.config.bos_token = spec.config.decoder_start_token = bos
    spec.config.eos_token, spec.config.unk_token = eos, unk
    spec.config.layer_norm_epsilon = _epsilon(bundle.model.encoder)
    spec.validate()
    spec.optimize(quantization=quantization or None)
    spec.save(str(folder))
    save_tokenizers(bundle.tokenizers, folder)


def _empty_spec(config: ModelConfig) -> "TransformerSpec":
    from ctranslate2.specs import Activation, TransformerSpec  # noqa: PLC0415  optional
    from ctranslate2.specs.transformer_spec import (  # noqa: PLC0415
        TransformerDecoderSpec,
        TransformerEncoderSpec,
    )

    head_width = config.head_width or config.d_model // config.heads
    shape: dict[str, Any] = {
        "num_heads": config.heads,
        "pre_norm": config.norm_position == "pre",
        "activation": Activation[_ACTIVATIONS[config.activation]],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm == "rmsnorm",
        "head_dim": head_width,
    }
    if config.positions == "rotary":
        shape |= {"rotary_dim": head_width, "rotary_interleave": False}
    encoder = TransformerEncoderSpec(config.encoder_layers, **shape)
    return TransformerSpec(encoder, TransformerDecoderSpec(config.decoder_layers, **shape))


def _fill(spec: "TransformerSpec", bundle: Bundle) -> None:
    model = bundle.model
    _set_embedding(spec.encoder, spec.encoder.embeddings[0], model.source_embedding, bundle.model_config)
    _set_embedding(spec.decoder, spec.decoder.embeddings, model.target_embedding, bundle.model_config)
    for part, side in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        if part.pre_norm:
            _set_norm(part.layer_norm, side.final_norm)
    for layer, encoding in zip(spec.encoder.layer, model.encoder.stack, strict=True):
        _set_self_attention(layer.self_attention, encoding.attention, encoding.attention_residual)
        _set_feed_forward(layer.ffn, encoding.feed_forward, encoding.feed_forward_residual)
    for layer, decoding in zip(spec.decoder.layer, model.decoder.stack, strict=True):
        _set_self_attention(layer.self_attention, decoding.self_attention, decoding.self_residual)
        _set_cross_attention(layer.attention, decoding.cross_attention, decoding.cross_residual)
        _set_feed_forward(layer.ffn, decoding.feed_forward, decoding.feed_forward_residual)
    spec.decoder.projection.weight = _array(model.output.weight)
    spec.decoder.projection.bias = _array(output_bias(model))


def _set_embedding(part: Any, embeddings: Any, own: TokenEmbedding, config: ModelConfig) -> None:
    embeddings.weight = _array(own.weight)
    part.scale_embeddings = config.scale_embeddings
    if hasattr(part, "position_encodings"):
        part.position_encodings.encodings = _array(position_table(own))


def _set_self_attention(spec: Any, attention: MultiHeadAttention, residual: Residual) -> None:
    found = projections(attention)
    _set_linear(spec.linear[0], [found["query"], found["key"], found["value"]])
    _set_linear(spec.linear[1], [found["output"]])
    _set_norm(spec.layer_norm, residual.norm)


def _set_cross_attention(spec: Any, attention: MultiHeadAttention, residual: Residual) -> None:
    found = projections(attention)
    _set_linear(spec.linear[0], [found["query"]])
    _set_linear(spec.linear[1], [found["key"], found["value"]])
    _set_linear(spec.linear[2], [found["output"]])
    _set_norm(spec.layer_norm, residual.norm)


def _set_feed_forward(spec: Any, own: FeedForward | GatedFeedForward, residual: Residual) -> None:
    if isinstance(own, GatedFeedForward):
        gate, value = own.inner.weight.chunk(2)
        _set_linear(spec.linear_0, [(gate, None)])
        _set_linear(spec.linear_0_noact, [(value, None)])
    else:
        _set_linear(spec.linear_0, [(own.inner.weight, own.inner.bias)])
    _set_linear(spec.linear_1, [(own.outer.weight, own.outer.bias)])
    _set_norm(spec.layer_norm, residual.norm)


def _set_linear(spec: Any, parts: Sequence[tuple[Tensor, Tensor | None]]) -> None:
    """Set a matrix, or several that read the same as one."""
    spec.weight = _array(torch.cat([weight for weight, _ in parts]))
    biases = [bias for _, bias in parts if bias is not None]
    if biases:
        spec.bias = _array(torch.cat(biases))


def _set_norm(spec: Any, norm: nn.Module) -> None:
    spec.gamma = _array(norm.get_parameter("weight"))
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _array(norm.bias)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    """Return a copy: quantising works in place, and would change the model's own weights."""
    return tensor.detach().clone().numpy()


def _epsilon(encoder: nn.Module) -> float:
    norms = (module for module in encoder.modules() if isinstance(module, nn.LayerNorm | nn.RMSNorm))
    return float(next(norms).eps or 0.0)


def _open(folder: Path, bundle: Bundle) -> Runtime:
    from ctranslate2 import Translator  # noqa: PLC0415  optional

    translator = Translator(str(folder), intra_threads=torch.get_num_threads())
    source, target = bundle.tokenizers["source"], bundle.tokenizers["target"]
    id_of = {piece: id_ for id_, piece in enumerate(target.all_pieces())}

    def translate(lines: Sequence[str], beam: int, longest: int) -> list[Said]:
        results = translator.translate_batch(
            [source.pieces(source.encode(line)) for line in lines],
            beam_size=beam,
            min_decoding_length=0,  # its default lets no translation be empty
            max_decoding_length=longest,
            max_input_length=0,  # its default cuts long sources in silence
            max_batch_size=4096,
            batch_type="tokens",
            length_penalty=1,
            return_scores=True,
        )
        best = [(result.hypotheses[0], result.scores[0]) for result in results]
        return [Said(target.decode([id_of[piece] for piece in pieces]), score) for pieces, score in best]

    return translate


TARGET = Target(
    title="CTranslate2",
    packages=("ctranslate2",),
    quantizations=("int8", "bfloat16", "float16"),
    refuse=_refuse,
    write=_write,
    open=_open,
)
