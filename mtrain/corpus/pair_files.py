"""Pairs in aligned files of our own: `train.source.txt`, `train.target.txt`; where need be, groups and corpora too."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import BinaryIO

from mtrain.corpus.sources import PAIRS_AT_ONCE, Block, Pair, Side
from mtrain.corpus.text_files import read_blocks, read_lines


def text_file(folder: Path, name: str, side: Side) -> Path:
    """Return where the lines of one side of a split lie."""
    return folder / f"{name}.{side}.txt"


def groups_file(folder: Path, name: str) -> Path:
    """Return where the group of each pair lies; there is no such file where no pair has one."""
    return folder / f"{name}.groups.txt"


def corpora_file(folder: Path, name: str) -> Path:
    """Return where the number of each pair's corpus lies, a byte each; no such file where all are of the first."""
    return folder / f"{name}.corpora"


def _all_files(folder: Path, name: str) -> tuple[Path, ...]:
    texts = (text_file(folder, name, "source"), text_file(folder, name, "target"))
    return (*texts, groups_file(folder, name), corpora_file(folder, name))


@dataclass
class Written:
    """How far pairs are written: how many, the bytes of their files; has any a group, or is of a further corpus."""

    pairs: int = 0
    sizes: tuple[int, ...] = (0, 0, 0, 0)
    grouped: bool = False
    several: bool = False


class PairWriter:
    """Writes pairs, a line each, block by block."""

    def __init__(self, streams: list[BinaryIO], written: Written) -> None:
        self.written = written
        self._streams = streams

    def write(self, block: Block) -> None:
        """Write a block."""
        for stream, column in zip(self._streams, block[:3], strict=False):
            stream.write("".join([line + "\n" for line in column]).encode())
        self._streams[-1].write(block.corpora)
        self.written.pairs += block.size
        self.written.grouped = self.written.grouped or any(block.groups)
        self.written.several = self.written.several or any(block.corpora)

    def mark(self) -> Written:
        """Return how far all is written, and safely on the disk."""
        for stream in self._streams:
            stream.flush()
            os.fsync(stream.fileno())
        self.written.sizes = tuple(stream.tell() for stream in self._streams)
        return self.written


@contextmanager
def writing_pairs(folder: Path, name: str, done: Written | None = None) -> Iterator[PairWriter]:
    """Give what writes pairs, behind those that are done already; what stands further in their files is cut off."""
    done = done or Written()
    if done.pairs:  # an end that was killed itself may have removed what says nothing
        _restore(groups_file(folder, name), b"\n" * done.pairs)
        _restore(corpora_file(folder, name), bytes(done.pairs))
    streams = [file.open("r+b" if done.pairs else "wb") for file in _all_files(folder, name)]
    try:
        for stream, size in zip(streams, done.sizes, strict=True):
            stream.truncate(size)
            stream.seek(size)
        writer = PairWriter(streams, done)
        yield writer
    finally:
        for stream in streams:
            stream.close()
    if not writer.written.grouped:
        groups_file(folder, name).unlink()
    if not writer.written.several:
        corpora_file(folder, name).unlink()


def _restore(file: Path, content: bytes) -> None:
    if not file.is_file():
        file.write_bytes(content)


def write_pairs(pairs: Iterable[Pair], folder: Path, name: str) -> int:
    """Write pairs, a line each; return how many."""
    pairs = iter(pairs)
    with writing_pairs(folder, name) as writer:
        while some := list(islice(pairs, PAIRS_AT_ONCE)):
            writer.write(Block.of(some))
    return writer.written.pairs


def written_blocks(folder: Path, name: str) -> Iterator[Block]:
    """Give the pairs that were written, many at a time."""
    sources, targets = (read_lines(text_file(folder, name, side)) for side in ("source", "target"))
    groups = read_lines(groups_file(folder, name)) if groups_file(folder, name).is_file() else repeat("")
    corpora = written_corpora(folder, name)
    while lines := list(islice(sources, PAIRS_AT_ONCE)):
        count = len(lines)
        yield Block(lines, list(islice(targets, count)), list(islice(groups, count)), bytes(islice(corpora, count)))


def written_pairs(folder: Path, name: str) -> Iterator[Pair]:
    """Give the pairs that were written one by one."""
    return chain.from_iterable(block.pairs() for block in written_blocks(folder, name))


def written_corpora(folder: Path, name: str) -> Iterator[int]:
    """Give the number of each pair's corpus; without end where all are of the first."""
    corpora = corpora_file(folder, name)
    return chain.from_iterable(read_blocks(corpora)) if corpora.is_file() else repeat(0)


def remove_pairs(folder: Path, name: str) -> None:
    """Remove what was written."""
    for file in _all_files(folder, name):
        file.unlink(missing_ok=True)
