"""What the search needs of a model: one step at a time. A table of probabilities serves as well as a Transformer."""

from typing import Protocol

import torch
from torch import Tensor

from mtrain.batches.collate import SourceBatch
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import BOS, PAD, UNK


class Steps(Protocol):
    """Sentences being translated side by side."""

    def log_probabilities(self, tokens_BN: Tensor) -> Tensor:
        """Take each hypothesis' latest token and return the log-probabilities_BNV of its next one."""

    def go_on(self, sentences: Tensor, parents_BN: Tensor) -> None:
        """Keep only these sentences; of sentence i of them, hypothesis n goes on from `parents_BN[i, n]`."""


class TransformerSteps:
    """A Transformer with its cache, starting from one hypothesis a sentence and going on with `beam` of them."""

    def __init__(self, model: Transformer, batch: SourceBatch) -> None:
        self._model = model
        self._cache = model.start(batch.src_BS, batch.keep_BS)
        self._hypotheses = 1

    def log_probabilities(self, tokens_BN: Tensor) -> Tensor:
        """Never give PAD, BOS or UNK any probability: no translation contains them."""
        self._hypotheses = tokens_BN.size(1)
        logits_BNV = self._model.step(tokens_BN, self._cache).float()
        logits_BNV[:, :, [PAD, UNK, BOS]] = float("-inf")
        return logits_BNV.log_softmax(dim=-1)

    def go_on(self, sentences: Tensor, parents_BN: Tensor) -> None:
        """Reorder the target side's cache; the source side's stands once per sentence."""
        rows_BN = sentences[:, None] * self._hypotheses + parents_BN
        self._cache.reorder(rows_BN.flatten())
        if sentences.numel() < self._cache.sentences:
            self._cache.keep_sentences(sentences)


def begin(sentences: int, device: torch.device) -> Tensor:
    """Return the first tokens_BN: BOS, one hypothesis a sentence."""
    return torch.full((sentences, 1), BOS, dtype=torch.int64, device=device)
