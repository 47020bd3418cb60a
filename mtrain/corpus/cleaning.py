"""Which training pairs are dropped: each rule counts and shows what it drops."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mtrain.corpus.damage import is_odd
from mtrain.corpus.rules import Duplicate, Measured, Rule
from mtrain.corpus.sources import Pair
from mtrain.corpus.units import count_units

_EXAMPLES = 3

# Is told of each dropped pair, and by which rule.
Listener = Callable[[Pair, str], object]


def as_it_is(pair: Pair) -> Pair:
    """Return the pair."""
    return pair


def nobody(pair: Pair, rule: str) -> None:
    """Tell nobody."""


@dataclass
class Dropped:
    """What one rule has dropped: how many pairs, and the first of them."""

    pairs: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    def note(self, pair: Pair) -> None:
        """Count one pair."""
        self.pairs += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append((pair.source, pair.target))

    def add(self, other: "Dropped") -> None:
        """Count in what the same rule has dropped later."""
        self.pairs += other.pairs
        self.examples = [*self.examples, *other.examples][:_EXAMPLES]


def measure(pair: Pair, read: Pair) -> Measured:
    """Return a pair with all that rules ask for; `read` is the same before it was normalised."""
    odd = is_odd(read.source) or is_odd(read.target)
    return Measured(pair.source, pair.target, count_units(pair.source), count_units(pair.target), read, odd)


def broken_rule(pair: Measured, rules: Mapping[str, Rule]) -> str:
    """Return the first rule against the pair; empty where there is none."""
    for name, rule in rules.items():
        if rule(pair):
            return name
    return ""


class Cleaner:
    """Lets pairs through that no rule drops; a dropped pair is counted for the first rule against it."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        normalised: Callable[[Pair], Pair] = as_it_is,
        tell: Listener = nobody,
    ) -> None:
        self.read = 0
        self.dropped = {name: Dropped() for name in rules}
        self._rules = rules
        self._normalised = normalised
        self._tell = tell
        self._kept = [rule.note for rule in rules.values() if isinstance(rule, Duplicate)]

    def keep(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Give the pairs that stay, normalised."""
        for read in pairs:
            self.read += 1
            pair = self._normalised(read)
            measured = measure(pair, read)
            broken = broken_rule(measured, self._rules)
            if broken:
                self.dropped[broken].note(pair)
                self._tell(pair, broken)
                continue
            for note in self._kept:
                note(measured)
            yield pair
