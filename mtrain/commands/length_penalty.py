"""What `fit` does once training has ended: find the length penalty with which the model translates dev best."""

from dataclasses import replace

from mtrain.batches.store import Prepared
from mtrain.commands.validator import some_of_dev
from mtrain.config.schema import Config, DecodingConfig
from mtrain.console import progress_bar, say
from mtrain.decoding.length import UNTUNED
from mtrain.decoding.tuning import translations_by_penalty
from mtrain.evaluation.metrics import score
from mtrain.evaluation.penalties import best_penalty, render_penalties
from mtrain.model.transformer import Transformer
from mtrain.tokenizer import Tokenizers


def tuned(config: Config, model: Transformer, prepared: Prepared, tokenizers: Tokenizers) -> DecodingConfig:
    """Return the settings of decoding, with the length penalty that is best on dev where they have none."""
    section = replace(config.decoding, method="beam")
    if section.length_penalty >= 0:
        say(f"length penalty {section.length_penalty:g}, as decoding.length_penalty says")
        return config.decoding
    best = UNTUNED
    if config.training.tune_pairs and section.beam > 1:
        language, bleu_tokenizer = config.corpus.target_language, config.evaluation.bleu_tokenizer
        sources, references, its_tags = some_of_dev(config, prepared, config.training.tune_pairs)
        with progress_bar("length penalty", len(sources), "line") as bar:
            lines = (sources, its_tags)
            translations = translations_by_penalty(model, tokenizers, section, language, lines, bar.update)
        scores = {penalty: score(t, references, None, language, bleu_tokenizer) for penalty, t in translations.items()}
        best = best_penalty(scores, UNTUNED)
        say(f"{render_penalties(scores, best)}\nof {len(sources):,} dev pairs, beam {section.beam}")
    say(f"length penalty of the model: {best:g}")
    return replace(config.decoding, length_penalty=best)
