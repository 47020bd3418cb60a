"""How a model is looked into without being changed: compared, listened to, kept at rest, and put back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from mtrain.batches.collate import Batch
from mtrain.model.attention import Kernel, MultiHeadAttention, Sight
from mtrain.model.dropout import Dropout
from mtrain.model.initialize import last_matrices
from mtrain.model.transformer import Transformer

# Two ways to the same numbers in fp32 differ by a millionth of their spread, broken ones by a hundredth or more.
SAME = 1e-4
# What must not be seen moves nothing at all; what is seen moves a fresh, small model by a hundred times this.
SEEN = 1e-5
_CLOSED = 1e-3


def gap(one: Tensor, other: Tensor) -> float:
    """Return the largest difference in standard deviations of `other`; infinite where there are no numbers."""
    difference = (one.float() - other.float()).abs().max() / other.float().std().clamp_min(1e-12)
    return float(difference) if bool(difference.isfinite()) else float("inf")


def rms(values: Tensor) -> float:
    """Return the root mean square."""
    return float(values.float().square().mean().sqrt())


def logits_of(model: Transformer, batch: Batch, tgt_in_BT: Tensor | None = None) -> Tensor:
    """Return logits_BTV of teacher forcing, perhaps with other target tokens."""
    source = batch.source
    return model.logits(model(source.src_BS, source.keep_BS, batch.tgt_in_BT if tgt_in_BT is None else tgt_in_BT))


def other_tokens(tokens: Tensor, vocabulary_size: int) -> Tensor:
    """Return as many tokens, none of them special and each another one than before."""
    first = min(260, vocabulary_size // 2)  # behind the bytes, where there is anything
    return first + (tokens - first + 7) % (vocabulary_size - first)


@contextmanager
def listening(modules: Sequence[nn.Module], hear: Callable[[nn.Module, tuple[Any, ...], Any], None]) -> Iterator[None]:
    """Have `hear` told module, inputs and output of each call of these modules."""
    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(hear).remove)
        yield


@contextmanager
def kernels_heard(
    modules: Sequence[MultiHeadAttention], hear: Callable[[MultiHeadAttention, Tensor, Tensor, Sight], None]
) -> Iterator[None]:
    """Have `hear` told module, queries, keys and sight of each time that attention is computed."""
    kernels = [module.kernel for module in modules]

    def heard(module: MultiHeadAttention, kernel: Kernel) -> Kernel:
        def attend(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, sight: Sight, dropout: Dropout) -> Tensor:
            hear(module, q_BHTK, k_BHSK, sight)
            return kernel(q_BHTK, k_BHSK, v_BHSK, sight, dropout)

        return attend

    try:
        for module, kernel in zip(modules, kernels, strict=True):
            module.kernel = heard(module, kernel)
        yield
    finally:
        for module, kernel in zip(modules, kernels, strict=True):
            module.kernel = kernel


def closed_gates(model: nn.Module) -> dict[str, Tensor]:
    """Return what shuts off sublayers: gains of norms that are 0, and their last matrices where all of them are 0."""
    norms = {name: module for name, module in model.named_modules() if isinstance(module, nn.LayerNorm | nn.RMSNorm)}
    gains = {f"{name}.weight": norm.weight for name, norm in norms.items() if norm.weight is not None}
    closed: dict[str, Tensor] = {
        name: gain for name, gain in gains.items() if float(gain.detach().abs().max()) < _CLOSED
    }
    matrices = last_matrices(model)
    # One of them is a fault, all of them are how the model was meant to start.
    return closed | (matrices if not any(matrix.detach().any() for matrix in matrices.values()) else {})


@contextmanager
def opened_gates(model: nn.Module, but_gains: bool = False) -> Iterator[None]:
    """Set gains that are 0 to 1 for a while, unless told not to, and draw last matrices: what they shut off speaks."""
    closed = [gate for gate in closed_gates(model).values() if gate.dim() > 1 or not but_gains]
    gates = [(gate, gate.detach().clone()) for gate in closed]
    draws = torch.Generator().manual_seed(1)
    try:
        for gate, before in gates:
            drawn = nn.init.xavier_uniform_(torch.empty(gate.shape), generator=draws) if gate.dim() > 1 else before + 1
            gate.data.copy_(drawn)
        yield
    finally:
        for gate, before in gates:
            gate.data.copy_(before)


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Set all dropout to 0 for a while."""
    places: list[Any] = [module for module in model.modules() if isinstance(getattr(module, "p", None), float)]
    before = [place.p for place in places]
    try:
        for place in places:
            place.p = 0.0
        yield
    finally:
        for place, p in zip(places, before, strict=True):
            place.p = p


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """Look at a model as it translates: no dropout, no gradient, no sublayer shut off."""
    model.eval()
    with without_dropout(model), opened_gates(model), torch.no_grad():
        yield


@contextmanager
def weights_put_back(model: nn.Module) -> Iterator[None]:
    """Let the model be trained for a while; afterwards it is what it was."""
    before = [(parameter, parameter.detach().clone()) for parameter in model.parameters()]
    try:
        yield
    finally:
        for parameter, values in before:
            parameter.data.copy_(values)
            parameter.grad = None
