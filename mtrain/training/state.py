"""Where training stands, and when it stops."""

import math
from dataclasses import dataclass

from mtrain.config.schema import TrainingConfig


@dataclass
class TrainingState:
    """All that a run remembers besides weights and optimiser.

    `position` counts the micro-batches of `epoch` (from 0) already trained on; with the seed it fixes all that follows.
    `planned_updates` is what a budget of `planned_minutes` was found to buy: once it stands in a checkpoint, the run
    no longer depends on the clock.
    """

    update: int = 0
    epoch: int = 0
    position: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    best_loss: float = math.inf
    best_update: int = 0
    validations_without_gain: int = 0
    planned_updates: int = 0
    planned_minutes: float = 0.0

    def note_validation(self, loss: float) -> bool:
        """Take in a dev loss and return whether it is the best so far."""
        if loss < self.best_loss:
            self.best_loss, self.best_update, self.validations_without_gain = loss, self.update, 0
            return True
        self.validations_without_gain += 1
        return False

    def plan(self, config: TrainingConfig) -> bool:
        """Turn a budget in minutes into a number of updates, by the speed so far; False where there is none to turn."""
        if not config.max_minutes or self.planned_minutes == config.max_minutes:
            return False
        self.planned_updates = max(self.update, round(self.update * config.max_minutes * 60 / self.seconds))
        self.planned_minutes = config.max_minutes
        return True

    def total_updates(self, config: TrainingConfig) -> int:
        """Return the updates that this run will have had at its end, as far as that is known; 0 where it is not."""
        planned = self.planned_updates if self.planned_minutes == config.max_minutes else 0
        return min((total for total in (config.max_updates, planned) if total), default=0)


def stop_reason(state: TrainingState, config: TrainingConfig) -> str | None:
    """Return why training is over, or None while it is not."""
    if config.max_updates and state.update >= config.max_updates:
        return f"max_updates: {config.max_updates:,}"
    if config.max_epochs and state.epoch >= config.max_epochs:
        return f"max_epochs: {config.max_epochs}"
    if config.max_minutes and _minutes_are_over(state, config):
        planned = f", planned to be {state.planned_updates:,} updates" if state.planned_minutes else ""
        return f"max_minutes: {config.max_minutes:g}{planned}"
    if config.patience and state.validations_without_gain >= config.patience:
        return f"patience: {config.patience} validations without a better dev loss than update {state.best_update:,}'s"
    return None


def _minutes_are_over(state: TrainingState, config: TrainingConfig) -> bool:
    if state.planned_minutes == config.max_minutes:
        return state.update >= state.planned_updates
    return state.seconds >= config.max_minutes * 60
