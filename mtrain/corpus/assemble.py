"""Raw parallel text in; clean and split text files out.

In memory are the sentences of dev and test, a block of pairs for each process and, of each training pair, 11 to 32
bytes while duplicates are looked for.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from mtrain.config.schema import CorpusConfig
from mtrain.console import progress, say, warn
from mtrain.corpus.cleaning import Screen, as_it_is
from mtrain.corpus.held_out import NEARLY, HeldOut
from mtrain.corpus.pair_files import remove_pairs, write_pairs, written_blocks, written_pairs
from mtrain.corpus.repeats import wanted_kinds
from mtrain.corpus.rules import pair_rules
from mtrain.corpus.sift import Means, sift
from mtrain.corpus.sources import SPLITS, Block, Pairs, Split, entries, read_corpora, settings_for
from mtrain.corpus.spelling import normaliser
from mtrain.corpus.splits import draw_groups, draw_lines
from mtrain.corpus.tally import Tally
from mtrain.errors import CorpusError

# Training pairs between cleaning and splitting.
_CLEAN = "clean"
_TEXT = "text"
# Above it, nearness is what the corpus is made of.
_MANY = 0.1


def missing_splits(corpus: CorpusConfig) -> list[Split]:
    """Return the splits that the config names no files for; they are taken out of train."""
    return [split for split in SPLITS if split != "train" and not entries(corpus, split)]


def assemble(corpus: CorpusConfig, seed: int, folder: Path, means: Means) -> Tally:
    """Write the text of all splits to `folder`: train normalised and clean, given dev and test as they are.

    What the journal has as done is not done again. Raises: CorpusError.
    """
    if done := means.journal.done(_TEXT):
        say("the text was cleaned and split before the interruption")
        remove_pairs(folder, _CLEAN)
        return Tally.from_json(done)
    tally, held_out, drawn = Tally(), HeldOut(corpus.near_overlap), missing_splits(corpus)
    given = [split for split in SPLITS if split != "train" and split not in drawn]
    for split in given:
        _copy(corpus, split, folder, tally)
    held_out.add(map(normaliser(corpus), chain.from_iterable(written_pairs(folder, split) for split in given)))
    if done := means.journal.done(_CLEAN):
        tally = Tally.from_json(done)
    else:
        tally = _clean_train(corpus, held_out, (folder, _CLEAN if drawn else "train"), tally, means)
    if drawn:
        means.journal.note(_CLEAN, tally.as_json())
        rows = _draw(corpus, drawn, seed, folder, tally, means.workers)
        held_out.add(chain.from_iterable(written_pairs(folder, split) for split in drawn))
        tally = _take_drawn(rows, held_out, folder, tally, means)
    tally.pairs = {split: tally.pairs[split] for split in SPLITS}
    _check(tally)
    means.journal.note(_TEXT, tally.as_json())
    remove_pairs(folder, _CLEAN)
    return tally


def _copy(corpus: CorpusConfig, split: Split, folder: Path, tally: Tally) -> None:
    corpora = read_corpora(corpus, split)
    read = (progress(pairs, f"read {pairs.name}", pairs.total, "pair") for pairs in corpora)
    tally.pairs[split] = write_pairs(chain.from_iterable(read), folder, split)
    tally.mended[split] = sum(pairs.mended for pairs in corpora)


def _clean_train(corpus: CorpusConfig, held_out: HeldOut, to: tuple[Path, str], tally: Tally, means: Means) -> Tally:
    corpora = read_corpora(corpus, "train")
    settings = [settings_for(corpus, one) for one in entries(corpus, "train")]
    screen = Screen(
        [pair_rules(one) for one in settings], [wanted_kinds(one) for one in settings], normaliser(corpus), held_out
    )
    tally = sift(chain.from_iterable(map(_read, corpora)), screen, to, tally, means)
    tally.mended["train"] = sum(pairs.mended for pairs in corpora)
    tally.corpora = [(pairs.name, pairs.read) for pairs in corpora]
    tally.read = sum(pairs.read for pairs in corpora)
    return tally


def _read(pairs: Pairs) -> Iterator[Block]:
    return progress(pairs.blocks(), f"read and clean {pairs.name}", pairs.total, "pair", lambda block: block.size)


def _written(folder: Path, what: str, pairs: int) -> Iterator[Block]:
    return progress(written_blocks(folder, _CLEAN), what, pairs, "pair", lambda block: block.size)


def _draw(corpus: CorpusConfig, drawn: list[Split], seed: int, folder: Path, tally: Tally, workers: int) -> set[int]:
    """Write the splits to be taken out of the clean pairs; return their rows there."""
    wanted = {split: corpus.dev_pairs if split == "dev" else corpus.test_pairs for split in drawn}
    clean = _written(folder, "draw " + " and ".join(drawn), tally.pairs["train"])
    if corpus.split_by == "group":
        tally.groups = draw_groups(chain.from_iterable(block.groups for block in clean), wanted, seed)
        rows = {split: set(_rows_of(set(tally.groups[split]), folder)) for split in drawn}
    else:
        rows = draw_lines(clean, wanted, seed, workers)
    for split in drawn:
        chosen = _some(written_blocks(folder, _CLEAN), rows[split], chosen=True)
        tally.pairs[split] = write_pairs(chain.from_iterable(block.pairs() for block in chosen), folder, split)
    return set(chain.from_iterable(rows.values()))


def _rows_of(groups: set[str], folder: Path) -> Iterator[int]:
    return (row for row, pair in enumerate(written_pairs(folder, _CLEAN)) if pair.group in groups)


def _some(blocks: Iterable[Block], rows: set[int], chosen: bool) -> Iterator[Block]:
    """Give the pairs that stand in these rows of all blocks, or all but these."""
    start = 0
    for block in blocks:
        some = block.only([row for row in range(block.size) if (start + row in rows) == chosen])
        start += block.size
        if some.size:
            yield some


def _take_drawn(drawn: set[int], held_out: HeldOut, folder: Path, tally: Tally, means: Means) -> Tally:
    """Write train: the clean pairs without those drawn, and without any sentence of theirs."""
    clean = _written(folder, "take dev and test out of train", tally.pairs["train"])
    corpora = len(tally.corpora)
    screen = Screen([{}] * corpora, [()] * corpora, as_it_is, held_out)
    return sift(_some(clean, drawn, chosen=False), screen, (folder, "train"), tally, means)


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
