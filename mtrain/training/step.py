"""One update: gradients of all its micro-batches, clipped, and one step of the optimiser."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mtrain.batches.collate import Batch
from mtrain.model.transformer import Transformer
from mtrain.runtime import seed_from
from mtrain.training.objective import Loss, smoothed_cross_entropy


@dataclass(frozen=True)
class UpdateReport:
    """What one update saw. `loss` and `nll` are sums over target tokens; tensors stay on the device until read."""

    loss: Tensor
    nll: Tensor
    gradient_norm: Tensor
    target_tokens: int
    real_tokens: int
    padded_tokens: int


def batch_loss(model: Transformer, batch: Batch, smoothing: float, precision: torch.dtype) -> Loss:
    """Return the summed loss of one micro-batch, its matrix products computed in `precision`."""
    device_type = batch.tgt_in_BT.device.type
    with torch.autocast(device_type, dtype=precision, enabled=precision is not torch.float32):
        hidden_BTD = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
        hidden_MD = hidden_BTD.flatten(0, 1).index_select(0, batch.real_M)
        return smoothed_cross_entropy(hidden_MD, model.output.weight, batch.labels_M, smoothing)


@dataclass(frozen=True)
class Updater:
    """Turns micro-batches into updates of one model. Dropout at update u is a function of (seed, u, micro-batch)."""

    model: Transformer
    optimizer: torch.optim.Adam
    smoothing: float
    clip_norm: float
    precision: torch.dtype
    seed: int

    def update(self, number: int, batches: Sequence[Batch], learning_rate: float) -> UpdateReport:
        """Make update `number`.

        The gradient is that of the loss summed over all micro-batches, divided once by all their target tokens.
        """
        self.model.train()
        device = self.model.output.weight.device
        target_tokens = sum(batch.target_tokens for batch in batches)
        losses = []
        for index, batch in enumerate(batches):
            seed_from(self.seed, "update", number, index)
            loss = batch_loss(self.model, batch.to(device), self.smoothing, self.precision)
            (loss.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
            losses.append(Loss(loss.smoothed.detach(), loss.nll))
        gradient_norm = self._clip()
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        return UpdateReport(
            loss=torch.stack([loss.smoothed for loss in losses]).sum(),
            nll=torch.stack([loss.nll for loss in losses]).sum(),
            gradient_norm=gradient_norm,
            target_tokens=target_tokens,
            real_tokens=target_tokens + sum(batch.source_tokens for batch in batches),
            padded_tokens=sum(batch.padded_tokens for batch in batches),
        )

    def _clip(self) -> Tensor:
        limit = self.clip_norm or float("inf")
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit, foreach=True)
