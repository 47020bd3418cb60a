"""What a value must be: the range of every number, and rules between settings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from mtrain.config.forms import TABLES, holds_pairs
from mtrain.config.schema import Config, ModelConfig, OneCorpus, TrainingConfig
from mtrain.languages import CHINESE, complaint, primary

_LANGUAGES = ("source_language", "target_language")
# The corpus of each stored pair is one byte.
_MOST_CORPORA = 256
_MOST_TIMES = 1000


class BrokenRule(NamedTuple):
    """The keys that a rule is about, and what is wrong with them."""

    keys: tuple[str, ...]
    text: str


class Range(NamedTuple):
    """What some numbers must be, in words and as a test, and the keys it holds for."""

    words: str
    holds: Callable[[float], bool]
    keys: str


RANGES = (
    Range(
        "at least 1",
        lambda value: value >= 1,
        """corpus.dev_pairs corpus.min_units tokenizer.train_lines
        batches.max_tokens_per_batch batches.max_tokens_per_sentence
        model.d_model model.heads model.d_ff model.encoder_layers model.decoder_layers model.max_positions
        training.accumulate training.warmup_updates training.log_every_updates training.validate_every_updates
        training.save_every_updates training.keep_checkpoints
        decoding.beam decoding.max_source_tokens decoding.max_tokens_per_batch""",
    ),
    Range(
        "at least 0",
        lambda value: value >= 0,
        """run.seed run.threads corpus.test_pairs corpus.max_units model.head_width
        training.max_updates training.max_epochs training.max_minutes
        training.patience training.save_every_minutes training.weight_decay training.clip_norm training.r_drop
        training.guard_tolerance training.validate_pairs training.tune_pairs training.average_checkpoints
        decoding.coverage_penalty decoding.min_length decoding.min_length_factor
        decoding.max_length_extra decoding.no_repeat_ngram decoding.top_k decoding.seed""",
    ),
    Range(
        "above 0",
        lambda value: value > 0,
        """training.learning_rate training.learning_rate_scale training.adam_epsilon decoding.max_length_factor
        decoding.repetition_penalty decoding.temperature""",
    ),
    Range(
        "at least 0 and below 1",
        lambda value: 0 <= value < 1,
        """model.dropout model.attention_dropout training.adam_beta1 training.adam_beta2
        training.label_smoothing training.average_decay batches.bpe_dropout""",
    ),
    Range(
        "at least 0 and below 1, or -1 to be as model.dropout",
        lambda value: value == -1 or 0 <= value < 1,
        "model.embedding_dropout model.residual_dropout model.feed_forward_dropout",
    ),
    Range(
        "at least 0, or -1 for what fit finds best on dev",
        lambda value: value == -1 or value >= 0,
        "decoding.length_penalty",
    ),
    Range(
        "from 0 to 1",
        lambda value: 0 <= value <= 1,
        "corpus.min_script_share corpus.near_overlap training.cooldown batches.strip_punctuation",
    ),
    Range("0, or at least 1", lambda value: value == 0 or value >= 1, "corpus.max_length_ratio"),
    Range("above 0 and at most 1", lambda value: 0 < value <= 1, "decoding.top_p"),
    Range("from 0.98 to 1, as SentencePiece demands", lambda value: 0.98 <= value <= 1, "tokenizer.character_coverage"),
    Range(
        "from 300, for 256 bytes, 4 special symbols and some pieces, to 1,000,000",
        lambda value: 300 <= value <= 1_000_000,
        "tokenizer.vocabulary_size",
    ),
    Range(
        "0, or from 300 to 1,000,000",
        lambda value: value == 0 or 300 <= value <= 1_000_000,
        "tokenizer.target_vocabulary_size",
    ),
)


def check_config(config: Config) -> list[BrokenRule]:
    """Return every rule that the settings break."""
    return [
        *_out_of_range(config),
        *_corpus_rules(config),
        *_vocabulary_rules(config),
        *_model_rules(config),
        *_training_rules(config),
    ]


def _out_of_range(config: Config) -> Iterator[BrokenRule]:
    for words, holds, keys in RANGES:
        for key in keys.split():
            value = attrgetter(key)(config)
            if not holds(value):
                yield BrokenRule((key,), f"must be {words}, found {value}")


def _corpus_rules(config: Config) -> Iterator[BrokenRule]:
    corpus = config.corpus
    if not corpus.train:
        text = f"is not set; name two aligned text files, or {', '.join(TABLES)} files"
        yield BrokenRule(("corpus.train",), text)
    for split, given in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
        yield from _corpora_rules(f"corpus.{split}", [one for one in given if isinstance(one, OneCorpus)])
        wrong = _wrong_files([name for name in given if isinstance(name, str)])
        if wrong:
            yield BrokenRule((f"corpus.{split}",), wrong)
    for key in _LANGUAGES:
        if complaint(getattr(corpus, key)):
            yield BrokenRule((f"corpus.{key}",), complaint(getattr(corpus, key)))
    for key, code, wanted in (
        ("source_script", corpus.source_language, corpus.source_script),
        ("target_script", corpus.target_language, corpus.target_script),
    ):
        if wanted != "keep" and primary(code) not in CHINESE:
            yield BrokenRule((f"corpus.{key}",), f"{wanted} characters are Chinese, this side is {code}; set keep")


def _wrong_files(files: Sequence[str]) -> str:
    """Return what is wrong with the files of one corpus, empty where nothing is."""
    tables = [name for name in files if holds_pairs(name)]
    if "" in files or (len(files) > 3 and not tables):
        return f"expects two aligned text files or files of pairs, found {', '.join(files)}"
    if tables and len(tables) < len(files):
        return f"give aligned text files or files of pairs, not both: found {', '.join(files)}"
    return ""


def _corpora_rules(key: str, corpora: Sequence[OneCorpus]) -> Iterator[BrokenRule]:
    if len(corpora) > _MOST_CORPORA:
        yield BrokenRule((key,), f"expects at most {_MOST_CORPORA} corpora, found {len(corpora)}")
    if key == "corpus.train" and corpora and not any(one.weight for one in corpora):
        yield BrokenRule((key,), "every corpus has weight 0, so that nothing is left to train on")
    titles = [one.title for one in corpora]
    twice = sorted({title for title in titles if titles.count(title) > 1})
    if key == "corpus.dev" and twice:
        text = f"there are two of {', '.join(twice)}, whose losses nobody could tell apart; give each a name of its own"
        yield BrokenRule((key,), text)
    for number, one in enumerate(corpora, start=1):
        here = f"{key}.{number}"
        wrong = _wrong_files(one.files) if one.files else "a corpus without files; add files: [...]"
        if wrong:
            yield BrokenRule((key, f"{here}.files"), wrong)
        if not 0 <= one.weight <= _MOST_TIMES:
            yield BrokenRule((f"{here}.weight",), f"must be from 0 to {_MOST_TIMES}, found {one.weight:g}")
        elif one.weight != 1 and key != "corpus.train":
            yield BrokenRule((f"{here}.weight",), "only what is trained on has weights; leave it out")
        if one.tag and not re.fullmatch(r"[\w.-]{1,24}", one.tag):
            text = f"expects letters, digits, low lines, points and hyphens, 24 at most, found '{one.tag}'"
            yield BrokenRule((f"{here}.tag",), text)
        yield from _settings_rules(here, one.settings)
        for name in one.settings if key != "corpus.train" else ():
            if re.match("drop_|min_|max_", name):
                text = "only what is trained on is cleaned, dev and test keep every line; leave it out"
                yield BrokenRule((f"{here}.{name}",), text)


def _settings_rules(here: str, settings: Mapping[str, Any]) -> Iterator[BrokenRule]:
    for name, value in settings.items():
        if name in _LANGUAGES and complaint(value):
            yield BrokenRule((f"{here}.{name}",), complaint(value))
        for words, holds, keys in RANGES:
            if f"corpus.{name}" in keys.split() and not holds(value):
                yield BrokenRule((f"{here}.{name}",), f"must be {words}, found {value}")


def _vocabulary_rules(config: Config) -> Iterator[BrokenRule]:
    tokenizer = config.tokenizer
    if not tokenizer.joint and config.model.tied == "three_way":
        text = "model.tied three_way needs one joint vocabulary; set model.tied=decoder, or tokenizer.joint=true"
        yield BrokenRule(("tokenizer.joint", "model.tied"), text)
    if tokenizer.joint and tokenizer.target_vocabulary_size:
        text = "the target has no vocabulary of its own; set tokenizer.joint=false, or target_vocabulary_size=0"
        yield BrokenRule(("tokenizer.target_vocabulary_size",), text)


def _model_rules(config: Config) -> Iterator[BrokenRule]:
    model = config.model
    if model.heads >= 1 and not model.head_width and model.d_model % model.heads:
        text = f"model.heads {model.heads} does not divide model.d_model {model.d_model}"
        yield BrokenRule(("model.heads", "model.d_model"), text)
    elif model.heads >= 1:
        width = model.head_width or model.d_model // model.heads
        if model.positions == "rotary" and width % 2:
            text = (
                f"rotary positions turn pairs of values, heads of width {width} are odd; "
                "set model.head_width to an even number"
            )
            yield BrokenRule(("model.heads", "model.d_model", "model.head_width"), text)
    if model.positions == "sinusoidal" and model.d_model % 2:
        text = f"sinusoidal positions come in pairs, model.d_model {model.d_model} is odd"
        yield BrokenRule(("model.d_model", "model.positions"), text)
    yield from _learned_position_rules(config)


def _learned_position_rules(config: Config) -> Iterator[BrokenRule]:
    if config.model.positions != "learned":
        return
    places = config.model.max_positions
    for key in ("batches.max_tokens_per_sentence", "decoding.max_source_tokens"):
        longest = attrgetter(key)(config)
        if longest > places:
            text = f"{key} {longest} is beyond the {places} learned positions; set model.max_positions to {longest}"
            yield BrokenRule((key, "model.max_positions"), text)


def _training_rules(config: Config) -> Iterator[BrokenRule]:
    training, batches = config.training, config.batches
    if not (training.max_updates or training.max_epochs or training.max_minutes):
        yield BrokenRule(
            ("training.max_updates", "training.max_epochs", "training.max_minutes"),
            "training would never stop; set one of training.max_updates, max_epochs and max_minutes above 0",
        )
    yield from _learning_rate_rules(training)
    yield from _guard_rules(config)
    if training.r_drop > 0 and not _has_dropout(config.model):
        text = f"training.r_drop {training.r_drop:g} compares passes that differ in dropout, and there is none; set 0"
        yield BrokenRule(("training.r_drop", "model.dropout"), text)
    if training.average_checkpoints > training.keep_checkpoints:
        yield BrokenRule(
            ("training.average_checkpoints", "training.keep_checkpoints"),
            f"training.average_checkpoints {training.average_checkpoints} is more than "
            f"training.keep_checkpoints {training.keep_checkpoints} leaves to average",
        )
    if batches.max_tokens_per_sentence > batches.max_tokens_per_batch:
        yield BrokenRule(
            ("batches.max_tokens_per_sentence", "batches.max_tokens_per_batch"),
            f"batches.max_tokens_per_sentence {batches.max_tokens_per_sentence} does not fit into "
            f"batches.max_tokens_per_batch {batches.max_tokens_per_batch}",
        )


def _guard_rules(config: Config) -> Iterator[BrokenRule]:
    guard = config.training.guard
    names = [one.name for one in config.corpus.dev if isinstance(one, OneCorpus)]
    if guard and guard not in names:
        there = f"; there are: {', '.join(names)}" if any(names) else ", whose entries have no names"
        yield BrokenRule(("training.guard", "corpus.dev"), f"{guard} is no corpus in corpus.dev{there}")
    elif guard and len(names) == 1:
        yield BrokenRule(("training.guard", "corpus.dev"), "corpus.dev needs a second corpus, the one that is learnt")


def _has_dropout(model: ModelConfig) -> bool:
    places = (model.embedding_dropout, model.residual_dropout, model.feed_forward_dropout)
    return model.attention_dropout > 0 or any(model.dropout if place < 0 else place for place in places)


def _learning_rate_rules(training: TrainingConfig) -> Iterator[BrokenRule]:
    schedule = training.schedule
    falls_to_the_end = schedule in ("cosine", "linear")
    unknown_end = not (training.max_updates or training.max_minutes)
    if unknown_end and training.cooldown:
        text = "training.cooldown needs an end to fall towards; set training.max_updates or training.max_minutes"
        yield BrokenRule(("training.cooldown",), text)
    if unknown_end and falls_to_the_end:
        text = f"{schedule} needs an end to fall towards; set training.max_updates or training.max_minutes"
        yield BrokenRule(("training.schedule",), text)
    if training.cooldown and falls_to_the_end:
        text = f"{schedule} falls to zero by itself; set training.cooldown 0 or another training.schedule"
        yield BrokenRule(("training.cooldown", "training.schedule"), text)
    if schedule == "noam" and training.learning_rate != TrainingConfig.learning_rate:
        text = "noam has its own peak; set another training.schedule, or training.learning_rate_scale instead"
        yield BrokenRule(("training.learning_rate", "training.schedule"), text)
    if training.optimizer == "adam" and training.weight_decay > 0:
        text = f"{training.weight_decay:g} is for adamw and muon; set training.optimizer to one of them, or this to 0"
        yield BrokenRule(("training.weight_decay", "training.optimizer"), text)
