"""Hugging Face: a folder that AutoModelForSeq2SeqLM and AutoTokenizer load, with no code of ours in it.

Norms before the sublayers are Blenderbot's, norms behind them Marian's: stock architectures whose formulas are these.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from mtrain.config.schema import DecodingConfig, ModelConfig
from mtrain.export.huggingface_tokenizer import target_tokenizer, write_tokenizers
from mtrain.export.target import (
    NEVER,
    POSITIONS,
    Runtime,
    Said,
    Target,
    output_bias,
    position_table,
    projections,
    refuse,
)
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.bundle import Bundle
from mtrain.model.feedforward import FeedForward, GatedFeedForward
from mtrain.model.sublayer import Residual
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import BOS, EOS, PAD

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedModel

Weights = dict[str, Tensor]

_ROWS = 20  # translated at once by the check


def _refuse(bundle: Bundle) -> None:
    config = bundle.model_config
    if config.positions in ("rotary", "alibi", "relative"):
        raise _no("positions", config.positions, "its encoder-decoders that know these have no biases in attention")
    if config.norm != "layernorm":
        raise _no("norm", config.norm, "its encoder-decoders with this norm have no biases in attention")
    if config.activation == "swiglu":
        raise _no("activation", config.activation, "its encoder-decoders with gates have no biases in attention")
    if config.head_width not in (0, config.d_model // config.heads):
        raise _no("head_width", config.head_width, "there the heads share d_model evenly")
    if config.norm_position == "post" and config.positions != "sinusoidal":
        raise _no("positions", config.positions, "with norm_position post only Marian's sinusoids are to be had")


def _no(setting: str, found: object, reason: str) -> Exception:
    return refuse(TARGET.title, setting, found, reason)


def _write(bundle: Bundle, decoding: DecodingConfig, quantization: str, folder: Path) -> None:
    pre_norm = bundle.model_config.norm_position == "pre"
    model = _blenderbot(bundle) if pre_norm else _marian(bundle)
    model.generation_config = _generation(decoding)
    with _without_bars():
        model.to(dtype=getattr(torch, quantization or "float32")).save_pretrained(folder)
    write_tokenizers(bundle.tokenizers, folder)
    # Weights are written for their owner's eyes only.
    (folder / "model.safetensors").chmod((folder / "config.json").stat().st_mode)


@contextmanager
def _without_bars() -> Iterator[None]:
    from transformers.utils import logging  # noqa: PLC0415  optional

    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


def _blenderbot(bundle: Bundle) -> "PreTrainedModel":
    from transformers import BlenderbotConfig, BlenderbotForConditionalGeneration  # noqa: PLC0415  optional

    model = bundle.model
    # Both sides have one size here; what is added to the smaller one is never read or said.
    size = max(model.source_embedding.weight.size(0), model.output.weight.size(0))
    tied = bundle.model_config.tied == "three_way"
    theirs = BlenderbotForConditionalGeneration(
        BlenderbotConfig(
            **_shape(bundle.model_config),
            vocab_size=size,
            max_position_embeddings=POSITIONS,
            tie_word_embeddings=tied,
            encoder_no_repeat_ngram_size=0,
        )
    )
    weights = _layers(model) | _ends(model, size)
    weights["model.shared.weight"] = weights["model.encoder.embed_tokens.weight"]
    for side, part, embedding in (
        ("encoder", model.encoder, model.source_embedding),
        ("decoder", model.decoder, model.target_embedding),
    ):
        weights |= _norm(f"model.{side}.layer_norm", part.final_norm)
        weights[f"model.{side}.embed_positions.weight"] = position_table(embedding)
    theirs.load_state_dict(weights)
    return theirs


def _marian(bundle: Bundle) -> "PreTrainedModel":
    from transformers import MarianConfig, MarianMTModel  # noqa: PLC0415  optional

    model, tied = bundle.model, bundle.model_config.tied
    target_size = model.output.weight.size(0)
    theirs = MarianMTModel(
        MarianConfig(
            **_shape(bundle.model_config),
            vocab_size=model.source_embedding.weight.size(0),
            decoder_vocab_size=target_size,
            max_position_embeddings=POSITIONS,
            share_encoder_decoder_embeddings=tied == "three_way",
            tie_word_embeddings=tied != "none",
        )
    )
    weights = _sines_before_cosines(_layers(model) | _ends(model, target_size), bundle.model_config.d_model)
    if tied == "three_way":
        weights["model.shared.weight"] = weights["lm_head.weight"]
    # The sinusoids it makes itself.
    own = {name: weight for name, weight in theirs.state_dict().items() if "embed_positions" in name}
    theirs.load_state_dict(weights | own)
    return theirs


def _shape(config: ModelConfig) -> dict[str, Any]:
    return {
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), config.heads),
        **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), config.d_ff),
        "activation_function": config.activation,
        "scale_embedding": config.scale_embeddings,
        "dropout": config.dropout,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "decoder_start_token_id": BOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": None,
    }


def _generation(decoding: DecodingConfig) -> "GenerationConfig":
    """Return defaults for `generate`, which compares lengths as mtrain's `average`.

    Another one's exponent says nothing there: that is 1 then, the mean log-probability of a token.
    """
    from transformers import GenerationConfig  # noqa: PLC0415  optional

    average = decoding.length_normalization == "average"
    longest = int(decoding.max_source_tokens * decoding.max_length_factor) + decoding.max_length_extra
    return GenerationConfig(
        num_beams=decoding.beam,
        # Greedy search compares no lengths, and a penalty beside it is refused.
        length_penalty=decoding.length_penalty if average and decoding.beam > 1 else 1.0,
        max_length=min(longest, POSITIONS),
        pad_token_id=PAD,
        bos_token_id=BOS,
        decoder_start_token_id=BOS,
        eos_token_id=EOS,
    )


def _layers(model: Transformer) -> Weights:
    weights: Weights = {}
    for number, encoding in enumerate(model.encoder.stack):
        name = f"model.encoder.layers.{number}"
        weights |= _attention(f"{name}.self_attn", encoding.attention, encoding.attention_residual)
        weights |= _feed_forward(name, encoding.feed_forward, encoding.feed_forward_residual)
    for number, decoding in enumerate(model.decoder.stack):
        name = f"model.decoder.layers.{number}"
        weights |= _attention(f"{name}.self_attn", decoding.self_attention, decoding.self_residual)
        weights |= _attention(f"{name}.encoder_attn", decoding.cross_attention, decoding.cross_residual)
        weights |= _feed_forward(name, decoding.feed_forward, decoding.feed_forward_residual)
    return weights


def _attention(name: str, attention: MultiHeadAttention, residual: Residual) -> Weights:
    theirs = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    weights = _norm(f"{name}_layer_norm", residual.norm)
    for own, (weight, bias) in projections(attention).items():
        weights |= {f"{name}.{theirs[own]}.weight": weight, f"{name}.{theirs[own]}.bias": bias}
    return weights


def _feed_forward(name: str, own: FeedForward | GatedFeedForward, residual: Residual) -> Weights:
    linears = {f"{name}.fc1": own.inner, f"{name}.fc2": own.outer}
    weights = {f"{place}.{part}": value for place, linear in linears.items() for part, value in _parts(linear)}
    return weights | _norm(f"{name}.final_layer_norm", residual.norm)


def _norm(name: str, norm: nn.Module) -> Weights:
    return {f"{name}.{part}": value for part, value in _parts(norm)}


def _parts(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, parameter.detach()) for name, parameter in module.named_parameters()]


def _ends(model: Transformer, size: int) -> Weights:
    """Return embeddings and output layer, the smaller vocabulary filled up to `size` with what is never said."""
    source_VD, target_VD = model.source_embedding.weight.detach(), model.target_embedding.weight.detach()
    more = size - target_VD.size(0)
    return {
        "model.encoder.embed_tokens.weight": nn.functional.pad(source_VD, (0, 0, 0, max(0, size - source_VD.size(0)))),
        "model.decoder.embed_tokens.weight": nn.functional.pad(target_VD, (0, 0, 0, more)),
        "lm_head.weight": nn.functional.pad(model.output.weight.detach(), (0, 0, 0, more)),
        "final_logits_bias": nn.functional.pad(output_bias(model), (0, more), value=NEVER)[None],
    }


_TO_STREAM = ("out_proj.weight", "out_proj.bias", "fc2.weight", "fc2.bias", "layer_norm.weight", "layer_norm.bias")
_FROM_STREAM = tuple(f"{name}.weight" for name in ("q_proj", "k_proj", "v_proj", "fc1", "embed_tokens", "lm_head"))


def _sines_before_cosines(weights: Weights, d_model: int) -> Weights:
    """Reorder the values of the residual stream: mtrain's sinusoids are sin, cos, sin, cos …, Marian's sin … cos …"""
    order = torch.arange(d_model).view(-1, 2).T.flatten()
    reordered = dict(weights)
    for name, weight in weights.items():
        if name.endswith(_TO_STREAM):
            reordered[name] = weight[order]
        elif name.endswith(_FROM_STREAM):
            reordered[name] = weight[:, order]
    return reordered


def _open(folder: Path, _: Bundle) -> Runtime:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer  # noqa: PLC0415  optional

    with _without_bars():
        model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    tokenizer, target = AutoTokenizer.from_pretrained(folder), target_tokenizer(folder)

    def translate(lines: Sequence[str], beam: int, longest: int) -> list[Said]:
        said: list[Said] = []
        for first in range(0, len(lines), _ROWS):
            inputs = tokenizer(list(lines[first : first + _ROWS]), return_tensors="pt", padding=True)
            found = model.generate(
                **inputs,
                num_beams=beam,
                length_penalty=1.0,
                max_length=longest + 1,
                return_dict_in_generate=True,
                output_scores=True,
            )
            texts = target.batch_decode(found.sequences, skip_special_tokens=True)
            said += map(Said, texts, _scores(model, found, beam))
        return said

    return translate


def _scores(model: Any, found: Any, beam: int) -> list[float]:
    """Return the mean log-probability of each translation's tokens; greedy search gives those of single tokens."""
    if beam > 1:
        return found.sequences_scores.tolist()  # type: ignore[no-any-return]
    tokens_BT = found.sequences[:, 1:]
    gained_BT = model.compute_transition_scores(found.sequences, found.scores, normalize_logits=True)
    real_BT = tokens_BT != PAD
    scores_B = gained_BT.masked_fill(~real_BT, 0.0).sum(1) / real_BT.sum(1)
    return scores_B.tolist()  # type: ignore[no-any-return]


TARGET = Target(
    title="Hugging Face",
    packages=("transformers",),
    quantizations=("bfloat16", "float16"),
    refuse=_refuse,
    write=_write,
    open=_open,
)
