"""Figures about prepared text: how long it is, and how well the vocabulary fits it."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtrain.batches.id_files import TokenIds
from mtrain.corpus.units import count_units
from mtrain.tokenizer import BYTES, UNK, Tokenizer

# How often rare characters occur, by the words of the report.
_SELDOM = {"once": range(1, 2), "twice": range(2, 3), "3 to 10 times": range(3, 11)}
_EXAMPLES = 12
_CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Spread:
    """How lengths are spread."""

    median: int
    p95: int
    longest: int


@dataclass(frozen=True)
class Rarity:
    """Characters that occur as seldom as this: how many, how many of these are spelt in bytes, and some of them."""

    different: int
    without_piece: int
    examples: str


@dataclass(frozen=True)
class SideSurvey:
    """One side of one split; `rare` by how often. Units: shares from 0 to 1; a unit is a Han character or a word."""

    units: Spread
    tokens: Spread
    tokens_per_character: float
    tokens_per_unit: float
    different_characters: int
    different_without_piece: int
    share_without_piece: float
    share_byte_tokens: float
    unknown_tokens: int
    rare: dict[str, Rarity]


def survey_from_json(figures: dict[str, Any]) -> SideSurvey:
    """Return a survey that JSON holds by the names of its fields."""
    spreads = {name: Spread(**figures[name]) for name in ("units", "tokens")}
    return SideSurvey(**{**figures, **spreads, "rare": {name: Rarity(**one) for name, one in figures["rare"].items()}})


class Counted(NamedTuple):
    """What is counted of one side of some pairs: see `count_text`."""

    ids: TokenIds
    lengths: NDArray[np.int64]
    units: NDArray[np.int64]
    characters: NDArray[np.uint32]
    occurrences: NDArray[np.int64]


def count_text(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return the units of each line, the code points of all characters that occur, and how often they do."""
    units = np.fromiter(map(count_units, texts), np.int64, len(texts))
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    counts = np.bincount(codes)
    characters = np.flatnonzero(counts)
    return units, characters.astype(np.uint32), counts[characters]


class SideCounts:
    """One side of a split, block by block: memory is for the vocabulary and for lengths, not for lines."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._characters = np.zeros(_CODE_POINTS, np.int64)
        self._pieces = np.zeros(tokenizer.vocabulary_size, np.int64)
        self._units: Counter[int] = Counter()
        self._tokens: Counter[int] = Counter()

    def add(self, counted: Counted) -> None:
        """Count some pairs in."""
        self._characters[counted.characters] += counted.occurrences
        self._pieces += np.bincount(counted.ids, minlength=len(self._pieces))
        self._units.update(counted.units.tolist())
        self._tokens.update(counted.lengths.tolist())

    def survey(self) -> SideSurvey:
        """Return the figures of all that was counted."""
        codes = np.flatnonzero(self._characters)
        characters = dict(zip(map(chr, codes.tolist()), self._characters[codes].tolist(), strict=True))
        pieceless = {one: often for one, often in characters.items() if not self._tokenizer.has_piece(one)}
        tokens, total = int(self._pieces.sum()), sum(characters.values())
        return SideSurvey(
            units=_spread(self._units),
            tokens=_spread(self._tokens),
            tokens_per_character=_ratio(tokens, total),
            tokens_per_unit=_ratio(tokens, sum(units * lines for units, lines in self._units.items())),
            different_characters=len(characters),
            different_without_piece=len(pieceless),
            share_without_piece=_ratio(sum(pieceless.values()), total),
            share_byte_tokens=_ratio(int(self._pieces[BYTES.start : BYTES.stop].sum()), tokens),
            unknown_tokens=int(self._pieces[UNK]),
            rare={name: _rarity(characters, often, pieceless) for name, often in _SELDOM.items()},
        )


def _rarity(characters: Mapping[str, int], often: range, pieceless: Container[str]) -> Rarity:
    rare = sorted(character for character, count in characters.items() if count in often)
    some = rare[:: max(1, len(rare) // _EXAMPLES)][:_EXAMPLES]
    return Rarity(len(rare), sum(character in pieceless for character in rare), "".join(some))


def _spread(lengths: Counter[int]) -> Spread:
    if not lengths:
        return Spread(0, 0, 0)
    values = sorted(lengths)
    below = np.cumsum([lengths[value] for value in values])
    median, p95 = (values[int(np.searchsorted(below, share * below[-1]))] for share in (0.5, 0.95))
    return Spread(median, p95, values[-1])


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0
