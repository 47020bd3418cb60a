"""Each part of the model against its formula."""

import math

import pytest
import torch
import torch.nn.functional as F

from mtrain.model.attention import MultiHeadAttention, Sight, fast_attention, plain_attention, reference_attention
from mtrain.model.build import build_model
from mtrain.model.dropout import Dropout
from mtrain.model.feedforward import GatedFeedForward
from mtrain.model.positions import (
    AlibiPositions,
    BlindAttention,
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    distance_buckets,
    sinusoids,
)
from mtrain.model.sublayer import PostNorm, PreNorm


@pytest.mark.parametrize("kernel", [plain_attention, reference_attention])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("sight", ["all", "padded", "causal"])
def test_attention_is_pytorchs_gradients_included(kernel, sight, biased):
    B, H, T, K = 3, 2, 7, 8
    keep_BS = torch.arange(T) < torch.tensor([[7], [4], [1]]) if sight == "padded" else None
    causal = sight == "causal"
    visible = torch.ones(T, T, dtype=torch.bool).tril() if causal else torch.ones(B, 1, 1, T, dtype=torch.bool)
    visible = visible if keep_BS is None else keep_BS[:, None, None, :]
    results = []
    for attention in ("ours", "pytorch"):
        torch.manual_seed(1)
        q, k, v = (torch.randn(B, H, T, K, requires_grad=True) for _ in range(3))
        bias_HTS = torch.randn(H, T, T, requires_grad=True)
        if attention == "ours":
            out = kernel(q, k, v, Sight(keep_BS, causal, bias_HTS if biased else None), Dropout(0.0))
        else:
            added = (bias_HTS if biased else 0 * bias_HTS).masked_fill(~visible, float("-inf"))
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=added)
        (out * torch.arange(out.numel()).view_as(out)).sum().backward()
        results.append((out, q.grad, k.grad, v.grad, *([bias_HTS.grad] if biased else [])))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("positions", [BlindAttention(), AlibiPositions(2)])
@pytest.mark.parametrize(("causal", "padded"), [(False, False), (False, True), (True, False)])
def test_attention_beyond_the_plain_length_gives_the_same(monkeypatch, causal, padded, positions):
    attention = MultiHeadAttention(16, 2, 8, 0.0, positions, fast_attention)
    x = torch.randn(2, 9, 16)
    keep_BS = torch.arange(9) < torch.tensor([[9], [4]]) if padded else None
    plain = attention(x, x, keep_BS, causal)
    monkeypatch.setattr("mtrain.model.attention._PLAIN_UP_TO", {torch.float32: 0})
    torch.testing.assert_close(attention(x, x, keep_BS, causal), plain, rtol=0, atol=1e-5)


def test_turned_queries_and_keys_know_only_their_distance():
    positions = RotaryPositions()
    q, k = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(query, key):
        return (positions.turn(q, query) * positions.turn(k, key)).sum().item()

    assert score(3, 7) == pytest.approx(score(503, 507), abs=1e-4)
    assert score(3, 7) != pytest.approx(score(3, 8), abs=1e-3)
    # The formula for the first pair: values 0 and K/2 turn by the position itself, as one complex number.
    turned = positions.turn(q, 5)[0, 0, 0]
    expected = complex(q[0, 0, 0, 0], q[0, 0, 0, 4]) * complex(math.cos(5), math.sin(5))
    assert turned[0].item() == pytest.approx(expected.real, abs=1e-5)
    assert turned[4].item() == pytest.approx(expected.imag, abs=1e-5)


def test_alibi_falls_with_the_distance_at_the_heads_own_rates():
    bias = AlibiPositions(4).bias(2, 2, 5, torch.zeros(1))
    rates = [2**-2, 2**-4, 2**-6, 2**-8]
    for head in range(4):
        ahead = rates[3 - head]
        expected = [[-2 * rates[head], -rates[head], 0, -ahead, -2 * ahead]]
        torch.testing.assert_close(bias[head, :1], torch.tensor(expected))
    torch.testing.assert_close(bias[:, 1, 1:], bias[:, 0, :-1])


def test_near_distances_have_buckets_of_their_own_and_far_ones_share():
    past = distance_buckets(-torch.arange(300))
    assert past[:8].tolist() == list(range(8))
    assert (past.diff() >= 0).all()
    assert past[127] == past[299] == 15
    assert set(past.tolist()).isdisjoint(distance_buckets(torch.arange(1, 300)).tolist())


def test_learned_positions_beyond_the_last_share_its_vector():
    positions = LearnedPositions(4, 8)
    torch.nn.init.normal_(positions.weight)
    added = positions(torch.zeros(1, 6, 8), first=1)[0]
    assert torch.equal(added, positions.weight[[1, 2, 3, 3, 3, 3]])


def test_the_gated_feed_forward_is_its_formula():
    gated = GatedFeedForward(6, 24, 0.0)
    x = torch.randn(5, 6)
    w, v = gated.inner.weight.chunk(2)
    z = x @ w.T
    torch.testing.assert_close(gated(x), (z * torch.sigmoid(z) * (x @ v.T)) @ gated.outer.weight.T)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_keeps_the_mean_and_sleeps_in_evaluation(p, dtype):
    dropout = Dropout(p)
    ones = torch.ones(1_000_003, dtype=dtype)
    dropped = dropout(ones)
    assert dropped.dtype == dtype
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.004)
    assert dropped.float().mean().item() == pytest.approx(1.0, abs=0.005)
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
    pre, post = PreNorm(torch.nn.LayerNorm(8), 0.0), PostNorm(torch.nn.LayerNorm(8), 0.0)
    torch.testing.assert_close(pre(x, lambda y: 2 * y), x + 2 * F.layer_norm(x, (8,)))
    torch.testing.assert_close(post(x, lambda y: 2 * y), F.layer_norm(3 * x, (8,)))


def test_the_model_has_no_buffers_for_processes_to_exchange(model_config):
    assert not list(build_model(model_config(), 40, 40).buffers())
