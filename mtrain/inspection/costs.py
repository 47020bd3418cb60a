"""What a model costs: multiplications for a token, and memory for an update."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from mtrain.batches.collate import Batch, collate
from mtrain.config.schema import TrainingConfig
from mtrain.console import table
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import BYTES
from mtrain.training.optimizer import build_optimizer
from mtrain.training.step import BatchLoss


class BatchShape(NamedTuple):
    """Rows of a micro-batch and the tokens of each, EOS or BOS included."""

    rows: int
    source: int
    target: int


class Flops(NamedTuple):
    """Floating-point operations of one pair's forward pass: products with weights, and of attention with itself."""

    weights: int
    attention: int

    def of_training(self, target_tokens: int) -> float:
        """Return those of forward and backward for each target token.

        Backward makes two products for each one of forward: for the gradient of either factor.
        """
        return 3 * sum(self) / target_tokens

    def parts(self) -> tuple["Flops", "Flops"]:
        """Return the two kinds apart."""
        return self._replace(attention=0), self._replace(weights=0)


def forward_flops(model: Transformer, source: int, target: int) -> Flops:
    """Count the operations of one pair of these lengths, a multiplication and its addition as two.

    Of a matrix of n numbers each position that meets it takes 2 n, of attention between S and T positions each layer
    4 S T times the width of its heads together. What the causal mask hides is computed, and counted.
    Source: Kaplan et al. 2020, "Scaling Laws for Neural Language Models", section 2.1: 2 N forward, 6 N with backward.
    """
    device = next(model.parameters()).device
    src_1S, tgt_in_1T = (torch.zeros(1, length, dtype=torch.long, device=device) for length in (source, target))
    # The plain form of attention is made of products that PyTorch knows how to count.
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        model.logits(model(src_1S, None, tgt_in_1T))
    attention = counter.get_flop_counts()["Global"].get(torch.ops.aten.bmm, 0)
    return Flops(counter.get_total_flops() - attention, attention)


class Memory(NamedTuple):
    """What an update holds at once. Units: bytes."""

    weights: int
    gradients: int
    optimizer: int
    average: int
    activations: int


def training_memory(model: Transformer, section: TrainingConfig, shape: BatchShape, precision: torch.dtype) -> Memory:
    """Return what training takes: weights, gradients and optimiser to the byte, activations as an estimate.

    The estimate goes through one row and through two of this length, and from there in a straight line; it holds what
    the forward pass keeps for the backward pass, and not what either needs for a moment.
    """
    loss = BatchLoss(model.train(), section.label_smoothing, precision, section.r_drop)
    weights = sum(parameter.nbytes for parameter in model.parameters())
    one, two = (_kept_for_backward(loss, _batch(shape, rows)) for rows in (1, 2))
    return Memory(
        weights=weights,
        gradients=weights,
        optimizer=_optimizer_bytes(model, section),
        average=weights if section.average_decay else 0,
        activations=one + (shape.rows - 1) * (two - one),
    )


def _optimizer_bytes(model: Transformer, section: TrainingConfig) -> int:
    """Return what the optimiser remembers, once it has made a step that changes nothing."""
    optimizer = build_optimizer(model, section)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    return sum(tensor.nbytes for state in optimizer.state.values() for tensor in state.values())


def _kept_for_backward(loss: BatchLoss, batch: Batch) -> int:
    """Return the bytes of all tensors, but the weights, that the forward pass keeps."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in loss.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        found = loss(batch.to(loss.model.output.weight.device))
    del found  # until here it has held all that was kept, so that no address came twice
    return sum(kept.values())


def _batch(shape: BatchShape, rows: int) -> Batch:
    """Return a batch of so many rows of these lengths, of any tokens."""
    return collate([[BYTES.start] * (shape.source - 1)] * rows, [[BYTES.start] * (shape.target - 1)] * rows)


def render_flops(flops: Flops, source: int, target: int) -> str:
    """Return what a target token costs in training, and by which formula."""
    whole, weights, attention = (count.of_training(target) / 1e6 for count in (flops, *flops.parts()))
    return (
        f"{whole:,.1f} MFLOP for a target token in training, in pairs of {source} source and {target} target tokens\n"
        f"  {weights:,.1f} of weights: 6 for each number of a matrix at each position that meets it\n"
        f"  {attention:,.1f} of attention: 12 for each query, key and unit of the heads' width\n"
        "  a third of either forward (6 N of Kaplan et al. 2020, section 2.1; the encoder meets source positions only)"
    )


def render_memory(memory: Memory, shape: BatchShape, precision: torch.dtype) -> str:
    """Return what an update holds in memory, as a table."""
    rows, source, target = shape
    names = {
        "optimizer": "optimiser",
        "average": "moving average",
        "activations": f"activations of {rows} pairs of {source} and {target} tokens in {str(precision)[6:]}",
    }
    lines = [[names.get(name, name), _mib(size)] for name, size in memory._asdict().items() if size]
    return (
        f"{table(['memory of an update', 'MiB'], [*lines, ['together', _mib(sum(memory))]])}\n"
        "Activations are an estimate: what forward keeps for backward. In real updates on a CPU all tensors took\n"
        "0.95 to 1.09 times the sum, the process up to 1.5 times it: what is freed is not at once used again."
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f}"
