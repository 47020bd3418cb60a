"""The story of training, to be read aloud."""

import time
from dataclasses import dataclass
from pathlib import Path

from mtrain.batches.stream import TrainingStream
from mtrain.config.schema import TrainingConfig
from mtrain.console import say
from mtrain.training.checkpoint import Checkpoints
from mtrain.training.journal import Journal
from mtrain.training.schedule import cooldown_factor, noam
from mtrain.training.state import TrainingState, stop_reason
from mtrain.training.step import Updater
from mtrain.training.validation import Validator


@dataclass(frozen=True)
class Training:
    """What a run is made of."""

    config: TrainingConfig
    stream: TrainingStream
    updater: Updater
    validator: Validator
    checkpoints: Checkpoints
    metrics_file: Path


def fit(training: Training, state: TrainingState) -> str:
    """Train from `state` on until there is a reason to stop; return that reason."""
    config, model = training.config, training.updater.model
    with Journal(training.metrics_file, state, config) as journal:
        began = time.perf_counter() - state.seconds
        while (reason := stop_reason(state, config)) is None:
            batches = training.stream.take(state.epoch, state.position, config.accumulate)
            learning_rate = _learning_rate(config, state, model.d_model)
            report = training.updater.update(state.update + 1, batches, learning_rate)
            _advance(state, training.stream, len(batches), report.target_tokens)
            state.seconds = time.perf_counter() - began
            journal.record(report, state)

            is_best = False
            ends = stop_reason(state, config) is not None
            validates = ends or state.update % config.validate_every_updates == 0
            saves = ends or state.update % config.save_every_updates == 0
            if validates or saves or state.update % config.log_every_updates == 0:
                journal.write_interval(state, learning_rate)
            if validates:
                scores = training.validator(model)
                is_best = state.note_validation(scores.loss)
                journal.write_validation(state, scores, is_best)
                state.seconds = time.perf_counter() - began
                if state.plan(config):
                    say(f"{config.max_minutes:g} minutes are about {state.planned_updates:,} updates; it ends there")
            if saves or is_best or stop_reason(state, config):
                training.checkpoints.save(model, training.updater.optimizer, state)
            if validates or saves:
                journal.start_interval()
    return reason


def _learning_rate(config: TrainingConfig, state: TrainingState, d_model: int) -> float:
    """Return the learning rate of the update to come."""
    update = state.update + 1
    cooled = cooldown_factor(update, state.total_updates(config), config.cooldown)
    return config.learning_rate_scale * noam(update, d_model, config.warmup_updates) * cooled


def _advance(state: TrainingState, stream: TrainingStream, batches: int, target_tokens: int) -> None:
    state.update += 1
    state.target_tokens += target_tokens
    state.position += batches
    if state.position >= stream.epoch_length(state.epoch):
        state.epoch, state.position = state.epoch + 1, 0
        say(f"update {state.update:>6,}  epoch {state.epoch} is over")
