"""Kernels that `torch.compile` makes for the model's layers."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import nn

from mtrain.errors import ConfigError

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_layers(layers: Iterable[nn.Module], device: torch.device) -> None:
    """Have the layers compiled where they are, for any number of rows and positions; no weight gets another name.

    Raises: ConfigError where nothing can be compiled here.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's compiler warns of itself while it is loaded
            torch.compile(torch.sin)(torch.ones(2, device=device))
    except RuntimeError as error:
        cause = " ".join(str(error).partition("\n\n")[0].split())
        raise ConfigError(
            f"training.compile: PyTorch cannot compile on this machine ({cause}). Install a C++ compiler such as g++ "
            "(for a GPU, Triton too), or set training.compile=false."
        ) from error
    for layer in layers:
        layer.compile(dynamic=True)


def uncompiled(function: Function) -> Function:
    """Return the function so that layers compute as they are written in it: dev is too short to make kernels for."""
    eager: Function = torch.compiler.set_stance("force_eager")(function)
    return eager
