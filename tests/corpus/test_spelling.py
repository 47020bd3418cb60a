"""How each side is written: width, quotes, dashes; by its language where nobody says it; and never twice otherwise."""

import random
from dataclasses import replace
from itertools import product

import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.sources import Pair
from mtrain.corpus.spelling import Spelling, normaliser, spellings

ALL_WIDE = "“Ｈｅｌｌｏ，　ｗｏｒｌｄ！”——ｈｅ ‘ｓａｉｄ’：（１２３）。"


def test_by_default_chinese_is_kept_and_english_is_half_width() -> None:
    spelt = normaliser(CorpusConfig(source_language="zh_Hant", target_language="en"))
    assert spelt(Pair(f"{ALL_WIDE}①㈠ﬁ", ALL_WIDE)) == (
        "“Ｈｅｌｌｏ， ｗｏｒｌｄ！”——ｈｅ ‘ｓａｉｄ’：（１２３）。①㈠ﬁ",
        "\"Hello, world!\"--he 'said':(123).",
        "",
        0,
    )


@pytest.mark.parametrize(
    ("code", "kept"), [("zh", True), ("lzh", True), ("ja", True), ("ko", True), ("de", False), ("chr", False)]
)
def test_languages_with_wide_marks_of_their_own_keep_them(code: str, kept: bool) -> None:
    usual = Spelling() if kept else Spelling("half", "half", "half")
    assert spellings(CorpusConfig(source_language=code))["source"] == usual


def test_quotes_and_dashes_follow_the_width_unless_they_have_a_policy_of_their_own() -> None:
    corpus = CorpusConfig(source_width="half", target_quotes="keep", target_dashes="full", target_script="keep")
    assert spellings(corpus) == {"source": Spelling("half", "half", "half"), "target": Spelling("half", "keep", "full")}


@pytest.mark.parametrize(
    ("spelling", "raw", "spelt"),
    [
        (Spelling("half"), "ＡＢＣ，１２３％～。、￥", "ABC,123%~.,¥"),
        (Spelling("half"), "“你好”——『他』＂说＂－", "“你好”——『他』＂说＂－"),
        (Spelling("half"), "ｅ\u0301", "é"),
        (Spelling("full"), "他说:你好,世界!(中国 China)3.14,5", "他说：你好，世界！（中国 China）3.14,5"),
        (Spelling("full"), "图3.5.见a.png.好.", "图3.5.见a.png.好。"),
        (Spelling("full"), "f(x), no Chinese.", "f(x), no Chinese."),
        (Spelling(quotes="half"), "“a” ‘b’ 「c」『d』 «e» it’s", "\"a\" 'b' \"c\"'d' \"e\" it's"),
        (Spelling(quotes="full"), '他说"好",「又」说"坏"。', "他说“好”,“又”说“坏”。"),
        (Spelling(quotes="full"), '5" 宽', '5" 宽'),
        (Spelling(dashes="half"), "a—b–c−d 破折——号‑", "a--b-c-d 破折--号-"),
        (Spelling(dashes="full"), "破折--号 a-b", "破折——号 a-b"),
        (Spelling(), ALL_WIDE.replace("\u3000", " "), ALL_WIDE.replace("\u3000", " ")),
    ],
)
def test_policies(spelling: Spelling, raw: str, spelt: str) -> None:
    assert spelling(raw) == spelt


def test_spelling_twice_is_spelling_once() -> None:
    generator = random.Random(3)
    alphabet = "“”‘’「」『』«»\"'()（）,.!?:;，。！？—–−―--－中国后a1ｅ２\u0301＂＇ \u3000\u200b"
    for policies in product(("keep", "full", "half"), repeat=3):
        spelling = Spelling(*policies)
        for _ in range(300):
            once = spelling("".join(generator.choices(alphabet, k=12)))
            assert spelling(once) == once


def test_chinese_is_left_alone_by_policies_of_the_other_side() -> None:
    corpus = replace(CorpusConfig(), target_width="half", target_quotes="half", target_dashes="half")
    assert normaliser(corpus)(Pair("“你好”——，", "x")).source == "“你好”——，"
