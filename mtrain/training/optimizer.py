"""The optimiser (paper section 5.3) and its state under readable names."""

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from mtrain.config.schema import TrainingConfig
from mtrain.model.transformer import Transformer
from mtrain.training.sharding import share_like


class MuonAndAdam:
    """Muon for the matrices inside the layers; AdamW for embeddings, output, norms and biases.

    Muon's step is its momentum made orthogonal, scaled to the size that Adam's step would have, so that both obey one
    learning rate. Sources: Jordan et al. 2024, "Muon"; Liu et al. 2025, "Muon is Scalable for LLM Training", eq. 4.
    """

    def __init__(self, matrices: list[Tensor], adam: torch.optim.AdamW, weight_decay: float) -> None:
        muon = torch.optim.Muon(matrices, lr=0.0, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
        self._both = (muon, adam)
        self.param_groups: list[dict[str, Any]] = muon.param_groups + adam.param_groups
        # One memory for both; each looks only at its own parameters.
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        muon.state = adam.state = self.state
        self.found_inf: Tensor | None = None

    def step(self) -> None:
        """Make one step, or none where `found_inf` is 1: PyTorch's Muon has to be kept from it by looking."""
        if self.found_inf is not None and self.found_inf.item():
            return
        for optimizer in self._both:
            optimizer.step()  # type: ignore[no-untyped-call]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for optimizer in self._both:
            optimizer.zero_grad()


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
