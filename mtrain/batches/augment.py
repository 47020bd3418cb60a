"""Training examples that differ a little in each epoch: BPE-dropout, and sources without their punctuation.

What becomes of an example is a pure function of the run's seed, the epoch and the example: a run that goes on after an
interruption sees just what it would have seen.
"""

import hashlib
import unicodedata
from dataclasses import dataclass

from mtrain.batches.collate import Ids
from mtrain.batches.store import Examples, Lines, Prepared
from mtrain.config.schema import BatchesConfig
from mtrain.corpus.lines import normalise
from mtrain.corpus.sources import SIDES, Side
from mtrain.tokenizer import Tokenizers


@dataclass(frozen=True)
class Augmentation:
    """What it takes to change the training examples.

    Batches are formed by the stored lengths: with BPE-dropout a batch exceeds its token budget by as much as its
    longest sentence grows. Measured at 0.1 and 4,096 tokens: to 1.1 times the budget where both sides are Chinese (at
    worst 1.5), to 1.75 with English (at worst 2.7). What outgrows `max_tokens_per_sentence` is taken as it is stored.
    """

    texts: dict[Side, Lines]
    tokenizers: Tokenizers
    config: BatchesConfig
    seed: int

    def new_ids(self, epoch: int, side: Side, index: int, stored: Ids) -> Ids:
        """Return what one side of an example becomes in this epoch, behind the tag that is stored before it."""
        strips = side == "source" and self._strips(epoch, index)
        if not strips and self.config.bpe_dropout == 0:
            return stored
        text = self.texts[side][index]
        if strips:
            text = without_punctuation(text)
        seed = _draw(self.seed, epoch, side, index)
        tokenizer = self.tokenizers[side]
        tag = [int(id_) for id_ in stored[:1] if id_ in tokenizer.tags.values()]
        ids = tag + tokenizer.encode_with_dropout(text, self.config.bpe_dropout, seed)
        return ids if len(ids) < self.config.max_tokens_per_sentence else stored  # EOS comes besides

    def _strips(self, epoch: int, index: int) -> bool:
        return _draw(self.seed, epoch, "strip", index) < self.config.strip_punctuation * (1 << 32)


@dataclass(frozen=True)
class EpochExamples:
    """The training examples as one epoch sees them."""

    stored: Examples
    augmentation: Augmentation
    epoch: int

    def source(self, index: int) -> Ids:
        """Return the source ids of an example."""
        return self.augmentation.new_ids(self.epoch, "source", index, self.stored.source(index))

    def target(self, index: int) -> Ids:
        """Return the target ids of an example."""
        return self.augmentation.new_ids(self.epoch, "target", index, self.stored.target(index))


def make_augmentation(
    prepared: Prepared, tokenizers: Tokenizers, config: BatchesConfig, seed: int
) -> Augmentation | None:
    """Return what the config asks for; None where that is nothing, and the text need not be opened."""
    if not (config.bpe_dropout or config.strip_punctuation):
        return None
    texts: dict[Side, Lines] = {side: prepared.text("train", side) for side in SIDES}
    return Augmentation(texts, tokenizers, config, seed)


def without_punctuation(text: str) -> str:
    """Return normalised text without the characters that Unicode calls punctuation; text of nothing else stays."""
    return normalise("".join(character for character in text if unicodedata.category(character)[0] != "P")) or text


def _draw(*parts: int | str) -> int:
    """Return 32 bits that look random and are a function of `parts`."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4], "little")
