"""Several corpora at once: each cleaned by its own rules, counted, weighed and tagged."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtrain.batches.store import Prepared, open_prepared
from mtrain.commands.prepare import prepare
from mtrain.config.schema import Config, CorpusConfig, OneCorpus, TokenizerConfig
from mtrain.corpus.lines import normalise
from mtrain.errors import CorpusError, PreparedDataError

NEWS = OneCorpus(("news.tsv",), "news", tag="news")
LAWS = OneCorpus(("laws.jsonl",), "laws", 2.0, "laws", {"max_units": 12, "source_column": "cn", "group_column": "year"})
PLAIN = OneCorpus(("plain.zh", "plain.en"))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return the config of three corpora in as many forms that overlap in one pair."""
    raw = tmp_path / "raw"
    raw.mkdir()
    news = "".join(f"新闻第{number}条，<news>。\tnews item {number} <news>.\n" for number in range(60))
    (raw / "news.tsv").write_text(news + "共同的一句。\tcommon to both.\n", "utf-8")
    laws = [f'{{"cn": "法律{"长" * (number % 20)}", "en": "law {number}", "year": {number}}}' for number in range(60)]
    common = '{"cn": "共同的一句。", "en": "common to both.", "year": 1}'
    (raw / "laws.jsonl").write_text("\n".join([*laws, common]), "utf-8")
    (raw / "plain.zh").write_text("".join(f"第{number}句\n" for number in range(60)), "utf-8")
    (raw / "plain.en").write_text("".join(f"sentence {number}\n" for number in range(60)), "utf-8")
    (raw / "dev.tsv").write_text("测试一\tdev one\n测试二\tdev two\n", "utf-8")
    (raw / "test.tsv").write_text("测试三\ttest one\n", "utf-8")
    dev = (OneCorpus(("dev.tsv",), tag="laws"), OneCorpus(("test.tsv",)))
    corpus = CorpusConfig(str(tmp_path / "made"), str(raw), train=(NEWS, LAWS, PLAIN), dev=dev, test=("test.tsv",))
    corpus = replace(corpus, drop_markup=False)  # <news> is here to stay
    return Config(corpus=corpus, tokenizer=TokenizerConfig(vocabulary_size=380))


def prepared(config: Config) -> Prepared:
    prepare(config)
    return open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)


def test_each_is_cleaned_by_its_own_rules_and_counted(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    data = prepared(config)
    corpora = data.corpora("train")
    sources = data.lines("train", "source")
    expected = [0 if "新闻" in line or "共同" in line else 1 if "法律" in line else 2 for line in sources]
    assert corpora.tolist() == expected
    laws = [line for line, number in zip(sources, corpora, strict=True) if number == 1]
    assert max(map(len, laws)) == 12  # the section allows 256
    counts = Counter(expected)
    assert counts == {0: 61, 1: 3 * 11, 2: 60}
    shares = data.manifest.report["corpora"]
    assert [(one["name"], one["read"], one["train"]) for one in shares] == [
        ("news", 61, 61),
        ("laws", 61, 33),
        ("plain.zh, plain.en", 60, 60),
    ]
    dropped = {name: rule["pairs"] for name, rule in data.manifest.report["dropped"].items() if rule["pairs"]}
    assert dropped == {"too_long": 27, "duplicate": 1}  # between corpora too
    told = capsys.readouterr().err
    assert "corpus              pairs read  in train  share of train\nnews" in told
    groups = data.groups("train")
    assert [bool(group) for group in groups] == [number == 1 for number in corpora]


def test_a_tag_stands_before_the_sources_of_its_corpus_and_no_text_becomes_one(config: Config) -> None:
    data = prepared(config)
    tokenizer = data.tokenizers()["source"]
    assert set(tokenizer.tags) == {"news", "laws"}
    for split, heads in (("train", ["news", "laws", ""]), ("dev", ["laws", ""]), ("test", [""])):
        examples, sources, targets = data.examples(split), data.lines(split, "source"), data.lines(split, "target")
        assert data.tags(split, heads) == [heads[number] for number in data.corpora(split)]
        for row, number in enumerate(data.corpora(split)):
            tag = [tokenizer.tags[heads[number]]] if heads[number] else []
            assert examples.source(row).tolist() == [*tag, *tokenizer.encode(normalise(sources[row]))]
            assert tokenizer.decode(examples.source(row).tolist()) == sources[row]
            assert examples.target(row).tolist() == tokenizer.encode(targets[row])
    ids = np.concatenate([data.examples("train").source(row) for row in range(154)])
    assert np.count_nonzero(ids == tokenizer.tags["news"]) == 61


def test_a_drawn_split_has_the_tags_of_train(config: Config) -> None:
    corpus = replace(config.corpus, test=(), test_pairs=40)
    data = prepared(replace(config, corpus=corpus))
    tags = data.tags("test", [one.tag for one in (NEWS, LAWS, PLAIN)])
    assert set(tags) == {"news", "laws", ""}
    known = data.tokenizers()["source"].tags
    firsts = [data.examples("test").source(row)[0] for row in range(40)]
    assert [known.get(tag, -1) for tag in tags] == [first if first in known.values() else -1 for first in firsts]


def test_tags_change_no_other_id(config: Config, tmp_path: Path) -> None:
    bare = tuple(replace(one, tag="") for one in (NEWS, LAWS, PLAIN))
    with_tags = prepared(config)
    without = prepared(
        replace(config, corpus=replace(config.corpus, folder=str(tmp_path / "bare"), train=bare, dev=("dev.tsv",)))
    )
    one, other = (data.tokenizers()["source"].all_pieces() for data in (with_tags, without))
    assert one == [*other, "<laws>▁", "<news>▁"]
    assert without.tokenizers()["source"].tags == {}


def test_two_vocabularies_have_tags_on_the_source_side_only(config: Config) -> None:
    data = prepared(replace(config, tokenizer=TokenizerConfig(joint=False, vocabulary_size=350)))
    tokenizers = data.tokenizers()
    assert [set(tokenizers[side].tags) for side in ("source", "target")] == [{"news", "laws"}, set()]  # type: ignore[index]


def test_a_weight_needs_no_new_preparation(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(config)
    prepare(replace(config, corpus=replace(config.corpus, train=(replace(NEWS, weight=9.0, name="n"), LAWS, PLAIN))))
    assert "nothing to do" in capsys.readouterr().err
    prepare(replace(config, corpus=replace(config.corpus, train=(NEWS, PLAIN, LAWS))))
    assert "preparing: corpus.train was [news.tsv; tag news], [laws.jsonl; tag laws; " in capsys.readouterr().err


def test_a_taken_vocabulary_without_the_tag(config: Config, tmp_path: Path) -> None:
    data = prepared(replace(config, corpus=replace(config.corpus, train=(NEWS, PLAIN), dev=("dev.tsv",))))
    run = tmp_path / "run" / "model"
    run.mkdir(parents=True)
    (run / "tokenizer.model").write_bytes((data.folder / "tokenizer.model").read_bytes())
    corpus = replace(config.corpus, folder=str(tmp_path / "new"))
    taking = replace(config, corpus=corpus, tokenizer=TokenizerConfig(take_from=str(run.parent)))
    with pytest.raises(PreparedDataError, match=r"^tokenizer.take_from: the vocabulary of .*run has no tag laws, and"):
        prepare(taking)
    known = replace(taking, corpus=replace(corpus, train=(NEWS,), dev=("dev.tsv",)))
    assert prepared(known).corpora("train").max() == 0


def test_a_fault_in_the_last_corpus_is_told_before_the_first_is_read(config: Config, tmp_path: Path) -> None:
    (tmp_path / "raw" / "plain.en").write_text("one\n", "utf-8")
    with pytest.raises(CorpusError, match=r"plain\.zh has 60 lines, but .*plain\.en has 1"):
        prepare(config)
