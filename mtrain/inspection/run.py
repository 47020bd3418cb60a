"""What `metrics.jsonl` of one or several runs tells: read as curves, told in a table."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtrain.console import columns, table, warn
from mtrain.errors import InspectionError
from mtrain.inspection.bars import sparkline

METRICS = "metrics.jsonl"

# What a journal's records of each kind are asked for; a loss is called so in nats per target token.
_TRAIN = ("loss", "perplexity", "learning_rate", "gradient_norm", "target_tokens_per_second", "seconds", "epoch")
_VALIDATION = ("dev_loss", "dev_bleu", "dev_gain_from_source")


@dataclass
class Curve:
    """One figure over the updates."""

    updates: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def best(self, highest: bool) -> tuple[float, int]:
        """Return the best value and its update."""
        return max(zip(self.values, self.updates, strict=True), key=lambda point: point[0] * (1 if highest else -1))


@dataclass
class Run:
    """The curves of one run by the journal's names; `train_nll` is the training loss without label smoothing."""

    name: str
    curves: dict[str, Curve]

    def last(self, curve: str) -> float | None:
        """Return the latest value of a curve; None where it has none."""
        return self.curves[curve].values[-1] if self.curves[curve].values else None


def read_runs(places: Sequence[Path]) -> list[Run]:
    """Return the runs that are named by their folders, or by their journals, each under a name of its own.

    Raises: InspectionError where there is no journal, or nothing in it.
    """
    parts = [(place.parent if place.name == METRICS else place).resolve().parts for place in places]
    depth = next((n for n in range(1, max(map(len, parts))) if len({p[-n:] for p in parts}) == len(parts)), 1)
    return [read_run(place, "/".join(part[-depth:])) for place, part in zip(places, parts, strict=True)]


def read_run(place: Path, name: str) -> Run:
    """Return the curves of one run."""
    file = place if place.name == METRICS else place / METRICS
    if not file.is_file():
        there = "has no" if place.is_dir() else "is no folder of a run: there is no"
        raise InspectionError(f"{place}: {there} {METRICS}. Name the run.folder of a run that `mtrain fit` has begun")
    curves = {key: Curve() for key in (*_TRAIN, *_VALIDATION, "train_nll")}
    for record in _records(file):
        _take_in(record, curves)
    if not curves["loss"].updates and not curves["dev_loss"].updates:
        raise InspectionError(f"{file}: tells of no update yet. Wait for training.log_every_updates of them")
    return Run(name, curves)


def _records(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text("utf-8", errors="replace").split("\n")
    records = [record for line in lines[:-1] if (record := _record(line)) is not None]
    if damaged := len(lines) - 1 - len(records):
        warn(f"{file}: {damaged} lines are damaged and left out")
    # A kill cuts the last line short. The run, going on, writes it anew.
    last = _record(lines[-1])
    return records if last is None else [*records, last]


def _record(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        return record if isinstance(record["update"], int) and record["kind"] in ("train", "validation") else None
    except (ValueError, KeyError, TypeError):
        return None


def _take_in(record: dict[str, Any], curves: dict[str, Curve]) -> None:
    for key in _TRAIN if record["kind"] == "train" else _VALIDATION:
        value = record.get(key)  # what is not a number here was not measured, or not by the mtrain of that time
        if isinstance(value, int | float) and math.isfinite(value):
            for name, figure in [(key, value)] + ([("train_nll", math.log(value))] if key == "perplexity" else []):
                curves[name].updates.append(record["update"])
                curves[name].values.append(figure)


def render_runs(runs: Sequence[Run]) -> str:
    """Return a table of all runs, and how the figures of each have gone."""
    head = ["run", "updates", "epoch", "minutes", "train loss", "dev loss", "best dev loss", "best BLEU", "tokens/s"]
    lines = [table(head, [_row(run) for run in runs]), ""]
    width = max(columns(run.name) for run in runs)
    for title, curve in (("train loss", "train_nll"), ("dev loss", "dev_loss"), ("dev BLEU", "dev_bleu")):
        for run in runs:
            if values := run.curves[curve].values:
                name = run.name + " " * (width - columns(run.name))
                lines.append(f"{title:<10}  {name}  {values[0]:6.2f} {sparkline(values)} {values[-1]:.2f}")
    lines.append("\nlosses in nats per target token, without label smoothing; BLEU on dev, of greedy search")
    return "\n".join(lines)


def _row(run: Run) -> list[str]:
    last = run.last
    epoch, seconds = last("epoch"), last("seconds")
    speeds = sorted(run.curves["target_tokens_per_second"].values)
    updates = [curve.updates[-1] for curve in run.curves.values() if curve.updates]
    return [
        run.name,
        f"{max(updates):,}",
        "" if epoch is None else f"{epoch + 1:.0f}",
        "" if seconds is None else f"{seconds / 60:.1f}",
        _told(last("train_nll"), 3),
        _told(last("dev_loss"), 3),
        _best(run.curves["dev_loss"], 3, highest=False),
        _best(run.curves["dev_bleu"], 1, highest=True),
        f"{speeds[len(speeds) // 2]:,.0f}" if speeds else "",
    ]


def _told(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _best(curve: Curve, digits: int, highest: bool) -> str:
    if not curve.values:
        return ""
    value, update = curve.best(highest)
    return f"{value:.{digits}f} at {update:,}"
