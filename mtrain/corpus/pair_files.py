"""Pairs in two aligned text files of our own, such as `train.source.txt` and `train.target.txt`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mtrain.corpus.sources import Pair, Side, read_lines


def text_file(folder: Path, name: str, side: Side) -> Path:
    """Return where the lines of one side of a split lie."""
    return folder / f"{name}.{side}.txt"


def write_pairs(pairs: Iterable[Pair], folder: Path, name: str) -> int:
    """Write pairs, a line each; return how many."""
    count = 0
    with (
        text_file(folder, name, "source").open("w", encoding="utf-8", newline="\n") as source,
        text_file(folder, name, "target").open("w", encoding="utf-8", newline="\n") as target,
    ):
        for pair in pairs:
            source.write(pair.source + "\n")
            target.write(pair.target + "\n")
            count += 1
    return count


def written_pairs(folder: Path, name: str) -> Iterator[Pair]:
    """Give the pairs that `write_pairs` has written."""
    sources, targets = (read_lines(text_file(folder, name, side)) for side in ("source", "target"))
    yield from map(Pair, sources, targets)
