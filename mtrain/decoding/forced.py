"""A translation that is given to a model: how probable it finds it, and what it looks at meanwhile."""

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


@torch.inference_mode()
def forced_log_probabilities(model: Transformer, batch: Batch) -> Tensor:
    """Return the log-probability_B (nats) of each target, EOS included.

    As in the search, what is never said has no probability: this over the length penalty is the score that a search
    would report.
    """
    hidden_BTD = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    logits_MV = model.logits(hidden_BTD.flatten(0, 1)[batch.real_M]).float()
    logits_MV[:, NEVER_SAID] = float("-inf")
    nll_M = F.cross_entropy(logits_MV, batch.labels_M, reduction="none")
    B, T = batch.tgt_in_BT.shape
    sums_B = torch.zeros(B, device=nll_M.device)
    return sums_B.index_add_(0, batch.real_M // T, -nll_M)


@torch.inference_mode()
def align(
    model: Transformer, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[list[tuple[int, int]]]:
    """Return, for each pair, (source place, target place) of every target token and what it looks at most.

    That is by the mean of the heads of the layer that aligns best; the source's EOS counts as looking at nothing.
    """
    device = next(model.parameters()).device
    decoder = model.decoder
    found: dict[int, list[tuple[int, int]]] = {}
    longest = [max(len(source), len(target)) + 1 for source, target in zip(sources, targets, strict=True)]
    for some in source_batches(longest, _TOKENS_AT_ONCE):
        batch = collate([sources[i] for i in some], [targets[i] for i in some]).to(device)
        with watched([decoder.cross_attentions[decoder.aligning_layer]]) as seen:
            model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
        best_BT = seen[0][0].mean(1).argmax(-1).tolist()
        for i, best_T in zip(some.tolist(), best_BT, strict=True):
            looked = enumerate(best_T[: len(targets[i])])
            found[i] = [(s, t) for t, s in looked if s < len(sources[i])]
    return [found[i] for i in range(len(sources))]
