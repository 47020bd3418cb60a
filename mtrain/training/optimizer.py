"""The optimiser (paper section 5.3) and its state under readable names."""

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from mtrain.config.schema import TrainingConfig
from mtrain.model.transformer import Transformer
from mtrain.runtime import side_by_side
from mtrain.training.sharding import is_share, share_like


class MuonAndAdam:
    """Muon for the matrices inside the layers; AdamW for embeddings, output, norms and biases.

    Muon's step is its momentum made orthogonal, scaled to the size that Adam's step would have, so that both obey one
    learning rate. Sources: Jordan et al. 2024, "Muon"; Liu et al. 2025, "Muon is Scalable for LLM Training", eq. 4.
    """

    def __init__(self, matrices: list[Tensor], adam: torch.optim.AdamW, weight_decay: float) -> None:
        self._muons = [
            torch.optim.Muon(part, lr=0.0, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
            for part in _parts(matrices)
        ]
        self._all = (*self._muons, adam)
        self._adam = adam
        self.param_groups: list[dict[str, Any]] = [group for one in self._all for group in one.param_groups]
        # One memory for all; each looks only at its own parameters.
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        for one in self._all:
            one.state = self.state
        self.found_inf: Tensor | None = None

    def step(self) -> None:
        """Make one step, or none where `found_inf` is 1: PyTorch's Muon has to be kept from it by looking."""
        if self.found_inf is not None and self.found_inf.item():
            return
        list(side_by_side(torch.optim.Muon.step, self._muons))
        self._adam.step()

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for one in self._all:
            one.zero_grad()


def _parts(matrices: list[Tensor]) -> list[list[Tensor]]:
    """Cut `matrices` into parts of like work, as many as CPU threads; into one where it is not these that compute.

    Their products are small: threads that share each one of them wait for each other a third of the time.
    """
    on_threads = not any(matrix.is_cuda or is_share(matrix) for matrix in matrices)
    count = min(torch.get_num_threads(), len(matrices)) if on_threads else 1
    by_size = sorted(matrices, key=Tensor.numel, reverse=True)
    return [by_size[first::count] for first in range(count)]


Optimizer = torch.optim.Adam | MuonAndAdam


def build_optimizer(model: Transformer, config: TrainingConfig) -> Optimizer:
    """Return the optimiser of all parameters; the learning rate is set before each update.

    Source: Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2, for AdamW.
    """
    betas, epsilon = (config.adam_beta1, config.adam_beta2), config.adam_epsilon
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=epsilon, fused=True)
    inside = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    by_muon = {id(weight) for weight in inside} if config.optimizer == "muon" else set()
    others = [parameter for parameter in model.parameters() if id(parameter) not in by_muon]
    groups = [
        {"params": [matrix for matrix in others if matrix.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [vector for vector in others if vector.dim() == 1], "weight_decay": 0.0},  # biases and norms
    ]
    adam = torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=epsilon, fused=True)
    return MuonAndAdam(inside, adam, config.weight_decay) if by_muon else adam


def optimizer_tensors(model: Transformer, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the optimiser's state as named tensors, such as `exp_avg/encoder.layers.0.…`."""
    return {
        f"{remembered}/{name}": tensor
        for name, parameter in model.named_parameters()
        for remembered, tensor in optimizer.state[parameter].items()
    }


def restore_optimizer(model: Transformer, optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` returned. Raises: KeyError where nothing is known of a parameter."""
    if not tensors:  # saved before the first update, as a run with a guard is
        return
    states: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        remembered, name = key.split("/", 1)
        states.setdefault(name, {})[remembered] = tensor
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            remembered: share_like(tensor.to(parameter.device), parameter.detach())
            for remembered, tensor in states[name].items()
        }
