"""TensorBoard beside the journal: the same numbers, no point twice, and a clear line where it is not installed."""

import json
import sys

import pytest

from mtrain.config.schema import TrainingConfig
from mtrain.errors import TrainingError
from mtrain.training.journal import Journal
from mtrain.training.state import TrainingState
from mtrain.training.tensorboard import TensorBoard
from mtrain.training.validation import DevScores


def curves(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder), size_guidance={accumulator.SCALARS: 0})
    events.Reload()
    return {
        tag: [(event.step, pytest.approx(event.value, rel=1e-6)) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def journal_curves(file):
    found = {}
    for line in file.read_text("utf-8").split("\n")[:-1]:
        record = json.loads(line)
        kind, update = record.pop("kind"), record.pop("update")
        for name, number in record.items():
            if number is not None:
                found.setdefault(f"{kind}/{name}", []).append((update, number))
    return found


def validate_at(run, done, updates, config):
    """Go on from update `done` and write a validation after each of `updates`."""
    with Journal(run / "metrics.jsonl", TrainingState(update=done), config) as journal:
        for update in updates:
            state = TrainingState(update=update, seconds=1.26 * update)
            journal.write_validation(state, DevScores(5.0 / update + done, None, 10.0 + update, []), is_best=False)


def test_tensorboard_shows_what_the_journal_says_also_after_an_interruption(tmp_path):
    pytest.importorskip("tensorboard")
    config = TrainingConfig(tensorboard=True)
    validate_at(tmp_path, 0, [2, 4, 6, 8], config)
    before = journal_curves(tmp_path / "metrics.jsonl")
    validate_at(tmp_path, 4, [6, 8, 10], config)
    expected = journal_curves(tmp_path / "metrics.jsonl")
    assert [update for update, _ in expected["validation/dev_bleu"]] == [2, 4, 6, 8, 10]
    assert expected["validation/dev_loss"][:4] != before["validation/dev_loss"]
    assert "validation/dev_gain_from_source" not in expected
    assert curves(tmp_path / "tensorboard") == expected


def test_nothing_is_written_for_tensorboard_unasked(tmp_path):
    validate_at(tmp_path, 0, [2], TrainingConfig())
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_where_tensorboard_is_not_installed_that_is_said_with_its_cure(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(TrainingError, match=r'^training\.tensorboard: .*pip install "mtrain\[tensorboard\]"'):
        TensorBoard(tmp_path / "tensorboard", 0)
    assert not (tmp_path / "tensorboard").exists()
