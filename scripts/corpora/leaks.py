"""What must not stay in train when sentences are held out for testing."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from corpora.text import Pair, han

_GRAM = 6
_FEWEST_GRAMS = 3


class HeldOut:
    """The sentences of dev and test: none may stand in train on either side, and no source nearly.

    `bare` leaves of a sentence what makes it the same as another one.
    """

    def __init__(self, pairs: Iterable[Pair], bare: Callable[[str], str]) -> None:
        self._bare = bare
        self._sentences: set[str] = set()
        self._sources_with: dict[str, list[int]] = defaultdict(list)
        self._grams_of_source: list[int] = []
        for pair in pairs:
            self._sentences.update((bare(pair.source), bare(pair.target)))
            self._add(_grams(han(pair.source)))

    def _add(self, grams: set[str]) -> None:
        if len(grams) >= _FEWEST_GRAMS:
            for gram in grams:
                self._sources_with[gram].append(len(self._grams_of_source))
            self._grams_of_source.append(len(grams))

    def has_side_of(self, pair: Pair) -> bool:
        """Tell whether a side of the pair is a held-out sentence."""
        return self._bare(pair.source) in self._sentences or self._bare(pair.target) in self._sentences

    def nearly_has_source_of(self, pair: Pair) -> bool:
        """Tell whether the source shares half or more of some held-out source's runs of six Chinese characters.

        Held-out sources of less than eight characters are too short to be nearly equal.
        """
        shared = Counter(number for gram in _grams(han(pair.source)) for number in self._sources_with.get(gram, ()))
        return any(2 * count >= self._grams_of_source[number] for number, count in shared.items())


def _grams(text: str) -> set[str]:
    return {text[start : start + _GRAM] for start in range(len(text) - _GRAM + 1)}
