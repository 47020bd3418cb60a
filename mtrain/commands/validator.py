"""What `fit` looks at on dev: losses, and the BLEU of some pairs."""

from dataclasses import replace

import numpy as np
import torch

from mtrain.batches.collate import Batch
from mtrain.batches.store import Prepared
from mtrain.batches.stream import fixed_batches
from mtrain.config.schema import Config
from mtrain.console import progress_bar
from mtrain.corpus.sources import entries, tags
from mtrain.decoding.translator import Translator
from mtrain.errors import PreparedDataError
from mtrain.evaluation.metrics import score
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers
from mtrain.training.compilation import uncompiled
from mtrain.training.validation import DevScores, Sample, Validator, dev_losses

_SAMPLES_SHOWN = 3


def make_validator(config: Config, prepared: Prepared, tokenizers: Tokenizers, precision: torch.dtype) -> Validator:
    """Return what looks at dev: at each of its corpora by itself, and at all but the guarded one together."""
    if len(prepared.examples("dev")) == 0:
        raise PreparedDataError(f"{config.corpus.folder}: the dev split is empty. Set corpus.dev, or corpus.dev_pairs.")
    batches = _batches(config, prepared)
    sources, references, its_tags = some_of_dev(config, prepared, config.training.validate_pairs)
    greedy = replace(config.decoding, method="beam", beam=1)
    language, bleu_tokenizer = config.corpus.target_language, config.evaluation.bleu_tokenizer
    # Scored once here: a language whose tokenizer is not installed should be told now, not after an hour.
    one_line = prepared.lines("dev", "target")[:1]
    score(one_line, one_line, None, language, bleu_tokenizer)

    def validate(model: Transformer, in_short: bool = False) -> DevScores:
        loss, source_gain, by_corpus = _losses(model, batches, config.training.guard, precision, in_short)
        if not sources:
            return DevScores(loss, source_gain, None, [], by_corpus)
        these = slice(_SAMPLES_SHOWN if in_short else len(sources))
        with progress_bar("dev BLEU", len(sources[these]), "line") as bar:
            translator = Translator([model], tokenizers, greedy, language)
            translations = translator.translate(sources[these], bar.update, tags=its_tags[these])
        hypotheses = [translation.text for translation in translations]
        scores = score(hypotheses, references[these], None, language, bleu_tokenizer)
        samples = map(Sample, sources, references, hypotheses)
        return DevScores(loss, source_gain, scores.bleu, list(samples)[:_SAMPLES_SHOWN], by_corpus)

    return uncompiled(validate)


def some_of_dev(config: Config, prepared: Prepared, count: int) -> tuple[list[str], list[str], list[str]]:
    """Return sources, references and tags of up to `count` dev pairs, spread evenly; none of the guarded corpus."""
    names = [one.name for one in entries(config.corpus, "dev")]
    guarded = names.index(config.training.guard) if config.training.guard else -1
    rows = np.flatnonzero(prepared.corpora("dev") != guarded).tolist()
    count = min(count, len(rows))
    chosen = [rows[index * len(rows) // count] for index in range(count)]
    its_tags = prepared.tags("dev", tags(config.corpus, "dev"))
    columns = prepared.lines("dev", "source"), prepared.lines("dev", "target"), its_tags
    sources, references, its_tags = ([column[row] for row in chosen] for column in columns)
    return sources, references, its_tags


def _batches(config: Config, prepared: Prepared) -> dict[str, list[Batch]]:
    """Return the batches of each corpus of dev that has any, by its name; what was taken out of train is one."""
    examples, numbers = prepared.examples("dev"), prepared.corpora("dev")
    titles = [one.title for one in entries(config.corpus, "dev")]
    rows = {title: np.flatnonzero(numbers == number) for number, title in enumerate(titles)}
    rows = rows or {"dev": np.arange(len(examples))}
    most = config.batches.max_tokens_per_batch
    return {title: fixed_batches(examples, most, own) for title, own in rows.items() if len(own)}


def _losses(
    model: Transformer, batches: dict[str, list[Batch]], guard: str, precision: torch.dtype, in_short: bool
) -> tuple[float, float | None, dict[str, float]]:
    """Return loss and gain of all corpora but the guarded one together, and where there are several, each loss."""
    loss = gain = 0.0
    tokens = tokens_with_gain = 0
    by_corpus = {}
    for name, own in batches.items():
        looked_at = own[:1] if in_short else own
        by_corpus[name], own_gain = dev_losses(model, looked_at, precision)
        if name == guard:
            continue
        own_tokens = sum(batch.target_tokens for batch in looked_at)
        loss, tokens = loss + by_corpus[name] * own_tokens, tokens + own_tokens
        if own_gain is not None:
            gain, tokens_with_gain = gain + own_gain * own_tokens, tokens_with_gain + own_tokens
    whole_gain = gain / tokens_with_gain if tokens_with_gain else None
    return loss / tokens, whole_gain, by_corpus if len(by_corpus) > 1 else {}
