"""Each rule drops what its name says, counts it and shows one."""

import pytest

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.cleaning import Cleaner, cleaning_rules, count_units, duplicates
from mtrain.corpus.sources import Pair


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
    ],
)
def test_units(text: str, units: int) -> None:
    assert count_units(text) == units


@pytest.mark.parametrize(
    ("rule", "bad", "good"),
    [
        ("empty", Pair("", "one"), Pair("一", "one")),
        ("empty", Pair("一", ""), Pair("二", "two")),
        ("too_long", Pair("一" * 21, "one " * 12), Pair("一" * 20, "one " * 12)),
        ("too_long", Pair("一" * 12, "one " * 21), Pair("一" * 12, "one " * 20)),
        ("length_ratio", Pair("一" * 11, "one " * 5), Pair("一" * 10, "one")),
        ("length_ratio", Pair("一" * 5, "one " * 11), Pair("一" * 6, "one " * 12)),
        ("identical", Pair("一", "一"), Pair("一", "二")),
        ("duplicate", Pair("先", "first"), Pair("先", "firstly")),
    ],
)
def test_each_rule_drops_its_own_and_nothing_near_it(rule: str, bad: Pair, good: Pair) -> None:
    corpus = CorpusConfig(max_units=20, max_length_ratio=2.0, drop_identical=True, drop_duplicates=True)
    cleaner = Cleaner(cleaning_rules(corpus, duplicates()))
    first = Pair("先", "first")
    assert list(cleaner.keep([first, bad, good])) == [first, good]
    dropped = {name: drop for name, drop in cleaner.dropped.items() if drop.pairs}
    assert list(dropped) == [rule]
    assert (dropped[rule].pairs, dropped[rule].example) == (1, bad[:2])
    assert cleaner.read == 3


def test_rules_are_switched_off_by_their_settings() -> None:
    pairs = [Pair("一", "一"), Pair("一", "一")]
    off = Cleaner(cleaning_rules(CorpusConfig(drop_identical=False, drop_duplicates=False), duplicates()))
    assert list(off.keep(pairs)) == pairs
    assert set(off.dropped) == {"empty", "too_long", "length_ratio"}


def test_the_example_is_the_first_one() -> None:
    cleaner = Cleaner(cleaning_rules(CorpusConfig(), duplicates()))
    list(cleaner.keep([Pair("一", ""), Pair("", "two")]))
    assert cleaner.dropped["empty"].pairs == 2
    assert cleaner.dropped["empty"].example == ("一", "")
