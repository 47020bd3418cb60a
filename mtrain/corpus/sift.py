"""Blocks of training pairs in, files of those that stay out: in all processes, with marks to go on from."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mtrain.console import say
from mtrain.corpus.cleaning import Dropped, Listener, Screen, Screened, nobody
from mtrain.corpus.pair_files import Written, writing_pairs, written_blocks
from mtrain.corpus.repeats import Repeats, keys_of
from mtrain.corpus.sources import Block
from mtrain.corpus.tally import Tally
from mtrain.parallel import in_order
from mtrain.storage import Journal

# Some 200,000 pairs, five seconds: what an interruption costs.
_BLOCKS_BETWEEN_MARKS = 50


class Means(NamedTuple):
    """What pairs are worked on with, which changes nothing in what comes out.

    `tell` is told of each training pair that is dropped, and by which rule.
    """

    journal: Journal
    workers: int = 0
    tell: Listener = nobody


class _Sieve:
    """Lets through what stays of screened blocks, and keeps the books."""

    def __init__(self, screen: Screen, tally: Tally, tell: Listener) -> None:
        self.tally = tally
        self._tell = tell
        self._repeats = Repeats()
        self._kinds = screen.kinds
        for rule in [*screen.names, *(kind for kinds in screen.kinds for kind in kinds)]:
            tally.dropped.setdefault(rule, Dropped())

    def remember(self, blocks: Iterable[Block]) -> None:
        """Know pairs again that were kept before an interruption."""
        for block in blocks:
            for corpus in set(block.corpora):
                own = block.only([row for row, number in enumerate(block.corpora) if number == corpus])
                self._repeats.rules_against(keys_of(own, self._kinds[corpus]))

    def keep(self, screened: Screened) -> Block:
        """Return the pairs of a block that stay."""
        again = self._repeats.rules_against(screened.keys)
        pairs = list(screened.kept.pairs()) if again else []
        dropped = [*screened.dropped, *((pairs[row], rule) for row, rule in again.items())]
        self.tally.note(dropped, screened.near)
        for pair, rule in dropped:
            self._tell(pair, rule)
        return screened.kept.only([row for row in range(screened.kept.size) if row not in again])


def sift(blocks: Iterable[Block], screen: Screen, to: tuple[Path, str], tally: Tally, means: Means) -> Tally:
    """Write the pairs that stay to the files of that folder and name; return the tally with what was dropped.

    Where the journal has a mark of an interrupted work, it goes on from there, with the tally of that time.
    """
    folder, name = to
    step, done, written = f"marks of {name}", 0, Written()
    mark = means.journal.done(step)
    if mark:
        done, written, tally = mark["blocks"], Written(**mark["written"]), Tally.from_json(mark["tally"])
        say(f"going on behind the {written.pairs:,} pairs that were written before the interruption")
    sieve = _Sieve(screen, tally, means.tell)
    with writing_pairs(folder, name, written) as writer:
        if mark:
            sieve.remember(written_blocks(folder, name))
        left = islice(blocks, done, None)
        for number, screened in enumerate(in_order(screen, left, means.workers), start=done + 1):
            writer.write(sieve.keep(screened))
            if number % _BLOCKS_BETWEEN_MARKS == 0:
                state = {"blocks": number, "written": asdict(writer.mark()), "tally": tally.as_json()}
                means.journal.note(step, state)
    tally.pairs["train"] = writer.written.pairs
    return tally
