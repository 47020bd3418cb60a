"""The loss against its formula, written naively."""

import pytest
import torch

from mtrain.training import objective
from mtrain.training.objective import smoothed_cross_entropy


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
    ours = smoothed_cross_entropy(hidden, weight, labels, smoothing)
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


def test_smoothed_loss_has_its_least_value_where_the_prediction_is_the_smoothed_target():
    # With one-hot hidden states the weight matrix holds the logits themselves.
    V, smoothing = 10, 0.1
    best = torch.full((V, V), smoothing / (V - 1)).fill_diagonal_(1 - smoothing).log().T
    labels = torch.arange(V)
    weight = best.clone().requires_grad_()
    loss = smoothed_cross_entropy(torch.eye(V), weight, labels, smoothing).smoothed
    loss.backward()
    assert weight.grad.abs().max() < 1e-6
    for _ in range(5):
        assert smoothed_cross_entropy(torch.eye(V), best + 0.1 * torch.randn(V, V), labels, smoothing).smoothed > loss


def test_no_gradient_is_made_where_none_is_wanted():
    with torch.no_grad():
        loss = smoothed_cross_entropy(torch.randn(3, 4), torch.randn(9, 4), torch.tensor([1, 2, 3]), 0.1)
    assert not loss.smoothed.requires_grad


def test_bf16_autocast_is_near():
    hidden, weight, labels = torch.randn(64, 32), torch.randn(50, 32), torch.randint(0, 50, (64,))
    exact = smoothed_cross_entropy(hidden, weight, labels, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        rough = smoothed_cross_entropy(hidden, weight, labels, 0.1)
    assert rough.smoothed.item() == pytest.approx(exact.smoothed.item(), rel=0.01)
