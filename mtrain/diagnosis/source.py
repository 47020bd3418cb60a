"""Whether a trained model translates: its loss with other sentences' sources against that with the true ones."""

import math
from collections.abc import Sequence

import torch

from mtrain.batches.collate import Batch
from mtrain.diagnosis.finding import Findings, judged
from mtrain.model.transformer import Transformer
from mtrain.training.validation import dev_losses

_LEAST_GAIN = 0.05


def check_source(model: Transformer, dev: Sequence[Batch]) -> Findings:
    """Measure both on dev."""
    loss, gain = dev_losses(model, dev, torch.float32)
    ln_V = math.log(model.output.weight.size(0))
    measured = f"{loss:.2f} nats a token on dev, ln V is {ln_V:.2f} (below it)"
    yield judged("the trained model knows more than a fresh one", measured, "" if loss < ln_V else "weights_untrained")
    if gain is not None:
        measured = f"with another sentence's source it loses {gain:.2f} nats a token on dev (at least {_LEAST_GAIN:g})"
        yield judged("the trained model uses its source", measured, "source_ignored" if gain < _LEAST_GAIN else "")
