"""What brings the values of each position to a common size."""

from collections.abc import Callable

from torch import nn

NORMS: dict[str, Callable[[int], nn.Module]] = {
    # Ba et al. 2016: subtract the mean, divide by the standard deviation, then a learned gain and bias.
    "layernorm": nn.LayerNorm,
    # Zhang and Sennrich 2019: divide by the root of the mean square, then a learned gain.
    "rmsnorm": lambda d_model: nn.RMSNorm(d_model, eps=1e-6),
}
