"""The story of training, to be read aloud."""

import signal
import time
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

from mtrain.batches.stream import TrainingStream
from mtrain.config.schema import TrainingConfig
from mtrain.console import say, warn
from mtrain.errors import CheckpointError, Interrupted, TrainingError
from mtrain.model.transformer import Transformer
from mtrain.model.weights import restore_weights
from mtrain.runtime import is_out_of_memory
from mtrain.tokenizer import Tokenizers
from mtrain.training.checkpoint import Checkpoints
from mtrain.training.interruption import Interruption, interruption
from mtrain.training.journal import Journal
from mtrain.training.nonfinite import blown_up, write_pairs
from mtrain.training.processes import Processes
from mtrain.training.schedule import learning_rate as scheduled
from mtrain.training.state import TrainingState, forgets, stop_reason
from mtrain.training.step import Updater
from mtrain.training.validation import Validator


@dataclass(frozen=True)
class Training:
    """What a run is made of.

    `model` is the one that the updater trains; where the processes hold shares of that, it is another, to copy.
    """

    config: TrainingConfig
    stream: TrainingStream
    tokenizers: Tokenizers
    model: Transformer
    updater: Updater
    validator: Validator
    checkpoints: Checkpoints
    processes: Processes
    folder: Path

    def resume(self) -> TrainingState:
        """Put the latest checkpoint, where there is one, into the updater and return where training stands."""
        state = TrainingState()
        if found := self.checkpoints.load_latest():
            tensors, state = found
            self.updater.restore(tensors)
        if self.processes.agree(asdict(state)) != asdict(state):
            raise CheckpointError(
                f"{self.checkpoints.folder}: this process finds another latest checkpoint (update {state.update}) than "
                "the first one. Let all processes see the same run.folder."
            )
        return state

    def save(self, state: TrainingState, passing: bool = False) -> None:
        """Write a checkpoint, in the process that writes."""
        tensors = self.updater.tensors()
        if self.processes.is_first:
            self.checkpoints.save(tensors, state, passing)

    def whole_model(self) -> Transformer:
        """Return the model as it stands, for the first process to translate with; all processes must ask."""
        if not self.processes.share_weights:
            return self.model
        weights = self.updater.weights()
        if not self.processes.is_first:
            return self.model
        whole = deepcopy(self.model)
        restore_weights(whole, weights, "the shares of all processes", CheckpointError)
        return whole.to(self.updater.model.output.weight.device)


def fit(training: Training, state: TrainingState) -> str:
    """Train from `state` on until there is a reason to stop; return that reason.

    Raises: Interrupted where a signal asked for an end; TrainingError where gradients stay non-finite.
    """
    config, processes = training.config, training.processes
    _warn_of_warmup(state, config)
    metrics_file = training.folder / "metrics.jsonl" if processes.is_first else None
    with Journal(metrics_file, state, config) as journal, interruption(processes.count == 1) as asked:
        began = time.perf_counter() - state.seconds
        saved_at = state.seconds
        if config.guard and state.guarded_at_start is None:
            _validate(training, state, journal, began)
            training.save(state)
            journal.start_interval()
        while (reason := stop_reason(state, config)) is None:
            _update(training, state, journal)
            (state.seconds,) = processes.largest(time.perf_counter() - began)
            ends = stop_reason(state, config) is not None
            validates = ends or state.update % config.validate_every_updates == 0
            saves = ends or state.update % config.save_every_updates == 0
            if validates or saves or state.update % config.log_every_updates == 0:
                _write_interval(training, state, journal)
            is_best = validates and _validate(training, state, journal, began)
            plans = (validates or state.must_plan(config)) and _plan(state, config)
            signal_number = _asked_to_end(processes, asked)
            if saves or is_best or stop_reason(state, config):
                training.save(state)
                saved_at = state.seconds
            elif plans or signal_number or 0 < config.save_every_minutes <= (state.seconds - saved_at) / 60:
                training.save(state, passing=True)
                saved_at = state.seconds
            if signal_number:
                _write_interval(training, state, journal)
                raise _interrupted(processes, state, signal_number)
            if validates or saves:
                journal.start_interval()
        if processes.agree(not training.checkpoints.path(state.update).is_dir()):
            # Interrupted between two checkpoints, and now told to end just there.
            _validate(training, state, journal, began)
            training.save(state)
        if signal_number := _asked_to_end(processes, asked):
            raise _interrupted(processes, state, signal_number)
    return reason


def _asked_to_end(processes: Processes, asked: Interruption) -> int:
    """Return the signal that any process has got, 0 for none."""
    return int(processes.largest(asked.signal)[0])


def _update(training: Training, state: TrainingState, journal: Journal) -> None:
    """Make the next update and move the state behind it."""
    batches = training.stream.take(state.epoch, state.position, training.config.accumulate)
    learning_rate = _learning_rate(training.config, state, training.updater.model.d_model)
    try:
        report = training.updater.update(state.update + 1, batches, learning_rate)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            f"update {state.update + 1}: out of memory. Run the same command again: what training remembers is then in "
            "memory from the start, and batches are cut to what is left. Or lower batches.max_tokens_per_batch."
        ) from error
    journal.record(report, state, learning_rate)
    state.update += 1
    state.target_tokens += report.target_tokens
    state.position += training.config.accumulate
    if state.position >= training.stream.epoch_length(state.epoch):
        state.epoch, state.position = state.epoch + 1, 0
        say(f"update {state.update:>6,}  epoch {state.epoch} is over")


def _write_interval(training: Training, state: TrainingState, journal: Journal) -> None:
    # For whom waits longest, all others wait.
    (seconds_waited,) = training.processes.largest(training.stream.seconds_waited)
    bad = journal.write_interval(state, seconds_waited)
    if bad:
        file = training.folder / f"non-finite-update-{bad.update}.tsv"
        if training.processes.is_first:
            batches = training.stream.of_all(bad.epoch, bad.position, training.config.accumulate)
            write_pairs(batches, training.tokenizers, file)
        raise blown_up(bad.update, file)


def _validate(training: Training, state: TrainingState, journal: Journal, began: float) -> bool:
    """Let the first process look at dev, and all take over what it found; return whether this is the best so far."""
    model = training.whole_model()
    if training.processes.is_first:
        scores = training.validator(model)
        if training.config.guard:
            state.note_guarded(scores.by_corpus[training.config.guard])
        is_best = state.note_validation(scores.loss, forgets(state.guarded_rise, training.config))
        journal.write_validation(state, scores, is_best)
        state.seconds = time.perf_counter() - began
    vars(state).update(training.processes.agree(asdict(state)))
    return state.best_update == state.update


def _plan(state: TrainingState, config: TrainingConfig) -> bool:
    """Plan a budget in minutes, in all processes alike, by what they agree on; return whether that is to be saved."""
    if not state.plan(config):
        return False
    say(f"{config.max_minutes:g} minutes are about {state.planned_updates:,} updates; it ends there")
    _warn_of_warmup(state, config)
    return True


def _warn_of_warmup(state: TrainingState, config: TrainingConfig) -> None:
    total, warmup = state.total_updates(config), config.warmup_updates
    if 0 < total <= warmup:
        warn(
            f"training.warmup_updates: {warmup:,} updates of warm-up are not over when training ends after {total:,}: "
            f"the learning rate stays low. Set it to a tenth of them, {max(total // 10, 1):,}, or train longer."
        )


def _interrupted(processes: Processes, state: TrainingState, signal_number: int) -> Interrupted:
    processes.wait()  # a launcher that sees one of them end may end the one that saves
    name = signal.Signals(signal_number).name
    text = f"stopped by {name} after update {state.update:,}, all saved; run the same command again to go on"
    return Interrupted(text, signal_number)


def _learning_rate(config: TrainingConfig, state: TrainingState, d_model: int) -> float:
    """Return the learning rate of the update to come."""
    return scheduled(config, state.update + 1, state.total_updates(config), d_model)
