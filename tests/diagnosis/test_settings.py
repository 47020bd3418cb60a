"""What is looked at before and in the first updates; that rates and clipping are wrong shows in training only."""

import pytest

from mtrain.diagnosis.settings import check_schedule, check_settings
from mtrain.training.step import Updater


def causes_of(findings):
    return [finding.cause for finding in findings if finding.cause]


def test_a_rate_that_begins_at_its_height_is_found():
    assert causes_of(check_schedule([0.001 * update for update in range(1, 101)], 0.1)) == []
    assert causes_of(check_schedule([0.1] * 100, 0.1)) == ["schedule_flat"]
    assert causes_of(check_schedule([0.1], 0.1)) == []


def test_much_smoothing_is_suspicious():
    assert causes_of(check_schedule([0.1], 0.6)) == ["smoothing_high"]


@pytest.fixture
def first_update(subject):
    """Return the causes that one update shows, made by what `plant` makes of the updater."""

    def find(plant):
        healthy = subject()
        updater = healthy.make_updater()
        plant(updater)
        findings = check_settings(updater, [healthy.make_batch(healthy.sample[:8])], 0.01, 1.0)
        return causes_of(findings)

    return find


def test_a_healthy_update_obeys_its_rate_and_forgets_its_gradient(first_update):
    assert set(first_update(lambda updater: None)) <= {"learning_rate_high"}  # of which one update tells nothing


def test_gradients_that_stay_are_found(first_update):
    def plant(updater):
        updater.optimizer.zero_grad = lambda *_, **__: None

    assert "gradient_kept" in first_update(plant)


def test_a_rate_that_is_not_obeyed_is_found(first_update, monkeypatch):
    monkeypatch.setattr(Updater, "_step", lambda self, rate, norm: self.optimizer.zero_grad())
    assert "rate_ignored" in first_update(lambda updater: None)


def test_gradients_that_are_not_clipped_are_found(first_update):
    def plant(updater):
        updater._clip_norm = 0.0

    assert "not_clipped" in first_update(plant)
