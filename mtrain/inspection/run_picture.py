"""The curves of one or several runs, one above the other in six fields."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mtrain.inspection.pictures import COLOURS
from mtrain.inspection.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (13.0, 11.0)


class Panel(NamedTuple):
    """One field: the journal's figures in it, the last of them in full strength."""

    title: str
    label: str
    curves: tuple[str, ...]
    log: bool = False
    from_zero: bool = False


_PANELS = (
    Panel("Loss without smoothing: training thin, dev thick", "nats per target token", ("train_nll", "dev_loss")),
    Panel("Dev BLEU of greedy search", "BLEU", ("dev_bleu",), from_zero=True),
    Panel("Learning rate", "learning rate", ("learning_rate",), from_zero=True),
    Panel("Gradient norm before clipping", "norm (mean of an interval)", ("gradient_norm",), log=True),
    Panel("Speed", "target tokens per second", ("target_tokens_per_second",), from_zero=True),
    Panel("Gain from the source: 0 where it is ignored", "nats per target token", ("dev_gain_from_source",)),
)


def draw_runs(figure: "Figure", runs: Sequence[Run]) -> None:
    """Draw all runs over each other, each in its colour."""
    fields = figure.subplots(3, 2, sharex=True)
    for axes, panel in zip(fields.flat, _PANELS, strict=True):
        _draw_panel(axes, panel, runs)
    for axes in fields[-1]:
        axes.set_xlabel("update")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    handles, labels = next(iter(figure.axes)).get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(runs), 6))


def _draw_panel(axes: "Axes", panel: Panel, runs: Sequence[Run]) -> None:
    axes.set_title(panel.title)
    axes.set_ylabel(panel.label)
    for number, run in enumerate(runs):
        # Colours that come again come dashed.
        colour, line = COLOURS[number % len(COLOURS)], ("-", "--", ":")[number // len(COLOURS) % 3]
        for key in panel.curves:
            curve, is_main = run.curves[key], key == panel.curves[-1]
            few = "o" if len(curve.updates) <= 30 and key.startswith("dev_") else ""
            axes.plot(
                curve.updates,
                curve.values,
                marker=few,
                markersize=3.5,
                linewidth=1.8 if is_main else 0.9,
                alpha=1.0 if is_main else 0.6,
                label=run.name if is_main else None,
                color=colour,
                linestyle=line,
            )
    if not any(run.curves[key].values for key in panel.curves for run in runs):
        axes.text(0.5, 0.5, "no figures in the journal", transform=axes.transAxes, ha="center", color="grey")
    elif panel.log:
        axes.set_yscale("log")
    elif panel.from_zero:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.6g}")
    axes.yaxis.set_minor_formatter("")
