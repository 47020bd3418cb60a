"""Beam search over a step protocol; a beam of 1 is greedy search (Wu et al. 2016, section 7).

A hypothesis that ends takes its place in the beam with it, so that a sentence with beam N ends at most N hypotheses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from mtrain.decoding.constraints import NEVER, EndBetween, Rule
from mtrain.decoding.length import LengthPenalty
from mtrain.decoding.steps import Steps, begin
from mtrain.tokenizer import EOS


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation: tokens without EOS, and its score: `log_probability` (nats) over the length penalty.

    `cut` says that it ended because it had reached the longest length allowed, not of itself.
    """

    tokens: list[int]
    score: float
    log_probability: float
    cut: bool


@dataclass(frozen=True)
class Beam:
    """How wide to search, how lengths compare, and how many of the hypotheses that end are wanted, best first.

    `coverage` is the weight of the coverage penalty, which lowers the score of what looks past parts of the source.
    """

    width: int
    penalty: LengthPenalty
    best: int = 1
    coverage: float = 0.0


class Chosen(NamedTuple):
    """The hypotheses to go on with: their log-probabilities, what each one goes on from, and its new token."""

    scores_BN: Tensor
    parents_BN: Tensor
    tokens_BN: Tensor


class Choice(Protocol):
    """Chooses which continuations stay in the beam."""

    def __call__(self, scores_BNV: Tensor, which_B: Tensor, places_B: Tensor) -> Chosen:
        """Choose among all continuations of the open sentences `which_B`, which have so many places left.

        A score of minus infinity is a free place.
        """

    def worth(self, scores_BN: Tensor, penalty_B1: Tensor, which_B: Tensor) -> Tensor:
        """Return by what hypotheses are compared that end, given their scores and the length penalties in these."""


class Likeliest:
    """The likeliest ones, as many as there are places left."""

    def __init__(self, width: int) -> None:
        self._width = width

    def __call__(self, scores_BNV: Tensor, which_B: Tensor, places_B: Tensor) -> Chosen:  # noqa: ARG002
        """Choose the likeliest ones, whatever they go on from."""
        all_BM = scores_BNV.flatten(1)
        scores_BN, index_BN = all_BM.topk(min(self._width, all_BM.size(1)), dim=1)
        rank_N = torch.arange(scores_BN.size(1), device=scores_BN.device)
        scores_BN = scores_BN.masked_fill(rank_N >= places_B[:, None], NEVER)
        return Chosen(scores_BN, index_BN // scores_BNV.size(2), index_BN % scores_BNV.size(2))

    def worth(self, scores_BN: Tensor, penalty_B1: Tensor, which_B: Tensor) -> Tensor:  # noqa: ARG002
        """Compare by the scores themselves."""
        return scores_BN


@dataclass
class _Open:
    """The sentences still being searched. Shapes: which, places: B; scores: BN; tokens: BNT."""

    which_B: Tensor
    places_B: Tensor
    scores_BN: Tensor
    tokens_BNT: Tensor

    def select(self, rows: Tensor) -> None:
        self.which_B, self.places_B = self.which_B[rows], self.places_B[rows]
        self.scores_BN, self.tokens_BNT = self.scores_BN[rows], self.tokens_BNT[rows]


class _Ended:
    """The worthiest hypotheses of each sentence that have ended, best first; minus infinity is a free place."""

    def __init__(self, sentences: int, best: int, longest: int, device: torch.device) -> None:
        self.worth_BN = torch.full((sentences, best), NEVER, device=device)
        self._scores_BN, self._sums_BN = self.worth_BN.clone(), self.worth_BN.clone()
        self._tokens_BNT = torch.full((sentences, best, longest), EOS, device=device)

    def take_in(
        self, which_B: Tensor, worth_BN: Tensor, scores_BN: Tensor, sums_BN: Tensor, tokens_BNT: Tensor
    ) -> None:
        """Let hypotheses of the sentences `which_B` compete for the places; a worth of minus infinity is none.

        `sums_BN` are their log-probabilities.
        """
        best, length = self.worth_BN.size(1), tokens_BNT.size(2)
        padded_BNT = torch.full((*scores_BN.shape, self._tokens_BNT.size(2)), EOS, device=scores_BN.device)
        padded_BNT[:, :, :length] = tokens_BNT
        rivals_BN = torch.cat((self.worth_BN[which_B], worth_BN), dim=1)
        self.worth_BN[which_B], index_BN = rivals_BN.topk(best, dim=1)
        self._scores_BN[which_B] = torch.cat((self._scores_BN[which_B], scores_BN), dim=1).gather(1, index_BN)
        self._sums_BN[which_B] = torch.cat((self._sums_BN[which_B], sums_BN), dim=1).gather(1, index_BN)
        all_BNT = torch.cat((self._tokens_BNT[which_B], padded_BNT), dim=1)
        self._tokens_BNT[which_B] = all_BNT.gather(1, index_BN[:, :, None].expand(-1, -1, all_BNT.size(2)))

    def hypotheses(self, longest_B: Tensor) -> list[list[Hypothesis]]:
        """Return those of each sentence; at least one, if only an empty one."""
        found = []
        columns = (self._tokens_BNT, self.worth_BN, self._scores_BN, self._sums_BN, longest_B)
        for tokens_of, worths, scores, sums, longest in zip(*(column.tolist() for column in columns), strict=True):
            ended = [
                Hypothesis(tokens[: tokens.index(EOS)], score, sum_, tokens.index(EOS) + 1 >= longest)
                for tokens, worth, score, sum_ in zip(tokens_of, worths, scores, sums, strict=True)
                if worth > NEVER
            ]
            found.append(ended or [Hypothesis([], NEVER, NEVER, cut=True)])
        return found


def beam_search(
    steps: Steps, longest_B: Tensor, beam: Beam, rules: Sequence[Rule] = (), choice: Choice | None = None
) -> list[list[Hypothesis]]:
    """Return each sentence's best hypotheses, best first, at most `longest_B` tokens long, EOS included.

    `choice` says which continuations stay in the beam: the likeliest, where nothing else is given.

    A sentence is done when none of its open hypotheses can win any more: their log-probability only falls, so that
    even at the longest length allowed, where the penalty divides most, they would stay behind. (The coverage penalty
    only lowers a score.)
    """
    sentences, device = longest_B.numel(), longest_B.device
    choice = choice or Likeliest(beam.width)
    rules = [*rules, EndBetween(torch.zeros_like(longest_B), longest_B)]
    ended = _Ended(sentences, beam.best, int(longest_B.max()) + 1, device)
    open_ = _Open(
        which_B=torch.arange(sentences, device=device),
        places_B=torch.full((sentences,), beam.width, device=device),
        scores_BN=torch.zeros(sentences, 1, device=device),
        tokens_BNT=begin(sentences, device)[:, :, None],
    )
    for length in range(1, int(longest_B.max()) + 1):
        log_probabilities_BNV = steps.log_probabilities(open_.tokens_BNT[:, :, -1])
        for rule in rules:
            rule(log_probabilities_BNV, open_.tokens_BNT, open_.which_B)
        scores_BNV = open_.scores_BN[:, :, None] + log_probabilities_BNV
        parents_BN = _extend(open_, choice(scores_BNV, open_.which_B, open_.places_B))
        penalty_11 = beam.penalty(torch.tensor([[length]], device=device))
        scores_BN = open_.scores_BN / penalty_11
        if beam.coverage:
            scores_BN = scores_BN + beam.coverage * steps.coverage_BN().gather(1, parents_BN)
        _take_out_ended(open_, ended, scores_BN, choice.worth(scores_BN, penalty_11, open_.which_B))
        penalty_B1 = beam.penalty(longest_B[open_.which_B])[:, None]
        bound_BN = choice.worth(open_.scores_BN / penalty_B1, penalty_B1, open_.which_B)
        going_on = (bound_BN.amax(1) > ended.worth_BN[open_.which_B].amin(1)).nonzero()[:, 0]
        if going_on.numel() == 0:
            break
        open_.select(going_on)
        steps.go_on(going_on, parents_BN[going_on])
    return ended.hypotheses(longest_B)


def _extend(open_: _Open, chosen: Chosen) -> Tensor:
    """Put the chosen continuations into `open_`; return their parents_BN."""
    open_.scores_BN, parents_BN, token_BN = chosen
    history_BNT = open_.tokens_BNT.gather(1, parents_BN[:, :, None].expand(-1, -1, open_.tokens_BNT.size(2)))
    open_.tokens_BNT = torch.cat((history_BNT, token_BN[:, :, None]), dim=2)
    return parents_BN


def _take_out_ended(open_: _Open, ended: _Ended, scores_BN: Tensor, worth_BN: Tensor) -> None:
    """Take hypotheses that end here out of the beam, with their final scores, and their places with them."""
    ended_BN = (open_.tokens_BNT[:, :, -1] == EOS) & (open_.scores_BN > NEVER)
    rows = ended_BN.any(1).nonzero()[:, 0]
    if rows.numel() == 0:
        return
    worth_BN = worth_BN.masked_fill(~ended_BN, NEVER)
    tokens_BNT = open_.tokens_BNT[rows, :, 1:]
    ended.take_in(open_.which_B[rows], worth_BN[rows], scores_BN[rows], open_.scores_BN[rows], tokens_BNT)
    open_.places_B = open_.places_B - ended_BN.sum(1)
    open_.scores_BN = open_.scores_BN.masked_fill(ended_BN, NEVER)
