"""The embedded sample is what its script makes, leaks nothing, and counts rightly."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "data" / "sample"
SPLITS = ("train", "dev", "test")
PAIRS = (("zh", "en"), ("lzh", "zh"))


def read(folder: Path, split: str, language: str) -> list[str]:
    text = (folder / f"{split}.{language}").read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import sample.numbers

    return sample.numbers


@pytest.fixture
def grammar(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import sample.grammar

    return sample.grammar


@pytest.fixture
def english(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import sample.english

    return sample.english


def test_the_script_makes_the_committed_files_byte_by_byte(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_sample.py"
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path)], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    committed = {path.relative_to(SAMPLE): path.read_bytes() for path in SAMPLE.glob("*/*")}
    assert made == committed


def test_the_sample_stays_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) <= 2_000_000


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_sides_are_aligned_and_no_line_is_empty(source: str, target: str) -> None:
    for split in SPLITS:
        sources, targets = (read(SAMPLE / f"{source}-{target}", split, language) for language in (source, target))
        assert len(sources) == len(targets)
        assert all(line and line == line.strip() for line in sources + targets)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_no_line_of_either_side_occurs_twice_in_all_splits(source: str, target: str) -> None:
    folder = SAMPLE / f"{source}-{target}"
    for language in (source, target):
        counts = Counter(line for split in SPLITS for line in read(folder, split, language))
        assert counts.most_common(1)[0][1] == 1


def test_punctuation_is_full_width_in_chinese_and_ascii_in_english() -> None:
    for split in SPLITS:
        for line in read(SAMPLE / "zh-en", split, "zh"):
            assert re.fullmatch(r"[\u4e00-\u9fff〇0-9.%，；]+[。？]", line), line
        for line in read(SAMPLE / "zh-en", split, "en"):
            assert line.isascii(), line
            assert re.fullmatch(r"[A-Z0-9].*[.?]", line), line


def test_every_word_of_dev_and_test_is_learnt_from_train() -> None:
    words = {split: set(re.findall("[A-Za-z']+", "\n".join(read(SAMPLE / "zh-en", split, "en")))) for split in SPLITS}
    assert words["dev"] | words["test"] <= words["train"]


@pytest.mark.parametrize(
    ("number", "reading"),
    [
        (0, "零"),
        (2, "二"),
        (10, "十"),
        (12, "十二"),
        (20, "二十"),
        (22, "二十二"),
        (100, "一百"),
        (105, "一百零五"),
        (110, "一百一十"),
        (115, "一百一十五"),
        (200, "两百"),
        (222, "两百二十二"),
        (1000, "一千"),
        (1001, "一千零一"),
        (1010, "一千零一十"),
        (1100, "一千一百"),
        (2000, "两千"),
        (2022, "两千零二十二"),
        (10_000, "一万"),
        (10_005, "一万零五"),
        (12_000, "一万二千"),
        (20_000, "两万"),
        (22_000, "两万二千"),
        (100_000, "十万"),
        (100_300, "十万零三百"),
        (105_000, "十万五千"),
        (120_000, "十二万"),
        (1_050_000, "一百零五万"),
        (2_000_000, "两百万"),
        (20_000_000, "两千万"),
        (35_000_000, "三千五百万"),
        (100_000_000, "一亿"),
        (100_000_500, "一亿零五百"),
        (100_005_000, "一亿零五千"),
        (135_000_000, "一亿三千五百万"),
        (200_000_000, "两亿"),
        (1_000_500_000, "十亿零五十万"),
        (1_400_000_000, "十四亿"),
    ],
)
def test_chinese_reads_numbers(numbers: ModuleType, number: int, reading: str) -> None:
    assert numbers.chinese(number) == reading


def test_two_has_three_readings(numbers: ModuleType) -> None:
    assert numbers.chinese_count(2) == "两"
    assert numbers.chinese_count(12) == "十二"
    assert numbers.chinese(250, two_hundred="二百") == "二百五十"
    assert numbers.chinese(200_000_000, two_hundred="二百") == "两亿"


@pytest.mark.parametrize(
    ("number", "short"),
    [(9_900, "9900"), (35_000, "3.5万"), (40_000, "4万"), (120_000_000, "1.2亿"), (1_234_000, "123.4万")],
)
def test_the_press_writes_figures_with_wan_and_yi(numbers: ModuleType, number: int, short: str) -> None:
    assert numbers.chinese_short(number) == short


def test_years_are_read_digit_by_digit(numbers: ModuleType) -> None:
    assert numbers.chinese_digits(2019) == "二〇一九"
    assert numbers.chinese_digits("007") == "〇〇七"


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "0"),
        (999, "999"),
        (12_000, "12,000"),
        (350_000, "350,000"),
        (1_000_000, "1 million"),
        (1_234_567, "1,234,567"),
        (1_250_000, "1.25 million"),
        (35_000_000, "35 million"),
        (120_000_000, "120 million"),
        (1_000_000_000, "1 billion"),
        (1_400_000_000, "1.4 billion"),
        (1_005_000_000, "1,005,000,000"),
    ],
)
def test_english_writes_numbers(numbers: ModuleType, number: int, written: str) -> None:
    assert numbers.english(number) == written


def test_english_counts_in_words_up_to_ten(numbers: ModuleType) -> None:
    assert [numbers.english_count(n) for n in (1, 10, 11, 1500)] == ["one", "ten", "11", "1,500"]
    ordinals = [numbers.english_ordinal(n) for n in (1, 10, 11, 12, 13, 21, 22, 23, 111)]
    assert ordinals == ["first", "tenth", "11th", "12th", "13th", "21st", "22nd", "23rd", "111th"]


def test_english_words_take_their_forms(english: ModuleType) -> None:
    assert [english.plural(noun) for noun in ("cup of tea", "loaf of bread", "child", "city", "dish", "day")] == [
        "cups of tea", "loaves of bread", "children", "cities", "dishes", "days",
    ]  # fmt: skip
    assert english.inflect("study math", "past") == "studied math"
    assert english.inflect("write letters", "done") == "written letters"
    assert english.inflect("swim", "ing") == "swimming"
    assert english.inflect("take a walk", "ing") == "taking a walk"
    assert english.agree("often do homework", "she") == "often does homework"
    assert english.agree("isn't tall", "I") == "am not tall"
    assert english.agree("have been", "they") == "have been"
    assert [english.comparative(word) for word in ("big", "cold", "lively", "large", "expensive")] == [
        "bigger", "colder", "livelier", "larger", "more expensive",
    ]  # fmt: skip
    assert [english.superlative(word) for word in ("big", "good", "famous")] == ["biggest", "best", "most famous"]


def test_both_sides_of_a_rule_are_filled_from_the_same_draw(grammar: ModuleType, tmp_path: Path) -> None:
    from random import Random

    rules = tmp_path / "rules.txt"
    text = "[fruit]\n苹果 | apples; 梨 | pears\n[s]\n{fruit}和{fruit2} | {fruit2} and {fruit}\n"
    rules.write_text(text, encoding="utf-8")
    made = grammar.Grammar({}, {})
    made.read(rules)
    rng = Random(0)
    drawn = {made.draw("s", rng) for _ in range(50)}
    assert drawn == {("苹果和梨", "pears and apples"), ("梨和苹果", "apples and pears")}
