"""Where training stands, and when it stops."""

import math
from dataclasses import dataclass

from mtrain.config.schema import TrainingConfig

# The share of a budget in minutes after which its speed is known, validations apart.
_ENOUGH_TO_PLAN = 0.1


@dataclass
class TrainingState:
    """All that a run remembers besides weights and optimiser.

    `position` counts the micro-batches of `epoch` (from 0) already trained on; with the seed it fixes all that follows.
    `planned_updates` is what a budget of `planned_minutes` was found to buy: once it stands in a checkpoint, the run
    no longer depends on the clock. `guarded_rise` is how much the dev loss of the guarded corpus is above that at the
    start.
    """

    update: int = 0
    epoch: int = 0
    position: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    best_loss: float = math.inf
    best_update: int = 0
    validations_without_gain: int = 0
    guarded_at_start: float | None = None
    guarded_rise: float = 0.0
    planned_updates: int = 0
    planned_minutes: float = 0.0

    def rise(self, guarded_loss: float) -> float:
        """Return how much this dev loss of the guarded corpus is above that before the first update."""
        return 0.0 if self.guarded_at_start is None else guarded_loss - self.guarded_at_start

    def note_guarded(self, loss: float) -> None:
        """Take in the dev loss of the corpus that must not be forgotten."""
        self.guarded_rise = self.rise(loss)
        if self.guarded_at_start is None:
            self.guarded_at_start = loss

    def note_validation(self, loss: float, forgets: bool = False) -> bool:
        """Take in a dev loss and return whether it is the best so far of a model that has forgotten nothing."""
        if loss < self.best_loss and not forgets:
            self.best_loss, self.best_update, self.validations_without_gain = loss, self.update, 0
            return True
        self.validations_without_gain += 1
        return False

    def must_plan(self, config: TrainingConfig) -> bool:
        """Tell whether to plan before a validation has shown what they take: the next comes late in the budget."""
        share = self.seconds / (60 * config.max_minutes) if config.max_minutes else 0.0
        every = config.validate_every_updates
        next_validation = (self.update // every + 1) * every
        return share >= _ENOUGH_TO_PLAN and next_validation > self.update / share / 2

    def plan(self, config: TrainingConfig) -> bool:
        """Turn a budget in minutes into a number of updates, by the speed so far; False where there is none to turn."""
        if not config.max_minutes or not self.update or self.planned_minutes == config.max_minutes:
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
    if config.guard and forgets(state.guarded_rise, config):
        return f"guard: the dev loss of {config.guard} has risen by {state.guarded_rise:.3f}"
    if config.patience and state.validations_without_gain >= config.patience:
        return f"patience: {config.patience} validations without a better dev loss than update {state.best_update:,}'s"
    return None


def forgets(guarded_rise: float, config: TrainingConfig) -> bool:
    """Tell whether the guarded corpus' dev loss has risen too far, or is no number any more."""
    return not guarded_rise <= config.guard_tolerance


def _minutes_are_over(state: TrainingState, config: TrainingConfig) -> bool:
    if state.planned_minutes == config.max_minutes:
        return state.update >= state.planned_updates
    return state.seconds >= config.max_minutes * 60
