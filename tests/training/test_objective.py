"""The loss against its formula, written naively."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from mtrain.training import objective
from mtrain.training.objective import share_of_others, smoothed_cross_entropy


def naive(hidden, weight, labels, smoothing):
    """Spell out -sum over pieces of q(k) log p(k), with the target distribution q as a dense matrix."""
    log_p = (hidden @ weight.T).log_softmax(-1)
    V = log_p.size(1)
    q = torch.full_like(log_p, smoothing / (V - 1))
    q[torch.arange(len(labels)), labels] = 1 - smoothing
    return -(q * log_p).sum(), -log_p[torch.arange(len(labels)), labels].sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rows", [1, 5, 12, 1000])
def test_loss_and_gradients_are_the_formulas(monkeypatch, smoothing, rows):
    monkeypatch.setattr(objective, "_ROWS_PER_CHUNK", {"cpu": rows})
    hidden = torch.randn(12, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(20, 6, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 20, (12,))
    ours = smoothed_cross_entropy(hidden, weight, None, labels, smoothing)
    (3.0 * ours.smoothed).backward()
    gradients = hidden.grad.clone(), weight.grad.clone()
    hidden.grad = weight.grad = None
    smoothed, nll = naive(hidden, weight, labels, smoothing)
    (3.0 * smoothed).backward()
    # The loss itself is summed in float32, as in training.
    torch.testing.assert_close(ours.smoothed.double(), smoothed, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(ours.nll.double(), nll, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradients[0], hidden.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradients[1], weight.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("chunk", "block"), [(2, 2), (6, 4), (1000, 2), (1000, 1000)])
def test_r_drop_and_its_gradients_are_the_formulas(monkeypatch, smoothing, chunk, block):
    monkeypatch.setattr(objective, "_ROWS_PER_CHUNK", {"cpu": chunk})
    monkeypatch.setattr(objective, "_ROWS_PER_BLOCK", {"cpu": block})
    hidden = torch.randn(12, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(20, 6, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 20, (6,)).repeat_interleave(2)
    ours = smoothed_cross_entropy(hidden, weight, None, labels, smoothing, r_drop=5.0)
    (3.0 * ours.smoothed).backward()
    gradients = hidden.grad.clone(), weight.grad.clone()
    hidden.grad = weight.grad = None
    smoothed, nll = naive(hidden, weight, labels, smoothing)
    p, q = (hidden @ weight.T).softmax(-1).view(6, 2, 20).unbind(1)
    divergence = ((p * (p / q).log()).sum() + (q * (q / p).log()).sum()) / 2
    (3.0 * (smoothed + 5.0 * divergence)).backward()
    assert divergence > 1
    torch.testing.assert_close(ours.smoothed.double(), smoothed + 5.0 * divergence, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(ours.nll.double(), nll, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradients[0], hidden.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradients[1], weight.grad, rtol=1e-4, atol=1e-5)


def test_smoothed_loss_has_its_least_value_where_the_prediction_is_the_smoothed_target():
    # With one-hot hidden states the weight matrix holds the logits themselves.
    V, smoothing = 10, 0.1
    best = torch.full((V, V), smoothing / (V - 1)).fill_diagonal_(1 - smoothing).log().T
    labels = torch.arange(V)
    weight = best.clone().requires_grad_()
    loss = smoothed_cross_entropy(torch.eye(V), weight, None, labels, smoothing).smoothed
    loss.backward()
    assert weight.grad.abs().max() < 1e-6
    for _ in range(5):
        other = best + 0.1 * torch.randn(V, V)
        assert smoothed_cross_entropy(torch.eye(V), other, None, labels, smoothing).smoothed > loss


@pytest.mark.parametrize("rows", [5, 1000])
def test_spread_over_all_pieces_and_with_a_bias_it_is_pytorchs_label_smoothing(monkeypatch, rows):
    monkeypatch.setattr(objective, "_ROWS_PER_CHUNK", {"cpu": rows})
    hidden, weight, bias = (torch.randn(*shape, requires_grad=True) for shape in ((12, 6), (20, 6), (20,)))
    labels = torch.randint(0, 20, (12,))
    smoothed_cross_entropy(hidden, weight, bias, labels, share_of_others(0.3, "all", 20)).smoothed.backward()
    ours = [tensor.grad.clone() for tensor in (hidden, weight, bias)]
    hidden.grad = weight.grad = bias.grad = None
    F.cross_entropy(F.linear(hidden, weight, bias), labels, label_smoothing=0.3, reduction="sum").backward()
    for gradient, tensor in zip(ours, (hidden, weight, bias), strict=True):
        torch.testing.assert_close(gradient, tensor.grad, rtol=1e-4, atol=1e-5)


def test_no_gradient_is_made_where_none_is_wanted():
    with torch.no_grad():
        loss = smoothed_cross_entropy(torch.randn(3, 4), torch.randn(9, 4), None, torch.tensor([1, 2, 3]), 0.1)
    assert not loss.smoothed.requires_grad


def test_bf16_autocast_is_near():
    hidden, weight, labels = torch.randn(64, 32), torch.randn(50, 32), torch.randint(0, 50, (64,))
    exact = smoothed_cross_entropy(hidden, weight, None, labels, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        rough = smoothed_cross_entropy(hidden, weight, None, labels, 0.1)
    assert rough.smoothed.item() == pytest.approx(exact.smoothed.item(), rel=0.01)


@pytest.mark.parametrize("training", [True, False])
def test_no_gradient_is_computed_that_nobody_asks_for(training):
    weight, bias = (torch.randn(20, *shape, requires_grad=True) for shape in ((6,), ()))
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(training):
        smoothed_cross_entropy(torch.randn(12, 6), weight, bias, torch.zeros(12, dtype=torch.long), 0.1)
    assert counter.get_total_flops() == (3 if training else 1) * 2 * 12 * 6 * 20
