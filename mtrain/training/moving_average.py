"""An exponential moving average of the weights, which forgets the noise of single updates (Polyak & Juditsky 1992)."""

import torch
from torch import Tensor

from mtrain.model.transformer import Transformer
from mtrain.model.weights import named_weights
from mtrain.training.sharding import share_like


class MovingAverage:
    """After each update: average = d * average + (1 - d) * weights, with d = min(decay, (1 + update) / (10 + update)).

    The smaller d of the first updates lets the initial weights, which know nothing, fade sooner.
    Source: TensorFlow's ExponentialMovingAverage, `num_updates`.
    """

    def __init__(self, model: Transformer, decay: float) -> None:
        self._decay = decay
        self._model = model
        self.weights: dict[str, Tensor] = {name: weight.clone() for name, weight in named_weights(model).items()}

    @torch.no_grad()
    def take_in(self, update: int) -> None:
        """Move towards the weights after `update`."""
        decay = min(self._decay, (1 + update) / (10 + update))
        torch._foreach_lerp_(list(self.weights.values()), list(named_weights(self._model).values()), 1 - decay)

    @torch.no_grad()
    def restore(self, weights: dict[str, Tensor]) -> None:
        """Go on from an average that was stored. Raises: KeyError where a weight is missing."""
        for name, mine in self.weights.items():
            mine.copy_(share_like(weights[name], mine))
