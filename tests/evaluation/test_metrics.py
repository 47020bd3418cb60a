"""Scores: right by hand and by sacreBLEU's own program, and hard to misread."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtrain.errors import InputError
from mtrain.evaluation.metrics import score, tokenizer_for
from mtrain.evaluation.report import render, render_samples, to_json

ENGLISH = ["The cat sat on the mat.", "It cost 35 million yuan, didn't it?", "Turn left at the bank."]
OTHER_ENGLISH = ["A cat sat on the mat.", "It did cost 35 million yuan, no?", "Turn right at the bank."]
CHINESE = [
    "他说，今天天气很好，我们出去走走吧！",
    "你吃饭了吗？我还没有，一起去吧。",
    "这本书三十五块钱，太贵了！能便宜一点吗？",
]
OTHER_CHINESE = [
    "他说，今天天气不错，我们出门走走吧！",
    "你吃了饭吗？我还没吃，一起去吧。",
    "这本书三十五块，贵了！能便宜点儿吗？",
]


def half_width(line: str) -> str:
    return line.translate(str.maketrans("，？！", ",?!"))


def test_bleu_is_the_formula_worked_out_by_hand() -> None:
    # Of "a b c d e x" against "a b c d e f g": 5/6 words, 4/5 pairs, 3/4 triples and 2/3 quadruples are right.
    scores = score(["a b c d e x"], ["a b c d e f g"], None, "en")
    brevity = math.exp(1 - 7 / 6)
    assert scores.bleu == pytest.approx(100 * brevity * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)
    assert scores.brevity_penalty == pytest.approx(brevity)
    assert scores.length_ratio == pytest.approx(6 / 7)


def test_chinese_is_counted_in_characters() -> None:
    # Six characters of seven, as above, though there is not a space in the line.
    scores = score(["甲乙丙丁戊辛"], ["甲乙丙丁戊己庚"], None, "zh")
    assert scores.bleu == pytest.approx(100 * math.exp(1 - 7 / 6) * (1 / 3) ** 0.25)


@pytest.mark.parametrize(
    ("language", "hypotheses", "references"), [("en", OTHER_ENGLISH, ENGLISH), ("lzh", OTHER_CHINESE, CHINESE)]
)
def test_figures_and_signatures_are_those_of_sacrebleus_own_program(
    tmp_path: Path, language: str, hypotheses: list[str], references: list[str]
) -> None:
    for name, lines in (("hyp", hypotheses), ("ref", references)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    tokenizer = tokenizer_for(language)
    arguments = ["ref", "-i", "hyp", "-m", "bleu", "chrf", "-tok", tokenizer, "-w", "6"]
    command = [sys.executable, "-m", "sacrebleu", *arguments]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    output = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, text=True).stdout
    theirs = json.loads(output)
    ours = score(hypotheses, references, None, language)
    assert 10 < ours.bleu < 90
    assert [ours.bleu, ours.chrf] == pytest.approx([metric["score"] for metric in theirs], abs=1e-5)
    assert [ours.bleu_signature, ours.chrf_signature] == [metric["signature"] for metric in theirs]


def test_half_width_punctuation_costs_dear_and_is_told() -> None:
    scores = score([half_width(line) for line in CHINESE], CHINESE, None, "zh")
    assert scores.bleu < 85
    assert "width" in scores.warnings
    assert "These figures mislead: the translations write , ? !" in render(scores)


@pytest.mark.parametrize("tokenizer", ["13a", "intl", "none"])
def test_chinese_scored_by_spaces_is_told(tokenizer: str) -> None:
    scores = score(OTHER_CHINESE, [*CHINESE[:2], "Python 很好。"], None, "zh", tokenizer)
    told = f"These figures mislead: the references are Chinese or Japanese, but the tokenizer {tokenizer} "
    assert told in render(scores)
    assert told in json.loads(to_json(scores))["warnings"]["sentences_as_words"]


@pytest.mark.parametrize(
    ("hypotheses", "references", "language"),
    [
        (ENGLISH, [*ENGLISH[:2], "The sign says 银行."], "en"),
        (CHINESE, CHINESE, "zh"),
        ([half_width(line) for line in CHINESE], [half_width(line) for line in CHINESE], "zh"),
        (["共3,000元，对。对，好！"], ["共3,000元，对，对，好！"], "zh"),
        (ENGLISH, ENGLISH, "en"),
    ],
)
def test_no_warning_without_cause(hypotheses: list[str], references: list[str], language: str) -> None:
    scores = score(hypotheses, references, None, language)
    assert scores.warnings == {}
    assert "mislead" not in render(scores)


def test_copying_the_source_is_scored_beside() -> None:
    scores = score(CHINESE, CHINESE, OTHER_CHINESE, "zh")
    copied = score(OTHER_CHINESE, CHINESE, None, "zh")
    assert scores.bleu == pytest.approx(100)
    assert (scores.copy_bleu, scores.copy_chrf) == (copied.bleu, copied.chrf)
    assert (copied.copy_bleu, copied.copy_chrf) == (None, None)
    assert f"copy   {copied.bleu:6.2f}   BLEU of handing the source back" in render(scores)
    assert "copy " not in render(copied)


def test_empty_translations_count_and_are_counted() -> None:
    scores = score(["", CHINESE[1], "  "], CHINESE, None, "zh")
    assert (scores.empty_hypotheses, scores.sentences) == (2, 3)
    assert "3 sentences" in render(scores)
    assert "2 empty translations" in render(scores)
    assert score(["", "", ""], CHINESE, None, "zh").bleu == 0


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [
        ("zh", "zh"), ("lzh", "zh"), ("zh-CN", "zh"), ("zh_Hant", "zh"), ("ZH", "zh"), ("yue", "zh"),
        ("cmn-Hans", "zh"), ("chi", "zh"), ("nan", "zh"), ("hak", "zh"), ("gan", "zh"),
        ("ja", "ja-mecab"), ("ko", "ko-mecab"), ("en", "13a"), ("de", "13a"), ("zhx", "13a"),
    ],
)  # fmt: skip
def test_the_tokenizer_follows_the_target_language(language: str, tokenizer: str) -> None:
    assert tokenizer_for(language) == tokenizer


def test_the_signature_names_the_tokenizer_and_stands_in_every_report() -> None:
    by_language, chosen = score(CHINESE, CHINESE, None, "zh"), score(CHINESE, CHINESE, None, "zh", "char")
    assert "tok:zh" in by_language.bleu_signature
    assert "tok:char" in chosen.bleu_signature
    for scores in (by_language, chosen):
        for report in (render(scores), to_json(scores)):
            assert scores.bleu_signature in report
            assert scores.chrf_signature in report
    assert json.loads(to_json(chosen))["tokenizer"] == "char"


@pytest.mark.parametrize(("language", "module"), [("ja", "ja"), ("ko", "ko")])
def test_a_tokenizer_that_is_not_installed_is_told_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, language: str, module: str
) -> None:
    monkeypatch.setattr(f"sacrebleu.tokenizers.tokenizer_{module}_mecab.MeCab", None)
    with pytest.raises(InputError) as caught:
        score(["a"], ["a"], None, language)
    assert str(caught.value).startswith(f"sacreBLEU's tokenizer {language}-mecab is not installed; install it with: ")
    assert f"pip install 'sacrebleu[{language}]'" in str(caught.value)


@pytest.mark.parametrize(
    ("hypotheses", "sources", "counts"), [(["a"], None, "[1, 3]"), (ENGLISH, ["a"], "[3, 3, 1]"), ([], None, "[0, 3]")]
)
def test_unequal_lists_are_told(hypotheses: list[str], sources: list[str] | None, counts: str) -> None:
    with pytest.raises(InputError, match="must be equally many and not none, found " + counts.replace("[", r"\[")):
        score(hypotheses, ENGLISH, sources, "en")


def test_nothing_to_score_is_told() -> None:
    with pytest.raises(InputError, match=r"not none, found \[0, 0\]"):
        score([], [], None, "en")


@pytest.mark.parametrize(("total", "rows"), [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (300, [50, 150, 250])])
def test_samples_are_spread_over_the_set(total: int, rows: list[int]) -> None:
    numbers = [str(number) for number in range(total)]
    shown = render_samples(numbers, [f"r{n}" for n in numbers], [f"h{n}" for n in numbers])
    assert shown == "\n\n".join(f"source       {row}\nreference    r{row}\ntranslation  h{row}" for row in rows)
