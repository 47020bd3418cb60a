"""What a line is, and the one spelling in which models read it."""

import random
import unicodedata

import pytest

from mtrain.corpus.lines import normalise, one_line, without_controls

LINE_BREAKERS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\ud83d"
CONTROLS = "\x00\x07\x1f\x7f\x9f"


@pytest.mark.parametrize("stray", [*LINE_BREAKERS, *CONTROLS])
def test_what_could_break_a_line_or_a_terminal_becomes_a_space(stray: str) -> None:
    assert one_line(f"你好{stray}世界") == ("你好 世界" if stray in LINE_BREAKERS else f"你好{stray}世界")
    assert without_controls(f"你好{stray}世界") == "你好 世界"
    assert normalise(f"你好{stray}世界") == "你好 世界"
    assert normalise(f"hello{stray}world{stray}") == "hello world"


def test_a_line_without_need_of_mending_is_returned_itself() -> None:
    line = "制表符\t和全角空格\u3000都可以留下。"
    assert one_line(line) is line


@pytest.mark.parametrize("text", ["，？！：；（）", "１２３ＡＢＣ", "「你好」——他说……", "①㈠㍿ﬁ½"])
def test_width_and_compatibility_forms_stay_as_they_are(text: str) -> None:
    assert normalise(text) == text


@pytest.mark.parametrize(
    ("raw", "spelling"),
    [
        ("e\u0301te\u0301", "été"),  # NFD, as macOS writes it
        ("\u3000\u3000很 \u00a0 久\t以前\u2003", "很 久 以前"),
        ("\ufeff开\u200b始co\u00adop\u2060", "开始coop"),
        ("e\u200b\u0301", "é"),  # composed only once the invisible has gone
        ("\u202b左\u202c\u200e右\u2066中\u2069\u061c\u2062间\ufff9注\ufffb", "左右中间注"),
        ("a▁b", "a_b"),
        ("👩\u200d🚀 葛\U000e0100 می\u200cخواهم", "👩\u200d🚀 葛\U000e0100 می\u200cخواهم"),
        ("𠮷野家 𪚥", "𠮷野家 𪚥"),
        (" \u3000 ", ""),
    ],
)
def test_spelling(raw: str, spelling: str) -> None:
    assert normalise(raw) == spelling


def test_normalising_twice_is_normalising_once() -> None:
    generator = random.Random(5)
    alphabet = [*map(chr, range(0x3400)), *"\ufeff\ufb01豈𠮷👩\ud800", *[" ", "\u0301", "\u200b"] * 500]
    for _ in range(3000):
        once = normalise("".join(generator.choices(alphabet, k=12)))
        assert normalise(once) == once
        assert unicodedata.is_normalized("NFC", once)
        assert one_line(once) is once
        assert once == once.strip()
        assert "  " not in once
