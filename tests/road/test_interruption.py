"""A run that is asked to end saves what it has; gradients that are no numbers change nothing."""

import json
import math
import os
import signal

import pytest
import torch

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.errors import Interrupted, TrainingError
from mtrain.training import loop, step
from mtrain.training.interruption import interruption


def ask_for_an_end_in(monkeypatch, update, number):
    def updating(training, state, journal, original=loop._update):
        if state.update + 1 == update:
            os.kill(os.getpid(), number)
        original(training, state, journal)

    monkeypatch.setattr(loop, "_update", updating)


def weights(run):
    return (run / "model" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_update_finish_and_the_run_ends_as_its_twin(digits, load, monkeypatch, capsys, number):
    file = digits()
    prepare(load(file))
    fit(load(file, f"run.folder={file.parent}/twin"))
    with monkeypatch.context() as patch:
        ask_for_an_end_in(patch, 14, number)
        with pytest.raises(Interrupted, match=r"after update 14, all saved") as end:
            fit(load(file))
    assert end.value.exit_status == 128 + number
    assert "finished and saved first" in capsys.readouterr().err
    checkpoints = sorted(path.name for path in (file.parent / "run" / "checkpoints").iterdir())
    assert "passing-00000014" in checkpoints
    fit(load(file))
    ends = [file.parent / run for run in ("run", "twin")]
    assert [sorted(path.name for path in (end / "checkpoints").iterdir()) for end in ends].count(
        ["update-00000008", "update-00000012", "update-00000016", "update-00000020", "update-00000024"]
    ) == 2
    assert weights(ends[0]) == weights(ends[1])


def test_told_to_end_where_it_was_interrupted_it_ends_with_a_model(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))
    with monkeypatch.context() as patch:
        ask_for_an_end_in(patch, 3, signal.SIGINT)
        with pytest.raises(Interrupted):
            fit(load(file))
    fit(load(file, "training.max_updates=3"))
    assert [path.name for path in (file.parent / "run" / "checkpoints").iterdir()] == ["update-00000003"]
    assert weights(file.parent / "run")


def test_a_second_signal_ends_at_once(capsys):
    with interruption(repeats_end_at_once=True) as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert "at once" in capsys.readouterr().err


def test_a_checkpoint_is_written_every_so_many_minutes(digits, load):
    file = digits()
    prepare(load(file))
    often = ["training.save_every_minutes=0.000001", "training.save_every_updates=1000", "training.max_updates=6"]
    seen = []

    def saving(self, tensors, state, passing=False, original=loop.Checkpoints.save):
        if self.folder.name == "checkpoints":
            seen.append((state.update, passing))
        original(self, tensors, state, passing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Checkpoints, "save", saving)
        fit(load(file, *often))
    assert seen == [(1, True), (2, True), (3, True), (4, True), (5, True), (6, False)]
    assert [path.name for path in (file.parent / "run" / "checkpoints").iterdir()] == ["update-00000006"]


def spoil(monkeypatch, bad_updates):
    """Make the loss of some updates infinite."""

    def spoilt(self, number, batches, exchanges=True, original=step.Updater.gradient):
        sums = original(self, number, batches, exchanges)
        if number in bad_updates:
            next(self.model.parameters()).grad[0, 0] = math.inf
        return sums

    monkeypatch.setattr(step.Updater, "gradient", spoilt)


def test_an_update_without_a_finite_gradient_changes_nothing_and_is_counted(digits, load, monkeypatch, capsys):
    file = digits()
    prepare(load(file))
    spoil(monkeypatch, {3, 4, 7})
    before = {}

    def remembering(self, learning_rate, gradient_norm, original=step.Updater._step):
        old = [parameter.detach().clone() for parameter in self.model.parameters()]
        original(self, learning_rate, gradient_norm)
        new = list(self.model.parameters())
        before[len(before) + 1] = all(map(torch.equal, old, new))

    monkeypatch.setattr(step.Updater, "_step", remembering)
    fit(load(file, "training.max_updates=10"))
    assert {number for number, unchanged in before.items() if unchanged} == {3, 4, 7}
    records = [json.loads(line) for line in (file.parent / "run" / "metrics.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert sum(record["skipped_updates"] for record in records if record["kind"] == "train") == 3
    assert all(math.isfinite(record["loss"]) for record in records if record["kind"] == "train")
    assert "updates without a finite gradient were skipped" in capsys.readouterr().err


def test_too_many_of_them_in_a_row_end_training_and_leave_the_sentences_as_text(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))
    spoil(monkeypatch, set(range(7, 100)))
    with pytest.raises(TrainingError, match=r"update 11: the gradient is not finite.*non-finite-update-11\.tsv"):
        fit(load(file))
    lines = (file.parent / "run" / "non-finite-update-11.tsv").read_text("utf-8").split("\n")[:-1]
    corpus = (file.parent / "corpus" / "train.source").read_text("utf-8").split("\n")
    assert lines
    for line in lines:
        source, target = line.split("\t")
        assert source in corpus
        assert target == source[::-1]
    assert (file.parent / "run" / "checkpoints" / "update-00000004").is_dir()
