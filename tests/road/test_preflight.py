"""What would fail later fails before the first update, or is got round."""

import errno

import pytest
import torch

from mtrain.commands.fit import fit
from mtrain.commands.prepare import prepare
from mtrain.errors import CheckpointError, TrainingError
from mtrain.training import checkpoint, step
from mtrain.training.processes import Processes

SIGNS = [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory: you")]


def with_memory_for(tokens, monkeypatch, sign=SIGNS[0]):
    def loss(model, batch, *rest, original=step.batch_loss):
        if model.training and batch.tgt_in_BT.numel() > tokens:
            raise sign
        return original(model, batch, *rest)

    monkeypatch.setattr(step, "batch_loss", loss)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_memory_too_small_for_a_batch_takes_it_in_pieces(digits, load, monkeypatch, capsys, sign):
    file = digits()
    prepare(load(file))
    with_memory_for(300, monkeypatch, sign)
    fit(load(file, "training.max_updates=4"))
    said = capsys.readouterr().err
    assert "computed in 4 pieces, which add up to the same loss" in said
    assert "training ends after update 4" in said


def test_a_memory_too_small_for_one_pair_is_a_clear_end(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))
    with_memory_for(0, monkeypatch)
    with pytest.raises(TrainingError, match=r"out of memory with one pair of \d+ tokens"):
        fit(load(file))


def test_a_memory_too_small_for_shared_weights_is_a_clear_end(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))
    with_memory_for(300, monkeypatch)
    monkeypatch.setattr("mtrain.commands.fit.join_processes", lambda *_: Processes(share_weights=True))
    monkeypatch.setattr("mtrain.commands.fit.share_out", lambda *_: None)
    with pytest.raises(TrainingError, match=r"out of memory with \d+ pairs.*fsdp.*Lower batches\.max_tokens_per_batch"):
        fit(load(file))


def test_a_full_disk_is_noticed_before_the_first_update(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))

    def full(tensors, part):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_tensors", full)
    with pytest.raises(CheckpointError, match=r"cannot be saved: .*No space left.*There is no checkpoint yet"):
        fit(load(file))
    assert (file.parent / "run" / "metrics.jsonl").exists() is False


def test_a_disk_that_fills_up_later_leaves_the_older_checkpoint_whole(digits, load, monkeypatch):
    file = digits()
    prepare(load(file))

    def filling(tensors, part, original=checkpoint.save_tensors):
        if "00000008" in str(part):
            part.write_bytes(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        original(tensors, part)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_tensors", filling)
        with pytest.raises(CheckpointError, match=r"update-00000008: cannot be written.*update-00000004, is whole"):
            fit(load(file))
    assert [path.name for path in (file.parent / "run" / "checkpoints").iterdir()] == ["update-00000004"]
    fit(load(file, "training.max_updates=8"))


def test_it_says_what_training_will_take_and_leaves_nothing(digits, load, capsys):
    file = digits()
    prepare(load(file))
    fit(load(file, "training.max_updates=4"))
    said = capsys.readouterr().err
    assert "tried everything once: largest batch" in said
    assert "an epoch" in said
    assert "what is left" in said
    assert [path.name for path in (file.parent / "run" / "checkpoints").iterdir()] == ["update-00000004"]
