"""`mtrain prepare` on a small corpus: what comes out, what is said, what a second time does, what a failure leaves."""

import errno
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtrain.batches.store import Prepared, open_prepared
from mtrain.commands.audit import audit_splits
from mtrain.commands.prepare import prepare
from mtrain.config.schema import Config, CorpusConfig, RunConfig, TokenizerConfig
from mtrain.corpus.lines import normalise
from mtrain.corpus.report import CleaningReport, cleaning_report
from mtrain.corpus.sources import SIDES, SPLITS
from mtrain.corpus.splits import sentence_key
from mtrain.corpus.tally import Tally
from mtrain.errors import BusyError, CorpusError, MtrainError, PreparedDataError
from mtrain.storage import held_alone
from mtrain.tokenizer import SizeKey, Tokenizer, train_tokenizer

Change = Callable[..., Config]


def sentences(count: int, seed: int = 1) -> list[tuple[str, str]]:
    generator = random.Random(seed)
    names, verbs = ["小王", "老李", "张三", "王五", "赵六"], ["看书", "吃饭", "写字", "唱歌", "跑步"]
    words = ["Wang", "Li", "Zhang", "Wu", "Zhao", "reads", "eats", "writes", "sings", "runs"]
    english = dict(zip(names + verbs, words, strict=True))
    pairs = []
    for _ in range(count):
        name, verb, hour = generator.choice(names), generator.choice(verbs), generator.randrange(10_000)
        pairs.append((f"{name}在{hour}点，{verb}！", f"At {hour}, {english[name]} {english[verb]}!"))
    return pairs


def write(folder: Path, split: str, pairs: list[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("zh", "en")):
        (folder / f"{split}.{language}").write_bytes("".join(pair[side] + "\n" for pair in pairs).encode())


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Return a folder with a raw corpus that has something wrong for each rule."""
    train = sentences(400)
    train[10] = ("", "nothing here")
    train[20] = train[21]
    train[30] = ("长" * 300, "long " * 100)
    train[40] = ("短", "far too many words for one character, which is surely another sentence")
    train[50] = ("测试句子乙", "Of the test set, one side!")
    train[60] = ("带\r回\u2028车", "with\x85 stray line ends")
    write(tmp_path / "raw", "train", train)
    odd = [("", "empty side"), ("　全角　空格\ufeff", "e\u0301  "), ("“再见”", "Bye")]
    write(tmp_path / "raw", "dev", [*sentences(20, seed=2), *odd])
    write(tmp_path / "raw", "test", [("测试句子甲。", "of the test set: one side"), *sentences(20, seed=3)])
    return tmp_path / "raw"


@pytest.fixture
def config(tmp_path: Path, raw: Path) -> Config:
    corpus = CorpusConfig(
        folder=str(tmp_path / "prepared"),
        root=str(raw),
        train=("train.zh", "train.en"),
        dev=("dev.zh", "dev.en"),
        test=("test.zh", "test.en"),
    )
    return Config(corpus=corpus, tokenizer=TokenizerConfig(vocabulary_size=400))


def with_corpus(config: Config, **changes: object) -> Config:
    return replace(config, corpus=replace(config.corpus, **changes))  # type: ignore[arg-type]


def prepared(config: Config) -> Prepared:
    prepare(config)
    return open_prepared(Path(config.corpus.folder), config.corpus, config.tokenizer)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_ids_are_the_text(config: Config) -> None:
    data = prepared(config)
    tokenizer = data.tokenizers()["source"]
    examples, sources, targets = data.examples("train"), data.lines("train", "source"), data.lines("train", "target")
    assert len(examples) == len(sources) == len(targets) == data.manifest.pairs["train"]
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert tokenizer.decode(examples.source(row).tolist()) == source
        assert tokenizer.decode(examples.target(row).tolist()) == target


def test_given_dev_and_test_keep_every_line_as_it_was(config: Config, raw: Path) -> None:
    data = prepared(config)
    for split in ("dev", "test"):
        for side, language in (("source", "zh"), ("target", "en")):
            there = (raw / f"{split}.{language}").read_bytes().decode().removesuffix("\n").split("\n")
            assert data.lines(split, side) == there  # type: ignore[arg-type]
    dev = data.examples("dev")
    assert len(dev) == 23
    assert (dev.source_lengths[20], dev.target_lengths[20] > 0) == (0, True)
    tokenizer = data.tokenizers()["source"]
    assert tokenizer.decode(dev.source(21).tolist()) == "全角 空格"
    assert tokenizer.decode(dev.target(21).tolist()) == "é"


def test_stray_line_ends_shift_no_pair(config: Config) -> None:
    data = prepared(config)
    pairs = list(zip(data.lines("train", "source"), data.lines("train", "target"), strict=True))
    assert ("带 回 车", "with stray line ends") in pairs
    assert set(pairs) <= {*sentences(400), ("带 回 车", "with stray line ends")}
    assert data.manifest.report["mended"] == {"train": 2, "dev": 0, "test": 0}


def test_every_drop_is_counted_with_an_example(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    data = prepared(config)
    dropped = data.manifest.report["dropped"]
    assert dropped["empty"] == {"pairs": 1, "examples": [["", "nothing here"]]}
    assert dropped["too_long"]["pairs"] == 1
    assert dropped["length_ratio"]["examples"][0][0] == "短"
    assert dropped["duplicate"]["pairs"] >= 1
    assert dropped["held_out"]["examples"][0] == ["测试句子乙", "Of the test set, one side!"]
    assert data.manifest.pairs["train"] == 400 - sum(rule["pairs"] for rule in dropped.values())

    out, err = capsys.readouterr()
    assert out == ""
    assert data.folder.joinpath("report.txt").read_text("utf-8") in err + "\n"
    for words in ("of 400 read, dropped", "测试句子乙 → Of the test set, one side!", "zh → en", "2 in train"):
        assert words in err


def test_the_figures_of_the_report(config: Config) -> None:
    data = prepared(config)
    survey = data.manifest.report["surveys"]["test"]["source"]
    lines, lengths = data.lines("test", "source"), data.examples("test").source_lengths
    assert survey["tokens"] == {
        "median": int(np.sort(lengths)[10]),
        "p95": int(np.sort(lengths)[19]),
        "longest": int(lengths.max()),
    }
    assert survey["tokens_per_character"] == pytest.approx(lengths.sum() / sum(map(len, lines)), abs=1e-6)
    assert survey["different_characters"] == len(set("".join(lines)))
    unseen = [character for character in "".join(lines) if character in "测试句子甲。"]
    assert survey["different_without_piece"] == len(unseen)
    assert survey["share_without_piece"] == pytest.approx(len(unseen) / sum(map(len, lines)), abs=1e-6)
    assert survey["share_byte_tokens"] == pytest.approx(3 * len(unseen) / lengths.sum(), abs=1e-6)
    assert survey["unknown_tokens"] == 0


def test_the_group_of_each_pair_stays_with_it(config: Config, raw: Path) -> None:
    (raw / "train.book").write_text("".join(f"book {row % 7}\n" for row in range(400)), "utf-8")
    zh, en = ((raw / f"train.{language}").read_bytes().decode().split("\n") for language in ("zh", "en"))
    book = {pair: f"book {row % 7}" for row, pair in reversed([*enumerate(zip(map(normalise, zh), en, strict=True))])}
    data = prepared(with_corpus(config, train=("train.zh", "train.en", "train.book"), test=(), test_pairs=30))
    assert not data.groups("dev")
    for split in ("train", "test"):
        pairs = zip(data.lines(split, "source"), data.lines(split, "target"), strict=True)  # type: ignore[arg-type]
        groups = data.groups(split)  # type: ignore[arg-type]
        assert len(set(groups)) == 7
        assert groups == [book.get(pair, "book 4") for pair in pairs]
    plain = prepared(config)
    assert not plain.groups("train")
    assert not (plain.folder / "train.groups.txt").exists()


def test_what_is_nearly_in_dev_or_test_is_dropped_and_shown(
    config: Config, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known, near = "天地玄黄，宇宙洪荒，日月盈昃，辰宿列张。", "又曰：天地玄黄，宇宙洪荒，日月盈昃。"
    write(raw, "test", [(known, "Heaven is dark and earth is yellow"), ("子曰。", "He said."), *sentences(20, seed=3)])
    write(raw, "train", [(near, "A translation by somebody else"), *sentences(400)])
    dropped = prepared(config).manifest.report["dropped"]
    assert dropped["near_held_out"]["pairs"] == 1
    told = capsys.readouterr().err
    assert re.search(rf"{near} +{known} +71%\n", told)
    assert "3 of 44 sentences in test are short (under 10 Han characters or 29 letters): what is nearly" in told
    data = prepared(with_corpus(config, near_overlap=0.0))
    assert near in data.lines("train", "source")
    assert data.manifest.report["dropped"]["near_held_out"]["pairs"] == 0


def test_where_nearness_is_what_the_corpus_is_made_of_it_is_told(
    config: Config, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def alike(numbers: range) -> list[tuple[str, str]]:
        source, target = "他们在那一天的早上七点从城里出发走了{}里", "They left and walked {}"
        return [(source.format(number), target.format(number)) for number in numbers]

    write(raw, "train", [*sentences(400), *alike(range(1000, 1100))])
    write(raw, "test", alike(range(1)))
    prepared(config)
    assert re.search(r"warning: 100 of 500 training pairs are nearly sentences of dev or test", capsys.readouterr().err)


def test_whole_groups_are_held_out(config: Config, raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = sentences(400)
    write(raw, "train", pairs)
    books = [f"book {row % 20}" for row in range(400)]
    (raw / "train.book").write_text("".join(f"{book}\n" for book in books), encoding="utf-8")
    by_group = with_corpus(
        config, train=("train.zh", "train.en", "train.book"), dev=(), test=(), dev_pairs=40, test_pairs=60
    )
    by_group = with_corpus(by_group, split_by="group")
    data = prepared(by_group)
    groups = {split: set(data.groups(split)) for split in SPLITS}
    assert groups["train"] | groups["dev"] | groups["test"] == set(books)
    assert sum(map(len, groups.values())) == 20
    assert (len(groups["dev"]), len(groups["test"])) == (2, 3)
    assert {split: set(names) for split, names in data.manifest.report["groups"].items()} == {
        split: groups[split] for split in ("dev", "test")
    }
    assert "test, whole groups: " in capsys.readouterr().err
    ours = {split: set(data.lines(split, "source")) for split in SPLITS}
    assert not ours["train"] & (ours["dev"] | ours["test"])


def test_an_audit_is_a_result_and_makes_nothing(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    audit_splits(config)
    out, _ = capsys.readouterr()
    assert re.search(r"^test, train has +of 21 in test +share +pairs of 400 in train +share\n", out, re.M)
    assert re.search(r"^the target +1 +4\.76% +1 +0\.25%\n", out, re.M)
    assert not Path(config.corpus.folder).exists()


def test_missing_splits_are_drawn_and_leave_nothing_behind(config: Config) -> None:
    data = prepared(with_corpus(config, dev=(), test=(), dev_pairs=30, test_pairs=40))
    pairs = data.manifest.pairs
    assert (pairs["dev"], pairs["test"]) == (30, 40)
    keys = {split: set() for split in ("train", "dev", "test")}  # type: ignore[var-annotated]
    for split, found in keys.items():
        for side in ("source", "target"):
            found.update(map(sentence_key, data.lines(split, side)))  # type: ignore[arg-type]
    assert not keys["train"] & (keys["dev"] | keys["test"])
    dropped = sum(rule["pairs"] for rule in data.manifest.report["dropped"].values())
    assert sum(pairs.values()) + dropped == 400


def test_a_seed_draws_and_only_then_matters(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    prepared(config)
    prepare(replace(config, run=RunConfig(seed=9)))
    assert "nothing to do" in capsys.readouterr().err
    drawn = with_corpus(config, dev=(), dev_pairs=30)
    first = prepared(drawn).lines("dev", "source")
    capsys.readouterr()
    second = prepared(replace(drawn, run=RunConfig(seed=9))).lines("dev", "source")
    assert "run.seed was 1, now is 9" in capsys.readouterr().err
    assert set(first) != set(second)


def test_a_second_time_does_nothing(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(config)
    folder = Path(config.corpus.folder)
    times = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    capsys.readouterr()
    prepare(config)
    assert capsys.readouterr().err == f"{folder}: already prepared, nothing to do\n"
    assert times == {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}


def test_inputs_that_were_only_touched_or_moved_have_not_changed(
    config: Config, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(config)
    os.utime(raw / "train.zh", (1, 1))
    prepare(config)
    prepare(with_corpus(config, root=str(raw.rename(raw.with_name("moved")))))
    assert capsys.readouterr().err.count("already prepared") == 2


def touch(raw: Path, config: Config) -> Config:
    text = (raw / "train.zh").read_bytes()
    (raw / "train.zh").write_bytes(text.replace("小王".encode(), "小李".encode()))
    return config


def damage(raw: Path, config: Config) -> Config:
    (Path(config.corpus.folder) / "train.source.ids").write_bytes(b"")
    return config


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (touch, "train.zh has changed"),
        (damage, "train.source.ids: damaged, 0 bytes instead of"),
        (lambda raw, config: with_corpus(config, max_units=20), "corpus.max_units was 256, now is 20"),
        (lambda raw, config: with_corpus(config, dev=(), dev_pairs=9), "corpus.dev_pairs was not in use, now is 9"),
        (
            lambda raw, config: replace(config, tokenizer=TokenizerConfig(vocabulary_size=350)),
            "tokenizer.vocabulary_size was 400, now is 350",
        ),
    ],
)
def test_a_change_is_named_and_everything_done_again(
    config: Config, raw: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path, Config], Config], said: str
) -> None:
    prepare(config)
    changed = change(raw, config)
    capsys.readouterr()
    prepare(changed)
    assert said in capsys.readouterr().err
    prepare(changed)
    assert "nothing to do" in capsys.readouterr().err


def test_the_same_corpus_gives_the_same_bytes(config: Config, tmp_path: Path) -> None:
    prepare(config)
    prepare(with_corpus(config, folder=str(tmp_path / "again")))
    assert contents(tmp_path / "again") == contents(tmp_path / "prepared")


@pytest.mark.parametrize("where", ["train_tokenizer", "write_manifest", "assemble"])
def test_a_failure_on_the_way_leaves_what_was_there(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    prepare(config)
    before = contents(tmp_path / "prepared")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"mtrain.commands.prepare.{where}", fail)
    with pytest.raises(KeyboardInterrupt):
        prepare(with_corpus(config, max_units=50))
    assert contents(tmp_path / "prepared") == before
    assert open_prepared(tmp_path / "prepared", config.corpus, config.tokenizer)


def test_half_a_folder_is_never_taken_for_a_whole_one(config: Config, tmp_path: Path) -> None:
    prepare(config)
    (tmp_path / "prepared").rename(tmp_path / "prepared.partial")  # as kill -9 before the end would leave it
    with pytest.raises(PreparedDataError, match="not prepared yet"):
        open_prepared(tmp_path / "prepared", config.corpus, config.tokenizer)
    (tmp_path / "prepared.partial" / "manifest.json").unlink()
    assert prepared(config)


def test_a_folder_with_other_things_in_it_is_not_replaced(config: Config, raw: Path) -> None:
    with pytest.raises(PreparedDataError, match=r"corpus.folder: .*raw holds dev.en, which `mtrain prepare` has not"):
        prepare(with_corpus(config, folder=str(raw)))
    assert (raw / "dev.en").exists()


def test_a_file_of_the_system_is_no_stranger_but_a_hidden_folder_is(config: Config) -> None:
    folder = Path(config.corpus.folder)
    prepare(config)
    (folder / ".DS_Store").write_bytes(b"")
    prepare(with_corpus(config, max_units=50))
    (folder / ".git").mkdir()
    with pytest.raises(PreparedDataError, match=r"prepared holds \.git, which"):
        prepare(with_corpus(config, max_units=40))


def test_a_file_is_no_folder(config: Config, raw: Path) -> None:
    with pytest.raises(PreparedDataError, match=r"^corpus.folder: .*train.zh is a file\. Name a folder, which"):
        prepare(with_corpus(config, folder=str(raw / "train.zh")))


def test_nothing_is_judged_while_another_works_here(config: Config, raw: Path) -> None:
    prepare(config)
    with held_alone(Path(config.corpus.folder)), pytest.raises(BusyError):
        prepare(config)


def test_a_split_without_pairs_is_told(config: Config, raw: Path) -> None:
    (raw / "dev.tsv").write_text("zh\ten\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"^corpus\.dev: dev\.tsv holds not a single pair$"):
        prepare(with_corpus(config, dev=("dev.tsv",)))


def test_a_drawn_test_repeats_nothing_of_a_given_dev(config: Config, raw: Path) -> None:
    write(raw, "dev", sentences(400)[::2])
    data = prepared(with_corpus(config, test=(), test_pairs=60))
    dev, test = ({*map(sentence_key, data.lines(split, "source"))} for split in ("dev", "test"))  # type: ignore[arg-type]
    assert (len(test), dev & test) == (60, set())
    dropped = data.manifest.report["dropped"]
    assert data.manifest.pairs["train"] + 60 == 400 - sum(rule["pairs"] for rule in dropped.values())


def test_drawn_data_open_whatever_the_seed(config: Config) -> None:
    drawn = with_corpus(config, dev=(), dev_pairs=30)
    assert prepared(replace(drawn, run=RunConfig(seed=9))).manifest.settings["run.seed"] == 9


def test_large_inputs_are_not_read_in_silence(
    config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mtrain.corpus.inputs._SAID_FROM_BYTES", 5000)
    prepare(config)
    said = re.findall(r"reading all of \S+/(\S+), to know it again", capsys.readouterr().err)
    assert said == ["train.zh", "train.en"]


def test_nothing_left_to_train_on(config: Config) -> None:
    told = r"no training pair is left of 400 read; dropped: empty 1, .* too_long 39\d, length_ratio 0"
    with pytest.raises(CorpusError, match=told):
        prepare(with_corpus(config, max_units=1))


def test_too_small_a_corpus_to_draw_from(config: Config) -> None:
    with pytest.raises(CorpusError, match=r"too few to take out corpus.dev_pairs = 500\. Set a smaller number, or"):
        prepare(with_corpus(config, dev=(), dev_pairs=500))


def test_a_vocabulary_that_cannot_be_filled_is_smaller(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    large = replace(config, tokenizer=TokenizerConfig(vocabulary_size=30_000))
    (size,) = prepared(large).manifest.report["vocabulary_sizes"]
    assert size < 30_000
    warning = f"too few for tokenizer.vocabulary_size = 30,000; the vocabulary has all the {size:,} pieces they yield"
    assert f"warning: these lines are {warning}" in capsys.readouterr().err


def test_two_vocabularies_are_learnt_each_from_its_side(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    apart = replace(config, tokenizer=TokenizerConfig(joint=False, vocabulary_size=310, target_vocabulary_size=340))
    data = prepared(apart)
    tokenizers = data.tokenizers()
    assert [tokenizers[side].has_piece(letter) for side in SIDES for letter in "在W"] == [True, False, False, True]
    for split in SPLITS:
        examples = data.examples(split)
        for side, stored in (("source", examples.source), ("target", examples.target)):
            found = [tokenizers[side].decode(stored(row).tolist()) for row in range(len(examples))]  # type: ignore[index]
            assert found == list(map(normalise, data.lines(split, side)))  # type: ignore[arg-type]
    assert data.manifest.report["vocabulary_sizes"] == [310, 340]
    told, lines = capsys.readouterr().err, data.manifest.pairs["train"]
    assert f"learning a vocabulary of 310 from {lines} lines of source ...\n" in told
    assert f"learning a vocabulary of 340 from {lines} lines of target ...\n" in told
    assert "\nvocabularies of 310 and 340  " in told


def test_a_joint_vocabulary_and_two_replace_each_other(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    apart = replace(config, tokenizer=TokenizerConfig(joint=False, vocabulary_size=400))
    for settings, names in (
        (apart, {"tokenizer.source.model", "tokenizer.target.model"}),
        (config, {"tokenizer.model"}),
        (apart, {"tokenizer.source.model", "tokenizer.target.model"}),
    ):
        assert {file.name for file in prepared(settings).folder.glob("tokenizer*")} == names
    assert "preparing: tokenizer.joint was True, now is False" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        ({"vocabulary_size": 5000, "target_vocabulary_size": 330}, "vocabulary_size"),
        ({"vocabulary_size": 330, "target_vocabulary_size": 5000}, "target_vocabulary_size"),
    ],
)
def test_of_two_vocabularies_the_one_not_filled_is_named_by_its_setting(
    config: Config, capsys: pytest.CaptureFixture[str], sizes: dict[str, int], key: str
) -> None:
    prepare(replace(config, tokenizer=TokenizerConfig(joint=False, **sizes)))
    assert re.findall(r"too few for tokenizer\.(\w+) = 5,000", capsys.readouterr().err) == [key]


def test_a_mistake_in_the_corpus_leaves_no_folder(config: Config, raw: Path, tmp_path: Path) -> None:
    (raw / "test.en").write_bytes(b"one line\n")
    with pytest.raises(MtrainError, match=r"test\.zh has 21 lines, but"):
        prepare(config)
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["raw"]


def test_the_vocabulary_is_learnt_from_lines_all_over_the_corpus(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt_from: list[str] = []

    def train(lines: Iterable[str], section: TokenizerConfig, size_key: SizeKey) -> Tokenizer:
        learnt_from.extend(lines)
        return train_tokenizer(learnt_from, section, size_key)

    monkeypatch.setattr("mtrain.commands.prepare.train_tokenizer", train)
    data = prepared(replace(config, tokenizer=TokenizerConfig(vocabulary_size=400, train_lines=40)))
    pairs = list(zip(data.lines("train", "source"), data.lines("train", "target"), strict=True))
    rows = [pairs.index(pair) for pair in zip(learnt_from[::2], learnt_from[1::2], strict=True)]
    assert len(rows) == 20
    assert set(np.diff(rows)) <= {len(pairs) // 20, len(pairs) // 20 + 1}


def test_the_manifest_can_be_read_by_a_person(config: Config) -> None:
    text = (prepared(config).folder / "manifest.json").read_text("utf-8")
    assert "测试句子乙" in text
    assert json.loads(text)["source_language"] == "zh"


def test_a_dry_run_tells_the_same_and_leaves_nothing(
    config: Config, raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(config, dry_run=True)
    told = capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]
    prepare(config)
    assert told.strip() in capsys.readouterr().err
    assert "of 400 read, dropped" in told


@pytest.mark.parametrize("folder", ["prepared", "new/deeper/prepared"])
def test_a_dry_run_writes_where_the_prepared_data_will_be(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    used: list[Path] = []

    def report(corpus: CorpusConfig, tally: Tally, folder: Path, workers: int) -> CleaningReport:
        used.append(folder.parent)
        return cleaning_report(corpus, tally, folder, workers)

    monkeypatch.setattr("mtrain.commands.prepare.cleaning_report", report)
    prepare(with_corpus(config, folder=str(tmp_path / folder)), dry_run=True)
    assert used == [tmp_path]
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_pairs_are_written_out_for_looking_at(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = with_corpus(config, test=(), test_pairs=30)
    dropped, kept = tmp_path / "dropped.tsv", tmp_path / "kept.tsv"
    prepare(drawn, dry_run=True, dropped=dropped, kept=kept)
    rows = [line.split("\t") for line in dropped.read_text("utf-8").removesuffix("\n").split("\n")]
    pairs = [line.split("\t") for line in kept.read_text("utf-8").removesuffix("\n").split("\n")]
    data = prepared(drawn)
    counts = {name: rule["pairs"] for name, rule in data.manifest.report["dropped"].items() if rule["pairs"]}
    assert counts == Counter(rule for rule, _, _ in rows)
    assert ["empty", "", "nothing here"] in rows
    assert pairs == list(map(list, zip(data.lines("train", "source"), data.lines("train", "target"), strict=True)))
    capsys.readouterr()
    dropped.unlink()
    prepare(drawn, dropped=dropped)  # prepared already, but the file is wanted
    assert len(dropped.read_text("utf-8").removesuffix("\n").split("\n")) == len(rows)
    assert "nothing to do" in capsys.readouterr().err


def test_a_list_that_cannot_be_written_is_told_before_the_work(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtrain.commands.prepare.assemble", lambda *_: pytest.fail("all the work was done before"))
    for lists in ({"kept": tmp_path / "none" / "k.tsv"}, {"dropped": tmp_path / "none" / "d.tsv"}):
        with pytest.raises(FileNotFoundError):
            prepare(config, **lists)


def test_what_a_full_disk_ends_is_gone_on_with(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("mtrain.commands.prepare.encode_split", full)
        with pytest.raises(OSError, match="No space left"):
            prepare(config)
    prepare(config)
    assert "the text was cleaned and split before the interruption" in capsys.readouterr().err
    prepare(with_corpus(config, folder=str(tmp_path / "again")))
    assert contents(tmp_path / "again") == contents(tmp_path / "prepared")


def test_width_is_changed_in_train_and_ids_but_not_in_references(config: Config, raw: Path) -> None:
    write(raw, "train", [*sentences(300), ("他说：“好”。", "“Ｇｏｏｄ”，he said")])
    write(raw, "test", [("测试：“一”！", "“Ｔｅｓｔ”，one！")])
    data = prepared(with_corpus(config, source_width="half", source_quotes="keep"))
    assert (data.lines("train", "source")[-1], data.lines("train", "target")[-1]) == ("他说:“好”.", '"Good",he said')
    assert (data.lines("test", "source"), data.lines("test", "target")) == (["测试：“一”！"], ["“Ｔｅｓｔ”，one！"])
    test, tokenizers = data.examples("test"), data.tokenizers()
    assert tokenizers["source"].decode(test.source(0).tolist()) == "测试:“一”!"
    assert tokenizers["target"].decode(test.target(0).tolist()) == '"Test",one!'


def test_the_report_tells_of_rare_characters(config: Config, raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(raw, "train", [*sentences(400), ("𠮷𠮷野家龘", "Yoshinoya"), ("龘龘𪚥野", "dragons")])
    data = prepared(replace(config, tokenizer=TokenizerConfig(vocabulary_size=400, character_coverage=0.998)))
    rare = data.manifest.report["surveys"]["train"]["source"]["rare"]
    assert rare["once"] == {"different": 2, "without_piece": 2, "examples": "家𪚥"}
    assert rare["twice"] == {"different": 2, "without_piece": 2, "examples": "野𠮷"}
    assert (rare["3 to 10 times"]["examples"], rare["3 to 10 times"]["without_piece"]) == ("龘", 1)
    assert "zh twice" in capsys.readouterr().err
    examples, tokenizer = data.examples("train"), data.tokenizers()["source"]
    assert [tokenizer.decode(examples.source(row).tolist()) for row in (-2, -1)] == ["𠮷𠮷野家龘", "龘龘𪚥野"]


@pytest.mark.parametrize("installed", [True, False])
def test_the_report_counts_traditional_and_simplified_lines(
    config: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if installed:
        pytest.importorskip("opencc")
    monkeypatch.setattr("mtrain.corpus.report.has_opencc", lambda: installed)
    prepare(config, dry_run=True)
    told = capsys.readouterr().err
    assert ("traditional  simplified  both  neither" in told) == installed
    assert ('told apart by OpenCC, which is not installed: pip install "mtrain[opencc]"' in told) == (not installed)


def test_all_of_train_is_turned_into_one_script_and_references_are_not(config: Config, raw: Path) -> None:
    pytest.importorskip("opencc")
    write(raw, "train", [*sentences(300), ("漢語很難學", "Chinese is hard")])
    write(raw, "test", [("漢語嗎", "Chinese?")])
    data = prepared(with_corpus(config, source_script="simplified"))
    assert data.lines("train", "source")[-1] == "汉语很难学"
    assert data.lines("test", "source") == ["漢語嗎"]
    assert data.tokenizers()["source"].decode(data.examples("test").source(0).tolist()) == "汉语吗"
    variants = data.manifest.report["variants"]
    assert (variants["train"]["source"]["traditional"], variants["test"]["source"]["traditional"]) == (0, 1)
    assert "target" not in variants["train"]
