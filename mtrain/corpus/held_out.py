"""Which sentences are those of dev and test, or nearly: an index of the few, asked about blocks of the many."""

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtrain.corpus.letters import Hashes, Letters, Rows, is_long_enough, letters, ngrams, overlap, sentence_key
from mtrain.corpus.sources import Pair

# The rules against a training pair with a sentence of dev or test, as the report calls them.
EXACTLY, NEARLY = "held_out", "near_held_out"

# Of how many held-out sentences with an n-gram a match is looked for first, where one is enough.
_FEW_HOLDERS = 64
# N-grams of rows, each with one that has it, that are counted at once: some 100 MB.
_AT_ONCE = 1 << 20
_BUCKET_BITS = 20
_BUCKET_SHIFT = np.uint64(64 - _BUCKET_BITS)
_ROUNDING = 1e-9  # 0.7 of 10 is 7, which in binary fractions is a little more


class Match(NamedTuple):
    """A sentence that was asked about, by its place, a held-out one, and the share of whose n-grams it has.

    `exact`: they are the same by their letters and numbers.
    """

    row: int
    held_out: str
    overlap: float
    exact: bool


class Leak(NamedTuple):
    """A training sentence, the sentence of dev or test that it has, or nearly has, and how much of it."""

    text: str
    held_out: str
    overlap: float
    exact: bool

    @property
    def strength(self) -> tuple[bool, float]:
        """What the stronger of two leaks has more of."""
        return self.exact, self.overlap


class Index:
    """Held-out sentences, to be found again exactly or nearly; no answer changes when it is asked.

    Near is what has at least the share `least_overlap` of the n-grams of a held-out sentence that is long enough to
    be more than a stock phrase; with 0 nothing is near.
    """

    def __init__(self, texts: Sequence[str], least_overlap: float) -> None:
        self.texts = {sentence_key(text): text for text in reversed(texts) if text.strip()}
        self._keys = list(self.texts)
        self._least_overlap = least_overlap
        self._hashes = letters(list(self.texts.values())).hashes  # a key's own key is another one now and then (İ)
        self._grams_of: dict[int, set[str]] = {}  # of those that were looked at
        self._index_grams()

    def _index_grams(self) -> None:
        """Note for each n-gram which sentences have it, and of each sentence how many n-grams another one must have."""
        long = [row for row, key in enumerate(self._keys) if self._least_overlap and is_long_enough(key)]
        hashes, rows = letters([self.texts[self._keys[row]] for row in long]).grams
        grams, holders = np.unique(np.stack((hashes, np.array(long, np.uint64)[rows])), axis=1)
        kept, self._needed = _rarer(grams, holders.astype(np.int64), self._least_overlap, len(self._keys))
        self._holders = holders[kept].astype(np.int32)
        self._grams, self._first, self._count = np.unique(grams[kept], return_index=True, return_counts=True)
        # Where the n-grams that begin with the same bits begin: far faster than a search among them all.
        every_bucket = np.arange((1 << _BUCKET_BITS) + 1, dtype=np.uint64)
        self._buckets = np.searchsorted(self._grams >> _BUCKET_SHIFT, every_bucket).astype(np.int32)
        self._fullest_bucket = int(np.diff(self._buckets).max())
        self._fewest_needed = int(min(self._needed, default=1))

    def matches(self, asked: Sequence[str], their_letters: Letters) -> Iterator[Match]:
        """Give all matches of these sentences, whose letters the caller has and may use again."""
        same = list(self._same(asked, their_letters))
        yield from same
        known = {(match.row, match.held_out) for match in same}
        near = self._near(asked, *self._known_grams(their_letters), len(self._keys))
        yield from (match for match in near if (match.row, match.held_out) not in known)

    def one_match_each(self, asked: Sequence[str], their_letters: Letters) -> dict[int, Match]:
        """Return for each sentence that has matches one of them: an exact one, or one of which it has much.

        Where many held-out sentences are made after one pattern, a few of them mostly tell.
        """
        found = {match.row: match for match in self._same(asked, their_letters)}
        rows, grams = self._known_grams(their_letters)
        for most in (_FEW_HOLDERS, len(self._keys)):
            for match in self._near(asked, rows, grams, most, found):
                found[match.row] = match
            left = np.isin(rows, rows[self._count[grams] > most]) & ~np.isin(rows, list(found))
            rows, grams = rows[left], grams[left]
        return found

    def _same(self, asked: Sequence[str], their_letters: Letters) -> Iterator[Match]:
        for row in np.flatnonzero(np.isin(their_letters.hashes, self._hashes)).tolist():
            if (key := sentence_key(asked[row])) in self.texts:
                yield Match(row, self.texts[key], 1.0, True)

    def _near(
        self, asked: Sequence[str], rows: Rows, grams: Rows, most: int, known: Container[int] = ()
    ) -> Iterator[Match]:
        """Give matches among the first `most` held-out sentences with each n-gram, but of `known` rows.

        Of each row, that comes first of which it seems to have most.
        """
        last, theirs = -1, set[str]()
        for row, held in self._candidates(rows, grams, most):
            if row in known:
                continue
            if row != last:
                last, theirs = row, ngrams(sentence_key(asked[row]))
            if held not in self._grams_of:
                self._grams_of[held] = ngrams(self._keys[held])
            share = overlap(self._grams_of[held], theirs)
            if share >= self._least_overlap:
                yield Match(row, self.texts[self._keys[held]], share, False)

    def _candidates(self, rows: Rows, grams: Rows, most: int) -> Iterator[tuple[int, int]]:
        """Give rows and held-out sentences that seem to share enough n-grams: all that do, and some others."""
        counts = np.minimum(self._count[grams], most)
        # What a pattern has in common, each row has with each held-out sentence: that must not be in memory at once.
        parts = (np.cumsum(counts) - counts)[np.searchsorted(rows, rows)] // _AT_ONCE
        cuts = np.flatnonzero(np.diff(parts)) + 1
        for some in zip(np.split(rows, cuts), np.split(grams, cuts), np.split(counts, cuts), strict=True):
            yield from self._candidates_at_once(*some)

    def _candidates_at_once(self, rows: Rows, grams: Rows, counts: Rows) -> Iterator[tuple[int, int]]:
        nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        held = self._holders[np.repeat(self._first[grams], counts) + nth]
        # An n-gram that comes twice counts twice here: it is cheaper to look at a few sentences too many.
        pairs, shared = np.unique(np.repeat(rows, counts) * len(self._keys) + held, return_counts=True)
        rows, held = np.divmod(pairs, len(self._keys))
        enough = shared >= self._needed[held]
        rows, held, shared = rows[enough], held[enough], shared[enough]
        order = np.lexsort((-shared / self._needed[held], rows))
        return zip(rows[order].tolist(), held[order].tolist(), strict=True)

    def _known_grams(self, their_letters: Letters) -> tuple[Rows, Rows]:
        """Return rows, in their order, that have enough n-grams of held-out sentences, and each of these n-grams."""
        if not len(self._grams):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        hashes, rows = their_letters.grams
        buckets = (hashes >> _BUCKET_SHIFT).astype(np.int64)
        begins, ends = self._buckets[buckets], self._buckets[buckets + 1]
        found, grams = [], []
        left = np.flatnonzero(begins < ends)
        for step in range(self._fullest_bucket):
            place = begins[left] + step
            same = self._grams[place] == hashes[left]
            found.append(left[same])
            grams.append(place[same])
            left = left[~same & (place + 1 < ends[left])]
        places = np.concatenate(found)
        order = np.argsort(places)
        rows, known = rows[places[order]], np.concatenate(grams)[order]
        enough = np.bincount(rows, minlength=len(their_letters.lengths)) >= self._fewest_needed
        return rows[enough[rows]], known[enough[rows]]


class HeldOut:
    """The sentences of dev and test, none of which may stand on either side of a training pair, exactly or nearly.

    Equality is strict, however short the sentence: 好。 in dev takes every 好！ out of train. The report says how many.
    """

    def __init__(self, least_overlap: float) -> None:
        self._texts: list[str] = []
        self._least_overlap = least_overlap
        self._index = Index([], least_overlap)

    def add(self, pairs: Iterable[Pair]) -> None:
        """Hold out both sides of these pairs as well."""
        for pair in pairs:
            self._texts += (pair.source, pair.target)
        self._index = Index(self._texts, self._least_overlap)

    def leaks(self, pairs: Sequence[Pair]) -> dict[int, Leak]:
        """Return which of these pairs must go, and for which sentence; another one may be nearer."""
        found: dict[int, Leak] = {}
        for texts in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
            for row, match in self._index.one_match_each(texts, letters(texts)).items():
                leak = Leak(texts[row], match.held_out, match.overlap, match.exact)
                if row not in found or leak.strength > found[row].strength:
                    found[row] = leak
        return found


def _rarer(grams: Hashes, holders: Rows, least_overlap: float, sentences: int) -> tuple[NDArray[np.bool_], Rows]:
    """Return which n-grams of each sentence are looked for, and how many of these must be found.

    Where K of its n-grams are needed, at least half of K are not among the K / 2 that most held-out sentences have,
    which would be found almost everywhere.
    """
    _, gram, frequency = np.unique(grams, return_inverse=True, return_counts=True)
    order = np.lexsort((-frequency[gram], holders))
    totals = np.bincount(holders, minlength=sentences)
    rank = np.arange(len(holders)) - (np.cumsum(totals) - totals)[holders[order]]
    needed = np.ceil(least_overlap * totals - _ROUNDING).astype(np.int64)
    left_out = needed // 2
    kept = np.empty(len(holders), bool)
    kept[order] = rank >= left_out[holders[order]]
    return kept, np.where(totals > 0, needed - left_out, np.iinfo(np.int64).max)
