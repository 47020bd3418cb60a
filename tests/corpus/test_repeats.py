"""What came before is known again, as a set would know it."""

import random

import numpy as np

from mtrain.corpus.repeats import HashTable, Repeats, keys_of
from mtrain.corpus.sources import Block, Pair


def test_the_table_is_a_set() -> None:
    draw = np.random.default_rng(1)
    table, known = HashTable(4), set()
    # Few different low bits, so that places collide; 0 is what an empty slot holds.
    numbers = np.unique(np.append(draw.integers(1, 1 << 60, 3000, np.uint64) & np.uint64(0xFFFF0000FFFF0003), 1))
    for start in range(0, len(numbers), 100):
        some = numbers[start : start + 100].astype(np.uint64)
        table.add(some[::2])
        known.update(some[::2].tolist())
        asked = numbers[: start + 200].astype(np.uint64)
        assert table.has(asked).tolist() == [number in known for number in asked.tolist()]
    assert len(table) == len(known)


def test_zero_is_a_hash_like_others() -> None:
    table = HashTable()
    zero = np.zeros(1, np.uint64)
    assert not table.has(zero).any()
    table.add(zero)
    assert table.has(zero).all()


def test_repetitions_are_told_as_one_by_one() -> None:
    draw = random.Random(2)
    pairs = [Pair(str(draw.randrange(60)), str(draw.randrange(60))) for _ in range(600)]
    kinds = ["duplicate", "duplicate_source", "duplicate_target"]
    sources, targets, kept = set(), set(), []
    for row, pair in enumerate(pairs):
        if pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            kept.append(row)
    repeats, found = Repeats(), []
    for start in range(0, 600, 70):
        block = Block.of(pairs[start : start + 70])
        again = repeats.rules_against(keys_of(block, kinds))
        found += [start + row for row in range(block.size) if row not in again]
    assert found == kept
    assert Repeats().rules_against(keys_of(Block.of(pairs), [])) == {}
    assert Repeats().rules_against(keys_of(Block.of([]), kinds)) == {}
