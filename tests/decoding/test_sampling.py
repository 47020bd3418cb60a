"""Drawing translations: from the right distribution, cut off where told, and each sentence by its own seed."""

from collections import Counter

import pytest
import torch

from mtrain.decoding.length import length_penalty
from mtrain.decoding.sampling import Sampling, sample
from mtrain.tokenizer import BOS, EOS

PENALTY = length_penalty("gnmt", 0.0)


@pytest.fixture
def table(random_table):
    return random_table(3, sharpness=0.7)


def first_tokens(table_steps, table, count, **settings):
    """Count the first tokens of `count` draws."""
    usual = {"count": count, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "penalty": PENALTY}
    sampling = Sampling(**{**usual, **settings})
    ((*drawn,),) = sample(table_steps([table]), torch.tensor([12]), sampling, [5])
    return Counter(hypothesis.tokens[0] if hypothesis.tokens else EOS for hypothesis in drawn)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_tokens_are_drawn_with_their_probabilities(table_steps, table, temperature):
    counts = first_tokens(table_steps, table, 4000, temperature=temperature)
    p = (table[BOS, BOS] / temperature).softmax(-1)
    # First histories are (), so that the table looks from BOS twice.
    for token in range(8):
        assert counts[token] / 4000 == pytest.approx(p[token].item(), abs=0.03)


def test_only_the_likeliest_are_drawn_where_told(table_steps, table):
    p = table[BOS, BOS].exp()
    order = p.argsort(descending=True).tolist()
    assert set(first_tokens(table_steps, table, 1000, top_k=2)) == set(order[:2])
    enough = next(k for k in range(1, 9) if p[order[:k]].sum() >= 0.6)
    assert set(first_tokens(table_steps, table, 1000, top_p=0.6)) == set(order[:enough])
    assert set(first_tokens(table_steps, table, 100, top_k=1)) == {order[0]}


def test_scores_are_the_models_and_the_best_come_first(table_steps, table):
    sampling = Sampling(20, 1.7, 3, 0.9, length_penalty("gnmt", 0.6))
    ((*drawn,),) = sample(table_steps([table]), torch.tensor([9]), sampling, [1])
    assert [hypothesis.score for hypothesis in drawn] == sorted((h.score for h in drawn), reverse=True)
    for hypothesis in drawn:
        path = [BOS, BOS, *hypothesis.tokens, EOS]
        score = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
        assert hypothesis.score == pytest.approx(score / ((5 + len(path) - 2) / 6) ** 0.6, abs=1e-4)


def test_a_draw_depends_on_its_own_seed_alone(table_steps, random_table):
    tables = [random_table(seed, sharpness=0.7) for seed in range(5)]
    longest, seeds = torch.tensor([12, 3, 9, 12, 5]), [11, 12, 13, 14, 15]
    sampling = Sampling(3, 1.0, 0, 1.0, PENALTY)
    together = sample(table_steps(tables), longest, sampling, seeds)
    for i, table in enumerate(tables):
        (alone,) = sample(table_steps([table]), longest[i : i + 1], sampling, [seeds[i]])
        assert alone == together[i]
    others = sample(table_steps(tables), longest, sampling, [seed + 100 for seed in seeds])
    assert others != together
