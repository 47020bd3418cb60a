"""Pairs that came before, wholly or by one side: known by hashes of 64 bits in tables of 11 to 32 bytes a pair."""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.sources import Block

# By the names that the report calls them.
_TEXTS: dict[str, Callable[[Block], Iterable[str]]] = {
    "duplicate": lambda block: map("\n".join, zip(block.sources, block.targets, strict=True)),
    "duplicate_source": lambda block: block.sources,
    "duplicate_target": lambda block: block.targets,
}

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]
# Of some of the three kinds, the hash of each pair of a block.
Keys = Mapping[str, Hashes]


def wanted_kinds(corpus: CorpusConfig) -> list[str]:
    """Return the kinds of repetition that this config drops."""
    wanted = {
        "duplicate": corpus.drop_duplicates,
        "duplicate_source": corpus.drop_duplicate_sources,
        "duplicate_target": corpus.drop_duplicate_targets,
    }
    return [name for name, asked in wanted.items() if asked]


def keys_of(block: Block, kinds: Iterable[str]) -> Keys:
    """Return what repetitions of these kinds are told by.

    Among a hundred million pairs, one in four thousand corpora loses one wrongly.
    """
    return {kind: _hashes(_TEXTS[kind](block)) for kind in kinds}


def _hashes(texts: Iterable[str]) -> Hashes:
    return np.frombuffer(b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts), dtype=np.uint64)


class Repeats:
    """Remembers the pairs that are kept, to tell those that come again."""

    def __init__(self) -> None:
        self._kept = {kind: HashTable() for kind in _TEXTS}

    def rules_against(self, keys: Keys) -> dict[int, str]:
        """Return which pairs of a block come again, by the first kind that says so; the others are kept."""
        known = {kind: self._kept[kind].has(hashes).tolist() for kind, hashes in keys.items()}
        new: dict[str, set[int]] = {kind: set() for kind in keys}
        found: dict[int, str] = {}
        for row, hashes in enumerate(zip(*(hashes.tolist() for hashes in keys.values()), strict=True)):
            of_kind = dict(zip(keys, hashes, strict=True))
            broken = next((kind for kind, key in of_kind.items() if known[kind][row] or key in new[kind]), "")
            if broken:
                found[row] = broken
                continue
            for kind, key in of_kind.items():
                new[kind].add(key)
        for kind, added in new.items():
            self._kept[kind].add(np.fromiter(added, np.uint64, len(added)))
        return found


class HashTable:
    """A set of 64-bit hashes in one array: open addressing with linear probing, never more than three quarters full."""

    def __init__(self, slots: int = 1 << 12) -> None:
        self._slots: Hashes = np.zeros(slots, np.uint64)
        self._filled = 0

    def __len__(self) -> int:
        return self._filled

    def has(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Tell of each hash whether it was added."""
        found = np.zeros(len(hashes), bool)
        wanted, left = _not_zero(hashes), np.arange(len(hashes))
        places = self._first_places(wanted)
        while len(left):
            there = self._slots[places]
            found[left] = there == wanted[left]
            going_on = (there != 0) & ~found[left]
            left, places = left[going_on], self._next(places[going_on])
        return found

    def add(self, hashes: Hashes) -> None:
        """Add hashes, all different and none in the table."""
        while 4 * (self._filled + len(hashes)) > 3 * len(self._slots):
            self._grow()
        self._place(_not_zero(hashes))
        self._filled += len(hashes)

    def _grow(self) -> None:
        old = self._slots
        self._slots = np.zeros(2 * len(old), np.uint64)
        for start in range(0, len(old), 1 << 20):
            part = old[start : start + (1 << 20)]
            self._place(part[part != 0])

    def _place(self, hashes: Hashes) -> None:
        places = self._first_places(hashes)
        while len(hashes):
            free = self._slots[places] == 0
            self._slots[places[free]] = hashes[free]
            # Of several that wanted one place the last one has it.
            left = self._slots[places] != hashes
            hashes, places = hashes[left], self._next(places[left])

    def _first_places(self, hashes: Hashes) -> Places:
        places: Places = (hashes & np.uint64(len(self._slots) - 1)).astype(np.int64)
        return places

    def _next(self, places: Places) -> Places:
        return (places + 1) & (len(self._slots) - 1)


def _not_zero(hashes: Hashes) -> Hashes:
    changed: Hashes = np.maximum(hashes, np.uint64(1))  # 0 is an empty slot
    return changed

