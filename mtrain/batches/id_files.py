"""The files of token ids of one side of a split: all ids, one after the other, and where each example ends in them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from mtrain.corpus.sources import Side, Split

_LARGEST_UINT16_VOCABULARY = 1 << 16

TokenIds = NDArray[np.integer[Any]]


def ids_file(folder: Path, split: Split, side: Side) -> Path:
    """Return where the ids lie."""
    return folder / f"{split}.{side}.ids"


def ends_file(folder: Path, split: Split, side: Side) -> Path:
    """Return where the ends lie."""
    return folder / f"{split}.{side}.ends.npy"


def id_type(vocabulary_size: int) -> DTypeLike:
    """Return the smaller of the two types that holds all ids of a vocabulary."""
    return np.uint16 if vocabulary_size <= _LARGEST_UINT16_VOCABULARY else np.uint32


class IdWriter:
    """Writes the examples of one side, many at a time."""

    def __init__(self, ids: BinaryIO, ends: BinaryIO) -> None:
        self._ids, self._ends = ids, ends
        self._examples = self._tokens = 0
        self.write_head()

    def write(self, ids: TokenIds, lengths: NDArray[np.int64]) -> None:
        """Write the ids of some examples, one after the other, whose lengths are these."""
        ids.tofile(self._ids)
        (self._tokens + np.cumsum(lengths, dtype=np.int64)).tofile(self._ends)
        self._examples += len(lengths)
        self._tokens += len(ids)

    def write_head(self) -> None:
        """Say at the beginning of the ends how many there are. NumPy leaves room there for any number."""
        self._ends.seek(0)
        head = {"descr": "<i8", "fortran_order": False, "shape": (self._examples,)}
        npy.write_array_header_1_0(self._ends, head)


@contextmanager
def writing_ids(folder: Path, split: Split, side: Side) -> Iterator[IdWriter]:
    """Give what writes the ids of one side of a split."""
    with ids_file(folder, split, side).open("wb") as ids, ends_file(folder, split, side).open("wb") as ends:
        writer = IdWriter(ids, ends)
        yield writer
        ends.flush()
        writer.write_head()


def as_arrays(examples: Sequence[Sequence[int]], vocabulary_size: int) -> tuple[TokenIds, NDArray[np.int64]]:
    """Return the ids of examples, one after the other, and their lengths."""
    lengths = np.fromiter(map(len, examples), np.int64, len(examples))
    ids = np.fromiter(chain.from_iterable(examples), id_type(vocabulary_size), int(lengths.sum()))
    return ids, lengths


def write_examples(
    batches: Iterable[Sequence[Sequence[int]]], folder: Path, split: Split, side: Side, vocabulary_size: int
) -> None:
    """Write the ids of one side of a split, batch by batch."""
    with writing_ids(folder, split, side) as writer:
        for batch in batches:
            writer.write(*as_arrays(batch, vocabulary_size))
