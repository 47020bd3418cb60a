"""The training examples as an endless, repeatable stream of micro-batches."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mtrain.batches.augment import Augmentation, EpochExamples
from mtrain.batches.collate import Batch, collate, without_loss
from mtrain.batches.sampler import Indices, Lengths, Mixture, epoch_batches, length_batches, usable_examples
from mtrain.batches.store import Examples, Prepared
from mtrain.config.schema import BatchesConfig, CorpusConfig
from mtrain.corpus.sources import entries


def model_lengths(examples: Examples) -> Lengths:
    """Return tokens per side as the model sees them: EOS closes both."""
    return Lengths(examples.source_lengths + 1, examples.target_lengths + 1)


def collate_examples(examples: Examples | EpochExamples, indices: Indices) -> Batch:
    """Return these examples as one batch."""
    return collate([examples.source(i) for i in indices], [examples.target(i) for i in indices])


def fixed_batches(examples: Examples, max_tokens: int, rows: Indices | None = None) -> list[Batch]:
    """Return all examples, or those of `rows`, in batches of like length: what validation goes through each time."""
    these = np.arange(len(examples)) if rows is None else rows
    batches = length_batches(model_lengths(examples), these, max_tokens, these)
    return [collate_examples(examples, batch) for batch in batches]


def make_mixture(prepared: Prepared, corpus: CorpusConfig) -> Mixture | None:
    """Return how often an epoch sees each of the corpora; None where it sees all of them once."""
    weights = tuple(one.weight for one in entries(corpus, "train"))
    return None if set(weights) == {1.0} else Mixture(prepared.corpora("train"), weights)


@dataclass(frozen=True)
class Taker:
    """Whom a stream is for: of each update it takes micro-batches `rank`, `rank` + `processes`, …

    They are `pinned` where it hands them to a GPU.
    """

    rank: int = 0
    processes: int = 1
    pinned: bool = False


ALONE = Taker()


class TrainingStream:
    """Micro-batches by (epoch, position); the same pair gives the same batch in any process at any time.

    A thread assembles ahead what the next two calls of `take` are likely to ask for, and orders the next epoch.
    `seconds_waited` is the time that `take` has had to wait for it. Not for several threads to call at once.
    Without a `mixture` each epoch sees every example once.
    """

    def __init__(
        self,
        examples: Examples,
        config: BatchesConfig,
        seed: int,
        augmentation: Augmentation | None = None,
        mixture: Mixture | None = None,
        taker: Taker = ALONE,
    ) -> None:
        self._examples = examples
        self._config = config
        self._seed = seed
        self._augmentation = augmentation
        self._lengths = model_lengths(examples)
        self._mixture = mixture
        self._taker = taker
        usable = usable_examples(self._lengths, config.max_tokens_per_sentence)
        self.left_out = len(examples) - len(usable)  # longer than the limit, never trained on
        self._usable = mixture.seen(usable) if mixture else usable
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")
        self._orders: dict[int, Future[list[Indices]]] = {}
        self._ahead: dict[tuple[int, int], Future[Batch]] = {}
        self.seconds_waited = 0.0

    def __len__(self) -> int:
        return len(self._usable)

    def epoch_length(self, epoch: int) -> int:
        """Micro-batches in this epoch."""
        return len(self._order(epoch).result())

    def largest(self, epoch: int) -> Batch:
        """Return the micro-batch of this epoch that has the most places, padding included."""

        def places(indices: Indices) -> int:
            return len(indices) * int(self._lengths.source[indices].max() + self._lengths.target[indices].max())

        return self._assemble(epoch, max(self._order(epoch).result(), key=places))

    def take(self, epoch: int, position: int, count: int) -> list[Batch]:
        """Return this process's of up to `count` micro-batches from `position` on, fewer at the end of the epoch.

        All processes get equally many: one that has none left gets one without loss.
        """
        began = time.perf_counter()
        end = min(position + count, self.epoch_length(epoch))
        self._look_ahead(epoch, position, 3 * count)
        batches = [self._ahead.pop((epoch, place)).result() for place in self._own(position, end)]
        each = -(-(end - position) // self._taker.processes)
        batches += [without_loss() for _ in range(each - len(batches))]
        self.seconds_waited += time.perf_counter() - began
        return batches

    def of_all(self, epoch: int, position: int, count: int) -> list[Batch]:
        """Return what all processes together take."""
        return [self._assemble(epoch, indices) for indices in self._order(epoch).result()[position : position + count]]

    def close(self) -> None:
        """End the thread, without waiting for it; without this it ends with the stream or the program."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _look_ahead(self, epoch: int, position: int, count: int) -> None:
        """Have the worker assemble this process's of `count` micro-batches from `position` on, and nothing else."""
        end = min(position + count, self.epoch_length(epoch))
        places = [(epoch, place) for place in self._own(position, end)]
        following = self._orders.get(epoch + 1)
        if following and following.done():
            rest = position + count - end
            places += [(epoch + 1, place) for place in self._own(0, min(rest, len(following.result())))]
        for past in self._ahead.keys() - places:
            self._ahead.pop(past).cancel()
        for place in places:
            if place not in self._ahead:
                indices = self._orders[place[0]].result()[place[1]]
                self._ahead[place] = self._worker.submit(self._assemble, place[0], indices)
        # Behind the batches, which are wanted sooner.
        self._order(epoch + 1)
        for other in self._orders.keys() - {epoch, epoch + 1}:
            self._orders.pop(other).cancel()

    def _own(self, position: int, end: int) -> range:
        return range(position + self._taker.rank, end, self._taker.processes)

    def _assemble(self, epoch: int, indices: Indices) -> Batch:
        augmentation = self._augmentation
        seen = EpochExamples(self._examples, augmentation, epoch) if augmentation else self._examples
        batch = collate_examples(seen, indices)
        return batch.pinned() if self._taker.pinned else batch

    def _order(self, epoch: int) -> Future[list[Indices]]:
        if epoch not in self._orders:
            self._orders[epoch] = self._worker.submit(self._batches, epoch)
        return self._orders[epoch]

    def _batches(self, epoch: int) -> list[Indices]:
        examples = self._mixture.draw(self._usable, self._seed, epoch) if self._mixture else self._usable
        return epoch_batches(self._lengths, examples, self._config.max_tokens_per_batch, self._seed, epoch)
