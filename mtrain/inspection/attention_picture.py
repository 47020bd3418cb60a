"""Attention as heat maps: one for each layer and head of the three kinds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtrain.inspection.attention import AttentionView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_INCHES_PER_PIECE = 0.17
_SMALLEST_MAP = 1.5
_LARGEST_SIDE = 60.0  # inches


def attention_size(view: AttentionView) -> tuple[float, float]:
    """Return the width and height, in inches, at which the pieces beside the maps can be read."""
    heads = view.encoder_LHSS.shape[1]
    width = heads * _side(max(len(view.sources), len(view.inputs))) + 1.5
    height = sum(len(weights) * (_side(weights.shape[2]) + 0.4) + 1.0 for weights in _kinds(view).values())
    return min(width, _LARGEST_SIDE), min(height, _LARGEST_SIDE)


def draw_attention(figure: "Figure", view: AttentionView) -> None:
    """Draw the encoder's, the decoder's, and the decoder's attention to the source, a row a layer, a column a head."""
    kinds = _kinds(view)
    heights = [len(weights) * (_side(weights.shape[2]) + 0.4) + 1.0 for weights in kinds.values()]
    labels = ((view.sources, view.sources), (view.inputs, view.inputs), (view.outputs, view.sources))
    parts = np.atleast_1d(np.array(figure.subfigures(len(kinds), 1, height_ratios=heights)))
    for part, (title, weights_LHTS), (rows, columns) in zip(parts, kinds.items(), labels, strict=True):
        _draw_kind(part, title, weights_LHTS, rows, columns)


def _kinds(view: AttentionView) -> dict[str, NDArray[np.float32]]:
    return {
        "Encoder self-attention: each source piece (row) looks at source pieces": view.encoder_LHSS,
        "Decoder self-attention: each piece read (row) looks at those up to itself": view.decoder_LHTT,
        "Attention to the source: while a piece (row) is written, source pieces are looked at": view.cross_LHTS,
    }


def _side(pieces: int) -> float:
    return max(_SMALLEST_MAP, _INCHES_PER_PIECE * pieces)


def _draw_kind(
    part: "SubFigure", title: str, weights_LHTS: NDArray[np.float32], rows: Sequence[str], columns: Sequence[str]
) -> None:
    part.suptitle(title, fontweight="bold")
    layers, heads = weights_LHTS.shape[:2]
    maps = part.subplots(layers, heads, squeeze=False)
    for layer, head in np.ndindex(layers, heads):
        axes: Axes = maps[layer, head]
        axes.imshow(weights_LHTS[layer, head], cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=8, fontweight="normal")
        axes.grid(False)
        # Pieces stand at the left and at the bottom of each kind; in between they would only take room.
        left, bottom = head == 0, layer == layers - 1
        axes.set_yticks(range(len(rows)), rows if left else [], fontsize=7)
        axes.set_xticks(range(len(columns)), columns if bottom else [], fontsize=7, rotation=90)
        axes.tick_params(length=0)
