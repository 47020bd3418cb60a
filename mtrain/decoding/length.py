"""How hypotheses of different lengths are compared, and how long one may get."""

import torch
from torch import Tensor


def gnmt_penalty(length: Tensor, alpha: float) -> Tensor:
    """Return ((5 + length) / 6)^alpha, by which a log-probability is divided; EOS counts.

    Source: Wu et al. 2016, section 7, eq. 14.
    """
    return ((5.0 + length.float()) / 6.0) ** alpha


def longest_translation(source_tokens_B: Tensor, factor: float, extra: int) -> Tensor:
    """Return the most tokens, EOS included, that each translation may have."""
    return ((source_tokens_B.float() * factor).to(torch.int64) + extra).clamp_min(1)
