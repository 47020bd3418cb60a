"""Translations under many length penalties for the price of one search."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Hypothesis
from mtrain.decoding.length import length_penalty
from mtrain.decoding.search import Ids, Search
from mtrain.decoding.translator import Translator
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers

PENALTIES = (0.0, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


class _RankedAnew:
    """All hypotheses that a search ends, ranked under any length penalty.

    The penalty does not steer the search: open hypotheses compare by their log-probabilities, each that ends keeps its
    place in the beam, and a search for the best one stops as soon as no other can win. Asked for as many as the beam is
    wide, it has to end them all, whatever the penalty; the best of them is what a search with that penalty finds.
    """

    def __init__(self, model: Transformer, config: DecodingConfig) -> None:
        self._search = Search([model], replace(config, length_penalty=0.0))
        self._width, self._normalization = config.beam, config.length_normalization
        self._found: dict[tuple[int, ...], list[Hypothesis]] = {}
        self.length_penalty = 0.0

    def __call__(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], best: int, progress: Callable[[int], object]
    ) -> list[list[Hypothesis]]:
        """Search for what has not been searched for, and return the best under `length_penalty`."""
        if any(prefixes):
            raise ValueError("what has been found for a source does not begin with a prefix")
        known = list(map(tuple, sources))
        new = list(dict.fromkeys(ids for ids in known if ids not in self._found))
        if new:
            self._found.update(zip(new, self._search(new, [[]] * len(new), self._width, progress), strict=True))
        return [sorted(map(self._scored, self._found[ids]), key=_by_score)[:best] for ids in known]

    def _scored(self, found: Hypothesis) -> Hypothesis:
        """Divide by another penalty than 1; a coverage penalty stays as it is."""
        divisor = length_penalty(self._normalization, self.length_penalty)(torch.tensor(len(found.tokens) + 1)).item()
        return replace(found, score=found.score - found.log_probability + found.log_probability / divisor)


def _by_score(hypothesis: Hypothesis) -> float:
    return -hypothesis.score


def translations_by_penalty(
    model: Transformer,
    tokenizers: Tokenizers,
    config: DecodingConfig,
    target_language: str,
    lines: tuple[Sequence[str], Sequence[str]],
    progress: Callable[[int], object],
) -> dict[float, list[str]]:
    """Return, for each of `PENALTIES`, how a beam search with it translates the lines, given with their tags."""
    search = _RankedAnew(model, config)
    translator = Translator([model], tokenizers, config, target_language, search)
    texts, tags = lines
    found = {}
    for penalty in PENALTIES:
        search.length_penalty = penalty
        found[penalty] = [translation.text for translation in translator.translate(texts, progress, tags=tags)]
    return found
