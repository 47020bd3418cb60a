"""What every format is asked for, and what several of them want otherwise than mtrain keeps it."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mtrain.config.schema import DecodingConfig
from mtrain.errors import ExportError
from mtrain.model.attention import MultiHeadAttention
from mtrain.model.bundle import Bundle
from mtrain.model.embedding import TokenEmbedding
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import BOS, PAD, UNK

# Where positions are added to embeddings, these formats hold a table of them: so many.
POSITIONS = 2048
# What a piece that is never said has on the output layer's bias: its probability is 0 in every type of number.
NEVER = -1e4


class Said(NamedTuple):
    """A translation by another program, and the mean log-probability (nats) of its tokens, its end included."""

    text: str
    score: float


# (lines as the tokenizer reads them, beam, most tokens of a translation without its end) to translations, by the
# program that an export is for.
Runtime = Callable[[Sequence[str], int, int], list[Said]]


class Target(NamedTuple):
    """One format: the packages it needs, its types of numbers, and what can be done.

    `refuse` raises ExportError where the format has no place for a model; `write` fills an empty folder; `open` loads
    what is in it, for mtrain's own check.
    """

    title: str
    packages: tuple[str, ...]
    quantizations: tuple[str, ...]
    refuse: Callable[[Bundle], None]
    write: Callable[[Bundle, DecodingConfig, str, Path], None]
    open: Callable[[Path, Bundle], Runtime]


def check_installed(extra: str, packages: Sequence[str]) -> None:
    """Raise ExportError, naming the extra of mtrain that brings them, where a package is not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ExportError(f'{extra}: {missing[0]} is not installed. Run pip install "mtrain[{extra}]"')


def refuse(target: str, setting: str, found: object, reason: str) -> ExportError:
    """Return the error for a model that `target` has no place for."""
    return ExportError(f"model.{setting}: {found}: {target} has no place for such a model: {reason}")


def position_table(embedding: TokenEmbedding) -> Tensor:
    """Return what is added to the embeddings of the first positions. Shapes: (POSITIONS, D)."""
    blank_1TD = torch.zeros(1, POSITIONS, embedding.weight.size(1))
    table_1TD: Tensor = embedding.positions(blank_1TD)
    return table_1TD[0]


def output_bias(model: Transformer) -> Tensor:
    """Return the output layer's bias_V with all that is never said ruled out, as in mtrain's own search."""
    weight_VD, bias_V = model.output.weight, model.output.bias
    never_V = torch.zeros(weight_VD.size(0)) if bias_V is None else bias_V.detach().clone()
    never_V[[PAD, UNK, BOS]] = NEVER
    return never_V


def projections(attention: MultiHeadAttention) -> dict[str, tuple[Tensor, Tensor]]:
    """Return weight and bias of query, key, value and output, by these names."""
    keys_values = zip(attention.key_value.weight.chunk(2), attention.key_value.bias.chunk(2), strict=True)
    key, value = keys_values
    query, output = attention.query, attention.output
    return {"query": (query.weight, query.bias), "key": key, "value": value, "output": (output.weight, output.bias)}
