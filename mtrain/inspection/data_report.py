"""Prepared data told as text: tables and bars."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mtrain.console import table
from mtrain.corpus.sources import SIDES
from mtrain.inspection.bars import bar
from mtrain.inspection.data import DataFigures, SideFigures
from mtrain.tokenizer import BYTES

_BAR = 30
_BINS = 12
_RATIOS = (0, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, np.inf)
_PIECES_NAMED = 20
_CHARACTERS_NAMED = 30
# So often must training see a piece, at the very least, to learn a little about it.
_SELDOM = 20


def render_data(figures: DataFigures) -> str:
    """Return the whole report."""
    source, target = (figures.sides[side] for side in SIDES)
    tokens = _histogram("tokens", (source.tokens, target.tokens), _names(figures))
    characters = _histogram("characters", (source.characters, target.characters), _names(figures))
    parts = [_counts(figures), tokens, characters, _ratios(figures)]
    parts += [_pieces(figures), _spelt(figures), _samples(figures)]
    return "\n\n".join(parts)


def _names(figures: DataFigures) -> list[str]:
    return [f"{side} ({figures.sides[side].language})" for side in SIDES]


def _counts(figures: DataFigures) -> str:
    splits = ", ".join(f"{split} {count:,}" for split, count in figures.pairs.items())
    head = ["training pairs", "tokens", "median", "95%", "longest", "characters", "median", "95%", "longest"]
    rows = [
        [name, *_spread(figures.sides[side].tokens), *_spread(figures.sides[side].characters)]
        for name, side in zip(_names(figures), SIDES, strict=True)
    ]
    return f"pairs: {splits}; all that follows is of the training pairs, all of them\n\n{table(head, rows)}"


def _spread(lengths: NDArray[np.integer]) -> list[str]:
    median, p95 = np.quantile(lengths, (0.5, 0.95), method="inverted_cdf")
    return [f"{lengths.sum():,}", f"{median:,}", f"{p95:,}", f"{lengths.max():,}"]


def _histogram(unit: str, lengths: Sequence[NDArray[np.integer]], names: Sequence[str]) -> str:
    """Return the shares of pairs by length on both sides; the last bin takes what is longer."""
    common = max(int(np.quantile(side, 0.99)) for side in lengths)
    step = next(step for step in _steps() if step * _BINS > common)
    starts = list(range(0, (common // step + 1) * step, step))
    edges = np.array([*starts, np.inf])
    labels = [*(f"{start}-{start + step - 1}" if step > 1 else str(start) for start in starts[:-1])]
    labels.append(f"{starts[-1]} and more")
    return _bars(f"length in {unit}", labels, [np.histogram(side, edges)[0] for side in lengths], names)


def _steps() -> Sequence[int]:
    return [digit * 10**power for power in range(9) for digit in (1, 2, 5)]


def _ratios(figures: DataFigures) -> str:
    bounds = [f"{low:g}-{high:g}" for low, high in pairwise(_RATIOS[:-1])]
    counts = np.histogram(figures.ratios, _RATIOS)[0]
    low, median, high = np.quantile(figures.ratios, (0.05, 0.5, 0.95))
    spread = f"5%, median, 95%: {low:.2f}, {median:.2f}, {high:.2f}"
    return _bars("target tokens a source token", [*bounds, f"{_RATIOS[-2]:g} and more"], [counts], [spread])


def _bars(title: str, labels: Sequence[str], counts: Sequence[NDArray[np.int64]], names: Sequence[str]) -> str:
    shares = [column / max(1, column.sum()) for column in counts]
    longest = max(float(column.max()) for column in shares) or 1.0
    rows = [
        [label, *(cell for column in shares for cell in (f"{column[row]:.1%}", " " + bar(column[row] / longest, _BAR)))]
        for row, label in enumerate(labels)
    ]
    return table([title, *(cell for name in names for cell in ("pairs", f" {name}"))], rows)


def _pieces(figures: DataFigures) -> str:
    lines = []
    for name, side in zip(_names(figures), SIDES, strict=True):
        counts = figures.sides[side].piece_counts
        order = np.argsort(-counts, kind="stable")[:_PIECES_NAMED]
        vocabulary = figures.sides[side].vocabulary
        told = "  ".join(f"{vocabulary[piece]} {counts[piece] / counts.sum():.1%}" for piece in order)
        lines.append(f"most frequent pieces, {name}: {told}")
    counts_of = {name: figures.sides[side].piece_counts for name, side in zip(_names(figures), SIDES, strict=True)}
    if figures.joint:
        counts_of = {"both sides together": np.sum(list(counts_of.values()), axis=0)}
    lines += [_seldom(name, counts[BYTES.stop :]) for name, counts in counts_of.items()]
    return "\n".join(lines)


def _seldom(name: str, counts: NDArray[np.int64]) -> str:
    never, seldom = (int(np.count_nonzero(counts < limit)) for limit in (1, _SELDOM))
    return (
        f"occurrences of the {len(counts):,} learnt pieces, {name}: median {np.median(counts):,.0f}; "
        f"{seldom:,} of them less than {_SELDOM}, too few to be learnt well, {never:,} of these none"
    )


def _spelt(figures: DataFigures) -> str:
    return "\n".join(
        _spelt_on(figures.sides[side], name) for name, side in zip(_names(figures), SIDES, strict=True)
    )


def _spelt_on(side: SideFigures, name: str) -> str:
    tokens = int(side.piece_counts[BYTES.start : BYTES.stop].sum())
    if not tokens:
        return f"spelt in bytes, {name}: nothing, each character has a piece"
    named = "  ".join(f"{character} {count:,}" for character, count in side.spelt.most_common(_CHARACTERS_NAMED))
    of_text, of_tokens = side.spelt.total() / side.characters.sum(), tokens / side.tokens.sum()
    return (
        f"spelt in bytes, {name}: {len(side.spelt):,} different characters, {of_text:.3%} of the text and "
        f"{of_tokens:.3%} of the tokens, most often {named}"
    )


def _samples(figures: DataFigures) -> str:
    pairs = ("\n".join(f"{side}  {' '.join(pair[side])}" for side in SIDES) for pair in figures.samples)
    return "\n\n".join(["pairs as pieces (a ▁ is a space, <0xE4> is one byte of a rare character)", *pairs])
