"""Dev and test are drawn by what a sentence is, not where it stands; by line, or in whole groups."""

import random
from collections import Counter

import pytest

from mtrain.corpus.letters import sentence_key
from mtrain.corpus.sources import Block, Pair
from mtrain.corpus.splits import draw_groups, draw_lines
from mtrain.errors import CorpusError

PAIRS = [Pair(f"第{number % 80}句。", f"sentence {number}") for number in range(100)]
BOOKS = [f"book {number}" for number in range(40) for _ in range(5 + number)]


def drawn(pairs: list[Pair], seed: int = 1) -> dict[str, list[Pair]]:
    rows = draw_lines([Block.of(pairs)], {"dev": 10, "test": 20}, seed)
    return {split: [pairs[row] for row in sorted(chosen)] for split, chosen in rows.items()}


def test_as_many_as_wanted_each_of_another_source() -> None:
    splits = drawn(PAIRS)
    assert {split: len(pairs) for split, pairs in splits.items()} == {"dev": 10, "test": 20}
    sources = [pair.source for pairs in splits.values() for pair in pairs]
    assert len(set(sources)) == 30


def test_the_draw_depends_on_the_seed_and_not_on_the_order() -> None:
    shuffled = random.Random(3).sample(PAIRS, len(PAIRS))
    for split, pairs in drawn(PAIRS).items():
        assert set(pairs) == set(drawn(shuffled)[split])
        assert set(pairs) != set(drawn(PAIRS, seed=2)[split])


def test_a_pair_more_moves_at_most_one_other() -> None:
    more = drawn([Pair("新来的一句。", "new"), *PAIRS])
    for split, pairs in drawn(PAIRS).items():
        assert len(set(pairs) - set(more[split])) <= 1


def test_a_corpus_too_small_is_told_what_to_set() -> None:
    with pytest.raises(CorpusError) as error:
        draw_lines([Block.of(PAIRS)], {"dev": 40, "test": 40}, seed=1)
    assert str(error.value) == (
        "corpus.train has 80 different source sentences after cleaning, too few to take out corpus.dev_pairs = 40 and "
        "corpus.test_pairs = 40. Set a smaller number, or give files of their own (corpus.dev, corpus.test)"
    )
    assert len(draw_lines([Block.of(PAIRS)], {"dev": 40, "test": 39}, seed=1)["test"]) == 39
    with pytest.raises(CorpusError, match="has 0 different source sentences"):
        draw_lines([], {"dev": 1}, seed=1)


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


def size(groups: list[str]) -> int:
    return sum(Counter(BOOKS)[group] for group in groups)


def test_whole_groups_are_held_out_until_there_are_about_enough() -> None:
    for seed in range(20):
        groups = draw_groups(BOOKS, {"dev": 100, "test": 150}, seed)
        assert not set(groups["dev"]) & set(groups["test"])
        assert 90 <= size(groups["dev"]) <= 110
        assert 135 <= size(groups["test"]) <= 165


def test_groups_depend_on_the_seed_and_not_on_the_order() -> None:
    shuffled = random.Random(3).sample(BOOKS, len(BOOKS))
    assert draw_groups(shuffled, {"dev": 100}, 1) == draw_groups(BOOKS, {"dev": 100}, 1)
    assert draw_groups(BOOKS, {"dev": 100}, 2) != draw_groups(BOOKS, {"dev": 100}, 1)


def test_a_huge_book_stays_in_train_and_pairs_of_no_book_too() -> None:
    books = ["huge"] * 10_000 + [""] * 300 + BOOKS
    for seed in range(10):
        groups = draw_groups(books, {"dev": 100, "test": 100}, seed)
        assert not {"huge", ""} & {*groups["dev"], *groups["test"]}


def test_where_all_are_too_large_the_smallest_is_taken() -> None:
    books = ["a"] * 500 + ["b"] * 400 + ["c"] * 300
    assert draw_groups(books, {"dev": 100, "test": 50}, 1) == {"dev": ["c"], "test": ["b"]}
    assert draw_groups(books, {"dev": 100, "test": 0}, 1) == {"dev": ["c"], "test": []}


@pytest.mark.parametrize(("books", "count"), [([], 0), (["", ""], 0), (["a", "b"], 2)])
def test_too_few_groups_are_told(books: list[str], count: int) -> None:
    with pytest.raises(CorpusError) as error:
        draw_groups(books, {"dev": 1, "test": 1}, 1)
    assert str(error.value) == (
        f"corpus.split_by group: the pairs of corpus.train belong to {count} groups, too few to hold out some for dev "
        "and test. Name their column in corpus.group_column, or set corpus.split_by=line"
    )
