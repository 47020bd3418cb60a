"""The story of training, told of updates that are none."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mtrain.config.schema import TrainingConfig
from mtrain.training import loop
from mtrain.training.loop import Training, fit
from mtrain.training.processes import ALONE
from mtrain.training.state import TrainingState
from mtrain.training.validation import DevScores


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool, int]]:
    """Let an update do nothing and take a second; return where each save will note update, passing and plan."""
    clock = SimpleNamespace(now=0.0)

    def update(training: Training, state: TrainingState, journal: object) -> None:
        state.update += 1
        clock.now += 1

    monkeypatch.setattr(loop, "_update", update)
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return []


def training(saved: list[tuple[int, bool, int]], folder: Path, **settings: Any) -> Training:
    """Return what has neither data nor a model."""

    def save(tensors: object, state: TrainingState, passing: bool) -> None:
        saved.append((state.update, passing, state.planned_updates))

    parts: dict[str, Any] = {
        "config": TrainingConfig(**settings),
        "stream": SimpleNamespace(seconds_waited=0.0),
        "tokenizers": {},
        "model": None,
        "updater": SimpleNamespace(tensors=dict),
        "validator": lambda model: DevScores(1.0, None, None, []),
        "checkpoints": SimpleNamespace(save=save, path=lambda update: folder),
    }
    return Training(**parts, processes=ALONE, folder=folder)


@pytest.mark.parametrize(
    ("validate_every_updates", "expected"),
    [
        (1000, [(6, True, 60), (60, False, 60)]),
        (20, [(20, False, 60), (60, False, 60)]),
    ],
)
def test_a_budget_in_minutes_is_planned_in_time_and_the_plan_is_saved(
    validate_every_updates, expected, saved, tmp_path
):
    settings = {"max_updates": 0, "max_minutes": 1.0, "save_every_updates": 1000}
    fit(training(saved, tmp_path, validate_every_updates=validate_every_updates, **settings), TrainingState())
    assert saved == expected


@pytest.mark.parametrize("limit", [{"max_updates": 60}, {"max_updates": 0, "max_minutes": 1.0}])
def test_a_warmup_longer_than_the_run_is_told(limit, saved, tmp_path, capsys):
    fit(training(saved, tmp_path, **limit, warmup_updates=59), TrainingState())
    assert "warmup_updates" not in capsys.readouterr().err
    fit(training(saved, tmp_path, **limit, warmup_updates=60), TrainingState())
    assert "warmup_updates: 60 updates of warm-up are not over when training ends after 60" in capsys.readouterr().err
