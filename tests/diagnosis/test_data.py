"""Faults of the prepared data, and the report's words."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import mtrain.diagnosis
from mtrain.config.load import load_config
from mtrain.corpus.pair_files import text_file
from mtrain.diagnosis.causes import CAUSES
from mtrain.diagnosis.data import check_alignment, check_data
from mtrain.diagnosis.finding import Finding
from mtrain.diagnosis.report import render, render_summary, root_cause

SOURCE = Path(mtrain.diagnosis.__file__).parent


@pytest.fixture
def lengths():
    generator = np.random.default_rng(0)
    source = generator.integers(3, 40, 2000)
    return source, source + generator.integers(-2, 8, 2000)


def test_pairs_that_belong_together_have_related_lengths(lengths):
    assert check_alignment(*lengths).verdict == "ok"


def test_shuffled_sources_are_found_in_the_whole_corpus(lengths):
    source, target = lengths
    assert check_alignment(np.random.default_rng(1).permutation(source), target).cause == "sources_shuffled"


def test_a_line_too_many_half_way_is_found_where_it_stands(lengths):
    source, target = lengths
    source[1000:] = np.roll(source[1000:], 1)
    finding = check_alignment(source, target)
    assert finding.cause == "sources_shuffled"
    assert "from about pair 1,001 on" in finding.measured


def test_lengths_that_are_all_alike_say_nothing():
    assert check_alignment(np.full(500, 7), np.full(500, 9)).verdict == "ok"


@pytest.fixture
def own_copy(subject, prepared_digits, tmp_path):
    """Return the subject on a copy of the prepared data that may be damaged."""
    folder = tmp_path / "prepared"
    shutil.copytree(load_config(str(prepared_digits)).corpus.folder, folder)
    return subject(f"corpus.folder={folder}")


def causes_of_data(subject, limit=64):
    return [finding.cause for finding in check_data(subject.prepared, subject.tokenizers, limit) if finding.cause]


def change_line(subject, side, number, text):
    file = text_file(subject.prepared.folder, "train", side)
    lines = file.read_text("utf-8").split("\n")
    lines[number] = text
    file.write_text("\n".join(lines), "utf-8")


def test_a_test_sentence_in_train_is_found(own_copy):
    line = own_copy.prepared.lines("test", "target")[0]
    change_line(own_copy, "target", 3, line + "!")
    assert "leak" in causes_of_data(own_copy)


def test_ids_that_are_not_those_of_the_text_are_found(own_copy):
    change_line(own_copy, "source", 0, "000111222")
    assert causes_of_data(own_copy) == ["tokenizer_mismatch"]


def test_a_limit_that_leaves_most_pairs_out_is_found(own_copy):
    assert causes_of_data(own_copy, limit=5) == ["limit_low"]


def test_every_cause_has_its_words_and_all_words_have_their_cause():
    code = "".join(file.read_text("utf-8") for file in SOURCE.glob("*.py") if file.name != "causes.py")
    named = set(re.findall(r'"([a-z_0-9]+)"', code))
    assert CAUSES.keys() <= named | {"padding_read_by_encoder"}
    planted = (Path(__file__).parent / "test_planted_faults.py").read_text("utf-8")
    assert set(re.findall(r'^@fault\("(\w+)"', planted, re.MULTILINE)) <= CAUSES.keys()


def test_the_report_says_what_to_begin_with():
    findings = [
        Finding("a", "1"),
        Finding("b", "2", "suspicious", "many_bytes"),
        Finding("c", "3 (at most 2)", "broken", "future_visible"),
        Finding("d", "4", "broken", "decoding_differs"),
    ]
    assert root_cause(findings) == "future_visible"
    assert render(findings[0]) == "ok          a: 1"
    assert render(findings[2]).split("\n")[0] == "broken      c: 3 (at most 2)"
    assert "[future_visible]" in render(findings[2])
    assert "cure: Give the decoder" in render(findings[2])
    summary = render_summary(findings, 61.4)
    assert summary.startswith("4 checks in 61 s: 1 ok, 1 suspicious, 2 broken\nbegin with: a position sees")
