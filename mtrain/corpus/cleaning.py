"""Which training pairs are dropped, by named rules, each of which counts and shows what it drops."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from mtrain.config.schema import CorpusConfig
from mtrain.corpus.sources import Pair

# Han (with 々〆〇 and the planes above U+20000), kana and hangul: scripts in which a character is about a word.
_EACH_ONE = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_UNIT = re.compile(f"[{_EACH_ONE}]|[^\\s{_EACH_ONE}]+")

# Short sides are translated by more or fewer words quite freely (卒 → 于是就在那一年去世了).
_RATIO_MATTERS_ABOVE = 10


def count_units(text: str) -> int:
    """Return the length of `text`: one for each Han, kana or hangul character, and for each other word."""
    return len(_UNIT.findall(text))


class Measured(NamedTuple):
    """A pair with the units of both sides."""

    source: str
    target: str
    source_units: int
    target_units: int


# True: drop the pair.
Rule = Callable[[Measured], bool]


def cleaning_rules(corpus: CorpusConfig, repeated: Rule) -> dict[str, Rule]:
    """Return the rules that this config wants, in the order in which they are asked.

    `repeated` is that against duplicates, which several corpora share.
    """
    rules = {
        "empty": _empty,
        "too_long": _too_long(corpus.max_units),
        "length_ratio": _length_ratio(corpus.max_length_ratio),
    }
    if corpus.drop_identical:
        rules["identical"] = _identical
    if corpus.drop_duplicates:
        rules["duplicate"] = repeated
    return rules


@dataclass
class Dropped:
    """What one rule has dropped: how many pairs, and the first of them."""

    pairs: int = 0
    example: tuple[str, str] | None = None

    def add(self, other: "Dropped") -> None:
        """Count in what the same rule has dropped later."""
        self.pairs += other.pairs
        self.example = self.example or other.example


class Cleaner:
    """Lets pairs through that no rule drops; a dropped pair is counted for the first rule against it."""

    def __init__(self, rules: dict[str, Rule]) -> None:
        self.read = 0
        self.dropped = {name: Dropped() for name in rules}
        self._rules = rules

    def keep(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Give the pairs that stay."""
        for pair in pairs:
            self.read += 1
            measured = Measured(pair.source, pair.target, count_units(pair.source), count_units(pair.target))
            broken = next((name for name, rule in self._rules.items() if rule(measured)), None)
            if broken is None:
                yield pair
            else:
                self._drop(broken, pair)

    def _drop(self, name: str, pair: Pair) -> None:
        dropped = self.dropped[name]
        dropped.pairs += 1
        dropped.example = dropped.example or (pair.source, pair.target)


def _empty(pair: Measured) -> bool:
    return not pair.source or not pair.target


def _too_long(max_units: int) -> Rule:
    return lambda pair: max(pair.source_units, pair.target_units) > max_units


def _length_ratio(max_ratio: float) -> Rule:
    def broken(pair: Measured) -> bool:
        shorter, longer = sorted((pair.source_units, pair.target_units))
        return longer > _RATIO_MATTERS_ABOVE and longer > max_ratio * shorter

    return broken


def _identical(pair: Measured) -> bool:
    return pair.source == pair.target


def duplicates() -> Rule:
    """Return the rule against pairs that it has been asked about before."""
    seen: set[int] = set()

    def broken(pair: Measured) -> bool:
        # 64 bits for a pair, which Python keeps in some 75 bytes; among a hundred million pairs, one in four thousand
        # corpora loses one wrongly.
        key = int.from_bytes(blake2b(f"{pair.source}\n{pair.target}".encode(), digest_size=8).digest(), "big")
        if key in seen:
            return True
        seen.add(key)
        return False

    return broken
