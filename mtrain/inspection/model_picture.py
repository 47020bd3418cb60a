"""How a model tells positions apart, and the learning rate that it is trained with."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtrain.inspection.pictures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (14.0, 5.5)
_HEADS_NAMED = len(COLOURS)


class PositionView(NamedTuple):
    """What is added to the embeddings of the first positions, and what distance does to the scores of each head.

    Shapes: added_TD; changes_HT, with the query in the middle of T.
    """

    added_TD: NDArray[np.float32]
    changes_HT: NDArray[np.float32]


class Schedule(NamedTuple):
    """The learning rate of each update from 1 on; `note` says where their number comes from."""

    rates: Sequence[float]
    warmup: int
    note: str


def draw_model(figure: "Figure", view: PositionView, schedule: Schedule) -> None:
    """Draw both side by side."""
    positions, rates = figure.subplots(1, 2)
    if view.added_TD.any():
        _draw_added(figure, positions, view.added_TD)
    else:
        _draw_changes(positions, view.changes_HT)
    _draw_schedule(rates, schedule)


def _draw_added(figure: "Figure", axes: "Axes", added_TD: NDArray[np.float32]) -> None:
    limit, D = float(np.abs(added_TD).max()), added_TD.shape[1]
    # Side by side, as they are, sine and cosine would make stripes that hide the waves.
    apart_TD = np.concatenate((added_TD[:, 0::2], added_TD[:, 1::2]), axis=1)
    image = axes.imshow(apart_TD, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
    axes.set_title("What is added to the embedding")
    axes.set(xlabel="dimension: the even ones, then the odd ones", ylabel="position in the sentence")
    quarters = [D * quarter // 4 for quarter in range(4)]
    axes.set_xticks(quarters, [str(2 * place % D + (2 * place >= D)) for place in quarters])
    axes.grid(False)
    figure.colorbar(image, ax=axes, label="value")


def _draw_changes(axes: "Axes", changes_HT: NDArray[np.float32]) -> None:
    H, T = changes_HT.shape
    distances = np.arange(T) - T // 2
    alike = np.allclose(changes_HT, changes_HT[0])
    for head in range(1 if alike else min(H, _HEADS_NAMED)):
        label = "each head" if alike else f"head {head + 1}"
        axes.plot(distances, changes_HT[head], color=COLOURS[head], label=label)
    axes.set_title("What distance does to the score of two equal vectors")
    axes.set(xlabel="position of the key minus that of the query (encoder, layer 1)", ylabel="change of the score")
    axes.legend(title=None if alike or H <= _HEADS_NAMED else f"of {H}")


def _draw_schedule(axes: "Axes", schedule: Schedule) -> None:
    rates = schedule.rates
    updates = np.arange(1, len(rates) + 1)
    axes.plot(updates, rates, color=COLOURS[0])
    if schedule.warmup <= len(rates):
        label = f"end of warm-up, update {schedule.warmup:,}"
        axes.axvline(schedule.warmup, color="grey", linestyle="--", label=label)
    highest = int(np.argmax(rates))
    axes.plot(updates[highest], rates[highest], "o", color=COLOURS[1], label=f"peak {rates[highest]:.2e}")
    axes.set_title("Learning rate")
    axes.set(xlabel=f"update ({schedule.note})", ylabel="learning rate")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:.6g}")
    axes.legend()
