"""A model's weights as named tensors, in memory and on disk: a matrix that serves in several places stands once."""

from pathlib import Path

import safetensors.torch
from torch import Tensor

from mtrain.errors import MtrainError
from mtrain.model.transformer import Transformer


def named_weights(model: Transformer) -> dict[str, Tensor]:
    """Return every parameter once, under its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def restore_weights(model: Transformer, weights: dict[str, Tensor], where: str, error: type[MtrainError]) -> None:
    """Copy `weights` into the model. Raises: `error` where names or shapes differ; `where` is named in it."""
    own = named_weights(model)
    wrong = sorted(own.keys() ^ weights.keys()) or [name for name in own if own[name].shape != weights[name].shape]
    if wrong:
        raise error(f"{where}: its weights are not those of this model; {len(wrong)} differ, such as {wrong[0]}.")
    for name, parameter in own.items():
        parameter.copy_(weights[name])


def save_tensors(tensors: dict[str, Tensor], file: Path) -> None:
    """Write a safetensors file as any other file: `safetensors.save_file` makes it unreadable to others.

    Raises: OSError, as where the disk is full.
    """
    file.write_bytes(safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}))
