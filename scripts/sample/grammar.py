"""A synchronous grammar: every draw gives a source text and its translation together.

A grammar file holds categories; `[name]` opens one of rules, `[name: kind]` one of words of that kind:

    [past]                          a rule: two str.format templates, whose slots are drawn from categories
    昨天 | yesterday
    {day:{few}}前 | {day:{few}} ago
    [goods: noun]                   a word: the columns go to the function of that kind
    书 | book | 本; 地图 | map | 张
    +clothes                        everything that is in the category `clothes`

A slot is named after its category; a number behind the name (`who`, `who2`) tells two slots apart.
The slots of one rule never repeat each other's source text, so nobody is taller than himself.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_SLOT = re.compile(r"\{([a-z_]+\d*)")
_HEADER = re.compile(r"\[(\w+)(?:: (\w+))?\]")


class Pair(NamedTuple):
    """The two sides of one draw: texts, or words that know their forms and answer str.format."""

    source: Any
    target: Any


Quantity = Callable[[Random], Pair]
Entry = Callable[["Grammar", Random], Pair]
Kind = Callable[..., Entry]


def pick(rng: Random, items: Sequence[T]) -> T:
    """Draw one item through `rng.random()`, whose sequence alone Python promises never to change."""
    return items[int(rng.random() * len(items))]


def between(rng: Random, low: int, high: int) -> int:
    """Draw a whole number, both ends included."""
    return low + int(rng.random() * (high - low + 1))


def word(source: Any, target: Any) -> Entry:
    """Make an entry that is always the same pair."""
    pair = Pair(source, target)
    return lambda _grammar, _rng: pair


def _drawn(quantity: Quantity) -> Entry:
    return lambda _grammar, rng: quantity(rng)


def _repeats(text: str, other: str) -> bool:
    """Tell whether one text says what the other says; a single character inside another text says nothing."""
    shorter, longer = sorted((text, other), key=len)
    return shorter == longer or (len(shorter) > 1 and shorter in longer)


def rule(source: str, target: str) -> Entry:
    """Make an entry that fills the slots of two templates from their categories."""
    names = list(dict.fromkeys(_SLOT.findall(source + target)))

    def expand(grammar: "Grammar", rng: Random) -> Pair:
        slots: dict[str, Pair] = {}
        for name in names:
            taken = [str(slot.source) for slot in slots.values()]
            drawn = grammar.draw(name.rstrip("0123456789"), rng)
            while any(_repeats(str(drawn.source), text) for text in taken):
                drawn = grammar.draw(name.rstrip("0123456789"), rng)
            slots[name] = drawn
        return Pair(
            source.format(**{name: slot.source for name, slot in slots.items()}),
            target.format(**{name: slot.target for name, slot in slots.items()}),
        )

    return expand


class Grammar:
    """Categories, each a list of entries that are drawn with equal chance."""

    def __init__(self, kinds: Mapping[str, Kind], quantities: Mapping[str, Quantity]) -> None:
        self.kinds = {"rule": rule, **kinds}
        self.entries: dict[str, list[Entry]] = {name: [_drawn(quantity)] for name, quantity in quantities.items()}

    def read(self, path: Path) -> None:
        """Add the categories of a grammar file."""
        category, kind = "", rule
        for line in path.read_text(encoding="utf-8").split("\n"):
            header = _HEADER.fullmatch(line)
            if header:
                category, kind = header[1], self.kinds[header[2] or "rule"]
                self.entries.setdefault(category, [])
            elif line.startswith("+"):
                self.entries[category] += self.entries[line[1:]]
            elif line and not line.startswith("#"):
                self.entries[category] += [kind(*entry.split(" | ")) for entry in line.split("; ")]

    def draw(self, category: str, rng: Random) -> Pair:
        """Draw one entry of a category and fill its slots."""
        return pick(rng, self.entries[category])(self, rng)
