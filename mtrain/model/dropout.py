"""Dropout (paper section 5.4; Srivastava et al. 2014)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_INTEGERS = {torch.float32: torch.int32, torch.bfloat16: torch.int16}


class Dropout(nn.Module):
    """Zero each value with probability `p` while training, and scale up the others to keep the mean."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        if not self.training or self.p == 0:
            return x
        return F.dropout(x, self.p) if x.is_cuda else _dropout_by_random_bytes(x, self.p)


def _dropout_by_random_bytes(x: Tensor, p: float) -> Tensor:
    """Compare one random byte a value with a threshold, which rounds `p` to the nearest 1/256.

    PyTorch's CPU dropout draws a whole Bernoulli variable a value, which is four times slower and was a quarter of
    the time of an update.
    """
    dropped_of_256 = round(256 * p)
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    # Compared in place, bytes stay bytes; a comparison that makes bools is ten times slower, and so is their cast.
    keep = words.view(torch.uint8)[: x.numel()].view(x.shape).ge_(dropped_of_256)
    # The bits of the scale, times 1 or 0, are those of the scale or of zero: integers are faster to widen and multiply.
    bits = _INTEGERS[x.dtype]
    scale = torch.tensor(256 / (256 - dropped_of_256), dtype=x.dtype).view(bits)
    return x * keep.to(bits).mul_(scale).view(x.dtype)
