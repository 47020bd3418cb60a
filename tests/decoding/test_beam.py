"""The search on a table of probabilities whose best path is known by enumeration."""

import itertools
import math

import pytest
import torch

from mtrain.decoding.beam import beam_search
from mtrain.tokenizer import BOS, EOS

VOCABULARY = 8
WORDS = [4, 5, 6, 7]


class TableSteps:
    """A model whose next token depends on the sentence and on the last two tokens only."""

    def __init__(self, tables):
        self.tables = tables  # one a sentence: (V, V, V)
        self.alive = list(range(len(tables)))
        self.histories = [[()] for _ in tables]

    def log_probabilities(self, tokens_BN):
        out = torch.empty(*tokens_BN.shape, VOCABULARY)
        for row, sentence in enumerate(self.alive):
            width = tokens_BN.size(1)
            if len(self.histories[row]) != width:
                self.histories[row] = self.histories[row] * width
            self.histories[row] = [(*h, int(t)) for h, t in zip(self.histories[row], tokens_BN[row], strict=True)]
            for n, history in enumerate(self.histories[row]):
                before = history[-2] if len(history) > 1 else BOS
                out[row, n] = self.tables[sentence][before, history[-1]]
        return out

    def go_on(self, sentences, parents_BN):
        self.alive = [self.alive[i] for i in sentences.tolist()]
        old = [self.histories[i] for i in sentences.tolist()]
        self.histories = [[h[p] for p in parents] for h, parents in zip(old, parents_BN.tolist(), strict=True)]


def random_table(seed, sharpness=1.5):
    logits = torch.randn(VOCABULARY, VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(seed)) * sharpness
    logits[:, :, :4] = -math.inf
    logits[:, :, EOS] = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(seed + 1000))
    return logits.log_softmax(-1)


def enumerate_best(table, longest, alpha):
    """Score every sentence of up to `longest` tokens, EOS included."""
    best = (-math.inf, None)
    for length in range(1, longest + 1):
        for words in itertools.product(WORDS, repeat=length - 1):
            path = [BOS, BOS, *words, EOS]
            score = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
            best = max(best, (score / ((5 + length) / 6) ** alpha, list(words)))
    return best


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_wide_beam_finds_the_best_of_all_sentences(alpha):
    tables = [random_table(seed) for seed in range(6)]
    longest = torch.tensor([5, 4, 6, 5, 3, 6])
    found = beam_search(TableSteps(tables), longest, beam=1500, alpha=alpha)
    for table, limit, hypothesis in zip(tables, longest.tolist(), found, strict=True):
        score, words = enumerate_best(table, limit, alpha)
        assert hypothesis.score == pytest.approx(score, abs=1e-4)
        assert hypothesis.tokens == words


def test_beam_1_is_greedy_search():
    tables = [random_table(seed, sharpness=0.5) for seed in range(20)]
    found = beam_search(TableSteps(tables), torch.full((20,), 30), beam=1, alpha=0.6)
    for table, hypothesis in zip(tables, found, strict=True):
        path = [BOS, BOS]
        while path[-1] != EOS and len(path) < 31:
            path.append(int(table[path[-2], path[-1]].argmax()))
        assert hypothesis.tokens == [token for token in path[2:] if token != EOS]


def test_a_wider_beam_is_never_worse_on_these_tables_and_scores_are_true():
    for seed in range(8):
        table = random_table(seed, sharpness=0.7)
        for beam in (1, 2, 4, 8):
            (hypothesis,) = beam_search(TableSteps([table]), torch.tensor([12]), beam, alpha=0.6)
            path = [BOS, BOS, *hypothesis.tokens, EOS]
            score = sum(float(table[a, b, c]) for a, b, c in zip(path, path[1:], path[2:], strict=False))
            assert hypothesis.score == pytest.approx(score / ((5 + len(path) - 2) / 6) ** 0.6, abs=1e-4)


def test_sentences_do_not_disturb_each_other():
    tables = [random_table(seed, sharpness=0.7) for seed in range(12)]
    longest = torch.randint(3, 15, (12,))
    together = beam_search(TableSteps(tables), longest, beam=3, alpha=0.6)
    for i, table in enumerate(tables):
        (alone,) = beam_search(TableSteps([table]), longest[i : i + 1], beam=3, alpha=0.6)
        assert alone.tokens == together[i].tokens
        assert alone.score == pytest.approx(together[i].score, abs=1e-5)


def test_a_model_that_never_ends_is_ended_and_said_to_be_cut():
    logits = torch.full((VOCABULARY, VOCABULARY, VOCABULARY), -math.inf)
    logits[:, :, 4], logits[:, :, EOS] = 5.0, -5.0
    (hypothesis,) = beam_search(TableSteps([logits.log_softmax(-1)]), torch.tensor([9]), beam=2, alpha=2.0)
    assert hypothesis.cut
    assert hypothesis.tokens == [4] * 8
    (sane,) = beam_search(TableSteps([random_table(3)]), torch.tensor([50]), beam=2, alpha=0.6)
    assert not sane.cut
