"""Token ids to hypotheses: the search that the `decoding` section describes, in batches of sources of like length."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from mtrain.batches.collate import SourceBatch, collate_sources
from mtrain.batches.sampler import source_batches
from mtrain.config.schema import DecodingConfig
from mtrain.decoding.beam import Beam, Choice, Hypothesis, beam_search
from mtrain.decoding.constraints import EndBetween, NoRepeatedNgram, Prefix, RepetitionPenalty, Rule
from mtrain.decoding.length import length_penalty, longest_translation, shortest_translation
from mtrain.decoding.sampling import Sampling, sample
from mtrain.decoding.steps import EnsembleSteps, Steps, TransformerSteps
from mtrain.model.transformer import Transformer
from mtrain.runtime import side_by_side

Ids = Sequence[int]


class Searching(Protocol):
    """Finds hypotheses for sources, each beginning with its prefix: up to `best` of each, best first."""

    def __call__(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids], best: int, progress: Callable[[int], object]
    ) -> list[list[Hypothesis]]:
        """Return them in the order of the sources, and tell `progress` how many more are done."""


class Guide(Protocol):
    """Chooses the hypotheses to go on with, at most `width` of a sentence, in place of the likeliest ones."""

    width: int

    def choice(self, some: Sequence[int], device: torch.device) -> Choice:
        """Return the choice for these sources."""


class Search:
    """One model, or several with the same vocabularies, ready to search for translations."""

    def __init__(self, models: Sequence[Transformer], config: DecodingConfig) -> None:
        self._models = models
        self._config = config
        self.beam = config.beam
        self._penalty = length_penalty(config.length_normalization, config.length_penalty)
        self._device = next(models[0].parameters()).device

    def __call__(
        self,
        sources: Sequence[Ids],
        prefixes: Sequence[Ids],
        best: int,
        progress: Callable[[int], object],
        guide: Guide | None = None,
    ) -> list[list[Hypothesis]]:
        """Return up to `best` hypotheses of each source, best first, each beginning with its prefix.

        `progress` is told how many more are done. A `guide` is for beam search.
        """
        config = self._config
        for model in self._models:
            model.eval()
        rows = max(config.beam, best, guide.width if guide else 1) if config.method == "beam" else best
        lengths = [len(ids) + 1 for ids in sources]
        batches = [some.tolist() for some in source_batches(lengths, max(1, config.max_tokens_per_batch // rows))]

        @torch.inference_mode()
        def search(some: list[int]) -> list[list[Hypothesis]]:
            choice = guide.choice(some, self._device) if guide else None
            return self._search([sources[i] for i in some], [prefixes[i] for i in some], best, choice)

        # Watching how a model looks at the source is for one batch at a time.
        alone = self._device.type != "cpu" or config.coverage_penalty > 0
        found: dict[int, list[Hypothesis]] = {}
        for some, hypotheses in zip(batches, (map if alone else side_by_side)(search, batches), strict=True):
            found.update(zip(some, hypotheses, strict=True))
            progress(len(some))
        return [found[i] for i in range(len(sources))]

    def _search(
        self, sources: list[Ids], prefixes: list[Ids], best: int, choice: Choice | None
    ) -> list[list[Hypothesis]]:
        config, batch = self._config, collate_sources(sources).to(self._device)
        source_tokens_B, longest_B = self._tokens(sources), self.longest(sources, prefixes)
        rules = self._rules(source_tokens_B, longest_B, prefixes)
        if config.method == "sampling":
            sampling = Sampling(best, config.temperature, config.top_k, config.top_p, self._penalty)
            seeds = [_seed(config.seed, ids) for ids in sources]
            return sample(self._steps(batch, covers=False), longest_B, sampling, seeds, rules)
        beam = Beam(config.beam, self._penalty, best, config.coverage_penalty)
        return beam_search(self._steps(batch, covers=config.coverage_penalty > 0), longest_B, beam, rules, choice)

    def longest(self, sources: Sequence[Ids], prefixes: Sequence[Ids]) -> Tensor:
        """Return how many tokens each translation may have at most, its end included."""
        config = self._config
        longest_B = longest_translation(self._tokens(sources), config.max_length_factor, config.max_length_extra)
        # A prefix is never too long: it has to fit, with its end.
        return longest_B.maximum(self._tokens(prefixes))

    def _tokens(self, of_all: Sequence[Ids]) -> Tensor:
        return torch.tensor([len(ids) + 1 for ids in of_all], device=self._device)

    def _steps(self, batch: SourceBatch, covers: bool) -> Steps:
        members = [TransformerSteps(model, batch, covers) for model in self._models]
        return members[0] if len(members) == 1 else EnsembleSteps(members)

    def _rules(self, source_tokens_B: Tensor, longest_B: Tensor, prefixes: list[Ids]) -> list[Rule]:
        config = self._config
        rules: list[Rule] = []
        if config.no_repeat_ngram:
            rules.append(NoRepeatedNgram(config.no_repeat_ngram))
        if config.min_length or config.min_length_factor:
            shortest_B = shortest_translation(source_tokens_B, config.min_length_factor, config.min_length)
            rules.append(EndBetween(shortest_B, longest_B))
        if any(prefixes):
            longest = max(map(len, prefixes))
            padded = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in prefixes]
            rules = [Prefix(torch.tensor(padded, device=self._device), rules)]
        # Scores have it in them, those of given translations too.
        penalty = [RepetitionPenalty(config.repetition_penalty)] if config.repetition_penalty != 1 else []
        return [*penalty, *rules]


def _seed(seed: int, source: Ids) -> int:
    """Return a seed for one source, the same wherever in whatever file it stands."""
    text = f"{seed}/{','.join(map(str, source))}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")
