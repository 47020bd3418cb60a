"""Batches keep the budget, lose nothing, pad little, and come in an order that is a function of (seed, epoch)."""

import numpy as np
import pytest

from mtrain.batches.sampler import Lengths, Mixture, epoch_batches, length_batches, source_batches, usable_examples


@pytest.fixture
def lengths():
    generator = np.random.default_rng(0)
    target = generator.gamma(3.0, 10.0, 50_000).astype(np.int32) + 2
    source = (target * generator.uniform(0.5, 1.2, 50_000)).astype(np.int32) + 2
    return Lengths(source, target)


def all_of(lengths):
    return np.arange(len(lengths.source))


def test_each_example_stands_in_exactly_one_batch_of_an_epoch(lengths):
    batches = epoch_batches(lengths, all_of(lengths), 4096, seed=1, epoch=0)
    assert np.array_equal(np.sort(np.concatenate(batches)), all_of(lengths))


def test_no_batch_exceeds_the_budget_padding_included_and_none_is_needlessly_small(lengths):
    batches = length_batches(lengths, all_of(lengths), 4096, all_of(lengths))
    sizes = [len(batch) * lengths.longest_side[batch].max() for batch in batches]
    assert max(sizes) <= 4096
    assert np.median(sizes) > 0.95 * 4096


def test_little_is_padded(lengths):
    batches = epoch_batches(lengths, all_of(lengths), 4096, seed=1, epoch=0)
    padded = sum(len(b) * int(side[b].max()) for b in batches for side in (lengths.source, lengths.target))
    assert 1 - (lengths.source.sum() + lengths.target.sum()) / padded < 0.05


def test_the_order_is_a_function_of_seed_and_epoch(lengths):
    def order(seed, epoch):
        return [batch.tolist() for batch in epoch_batches(lengths, all_of(lengths), 4096, seed, epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    # Not only the order of batches changes, but also who shares one.
    assert sorted(map(sorted, order(1, 0))) != sorted(map(sorted, order(1, 1)))


def test_batches_come_in_no_order_of_length(lengths):
    longest = [lengths.target[b].max() for b in epoch_batches(lengths, all_of(lengths), 4096, seed=1, epoch=0)]
    assert abs(np.corrcoef(np.arange(len(longest)), longest)[0, 1]) < 0.1


def test_too_long_examples_are_left_out_by_either_side():
    lengths = Lengths(np.array([5, 11, 5, 10], dtype=np.int32), np.array([5, 5, 12, 10], dtype=np.int32))
    assert usable_examples(lengths, 10).tolist() == [0, 3]


def test_an_example_over_the_budget_still_gets_a_batch_of_its_own():
    lengths = Lengths(np.array([50, 3], dtype=np.int32), np.array([50, 3], dtype=np.int32))
    batches = length_batches(lengths, np.arange(2), 20, np.arange(2))
    assert sorted(batch.tolist() for batch in batches) == [[0], [1]]


def test_decoding_starts_with_the_longest_and_misses_none():
    batches = source_batches([3, 30, 4, 31, 5], 64)
    assert batches[0].tolist() in ([1, 3], [3, 1])
    assert sorted(np.concatenate(batches).tolist()) == [0, 1, 2, 3, 4]
    assert source_batches([], 64) == []


def test_an_epoch_sees_each_corpus_as_often_as_its_weight_says():
    corpora = np.repeat(np.arange(5, dtype=np.uint8), [100, 100, 101, 100, 3])
    mixture = Mixture(corpora, (1.0, 2.0, 0.5, 0.0, 1.01))
    examples = np.arange(len(corpora))[1:]  # the first is too long, say
    epochs = [mixture.draw(examples, seed=1, epoch=epoch) for epoch in range(30)]
    for drawn in epochs:
        times = np.bincount(drawn, minlength=len(corpora))
        assert times[0] == 0
        assert set(times[1:100]) == {1}
        assert set(times[100:200]) == {2}
        assert sorted(set(times[200:301])) == [0, 1]
        assert times[200:301].sum() == 51
        assert times[301:401].sum() == 0
        assert times[401:].sum() == 4
    assert np.array_equal(epochs[7], mixture.draw(examples, seed=1, epoch=7))
    assert not np.array_equal(epochs[7], mixture.draw(examples, seed=2, epoch=7))
    seen = np.bincount(np.concatenate(epochs), minlength=len(corpora))[200:301]
    assert seen.min() > 5  # drawn afresh each epoch
    assert np.array_equal(mixture.seen(examples), examples[corpora[examples] != 3])
