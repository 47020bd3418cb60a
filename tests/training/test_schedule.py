"""Learning rates: values worked out by hand, and the rules that hold between settings."""

import math

import pytest

from mtrain.config.check import check_config
from mtrain.config.schema import Config, CorpusConfig, TrainingConfig
from mtrain.training.schedule import learning_rate

WITH_A_PEAK = ["inverse_sqrt", "cosine", "linear", "constant"]


def rate(schedule, update, total=0, **settings):
    config = TrainingConfig(**{"schedule": schedule, "learning_rate": 8e-4, "warmup_updates": 4, **settings})
    return learning_rate(config, update, total, 256)


# Peak 8, warm-up 4 updates, 19 in all: 16 steps from the peak at update 4 to the zero at update 20, which is not made.
@pytest.mark.parametrize(
    ("schedule", "by_update"),
    [
        ("inverse_sqrt", {1: 2.0, 3: 6.0, 4: 8.0, 9: 8 * 2 / 3, 16: 4.0, 64: 2.0}),
        ("cosine", {1: 2.0, 4: 8.0, 8: 4 + 4 * math.sqrt(0.5), 12: 4.0, 16: 4 - 4 * math.sqrt(0.5), 20: 0.0, 99: 0.0}),
        ("linear", {1: 2.0, 4: 8.0, 8: 6.0, 12: 4.0, 19: 0.5, 20: 0.0, 99: 0.0}),
        ("constant", {1: 2.0, 2: 4.0, 4: 8.0, 5: 8.0, 19: 8.0, 1000: 8.0}),
    ],
)
def test_each_schedule_gives_the_values_worked_out_by_hand(schedule, by_update):
    for update, expected in by_update.items():
        assert rate(schedule, update, 19) == pytest.approx(expected * 1e-4, abs=1e-12), update


def test_noam_is_the_papers_whatever_the_peak_of_the_others():
    # d_model 256: its root is 16; at update 1 the rate is 4^-1.5 = 1/8 of that, at 4 and 16 it is 1/2 and 1/4.
    for update, expected in {1: 1 / 128, 4: 1 / 32, 16: 1 / 64}.items():
        assert rate("noam", update) == rate("noam", update, learning_rate=1.0) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["noam", *WITH_A_PEAK])
def test_the_peak_is_reached_at_the_end_of_warmup_and_never_passed(schedule):
    rates = [rate(schedule, update, 40) for update in range(1, 41)]
    assert rates[3] == max(rates) == pytest.approx(8e-4 if schedule != "noam" else 1 / 32)
    assert rates[:4] == sorted(set(rates[:4]))
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert rates[-1] > 0


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_while_the_end_is_unknown_the_rate_stays_at_its_peak(schedule):
    assert rate(schedule, 2) == pytest.approx(4e-4)
    assert rate(schedule, 4) == rate(schedule, 1000) == pytest.approx(8e-4)


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
@pytest.mark.parametrize("total", [1, 3, 4, 5])
def test_a_run_that_ends_with_its_warmup_still_learns(schedule, total):
    rates = [rate(schedule, update, total) for update in range(1, total + 1)]
    assert rates[:4] == pytest.approx([2e-4, 4e-4, 6e-4, 8e-4][:total])
    assert rates[-1] > 0


@pytest.mark.parametrize("schedule", ["noam", *WITH_A_PEAK])
def test_the_rate_depends_on_the_update_alone_and_the_scale_is_a_factor_on_it(schedule):
    there = [rate(schedule, update, 30) for update in range(1, 31)]
    back = [rate(schedule, update, 30) for update in range(30, 0, -1)]
    assert there == back[::-1]
    halved = [rate(schedule, update, 30, learning_rate_scale=0.5) for update in range(1, 31)]
    assert halved == pytest.approx([whole / 2 for whole in there])


@pytest.mark.parametrize("schedule", ["noam", "inverse_sqrt", "constant"])
def test_the_cooldown_multiplies_what_the_schedule_says(schedule):
    for update, factor in {1: 1.0, 10: 1.0, 16: 0.5, 20: 0.1}.items():
        assert rate(schedule, update, 20, cooldown=0.5) == pytest.approx(factor * rate(schedule, update, 20))
    assert rate(schedule, 16, 0, cooldown=0.5) == rate(schedule, 16)


def broken_rules(**training):
    return check_config(Config(corpus=CorpusConfig(train=("a.zh", "a.en")), training=TrainingConfig(**training)))


@pytest.mark.parametrize(
    ("settings", "keys", "text"),
    [
        (
            {"schedule": "cosine", "max_updates": 0, "max_epochs": 3},
            "training.schedule",
            "cosine needs an end to fall towards; set training.max_updates or training.max_minutes",
        ),
        (
            {"cooldown": 0.5, "max_updates": 0, "max_epochs": 3},
            "training.cooldown",
            "training.cooldown needs an end to fall towards; set training.max_updates or training.max_minutes",
        ),
        (
            {"schedule": "linear", "cooldown": 0.5},
            "training.cooldown training.schedule",
            "linear falls to zero by itself; set training.cooldown 0 or another training.schedule",
        ),
        (
            {"learning_rate": 3e-4},
            "training.learning_rate training.schedule",
            "noam has its own peak; set another training.schedule, or training.learning_rate_scale instead",
        ),
        (
            {"weight_decay": 0.1},
            "training.weight_decay training.optimizer",
            "0.1 is for adamw and muon; set training.optimizer to one of them, or this to 0",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_told(settings, keys, text):
    assert broken_rules(**settings) == [(tuple(keys.split()), text)]


@pytest.mark.parametrize("schedule", WITH_A_PEAK)
def test_settings_that_agree_are_not(schedule):
    settings = {"schedule": schedule, "learning_rate": 3e-4, "optimizer": "adamw", "weight_decay": 0.1}
    assert broken_rules(**settings) == []
    assert broken_rules(**settings, max_updates=0, max_minutes=30.0) == []
    if schedule in ("inverse_sqrt", "constant"):
        assert broken_rules(**settings, cooldown=0.5) == []
