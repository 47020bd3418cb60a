"""One update: gradients of all its micro-batches, clipped, and one step of the optimiser."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mtrain.batches.collate import Batch, split_batch, twice
from mtrain.console import warn
from mtrain.errors import CheckpointError
from mtrain.model.transformer import Transformer
from mtrain.model.weights import named_weights, restore_weights
from mtrain.runtime import is_out_of_memory, release_memory, seed_from
from mtrain.training.checkpoint import TensorFiles
from mtrain.training.moving_average import MovingAverage
from mtrain.training.objective import Loss, smoothed_cross_entropy
from mtrain.training.optimizer import Optimizer, optimizer_tensors, restore_optimizer
from mtrain.training.processes import ALONE, Processes
from mtrain.training.sharding import gathered, gathered_in_first, share_like


@dataclass(frozen=True)
class Sums:
    """What one gradient is made of, in all its micro-batches: sums over target tokens, and numbers of tokens.

    Tensors stay on the device until read.
    """

    loss: Tensor
    nll: Tensor
    target_tokens: int
    real_tokens: int
    padded_tokens: int


@dataclass(frozen=True)
class UpdateReport(Sums):
    """What one update saw."""

    gradient_norm: Tensor


def batch_loss(
    model: Transformer, batch: Batch, smoothing: float, precision: torch.dtype, r_drop: float = 0.0
) -> Loss:
    """Return the summed loss of one micro-batch, its matrix products computed in `precision`."""
    device_type = batch.tgt_in_BT.device.type
    with torch.autocast(device_type, dtype=precision, enabled=precision is not torch.float32):
        hidden_BTD = model(batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT)
        hidden_MD = hidden_BTD.flatten(0, 1).index_select(0, batch.real_M)
        return smoothed_cross_entropy(
            hidden_MD, model.output.weight, model.output.bias, batch.labels_M, smoothing, r_drop
        )


class BatchLoss(nn.Module):
    """`batch_loss` as one module, which is what several processes can share the gradients of.

    With R-Drop it is half of that paper's loss: the mean of both passes, so that it stays a sum over target tokens.
    """

    def __init__(self, model: Transformer, smoothing: float, precision: torch.dtype, r_drop: float = 0.0) -> None:
        super().__init__()
        self.model = model
        self._smoothing = smoothing
        self._precision = precision
        self._r_drop = r_drop

    def forward(self, batch: Batch) -> Loss:
        """Return the summed loss of one micro-batch."""
        if not self._r_drop:
            return batch_loss(self.model, batch, self._smoothing, self._precision)
        both = batch_loss(self.model, twice(batch), self._smoothing, self._precision, self._r_drop)
        return Loss(both.smoothed / 2, both.nll / 2)


class Updater:
    """Turns micro-batches into updates of one model. Dropout at update u is a function of (seed, u, micro-batch).

    `pieces` is how many parts each micro-batch is cut into to be computed one after the other: 1 where memory allows.
    """

    def __init__(
        self,
        loss: BatchLoss,
        optimizer: Optimizer,
        clip_norm: float,
        seed: int,
        processes: Processes = ALONE,
        average: MovingAverage | None = None,
    ) -> None:
        self.model = loss.model
        self.optimizer = optimizer
        self.average = average
        self.pieces = 1
        self._loss = processes.parallel(loss)
        self._clip_norm = clip_norm
        self._seed = seed
        self._processes = processes

    def update(self, number: int, batches: Sequence[Batch], learning_rate: float) -> UpdateReport:
        """Make update `number` with this process's micro-batches, of which all processes have equally many.

        The gradient is that of the loss summed over the micro-batches of all, divided once by all their target tokens.
        Where it is not finite, neither weights nor optimiser change; the report's gradient norm tells.
        """
        sums = self._gradient_that_fits(number, batches)
        gradient_norm = self._clip()
        self._step(learning_rate, gradient_norm)
        if self.average:
            self.average.take_in(number)
        return UpdateReport(**vars(sums), gradient_norm=gradient_norm)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights, whole in the first process; all processes must ask."""
        return {name: gathered_in_first(weight) for name, weight in named_weights(self.model).items()}

    def tensors(self) -> TensorFiles:
        """Return all that a checkpoint must hold for the next update to be the same, as `weights` does."""
        files = {"optimizer": optimizer_tensors(self.model, self.optimizer)}
        files |= {"average": self.average.weights} if self.average else {}
        whole = {
            file: {name: gathered_in_first(tensor) for name, tensor in tensors.items()}
            for file, tensors in files.items()
        }
        return {"model": self.weights(), **whole}

    def restore(self, tensors: TensorFiles) -> None:
        """Put back what `tensors` returned. Raises: CheckpointError where something is missing."""
        own = named_weights(self.model)
        weights = {name: share_like(weight, own.get(name)) for name, weight in tensors["model"].items()}
        restore_weights(self.model, weights, "the checkpoint", CheckpointError)
        restore_optimizer(self.model, self.optimizer, tensors["optimizer"])
        if self.average:
            self.average.restore(tensors["average"])

    def gradient(self, number: int, batches: Sequence[Batch], exchanges: bool = True) -> Sums:
        """Leave the gradient of update `number` in the parameters, and return what it is made of.

        Without exchange, both are of this process's micro-batches only.
        """
        self.model.train()
        device = self.model.output.weight.device
        among = self._processes if exchanges else ALONE
        tokens = torch.tensor([[batch.target_tokens, batch.source_tokens, batch.padded_tokens] for batch in batches])
        target_tokens, source_tokens, padded_tokens = among.total(tokens.sum(0)).tolist()
        losses = torch.zeros(2, device=device)
        parts = list(self._parts(batches))
        for index, part, batch in parts:
            seed_from(self._seed, "update", number, index, *([part] if part else []))
            last = (index, part) == parts[-1][:2]
            with nullcontext() if last and exchanges else self._processes.silence(self._loss):
                loss = self._loss(batch.to(device))
                (loss.smoothed * (self._processes.count / target_tokens)).backward()
            losses += torch.stack((loss.smoothed.detach(), loss.nll))
        loss_sum, nll_sum = among.total(losses)
        return Sums(loss_sum, nll_sum, target_tokens, target_tokens + source_tokens, padded_tokens)

    def _gradient_that_fits(self, number: int, batches: Sequence[Batch]) -> Sums:
        """Do what `gradient` does, in more pieces where the memory has become too small; several processes cannot."""
        rows = max(len(batch.tgt_in_BT) for batch in batches)
        while True:
            try:
                return self.gradient(number, batches)
            except RuntimeError as error:
                if not is_out_of_memory(error) or self._processes.count > 1 or self.pieces >= rows:
                    raise
            self.optimizer.zero_grad()
            release_memory()
            self.pieces *= 2
            warn(f"update {number:,}: out of memory. From here on each batch is computed in {self.pieces} pieces.")

    def _parts(self, batches: Sequence[Batch]) -> Iterator[tuple[int, int, Batch]]:
        """Yield the micro-batches in pieces, with their index among those of all processes and the piece's number."""
        for place, batch in enumerate(batches):
            index = self._processes.rank + place * self._processes.count
            for part, piece in enumerate(split_batch(batch, self.pieces) if self.pieces > 1 else [batch]):
                yield index, part, piece

    def _clip(self) -> Tensor:
        limit = self._clip_norm or float("inf")
        return gathered(torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit, foreach=True))

    def _step(self, learning_rate: float, gradient_norm: Tensor) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        # Fused Adam leaves everything as it is where this is 1, on the device itself: nobody has to look.
        skip = gradient_norm.isfinite().logical_not().float()
        self.optimizer.found_inf = skip  # type: ignore[union-attr]
        self.optimizer.step()
        self.optimizer.zero_grad()
