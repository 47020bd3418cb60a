"""Beam search over a step protocol; a beam of 1 is greedy search (Wu et al. 2016, section 7).

A hypothesis that ends takes its place in the beam with it, so that a sentence with beam N ends at most N hypotheses.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from mtrain.decoding.length import gnmt_penalty
from mtrain.decoding.steps import Steps, begin
from mtrain.tokenizer import EOS

_NEVER = float("-inf")


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation: tokens without EOS, and its log-probability (nats) divided by the length penalty.

    `cut` says that it ended because it had reached the longest length allowed, not of itself.
    """

    tokens: list[int]
    score: float
    cut: bool


@dataclass
class _Open:
    """The sentences still being searched. Shapes: which, longest, places: B; scores: BN; tokens: BNT; best_score: B."""

    which_B: Tensor
    longest_B: Tensor
    places_B: Tensor
    scores_BN: Tensor
    tokens_BNT: Tensor
    best_score_B: Tensor

    def select(self, rows: Tensor) -> None:
        self.which_B, self.longest_B, self.places_B = self.which_B[rows], self.longest_B[rows], self.places_B[rows]
        self.scores_BN, self.tokens_BNT = self.scores_BN[rows], self.tokens_BNT[rows]
        self.best_score_B = self.best_score_B[rows]


def beam_search(steps: Steps, longest_B: Tensor, beam: int, alpha: float) -> list[Hypothesis]:
    """Return the best hypothesis of each sentence, at most `longest_B` tokens long, EOS included.

    A sentence is done when none of its open hypotheses can win any more: their log-probability only falls, so that
    even at the longest length allowed, where the penalty divides most, they would stay behind.
    """
    sentences, device = longest_B.numel(), longest_B.device
    found: list[Hypothesis | None] = [None] * sentences
    open_ = _Open(
        which_B=torch.arange(sentences, device=device),
        longest_B=longest_B,
        places_B=torch.full((sentences,), beam, device=device),
        scores_BN=torch.zeros(sentences, 1, device=device),
        tokens_BNT=begin(sentences, device)[:, :, None],
        best_score_B=torch.full((sentences,), _NEVER, device=device),
    )
    for length in range(1, int(longest_B.max()) + 1):
        log_probabilities_BNV = steps.log_probabilities(open_.tokens_BNT[:, :, -1])
        at_limit_B = open_.longest_B == length
        _force_end(log_probabilities_BNV, at_limit_B)
        parents_BN, token_BN = _extend(open_, log_probabilities_BNV, beam)
        penalty = gnmt_penalty(torch.tensor(length), alpha).item()
        _collect_ended(open_, token_BN, penalty, at_limit_B, found)
        can_win_B = open_.scores_BN.amax(1) / gnmt_penalty(open_.longest_B, alpha) > open_.best_score_B
        going_on = can_win_B.nonzero()[:, 0]
        if going_on.numel() == 0:
            break
        open_.select(going_on)
        steps.go_on(going_on, parents_BN[going_on])
    return [hypothesis or Hypothesis([], _NEVER, cut=True) for hypothesis in found]


def _force_end(log_probabilities_BNV: Tensor, at_limit_B: Tensor) -> None:
    if bool(at_limit_B.any()):
        end_BN = log_probabilities_BNV[at_limit_B, :, EOS]
        log_probabilities_BNV[at_limit_B] = _NEVER
        log_probabilities_BNV[at_limit_B, :, EOS] = end_BN


def _extend(open_: _Open, log_probabilities_BNV: Tensor, beam: int) -> tuple[Tensor, Tensor]:
    """Put the best continuations, as many as there are places left, into `open_`; return their parents and tokens."""
    vocabulary = log_probabilities_BNV.size(-1)
    candidates = (open_.scores_BN[:, :, None] + log_probabilities_BNV).flatten(1)
    scores_BN, index_BN = candidates.topk(min(beam, candidates.size(1)), dim=1)
    parents_BN, token_BN = index_BN // vocabulary, index_BN % vocabulary
    rank_N = torch.arange(scores_BN.size(1), device=scores_BN.device)
    open_.scores_BN = scores_BN.masked_fill(rank_N >= open_.places_B[:, None], _NEVER)
    history_BNT = open_.tokens_BNT.gather(1, parents_BN[:, :, None].expand(-1, -1, open_.tokens_BNT.size(2)))
    open_.tokens_BNT = torch.cat((history_BNT, token_BN[:, :, None]), dim=2)
    return parents_BN, token_BN


def _collect_ended(
    open_: _Open, token_BN: Tensor, penalty: float, at_limit_B: Tensor, found: list[Hypothesis | None]
) -> None:
    """Take hypotheses that end here out of the beam; keep in `found` each sentence's best one so far."""
    ended_BN = (token_BN == EOS) & (open_.scores_BN > _NEVER)
    open_.places_B = open_.places_B - ended_BN.sum(1)
    score_B, place_B = open_.scores_BN.masked_fill(~ended_BN, _NEVER).max(1)
    score_B = score_B / penalty
    for row in (score_B > open_.best_score_B).nonzero()[:, 0].tolist():
        tokens = open_.tokens_BNT[row, place_B[row], 1:-1].tolist()
        found[int(open_.which_B[row])] = Hypothesis(tokens, float(score_B[row]), bool(at_limit_B[row]))
    open_.best_score_B = torch.maximum(open_.best_score_B, score_B)
    open_.scores_BN = open_.scores_BN.masked_fill(ended_BN, _NEVER)
