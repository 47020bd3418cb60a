"""Figures about prepared text: how long it is, and how well the vocabulary fits it."""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mtrain.batches.store import Examples
from mtrain.console import progress
from mtrain.corpus.pair_files import text_file
from mtrain.corpus.sources import Side, Split
from mtrain.corpus.text_files import read_lines
from mtrain.corpus.units import count_units
from mtrain.tokenizer import BYTES, UNK, Tokenizer

# How often rare characters occur, by the words of the report.
_SELDOM = {"once": range(1, 2), "twice": range(2, 3), "3 to 10 times": range(3, 11)}
_EXAMPLES = 12


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


def survey_side(folder: Path, split: Split, side: Side, tokenizer: Tokenizer) -> SideSurvey:
    """Measure one side of a split that lies in `folder` as text and as ids."""
    examples = Examples(folder, split)
    characters: Counter[str] = Counter()
    units = np.zeros(len(examples), dtype=np.int64)
    lines = progress(read_lines(text_file(folder, split, side)), f"measure {split} {side}", len(examples), "line")
    for row, line in enumerate(lines):
        text = tokenizer.normalise(line)
        units[row] = count_units(text)
        characters.update(text)
    pieceless = {character: count for character, count in characters.items() if not tokenizer.has_piece(character)}
    counts = examples.token_counts(side, tokenizer.vocabulary_size)
    tokens, total = int(counts.sum()), characters.total()
    return SideSurvey(
        units=_spread(units),
        tokens=_spread(examples.lengths(side)),
        tokens_per_character=_ratio(tokens, total),
        tokens_per_unit=_ratio(tokens, int(units.sum())),
        different_characters=len(characters),
        different_without_piece=len(pieceless),
        share_without_piece=_ratio(sum(pieceless.values()), total),
        share_byte_tokens=_ratio(int(counts[BYTES.start : BYTES.stop].sum()), tokens),
        unknown_tokens=int(counts[UNK]),
        rare={name: _rarity(characters, often, pieceless) for name, often in _SELDOM.items()},
    )


def _rarity(characters: Counter[str], often: range, pieceless: Container[str]) -> Rarity:
    rare = sorted(character for character, count in characters.items() if count in often)
    some = rare[:: max(1, len(rare) // _EXAMPLES)][:_EXAMPLES]
    return Rarity(len(rare), sum(character in pieceless for character in rare), "".join(some))


def _spread(lengths: ArrayLike) -> Spread:
    values = np.asarray(lengths)
    if not values.size:
        return Spread(0, 0, 0)
    median, p95 = np.quantile(values, (0.5, 0.95), method="inverted_cdf")
    return Spread(int(median), int(p95), int(values.max()))


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0
