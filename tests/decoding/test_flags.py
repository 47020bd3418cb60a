"""What about a translation deserves a second look, and what does not."""

import pytest

from mtrain.decoding.flags import text_flags
from mtrain.decoding.translation import Candidate, flags_of, in_order, pharaoh


@pytest.mark.parametrize(
    ("source", "target", "language", "flags"),
    [
        ("今天天气很好。", "The weather is fine today.", "en", []),
        ("今天天气很好。", "", "en", ["empty"]),
        ("", "", "en", []),
        ("今天很好。", "Today is good is good is good is good is good.", "en", ["loop"]),
        ("他有一万元。", "He has 10000 yuan.", "en", []),
        ("他有一万元。", "20, 20, 20, 20, 20, 20", "en", ["loop"]),
        ("他笑了。", "哈哈哈哈哈", "zh", ["loop"]),
        ("哈哈哈哈哈！", "Ha ha ha ha ha!", "en", []),
        ("他等了很久……", "He waited a long time..........", "en", []),
        ("天下大勢分久必合", "天下大勢分久必合", "zh", ["copied"]),
        ("子曰：", "子曰：", "zh", []),
        ("今天很好。", "Today is \ufffd.", "en", ["unknown"]),
        ("他有12个苹果。", "He has 21 apples.", "en", ["numbers_differ"]),
        ("他有１２个苹果。", "He has 12 apples.", "en", []),
        ("共1,000元。", "1000 yuan in all.", "en", []),
        ("圆周率是3.14。", "Pi is 3.14.", "en", []),
        ("三个人。", "3 people.", "en", []),
        ("很多人。", "3 people.", "en", ["numbers_differ"]),
        ("1和1", "1", "zh", ["numbers_differ"]),
        ("北京很大。", "北京 is big.", "en", ["untranslated_han"]),
        ("Beijing", "北京", "ja", []),
    ],
)
def test_texts_are_flagged(source, target, language, flags):
    assert text_flags(source, target, language) == flags


def test_lengths_and_parts_are_flagged_in_their_order():
    short = Candidate("x", -1.0, -1.0, False, ("x",))
    assert in_order(flags_of("长" * 30, short, 30, 2, "en")) == ("short", "split")
    assert flags_of("短", short, 1, 1, "en") == set()
    assert flags_of("短", Candidate("x", -1.0, -1.0, True, ("x",)), 1, 1, "en") == {"loop"}


def test_the_pharaoh_format():
    assert pharaoh([(0, 0), (2, 1)]) == "0-0 2-1"
