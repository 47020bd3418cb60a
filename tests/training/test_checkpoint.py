"""The folder of checkpoints."""

from pathlib import Path

import torch

from mtrain.training.checkpoint import Checkpoints
from mtrain.training.state import TrainingState


def test_what_kills_have_left_goes_with_the_next_checkpoint(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, {}, keep=1)
    tensors = {"model": {"weight": torch.ones(2)}}
    checkpoints.save(tensors, TrainingState(update=4))
    for left in (".passing-00000005.mtrain-partial", ".update-00000006.mtrain-partial", "update-00000004.removed"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "model.safetensors").write_bytes(b"half of it")
    checkpoints.save(tensors, TrainingState(update=8))  # which removes the first
    assert [path.name for path in tmp_path.iterdir()] == ["update-00000008"]
