"""Figures about prepared data, against counts by hand."""

import re
from pathlib import Path

import numpy as np
import pytest

from mtrain.batches.store import read_prepared
from mtrain.errors import InspectionError
from mtrain.inspection import data
from mtrain.inspection.batch import BatchView, render_batch
from mtrain.inspection.data import survey_data
from mtrain.inspection.data_report import render_data


@pytest.fixture
def figures(prepared):
    found = read_prepared(Path(prepared.corpus.folder))
    return survey_data(found, found.tokenizers())


def test_lengths_are_those_of_the_text(figures):
    source, target = figures.sides["source"], figures.sides["target"]
    assert figures.pairs == {"train": 401, "dev": 1, "test": 1}
    assert source.characters.tolist() == [4, 4, 8, 4] * 100 + [3]
    assert target.characters.tolist() == [7, 5, 8, 4] * 100 + [3]
    assert source.tokens.sum() == source.piece_counts.sum()
    assert np.array_equal(figures.ratios, target.tokens / source.tokens)


def test_characters_are_counted_across_blocks_and_of_any_width():
    lines = ["", "a", "é", "汉", "𠮷", "混 mixed 𠮷é"] * 250_000
    text = np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)
    assert data._characters(text).tolist() == list(map(len, lines))


def test_characters_without_a_piece_are_found_whole(figures):
    assert figures.sides["source"].spelt["𠮷"] == 1
    assert figures.sides["target"].spelt["𠮷"] == 1
    assert "�" not in figures.sides["source"].spelt


def test_samples_spell_the_text(figures):
    assert ["".join(pair["source"]) for pair in figures.samples] == ["书贵，不可买也。", "天甚佳。", "书贵，不可买也。"]


def test_the_report_holds_all_of_it(figures):
    text = render_data(figures)
    assert "pairs: train 401, dev 1, test 1" in text
    characters_row = next(line for line in text.split("\n") if line.startswith("source (lzh)")).split()[-4:]
    assert characters_row == ["2,003", "4", "8", "8"]
    assert "𠮷 1" in text
    for title in ("length in tokens", "length in characters", "target tokens a source token"):
        bars = text.partition(title)[2].partition("\n\n")[0].split("\n")[1:]
        assert sum(float(re.findall(r"([\d.]+)%", bar)[0]) for bar in bars) == pytest.approx(100, abs=0.5)


def test_no_pair_for_training_is_told(prepared):
    found = read_prepared(Path(prepared.corpus.folder))
    for name in ("ids", "ends.npy"):
        for side in ("source", "target"):
            file = found.folder / f"train.{side}.{name}"
            file.unlink()
            file.write_bytes(b"") if name == "ids" else np.save(file, np.zeros(0, dtype=np.int64))
    with pytest.raises(InspectionError, match="no pair is left for training"):
        survey_data(found, found.tokenizers())


def test_a_batch_is_drawn_with_its_padding_and_what_each_step_sees():
    view = BatchView(
        "batch 1",
        ["<pad>", "<unk>", "<s>", "</s>", "天", "地", "玄"],
        ["<pad>", "<unk>", "<s>", "</s>", "sky", "earth", "dark"],
        src_BS=np.array([[4, 5, 6, 3], [4, 3, 0, 0]]),
        keep_BS=np.array([[True] * 4, [True, True, False, False]]),
        tgt_in_BT=np.array([[2, 4, 5], [2, 6, 0]]),
        keep_BT=np.array([[True] * 3, [True, True, False]]),
        labels_BT=np.array([[4, 5, 3], [6, 3, 0]]),
    )
    assert view.most_padded == 1
    assert view.padding_share == pytest.approx(3 / 14)
    text = render_batch(view)
    assert "2 pairs, source 2×4, target 2×3, 21.4% padding" in text
    lines = [line.split() for line in text.split("\n")]
    assert ["0", "■■■■", "■■■"] in lines
    assert ["1", "■■··", "■■·"] in lines
    assert "source of row 1: 天 </s> <pad> <pad>" in text
    assert ["<s>", "■··", "■■··", "dark"] in lines
    assert ["dark", "■■·", "■■··", "</s>"] in lines
