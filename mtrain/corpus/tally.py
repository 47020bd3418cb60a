"""What became of the pairs, in figures."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from mtrain.corpus.cleaning import EXAMPLES, Dropped
from mtrain.corpus.held_out import Leak
from mtrain.corpus.sources import Pair, Split


@dataclass
class Tally:
    """What became of the pairs.

    `read` for train, and of each of its `corpora` by name, `dropped` by rule, lines `mended`, `pairs` in each split at
    last; `near` are examples of training sentences that were nearly those of dev and test; `groups` those that became
    dev and test.
    """

    read: int = 0
    corpora: list[tuple[str, int]] = field(default_factory=list)
    mended: dict[Split, int] = field(default_factory=dict)
    dropped: dict[str, Dropped] = field(default_factory=dict)
    pairs: dict[Split, int] = field(default_factory=dict)
    near: list[Leak] = field(default_factory=list)
    groups: dict[Split, list[str]] = field(default_factory=dict)

    def note(self, dropped: Iterable[tuple[Pair, str]], near: Iterable[Leak]) -> None:
        """Count what was dropped of a block."""
        for pair, rule in dropped:
            self.dropped[rule].note(pair)
        self.near = [*self.near, *near][:EXAMPLES]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, figures: dict[str, Any]) -> "Tally":
        """Return what `as_json` was called on."""
        tally = cls(**figures)
        tally.corpora = [(name, read) for name, read in figures["corpora"]]
        tally.dropped = {
            name: Dropped(one["pairs"], [(source, target) for source, target in one["examples"]])
            for name, one in figures["dropped"].items()
        }
        tally.near = [Leak(*leak) for leak in figures["near"]]
        return tally
