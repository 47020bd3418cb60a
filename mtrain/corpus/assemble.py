"""Raw parallel text in; clean and split text files out.

In memory are the sentences of dev and test and, of each training pair, only numbers: some 75 bytes while duplicates are
looked for, then some 150 where splits are drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from mtrain.config.schema import CorpusConfig
from mtrain.console import progress
from mtrain.corpus.cleaning import Cleaner, Dropped, Listener, nobody
from mtrain.corpus.pair_files import remove_pairs, write_pairs, written_pairs
from mtrain.corpus.rules import Duplicate, Rule, duplicate_rules, duplicates, pair_rules
from mtrain.corpus.sources import SPLITS, Split, entries, read_corpora, settings_for
from mtrain.corpus.spelling import normaliser
from mtrain.corpus.splits import HeldOut, draw_rows
from mtrain.errors import CorpusError

# Training pairs between cleaning and splitting.
_CLEAN = "clean"
_HELD_OUT = "held_out"


@dataclass
class Tally:
    """What became of the pairs: `read` for train, `dropped` by rule, lines `mended`, `pairs` in each split at last.

    `corpora` are how many pairs of each corpus of train were read, by their names.
    """

    read: int = 0
    corpora: list[tuple[str, int]] = field(default_factory=list)
    mended: dict[Split, int] = field(default_factory=dict)
    dropped: dict[str, Dropped] = field(default_factory=dict)
    pairs: dict[Split, int] = field(default_factory=dict)


def missing_splits(corpus: CorpusConfig) -> list[Split]:
    """Return the splits that the config names no files for; they are taken out of train."""
    return [split for split in SPLITS if split != "train" and not entries(corpus, split)]


def assemble(corpus: CorpusConfig, seed: int, folder: Path, tell: Listener = nobody) -> Tally:
    """Write the text of all splits to `folder`: train normalised and clean, given dev and test as they are.

    `tell` is told of each training pair that is dropped, and by which rule.
    Raises: CorpusError.
    """
    tally, held_out = Tally(), HeldOut()
    drawn = missing_splits(corpus)
    for split in SPLITS:
        if split != "train" and split not in drawn:
            _copy(corpus, split, folder, tally)
            held_out.add(map(normaliser(corpus), written_pairs(folder, split)))
    _clean_train(corpus, held_out, folder, tally, tell)
    drawn_rows = _draw(corpus, drawn, seed, folder, tally) if drawn else set()
    for split in drawn:
        held_out.add(written_pairs(folder, split))
    _take_drawn(drawn_rows, held_out, folder, tally, tell)
    tally.pairs = {split: tally.pairs[split] for split in SPLITS}
    return tally


def _copy(corpus: CorpusConfig, split: Split, folder: Path, tally: Tally) -> None:
    corpora = read_corpora(corpus, split)
    read = (progress(pairs, f"read {pairs.name}", pairs.total, "pair") for pairs in corpora)
    tally.pairs[split] = write_pairs(chain.from_iterable(read), folder, split)
    tally.mended[split] = sum(pairs.mended for pairs in corpora)


def _clean_train(corpus: CorpusConfig, held_out: HeldOut, folder: Path, tally: Tally, tell: Listener) -> None:
    corpora = read_corpora(corpus, "train")
    seen = duplicates()
    cleaners = [
        Cleaner(_rules(settings_for(corpus, one), held_out, seen), normaliser(corpus), tell)
        for one in entries(corpus, "train")
    ]
    kept = (
        cleaner.keep(progress(pairs, f"read and clean {pairs.name}", pairs.total, "pair"))
        for cleaner, pairs in zip(cleaners, corpora, strict=True)
    )
    tally.pairs["train"] = write_pairs(chain.from_iterable(kept), folder, _CLEAN)
    tally.mended["train"] = sum(pairs.mended for pairs in corpora)
    tally.corpora = [(pairs.name, cleaner.read) for pairs, cleaner in zip(corpora, cleaners, strict=True)]
    tally.read = sum(cleaner.read for cleaner in cleaners)
    for cleaner in cleaners:
        for name, dropped in cleaner.dropped.items():
            tally.dropped.setdefault(name, Dropped()).add(dropped)


def _rules(corpus: CorpusConfig, held_out: HeldOut, seen: Mapping[str, Duplicate]) -> dict[str, Rule]:
    """Return all rules for one corpus; those about duplicates last, for they take note of what no other drops."""
    return {**pair_rules(corpus), _HELD_OUT: held_out, **duplicate_rules(corpus, seen)}


def _draw(corpus: CorpusConfig, splits: list[Split], seed: int, folder: Path, tally: Tally) -> set[int]:
    """Write the splits to be taken out of the clean pairs; return their rows there."""
    wanted = {split: corpus.dev_pairs if split == "dev" else corpus.test_pairs for split in splits}
    clean = progress(written_pairs(folder, _CLEAN), "draw " + " and ".join(splits), tally.pairs["train"], "pair")
    rows = {split: set(chosen.tolist()) for split, chosen in draw_rows(clean, wanted, seed).items()}
    for split in splits:
        chosen = (pair for row, pair in enumerate(written_pairs(folder, _CLEAN)) if row in rows[split])
        tally.pairs[split] = write_pairs(chosen, folder, split)
    return set(chain.from_iterable(rows.values()))


def _take_drawn(drawn_rows: set[int], held_out: HeldOut, folder: Path, tally: Tally, tell: Listener) -> None:
    """Write train: the clean pairs without those drawn, and without any sentence of theirs."""
    cleaner = Cleaner({_HELD_OUT: held_out}, tell=tell)
    clean = progress(written_pairs(folder, _CLEAN), "take dev and test out of train", tally.pairs["train"], "pair")
    rest = (pair for row, pair in enumerate(clean) if row not in drawn_rows)
    tally.pairs["train"] = write_pairs(cleaner.keep(rest), folder, "train")
    tally.dropped[_HELD_OUT].add(cleaner.dropped[_HELD_OUT])
    remove_pairs(folder, _CLEAN)
    if tally.pairs["train"] == 0:
        counts = ", ".join(f"{name} {dropped.pairs:,}" for name, dropped in tally.dropped.items())
        raise CorpusError(f"corpus.train: no training pair is left of {tally.read:,} read; dropped: {counts}")
