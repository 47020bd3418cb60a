"""Dropping pairs by named rules, with a count for each, as a table for the person who waits."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator

from corpora.text import Pair, key

from mtrain.console import say, table

# True: drop the pair.
Rule = Callable[[Pair], bool]


class Sieve:
    """Lets through the pairs that no rule drops, and counts the others for the first rule against them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def keep(self, pairs: Iterable[Pair], rules: dict[str, Rule]) -> Iterator[Pair]:
        """Give the pairs that stay."""
        for pair in pairs:
            broken = next((name for name, rule in rules.items() if rule(pair)), None)
            if broken is None:
                yield pair
            else:
                self.counts[broken] += 1

    def tell(self, read: int, kept: int) -> None:
        """Print what became of all pairs."""
        rows = [("read", f"{read:,}"), *((f" {name}", f"{-count:,}") for name, count in self.counts.items())]
        say(table(("", "pairs"), [*rows, ("kept for train", f"{kept:,}")]))


def seen_before(of: Callable[[Pair], Hashable]) -> Rule:
    """Return a rule that drops every pair but the first of those that are the same by `of`."""
    seen: set[Hashable] = set()

    def rule(pair: Pair) -> bool:
        mark = of(pair)
        if mark in seen:
            return True
        seen.add(mark)
        return False

    return rule


def mixed(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs in an order without meaning, which is the same wherever they come from: by their hashes."""
    return sorted(pairs, key=lambda pair: key(pair.source, pair.target))
