"""Translations drawn at random from the model instead of searched for."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mtrain.decoding.beam import Hypothesis
from mtrain.decoding.constraints import NEVER, EndBetween, Rule
from mtrain.decoding.length import LengthPenalty
from mtrain.decoding.steps import Steps, begin
from mtrain.tokenizer import EOS


@dataclass(frozen=True)
class Sampling:
    """How many to draw for each sentence, from which tokens, and how their scores are made.

    `top_k` likeliest tokens (0: all; Fan et al. 2018), of those the likeliest that together have probability `top_p`
    (Holtzman et al. 2020), drawn with their log-probabilities divided by `temperature`.
    """

    count: int
    temperature: float
    top_k: int
    top_p: float
    penalty: LengthPenalty


def sample(
    steps: Steps, longest_B: Tensor, sampling: Sampling, seeds: Sequence[int], rules: Sequence[Rule] = ()
) -> list[list[Hypothesis]]:
    """Return the hypotheses drawn for each sentence, best first, each at most `longest_B` tokens long, EOS included.

    The draw of a sentence depends on its own seed alone, not on the sentences beside it. Scores are the model's own:
    temperature and cut-offs are not in them.
    """
    B, N, device = longest_B.numel(), sampling.count, longest_B.device
    rules = [*rules, EndBetween(torch.zeros_like(longest_B), longest_B)]
    steps_at_most = int(longest_B.max())
    chances_BNT = torch.stack([_chances(N, steps_at_most, seed) for seed in seeds]).to(device)
    which_B = torch.arange(B, device=device)
    scores_BN = torch.zeros(B, N, device=device)
    tokens_BNT = torch.full((B, N, steps_at_most + 1), EOS, device=device)
    open_BNT = begin(B, device)[:, :, None].expand(-1, N, -1)
    for length in range(1, steps_at_most + 1):
        # At first all hypotheses of a sentence are the same one.
        latest_BN = open_BNT[:, :, -1] if length > 1 else begin(B, device)
        log_probabilities_BNV = steps.log_probabilities(latest_BN).expand(-1, N, -1).clone()
        for rule in rules:
            rule(log_probabilities_BNV, open_BNT, which_B)
        ended_BN = (latest_BN == EOS).expand(-1, N)
        token_BN = _draw(log_probabilities_BNV, sampling, chances_BNT[which_B, :, length - 1])
        token_BN = token_BN.masked_fill(ended_BN, EOS)
        gained_BN = log_probabilities_BNV.gather(2, token_BN[:, :, None])[:, :, 0].masked_fill(ended_BN, 0.0)
        scores_BN[which_B] += gained_BN
        tokens_BNT[which_B, :, length - 1] = token_BN
        open_BNT = torch.cat((open_BNT, token_BN[:, :, None]), dim=2)
        going_on = (token_BN != EOS).any(1).nonzero()[:, 0]
        if going_on.numel() == 0:
            break
        parents_N = torch.arange(N, device=device) if length > 1 else torch.zeros(N, dtype=torch.int64, device=device)
        which_B, open_BNT = which_B[going_on], open_BNT[going_on]
        steps.go_on(going_on, parents_N.expand(going_on.numel(), -1))
    lengths_BN = (tokens_BNT != EOS).sum(2) + 1
    final_BN = scores_BN / sampling.penalty(lengths_BN)
    return _hypotheses(tokens_BNT, final_BN, scores_BN, lengths_BN >= longest_B[:, None])


def _chances(count: int, longest: int, seed: int) -> Tensor:
    """Return numbers between 0 and 1, (count, longest) of them; longer or shorter, they begin with the same."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(longest, count, generator=generator).T


def _draw(log_probabilities_BNV: Tensor, sampling: Sampling, chance_BN: Tensor) -> Tensor:
    """Return the token_BN at which the cumulated probability, from the likeliest down, passes the chance."""
    likeliest_BNV, tokens_BNV = (log_probabilities_BNV / sampling.temperature).sort(dim=-1, descending=True)
    if sampling.top_k:
        likeliest_BNV[:, :, sampling.top_k :] = NEVER
    p_BNV = likeliest_BNV.softmax(-1)
    before_BNV = p_BNV.cumsum(-1) - p_BNV
    p_BNV = p_BNV.masked_fill(before_BNV >= sampling.top_p, 0.0)
    cumulated_BNV = p_BNV.cumsum(-1)
    goal_BN1 = (chance_BN * cumulated_BNV[:, :, -1])[:, :, None]
    last_BN1 = (p_BNV > 0).sum(-1, keepdim=True) - 1  # rounding may put the goal at the very end
    rank_BN1 = torch.searchsorted(cumulated_BNV, goal_BN1, right=True).minimum(last_BN1)
    return tokens_BNV.gather(2, rank_BN1)[:, :, 0]


def _hypotheses(
    tokens_BNT: Tensor, scores_BN: Tensor, log_probabilities_BN: Tensor, cut_BN: Tensor
) -> list[list[Hypothesis]]:
    columns = (tokens_BNT.tolist(), scores_BN.tolist(), log_probabilities_BN.tolist(), cut_BN.tolist())
    drawn = [
        [Hypothesis(tokens[: tokens.index(EOS)], *figures) for tokens, *figures in zip(*row, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    return [sorted(of_sentence, key=lambda hypothesis: -hypothesis.score) for of_sentence in drawn]
