"""How hypotheses of different lengths are compared, and how short or long one may be."""

from collections.abc import Callable

from torch import Tensor

LengthPenalty = Callable[[Tensor], Tensor]

# The paper's alpha, for a model whose own was never looked for.
UNTUNED = 0.6

_BASES: dict[str, Callable[[Tensor], Tensor]] = {
    "gnmt": lambda length: (5.0 + length.float()) / 6.0,
    "average": lambda length: length.float(),
}


def length_penalty(name: str, alpha: float) -> LengthPenalty:
    """Return what a log-probability is divided by, as a function of the length, EOS counted.

    gnmt: ((5 + length) / 6)^alpha (Wu et al. 2016, section 7, eq. 14); average: length^alpha, with alpha 1 the mean
    log-probability of a token. Both grow with the length, which the end of the search relies on. An alpha below 0
    stands for `UNTUNED`.
    """
    base, exponent = _BASES[name], UNTUNED if alpha < 0 else alpha
    return lambda length: base(length) ** exponent


def longest_translation(source_tokens_B: Tensor, factor: float, extra: int) -> Tensor:
    """Return the most tokens, EOS included, that each translation may have."""
    return (source_tokens_B.float() * factor).long().add(extra).clamp_min(1)


def shortest_translation(source_tokens_B: Tensor, factor: float, least: int) -> Tensor:
    """Return the fewest tokens, EOS included, that each translation must have: the larger of both bounds."""
    return (source_tokens_B.float() * factor).long().clamp_min(least)
