"""The same weights give the same numbers in other people's implementations."""

import math

import pytest
import torch
from torch import nn

from mtrain.batches.collate import collate
from mtrain.model.build import build_model

V = 40
EXACT = {"rtol": 0, "atol": 1e-5}


@pytest.fixture
def batch(sentences):
    return collate(sentences(4), sentences(4, seed=1))


def randomised(config):
    """Return a model whose every parameter is random, norms and biases as well."""
    model = build_model(config, V, V).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, ours.key_value.weight)))
    theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, ours.key_value.bias)))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_feed_forward(ours, theirs):
    theirs.linear1.load_state_dict(ours.inner.state_dict())
    theirs.linear2.load_state_dict(ours.outer.state_dict())


def as_torch(model, config):
    """Return `torch.nn.Transformer` with the weights of `model`."""
    pre = config.norm_position == "pre"
    theirs = nn.Transformer(
        config.d_model,
        config.heads,
        config.encoder_layers,
        config.decoder_layers,
        config.d_ff,
        dropout=0.0,
        activation=config.activation,
        batch_first=True,
        norm_first=pre,
    ).eval()
    # It puts a last norm behind post-norm layers, too; the paper does not.
    theirs.encoder.norm = model.encoder.final_norm if pre else None
    theirs.decoder.norm = model.decoder.final_norm if pre else None
    with torch.no_grad():
        for ours, layer in zip(model.encoder.layers, theirs.encoder.layers, strict=True):
            copy_attention(ours.attention, layer.self_attn)
            copy_feed_forward(ours.feed_forward, layer)
            layer.norm1.load_state_dict(ours.attention_residual.norm.state_dict())
            layer.norm2.load_state_dict(ours.feed_forward_residual.norm.state_dict())
        for ours, layer in zip(model.decoder.layers, theirs.decoder.layers, strict=True):
            copy_attention(ours.self_attention, layer.self_attn)
            copy_attention(ours.cross_attention, layer.multihead_attn)
            copy_feed_forward(ours.feed_forward, layer)
            layer.norm1.load_state_dict(ours.self_residual.norm.state_dict())
            layer.norm2.load_state_dict(ours.cross_residual.norm.state_dict())
            layer.norm3.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("attention", ["fast", "reference"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_pytorchs_transformer_gives_the_same_logits(model_config, batch, norm_position, activation, attention):
    config = model_config(norm_position=norm_position, activation=activation, attention=attention)
    model = randomised(config)
    src_BS, keep_BS, tgt_in_BT = batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT
    T = tgt_in_BT.size(1)
    hidden_BTD = as_torch(model, config)(
        model.source_embedding(src_BS),
        model.target_embedding(tgt_in_BT),
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
        src_key_padding_mask=~keep_BS,
        memory_key_padding_mask=~keep_BS,
    )
    theirs, ours = model.logits(hidden_BTD), model.logits(model(src_BS, keep_BS, tgt_in_BT))
    real = batch.real_M
    torch.testing.assert_close(ours.flatten(0, 1)[real], theirs.flatten(0, 1)[real], **EXACT)


def marian_state(model, theirs):
    """Return the weights of `model` under the names that `MarianMTModel` gives them."""
    state = {}

    def attention(ours, prefix):
        key, value = (dict(zip(("weight", "bias"), pair, strict=True)) for pair in zip(
            ours.key_value.weight.chunk(2), ours.key_value.bias.chunk(2), strict=True
        ))  # fmt: skip
        for name, weights in (
            ("q_proj", ours.query.state_dict()),
            ("k_proj", key),
            ("v_proj", value),
            ("out_proj", ours.output.state_dict()),
        ):
            state.update({f"{prefix}.{name}.{part}": tensor for part, tensor in weights.items()})

    def part(module, prefix):
        state.update({f"{prefix}.{name}": tensor for name, tensor in module.state_dict().items()})

    for i, layer in enumerate(model.encoder.layers):
        prefix = f"model.encoder.layers.{i}"
        attention(layer.attention, f"{prefix}.self_attn")
        part(layer.attention_residual.norm, f"{prefix}.self_attn_layer_norm")
        part(layer.feed_forward.inner, f"{prefix}.fc1")
        part(layer.feed_forward.outer, f"{prefix}.fc2")
        part(layer.feed_forward_residual.norm, f"{prefix}.final_layer_norm")
    for i, layer in enumerate(model.decoder.layers):
        prefix = f"model.decoder.layers.{i}"
        attention(layer.self_attention, f"{prefix}.self_attn")
        part(layer.self_residual.norm, f"{prefix}.self_attn_layer_norm")
        attention(layer.cross_attention, f"{prefix}.encoder_attn")
        part(layer.cross_residual.norm, f"{prefix}.encoder_attn_layer_norm")
        part(layer.feed_forward.inner, f"{prefix}.fc1")
        part(layer.feed_forward.outer, f"{prefix}.fc2")
        part(layer.feed_forward_residual.norm, f"{prefix}.final_layer_norm")
    # Marian's sinusoids are the same numbers in another order of the width: all sines, then all cosines. So it gets
    # our table instead of its own.
    positions = model.source_embedding.positions.table_TD
    for side in ("encoder", "decoder"):
        state[f"model.{side}.embed_positions.weight"] = positions
        state[f"model.{side}.embed_tokens.weight"] = model.output.weight
    state["model.shared.weight"] = state["lm_head.weight"] = model.output.weight
    state["final_logits_bias"] = model.output.bias[None]
    return state


def test_marian_gives_the_same_logits(model_config, batch):
    transformers = pytest.importorskip("transformers", reason='needs pip install "mtrain[bench]"')
    config = model_config(norm_position="post", output_bias=True)
    model = randomised(config)
    theirs = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=V,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
    ).eval()
    theirs.load_state_dict(marian_state(model, theirs))
    assert theirs.model.encoder.embed_scale == math.sqrt(config.d_model)
    src_BS, keep_BS, tgt_in_BT = batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT
    their_BTV = theirs(input_ids=src_BS, attention_mask=keep_BS.long(), decoder_input_ids=tgt_in_BT).logits
    our_BTV = model.logits(model(src_BS, keep_BS, tgt_in_BT))
    torch.testing.assert_close(our_BTV.flatten(0, 1)[batch.real_M], their_BTV.flatten(0, 1)[batch.real_M], **EXACT)
