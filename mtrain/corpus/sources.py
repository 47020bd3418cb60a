"""Where pairs come from: the corpora that a config names, whatever their form."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal, NamedTuple

from mtrain.config.forms import uncompressed
from mtrain.config.schema import CorpusConfig, OneCorpus
from mtrain.config.shipped import find_data
from mtrain.corpus.files import Item, find_items, hub_folder
from mtrain.corpus.lines import one_line, stray_in
from mtrain.corpus.tables import Row, Rows, hub_pairs, parquet_pairs
from mtrain.corpus.text_files import read_blocks
from mtrain.corpus.text_forms import aligned_pairs, csv_pairs, jsonl_pairs, tsv_pairs
from mtrain.corpus.tmx import tmx_pairs
from mtrain.errors import CorpusError

Split = Literal["train", "dev", "test"]
Side = Literal["source", "target"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
SIDES: tuple[Side, ...] = ("source", "target")

# Enough for arrays and other processes to pay, few enough for the processor's cache.
PAIRS_AT_ONCE = 4096


class Pair(NamedTuple):
    """A line of text, its translation, what they belong to, such as a book, and the number of their corpus."""

    source: str
    target: str
    group: str = ""
    corpus: int = 0


class Block(NamedTuple):
    """Pairs by columns, which are sent to other processes and written far faster than one pair after the other.

    `corpora` has the number of each pair's corpus.
    """

    sources: list[str]
    targets: list[str]
    groups: list[str]
    corpora: bytes

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Block":
        """Return pairs as a block."""
        columns = list(zip(*pairs, strict=True)) or [()] * len(Pair._fields)
        sources, targets, groups, corpora = columns
        return cls(list(sources), list(targets), list(groups), bytes(corpora))

    @property
    def size(self) -> int:
        """How many pairs these are."""
        return len(self.sources)

    def pairs(self) -> Iterator[Pair]:
        """Give them one by one."""
        return map(Pair, *self)

    def only(self, rows: Sequence[int]) -> "Block":
        """Return some of them."""
        if len(rows) == self.size:
            return self
        sources, targets, groups = ([column[row] for row in rows] for column in self[:3])
        return Block(sources, targets, groups, bytes(self.corpora[row] for row in rows))


class Pairs:
    """The pairs of one corpus, by the `name` it has in reports, to be read once.

    `total` is how many there are, as far as that can be known beforehand; `read` counts them, `mended` the lines in
    which a stray control became a space.
    """

    def __init__(self, key: str, name: str, corpus: int, total: int | None, rows: Iterable[Row]) -> None:
        self._key = key
        self.name = name
        self.total = total
        self.read = 0
        self.mended = 0
        self._corpus = corpus
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Pair]:
        """Give them, one at least. Raises: CorpusError."""
        return chain.from_iterable(block.pairs() for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Give them many at a time. Raises: CorpusError where there is none."""
        while rows := list(islice(self._rows, PAIRS_AT_ONCE)):
            self.read += len(rows)
            # Text is seldom mended: one look at a whole block costs less than one at each line.
            if stray_in("".join(chain.from_iterable(rows))):
                rows = list(map(self._mend, rows))
            sources, targets, groups = map(list, zip(*rows, strict=True))
            yield Block(sources, targets, groups, bytes([self._corpus]) * len(rows))
        if not self.read:
            raise CorpusError(f"{self._key}: {self.name} holds not a single pair")

    def _mend(self, row: Row) -> Row:
        source, target, group = map(one_line, row)
        self.mended += (source is not row[0]) + (target is not row[1])
        return source, target, group


def entries(corpus: CorpusConfig, split: Split) -> tuple[OneCorpus, ...]:
    """Return the corpora that a split is made of; none where it is to be taken out of train."""
    given = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}[split]
    files = tuple(one for one in given if isinstance(one, str))
    return (OneCorpus(files),) if files else tuple(one for one in given if isinstance(one, OneCorpus))


def tags(corpus: CorpusConfig, split: Split) -> list[str]:
    """Return the tag of each corpus of a split, or of train where the split is taken out of that; empty: none."""
    return [one.tag for one in entries(corpus, split) or entries(corpus, "train")]


def settings_for(corpus: CorpusConfig, one: OneCorpus) -> CorpusConfig:
    """Return the settings that hold for one of the corpora."""
    return replace(corpus, **one.settings)


def input_files(corpus: CorpusConfig, split: Split) -> list[tuple[str, Path | None]]:
    """Return what a split is read from: files, and the names of data sets that the hub keeps.

    Raises: CorpusError where one is missing.
    """
    found: list[tuple[str, Path | None]] = []
    for one in entries(corpus, split):
        settings = settings_for(corpus, one)
        for item in find_items(settings, one.files, f"corpus.{split}"):
            files = _files_of(item, settings)
            found += [(str(file.absolute()), file) for file in files] or [(f"hub:{item}", None)]
    return found


def _files_of(item: Item, corpus: CorpusConfig) -> list[Path]:
    if not isinstance(item, str):
        return list(item)
    folder = hub_folder(corpus, item)
    return sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []


def read_corpora(corpus: CorpusConfig, split: Split) -> list[Pairs]:
    """Return the pairs of each corpus of a split. Raises: CorpusError here, or while they are read."""
    return [_read(corpus, split, number, one) for number, one in enumerate(entries(corpus, split))]


def read_pairs(corpus: CorpusConfig, split: Split) -> Pairs:
    """Return all pairs of a split that is one corpus."""
    (pairs,) = read_corpora(corpus, split)
    return pairs


def _read(corpus: CorpusConfig, split: Split, number: int, one: OneCorpus) -> Pairs:
    settings = settings_for(corpus, one)
    found = [_rows(item, settings, split) for item in find_items(settings, one.files, f"corpus.{split}")]
    totals = [total for total, _ in found if total is not None]
    total = sum(totals) if len(totals) == len(found) else None
    name = one.title
    return Pairs(f"corpus.{split}", name, number, total, chain.from_iterable(rows for _, rows in found))


def _rows(item: Item, corpus: CorpusConfig, split: Split) -> Rows:
    if isinstance(item, str):
        return hub_pairs(item, find_data(corpus.root), split, corpus)
    for file in item:
        if not next(read_blocks(file), b""):
            raise CorpusError(f"{file}: the file is empty")
    if len(item) > 1:
        return aligned_pairs(*item)
    return _FORMS[Path(uncompressed(item[0].name)).suffix](item[0], corpus)


_FORMS: dict[str, Callable[[Path, CorpusConfig], Rows]] = {
    ".tsv": tsv_pairs,
    ".csv": csv_pairs,
    ".jsonl": jsonl_pairs,
    ".parquet": parquet_pairs,
    ".tmx": tmx_pairs,
}
