"""What training makes small: label-smoothed cross entropy (paper section 5.4; Szegedy et al. 2016, section 7).

With R-Drop (Liang et al. 2021), also how much two predictions of one token, made with different dropout, differ.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

# Rows of logits that exist at once: enough to make large matrix products, few enough to be little memory. Both even, so
# that the two rows of a pair stay together.
_ROWS_PER_CHUNK = {"cpu": 1024, "cuda": 8192}
# Rows whose fp32 probabilities exist at once: on a CPU they stay in its cache, which saves a third of the loss's time.
_ROWS_PER_BLOCK = {"cpu": 128, "cuda": 8192}


class Loss(NamedTuple):
    """Sums over real target tokens; dividing by their number is the caller's, once per update.

    `smoothed` is what is minimised, R-Drop's divergence included, `nll` the plain negative log-likelihood (nats),
    without gradient.
    """

    smoothed: Tensor
    nll: Tensor


def smoothed_cross_entropy(
    hidden_MD: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    labels_M: Tensor,
    smoothing: float,
    r_drop: float = 0.0,
) -> Loss:
    """Sum -[(1 - e) log p(label) + e / (V - 1) * sum over the other pieces of log p] over the M positions.

    The logits are made, used and forgotten a chunk of rows at a time, with their gradient, so that M x V numbers
    never exist at once. Source: tensor2tensor's form of label smoothing (all of e goes to the V - 1 others).

    With `r_drop`, rows 2i and 2i + 1 are two predictions p and q of one token, and r_drop * (KL(p|q) + KL(q|p)) / 2 of
    each pair is added. Source: Liang et al. 2021, eq. 4, where r_drop is called alpha.
    """
    if not torch.is_grad_enabled():
        weight_VD = weight_VD.detach()  # whose gradient would be computed, and nobody look at it
    smoothed, nll = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden_MD, weight_VD, bias_V, labels_M, smoothing, r_drop
    )
    return Loss(smoothed, nll)


def share_of_others(smoothing: float, over: str, vocabulary_size: int) -> float:
    """Return what the V - 1 pieces other than the reference get together, by the name in `training.smoothing_over`.

    Spread over all V pieces (PyTorch's `label_smoothing`; Szegedy et al. 2016), 1 / V of it comes back to the
    reference.
    """
    return {"others": smoothing, "all": smoothing * (vocabulary_size - 1) / vocabulary_size}[over]


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Computes the gradient in the forward pass, while each chunk of logits is at hand."""

    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917  PyTorch wants each by itself
        ctx: Any,
        hidden_MD: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        labels_M: Tensor,
        smoothing: float,
        r_drop: float,
    ) -> tuple[Tensor, Tensor]:
        dtype, device_type = _matmul_dtype(hidden_MD), hidden_MD.device.type
        hidden, weight = hidden_MD.to(dtype), weight_VD.to(dtype)
        wants_gradient = any(ctx.needs_input_grad[:2])
        grad_hidden_MD = torch.empty_like(hidden) if wants_gradient else None
        grad_weight_VD = torch.zeros_like(weight_VD, dtype=torch.float32) if wants_gradient else None
        bias = None if bias_V is None else bias_V.to(dtype)
        grad_bias_V = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)
        smoothed = hidden_MD.new_zeros((), dtype=torch.float32)
        nll = torch.zeros_like(smoothed)
        for hidden_CD, labels_C, rows in _slices(_ROWS_PER_CHUNK[device_type], hidden, labels_M):
            logits_CV = F.linear(hidden_CD, weight, bias)
            for logits_KV, labels_K, _ in _slices(_ROWS_PER_BLOCK[device_type], logits_CV, labels_C):
                pull = _divergence_and_gradient(logits_KV) if r_drop else None
                smoothed_K, nll_K = _loss_and_gradient(logits_KV, labels_K, smoothing)
                smoothed += smoothed_K.sum()
                nll += nll_K.sum()
                if pull:
                    smoothed += r_drop * pull[0]
                    logits_KV.add_(pull[1], alpha=r_drop)
            if grad_hidden_MD is not None and grad_weight_VD is not None:
                grad_CV = logits_CV
                torch.mm(grad_CV, weight, out=grad_hidden_MD[rows])
                grad_weight_VD += grad_CV.T @ hidden_CD
                if grad_bias_V is not None:
                    grad_bias_V += grad_CV.sum(0, dtype=torch.float32)
        ctx.save_for_backward(grad_hidden_MD, grad_weight_VD, grad_bias_V)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if grad is None else grad * grad_outputs[0] for grad in ctx.saved_tensors), None, None, None


def _slices(size: int, values_M: Tensor, labels_M: Tensor) -> Iterator[tuple[Tensor, Tensor, slice]]:
    for first in range(0, labels_M.numel(), size):
        rows = slice(first, first + size)
        yield values_M[rows], labels_M[rows], rows


def _loss_and_gradient(logits_KV: Tensor, labels_K: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return both losses of each row, and turn `logits_KV` in place into the gradient of the first one's sum."""
    V = logits_KV.size(1)
    others = smoothing / (V - 1)
    label_K1 = labels_K[:, None]
    exact_KV = logits_KV.float()
    p_KV = exact_KV.softmax(dim=1)
    # The largest p is at least 1 / V, so that the logarithm of the normaliser comes from it without underflow.
    log_normaliser_K = exact_KV.amax(dim=1) - p_KV.amax(dim=1).log()
    label_logit_K = exact_KV.gather(1, label_K1)[:, 0]
    nll_K = log_normaliser_K - label_logit_K
    others_nll_K = (V - 1) * log_normaliser_K - (exact_KV.sum(dim=1) - label_logit_K)
    grad_KV = p_KV.sub_(others)
    grad_KV.scatter_add_(1, label_K1, grad_KV.new_full(label_K1.shape, smoothing - 1 + others))
    logits_KV.copy_(grad_KV)
    return (1 - smoothing) * nll_K + others * others_nll_K, nll_K


def _divergence_and_gradient(logits_KV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of (KL(p|q) + KL(q|p)) / 2 over all pairs of rows, and its gradient by the logits."""
    log_p_P2V = logits_KV.float().log_softmax(dim=1).view(-1, 2, logits_KV.size(1))
    p_P2V = log_p_P2V.exp()
    ratio_P2V = log_p_P2V - log_p_P2V.flip(1)
    kl_P21 = (p_P2V * ratio_P2V).sum(dim=2, keepdim=True)
    # By the logits of p, the gradient of KL(p|q) is p (log p/q - KL(p|q)), that of KL(q|p) is p - q.
    grad_P2V = p_P2V * (ratio_P2V - kl_P21) + (p_P2V - p_P2V.flip(1))
    return kl_P21.sum() / 2, grad_P2V.flatten(0, 1) / 2


def _matmul_dtype(tensor: Tensor) -> torch.dtype:
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else tensor.dtype
