"""How good the model is on dev: the loss, and whether the source matters for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from mtrain.batches.collate import Batch, SourceBatch
from mtrain.console import progress
from mtrain.model.transformer import Transformer
from mtrain.training.step import batch_loss


@dataclass(frozen=True)
class Sample:
    """One dev sentence, for the eye."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class DevScores:
    """One validation. Losses are nats per target token, unsmoothed.

    `source_gain` is what knowing the source is worth: how much larger the loss is with each target beside another
    sentence's source. A model that translates gains much, a mere language model nothing. None where dev has no two
    sentences that could change places. `by_corpus` are the losses of each dev corpus, where there are several; a
    guarded one has no part in the other figures.
    """

    loss: float
    source_gain: float | None
    bleu: float | None
    samples: Sequence[Sample]
    by_corpus: Mapping[str, float] = field(default_factory=dict)


class Validator(Protocol):
    """Looks at dev; `in_short` only tries whether that works, on very little of it."""

    def __call__(self, model: Transformer, in_short: bool = False) -> DevScores:
        """Return how good the model is."""


@torch.no_grad()
def dev_losses(model: Transformer, batches: Sequence[Batch], precision: torch.dtype) -> tuple[float, float | None]:
    """Return the loss per target token, without dropout, and the gain from the source."""
    model.eval()
    device = model.output.weight.device
    tokens = shuffled_tokens = 0
    loss = gain = 0.0
    for batch in progress(batches, "dev loss", len(batches), "batch"):
        here = batch.to(device)
        nll = batch_loss(model, here, 0.0, precision).nll.item()
        loss, tokens = loss + nll, tokens + batch.target_tokens
        if len(batch.tgt_in_BT) > 1:
            gain += batch_loss(model, _with_shuffled_sources(here), 0.0, precision).nll.item() - nll
            shuffled_tokens += batch.target_tokens
    return loss / tokens, gain / shuffled_tokens if shuffled_tokens else None


def _with_shuffled_sources(batch: Batch) -> Batch:
    source = batch.source
    keep_BS = None if source.keep_BS is None else source.keep_BS.roll(1, 0)
    return Batch(
        SourceBatch(source.src_BS.roll(1, 0), keep_BS),
        batch.tgt_in_BT,
        batch.labels_M,
        batch.real_M,
        batch.source_tokens,
    )
