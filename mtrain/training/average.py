"""The mean of several checkpoints' weights, often better than any one of them (paper section 6.1)."""

from collections.abc import Iterable

from torch import Tensor


def average(checkpoints: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each weight, summed in float64 and given back in its own dtype."""
    total: dict[str, Tensor] = {}
    dtypes = {}
    count = 0
    for weights in checkpoints:
        count += 1
        for name, weight in weights.items():
            dtypes[name] = weight.dtype
            total[name] = total[name] + weight.double() if name in total else weight.double()
    return {name: (weight / count).to(dtypes[name]) for name, weight in total.items()}
