"""Everything once before the first update: what would fail in an hour had better fail now."""

import time
from collections.abc import Sequence

import torch

from mtrain.batches.collate import Batch
from mtrain.console import say, warn
from mtrain.errors import TrainingError
from mtrain.runtime import is_out_of_memory, peak_memory, release_memory
from mtrain.training.loop import Training
from mtrain.training.state import TrainingState


def preflight(training: Training, state: TrainingState) -> None:
    """Try the largest batch, a small validation with translations, saving and loading; say what training will take.

    Where the memory is too small for the largest batch, every batch is computed in more pieces: the same loss, other
    dropout.
    Raises: TrainingError where one sentence pair, or with shared weights one batch, is too large; CheckpointError where
    nothing can be saved.
    """
    largest = training.stream.largest(state.epoch)
    _find_pieces(training, largest)
    ordinary = training.stream.take(state.epoch, state.position, training.config.accumulate)
    seconds = _seconds_of(training, ordinary)
    model, weights = training.whole_model(), training.updater.weights()
    if training.processes.is_first:
        training.validator(model, in_short=True)
        # What Adam remembers is twice as much, and none of it yet before the first update.
        tensors = {"model": weights, "optimizer": weights, "optimizer-more": weights}
        training.checkpoints.rehearse(tensors | ({"average": weights} if training.updater.average else {}))
    _say_estimates(training, state, largest, seconds)


def _find_pieces(training: Training, batch: Batch) -> None:
    """Set the updater's `pieces` to what the largest batch needs, in the process that has least memory."""
    updater, (rows, T) = training.updater, batch.tgt_in_BT.shape
    before = updater.pieces
    while updater.pieces < 2 * rows and not _fits(training, batch):
        updater.pieces *= 2
    (pieces,) = training.processes.largest(updater.pieces)
    if pieces >= 2 * rows:
        raise TrainingError(
            f"out of memory with one pair of {max(batch.source.src_BS.size(1), T)} tokens. Lower "
            "batches.max_tokens_per_sentence, or choose a smaller model."
        )
    updater.pieces = int(pieces)
    if updater.pieces > before:
        warn(
            f"out of memory with {rows} pairs of {T} target tokens: each batch is computed in {updater.pieces} pieces, "
            "which add up to the same loss. A smaller batches.max_tokens_per_batch is a little faster."
        )


def _fits(training: Training, batch: Batch) -> bool:
    """Compute the gradient, beside all that will be in memory during an update: in this process alone, if it can."""
    updater, processes = training.updater, training.processes
    beside = []
    try:
        if not updater.optimizer.state:  # which will hold two numbers a parameter
            beside = [torch.zeros_like(parameter) for parameter in updater.model.parameters() for _ in range(2)]
        # Where micro-batches add up, the gradient of the first is there while the second is computed.
        updater.gradient(0, [batch] * min(2, training.config.accumulate // processes.count), processes.share_weights)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        if processes.share_weights:
            raise TrainingError(
                "out of memory with {} pairs of {} target tokens, and with training.distributed=fsdp batches cannot be "
                "computed in pieces. Lower batches.max_tokens_per_batch.".format(*batch.tgt_in_BT.shape)
            ) from error
        fits = False
    else:
        fits = True
    updater.optimizer.zero_grad()
    del beside
    if not fits:
        release_memory()
    return fits


def _seconds_of(training: Training, batches: Sequence[Batch]) -> float:
    """Return the seconds that an update of ordinary size takes, the optimiser's small part apart."""
    for _ in range(2):  # the first time, kernels are made for these shapes
        began = time.perf_counter()
        training.updater.gradient(0, batches).loss.item()
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
