"""Examples to tensors: padding, begin and end of sentence, and the real positions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtrain.tokenizer import BOS, EOS, PAD

Ids = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class SourceBatch:
    """Sources as the encoder reads them: ids, then EOS, then padding; `keep_BS` is None where nothing is padded."""

    src_BS: Tensor
    keep_BS: Tensor | None

    def to(self, device: torch.device) -> "SourceBatch":
        """Return the same batch on another device."""
        keep_BS = None if self.keep_BS is None else self.keep_BS.to(device, non_blocking=True)
        return SourceBatch(self.src_BS.to(device, non_blocking=True), keep_BS)

    def pinned(self) -> "SourceBatch":
        """Return the same batch in memory that a GPU fetches by itself, while the program goes on."""
        return SourceBatch(self.src_BS.pin_memory(), None if self.keep_BS is None else self.keep_BS.pin_memory())


@dataclass(frozen=True)
class Batch:
    """Sources and targets for one micro-batch of teacher forcing.

    Shapes: src_BS, keep_BS, tgt_in_BT (BOS first), labels_M: the token that each real target position must predict
    (EOS last), and real_M: where these positions stand in the flattened B * T.
    """

    source: SourceBatch
    tgt_in_BT: Tensor
    labels_M: Tensor
    real_M: Tensor
    source_tokens: int

    @property
    def target_tokens(self) -> int:
        """Real target tokens, EOS included."""
        return self.labels_M.numel()

    @property
    def padded_tokens(self) -> int:
        """Places in both tensors, padding included; none where nothing is to be learnt."""
        return self.source.src_BS.numel() + self.tgt_in_BT.numel() if self.target_tokens else 0

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch on another device."""
        return Batch(
            self.source.to(device),
            self.tgt_in_BT.to(device, non_blocking=True),
            self.labels_M.to(device, non_blocking=True),
            self.real_M.to(device, non_blocking=True),
            self.source_tokens,
        )

    def pinned(self) -> "Batch":
        """Return the same batch as `SourceBatch.pinned` does."""
        return Batch(
            self.source.pinned(),
            self.tgt_in_BT.pin_memory(),
            self.labels_M.pin_memory(),
            self.real_M.pin_memory(),
            self.source_tokens,
        )


def split_batch(batch: Batch, parts: int) -> list[Batch]:
    """Return the same sentences in up to `parts` batches of fewer rows, for a memory that is too small for all."""
    rows, T = batch.tgt_in_BT.shape
    step = -(-rows // parts)
    source = batch.source
    pieces = []
    for first in range(0, rows, step):
        some = slice(first, first + step)
        real = (batch.real_M >= first * T) & (batch.real_M < (first + step) * T)
        keep_BS = None if source.keep_BS is None else source.keep_BS[some]
        pieces.append(
            Batch(
                SourceBatch(source.src_BS[some], keep_BS),
                batch.tgt_in_BT[some],
                batch.labels_M[real],
                batch.real_M[real] - first * T,
                int(source.src_BS[some].numel() if keep_BS is None else keep_BS.sum()),
            )
        )
    return pieces


def twice(batch: Batch) -> Batch:
    """Return all sentences of the batch two times, the two of each real target position one after the other."""
    source = batch.source
    keep_BS = None if source.keep_BS is None else source.keep_BS.repeat(2, 1)
    return Batch(
        SourceBatch(source.src_BS.repeat(2, 1), keep_BS),
        batch.tgt_in_BT.repeat(2, 1),
        batch.labels_M.repeat_interleave(2),
        torch.stack((batch.real_M, batch.real_M + batch.tgt_in_BT.numel()), dim=1).flatten(),
        2 * batch.source_tokens,
    )


def collate_sources(sources: Sequence[Ids]) -> SourceBatch:
    """Return the sources, each closed by EOS and padded to the longest."""
    src_BS, lengths_B = _padded(sources, before=[], after=[EOS])
    shortest, width = int(lengths_B.min()), src_BS.shape[1]
    keep_BS = None if shortest == width else torch.from_numpy(np.arange(width) < lengths_B[:, None])
    return SourceBatch(torch.from_numpy(src_BS), keep_BS)


def collate(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Return sources and targets side by side; targets are shifted by one between input and labels."""
    tgt_in_BT, lengths_B = _padded(targets, before=[BOS], after=[])
    labels_BT, _ = _padded(targets, before=[], after=[EOS])
    real_M = np.flatnonzero(np.arange(tgt_in_BT.shape[1]) < lengths_B[:, None])
    return Batch(
        source=collate_sources(sources),
        tgt_in_BT=torch.from_numpy(tgt_in_BT),
        labels_M=torch.from_numpy(labels_BT.reshape(-1)[real_M]),
        real_M=torch.from_numpy(real_M),
        source_tokens=sum(len(source) + 1 for source in sources),
    )


def without_loss() -> Batch:
    """Return a micro-batch of two short pairs and no label: for a process that has none left while the others have.

    Two pairs of two tokens, because compiled layers are compiled anew for a size of 1.
    """
    batch = collate([[EOS]] * 2, [[EOS]] * 2)
    return replace(batch, labels_M=batch.labels_M[:0], real_M=batch.real_M[:0], source_tokens=0)


def _padded(rows: Sequence[Ids], before: list[int], after: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lengths_B = np.array([len(row) + len(before) + len(after) for row in rows], dtype=np.int64)
    padded_BT = np.full((len(rows), int(lengths_B.max())), PAD, dtype=np.int64)
    for place, row, length in zip(padded_BT, rows, lengths_B, strict=True):
        place[:length] = np.concatenate((before, row, after))
    return padded_BT, lengths_B
