"""Pairs in aligned files of our own: `train.source.txt`, `train.target.txt`; where need be, groups and corpora too."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

from mtrain.corpus.sources import Pair, Side
from mtrain.corpus.text_files import read_blocks, read_lines

_PAIRS_AT_ONCE = 2000


def text_file(folder: Path, name: str, side: Side) -> Path:
    """Return where the lines of one side of a split lie."""
    return folder / f"{name}.{side}.txt"


def groups_file(folder: Path, name: str) -> Path:
    """Return where the group of each pair lies; there is no such file where no pair has one."""
    return folder / f"{name}.groups.txt"


def corpora_file(folder: Path, name: str) -> Path:
    """Return where the number of each pair's corpus lies, a byte each; no such file where all are of the first."""
    return folder / f"{name}.corpora"


def write_pairs(pairs: Iterable[Pair], folder: Path, name: str) -> int:
    """Write pairs, a line each; return how many."""
    count, grouped, several, pairs = 0, False, False, iter(pairs)
    with (
        text_file(folder, name, "source").open("w", encoding="utf-8", newline="\n") as source,
        text_file(folder, name, "target").open("w", encoding="utf-8", newline="\n") as target,
        groups_file(folder, name).open("w", encoding="utf-8", newline="\n") as groups,
        corpora_file(folder, name).open("wb") as corpora,
    ):
        while block := list(islice(pairs, _PAIRS_AT_ONCE)):
            source.write("".join(f"{pair.source}\n" for pair in block))
            target.write("".join(f"{pair.target}\n" for pair in block))
            groups.write("".join(f"{pair.group}\n" for pair in block))
            corpora.write(bytes(pair.corpus for pair in block))
            count += len(block)
            grouped = grouped or any(pair.group for pair in block)
            several = several or any(pair.corpus for pair in block)
    if not grouped:
        groups_file(folder, name).unlink()
    if not several:
        corpora_file(folder, name).unlink()
    return count


def written_pairs(folder: Path, name: str) -> Iterator[Pair]:
    """Give the pairs that `write_pairs` has written."""
    sources, targets = (read_lines(text_file(folder, name, side)) for side in ("source", "target"))
    groups = groups_file(folder, name)
    yield from map(
        Pair, sources, targets, read_lines(groups) if groups.is_file() else repeat(""), written_corpora(folder, name)
    )


def written_corpora(folder: Path, name: str) -> Iterator[int]:
    """Give the number of each pair's corpus; without end where all are of the first."""
    corpora = corpora_file(folder, name)
    return chain.from_iterable(read_blocks(corpora)) if corpora.is_file() else repeat(0)


def remove_pairs(folder: Path, name: str) -> None:
    """Remove what `write_pairs` has written."""
    texts = (text_file(folder, name, "source"), text_file(folder, name, "target"))
    for file in (*texts, groups_file(folder, name), corpora_file(folder, name)):
        file.unlink(missing_ok=True)
