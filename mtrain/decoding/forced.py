"""How probable a model finds a translation that is given to it, and what it looks at meanwhile."""

import torch
from torch import Tensor

from mtrain.batches.collate import Batch
from mtrain.decoding.steps import NEVER_SAID
from mtrain.model.attention import watched
from mtrain.model.transformer import Transformer


@torch.inference_mode()
def forced_log_probabilities(model: Transformer, batch: Batch) -> Tensor:
    """Return the log-probability_B (nats) of each target, EOS included.

    As in the search, what is never said has no probability: this over the length penalty is the score that a search
    would report.
    """
    hidden_BTD = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    logits_MV = model.logits(hidden_BTD.flatten(0, 1)[batch.real_M]).float()
    logits_MV[:, NEVER_SAID] = float("-inf")
    nll_M = torch.nn.functional.cross_entropy(logits_MV, batch.labels_M, reduction="none")
    B, T = batch.tgt_in_BT.shape
    sums_B = torch.zeros(B, device=nll_M.device)
    return sums_B.index_add_(0, batch.real_M // T, -nll_M)


@torch.inference_mode()
def cross_attention(model: Transformer, batch: Batch) -> Tensor:
    """Return attention_BTS: what each target position looks at while it predicts, in the layer that aligns best."""
    decoder = model.decoder
    with watched([decoder.cross_attentions[decoder.aligning_layer]]) as seen:
        model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
    return seen[0][0].mean(1)
