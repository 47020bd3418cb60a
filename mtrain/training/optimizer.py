"""The optimiser (paper section 5.3) and its state under readable names."""

import torch
from torch import Tensor

from mtrain.config.schema import TrainingConfig
from mtrain.model.transformer import Transformer

# What Adam, with weight decay or without, remembers of each parameter.
_REMEMBERED = ("step", "exp_avg", "exp_avg_sq")


def build_optimizer(model: Transformer, config: TrainingConfig) -> torch.optim.Adam:
    """Return Adam or AdamW over all parameters; the learning rate is set before each update.

    Source: Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2, for AdamW.
    """
    betas, epsilon = (config.adam_beta1, config.adam_beta2), config.adam_epsilon
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=epsilon, fused=True)
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() == 1]  # biases and norms
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=epsilon, fused=True)


def optimizer_tensors(model: Transformer, optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    """Return the optimiser's state as named tensors, such as `exp_avg/encoder.layers.0.…`."""
    return {
        f"{remembered}/{name}": optimizer.state[parameter][remembered]
        for name, parameter in model.named_parameters()
        for remembered in _REMEMBERED
    }


def restore_optimizer(model: Transformer, optimizer: torch.optim.Adam, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` returned. Raises: KeyError where a tensor is missing."""
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            remembered: tensors[f"{remembered}/{name}"].to(parameter.device) for remembered in _REMEMBERED
        }
