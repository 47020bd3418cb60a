"""Which training pairs are dropped: what can be told of each by itself, a block at a time, in whatever process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mtrain.corpus.damage import is_odd
from mtrain.corpus.held_out import EXACTLY, NEARLY, HeldOut, Leak
from mtrain.corpus.repeats import Keys, keys_of
from mtrain.corpus.rules import Measured, Rule
from mtrain.corpus.sources import Block, Pair
from mtrain.corpus.units import count_units

EXAMPLES = 3

# Is told of each dropped pair, and by which rule.
Listener = Callable[[Pair, str], object]


def nobody(pair: Pair, rule: str) -> None:
    """Tell nobody."""


def as_it_is(pair: Pair) -> Pair:
    """Return the pair."""
    return pair


@dataclass
class Dropped:
    """What one rule has dropped: how many pairs, and the first of them."""

    pairs: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    def note(self, pair: Pair) -> None:
        """Count one pair."""
        self.pairs += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((pair.source, pair.target))


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


class Screened(NamedTuple):
    """A block after screening: the pairs that stay, by what repetitions among them are told, and those that go.

    `near` are the first of those that went for being nearly in dev or test.
    """

    kept: Block
    keys: Keys
    dropped: list[tuple[Pair, str]]
    near: list[Leak]


@dataclass(frozen=True)
class Screen:
    """Normalises the pairs of a block and drops those against which there is a rule, or which are held out.

    The pairs of a block are of one corpus, whose number chooses among `rules` and `kinds` of repetition.
    """

    rules: Sequence[Mapping[str, Rule]]
    kinds: Sequence[Sequence[str]]
    normalised: Callable[[Pair], Pair]
    held_out: HeldOut

    @property
    def names(self) -> list[str]:
        """All rules by which pairs may be dropped, in the order in which they are asked; repetitions come last."""
        return list(dict.fromkeys([name for rules in self.rules for name in rules] + [EXACTLY, NEARLY]))

    def __call__(self, block: Block) -> Screened:
        """Return what stays of a block."""
        corpus = block.corpora[0]
        pairs, dropped = self._by_rules(block, self.rules[corpus])
        leaks = self.held_out.leaks(pairs)
        dropped += [(pairs[row], EXACTLY if leak.exact else NEARLY) for row, leak in sorted(leaks.items())]
        near = [leak for _, leak in sorted(leaks.items()) if not leak.exact][:EXAMPLES]
        kept = Block.of(pair for row, pair in enumerate(pairs) if row not in leaks)
        return Screened(kept, keys_of(kept, self.kinds[corpus]), dropped, near)

    def _by_rules(self, block: Block, rules: Mapping[str, Rule]) -> tuple[list[Pair], list[tuple[Pair, str]]]:
        kept, dropped = [], []
        for read in block.pairs():
            pair = self.normalised(read)
            broken = broken_rule(measure(pair, read), rules)
            if broken:
                dropped.append((pair, broken))
            else:
                kept.append(pair)
        return kept, dropped
