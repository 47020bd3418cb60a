"""The rules: each can be broken, and every number is under one."""

from dataclasses import replace

import pytest

from mtrain.config.check import RANGES, check_config
from mtrain.config.keys import KINDS
from mtrain.config.schema import BatchesConfig, Config, CorpusConfig, ModelConfig, TokenizerConfig, TrainingConfig

GOOD = Config(corpus=CorpusConfig(train=("a.zh", "a.en")))


def test_the_defaults_break_no_rule() -> None:
    assert check_config(GOOD) == []


def test_every_number_has_exactly_one_range() -> None:
    ranged = [key for range_ in RANGES for key in range_.keys.split()]
    assert sorted(ranged) == sorted(key for key, kind in KINDS.items() if kind in (int, float))


@pytest.mark.parametrize("key", [key for range_ in RANGES for key in range_.keys.split()])
def test_a_number_below_its_range_is_told(key: str) -> None:
    section, name = key.split(".")
    config = replace(GOOD, **{section: replace(getattr(GOOD, section), **{name: -2})})
    assert next(broken.text for broken in check_config(config) if broken.keys == (key,)).endswith("found -2")


@pytest.mark.parametrize(
    ("config", "keys", "text"),
    [
        (Config(), "corpus.train", "is not set"),
        (
            replace(GOOD, corpus=replace(GOOD.corpus, target_script="traditional")),
            "corpus.target_script",
            "traditional characters are Chinese, this side is en; set keep",
        ),
        (
            Config(corpus=CorpusConfig(train=("a", "b", "c", "d"))),
            "corpus.train",
            "expects two aligned text files or files of pairs, found a, b, c, d",
        ),
        (
            replace(GOOD, corpus=replace(GOOD.corpus, dev=("a", ""))),
            "corpus.dev",
            "expects two aligned text files or files of pairs",
        ),
        (
            replace(GOOD, corpus=replace(GOOD.corpus, target_language="")),
            "corpus.target_language",
            "expects a language code such as zh, lzh or en, found ''",
        ),
        (
            replace(GOOD, model=ModelConfig(d_model=100, heads=8)),
            "model.heads model.d_model",
            "model.heads 8 does not divide model.d_model 100",
        ),
        (
            replace(GOOD, model=ModelConfig(d_model=20, heads=4, positions="rotary")),
            "model.heads model.d_model model.head_width",
            "rotary positions turn pairs of values, heads of width 5 are odd; set model.head_width to an even number",
        ),
        (
            replace(GOOD, model=ModelConfig(d_model=21, heads=3)),
            "model.d_model model.positions",
            "sinusoidal positions come in pairs, model.d_model 21 is odd",
        ),
        (
            replace(
                GOOD,
                model=ModelConfig(positions="learned", max_positions=200),
                batches=BatchesConfig(max_tokens_per_sentence=200),
            ),
            "decoding.max_source_tokens model.max_positions",
            "decoding.max_source_tokens 256 is beyond the 200 learned positions; set model.max_positions to 256",
        ),
        (
            replace(GOOD, tokenizer=TokenizerConfig(joint=False)),
            "tokenizer.joint model.tied",
            "model.tied three_way needs one joint vocabulary; set model.tied=decoder, or tokenizer.joint=true",
        ),
        (
            replace(GOOD, tokenizer=TokenizerConfig(target_vocabulary_size=4000)),
            "tokenizer.target_vocabulary_size",
            "the target has no vocabulary of its own; set tokenizer.joint=false, or target_vocabulary_size=0",
        ),
        (
            replace(GOOD, model=ModelConfig(dropout=0.0), training=TrainingConfig(r_drop=5.0)),
            "training.r_drop model.dropout",
            "training.r_drop 5 compares passes that differ in dropout, and there is none; set 0",
        ),
        (
            replace(GOOD, training=TrainingConfig(max_updates=0, patience=3)),
            "training.max_updates training.max_epochs training.max_minutes",
            "training would never stop",
        ),
        (
            replace(GOOD, training=TrainingConfig(keep_checkpoints=2, average_checkpoints=3)),
            "training.average_checkpoints training.keep_checkpoints",
            "training.average_checkpoints 3 is more than training.keep_checkpoints 2",
        ),
        (
            replace(GOOD, batches=BatchesConfig(max_tokens_per_batch=100, max_tokens_per_sentence=101)),
            "batches.max_tokens_per_sentence batches.max_tokens_per_batch",
            "batches.max_tokens_per_sentence 101 does not fit into batches.max_tokens_per_batch 100",
        ),
    ],
)
def test_a_broken_rule_is_told_with_its_keys(config: Config, keys: str, text: str) -> None:
    (broken,) = check_config(config)
    assert broken.keys == tuple(keys.split())
    assert broken.text.startswith(text)


@pytest.mark.parametrize("files", [("a.tsv.gz", "b.en"), ("a.zh", "b.parquet"), ("hub:news", "a.en")])
def test_texts_and_tables_do_not_mix(files: tuple[str, str]) -> None:
    (broken,) = check_config(replace(GOOD, corpus=replace(GOOD.corpus, test=files)))
    text = f"give aligned text files or files of pairs, not both: found {files[0]}, {files[1]}"
    assert broken == (("corpus.test",), text)


def test_a_vocabulary_beyond_all_text_is_told() -> None:
    (broken,) = check_config(replace(GOOD, tokenizer=TokenizerConfig(vocabulary_size=1_000_001)))
    assert broken.keys == ("tokenizer.vocabulary_size",)
    assert broken.text.endswith("to 1,000,000, found 1000001")


@pytest.mark.parametrize("tied", ["decoder", "none"])
def test_two_vocabularies_need_two_matrices(tied: str) -> None:
    tokenizer = TokenizerConfig(joint=False, target_vocabulary_size=300)
    assert check_config(replace(GOOD, tokenizer=tokenizer, model=ModelConfig(tied=tied))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "meant"), [("cn", "zh"), ("Chinese", "zh"), ("jp", "ja"), ("kr-KR", "ko")])
def test_a_usual_mistake_for_a_language_code_is_told_with_the_right_one(code: str, meant: str) -> None:
    (broken,) = check_config(replace(GOOD, corpus=replace(GOOD.corpus, source_language=code)))
    assert broken.keys == ("corpus.source_language",)
    assert broken.text == f"expects a language code such as zh, lzh or en, found '{code}'. Write {meant}"


@pytest.mark.parametrize("stop", ["max_updates", "max_epochs", "max_minutes"])
def test_one_stop_rule_is_enough(stop: str) -> None:
    training = replace(TrainingConfig(max_updates=0), **{stop: 1})
    assert check_config(replace(GOOD, training=training)) == []


@pytest.mark.parametrize("code", ["zh", "lzh", "zh-Hans", "zh_CN", "en", "cmn-Hans-CN"])
def test_language_codes_are_accepted(code: str) -> None:
    assert check_config(replace(GOOD, corpus=replace(GOOD.corpus, target_language=code))) == []
