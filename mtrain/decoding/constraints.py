"""What a translation must, must not or should not contain: rules about its next tokens.

A rule changes log-probabilities in place, of all hypotheses of all open sentences at once: log_probabilities_BNV, given
the tokens_BNT so far (BOS first) and which_B of all sentences these are.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from mtrain.tokenizer import EOS

NEVER = float("-inf")


class Rule(Protocol):
    """Something that next tokens have to obey."""

    def __call__(self, log_probabilities_BNV: Tensor, tokens_BNT: Tensor, which_B: Tensor) -> None:
        """Change the log-probabilities in place."""


class EndBetween:
    """No end before a sentence's shortest length, EOS counted, and nothing but the end at its longest."""

    def __init__(self, shortest_B: Tensor, longest_B: Tensor) -> None:
        self._shortest_B = shortest_B
        self._longest_B = longest_B

    def __call__(self, log_probabilities_BNV: Tensor, tokens_BNT: Tensor, which_B: Tensor) -> None:
        """The next token makes the hypotheses as long as `tokens_BNT`, whose BOS does not count."""
        length = tokens_BNT.size(2)
        end_BN = log_probabilities_BNV[:, :, EOS].clone()
        at_limit_B11 = (self._longest_B[which_B] <= length)[:, None, None]
        log_probabilities_BNV.masked_fill_(at_limit_B11, NEVER)
        too_short_B1 = (self._shortest_B[which_B] > length)[:, None] & ~at_limit_B11[:, :, 0]
        log_probabilities_BNV[:, :, EOS] = end_BN.masked_fill(too_short_B1, NEVER)


class NoRepeatedNgram:
    """No sequence of `size` tokens twice in one translation (Paulus et al. 2018, section 2.5)."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __call__(self, log_probabilities_BNV: Tensor, tokens_BNT: Tensor, which_B: Tensor) -> None:  # noqa: ARG002
        """Forbid each token that once followed what stands at the end now."""
        known_BNT, before = tokens_BNT[:, :, 1:], self._size - 1
        if known_BNT.size(2) < self._size:
            return
        ngrams_BNGn = known_BNT.unfold(2, self._size, 1)
        last_BN1n = known_BNT[:, :, None, known_BNT.size(2) - before :]
        again_BNG = (ngrams_BNGn[..., :before] == last_BN1n).all(-1)
        forbidden_BNG = torch.zeros_like(again_BNG, dtype=log_probabilities_BNV.dtype).masked_fill_(again_BNG, NEVER)
        log_probabilities_BNV.scatter_add_(2, ngrams_BNGn[..., -1], forbidden_BNG)


class RepetitionPenalty:
    """Multiply the log-probability of each token that the translation already has (Keskar et al. 2019, section 4.1)."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def __call__(self, log_probabilities_BNV: Tensor, tokens_BNT: Tensor, which_B: Tensor) -> None:  # noqa: ARG002
        """A factor above 1 makes them less likely."""
        seen_BNT = tokens_BNT[:, :, 1:]
        log_probabilities_BNV.scatter_(2, seen_BNT, log_probabilities_BNV.gather(2, seen_BNT) * self._factor)


class Prefix:
    """Each translation begins with the tokens given for its sentence; `prefix_BT` has -1 where none is given.

    `behind` are the rules for what comes behind them: what is asked for may break them.
    """

    def __init__(self, prefix_BT: Tensor, behind: Sequence[Rule] = ()) -> None:
        self._prefix_BT = prefix_BT
        self._behind = behind

    def __call__(self, log_probabilities_BNV: Tensor, tokens_BNT: Tensor, which_B: Tensor) -> None:
        """The token of the prefix keeps its log-probability, so that the score stays the model's."""
        place = tokens_BNT.size(2) - 1
        is_behind = place >= self._prefix_BT.size(1)
        before_BNV = log_probabilities_BNV if is_behind else log_probabilities_BNV.clone()
        for rule in self._behind:
            rule(log_probabilities_BNV, tokens_BNT, which_B)
        if is_behind:
            return
        wanted_B11 = self._prefix_BT[which_B, place][:, None, None]
        others_V = torch.arange(log_probabilities_BNV.size(2), device=wanted_B11.device)
        only_BNV = before_BNV.masked_fill(others_V != wanted_B11, NEVER)
        log_probabilities_BNV.copy_(only_BNV.where(wanted_B11 >= 0, log_probabilities_BNV))
