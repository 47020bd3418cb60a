"""One batch as it goes into the model: where its padding is, and what each position may look at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtrain.console import table

Ids = NDArray[np.integer]
Flags = NDArray[np.bool_]

_REAL, _NOTHING = "■", "·"
_ROWS, _COLUMNS, _STEPS = 6, 40, 12


@dataclass(frozen=True)
class BatchView:
    """What `collate` has made of some pairs; `keep_*` is True where a token stands, `labels_BT` is PAD elsewhere."""

    name: str
    source_pieces: Sequence[str]
    target_pieces: Sequence[str]
    src_BS: Ids
    keep_BS: Flags
    tgt_in_BT: Ids
    keep_BT: Flags
    labels_BT: Ids

    @property
    def most_padded(self) -> int:
        """The row with the shortest source."""
        return int(self.keep_BS.sum(axis=1).argmin())

    @property
    def padding_share(self) -> float:
        """Share of padding in both tensors."""
        return 1 - float(self.keep_BS.sum() + self.keep_BT.sum()) / (self.keep_BS.size + self.keep_BT.size)

    def source(self, row: int) -> list[str]:
        """Return the pieces of a source, padding included."""
        return [self.source_pieces[id_] for id_ in self.src_BS[row]]

    def inputs(self, row: int) -> list[str]:
        """Return the pieces that the decoder reads, padding included."""
        return [self.target_pieces[id_] for id_ in self.tgt_in_BT[row]]

    def labels(self, row: int) -> list[str]:
        """Return the pieces that it must predict, padding included."""
        return [self.target_pieces[id_] for id_ in self.labels_BT[row]]


def visible_TT(length: int) -> Flags:
    """Return which target positions (columns) each target position (rows) may look at: itself and those before it."""
    return np.tri(length, dtype=bool)


def render_batch(view: BatchView) -> str:
    """Return the batch as two small grids of characters."""
    rows, S = view.src_BS.shape
    head = (
        f"{view.name}: {rows} pairs, source {rows}×{S}, target {rows}×{view.tgt_in_BT.shape[1]}, "
        f"{view.padding_share:.1%} padding. Some rows, {_REAL} a token, {_NOTHING} padding, which nothing looks at:"
    )
    order = np.argsort(view.keep_BS.sum(axis=1), kind="stable")
    chosen = sorted(order[np.linspace(0, rows - 1, min(rows, _ROWS)).astype(int)].tolist())
    lines = [[str(row), f" {_grid(view.keep_BS[row])}", f" {_grid(view.keep_BT[row])}"] for row in chosen]
    return f"{head}\n\n{table(['row', ' source', ' target'], lines)}\n\n{_steps(view)}"


def _steps(view: BatchView) -> str:
    """Return, for one pair, what each step of the decoder reads, sees and must predict."""
    row = view.most_padded
    length = int(view.keep_BT[row].sum())
    inputs, labels = view.inputs(row), view.labels(row)
    seen = visible_TT(view.tgt_in_BT.shape[1])
    source = _grid(view.keep_BS[row])
    steps = range(min(length, _STEPS))
    lines = [[inputs[t], f" {_grid(seen[t, :_COLUMNS])}", f" {source}", f" {labels[t]}"] for t in steps]
    more = f"\n… and {length - _STEPS} steps more" if length > _STEPS else ""
    head = [f"row {row}, decoder reads", f" and sees ({_REAL}) of the target", " of the source", " must predict"]
    return f"source of row {row}: {' '.join(view.source(row))}\n\n{table(head, lines)}{more}"


def _grid(flags: Flags) -> str:
    """Return a character a position, of long rows the end."""
    cut = max(0, len(flags) - _COLUMNS)
    return ("…" if cut else "") + "".join(_REAL if flag else _NOTHING for flag in flags[cut:])
