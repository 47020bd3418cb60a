"""A model that is a table: its best translations are known by enumeration."""

import math

import pytest
import torch

from mtrain.tokenizer import BOS, EOS

VOCABULARY = 8  # four special pieces, four words


class _TableSteps:
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


def _random_table(seed, sharpness=1.5):
    """Return log-probabilities of the next token given the last two; only the words and EOS have any."""
    logits = torch.randn(VOCABULARY, VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(seed)) * sharpness
    logits[:, :, :4] = -math.inf
    logits[:, :, EOS] = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(seed + 1000))
    return logits.log_softmax(-1)


@pytest.fixture
def table_steps():
    """Return the class of models that are tables, one table a sentence."""
    return _TableSteps


@pytest.fixture
def random_table():
    """Return the maker of such tables."""
    return _random_table
