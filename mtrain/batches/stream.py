"""The training examples as an endless, repeatable stream of micro-batches."""

from mtrain.batches.collate import Batch, collate
from mtrain.batches.sampler import Indices, Lengths, epoch_batches, length_batches, usable_examples
from mtrain.batches.store import Examples
from mtrain.config.schema import BatchesConfig


def model_lengths(examples: Examples) -> Lengths:
    """Return tokens per side as the model sees them: EOS closes both."""
    return Lengths(examples.source_lengths + 1, examples.target_lengths + 1)


def collate_examples(examples: Examples, indices: Indices) -> Batch:
    """Return these examples as one batch."""
    return collate([examples.source(i) for i in indices], [examples.target(i) for i in indices])


def fixed_batches(examples: Examples, max_tokens: int) -> list[Batch]:
    """Return all examples, however long, in batches of like length: what validation goes through each time."""
    lengths = model_lengths(examples)
    everything = usable_examples(lengths, int(lengths.longest_side.max()))
    return [collate_examples(examples, batch) for batch in length_batches(lengths, everything, max_tokens, everything)]


class TrainingStream:
    """Micro-batches by (epoch, position); the same pair gives the same batch in any process at any time."""

    def __init__(self, examples: Examples, config: BatchesConfig, seed: int) -> None:
        self._examples = examples
        self._config = config
        self._seed = seed
        self._lengths = model_lengths(examples)
        self._usable = usable_examples(self._lengths, config.max_tokens_per_sentence)
        self._epoch = -1
        self._batches: list[Indices] = []

    @property
    def left_out(self) -> int:
        """Examples longer than the limit, which are never trained on."""
        return len(self._examples) - len(self._usable)

    def __len__(self) -> int:
        return len(self._usable)

    def epoch_length(self, epoch: int) -> int:
        """Micro-batches in this epoch."""
        return len(self._in_epoch(epoch))

    def take(self, epoch: int, position: int, count: int) -> list[Batch]:
        """Return up to `count` micro-batches from `position` on, fewer at the end of the epoch."""
        return [collate_examples(self._examples, batch) for batch in self._in_epoch(epoch)[position : position + count]]

    def _in_epoch(self, epoch: int) -> list[Indices]:
        if epoch != self._epoch:
            budget = self._config.max_tokens_per_batch
            self._batches = epoch_batches(self._lengths, self._usable, budget, self._seed, epoch)
            self._epoch = epoch
        return self._batches
