"""Train, dev and test: what is taken out of train for testing, and what must not stay in it then."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mtrain.corpus.rules import Measured
from mtrain.corpus.sources import Pair, Split
from mtrain.errors import CorpusError

# What is left are Unicode's categories L and N, Python's \w but for the low line, and the points in numbers.
_NEITHER_LETTER_NOR_NUMBER = re.compile(r"(?:[^\w.]|_|(?<!\d)\.|\.(?!\d))+")


def sentence_key(text: str) -> str:
    """Return what makes a sentence the same as another one: its letters and numbers, of one case and one width.

    A line without any (……) is its own key.
    """
    return _NEITHER_LETTER_NOR_NUMBER.sub("", unicodedata.normalize("NFKC", text)).casefold() or text


class HeldOut:
    """The sentences of dev and test, none of which may stand on either side of a training pair.

    Equality is strict, however short the sentence: 好。 in dev takes every 好！ out of train. The report says how many.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def add(self, pairs: Iterable[Pair]) -> None:
        """Hold out both sides of these pairs."""
        for pair in pairs:
            self._keys.update((sentence_key(pair.source), sentence_key(pair.target)))

    def __call__(self, pair: Measured) -> bool:
        """Tell whether a training pair must go: a rule for `Cleaner`."""
        return sentence_key(pair.source) in self._keys or sentence_key(pair.target) in self._keys


def draw_rows(pairs: Iterable[Pair], wanted: dict[Split, int], seed: int) -> dict[Split, NDArray[np.int64]]:
    """Return which rows of `pairs` become which split: as many as wanted, all of different sources, in their order.

    The draw goes by hashes of (seed, sentence), so it does not depend on the order of the corpus, and a pair added to
    it moves few others. Raises: CorpusError where there are too few different sources.
    """
    salt = str(seed).encode()
    hashes = [_hash(salt, sentence_key(pair.source)) + _hash(salt, f"{pair.source}\n{pair.target}") for pair in pairs]
    source, whole = np.frombuffer(b"".join(hashes), dtype=">u8").reshape(-1, 2).T
    order = np.lexsort((whole, source))
    _, first_of_source = np.unique(source[order], return_index=True)
    if len(first_of_source) <= sum(wanted.values()):
        keys = " and ".join(f"corpus.{split}_pairs = {count:,}" for split, count in wanted.items())
        raise CorpusError(
            f"corpus.train has {len(first_of_source):,} different source sentences after cleaning, too few to take "
            f"out {keys}. Set a smaller number, or give files of their own (corpus.{', corpus.'.join(wanted)})"
        )
    drawn = order[first_of_source]
    rows, start = {}, 0
    for split, count in wanted.items():
        rows[split] = np.sort(drawn[start : start + count])
        start += count
    return rows


def _hash(salt: bytes, text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8, key=salt).digest()
