"""What makes a sentence the same as another one, or nearly: its letters and numbers, and how they follow each other."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# What is left are Unicode's categories L and N, Python's \w but for the low line, and the points in numbers.
_NEITHER_LETTER_NOR_NUMBER = re.compile(r"(?:[^\w.]|_|(?<!\d)\.|\.(?!\d))+")

# Han, kana and hangul, of which 3 in a row say about as much as 6 letters of an alphabet.
_DENSE = (
    (0x3005, 0x3007), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
_DENSE_LENGTH, _SPARSE_LENGTH = 3, 6

# In the table of characters: those that fall away, points, and those that only `sentence_key` can tell.
_NOTHING, _POINT, _HARD = 0, ord("."), 0xFFFFFFFF
_EASY_BELOW = 0x30000
_MIX = np.uint64(0x9E3779B97F4A7C15)

Codes = NDArray[np.uint32]
Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]


def sentence_key(text: str) -> str:
    """Return what makes a sentence the same as another one: its letters and numbers, of one case and one width.

    A line without any (……) is its own key.
    """
    return _NEITHER_LETTER_NOR_NUMBER.sub("", unicodedata.normalize("NFKC", text)).casefold() or text


def ngrams(key: str) -> set[str]:
    """Return the n-grams of a sentence's key: 3 characters from each Han, kana or hangul on, else 6."""
    lengths = (_DENSE_LENGTH if _is_dense(ord(character)) else _SPARSE_LENGTH for character in key)
    return {key[start : start + length] for start, length in enumerate(lengths) if start + length <= len(key)}


def overlap(held_out: set[str], other: set[str]) -> float:
    """Return which share of the n-grams of one sentence another one has too; 0 where it has none."""
    return len(held_out & other) / len(held_out) if held_out else 0.0


def is_long_enough(key: str) -> bool:
    """Tell whether a sentence is more than a stock phrase: 10 Han characters, or 29 letters, that do not repeat."""
    return sum(_SPARSE_LENGTH // 2 if _is_dense(ord(gram[0])) else 1 for gram in ngrams(key)) >= 24


def count_short(texts: Iterable[str]) -> int:
    """Return how many sentences are not, so that nothing is looked for that is nearly one of them."""
    return sum(not is_long_enough(sentence_key(text)) for text in texts)


def _is_dense(code: int) -> bool:
    return any(first <= code <= last for first, last in _DENSE)


@dataclass(frozen=True)
class Letters:
    """The keys of many sentences, one after the other as code points, and how long each is."""

    codes: Codes
    lengths: Rows

    @cached_property
    def rows(self) -> Rows:
        """Which sentence each code point belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def places(self) -> Rows:
        """Where in its sentence each code point stands."""
        return np.arange(len(self.codes)) - (np.cumsum(self.lengths) - self.lengths)[self.rows]

    @cached_property
    def hashes(self) -> Hashes:
        """Return a hash of each whole key."""
        mixed = (self.codes.astype(np.uint64) + self.places.astype(np.uint64) * _MIX) * _MIX
        mixed ^= mixed >> np.uint64(32)
        sums: Hashes = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed * _MIX)))
        ends = np.cumsum(self.lengths)
        hashes: Hashes = sums[ends] - sums[ends - self.lengths]
        return hashes

    @cached_property
    def grams(self) -> tuple[Hashes, Rows]:
        """Return a hash of each n-gram, and which sentence it stands in."""
        codes = np.concatenate((self.codes, np.zeros(_SPARSE_LENGTH, np.uint32))).astype(np.uint64)
        count = len(self.codes)
        threes = (codes[:-2] * _MIX + codes[1:-1]) * _MIX + codes[2:]
        sixes = (threes[:-3] ^ (threes[:-3] >> np.uint64(32))) * _MIX + threes[3:]
        dense = _tables().dense[self.codes]
        # The last step spreads what they differ in over the high bits, by which they are looked up.
        hashes = np.where(dense, threes[:count], sixes[:count])
        hashes = (hashes ^ (hashes >> np.uint64(32))) * _MIX
        left = self.lengths[self.rows] - self.places
        whole = left >= np.where(dense, _DENSE_LENGTH, _SPARSE_LENGTH)
        return hashes[whole], self.rows[whole]


def letters(texts: Sequence[str]) -> Letters:
    """Return the keys of sentences as `sentence_key` gives them, many times as fast."""
    table = _tables().keys
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    codes = table[np.minimum(_codes("".join(texts)), _EASY_BELOW)]
    rows = np.repeat(np.arange(len(texts)), lengths)
    kept = (codes != _NOTHING) & (codes != _POINT)
    lengths = np.bincount(rows[kept], minlength=len(texts))
    hard = lengths == 0
    hard[rows[codes == _HARD]] = True
    hard[rows[_points_in_numbers(codes)]] = True
    if not hard.any():
        return Letters(codes[kept], lengths)
    keys = [sentence_key(texts[row]) for row in np.flatnonzero(hard).tolist()]
    lengths[hard] = [len(key) for key in keys]
    from_hard = np.repeat(hard, lengths)
    all_codes = np.empty(len(from_hard), np.uint32)
    all_codes[from_hard] = _codes("".join(keys))
    all_codes[~from_hard] = codes[kept & ~hard[rows]]
    return Letters(all_codes, lengths)


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _points_in_numbers(codes: Codes) -> Rows:
    points = np.flatnonzero(codes == _POINT)
    points = points[(points > 0) & (points < len(codes) - 1)]
    before, after = (_tables().digits[np.minimum(codes[points + step], _EASY_BELOW)] for step in (-1, 1))
    return points[before & after]


class _Tables(NamedTuple):
    """Of each character below _EASY_BELOW: its key, and is it a decimal; of all: is it dense."""

    keys: Codes
    digits: NDArray[np.bool_]
    dense: NDArray[np.bool_]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    # Characters that may become one with the one before them: sentences with such are hard. Parts of Hangul do by rule.
    parts = (unicodedata.decomposition(chr(code)).split() for code in range(_EASY_BELOW))
    joining = {chr(int(part[1], 16)) for part in parts if len(part) == 2 and part[0][0] != "<"}
    joining.update(map(chr, range(0x1100, 0x1200)))
    keys = np.fromiter((_key_of_one(chr(code), joining) for code in range(_EASY_BELOW)), np.uint32, _EASY_BELOW)
    digits = np.fromiter((chr(code).isdecimal() for code in range(_EASY_BELOW)), bool, _EASY_BELOW)
    dense = np.zeros(0x110000, bool)
    for first, last in _DENSE:
        dense[first : last + 1] = True
    return _Tables(np.append(keys, np.uint32(_HARD)), np.append(digits, False), dense)


def _key_of_one(character: str, joining: set[str]) -> int:
    plain = unicodedata.normalize("NFKC", character)
    if len(plain) != 1 or unicodedata.combining(plain) or plain in joining:
        return _HARD
    if plain == ".":
        return _POINT
    key = plain.casefold() if plain.isalnum() else ""
    return _HARD if len(key) > 1 else ord(key or "\0")
