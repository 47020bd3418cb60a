"""What is written is read back as it was; what is not whole, or not what was asked for, is refused by name."""

import dataclasses
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mtrain.batches.id_files import write_examples, writing_ids
from mtrain.batches.settings import changed_settings, in_short, prepare_settings
from mtrain.batches.store import (
    FORMAT_VERSION,
    Examples,
    open_prepared,
    prepared_names,
    read_prepared,
    write_manifest,
)
from mtrain.config.schema import CorpusConfig, TokenizerConfig
from mtrain.corpus.pair_files import write_pairs
from mtrain.corpus.sources import SIDES, SPLITS, Pair
from mtrain.errors import PreparedDataError

CORPUS, TOKENIZER = CorpusConfig(folder="x", train=("a.tsv",)), TokenizerConfig()
SOURCES, TARGETS = [[4, 5, 6], [], [7], [300, 8]], [[9], [10, 11], [12, 13, 14], []]


def write_split(folder: Path, vocabulary_size: int = 400, split: str = "train") -> Examples:
    write_examples([SOURCES[:3], SOURCES[3:]], folder, split, "source", vocabulary_size)  # type: ignore[arg-type]
    write_examples([TARGETS], folder, split, "target", vocabulary_size)  # type: ignore[arg-type]
    return Examples(folder, split)  # type: ignore[arg-type]


@pytest.mark.parametrize(("vocabulary_size", "dtype"), [(400, np.uint16), (65_536, np.uint16), (65_537, np.uint32)])
def test_examples_come_back(tmp_path: Path, vocabulary_size: int, dtype: type) -> None:
    examples = write_split(tmp_path, vocabulary_size)
    assert len(examples) == 4
    assert [examples.source(i).tolist() for i in range(4)] == SOURCES
    assert [examples.target(i).tolist() for i in range(4)] == TARGETS
    assert examples.source_lengths.tolist() == [3, 0, 1, 2]
    assert examples.target_lengths.tolist() == [1, 2, 3, 0]
    assert examples.source_lengths.dtype == np.int32
    assert examples.source(0).dtype == dtype
    assert (tmp_path / "train.source.ids").stat().st_size == 6 * np.dtype(dtype).itemsize


def test_each_side_has_ids_as_wide_as_its_vocabulary_needs(tmp_path: Path) -> None:
    write_examples([[[4], [5, 299]]], tmp_path, "train", "source", 300)
    write_examples([[[70_000, 6], [7]]], tmp_path, "train", "target", 80_000)
    examples = Examples(tmp_path, "train")
    assert [examples.source(i).tolist() for i in range(2)] == [[4], [5, 299]]
    assert [examples.target(i).tolist() for i in range(2)] == [[70_000, 6], [7]]
    assert (examples.source(0).dtype, examples.target(0).dtype) == (np.uint16, np.uint32)


def test_ids_are_mapped_and_not_read(tmp_path: Path) -> None:
    assert isinstance(write_split(tmp_path).source(0), np.memmap)


def test_of_many_examples_only_the_lengths_are_in_memory(tmp_path: Path) -> None:
    count = 100_000
    for side in SIDES:
        with writing_ids(tmp_path, "train", side) as writer:
            writer.write(np.zeros(count, np.uint16), np.ones(count, np.int64))
    tracemalloc.start()
    try:
        examples = Examples(tmp_path, "train")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert examples.source(count - 1).tolist() == [0]
    assert kept < 2 * 4 * count + 100_000


def test_pieces_are_counted(tmp_path: Path) -> None:
    counts = write_split(tmp_path).token_counts("source", 400)
    assert counts.sum() == 6
    assert np.flatnonzero(counts).tolist() == [4, 5, 6, 7, 8, 300]


def test_a_split_without_pairs(tmp_path: Path) -> None:
    for side in SIDES:
        write_examples([], tmp_path, "test", side, 400)
    examples = Examples(tmp_path, "test")
    assert len(examples) == 0
    assert examples.token_counts("source", 400).sum() == 0


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """Return a small prepared folder."""
    folder = tmp_path / "prepared"
    folder.mkdir()
    for split in SPLITS:
        write_split(folder, split=split)
        write_pairs([Pair("一", "one"), Pair("", "　two ")], folder, split)
    (folder / "tokenizer.model").write_bytes(b"tokenizer")
    (folder / "spelling.json").write_bytes(b"spelling")
    (folder / "report.txt").write_bytes(b"report")
    figures = {"pairs": dict.fromkeys(SPLITS, 4), "report": {}}
    write_manifest(folder, prepare_settings(CORPUS, TOKENIZER), [], figures)
    return folder


def test_a_prepared_folder_opens(prepared: Path) -> None:
    opened = open_prepared(prepared, CORPUS, TOKENIZER)
    assert opened.manifest.source_language == "zh"
    assert opened.examples("dev").source(0).tolist() == [4, 5, 6]
    assert opened.lines("test", "source") == ["一", ""]
    assert opened.lines("test", "target") == ["one", "　two "]
    perhaps = {f"{split}.{what}" for split in SPLITS for what in ("groups.txt", "corpora")}
    others = {"tokenizer.source.model", "tokenizer.target.model", *perhaps}
    assert {file.name for file in prepared.iterdir()} == prepared_names() - others


def test_the_fingerprint_is_of_the_data_and_not_of_the_report(prepared: Path) -> None:
    before = read_prepared(prepared).fingerprint
    figures = {"pairs": {}, "report": {"other": 1}}

    def again(name: str) -> str:
        (prepared / name).write_bytes(b"other")
        (prepared / "manifest.json").unlink()
        write_manifest(prepared, prepare_settings(CORPUS, TOKENIZER), [], figures)
        return read_prepared(prepared).fingerprint

    assert again("report.txt") == before
    assert again("tokenizer.model") != before


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(PreparedDataError) as error:
        open_prepared(tmp_path / "none", CORPUS, TOKENIZER)
    cure = "Run `mtrain prepare` with the same --config and --set first."
    assert str(error.value) == f"{tmp_path}/none: not prepared yet. {cure}"


def cut(folder: Path) -> None:
    (folder / "dev.target.ids").write_bytes(b"12")


def remove(folder: Path) -> None:
    (folder / "dev.target.ids").unlink()


def scramble(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"format_version": 1, "pairs"')


def flip(folder: Path) -> None:
    file = folder / "train.source.ids"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def strip(folder: Path) -> None:
    (folder / "manifest.json").write_text(json.dumps({"format_version": FORMAT_VERSION}))


def age(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"format_version": 99}')


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (cut, r"dev\.target\.ids: damaged, 2 bytes instead of 12\. Run `mtrain prepare`"),
        (flip, r"train\.source\.ids: damaged, its contents are not those that were written\. Run `mtrain prepare`"),
        (remove, r"dev\.target\.ids: missing\. Run `mtrain prepare`"),
        (scramble, r"manifest\.json: damaged, not a manifest of prepared data\. Run `mtrain prepare`"),
        (strip, r"manifest\.json: damaged"),
        (age, rf"prepared data of format 99, but this mtrain reads format {FORMAT_VERSION}\. Run `mtrain prepare`"),
    ],
)
def test_what_is_not_whole_is_refused(prepared: Path, harm: Callable[[Path], None], message: str) -> None:
    harm(prepared)
    with pytest.raises(PreparedDataError, match=message):
        open_prepared(prepared, CORPUS, TOKENIZER)


def test_other_settings_are_refused_and_named(prepared: Path) -> None:
    longer = dataclasses.replace(CORPUS, max_units=100)
    with pytest.raises(PreparedDataError, match=r"with other settings: corpus.max_units was 256, now is 100\. Run"):
        open_prepared(prepared, longer, TOKENIZER)
    with pytest.raises(PreparedDataError, match=r"tokenizer.vocabulary_size was 8000, now is 9000"):
        open_prepared(prepared, CORPUS, dataclasses.replace(TOKENIZER, vocabulary_size=9000))


def test_where_things_lie_is_no_setting_of_the_data(prepared: Path) -> None:
    elsewhere = dataclasses.replace(CORPUS, folder="y", root="/elsewhere")
    assert open_prepared(prepared, elsewhere, TOKENIZER)


def test_other_files_are_another_corpus(prepared: Path) -> None:
    with pytest.raises(PreparedDataError, match=r": corpus.train was a.tsv, now is b.zh, b.en\. Run `mtrain prepare`"):
        open_prepared(prepared, dataclasses.replace(CORPUS, train=("b.zh", "b.en")), TOKENIZER)
    given = dataclasses.replace(CORPUS, test=("test.tsv",))
    with pytest.raises(PreparedDataError) as error:
        open_prepared(prepared, given, TOKENIZER)
    assert "corpus.test was taken out of train, now is test.tsv; corpus.test_pairs was 2000, now is not in use" in str(
        error.value
    )


def test_pairs_to_draw_matter_only_where_they_are_drawn() -> None:
    drawn = prepare_settings(CORPUS, TOKENIZER)
    given = prepare_settings(dataclasses.replace(CORPUS, dev=("dev.tsv",)), TOKENIZER)
    assert "corpus.dev_pairs" in drawn
    assert "corpus.dev_pairs" not in given
    assert changed_settings(given, drawn) == [
        "corpus.dev was dev.tsv, now is taken out of train",
        "corpus.dev_pairs was not in use, now is 2000",
    ]
    assert changed_settings(drawn, given)[1] == "corpus.dev_pairs was 2000, now is not in use"


def test_of_many_changes_the_first_are_told() -> None:
    changes = [f"{number} was, now is" for number in range(20)]
    assert in_short(changes) == "0 was, now is; 1 was, now is; 2 was, now is; and 17 more"
    assert in_short(changes[:4]) == "; ".join(changes[:4])


def test_the_ends_are_as_numpy_writes_them(tmp_path: Path) -> None:
    write_examples([[[4], [5, 299]], [[6, 7, 8]]], tmp_path, "train", "source", 300)
    np.save(tmp_path / "ends.npy", np.array([1, 3, 6]))
    assert (tmp_path / "train.source.ends.npy").read_bytes() == (tmp_path / "ends.npy").read_bytes()
