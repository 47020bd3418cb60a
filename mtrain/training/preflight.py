"""Everything once before the first update: what would fail in an hour had better fail now."""

import time
from collections.abc import Sequence

import torch

from mtrain.batches.collate import Batch
from mtrain.console import say, warn
from mtrain.errors import TrainingError
from mtrain.model.weights import named_weights
from mtrain.runtime import peak_memory
from mtrain.training.loop import Training
from mtrain.training.state import TrainingState


def preflight(training: Training, state: TrainingState) -> None:
    """Try the largest batch, a small validation with translations, saving and loading; say what training will take.

    Where the memory is too small for the largest batch, every batch is computed in more pieces: the same mathematics.
    Raises: TrainingError where one sentence pair is too large; CheckpointError where nothing can be saved.
    """
    largest = training.stream.largest(state.epoch)
    _find_pieces(training, largest)
    ordinary = training.stream.take(state.epoch, state.position, training.config.accumulate)
    seconds = _seconds_of(training, ordinary)
    if training.processes.is_first:
        training.validator(training.updater.model, in_short=True)
        weights = named_weights(training.updater.model)
        # What Adam remembers is twice as much, and none of it yet before the first update.
        training.checkpoints.rehearse({"model": weights, "optimizer": weights, "optimizer-more": weights})
    _say_estimates(training, state, largest, seconds)


def _find_pieces(training: Training, batch: Batch) -> None:
    updater = training.updater
    while True:
        try:
            updater.gradient(0, [batch] * training.processes.count)
            return
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
        finally:
            updater.optimizer.zero_grad()
        rows, T = batch.tgt_in_BT.shape
        if updater.pieces >= rows:
            raise TrainingError(
                f"out of memory with one pair of {max(batch.source.src_BS.size(1), T)} tokens. Lower "
                "batches.max_tokens_per_sentence, or choose a smaller model."
            )
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        updater.pieces *= 2
        warn(
            f"out of memory with {rows} pairs of {T} target tokens: each batch is computed in {updater.pieces} pieces "
            "that add up to the same gradient. A smaller batches.max_tokens_per_batch with as much more "
            "training.accumulate is a little faster."
        )


def _is_out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)


def _seconds_of(training: Training, batches: Sequence[Batch]) -> float:
    """Return the seconds that an update of ordinary size takes, the optimiser's small part apart."""
    for _ in range(2):  # the first time, kernels are made for these shapes
        began = time.perf_counter()
        training.updater.gradient(0, batches)[0].item()
        training.updater.optimizer.zero_grad()
        seconds = time.perf_counter() - began
    return seconds


def _say_estimates(training: Training, state: TrainingState, largest: Batch, seconds: float) -> None:
    rows, T = largest.tgt_in_BT.shape
    memory = peak_memory(training.updater.model.output.weight.device) / 2**30
    updates = -(-training.stream.epoch_length(state.epoch) // training.config.accumulate)
    whole = max(state.total_updates(training.config) - state.update, 0) * seconds
    say(
        f"tried everything once: largest batch {rows} pairs of {T} target tokens, memory so far {memory:.1f} GiB; an "
        f"update takes about {seconds:.2f} s, an epoch {_duration(updates * seconds)}"
        f"{f', what is left {_duration(whole)}' if whole else ''}, validations apart"
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
