"""Each rule drops what its name says, counts it and shows it; each can be switched off, and sent to a process."""

import json
import pickle
from dataclasses import replace

import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.cleaning import Dropped, Screen, broken_rule, measure
from mtrain.corpus.held_out import HeldOut
from mtrain.corpus.repeats import Repeats, wanted_kinds
from mtrain.corpus.rules import pair_rules
from mtrain.corpus.sources import Block, Pair
from mtrain.corpus.spelling import normaliser
from mtrain.corpus.tally import Tally
from mtrain.corpus.units import count_units

EVERYTHING = CorpusConfig(
    max_units=20, min_units=2, max_length_ratio=2.0, drop_identical=True, drop_number_mismatch=True,
    drop_duplicate_sources=True, drop_duplicate_targets=True,
)  # fmt: skip
NOTHING = CorpusConfig(
    drop_empty=False, drop_control=False, drop_replacement=False, drop_mojibake=False, drop_markup=False, max_units=0,
    max_length_ratio=0, min_script_share=0, drop_untranslated=False, drop_repetitive=False, drop_duplicates=False,
)  # fmt: skip
FIRST = Pair("先有它", "first it was")
GBK = "我喜欢中文".encode().decode("gbk", "ignore")


WORDS = "heaven and earth are black yellow the universe was vast waste sun moon fill wane stars"


def han(count: int) -> str:
    return "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"[:count]


def words(count: int) -> str:
    return " ".join(WORDS.split()[:count])


def clean(pairs: list[Pair], corpus: CorpusConfig) -> tuple[list[Pair], list[tuple[Pair, str]]]:
    """Return the pairs that stay, and the others with the rule against each."""
    screen = Screen([pair_rules(corpus)], [wanted_kinds(corpus)], normaliser(corpus), HeldOut(0.0))
    screened = screen(Block.of(pairs))
    kept = list(screened.kept.pairs())
    again = Repeats().rules_against(screened.keys)
    dropped = [*screened.dropped, *((kept[row], rule) for row, rule in again.items())]
    return [pair for row, pair in enumerate(kept) if row not in again], dropped


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", 0),
        ("hello world", 2),
        ("你好，世界。", 6),
        ("我用 Python 3.10 写", 5),
        ("𠮷野家", 3),
        ("カタカナ한국어", 7),
        ("人々", 2),
        ("a，b", 1),
        ("don't stop", 2),
        ("“quoted” words", 2),
        ("한국어 한국어", 6),
        ("汉字汉字 ab汉cd", 7),
    ],
)
def test_units(text: str, units: int) -> None:
    assert count_units(text) == units


BROKEN = [
    ("empty", Pair("", "one two"), Pair("一二", "one two")),
    ("empty", Pair("一二", " \u200b"), Pair("二三", "two three")),
    ("too_long", Pair(han(21), words(12)), Pair(han(20), words(12))),
    ("too_long", Pair(han(12), words(16) + " of them on high so far"), Pair(han(12), words(16) + " of them so far")),
    ("too_short", Pair("一", "one two"), Pair("一二", "one two")),
    ("length_ratio", Pair(han(11), words(5)), Pair(han(10), words(2))),
    ("length_ratio", Pair(han(5), words(11)), Pair(han(6), words(12))),
    ("length_ratio", Pair("一，二，三四五六七八九十百", "one, two."), Pair("上下，左右，东西。", "up/down, on/off")),
    ("identical", Pair("OK 一", "OK 一"), Pair("OK 一", "OK one")),
    ("control", Pair("一\x08二", "one two"), Pair("一\t二\x85", "one two")),
    ("control", Pair("黄法\ue1d4", "Huang Faqu"), Pair("黄法氍", "Huang Faqu")),
    ("control", Pair("黄法\U000f0001", "Huang Faqu"), Pair("黄法𠮷", "Huang Faqu")),
    ("replacement", Pair("干将铸□处", "where it was cast"), Pair("干将铸口处", "where it was cast")),
    ("replacement", Pair("铸剑处", "where it was c\ufffdst"), Pair("铸剑处", "where it was cast")),
    ("mojibake", Pair("咖啡馆", "the cafÃ© there"), Pair("咖啡馆", "the café there")),
    ("mojibake", Pair("中文", "ä¸\xadæ\x96\x87 is it"), Pair("中文", "Chinese “is” it")),
    ("mojibake", Pair("德语", "that is donâ€™t"), Pair("德语", "the letter “ß”")),
    ("mojibake", Pair(GBK, "I like it"), Pair("户牖侯绛侯，飓风", "I like it")),
    ("markup", Pair("粗体字", "<b>bold</b> ones"), Pair("如果 a < b", "if a < b and c > d")),
    ("markup", Pair("甲和乙", "this &amp; that"), Pair("甲和乙", "this & that; these")),
    ("markup", Pair("见此处", "see www.example.org there"), Pair("见此处", "see the www there")),
    ("markup", Pair("见 http://example.org", "see it there"), Pair("见 12:30", "see it 12:30")),
    ("markup", Pair("[[链接]]", "a link"), Pair("a[i] 元素", "item a[i]")),
    ("wrong_script", Pair("こんにちは、世界のみなさん", "hello all people"), Pair("他说の字是“的”", "he said it")),
    ("wrong_script", Pair("安녕하세요", "hello you"), Pair("您好呀", "hello you")),
    ("wrong_script", Pair("not Chinese at all", "hello you there"), Pair("用 Windows 写", "with Windows")),
    ("wrong_script", Pair("您好呀", "Привет всем"), Pair("您好呀", "Ο, he said")),
    ("untranslated", Pair("索引：database to reindex", "database to reindex!"), Pair("索引：index", "the index")),
    ("numbers_differ", Pair("3 个人", "5 people"), Pair("3000 个人", "3,000 people")),
    ("repetitive", Pair("哈" * 20, "ha ha ha ha"), Pair("哈" * 19, "ha ha ha ha")),
    ("repetitive", Pair("不行不行，不行", "no, no, no! " * 9), Pair("不行，不行", "no, no, no! " * 7)),
    ("repetitive", Pair("不行不行", "no, " * 9 + "he said"), Pair("不行不行", "no, no, no, he said so")),
    ("duplicate", FIRST, Pair("先有它呢", "first it is")),
    ("duplicate_source", FIRST._replace(target="firstly it was"), Pair("先有它吗", "was it first")),
    ("duplicate_target", FIRST._replace(source="先有它了"), Pair("先有它了", "first it was there")),
]


@pytest.mark.parametrize(("rule", "bad", "good"), BROKEN)
def test_each_rule_drops_its_own_and_nothing_near_it(rule: str, bad: Pair, good: Pair) -> None:
    max_units = 40 if rule in ("repetitive", "untranslated") else 20
    ratio = 5.0 if rule in ("repetitive", "untranslated", "wrong_script") else 2.0
    corpus = replace(EVERYTHING, max_units=max_units, max_length_ratio=ratio)
    if rule == "untranslated":
        corpus = replace(corpus, min_script_share=0.2)
    spelt = normaliser(corpus)
    assert clean([FIRST, bad, good], corpus) == ([FIRST, spelt(good)], [(spelt(bad), rule)])


@pytest.mark.parametrize(("rule", "bad"), [(rule, bad) for rule, bad, _ in BROKEN])
def test_every_rule_can_be_switched_off(rule: str, bad: Pair) -> None:
    assert (pair_rules(NOTHING), wanted_kinds(NOTHING)) == ({}, [])
    assert len(clean([FIRST, bad], NOTHING)[0]) == 2


def test_all_names_are_tested_and_all_rules_can_be_sent_to_a_process() -> None:
    rules = pair_rules(EVERYTHING)
    assert {*rules, *wanted_kinds(EVERYTHING)} == {rule for rule, _, _ in BROKEN}
    sent, spelt = pickle.loads(pickle.dumps((rules, normaliser(EVERYTHING))))
    for _, bad, good in BROKEN:
        for pair in (bad, good):
            assert broken_rule(measure(spelt(pair), pair), sent) == broken_rule(measure(spelt(pair), pair), rules)


def test_what_only_remembers_does_not_remember_what_was_dropped() -> None:
    corpus = replace(NOTHING, drop_duplicate_sources=True, drop_duplicate_targets=True)
    pairs = [Pair("一", "one"), Pair("二", "one"), Pair("二", "two")]
    assert clean(pairs, corpus)[0] == [pairs[0], pairs[2]]


def test_between_chinese_languages_a_copy_is_a_translation() -> None:
    pair = Pair("子曰学而时习之不亦说乎有朋自远方来不亦乐乎", "孔子说学而时习之不亦说乎有朋自远方来不亦乐乎")
    assert clean([pair], CorpusConfig(source_language="lzh", target_language="zh"))[0] == [pair]
    german = CorpusConfig(source_language="de", target_language="en")
    copy = Pair("Das ist noch nicht uebersetzt worden.", "Das ist noch nicht uebersetzt worden.")
    assert clean([copy], german)[0] == []


@pytest.mark.parametrize(
    ("language", "wrong", "right"),
    [
        ("ja", "안녕하세요 여러분", "東京タワー"),
        ("ko", "东京塔在哪里", "서울 타워 OK"),
        ("ru", "this is English", "Windows это хорошо"),
        ("zh-Latn", "是中文写的", "Nǐ hǎo"),
        ("en", "это по-русски", "naïve café, 100 %"),
        ("ar", "this is English", "مرحبا بالعالم"),
    ],
)
def test_the_script_follows_the_language(language: str, wrong: str, right: str) -> None:
    rules = pair_rules(CorpusConfig(source_language=language, drop_untranslated=False, max_length_ratio=0))
    for text, expected in ((wrong, "wrong_script"), (right, "")):
        pair = Pair(text, "anything at all")
        assert broken_rule(measure(pair, pair), rules) == expected


def test_a_language_whose_script_is_not_known_is_not_asked_for_it() -> None:
    pair = Pair("ᏣᎳᎩ 中文 English", "anything")
    rules = pair_rules(CorpusConfig(source_language="chr"))
    assert broken_rule(measure(pair, pair), rules) == ""


def test_the_first_three_are_the_examples() -> None:
    pairs = [Pair(str(number), "") for number in range(5)]
    kept, dropped = clean(pairs, CorpusConfig())
    assert (kept, dropped) == ([], [(pair, "empty") for pair in pairs])
    tally = Tally(dropped={"empty": Dropped()})
    tally.note(dropped[:2], [])
    tally.note(dropped[2:], [])
    assert tally.dropped["empty"] == Dropped(5, [("0", ""), ("1", ""), ("2", "")])
    assert Tally.from_json(json.loads(json.dumps(tally.as_json()))) == tally
