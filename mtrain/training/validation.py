"""How good the model is on dev: the loss, and whether the source matters for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from mtrain.batches.collate import Batch, SourceBatch
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

    `shuffled_loss` is the loss with each target beside another sentence's source: a model that translates finds it
    much worse, a mere language model does not.
    """

    loss: float
    shuffled_loss: float
    bleu: float | None
    samples: Sequence[Sample]

    @property
    def source_gain(self) -> float:
        """What knowing the source is worth, in nats per target token."""
        return self.shuffled_loss - self.loss


Validator = Callable[[Transformer], DevScores]


@torch.no_grad()
def dev_losses(model: Transformer, batches: Sequence[Batch], precision: torch.dtype) -> tuple[float, float]:
    """Return the loss per target token with true and with shuffled sources, without dropout."""
    model.eval()
    tokens = sum(batch.target_tokens for batch in batches)
    true = sum(batch_loss(model, batch, 0.0, precision).nll.item() for batch in batches)
    shuffled = sum(batch_loss(model, _with_shuffled_sources(batch), 0.0, precision).nll.item() for batch in batches)
    return true / tokens, shuffled / tokens


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
