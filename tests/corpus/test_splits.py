"""Dev and test are drawn by what a sentence is, not where it stands; and none of theirs stays in train."""

import random

import pytest

from mtrain.corpus.cleaning import Cleaner
from mtrain.corpus.sources import Pair
from mtrain.corpus.splits import HeldOut, draw_rows, sentence_key
from mtrain.errors import CorpusError

PAIRS = [Pair(f"第{number % 80}句。", f"sentence {number}") for number in range(100)]


def drawn(pairs: list[Pair], seed: int = 1) -> dict[str, list[Pair]]:
    rows = draw_rows(pairs, {"dev": 10, "test": 20}, seed)
    return {split: [pairs[row] for row in chosen] for split, chosen in rows.items()}


def test_as_many_as_wanted_each_of_another_source() -> None:
    splits = drawn(PAIRS)
    assert {split: len(pairs) for split, pairs in splits.items()} == {"dev": 10, "test": 20}
    sources = [pair.source for pairs in splits.values() for pair in pairs]
    assert len(set(sources)) == 30
    assert splits["dev"] == sorted(splits["dev"], key=PAIRS.index)


def test_the_draw_depends_on_the_seed_and_not_on_the_order() -> None:
    shuffled = random.Random(3).sample(PAIRS, len(PAIRS))
    for split, pairs in drawn(PAIRS).items():
        assert set(pairs) == set(drawn(shuffled)[split])
        assert set(pairs) != set(drawn(PAIRS, seed=2)[split])


def test_a_corpus_too_small_is_told_what_to_set() -> None:
    with pytest.raises(CorpusError) as error:
        draw_rows(PAIRS, {"dev": 40, "test": 40}, seed=1)
    assert str(error.value) == (
        "corpus.train has 80 different source sentences after cleaning, too few to take out corpus.dev_pairs = 40 and "
        "corpus.test_pairs = 40. Set a smaller number, or give files of their own (corpus.dev, corpus.test)"
    )
    with pytest.raises(CorpusError, match="has 0 different source sentences"):
        draw_rows([], {"dev": 1}, seed=1)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("“你好”，他说。", "你好!他说", True),
        ("Hello, World_", "HELLO world", True),
        ("第１句，Ａ．", "第1句,a.", True),
        ("３．５元", "3.5元", True),
        ("3.5元", "35元", False),
        ("3 5.", "35", True),
        ("3。5…", "35", True),
        ("……", "。。", False),
        ("……", "……", True),
        ("Straße", "STRASSE", True),
    ],
)
def test_a_sentence_is_its_letters_and_digits(one: str, other: str, same: bool) -> None:
    assert (sentence_key(one) == sentence_key(other)) is same


def test_either_side_of_dev_and_test_takes_a_pair_out_of_train() -> None:
    held_out = HeldOut()
    held_out.add([Pair("你好。", "Hello.")])
    train = [Pair("你好！", "Hi"), Pair("您好", "hello"), Pair("hello!", "你们好"), Pair("你好吗", "hello there")]
    cleaner = Cleaner({"held_out": held_out})
    assert list(cleaner.keep(train)) == train[3:]
    assert cleaner.dropped["held_out"].pairs == 3
