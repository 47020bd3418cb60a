"""What training makes small: label-smoothed cross entropy (paper section 5.4; Szegedy et al. 2016, section 7)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

# Rows of logits that exist at once. Few enough to stay in a CPU's cache and to be nothing beside a GPU's memory.
_ROWS_PER_CHUNK = {"cpu": 512, "cuda": 8192}


class Loss(NamedTuple):
    """Sums over real target tokens; dividing by their number is the caller's, once per update.

    `smoothed` is what is minimised, `nll` the plain negative log-likelihood (nats), without gradient.
    """

    smoothed: Tensor
    nll: Tensor


def smoothed_cross_entropy(hidden_MD: Tensor, weight_VD: Tensor, labels_M: Tensor, smoothing: float) -> Loss:
    """Sum -[(1 - e) log p(label) + e / (V - 1) * sum over the other pieces of log p] over the M positions.

    The logits are made, used and forgotten a chunk of rows at a time, with their gradient, so that M x V numbers
    never exist at once. Source: tensor2tensor's form of label smoothing (all of e goes to the V - 1 others).
    """
    smoothed, nll = _ChunkedCrossEntropy.apply(hidden_MD, weight_VD, labels_M, smoothing)  # type: ignore[no-untyped-call]
    return Loss(smoothed, nll)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Computes the gradient in the forward pass, while each chunk of logits is at hand."""

    @staticmethod
    def forward(
        ctx: Any, hidden_MD: Tensor, weight_VD: Tensor, labels_M: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        dtype = _matmul_dtype(hidden_MD)
        hidden, weight = hidden_MD.to(dtype), weight_VD.to(dtype)
        wants_gradient = any(ctx.needs_input_grad[:2])
        grad_hidden_MD = torch.empty_like(hidden) if wants_gradient else None
        grad_weight_VD = torch.zeros_like(weight_VD, dtype=torch.float32) if wants_gradient else None
        smoothed = hidden_MD.new_zeros((), dtype=torch.float32)
        nll = torch.zeros_like(smoothed)
        rows = _ROWS_PER_CHUNK[hidden.device.type]
        for first in range(0, hidden.size(0), rows):
            chunk = slice(first, first + rows)
            logits_CV = (hidden[chunk] @ weight.T).float()
            smoothed_chunk, nll_chunk = _loss_and_gradient(logits_CV, labels_M[chunk], smoothing)
            smoothed += smoothed_chunk
            nll += nll_chunk
            if grad_hidden_MD is not None and grad_weight_VD is not None:
                grad_CV = logits_CV.to(dtype)
                torch.mm(grad_CV, weight, out=grad_hidden_MD[chunk])
                grad_weight_VD += grad_CV.T @ hidden[chunk]
        ctx.save_for_backward(grad_hidden_MD, grad_weight_VD)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden_MD, grad_weight_VD = ctx.saved_tensors
        return grad_hidden_MD * grad_outputs[0], grad_weight_VD * grad_outputs[0], None, None


def _loss_and_gradient(logits_CV: Tensor, labels_C: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the two sums and turn `logits_CV` in place into the gradient of the first one."""
    others = smoothing / (logits_CV.size(1) - 1)
    log_normaliser_C = logits_CV.logsumexp(dim=1)
    label_logit_C = logits_CV.gather(1, labels_C[:, None])[:, 0]
    nll_C = log_normaliser_C - label_logit_C
    # sum over the others of -log p = (V - 1) * log normaliser - (sum of all logits - the label's)
    others_nll_C = (logits_CV.size(1) - 1) * log_normaliser_C - (logits_CV.sum(dim=1) - label_logit_C)
    smoothed = ((1 - smoothing) * nll_C + others * others_nll_C).sum()
    logits_CV.sub_(log_normaliser_C[:, None]).exp_().sub_(others)
    logits_CV.scatter_add_(1, labels_C[:, None], logits_CV.new_full((labels_C.numel(), 1), smoothing - 1 + others))
    return smoothed, nll_C.sum()


def _matmul_dtype(tensor: Tensor) -> torch.dtype:
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else tensor.dtype
