"""How probable given translations are: what a search would report of them if it had found them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mtrain.batches.collate import collate
from mtrain.batches.sampler import Lengths, length_batches
from mtrain.config.schema import DecodingConfig
from mtrain.corpus.sources import SIDES
from mtrain.decoding.forced import forced_coverage, forced_log_probabilities
from mtrain.decoding.length import length_penalty
from mtrain.decoding.translator import tag_ids
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers

Ids = list[int]


@dataclass(frozen=True)
class PairScore:
    """How probable a translation is.

    `score` is the `log_probability` (nats) over the length penalty, as a search reports it; `tokens` are those of the
    translation, its end included, `source_tokens` those of the source. A pair without any text has 0 of all.
    """

    score: float
    log_probability: float
    tokens: int
    source_tokens: int


def score_pairs(
    models: Sequence[Transformer],
    tokenizers: Tokenizers,
    config: DecodingConfig,
    pairs: tuple[Sequence[str], Sequence[str]],
    progress: Callable[[int], object],
    tags: Sequence[str] = (),
) -> list[PairScore]:
    """Return the score of each of (sources, targets), which go in pairs, by one model or by several together.

    Text is cut into pieces as the vocabulary has it; a search may have spelt the same text with others. However long,
    both sides are looked at whole; `tags` are put before the sources.
    """
    sources, targets = (
        [tokenizers[side].encode(tokenizers[side].normalise(line)) for line in lines]
        for side, lines in zip(SIDES, pairs, strict=True)
    )
    found = [PairScore(0.0, 0.0, 0, 0)] * len(sources)
    some = np.array([i for i in range(len(sources)) if sources[i] or targets[i]], dtype=np.int64)
    if tags:
        sources = [tag_ids(tokenizers["source"], tag) + ids for tag, ids in zip(tags, sources, strict=True)]
    lengths = Lengths(*(np.array([len(ids) + 1 for ids in side], dtype=np.int32) for side in (sources, targets)))
    for batch in length_batches(lengths, some, config.max_tokens_per_batch, ties=np.arange(len(some)))[::-1]:
        here = batch.tolist()
        scores = score_ids(models, config, [sources[i] for i in here], [targets[i] for i in here])
        for i, score in zip(here, scores, strict=True):
            found[i] = score
        progress(len(here))
    return found


@torch.inference_mode()
def score_ids(
    models: Sequence[Transformer], config: DecodingConfig, sources: Sequence[Ids], targets: Sequence[Ids]
) -> list[PairScore]:
    """Return the scores of one batch of pairs."""
    batch = collate(sources, targets).to(next(models[0].parameters()).device)
    tokens_B = torch.tensor([len(ids) + 1 for ids in targets], device=batch.tgt_in_BT.device)
    log_probability_B = forced_log_probabilities([model.eval() for model in models], batch, config.repetition_penalty)
    score_B = log_probability_B / length_penalty(config.length_normalization, config.length_penalty)(tokens_B)
    if config.coverage_penalty and config.method == "beam":
        score_B = score_B + config.coverage_penalty * forced_coverage(models, batch)
    columns = (score_B.tolist(), log_probability_B.tolist(), tokens_B.tolist(), [len(ids) + 1 for ids in sources])
    return list(map(PairScore, *columns))
