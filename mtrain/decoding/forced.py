"""A translation that is given to a model: how probable it finds it, and what it looks at meanwhile."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from mtrain.batches.collate import Batch, collate
from mtrain.batches.sampler import source_batches
from mtrain.decoding.steps import NEVER_SAID
from mtrain.model.attention import watched
from mtrain.model.transformer import Transformer

_TOKENS_AT_ONCE = 4096
# Rows of logits over the whole vocabulary that exist at once.
_ROWS_AT_ONCE = 1024


@torch.inference_mode()
def forced_log_probabilities(models: Sequence[Transformer], batch: Batch, repetition_penalty: float = 1.0) -> Tensor:
    """Return the log-probability_B (nats) of each target, EOS included, by the mean of the models' probabilities.

    As in the search, what is never said has no probability, and the repetition penalty makes repeated tokens less
    likely: this over the length penalty is the score that a search would report.
    """
    each = torch.stack([_label_log_probabilities(model, batch) for model in models])
    log_probabilities_M = each.logsumexp(0) - math.log(len(models))
    if repetition_penalty != 1:
        log_probabilities_M = log_probabilities_M.where(~_said_before(batch), log_probabilities_M * repetition_penalty)
    B, T = batch.tgt_in_BT.shape
    sums_B = torch.zeros(B, device=log_probabilities_M.device)
    return sums_B.index_add_(0, batch.real_M // T, log_probabilities_M)


def _label_log_probabilities(model: Transformer, batch: Batch) -> Tensor:
    hidden_BTD = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    hidden_MD, found = hidden_BTD.flatten(0, 1)[batch.real_M], []
    for first in range(0, len(hidden_MD), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        logits_RV = model.logits(hidden_MD[rows]).float()
        logits_RV[:, NEVER_SAID] = float("-inf")
        found.append(-F.cross_entropy(logits_RV, batch.labels_M[rows], reduction="none"))
    return torch.cat(found)


def _said_before(batch: Batch) -> Tensor:
    """Tell which of labels_M stand earlier in their sentence, too."""
    labels = torch.full((batch.tgt_in_BT.numel(),), -1, device=batch.labels_M.device)
    labels[batch.real_M] = batch.labels_M
    labels_BT = labels.view_as(batch.tgt_in_BT)
    again_BT = (labels_BT[:, :, None] == labels_BT[:, None, :]).tril(-1).any(-1)
    return again_BT.flatten()[batch.real_M]


@torch.inference_mode()
def forced_coverage(models: Sequence[Transformer], batch: Batch) -> Tensor:
    """Return how well each target looks at its source, coverage_B as `Steps.coverage_BN` has it."""
    keep_BS, real_BT = batch.source.keep_BS, torch.zeros_like(batch.tgt_in_BT)
    real_BT.view(-1)[batch.real_M] = 1
    each = []
    for model in models:
        weights_BTS = _looks(model, batch) * real_BT[:, :, None]
        log_received_BS = weights_BTS.sum(1).clamp(1e-9, 1.0).log()
        each.append((log_received_BS if keep_BS is None else log_received_BS.masked_fill(~keep_BS, 0.0)).sum(-1))
    return torch.stack(each).mean(0)


def _looks(model: Transformer, batch: Batch) -> Tensor:
    """Return weights_BTS, the mean of the heads of the layer that aligns best."""
    with watched([model.decoder.cross_attentions[model.decoder.aligning_layer]]) as seen:
        model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    return seen[0][0].mean(1)


@torch.inference_mode()
def align(
    model: Transformer, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[list[tuple[int, int]]]:
    """Return, for each pair, (source place, target place) of every target token and what it looks at most.

    That is by the mean of the heads of the layer that aligns best; the source's EOS counts as looking at nothing.
    """
    device = next(model.parameters()).device
    found: dict[int, list[tuple[int, int]]] = {}
    longest = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
    for some in source_batches(longest, _TOKENS_AT_ONCE):
        batch = collate([sources[i] for i in some], [targets[i] for i in some]).to(device)
        best_BT = _looks(model, batch).argmax(-1).tolist()
        for i, best_T in zip(some.tolist(), best_BT, strict=True):
            looked = enumerate(best_T[: len(targets[i])])
            found[i] = [(s, t) for t, s in looked if s < len(sources[i])]
    return [found[i] for i in range(len(sources))]
