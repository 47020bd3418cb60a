"""Prepared data and one batch of them as a picture."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtrain.console import columns
from mtrain.corpus.sources import SIDES
from mtrain.inspection.batch import BatchView, visible_TT
from mtrain.inspection.data import DataFigures
from mtrain.inspection.pictures import COLOURS, PALE
from mtrain.tokenizer import BYTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (15.0, 18.0)
_COLOUR = dict(zip(SIDES, COLOURS, strict=False))
_SEEN = "#6BAED6"
# More pieces than this cannot be read on an axis.
_STEPS, _POSITIONS = 32, 64


def draw_data(figure: "Figure", figures: DataFigures, view: BatchView) -> None:
    """Draw lengths, ratio and frequencies in the upper half, the batch in the lower one."""
    grid = figure.add_gridspec(4, 2, height_ratios=(3, 3, 3, 6))
    _draw_lengths(figure.add_subplot(grid[0, 0]), figures, "tokens")
    _draw_lengths(figure.add_subplot(grid[0, 1]), figures, "characters")
    _draw_ratios(figure.add_subplot(grid[1, 0]), figures)
    _draw_frequencies(figure.add_subplot(grid[1, 1]), figures)
    source, target = (figure.add_subplot(grid[2, column]) for column in (0, 1))
    _draw_padding(source, view.keep_BS, f"Source of {view.name}")
    _draw_padding(target, view.keep_BT, f"Target input of {view.name}")
    _draw_visible(figure.add_subplot(grid[3, :]), view)


def _draw_lengths(axes: "Axes", figures: DataFigures, unit: str) -> None:
    lengths = {side: getattr(figures.sides[side], unit) for side in SIDES}
    longest = max(int(np.quantile(values, 0.995)) for values in lengths.values())
    edges = np.arange(0, longest + 1, max(1, longest // 60)).tolist()
    for side, values in lengths.items():
        name = f"{side} ({figures.sides[side].language}), median {np.median(values):.0f}, longest {values.max():,}"
        weights = np.full(len(values), 100 / len(values))
        axes.hist(values, edges, weights=weights, label=name, color=_COLOUR[side], alpha=0.55)
    axes.set(title=f"Length in {unit}", xlabel=unit, ylabel="% of training pairs")
    axes.legend()


def _draw_ratios(axes: "Axes", figures: DataFigures) -> None:
    ratios = figures.ratios
    inside = np.clip(ratios, 0.25, 4)
    edges = np.geomspace(0.25, 4, 61).tolist()
    axes.hist(inside, edges, weights=np.full(len(ratios), 100 / len(ratios)), color=COLOURS[2], alpha=0.8)
    axes.axvline(float(np.median(ratios)), color="black", linestyle="--", label=f"median {np.median(ratios):.2f}")
    axes.set_xscale("log", base=2)
    axes.set_xticks([0.25, 0.5, 1, 2, 4], ["≤ 1/4", "1/2", "1", "2", "≥ 4"])
    axes.set(title="Length ratio", xlabel="target tokens a source token", ylabel="% of training pairs")
    axes.legend()


def _draw_frequencies(axes: "Axes", figures: DataFigures) -> None:
    for side in SIDES:
        counts = np.sort(figures.sides[side].piece_counts[BYTES.stop :])[::-1]
        counts = counts[counts > 0]
        ranks = np.arange(1, len(counts) + 1)
        axes.loglog(ranks, counts, color=_COLOUR[side], label=f"{side} ({figures.sides[side].language})")
    axes.set(title="Pieces by frequency, bytes apart", xlabel="rank", ylabel="occurrences")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend()


def _draw_padding(axes: "Axes", keep: NDArray[np.bool_], title: str) -> None:
    axes.imshow(_coloured(keep), aspect="auto", interpolation="nearest")
    axes.set(title=title, xlabel=f"position ({1 - keep.mean():.1%} padding, in grey)", ylabel="row")
    axes.locator_params(integer=True)
    axes.grid(False)


def _draw_visible(axes: "Axes", view: BatchView) -> None:
    """Draw, for one pair, which target and source positions each step of the decoder looks at."""
    row = view.most_padded
    T, S = min(view.tgt_in_BT.shape[1], _STEPS), min(view.src_BS.shape[1], _POSITIONS - _STEPS)
    visible = np.zeros((T, T + 1 + S), dtype=bool)
    visible[:, :T] = visible_TT(T)
    visible[:, T + 1 :] = view.keep_BS[row, :S]
    image = _coloured(visible)
    image[:, T] = 1.0  # a gap between the two halves
    axes.imshow(image, aspect="auto", interpolation="nearest")
    axes.grid(False)
    inputs, labels = view.inputs(row)[:T], view.labels(row)[:T]
    real = view.keep_BT[row, :T]
    steps = [f"{piece} → {label}" if kept else piece for piece, label, kept in zip(inputs, labels, real, strict=True)]
    axes.set_yticks(range(T), steps)
    places = [*range(T), *range(T + 1, T + 1 + S)]
    axes.set_xticks(places, [*inputs, *view.source(row)[:S]])
    for label in axes.get_xticklabels():
        label.set_rotation(0 if columns(label.get_text()) <= 2 else 90)
    for edge in range(T):
        axes.axhline(edge + 0.5, color="white", linewidth=0.5)
    for edge in range(T + S + 1):
        axes.axvline(edge + 0.5, color="white", linewidth=0.5)
    cut = "" if view.tgt_in_BT.shape[1] == T and view.src_BS.shape[1] == S else " (its beginning)"
    axes.set_title(f"What each step of the decoder looks at in row {row}{cut}: coloured, seen; grey, hidden")
    axes.set_ylabel("decoder input → what it must predict")
    axes.set_xlabel("target input so far (left half) and source (right half)")


def _coloured(flags: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return an image, blue where True and grey elsewhere."""
    codes = (PALE, _SEEN)
    image: NDArray[np.float64] = np.array([[int(code[place : place + 2], 16) for place in (1, 3, 5)] for code in codes])
    return np.asarray(image[flags.astype(int)] / 255)
