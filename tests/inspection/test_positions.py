"""What the picture of positions shows is what the paper of each kind says."""

import numpy as np
import pytest

from mtrain.inspection.positions import position_view
from mtrain.model.build import build_model
from mtrain.model.positions import sinusoids

MIDDLE = 64


@pytest.fixture
def view(model_config):
    return lambda positions: position_view(build_model(model_config(positions=positions), 40, 40))


def test_sinusoids_are_added_and_scores_know_nothing_of_them(view):
    assert np.array_equal(view("sinusoidal").added_TD, sinusoids(128, 32).numpy())
    assert np.abs(view("sinusoidal").changes_HT).max() < 1e-6


def test_alibi_lowers_scores_with_the_distance_at_each_heads_rate(view):
    added_TD, changes_HT = view("alibi")
    assert not added_TD.any()
    assert changes_HT[:, MIDDLE - 3] == pytest.approx([-3 / 4, -3 / 16, -3 / 64, -3 / 256], abs=1e-5)


def test_rotary_scores_fall_from_the_query_to_both_sides_alike(view):
    changes_HT = view("rotary").changes_HT
    assert changes_HT[:, MIDDLE] == pytest.approx(0, abs=1e-6)
    assert np.allclose(changes_HT[:, MIDDLE - 20 : MIDDLE], changes_HT[:, MIDDLE + 20 : MIDDLE : -1], atol=1e-5)
    assert (changes_HT[:, MIDDLE + 1 : MIDDLE + 4] < -0.01).all()


def test_without_positions_there_is_nothing_to_see(view):
    added_TD, changes_HT = view("none")
    assert not added_TD.any()
    assert np.abs(changes_HT).max() < 1e-6
