"""Raw parallel text in; clean and split text files out.

In memory are the sentences of dev and test and, of each training pair, only a number of some 75 bytes while duplicates
are looked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from mtrain.config.schema import CorpusConfig
from mtrain.console import progress, warn
from mtrain.corpus.cleaning import Cleaner, Dropped, Listener, nobody
from mtrain.corpus.held_out import NEARLY, HeldOut, Leak, Removal
from mtrain.corpus.pair_files import remove_pairs, write_pairs, written_pairs
from mtrain.corpus.rules import duplicate_rules, duplicates, pair_rules
from mtrain.corpus.sources import SPLITS, Pair, Split, entries, read_corpora, settings_for
from mtrain.corpus.spelling import normaliser
from mtrain.corpus.splits import draw_groups, draw_lines
from mtrain.errors import CorpusError

# Training pairs between cleaning and splitting.
_CLEAN = "clean"
# Above it, nearness is what the corpus is made of.
_MANY = 0.1


@dataclass
class Tally:
    """What became of the pairs.

    `read` for train, and of each of its `corpora` by name, `dropped` by rule, lines `mended`, `pairs` in each split at
    last; `near` are examples of training sentences that were nearly those of dev and test; `groups` those that became
    dev and test.
    """

    read: int = 0
    corpora: list[tuple[str, int]] = field(default_factory=list)
    mended: dict[Split, int] = field(default_factory=dict)
    dropped: dict[str, Dropped] = field(default_factory=dict)
    pairs: dict[Split, int] = field(default_factory=dict)
    near: list[Leak] = field(default_factory=list)
    groups: dict[Split, list[str]] = field(default_factory=dict)


def missing_splits(corpus: CorpusConfig) -> list[Split]:
    """Return the splits that the config names no files for; they are taken out of train."""
    return [split for split in SPLITS if split != "train" and not entries(corpus, split)]


def assemble(corpus: CorpusConfig, seed: int, folder: Path, tell: Listener = nobody) -> Tally:
    """Write the text of all splits to `folder`: train normalised and clean, given dev and test as they are.

    `tell` is told of each training pair that is dropped, and by which rule.
    Raises: CorpusError.
    """
    tally, removal = Tally(), Removal(HeldOut(corpus.near_overlap), tell)
    drawn = missing_splits(corpus)
    for split in SPLITS:
        if split != "train" and split not in drawn:
            _copy(corpus, split, folder, tally)
            removal.held_out.add(map(normaliser(corpus), written_pairs(folder, split)))
    clean = _clean_train(corpus, removal, tally, tell)
    tally.pairs["train"] = write_pairs(clean, folder, _CLEAN if drawn else "train")
    if drawn:
        drawn_rows = _draw(corpus, drawn, seed, folder, tally)
        for split in drawn:
            removal.held_out.add(written_pairs(folder, split))
        _take_drawn(drawn_rows, removal, folder, tally)
    tally.pairs = {split: tally.pairs[split] for split in SPLITS}
    tally.near = removal.examples
    _check(tally)
    return tally


def _copy(corpus: CorpusConfig, split: Split, folder: Path, tally: Tally) -> None:
    corpora = read_corpora(corpus, split)
    read = (progress(pairs, f"read {pairs.name}", pairs.total, "pair") for pairs in corpora)
    tally.pairs[split] = write_pairs(chain.from_iterable(read), folder, split)
    tally.mended[split] = sum(pairs.mended for pairs in corpora)


def _clean_train(corpus: CorpusConfig, removal: Removal, tally: Tally, tell: Listener) -> Iterator[Pair]:
    """Give the training pairs that no rule drops. Those about duplicates come last: they note what no other drops."""
    corpora, seen = read_corpora(corpus, "train"), duplicates()
    settings = [settings_for(corpus, one) for one in entries(corpus, "train")]
    cleaners = [Cleaner(pair_rules(one), normaliser(corpus), tell) for one in settings]
    repeats = [Cleaner(duplicate_rules(one, seen), tell=tell) for one in settings]
    for pairs, cleaner, repeat in zip(corpora, cleaners, repeats, strict=True):
        read = progress(pairs, f"read and clean {pairs.name}", pairs.total, "pair")
        yield from repeat.keep(removal.keep(cleaner.keep(read)))
    tally.mended["train"] = sum(pairs.mended for pairs in corpora)
    tally.corpora = [(pairs.name, cleaner.read) for pairs, cleaner in zip(corpora, cleaners, strict=True)]
    tally.read = sum(cleaner.read for cleaner in cleaners)
    _count(tally, cleaners)
    tally.dropped.update(removal.dropped)
    _count(tally, repeats)


def _count(tally: Tally, cleaners: Sequence[Cleaner]) -> None:
    for cleaner in cleaners:
        for name, dropped in cleaner.dropped.items():
            tally.dropped.setdefault(name, Dropped()).add(dropped)


def _draw(corpus: CorpusConfig, splits: list[Split], seed: int, folder: Path, tally: Tally) -> set[int]:
    """Write the splits to be taken out of the clean pairs; return their rows there."""
    wanted = {split: corpus.dev_pairs if split == "dev" else corpus.test_pairs for split in splits}
    clean = progress(written_pairs(folder, _CLEAN), "draw " + " and ".join(splits), tally.pairs["train"], "pair")
    if corpus.split_by == "group":
        tally.groups = draw_groups((pair.group for pair in clean), wanted, seed)
        rows = {split: set(_rows_of(set(tally.groups[split]), folder)) for split in splits}
    else:
        rows = draw_lines(clean, wanted, seed)
    for split in splits:
        chosen = (pair for row, pair in enumerate(written_pairs(folder, _CLEAN)) if row in rows[split])
        tally.pairs[split] = write_pairs(chosen, folder, split)
    return set(chain.from_iterable(rows.values()))


def _rows_of(groups: set[str], folder: Path) -> Iterator[int]:
    return (row for row, pair in enumerate(written_pairs(folder, _CLEAN)) if pair.group in groups)


def _take_drawn(drawn_rows: set[int], removal: Removal, folder: Path, tally: Tally) -> None:
    """Write train: the clean pairs without those drawn, and without any sentence of theirs."""
    clean = progress(written_pairs(folder, _CLEAN), "take dev and test out of train", tally.pairs["train"], "pair")
    rest = (pair for row, pair in enumerate(clean) if row not in drawn_rows)
    tally.pairs["train"] = write_pairs(removal.keep(rest), folder, "train")
    remove_pairs(folder, _CLEAN)


def _check(tally: Tally) -> None:
    if tally.pairs["train"] == 0:
        counts = ", ".join(f"{name} {dropped.pairs:,}" for name, dropped in tally.dropped.items())
        raise CorpusError(f"corpus.train: no training pair is left of {tally.read:,} read; dropped: {counts}")
    near = tally.dropped[NEARLY].pairs
    if near > _MANY * tally.read:
        warn(
            f"{near:,} of {tally.read:,} training pairs are nearly sentences of dev or test, and dropped. A corpus "
            "made of a few patterns is like that: keep these pairs with corpus.near_overlap=0, but then its scores "
            "tell little of other text"
        )
