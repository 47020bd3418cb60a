"""Keys of many sentences at once are those of each; n-grams are what they are said to be."""

import random

import pytest

from mtrain.corpus.letters import is_long_enough, letters, ngrams, overlap, sentence_key

DRAW = random.Random(4)
# What normalisation treats in its own way: points, digits, widths, marks that combine, Hangul, all of Unicode.
KINDS = (
    range(0x110000), range(0x3000), range(0x250), range(0x300, 0x370), range(0x1100, 0x1200), range(0xFF00, 0xFFEF),
    range(0x30, 0x3A), (ord("."), ord("．"), ord("…")), range(0x4E00, 0x4F00),
)  # fmt: skip


def strange(count: int) -> list[str]:
    codes = [[DRAW.choice(DRAW.choice(KINDS)) for _ in range(DRAW.randrange(10))] for _ in range(count)]
    return ["".join(map(chr, one)).replace("\n", " ") for one in codes]


def keys(texts: list[str]) -> list[str]:
    found = letters(texts)
    ends = found.lengths.cumsum()
    return [
        found.codes[end - length : end].tobytes().decode("utf-32-le", "surrogatepass")
        for end, length in zip(ends, found.lengths, strict=True)
    ]


@pytest.mark.parametrize(
    "texts",
    [
        ["", "……", "你好，World！", "……"],
        ["圆周率是3.14", "3.", ".5 元", "版本 1.2.3……", "３．５元"],
        ["Straße", "ﬁne", "①", "e\u0301", "한글", "각", "\u1100\u1161\u11a8", "0ﾼￇ"],
        ["𠮷野家", "\U000323b0\U0001f600", "ΑΣ ΣΑΣ", "İ"],
        [],
        [""],
        strange(3000),
    ],
)
def test_keys_at_once_are_the_keys_of_each(texts: list[str]) -> None:
    assert keys(texts) == list(map(sentence_key, texts))


def test_equal_keys_have_equal_hashes_and_others_do_not() -> None:
    texts = [*strange(3000), "乙甲", "甲乙", "甲", "甲甲", "甲甲甲", "ab", "ba", "aab", "aba"]
    of_key = {}
    for key, value in zip(map(sentence_key, texts), letters(texts).hashes.tolist(), strict=True):
        assert of_key.setdefault(key, value) == value
    assert len(set(of_key.values())) == len(of_key)


def test_ngrams_are_three_of_han_and_six_of_letters() -> None:
    assert ngrams("天地玄黄") == {"天地玄", "地玄黄"}
    assert ngrams("thecatsat") == {"thecat", "hecats", "ecatsa", "catsat"}
    assert ngrams("用python写") == {"用py", "python", "ython写"}
    assert ngrams("天地") == ngrams("short") == set()


def test_hashes_of_ngrams_stand_for_ngrams() -> None:
    texts = [*strange(500), "天地玄黄宇宙洪荒", "the cat sat on the mat 天地玄黄"]
    hashes, rows = letters(texts).grams
    for row, text in enumerate(texts):
        assert len(set(hashes[rows == row].tolist())) == len(ngrams(sentence_key(text)))
    every = set().union(*(ngrams(sentence_key(text)) for text in texts))
    assert len(set(hashes.tolist())) == len(every)


def test_overlap_is_a_share_of_the_held_out_sentence() -> None:
    held_out = ngrams("天地玄黄宇宙洪荒")
    assert overlap(held_out, ngrams("天地玄黄")) == 2 / 6
    assert overlap(held_out, ngrams("甲天地玄黄宇宙洪荒乙")) == 1.0
    assert overlap(held_out, ngrams("天地玄黄宇宙宏荒")) == 4 / 6
    assert overlap(ngrams("天地"), ngrams("天地玄黄")) == 0.0


def test_formulas_are_too_short_to_be_near() -> None:
    assert not is_long_enough("九月丙寅朔日有食之")
    assert is_long_enough("天地玄黄宇宙洪荒日月")
    assert not is_long_enough("天" * 40)
    assert not is_long_enough(sentence_key("I do not know what to do now."))
    assert is_long_enough(sentence_key("The quick brown fox jumps over the dog."))
