"""Schedule, stop rules, averaging."""

import math

import pytest
import torch

from mtrain.config.schema import TrainingConfig
from mtrain.training.average import average
from mtrain.training.schedule import cooldown_factor, noam
from mtrain.training.state import TrainingState, stop_reason


def test_noam_rises_to_the_warmup_and_falls_with_the_square_root():
    rates = [noam(update, 512, 4000) for update in range(1, 20_001)]
    assert rates.index(max(rates)) + 1 == 4000
    # Paper section 5.3 with d_model 512 and 4,000 warm-up updates: the peak is 1 / sqrt(512 * 4000).
    assert max(rates) == pytest.approx(1 / math.sqrt(512 * 4000))
    assert rates[1999] == pytest.approx(max(rates) / 2)
    assert rates[15_999] == pytest.approx(max(rates) / 2)


def test_cooldown_falls_to_nearly_zero_over_its_share_and_not_before():
    factors = [cooldown_factor(update, 1000, 0.25) for update in range(1, 1001)]
    assert factors[:750] == [1.0] * 750
    assert factors[874] == pytest.approx(0.5, abs=0.01)
    assert 0 < factors[-1] < 0.01
    assert factors == sorted(factors, reverse=True)
    assert cooldown_factor(1001, 1000, 0.25) == 0.0
    assert cooldown_factor(10, 0, 0.25) == cooldown_factor(10, 20, 0.0) == 1.0


def test_a_budget_in_minutes_becomes_a_number_of_updates_which_then_rules_alone():
    config = TrainingConfig(max_updates=0, max_minutes=10)
    state = TrainingState(update=50, seconds=60.0)
    assert state.total_updates(config) == 0
    state.plan(config)
    assert state.total_updates(config) == 500
    # The machine gets slow, then fast: the plan stays, so that an interrupted run ends where its twin does.
    state.update, state.seconds = 400, 3600.0
    state.plan(config)
    assert state.total_updates(config) == 500
    assert stop_reason(state, config) is None
    state.update = 500
    assert stop_reason(state, config).startswith("max_minutes")
    # A longer budget given to a finished run is planned anew.
    longer = TrainingConfig(max_updates=0, max_minutes=90)
    assert stop_reason(state, longer) is None
    state.plan(longer)
    assert state.total_updates(longer) == 750


@pytest.mark.parametrize(
    ("setting", "reached", "short"),
    [
        ({"max_updates": 10}, {"update": 10}, {"update": 9}),
        ({"max_epochs": 2}, {"epoch": 2}, {"epoch": 1, "position": 99}),
        ({"max_minutes": 0.5}, {"seconds": 30.0}, {"seconds": 29.9}),
        ({"patience": 3}, {"validations_without_gain": 3}, {"validations_without_gain": 2}),
    ],
)
def test_each_stop_rule_stops_when_reached_and_says_its_name(setting, reached, short):
    config = TrainingConfig(**{"max_updates": 0, **setting})
    assert stop_reason(TrainingState(**short), config) is None
    reason = stop_reason(TrainingState(**reached), config)
    assert reason.startswith(next(iter(setting)))


def test_the_best_validation_and_patience_are_remembered():
    state = TrainingState(update=5)
    assert state.note_validation(2.0)
    state.update = 10
    assert not state.note_validation(2.5)
    assert not state.note_validation(2.0)
    assert (state.best_update, state.best_loss, state.validations_without_gain) == (5, 2.0, 2)
    assert state.note_validation(1.9)
    assert state.validations_without_gain == 0


def test_average_is_the_mean_of_each_weight():
    checkpoints = [{"a": torch.full((2, 2), float(i)), "b": torch.tensor([i * 10.0])} for i in (1, 2, 6)]
    mean = average(iter(checkpoints))
    assert torch.equal(mean["a"], torch.full((2, 2), 3.0))
    assert torch.equal(mean["b"], torch.tensor([30.0]))
    assert mean["a"].dtype == torch.float32
