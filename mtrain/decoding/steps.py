"""What the search needs of a model: one step at a time. A table of probabilities serves as well as a Transformer."""

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from mtrain.batches.collate import SourceBatch
from mtrain.model.attention import watched
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import BOS, PAD

# PAD, UNK and BOS, which are neighbours: a list of them would be copied to the device at each step.
NEVER_SAID = slice(PAD, BOS + 1)


class Steps(Protocol):
    """Sentences being translated side by side."""

    def log_probabilities(self, tokens_BN: Tensor) -> Tensor:
        """Take each hypothesis' latest token and return the log-probabilities_BNV of its next one."""

    def go_on(self, sentences: Tensor, parents_BN: Tensor) -> None:
        """Keep only these sentences; of sentence i of them, hypothesis n goes on from `parents_BN[i, n]`."""

    def coverage_BN(self) -> Tensor:
        """Return how well the latest hypotheses have looked at the source, where somebody asks for it.

        The sum over source tokens of log min(attention received, 1). Source: Wu et al. 2016, section 7, eq. 14.
        """


class TransformerSteps:
    """A Transformer with its cache, starting from one hypothesis a sentence and going on with `beam` of them.

    `covers` is for those who will ask for the coverage, which watching makes a little slower.
    """

    def __init__(self, model: Transformer, batch: SourceBatch, covers: bool = False) -> None:
        self._model = model
        self._cache = model.start(batch.src_BS, batch.keep_BS)
        self._keep_BS = torch.ones_like(batch.src_BS, dtype=torch.bool) if batch.keep_BS is None else batch.keep_BS
        self._received_BNS = torch.zeros(len(batch.src_BS), 1, batch.src_BS.size(1), device=batch.src_BS.device)
        self._watched = [model.decoder.cross_attentions[model.decoder.aligning_layer]] if covers else []
        self._hypotheses = 1

    def log_probabilities(self, tokens_BN: Tensor) -> Tensor:
        """Never give PAD, BOS or UNK any probability: no translation contains them."""
        self._hypotheses = tokens_BN.size(1)
        with watched(self._watched) as seen:
            logits_BNV = self._model.step(tokens_BN, self._cache).float()
        for (weights_BHNS,) in seen:
            self._received_BNS = self._received_BNS + weights_BHNS.mean(1)
        logits_BNV[:, :, NEVER_SAID] = float("-inf")
        return logits_BNV.log_softmax(dim=-1)

    def go_on(self, sentences: Tensor, parents_BN: Tensor) -> None:
        """Reorder the target side's cache; the source side's stands once per sentence."""
        rows_BN = sentences[:, None] * self._hypotheses + parents_BN
        self._cache.reorder(rows_BN.flatten())
        if self._watched:
            self._received_BNS = self._received_BNS[sentences[:, None], parents_BN]
            self._keep_BS = self._keep_BS[sentences]
        if sentences.numel() < self._cache.sentences:
            self._cache.keep_sentences(sentences)

    def coverage_BN(self) -> Tensor:
        """Padding counts as looked at."""
        received_BNS = self._received_BNS.clamp(1e-9, 1.0).masked_fill(~self._keep_BS[:, None], 1.0)
        return received_BNS.log().sum(-1)


class EnsembleSteps:
    """Several models with one vocabulary, as one: the mean of their probabilities."""

    def __init__(self, members: Sequence[Steps]) -> None:
        self._members = members

    def log_probabilities(self, tokens_BN: Tensor) -> Tensor:
        """Return the logarithm of the mean probability_BNV."""
        each = torch.stack([member.log_probabilities(tokens_BN) for member in self._members])
        return each.logsumexp(0) - math.log(len(self._members))

    def go_on(self, sentences: Tensor, parents_BN: Tensor) -> None:
        """Let each of them go on."""
        for member in self._members:
            member.go_on(sentences, parents_BN)

    def coverage_BN(self) -> Tensor:
        """Return the mean of theirs."""
        return torch.stack([member.coverage_BN() for member in self._members]).mean(0)


def begin(sentences: int, device: torch.device) -> Tensor:
    """Return the first tokens_BN: BOS, one hypothesis a sentence."""
    return torch.full((sentences, 1), BOS, dtype=torch.int64, device=device)
