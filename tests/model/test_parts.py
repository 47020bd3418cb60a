"""Each part of the model against its formula."""

import math

import pytest
import torch
import torch.nn.functional as F

from mtrain.model.attention import MultiHeadAttention, plain_attention
from mtrain.model.build import build_model
from mtrain.model.dropout import Dropout
from mtrain.model.positions import SinusoidalPositions, sinusoids
from mtrain.model.sublayer import PostNorm, PreNorm


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_plain_attention_is_pytorchs_gradients_included(causal, padded):
    B, H, T, K = 3, 2, 7, 8
    if causal and padded:
        pytest.skip("padding lies in the future, so that nobody needs both")
    keep_BS = torch.arange(T) < torch.tensor([[7], [4], [1]]) if padded else None
    results = []
    for attention in ("plain", "fused"):
        torch.manual_seed(1)
        q, k, v = (torch.randn(B, H, T, K, requires_grad=True) for _ in range(3))
        if attention == "plain":
            out = plain_attention(q, k, v, keep_BS, causal, Dropout(0.0))
        else:
            mask = None if keep_BS is None else keep_BS[:, None, None, :]
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        (out * torch.arange(out.numel()).view_as(out)).sum().backward()
        results.append((out, q.grad, k.grad, v.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


def test_attention_beyond_the_plain_length_gives_the_same(monkeypatch):
    attention = MultiHeadAttention(16, 2, 0.0)
    x = torch.randn(2, 9, 16)
    plain = attention(x, x, None, causal=True)
    monkeypatch.setattr("mtrain.model.attention._PLAIN_UP_TO", {torch.float32: 0})
    torch.testing.assert_close(attention(x, x, None, causal=True), plain, rtol=0, atol=1e-5)


def test_sinusoids_are_the_papers_formula():
    table = sinusoids(50, 16)
    for position, i in ((0, 0), (1, 0), (7, 3), (49, 7)):
        angle = position / 10000 ** (2 * i / 16)
        assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-5)
        assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_positions_start_where_they_are_told():
    positions = SinusoidalPositions(8)
    whole = positions(torch.zeros(1, 900, 8))
    torch.testing.assert_close(positions(torch.zeros(1, 1, 8), first=899)[0, 0], whole[0, 899])


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_keeps_the_mean_and_sleeps_in_evaluation(p):
    dropout = Dropout(p)
    ones = torch.ones(1_000_003)
    dropped = dropout(ones)
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.004)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.004)
    assert dropped.unique().numel() == 2
    assert torch.equal(dropout.eval()(ones), ones)


def test_dropout_has_no_pattern_from_place_to_place():
    dropped = (Dropout(0.5)(torch.ones(2_000_000)) == 0).float() - 0.5
    for distance in (1, 2, 7, 8, 16, 64):
        assert abs((dropped[:-distance] * dropped[distance:]).mean().item()) < 0.002


def test_dropout_sends_gradients_only_where_it_let_values_through():
    x = torch.ones(1000, requires_grad=True)
    out = Dropout(0.25)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_pre_norm_leaves_the_sum_and_post_norm_normalises_it():
    x = torch.randn(2, 3, 8) * 5
    pre, post = PreNorm(8, 0.0), PostNorm(8, 0.0)
    torch.testing.assert_close(pre(x, lambda y: 2 * y), x + 2 * F.layer_norm(x, (8,)))
    torch.testing.assert_close(post(x, lambda y: 2 * y), F.layer_norm(3 * x, (8,)))


def test_the_model_has_no_buffers_for_processes_to_exchange(model_config):
    assert not list(build_model(model_config(), 40).buffers())
