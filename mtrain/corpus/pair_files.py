"""Pairs in aligned text files of our own: `train.source.txt`, `train.target.txt` and perhaps `train.groups.txt`."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

from mtrain.corpus.sources import Pair, Side
from mtrain.corpus.text_files import read_lines


def text_file(folder: Path, name: str, side: Side) -> Path:
    """Return where the lines of one side of a split lie."""
    return folder / f"{name}.{side}.txt"


def groups_file(folder: Path, name: str) -> Path:
    """Return where the group of each pair lies; there is no such file where no pair has one."""
    return folder / f"{name}.groups.txt"


def write_pairs(pairs: Iterable[Pair], folder: Path, name: str) -> int:
    """Write pairs, a line each; return how many."""
    count, grouped = 0, False
    with (
        text_file(folder, name, "source").open("w", encoding="utf-8", newline="\n") as source,
        text_file(folder, name, "target").open("w", encoding="utf-8", newline="\n") as target,
        groups_file(folder, name).open("w", encoding="utf-8", newline="\n") as groups,
    ):
        for pair in pairs:
            source.write(pair.source + "\n")
            target.write(pair.target + "\n")
            groups.write(pair.group + "\n")
            count += 1
            grouped = grouped or pair.group != ""
    if not grouped:
        groups_file(folder, name).unlink()
    return count


def written_pairs(folder: Path, name: str) -> Iterator[Pair]:
    """Give the pairs that `write_pairs` has written."""
    sources, targets = (read_lines(text_file(folder, name, side)) for side in ("source", "target"))
    groups = groups_file(folder, name)
    yield from map(Pair, sources, targets, read_lines(groups) if groups.is_file() else repeat(""))


def remove_pairs(folder: Path, name: str) -> None:
    """Remove what `write_pairs` has written."""
    for file in (text_file(folder, name, "source"), text_file(folder, name, "target"), groups_file(folder, name)):
        file.unlink(missing_ok=True)
