"""Which examples share a batch: those of like length, within a token budget, in an order that is a pure function."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Lengths:
    """Tokens of each example as the model sees them, end-of-sentence included."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]

    @property
    def longest_side(self) -> NDArray[np.int32]:
        """The longer of the two sides of each example."""
        return np.maximum(self.source, self.target)


@dataclass(frozen=True)
class Mixture:
    """How often an epoch sees the examples of each of several corpora: `weights` by the number of the corpus."""

    corpora: NDArray[np.uint8]
    weights: tuple[float, ...]

    def seen(self, examples: Indices) -> Indices:
        """Return those of the examples that are ever seen."""
        return examples[np.asarray(self.weights)[self.corpora[examples]] > 0]

    def draw(self, examples: Indices, seed: int, epoch: int) -> Indices:
        """Return the examples of one epoch: all as often as the weight is whole, and a share drawn for the rest of it.

        A pure function of its arguments, so that a run that goes on draws what it would have drawn.
        """
        generator = np.random.default_rng((seed, epoch, 1))
        drawn: list[Indices] = []
        for number, weight in enumerate(self.weights):
            own = examples[self.corpora[examples] == number]
            drawn += [own] * int(weight)
            drawn.append(generator.permutation(own)[: math.ceil((weight % 1) * len(own))])
        return np.concatenate(drawn)


def usable_examples(lengths: Lengths, max_tokens_per_sentence: int) -> Indices:
    """Return the examples that fit the limit, in their order; the caller reports how many do not."""
    return np.flatnonzero(lengths.longest_side <= max_tokens_per_sentence)


def length_batches(lengths: Lengths, examples: Indices, max_tokens: int, ties: Indices) -> list[Indices]:
    """Cut `examples`, sorted by length, into batches of at most `max_tokens` tokens (rows times the longest side).

    Target lengths rise; source lengths rise and fall by turns, so that a batch that reaches over into the next target
    length goes on at the source length it had. `ties` orders examples of equal lengths.
    """
    source, target = lengths.source[examples], lengths.target[examples]
    zigzag = np.where(target % 2 == 0, source, -source)
    order = np.lexsort((ties, zigzag, target))
    batches, start, longest = [], 0, 0
    for end, side in enumerate(lengths.longest_side[examples][order].tolist()):
        longest = max(longest, side)
        if (end + 1 - start) * longest > max_tokens and end > start:
            batches.append(examples[order[start:end]])
            start, longest = end, side
    if len(order):
        batches.append(examples[order[start:]])
    return batches


def epoch_batches(lengths: Lengths, examples: Indices, max_tokens: int, seed: int, epoch: int) -> list[Indices]:
    """Return all batches of one epoch in their training order, the same for the same arguments."""
    generator = np.random.default_rng((seed, epoch))
    batches = length_batches(lengths, examples, max_tokens, ties=generator.permutation(len(examples)))
    return [batches[index] for index in generator.permutation(len(batches))]


def source_batches(source_lengths: Sequence[int], max_tokens: int) -> list[Indices]:
    """Return batches for decoding, longest source first, so that too small a memory shows at once."""
    source = np.asarray(source_lengths, dtype=np.int32)
    everything = np.arange(len(source), dtype=np.int64)
    return length_batches(Lengths(source, source), everything, max_tokens, ties=everything)[::-1]
