"""Dev and test where they are not given: which pairs are taken out of train for them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from mtrain.corpus.letters import sentence_key
from mtrain.corpus.sources import Block, Split
from mtrain.errors import CorpusError
from mtrain.parallel import in_order

# A group is taken while it brings a split no further above what is wanted than this.
_MOST_TOO_MANY = 0.1

Rows = dict[Split, set[int]]
Numbers = NDArray[np.uint64]


@dataclass(frozen=True)
class _Lots:
    """Draws for each pair of a block: a number for its source, and one for the pair."""

    salt: bytes

    def __call__(self, block: Block) -> tuple[Numbers, Numbers]:
        sources = (_digest(self.salt, sentence_key(text)) for text in block.sources)
        pairs = map("\n".join, zip(block.sources, block.targets, strict=True))
        return _numbers(sources), _numbers(_digest(self.salt, text) for text in pairs)


def draw_lines(blocks: Iterable[Block], wanted: dict[Split, int], seed: int, workers: int = 1) -> Rows:
    """Return which rows of all blocks become which split: as many as wanted, all of different sources.

    The draw goes by hashes of (seed, sentence), so it does not depend on the order of the corpus, and a pair added to
    it moves few others; only the pairs with the least hashes are remembered. Raises: CorpusError where there are too
    few different sources.
    """
    total = sum(wanted.values())
    # Of each source its least pair; the source with the greatest hash is what the heap gives first.
    least: dict[int, tuple[int, int]] = {}
    greatest: list[int] = []
    start = 0
    for sources, pairs in in_order(_Lots(str(seed).encode()), blocks, workers):
        full = len(least) > total
        candidates = np.flatnonzero(sources <= -greatest[0]) if full else np.arange(len(sources))
        for row in candidates.tolist():
            source = int(sources[row])
            if source not in least and len(least) > total and source > -greatest[0]:
                continue
            candidate = (int(pairs[row]), start + row)
            if source not in least:
                heappush(greatest, -source)
            least[source] = min(candidate, least.get(source, candidate))
            if len(least) > total + 1:
                del least[-heappop(greatest)]
        start += len(sources)
    if len(least) <= total:
        keys = " and ".join(f"corpus.{split}_pairs = {count:,}" for split, count in wanted.items())
        raise CorpusError(
            f"corpus.train has {len(least):,} different source sentences after cleaning, too few to take "
            f"out {keys}. Set a smaller number, or give files of their own (corpus.{', corpus.'.join(wanted)})"
        )
    drawn = iter([least[source][1] for source in sorted(least)])
    return {split: {next(drawn) for _ in range(count)} for split, count in wanted.items()}


def draw_groups(groups: Iterable[str], wanted: dict[Split, int], seed: int) -> dict[Split, list[str]]:
    """Return which groups become which split, whole, until each has about as many pairs as wanted.

    `groups` holds that of each pair. They are tried in the order of hashes of (seed, group); one that is too large is
    passed over. Where all are, the smallest one is taken. Raises: CorpusError where there are no groups, or too few.
    """
    sizes = Counter(groups)
    sizes.pop("", None)
    salt = str(seed).encode()
    order = sorted(sizes, key=lambda group: (_hash(salt, group), group))
    drawn: dict[Split, list[str]] = {}
    for split, count in wanted.items():
        drawn[split] = _fill(order, sizes, count) if order else []
        order = [group for group in order if group not in drawn[split]]
    if not order:
        raise CorpusError(
            f"corpus.split_by group: the pairs of corpus.train belong to {len(sizes)} groups, too few to hold out some "
            f"for {' and '.join(wanted)}. Name their column in corpus.group_column, or set corpus.split_by=line"
        )
    return drawn


def _fill(order: Sequence[str], sizes: Counter[str], wanted: int) -> list[str]:
    taken: list[str] = []
    pairs = 0
    for group in order:
        if pairs < wanted and pairs + sizes[group] <= (1 + _MOST_TOO_MANY) * wanted:
            taken.append(group)
            pairs += sizes[group]
    return taken if taken or not wanted else [min(order, key=lambda group: sizes[group])]


def _hash(salt: bytes, text: str) -> int:
    return int.from_bytes(_digest(salt, text), "big")


def _digest(salt: bytes, text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8, key=salt).digest()


def _numbers(digests: Iterable[bytes]) -> Numbers:
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)
