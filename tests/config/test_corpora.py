"""A list of several corpora in the config: typed, told with its place where it is wrong, and written back as it was."""

from pathlib import Path

import pytest

from mtrain.batches.settings import changed_settings, prepare_settings
from mtrain.config.load import dump_config, load_config
from mtrain.config.schema import OneCorpus, TokenizerConfig
from mtrain.errors import ConfigError

GOOD = """
corpus:
  max_units: 200
  train:
    - files: [a.zh, a.en]
      name: news
      weight: 0.5
      tag: 新闻-1
      max_units: 100
      source_column: no
    - files: b.tsv
      root: elsewhere
  dev:
    - files: [d.zh, d.en]
  test: [t.zh, t.en]
"""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(text: str, *overrides: str):  # type: ignore[no-untyped-def]
    Path("mine.yaml").write_text(text, encoding="utf-8")
    return load_config("mine.yaml", overrides)


def mistakes(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text, *overrides)
    return str(caught.value).split("\n")


def test_several_corpora() -> None:
    corpus = load(GOOD).corpus
    news = OneCorpus(("a.zh", "a.en"), "news", 0.5, "新闻-1", {"max_units": 100, "source_column": "no"})
    assert corpus.train == (news, OneCorpus(("b.tsv",), settings={"root": "elsewhere"}))
    assert corpus.dev == (OneCorpus(("d.zh", "d.en")),)
    assert corpus.test == ("t.zh", "t.en")


def test_they_survive_being_written() -> None:
    config = load(GOOD)
    Path("again.yaml").write_text(dump_config(config), encoding="utf-8")
    assert load_config("again.yaml") == config


def test_an_override_may_be_a_list_of_corpora() -> None:
    override = "corpus.train=[{files: [a.zh, a.en], weight: 2}, {files: b.tsv}]"
    assert load(GOOD, override).corpus.train == (OneCorpus(("a.zh", "a.en"), weight=2.0), OneCorpus(("b.tsv",)))
    short = load(GOOD, "corpus.train=[a.zh, a.en]").corpus
    assert short.train == ("a.zh", "a.en")


ONE = "corpus:\n  train:\n    - files: a.tsv\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ONE + "      weigth: 2", "mine.yaml:4 corpus.train.1.weigth: unknown key. Did you mean weight?"),
        (ONE + "      max_unit: 2", "mine.yaml:4 corpus.train.1.max_unit: unknown key. Did you mean max_units?"),
        (ONE + "      weight: two", "mine.yaml:4 corpus.train.1.weight: expects a number, found 'two'"),
        (ONE + "      weight: -1", "mine.yaml:4 corpus.train.1.weight: must be from 0 to 1000, found -1"),
        (ONE + "      max_units: 0.5", "mine.yaml:4 corpus.train.1.max_units: expects a whole number, found '0.5'"),
        (ONE + "      drop_duplicates: yes", "1.drop_duplicates: expects true or false, found 'yes'"),
        (ONE + "      max_length_ratio: 0.5", "corpus.train.1.max_length_ratio: must be 0, or at least 1, found 0.5"),
        (ONE + "      source_language: cn", "source_language: expects a language code such as zh, lzh"),
        (ONE + "      dev_pairs: 2", "is one for all corpora. Write it in corpus itself, as corpus.dev_pairs"),
        (ONE + "      tag: a b", "1.tag: expects letters, digits, low lines, points and hyphens, 24 at most"),
        (ONE + "      tag: <a>", "found '<a>'"),
        (ONE + "      weight: 0", "mine.yaml:2 corpus.train: every corpus has weight 0, so that nothing is"),
        (ONE + "    - name: b", "mine.yaml:2 corpus.train: a corpus without files; add files: [...]"),
        (ONE + "    - files: [b.tsv, b.en]", "mine.yaml:4 corpus.train.2.files: give aligned text files or"),
        (ONE + "    - files: {a: b}", "mine.yaml:4 corpus.train.2.files: expects a list of texts, found nested keys"),
        (ONE + "    - files: [{a: b}]", "mine.yaml:4 corpus.train.2.files: expects a list of texts, found nested keys"),
        (ONE + "    - b.tsv", "mine.yaml:4 corpus.train.2: expects lines of the form key: value"),
        (ONE + "      files: b.tsv", "mine.yaml:4 corpus.train.1.files: duplicate key, first written in line 3"),
        (ONE + "  dev:\n    - {files: d.tsv, weight: 2}", "corpus.dev.1.weight: only what is trained on has weights"),
        (ONE + "  dev: [{files: d.tsv}, {files: d.tsv}]", "mine.yaml:4 corpus.dev: there are two of d.tsv, "),
        (ONE + "  dev:\n    - {files: d.tsv, max_units: 9}", "dev.1.max_units: only what is trained on is cleaned"),
        (ONE + "  test:\n    - {files: d.tsv, drop_empty: true}", "test.1.drop_empty: only what is trained"),
        (ONE + "      near_overlap: 0", "is one for all corpora. Write it in corpus itself, as corpus.near_overlap"),
        (ONE + "      split_by: group", "is one for all corpora. Write it in corpus itself, as corpus.split_by"),
        ("model:\n  heads: [{a: 8}]\n" + ONE, "mine.yaml:2 model.heads: expects a whole number, found a list"),
    ],
)
def test_a_mistake_is_told_with_place_and_cure(text: str, line: str) -> None:
    (found,) = mistakes(text)
    assert line in found


def test_all_mistakes_are_told_at_once_and_each_but_once() -> None:
    text = ONE + "      weigth: 2\n      max_units: many\n    - files: b.tsv\n      weight: -1\nmodel: {heads: 7}"
    assert [line.partition(": ")[0] for line in mistakes(text)] == [
        "mine.yaml:4 corpus.train.1.weigth",
        "mine.yaml:5 corpus.train.1.max_units",
        "mine.yaml:8 model.heads",
    ]
    assert "must be from 0" in mistakes(text.replace("weigth", "weight").replace("many", "9"))[0]


def test_a_mistake_in_an_override_is_told() -> None:
    (line,) = mistakes(GOOD, "corpus.train=[{files: a.tsv, weigth: 2}]")
    assert line == (
        "--set corpus.train=[{files: a.tsv, weigth: 2}]:1 corpus.train.1.weigth: unknown key. Did you mean weight?"
    )
    assert "expects [{files: [a, b], weight: 2}, {files: c}]" in mistakes(GOOD, "corpus.train=[{files: a.tsv}, b]")[0]


def test_a_list_that_another_replaces_leaves_nothing_behind() -> None:
    Path("parent.yaml").write_text(ONE + "      weight: 7", encoding="utf-8")
    child = "extends: parent.yaml\ncorpus:\n  train:\n    - files: a.tsv\n    - files: b.tsv\n      weight: -2"
    assert mistakes(child) == ["mine.yaml:6 corpus.train.2.weight: must be from 0 to 1000, found -2"]


def test_too_many_corpora_for_a_byte() -> None:
    assert "expects at most 256 corpora, found 257" in mistakes("corpus:\n  train:\n" + "    - files: a.tsv\n" * 257)[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("weight: 0.5", "weight: 3"), []),
        (("name: news", "name: other"), []),
        (("root: elsewhere", "root: nowhere"), []),
        (("tag: 新闻-1", "tag: b"), ["train was [a.zh, a.en; tag 新闻-1; max_units 100; source_column no], [b.tsv]"]),
        (("max_units: 100", "max_units: 99"), ["max_units 99"]),
        (("- files: [d.zh, d.en]", "- files: [d.zh, e.en]"), ["corpus.dev was [d.zh, d.en], now is [d.zh, e.en]"]),
    ],
)
def test_what_prepared_data_depend_on(change: tuple[str, str], said: list[str]) -> None:
    tokenizer = TokenizerConfig()
    old, new = (prepare_settings(load(text).corpus, tokenizer) for text in (GOOD, GOOD.replace(*change)))
    found = changed_settings(old, new)
    assert len(found) == len(said)
    assert all(text in phrase for text, phrase in zip(said, found, strict=True))
