"""Text to text: normalise, cut what is too long, encode, search, decode, and put everything back in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from mtrain.batches.collate import collate_sources
from mtrain.batches.sampler import source_batches
from mtrain.config.schema import DecodingConfig
from mtrain.corpus.lines import normalise
from mtrain.decoding.beam import Hypothesis, beam_search
from mtrain.decoding.length import longest_translation
from mtrain.decoding.split import split_text
from mtrain.decoding.steps import TransformerSteps
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers

Progress = Callable[[int], object]


def _nobody(_: int) -> None:
    """Tell nobody."""


# Languages written without spaces between sentences: the translated parts of a long input are joined directly.
_WRITTEN_WITHOUT_SPACES = {"zh", "lzh", "yue", "ja", "th"}


@dataclass(frozen=True)
class Translation:
    """One translated line.

    `score` is the search's (nats over the length penalty), summed over parts; `parts` is above 1 where the input was
    too long and translated in pieces; `cut` says that a piece reached the longest length allowed; `spelt` are the
    characters of the input that have no piece in the vocabulary and went in as bytes.
    """

    text: str
    score: float
    parts: int
    cut: bool
    spelt: str


class Translator:
    """A model that is ready to translate lines of text."""

    def __init__(
        self, model: Transformer, tokenizers: Tokenizers, config: DecodingConfig, target_language: str
    ) -> None:
        self._model = model
        self._source, self._target = tokenizers["source"], tokenizers["target"]
        self._config = config
        self._joint = "" if target_language.split("-", 1)[0] in _WRITTEN_WITHOUT_SPACES else " "
        self._device = next(model.parameters()).device

    def translate(self, lines: Sequence[str], progress: Progress = _nobody) -> list[Translation]:
        """Return one translation a line, in order; an empty line gives an empty translation.

        `progress` is told how many more lines, or parts of long ones, are done.
        """
        pieces_of = [self._pieces(line) for line in lines]
        hypotheses = iter(self._search([ids for pieces in pieces_of for ids in pieces], progress))
        return [
            self._join([next(hypotheses) for _ in pieces], self._spelt(line))
            for line, pieces in zip(lines, pieces_of, strict=True)
        ]

    def _pieces(self, line: str) -> list[list[int]]:
        text = normalise(line)
        if not text:
            return []
        ids = self._source.encode(text)
        if len(ids) <= self._config.max_source_tokens:
            return [ids]
        parts = split_text(text, lambda part: len(self._source.encode(part)), self._config.max_source_tokens)
        return [self._source.encode(part.strip()) for part in parts if part.strip()]

    @torch.inference_mode()
    def _search(self, sources: list[list[int]], progress: Progress) -> list[Hypothesis]:
        self._model.eval()
        found: dict[int, Hypothesis] = {}
        lengths = [len(ids) + 1 for ids in sources]
        for batch in source_batches(lengths, self._config.max_tokens_per_batch // self._config.beam):
            source = collate_sources([sources[i] for i in batch]).to(self._device)
            longest_B = longest_translation(
                torch.tensor([lengths[i] for i in batch], device=self._device),
                self._config.max_length_factor,
                self._config.max_length_extra,
            )
            steps = TransformerSteps(self._model, source)
            hypotheses = beam_search(steps, longest_B, self._config.beam, self._config.length_penalty)
            found.update(zip(batch.tolist(), hypotheses, strict=True))
            progress(len(batch))
        return [found[i] for i in range(len(sources))]

    def _spelt(self, line: str) -> str:
        return "".join(c for c in dict.fromkeys(normalise(line)) if not self._source.has_piece(c))

    def _join(self, hypotheses: list[Hypothesis], spelt: str) -> Translation:
        return Translation(
            text=self._joint.join(self._target.decode(hypothesis.tokens) for hypothesis in hypotheses),
            score=sum(hypothesis.score for hypothesis in hypotheses),
            parts=len(hypotheses),
            cut=any(hypothesis.cut for hypothesis in hypotheses),
            spelt=spelt,
        )
