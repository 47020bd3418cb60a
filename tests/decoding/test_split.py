"""Long inputs are cut where a reader would pause, and nothing is lost."""

import pytest

from mtrain.decoding.split import split_text


def test_a_short_text_stays_whole():
    assert split_text("今天很好。明天也好。", len, 10) == ["今天很好。明天也好。"]


def test_cut_at_sentence_ends_first():
    assert split_text("今天很好。“真的吗？”他问。是的！", len, 9) == ["今天很好。", "“真的吗？”他问。", "是的！"]


def test_european_full_stops_end_sentences_only_before_a_space():
    pieces = split_text("It cost 3.14 dollars. He paid. She left.", len, 22)
    assert pieces == ["It cost 3.14 dollars.", " He paid. She left."]


@pytest.mark.parametrize(
    "text", ["一" * 3000, "一二三，四五六，" * 200, "word " * 700, "他说。" * 999, "a.b,c;d" * 300, "。" * 500]
)
def test_nothing_is_lost_and_no_piece_is_too_long(text):
    pieces = split_text(text, len, 64)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 64


def test_neighbouring_sentences_share_a_piece_as_far_as_they_fit():
    assert split_text("一。二。三。四。五。", len, 4) == ["一。二。", "三。四。", "五。"]
